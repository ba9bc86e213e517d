package family_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/prior"
)

// A collapsing is a table of a family with a prior, of which one class holds every row once.
type collapsing struct {
	name  string
	b     *family.Posterior
	table *blocks.Table
}

// evidence is ln Z of the rows with weights, and the sums and hyperparameters of the class.
func (c *collapsing) evidence(t require.TestingT, weights []float64) (float64, *family.Classes, []float64) {
	rows := c.table.All()
	classes, h := c.b.Classes(1), make([]float64, c.b.Size().Hyper)
	c.b.Update(classes, h)
	constant := make([]float64, 1)
	require.NoError(t, c.b.Prepare(classes, h, nil, constant))
	require.NoError(t, classes.Observe(rows, 0, rows.N))
	r := make([]float64, family.Padded(rows.N))
	copy(r, weights)
	classes.Add(rows.N, weights, r)
	c.b.Update(classes, h)
	value := c.b.LogEvidence(classes, h)
	require.NoError(t, c.b.Prepare(classes, h, nil, constant)) // the scores are now those of h
	require.NoError(t, classes.Observe(rows, 0, rows.N))
	return value, classes, h
}

func collapsings(t *testing.T) (list []collapsing) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 12
	bell := func() float64 { return 2 + rng.NormFloat64() }
	count := func() float64 { return float64(rng.IntN(6)) }
	bit := func() float64 { return float64(rng.IntN(2)) }
	gap := func(draw func() float64) func() float64 {
		return func() float64 {
			if v := draw(); rng.Float64() > 0.2 {
				return v
			}
			return math.NaN()
		}
	}
	add := func(name string, f family.Family, p prior.Prior, draws ...func() float64) {
		x := make([]float64, 0, n*len(draws))
		for range n {
			for _, draw := range draws {
				x = append(x, draw())
			}
		}
		table, err := blocks.FromIncomplete(x, n, len(draws))
		require.NoError(t, err)
		_, plan, err := family.Pool(context.Background(), table, f)
		require.NoError(t, err)
		b, err := plan.Posterior(p)
		require.NoError(t, err)
		require.NoError(t, b.Collapses())
		list = append(list, collapsing{name, b, table})
	}
	add("bernoulli", family.Bernoulli{}, prior.Beta{A: 0.5, B: 2}, bit, gap(bit), bit)
	add("categorical", family.Categorical{Levels: 6}, nil, count, gap(count))
	add("multinomial", family.Multinomial{Categories: 3}, prior.Concentrations{0.5, 1, 2}, count, count, count)
	add("poisson", family.Poisson{}, nil, count, gap(count))
	add("exponential", family.Exponential{}, prior.Gamma{Shape: 2, Rate: 3}, rng.ExpFloat64, gap(rng.ExpFloat64))
	add("gamma", family.Gamma{}, nil, func() float64 { return 1 + rng.ExpFloat64() })
	add("diagonal", normal.Family{Covariance: normal.Diagonal}, nil, bell, gap(bell))
	add("lognormal", normal.Lognormal{}, nil, func() float64 { return math.Exp(bell()) }, gap(rng.ExpFloat64))
	add("spherical", normal.Family{Covariance: normal.Spherical}, nil, bell, bell, bell)
	add("full", normal.Family{Covariance: normal.Full}, prior.DataScaled{Kappa: 0.5}, bell, bell, bell)
	add("product", family.Product{family.Bernoulli{}, family.Poisson{}, family.Of{Family: normal.Family{Covariance: normal.Full}, Width: 2}}, nil, gap(bit), count, bell, bell)
	return list
}

// The predictive density of a row is the ratio of two evidences, and so it is of a row that is left out in part.
func TestPredictiveDensitiesAreRatiosOfEvidences(t *testing.T) {
	for _, c := range collapsings(t) {
		n := c.table.Rows()
		ones := make([]float64, n)
		for i := range ones {
			ones[i] = 1
		}
		_, classes, h := c.evidence(t, ones)
		for _, out := range []float64{0, 0.3, 1} {
			shares, got := make([]float64, family.Padded(n)), make([]float64, family.Padded(n))
			for i := range shares {
				shares[i] = out
			}
			c.b.AddPredictive(classes, h, shares, got)
			for i := range n {
				w := append([]float64(nil), ones...)
				w[i] = 1 - out
				without, _, _ := c.evidence(t, w)
				w[i] = 2 - out
				with, _, _ := c.evidence(t, w)
				require.InDelta(t, with-without, got[i]+classes.BaseOf(i), 1e-9*max(1, math.Abs(with)), "%s, row %d, %v left out", c.name, i, out)
			}
		}
		plain, zero := make([]float64, family.Padded(n)), make([]float64, family.Padded(n))
		c.b.AddPredictive(classes, h, nil, plain)
		c.b.AddPredictive(classes, h, make([]float64, family.Padded(n)), zero)
		require.Equal(t, zero, plain, c.name)
	}
}

// The second order is half the second derivative of the evidence in the weight of a row, by differences of 4th order.
func TestSpreadIsTheSecondDerivativeOfTheEvidence(t *testing.T) {
	for _, c := range collapsings(t) {
		n := c.table.Rows()
		w := make([]float64, n)
		for i := range w {
			w[i] = 1
		}
		_, classes, h := c.evidence(t, w)
		for i := range n {
			one, got := make([]float64, family.Padded(n)), make([]float64, 1)
			one[i] = 1
			c.b.AddSpread(classes, h, one, got)
			const step = 0.02
			at := func(by float64) float64 {
				moved := append([]float64(nil), w...)
				moved[i] += by
				v, _, _ := c.evidence(t, moved)
				return v
			}
			second := (16*(at(step)+at(-step)) - at(2*step) - at(-2*step) - 30*at(0)) / (12 * step * step)
			require.InDelta(t, second/2, got[0], 1e-4*max(1, math.Abs(second)), "%s, row %d", c.name, i)
		}
	}
}

// More of a row may be left out than is there, as happens before a fixed point: what is left is at least the prior.
func TestNoMoreIsLeftOutThanThereIs(t *testing.T) {
	for _, c := range collapsings(t) {
		n := c.table.Rows()
		for _, left := range []float64{0, 1e-6, 0.4} {
			w := make([]float64, n)
			w[0] = left
			_, classes, h := c.evidence(t, w)
			out, got := make([]float64, family.Padded(n)), make([]float64, family.Padded(n))
			for i := range out {
				out[i] = 1
			}
			c.b.AddPredictive(classes, h, out, got)
			for i := range n {
				require.False(t, math.IsNaN(got[i]) || math.IsInf(got[i], 0), "%s, row %d: %v", c.name, i, got[i])
			}
		}
	}
}

func TestSharedParametersAreNotIntegratedOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 40)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	table, err := blocks.FromSlice(x, 20, 2)
	require.NoError(t, err)
	_, plan, err := family.Pool(context.Background(), table, normal.Family{Covariance: normal.Tied})
	require.NoError(t, err)
	b, err := plan.Posterior(nil)
	require.NoError(t, err)
	require.ErrorContains(t, b.Collapses(), "gaussian-tied")
}
