package normal

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
)

// maximum is the global step of structured covariances, Σ_k = D_k diag(σ²_k) D_kᵀ, of K classes with counts n_k and
// scatters W_k = Σ_n q_nk (x_n−μ_k)(x_n−μ_k)ᵀ: the maximum of
//
//	−½ Σ_k (n_k ln|Σ_k| + tr Σ_k⁻¹W_k).
//
// Given the axes D_k it depends on the diagonals of D_kᵀW_kD_k alone, and is one of axes along the columns. Steps
// that iterate begin at the parameters before, and each of their iterations raises the likelihood. Above a floor
// structure_floor.go says what is exact.
type maximum struct {
	structure
	k        int
	n        []float64 // K
	scatter  []float64 // K×D, diagonals of D_kᵀW_kD_k
	variance []float64 // K×D, σ²: before, those to begin with
	least    []float64 // K×D, of σ² given the axes; 0 without a floor
	level    []float64 // K, scratch: volumes
	floor    []float64 // D, of the columns; nil: there is none
	spread   []float64 // D×D, of an ellipsoidal structure with a floor: the covariance of the table
	// conditional says that the maximum is one given other parameters: common axes need not come to theirs, as the next
	// global step goes on, and gains more.
	conditional bool
	turns       axesMemory
	g, s, half  []float64 // D×D, scratch
	inverse     []float64 // D, scratch
}

func newMaximum(s structure, k int, w *family.Pooled) *maximum { return new(maximum).begin(s, k, w) }

// begin makes it the step of K classes, in the memory of the step before.
func (m *maximum) begin(s structure, k int, w *family.Pooled) *maximum {
	m.structure, m.k, m.conditional, m.floor, m.spread = s, k, false, nil, nil
	m.n, m.level = linalg.Resize(m.n, k), linalg.Resize(m.level, k)
	for _, list := range []*[]float64{&m.scatter, &m.variance, &m.least} {
		*list = linalg.Resize(*list, k*s.d)
		clear(*list)
	}
	if w != nil && len(w.Floor) > 0 {
		m.floor, m.spread = w.Floor, w.Parameters[s.d:]
	}
	return m
}

// An iteration ends when nothing moves by more than settled, relatively, or after mostRounds: as it rises all along, it
// goes on in the next global step.
const settled, mostRounds = 1e-13, 1000

// variances finds σ² given the axes.
func (m *maximum) variances() {
	d, n := m.d, floats.Sum(m.n)
	switch name := m.form.letters(); {
	case m.form == EII:
		linalg.Fill(m.variance, max(floats.Sum(m.scatter)/(n*float64(d)), floats.Max(m.least)))
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
			m.level[k] = geometricMean(linalg.Row(m.scatter, k, d))
			sum += m.level[k]
		}
		for k := range m.k {
			floats.ScaleTo(linalg.Row(m.variance, k, d), sum/n/m.level[k], linalg.Row(m.scatter, k, d))
		}
		if m.onFloor() {
			m.levelled(n)
		}
	default:
		for k, nk := range m.n {
			floats.ScaleTo(linalg.Row(m.variance, k, d), 1/nk, linalg.Row(m.scatter, k, d))
		}
		for i, c := range m.least {
			m.variance[i] = max(m.variance[i], c)
		}
	}
}

// levels takes the volumes of the parameters before.
func (m *maximum) levels() {
	for k := range m.k {
		m.level[k] = geometricMean(linalg.Row(m.variance, k, m.d))
	}
}

// pool puts σ²_k = λ_k a with a = Σ_k W_k/λ_k/n or the lowest a, the maximum given the volumes, up to a factor of all
// λ_k.
func (m *maximum) pool(n float64) {
	a := linalg.Row(m.variance, 0, m.d)
	clear(a)
	for k, level := range m.level {
		floats.AddScaled(a, 1/(n*level), linalg.Row(m.scatter, k, m.d))
	}
	for j, v := range a {
		a[j] = max(v, m.lowest(j))
	}
	for k := m.k - 1; k >= 0; k-- {
		floats.ScaleTo(linalg.Row(m.variance, k, m.d), m.level[k], a)
	}
}

// scale multiplies each class's σ² to the maximum given its shape, and returns the largest relative change.
func (m *maximum) scale() (change float64) {
	for k, nk := range m.n {
		variance, sum := linalg.Row(m.variance, k, m.d), 0.0
		for j, w := range linalg.Row(m.scatter, k, m.d) {
			if w > 0 {
				sum += w / variance[j]
			}
		}
		factor := sum / (nk * float64(m.d))
		for j, c := range linalg.Row(m.least, k, m.d) {
			if c > 0 {
				factor = max(factor, c/variance[j])
			}
		}
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
	axes, start := make([]float64, m.k*d*d), make([]float64, m.k*d)
	for k, cov := range covs { // D_k are the axes of W_k, longest first in all classes
		e, ok := linalg.NewSymmetricEigen(d, slices.Clone(linalg.Row(scatters, k, d*d)))
		if !ok {
			return family.ClassError(k, variances.Singular())
		}
		copy(linalg.Row(axes, k, d*d), e.Vectors(d).RawMatrix().Data)
		for j, v := range e.Values {
			m.scatter[k*d+j] = max(0, v)
		}
		volume, err := logDet(d, cov)
		if err != nil {
			return err
		}
		linalg.Fill(linalg.Row(start, k, d), math.Exp(volume/float64(d)))
		m.setLeast(linalg.Row(axes, k, d*d), linalg.Row(m.least, k, d))
	}
	copy(m.variance, start)
	m.variances()
	if m.onFloor() {
		copy(m.variance, start)
		if err := m.improve(axes, scatters, covs); err != nil {
			return err
		}
	}
	for k, cov := range covs {
		assemble(linalg.Row(axes, k, d*d), linalg.Row(m.variance, k, d), cov)
	}
	return nil
}

// proportional is VEE: Σ_k = λ_k C, with C = Σ_k W_k/λ_k/n given λ, and λ_k = tr(W_k C⁻¹)/(n_k D) given C, or the
// maxima above the floor.
func (m *maximum) proportional(scatters []float64, covs [][]float64) error {
	d, n := m.d, floats.Sum(m.n)
	for k, cov := range covs {
		m.level[k] = cov[0] / covs[0][0]
	}
	shared, inverse := make([]float64, d*d), make([]float64, d*d)
	for range mostRounds {
		clear(shared)
		for k, level := range m.level {
			floats.AddScaled(shared, 1/(n*level), linalg.Row(scatters, k, d*d))
		}
		if m.floor != nil && !m.raise(shared) {
			return variances.Singular()
		}
		copy(inverse, shared)
		chol, ok := linalg.NewCholesky(d, inverse)
		if !ok {
			return variances.Singular()
		}
		chol.Invert()
		before, change := slices.Clone(m.level), 0.0
		for k, nk := range m.n {
			m.level[k] = floats.Dot(inverse, linalg.Row(scatters, k, d*d)) / (nk * float64(d))
		}
		if m.floor != nil {
			m.lift(shared)
		}
		for k, level := range m.level {
			change = max(change, math.Abs(level/before[k]-1))
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
func (m *maximum) regular(params family.Table, diagonal func(k, j int) float64) error {
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
			if !(diagonal(k, j) > variances.Vanishing*(within+between)) {
				return family.ClassError(k, variances.Collapsed(j))
			}
		}
	}
	return nil
}
