package experts_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/prior"
)

// evident fits by the evidence, from K = 6 where k is 0.
func evident(t *testing.T, m experts.Model, x mat.Matrix, k int) *result {
	t.Helper()
	o := options{K: 6, Criterion: framework.Evidence, Restarts: 5, Seed: 1}
	if k > 0 {
		o.K, o.FixedK, o.Restarts, o.Tolerance = k, true, 5, 1e-12
	}
	return fit(t, m, x, o)
}

// logMarginal is ln p(X|K) of answers to yes-no questions, in the columns after the gate's one, by the sum over all labels
// under Jeffreys' priors and the trapezoidal rule over the gate, of K = 2 classes the log odds δ_0 + δ_1 t ~ N(0, 4I).
func logMarginal(x *mat.Dense) float64 {
	const points, reach = 41, 5.0
	n, d := x.Dims()
	column := mat.Col(nil, 0, x)
	mean, deviation := floats.Sum(column)/float64(n), 0.0
	for _, v := range column {
		deviation += (v - mean) * (v - mean) / float64(n)
	}
	deviation = math.Sqrt(deviation)
	classes := make([]float64, 1<<n) // ln p(X|Z)
	for z := range classes {
		var rows [2]float64
		yes := make([]float64, 2*d)
		for i := range n {
			k := z >> i & 1
			rows[k]++
			for j := 1; j < d; j++ {
				yes[k*d+j] += x.At(i, j)
			}
		}
		for i, v := range yes {
			if i%d > 0 {
				classes[z] += prior.Concentrations{0.5 + v, 0.5 + rows[i/d] - v}.LogNorm() - math.Log(math.Pi)
			}
		}
	}
	var logs []float64
	logit := make([]float64, n)
	labels := make([]float64, 1<<n)
	step := 2 * reach / (points - 1)
	for a := range points {
		for b := range points {
			u, v := -reach+step*float64(a), -reach+step*float64(b)
			base := math.Log(step*step/2/math.Pi) - (u*u+v*v)/2
			for i := range n {
				logit[i] = 2*u + 2*v*(column[i]-mean)/deviation
				base -= math.Log1p(math.Exp(logit[i]))
			}
			for z := range labels {
				labels[z] = classes[z]
				for i, l := range logit {
					if z>>i&1 == 1 {
						labels[z] += l
					}
				}
			}
			logs = append(logs, base+floats.LogSumExp(labels))
		}
	}
	return floats.LogSumExp(logs)
}

// The evidence and ln 2! against the exact sum: never above by more than the error of Laplace's method.
func TestEvidenceIsBelowTheSumOverAllLabels(t *testing.T) {
	for _, c := range []struct {
		name  string
		steep float64
	}{{"no gate", 0}, {"a gate", 1}, {"the gate tells", 50}} {
		t.Run(c.name, func(t *testing.T) {
			rng, x := rand.New(rand.NewPCG(5, 1)), mat.NewDense(9, 9, nil)
			for i := range 9 {
				a := 100 + 7*rng.NormFloat64()
				p := 0.1
				if rng.Float64() < 1/(1+math.Exp(-c.steep*(a-100)/7)) {
					p = 0.9
				}
				x.Set(i, 0, a)
				for j := 1; j < 9; j++ {
					if rng.Float64() < p {
						x.Set(i, j, 1)
					}
				}
			}
			m := experts.Model{Family: family.Bernoulli{}, Gate: []int{0}}
			gap := evident(t, m, x, 2).Value + math.Log(2) - logMarginal(x)
			t.Logf("%.3f", gap)
			assert.Less(t, gap, 0.05)
			assert.Greater(t, gap, -0.3)
		})
	}
}

// Linear maps of the gate's columns change nothing, nor does the order of rows.
func TestEvidenceOfTheGateIsInvariant(t *testing.T) {
	x := survey(200, 6)
	y := mat.DenseCopyOf(x)
	for i := range 200 {
		u, v := x.At(199-i, 0), x.At(199-i, 1)
		y.SetRow(i, x.RawRowView(199-i))
		y.Set(i, 0, 1900+100*(2*u-v))
		y.Set(i, 1, -0.01*(u+v))
	}
	assert.InDelta(t, evident(t, classes, x, 3).Value, evident(t, classes, y, 3).Value, 1e-7)
}

// As gFIC, of tables that are drawn from three classes.
func TestEvidenceOfTheGateFindsK(t *testing.T) {
	assert.Equal(t, 3, evident(t, classes, survey(300, 101), 0).Shape.K)
	assert.Equal(t, 3, evident(t, mixtureOfExperts, crossing(100, 103), 0).Shape.K)
}

// A gate that separates classes has a mode, and E falls by classes that no row needs.
func TestEvidenceOfAGateThatSeparates(t *testing.T) {
	rng, x := rand.New(rand.NewPCG(1, 1)), mat.NewDense(150, 10, nil)
	for i := range 150 {
		u := rng.NormFloat64()
		k := 0
		if u > 0 {
			k = 1
		}
		x.Set(i, 0, u)
		x.Set(i, 1, rng.NormFloat64())
		reply(x, i, answers[k], rng)
	}
	values := []float64{}
	for k := 1; k <= 4; k++ {
		res := fit(t, classes, x, options{K: k, FixedK: true, Criterion: framework.Evidence, Restarts: 3, Accelerate: true})
		values = append(values, res.Value)
		next, err := classes.MaximizePosterior(res.Statistics, res.Parameters, nil)
		require.NoError(t, err)
		assert.InDeltaSlice(t, res.Parameters.Gate, next.Gate, 1e-3)
		assert.Less(t, floats.Norm(res.Parameters.Gate, math.Inf(1)), 20.0)
	}
	t.Log(values)
	assert.Equal(t, 1, floats.MaxIdx(values), "%v", values)
	assert.Less(t, values[3], values[2])
}
