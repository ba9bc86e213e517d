package lds_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lds"
)

// oscillating is a model of two dimensions that turn by a ninth of a circle in a step, seen in d columns.
func oscillating(d int) *lds.Parameters {
	rng := rand.New(rand.NewPCG(3, 4))
	sin, cos := math.Sincos(2 * math.Pi / 9)
	p := &lds.Parameters{K: 2, D: d, Dynamics: []float64{0.95 * cos, -0.95 * sin, 0.95 * sin, 0.95 * cos},
		Start: []float64{1, -2}, Spread: 3}
	for range d {
		p.Loadings = append(p.Loadings, rng.NormFloat64(), rng.NormFloat64())
		p.Mean, p.Center, p.Unit = append(p.Mean, 5), append(p.Center, 5), append(p.Unit, 4)
		p.Noise = append(p.Noise, 1+rng.Float64())
	}
	return p
}

// driven has two inputs.
func driven(p *lds.Parameters) *lds.Parameters {
	p.Inputs, p.Drive = 2, []float64{1, -0.5, 0.3, 2}
	for j := range p.D {
		p.Effects = append(p.Effects, 2-float64(j), float64(j))
	}
	return p
}

// sequences are drawn from p; missing is the share of cells left out.
func sequences(p *lds.Parameters, seed uint64, missing float64, lengths ...int) blocks.Sequences {
	rng := rand.New(rand.NewPCG(seed, 7))
	width := p.D + p.Inputs
	b := blocks.Sequences{Steps: blocks.Rows{D: width, Stride: width}}
	for _, n := range lengths {
		inputs := make([]float64, n*p.Inputs)
		for i := range inputs {
			inputs[i] = 1 + rng.NormFloat64()
		}
		x, _ := p.Sample(n, nil, inputs, rng)
		for i := range x {
			if rng.Float64() < missing && i%width < p.D {
				x[i] = math.NaN()
			}
		}
		b.Steps.X, b.Steps.N = append(b.Steps.X, x...), b.Steps.N+n
		b.Ends = append(b.Ends, b.Steps.N)
	}
	return b
}

// dense is the joint normal distribution of z and x of one sequence, with the columns that are missing left out: z given
// x, steps·K, and ln p(x).
func dense(t *testing.T, p *lds.Parameters, b blocks.Sequences) (mean *mat.VecDense, cov *mat.Dense, logProb float64) {
	n, k := b.Steps.N, p.K
	zMean, zCov := mat.NewVecDense(n*k, nil), mat.NewDense(n*k, n*k, nil)
	a := mat.NewDense(k, k, p.Dynamics)
	m, v := mat.NewVecDense(k, slices.Clone(p.Start)), mat.NewDense(k, k, nil)
	for j := range k {
		v.Set(j, j, p.Spread)
	}
	for i := range n {
		if i > 0 {
			m.MulVec(a, mat.VecDenseCopyOf(m))
			for r := range k {
				for l, u := range b.Steps.Row(i)[p.D:] {
					m.SetVec(r, m.AtVec(r)+p.Drive[r*p.Inputs+l]*u)
				}
			}
			v.Product(a, mat.DenseCopyOf(v), a.T())
			for j := range k {
				v.Set(j, j, v.At(j, j)+1)
			}
		}
		cross := mat.DenseCopyOf(v)
		for later := i; later < n; later++ {
			for r := range k {
				for c := range k {
					zCov.Set(later*k+r, i*k+c, cross.At(r, c))
					zCov.Set(i*k+c, later*k+r, cross.At(r, c))
				}
			}
			cross.Mul(a, mat.DenseCopyOf(cross))
		}
		for r := range k {
			zMean.SetVec(i*k+r, m.AtVec(r))
		}
	}
	var rows [][]float64
	var left, noise []float64
	for i := range n {
		row := b.Steps.Row(i)
		for j := range p.D {
			if row[j] != row[j] {
				continue
			}
			r := make([]float64, n*k)
			copy(r[i*k:], p.Loadings[j*k:(j+1)*k])
			mean := p.Mean[j]
			for l := range p.Inputs {
				mean += p.Effects[j*p.Inputs+l] * row[p.D+l]
			}
			rows, left, noise = append(rows, r), append(left, row[j]-mean), append(noise, p.NoiseOf(j))
		}
	}
	h := mat.NewDense(len(rows), n*k, nil)
	for i, r := range rows {
		h.SetRow(i, r)
	}
	var seen, gain mat.Dense
	seen.Product(h, zCov, h.T())
	sym := mat.NewSymDense(len(rows), nil)
	for i := range rows {
		for j := i; j < len(rows); j++ {
			sym.SetSym(i, j, seen.At(i, j))
		}
		sym.SetSym(i, i, seen.At(i, i)+noise[i])
	}
	var chol mat.Cholesky
	require.True(t, chol.Factorize(sym))
	e := mat.NewVecDense(len(rows), left)
	var expected, solved mat.VecDense
	expected.MulVec(h, zMean)
	e.SubVec(e, &expected)
	require.NoError(t, chol.SolveVecTo(&solved, e))
	logProb = -(float64(len(rows))*math.Log(2*math.Pi) + chol.LogDet() + mat.Dot(e, &solved)) / 2
	var hz, left2 mat.Dense
	hz.Mul(h, zCov)
	require.NoError(t, chol.SolveTo(&gain, &hz))
	mean, cov = mat.NewVecDense(n*k, nil), mat.NewDense(n*k, n*k, nil)
	mean.MulVec(hz.T(), &solved)
	mean.AddVec(mean, zMean)
	left2.Mul(hz.T(), &gain)
	cov.Sub(zCov, &left2)
	return mean, cov, logProb
}

func TestSmootherIsDenseConditioning(t *testing.T) {
	for i, missing := range []float64{0, 0.4, 0.4} {
		p := oscillating(3)
		if i == 2 {
			p = driven(p)
		}
		b := sequences(p, 1, missing, 12)
		if missing > 0 {
			for j := range p.D { // a step that misses all
				b.Steps.Row(4)[j] = math.NaN()
			}
		}
		mean, cov, logProb := dense(t, p, b)
		var c lds.Course
		require.NoError(t, lds.Model{}.Smooth(b, p, &c))
		assert.InDeltaSlice(t, mean.RawVector().Data, c.Mean, 1e-10)
		for i, v := range c.Variance {
			assert.InDelta(t, cov.At(i, i), v, 1e-10)
		}
		got, err := lds.Model{}.LogProb(b, p, nil)
		require.NoError(t, err)
		assert.InDelta(t, logProb, got[0], 1e-9)

		// sums of the local step, and the entropy: ln p(x) = E[ln p(x,z)] + H(q)
		m := lds.Model{}
		s := m.NewStatistics(p)
		require.NoError(t, m.Prepare(p, nil, s))
		entropy, err := m.Infer(b, p, s)
		require.NoError(t, err)
		assert.InDelta(t, logProb, m.LogJoint(s, p)+entropy, 1e-8)
		for r := range p.K {
			for col := range p.K {
				sum := 0.0
				for i := 1; i < b.Steps.N; i++ {
					sum += cov.At(i*2+r, (i-1)*2+col) + mean.AtVec(i*2+r)*mean.AtVec((i-1)*2+col)
				}
				u := p.Inputs
				assert.InDelta(t, sum, s.Moves[(u+r)*(4+u)+u+2+col], 1e-9)
			}
		}
	}
}

// ln p of one cell given the steps before is a parabola in the cell, whose differences have its mean and variance.
func TestPseudoResidualsAreThoseOfTheJointDistribution(t *testing.T) {
	for _, p := range []*lds.Parameters{oscillating(2), driven(oscillating(2))} {
		b := sequences(p, 5, 0.3, 7, 9)
		residuals, err := lds.Model{}.PseudoResiduals(b, p)
		require.NoError(t, err)
		require.Len(t, residuals, 16*2)
		for step := range 16 {
			first := 0
			if step >= 7 {
				first = 7
			}
			for j := range 2 {
				row := b.Steps.Row(step)
				if got := residuals[step*2+j]; math.IsNaN(row[j]) {
					assert.True(t, math.IsNaN(got))
					continue
				}
				at := func(by float64) float64 {
					x := slices.Clone(b.Steps.X[first*b.Steps.D : (step+1)*b.Steps.D])
					last := x[len(x)-b.Steps.D:]
					last[j], last[1-j] = row[j]+by, math.NaN()
					_, _, log := dense(t, p, blocks.Sequences{Ends: []int{step + 1 - first},
						Steps: blocks.Rows{N: step + 1 - first, D: b.Steps.D, Stride: b.Steps.D, X: x}})
					return log
				}
				slope, bend := (at(1)-at(-1))/2, 2*at(0)-at(1)-at(-1)
				assert.InDelta(t, -slope/math.Sqrt(bend), residuals[step*2+j], 1e-8)
			}
		}
	}
}

// TestScoreIsThatOfTheSums compares the slope of ln p(X) with that of E_q[ln p(X,Z)] at q = p(Z|X), each by differences.
func TestScoreIsThatOfTheSums(t *testing.T) {
	p, m := driven(oscillating(3)), lds.Model{}
	b := sequences(p, 2, 0.2, 9, 1, 14)
	s := m.NewStatistics(p)
	require.NoError(t, m.Prepare(p, nil, s))
	_, err := m.Infer(b, p, s)
	require.NoError(t, err)
	x, at := free(s, p)
	for i := range x {
		const step = 1e-5
		slope := func(h func(p *lds.Parameters) float64) float64 {
			up, down := slices.Clone(x), slices.Clone(x)
			up[i], down[i] = up[i]+step, down[i]-step
			return (h(at(up)) - h(at(down))) / (2 * step)
		}
		likelihood := slope(func(p *lds.Parameters) float64 {
			logProb, err := m.LogProb(b, p, nil)
			require.NoError(t, err)
			return floats.Sum(logProb)
		})
		sums := slope(func(p *lds.Parameters) float64 { return m.LogJoint(s, p) })
		assert.InDelta(t, sums, likelihood, 1e-6*(1+math.Abs(sums)), "coordinate %d", i)
	}
}
