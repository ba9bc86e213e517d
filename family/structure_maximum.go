package family

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// maximum is the global step of structured covariances, Σ_k = D_k diag(σ²_k) D_kᵀ, of K classes with counts n_k and
// scatters W_k = Σ_n q_nk (x_n−μ_k)(x_n−μ_k)ᵀ: the maximum of
//
//	−½ Σ_k (n_k ln|Σ_k| + tr Σ_k⁻¹W_k).
//
// Given the axes D_k it depends on the diagonals of D_kᵀW_kD_k alone, and is one of axes along the columns. Steps
// that iterate begin at the parameters before, and each of their iterations raises the likelihood.
type maximum struct {
	structure
	k        int
	n        []float64 // K
	scatter  []float64 // K×D, diagonals of D_kᵀW_kD_k
	variance []float64 // K×D, σ²: before, those to begin with
	level    []float64 // K, scratch: volumes
}

func newMaximum(s structure, k int) *maximum {
	return &maximum{s, k, make([]float64, k), make([]float64, k*s.d), make([]float64, k*s.d), make([]float64, k)}
}

// An iteration ends when nothing moves by more than settled, relatively, or after mostRounds: as it rises all along, it goes
// on in the next global step.
const settled, mostRounds = 1e-13, 1000

// variances finds σ² given the axes.
func (m *maximum) variances() {
	d, n := m.d, floats.Sum(m.n)
	switch name := m.form.letters(); {
	case m.form == EII:
		linalg.Fill(m.variance, floats.Sum(m.scatter)/(n*float64(d)))
	case name[:2] == "EE":
		linalg.Fill(m.level, 1)
		m.pool(n)
	case name[:2] == "VE":
		m.levels()
		for range mostRounds {
			m.pool(n)
			if m.scale() < settled {
				break
			}
		}
	case name[:2] == "EV": // σ²_k = λ·shape of W_k, λ = Σ_k |W_k|^(1/D)/n
		sum := 0.0
		for k := range m.k {
			m.level[k] = geometricMean(at(m.scatter, k, d))
			sum += m.level[k]
		}
		for k := range m.k {
			floats.ScaleTo(at(m.variance, k, d), sum/n/m.level[k], at(m.scatter, k, d))
		}
	default:
		for k, nk := range m.n {
			floats.ScaleTo(at(m.variance, k, d), 1/nk, at(m.scatter, k, d))
		}
	}
}

// levels takes the volumes of the parameters before.
func (m *maximum) levels() {
	for k := range m.k {
		m.level[k] = geometricMean(at(m.variance, k, m.d))
	}
}

// pool puts σ²_k = λ_k a with a = Σ_k W_k/λ_k/n, the maximum given the volumes, up to a factor of all λ_k.
func (m *maximum) pool(n float64) {
	a := at(m.variance, 0, m.d)
	clear(a)
	for k, level := range m.level {
		floats.AddScaled(a, 1/(n*level), at(m.scatter, k, m.d))
	}
	for k := m.k - 1; k >= 0; k-- {
		floats.ScaleTo(at(m.variance, k, m.d), m.level[k], a)
	}
}

// scale multiplies each class's σ² to the maximum given its shape, and returns the largest relative change.
func (m *maximum) scale() (change float64) {
	for k, nk := range m.n {
		variance, sum := at(m.variance, k, m.d), 0.0
		for j, w := range at(m.scatter, k, m.d) {
			if w > 0 {
				sum += w / variance[j]
			}
		}
		factor := sum / (nk * float64(m.d))
		linalg.Scale(factor, variance)
		m.level[k] *= factor
		change = max(change, math.Abs(factor-1))
	}
	return change
}

func geometricMean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(v)))
}

// covariances finds Σ_k, which are to begin with in covs, from the scatters, K×D×D.
func (m *maximum) covariances(scatters []float64, covs [][]float64) error {
	switch letter := m.form.letters()[2]; {
	case m.form == VEE:
		return m.proportional(scatters, covs)
	case letter == 'E':
		return m.commonAxes(scatters, covs)
	}
	d := m.d
	axes := make([]*linalg.SymmetricEigen, m.k)
	for k, cov := range covs { // D_k are the axes of W_k, longest first in all classes
		e, ok := linalg.NewSymmetricEigen(d, append([]float64(nil), at(scatters, k, d*d)...))
		if !ok {
			return ofClass(k, singular())
		}
		axes[k] = e
		for j, v := range e.Values {
			m.scatter[k*d+j] = max(0, v)
		}
		volume, err := logDet(d, cov)
		if err != nil {
			return err
		}
		linalg.Fill(at(m.variance, k, d), math.Exp(volume/float64(d)))
	}
	m.variances()
	for k, cov := range covs {
		assemble(axes[k].Vectors(d).RawMatrix().Data, at(m.variance, k, d), cov)
	}
	return nil
}

// proportional is VEE: Σ_k = λ_k C, with C = Σ_k W_k/λ_k/n given λ, and λ_k = tr(W_k C⁻¹)/(n_k D) given C.
func (m *maximum) proportional(scatters []float64, covs [][]float64) error {
	d, n := m.d, floats.Sum(m.n)
	for k, cov := range covs {
		m.level[k] = cov[0] / covs[0][0]
	}
	shared, inverse := make([]float64, d*d), make([]float64, d*d)
	for range mostRounds {
		clear(shared)
		for k, level := range m.level {
			floats.AddScaled(shared, 1/(n*level), at(scatters, k, d*d))
		}
		copy(inverse, shared)
		chol, ok := linalg.NewCholesky(d, inverse)
		if !ok {
			return singular()
		}
		chol.Invert()
		change := 0.0
		for k, nk := range m.n {
			level := floats.Dot(inverse, at(scatters, k, d*d)) / (nk * float64(d))
			change = max(change, math.Abs(level/m.level[k]-1))
			m.level[k] = level
		}
		if change < settled {
			break
		}
	}
	for k, level := range m.level {
		floats.ScaleTo(covs[k], level, shared)
	}
	return nil
}

// assemble puts D diag(v) Dᵀ into cov; axes are the columns of D.
func assemble(axes, v, cov []float64) {
	d := len(v)
	for a := range d {
		for c := a; c < d; c++ {
			sum := 0.0
			for j, s := range v {
				sum += axes[a*d+j] * s * axes[c*d+j]
			}
			cov[a*d+c] = sum
		}
	}
	linalg.Mirror(d, cov)
}

// logDet is ln|Σ|.
func logDet(d int, cov []float64) (float64, error) {
	chol, ok := linalg.NewCholesky(d, append([]float64(nil), cov...))
	if !ok {
		return 0, fmt.Errorf("family: a covariance is not positive definite: %w", framework.ErrDegenerate)
	}
	return chol.LogDet(), nil
}

// regular says which class has a column whose variance, as diagonal returns it, vanishes beside that in the table.
func (m *maximum) regular(params Table, diagonal func(k, j int) float64) error {
	n := floats.Sum(m.n)
	for j := range m.d {
		mean, within, between := 0.0, 0.0, 0.0
		for k, nk := range m.n {
			mean += nk / n * params.Data[k*params.Stride+j]
			within += nk / n * diagonal(k, j)
		}
		for k, nk := range m.n {
			shift := params.Data[k*params.Stride+j] - mean
			between += nk / n * shift * shift
		}
		for k := range m.k {
			if !(diagonal(k, j) > vanishing*(within+between)) {
				return ofClass(k, collapsed(j))
			}
		}
	}
	return nil
}
