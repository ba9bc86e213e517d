package numeric_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// tied is a Gaussian of one column whose variance all components share.
type tied struct{}

func (tied) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("mean", 1)}, Shared: []numeric.Parameter{numeric.Positive("variance", 1)}}
}

func (tied) LogProb(x, mean, variance []float64) float64 {
	r := x[0] - mean[0]
	return -(math.Log(2*math.Pi*variance[0]) + r*r/variance[0]) / 2
}

type tiedGradient struct{ tied }

func (tiedGradient) Gradient(x, mean, variance, dMean, dVariance []float64) {
	r, v := x[0]-mean[0], variance[0]
	dMean[0], dVariance[0] = r/v, (r*r/v-1)/(2*v)
}

// tiedEstimate has the means in closed form, so that the search is for the variance alone.
type tiedEstimate struct{ tied }

func (tiedEstimate) Estimate(rows numeric.Weighted, mean, _ []float64) error {
	mean[0] = 0
	for x, w := range rows.All() {
		mean[0] += w * x[0] / rows.N
	}
	return nil
}

// What components share is maximised together with what they do not, whichever way: as package mixture does in closed form.
func TestSharedParameters(t *testing.T) {
	x := clouds(60, 21)
	first := make([]float64, 60)
	for i := range first {
		first[i] = x[2*i]
	}
	src := tableOf(t, first, 1)
	for _, method := range []framework.Method{framework.EM, framework.GFAB} {
		o := framework.Options{K: 2, Method: method, FixedK: true, Tolerance: 1e-12}
		if method == framework.GFAB {
			o.Criterion = framework.GFIC
		}
		want, err := framework.Fit(ctx, mixture.Model{Family: normal.Family{Covariance: normal.Tied}}, src, o)
		require.NoError(t, err)
		for _, d := range []numeric.Density{tied{}, tiedGradient{}, tiedEstimate{}} {
			got, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: d}}, src, o)
			require.NoError(t, err)
			assert.InDelta(t, want.Value, got.Value, 1e-6, "%T by %v", d, method)
			assert.Equal(t, want.Shape, got.Shape)
			assert.Zero(t, got.Fall)
		}
	}
}

type categoricalGradient struct{ categorical }

func (categoricalGradient) Gradient(x, p, _, dP, _ []float64) {
	clear(dP)
	for j, v := range x {
		dP[3*j+int(v)] = 1 / p[3*j+int(v)]
	}
}

type fullGradient struct{ full }

// Gradient is Σ⁻¹r and ½(Σ⁻¹rrᵀΣ⁻¹ − Σ⁻¹), each entry of Σ as if it were free.
func (fullGradient) Gradient(x, xi, _, d, _ []float64) {
	a, b, c := xi[2], xi[3], xi[5]
	det := a*c - b*b
	u, v := x[0]-xi[0], x[1]-xi[1]
	p, q := (c*u-b*v)/det, (a*v-b*u)/det
	d[0], d[1] = p, q
	d[2], d[3], d[4], d[5] = (p*p-c/det)/2, (p*q+b/det)/2, (p*q+b/det)/2, (q*q-a/det)/2
}

// Gradients by numbers that are not free are carried to coordinates that are.
func TestGradientsOfConstrainedNumbers(t *testing.T) {
	for _, c := range []struct {
		plain, gradient numeric.Density
		x               []float64
		d               int
	}{
		{categorical{}, categoricalGradient{}, answers(60, 3, 22), 6},
		{full{}, fullGradient{}, clouds(60, 23), 2},
	} {
		src := tableOf(t, c.x, c.d)
		o := framework.Options{K: 2, FixedK: true, Tolerance: 1e-11, MaxIterations: 60}
		want, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: c.plain}}, src, o)
		require.NoError(t, err)
		got, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: c.gradient}}, src, o)
		require.NoError(t, err)
		assert.InDelta(t, want.Value, got.Value, 1e-6, "%T", c.gradient)
		assert.InDeltaSlice(t, want.Parameters.Components, got.Parameters.Components, 1e-4)
	}
}

type ppcaGradient struct{ ppca }

func (ppcaGradient) JointGradient(x, z, w, noise, dW, dNoise []float64) {
	d := len(x)
	square := 0.0
	for j, r := range x {
		for k, zk := range z {
			r -= zk * w[k*d+j]
		}
		square += r * r
		for k, zk := range z {
			dW[k*d+j] = zk * r / noise[0]
		}
	}
	dNoise[0] = (square/noise[0] - float64(d)) / (2 * noise[0])
}

func TestJointGradient(t *testing.T) {
	src := tableOf(t, centred(30, 3, 24), 3)
	o := framework.Options{K: 2, FixedK: true, Tolerance: 1e-10, MaxIterations: 200}
	want, err := framework.Fit(ctx, numeric.Continuous{Density: ppca{}}, src, o)
	require.NoError(t, err)
	got, err := framework.Fit(ctx, numeric.Continuous{Density: ppcaGradient{}}, src, o)
	require.NoError(t, err)
	assert.InDelta(t, want.Value, got.Value, 1e-6)
	assert.Less(t, max(want.Fall, got.Fall), 1e-8)
}
