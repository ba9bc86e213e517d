package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/lds"
)

// driven is a series of two columns, x and y, which one dimension moves and two covariates, temp and sun.
func driven() (*lds.Parameters, blocks.Sequences) {
	p := &lds.Parameters{K: 1, D: 2, Inputs: 2, Loadings: []float64{1, -1.5}, Mean: []float64{3, 40},
		Noise: []float64{1, 2}, Dynamics: []float64{0.8}, Effects: []float64{2, 0, -0.5, 1}, Drive: []float64{0, 0.7},
		Start: []float64{0}, Spread: 1, Center: []float64{0, 0}, Unit: []float64{1, 1}}
	rng := rand.New(rand.NewPCG(5, 1))
	const n = 200
	inputs := make([]float64, 2*n)
	for i := range inputs {
		inputs[i] = 1 + rng.NormFloat64()
	}
	x, _ := p.Sample(n, nil, inputs, rng)
	return p, blocks.Sequences{Steps: blocks.Rows{N: n, D: 4, Stride: 4, X: x}, Ends: []int{n}}
}

// seriesText are columns of a block, as they are or with another text in a cell, in the order of the names.
func seriesText(b blocks.Rows, names []string, places []int, cell func(row, column int) string) string {
	var text strings.Builder
	text.WriteString(strings.Join(names, ",") + "\n")
	for i := range b.N {
		var cells []string
		for _, j := range places {
			one := strconv.FormatFloat(b.Row(i)[j], 'g', -1, 64)
			if other := cell(i, j); other != "as it is" {
				one = other
			}
			cells = append(cells, one)
		}
		text.WriteString(strings.Join(cells, ",") + "\n")
	}
	return text.String()
}

func asItIs(int, int) string { return "as it is" }

func TestCovariatesOfDynamics(t *testing.T) {
	truth, b := driven()
	path := file(t, "driven.csv", seriesText(b.Steps, []string{"temp", "x", "sun", "y"}, []int{2, 0, 3, 1}, asItIs))
	model := filepath.Join(t.TempDir(), "m.json")
	args := []string{"fit", "--model", "lds", "--data", path, "--covariates", "temp,sun", "--kmax", "2", "--restarts", "1"}
	stdout, _ := done(t, append(args, "--format", "json", "--out", model)...)
	var r struct {
		Columns  []data.Column
		Params   *lds.Parameters
		Settings struct{ Covariates []string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, []string{"x", "y", "temp", "sun"}, namesOf(r.Columns))
	assert.Equal(t, []string{"temp", "sun"}, r.Settings.Covariates)
	p := r.Params
	require.Equal(t, 1, p.K)

	// The errors are those of the likelihood in effects and drive, where all else is known.
	drive := make([]float64, 2) // of the dimension whose sign is that of the truth
	copy(drive, p.Drive)
	floats.Scale(math.Copysign(1, p.Loadings[0]), drive)
	logProb := func(v []float64) float64 {
		q := *truth
		q.Effects, q.Drive = v[:4], v[4:]
		list, err := lds.Model{Inputs: 2}.LogProb(b, &q, nil)
		require.NoError(t, err)
		return -list[0]
	}
	at := append(append([]float64(nil), truth.Effects...), truth.Drive...)
	information := mat.NewSymDense(len(at), nil)
	fd.Hessian(information, logProb, at, nil)
	var chol mat.Cholesky
	require.True(t, chol.Factorize(information))
	var cov mat.SymDense
	require.NoError(t, chol.InverseTo(&cov))
	for i, v := range append(append([]float64(nil), p.Effects...), drive...) {
		e := math.Sqrt(cov.At(i, i))
		assert.InDelta(t, at[i], v, 3*e, "coefficient %d", i)
		assert.Less(t, e, 0.2)
	}

	text, _ := done(t, args...)
	assert.Contains(t, text, "What one unit of a covariate adds to each column and dimension:")
	for name, row := range map[string][]float64{" x ": p.Effects[:2], " y ": p.Effects[2:], " dimension 1 ": p.Drive} {
		line := fmt.Sprintf("%s %s %s", strings.TrimSpace(name), wording.Readable(row[0]), wording.Readable(row[1]))
		assert.Contains(t, strings.Join(strings.Fields(text), " "), line)
	}

	var c lds.Course
	require.NoError(t, lds.Model{}.Smooth(b, p, &c))
	other := file(t, "other.csv", seriesText(b.Steps, []string{"y", "sun", "temp", "x"}, []int{1, 3, 2, 0}, asItIs))
	for _, one := range []string{path, other} {
		predicted, _ := done(t, "predict", model, "--data", one)
		list := cells(t, predicted)
		require.Len(t, list, b.Steps.N)
		for i, row := range list {
			for j, want := range []float64{c.Mean[i], math.Sqrt(c.Variance[i]), c.LogDensity[i]} {
				v, err := strconv.ParseFloat(row[j], 64)
				require.NoError(t, err)
				require.InDelta(t, want, v, 1e-12)
			}
		}
	}
}

func TestWrongCovariates(t *testing.T) {
	_, b := driven()
	b.Steps.N = 40
	names, places := []string{"x", "y", "temp", "sun"}, []int{0, 1, 2, 3}
	in := func(row, column int, text string) string { // the row, or with -1 each
		return file(t, "t.csv", seriesText(b.Steps, names, places, func(i, j int) string {
			if j == column && (i == row || row < 0) {
				return text
			}
			return "as it is"
		}))
	}
	whole, gap, model := in(0, -1, ""), in(4, 2, ""), filepath.Join(t.TempDir(), "m.json")
	for _, c := range []struct {
		status int
		part   string
		args   string
	}{
		{1, `row 5 of column "temp" is missing: a covariate needs a value in every step: fill it in`, gap + " --covariates temp"},
		{1, `--covariates: column "sun" has texts; must be numbers`, in(-1, 3, "high") + " --covariates temp,sun"},
		{1, `--covariates: column "sun" is constant: leave it out of --covariates, and --drop sun`, in(-1, 3, "2") + " --covariates sun"},
		{1, `--covariates: no column "wind"; the columns are`, whole + " --covariates wind"},
		{2, "--covariates names every column and leaves none to the latent dimensions", whole + " --covariates x,y,temp,sun"},
		{2, `--covariates names column "sun" twice`, whole + " --covariates sun,sun"},
		{2, `column "sun" is named by --sequence and by --covariates: it cannot be both`, whole + " --sequence sun --covariates sun"},
		{2, `column "sun" is named by --covariates: it cannot be selected or dropped`, whole + " --covariates sun --drop sun"},
	} {
		fails(t, c.status, c.part, "", append([]string{"fit", "--model", "lds", "--data"}, strings.Fields(c.args)...)...)
	}
	text, _ := done(t, "fit", "--model", "lds", "--data", whole, "--covariates", "temp,sun", "--k", "1", "--restarts", "1",
		"--max-iter", "20", "--out", model)
	assert.NotContains(t, text, "latent sample")
	fails(t, 1, `row 5 of column "temp" is missing: a covariate needs a value in every step`, "", "predict", model,
		"--data", gap)
	fails(t, 1, `columns of the model are missing in the data: "sun"`, "", "predict", model, "--data", whole, "--drop", "sun")
	fails(t, 2, `it would need the values of "temp", "sun" in the steps to come`, "", "predict", model, "--data", whole,
		"--forecast", "2")
	fails(t, 2, `which describes its columns given "temp", "sun"`, "", "sample", model, "-n", "3")
}
