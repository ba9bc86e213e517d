package factor

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// A profile is what the likelihood needs of C = L M Lᵀ, Ψ = LLᵀ, at the best loadings L U_K (Λ_K − I)^½ for Ψ (Lawley
// 1940): the leading eigenvalues and vectors of M, and its trace.
type profile struct {
	values  []float64 // Λ_K, descending
	vectors []float64 // U_K, D×K
	trace   float64
}

// lawley decomposes M.
func lawley(c []float64, r *root, k, d int) (*profile, error) {
	m := r.white(c, d)
	p := &profile{trace: mat.Trace(m)}
	if 16*k <= d && d >= wide {
		values, vectors, ok := linalg.Leading(d, k, d/2, func(dst, x *mat.Dense) {
			linalg.Mul(false, false, 1, m.RawMatrix(), x.RawMatrix(), 0, dst.RawMatrix())
		}, 1e-8)
		if ok {
			p.values, p.vectors = values, mat.DenseCopyOf(vectors).RawMatrix().Data
			return p, nil
		}
	}
	eigen, ok := linalg.NewSymmetricEigen(d, m.RawMatrix().Data)
	if !ok {
		return nil, errEigen
	}
	p.values = slices.Clone(eigen.Values[:k])
	if k > 0 {
		p.vectors = mat.DenseCopyOf(eigen.Vectors(k)).RawMatrix().Data
	}
	return p, nil
}

// deviance is −2/N times the log-likelihood, less D ln 2π, for a noise with ln|Ψ| = logDet.
func (p *profile) deviance(logDet float64) float64 {
	f := logDet + p.trace
	for _, v := range p.values {
		if v > 1 {
			f += math.Log(v) + 1 - v
		}
	}
	return f
}

// loadings are L U_K (Λ_K − I)^½.
func (p *profile) loadings(r *root) []float64 {
	k := len(p.values)
	w := slices.Clone(p.vectors)
	for i := range w {
		w[i] *= math.Sqrt(max(0, p.values[i%k]-1))
	}
	columns(w, k, r.colour)
	return w
}

var errEigen = errors.New("factor: no eigenvalues of the covariance: rescale columns to numbers near 1")
