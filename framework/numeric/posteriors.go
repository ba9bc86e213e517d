package numeric

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Posteriors are what a global step of [Continuous] needs: the rows, by reference to the blocks of the source, and
// q(z_n) of each, 8·K·(K + 1) bytes a row beside the data, three or four times over in a fit. Rows of different shards
// follow one another.
type Posteriors struct {
	K  int
	N  float64   // Σ_n w_n
	ZZ []float64 // S = Σ_n w_n E[z_n z_nᵀ], K×K

	Blocks []framework.Rows
	Means  []float64 // rows×K
	Roots  []float64 // rows×K×K, lower triangular with covariance root·rootᵀ

	one   *jointMachine
	extra *mat.SymDense // precision that the tilt adds; nil for none
}

func newPosteriors(c *compiledJoint, k int) *Posteriors {
	return &Posteriors{K: k, ZZ: make([]float64, k*k), one: c.machine()}
}

// Weight is N.
func (s *Posteriors) Weight() float64 { return s.N }

// Merge adds another's sums and appends copies of its posteriors.
func (s *Posteriors) Merge(o *Posteriors) {
	s.N += o.N
	linalg.Axpy(1, o.ZZ, s.ZZ)
	s.Blocks = append(s.Blocks, o.Blocks...)
	s.Means = append(s.Means, o.Means...)
	s.Roots = append(s.Roots, o.Roots...)
}

func (s *Posteriors) clear() {
	s.N = 0
	clear(s.ZZ)
	s.Blocks, s.Means, s.Roots = s.Blocks[:0], s.Means[:0], s.Roots[:0]
}

func (s *Posteriors) mean(n int) []float64 { return s.Means[n*s.K : (n+1)*s.K] }

func (s *Posteriors) root(n int) []float64 { return s.Roots[n*s.K*s.K : (n+1)*s.K*s.K] }

// each visits row i of each block, which is the n-th of all, until visit returns false.
func (s *Posteriors) each(visit func(b framework.Rows, i, n int) bool) {
	n := 0
	for _, b := range s.Blocks {
		for i := range b.N {
			if !visit(b, i, n) {
				return
			}
			n++
		}
	}
}

// add adds the moments of a posterior.
func (s *Posteriors) add(w float64, mean, root []float64) {
	k := s.K
	s.N += w
	for a := range k {
		for b := range k {
			v := mean[a] * mean[b]
			for c := range min(a, b) + 1 {
				v += root[a*k+c] * root[b*k+c]
			}
			s.ZZ[a*k+b] += w * v
		}
	}
}

// onto returns the posteriors of Vᵀz, for the K×K' matrix V.
func (s *Posteriors) onto(v *mat.Dense, c *compiledJoint) (*Posteriors, error) {
	_, k := v.Dims()
	t := newPosteriors(c, k)
	t.Blocks = append(t.Blocks, s.Blocks...)
	var failed error
	s.each(func(b framework.Rows, i, n int) bool {
		mean := mat.NewVecDense(k, nil)
		mean.MulVec(v.T(), mat.NewVecDense(s.K, s.mean(n)))
		var half mat.Dense
		half.Mul(v.T(), mat.NewDense(s.K, s.K, s.root(n)))
		var cov mat.SymDense
		cov.SymOuterK(1, &half)
		root, ok := lowerRoot(&cov)
		if !ok {
			failed = errors.New("numeric: the covariance of a posterior is singular after the projection")
			return false
		}
		t.Means = append(t.Means, mean.RawVector().Data...)
		t.Roots = append(t.Roots, root...)
		t.add(b.Weight(i), mean.RawVector().Data, root)
		return true
	})
	return t, failed
}

// lowerRoot is the Cholesky factor L, row-major, with LLᵀ = a.
func lowerRoot(a mat.Symmetric) ([]float64, bool) {
	var chol mat.Cholesky
	if !chol.Factorize(a) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	k := a.SymmetricDim()
	root := make([]float64, k*k)
	for i := range k {
		for j := range i + 1 {
			root[i*k+j] = l.At(i, j)
		}
	}
	return root, true
}

// entropy of N(·, root·rootᵀ), in nats.
func entropy(root []float64, k int) float64 {
	h := float64(k) / 2 * (1 + math.Log(2*math.Pi))
	for i := range k {
		h += math.Log(root[i*k+i])
	}
	return h
}
