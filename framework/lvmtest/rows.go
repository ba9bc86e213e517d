package lvmtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// someRivals are a few of the rivals, to compare statistics at.
func (r *run[B, P, S]) someRivals(at state[P, S]) []rival[P] {
	list := r.rivals(at)
	var some []rival[P]
	for i := 0; i < len(list); i += 1 + len(list)/4 {
		some = append(some, list[i])
	}
	return some
}

// equal compares two local steps at the same parameters.
func (r *run[B, P, S]) equal(at, t state[P, S]) {
	others := r.someRivals(at)
	r.compare(t.where, r.digest(at.where, at.s, at.entropy, at.p, others), r.digest(t.where, t.s, t.entropy, at.p, others))
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
			where := fmt.Sprintf("%s, in %d parts", at.where, len(parts))
			var total state[P, S]
			for i, rows := range parts {
				part := r.other(at, where, r.Data.arranged(arrangement{order: rows, first: rows[0]}))
				if i == 0 {
					total = part
					continue
				}
				total.s.Merge(part.s)
				total.entropy += part.entropy
			}
			r.equal(at, total)
		}
	}
}

func (r *run[B, P, S]) order() {
	backwards := upTo(r.Data.Rows)
	slices.Reverse(backwards)
	for _, at := range r.early() {
		for i, order := range [][]int{backwards, r.rng(2).Perm(r.Data.Rows)} {
			where := at.where + [...]string{", backwards", ", in random order"}[i]
			r.equal(at, r.other(at, where, r.listed(order)))
		}
	}
}

// listed gives rows in some order, some of them several times. A q that is kept knows them by where
// they stand in the table.
func (r *run[B, P, S]) listed(order []int) *source[B] {
	if r.coupled() != nil {
		return r.Data.singles(order)
	}
	return r.Data.arranged(arrangement{order: order})
}

func (r *run[B, P, S]) blocks() {
	for _, at := range r.early() {
		for _, size := range []int{1, 2, 7} {
			where := fmt.Sprintf("%s, in blocks of %d", at.where, size)
			r.equal(at, r.other(at, where, r.Data.all(size)))
			if r.coupled() != nil && !r.inOrder() {
				r.equal(r.step(at.where, at.p, at.q, nil, r.Data.all(0)),
					r.step(where+", updated", at.p, at.q, nil, r.Data.all(size)))
			}
		}
	}
}

func (r *run[B, P, S]) weights() {
	if r.Unweighted {
		r.skipf("Case.Unweighted is set: rows have no weights")
	}
	rng := r.rng(3)
	w, all, total := make([]float64, r.Data.Rows), 0.0, 0.0
	var repeated []int
	for i := range w {
		w[i] = float64(rng.IntN(4))
		all, total = all+r.Data.observations(i), total+w[i]*r.Data.observations(i)
		for range int(w[i]) {
			repeated = append(repeated, i)
		}
	}
	for _, at := range r.early() {
		if got := at.s.Observations(); !r.near(all, got, 0) {
			r.errorf("%s: N is %v for %d rows with %v observations (see Data.Observations)", at.where, got, r.Data.Rows, all)
		}
		want := r.other(at, at.where, r.listed(repeated))
		t := r.other(at, at.where+", weighted rows", r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
		if got := t.s.Observations(); !r.near(total, got, 0) {
			r.errorf("%s: N is %v for rows with a total weight of %v observations", at.where, got, total)
		}
		r.equal(want, t)
	}
}

// scale compares statistics that are tempered with those of rows that weigh less, or more.
func (r *run[B, P, S]) scale() {
	for _, at := range r.early() {
		for _, factor := range []float64{0.5, 3} {
			t := r.other(at, fmt.Sprintf("%s, scaled by %v", at.where, factor), r.Data.all(0))
			scaler, ok := any(t.s).(optional.Scaler)
			if !ok {
				r.skipf("%T is not optional.Scaler", t.s)
			}
			scaler.Scale(factor)
			weights := slices.Repeat([]float64{factor}, r.Data.Rows)
			want := r.other(at, at.where, r.Data.arranged(arrangement{order: upTo(len(weights)), weights: weights}))
			t.entropy = want.entropy // which is no part of the statistics
			r.equal(want, t)
		}
	}
}

// extrapolation follows the line through the statistics of two steps, which have anchors of their
// own, to statistics that no rows have: there the global step may fail.
func (r *run[B, P, S]) extrapolation() {
	r.uncoupled("its q cannot be extrapolated")
	r.ascends()
	list := r.early()
	for i := 0; i < len(list); i += 2 {
		first, second := list[i], list[i+1]
		for _, beyond := range []float64{0.5, 4, 1e3, -1e3} {
			s := r.newStatistics(second.where, second.p)
			scaler, ok := any(s).(optional.Scaler)
			if !ok {
				r.skipf("%T is not optional.Scaler", s)
			}
			r.must(r.Model.Prepare(second.p, nil, s), "Prepare", second.where)
			s.Merge(second.s)
			scaler.Scale(-(1 + beyond) / beyond)
			s.Merge(first.s)
			scaler.Scale(-beyond)
			distant := math.Abs(beyond) > 10
			for _, p := range []P{first.p, r.maximize(second.where, second.s, second.p)} {
				ratio := func(s S) float64 { return r.Model.LogJoint(s, p) - r.Model.LogJoint(s, second.p) }
				a, b, size := ratio(first.s), ratio(second.s), math.Abs(r.Model.LogJoint(second.s, second.p))
				want := b + beyond*(b-a)
				if got := ratio(s); !distant && !r.near(want, got, (1+beyond)*size) {
					r.errorf("%s, %v times as far: the difference in E_q[ln p] is %v, and %.3g from the line through the two steps",
						second.where, 1+beyond, got, got-want)
				}
			}
			var none P
			if p, err := r.Model.Maximize(s, second.p, none); err == nil {
				r.Model.LogJoint(s, p)
				if m, ok := r.Model.(optional.Curved[P, S]); ok {
					var f laplace.Curvature
					f.Reset(s.Observations(), false)
					_ = m.Curvature(s, p, &f)
				}
			}
		}
	}
}

// memory compares bits: what is computed is the same, and so must the answer be.
func (r *run[B, P, S]) memory() {
	src := r.Data.all(0)
	for _, at := range r.early() {
		before := r.seen(at)
		r.usedStatistics(at, src, before)
		r.followers(at, src)
		r.usedResults(at)
		r.projectedMemory(at, src)
		if r.seen(at) != before {
			r.errorf("%s: a method changes the statistics that it is given", at.where)
		}
	}
}

// seen is all that is observable of a state, as a text that only equal ones have.
func (r *run[B, P, S]) seen(at state[P, S]) string {
	return fmt.Sprintf("%s %v", r.text("parameters", r.maximize(at.where, at.s, at.p)),
		r.digest(at.where, at.s, at.entropy, at.p, nil))
}

// usedStatistics sums up in the memory of other sums.
func (r *run[B, P, S]) usedStatistics(at state[P, S], src *source[B], want string) {
	some := r.rng(4).Perm(r.Data.Rows)[:r.Data.Rows/2+1]
	used := r.other(at, at.where, r.listed(some))
	used.entropy = r.sumUp(at.where, at.p, nil, at.q, src, used.s)
	if r.seen(used) != want {
		r.errorf("%s: Prepare does not empty the statistics: a second local step in them gives another result", at.where)
	}
}

// followers take over what Prepare has computed, in statistics that have seen other rows, and leave it as it was.
func (r *run[B, P, S]) followers(at state[P, S], src *source[B]) {
	s := r.reweighted(at)
	f, ok := any(s).(optional.Follower[S])
	if !ok {
		return
	}
	tilts := []*laplace.Tilt{nil}
	if r.curved() {
		tilts = append(tilts, tilted(r.curvatureOf(at.where, at.s, at.p, false)))
	}
	for _, tilt := range tilts {
		want := r.seen(r.under(at.where, at.p, tilt, at.q, src))
		lead := r.newStatistics(at.where, at.p)
		r.must(r.Model.Prepare(at.p, tilt, lead), "Prepare", at.where)
		f.Follow(lead)
		after := state[P, S]{where: at.where, k: at.k, p: at.p, s: s, q: at.q}
		after.entropy = r.addRows(at.where, at.p, at.q, src, s)
		if r.seen(after) != want {
			r.errorf("%s: the statistics that Follow readies are not those that Prepare readies", at.where)
		}
		_ = r.Model.LogJoint(s, r.maximize(at.where, s, at.p))
		after.s = lead
		after.entropy = r.addRows(at.where, at.p, at.q, src, lead)
		if r.seen(after) != want {
			r.errorf("%s: statistics that follow others change them", at.where)
		}
	}
}

// usedResults makes a global step, and a curvature, in the memory of others.
func (r *run[B, P, S]) usedResults(at state[P, S]) {
	before := string(r.text("parameters", at.p))
	next, other := r.maximize(at.where, at.s, at.p), r.reweighted(at)
	otherNext := r.maximize(at.where, other, at.p)
	again := r.maximizeIn(at.where, at.s, at.p, r.maximize(at.where, other, at.p))
	if string(r.text("parameters", again)) != string(r.text("parameters", next)) {
		r.errorf("%s: Maximize gives another result when dst is used", at.where)
	}
	if string(r.text("parameters", at.p)) != before {
		r.errorf("%s: Maximize changes p", at.where)
	}
	r.usedPosterior(at, other)
	if !r.curved() {
		return
	}
	look := func(f *laplace.Curvature) string {
		return fmt.Sprint(f.LogDet(), f.LogDetCounts(), f.Blocks().Eigenvalues(nil))
	}
	f := r.curvatureOf(at.where, at.s, next, false)
	want := look(f)
	r.fillCurvature(at.where, other, otherNext, false, f)
	r.fillCurvature(at.where, at.s, next, false, f)
	if got := look(f); got != want {
		r.errorf("%s: Curvature gives another result when f is used: (ln|F|, ln|Count|, eigenvalues) is %s, not %s",
			at.where, got, want)
	}
}

// projectedMemory overwrites projections, which must not reach what was projected.
func (r *run[B, P, S]) projectedMemory(at state[P, S], src *source[B]) {
	m, ok := r.Model.(optional.Projector[P, S])
	if !ok {
		return
	}
	next := r.maximize(at.where, at.s, at.p)
	look := func() string { return string(r.text("parameters", next)) + r.seen(at) }
	before := look()
	all := upTo(at.k)
	relevance := r.relevances(at.where, at.s, next)
	free := slices.DeleteFunc(upTo(at.k), func(k int) bool { return math.IsInf(relevance[k], 1) }) // the others must stay
	sets := [][]int{all}
	if len(free) > 0 {
		sets = [][]int{slices.Delete(upTo(at.k), free[len(free)-1], free[len(free)-1]+1),
			slices.Delete(upTo(at.k), free[0], free[0]+1), all}
	}
	for _, dims := range sets {
		if len(dims) < max(1, r.Least) {
			continue
		}
		s, p := r.kept(m, at.where, at.s, next, dims)
		where := at.where + ", projected"
		q := r.maximize(where, s, p)
		t := r.step(where, q, nil, nil, src)
		_ = r.maximizeIn(where, t.s, q, p)
		s.Merge(t.s)
		if look() != before {
			r.errorf("%s: Keep of %d latent dimensions changes its arguments, or shares memory with them", at.where, len(dims))
			return
		}
	}
}

// reweighted are statistics with other sums than the state's.
func (r *run[B, P, S]) reweighted(at state[P, S]) S {
	w := make([]float64, r.Data.Rows)
	rng := r.rng(5)
	for i := range w {
		w[i] = 0.5 + rng.Float64()
	}
	return r.other(at, at.where, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w})).s
}
