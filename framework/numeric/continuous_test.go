package numeric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/bpca"
)

// ppca is the twin of bpca.Model on centred columns.
type ppca struct{}

func (ppca) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("loadings", d)}, Shared: []numeric.Parameter{numeric.Positive("noise", 1)}}
}

func (ppca) LogJoint(x, z, w, noise []float64) float64 {
	d := len(x)
	sum := 0.0
	for _, v := range z {
		sum -= (v*v + math.Log(2*math.Pi)) / 2
	}
	square := 0.0
	for j, v := range x {
		for k, zk := range z {
			v -= zk * w[k*d+j]
		}
		square += v * v
	}
	return sum - (float64(d)*math.Log(2*math.Pi*noise[0])+square/noise[0])/2
}

// centred draws n rows of d columns with two latent dimensions, centred.
func centred(n, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 8))
	w := mat.NewDense(2, d, nil)
	for i := range w.RawMatrix().Data {
		w.RawMatrix().Data[i] = 2 * rng.NormFloat64()
	}
	x := make([]float64, n*d)
	mean := make([]float64, d)
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for j := range d {
			x[i*d+j] = a*w.At(0, j) + b*w.At(1, j) + rng.NormFloat64()
			mean[j] += x[i*d+j] / float64(n)
		}
	}
	for i := range x {
		x[i] -= mean[i%d]
	}
	return x
}

func TestTwinOfBPCA(t *testing.T) {
	src := tableOf(t, centred(30, 3, 1), 3)
	for _, o := range []framework.Options{{K: 1, Method: framework.EM}, {K: 2, Criterion: framework.GFIC, Tolerance: 1e-11}, {K: 2, Method: framework.FAB}} {
		if o.Tolerance == 0 {
			o.Tolerance = 1e-12
		}
		want, err := framework.Fit(ctx, bpca.Model{}, src, o)
		require.NoError(t, err)
		got, err := framework.Fit(ctx, numeric.Continuous{Density: ppca{}}, src, o)
		require.NoError(t, err)
		t.Logf("%v from %d: K = %d, %s = %.9f, apart %.1e; %d and %d iterations, %d and %d passes; fall %.1e", o.Method, o.K, got.Shape.K, got.Criterion, got.Value, got.Value-want.Value, got.Iterations, want.Iterations, got.Passes, want.Passes, got.Fall)
		assert.Equal(t, want.Shape.K, got.Shape.K)
		assert.Equal(t, want.Shape.Total(), got.Shape.Total())
		assert.InDelta(t, want.Value, got.Value, 1e-6)
		assert.Less(t, got.Fall, 1e-8)
	}
}

// counted is a factor model of counts, x_j ~ Poisson(exp(b_j + Σ_k z_k w_kj)): ln p(x, z) is not quadratic in z.
type counted struct{}

func (counted) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("loadings", d)}, Shared: []numeric.Parameter{numeric.Real("offset", d)}}
}

func (counted) LogJoint(x, z, w, offset []float64) float64 {
	sum := 0.0
	for _, v := range z {
		sum -= (v*v + math.Log(2*math.Pi)) / 2
	}
	for j, v := range x {
		eta := offset[j]
		for k, zk := range z {
			eta += zk * w[k*len(x)+j]
		}
		lgamma, _ := math.Lgamma(v + 1)
		sum += v*eta - math.Exp(eta) - lgamma
	}
	return sum
}

// lifted draws counts whose logarithms move together.
func lifted(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	w, b := []float64{0.9, 0.7, -0.8}, []float64{2, 1.5, 2}
	x := make([]float64, 3*n)
	for i := range n {
		z := rng.NormFloat64()
		for j := range w {
			rate := math.Exp(b[j] + z*w[j])
			for t := rng.ExpFloat64(); t < rate; t += rng.ExpFloat64() {
				x[3*i+j]++
			}
		}
	}
	return x
}

// Where z does not enter quadratically the iteration still ascends, and what it ascends is ln p(x) to the error of the
// rule.
func TestCountsWithContinuousZ(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	src := tableOf(t, lifted(30, 1), 3)
	for _, m := range []numeric.Continuous{{Density: counted{}}, {Density: counted{}, Nodes: 5}, {Density: counted{}, Nodes: 3}} {
		res, err := framework.Fit(ctx, m, src, framework.Options{K: 1, Method: framework.EM, Tolerance: 1e-7})
		require.NoError(t, err)
		assert.Less(t, res.Fall, 1e-8)
		p := res.Parameters
		bound, err := m.LogProb(src.All(), p, nil)
		require.NoError(t, err)
		worst := 0.0
		for i := range bound {
			// ln ∫ p(x, z) dz by the trapezoidal rule, which is exact here but for rounding.
			exact := 0.0
			for z := -10.0; z <= 10; z += 0.01 {
				exact += 0.01 * math.Exp(counted{}.LogJoint(src.All().Row(i), []float64{z}, p.Components, p.Shared))
			}
			worst = max(worst, math.Abs(math.Log(exact)-bound[i]))
		}
		t.Logf("Nodes %d: %d iterations, bound %.6f, at most %.1e from ln p(x); loadings %.3f", m.Nodes, res.Iterations, res.Evaluation.Bound(), worst, p.Components)
		assert.Less(t, worst, map[int]float64{0: 1e-9, 5: 1e-4, 3: 1e-2}[m.Nodes])
		sign := math.Copysign(1, p.Components[0])
		for j, w := range []float64{0.9, 0.7, -0.8} {
			assert.InDelta(t, w, sign*p.Components[j], 0.35) // three standard errors of 30 rows
		}
	}
}

// firstThree are counts in the first columns of many.
type firstThree struct{ counted }

func (f firstThree) Layout(int) numeric.Layout { return f.counted.Layout(3) }

func (f firstThree) LogJoint(x, z, w, offset []float64) float64 {
	return f.counted.LogJoint(x[:3], z, w, offset)
}

// TestContinuousZOfFloat32: a global step reads rows whose blocks were in memory that is used again.
func TestContinuousZOfFloat32(t *testing.T) {
	const n, d = 18, 1 << 15 // blocks of 16 rows
	x, counts := make([]float32, n*d), lifted(n, 1)
	for i := range n {
		for j := range 3 {
			x[i*d+j] = float32(counts[3*i+j])
		}
	}
	src, err := blocks.FromFloat32(x, n, d)
	require.NoError(t, err)
	m, o := numeric.Continuous{Density: firstThree{}, Nodes: 3}, framework.Options{K: 1, Method: framework.EM, MaxIterations: 2}
	got, err := framework.Fit(ctx, m, src, o)
	require.NoError(t, err)
	want, err := framework.Fit(ctx, m, tableOf(t, src.All().X, d), o)
	require.NoError(t, err)
	assert.Equal(t, want.Trace, got.Trace)
	assert.Equal(t, want.Parameters, got.Parameters)
}

// gFAB takes a dimension away that the counts do not need, whether dimensions mix or not.
func TestPruningWithContinuousZ(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	src := tableOf(t, lifted(16, 1), 3)
	mixing := numeric.Continuous{Density: counted{}}
	for _, m := range []framework.Model[blocks.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{mixing, numeric.Continuous{Density: counted{}, Axes: true}} {
		res, err := framework.Fit(ctx, m, src, framework.Options{K: 2, Tolerance: 1e-5})
		require.NoError(t, err)
		t.Logf("K = %d, gFIC %.4f, %d passes, fall %.1e", res.Shape.K, res.Value, res.Passes, res.Fall)
		assert.Equal(t, 1, res.Shape.K)
	}
}

// Dimensions that stand for themselves are not turned.
func TestAxesAreNotTurned(t *testing.T) {
	m := numeric.Continuous{Density: ppca{}, Axes: true}
	res, err := framework.Fit(ctx, m, tableOf(t, centred(30, 3, 4), 3), framework.Options{K: 2, FixedK: true, MaxIterations: 3})
	require.NoError(t, err)
	signal, err := m.Signal(res.Statistics, res.Parameters)
	require.NoError(t, err)
	assert.Nil(t, signal)
}

// Turning z changes nothing: the same model in another basis has the same value, curvature and projection.
func TestRotationChangesNothing(t *testing.T) {
	m := numeric.Continuous{Density: ppca{}}
	src := tableOf(t, centred(30, 3, 4), 3)
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 2, FixedK: true, MaxIterations: 5})
	require.NoError(t, err)
	sin, cos := math.Sincos(0.7)
	turn := mat.NewDense(2, 2, []float64{cos, -sin, sin, cos})
	s, p, err := m.Rotate(res.Statistics, res.Parameters, turn)
	require.NoError(t, err)
	assert.InDelta(t, m.LogJoint(res.Statistics, res.Parameters), m.LogJoint(s, p), 1e-9)
	assert.InDelta(t, curvature(t, m, res.Statistics, res.Parameters).LogDet(), curvature(t, m, s, p).LogDet(), 1e-9)
	assert.InDeltaSlice(t, signals(t, m, res.Statistics, res.Parameters), signals(t, m, s, p), 1e-6)
}

// curvature is what a model says of it.
func curvature[P any, S framework.Statistics[S]](t *testing.T, m optional.Curved[P, S], s S, p P) *laplace.Curvature {
	var f laplace.Curvature
	f.Reset(s.Observations(), false)
	require.NoError(t, m.Curvature(s, p, &f))
	return &f
}

// signals are the eigenvalues of Signal.
func signals(t *testing.T, m numeric.Continuous, s *numeric.Posteriors, p *numeric.ContinuousParameters) []float64 {
	signal, err := m.Signal(s, p)
	require.NoError(t, err)
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(signal, false))
	return eigen.Values(nil)
}

// A degenerate dimension leaves nothing behind: with a loading of 0 and z from its prior, the projection changes the
// joint likelihood by the prior of z alone (paper G, eq. 3).
func TestProjectionKeepsJointLikelihood(t *testing.T) {
	m := numeric.Continuous{Density: ppca{}}
	src := tableOf(t, centred(30, 3, 5), 3)
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 2, FixedK: true, MaxIterations: 5})
	require.NoError(t, err)
	for i := range 3 {
		res.Parameters.Components[3+i] = 0
	}
	s, entropy, err := framework.LocalStep(ctx, m, src, res.Parameters, 1)
	require.NoError(t, err)
	small, q, err := m.Keep(s, res.Parameters, []int{0})
	require.NoError(t, err)
	// z₂ ~ N(0, 1) has E[ln N(z₂|0, 1)] = −½(1 + ln 2π), and the same entropy with the other sign.
	prior := -30. / 2 * (1 + math.Log(2*math.Pi))
	assert.InDelta(t, m.LogJoint(s, res.Parameters)-prior, m.LogJoint(small, q), 1e-8)
	assert.Greater(t, entropy, -prior)
}
