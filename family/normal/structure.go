package normal

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The structures Σ_k = λ_k D_k A_k D_kᵀ by the names of mclust (Celeux & Govaert 1995, Pattern Recognition 28; Fraley &
// Raftery 2002): the letters say of volume λ_k, shape A_k (diagonal, |A_k| = 1) and orientation D_k whether they are
// equal in all components (E), vary (V) or are the identity (I). Equal parts belong to Θ, varying ones to Ξ.
const (
	EII Covariance = iota + Spherical + 1
	EEI
	VEI
	EVI
	VEE
	EVE
	VVE
	EEV
	VEV
	EVV

	VII = Spherical
	VVI = Diagonal
	EEE = Tied
	VVV = Full
)

var structureNames = [...]string{"EII", "EEI", "VEI", "EVI", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV"}

// structured says whether the form is one of those above that have no other name.
func (c Covariance) structured() bool { return c >= EII && c <= EVV }

// letters are volume, shape and orientation of a structure.
func (c Covariance) letters() string { return structureNames[c-EII] }

// Structures are the 14 covariances by the names of mclust, in ascending order of their number of parameters.
func Structures() (names []string, forms []Covariance) {
	return strings.Fields("EII VII EEI VEI EVI VVI EEE VEE EVE VVE EEV VEV EVV VVV"),
		[]Covariance{EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV}
}

// structured is the factor of a structure; floor is the factor of the squared resolutions.
func structured(form Covariance, columns int, floor float64) family.Factor {
	s := structure{form, columns}
	if form.letters()[2] == 'I' {
		return axial{isotropic{groups: columns, width: 1, form: form, floor: floor}, s}
	}
	return ellipsoidal{gaussian{d: columns, floor: floor}, s}
}

// structure is what factors of a structured covariance have in common.
type structure struct {
	form Covariance
	d    int
}

func (s structure) Name() string { return Family{Covariance: s.form}.Name() }

// counts are the numbers of a covariance that belong to a component, and those that all share, as mclust counts them.
func (s structure) counts() (own, shared int) {
	name, turns := s.form.letters(), s.d*(s.d-1)/2
	for i, n := range []int{1, s.d - 1, turns} {
		switch name[i] {
		case 'V':
			own += n
		case 'E':
			shared += n
		}
	}
	if s.form == EII { // its shape is that of a sphere, and no parameter
		shared = 1
	}
	return own, shared
}

// layout corrects the layout of a factor with as many means.
func (s structure) layout(l family.Layout) family.Layout {
	own, shared := s.counts()
	l.Cells, l.Free, l.Shared, l.Hyper = 1, s.d+own, shared, 0
	return l
}

// unconjugated refuses a prior.
func (s structure) unconjugated() error {
	return fmt.Errorf("family: %s has no conjugate prior, which MAP and variational Bayes need: take EM, FAB or "+
		"gFAB, or a full, tied, diagonal or spherical covariance", s.Name())
}

// information appends the unit information about the own parts of a covariance to that about the mean. logVolume is
// ln|Σ| less that of the table's covariance; axes, of VVE, are the variances along the shared axes. The coordinates
// have no units (docs/theory/mixtures.md, section 8): a volume λ, or a variance, in units of the table's volume;
// logarithms of the shape; angles and other turns in standard deviations that a row determines them to.
func (s structure) information(info laplace.Diagonal, logVolume float64, axes []float64) {
	name, d := s.form.letters(), float64(s.d)
	next := func(n int, v float64) {
		linalg.Fill(info[:n], v)
		info = info[n:]
	}
	switch {
	case s.form == VVE:
		for j, v := range axes {
			info[j] = 1 / (2 * v * v)
		}
		return
	case name[0] == 'V':
		next(1, d/2*math.Exp(-2*logVolume/d))
	}
	if name[1] == 'V' {
		next(s.d-1, 0.5)
	}
	if name[2] == 'V' {
		next(len(info), 1)
	}
}

// axial is a structure with axes along the columns: the numbers are those of a diagonal covariance, in one cell.
type axial struct {
	isotropic
	structure structure
}

func (g axial) Layout() family.Layout { return g.structure.layout(g.isotropic.Layout()) }

// Conjugate returns an error.
func (g axial) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) {
	return nil, g.structure.unconjugated()
}

// Estimate is the mean. It keeps the variances as the start of Share, and estimates only those of the table as one
// class.
func (g axial) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	n, first, _ := g.split(sums)
	mean, variance := g.moments(xi)
	if w == nil {
		if g.form == EII {
			if err := g.sphere().Estimate(g.gathered(sums), anchor, nil, xi); err != nil {
				return err
			}
			linalg.Fill(variance, variance[0])
			return nil
		}
		return isotropic{groups: len(mean), width: 1, form: Diagonal, floor: g.floor}.Estimate(sums, anchor, nil, xi)
	}
	if !(n[0] > 0) {
		return variances.ErrNoRows
	}
	for j, a := range anchor {
		mean[j] = a + first[j]/n[j]
	}
	return nil
}

// SetFloor of EII is that of one spherical class, whose variance the columns repeat.
func (g axial) SetFloor(steps []float64, w *family.Pooled) error {
	if g.form != EII || g.floor == 0 {
		return g.isotropic.SetFloor(steps, w)
	}
	one := *w
	one.Parameters, one.Reference = w.Parameters[:g.columns()+1], w.Center()[:g.columns()+1]
	err := g.sphere().SetFloor(steps, &one)
	_, variance := g.moments(w.Parameters)
	linalg.Fill(variance, variance[0])
	return err
}

// sphere is one class of EII.
func (g axial) sphere() isotropic {
	return isotropic{groups: 1, width: g.columns(), form: Spherical, floor: g.floor}
}

// gathered are the sums of a spherical covariance.
func (g axial) gathered(sums []float64) []float64 {
	n, first, second := g.split(sums)
	return append(append([]float64{n[0]}, first...), floats.Sum(second))
}

// Share is the global step of the variances of all classes.
func (g axial) Share(sums, _, params family.Table, w *family.Pooled) error {
	d := g.columns()
	m := newMaximum(g.structure, params.K, w)
	for k := range params.K {
		n, first, second := g.split(sums.Row(k, 3*d))
		m.n[k] = n[0]
		for j, v := range second {
			m.scatter[k*d+j] = max(0, v-first[j]/n[j]*first[j])
		}
	}
	g.solve(m, params)
	return m.regular(params, func(k, j int) float64 { return m.variance[k*d+j] })
}

// solve moves the variances of the parameters to the maximum, whose counts and scatter are there.
func (g axial) solve(m *maximum, params family.Table) {
	d := g.columns()
	for k := range params.K {
		_, variance := g.moments(params.Row(k, 2*d))
		copy(linalg.Row(m.variance, k, d), variance)
		copy(linalg.Row(m.least, k, d), m.floor)
	}
	m.variances()
	for k := range params.K {
		_, variance := g.moments(params.Row(k, 2*d))
		copy(variance, linalg.Row(m.variance, k, d))
	}
}

// Information is that of the means, 1/v, and of the own parts.
func (g axial) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	own, _ := g.structure.counts()
	_, variance := g.moments(xi)
	_, all := g.moments(w.Parameters)
	dst, info := family.AppendDiagonal(dst, len(variance)+own)
	logVolume := 0.0
	for j, v := range variance {
		info[j] = all[j] / v
		logVolume += math.Log(v / all[j])
	}
	g.structure.information(info[len(variance):], logVolume, nil)
	return dst
}

// ellipsoidal is a structure with axes in any direction: the numbers are those of a full covariance.
type ellipsoidal struct {
	gaussian
	structure structure
}

func (g ellipsoidal) Name() string { return g.structure.Name() }

func (g ellipsoidal) Layout() family.Layout { return g.structure.layout(g.gaussian.Layout()) }

// Conjugate returns an error.
func (g ellipsoidal) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) {
	return nil, g.structure.unconjugated()
}

// Estimate is the mean. It keeps the covariance as the start of Share, and estimates only that of the table as one
// class.
func (g ellipsoidal) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	if w == nil {
		return g.gaussian.Estimate(sums, anchor, nil, xi)
	}
	n := sums[0]
	if !(n > 0) {
		return variances.ErrNoRows
	}
	first, _ := g.split(sums, 1)
	mean, _ := g.split(xi, 0)
	for j, a := range anchor {
		mean[j] = a + first[j]/n
	}
	return nil
}

// Share is the global step of the covariances of all classes.
func (g ellipsoidal) Share(sums, _, params family.Table, w *family.Pooled) error {
	d := g.d
	m := newMaximum(g.structure, params.K, w)
	scatters, covs := make([]float64, params.K*d*d), make([][]float64, params.K)
	for k := range params.K {
		row := sums.Row(k, 1+2*d+d*d)
		first, second := g.split(row, 1)
		_, covs[k] = g.split(params.Row(k, d+d*d), 0)
		to, n := linalg.Row(scatters, k, d*d), row[0]
		m.n[k] = n
		for a := range d {
			for c := a; c < d; c++ {
				to[a*d+c] = second[a*d+c] - first[a]/n*first[c]
			}
		}
		linalg.Mirror(d, to)
	}
	if err := m.covariances(scatters, covs); err != nil || m.floor != nil {
		return err
	}
	if err := m.regular(params, func(k, j int) float64 { return covs[k][j*d+j] }); err != nil {
		return err
	}
	for k, cov := range covs {
		if _, ok := g.independent(cov); !ok {
			return family.ClassError(k, variances.Singular())
		}
	}
	return nil
}

// Bound does nothing: Share does not go below the floor.
func (ellipsoidal) Bound(*family.Pooled, family.Table) error { return nil }

// Information is that of the mean, and of the own parts.
func (g ellipsoidal) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	own, _ := g.structure.counts()
	d := g.d
	_, cov := g.split(xi, 0)
	_, all := g.split(w.Parameters, 0)
	mean, info := &normalInformation{}, make(laplace.Diagonal, own)
	mean.set(gaussian{d: d, tied: true}, cov, all, w.Floor)
	var axes []float64
	if g.structure.form == VVE {
		if e, ok := linalg.NewSymmetricEigen(d, append([]float64(nil), cov...)); ok {
			axes = e.Values
			linalg.Scale(math.Exp(-mean.logDetOf(g.gaussian, all, w.Floor)/float64(d)), axes)
		}
	}
	g.structure.information(info, mean.logDet, axes)
	return append(dst, laplace.DirectSum{mean, info})
}
