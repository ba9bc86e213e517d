package lvmtest

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"math"
	"reflect"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// coupled is the model where it keeps its q, otherwise nil.
func (r *run[B, P, S]) coupled() optional.Coupled[B, framework.Source[B], P, S] {
	m, _ := r.Model.(optional.Coupled[B, framework.Source[B], P, S])
	return m
}

// uncoupled skips a check that needs a local step that is a formula.
func (r *run[B, P, S]) uncoupled(why string) {
	if r.coupled() != nil {
		r.skipf("%T is optional.Coupled: %s", r.Model, why)
	}
}

func (r *run[B, P, S]) newLocal(where string, p P, src *source[B], seed uint64) optional.Local {
	q, err := r.coupled().NewLocal(context.Background(), src, p, r.rng(seed))
	r.must(err, "NewLocal", where)
	r.there(q, "NewLocal", where)
	return q
}

// localKept is Keep of q.
func (r *run[B, P, S]) localKept(where string, q optional.Local, dims []int) optional.Local {
	kept := q.Keep(dims)
	r.there(kept, fmt.Sprintf("Keep of %T", q), where)
	return kept
}

// updated makes an Update of every block, as the engine does, and does not change q.
func (r *run[B, P, S]) updated(
	where string, p P, tilt *laplace.Tilt, q optional.Local, src *source[B],
) optional.Local {
	next := r.localKept(where, q, upTo(r.Model.Shape(p).K))
	r.updateTo(where, p, tilt, q, next, src)
	return next
}

// updateTo puts the update of now into next, which in a model that updates in order holds a copy
// of it.
func (r *run[B, P, S]) updateTo(where string, p P, tilt *laplace.Tilt, now, next optional.Local, src *source[B]) {
	if r.inOrder() {
		now = next
	}
	for _, b := range src.blocks {
		r.must(r.coupled().Update(b, p, tilt, now, next), "Update", where)
	}
}

func (r *run[B, P, S]) inOrder() bool {
	_, ok := r.Model.(optional.InOrder)
	return ok
}

// under sums up the statistics of a q.
func (r *run[B, P, S]) under(where string, p P, tilt *laplace.Tilt, q optional.Local, src *source[B]) state[P, S] {
	t := state[P, S]{where: where, p: p, s: r.newStatistics(where, p), q: q}
	t.entropy = r.sumUp(where, p, tilt, q, src, t.s)
	return t
}

// converged is the state that updates of its q lead to.
func (r *run[B, P, S]) converged(at state[P, S], src *source[B]) state[P, S] {
	before := r.bound(at.s, at.entropy, at.p)
	for range 1000 {
		at = r.step(at.where, at.p, at.q, nil, src)
		after := r.bound(at.s, at.entropy, at.p)
		if after-before <= 1e-15*math.Abs(before) {
			break
		}
		before = after
	}
	return at
}

// A local is a q and where it comes from.
type local struct {
	what string
	q    optional.Local
}

// locals are the q of a state, a new one, and those that updates at other parameters lead to.
func (r *run[B, P, S]) locals(at state[P, S], src *source[B]) []local {
	list := []local{{"the q of the state", at.q}, {"a new q", r.newLocal(at.where, at.p, src, 10)}}
	for _, rival := range r.someRivals(at) {
		list = append(list, local{"the q of " + rival.what, r.updated(at.where, rival.p, nil, at.q, src)})
	}
	return list
}

// update makes Updates of several q at the parameters that a state leads to, without and with a
// tilt, into memory that holds another q.
func (r *run[B, P, S]) update() {
	_ = able[optional.Coupled[B, framework.Source[B], P, S]](r, "Coupled")
	src := r.Data.all(max(2, r.Data.Rows/4))
	for _, at := range r.early() {
		next := r.maximize(at.where, at.s, at.p)
		for _, l := range r.locals(at, src) {
			where := at.where + ", " + l.what
			before := r.under(where, next, nil, l.q, src)
			seen := r.seen(before)
			r.raises(where, before, nil, src)
			if r.curved() {
				r.raises(where+", tilted", before, r.curvatureOf(where, before.s, next, false), src)
			}
			if _, why := r.proper(); why == nil {
				r.raisesEvidence(where, before, src)
			}
			if r.seen(r.under(where, next, nil, l.q, src)) != seen {
				r.errorf("%s: Update changes the q that it starts from", where)
			}
			if r.inOrder() {
				continue
			}
			used := r.newLocal(where, next, src, 11)
			r.updateTo(where, next, nil, l.q, used, src)
			if fresh := r.updated(where, next, nil, l.q,
				src); r.seen(r.under(where, next, nil, used, src)) != r.seen(r.under(where, next, nil, fresh, src)) {
				r.errorf("%s: Update gives another q when dst holds a q", where)
			}
		}
	}
}

// raises checks that an Update does not lower the objective, with a tilt at f where that is not nil.
func (r *run[B, P, S]) raises(where string, before state[P, S], f *laplace.Curvature, src *source[B]) {
	objective := func(t state[P, S]) float64 { return r.bound(t.s, t.entropy, t.p) }
	var tilt *laplace.Tilt
	if f != nil {
		tilt = tilted(f)
		f0 := f.Blocks()
		objective = func(t state[P, S]) float64 { return r.underTangent(t, f0) }
	}
	after := r.under(where, before.p, tilt, r.updated(where, before.p, tilt, before.q, src), src)
	if a, b := objective(before), objective(after); !(b >= a-r.slack(a)) {
		r.errorf("%s: Update lowers the objective from %v by %.3g", where, a, a-b)
	}
}

// keptLocals takes copies of q, and sends it through a checkpoint.
func (r *run[B, P, S]) keptLocals() {
	_ = able[optional.Coupled[B, framework.Source[B], P, S]](r, "Coupled")
	projector, projects := r.Model.(optional.Projector[P, S])
	src := r.Data.all(0)
	for _, at := range r.early() {
		for _, l := range r.locals(at, src)[:2] {
			where := at.where + ", " + l.what
			look := func(q optional.Local) string { return r.seen(r.under(where, at.p, nil, q, src)) }
			before := look(l.q)
			all := r.localKept(where, l.q, upTo(at.k))
			if look(all) != before {
				r.errorf("%s: Keep of all latent dimensions is another q", where)
			}
			next := r.maximize(where, at.s, at.p)
			r.updateTo(where, next, nil, r.newLocal(where, next, src, 11), all, src)
			if look(l.q) != before {
				r.errorf("%s: Keep shares memory with the q that it copies", where)
			}
			if look(r.throughGob(where, l.q)) != before {
				r.errorf("%s: encoding/gob returns another q: does %T keep a part in unexported fields?", where, l.q)
			}
			if !projects || at.k == 1 {
				continue
			}
			_, p := r.kept(projector, where, at.s, at.p, upTo(at.k)[1:])
			q := r.localKept(where, l.q, upTo(at.k)[1:])
			t := r.under(where+", projected", p, nil, q, src)
			r.number(r.bound(t.s, t.entropy, p), "LogJoint", t.where)
		}
	}
}

// throughGob encodes and decodes q as a checkpoint does.
func (r *run[B, P, S]) throughGob(where string, q optional.Local) optional.Local {
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).EncodeValue(reflect.ValueOf(q)); err != nil {
		r.fatalf("%s: encoding/gob of %T: %v", where, q, err)
	}
	kind, pointer := reflect.TypeOf(q), false
	if kind.Kind() == reflect.Pointer {
		kind, pointer = kind.Elem(), true
	}
	back := reflect.New(kind)
	if err := gob.NewDecoder(&text).DecodeValue(back); err != nil {
		r.fatalf("%s: encoding/gob of %T: %v", where, q, err)
	}
	if !pointer {
		back = back.Elem()
	}
	return back.Interface().(optional.Local)
}
