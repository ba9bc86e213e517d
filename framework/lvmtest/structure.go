package lvmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/pruning"
)

// canonical rotates latent dimensions that mix to the eigenvectors of Signal.
func (r *run[B, P, S]) canonical(where string, s S, p P) (S, P) {
	m, ok := r.Model.(optional.Rotator[P, S])
	if !ok {
		return s, p
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(r.signal(m, where, s, p), true) {
		r.fatalf("%s: Signal has no eigenvalues", where)
	}
	var basis mat.Dense
	eigen.VectorsTo(&basis)
	return r.rotated(m, where, s, p, &basis)
}

// degenerateDimension finds the degenerate direction as the eigenvalue rule does, and returns the
// latent dimension that it is, in statistics and parameters that are rotated to it; ok is false
// unless there is exactly one.
func (r *run[B, P, S]) degenerateDimension(at state[P, S]) (flat S, p P, own float64, dropped int, ok bool) {
	flat, p, own = r.Degenerate(at.s, r.maximize(at.where, at.s, at.p))
	rotator, rotates := r.Model.(optional.Rotator[P, S])
	f := r.curvatureOf(at.where+", degenerate", flat, p, false)
	verdict, err := pruning.Eigenvalue{}.Apply(f, at.k, rotates)
	r.must(err, "the eigenvalue rule", at.where)
	if len(verdict.Dropped) != 1 {
		r.errorf("%s: the counts of F show %d degenerate latent dimensions, not 1, of %v observations", at.where,
			len(verdict.Dropped), verdict.Observations)
		return flat, p, own, 0, false
	}
	if verdict.Basis != nil {
		before := r.Model.LogJoint(flat, p)
		flat, p = r.rotated(rotator, at.where, flat, p, verdict.Basis)
		if after := r.Model.LogJoint(flat, p); !r.near(before, after, 1) {
			r.errorf("%s: ln p(X,Z|Π) of a degenerate Z is %v, and %.3g more when it is rotated", at.where, before, after-before)
		}
	}
	return flat, p, own, verdict.Dropped[0], true
}

// relevance of dimensions that mix is that of directions, which Z alone does not determine.
func (r *run[B, P, S]) relevance() {
	_ = able[optional.Projector[P, S]](r, "Projector")
	_, rotates := r.Model.(optional.Rotator[P, S])
	for _, at := range r.early() {
		r.relevances(at.where, at.s, r.maximize(at.where, at.s, at.p))
		if r.Degenerate == nil || !r.curved() || rotates || at.k == 1 {
			continue
		}
		flat, p, _, dropped, ok := r.degenerateDimension(at)
		if !ok {
			continue
		}
		if values := r.relevances(at.where+", degenerate", flat, p); floats.MinIdx(values) != dropped {
			r.errorf("%s: the relevances are %v, and latent dimension %d is degenerate", at.where, values, dropped+1)
		}
	}
	if r.Degenerate == nil {
		r.notef("the order of the relevances is not checked: Case.Degenerate is not given")
	}
}

// rotation rotates z at random.
func (r *run[B, P, S]) rotation() {
	m := able[optional.Rotator[P, S]](r, "Rotator")
	r.uncoupled("its q cannot be rotated")
	src := r.Data.all(0)
	rng := r.rng(8)
	for _, at := range r.early() {
		p := r.maximize(at.where, at.s, at.p)
		look := func() string { return string(r.text("parameters", p)) + r.seen(at) }
		before, signal, basis := look(), r.signal(m, at.where, at.s, p), rotationOf(at.k, rng)
		s, q := r.rotated(m, at.where, at.s, p, basis)
		if look() != before {
			r.errorf("%s: Rotate changes its arguments", at.where)
			continue
		}
		where := at.where + ", rotated"
		r.compare(where, r.invariant(at.where, at.s, p, src), r.invariant(where, s, q, src))
		r.exchanged(m, at, p)
		var want mat.Dense
		want.Product(basis.T(), signal, basis)
		if got := r.signal(m, where, s, q); !mat.EqualApprox(&want, got, r.tolerance()*(1+mat.Norm(signal, math.Inf(1)))) {
			r.errorf("%s: Signal is\n%v, and not VᵀSignal V =\n%v", where, mat.Formatted(got), mat.Formatted(&want))
		}
	}
}

// exchanged turns the first two latent dimensions into one another: what Keep then leaves of the first is what it
// leaves of the second before.
func (r *run[B, P, S]) exchanged(m optional.Rotator[P, S], at state[P, S], p P) {
	keeper, ok := r.Model.(optional.Projector[P, S])
	if !ok || at.k == 1 || r.Least > 1 {
		return
	}
	turn := mat.NewDense(at.k, at.k, nil)
	for k := range at.k {
		turn.Set(k, k, 1)
	}
	turn.Set(0, 0, 0)
	turn.Set(1, 1, 0)
	turn.Set(0, 1, -1)
	turn.Set(1, 0, 1)
	s, q := r.rotated(m, at.where, at.s, p, turn)
	look := func(s S, p P, dim int) []number {
		t, q := r.kept(keeper, at.where, s, p, []int{dim})
		list := []number{{"N", t.Observations(), 0}, {"E_q[ln p]", r.Model.LogJoint(t, q), t.Observations()}}
		if r.curved() {
			list = append(list, number{"ln|F|", r.curvatureOf(at.where, t, q, false).LogDet(), 1})
		}
		return list
	}
	r.compare(at.where+", Keep of a dimension that was turned into the first", look(at.s, p, 1), look(s, q, 0))
}

// invariant is what does not depend on the rotation of the latent dimensions.
func (r *run[B, P, S]) invariant(where string, s S, p P, src *source[B]) []number {
	size := s.Observations()
	t := r.step(where, p, nil, nil, src)
	list := []number{
		{"N", s.Observations(), 0},
		{"E_q[ln p]", r.Model.LogJoint(s, p), size},
		{"E_q[ln p] after a local step", r.Model.LogJoint(t.s, p), size},
		{"H(q) after a local step", t.entropy, size},
	}
	if r.curved() {
		f := r.curvatureOf(where, s, p, false)
		list = append(list, number{"ln|F|", f.LogDet(), size}, number{"ln|Count|", f.LogDetCounts(), size})
	}
	return list
}

// rotationOf is an orthonormal basis at random, and no reflection: one of two dimensions is its own transpose.
func rotationOf(k int, rng *rand.Rand) *mat.Dense {
	a := mat.NewDense(k, k, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
	var qr mat.QR
	qr.Factorize(a)
	q := new(mat.Dense)
	qr.QTo(q)
	if mat.Det(q) < 0 {
		for i := range k {
			q.Set(i, 0, -q.At(i, 0))
		}
	}
	return q
}

// projection finds the degenerate dimension as the eigenvalue rule does.
func (r *run[B, P, S]) projection() {
	m := able[optional.Projector[P, S]](r, "Projector")
	_ = able[optional.Curved[P, S]](r, "Curved")
	r.given(r.Degenerate != nil, "Degenerate")
	made := false
	for _, at := range r.early() {
		if at.k == 1 {
			continue
		}
		made = true
		flat, p, own, dropped, ok := r.degenerateDimension(at)
		if !ok {
			continue
		}
		before := r.Model.LogJoint(flat, p)
		s, q := r.kept(m, at.where, flat, p, slices.Delete(upTo(at.k), dropped, dropped+1))
		if after := r.Model.LogJoint(s, q) + own; !r.near(before, after, 1) {
			r.errorf("%s: ln p(X,Z|Π) of a degenerate Z is %v, and %.3g more after the projection",
				at.where, before, after-before)
		}
	}
	if !made {
		r.skipf("Case.K holds nothing above 1")
	}
}

// idempotence keeps all dimensions, and all that a projection has left.
func (r *run[B, P, S]) idempotence() {
	m := able[optional.Projector[P, S]](r, "Projector")
	for _, at := range r.early() {
		s, p := at.s, r.maximize(at.where, at.s, at.p)
		for k := at.k; ; k-- {
			before := r.Model.LogJoint(s, p)
			t, q := r.kept(m, at.where, s, p, upTo(k))
			if after := r.Model.LogJoint(t, q); !r.near(before, after, 1) {
				r.errorf("%s: keeping all of %d dimensions changes E_q[ln p] from %v by %.3g", at.where, k, before, after-before)
			}
			if r.curved() {
				a, b := r.curvatureOf(at.where, s, p, false).LogDet(), r.curvatureOf(at.where, t, q, false).LogDet()
				if !r.near(a, b, 1) {
					r.errorf("%s: keeping all of %d dimensions changes ln|F| from %v by %.3g", at.where, k, a, b-a)
				}
			}
			if k <= max(1, r.Least) {
				break
			}
			s, p = r.canonical(at.where, s, p)
			weakest := floats.MinIdx(r.relevances(at.where, s, p))
			s, p = r.kept(m, at.where, s, p, slices.Delete(upTo(k), weakest, weakest+1))
		}
	}
}

// split divides every latent dimension, and the first of them in other units.
func (r *run[B, P, S]) split() {
	m := able[optional.Splitter[framework.Source[B], P, S]](r, "Splitter")
	src, divided, refused := r.Data.all(0), false, true
	for _, at := range r.early() {
		p := r.maximize(at.where, at.s, at.p)
		for k := range at.k {
			where := fmt.Sprintf("%s, latent dimension %d divided", at.where, k+1)
			look := func() string { return fmt.Sprint(string(r.text("parameters", p)), r.Model.LogJoint(at.s, p)) }
			before := look()
			q, _, err := r.halved(m, where, src, at.s, p, k)
			if refused = refused && errors.Is(err, framework.ErrDegenerate); err != nil {
				continue
			}
			divided = true
			if look() != before {
				r.errorf("%s: Split changes its arguments", where)
			}
			r.halves(where, q, k, src)
		}
	}
	if !divided && !refused {
		r.errorf("Split returns an error for every latent dimension")
	}
	const dear = 100 // times the tolerance: a division may iterate, and so does rounding
	for _, u := range r.Units {
		for _, k := range r.ks() {
			where := fmt.Sprintf("K = %d, the first divided", k)
			gain, bound, n, ok := r.dividedFirst(m, where, k, src)
			g, b, _, other := r.dividedFirst(m, where+", "+u.Name, k, u.Data.all(0))
			if ok != other || ok && !(r.near(gain, g, dear*n) && r.near(bound, b+n*u.LogDet, dear*n*(1+math.Abs(u.LogDet)))) {
				r.errorf("%s: Split predicts %v and leads to %v; in other units (%s), converted to these, %v and %v",
					where, gain, bound, u.Name, g, b+n*u.LogDet)
			}
		}
	}
}

// halved is Split, whose result is checked where it does not err.
func (r *run[B, P, S]) halved(
	m optional.Splitter[framework.Source[B], P, S], where string, src *source[B], s S, p P, k int,
) (q P, gain float64, err error) {
	q, gain, err = m.Split(context.Background(), src, s, p, k, r.rng(uint64(100+k)))
	if err != nil {
		r.notef("%s: Split: %v", where, err)
		return q, gain, err
	}
	r.there(q, "Split", where)
	r.number(gain, "the gain of Split", where)
	if got, want := r.Model.Shape(q).K, r.Model.Shape(p).K+1; got != want {
		r.fatalf("%s: Split returns K = %d, not %d", where, got, want)
	}
	return q, gain, nil
}

// halves checks that parameters with latent dimension k divided are such as Init makes, that steps go on from
// them, and that its two halves, k and the last, differ.
func (r *run[B, P, S]) halves(where string, q P, k int, src *source[B]) {
	size := r.Model.Shape(q).K
	if other, err := r.Model.Init(context.Background(), src, size, r.rng(0)); err == nil {
		if got, want := r.Model.Shape(q), r.Model.Shape(other); got != want {
			r.errorf("%s: Shape is %+v, and %+v for parameters of Init", where, got, want)
		}
	}
	t := r.step(where, q, nil, nil, src)
	r.number(r.bound(t.s, t.entropy, r.maximize(where, t.s, q)), "E_q[ln p] + H(q) after Split", where)
	if m, ok := r.Model.(optional.Projector[P, S]); ok && size > 1 {
		without := func(k int) string {
			t := r.step(where, q, nil, nil, src)
			_, kept := r.kept(m, where, t.s, r.maximize(where, t.s, q), slices.Delete(upTo(size), k, k+1))
			list := r.numbers("parameters", kept)
			slices.SortFunc(list, func(a, b number) int { return cmp.Compare(a.value, b.value) })
			return fmt.Sprint(list)
		}
		if without(k) == without(size-1) {
			r.errorf("%s: the two halves are equal, and no step separates them", where)
		}
	}
}

// dividedFirst divides the first latent dimension one iteration after the start, and returns what Split promises
// and E_q[ln p] + H(q) at what it returns.
func (r *run[B, P, S]) dividedFirst(
	m optional.Splitter[framework.Source[B], P, S], where string, k int, src *source[B],
) (gain, bound, n float64, ok bool) {
	at := r.step(where, r.init(k, src, 0), nil, nil, src)
	q, gain, err := r.halved(m, where, src, at.s, r.maximize(where, at.s, at.p), 0)
	if err != nil {
		return 0, 0, 0, false
	}
	t := r.step(where, q, nil, nil, src)
	return gain, r.bound(t.s, t.entropy, q), t.s.Observations(), true
}

// symmetry compares what does not depend on the form, before and after a global step.
func (r *run[B, P, S]) symmetry() {
	r.given(r.Symmetry != nil, "Symmetry")
	r.uncoupled("its q has no other form")
	src := r.Data.all(0)
	look := func(where string, p P) []number {
		t := r.step(where, p, nil, nil, src)
		s, next, size := t.s, r.maximize(where, t.s, p), t.s.Observations()
		list := []number{
			{"H(q)", t.entropy, size},
			{"E_q[ln p]", r.Model.LogJoint(s, p), size},
			{"E_q[ln p] after the global step", r.Model.LogJoint(s, next), size},
		}
		shape := r.Model.Shape(p)
		for _, d := range []int{shape.K, shape.Component, shape.Shared, shape.Free} {
			list = append(list, number{"a number of Shape", float64(d), 0})
		}
		if r.curved() {
			f := r.curvatureOf(where, s, next, false)
			t := r.step(where, next, nil, tilted(f), src)
			list = append(list, number{"ln|F|", f.LogDet(), size}, number{"ln|Count|", f.LogDetCounts(), size},
				number{"E_q[ln p] + H(q) with the tilt", r.bound(t.s, t.entropy, next), size})
		}
		u, q := r.canonical(where, s, next)
		for _, v := range slices.Sorted(slices.Values(r.relevances(where, u, q))) {
			// ln(1 − q), which a relevance may add up, has as few digits as derivatives where q is close to 1.
			list = append(list, number{"the relevance of a latent dimension", v, 1e3 * math.Abs(v)})
		}
		return list
	}
	rng := r.rng(6)
	for _, at := range r.early() {
		want := look(at.where, at.p)
		for range 3 {
			r.compare(at.where+", in another form of Π", want, look(at.where, r.Symmetry(at.p, rng)))
		}
	}
}
