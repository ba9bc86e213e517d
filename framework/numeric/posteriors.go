package numeric

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Posteriors are the input of a global step of [Continuous]: the rows, by reference to the blocks of the source, and
// q(z_n) of each, in 8·K·(K + 1) bytes per row beside the data, and 8 bytes for each point if the points have their own
// weights. A fit needs three or four times this memory. Rows of different shards follow one another.
type Posteriors struct {
	K  int
	N  float64   // Σ_n w_n
	ZZ []float64 // S = Σ_n w_n E[z_n z_nᵀ], K×K

	Blocks []blocks.Rows
	Means  []float64 // rows×K
	Roots  []float64 // rows×K×K: q has weights at the points mean + root·at of a rule
	// rows×points, the probability of each point under q; empty if q is Gaussian and the weights are those of the rule
	Weights []float64

	one   *jointMachine
	extra *mat.SymDense // precision that the tilt adds; nil for none
}

func newPosteriors(c *compiledJoint, k int) *Posteriors {
	return &Posteriors{K: k, ZZ: make([]float64, k*k), one: c.machine()}
}

// Observations is N.
func (s *Posteriors) Observations() float64 { return s.N }

// Merge adds another's sums and appends copies of its posteriors.
func (s *Posteriors) Merge(o *Posteriors) {
	s.N += o.N
	linalg.Axpy(1, o.ZZ, s.ZZ)
	s.Blocks = append(s.Blocks, o.Blocks...)
	s.Means = append(s.Means, o.Means...)
	s.Roots = append(s.Roots, o.Roots...)
	s.Weights = append(s.Weights, o.Weights...)
}

func (s *Posteriors) clear() {
	s.N = 0
	clear(s.ZZ)
	s.Blocks, s.Means, s.Roots, s.Weights = s.Blocks[:0], s.Means[:0], s.Roots[:0], s.Weights[:0]
}

func (s *Posteriors) mean(n int) []float64 { return s.Means[n*s.K : (n+1)*s.K] }

func (s *Posteriors) root(n int) []float64 { return s.Roots[n*s.K*s.K : (n+1)*s.K*s.K] }

// local is q of row n at the points of a rule.
func (s *Posteriors) local(n int, p *points) local {
	q := local{s.mean(n), s.root(n), p.weight}
	if size := len(p.weight); p.weighted {
		q.weight = s.Weights[n*size : (n+1)*size]
	}
	return q
}

// append adds q of the next row, and its moments.
func (s *Posteriors) append(w float64, q local, p *points) {
	s.Means, s.Roots = append(s.Means, q.mean...), append(s.Roots, q.root...)
	if p.weighted {
		s.Weights = append(s.Weights, q.weight...)
	}
	_, second := q.moments(p)
	s.N += w
	linalg.Axpy(w, second, s.ZZ)
}

// each visits row i of each block, which is the n-th of all, until visit returns false.
func (s *Posteriors) each(visit func(b blocks.Rows, i, n int) bool) {
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

// moments are E[z], and E[zzᵀ], K×K.
func (q local) moments(p *points) (mean, second []float64) {
	k := len(q.mean)
	mean, second = make([]float64, k), make([]float64, k*k)
	z := make([]float64, k)
	for i, w := range q.weight {
		p.place(i, q, z)
		linalg.Axpy(w, z, mean)
		for a, v := range z {
			linalg.Axpy(w*v, z, second[a*k:(a+1)*k])
		}
	}
	return mean, second
}

// gaussian is the mean of q, and the lower triangular root of its covariance; not ok where that is singular.
func (q local) gaussian(p *points) (mean, root []float64, ok bool) {
	if !p.weighted {
		return q.mean, q.root, true
	}
	mean, second := q.moments(p)
	k := len(mean)
	for a, v := range mean {
		linalg.Axpy(-v, mean, second[a*k:(a+1)*k])
	}
	root, ok = lowerRoot(mat.NewSymDense(k, second))
	return mean, root, ok
}

// onto returns the posteriors of Vᵀz, for the K×K' matrix V: Gaussian ones of the same moments where K' < K.
func (s *Posteriors) onto(v *mat.Dense, c *compiledJoint) (*Posteriors, error) {
	_, k := v.Dims()
	t := newPosteriors(c, k)
	t.Blocks = append(t.Blocks, s.Blocks...)
	from, err := t.one.rule(s.K)
	if err != nil {
		return nil, err
	}
	to, err := t.one.rule(k)
	if err != nil {
		return nil, err
	}
	s.each(func(b blocks.Rows, i, n int) bool {
		q := s.local(n, from)
		mean, root, ok := q.gaussian(from)
		if k == s.K { // the points turn, and keep their weights
			mean, root = q.mean, q.root
		} else {
			q.weight = to.weight
		}
		q.mean = make([]float64, k)
		mat.NewVecDense(k, q.mean).MulVec(v.T(), mat.NewVecDense(s.K, mean))
		var half mat.Dense
		half.Mul(v.T(), mat.NewDense(s.K, s.K, root))
		if k < s.K || !from.weighted {
			var cov mat.SymDense
			cov.SymOuterK(1, &half)
			var positive bool
			q.root, positive = lowerRoot(&cov)
			ok = ok && positive
		} else {
			q.root = half.RawMatrix().Data
		}
		if !ok {
			err = errors.New("numeric: the covariance of a posterior is singular after the projection")
			return false
		}
		t.append(b.Weight(i), q, to)
		return true
	})
	return t, err
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

// entropy of N(·, root·rootᵀ), in nats, the root being lower triangular.
func entropy(root []float64, k int) float64 {
	h := float64(k) / 2 * (1 + math.Log(2*math.Pi))
	for i := range k {
		h += math.Log(root[i*k+i])
	}
	return h
}
