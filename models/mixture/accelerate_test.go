package mixture_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// passes counts those of fits without and with extrapolation.
type passes struct{ plain, fast, fits, collapsed int }

// compare fits both ways from several starts, and holds the fast fit to what the plain one is held to.
func compare[P any](t *testing.T, count *passes, m framework.Model[blocks.Rows, P, *mixture.Statistics], src framework.Source[blocks.Rows], methods ...framework.Method) {
	t.Helper()
	for _, method := range methods {
		for _, k := range []int{2, 4} {
			for seed := range uint64(2) {
				o := framework.Options{K: k, Method: method, Seed: seed, Workers: 1, MaxIterations: 1000, NoMoves: true}
				plain, err := framework.Fit(t.Context(), m, src, o)
				if err != nil {
					continue // a component collapses, as Gaussian ones may
				}
				o.Accelerate = true
				fast, err := framework.Fit(t.Context(), m, src, o)
				if err != nil { // on the way to another maximum one may collapse, too
					require.ErrorIs(t, err, framework.ErrDegenerate)
					count.collapsed++
					continue
				}
				count.fits++
				count.plain += plain.Passes
				count.fast += fast.Passes
				assert.Less(t, fast.Passes, plain.Passes+plain.Passes/2+5, "%v from K = %d, seed %d", method, k, seed)
				climbed(t, fast.Objective, fast.KTrace)
			}
		}
	}
}

// climbed says whether the objective never falls while K stays, but by rounding.
func climbed(t require.TestingT, objective []float64, k []int) {
	for i := 1; i < len(objective); i++ {
		if k[i] == k[i-1] {
			require.GreaterOrEqual(t, objective[i], objective[i-1]-1e-12*math.Abs(objective[i]), "iteration %d", i+1)
		}
	}
}

// TestAccelerationOfAllFamilies by all methods: a third of the passes are saved (of 12,349, those of
// pruning's trials included, at the time of writing), and no fit takes many more.
func TestAccelerationOfAllFamilies(t *testing.T) {
	var count passes
	for _, c := range conformingModels(t) {
		n, d := c.x.Dims()
		src := source(t, c.x.RawMatrix().Data, n, d)
		model := mixture.Model{Family: c.family}
		t.Run(c.name, func(t *testing.T) { compare(t, &count, model, src, framework.EM, framework.FAB, framework.GFAB) })
		t.Run(c.name+" MAP", func(t *testing.T) {
			compare(t, &count, mixture.MAP{Model: model, Weights: prior.Dirichlet{Alpha: 2}}, src, framework.EM, framework.GFAB)
		})
		t.Run(c.name+" VB", func(t *testing.T) { compare(t, &count, mixture.Variational{Family: c.family}, src, framework.EM) })
	}
	t.Logf("%d passes, %d plain; %d fits, %d collapsed", count.fast, count.plain, count.fits, count.collapsed)
	assert.LessOrEqual(t, count.collapsed, count.fits/50)
	assert.Less(t, float64(count.fast), 0.7*float64(count.plain))
}

// TestAccelerationOfLatentClasses, whose likelihood is flat: three passes in four are saved.
func TestAccelerationOfLatentClasses(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed+1, 1))
		const n, d, k = 2000, 8, 3
		p, x := make([]float64, k*d), make([]float64, n*d)
		for i := range p {
			p[i] = 0.15 + 0.7*rng.Float64()
		}
		for i := range n {
			class := rng.IntN(k)
			for j := range d {
				if rng.Float64() < p[class*d+j] {
					x[i*d+j] = 1
				}
			}
		}
		o := framework.Options{K: k, Method: framework.EM, Seed: seed, NoMoves: true}
		m, src := mixture.Model{Family: family.Bernoulli{}}, source(t, x, n, d)
		plain := fit(t, m, src, o)
		o.Accelerate = true
		fast := fit(t, m, src, o)
		t.Logf("%d passes, %d plain, %.2g nats higher", fast.Passes, plain.Passes, fast.Value-plain.Value)
		assert.Less(t, fast.Passes, plain.Passes/4)
		assert.Greater(t, fast.Value, plain.Value-1e-9*n)
	}
}

// TestAccelerationOfTooManyComponents: small components that overlap are where extrapolated
// covariances and counts leave their range. On a floor, 1e-10 of the variance, an objective is known to fewer
// digits than climbed asks for.
func TestAccelerationOfTooManyComponents(t *testing.T) {
	fits, failures := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "data"), 1))
		n, d := rapid.IntRange(20, 60).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d")
		x := make([]float64, n*d)
		for i := range x {
			x[i] = rng.NormFloat64() + 3*float64(rng.IntN(2))
		}
		src, err := blocks.FromSlice(x, n, d)
		require.NoError(t, err)
		o := framework.Options{
			K:             rapid.IntRange(2, 5).Draw(t, "k"),
			Method:        rapid.SampledFrom([]framework.Method{framework.EM, framework.GFAB}).Draw(t, "method"),
			Seed:          rapid.Uint64().Draw(t, "seed"),
			MaxIterations: 500,
			Workers:       1,
		}
		m := mixture.Model{Family: normal.Family{Covariance: rapid.SampledFrom([]normal.Covariance{normal.Full, normal.Tied, normal.Diagonal, normal.Spherical}).Draw(t, "covariance"), Floor: family.NoFloor}}
		if _, err := framework.Fit(t.Context(), m, src, o); err != nil {
			return
		}
		fits++
		o.Accelerate = true
		res, err := framework.Fit(t.Context(), m, src, o)
		if err != nil { // another local maximum, beyond which one component collapses
			require.ErrorIs(t, err, framework.ErrDegenerate)
			failures++
			return
		}
		climbed(t, res.Objective, res.KTrace)
	})
	t.Logf("%d fits, %d failed", fits, failures)
	assert.Positive(t, fits)
	assert.LessOrEqual(t, failures, fits/50)
}

func TestAcceleratedIterationsAllocateNothing(t *testing.T) {
	src := embedded(t, "iris", 4)
	m := mixture.Model{Family: normal.Family{Floor: family.NoFloor}} // extrapolated covariances go below it
	count := func(iterations int, accelerate bool) float64 {
		o := framework.Options{K: 3, Method: framework.EM, Workers: 1, Accelerate: accelerate, MaxIterations: iterations, Seed: 2, Tolerance: 1e-300}
		least := math.Inf(1) // what others allocate meanwhile is on top
		for range 5 {
			least = min(least, testing.AllocsPerRun(1, func() { fit(t, m, src, o) }))
		}
		return least
	}
	plain := max(0, count(60, false)-count(40, false)) // fewer for more iterations is what others allocated
	assert.LessOrEqual(t, count(60, true)-count(40, true), plain+10)
}

// TestStudentTIsExtrapolated: the degrees of freedom of normal rows go to the end of their range in thousands of
// iterations, and in a hundred where they are extrapolated. What was taken up from a checkpoint ends with the same bits.
func TestStudentTIsExtrapolated(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x := mat.NewDense(120, 2, nil)
	for i := range 120 {
		x.SetRow(i, []float64{rng.NormFloat64() + 6*float64(i%2), rng.NormFloat64()})
	}
	m, src := mixture.Model{Family: normal.StudentT{}}, incompleteTable(t, x)
	o := framework.Options{K: 2, FixedK: true, NoMoves: true, Seed: 1}
	whole := fit(t, m, src, o)
	assert.Less(t, whole.Iterations, 300)
	climbed(t, whole.Objective, whole.KTrace)
	short := o
	short.MaxIterations = 30
	saved, err := fit(t, m, src, short).Checkpoint()
	require.NoError(t, err)
	o.Resume = saved
	resumed := fit(t, m, src, o)
	assert.Equal(t, whole.Trace, resumed.Trace)
	assert.Equal(t, whole.Parameters.Components, resumed.Parameters.Components)
}
