package factor_test

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
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/models/mixture"
)

// drawn are n rows of k factors with loadings of standard deviation s and noise of variance 1.
func drawn(n, d, k int, s float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 25))
	w, z, sd := make([]float64, d*k), make([]float64, k), make([]float64, d)
	for i := range w {
		w[i] = s * rng.NormFloat64()
	}
	for j := range sd {
		sd[j] = 1
	}
	x := make([]float64, 0, n*d)
	for range n {
		for l := range z {
			z[l] = rng.NormFloat64()
		}
		for j := range d {
			x = append(x, sd[j]*rng.NormFloat64()+floats.Dot(w[j*k:(j+1)*k], z))
		}
	}
	return x
}

func rows(t testing.TB, x []float64, d int) *blocks.Table {
	src, err := blocks.FromIncomplete(x, len(x)/d, d)
	require.NoError(t, err)
	return src
}

func evidences(t testing.TB, m *lineargaussian.Moments, st factor.Structure, kmax int) []float64 {
	values, err := solve(t, m, st, kmax).Values(framework.Evidence)
	require.NoError(t, err)
	return values
}

// byHand is the evidence of factor analysis from the information of every pair of parameters, and from all generators
// of rotations.
func byHand(p *factor.Parameters, n, logLikelihood float64) float64 {
	d, k := p.D, p.K
	w, psi := p.Standardized(), p.Uniquenesses()
	sigma := mat.NewSymDense(d, nil)
	sigma.SymOuterK(1, w)
	value := logLikelihood - float64(d)/2*math.Log(n+1) - float64(d)/2*math.Ln2
	for j, v := range psi {
		sigma.SetSym(j, j, sigma.At(j, j)+v)
		value -= math.Pow(math.Log(v), 2) / 4
	}
	value -= math.Pow(mat.Norm(w, 2), 2) / 2
	var inverse mat.Dense
	if inverse.Inverse(sigma) != nil {
		return math.NaN()
	}
	var moves []*mat.Dense // Σ⁻¹ dΣ
	for j := range d {
		for c := range k {
			e, m := mat.NewDense(d, k, nil), new(mat.Dense)
			e.Set(j, c, 1)
			m.Mul(e, w.T())
			m.Add(m, mat.DenseCopyOf(m.T()))
			m.Mul(&inverse, m)
			moves = append(moves, m)
		}
	}
	for j, v := range psi {
		m := mat.NewDense(d, d, nil)
		m.Set(j, j, v)
		m.Mul(&inverse, m)
		moves = append(moves, m)
	}
	q := mat.NewSymDense(len(moves), nil)
	for a := range moves {
		for b := range a + 1 {
			var m mat.Dense
			m.Mul(moves[a], moves[b])
			q.SetSym(a, b, n/2*mat.Trace(&m))
		}
		prior := 1.
		if a >= d*k {
			prior = 0.5
		}
		q.SetSym(a, a, q.At(a, a)+prior)
	}
	var generators []float64
	r := 0
	for i := range k {
		for j := range i {
			turn := mat.NewDense(d, k, nil)
			for c := range d {
				turn.Set(c, i, w.At(c, j))
				turn.Set(c, j, -w.At(c, i))
			}
			generators = append(generators, turn.RawMatrix().Data...)
			r++
		}
	}
	if r > 0 {
		var volume mat.SymDense
		volume.SymOuterK(1, mat.NewDense(r, d*k, generators))
		log, _ := mat.LogDet(&volume)
		value += (log - float64(r)*math.Log(2*math.Pi)) / 2
	}
	log, _ := mat.LogDet(q)
	value -= log / 2
	for j := 1; j <= k; j++ { // the volume of O(k): of S^(j−1), 2π^(j/2)/Γ(j/2)
		value += math.Log(2 * math.Pow(math.Pi, float64(j)/2) / math.Gamma(float64(j)/2))
	}
	return value
}

func TestEvidenceByHand(t *testing.T) {
	for _, m := range []*lineargaussian.Moments{moments(t, holzinger(t)), moments(t, rows(t, drawn(40, 8, 2, 1, 1), 8)), moments(t, rows(t, drawn(2000, 12, 4, 0.5, 2), 12))} {
		s := solve(t, m, factor.Structure{}, 4)
		values, err := s.Values(framework.Evidence)
		require.NoError(t, err)
		for k := 1; k <= s.Max(); k++ {
			p, err := s.Parameters(k)
			require.NoError(t, err)
			hand := byHand(p, m.N, s.LogLikelihood(k))
			t.Logf("N = %v, D = %d, K = %d: %.4f, by hand %.4f", m.N, m.D, k, values[k], hand)
			assert.InDelta(t, hand, values[k], 0.05)
		}
	}
}

// K as often as BIC, and noise has no factors (docs/theory/evidence.md, section 7).
func TestEvidenceFindsFactors(t *testing.T) {
	for _, c := range []struct {
		n, d, k, tables, least int
		s                      float64
	}{{300, 20, 6, 10, 3, .5}, {300, 20, 6, 4, 4, 1}, {2000, 30, 10, 1, 1, .3}, {100, 10, 0, 20, 20, 0}, {300, 6, 0, 20, 20, 0}} {
		right, strict := 0, 0
		for seed := range uint64(c.tables) {
			s := solve(t, moments(t, rows(t, drawn(c.n, c.d, c.k, c.s, seed), c.d)), factor.Structure{}, min(c.k+3, factor.Structure{}.Identified(c.d)))
			k, _, err := s.Best(framework.Evidence)
			require.NoError(t, err)
			b, _, err := s.Best(framework.BIC)
			require.NoError(t, err)
			if k == c.k {
				right++
			}
			if b == c.k {
				strict++
			}
		}
		t.Logf("%d × %d, K = %d, loadings of %v: right in %d of %d tables, BIC in %d", c.n, c.d, c.k, c.s, right, c.tables, strict)
		assert.GreaterOrEqual(t, right, c.least)
	}
}

// One value by every method, and gFAB by the evidence ends at the best one.
func TestEvidenceIsTheSameByEveryMethod(t *testing.T) {
	m := moments(t, holzinger(t))
	for _, st := range []factor.Structure{{}, {Isotropic: true}} {
		s := solve(t, m, st, 4)
		values, err := s.Values(framework.Evidence)
		require.NoError(t, err)
		for _, o := range []framework.Options{{Criterion: framework.Evidence}, {Method: framework.EM, Criterion: framework.Evidence}, {Criterion: framework.GFIC}} {
			o.K, o.FixedK, o.Also, o.Tolerance = 3, true, []framework.Criterion{framework.Evidence}, 1e-12
			res, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: st}}, m.Source(), o)
			require.NoError(t, err)
			assert.InDelta(t, values[3], res.Scores[1].Value, 1e-4)
			assert.Zero(t, res.Fall)
		}
		best, value, err := s.Best(framework.Evidence)
		require.NoError(t, err)
		res, err := framework.Fit(background, factor.Compressed{Model: factor.Model{Structure: st}}, m.Source(), framework.Options{K: 4, Criterion: framework.Evidence, Tolerance: 1e-11})
		require.NoError(t, err)
		assert.Equal(t, best, res.Shape.K)
		assert.InDelta(t, value, res.Value, 1e-3)
	}
}

// Units, origins and the order of columns change nothing but the Jacobian; signs of factors and rotations have no place
// in the value.
func TestEvidenceIsInvariant(t *testing.T) {
	const n, d = 50, 7
	x, y := drawn(n, d, 2, 1, 4), make([]float64, n*d)
	jacobian := 0.0
	for i, v := range x {
		j := i % d
		y[i/d*d+(j+3)%d] = v*math.Pow(10, float64(j)-3) + float64(j)
		jacobian -= math.Log(math.Pow(10, float64(j)-3))
	}
	a, b := evidences(t, moments(t, rows(t, x, d)), factor.Structure{}, 2), evidences(t, moments(t, rows(t, y, d)), factor.Structure{}, 2)
	for k, v := range a {
		assert.InDelta(t, v+jacobian, b[k], 1e-6)
	}
	w := make([]float64, n)
	floats.AddConst(2, w)
	once, err := rows(t, x, d).WithWeights(w)
	require.NoError(t, err)
	twice := evidences(t, moments(t, rows(t, append(slices.Clone(x), x...), d)), factor.Structure{}, 2)
	for k, v := range evidences(t, moments(t, once), factor.Structure{}, 2) {
		assert.InDelta(t, twice[k], v, 1e-7)
	}
}

// analysis is factor analysis with K = 0 or 1 under the prior of the evidence, for annealing: loadings and ln of the
// noise in columns of variance 1. Of complete rows the mean is integrated out; else it is a parameter, N(0, 1).
func analysis(x []float64, d, k int, jacobian float64) *evidence.Metropolis {
	n, gaps := len(x)/d, slices.ContainsFunc(x, math.IsNaN)
	c := mat.NewSymDense(d, nil)
	for i := range n {
		c.SymRankOne(c, 1, mat.NewVecDense(d, x[i*d:(i+1)*d]))
	}
	size := d * (k + 1)
	if gaps {
		size += d
	}
	complete := func(w, noise []float64) float64 { // by the formulas of Woodbury and Sylvester
		logDet, ratio, trace, along, v := 0.0, 0.0, 0.0, 0.0, mat.NewVecDense(d, nil)
		for j, e := range noise {
			logDet += e
			trace += c.At(j, j) * math.Exp(-e)
			if k > 0 {
				v.SetVec(j, w[j]*math.Exp(-e))
				ratio += w[j] * v.AtVec(j)
			}
		}
		along = mat.Inner(v, c, v)
		return -(float64(n)*(logDet+math.Log1p(ratio)+float64(d)*math.Log(2*math.Pi)) + trace - along/(1+ratio) + float64(d)*math.Log1p(float64(n))) / 2
	}
	row := func(x, w, noise, mean []float64) float64 {
		sum, ratio, along := 0.0, 0.0, 0.0
		for j, v := range x {
			if v != v {
				continue
			}
			e := math.Exp(-noise[j])
			v -= mean[j]
			sum += noise[j] + v*v*e + math.Log(2*math.Pi)
			if k > 0 {
				ratio += w[j] * w[j] * e
				along += w[j] * v * e
			}
		}
		return -(sum + math.Log1p(ratio) - along*along/(1+ratio)) / 2
	}
	return &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 {
			theta := make([]float64, size)
			for i := range theta {
				theta[i] = rng.NormFloat64()
				if i < d {
					theta[i] *= math.Sqrt2
				}
			}
			return theta
		},
		LogPriorFunc: func(theta []float64) (sum float64) {
			for i, v := range theta {
				if i < d {
					v /= math.Sqrt2
				}
				sum -= v * v / 2
			}
			return sum
		},
		LogLikelihoodFunc: func(theta []float64) (sum float64) {
			noise, w := theta[:d], theta[d:]
			if !gaps {
				return complete(w, noise) + jacobian
			}
			for i := range n {
				sum += row(x[i*d:(i+1)*d], w, noise, theta[size-d:])
			}
			return sum + jacobian
		},
	}
}

// standard are columns of mean 0 and variance 1 of the entries that they show, and the logarithm of the Jacobian.
func standard(x []float64, d int) (y []float64, jacobian float64) {
	y = slices.Clone(x)
	for j := range d {
		n, sum, squares := 0.0, 0.0, 0.0
		for i := j; i < len(x); i += d {
			if x[i] == x[i] {
				n, sum, squares = n+1, sum+x[i], squares+x[i]*x[i]
			}
		}
		sum /= n
		sd := math.Sqrt(squares/n - sum*sum)
		for i := j; i < len(x); i += d {
			y[i] = (x[i] - sum) / sd
		}
		jacobian -= n * math.Log(sd)
	}
	return y, jacobian
}

// The value beside annealed importance sampling under the same prior, of complete rows and of a bound where entries are
// missing.
func TestEvidenceAgainstAnnealing(t *testing.T) {
	for _, one := range []struct {
		n, d, k int
		s       float64
		gaps    bool
	}{{30, 4, 0, 1, false}, {30, 4, 1, 1.5, false}, {12, 3, 1, 2, false}, {40, 3, 1, 0, false}, {30, 4, 1, 1.5, true}} {
		x := drawn(one.n, one.d, 1, one.s, 9)
		var e float64
		if one.gaps {
			for i := range x {
				if i%7 == 2 {
					x[i] = math.NaN()
				}
			}
			res, err := framework.Fit(background, factor.Model{}, rows(t, x, one.d), framework.Options{K: one.k, FixedK: true, Criterion: framework.Evidence})
			require.NoError(t, err)
			assert.Zero(t, res.Fall)
			e = res.Value
		} else {
			s, err := factor.Solve(moments(t, rows(t, x, one.d)), factor.Structure{}, one.k)
			require.NoError(t, err)
			values, err := s.Values(framework.Evidence)
			require.NoError(t, err)
			e = values[one.k]
		}
		y, jacobian := standard(x, one.d)
		exact, err := evidence.AIS(background, analysis(y, one.d, one.k, jacobian), evidence.AISOptions{Temperatures: 200, Chains: 32, Seed: 3})
		require.NoError(t, err)
		t.Logf("%+v: %.3f, annealed %.3f ± %.3f", one, e, exact.LogEvidence, exact.StandardError)
		assert.Less(t, e, exact.LogEvidence+4*exact.StandardError+0.5)
		assert.Greater(t, e, exact.LogEvidence-10)
	}
}

// Heywood cases and more columns than rows have a value.
func TestEvidenceAtTheEdge(t *testing.T) {
	x := drawn(200, 6, 1, 1, 3)
	for i := 0; i < len(x); i += 6 {
		x[i] = x[i+1] + x[i+2] + 1e-3*x[i] // a column without noise of its own
	}
	s := solve(t, moments(t, rows(t, x, 6)), factor.Structure{}, 2)
	p, err := s.Parameters(2)
	require.NoError(t, err)
	require.NotEmpty(t, p.Heywood())
	values, err := s.Values(framework.Evidence)
	require.NoError(t, err)
	assert.InDelta(t, byHand(p, 200, s.LogLikelihood(2)), values[2], 0.1)
	for _, v := range evidences(t, moments(t, rows(t, drawn(6, 9, 1, 1, 3), 9)), factor.Structure{}, 2) {
		assert.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
}

// One factor of three columns has as many parameters as their covariance matrix, and fits it: where no variance of the
// noise is at its floor, its evidence differs from that of a single Gaussian class by what the two priors say of the same
// matrix, which does not depend on the number of rows.
func TestEvidenceOfASaturatedAnalysisIsThatOfTheFullCovariance(t *testing.T) {
	const d = 3
	x := make([]float64, 0, 60*d)
	rng := rand.New(rand.NewPCG(8, 25))
	for range 60 {
		z := rng.NormFloat64()
		for range d {
			x = append(x, z+rng.NormFloat64())
		}
	}
	var gaps []float64
	for _, weight := range []float64{1, 10, 100, 1000} {
		w := make([]float64, len(x)/d)
		floats.AddConst(weight, w)
		src, err := rows(t, x, d).WithWeights(w)
		require.NoError(t, err)
		m := moments(t, src)
		s := solve(t, m, factor.Structure{}, 1)
		one, err := framework.Fit(background, mixture.Model{Family: normal.Family{}}, src,
			framework.Options{K: 1, FixedK: true, Criterion: framework.Evidence, Also: []framework.Criterion{framework.BIC}})
		require.NoError(t, err)
		fits, err := s.Values(framework.BIC)
		require.NoError(t, err)
		assert.InEpsilon(t, one.Scores[1].Value, fits[1], 1e-9, "the same likelihood, of as many parameters")
		gaps = append(gaps, evidences(t, m, factor.Structure{}, 1)[1]-one.Value)
	}
	for _, gap := range gaps {
		assert.InDelta(t, -0.853, gap, 0.01, "%v", gaps)
	}
}
