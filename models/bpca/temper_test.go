package bpca_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
)

var vb = map[string]bpca.Prior{"VB1": {FixedAlpha: 1}, "VB2": {}, "VB2 in the data's units": {Unit: 1}}

// given starts a variational fit at given parameters.
type given struct {
	bpca.Variational
	start *bpca.Posterior
}

func (g given) Init(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*bpca.Posterior, error) {
	p := *g.start // the engine overwrites what it is given
	p.Loadings, p.Cov, p.AlphaRates = slices.Clone(p.Loadings), slices.Clone(p.Cov), slices.Clone(p.AlphaRates)
	return &p, nil
}

// TestTemperedRowsAreRowsOfThatWeight: the bits are those of rows of weight ½, and all but
// rounding is that of rows of another weight; rows and moments temper alike, and the bound
// never falls.
func TestTemperedRowsAreRowsOfThatWeight(t *testing.T) {
	const n, d, k = 300, 6, 4
	src := table(t, factors(n, d, 2, 1), d)
	for name, prior := range vb {
		m := bpca.Variational{Prior: prior}
		first, err := framework.Fit(background, m, src, framework.Options{K: k, Method: framework.EM, MaxIterations: 1})
		require.NoError(t, err)
		from := given{m, first.Parameters}
		for _, alpha := range []float64{0.5, 0.3, 0.02} {
			w := make([]float64, n)
			for i := range w {
				w[i] = alpha
			}
			weighted, err := src.WithWeights(w)
			require.NoError(t, err)
			o := framework.Options{K: k, Method: framework.EM, MaxIterations: 200}
			want, err := framework.Fit(background, from, weighted, o)
			require.NoError(t, err)
			o.Temper = alpha
			got, err := framework.Fit(background, from, src, o)
			require.NoError(t, err)
			assert.Zero(t, got.Fall, name)
			for i := 1; i < len(got.Trace); i++ {
				assert.GreaterOrEqual(t, got.Trace[i], got.Trace[i-1]-1e-12*math.Abs(got.Trace[i]))
			}
			if alpha == 0.5 {
				assert.Equal(t, want.Trace, got.Trace, name)
				assert.Equal(t, want.Parameters, got.Parameters, name)
			}
			require.Equal(t, len(want.Trace), len(got.Trace))
			for i, v := range want.Trace {
				require.InEpsilon(t, v, got.Trace[i], 1e-10, "%s, α = %v, iteration %d", name, alpha, i+1)
			}
			assert.InEpsilon(t, alpha*n, got.N, 1e-12)
			for _, workers := range []int{1, 2, 7} {
				o.Workers = workers
				again, err := framework.Fit(background, from, src, o)
				require.NoError(t, err)
				assert.Equal(t, got.Parameters, again.Parameters)
			}

			o.MaxIterations = 5000
			byRows, err := framework.Fit(background, m, src, o)
			require.NoError(t, err)
			byMoments, err := framework.Fit(background, bpca.CompressedVariational{Variational: m}, moments(t, src).Source(), o)
			require.NoError(t, err)
			assert.InEpsilon(t, byRows.Value, byMoments.Value, 1e-8, name)
		}
	}
}

// TestTemperedBoundIsItsFormula takes it apart: LogJoint of no rows is −KL(q(Π)‖p(Π)), and what
// rows add to it is E[ln p(X,Z|Π)], which counts α times as the entropy of q(Z) does.
func TestTemperedBoundIsItsFormula(t *testing.T) {
	src := table(t, factors(200, 5, 2, 4), 5)
	for name, prior := range vb {
		m := bpca.Variational{Prior: prior}
		for _, alpha := range []float64{1, 0.6, 0.05} {
			res, err := framework.Fit(background, m, src, framework.Options{K: 3, Method: framework.EM, Temper: alpha, Tolerance: 1e-13, MaxIterations: 20000})
			require.NoError(t, err)
			p := res.Parameters
			s, entropy, err := framework.LocalStep(background, m, src, p, 1)
			require.NoError(t, err)
			divergence := -m.LogJoint(m.NewStatistics(p), p)
			rows := m.LogJoint(s, p) + divergence
			assert.Positive(t, divergence)
			assert.InDelta(t, alpha*(rows+entropy)-divergence, res.Value, 1e-6, "%s, α = %v", name, alpha)
			assert.Greater(t, math.Abs(entropy), 1.0)
		}
	}
}

// TestTemperedAwayRowsLeaveThePrior: as α falls to 0 so does the bound of VB1, and that of VB2 to
// what q(W)q(α) loses against the prior's p(W|α)p(α), whatever the units of the data.
func TestTemperedAwayRowsLeaveThePrior(t *testing.T) {
	// The best q of a column of W are N(0, I_D) and Gamma(a + D/2, b + D/2), for a = b.
	const d, k, a, b = 4, 2, 0.01, 0.01
	shape, rate := a+d/2., b+d/2.
	lg, _ := math.Lgamma(shape)
	lg0, _ := math.Lgamma(a)
	meanLog := mathext.Digamma(shape) - math.Log(rate)
	divergence := (shape-a)*meanLog - (rate-b)*shape/rate + shape*math.Log(rate) - lg - a*math.Log(b) + lg0
	lost := k * (d/2.*meanLog - divergence)
	for name, limit := range map[string]float64{"VB1": 0, "VB2": lost} {
		for _, unit := range []float64{1, 1e-100, 1e100} {
			x := factors(100, d, 1, 2)
			for i := range x {
				x[i] *= unit
			}
			for _, alpha := range []float64{1e-9, 1e-60, 1e-100} {
				res, err := framework.Fit(background, bpca.Variational{Prior: vb[name]}, table(t, x, d), framework.Options{K: k, Method: framework.EM, Temper: alpha})
				require.NoError(t, err)
				assert.InDelta(t, limit, res.Value, 2e5*alpha+1e-7, "%s, unit %v, α = %v", name, unit, alpha)
			}
		}
	}
}
