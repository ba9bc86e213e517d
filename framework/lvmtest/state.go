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
}

// step makes a local step over blocks, without and with a tilt. It is the fold of the
// engine with one shard.
func (r *run[B, P, S]) step(where string, p P, tilt *laplace.Tilt, src *source[B]) (S, float64) {
	s := r.Model.NewStatistics(p)
	return s, r.stepIn(where, p, tilt, src, s)
}

func (r *run[B, P, S]) stepIn(where string, p P, tilt *laplace.Tilt, src *source[B], s S) float64 {
	r.must(r.Model.Prepare(p, tilt, s), "Prepare", where)
	entropy := 0.0
	for _, b := range src.blocks {
		h, err := r.Model.Infer(b, p, s)
		r.must(err, "Infer", where)
		entropy += h
	}
	return entropy
}

func (r *run[B, P, S]) init(k int, src *source[B], seed uint64) P {
	p, err := r.Model.Init(context.Background(), src, k, r.rng(seed))
	r.must(err, "Init", fmt.Sprintf("K = %d", k))
	return p
}

func (r *run[B, P, S]) maximize(where string, s S, p P) P {
	var none P
	q, err := r.Model.Maximize(s, p, none)
	r.must(err, "Maximize", where)
	return q
}

// early are the states at the beginning of a fit, at the parameters of Init and one
// iteration on, for every K.
func (r *run[B, P, S]) early() []state[P, S] {
	var list []state[P, S]
	src := r.Data.all(0)
	for _, k := range r.ks() {
		at := state[P, S]{where: fmt.Sprintf("K = %d, at the start", k), k: k, p: r.init(k, src, 0)}
		at.s, at.entropy = r.step(at.where, at.p, nil, src)
		next := state[P, S]{where: fmt.Sprintf("K = %d, one iteration on", k), k: k, p: r.maximize(at.where, at.s, at.p)}
		next.s, next.entropy = r.step(next.where, next.p, nil, src)
		list = append(list, at, next)
	}
	return list
}

// lateIterations is how far on the late states are.
const lateIterations = 8

// late are states of a fit by a method, some iterations on: parameters, and the
// statistics that they were maximised from.
func (r *run[B, P, S]) late(method framework.Method) []state[P, S] {
	var list []state[P, S]
	for _, k := range r.ks() {
		res := r.fit(fmt.Sprintf("K = %d", k), r.Data.all(0), framework.Options{K: k, Method: method, FixedK: true, MaxIterations: lateIterations, Tolerance: 1e-300})
		list = append(list, state[P, S]{where: fmt.Sprintf("K = %d, iteration %d of %v", k, res.Iterations, method), k: k, p: res.Parameters, s: res.Statistics, entropy: res.Evaluation.Entropy})
	}
	return list
}

// fit fits with one worker, unless the options ask for more.
func (r *run[B, P, S]) fit(where string, src framework.Source[B], o framework.Options) *framework.Result[P, S] {
	o.Seed = r.Seed
	if o.Workers == 0 {
		o.Workers = 1
	}
	res, err := framework.Fit(context.Background(), r.Model, src, o)
	if err != nil {
		r.fatalf("%s: Fit by %v: %v", where, o.Method, err)
	}
	return res
}

// methods are those of the engine that the model can be fitted by.
func (r *run[B, P, S]) methods() []framework.Method {
	list := []framework.Method{framework.EM}
	if _, ok := r.Model.(framework.Counted[P, S]); ok {
		list = append(list, framework.FAB)
	}
	if _, ok := r.Model.(framework.Curved[P, S]); ok {
		list = append(list, framework.GFAB)
	}
	return list
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

// rivals are parameters near and far from p: the maxima for reweighted rows, and where
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
			s, _ := r.step(at.where, at.p, nil, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
			var none P
			if p, err := r.Model.Maximize(s, at.p, none); err == nil {
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
	scale := r.scales(func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x)
	for _, by := range []float64{1e-3, 0.03, 0.3, 1} {
		for range 4 {
			p := point(moved(x, scale, by, rng))
			if v := r.Model.LogJoint(at.s, p); v-v == 0 {
				list = append(list, rival[P]{fmt.Sprintf("a random step of %v in each free coordinate", by), p})
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

// digest is all that can be seen of statistics: log joints at some parameters, the
// parameters that they lead to, curvatures and relevances.
func (r *run[B, P, S]) digest(where string, s S, entropy float64, at P, others []rival[P]) []number {
	list := []number{{"Weight", s.Weight(), 1}, {"entropy", entropy, s.Weight()}}
	add := func(name string, v float64) { list = append(list, number{name, v, s.Weight()}) }
	add("LogJoint", r.Model.LogJoint(s, at))
	for _, o := range others {
		add("LogJoint at "+o.what, r.Model.LogJoint(s, o.p))
	}
	next := r.maximize(where, s, at)
	list = append(list, r.numbers("Maximize", next)...)
	for _, f := range r.curvatures() {
		blocks, err := f.of(s, next, nil)
		r.must(err, f.name, where)
		add("ln|"+f.name+"|", blocks.LogDet())
	}
	if m, ok := r.Model.(framework.Projector[P, S]); ok {
		d, err := m.Relevance(s, next)
		r.must(err, "Relevance", where)
		for j, v := range d.Values {
			add(fmt.Sprintf("relevance %d", j+1), v)
		}
	}
	return list
}

// A curvatureOf is Curvature or Counts.
type curvatureOf[P, S any] struct {
	name   string
	method framework.Method
	of     func(s S, p P, dst laplace.Blocks) (laplace.Blocks, error)
}

func (r *run[B, P, S]) curvatures() []curvatureOf[P, S] {
	var list []curvatureOf[P, S]
	if m, ok := r.Model.(framework.Curved[P, S]); ok {
		list = append(list, curvatureOf[P, S]{"Curvature", framework.GFAB, m.Curvature})
	}
	if m, ok := r.Model.(framework.Counted[P, S]); ok {
		list = append(list, curvatureOf[P, S]{"Counts", framework.FAB, m.Counts})
	}
	return list
}

// A number has a name, and the size of what it was summed up from.
type number struct {
	name  string
	value float64
	size  float64
}

// compare tells the first numbers that differ.
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
