package mixture_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// noiseFree are coordinates of a structure's parameters and the logit of the share of noise.
func noiseFree(name string, d int) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	without := structureFree(name, d)
	return func(s *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		width := len(p.Components) / p.K
		own := width - 1 - 2*d
		q := *p
		pooled := *p.Pooled
		pooled.Parameters = pooled.Parameters[:own]
		q.Pooled, q.Components = &pooled, nil
		for k := range p.K {
			q.Components = append(q.Components, p.Component(k)[:own]...)
		}
		x, at := without(s, &q)
		x = append(x, math.Log(p.Component(0)[own]/(1-p.Component(0)[own])))
		return x, func(x []float64) *mixture.Parameters {
			last := len(x) - 1
			moved, to := at(x[:last]), *p
			to.Weights, to.Components = moved.Weights, nil
			for k := range p.K {
				to.Components = append(to.Components, moved.Component(k)...)
				to.Components = append(to.Components, 1/(1+math.Exp(-x[last])))
				to.Components = append(to.Components, p.Component(k)[own+1:]...)
			}
			return &to
		}
	}
}

// littered are overlapping rows, a tenth of which is anywhere.
func littered(n int) *mat.Dense {
	x := overlapping(n)
	rng := rand.New(rand.NewPCG(31, 32))
	for i := 0; i < n; i += 10 {
		x.SetRow(i, []float64{40 * (rng.Float64() - 0.5), 40 * (rng.Float64() - 0.5), 40 * (rng.Float64() - 0.5)})
	}
	return x
}

func noiseOver(f family.Family, x *mat.Dense) normal.Noise {
	_, d := x.Dims()
	low, high := normal.Ranges(x.RawMatrix().Data, d)
	return normal.Noise{Family: f, Low: low, High: high}
}

func TestNoiseConforms(t *testing.T) {
	x := tailed(160) // two classes, far apart
	low, high := normal.Ranges(littered(160).RawMatrix().Data, 3)
	for name, form := range map[string]normal.Covariance{"VVV": normal.Full, "EEE": normal.Tied, "VEI": normal.VEI, "EEV": normal.EEV} {
		t.Run(name, func(t *testing.T) {
			if name != "VVV" && name != "VEI" {
				tier.Leave(t, "noise beside covariances of their own, and beside a structure")
			}
			f := normal.Noise{Family: normal.Family{Covariance: form}, Low: low, High: high}
			model := mixture.Model{Family: f}
			lv := conforming{family: normal.Family{}, x: x, ks: []int{1, 2}}.estimates(model)
			lv.NoAllocations, lv.Latent, lv.Units, lv.Free = false, nil, nil, noiseFree(name, 3)
			lvmtest.Test(t, lv)
		})
	}
}

// TestNoiseIsOneComponentOfAConstantDensity: and the units of the columns change nothing but the scale of densities.
func TestNoiseIsOneComponentOfAConstantDensity(t *testing.T) {
	x := littered(300)
	fit := func(x *mat.Dense) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
		res, err := framework.Fit(context.Background(), mixture.Model{Family: noiseOver(normal.Family{}, x)}, incompleteTable(t, x), framework.Options{K: 8, Restarts: 3})
		require.NoError(t, err)
		require.Zero(t, res.Fall)
		return res
	}
	res := fit(x)
	require.Equal(t, 3, res.Shape.K)
	require.Equal(t, 3*9+2+1, res.Shape.Identifiable())
	f := noiseOver(normal.Family{}, x)
	m := mixture.Model{Family: f}
	p := res.Parameters
	share := p.Component(0)[12]
	require.InDelta(t, 0.1, share, 0.03)
	errs, _, err := m.StandardErrors(res.Statistics, p)
	require.NoError(t, err)
	require.InDelta(t, math.Sqrt(share*(1-share)/300), errs[12], 1e-12, "of all rows")
	got, err := m.LogProb(incompleteTable(t, x).All(), p, nil)
	require.NoError(t, err)
	volume := 1.0
	for j := range 3 {
		volume *= f.High[j] - f.Low[j]
	}
	for i, v := range got {
		joint := []float64{math.Log(share / volume)}
		for k := range 3 {
			xi := p.Component(k)
			normal, ok := distmv.NewNormal(xi[:3], mat.NewSymDense(3, slices.Clone(xi[3:12])), nil)
			require.True(t, ok)
			joint = append(joint, math.Log((1-share)*p.Weights[k])+normal.LogProb(x.RawRowView(i)))
		}
		require.InDelta(t, floats.LogSumExp(joint), v, 1e-10)
		require.InDelta(t, math.Exp(joint[0]-v), m.NoiseProbability(blocks.Rows{}, got, p, nil)[i], 1e-10)
	}
	require.Nil(t, mixture.Model{Family: normal.Family{}}.NoiseProbability(blocks.Rows{}, got, p, nil))
	scaled := mat.DenseCopyOf(x)
	scaled.Apply(func(_, j int, v float64) float64 { return v * []float64{1000, 0.1, 7}[j] }, scaled)
	other := fit(scaled)
	require.Equal(t, 3, other.Shape.K)
	require.InDelta(t, res.Value-300*math.Log(700), other.Value, 1e-5)
	plain, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, incompleteTable(t, x), framework.Options{K: 8, Restarts: 3})
	require.NoError(t, err)
	require.Greater(t, res.Value, plain.Value)
}

// TestNoiseOfMclust: ruspini with ten points strewn about has the log-likelihoods of mclust 6.0.0 (me with Vinv = 1/V of the box).
func TestNoiseOfMclust(t *testing.T) {
	all, err := data.Load("ruspini")
	require.NoError(t, err)
	x, n, _, err := all.Matrix()
	require.NoError(t, err)
	x = append(slices.Clone(x), 2, 150, 118, 5, 60, 5, 5, 100, 115, 120, 40, 100, 80, 90, 60, 150, 110, 40, 8, 8)
	rows := mat.NewDense(n+10, 2, x)
	for form, want := range map[normal.Covariance]float64{
		normal.Full: -753.553535, normal.Tied: -755.883383, normal.VII: -756.794376, normal.EEV: -754.668028,
	} {
		m := mixture.Model{Family: noiseOver(normal.Family{Covariance: form}, rows), Start: family.Seeded}
		res, err := framework.Fit(context.Background(), m, incompleteTable(t, rows), framework.Options{K: 4, FixedK: true, Method: framework.EM, Tolerance: 1e-12, Restarts: 10, MaxIterations: 20000, NoMoves: true})
		require.NoError(t, err, form)
		t.Logf("%v: %.6f, mclust %.6f", form, res.Evaluation.LogLikelihood, want)
		require.InDelta(t, want, res.Evaluation.LogLikelihood, 1e-4, form)
	}
}

func TestNoiseExplainsItself(t *testing.T) {
	x := littered(60)
	_, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Noise{Family: normal.Family{}}}, incompleteTable(t, x), framework.Options{K: 2})
	require.ErrorContains(t, err, "needs Low and High, the box of the table")
	_, err = framework.Fit(context.Background(), mixture.Model{Family: noiseOver(normal.Family{}, x)}, incompleteTable(t, holed(x, 0.1)), framework.Options{K: 2})
	require.ErrorContains(t, err, "needs complete rows")
	_, err = framework.Fit(context.Background(), mixture.MAP{Model: mixture.Model{Family: noiseOver(normal.Family{}, x)}}, incompleteTable(t, x), framework.Options{K: 2, Method: framework.EM})
	require.ErrorContains(t, err, "has no conjugate prior")
	_, err = normal.Noise{Family: family.Product{family.Poisson{}, family.Bernoulli{}}}.On(2)
	require.ErrorContains(t, err, "one factor on all columns")
}
