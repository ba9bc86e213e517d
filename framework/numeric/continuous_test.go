package numeric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
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
	src := tableOf(t, centred(40, 4, 1), 4)
	for _, o := range []framework.Options{{K: 1, Method: framework.EM}, {K: 2, Method: framework.EM}, {K: 3, Tolerance: 1e-11}, {K: 3, Method: framework.FAB}} {
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
