package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// The objective never falls, and its fixed point is the mode given q.
func TestEvidenceClimbs(t *testing.T) {
	for _, isotropic := range []bool{true, false} {
		_, x := simulated(t, 3, 3, 200, 1.5, isotropic)
		for _, m := range []framework.Model[blocks.Rows, *Parameters, *Statistics]{Model{Isotropic: isotropic}, MeanField{Model{Isotropic: isotropic}}} {
			res := fit(t, m, table(t, x), framework.Options{K: 6, Criterion: framework.Evidence, Tolerance: 1e-11, Seed: 2})
			assert.Zero(t, res.Fall)
			assert.Less(t, res.Value, res.Evaluation.Bound())
			assert.Equal(t, 3, res.Shape.K)
			next, err := Model{Isotropic: isotropic}.MaximizePosterior(res.Statistics, res.Parameters, nil)
			require.NoError(t, err)
			assert.InDeltaSlice(t, res.Parameters.Loadings, next.Loadings, 1e-4)
			assert.InDeltaSlice(t, res.Parameters.Noise, next.Noise, 1e-4)
		}
	}
}

// As many features as there are, where gFIC is right too, and none of noise.
func TestEvidenceFindsFeatures(t *testing.T) {
	right, strict := 0, 0
	for seed := range uint64(5) {
		_, x := simulated(t, seed, 3, 100, 1, true)
		o := framework.Options{K: 6, Restarts: 5, Tolerance: 1e-7, Criterion: framework.Evidence}
		if res := fit(t, Model{Isotropic: true}, table(t, x), o); res.Shape.K == 3 {
			right++
		}
		o.Criterion = framework.GFIC
		if res := fit(t, Model{Isotropic: true}, table(t, x), o); res.Shape.K == 3 {
			strict++
		}
	}
	t.Logf("right in %d of 5 tables, gFIC in %d", right, strict)
	assert.GreaterOrEqual(t, right, strict)
	rng := rand.New(rand.NewPCG(4, 4))
	noise := mat.NewDense(100, 6, nil)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, noise)
	res := fit(t, Model{}, table(t, noise), framework.Options{K: 4, Criterion: framework.Evidence, Restarts: 3})
	none := res.Parameters.Featureless(res.N)
	assert.Equal(t, 1, res.Shape.K)
	assert.Greater(t, none.Evidence, res.Value)
}

// A feature and its opposite, units and origins: the same value, but for the Jacobian.
func TestEvidenceIsInvariant(t *testing.T) {
	_, x := simulated(t, 5, 2, 60, 1.5, false)
	src := table(t, x)
	p, err := Model{}.Init(t.Context(), src, 2, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	o := framework.Options{K: 2, FixedK: true, Criterion: framework.Evidence, MaxIterations: 30}
	from := func(p *Parameters, src framework.Source[blocks.Rows]) *framework.Result[*Parameters, *Statistics] {
		res, err := framework.FitFrom(t.Context(), Model{}, src, at(Model{}, p.clone()), o)
		require.NoError(t, err)
		return res
	}
	one, other := from(p, src), from(p.Flipped(0).Flipped(1), src)
	assert.InDelta(t, one.Value, other.Value, 1e-9*math.Abs(one.Value))
	n, d := x.Dims()
	y, jacobian := mat.DenseCopyOf(x), 0.0
	y.Apply(func(_, j int, v float64) float64 { return v*math.Pow(10, float64(j%5-2)) + 3 }, y)
	q := p.clone()
	for j := range d {
		unit := math.Pow(10, float64(j%5-2))
		jacobian -= float64(n) * math.Log(unit)
		q.Offset[j] = q.Offset[j]*unit + 3
		q.Noise[j] *= unit * unit
		floats.Scale(unit, q.Loadings[2*j:2*j+2])
	}
	pooled, err := Model{}.pool(t.Context(), table(t, y))
	require.NoError(t, err)
	q.Center, q.Unit, q.Floor = pooled.Center, pooled.Unit, pooled.Floor
	scaled := from(q, table(t, y))
	assert.InDelta(t, one.Value+jacobian, scaled.Value, 1e-8*math.Abs(one.Value))
}

// exact is the model of the evidence with K = 1 in columns of mean 0 and variance 1, for annealing: π, ln of the noise,
// and what rows have in the middle and beside it. z is summed out.
func exact(x *mat.Dense) *evidence.Metropolis {
	n, d := x.Dims()
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			theta := make([]float64, 1+3*d)
			theta[0] = math.Pi * rng.Float64() // π = sin²(θ/2) is Beta(½, ½)
			for i := range theta[1:] {
				theta[i+1] = rng.NormFloat64()
				if i < d {
					theta[i+1] *= math.Sqrt2
				}
			}
			return theta
		},
		LogPriorFunc: func(theta []float64) (sum float64) {
			if theta[0] < 0 || theta[0] > math.Pi {
				return math.Inf(-1)
			}
			for i, v := range theta[1:] {
				if i < d {
					v /= math.Sqrt2
				}
				sum -= v * v / 2
			}
			return sum
		},
		LogLikelihoodFunc: func(theta []float64) (sum float64) {
			on := math.Pow(math.Sin(theta[0]/2), 2)
			noise, b, w := theta[1:1+d], theta[1+d:1+2*d], theta[1+2*d:]
			for i := range n {
				with, without := math.Log(on), math.Log1p(-on)
				for j, v := range x.RawRowView(i) {
					e := math.Exp(-noise[j])
					with -= (math.Pow(v-b[j]-w[j]/2, 2)*e + noise[j] + math.Log(2*math.Pi)) / 2
					without -= (math.Pow(v-b[j]+w[j]/2, 2)*e + noise[j] + math.Log(2*math.Pi)) / 2
				}
				sum += floats.LogSumExp([]float64{with, without})
			}
			return sum
		},
	}
}

// The bound is below annealed importance sampling of the same prior, by ln 2 for the opposite feature and little more.
func TestEvidenceAgainstAnnealing(t *testing.T) {
	for _, one := range []struct {
		n, d  int
		scale float64
	}{{20, 2, 4}, {20, 2, 0}} {
		rng := rand.New(rand.NewPCG(7, 1))
		x := mat.NewDense(one.n, one.d, nil)
		for i := range one.n {
			for j := range one.d {
				x.Set(i, j, rng.NormFloat64()+one.scale*float64(i%3/2))
			}
		}
		for j := range one.d {
			c := mat.Col(nil, j, x)
			mean := floats.Sum(c) / float64(one.n)
			floats.AddConst(-mean, c)
			floats.Scale(math.Sqrt(float64(one.n))/floats.Norm(c, 2), c)
			x.SetCol(j, c)
		}
		res := fit(t, Model{}, table(t, x), framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence, Restarts: 5})
		e, err := evidence.AIS(t.Context(), exact(x), evidence.AISOptions{Temperatures: 500, Chains: 24, Seed: 2})
		require.NoError(t, err)
		t.Logf("%+v: %.3f, annealed %.3f ± %.3f", one, res.Value, e.LogEvidence, e.StandardError)
		assert.Less(t, res.Value, e.LogEvidence+4*e.StandardError)
		assert.Greater(t, res.Value+math.Ln2, e.LogEvidence-3)
	}
}

// The evidence of fits by other criteria is no higher, and two rows have one.
func TestEvidenceOfOtherFits(t *testing.T) {
	_, x := simulated(t, 1, 2, 80, 2, true)
	src := table(t, x)
	best := fit(t, Model{Isotropic: true}, src, framework.Options{K: 2, FixedK: true, Criterion: framework.Evidence, Restarts: 3})
	for _, method := range []framework.Method{framework.EM, framework.GFAB} {
		res := fit(t, Model{Isotropic: true}, src, framework.Options{K: 2, FixedK: true, Method: method, Also: []framework.Criterion{framework.Evidence}, Restarts: 3})
		i := slices.IndexFunc(res.Scores, func(s framework.Score) bool { return s.Criterion == framework.Evidence.Name })
		require.NoError(t, res.Scores[i].Err)
		assert.Less(t, res.Scores[i].Value, best.Value+1e-6)
		assert.Greater(t, res.Scores[i].Value, best.Value-5)
	}
	two := fit(t, Model{}, table(t, mat.NewDense(2, 3, []float64{1, 2, 3, 2, 4, 9})), framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence})
	assert.False(t, math.IsNaN(two.Value) || math.IsInf(two.Value, 0))
}
