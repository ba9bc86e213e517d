package lvmtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// few are some rivals, to look at statistics from several sides.
func (r *run[B, P, S]) few(at state[P, S]) []rival[P] {
	list := r.rivals(at)
	var some []rival[P]
	for i := 0; i < len(list); i += 1 + len(list)/4 {
		some = append(some, list[i])
	}
	return some
}

// equal compares two local steps at the same parameters.
func (r *run[B, P, S]) equal(at state[P, S], where string, s S, entropy float64) {
	others := r.few(at)
	r.compare(where, r.digest(at.where, at.s, at.entropy, at.p, others), r.digest(where, s, entropy, at.p, others))
}

func (r *run[B, P, S]) sums() {
	n := r.Data.Rows
	half, third := n/2, n/3
	if half%2 == 1 {
		half++
	}
	for _, at := range r.early() {
		for _, parts := range [][][]int{
			{upTo(n)[:half], upTo(n)[half:]},
			{upTo(n)[:2], upTo(n)[2 : 2+third], upTo(n)[2+third:]},
		} {
			var s S
			entropy := 0.0
			for i, rows := range parts {
				t, h := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: rows}))
				if entropy += h; i == 0 {
					s = t
				} else {
					s.Merge(t)
				}
			}
			r.equal(at, fmt.Sprintf("%s, in %d parts", at.where, len(parts)), s, entropy)
		}
	}
}

func (r *run[B, P, S]) order() {
	backwards := upTo(r.Data.Rows)
	slices.Reverse(backwards)
	for _, at := range r.early() {
		for i, order := range [][]int{backwards, r.rng(2).Perm(r.Data.Rows)} {
			s, h := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: order}))
			r.equal(at, at.where+[...]string{", backwards", ", in random order"}[i], s, h)
		}
	}
}

func (r *run[B, P, S]) blocks() {
	for _, at := range r.early() {
		for _, size := range []int{1, 2, 7} {
			s, h := r.step(at.where, at.p, nil, r.Data.all(size))
			r.equal(at, fmt.Sprintf("%s, in blocks of %d", at.where, size), s, h)
		}
	}
}

func (r *run[B, P, S]) weights() {
	rng := r.rng(3)
	w, total := make([]float64, r.Data.Rows), 0.0
	var repeated []int
	for i := range w {
		w[i] = float64(rng.IntN(4))
		total += w[i]
		for range int(w[i]) {
			repeated = append(repeated, i)
		}
	}
	for _, at := range r.early() {
		if got := at.s.Weight(); !r.near(float64(r.Data.Rows), got, 0) {
			r.errorf("%s: N is %v of %d rows", at.where, got, r.Data.Rows)
		}
		at.s, at.entropy = r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: repeated}))
		s, h := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
		if got := s.Weight(); !r.near(total, got, 0) {
			r.errorf("%s: N is %v of rows of total weight %v", at.where, got, total)
		}
		r.equal(at, at.where+", weighted rows", s, h)
	}
}

// scale compares statistics that are tempered with those of rows that weigh less, or more.
func (r *run[B, P, S]) scale() {
	for _, at := range r.early() {
		for _, factor := range []float64{0.5, 3} {
			s, _ := r.step(at.where, at.p, nil, r.Data.all(0))
			scaler, ok := any(s).(framework.Scaler)
			if !ok {
				r.skipf("%T is not framework.Scaler", s)
			}
			scaler.Scale(factor)
			weights := slices.Repeat([]float64{factor}, r.Data.Rows)
			at.s, _ = r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: upTo(len(weights)), weights: weights}))
			r.equal(at, fmt.Sprintf("%s, scaled by %v", at.where, factor), s, at.entropy) // which is no part of them
		}
	}
}

// extrapolation goes on along the line through the statistics of two steps, which have anchors of
// their own, and to where no rows have such statistics: there the global step may fail.
func (r *run[B, P, S]) extrapolation() {
	list := r.early()
	for i := 0; i < len(list); i += 2 {
		first, second := list[i], list[i+1]
		for _, beyond := range []float64{0.5, 4, 1e3, -1e3} {
			s := r.Model.NewStatistics(second.p)
			scaler, ok := any(s).(framework.Scaler)
			if !ok {
				r.skipf("%T is not framework.Scaler", s)
			}
			r.must(r.Model.Prepare(second.p, nil, s), "Prepare", second.where)
			s.Merge(second.s)
			scaler.Scale(-(1 + beyond) / beyond)
			s.Merge(first.s)
			scaler.Scale(-beyond)
			far := math.Abs(beyond) > 10
			for _, p := range []P{first.p, r.maximize(second.where, second.s, second.p)} {
				ratio := func(s S) float64 { return r.Model.LogJoint(s, p) - r.Model.LogJoint(s, second.p) }
				a, b, size := ratio(first.s), ratio(second.s), math.Abs(r.Model.LogJoint(second.s, second.p))
				want := b + beyond*(b-a)
				if got := ratio(s); !far && !r.near(want, got, (1+beyond)*size) {
					r.errorf("%s, %v times as far: the difference in E_q[ln p] is %v, and %.3g from the line through the two steps", second.where, 1+beyond, got, got-want)
				}
			}
			var none P
			if p, err := r.Model.Maximize(s, second.p, none); err == nil {
				r.Model.LogJoint(s, p)
				for _, f := range r.curvatures() {
					_, _ = f.of(s, p, nil)
				}
			}
		}
	}
}

// memory compares bits: what is computed is the same, and so must the answer be.
func (r *run[B, P, S]) memory() {
	src := r.Data.all(0)
	for _, at := range r.early() {
		want := r.bitsOf(at, at.s, at.entropy)
		r.usedStatistics(at, src, want)
		r.usedResults(at)
		r.projectedMemory(at, src)
		if r.bitsOf(at, at.s, at.entropy) != want {
			r.errorf("%s: a method changes the statistics that it is given", at.where)
		}
	}
}

// bitsOf is all that can be seen of statistics, as a text that only equal ones have.
func (r *run[B, P, S]) bitsOf(at state[P, S], s S, entropy float64) string {
	return fmt.Sprintf("%s %v", r.text("parameters", r.maximize(at.where, s, at.p)), r.digest(at.where, s, entropy, at.p, nil))
}

// usedStatistics makes a local step in the memory of another one.
func (r *run[B, P, S]) usedStatistics(at state[P, S], src *source[B], want string) {
	some := r.rng(4).Perm(r.Data.Rows)[:r.Data.Rows/2+1]
	used, _ := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: some}))
	if entropy := r.stepIn(at.where, at.p, nil, src, used); r.bitsOf(at, used, entropy) != want {
		r.errorf("%s: Prepare does not empty the statistics: a second local step in them gives another result", at.where)
	}
}

// usedResults makes a global step, and a curvature, in the memory of others.
func (r *run[B, P, S]) usedResults(at state[P, S]) {
	before := string(r.text("parameters", at.p))
	next, other := r.maximize(at.where, at.s, at.p), r.reweighted(at)
	otherNext := r.maximize(at.where, other, at.p)
	again, err := r.Model.Maximize(at.s, at.p, r.maximize(at.where, other, at.p))
	r.must(err, "Maximize", at.where)
	if string(r.text("parameters", again)) != string(r.text("parameters", next)) {
		r.errorf("%s: Maximize gives another result in the memory of dst", at.where)
	}
	if string(r.text("parameters", at.p)) != before {
		r.errorf("%s: Maximize changes p", at.where)
	}
	for _, f := range r.curvatures() {
		first, err := f.of(at.s, next, nil)
		r.must(err, f.name, at.where)
		want := fmt.Sprint(first.LogDet(), first.InverseTrace(first))
		dst, err := f.of(other, otherNext, nil)
		r.must(err, f.name, at.where)
		dst, err = f.of(at.s, next, dst)
		r.must(err, f.name, at.where)
		if got := fmt.Sprint(dst.LogDet(), dst.InverseTrace(dst)); got != want {
			r.errorf("%s: %s gives another result in the memory of dst: (ln|F|, tr(F⁻¹F)) is %s, not %s", at.where, f.name, got, want)
		}
	}
}

// projectedMemory overwrites a projection, which must not reach what was projected.
func (r *run[B, P, S]) projectedMemory(at state[P, S], src *source[B]) {
	m, ok := r.Model.(framework.Projector[P, S])
	if !ok || at.k == 1 {
		return
	}
	next := r.maximize(at.where, at.s, at.p)
	look := func() string { return string(r.text("parameters", next)) + r.bitsOf(at, at.s, at.entropy) }
	before := look()
	d, err := m.Relevance(at.s, next)
	r.must(err, "Relevance", at.where)
	s, p, err := m.Project(at.s, next, d.Without(d.Len()-1))
	r.must(err, "Project", at.where)
	q := r.maximize(at.where+", projected", s, p)
	t, _ := r.step(at.where+", projected", q, nil, src)
	_, err = r.Model.Maximize(t, q, p)
	r.must(err, "Maximize", at.where+", projected")
	s.Merge(t)
	if look() != before {
		r.errorf("%s: Project changes its arguments, or shares memory with them", at.where)
	}
}

// reweighted are statistics with other sums than the state's.
func (r *run[B, P, S]) reweighted(at state[P, S]) S {
	w := make([]float64, r.Data.Rows)
	rng := r.rng(5)
	for i := range w {
		w[i] = 0.5 + rng.Float64()
	}
	s, _ := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
	return s
}

// allocations counts those of an iteration: local step, global step, curvature, log joint.
func (r *run[B, P, S]) allocations() {
	if !r.NoAllocations {
		r.skipf("Case.NoAllocations is not set")
	}
	src := r.Data.all(max(2, r.Data.Rows/3))
	for _, k := range r.ks() {
		for _, f := range append(r.curvatures(), curvatureOf[P, S]{name: "nothing"}) {
			where := fmt.Sprintf("K = %d, tilted by %s", k, f.name)
			i := &iteration[B, P, S]{model: r.Model, blocks: src.blocks, f: f, p: r.init(k, src, 0)}
			i.s = r.Model.NewStatistics(i.p)
			for range 3 {
				i.step()
			}
			n := testing.AllocsPerRun(5, i.step)
			r.must(i.err, "a step", where)
			if n > 0 {
				r.errorf("%s: an iteration allocates %v times", where, n)
			}
		}
	}
}

// An iteration is one of the engine, in the memory of the last.
type iteration[B, P any, S framework.Statistics[S]] struct {
	model   framework.Model[B, P, S]
	blocks  []B
	f       curvatureOf[P, S]
	s       S
	p, next P
	tilt    laplace.Tilt
	err     error
}

func (i *iteration[B, P, S]) step() {
	if i.err != nil {
		return
	}
	var tilt *laplace.Tilt
	if i.tilt.F != nil {
		tilt = &i.tilt
	}
	if i.err = i.model.Prepare(i.p, tilt, i.s); i.err != nil {
		return
	}
	for _, b := range i.blocks {
		if _, i.err = i.model.Infer(b, i.p, i.s); i.err != nil {
			return
		}
	}
	if i.next, i.err = i.model.Maximize(i.s, i.p, i.next); i.err != nil {
		return
	}
	i.p, i.next = i.next, i.p
	if i.f.of != nil {
		if i.tilt.F, i.err = i.f.of(i.s, i.p, i.tilt.F); i.err != nil {
			return
		}
		i.tilt.N = i.s.Weight()
		_ = i.tilt.F.LogDet()
	}
	_ = i.model.LogJoint(i.s, i.p)
}
