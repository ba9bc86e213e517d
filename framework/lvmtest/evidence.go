package lvmtest

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// What [framework.Evidence] rests on, of models whose parameters have a proper prior (docs/theory/evidence.md).

// proper is the model where its evidence can be taken, otherwise nil and the reason.
func (r *run[B, P, S]) proper() (optional.Proper[P, S], error) {
	if !r.asked {
		r.asked = true
		r.prior, r.why = r.asProper()
	}
	return r.prior, r.why
}

func (r *run[B, P, S]) asProper() (optional.Proper[P, S], error) {
	m, ok := r.Model.(optional.Proper[P, S])
	_, penalized := r.Model.(optional.Penalized[P])
	_, replaced := r.Model.(optional.ReplacesPrior)
	switch {
	case !ok || !r.curved():
		return nil, fmt.Errorf("%T is not optional.Proper", r.Model)
	case penalized && !replaced:
		return nil, fmt.Errorf("%T is optional.Penalized, with its own prior", r.Model)
	}
	return m, m.CheckPrior()
}

// properly skips the check of a model without evidence.
func (r *run[B, P, S]) properly() {
	if _, why := r.proper(); why != nil {
		r.skipf("%v", why)
	}
}

// integralsOf is the curvature with integrals under the prior.
func (r *run[B, P, S]) integralsOf(where string, s S, p P) *laplace.Curvature {
	f, err := r.curvedProperly(s, p)
	r.must(err, "Curvature under the prior", where)
	followed, information := f.Integral()
	r.number(followed, "an integral of Curvature under the prior", where)
	r.number(information, "the information of Curvature under the prior", where)
	return f
}

// curvedProperly is the curvature under the prior.
func (r *run[B, P, S]) curvedProperly(s S, p P) (*laplace.Curvature, error) {
	f := new(laplace.Curvature)
	f.ResetPrior(s.Observations())
	return f, r.Model.(optional.Curved[P, S]).Curvature(s, p, f)
}

// followed is what the steps follow: E_q[ln p(X,Z|Π)], and the integrals less the information, which is returned beside
// it.
func (r *run[B, P, S]) followed(where string, s S, p P) (value, information float64) {
	value, information = r.integralsOf(where, s, p).Integral()
	return r.Model.LogJoint(s, p) + value, information
}

// maximizePosterior is MaximizePosterior.
func (r *run[B, P, S]) maximizePosterior(where string, s S, p, dst P) P {
	m, _ := r.proper()
	q, err := m.MaximizePosterior(s, p, dst)
	r.must(err, "MaximizePosterior", where)
	r.there(q, "MaximizePosterior", where)
	return q
}

// mode is where repeated steps lead from p, with what they follow there, and the largest fall on the way.
func (r *run[B, P, S]) mode(where string, s S, p P) (_ P, value, fall float64) {
	var none P
	for i := range 1000 {
		p = r.maximizePosterior(where, s, p, none)
		last := value
		value, _ = r.followed(where, s, p)
		if i == 0 {
			continue
		}
		fall = max(fall, last-value)
		if value-last <= 1e-15*math.Abs(value) {
			break
		}
	}
	return p, value, fall
}

// posteriorStep repeats the global step under the prior, from several parameters, and looks around where it ends.
func (r *run[B, P, S]) posteriorStep() {
	r.properly()
	for _, at := range r.early() {
		for _, from := range append(r.someRivals(at), rival[P]{"the parameters of the local step", at.p}) {
			if _, value, fall := r.mode(at.where, at.s, from.p); !(fall <= r.slack(value)) {
				r.errorf("%s, from %s: a repeated MaximizePosterior lowers the objective from %v by %.3g", at.where,
					from.what, value+fall, fall)
			}
		}
		if r.Degenerate != nil && at.k > 1 {
			r.emptied(at)
		}
		if r.Free == nil {
			continue
		}
		mode, best, _ := r.mode(at.where, at.s, at.p)
		x, point := r.Free(at.s, mode)
		h := func(x []float64) float64 {
			p := point(x)
			v := r.Model.LogJoint(at.s, p)
			if v-v != 0 {
				return v
			}
			// A point next to the boundary may be degenerate for a model that scores it still.
			if _, err := r.curvedProperly(at.s, p); errors.Is(err, framework.ErrDegenerate) {
				return math.Inf(-1)
			}
			v, _ = r.followed(at.where, at.s, p)
			return v
		}
		for _, near := range r.nearby(h, x, point, r.rng(12)) {
			v, _ := r.followed(at.where, at.s, near.p)
			if size := max(math.Abs(best), math.Abs(r.Model.LogJoint(at.s, near.p))); !(v <= best+r.slack(size)) {
				r.errorf("%s: E_q[ln p] and the integrals are %v, and %.3g higher at %s", at.where, best, v-best, near.what)
			}
		}
		r.slope(at.where, h, x, best)
	}
	if r.Free == nil {
		r.notef("the gradient is not checked: Case.Free is not given")
	}
}

// emptied makes the global step, and the integrals, where a latent dimension has no rows.
func (r *run[B, P, S]) emptied(at state[P, S]) {
	flat, p, _ := r.Degenerate(r.other(at, at.where, r.Data.all(0)).s, r.maximize(at.where, at.s, at.p))
	where := at.where + ", one latent dimension without rows"
	var none P
	value, information := r.followed(where, flat, r.maximizePosterior(where, flat, p, none))
	if v := value + information; v-v != 0 {
		r.errorf("%s: the evidence is %v", where, v)
	}
}

// between are statistics on the line from those of one state, 0, to those of another, 1.
func (r *run[B, P, S]) between(from, to state[P, S], at float64) S {
	s := r.newStatistics(to.where, to.p)
	r.must(r.Model.Prepare(to.p, nil, s), "Prepare", to.where)
	scaler, ok := any(s).(optional.Scaler)
	if !ok {
		r.skipf("%T is not optional.Scaler", s)
	}
	s.Merge(to.s)
	scaler.Scale(at / (1 - at))
	s.Merge(from.s)
	scaler.Scale(1 - at)
	return s
}

// priorStep compares q by the tangent of the largest value that E_q[ln p(X,Z|Π)] and the integrals have over Π, as a
// function of the statistics: its derivative along the line to those of another q, by differences of order 4.
func (r *run[B, P, S]) priorStep() {
	r.ascends()
	r.uncoupled("an Update need not be the best")
	r.properly()
	const h = 5e-3
	src := r.Data.all(0)
	for i, at := range r.early() {
		next, _, _ := r.mode(at.where, at.s, at.p)
		if i == 0 {
			m, _ := r.proper()
			var none P
			if _, err := m.MaximizePosterior(r.between(at, at, -h), next, none); errors.Is(err, errors.ErrUnsupported) {
				r.skipf("%v", err)
			}
		}
		tilt := tilted(r.integralsOf(at.where, at.s, next))
		under := func(t state[P, S]) float64 {
			value := func(by float64) float64 {
				_, v, _ := r.mode(at.where, r.between(at, t, by), next)
				return v
			}
			return t.entropy + (8*(value(h)-value(-h))-value(2*h)+value(-2*h))/(12*h)
		}
		best := under(r.step(at.where, next, nil, tilt, src))
		check := func(t state[P, S], what string) {
			if v := under(t); !(v <= best+r.tolerance()*(1+math.Abs(best))) {
				r.errorf("%s: the objective is %v, and %.3g higher at the q of %s", at.where, best, v-best, what)
			}
		}
		check(r.step(at.where, next, nil, nil, src), "no tilt")
		for _, rival := range r.rivals(at) {
			plain := r.step(at.where, rival.p, nil, nil, src)
			check(plain, rival.what+" without a tilt")
			other, _, _ := r.mode(at.where, plain.s, next)
			check(r.step(at.where, other, nil, tilted(r.integralsOf(at.where, plain.s, other)), src), rival.what)
		}
	}
}

// raisesEvidence checks that an Update under the tilt of the prior does not lower what the steps of a coupled model
// follow.
func (r *run[B, P, S]) raisesEvidence(where string, before state[P, S], src *source[B]) {
	p, value, _ := r.mode(where, before.s, before.p)
	tilt := tilted(r.integralsOf(where, before.s, p))
	t := r.under(where, p, nil, r.updated(where, p, tilt, before.q, src), src)
	_, after, _ := r.mode(where, t.s, p)
	if a, b := value+before.entropy, after+t.entropy; !(b >= a-r.slack(a)) {
		r.errorf("%s: Update under the prior lowers the objective from %v by %.3g", where, a, a-b)
	}
}

func (r *run[B, P, S]) evidence() {
	r.properly()
	r.climbs(framework.Options{Method: framework.GFAB, Criterion: framework.Evidence})
}

// usedPosterior makes the global step under the prior, and the integrals, in the memory of others.
func (r *run[B, P, S]) usedPosterior(at state[P, S], other S) {
	if _, why := r.proper(); why != nil {
		return
	}
	var none P
	before := string(r.text("parameters", at.p))
	next := r.maximizePosterior(at.where, at.s, at.p, none)
	again := r.maximizePosterior(at.where, at.s, at.p, r.maximizePosterior(at.where, other, at.p, none))
	look := func(p P) string { return string(r.text("parameters", p)) + fmt.Sprint(r.followed(at.where, at.s, p)) }
	if look(again) != look(next) {
		r.errorf("%s: MaximizePosterior gives another result when dst is used", at.where)
	}
	if string(r.text("parameters", at.p)) != before {
		r.errorf("%s: MaximizePosterior changes p", at.where)
	}
}

// wayOf says how a fit is made.
func wayOf(o framework.Options) string {
	return strings.TrimSpace(fmt.Sprintf("K = %d by %v %s", o.K, o.Method, o.Criterion.Name))
}

// ways are the methods of the engine that the model can be fitted by, with the criteria that change their steps.
func (r *run[B, P, S]) ways() []framework.Options {
	var list []framework.Options
	for _, method := range r.methods() {
		list = append(list, ofPaper(method))
	}
	if _, why := r.proper(); why == nil {
		list = append(list, framework.Options{Method: framework.GFAB, Criterion: framework.Evidence})
	}
	return list
}
