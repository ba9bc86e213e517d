package ppca

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// start checks the data and returns the mode of W with a Laplace approximation around it.
func (m Model) start(s *Statistics, k int, rng *rand.Rand) (*Posterior, error) {
	m, err := m.resolved()
	if err != nil {
		return nil, err
	}
	if !(s.N > 0) {
		return nil, errors.New("ppca: the rows have no weight")
	}
	if k < 1 || k > s.D {
		return nil, fmt.Errorf("ppca: K = %d with D = %d columns: choose K from 1 to %d", k, s.D, s.D)
	}
	values, vectors, err := s.spectrum()
	if err != nil {
		return nil, err
	}
	p := &Posterior{K: k, D: s.D, Diagonal: m.Diagonal, Noise: m.Noise, PriorVariance: m.PriorVariance}
	p.Means, p.Factors = make([]float64, p.D*k), make([]float64, k*p.factorSize())
	modes := m.modes(values, s.N, k)
	for j := range k {
		length := math.Sqrt(max(0, modes[j]-m.Noise))
		for i := range p.D {
			p.Means[i*k+j] = length * vectors.At(i, j)
		}
		p.setFactor(j, vectors, m.precisions(values, modes, s.N, j))
	}
	p.Optimizer.Seed = rng.Uint64()
	p.begin()
	return p, nil
}

// spectrum is the eigenvalues of Σ w x xᵀ/N, the largest first, and their eigenvectors.
func (s *Statistics) spectrum() (values []float64, vectors *mat.Dense, err error) {
	eigen, ok := linalg.NewSymmetricEigen(s.D, slices.Clone(s.Squares))
	if !ok {
		return nil, nil, errors.New(
			"ppca: the second moments have no eigen-decomposition: the entries are near the end of the range; rescale the data",
		)
	}
	for _, v := range eigen.Values {
		values = append(values, max(0, v)/s.N)
	}
	return values, eigen.Vectors(s.D), nil
}

// modes are the eigenvalues v of WWᵀ + σ²I at the mode of the posterior of W, whose
// columns lie along the eigenvectors of the data: the derivative along a column of −(N/2)[ln v +
// c/v] − v/(2s²) vanishes where v²/s² + Nv = Nc, and v is no smaller than σ². Without a
// prior (s² → ∞) v = c, the solution of Tipping & Bishop (1999) for a given σ².
func (m Model) modes(values []float64, n float64, k int) []float64 {
	modes := make([]float64, len(values))
	for i, c := range values {
		modes[i] = m.Noise
		if i < k {
			root := math.Hypot(1, 2*math.Sqrt(c)/math.Sqrt(n*m.PriorVariance))
			modes[i] = max(m.Noise, 2*c/(1+root))
		}
	}
	return modes
}

// precisions are those of column j along the eigenvectors of the data: the prior's and minus
// the second derivatives of ln p(X|W) at the mode (docs/theory/elbo-ppca.md, section 3). Where
// those vanish, as along columns that the mode does not use, the likelihood is quartic, about
// −N‖w‖⁴/(4v²), and √N/v stands for it.
func (m Model) precisions(values, modes []float64, n float64, j int) []float64 {
	precisions := make([]float64, len(values))
	noise, vj := m.Noise, modes[j]
	signal, excess := (vj-noise)/vj, values[j]/vj
	for i, v := range modes {
		h := (1-values[i]/v)*noise/vj + excess*signal
		if i == j {
			h = 1 - excess + 2*signal*(2*excess-1)
		}
		precisions[i] = 1/m.PriorVariance + max(n*h, math.Sqrt(n))/v
	}
	return precisions
}

// setFactor sets L_j to the factor of U diag(precisions)⁻¹ Uᵀ, or, where diagonal, to that of
// the diagonal matrix nearest to it in KL(ρ ‖ ·), with the same diagonal of the precision.
func (p *Posterior) setFactor(j int, u *mat.Dense, precisions []float64) {
	d := p.D
	factor := p.Factors[j*p.factorSize() : (j+1)*p.factorSize()]
	if p.Diagonal {
		for i := range d {
			sum := 0.0
			for l, v := range precisions {
				sum += u.At(i, l) * u.At(i, l) * v
			}
			factor[i] = 1 / math.Sqrt(sum)
		}
		return
	}
	// Σ = AᵀA with A = diag(precisions)^−½ Uᵀ = QR, so that L = Rᵀ, whatever the
	// condition number of the precisions is.
	a := mat.NewDense(d, d, nil)
	for l, v := range precisions {
		for i := range d {
			a.Set(l, i, u.At(i, l)/math.Sqrt(v))
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var r mat.Dense
	qr.RTo(&r)
	for i := range d {
		for l := i; l < d; l++ {
			factor[l*d+i] = math.Copysign(1, r.At(i, i)) * r.At(i, l)
		}
	}
}
