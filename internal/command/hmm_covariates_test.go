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

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// visitors is a table of two states that the rain and the season move between, in so many sequences: the text, and the
// steps as a model sees them.
func visitors(sequences int) (text string, b blocks.Sequences) {
	rng := rand.New(rand.NewPCG(1, 2))
	var t strings.Builder
	t.WriteString("shop,rain,visits,season\n")
	z := 0
	const steps, columns = 60, 3
	for i := range sequences {
		for range steps {
			rain, summer := math.Round(100*rng.ExpFloat64())/100, float64(rng.IntN(2))
			odds := -2 + 1.5*rain
			if z == 1 {
				odds = 1 - 2*rain + 1.5*summer
			}
			if rng.Float64() < 1/(1+math.Exp(-odds)) {
				z = 1 - z
			}
			visits := math.Round(10*(100-40*float64(z)+8*rng.NormFloat64())) / 10
			fmt.Fprintf(&t, "s%d,%v,%v,%s\n", i, rain, visits, []string{"cold", "summer"}[int(summer)])
			b.Steps.X = append(b.Steps.X, visits, rain, summer)
		}
		b.Ends = append(b.Ends, (i+1)*steps)
	}
	b.Steps.N, b.Steps.D, b.Steps.Stride = sequences*steps, columns, columns
	return t.String(), b
}

func TestChainsWithCovariates(t *testing.T) {
	text, b := visitors(8)
	path, model := file(t, "shops.csv", text), filepath.Join(t.TempDir(), "m.json")
	args := []string{"fit", "--model", "hmm", "--data", path, "--sequence", "shop", "--covariates", "rain,season", "--kmax",
		"3", "--restarts", "2", "--tol", "1e-8"}
	stdout, _ := done(t, append(args, "--format", "json", "--out", model)...)
	type params struct {
		hmm.Parameters
		Transitions [][]float64 `json:"transitions"`
		Stationary  []float64
	}
	var r struct {
		Params params
		Gate   []struct {
			After, Reference int
			Columns          []string
			LogOdds          [][]float64 `json:"log_odds"`
			Errors           [][]float64 `json:"standard_errors"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	p := r.Params.Parameters
	require.Equal(t, 2, p.K)
	require.Len(t, r.Gate, 3, "each state, and first rows")
	assert.Nil(t, r.Params.Stationary)
	assert.Equal(t, []string{"intercept", "rain", "season = summer"}, r.Gate[0].Columns)
	dry := 0 // the state of many visits
	if p.Component(1)[0] > p.Component(0)[0] {
		dry = 1
	}
	truth := [][]float64{{-2, 1.5, 0}, {1, -2, 1.5}}
	for i, want := range truth {
		g := r.Gate[(dry+i)%2]
		assert.Equal(t, (dry+i)%2+1, g.After)
		assert.Equal(t, g.After, g.Reference)
		for j, v := range want {
			assert.InDelta(t, v, g.LogOdds[0][j], 3*g.Errors[0][j])
			assert.Less(t, g.Errors[0][j], 0.8)
		}
	}

	said, _ := done(t, append(args, "--report", filepath.Join(t.TempDir(), "page"))...)
	assert.Contains(t, strings.Join(strings.Fields(said), " "), "Log odds of the next state against staying, by covariate of the next row; "+
		"in a first row, of its state against state 1")
	assert.Contains(t, said, roughly(r.Gate[0].LogOdds[0][1]))

	// What is predicted is what the library says, whatever the order of the columns.
	m := hmm.Model{Family: normal.Family{}, Structure: hmm.Structure{Covariates: 2, Initial: hmm.Gated}}
	for _, row := range r.Params.Transitions {
		p.Transitions = append(p.Transitions, row...)
	}
	smoothed, err := m.Responsibilities(b, &p, nil)
	require.NoError(t, err)
	course, err := m.Filter(b, &p)
	require.NoError(t, err)
	predicted, _ := done(t, "predict", model, "--data", path, "--sequence", "shop")
	list := cells(t, predicted)
	require.Len(t, list, b.Steps.N)
	for i, row := range list {
		for j, want := range []float64{smoothed[2*i], smoothed[2*i+1], course.LogDensity[i]} {
			v, err := strconv.ParseFloat(row[len(row)-3+j], 64)
			require.NoError(t, err)
			require.InDelta(t, want, v, 1e-9)
		}
	}

	// Rows to come have covariates alone, and gaps are filled in.
	_, stderr := done(t, "predict", model, "--data", file(t, "next.csv", "rain,visits,season\n0,101,cold\n5,,summer\n0,,cold\n"), "--fill")
	assert.NotContains(t, stderr, "warning")
	fails(t, 2, `it would need the values of "rain", "season" in the steps to come`, "", "predict", model, "--data", path,
		"--sequence", "shop", "--forecast", "2")
	fails(t, 2, `which describes its columns given "rain", "season"`, "", "sample", model, "-n", "3")
	gap := file(t, "gap.csv", "rain,visits,season\n0,101,cold\n,60,summer\n")
	fails(t, 1, `row 2 of column "rain" is missing: a covariate needs a value in every step: fill it in`, "", "predict", model, "--data", gap)
}

// roughly is a number as texts have it.
func roughly(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64)[:4] }

func TestWrongCovariatesOfChains(t *testing.T) {
	text, _ := visitors(1)
	lines := strings.Split(text, "\n")[:41]
	whole := file(t, "whole.csv", strings.Join(lines, "\n"))
	change := func(name string, with func(i int, line string) string) string {
		changed := make([]string, len(lines))
		for i, line := range lines {
			changed[i] = with(i, line)
		}
		return file(t, name, strings.Join(changed, "\n"))
	}
	constant := change("constant.csv", func(i int, line string) string { return line + map[bool]string{true: ",one", false: ",1"}[i == 0] })
	twice := change("twice.csv", func(i int, line string) string {
		if i == 0 {
			return line + ",wet"
		}
		return line + "," + strings.Split(line, ",")[1]
	})
	gap := change("gap.csv", func(i int, line string) string {
		if i == 5 {
			return "s0,,90,cold"
		}
		return line
	})
	for _, c := range []struct {
		status int
		part   string
		args   string
	}{
		{1, `row 5 of column "rain" is missing: a covariate needs a value in every step: fill it in`, gap + " --covariates rain"},
		{1, `--covariates: column "one" is constant: leave it out of --covariates, and --drop one`, constant + " --covariates one"},
		{1, `column "wet" is a linear combination of other covariates: leave it out of the covariates`, twice + " --covariates rain,wet --drop season --k 2"},
		{1, `--covariates: no column "wind"; the columns are`, whole + " --covariates wind"},
		{2, "--covariates names every column and leaves none to the states", whole + " --covariates visits,rain,season"},
		{2, "--covariates cannot be used with --method vb: choose one of gfab, fab, em", whole + " --covariates rain --method vb"},
		{2, "--covariates cannot be used with --left-right", whole + " --covariates rain --left-right 1"},
		{2, "--start stationary cannot be used with --covariates", whole + " --covariates rain --start stationary"},
		{2, "--start gated requires --covariates", whole + " --start gated"},
		{2, "--columns rain=poisson: a column of --covariates is a number, or categorical", whole + " --covariates rain --columns rain=poisson"},
	} {
		fails(t, c.status, c.part, "", append([]string{"fit", "--model", "hmm", "--drop", "shop", "--data"}, strings.Fields(c.args)...)...)
	}
	// One state has no moves to explain, and more covariates than rows determine one another.
	said, _ := done(t, "fit", "--model", "hmm", "--drop", "shop", "--data", whole, "--covariates", "rain,season", "--k", "1")
	assert.NotContains(t, said, "Log odds")
	few := file(t, "few.csv", "y,a,b,c,d\n1,3,1,4,1\n5,9,2,6,5\n3,5,8,9,7\n")
	fails(t, 1, "is a linear combination of other covariates", "", "fit", "--model", "hmm", "--data", few, "--covariates", "a,b,c,d", "--k", "1")
}
