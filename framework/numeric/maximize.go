package numeric

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// A task is the global step of a mixture: to maximise Σ_k Σ_n w_nk ln p(x_n|ξ_k, Θ). Where components share nothing it
// is one search a component; where they share Θ, one search for all.
type task struct {
	*machine
	rows   []Weighted   // of the components that have some
	params family.Table // the numbers of all components, moved in place
	shared []float64    // Θ, moved in place
	pooled *pooledTable // for the widths of coordinates; nil if not known yet

	prior, sharedPrior *unitPrior // of ξ and Θ; nil for the likelihood alone
}

// objective is what is maximised over the rows of one component: the prior of ξ with it, and not that of Θ.
func (t *task) objective(w Weighted, xi, theta []float64) float64 {
	return t.total(w, xi, theta) - t.prior.distance(xi)
}

// of are the numbers of component k.
func (t *task) of(k int) []float64 { return t.params.Row(k, t.component.numbers) }

// do moves components and shared to the maximum.
func (t *task) do() error {
	switch {
	case t.shared == nil || t.machine.compiled.shared.free == 0:
		err := t.each(len(t.rows), func(m *machine, i int) error {
			own := *t
			own.machine = m
			return own.one(t.rows[i])
		})
		if err != nil {
			return err
		}
	case t.estimator != nil && t.prior == nil:
		if err := t.profile(); err != nil {
			return err
		}
	default:
		for _, w := range t.rows {
			if err := t.choose(w); err != nil {
				return err
			}
		}
		if err := t.search(t.everything(), slices.ContainsFunc(t.rows, t.starts)); err != nil {
			return err
		}
	}
	return t.check()
}

// check holds the estimates to their ranges, which only an author's Estimate can leave, and to the range of
// floating-point numbers, which they leave where the maximum does not exist.
func (t *task) check() error {
	for _, w := range t.rows {
		if err := t.sound(t.of(w.Class)); err != nil {
			return &framework.DegenerateError{Dimension: w.Class, Reason: fmt.Errorf("numeric: there is no maximum: %w", err)}
		}
	}
	if err := t.machine.compiled.shared.check(t.shared); err != nil {
		return fmt.Errorf("numeric: there is no maximum: shared %w; %w", err, framework.ErrDegenerate)
	}
	return nil
}

// one maximises over a single component.
func (t *task) one(w Weighted) error {
	if t.estimator != nil && t.prior == nil && t.component.numbers > 0 {
		return t.estimate(w)
	}
	if err := t.choose(w); err != nil || t.component.free == 0 {
		return err
	}
	starts := t.starts(w)
	err := t.search(t.alone(w), starts)
	if xi := t.of(w.Class); err == nil && starts && t.pooled != nil && t.sound(xi) != nil {
		// Around copies of one row there need be no maximum; on the way there is a start.
		copy(xi, t.pooled.Component)
		g := t.alone(w)
		step, _, _ := g.climb()
		g.move(step)
	}
	return err
}

// choose takes over the discrete numbers of the author's estimate, or all of it, where the objective is higher there.
func (t *task) choose(w Weighted) error {
	if t.estimator == nil || !t.component.discrete() {
		return nil
	}
	xi := t.of(w.Class)
	before := append([]float64(nil), xi...)
	if err := t.estimate(w); err != nil {
		return err
	}
	estimate := append([]float64(nil), xi...)
	mixed := append([]float64(nil), before...)
	for _, q := range t.component.list {
		if q.kind.free() == 0 {
			copy(q.of(mixed), q.of(estimate))
		}
	}
	best := before
	for _, v := range [][]float64{mixed, estimate} {
		if t.objective(w, v, t.shared) > t.objective(w, best, t.shared) {
			best = v
		}
	}
	copy(xi, best)
	return nil
}

// sound is an error where numbers of a component leave their ranges, or diverge from those of the whole table.
func (t *task) sound(xi []float64) error {
	err := t.component.check(xi)
	if err == nil && t.pooled != nil {
		err = t.component.bounded(xi, t.pooled.Component)
	}
	return err
}

// starts says that a component has the pooled estimate: it has not been searched for before.
func (t *task) starts(w Weighted) bool {
	return t.pooled == nil || slices.Equal(t.of(w.Class), t.pooled.Component)
}

// estimate asks the author for the maximum and checks what comes back.
func (t *task) estimate(w Weighted) error {
	k, xi := w.Class, t.of(w.Class)
	t.enter("Estimate", -1, k)
	err := t.estimator.Estimate(w, xi, t.shared)
	t.leave()
	if errors.Is(err, framework.ErrDegenerate) {
		return &framework.DegenerateError{Dimension: k, Reason: err}
	}
	if err != nil {
		return fmt.Errorf("component %d: %w", k+1, err)
	}
	if err := t.component.check(xi); err != nil {
		t.enter("Estimate", -1, k)
		return t.violated("%w", err)
	}
	return nil
}

// An objective is a function to maximise, with the map from its coordinates back to the parameters' numbers.
type objective struct {
	hill
	move          func(t []float64)
	boundarySteps func(near float64) [][]float64
	snap          func(near float64)
	n             float64 // rows
}

// rounds bounds the number of successive searches.
const rounds = 100

// search moves to the maximum of the objective, which may be far away.
func (t *task) search(g objective, far bool) error {
	zero := make([]float64, g.dim)
	if v := g.value(zero); math.IsNaN(v) || math.IsInf(v, 0) {
		t.enter(t.sumMethod(), -1, -1)
		return t.violated(
			"the search begins where the sum over the rows is %v: implement Guess to begin where every row has a density", v,
		)
	}
	g.search(far)
	return nil
}

// search climbs until that gains nothing. A start that may be far away takes more than one search, each in the
// coordinates of where the last one ended.
func (g *objective) search(far bool) {
	for range rounds {
		g.leaveBoundary()
		enough := max(1e-8, 1e-13*math.Abs(g.value(make([]float64, g.dim))))
		step, gain, level := g.climb()
		if gain > 0 {
			g.move(step)
		}
		if gain <= enough || level && !far {
			break
		}
	}
	g.snap(1e-5 / math.Sqrt(g.n))
}

// leaveBoundary moves away from a boundary where that is a gain. The coordinates are mirrored there: the gradient
// vanishes, and a search by itself would stay.
func (g *objective) leaveBoundary() {
	width := 1 / math.Sqrt(g.n)
	for _, step := range g.boundarySteps(width) {
		here := g.value(make([]float64, g.dim))
		for _, length := range [...]float64{1, 0.1, 0.01, 0.001} {
			far := append([]float64(nil), step...)
			linalg.Scale(length*width, far)
			if g.value(far) > here {
				g.move(far)
				break
			}
		}
	}
}

// alone is the search for one component.
func (t *task) alone(w Weighted) objective {
	xi := t.of(w.Class)
	value := func(step []float64) float64 {
		t.component.move(xi, step, t.xi)
		return t.objective(w, t.xi, t.shared)
	}
	g := objective{hill: hill{
		dim:       t.component.free,
		most:      t.component.reach(),
		value:     value,
		curvature: func(dst *mat.SymDense) { t.curve(w, dst) },
	}, n: w.N}
	if t.prior != nil {
		g.n++
	}
	g.boundarySteps = func(near float64) [][]float64 { return t.component.boundarySteps(xi, near, 0, t.component.free) }
	g.snap = func(near float64) {
		t.snap(t.component, xi, near, func() float64 { return t.objective(w, xi, t.shared) })
	}
	if t.differentiable != nil && t.additive == nil {
		dxi, dtheta := make([]float64, len(xi)), make([]float64, len(t.shared))
		g.gradient = func(dst, step, widths []float64) {
			clear(dxi)
			clear(dtheta)
			t.component.move(xi, step, t.xi)
			t.gradient(w, t.xi, t.shared, dxi, dtheta)
			t.component.chain(xi, step, dxi, dst, widths)
			t.prior.descend(xi, step, widths, dst)
		}
	}
	g.move = func(step []float64) { t.land(t.component, xi, step) }
	return g
}

// snap puts numbers onto boundaries that they are at but for rounding, where that costs nothing: the second derivatives
// there are those of the mirrored function, and not to be seen from nearby.
func (t *task) snap(p *plan, v []float64, near float64, value func() float64) {
	before := append([]float64(nil), v...)
	if !p.snap(v, near) {
		return
	}
	after := value()
	copy(v, before)
	if was := value(); after >= was-1e-13*max(1, math.Abs(was)) {
		p.snap(v, near)
	}
}

// land moves values to where a step leads.
func (t *task) land(p *plan, v, step []float64) {
	t.move = resized(t.move, len(v))
	p.move(v, step, t.move)
	copy(v, t.move)
}

// curve is −∇² of a component at present, in the coordinates of the search.
func (t *task) curve(w Weighted, dst *mat.SymDense) {
	t.information(w, t.of(w.Class), t.shared, t.pooled, false, dst)
	dst.ScaleSym(w.N, dst)
	t.prior.curve(t.of(w.Class), dst, 0)
}

// information puts the observed information of a row, the average over the rows of a component, into dst: −∇²_t at
// ξ, in the coordinates of the search; fine where it is to be judged, and not only to guide a search.
func (m *machine) information(w Weighted, xi, theta []float64, pooled *pooledTable, fine bool, dst *mat.SymDense) {
	if m.informer != nil && m.component.inside(xi) {
		m.enter("Information", -1, w.Class)
		m.informer.Information(w, xi, theta, dst)
		m.leave()
		rises := make([]float64, 0, m.component.free)
		for _, q := range m.component.list {
			for _, v := range q.of(xi)[:q.kind.free()] {
				rises = append(rises, rise(q.kind, v))
			}
		}
		for i, a := range rises {
			for j := i; j < len(rises); j++ {
				dst.SetSym(i, j, dst.At(i, j)*a*rises[j]/w.N)
			}
		}
		return
	}
	trial := make([]float64, len(xi))
	curvatureOf(dst, func(step []float64) float64 {
		m.component.move(xi, step, trial)
		return m.total(w, trial, theta)
	}, m.component.widths(xi, pooled, w.N), w.N, fine)
	dst.ScaleSym(1/w.N, dst)
}

// inside reports whether no number is on the boundary of its range, where a maximum need not be stationary.
func (p *plan) inside(v []float64) bool {
	for _, q := range p.list {
		for _, x := range q.of(v) {
			if rise(q.kind, x) == 0 {
				return false
			}
		}
	}
	return true
}

// widths are distances over which a component of n rows curves by about a nat: coordinates have about unit
// information a row, except that of Real numbers is the whole table's. most bounds them near boundaries, where the
// coordinates are mirrored; a number on its boundary is in the middle of its mirror.
func (p *plan) widths(v []float64, w *pooledTable, n float64) *widths {
	if w == nil {
		return nil
	}
	list := &widths{make([]float64, p.free), make([]float64, p.free)}
	linalg.Fill(list.guess, 1/math.Sqrt(n))
	for _, q := range p.list {
		for i := range q.kind.free() {
			list.most[q.at+i] = math.Inf(1)
			if d := q.kind.distance(q.of(v), i); d > nearBoundary {
				list.most[q.at+i] = d / 2
			}
		}
	}
	root := w.root()
	for j, at := range p.reals() {
		info := 0.0
		for i := range j + 1 {
			info += root.At(i, j) * root.At(i, j)
		}
		list.guess[at] /= math.Sqrt(info)
	}
	return list
}

// everything is the search for all components and what they share. A coordinate of one component costs
// only the rows of that component.
func (t *task) everything() objective {
	c, s := t.component.free, t.machine.compiled.shared.free
	shared := t.machine.compiled.shared
	dim := len(t.rows)*c + s
	part := func(step []float64, i int) float64 {
		t.component.move(t.of(t.rows[i].Class), step[i*c:(i+1)*c], t.xi)
		return t.objective(t.rows[i], t.xi, t.theta)
	}
	value := func(step []float64) float64 {
		shared.move(t.shared, step[dim-s:], t.theta)
		sum := -t.sharedPrior.distance(t.theta)
		for i := range t.rows {
			sum += part(step, i)
		}
		return sum
	}
	g := objective{hill: hill{dim: dim, value: value}}
	for _, w := range t.rows {
		g.n += w.N
		g.most = append(g.most, t.component.reach()...)
	}
	g.most = append(g.most, shared.reach()...)
	g.boundarySteps = func(near float64) (list [][]float64) {
		for i, w := range t.rows {
			list = append(list, t.component.boundarySteps(t.of(w.Class), near, i*c, dim)...)
		}
		return append(list, shared.boundarySteps(t.shared, near, dim-s, dim)...)
	}
	g.snap = func(near float64) {
		for _, w := range t.rows {
			t.snap(t.component, t.of(w.Class), near, func() float64 { return t.objective(w, t.of(w.Class), t.shared) })
		}
		t.snap(shared, t.shared, near, func() float64 { return value(make([]float64, dim)) })
	}
	g.curvature = func(dst *mat.SymDense) {
		dst.Zero()
		if c > 0 {
			block := mat.NewSymDense(c, nil)
			for i, w := range t.rows {
				t.curve(w, block)
				place(dst, block, i*c)
			}
		}
		block := mat.NewSymDense(s, nil)
		step := make([]float64, dim)
		curvatureOf(block, func(u []float64) float64 {
			copy(step[dim-s:], u)
			return value(step)
		}, nil, 0, false)
		place(dst, block, dim-s)
	}
	g.gradient = func(dst, step, widths []float64) {
		x := append([]float64(nil), step...)
		shared.move(t.shared, x[dim-s:], t.theta)
		for i := range t.rows {
			for j := i * c; j < (i+1)*c; j++ {
				dst[j] = difference(func(x []float64) float64 { return part(x, i) }, x, j, widths[j])
			}
		}
		for j := dim - s; j < dim; j++ {
			dst[j] = difference(value, x, j, widths[j])
		}
	}
	if t.differentiable != nil && t.additive == nil {
		dxi, dtheta := make([]float64, t.component.numbers), make([]float64, len(t.shared))
		g.gradient = func(dst, step, widths []float64) {
			clear(dtheta)
			shared.move(t.shared, step[dim-s:], t.theta)
			for i, w := range t.rows {
				clear(dxi)
				own, xi := step[i*c:(i+1)*c], t.of(w.Class)
				t.component.move(xi, own, t.xi)
				t.gradient(w, t.xi, t.theta, dxi, dtheta)
				t.component.chain(xi, own, dxi, dst[i*c:(i+1)*c], widths[i*c:])
				t.prior.descend(xi, own, widths[i*c:], dst[i*c:(i+1)*c])
			}
			shared.chain(t.shared, step[dim-s:], dtheta, dst[dim-s:], widths[dim-s:])
			t.sharedPrior.descend(t.shared, step[dim-s:], widths[dim-s:], dst[dim-s:])
		}
	}
	g.move = func(step []float64) {
		for i, w := range t.rows {
			t.land(t.component, t.of(w.Class), step[i*c:(i+1)*c])
		}
		t.land(shared, t.shared, step[dim-s:])
	}
	return g
}

func place(dst, block *mat.SymDense, at int) {
	for i := range block.SymmetricDim() {
		for j := i; j < block.SymmetricDim(); j++ {
			dst.SetSym(at+i, at+j, block.At(i, j))
		}
	}
}

// profile maximises over the shared numbers alone, with every component at its own estimate given them.
func (t *task) profile() error {
	shared := t.machine.compiled.shared
	given := append([]float64(nil), t.shared...)
	var failed error
	value := func(step []float64) float64 {
		shared.move(given, step, t.shared)
		sum := 0.0
		for _, w := range t.rows {
			if t.component.numbers > 0 {
				if err := t.estimate(w); err != nil {
					failed = err
					return math.NaN()
				}
			}
			sum += t.total(w, t.of(w.Class), t.shared)
		}
		return sum
	}
	g := objective{hill: hill{dim: shared.free, most: shared.reach(), value: value}}
	for _, w := range t.rows {
		g.n += w.N
	}
	g.boundarySteps = func(near float64) [][]float64 { return shared.boundarySteps(given, near, 0, shared.free) }
	g.snap = func(near float64) {
		t.snap(shared, given, near, func() float64 { return value(make([]float64, g.dim)) })
	}
	g.curvature = func(dst *mat.SymDense) { curvatureOf(dst, value, nil, 0, false) }
	g.move = func(step []float64) { t.land(shared, given, step) }
	if err := t.search(g, t.pooled == nil); err != nil {
		return firstOf(failed, err)
	}
	if failed = nil; math.IsNaN(value(make([]float64, shared.free))) {
		return failed
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// chain turns the gradient by the numbers at the step t from v into that by the step's coordinates.
func (p *plan) chain(v, t, gradient, dst, widths []float64) {
	x := append([]float64(nil), t...)
	above, below := make([]float64, p.numbers), make([]float64, p.numbers)
	for j := range dst {
		old, step := x[j], math.Exp2(math.Round(math.Log2(stride*min(1, widths[j]))))
		x[j] = old + step
		p.move(v, x, above)
		x[j] = old - step
		p.move(v, x, below)
		x[j] = old
		dst[j] = 0
		for i, g := range gradient {
			if d := above[i] - below[i]; d != 0 {
				dst[j] += g * d / (2 * step)
			}
		}
	}
}
