package features

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// A regression of x on the features, both about their means, so that a feature and its opposite are the same to it.
type regression struct {
	k       int
	scatter []float64 // Σ E[z zᵀ] about the means, K×K
	factor  []float64 // memory of its factors
	cross   []float64 // Σ x E[z]ᵀ about the means, D×K
}

// dependent is the share of the largest eigenvalue of the scatter below which features are linear functions of others.
const dependent = 1e-12

// center computes the sums about the means.
func (r *regression) center(s *Statistics) {
	k, d := s.K, len(s.X)
	r.k = k
	r.scatter, r.factor, r.cross = linalg.Resize(r.scatter, k*k), linalg.Resize(r.factor, k*k), linalg.Resize(r.cross, d*k)
	sums := s.ZZ[:k+1]
	for l := range k {
		row := r.scatter[l*k : (l+1)*k]
		copy(row, s.ZZ[(l+1)*(k+1)+1:(l+2)*(k+1)])
		floats.AddScaled(row, -sums[l+1]/s.N, sums[1:])
	}
	for j, x := range s.X {
		row := r.cross[j*k : (j+1)*k]
		copy(row, s.XZ[j*(k+1)+1:(j+1)*(k+1)])
		floats.AddScaled(row, -x/s.N, sums[1:])
	}
}

// solve puts the loadings, D×K, into w.
func (r *regression) solve(s *Statistics, w []float64) {
	r.center(s)
	if r.k == 0 {
		return
	}
	copy(w, r.cross)
	copy(r.factor, r.scatter)
	if chol, ok := linalg.NewCholesky(r.k, r.factor); ok && r.definite() {
		chol.SolveRight(linalg.General(len(s.X), r.k, w))
		return
	}
	values, vectors := r.eigen()
	var scores, product mat.Dense
	scores.Mul(mat.NewDense(len(s.X), r.k, r.cross), vectors)
	scores.Apply(func(_, l int, v float64) float64 {
		if !(values[l] > dependent*values[r.k-1]) {
			return 0
		}
		return v / values[l]
	}, &scores)
	product.Mul(&scores, vectors.T())
	copy(w, product.RawMatrix().Data)
}

// definite reports whether every feature has, in the Cholesky factor of the scatter, more than rounding left of it.
func (r *regression) definite() bool {
	for i := range r.k {
		if u := r.factor[i*(r.k+1)]; !(u*u > dependent*r.scatter[i*(r.k+1)]) {
			return false
		}
	}
	return true
}

// eigen are the eigenvalues of the scatter, ascending, and its eigenvectors.
func (r *regression) eigen() ([]float64, *mat.Dense) {
	var eigen mat.EigenSym
	var vectors mat.Dense
	if !eigen.Factorize(mat.NewSymDense(r.k, r.scatter), true) {
		panic("features: the sums of features are not finite") // probabilities times weights always are
	}
	eigen.VectorsTo(&vectors)
	return eigen.Values(nil), &vectors
}

// unaccounted is 1/(S⁻¹)_kk of the scatter S: the rows' worth of each feature that the others leave.
func (s *Statistics) unaccounted() []float64 {
	s.fit.center(s)
	values, vectors := s.fit.eigen()
	left := make([]float64, s.K)
	for k := range left {
		inverse := 0.0
		for i, value := range values {
			inverse += vectors.At(k, i) * vectors.At(k, i) / max(value, dependent*values[s.K-1])
		}
		left[k] = 1 / inverse
	}
	return left
}
