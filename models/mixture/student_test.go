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

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/mixture"
)

// studentFree are coordinates of locations, scales, logarithms of degrees of freedom that are estimated, and weights.
func studentFree(estimated bool) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	return func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		const d = 3
		chart := gaussianChart(normal.Full, d)
		n, width := chart.steps, len(p.Components)/p.K
		if estimated {
			n++
		}
		x := append(make([]float64, p.K*n), logits(p.Weights)...)
		return x, func(x []float64) *mixture.Parameters {
			q := *p
			q.Components = nil
			for k := range p.K {
				xi, step := p.Components[k*width:(k+1)*width], x[k*n:(k+1)*n]
				q.Components = append(q.Components, chart.move(p.Pooled.Parameters[:d+d*d], xi[:d+d*d], step[:chart.steps])...)
				nu := xi[d+d*d]
				if estimated {
					nu *= math.Exp(step[chart.steps])
				}
				q.Components = append(q.Components, nu)
			}
			q.Weights = simplex(x[p.K*n:])
			return &q
		}
	}
}

// tailed are rows of two classes with t distributions of 3 degrees of freedom.
func tailed(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(21, 22))
	x := mat.NewDense(n, 3, nil)
	sigma := mat.NewSymDense(3, []float64{1, 0.5, 0, 0.5, 2, -0.3, 0, -0.3, 0.5})
	for i := range n {
		mu := [][]float64{{0, 0, 0}, {6, -3, 2}}[i%2]
		draw, _ := distmv.NewStudentsT(mu, sigma, 3, rng)
		x.SetRow(i, draw.Rand(nil))
	}
	return x
}

func TestStudentConforms(t *testing.T) {
	x := tailed(160)
	for _, f := range []normal.StudentT{{}, {Nu: 4}} {
		t.Run(f.Name(), func(t *testing.T) {
			c := conforming{family: normal.Family{}, x: x, ks: []int{1, 2}}
			model := mixture.Model{Family: f}
			lv := c.estimates(model)
			lv.Units = []lvmtest.Units[blocks.Rows]{lvmtest.Affine("an affine map", x, mat.NewDense(3, 3, []float64{10, 3, 0, 0, 0.1, 0.02, -2, 0, 7}))}
			lv.NoAllocations, lv.Latent, lv.Free = false, nil, studentFree(f.Nu == 0)
			lvmtest.Test(t, lv)
		})
	}
}

// TestStudentDensityIsThatOfDistmv: and EM ends where the gradient of the likelihood is 0.
func TestStudentDensityIsThatOfDistmv(t *testing.T) {
	x := tailed(300)
	table := incompleteTable(t, x)
	m := mixture.Model{Family: normal.StudentT{}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 2, FixedK: true, Method: framework.EM, Tolerance: 1e-13, MaxIterations: 20000})
	require.NoError(t, err)
	require.Zero(t, res.Fall)
	require.Equal(t, 21, res.Shape.Identifiable())
	got, err := m.LogProb(table.All(), res.Parameters, nil)
	require.NoError(t, err)
	for i, v := range got {
		joint := make([]float64, 2)
		for k := range joint {
			xi := res.Parameters.Component(k)
			draw, ok := distmv.NewStudentsT(xi[:3], mat.NewSymDense(3, slices.Clone(xi[3:12])), xi[12], nil)
			require.True(t, ok)
			joint[k] = math.Log(res.Parameters.Weights[k]) + draw.LogProb(x.RawRowView(i))
		}
		require.InDelta(t, floats.LogSumExp(joint), v, 1e-9)
	}
	x0, at := studentFree(true)(res.Statistics, res.Parameters)
	grad := make([]float64, len(x0))
	gradient(grad, func(x []float64) float64 {
		p, err := m.LogProb(table.All(), at(x), nil)
		require.NoError(t, err)
		return floats.Sum(p)
	}, x0)
	require.Less(t, floats.Norm(grad, math.Inf(1)), 1e-3)
	for k := range 2 {
		require.InDelta(t, 3, res.Parameters.Component(k)[12], 1.5)
	}
}

// TestStudentInformation: the unit information is E[∂ ln p ∂ ln p], by a sample of 400,000 rows.
func TestStudentInformation(t *testing.T) {
	x := tailed(100)
	table := incompleteTable(t, x)
	m := mixture.Model{Family: normal.StudentT{}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 1, Method: framework.EM})
	require.NoError(t, err)
	p := res.Parameters
	factors, err := m.Family.On(3)
	require.NoError(t, err)
	xi := slices.Clone(p.Pooled.Parameters)
	xi[0], xi[3], xi[12] = xi[0]+1, xi[3]*0.7, 5
	p.Components = xi
	info := factors[0].(family.SumFactor).Information(xi, p.Pooled, nil)[0]
	const n = 400000
	rows, _, err := m.Sample(p, n, rand.New(rand.NewPCG(5, 6)))
	require.NoError(t, err)
	block := blocks.Rows{N: n, D: 3, Stride: 3, X: rows}
	chart := gaussianChart(normal.Full, 3)
	slope := make([][]float64, 10)
	for a := range slope {
		score := func(h float64) []float64 {
			step := make([]float64, 9)
			q := *p
			if a < 9 {
				step[a] = h
			}
			q.Components = append(chart.move(p.Pooled.Parameters[:12], xi[:12], step), xi[12])
			if a == 9 {
				q.Components[12] = 1 / math.Expm1(math.Log1p(1/xi[12])+h)
			}
			v, err := m.LogProb(block, &q, nil)
			require.NoError(t, err)
			return v
		}
		const h = 1e-4
		slope[a] = score(h)
		floats.Sub(slope[a], score(-h))
		floats.Scale(1/(2*h), slope[a])
	}
	for a := range slope {
		for b := range a + 1 {
			got := floats.Dot(slope[a], slope[b]) / n
			require.InDelta(t, info.At(a, b)/math.Sqrt(info.At(a, a)*info.At(b, b)), got/math.Sqrt(info.At(a, a)*info.At(b, b)), 0.02, "(%d, %d)", a, b)
		}
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(info))
	require.InDelta(t, chol.LogDet(), info.LogDet(), 1e-9)
}
