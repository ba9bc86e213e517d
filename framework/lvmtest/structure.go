package lvmtest

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

func (r *run[B, P, S]) relevance() {
	m := able[framework.Projector[P, S]](r, "Projector")
	for _, at := range r.early() {
		next := r.maximize(at.where, at.s, at.p)
		d, err := m.Relevance(at.s, next)
		r.must(err, "Relevance", at.where)
		if d.Len() != at.k {
			r.fatalf("%s: Relevance gives %d directions", at.where, d.Len())
		}
		for j := 1; j < d.Len(); j++ {
			if !(d.Values[j] <= d.Values[j-1]) {
				r.errorf("%s: direction %d has relevance %v, after %v", at.where, j+1, d.Values[j], d.Values[j-1])
			}
		}
		switch {
		case (d.Axes == nil) == (d.Basis == nil):
			r.fatalf("%s: directions have either axes or a basis", at.where)
		case d.Axes != nil:
			if sorted := slices.Sorted(slices.Values(d.Axes)); !slices.Equal(sorted, upTo(at.k)) {
				r.errorf("%s: the axes %v are not each of %d latent dimensions once", at.where, d.Axes, at.k)
			}
		default:
			rows, _ := d.Basis.Dims()
			identity := mat.NewDense(d.Len(), d.Len(), nil)
			identity.Mul(d.Basis.T(), d.Basis)
			for j := range d.Len() {
				identity.Set(j, j, identity.At(j, j)-1)
			}
			if off := mat.Max(absolute(identity)); rows != at.k || !(off <= r.tolerance()*float64(1+at.k)) {
				r.errorf("%s: the basis of the directions is %v×%d and misses orthonormality by %.3g", at.where, rows, d.Len(), off)
			}
		}
	}
}

func absolute(a *mat.Dense) *mat.Dense {
	a.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, a)
	return a
}

// projected is Project with its promise of the number of dimensions.
func (r *run[B, P, S]) projected(m framework.Projector[P, S], where string, s S, p P, onto pruning.Directions) (S, P) {
	t, q, err := m.Project(s, p, onto)
	r.must(err, "Project", where)
	if got := r.Model.Shape(q).K; got != onto.Len() {
		r.fatalf("%s: Project onto %d directions leaves K = %d", where, onto.Len(), got)
	}
	if !r.near(s.Weight(), t.Weight(), 0) {
		r.errorf("%s: Project changes N from %v to %v", where, s.Weight(), t.Weight())
	}
	return t, q
}

// projection finds the degenerate direction as the eigenvalue rule does.
func (r *run[B, P, S]) projection() {
	m := able[framework.Projector[P, S]](r, "Projector")
	curved := able[framework.Curved[P, S]](r, "Curved")
	r.given(r.Degenerate != nil, "Degenerate")
	made := false
	for _, at := range r.early() {
		if at.k == 1 {
			continue
		}
		made = true
		next := r.maximize(at.where, at.s, at.p)
		flat, p, own := r.Degenerate(at.s, next)
		f, err := curved.Curvature(flat, p, nil)
		r.must(err, "Curvature of a degenerate Z", at.where)
		verdict, err := pruning.Eigenvalue{}.Apply(f, at.k, flat.Weight())
		r.must(err, "the eigenvalue rule", at.where)
		if len(verdict.Dropped) != 1 {
			r.errorf("%s: F shows %d degenerate directions, not 1, by its eigenvalues %v", at.where, len(verdict.Dropped), f.Eigenvalues(nil))
			continue
		}
		before := r.Model.LogJoint(flat, p)
		s, q := r.projected(m, at.where, flat, p, verdict.Keep)
		if after := r.Model.LogJoint(s, q) + own; !r.near(before, after, 1) {
			r.errorf("%s: ln p(X,Z|Π) of a degenerate Z is %v, and %.3g more after the projection", at.where, before, after-before)
		}
	}
	if !made {
		r.skipf("Case.K holds nothing above 1")
	}
}

// idempotence projects onto all directions, and onto all that a projection has left.
func (r *run[B, P, S]) idempotence() {
	m := able[framework.Projector[P, S]](r, "Projector")
	for _, at := range r.early() {
		s, p := at.s, r.maximize(at.where, at.s, at.p)
		for k := at.k; ; k-- {
			d, err := m.Relevance(s, p)
			r.must(err, "Relevance", at.where)
			before := r.Model.LogJoint(s, p)
			t, q := r.projected(m, at.where, s, p, d)
			if after := r.Model.LogJoint(t, q); !r.near(before, after, 1) {
				r.errorf("%s: projecting %d dimensions onto all of them changes E_q[ln p] from %v by %.3g", at.where, k, before, after-before)
			}
			for _, f := range r.curvatures() {
				old, err := f.of(s, p, nil)
				r.must(err, f.name, at.where)
				same, err := f.of(t, q, nil)
				r.must(err, f.name, at.where)
				if a, b := old.LogDet(), same.LogDet(); !r.near(a, b, 1) {
					r.errorf("%s: projecting %d dimensions onto all of them changes ln|%s| from %v by %.3g", at.where, k, f.name, a, b-a)
				}
			}
			if k == 1 {
				break
			}
			s, p = r.projected(m, at.where, s, p, d.Without(d.Len()-1))
		}
	}
}

// symmetry compares what does not depend on the form, before and after a global step.
func (r *run[B, P, S]) symmetry() {
	r.given(r.Symmetry != nil, "Symmetry")
	src := r.Data.all(0)
	look := func(where string, p P) []number {
		s, entropy := r.step(where, p, nil, src)
		next := r.maximize(where, s, p)
		size := s.Weight()
		list := []number{
			{"H(q)", entropy, size},
			{"E_q[ln p]", r.Model.LogJoint(s, p), size},
			{"E_q[ln p] after the global step", r.Model.LogJoint(s, next), size},
		}
		shape := r.Model.Shape(p)
		for _, d := range []int{shape.K, shape.Component, shape.Shared, shape.Free} {
			list = append(list, number{"a number of Shape", float64(d), 0})
		}
		for _, f := range r.curvatures() {
			blocks, err := f.of(s, next, nil)
			r.must(err, f.name, where)
			t, h := r.step(where, next, &laplace.Tilt{F: blocks, N: size}, src)
			list = append(list, number{"ln|" + f.name + "|", blocks.LogDet(), size},
				number{"E_q[ln p] + H(q) with the tilt by " + f.name, r.bound(t, h, next), size})
		}
		if m, ok := r.Model.(framework.Projector[P, S]); ok {
			d, err := m.Relevance(s, next)
			r.must(err, "Relevance", where)
			for _, v := range d.Values {
				list = append(list, number{"the relevance of a direction", v, size})
			}
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
