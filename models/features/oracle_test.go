package features

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
)

// A naive local step: every state of every row, with densities of package distmv.
type naive struct {
	logProb []float64
	on      *mat.Dense    // rows×K
	s       *mat.SymDense // Σ E[z̃ z̃ᵀ]
	sx      *mat.Dense    // Σ x E[z̃]ᵀ
	entropy float64
	joint   float64 // E_q[ln p(x,z)]
}

func enumerated(t *testing.T, x *mat.Dense, weights []float64, p *Parameters, s0 *mat.SymDense) naive {
	n, d := x.Dims()
	out := naive{on: mat.NewDense(n, p.K, nil), s: mat.NewSymDense(p.K+1, nil), sx: mat.NewDense(d, p.K+1, nil)}
	noise := mat.NewDiagDense(d, nil)
	for j := range d {
		noise.SetDiag(j, p.NoiseOf(j))
	}
	var inverse mat.Dense
	if s0 != nil {
		require.NoError(t, inverse.Inverse(s0))
	}
	states := 1 << p.K
	for i := range n {
		logs, zs := make([]float64, states), make([]*mat.VecDense, states)
		lowered := make([]float64, states)
		for state := range states {
			z, mean, prior := mat.NewVecDense(p.K+1, nil), mat.NewVecDense(d, append([]float64(nil), p.Offset...)), 0.0
			z.SetVec(0, 1)
			for k := range p.K {
				if state>>k&1 == 1 {
					z.SetVec(k+1, 1)
					mean.AddVec(mean, p.W().ColView(k))
					prior += math.Log(p.On[k])
				} else {
					prior += math.Log(1 - p.On[k])
				}
			}
			normal, ok := distmv.NewNormal(mean.RawVector().Data, denseOf(noise), nil)
			require.True(t, ok)
			logs[state], zs[state] = prior+normal.LogProb(x.RawRowView(i)), z
			if lowered[state] = logs[state]; s0 != nil {
				lowered[state] -= float64(d) / 2 * mat.Inner(z, &inverse, z)
			}
		}
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		out.logProb = append(out.logProb, floats.LogSumExp(logs))
		sum := floats.LogSumExp(lowered)
		for state, z := range zs {
			q := math.Exp(lowered[state] - sum)
			out.entropy -= w * q * (lowered[state] - sum)
			out.joint += w * q * logs[state]
			out.s.SymRankOne(out.s, w*q, z)
			row := mat.NewVecDense(d, x.RawRowView(i))
			var outer mat.Dense
			outer.Outer(w*q, row, z)
			out.sx.Add(out.sx, &outer)
			for k := range p.K {
				out.on.Set(i, k, out.on.At(i, k)+q*z.AtVec(k+1))
			}
		}
	}
	return out
}

func denseOf(m *mat.DiagDense) *mat.SymDense {
	n := m.SymmetricDim()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		s.SetSym(i, i, m.At(i, i))
	}
	return s
}

// oracleCase are rows and parameters near those that they were drawn from.
func oracleCase(t *testing.T, k int, isotropic bool) (*mat.Dense, []float64, *blocks.Table, *Parameters) {
	rng := rand.New(rand.NewPCG(uint64(k), 7))
	truth := example(k, 6, isotropic, rng)
	x := rows(t, truth, 53, rng)
	weights := make([]float64, 53)
	for i := range weights {
		weights[i] = float64(rng.IntN(4))
	}
	table, err := blocks.FromMatrix(x)
	require.NoError(t, err)
	table, err = table.WithWeights(weights)
	require.NoError(t, err)
	p, err := Model{Isotropic: isotropic}.pool(context.Background(), table)
	require.NoError(t, err)
	truth.Center, truth.Unit, truth.Floor = p.Center, p.Unit, p.Floor
	for i := range truth.Loadings {
		truth.Loadings[i] *= 1 + 0.2*rng.NormFloat64()
	}
	return x, weights, table, truth
}

// The local step, tilted or not, is the sum over all states; so are the likelihood and the probabilities.
func TestLocalStepIsTheSumOverStates(t *testing.T) {
	for _, isotropic := range []bool{false, true} {
		for k := 1; k <= 4; k++ {
			x, weights, table, p := oracleCase(t, k, isotropic)
			m := Model{Isotropic: isotropic}
			plain := enumerated(t, x, weights, p, nil)
			var f laplace.Curvature
			f.Reset(floats.Sum(weights), false)
			f.Mixed(plain.s, laplace.Identity(p.D))
			var tilt laplace.Tilt
			tilt.Set(&f)
			for _, tilted := range []bool{false, true} {
				want, by := plain, (*laplace.Tilt)(nil)
				if tilted {
					want, by = enumerated(t, x, weights, p, plain.s), &tilt
				}
				s := m.NewStatistics(p)
				require.NoError(t, m.Prepare(p, by, s))
				entropy, err := m.Infer(table.All(), p, s)
				require.NoError(t, err)
				assert.InDelta(t, want.entropy, entropy, 1e-9)
				assert.InDelta(t, want.joint, m.LogJoint(s, p), 1e-9*math.Abs(want.joint))
				for i := range k + 1 {
					for j := range k + 1 {
						assert.InDelta(t, want.s.At(i, j), s.ZZ[i*(k+1)+j], 1e-9, "S̃ at %d, %d", i, j)
					}
					for j := range p.D {
						assert.InDelta(t, want.sx.At(j, i), s.XZ[j*(k+1)+i]+p.Center[j]*want.s.At(0, i), 1e-9*(1+math.Abs(want.sx.At(j, i))))
					}
				}
				assert.InDelta(t, entropy, m.LabelEntropy(s), 1e-12)
			}
			logProb, err := m.LogProb(table.All(), p, nil)
			require.NoError(t, err)
			assert.InDeltaSlice(t, plain.logProb, logProb, 1e-9)
			on, err := m.Probabilities(table.All(), p)
			require.NoError(t, err)
			assert.InDeltaSlice(t, plain.on.RawMatrix().Data, on, 1e-9)
		}
	}
}

// A fit has the likelihood that package mixture gives 2^K Gaussians with a common covariance, at the sums of its loadings.
func TestAFitIsAMixtureOfTiedMeans(t *testing.T) {
	const k, d = 3, 10
	_, x := simulated(t, 2, k, 200, 1.5, false)
	src := table(t, x)
	res := fit(t, Model{}, src, framework.Options{K: k, Method: framework.EM, Also: []framework.Criterion{framework.AIC}})
	p, tied := res.Parameters, normal.Family{Covariance: normal.Tied}
	pooled, _, err := family.Pool(context.Background(), src, tied)
	require.NoError(t, err)
	q := &mixture.Parameters{K: 1 << k, D: d, Pooled: pooled}
	for state := range q.K {
		weight, mean, covariance := 1.0, slices.Clone(p.Offset), make([]float64, d*d)
		for l, on := range p.On {
			if state>>l&1 == 0 {
				weight *= 1 - on
				continue
			}
			weight *= on
			floats.Add(mean, mat.Col(nil, l, p.W()))
		}
		for j, v := range p.Noise {
			covariance[j*(d+1)] = v
		}
		q.Weights, q.Components = append(q.Weights, weight), append(append(q.Components, mean...), covariance...)
	}
	logProb, err := mixture.Model{Family: tied}.LogProb(src.All(), q, nil)
	require.NoError(t, err)
	assert.InDelta(t, floats.Sum(logProb), res.Evaluation.LogLikelihood, 1e-8)
}

// gFIC is the formula of docs/theory/features.md, section 2, written down once more.
func TestGFICIsItsFormula(t *testing.T) {
	for _, isotropic := range []bool{false, true} {
		x, weights, table, p := oracleCase(t, 3, isotropic)
		m := Model{Isotropic: isotropic}
		e, err := framework.Evaluate(context.Background(), m, table, p, 1)
		require.NoError(t, err)
		want := enumerated(t, x, weights, p, nil)
		n, d, k, unit := floats.Sum(weights), 6.0, 3.0, 0.0
		var average mat.SymDense
		average.ScaleSym(1/n, want.s)
		logS, _ := mat.LogDet(&average)
		for j := range p.D {
			unit += math.Log(p.NoiseOf(j) / p.Unit[min(j, len(p.Unit)-1)])
		}
		shared := k + d
		if isotropic {
			shared = k + 1
		}
		value := want.joint + want.entropy - d/2*logS + (k+1)/2*unit - (d*(k+1)+shared)/2*math.Log(n)
		assert.InDelta(t, value, framework.GFIC.Value(&e), 1e-8)
		assert.InDelta(t, value-(k+1)/2*unit, framework.FIC.Value(&e), 1e-8)
	}
}

// Of a row that misses entries the likelihood is that of the others, which have a Gaussian mixture of their own.
func TestMissingEntriesAreIntegratedOut(t *testing.T) {
	x, _, _, p := oracleCase(t, 3, false)
	row := []float64{x.At(0, 0), math.NaN(), x.At(0, 2), math.NaN(), math.NaN(), x.At(0, 5)}
	few := p.of([]int{0, 2, 5})
	want := enumerated(t, mat.NewDense(1, 3, []float64{row[0], row[2], row[5]}), nil, few, nil)
	none := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	b := blocks.Rows{N: 3, D: 6, Stride: 6, X: append(append(append([]float64(nil), row...), none...), row...)}
	logProb, on, err := p.Score(b)
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{want.logProb[0], 0, want.logProb[0]}, logProb, 1e-9)
	assert.InDeltaSlice(t, want.on.RawRowView(0), on[:3], 1e-9)
	assert.InDeltaSlice(t, p.On, on[3:6], 1e-12)
	filled, err := p.Fill(b)
	require.NoError(t, err)
	expected := p.Offset[1] + floats.Dot(on[:3], p.Loadings[3:6])
	assert.InDelta(t, expected, filled.At(0, 1), 1e-12)
	assert.Equal(t, row[0], filled.At(0, 0))
}
