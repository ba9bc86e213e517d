package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/outcome"
)

// seriesTable are two sequences of a table.
const seriesTable = "id,a\nx,1\nx,1.5\nx,0.5\nx,7\nx,8\nx,7.5\ny,1.1\ny,0.4\ny,9\ny,8.4\n"

// chainParams are params of a fit, as the contract has them.
type chainParams struct {
	K           int
	Start       []float64
	Transitions [][]float64
	Durations   []*float64
	Stationary  []float64
}

func fitChain(t *testing.T, args ...string) (reported, chainParams) {
	t.Helper()
	r := fitJSON(t, append([]string{"--model", "hmm"}, args...)...)
	var p chainParams
	require.NoError(t, json.Unmarshal(r.Params, &p))
	require.Len(t, p.Transitions, r.K)
	for _, row := range append(p.Transitions, p.Start) {
		require.Len(t, row, r.K)
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		require.InDelta(t, 1, sum, 1e-12)
	}
	return r, p
}

// TestEarthquakes: values of Zucchini & MacDonald's example, with a free start (models/hmm has those of the library).
func TestEarthquakes(t *testing.T) {
	r, p := fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--criterion", "gfic")
	require.Equal(t, 3, r.K)
	require.InDelta(t, -344.2264, float64(r.Value), 1e-3)
	require.True(t, slices.IsSortedFunc(r.Components, func(a, b classes.Component) int { return -cmp.Compare(float64(a.Rows), float64(b.Rows)) }))
	for i, d := range p.Durations {
		require.InEpsilon(t, 1/(1-p.Transitions[i][i]), *d, 1e-12)
	}
	for j := range p.K {
		next := 0.0
		for i, v := range p.Stationary {
			next += v * p.Transitions[i][j]
		}
		require.InDelta(t, p.Stationary[j], next, 1e-12)
	}
	stdout, _ := done(t, "select", "--model", "hmm", "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--kmax", "4", "--format", "json")
	var all outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	for i, want := range []float64{-391.9189, -341.8787, -328.5275, -326.8864} {
		require.InDelta(t, want, float64(all.Table[i].LogLik), 2e-3, "K = %d", i+1)
	}
}

// series are sequences of three states in which a Gaussian and a level are seen, in rows of a table with gaps.
func series(sequences int) string {
	rng := rand.New(rand.NewPCG(8, 8))
	var b strings.Builder
	b.WriteString("id,x,y,truth\n")
	for s := range sequences {
		z := rng.IntN(3)
		for range 5 + rng.IntN(60) {
			if rng.Float64() < 0.1 {
				z = rng.IntN(3)
			}
			x := fmt.Sprintf("%.3f", 4*float64(z)+rng.NormFloat64())
			if rng.Float64() < 0.1 {
				x = ""
			}
			fmt.Fprintf(&b, "s%d,%s,%s,z%d\n", s, x, []string{"red", "green", "blue"}[(z+rng.IntN(2))%3], z)
		}
	}
	return b.String()
}

func TestSequencesOfMixedColumns(t *testing.T) {
	path := file(t, "s.csv", series(20))
	model := filepath.Join(t.TempDir(), "m.json")
	r, p := fitChain(t, "--data", path, "--sequence", "id", "--label", "truth", "--family", "auto", "--out", model)
	require.Equal(t, 3, r.K)
	require.Greater(t, float64(r.Agreement.AdjustedRand), 0.9)
	require.Equal(t, []string{"x", "y"}, namesOf(r.Columns))

	stdout, _ := done(t, "predict", model, "--data", path, "--id", "id", "--label", "truth")
	rows := records(t, stdout)
	require.Equal(t, "id,state,probability,p1,p2,p3,log_predictive", strings.Join(rows[0], ","))
	require.Len(t, rows, strings.Count(series(20), "\n"))
	sum := 0.0
	for _, row := range rows[1:] {
		var state int
		var p [3]float64 // of the states
		var own, log float64
		_, err := fmt.Sscan(strings.Join(row[1:], " "), &state, &own, &p[0], &p[1], &p[2], &log)
		require.NoError(t, err)
		require.Equal(t, p[state-1], own)
		require.InDelta(t, 1, p[0]+p[1]+p[2], 1e-12)
		require.LessOrEqual(t, own, 1.)
		sum += log
	}
	require.InEpsilon(t, float64(r.LogLik), sum, 1e-9, "predictive densities add up")

	// Without the column of sequences all rows are one.
	_, stderr := done(t, "predict", model, "--data", file(t, "one.csv", "x,y\n1,red\n4,green\n"))
	require.Contains(t, stderr, `no column "id", by which the model was fitted to sequences`)

	stdout, _ = done(t, "predict", model, "--data", path, "--forecast", "200")
	rows = records(t, stdout)
	require.Equal(t, "sequence,step,p1,p2,p3,mean_x,sd_x,p_y=blue,p_y=green,p_y=red", strings.Join(rows[0], ","))
	require.Len(t, rows, 1+20*200)
	require.Equal(t, []string{"s0", "200"}, rows[200][:2])
	require.Equal(t, rows[200][2][:6], rows[400][2][:6], "in the long run, the beginning is forgotten")
	levels := make([]float64, 3)
	_, err := fmt.Sscan(strings.Join(rows[1][7:], " "), &levels[0], &levels[1], &levels[2])
	require.NoError(t, err)
	require.InDelta(t, 1, floats.Sum(levels), 1e-12)
	require.Less(t, slices.Min(levels), 0.1, "each state has two of the three levels")
	done(t, "fit", "--model", "hmm", "--data", file(t, "codes.csv", "a,b,c\n"+strings.Repeat("1,0,n\n2,1,y\n3,1,y\n", 9)), "--columns", "a=ordinal,b=bernoulli,c=bernoulli", "--k", "1", "--out", model+"2")
	stdout, _ = done(t, "predict", model+"2", "--data", file(t, "code.csv", "a,b,c\n2,1,y\n"), "--forecast", "1")
	rows = records(t, stdout)
	require.Equal(t, "step,p1,p_a=1,p_a=2,p_a=3,mean_b,sd_b,p_c=n,p_c=y", strings.Join(rows[0], ","))
	require.Equal(t, rows[1][5], rows[1][8])
	stdout, _ = done(t, "predict", model, "--data", path, "--forecast", "0")
	require.Len(t, records(t, stdout), 1)

	stdout, _ = done(t, "sample", model, "-n", "9000", "--labels")
	drawn := records(t, stdout)
	require.Equal(t, []string{"x", "y", "state"}, drawn[0])
	changes := 0
	for i := 2; i < len(drawn); i++ {
		if drawn[i][2] != drawn[i-1][2] {
			changes++
		}
	}
	expected := 0.0
	for i, share := range p.Stationary {
		expected += 9000 * share * (1 - p.Transitions[i][i])
	}
	require.InDelta(t, expected, float64(changes), 4*math.Sqrt(expected), "one chain, and not one for each block")
}

func TestChainsFromLeftToRight(t *testing.T) {
	r, p := fitChain(t, "--data", file(t, "s.csv", seriesTable), "--sequence", "id", "--k", "2", "--left-right", "1", "--start", "first,random", "--method", "em")
	require.Equal(t, []float64{1, 0}, p.Start)
	require.Zero(t, p.Transitions[1][0])
	require.Nil(t, p.Durations[1], "the last state is never left")
	require.Less(t, float64(r.Components[0].Columns[0].Values["mean"]), 2.)
	_, p = fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "3", "--start", "stationary", "--method", "em")
	for i := range p.Start {
		require.InDelta(t, p.Stationary[i], p.Start[i], 1e-9)
	}
}

func TestChainsWithPriors(t *testing.T) {
	for _, method := range []string{"map", "vb"} {
		_, loose := fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "2", "--method", method)
		_, sticky := fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "2", "--method", method, "--prior", "stay=50")
		assert.Greater(t, sticky.Transitions[0][0], loose.Transitions[0][0], method)
	}
	r, _ := fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--method", "map", "--prior", "stay=10,transitions=1")
	assert.Equal(t, "bic", r.Criterion)
	assert.Equal(t, 3, r.K)
	r, _ = fitChain(t, "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--left-right", "1", "--start", "first", "--restarts", "2")
	assert.LessOrEqual(t, r.K, 10, "K does not double along a chain that passes each state once")
}

func TestMoreStatesThanValues(t *testing.T) {
	r, _ := fitChain(t, "--data", file(t, "s.csv", "x\n"+strings.Repeat("1\n0\n0\n", 40)), "--family", "bernoulli", "--criterion", "gfic")
	require.Equal(t, 3, r.K)
	require.InDelta(t, 0, float64(r.LogLik), 1e-6, "the series is certain")
}

func TestReportOfAChain(t *testing.T) {
	dir := t.TempDir()
	done(t, "fit", "--model", "hmm", "--data", file(t, "s.csv", series(5)), "--drop", "truth", "--sequence", "id", "--family", "auto", "--k", "3", "--report", dir)
	page := contents(t, filepath.Join(dir, pageName))
	for _, title := range []string{"The series, coloured by state", "Transitions", "How long states are stayed in", "States over x", "Pseudo-residuals", "It lasts", "Means by state", "Probabilities by state"} {
		require.Contains(t, page, title)
	}
	require.NotContains(t, page, "NaN")
	done(t, "fit", "--model", "hmm", "--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "3", "--report", dir)
	require.Contains(t, contents(t, filepath.Join(dir, pageName)), "Seen in the states: count")
}

func TestWrongSequences(t *testing.T) {
	path := file(t, "s.csv", series(3))
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "hmm", "--data", path, "--drop", "truth", "--sequence", "id", "--family", "auto", "--k", "2", "--out", model)
	plain := filepath.Join(t.TempDir(), "p.json")
	done(t, "fit", "--k", "2", "--out", plain)
	back := file(t, "b.csv", "id,x\na,1\na,2\nb,3\na,4\n")
	gap := file(t, "g.csv", "id,x\na,1\n,2\nb,3\nb,4\n")
	weights := file(t, "w.csv", "id,x,w\na,1,1\na,2,2\nb,3,1\nb,4,1\n")
	for want, args := range map[string][]string{
		"row 4 continues sequence a, which began in row 1 and has ended: sort the rows by sequence": {"fit", "--model", "hmm", "--data", back, "--sequence", "id"},
		"row 2 has no value of column \"id\"":                                                       {"fit", "--model", "hmm", "--data", gap, "--sequence", "id"},
		"the weights of rows 1 and 2, column \"w\", differ":                                         {"fit", "--model", "hmm", "--data", weights, "--sequence", "id", "--weights", "w"},
		`no column "zz"`: {"fit", "--model", "hmm", "--data", path, "--sequence", "zz"},
	} {
		fails(t, 1, want, "", args...)
	}
	for want, args := range map[string][]string{
		"--sequence is a flag of --model hmm, lds, and the model is mixture":                {"fit", "--sequence", "id"},
		"--left-right is a flag of --model hmm, and":                                        {"fit", "--left-right", "1"},
		"--start free: choose one of varied":                                                {"fit", "--start", "free"},
		"of free, uniform, stationary, first":                                               {"fit", "--model", "hmm", "--start", "x"},
		"--start first requires --left-right":                                               {"fit", "--model", "hmm", "--start", "first"},
		"--left-right is 0":                                                                 {"fit", "--model", "hmm", "--left-right", "0"},
		"a chain that never goes back":                                                      {"fit", "--model", "hmm", "--left-right", "1", "--start", "stationary"},
		"has no conjugate prior":                                                            {"fit", "--model", "hmm", "--method", "vb", "--start", "stationary"},
		"would join the steps":                                                              {"fit", "--model", "hmm", "--missing", "drop"},
		"named by --sequence":                                                               {"fit", "--model", "hmm", "--data", path, "--sequence", "id", "--drop", "id"},
		`"id" is named by --label and by --sequence: it cannot be both`:                     {"fit", "--model", "hmm", "--data", path, "--sequence", "id", "--label", "id"},
		"--forecast is -1":                                                                  {"predict", model, "--data", path, "--forecast", "-1"},
		"--forecast requires a model of sequences":                                          {"predict", plain, "--data", "faithful", "--forecast", "1"},
		"--sequence requires a model of sequences":                                          {"predict", plain, "--data", "faithful", "--sequence", "x"},
		"--label and --id cannot be used with --forecast":                                   {"predict", model, "--data", path, "--forecast", "1", "--id", "id"},
		"--prior: no key \"weights\"":                                                       {"fit", "--model", "hmm", "--method", "vb", "--prior", "weights=1"},
		"collapsed cannot be used with --model hmm":                                         {"fit", "--model", "hmm", "--criterion", "collapsed"},
		"--method cvb0 cannot be used with --model hmm":                                     {"fit", "--model", "hmm", "--method", "cvb0"},
		"--noise is a flag of --model factor, features, lds, mixture, and the model is hmm": {"fit", "--model", "hmm", "--noise"},
		"a Dirichlet distribution has no most probable value":                               {"fit", "--model", "hmm", "--method", "map", "--prior", "transitions=0.5"},
	} {
		fails(t, 2, want, "", args...)
	}

	// One step a sequence: a mixture, whose transitions nobody has seen.
	r, _ := fitChain(t, "--data", file(t, "l.csv", "id,x\na,1\nb,2\nc,1.5\nd,9\ne,9.5\nf,8\n"), "--sequence", "id", "--k", "2", "--method", "em")
	require.False(t, math.IsNaN(float64(r.Value)))
	// A step that misses everything.
	done(t, "fit", "--model", "hmm", "--data", file(t, "m.csv", "a,b\n1,2\n,\n2,1\n7,8\n8,8.5\n9,7\n"), "--family", "gaussian-diagonal", "--k", "2")
}

// With one state a forecast is the table as one class: mean and standard deviation of each column, whatever the family describes beside
// them.
func TestForecastsOfOneStateHaveTheMomentsOfTheTable(t *testing.T) {
	table := mustLoad(t, "iris")
	for _, family := range []string{families.Gaussian, families.Tied, families.Diagonal, families.Analysers} {
		model := filepath.Join(t.TempDir(), "m.json")
		done(t, "fit", "--model", "hmm", "--data", "iris", "--family", family, "--k", "1", "--method", "em", "--out", model)
		stdout, _ := done(t, "predict", model, "--data", "iris", "--forecast", "2", "--format", "json")
		var answer struct{ Forecast []forecastStep }
		require.NoError(t, json.Unmarshal([]byte(stdout), &answer))
		require.Len(t, answer.Forecast, 2)
		require.Len(t, answer.Forecast[1].Mean, 4)
		for name, mean := range answer.Forecast[1].Mean {
			x, err := table.Column(name)
			require.NoError(t, err)
			assert.InEpsilon(t, stat.Mean(x, nil), float64(mean), 1e-9, family)
			assert.InEpsilon(t, stat.PopStdDev(x, nil), float64(answer.Forecast[1].SD[name]), 1e-6, family)
		}
	}
}

// TestTheLongRunIsBesideTheTransitions, as JSON has it.
func TestTheLongRunIsBesideTheTransitions(t *testing.T) {
	args := []string{"--data", "earthquakes", "--drop", "year", "--family", "poisson", "--k", "2"}
	_, p := fitChain(t, args...)
	stdout, _ := done(t, append([]string{"fit", "--model", "hmm"}, args...)...)
	assert.Contains(t, stdout, "long run")
	assert.Contains(t, stdout, fmt.Sprintf(" %.3f ", p.Stationary[0]))
}

// Durations of Old Faithful that were noted at night are 2 and 4 minutes alone.
func TestRepeatedValuesAreSaid(t *testing.T) {
	r := fitJSON(t, "--criterion", "gfic", "--model", "hmm", "--data", "geyser")
	require.Len(t, r.Warnings, 2)
	assert.Equal(t, `geyser: as good as constant: "duration" in states 4 and 5. A group, or values that were noted alike?`, r.Warnings[0])
	assert.Empty(t, fitJSON(t, "--criterion", "gfic", "--data", "faithful").Warnings)
}
