package theorems

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/vbmf"
)

func gaussian(rng *rand.Rand, rows, columns int) *mat.Dense {
	x := mat.NewDense(rows, columns, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return x
}

// lowRank is a matrix of the given rank plus noise of variance 1.
func lowRank(rng *rand.Rand, l, m, rank int) *mat.Dense {
	y := gaussian(rng, l, m)
	var u mat.Dense
	u.Mul(gaussian(rng, l, rank), gaussian(rng, rank, m))
	y.Add(y, &u)
	return y
}

// correlated is a start whose q(A) has correlated columns.
func correlated(rng *rand.Rand, m int, noise float64, priors []vbmf.Prior) *vbmf.Parameters {
	h := len(priors)
	p := &vbmf.Parameters{M: m, H: h, A: gaussian(rng, m, h).RawMatrix().Data, Noise: noise, Gain: make([]float64, h*m)}
	var cov mat.Dense
	g := gaussian(rng, h, 2*h)
	cov.Mul(g, g.T())
	cov.Scale(0.5/float64(h), &cov)
	p.CovA = cov.RawMatrix().Data
	for _, c := range priors {
		p.PriorA, p.PriorB = append(p.PriorA, c.A), append(p.PriorB, c.B)
	}
	return p
}

// correlation is the largest off the diagonal.
func correlation(cov []float64, h int) float64 {
	worst := 0.0
	for i := range h {
		for j := range i {
			worst = max(worst, math.Abs(cov[i*h+j])/math.Sqrt(cov[i*h+i]*cov[j*h+j]))
		}
	}
	return worst
}

// TestTheorem1OfPaperN: among all q(A)q(B), with columns that may be correlated, the free energy is
// least where Σ_A and Σ_B are diagonal (paper N, Theorem 1), so that the closed form for
// independent columns solves the matrix-wise problem too. The matrix-wise iteration starts from
// correlated columns. None of its runs gets below the closed form; the runs that reach it
// end with correlations of 0 and with the closed form's variances, if the products c_a²c_b² differ. If
// they are equal the minimum is a whole orbit of rotations, of which the diagonal one is no
// more than a member: the same free energy, and correlations that the start decides.
func TestTheorem1OfPaperN(t *testing.T) {
	distinct := []vbmf.Prior{{A: 4, B: 1}, {A: 2, B: 1}, {A: 1, B: 1}, {A: 0.5, B: 0.5}}
	equal := []vbmf.Prior{{A: 1, B: 1}, {A: 1, B: 1}, {A: 1, B: 1}}
	for _, c := range []struct {
		l, m, rank int
		noise      float64 // 0: estimated
		priors     []vbmf.Prior
		estimated  bool // priors too
	}{
		{8, 30, 3, 1, distinct, false}, {30, 8, 2, 1, distinct, false}, {10, 10, 3, 0, distinct, false},
		{8, 30, 3, 1, distinct[:3], true}, {8, 30, 3, 1, equal, false}, {12, 9, 2, 0, equal, false},
	} {
		rng := rand.New(rand.NewPCG(uint64(c.l), uint64(c.m)))
		y, err := blocks.FromMatrix(lowRank(rng, c.l, c.m, c.rank))
		require.NoError(t, err)
		o, v := vbmf.Options{Noise: c.noise, Priors: c.priors}, vbmf.Iterative{Noise: c.noise, Priors: c.priors}
		if c.estimated {
			o, v = vbmf.Options{Noise: c.noise, MaxRank: len(c.priors)}, vbmf.Iterative{Noise: c.noise}
		}
		solution, err := vbmf.Solve(t.Context(), y, o)
		require.NoError(t, err)
		h := len(c.priors)
		reached, worst, most := 0, 0.0, 0.0
		const runs = 6
		for range runs {
			v.Start = correlated(rng, c.m, 1, c.priors)
			require.Greater(t, correlation(v.Start.CovA, h), 0.1)
			res, err := framework.Fit(t.Context(), v, y, framework.Options{K: h, Method: framework.EM, Tolerance: 1e-15})
			require.NoError(t, err)
			above := -res.Value - solution.FreeEnergy
			require.Greater(t, above, -1e-8)
			if above > 1e-6 {
				continue
			}
			reached++
			p, s := res.Parameters, res.Statistics
			worst, most = max(worst, above), max(most, correlation(p.CovA, h), correlation(s.CovB, h))
			if c.priors[0] == c.priors[h-1] || c.estimated {
				continue
			}
			for i, component := range solution.Components {
				assert.InEpsilon(t, component.VarA, p.CovA[i*h+i], 1e-4)
				assert.InEpsilon(t, component.VarB, s.CovB[i*h+i], 1e-4)
			}
		}
		t.Logf("%d×%d, noise %v, priors %v, estimated %v: F = %.6f; %d of %d runs reach it, to %.1e; largest correlation %.1e", c.l, c.m, c.noise, c.priors, c.estimated, solution.FreeEnergy, reached, runs, worst, most)
		assert.GreaterOrEqual(t, reached, 2)
		if c.priors[0] == c.priors[h-1] {
			assert.Greater(t, most, 0.02, "rotations cost nothing")
		} else {
			assert.Less(t, most, 1e-3)
		}
	}
}

// TestTheorem1OfPaperNByRotation is the step that its proof rests on. Rotating the solution by
// an orthogonal Ω, A → AC_A^−½ΩᵀC_A^½ and B → BC_A^½ΩᵀC_A^−½ with Σ_A and Σ_B alike, leaves BAᵀ as it is and
// changes the free energy, here as the library computes it for any q(A)q(B), by
//
//	½ tr{C_A⁻¹C_B⁻¹ Ω C_A^½(BᵀB + LΣ_B)C_A^½ Ωᵀ} − ½ tr{C_B⁻¹(BᵀB + LΣ_B)} ≥ 0,
//
// positive for products c_a²c_b² that differ, 0 for equal ones.
func TestTheorem1OfPaperNByRotation(t *testing.T) {
	const l, m = 9, 14
	rng := rand.New(rand.NewPCG(1, 9))
	matrix := lowRank(rng, l, m, 3)
	y, err := blocks.FromMatrix(matrix)
	require.NoError(t, err)
	for _, c := range []struct {
		priors []vbmf.Prior
		equal  bool
	}{
		{[]vbmf.Prior{{A: 4, B: 1}, {A: 2, B: 1}, {A: 1, B: 0.5}}, false},
		{[]vbmf.Prior{{A: 2, B: 0.5}, {A: 0.25, B: 4}, {A: 1, B: 1}}, true},
	} {
		h := len(c.priors)
		solution, err := vbmf.Solve(t.Context(), y, vbmf.Options{Noise: 1, Priors: c.priors})
		require.NoError(t, err)
		require.Equal(t, h, solution.Rank)
		a, b := solution.MeanA(), solution.MeanB()
		covA, covB := mat.NewDense(h, h, nil), mat.NewDense(h, h, nil)
		root, inverse, priorB := mat.NewDense(h, h, nil), mat.NewDense(h, h, nil), mat.NewDense(h, h, nil)
		start := solution.Parameters()
		for i, component := range solution.Components {
			covA.Set(i, i, component.VarA)
			covB.Set(i, i, component.VarB)
			root.Set(i, i, math.Sqrt(component.PriorA))
			inverse.Set(i, i, 1/math.Sqrt(component.PriorA))
			priorB.Set(i, i, 1/component.PriorB)
		}
		var second mat.Dense
		second.Mul(b.T(), b)
		for i := range h {
			second.Set(i, i, second.At(i, i)+l*covB.At(i, i))
		}
		free := func(turnA, turnB *mat.Dense) float64 {
			var p, q mat.Dense
			p.Mul(a, turnA)
			q.Mul(b, turnB)
			var sa, sb mat.Dense
			sa.Product(turnA.T(), covA, turnA)
			sb.Product(turnB.T(), covB, turnB)
			return freeEnergy(t, matrix, start, &p, &q, &sa, &sb)
		}
		identity := mat.NewDense(h, h, nil)
		for i := range h {
			identity.Set(i, i, 1)
		}
		least := free(identity, identity)
		assert.InDelta(t, solution.FreeEnergy, least, 1e-8)
		smallest, largest := math.Inf(1), 0.0
		for range 50 {
			var qr mat.QR
			qr.Factorize(gaussian(rng, h, h))
			var omega, turnA, turnB, middle, rotated mat.Dense
			qr.QTo(&omega)
			turnA.Product(inverse, omega.T(), root)
			turnB.Product(root, omega.T(), inverse)
			rise := free(&turnA, &turnB) - least
			middle.Product(root, &second, root)
			rotated.Product(inverse, inverse, priorB, &omega, &middle, omega.T())
			var now mat.Dense
			now.Mul(priorB, &second)
			require.InDelta(t, (mat.Trace(&rotated)-mat.Trace(&now))/2, rise, 1e-8)
			require.Greater(t, rise, -1e-9)
			smallest, largest = min(smallest, rise), max(largest, rise)
		}
		t.Logf("priors %v: rotations raise F = %.4f by %.3g to %.3g nats", c.priors, least, smallest, largest)
		if c.equal {
			assert.Less(t, largest, 1e-8)
		} else {
			assert.Greater(t, smallest, 1e-3)
		}
	}
}

// freeEnergy is F of any q(A)q(B) (paper N, eq. 13), from the statistics of q(B).
func freeEnergy(t testing.TB, y *mat.Dense, hyper *vbmf.Parameters, a, b, covA, covB *mat.Dense) float64 {
	t.Helper()
	l, m := y.Dims()
	p := *hyper
	p.A, p.CovA = a.RawMatrix().Data, covA.RawMatrix().Data
	s := vbmf.Iterative{}.NewStatistics(&p)
	s.N, s.SumSq = float64(l), math.Pow(mat.Norm(y, 2), 2)
	s.Residual = s.SumSq // at an anchor of 0
	mat.NewDense(m, p.H, s.XZ).Mul(y.T(), b)
	second := mat.NewDense(p.H, p.H, s.ZZ)
	second.Mul(b.T(), b)
	var spread mat.Dense
	spread.Scale(float64(l), covB)
	second.Add(second, &spread)
	logDet, _ := mat.LogDet(covB)
	return -vbmf.Iterative{}.LogJoint(s, &p) - float64(l)/2*(float64(p.H)*(1+math.Log(2*math.Pi))+logDet)
}
