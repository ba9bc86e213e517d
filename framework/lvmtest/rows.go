package lvmtest

import (
	"fmt"
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

// memory compares bits: what is computed is the same, and so must the answer be.
func (r *run[B, P, S]) memory() {
	src := r.Data.all(0)
	rng := r.rng(4)
	other := r.Data.arranged(arrangement{order: rng.Perm(r.Data.Rows)[:r.Data.Rows/2+1]})
	for _, at := range r.early() {
		text := func(s S, entropy float64) string {
			return fmt.Sprintf("%s %v", r.text("parameters", r.maximize(at.where, s, at.p)), r.digest(at.where, s, entropy, at.p, nil))
		}
		want := text(at.s, at.entropy)
		used, _ := r.step(at.where, at.p, nil, other)
		if h := r.stepIn(at.where, at.p, nil, src, used); text(used, h) != want {
			r.errorf("%s: Prepare does not empty the statistics: a second local step in them gives another result", at.where)
		}

		before := string(r.text("parameters", at.p))
		next := r.maximize(at.where, at.s, at.p)
		dst := r.maximize(at.where, used, at.p)
		dst = r.maximize(at.where, r.reweighted(at, src), dst)
		again, err := r.Model.Maximize(at.s, at.p, dst)
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
			dst, err := f.of(r.reweighted(at, src), at.p, nil)
			r.must(err, f.name, at.where)
			dst, err = f.of(at.s, next, dst)
			r.must(err, f.name, at.where)
			if got := fmt.Sprint(dst.LogDet(), dst.InverseTrace(dst)); got != want {
				r.errorf("%s: %s gives another result in the memory of dst: (ln|F|, tr(F⁻¹F)) is %s, not %s", at.where, f.name, got, want)
			}
		}
		if m, ok := r.Model.(framework.Projector[P, S]); ok && at.k > 1 {
			d, err := m.Relevance(at.s, next)
			r.must(err, "Relevance", at.where)
			before := fmt.Sprint(string(r.text("parameters", next)), text(at.s, at.entropy))
			s, p, err := m.Project(at.s, next, d.Without(d.Len()-1))
			r.must(err, "Project", at.where)
			r.overwrite(at.where, s, p, src)
			if fmt.Sprint(string(r.text("parameters", next)), text(at.s, at.entropy)) != before {
				r.errorf("%s: Project changes its arguments, or shares memory with them", at.where)
			}
		}
		if text(at.s, at.entropy) != want {
			r.errorf("%s: a method changes the statistics that it is given", at.where)
		}
	}
}

// reweighted are statistics with other sums than the state's.
func (r *run[B, P, S]) reweighted(at state[P, S], src *source[B]) S {
	w := make([]float64, r.Data.Rows)
	rng := r.rng(5)
	for i := range w {
		w[i] = 0.5 + rng.Float64()
	}
	s, _ := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
	return s
}

// overwrite uses projected statistics and parameters for a step.
func (r *run[B, P, S]) overwrite(where string, s S, p P, src *source[B]) {
	var none P
	q, err := r.Model.Maximize(s, p, none)
	r.must(err, "Maximize after Project", where)
	t := r.Model.NewStatistics(q)
	r.stepIn(where, q, nil, src, t)
	_, err = r.Model.Maximize(t, q, p)
	r.must(err, "Maximize after Project", where)
	s.Merge(t)
}

func (r *run[B, P, S]) allocations() {
	if !r.NoAllocations {
		r.skipf("Case.NoAllocations is not set")
	}
	src := r.Data.all(max(2, r.Data.Rows/3))
	for _, k := range r.ks() {
		where := fmt.Sprintf("K = %d", k)
		for _, f := range append(r.curvatures(), curvatureOf[P, S]{}) {
			p := r.init(k, src, 0)
			s := r.Model.NewStatistics(p)
			var next P
			var blocks laplace.Blocks
			var tilt laplace.Tilt
			var at *laplace.Tilt // nil in the first step
			fault, method := error(nil), ""
			note := func(err error, name string) {
				if err != nil && fault == nil {
					fault, method = err, name
				}
			}
			step := func() {
				note(r.Model.Prepare(p, at, s), "Prepare")
				for _, b := range src.blocks {
					_, err := r.Model.Infer(b, p, s)
					note(err, "Infer")
				}
				var err error
				if next, err = r.Model.Maximize(s, p, next); err != nil {
					note(err, "Maximize")
					return
				}
				p, next = next, p
				if f.of != nil {
					blocks, err = f.of(s, p, blocks)
					note(err, f.name)
					tilt = laplace.Tilt{F: blocks, N: s.Weight()}
					at = &tilt
					_ = blocks.LogDet()
				}
				_ = r.Model.LogJoint(s, p)
			}
			for range 3 {
				step()
			}
			n := testing.AllocsPerRun(5, step)
			r.must(fault, method, where)
			if n > 0 {
				r.errorf("%s: a step allocates %v times, with a tilt by %q", where, n, f.name)
			}
		}
	}
}
