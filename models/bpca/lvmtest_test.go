package bpca_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

type estimated[B any] = lvmtest.Case[B, *bpca.Parameters, *lineargaussian.Statistics]

// suite is what the case of rows and that of moments have in common.
func suite[B any](m framework.Model[B, *bpca.Parameters, *lineargaussian.Statistics], as func(lvmtest.Data[blocks.Rows]) lvmtest.Data[B]) estimated[B] {
	const n, d = 80, 5
	x := mat.NewDense(n, d, factors(n, d, 2, 9))
	scaled := lvmtest.Rescaled("times 1000", x, []float64{1000, 1000, 1000, 1000, 1000})
	return estimated[B]{
		Model: m,
		Data:  as(lvmtest.Matrix(x)),
		K:     tier.Sizes(),
		// The loadings and ln σ².
		Free: func(_ *lineargaussian.Statistics, p *bpca.Parameters) ([]float64, func([]float64) *bpca.Parameters) {
			w := len(p.Loadings)
			return append(append([]float64(nil), p.Loadings...), math.Log(p.Noise)), func(v []float64) *bpca.Parameters {
				q := *p
				q.Loadings, q.Noise = append([]float64(nil), v[:w]...), math.Exp(v[w])
				return &q
			}
		},
		// The loadings of data whose mean column variance is 1, one latent dimension after the other.
		Latent: func(s *lineargaussian.Statistics, p *bpca.Parameters) ([]float64, func([]float64) *bpca.Parameters) {
			unit := math.Sqrt(s.SumSq / (s.N * float64(s.D)))
			transposed := func(w []float64, rows, columns int, factor float64) []float64 {
				t := make([]float64, len(w))
				for i := range rows {
					for j := range columns {
						t[j*rows+i] = w[i*columns+j] * factor
					}
				}
				return t
			}
			return transposed(p.Loadings, p.D, p.K, 1/unit), func(v []float64) *bpca.Parameters {
				q := *p
				q.Loadings = transposed(v, p.K, p.D, unit)
				return &q
			}
		},
		Symmetry: func(p *bpca.Parameters, rng *rand.Rand) *bpca.Parameters {
			q := *p
			q.Loadings = make([]float64, p.D*p.K)
			q.W().Mul(p.W(), rotation(p.K, rng))
			return &q
		},
		Units:      []lvmtest.Units[B]{{Name: scaled.Name, Data: as(scaled.Data), LogDet: scaled.LogDet}},
		Degenerate: flattened,
		Sample: func(p *bpca.Parameters, n int, rng *rand.Rand) (lvmtest.Data[B], error) {
			x, err := p.Sample(n, rng)
			if err != nil {
				return lvmtest.Data[B]{}, err
			}
			return as(lvmtest.Matrix(x)), nil
		},
		SampleK:       2,
		NoAllocations: true,
	}
}

// rotation is an orthogonal matrix at random.
func rotation(k int, rng *rand.Rand) *mat.Dense {
	a := mat.NewDense(k, k, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
	var qr mat.QR
	qr.Factorize(a)
	var q mat.Dense
	qr.QTo(&q)
	return &q
}

// flattened is Z(I − vvᵀ) for a direction v that no axis shows: N rows are 0 along it, and
// lose the density of N(0, 1) there. The loading of that direction stays.
func flattened(s *lineargaussian.Statistics, p *bpca.Parameters) (*lineargaussian.Statistics, *bpca.Parameters, float64) {
	v := rotation(s.K, rand.New(rand.NewPCG(8, 8))).ColView(0)
	remove := mat.NewDense(s.K, s.K, nil)
	remove.Outer(-1, v, v)
	for k := range s.K {
		remove.Set(k, k, remove.At(k, k)+1)
	}
	xz, zz := mat.NewDense(s.D, s.K, s.XZ), mat.NewDense(s.K, s.K, s.ZZ)
	anchor := mat.NewDense(s.D, s.K, s.Anchor)
	var flatXZ, flatZZ, cross, quad mat.Dense
	flatXZ.Mul(xz, remove)
	flatZZ.Product(remove, zz, remove)
	xz.Copy(&flatXZ)
	zz.Copy(&flatZZ)
	cross.Mul(anchor.T(), xz)
	quad.Product(anchor, zz, anchor.T())
	s.Residual = s.SumSq - 2*mat.Trace(&cross) + mat.Trace(&quad)
	return s, p, -s.N / 2 * math.Log(2*math.Pi)
}

// summarized makes moments of every block of rows.
func summarized(d lvmtest.Data[blocks.Rows]) lvmtest.Data[*lineargaussian.Moments] {
	return lvmtest.Data[*lineargaussian.Moments]{Rows: d.Rows, Block: func(rows []int, weights []float64, first int) *lineargaussian.Moments {
		m := &lineargaussian.Moments{}
		if err := m.Add(d.Block(rows, weights, first)); err != nil {
			panic(err)
		}
		return m
	}}
}

func asRows(d lvmtest.Data[blocks.Rows]) lvmtest.Data[blocks.Rows] { return d }

func TestConformance(t *testing.T) {
	t.Run("rows", func(t *testing.T) { lvmtest.Test(t, suite(bpca.Model{}, asRows)) })
	t.Run("random starts", func(t *testing.T) { lvmtest.Test(t, suite(bpca.Model{RandomStart: true}, asRows)) })
	t.Run("moments", func(t *testing.T) { lvmtest.Test(t, suite(bpca.Compressed{}, summarized)) })
	for name, prior := range map[string]bpca.Prior{"VB1": {FixedAlpha: 1}, "VB2": {}} {
		v := bpca.Variational{Prior: prior}
		t.Run(name+" rows", func(t *testing.T) { lvmtest.Test(t, bayesian(v, asRows)) })
		t.Run(name+" moments", func(t *testing.T) {
			lvmtest.Test(t, bayesian(bpca.CompressedVariational{Variational: v}, summarized))
		})
	}
}

// bayesian is the case of a posterior.
func bayesian[B any](m framework.Model[B, *bpca.Posterior, *lineargaussian.Statistics], as func(lvmtest.Data[blocks.Rows]) lvmtest.Data[B]) lvmtest.Case[B, *bpca.Posterior, *lineargaussian.Statistics] {
	c := suite(nil, as)
	return lvmtest.Case[B, *bpca.Posterior, *lineargaussian.Statistics]{
		Model: m, Data: c.Data, K: c.K, Units: c.Units, NoAllocations: true,
		Partial: true, // q(W), q(α) and q(λ) one after another
		Free:    posteriorCoordinates,
		// The prior of W determines the latent dimensions' axes, not their order and sign.
		Symmetry: func(p *bpca.Posterior, rng *rand.Rand) *bpca.Posterior {
			q := *p
			q.Loadings, q.Cov, q.AlphaRates = make([]float64, p.D*p.K), make([]float64, p.K*p.K), make([]float64, p.K)
			rotation := mat.NewDense(p.K, p.K, nil)
			for i, j := range rng.Perm(p.K) {
				rotation.Set(i, j, float64(2*rng.IntN(2)-1))
				q.AlphaRates[j] = p.AlphaRates[i]
			}
			mat.NewDense(p.D, p.K, q.Loadings).Mul(mat.NewDense(p.D, p.K, p.Loadings), rotation)
			mat.NewDense(p.K, p.K, q.Cov).Product(rotation.T(), mat.NewDense(p.K, p.K, p.Cov), rotation)
			return &q
		},
	}
}

// posteriorCoordinates are E[W], the Cholesky factor of Cov with logarithms on its
// diagonal, and the logarithms of the gamma distributions' hyperparameters.
func posteriorCoordinates(_ *lineargaussian.Statistics, p *bpca.Posterior) ([]float64, func([]float64) *bpca.Posterior) {
	v := append([]float64(nil), p.Loadings...)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(p.K, p.Cov)) {
		panic("covariance is not positive definite")
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	for i := range p.K {
		for j := range i {
			v = append(v, lower.At(i, j))
		}
		v = append(v, math.Log(lower.At(i, i)))
	}
	gammas := func(p *bpca.Posterior) []*float64 {
		list := []*float64{&p.Shape, &p.Rate}
		if p.AlphaShape > 0 {
			list = append(list, &p.AlphaShape)
			for k := range p.AlphaRates {
				list = append(list, &p.AlphaRates[k])
			}
		}
		return list
	}
	for _, g := range gammas(p) {
		v = append(v, math.Log(*g))
	}
	return v, func(v []float64) *bpca.Posterior {
		q := *p
		q.Loadings = append([]float64(nil), v[:p.D*p.K]...)
		q.AlphaRates, q.Cov, q.LogDetCov = append([]float64(nil), p.AlphaRates...), make([]float64, p.K*p.K), 0
		v = v[p.D*p.K:]
		lower := mat.NewDense(p.K, p.K, nil)
		for i := range p.K {
			for j := range i {
				lower.Set(i, j, v[j])
			}
			lower.Set(i, i, math.Exp(v[i]))
			q.LogDetCov += 2 * v[i]
			v = v[i+1:]
		}
		mat.NewDense(p.K, p.K, q.Cov).Mul(lower, lower.T())
		for i, g := range gammas(&q) {
			*g = math.Exp(v[i])
		}
		return &q
	}
}
