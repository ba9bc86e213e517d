package lvmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// A state is a local step: the statistics and the entropy of its q, and the parameters
// that it was made at.
type state[P, S any] struct {
	where   string
	k       int
	p       P
	s       S
	entropy float64
	q       optional.Local // of a Coupled model
}

// step makes a local step over blocks at parameters p, without or with a tilt: the fold of the
// engine with one shard. A coupled model starts from q, or from a new one where that is nil.
func (r *run[B, P, S]) step(where string, p P, q optional.Local, tilt *laplace.Tilt, src *source[B]) state[P, S] {
	if r.coupled() != nil {
		if q == nil {
			q = r.newLocal(where, p, src, 9)
		}
		q = r.updated(where, p, tilt, q, src)
	}
	return r.under(where, p, tilt, q, src)
}

// sumUp adds the rows to statistics that it empties first: those of their q, which is given
// where the model keeps it.
func (r *run[B, P, S]) sumUp(
	where string, p P, tilt *laplace.Tilt, q optional.Local, src *source[B], s S,
) (entropy float64) {
	r.must(r.Model.Prepare(p, tilt, s), "Prepare", where)
	return r.addRows(where, p, q, src, s)
}

// addRows adds the rows to statistics that are ready for them.
func (r *run[B, P, S]) addRows(where string, p P, q optional.Local, src *source[B], s S) (entropy float64) {
	for _, b := range src.blocks {
		if q != nil {
			h, err := r.coupled().InferAt(b, p, q, s)
			r.must(err, "InferAt", where)
			entropy += r.number(h, "the entropy of InferAt", where)
			continue
		}
		h, err := r.Model.Infer(b, p, s)
		r.must(err, "Infer", where)
		entropy += r.number(h, "the entropy of Infer", where)
	}
	return entropy
}

// other sums up rows, or the same ones otherwise, as the state did: at its parameters, and under
// its q where the model keeps it.
func (r *run[B, P, S]) other(at state[P, S], where string, src *source[B]) state[P, S] {
	return r.under(where, at.p, nil, at.q, src)
}

// early are the states at the beginning of a fit, at the parameters of Init and one
// iteration on, for every K.
func (r *run[B, P, S]) early() []state[P, S] {
	var list []state[P, S]
	src := r.Data.all(0)
	for _, k := range r.ks() {
		at := r.step(fmt.Sprintf("K = %d, at the start", k), r.init(k, src, 0), nil, nil, src)
		next := r.step(fmt.Sprintf("K = %d, one iteration on", k), r.maximize(at.where, at.s, at.p), at.q, nil, src)
		for _, t := range []state[P, S]{at, next} {
			t.k = k
			r.number(r.Model.LogJoint(t.s, t.p), "LogJoint", t.where)
			list = append(list, t)
		}
	}
	return list
}

// lateIterations is the number of iterations before the late states.
const lateIterations = 8

// late are states of a fit by a method, some iterations on: parameters, and the
// statistics that they were maximised from.
func (r *run[B, P, S]) late(method framework.Method) []state[P, S] {
	var list []state[P, S]
	for _, k := range r.ks() {
		o := ofPaper(method)
		o.K, o.FixedK, o.MaxIterations, o.Tolerance = k, true, lateIterations, 1e-300
		res := r.fit(fmt.Sprintf("K = %d", k), r.Data.all(0), o)
		list = append(list, state[P, S]{
			where:   fmt.Sprintf("K = %d, iteration %d of %v", k, res.Iterations, method),
			k:       k,
			p:       res.Parameters,
			s:       res.Statistics,
			entropy: res.Evaluation.Entropy,
			q:       res.Local,
		})
	}
	return list
}

// fit fits with one worker, unless the options ask for more, and without moves, which have a check of their own.
func (r *run[B, P, S]) fit(where string, src framework.Source[B], o framework.Options) *framework.Result[P, S] {
	res, err := r.tried(src, o)
	if err != nil {
		r.fatalf("%s: Fit by %v: %v", where, o.Method, err)
	}
	return res
}

func (r *run[B, P, S]) tried(src framework.Source[B], o framework.Options) (*framework.Result[P, S], error) {
	o.Seed, o.NoMoves, o.Workers = r.Seed, true, max(o.Workers, 1)
	return framework.Fit(context.Background(), r.Model, src, o)
}

// methods are those of the engine that the model can be fitted by.
func (r *run[B, P, S]) methods() []framework.Method {
	list := []framework.Method{framework.EM}
	if r.curved() {
		list = append(list, framework.FAB, framework.GFAB)
	}
	return list
}

// ofPaper are the options of a method by the criterion of its paper: gFAB by the evidence has checks of its own.
func ofPaper(method framework.Method) framework.Options {
	o := framework.Options{Method: method}
	if method == framework.GFAB {
		o.Criterion = framework.GFIC
	}
	return o
}

// bound is E_q[ln p(X,Z|p)] + H(q).
func (r *run[B, P, S]) bound(s S, entropy float64, p P) float64 {
	return r.Model.LogJoint(s, p) + entropy
}

// A rival is another value of the parameters.
type rival[P any] struct {
	what string
	p    P
}

// rivals are parameters near p and away from it: the maxima for reweighted rows, and where
// the case gives free coordinates, random steps.
func (r *run[B, P, S]) rivals(at state[P, S]) []rival[P] {
	var list []rival[P]
	rng := r.rng(1)
	for _, by := range []float64{1e-3, 0.03, 0.3, 0.9} {
		for range 3 {
			w := make([]float64, r.Data.Rows)
			for i := range w {
				w[i] = 1 + by*(2*rng.Float64()-1)
			}
			t := r.other(at, at.where, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
			var none P
			if p, err := r.Model.Maximize(t.s, at.p, none); err == nil {
				list = append(list, rival[P]{fmt.Sprintf("the maximum for rows reweighted by %v at random", by), p})
			}
		}
	}
	if len(list) == 0 {
		r.notef("%s: the global step has no maximum for reweighted rows to compare with", at.where)
	}
	if r.Free == nil {
		return list
	}
	x, point := r.Free(at.s, at.p)
	return append(list, r.nearby(func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x, point, rng)...)
}

// nearby are parameters at random steps from coordinates x, by the distances over which h bends by about a nat.
func (r *run[B, P, S]) nearby(
	h func([]float64) float64, x []float64, point func([]float64) P, rng *rand.Rand,
) (list []rival[P]) {
	scale := r.scales(h, x)
	for _, by := range []float64{1e-3, 0.03, 0.3, 1} {
		for range 4 {
			to := moved(x, scale, by, rng)
			if v := h(to); v-v == 0 {
				list = append(list, rival[P]{fmt.Sprintf("a random step of %v in each free coordinate", by), point(to)})
			}
		}
	}
	return list
}

func moved(x, scale []float64, by float64, rng *rand.Rand) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v + by*scale[i]*rng.NormFloat64()
	}
	return y
}

// scales are the distances over which h bends by about a nat, at most 1 or the size of the
// coordinate.
func (r *run[B, P, S]) scales(h func([]float64) float64, x []float64) []float64 {
	scale := make([]float64, len(x))
	here := h(x)
	for i, v := range x {
		size := max(1, math.Abs(v))
		scale[i] = size
		y := append([]float64(nil), x...)
		for step := size; step > 1e-9*size; step /= 4 {
			y[i] = v + step
			up := h(y)
			y[i] = v - step
			if bend := math.Abs(up + h(y) - 2*here); bend < 1 {
				if scale[i] = size; bend > 1e-6 {
					scale[i] = min(size, step/math.Sqrt(bend))
				}
				break
			}
		}
	}
	return scale
}

// digest is all that is observable of statistics: log joints at some parameters, the
// parameters that they lead to, curvatures and relevances.
func (r *run[B, P, S]) digest(where string, s S, entropy float64, at P, others []rival[P]) []number {
	var none P
	list := []number{{"Observations", s.Observations(), 1}, {"entropy", entropy, s.Observations()}}
	add := func(name string, v float64) { list = append(list, number{name, v, s.Observations()}) }
	add("LogJoint", r.Model.LogJoint(s, at))
	for _, o := range others {
		add("LogJoint at "+o.what, r.Model.LogJoint(s, o.p))
	}
	next := r.maximize(where, s, at)
	list = append(list, r.numbers("Maximize", next)...)
	if r.curved() {
		f := r.curvatureOf(where, s, next, false)
		add("ln|F|", f.LogDet())
		add("ln|Count|", f.LogDetCounts())
	}
	for j, v := range r.relevances(where, s, next) {
		add(fmt.Sprintf("relevance %d", j+1), v)
	}
	if _, why := r.proper(); why == nil {
		mode := r.maximizePosterior(where, s, at, none)
		followed, information := r.followed(where, s, mode)
		list = append(list, r.numbers("MaximizePosterior", mode)...)
		add("the objective under the prior", followed)
		add("the information under the prior", information)
	}
	add("LabelEntropy", r.labelEntropy(where, s, entropy))
	for i, c := range r.charged(where, s, next) {
		add(fmt.Sprintf("N of charge %d", i+1), c.N)
	}
	return list
}

// A number has a name, and the size of what it was summed up from.
type number struct {
	name  string
	value float64
	size  float64
}

// compare reports the first numbers that differ.
func (r *run[B, P, S]) compare(where string, want, got []number) {
	if len(want) != len(got) {
		r.errorf("%s: %d numbers, and %d otherwise", where, len(want), len(got))
		return
	}
	for i, w := range want {
		if g := got[i]; w.name != g.name {
			r.errorf("%s: %s, and %s otherwise", where, w.name, g.name)
		} else if !r.near(w.value, g.value, w.size) {
			r.errorf("%s: %s is %v, and %v otherwise: %.3g apart", where, w.name, w.value, g.value, g.value-w.value)
		}
	}
}

// numbers reads those of a value in its JSON form. Each is as precise as the largest of
// its list.
func (r *run[B, P, S]) numbers(name string, v any) []number {
	var tree any
	if err := json.Unmarshal(r.text(name, v), &tree); err != nil {
		r.fatalf("%s: its JSON cannot be read: %v", name, err)
	}
	var list []number
	collect(name, tree, &list)
	return list
}

// text is the JSON form of a value.
func (r *run[B, P, S]) text(name string, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		r.fatalf("%s: no JSON: %v", name, err)
	}
	return text
}

func collect(name string, tree any, list *[]number) {
	switch v := tree.(type) {
	case float64:
		*list = append(*list, number{name, v, 0})
	case []any:
		first := len(*list)
		for i, e := range v {
			collect(fmt.Sprintf("%s[%d]", name, i), e, list)
		}
		size := 0.0
		for _, n := range (*list)[first:] {
			size = max(size, math.Abs(n.value))
		}
		for i := range (*list)[first:] {
			(*list)[first+i].size = max((*list)[first+i].size, size)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			collect(name+"."+k, v[k], list)
		}
	}
}
