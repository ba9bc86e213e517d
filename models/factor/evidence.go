package factor

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// The evidence of factor analysis (docs/theory/evidence.md, section 7). Where rows are complete, z integrates out in
// closed form, and Laplace's method takes the integral over mean, loadings and noise at the maximum of the likelihood,
// to which the steps of EM lead. They follow the likelihood, without a tilt. Where entries are missing it is the bound
// of q.

// CheckPrior returns an error unless Prior is nil or a valid prior.UnitInformation.
func (m Model) CheckPrior() error {
	_, err := prior.AsUnitInformation(m.Prior)
	return err
}

// MaximizePosterior is Maximize, because the prior enters only the integral about the maximum likelihood estimate. If
// a direction of z has no variance, its loadings become 0.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	q, err := m.Maximize(s, p, dst)
	if !errors.Is(err, framework.ErrDegenerate) {
		return q, err
	}
	t := m.NewStatistics(p)
	t.Merge(s)
	t.Fill(t.ZZ)
	t.Fill(t.PartZZ)
	return m.Maximize(t, p, dst)
}

// LogModes returns 0: the evidence already includes the volume of the rotations.
func (Model) LogModes(*Parameters) float64 { return 0 }

// integrate adds what the evidence differs by from E_q[ln p(X,Z|Π)] + H(q).
func (s *Statistics) integrate(p *Parameters, f *laplace.Curvature, unit prior.UnitInformation) error {
	if s.incomplete() {
		nats, err := s.bound(p, unit)
		f.About(nats, 0)
		return err
	}
	q := *p
	var gain float64
	gain, q.Loadings = s.Released(p.Loadings) // at the best of all changes of the scale of z
	nats, err := q.occam(s.N, unit)
	f.About(gain+nats, 0)
	return err
}

// signals are l_k, the eigenvalues of Ψ^−½WWᵀΨ^−½, descending, and their vectors u_k as columns, D×K.
func (p *Parameters) signals() (l []float64, u *mat.Dense, err error) {
	q, _, err := p.whitened()
	if err != nil || p.K == 0 {
		return nil, nil, err
	}
	var svd mat.SVD
	if p.K > p.D || !svd.Factorize(q.W(), mat.SVDThin) {
		return nil, nil, errEigen
	}
	l = svd.Values(nil)
	for k, v := range l {
		l[k] = v * v
	}
	u = &mat.Dense{}
	svd.UTo(u)
	return l, u, nil
}

// occam is by how much the evidence is above the highest log-likelihood, in nats, of n complete rows.
func (p *Parameters) occam(n float64, unit prior.UnitInformation) (float64, error) {
	switch {
	case len(p.Blocks) == p.D: // one column each: factor analysis
		q := *p
		q.Structure, q.Noise, q.Unit = Structure{}, p.diagonalOf(p.Noise, p.D), p.diagonalOf(p.Unit, p.D)
		p = &q
	case p.Blocks != nil:
		return p.blocked(n, unit)
	}
	l, u, err := p.signals()
	if err != nil {
		return 0, err
	}
	if p.Isotropic {
		noise := p.Noise[0]
		for k, v := range l {
			l[k] = noise * (1 + v)
		}
		return lineargaussian.Occam(n, unit.RowsOr(), mean(p.Unit), p.D, l, noise), nil
	}
	psi := p.Uniquenesses()
	d, worth := float64(p.D), unit.RowsOr()
	distance := 0.0
	for j, v := range psi {
		x := math.Log(v)
		distance += x * x / 4
		for k := range l {
			distance += l[k] * u.At(j, k) * u.At(j, k) * v / 2 // of the loadings' squares, in standard deviations of the columns
		}
	}
	// A prior of ν rows is one of a row of N/ν, but for the rotations, whose length it does not change.
	nats := float64(p.K*(p.K-1))/4*math.Log(worth) - worth*distance - d/2*(math.Log1p(n/worth)+math.Ln2)
	v, err := newInformation(n/worth, math.Sqrt(d/n), l, u, psi)
	if err != nil {
		return 0, err
	}
	return nats + laplace.LogVolume(p.K) + v.rotations - v.logDet/2, nil
}

// information is ln|N·I(W, ln Ψ) + P| of loadings and noise of n rows, in columns of variance 1: I is that of a
// covariance matrix, ½ tr(Σ⁻¹dΣ Σ⁻¹dΣ′), and P the precision of the prior, 1 of a loading and ½ of ln ψ.
//
// In noise units, with X = Ψ^−½dW, I is a sum over k of directions of x_k that are orthogonal to all u, each by itself,
// over k of that of x_k along u_k, and over pairs k, l of a form of rank one of x_k along u_l and x_l along u_k, whose
// other direction is a rotation, which the data do not tell. P is Ψ there, of which the mean of the first directions
// and the diagonal of the others are taken. What is left of ln Ψ is a Schur complement.
type information struct {
	logDet    float64
	rotations float64 // ½ ln|RᵀR| − (r/2) ln 2π of the r generators R of rotations

	n     float64
	d     int
	l     []float64
	along []float64      // uᵀΨu
	u     []mat.VecDense // columns
	left  []float64      // of ln Ψ, D×D
}

// newInformation is that of n units of the prior, and takes no l for less than least, √(D/N), the length at which
// loadings that are noise end: at 0 they would have no information, though the likelihood bounds them by its fourth
// order.
func newInformation(n, least float64, l []float64, u *mat.Dense, psi []float64) (*information, error) {
	k, d := len(l), len(psi)
	v := &information{
		n: n, d: d, l: make([]float64, k), along: make([]float64, k), u: make([]mat.VecDense, k), left: make([]float64, d*d),
	}
	rest := floats.Sum(psi)
	for i := range k {
		v.l[i] = max(l[i], least)
		v.u[i].CloneFromVec(u.ColView(i))
		for j, x := range v.u[i].RawVector().Data {
			v.along[i] += x * x * psi[j]
		}
		rest -= v.along[i]
	}
	v.across(rest / float64(max(1, d-k)))
	v.pairs()
	chol, ok := linalg.NewCholesky(d, v.left)
	if !ok {
		return nil, errEigen
	}
	v.logDet += chol.LogDet()
	for _, x := range psi {
		v.logDet -= float64(k) * math.Log(x)
	}
	return v, nil
}

// across adds directions orthogonal to all u, where the prior has the precision rest, and what ln Ψ has by itself.
func (v *information) across(rest float64) {
	d, k := v.d, len(v.l)
	inverse, spent, outer := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	for j := range d {
		inverse.Set(j, j, 1)
		outer.Set(j, j, 1)
	}
	for i, l := range v.l {
		x := &v.u[i]
		outer.RankOne(outer, -1, x, x)
		inverse.RankOne(inverse, -l/(1+l), x, x) // Σ⁻¹ in noise units
		with := v.n*l/(1+l) + rest
		v.logDet += float64(d-k) * math.Log(with)
		spent.RankOne(spent, v.n*v.n*l/((1+l)*(1+l))/with, x, x)
	}
	for a := range d {
		for b := range d {
			g := inverse.At(a, b)
			v.left[a*d+b] = v.n/2*g*g - spent.At(a, b)*outer.At(a, b)
		}
		v.left[a*d+a] += 0.5
	}
}

// pairs adds directions in the space of the u.
func (v *information) pairs() {
	d := v.d
	gram := make([]float64, d*d)
	for i, a := range v.l {
		rows := make([]float64, (i+1)*d)
		for j, b := range v.l[:i+1] {
			s := v.n / ((1 + a) * (1 + b))
			square, with := a*v.along[i]+b*v.along[j], 0.0
			var q float64
			if i == j {
				with = 2*s*a + v.along[i]
				q = s * s * a / with
			} else {
				with = v.along[i]*v.along[j] + s*square
				q = s * s * square / with
				v.rotations += (math.Log(square) - math.Log(2*math.Pi)) / 2
			}
			v.logDet += math.Log(with)
			row := rows[j*d : (j+1)*d]
			floats.MulTo(row, v.u[i].RawVector().Data, v.u[j].RawVector().Data)
			linalg.Scale(math.Sqrt(q), row)
		}
		m := linalg.General(i+1, d, rows)
		linalg.Mul(true, false, 1, m, m, 1, linalg.General(d, d, gram))
	}
	floats.Sub(v.left, gram)
}

// blocked is occam of noise with blocks: the bound of the best q, which has Σ E[zzᵀ] = NI at the maximum of the
// likelihood.
func (p *Parameters) blocked(n float64, unit prior.UnitInformation) (float64, error) {
	s := &Statistics{Statistics: lineargaussian.Statistics{N: n, K: p.K, D: p.D, ZZ: make([]float64, p.K*p.K)}}
	for k := range p.K {
		s.ZZ[k*(p.K+1)] = n
	}
	return s.bound(p, unit)
}

// A direction is one of a part's columns, or of a block's, in which the noise does not correlate, in units of the
// table's: what the rows' other columns tell of it is a regression on (1, z).
type direction struct {
	part  int
	noise float64
	theta []float64 // mean less the table's, and loadings
}

// directions are those of all parts, and the charge for the noise, in nats: ln of its eigenvalues relative to the
// table's has the prior of a full covariance of as many columns (docs/theory/evidence.md, section 3), which of a single
// column is N(0, 2).
func (s *Statistics) directions(p *Parameters, of prior.UnitInformation) (list []direction, nats float64, err error) {
	unit, counts, rows := p.Unit, s.counts(), of.RowsOr()
	if p.Isotropic {
		unit = []float64{mean(unit)}
		x := math.Log(p.Noise[0] / unit[0])
		counted := 0.0
		for j := range p.D {
			counted += counts[min(j, len(counts)-1)] / float64(p.D)
		}
		nats = rows*float64(p.D)*x*x/4 + math.Log1p(counted/rows)/2
	}
	at := 0
	for g, part := range p.parts(p.D) {
		m := len(part)
		root, vectors, values, err := relative(p.Noise[min(at, len(p.Noise)-1):], unit[min(at, len(unit)-1):], m)
		if err != nil || !(values[0] > 0) {
			return nil, 0, errDependent
		}
		at += m * m
		theta := mat.NewDense(m, s.K+1, nil)
		for i, j := range part {
			theta.SetRow(i, p.coefficients(nil, j))
		}
		if err := theta.Solve(root, theta); err != nil {
			return nil, 0, errDependent
		}
		theta.Mul(vectors.T(), mat.DenseCopyOf(theta))
		worth := rows
		if m > 1 {
			worth = of.CovarianceOr(m)
		}
		for i, v := range values {
			list = append(list, direction{g, v, theta.RawRowView(i)})
			if p.Isotropic {
				continue
			}
			x := math.Log(v)
			nats += worth / 4 * x * x
			for _, w := range values[:i] {
				nats += logSinhc((x - math.Log(w)) / 2)
			}
		}
		if !p.Isotropic {
			nats += float64(m*(m+1)) / 4 * math.Log1p(counts[min(g, len(counts)-1)]/worth)
		}
	}
	return list, nats, nil
}

// logSinhc is ln(sinh t/t).
func logSinhc(t float64) float64 {
	if t = math.Abs(t); t < 1e-3 {
		return t * t / 6
	}
	return t + math.Log(-math.Expm1(-2*t)/(2*t))
}

// bound is by how much the bound that q gives of the evidence is above E_q[ln p(X,Z|Π)] + H(q), in nats: means and
// loadings have the prior N(·, 1) in units of the table's covariance of their part, about that of the column and 0, and
// are integrated out, exactly given the noise. Of two scales of z, that of the likelihood and that of gFAB, it takes
// the better one.
func (s *Statistics) bound(p *Parameters, unit prior.UnitInformation) (float64, error) {
	list, charge, err := s.directions(p, unit)
	if err != nil {
		return 0, err
	}
	best := math.Inf(-1)
	for _, scale := range []float64{1, 1 - float64(p.D)/max(s.N, 2*float64(p.D))} {
		v, err := s.loadings(list, scale, unit.RowsOr())
		if err != nil {
			return 0, err
		}
		best = max(best, v)
	}
	l, _, err := p.signals()
	if err != nil {
		return 0, err
	}
	best += laplace.LogRotations(s.N, l)
	return best - charge, nil
}

// loadings is the part of bound that is means' and loadings', where q is that of √scale·z.
func (s *Statistics) loadings(list []direction, scale, worth float64) (float64, error) {
	nats := s.N * float64(s.K) * math.Log(scale) / 2
	for k := range s.K {
		nats -= (scale - 1) * s.ZZ[k*(s.K+1)] / 2
	}
	root := func(i int) float64 {
		if i == 0 {
			return 1
		}
		return math.Sqrt(scale)
	}
	for _, one := range list {
		a, theta := s.design(one.part), mat.NewDense(1, s.K+1, nil)
		for i := range s.K + 1 {
			for l := i; l <= s.K; l++ {
				a.SetSym(i, l, a.At(i, l)/(one.noise*worth)*root(i)*root(l))
			}
			theta.Set(0, i, one.theta[i]/root(i)*math.Sqrt(worth))
		}
		nats -= lineargaussian.Charge(a, theta)
	}
	if math.IsInf(nats, 0) {
		return 0, errEigen
	}
	return nats, nil
}
