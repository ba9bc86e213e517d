package threestep_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/threestep"
)

// The design of Bakk, Tekle & Vermunt (2013): three classes and six items, answered yes with the probability of the
// separation: all by class 1, the first three by class 2, none by class 3.
type drawn struct {
	answers    *blocks.Table
	outcome    []float64 // normal with sd 1 about means, by class
	level      []float64 // yes with the probabilities shares, by class
	covariates []float64 // uniform on 1…5; the classes follow from it by odds
}

var (
	means  = []float64{-1, 0, 1}
	shares = []float64{0.2, 0.5, 0.8}
	odds   = [][]float64{{0, 0}, {-1.5, 0.5}, {-3.0, 1.0}} // of (1, covariate)
)

var answering = mixture.Model{Family: family.Bernoulli{}}

// truth has the parameters of the items.
func truth(t *testing.T, src framework.Source[blocks.Rows], separation float64) *mixture.Parameters {
	t.Helper()
	pooled, _, err := family.Pool(t.Context(), src, answering.Family)
	require.NoError(t, err)
	p := &mixture.Parameters{K: 3, D: 6, Weights: []float64{1. / 3, 1. / 3, 1. / 3}, Pooled: pooled}
	for k := range 3 {
		for j := range 6 {
			v := 1 - separation
			if k == 0 || k == 1 && j < 3 {
				v = separation
			}
			p.Components = append(p.Components, v)
		}
	}
	return p
}

func draw(t *testing.T, n int, separation float64, seed uint64) *drawn {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	d := new(drawn)
	var x []float64
	for range n {
		z := float64(1 + rng.IntN(5))
		var w []float64
		for _, g := range odds {
			w = append(w, math.Exp(g[0]+g[1]*z))
		}
		k := categorical.Draw(w, rng)
		d.covariates = append(d.covariates, z)
		d.outcome = append(d.outcome, means[k]+rng.NormFloat64())
		d.level = append(d.level, yes(shares[k], rng))
		for j := range 6 {
			v := 1 - separation
			if k == 0 || k == 1 && j < 3 {
				v = separation
			}
			x = append(x, yes(v, rng))
		}
	}
	var err error
	d.answers, err = blocks.FromSlice(x, n, 6)
	require.NoError(t, err)
	return d
}

func yes(p float64, rng *rand.Rand) float64 {
	if rng.Float64() < p {
		return 1
	}
	return 0
}

// analysis is that of a table whose first step begins at the truth, so that labels do not switch.
func (d *drawn) analysis(t *testing.T, separation float64, how threestep.Assignment) (*threestep.Analysis, *mixture.Parameters) {
	t.Helper()
	res, err := framework.FitFrom(t.Context(), answering, d.answers,
		func(_ context.Context, src framework.Source[blocks.Rows], _ int, _ *rand.Rand) (*mixture.Parameters, error) {
			return truth(t, src, separation), nil
		}, framework.Options{K: 3, Method: framework.EM, Tolerance: 1e-8})
	require.NoError(t, err)
	q, err := answering.Responsibilities(d.answers.All(), res.Parameters, nil)
	require.NoError(t, err)
	a := &threestep.Analysis{Part: "class", How: how, X: d.covariates,
		Covariates: []threestep.Covariate{{Name: "z", Columns: []string{"z"}}},
		Outcomes: []threestep.Column{{Name: "y", Outcome: threestep.Outcome{Values: d.outcome}},
			{Name: "level", Levels: []string{"no", "yes"}, Outcome: threestep.Outcome{Values: d.level, Kind: threestep.Categorical, Levels: 2}}}}
	require.NoError(t, a.Estimate(t.Context(), q, 3))
	return a, res.Parameters
}

// The truth lies within two standard errors in nine of ten tables, and the standard errors are those of the tables, by
// both corrections. Without one, the classes are too much alike.
func TestTruthAndStandardErrorsOfDrawnTables(t *testing.T) {
	const separation, n, draws = 0.8, 500, 16
	tables := tier.Of(20, 20, 200)
	want := slices.Concat(outcomesOf(means, 1), shares, slices.Concat(odds[1:]...))
	values, errs := map[threestep.Correction][][]float64{}, map[threestep.Correction][][]float64{}
	for seed := range uint64(tables) {
		d := draw(t, n, separation, seed)
		a, p := d.analysis(t, separation, threestep.Modal)
		_, err := a.Refit(t.Context(), fittedAt{p: p}, fitted.Refitting{Rows: d.answers.All(),
			Options: bootstrap.Options{Draws: draws, Fit: framework.Options{Tolerance: 1e-7}}})
		require.NoError(t, err)
		for i, how := range threestep.Corrections {
			y, level, z := a.Distal[0][i], a.Distal[1][i], a.Logit[i]
			of := func(v func(*threestep.Estimates) []float64) []float64 {
				return slices.Concat(v(&y.Estimates), seconds(v(&level.Estimates)), v(&z.Estimates))
			}
			values[how] = append(values[how], of(func(e *threestep.Estimates) []float64 { return e.Values }))
			errs[how] = append(errs[how], of((*threestep.Estimates).Errors))
		}
	}
	biased := 0
	for _, how := range threestep.Corrections {
		var ratios []float64 // of the standard errors to the standard deviations of the tables
		for i, truth := range want {
			var all, se []float64
			near := 0
			for j, v := range values[how] {
				all, se = append(all, v[i]), append(se, errs[how][j][i])
				if math.Abs(v[i]-truth) < 2*errs[how][j][i] {
					near++
				}
			}
			if how == threestep.Uncorrected {
				if near < tables*3/4 {
					biased++
				}
				continue
			}
			assert.GreaterOrEqual(t, near, tables*9/10, "%v %d", how, i)
			ratios = append(ratios, stat.Mean(se, nil)/stat.StdDev(all, nil))
		}
		if how != threestep.Uncorrected {
			t.Logf("%v: standard errors are %.2f times the standard deviations", how, ratios)
			assert.InDelta(t, 1.1, stat.Mean(ratios, nil), 0.2, how)
		}
	}
	assert.GreaterOrEqual(t, biased, 4, "numbers of which the uncorrected estimate misses the truth")
}

// fittedAt is the model at parameters.
type fittedAt struct {
	fitted.Model
	p *mixture.Parameters
}

func (m fittedAt) Refit(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
	return fitted.RefitRows(ctx, answering, m.p, r)
}

// outcomesOf are means with a standard deviation after each.
func outcomesOf(means []float64, sd float64) (list []float64) {
	for _, m := range means {
		list = append(list, m, sd)
	}
	return list
}

// seconds are every second number: shares of the level yes.
func seconds(v []float64) (list []float64) {
	for i := 1; i < len(v); i += 2 {
		list = append(list, v[i])
	}
	return list
}
