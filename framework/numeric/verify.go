package numeric

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/densities"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/signatures"
)

// What a density implements besides its log density is compared with that, by package lvmtest: searches and numeric
// derivatives, of the log density alone, at weights and parameters drawn at random.

const (
	draws      = 4    // sets of weights and parameters
	looked     = 8    // rows at which gradients are looked at
	agreed     = 1e-4 // relative difference of derivatives
	sampleRows = 4000 // rows drawn from Sample
)

// A verifier collects what is wrong, once a method.
type verifier struct {
	m, bare *machine
	wrong   map[string]error
	rng     *rand.Rand
	at      int
	block   blocks.Rows
	pooled  *pooledTable
}

// Verify compares the methods of the density with LogProb on the rows of a block, of which the density has the columns
// from at on. methods are the optional interfaces that it has.
func (f factor) Verify(b blocks.Rows, at int, rng *rand.Rand) (methods []string, errs []error) {
	methods = signatures.Names(f.density, optionals...)
	bare := *f.compiled
	bare.differentiable, bare.estimator, bare.informer, bare.batcher = nil, nil, nil, nil
	bare.additive, bare.statistics = nil, 0
	v := &verifier{m: f.machine(), bare: bare.machine(), wrong: map[string]error{}, rng: rng, at: at, block: b}
	ones := make([]float64, b.N)
	linalg.Fill(ones, 1)
	all := v.rows(ones)
	pooled := &family.Pooled{
		N: all.N, Parameters: make([]float64, f.Layout().Params), Units: make([]float64, f.Layout().Units),
	}
	v.pooled = f.pooled(pooled)
	f.component.neutral(v.pooled.Component)
	f.shared.neutral(v.pooled.Shared)
	if v.pure(all, v.pooled.Component, v.pooled.Shared); v.wrong["LogProb"] != nil {
		return methods, v.all()
	}
	if err := (factor{&bare}).PoolRows(all, pooled); err != nil {
		return methods, []error{err}
	}
	for i := range draws {
		if err := v.draw(i, ones); err != nil {
			return methods, append(v.all(), err)
		}
	}
	if s, ok := f.density.(Sampler); ok {
		v.sampler(s)
	}
	return methods, v.all()
}

func (v *verifier) all() (errs []error) {
	for _, method := range []string{
		"LogProb", "Derive", "LogProbs", "Observe", "LogTotal", "Gradient", "Estimate", "Information", "Sample",
	} {
		if err := v.wrong[method]; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// fail notes the first thing that is wrong with a method.
func (v *verifier) fail(method, format string, args ...any) {
	if v.wrong[method] == nil {
		v.wrong[method] = fmt.Errorf("%s of %s %w", method, v.m.of, fmt.Errorf(format, args...))
	}
}

func (v *verifier) rows(weights []float64) Weighted {
	kept := &family.KeptRows{Blocks: []blocks.Rows{v.block}}
	for i, w := range weights {
		kept.Q = append(kept.Q, w*v.block.Weight(i))
	}
	return kept.Weighted(v.at, v.m.columns)
}

// draw compares at one set of weights: those of all rows, and then others, with other shared numbers.
func (v *verifier) draw(i int, ones []float64) (err error) {
	defer v.m.recover(&err)
	defer v.bare.recover(&err)
	weights, theta := slices.Clone(ones), slices.Clone(v.pooled.Shared)
	if i > 0 {
		for n := range weights {
			weights[n] = v.rng.Float64()
		}
		theta = v.moved(v.m.compiled.shared, theta)
	}
	w := v.rows(weights)
	xi := slices.Clone(v.pooled.Component)
	t := &task{machine: v.bare, rows: []Weighted{w}, params: family.Table{K: 1, Data: xi}, shared: theta, pooled: v.pooled}
	if !finite(v.bare.total(w, xi, theta)) || t.one(w) != nil || t.sound(xi) != nil {
		return nil // these weights have no maximum
	}
	elsewhere := v.moved(v.m.component, xi)
	v.pure(w, xi, theta)
	for _, at := range [][]float64{xi, elsewhere} {
		v.totals(w, at, theta)
		v.batches(w, at, theta)
		v.gradients(w, at, theta)
	}
	if v.m.estimator != nil {
		v.estimate(w, xi, xi, theta)
		v.estimate(w, v.pooled.Component, xi, theta)
		if finite(v.bare.total(w, elsewhere, theta)) {
			v.estimate(w, elsewhere, xi, theta)
		}
	}
	v.information(w, xi, theta)
	return nil
}

func finite(v float64) bool { return v-v == 0 }

// moved are numbers at a random step of about the distance over which a row curves by a nat.
func (v *verifier) moved(p *plan, from []float64) []float64 {
	widths := p.widths(from, &pooledTable{Root: v.pooled.Root}, 1)
	if p != v.m.component {
		widths = p.widths(from, &pooledTable{}, 1)
	}
	step, to := make([]float64, p.free), make([]float64, p.numbers)
	for j := range step {
		step[j] = 0.3 * v.rng.NormFloat64() * min(widths.guess[j], widths.most[j])
	}
	p.move(from, step, to)
	return to
}

// pure holds LogProb to leave what it is given as it is, and to depend on nothing else.
func (v *verifier) pure(w Weighted, xi, theta []float64) {
	before := slices.Concat(xi, theta)
	first, last := map[int]float64{}, -1
	w.Each(func(row int, x []float64, _ float64) bool {
		old := slices.Clone(x)
		first[row] = v.bare.logProb(x, row, 0, xi, theta)
		if !slices.Equal(old, x) || !slices.Equal(before, slices.Concat(xi, theta)) {
			v.fail("LogProb", "writes to the slices that it is given")
			copy(x, old)
		}
		last = row
		return true
	})
	w.Each(func(row int, x []float64, _ float64) bool {
		_ = v.bare.logProb(x, row, 0, v.pooled.Component, v.pooled.Shared)
		if got := v.bare.logProb(x, row, 0, xi, theta); got != first[row] && first[row] == first[row] {
			v.fail("LogProb", "is %v at row %d, and then %v at the same row and numbers: does it keep something of an "+
				"earlier call?", first[row], row+1, got)
		}
		return row != last
	})
}

// totals compares the sums of an [Additive] density.
func (v *verifier) totals(w Weighted, xi, theta []float64) {
	if v.m.additive == nil {
		return
	}
	sums, t := make([]float64, v.m.statistics), make([]float64, v.m.statistics)
	want, size := 0.0, 0.0
	check := func(rows Weighted, want, size float64, format string, args ...any) {
		v.m.enter("LogTotal", -1, 0)
		got := v.m.additive.LogTotal(rows, xi, theta)
		v.m.leave()
		if !(math.Abs(got-want) <= 1e-8*(1+size)) && finite(want) {
			v.fail("LogTotal", "is %v %s, and LogProb %v: correct LogTotal or Observe", got, fmt.Sprintf(format, args...), want)
		}
	}
	w.Each(func(row int, x []float64, q float64) bool {
		linalg.Fill(t, math.NaN())
		v.m.observe(x, row, t)
		if i := slices.IndexFunc(t, math.IsNaN); i >= 0 {
			v.fail("Observe", "leaves number %d of %d as it was, or adds to it, at the row %v: it must put all of them", i+1,
				len(t), x)
			return false
		}
		here := v.bare.logProb(x, row, 0, xi, theta)
		want, size = want+q*here, size+q*math.Abs(here)
		one := w
		one.N, one.Sums = 1, slices.Clone(t)
		check(one, here, math.Abs(here), "of row %d, %v, alone", row+1, x)
		linalg.Axpy(q, t, sums)
		return true
	})
	w.Sums = sums
	check(w, want, size, "of rows with weights, N = %.4g", w.N)
}

// batches compares the log densities of all rows at once.
func (v *verifier) batches(w Weighted, xi, theta []float64) {
	if v.m.batcher == nil {
		return
	}
	d := make([]float64, v.m.derived)
	var rows, want []float64
	w.Each(func(row int, x []float64, _ float64) bool {
		linalg.Fill(d, math.NaN())
		v.m.enter("Derive", row, -1)
		v.m.batcher.Derive(x, d)
		v.m.leave()
		if i := slices.IndexFunc(d, math.IsNaN); i >= 0 {
			v.fail("Derive", "leaves number %d of %d as it was, or adds to it, at the row %v: it must put all of them", i+1,
				len(d), x)
		}
		rows, want = v.m.derive(x, row, rows), append(want, v.bare.logProb(x, row, 0, xi, theta))
		return true
	})
	got := make([]float64, len(want))
	linalg.Fill(got, math.NaN())
	v.m.logProbs(rows, 0, xi, theta, got)
	for i, a := range want {
		if b := got[i]; a != b && !(math.Abs(a-b) <= 1e-9*(1+math.Abs(a))) {
			v.fail("LogProbs", "is %v for row %d of %d, %v, and LogProb %v at component %v, shared %v", b, i+1, len(want),
				rows[i*len(rows)/len(want):][:v.m.columns], a, xi, theta)
		}
	}
}

// gradients compares those of some rows, along the coordinates of the search.
func (v *verifier) gradients(w Weighted, xi, theta []float64) {
	if v.m.differentiable == nil {
		return
	}
	count := 0
	w.Each(func(row int, x []float64, _ float64) bool {
		dxi, dtheta := make([]float64, len(xi)), make([]float64, len(theta))
		linalg.Fill(dxi, math.NaN())
		linalg.Fill(dtheta, math.NaN())
		v.m.enter("Gradient", row, 0)
		v.m.differentiable.Gradient(x, xi, theta, dxi, dtheta)
		v.m.leave()
		for i, p := range []*plan{v.m.component, v.m.compiled.shared} {
			at, d, what := xi, dxi, "the component"
			if i == 1 {
				at, d, what = theta, dtheta, "the shared numbers"
			}
			j, got, want := v.slopes(p, at, d, func(to []float64) float64 {
				if i == 1 {
					return v.bare.logProb(x, row, 0, xi, to)
				}
				return v.bare.logProb(x, row, 0, to, theta)
			})
			if j >= 0 {
				v.fail("Gradient", "at row %d, %v, is %v by %s %v: along %s it has slope %v, and LogProb %v", row+1, x, d, what,
					at, p.nameOf(j), got, want)
			}
		}
		count++
		return count < looked
	})
}

// slopes returns the coordinate along which a gradient differs from the differences of f; −1 for none.
func (v *verifier) slopes(p *plan, at, gradient []float64, f func(to []float64) float64) (j int, got, want float64) {
	root := &pooledTable{}
	if p == v.m.component {
		root.Root = v.pooled.Root
	}
	widths := p.widths(at, root, 1)
	chained, step, to := make([]float64, p.free), make([]float64, p.free), make([]float64, p.numbers)
	unit := make([]float64, p.free)
	linalg.Fill(unit, 1)
	p.chain(at, step, gradient, chained, unit)
	value := func(t []float64) float64 {
		p.move(at, t, to)
		return f(to)
	}
	for j := range step {
		width := min(widths.guess[j], widths.most[j])
		near, far := difference(value, step, j, width), difference(value, step, j, 4*width)
		size := math.Abs(near) + 1/width
		if !(math.Abs(near-far) <= agreed/10*size) {
			continue // an edge of the range, or a kink
		}
		if !(math.Abs(chained[j]-near) <= agreed*size) {
			return j, chained[j], near
		}
	}
	return -1, 0, 0
}

// nameOf names a coordinate.
func (p *plan) nameOf(j int) string {
	for _, q := range p.list {
		if n := q.kind.free(); j < q.at+n {
			if n == 1 {
				return fmt.Sprintf("%q", q.Name)
			}
			return fmt.Sprintf("coordinate %d of %q", j-q.at+1, q.Name)
		}
	}
	return "no coordinate"
}

// riseOf is dv/dt of coordinate j, where each number has one of its own or none.
func (p *plan) riseOf(j int, v []float64) float64 {
	for _, q := range p.list {
		if j < q.at+q.kind.free() {
			return rise(q.kind, q.of(v)[j-q.at])
		}
	}
	return math.NaN()
}

// observed are rows with the sums of an additive density, and without rows.
func (v *verifier) observed(w Weighted) Weighted {
	if v.m.additive == nil {
		return w
	}
	o, t := Weighted{Class: w.Class, N: w.N, Sums: make([]float64, v.m.statistics)}, make([]float64, v.m.statistics)
	w.Each(func(row int, x []float64, q float64) bool {
		v.m.observe(x, row, t)
		linalg.Axpy(q, t, o.Sums)
		return true
	})
	return o
}

// estimate compares an estimate that starts somewhere with the maximum that a search found.
func (v *verifier) estimate(w Weighted, start, best, theta []float64) {
	xi, shared := slices.Clone(start), slices.Clone(theta)
	v.m.enter("Estimate", -1, 0)
	err := v.m.estimator.Estimate(v.observed(w), xi, shared)
	v.m.leave()
	if errors.Is(err, framework.ErrDegenerate) {
		return
	}
	if err == nil {
		err = v.m.component.check(xi)
	}
	if err != nil {
		v.fail("Estimate", "at N = %.4g: %w", w.N, err)
		return
	}
	if !slices.Equal(shared, theta) {
		v.fail("Estimate", "changes the shared numbers from %v to %v: it must leave them", theta, shared)
	}
	got, want := v.bare.total(w, xi, theta), v.bare.total(w, best, theta)
	if !(got >= want-1e-6-1e-9*math.Abs(want)) {
		v.fail("Estimate", "is not a maximum: Σ_n w_n LogProb is %v at its %v, and %.3g more at %v (N = %.4g, shared %v)",
			got, xi, want-got, best, w.N, theta)
	}
}

// information compares at an estimate, in the coordinates of the search.
func (v *verifier) information(w Weighted, xi, theta []float64) {
	if v.m.informer == nil || !v.m.component.inside(xi) {
		return
	}
	raw := mat.NewSymDense(v.m.component.free, nil)
	for i := range raw.SymmetricDim() {
		for j := range i + 1 {
			raw.SetSym(i, j, math.NaN())
		}
	}
	v.m.enter("Information", -1, 0)
	v.m.informer.Information(v.observed(w), xi, theta, raw)
	v.m.leave()
	n := v.m.component.free
	got, want := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	v.m.information(v.observed(w), xi, theta, v.pooled, true, got)
	v.bare.information(w, xi, theta, v.pooled, true, want)
	for i := range n {
		for j := range i + 1 {
			a, b := got.At(i, j), want.At(i, j)
			if size := math.Sqrt(math.Abs(want.At(i, i) * want.At(j, j))); !(math.Abs(a-b) <= agreed*size) && finite(b) {
				rises := v.m.component.riseOf(i, xi) * v.m.component.riseOf(j, xi)
				where := v.m.component.nameOf(i)
				if i != j {
					where += " and " + v.m.component.nameOf(j)
				}
				v.fail("Information", "is %v about %s at the estimate %v, and −Σ_n w_n ∇² LogProb there %v (N = %.4g, shared %v)",
					raw.At(i, j), where, xi, b*w.N/rises, w.N, theta)
				return
			}
		}
	}
}

// sampler holds rows that are drawn to have a score with mean 0.
func (v *verifier) sampler(s Sampler) {
	xi, theta := v.pooled.Component, v.pooled.Shared
	var err error
	defer func() {
		if err != nil {
			v.fail("Sample", "%w", err)
		}
	}()
	defer v.m.recover(&err)
	if !v.m.component.inside(xi) {
		return
	}
	p := v.m.component
	widths := p.widths(xi, v.pooled, 1)
	sum, square, step := make([]float64, p.free), make([]float64, p.free), make([]float64, p.free)
	x, to := make([]float64, v.m.columns), make([]float64, p.numbers)
	for i := range sampleRows {
		v.m.enter("Sample", -1, 0)
		s.Sample(xi, theta, v.rng, x)
		v.m.leave()
		if here := v.bare.logProb(x, i, 0, xi, theta); !finite(here) {
			v.fail("Sample", "draws the row %v from component %v, shared %v, and LogProb is %v there", x, xi, theta, here)
			return
		}
		for j := range step {
			d := difference(func(t []float64) float64 {
				p.move(xi, t, to)
				return v.bare.logProb(x, i, 0, to, theta)
			}, step, j, min(widths.guess[j], widths.most[j]))
			sum[j], square[j] = sum[j]+d, square[j]+d*d
		}
	}
	for j := range step {
		mean := sum[j] / sampleRows
		deviation := math.Sqrt((square[j]/sampleRows - mean*mean) / sampleRows)
		if math.Abs(mean) > 6*deviation+1e-9 {
			v.fail("Sample", "draws rows of another distribution than LogProb's: the mean of ∂LogProb by %s is %.3g ± %.2g "+
				"over %d rows at component %v, shared %v, and must be 0", p.nameOf(j), mean, deviation, sampleRows, xi, theta)
		}
	}
}

// A jointModel is Continuous, or embeds it.
type jointModel interface {
	verify(s *Posteriors, p *ContinuousParameters, rng *rand.Rand) (methods []string, errs []error)
}

func init() {
	densities.VerifierOf = func(model any) densities.Verify {
		m, ok := model.(jointModel)
		if !ok {
			return nil
		}
		return func(s, p any, rng *rand.Rand) ([]string, []error) {
			return m.verify(s.(*Posteriors), p.(*ContinuousParameters), rng)
		}
	}
}

// verify compares the methods of the density with LogJoint at a local step: the parameters p and the statistics of it.
// methods are the optional interfaces that it has.
func (m Continuous) verify(s *Posteriors, p *ContinuousParameters, rng *rand.Rand) (methods []string, errs []error) {
	c := m.must(p)
	methods = signatures.Names(m.Density, jointOptionals...)
	plain := *c
	plain.inferrer, plain.differentiable, plain.estimator, plain.informer = nil, nil, nil, nil
	own, bare := c.machine(), plain.machine()
	rule, err := own.rule(p.K)
	if err != nil {
		return methods, []error{err}
	}
	v := &jointVerifier{own: own, bare: bare, s: s, p: p, rule: rule, rng: rng}
	check := func(does bool, do func() error) {
		if !does {
			return
		}
		err := func() (err error) {
			defer own.recover(&err)
			defer bare.recover(&err)
			return do()
		}()
		if err != nil {
			errs = append(errs, err)
		}
	}
	check(c.inferrer != nil, v.posteriors)
	check(c.differentiable != nil, v.gradients)
	check(c.estimator != nil, func() error { return v.estimate(m) })
	check(c.informer != nil && !m.Axes, func() error { return v.information(m) })
	return methods, errs
}

type jointVerifier struct {
	own, bare *jointMachine
	s         *Posteriors
	p         *ContinuousParameters
	rule      *points
	rng       *rand.Rand
}

// some visits a few rows.
func (v *jointVerifier) some(visit func(b blocks.Rows, i int, q local) error) (err error) {
	every := max(1, len(v.s.Means)/v.s.K/looked)
	v.s.each(func(b blocks.Rows, i, n int) bool {
		if n%every == 0 && b.Weight(i) > 0 {
			err = visit(b, i, v.s.local(n, v.rule))
		}
		return err == nil
	})
	return err
}

// posteriors are compared with the mode and the curvature there, without and with a precision of the tilt.
func (v *jointVerifier) posteriors() error {
	k := v.p.K
	extra := mat.NewSymDense(k, nil)
	for i := range k {
		for j := range i {
			extra.SetSym(i, j, 0.2*v.rng.NormFloat64())
		}
		extra.SetSym(i, i, float64(k)+v.rng.Float64())
	}
	return v.some(func(b blocks.Rows, i int, _ local) error {
		for _, extra := range []*mat.SymDense{nil, extra} {
			got, err := v.own.posterior(b.Row(i), b.First+i, v.p, extra)
			if err != nil {
				return err
			}
			mean := make([]float64, k)
			root, err := v.bare.laplace(func(z []float64) float64 {
				return v.bare.logJoint(b.Row(i), z, b.First+i, v.p.Components, v.p.Shared) - quadratic(extra, z)
			}, mean, b.Row(i), b.First+i)
			if err != nil {
				return err
			}
			if scale := floats.Norm(root, 2); floats.Distance(got.mean, mean, 2) > agreed*scale ||
				floats.Distance(got.root, root, 2) > agreed*scale {
				return fmt.Errorf("Posterior of %s at row %d, extra precision %v: the mean is %v and the root of the "+
					"covariance %v, and of LogJoint − ½ zᵀ extra z they are %v and %v", v.own.of, b.First+i+1, extra != nil,
					got.mean, got.root, mean, root)
			}
		}
		return nil
	})
}

// gradients are compared along each number.
func (v *jointVerifier) gradients() error {
	xi, theta := v.p.Components, v.p.Shared
	return v.some(func(b blocks.Rows, i int, q local) error {
		z := make([]float64, v.p.K)
		v.rule.place(v.rng.IntN(len(v.rule.weight)), q, z)
		dxi, dtheta := make([]float64, len(xi)), make([]float64, len(theta))
		linalg.Fill(dxi, math.NaN())
		linalg.Fill(dtheta, math.NaN())
		v.own.enter("JointGradient", b.First+i, -1)
		v.own.differentiable.JointGradient(b.Row(i), z, xi, theta, dxi, dtheta)
		v.own.leave()
		at, gradient := slices.Concat(xi, theta), slices.Concat(dxi, dtheta)
		value := func(t []float64) float64 {
			return v.bare.logJoint(b.Row(i), z, b.First+i, t[:len(xi)], t[len(xi):])
		}
		for j, g := range gradient {
			width := max(math.Abs(at[j]), 1e-3)
			near, far := difference(value, at, j, width), difference(value, at, j, 4*width)
			if size := math.Abs(near) + 1/width; math.Abs(near-far) <= agreed/10*size && !(math.Abs(g-near) <= agreed*size) {
				what, number := "components", j+1
				if j >= len(xi) {
					what, number = "shared", j-len(xi)+1
				}
				return fmt.Errorf("JointGradient of %s at row %d, z = %v, is %v by number %d of %s, and the slope of LogJoint %v",
					v.own.of, b.First+i+1, z, g, number, what, near)
			}
		}
		return nil
	})
}

// climbed are parameters that the author's global step leads to, and where a search goes on to from there.
func (v *jointVerifier) climbed(m Continuous) (q *ContinuousParameters, gain float64, err error) {
	if q, err = m.Maximize(v.s, v.p, nil); err != nil {
		return nil, 0, err
	}
	t := &jointTask{jointMachine: v.bare, s: v.s, rule: v.rule, components: slices.Clone(q.Components),
		shared: slices.Clone(q.Shared), axes: m.Axes, pooled: q.Pooled}
	g := t.objective(true)
	zero := make([]float64, g.dim)
	before := g.value(zero)
	g.search(false)
	return q, g.value(zero) - before, nil
}

func (v *jointVerifier) estimate(m Continuous) error {
	q, gain, err := v.climbed(m)
	if err == nil && !(gain <= 1e-5) {
		err = fmt.Errorf("EstimateJoint of %s is not a maximum: a search from its components %v, shared %v gains %.3g nats",
			v.own.of, q.Components, q.Shared, gain)
	}
	return err
}

func (v *jointVerifier) information(m Continuous) error {
	q, _, err := v.climbed(m)
	if err != nil {
		return err
	}
	got, err := v.own.observe(v.s, v.rule, q.Components, q.Shared, false, q.Pooled, true)
	if err != nil {
		return err
	}
	want, err := v.bare.observe(v.s, v.rule, q.Components, q.Shared, false, q.Pooled, true)
	if err != nil {
		return err
	}
	for i := range v.own.component.free {
		for j := range i + 1 {
			a, b := got[0].At(i, j), want[0].At(i, j)
			if size := math.Sqrt(want[0].At(i, i) * want[0].At(j, j)); !(math.Abs(a-b) <= 10*agreed*size) {
				return fmt.Errorf("InformationJoint of %s is %v at (%d, %d), components %v, shared %v, and −∇² of LogJoint "+
					"there %v", v.own.of, a, i+1, j+1, q.Components, q.Shared, b)
			}
		}
	}
	return nil
}
