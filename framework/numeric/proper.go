package numeric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// The evidence of a density (docs/theory/evidence.md): ξ and Θ have normal priors about their values for the whole
// table, each in coordinates φ of the search about those, with the information of a row of the table.

// A unitPrior is that of ξ, or of Θ.
type unitPrior struct {
	plan *plan
	unit []float64     // the values for the table, where φ = 0
	root *mat.TriDense // R, upper triangular: RᵀR is the precision
}

// fewest is the number of rows up to which a component is at the mode of its prior: fewer say nothing beside it, and
// their second derivatives are lost in rounding.
const fewest = 1e-12

// newUnitPrior is that of so many rows of the table, which has the information I₀ a row, row-major.
func (p *plan) newUnitPrior(unit, information []float64, worth float64) (*unitPrior, error) {
	precision := mat.NewSymDense(max(1, p.free), nil)
	if p.free > 0 {
		precision = mat.NewSymDense(p.free, append([]float64(nil), information...))
	}
	if v, bad := notFinite(precision); bad || mat.Norm(precision, 1) == 0 && p.free > 0 {
		return nil, fmt.Errorf("numeric: the information that the table has about the parameters holds %v: "+
			"take a criterion other than the evidence, such as gFIC", v)
	}
	if p.free == 0 {
		return &unitPrior{plan: p}, nil
	}
	most := 0.0
	for i := range p.free {
		most = max(most, precision.At(i, i))
	}
	precision.ScaleSym(worth, precision)
	precision = informed(precision, worth*most)
	var chol mat.Cholesky
	if !chol.Factorize(precision) {
		return nil, fmt.Errorf("numeric: the information that the table has about the parameters is not positive " +
			"definite: take a criterion other than the evidence, such as gFIC")
	}
	u := &unitPrior{plan: p, unit: unit, root: new(mat.TriDense)}
	chol.UTo(u.root)
	return u, nil
}

// informed is a precision with at least 1e-9 of each number's own in every direction, and of the largest, most, where
// the table says nothing of a number: there the prior is wide.
func informed(precision *mat.SymDense, most float64) *mat.SymDense {
	const least = 1e-9
	n := precision.SymmetricDim()
	units := make([]float64, n)
	for i := range units {
		if v := precision.At(i, i); v > 0 {
			units[i] = math.Sqrt(v)
		} else {
			units[i] = math.Sqrt(least * most)
			precision.SetSym(i, i, least*most)
		}
	}
	scale := func(power float64) {
		for i := range n {
			for j := i; j < n; j++ {
				precision.SetSym(i, j, precision.At(i, j)*math.Pow(units[i]*units[j], power))
			}
		}
	}
	scale(-1)
	precision.CopySym(laplace.NewSpectral(precision).AtLeast(least))
	scale(1)
	return precision
}

// distance is ½ φᵀRᵀRφ at v; 0 of no prior.
func (u *unitPrior) distance(v []float64) float64 {
	if u == nil || u.plan.free == 0 {
		return 0
	}
	phi := make([]float64, u.plan.free)
	u.plan.coordinates(v, u.unit, phi)
	scaled := make([]float64, len(phi))
	mat.NewVecDense(len(phi), scaled).MulVec(u.root, mat.NewVecDense(len(phi), phi))
	return linalg.Dot(scaled, scaled) / 2
}

// slopes is R·dφ/dt at v, for steps t from there.
func (u *unitPrior) slopes(v []float64) *mat.Dense {
	n := u.plan.free
	j, step, at, phi := mat.NewDense(n, n, nil), make([]float64, n), make([]float64, u.plan.numbers), make([]float64, n)
	const h = 1e-5
	for c := range n {
		for _, side := range []float64{-1, 1} {
			step[c] = side * h
			u.plan.move(v, step, at)
			u.plan.coordinates(at, u.unit, phi)
			for r, x := range phi {
				j.Set(r, c, j.At(r, c)+side*x/(2*h))
			}
		}
		step[c] = 0
	}
	j.Mul(u.root, j)
	return j
}

// descend takes the gradient of distance at the step t from v off dst.
func (u *unitPrior) descend(v, t, widths, dst []float64) {
	if u == nil {
		return
	}
	x, at := append([]float64(nil), t...), make([]float64, u.plan.numbers)
	for j := range dst {
		dst[j] -= difference(func(x []float64) float64 {
			u.plan.move(v, x, at)
			return u.distance(at)
		}, x, j, min(1, widths[j]))
	}
}

// curve adds the curvature of distance in steps from v to dst, but for that of the coordinates.
func (u *unitPrior) curve(v []float64, dst *mat.SymDense, at int) {
	if u == nil || u.plan.free == 0 {
		return
	}
	j := u.slopes(v)
	var square mat.Dense
	square.Mul(j.T(), j)
	for r := range u.plan.free {
		for c := r; c < u.plan.free; c++ {
			dst.SetSym(at+r, at+c, dst.At(at+r, at+c)+square.At(r, c))
		}
	}
}

// term is the integral over numbers at v of which n rows in all have the information info, in steps from v.
func (u *unitPrior) term(v []float64, n, worth float64, info *mat.SymDense) (laplace.Term, error) {
	size := u.plan.free
	t := laplace.Term{Size: size, Count: n, Worth: worth, Distance: u.distance(v)}
	if !(n > fewest) {
		return t, nil
	}
	var inverse mat.Dense
	if err := inverse.Inverse(u.slopes(v)); err != nil && inverse.IsEmpty() {
		return t, fmt.Errorf("numeric: the coordinates of the parameters %v about %v are singular: %w", v, u.unit, err)
	}
	scaled := congruent(&inverse, info)
	if x, bad := notFinite(scaled); bad {
		return t, fmt.Errorf("numeric: the second derivatives at %v hold %v", v, x)
	}
	for _, ratio := range laplace.NewSpectral(scaled).Eigenvalues(nil) {
		t.Information += (math.Log1p(max(0, ratio)) - math.Log1p(n/worth)) / 2
	}
	return t, nil
}

// priors are those of ξ and Θ.
func (f factor) priors(of *family.Reference) (component, shared *unitPrior, err error) {
	w, worth := f.pooled(of.Pooled), of.Prior.RowsOr()
	reals, free := len(f.component.reals()), f.component.free
	rest := of.Pooled.Units[reals*reals:]
	if component, err = f.component.newUnitPrior(w.Component, rest[:free*free], worth); err != nil {
		return nil, nil, err
	}
	shared, err = f.compiled.shared.newUnitPrior(w.Shared, rest[free*free:], worth)
	return component, shared, err
}

// MaximizePosteriorRows searches as EstimateRows does, also where the density is an [Estimator].
func (f factor) MaximizePosteriorRows(rows []Weighted, params family.Table, of *family.Reference) error {
	component, shared, err := f.priors(of)
	if err != nil {
		return err
	}
	return f.estimateRows(rows, of.Pooled, params, component, shared)
}

// IntegralsRows returns the integrals of each component, and of the shared parameters.
func (f factor) IntegralsRows(
	rows []Weighted, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) (err error) {
	component, shared, err := f.priors(of)
	if err != nil {
		return err
	}
	m, w, worth := f.machine(), f.pooled(of.Pooled), of.Prior.RowsOr()
	defer m.recover(&err)
	numbers := f.component.numbers + f.compiled.shared.numbers
	if free := f.component.free; free > 0 {
		for k, own := range rows {
			xi, theta := f.split(params.Row(k, numbers))
			info := mat.NewSymDense(free, nil)
			if own.N > fewest {
				m.information(own, xi, theta, w, true, info)
				info.ScaleSym(own.N, info)
			}
			err := m.twiceDifferentiable(info, k, xi, theta)
			var t laplace.Term
			if err == nil {
				t, err = component.term(xi, own.N, worth, info)
			}
			if err != nil {
				return &framework.DegenerateError{Dimension: k, Reason: err}
			}
			add(k, 0, t)
		}
	}
	if f.compiled.shared.free == 0 {
		return nil
	}
	_, theta := f.split(params.Row(0, numbers))
	n := 0.0
	for _, own := range rows {
		n += own.N
	}
	t, err := shared.term(theta, n, worth, m.sharedCurvature(rows, params, theta))
	add(-1, 0, t)
	return err
}

// sharedCurvature is −∇²_t of the sum over all rows at theta.
func (m *machine) sharedCurvature(rows []Weighted, params family.Table, theta []float64) *mat.SymDense {
	return m.shared.curvature(theta, func(trial []float64) (sum float64) {
		for k, w := range rows {
			if w.N > 0 {
				sum += m.total(w, params.Row(k, m.component.numbers), trial)
			}
		}
		return sum
	})
}

// curvature is −∇² of value at v, in steps from there.
func (p *plan) curvature(v []float64, value func(v []float64) float64) *mat.SymDense {
	trial, dst := make([]float64, len(v)), mat.NewSymDense(p.free, nil)
	curvatureOf(dst, func(step []float64) float64 {
		p.move(v, step, trial)
		return value(trial)
	}, nil, 0, false)
	return dst
}

// unitInformation puts the information of a row of the table about ξ and about Θ into dst.
func (m *machine) unitInformation(rows Weighted, xi, theta []float64, pooled *pooledTable, dst []float64) {
	free, shared := m.component.free, m.shared.free
	if free > 0 {
		info := mat.NewSymDense(free, nil)
		m.information(rows, xi, theta, pooled, true, info)
		full(info, dst[:free*free])
	}
	if shared > 0 {
		info := m.sharedCurvature([]Weighted{rows}, family.Table{K: 1, Data: xi}, theta)
		info.ScaleSym(1/rows.N, info)
		full(info, dst[free*free:])
	}
}

func full(a *mat.SymDense, dst []float64) {
	n := a.SymmetricDim()
	for i := range n {
		for j := range n {
			dst[i*n+j] = a.At(i, j)
		}
	}
}

// ---- Coordinates about the table's values

// coordinates puts φ of v about unit into dst: there φ = 0, and steps of the search from unit are φ to first order.
func (p *plan) coordinates(v, unit, dst []float64) {
	for _, q := range p.list {
		q.kind.about(q.of(v), q.of(unit), q.step(dst))
	}
}

func (realKind) about(v, unit, dst []float64) {
	for i, x := range v {
		dst[i] = x - unit[i]
	}
}

func (positiveKind) about(v, unit, dst []float64) {
	for i, x := range v {
		dst[i] = math.Log(x / unit[i])
	}
}

func (rateKind) about(v, unit, dst []float64) {
	for i, x := range v {
		dst[i] = 2 * (math.Sqrt(x) - math.Sqrt(unit[i]))
	}
}

func (k intervalKind) about(v, unit, dst []float64) {
	angle := func(x float64) float64 { return 2 * math.Atan2(math.Sqrt(k.share(x)), math.Sqrt(1-k.share(x))) }
	for i, x := range v {
		dst[i] = angle(x) - angle(unit[i])
	}
}

func (orderedKind) about(v, unit, dst []float64) {
	dst[0] = v[0] - unit[0]
	for i := 1; i < len(v); i++ {
		dst[i] = math.Log((v[i] - v[i-1]) / (unit[i] - unit[i-1]))
	}
}

func (discreteKind) about(_, _, _ []float64) {}

// about is the inverse of move from unit: the direction of the great circle to v, as long as that, reflected back.
func (n simplexKind) about(v, unit, dst []float64) {
	last, cos, chord := int(n)-1, 0.0, 0.0
	for i, x := range v {
		a, b := math.Sqrt(x), math.Sqrt(unit[i])
		cos += a * b
		chord = math.Hypot(chord, a-b)
	}
	angle := 2 * math.Asin(min(1, chord/2))
	length := 2.0
	if sin := math.Sin(angle); sin > 0 {
		length = 2 * angle / sin
	}
	tangent := func(i int) float64 { return length * (math.Sqrt(v[i]) - cos*math.Sqrt(unit[i])) }
	along := -tangent(last)
	for i := range last {
		dst[i] = tangent(i) + along*math.Sqrt(unit[i])/(1+math.Sqrt(unit[last]))
	}
}

// about is the logarithm of L⁻¹VL⁻ᵀ with unit = LLᵀ, halved on the diagonal: a linear map of the matrix logarithm in
// any other root, so that quadratic forms in it do not depend on the basis.
func (n spdKind) about(v, unit, dst []float64) {
	d := int(n)
	l, ok := n.factor(unit)
	var half, whole mat.Dense
	if !ok || half.Solve(l, mat.NewDense(d, d, v)) != nil || whole.Solve(l, half.T()) != nil {
		linalg.Fill(dst, math.NaN())
		return
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(linalg.SymmetricPart(&whole), true) {
		linalg.Fill(dst, math.NaN())
		return
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values, at := eigen.Values(nil), 0
	for i := range d {
		for j := range i + 1 {
			sum := 0.0
			for e, x := range values {
				sum += math.Log(max(x, math.SmallestNonzeroFloat64)) * vectors.At(i, e) * vectors.At(j, e)
			}
			if i == j {
				sum /= 2
			}
			dst[at] = sum
			at++
		}
	}
}

var _ family.ProperRows = factor{}
