package experts_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// Three lines, each where x is left, in the middle or right, which overlap: intercept, slope, standard deviation.
// p(z|x) ∝ exp(−(x − m_k)²) is a softmax of linear functions: m = −2, 0, 2 has the log odds 4 + 4x and 8x.
var lines = [][3]float64{{2, 3, 0.5}, {0, -2, 0.3}, {4, 0.5, 0.6}}

// crossing draws (y, x).
func crossing(n int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, 2, nil)
	for i := range n {
		v, weights := 6*rng.Float64()-3, make([]float64, 3)
		for k, m := range []float64{-2, 0, 2} {
			weights[k] = math.Exp(-(v - m) * (v - m))
		}
		k := categorical.Draw(weights, rng)
		x.SetRow(i, []float64{lines[k][0] + lines[k][1]*v + lines[k][2]*rng.NormFloat64(), v})
	}
	return x
}

// mixtureOfExperts has lines that a gate chooses, both of the same column.
var mixtureOfExperts = experts.Model{Family: regress.Family{}, Gate: []int{1}, Columns: []int{0, 1}}

// gFAB finds three experts and where they are likely: squares of z-scores average to about 1.
func TestMixtureOfExpertsIsRecovered(t *testing.T) {
	seeds := tier.Of(3, 3, 10)
	right, count, worst := 0, 0, 0.0
	squares := []float64{0, 0} // of the gate, and of the lines
	for seed := range seeds {
		x := crossing(400, uint64(seed))
		res := fit(t, mixtureOfExperts, x, options{K: 6, Restarts: 3, Accelerate: true})
		t.Logf("seed %d: K = %d, gFIC %.3f, %d iterations", seed, res.Shape.K, res.Value, res.Iterations)
		if res.Shape.K != 3 {
			continue
		}
		right++
		res = fit(t, mixtureOfExperts, x, with(em, 3))
		p, s := res.Parameters, res.Statistics
		order := make([]int, 3) // of the lines
		for k := range 3 {
			for j := range order {
				if math.Abs(p.Mixture.Component(j)[1]-lines[k][1]) < math.Abs(p.Mixture.Component(order[k])[1]-lines[k][1]) {
					order[k] = j
				}
			}
		}
		s, p, err := mixtureOfExperts.Keep(s, p, order)
		require.NoError(t, err)
		list, err := mixtureOfExperts.Coefficients(table(t, x).All(), p)
		require.NoError(t, err)
		for k, want := range [][]float64{{4, 4}, {0, 8}} {
			for j, c := range list[k] {
				z := (c.Value - want[j]) / c.Error
				squares[0] += z * z
				worst = max(worst, math.Abs(z))
				count++
			}
		}
		errs, _, err := (mixture.Model{Family: mixtureOfExperts.Family}).StandardErrors(s.Mixture, p.Mixture)
		require.NoError(t, err)
		for k := range 3 {
			own := p.Mixture.Component(k)
			for j := range 2 {
				z := (own[j] - lines[k][j]) / errs[k*len(own)+j]
				squares[1] += z * z
			}
		}
	}
	t.Logf("K = 3 in %d of %d; squares of z-scores average to %.2f (gate, largest |z| %.2f) and %.2f (lines)", right, seeds, squares[0]/float64(count), worst, squares[1]/float64(6*right))
	assert.GreaterOrEqual(t, right, seeds-1)
	assert.Less(t, worst, 4.0)
	assert.InDelta(t, 1, squares[0]/float64(count), 0.8)
}

// Counts and successes behind a gate: the likelihood is monotone, and that of a sum over experts.
func TestExpertsOfCountsAndSuccesses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, response := range []regress.Response{regress.Counts, regress.Successes} {
		const n = 300
		x := mat.NewDense(n, 3, nil) // response, regressor, gate
		for i := range n {
			a, g := 2*rng.Float64()-1, rng.NormFloat64()
			eta := -0.5 + 2*a
			if rng.Float64() < 1/(1+math.Exp(-3*g)) {
				eta = 1 - 2*a
			}
			y := 0.0
			if response == regress.Successes {
				if rng.Float64() < 1/(1+math.Exp(-eta)) {
					y = 1
				}
			} else {
				for limit := rng.ExpFloat64(); limit < math.Exp(eta); limit += rng.ExpFloat64() {
					y++
				}
			}
			x.SetRow(i, []float64{y, a, g})
		}
		m := experts.Model{Family: regress.Family{Response: response}, Gate: []int{2}}
		res := fit(t, m, x, options{K: 2, FixedK: true, Method: framework.EM, Criterion: framework.ELBO, MaxIterations: 60})
		p := res.Parameters
		logProb, err := m.LogProb(table(t, x).All(), p, nil)
		require.NoError(t, err)
		prior, err := m.Prior(table(t, x).All(), p, nil)
		require.NoError(t, err)
		for i := range n {
			sum := 0.0
			for k := range 2 {
				b, y := p.Mixture.Component(k), x.At(i, 0)
				eta := b[0] + b[1]*x.At(i, 1)
				factorial, _ := math.Lgamma(y + 1)
				density := math.Exp(y*eta - math.Exp(eta) - factorial)
				if response == regress.Successes {
					density = math.Exp(y*eta) / (1 + math.Exp(eta))
				}
				sum += prior[2*i+k] * density
			}
			assert.InDelta(t, math.Log(sum), logProb[i], 1e-9)
		}
	}
}

// K is right more often with the gate that the rows have been drawn with than without.
func TestTheGateHelpsToFindK(t *testing.T) {
	seeds := tier.Of(3, 3, 20)
	for _, c := range []struct {
		name  string
		model experts.Model
		n     int
		draw  func(n int, seed uint64) *mat.Dense
		least int // right, of 20
	}{
		{"answers", classes, 150, survey, 18},
		{"answers", classes, 300, survey, 19},
		{"lines", mixtureOfExperts, 100, crossing, 19},
	} {
		with, without := 0, 0
		plain := c.model
		if plain.Gate = nil; plain.Columns == nil {
			plain.Columns = []int{2, 3, 4, 5, 6, 7, 8, 9}
		}
		for seed := range seeds {
			x, o := c.draw(c.n, uint64(100+seed)), options{K: 6, Restarts: 3, Accelerate: true}
			if fit(t, c.model, x, o).Shape.K == 3 {
				with++
			}
			if fit(t, plain, x, o).Shape.K == 3 {
				without++
			}
		}
		t.Logf("%s, N = %d: K = 3 in %d of %d, without the gate in %d", c.name, c.n, with, seeds, without)
		assert.GreaterOrEqual(t, with*20, c.least*seeds)
	}
}
