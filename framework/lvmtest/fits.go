package lvmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/panics"
)

// prunes reports whether the model can be fitted with a method that lowers K.
func (r *run[B, P, S]) prunes() bool {
	_, projector := r.Model.(optional.Projector[P, S])
	return projector && r.curved()
}

// some is the number of iterations that fits for comparison make.
const some = 6

// units compares fits after a few iterations, and where the model prunes, the K at the end.
func (r *run[B, P, S]) units() {
	units := r.Units
	if units == nil {
		u, ok := r.rescaled()
		r.given(ok, "Units")
		r.notef("Case.Units is not given: one fit of the table in other units is one of the table in these, so all must be")
		units = []Units[B]{u}
	}
	for _, u := range units {
		for _, o := range r.ways() {
			o.FixedK, o.MaxIterations, o.Tolerance = true, some, 1e-300
			for _, o.K = range r.ks() {
				r.inUnits(wayOf(o), u, o)
			}
		}
		if r.prunes() {
			k := slices.Max(r.ks())
			r.inUnits(fmt.Sprintf("from K = %d by gFAB", k), u, framework.Options{K: k})
		}
	}
}

// rescaled are the rows in other units, each column in its own or all in one, where the likelihood of the fewest latent
// dimensions says that the model knows no units: it moves by N ln|det A| and nothing else.
func (r *run[B, P, S]) rescaled() (_ Units[B], ok bool) {
	rows, ok := rowsOf(r.Data.all(0).blocks[0])
	if !ok || rows.Entries != nil {
		return Units[B]{}, false
	}
	each, one := make([]float64, rows.D), make([]float64, rows.D)
	for j := range rows.D {
		each[j], one[j] = math.Exp2(float64(4-3*(j%4))), 4
	}
	for _, scale := range [][]float64{each, one} {
		u := Units[B]{Name: fmt.Sprintf("columns times %v", scale), Data: r.Data}
		u.Data.Block = func(list []int, weights []float64, first int) B {
			return scaled(r.Data.Block(list, weights, first), scale)
		}
		for i := range rows.N {
			for j, v := range rows.Row(i) {
				if v == v {
					u.LogDet += math.Log(scale[j]) / float64(rows.N)
				}
			}
		}
		o := framework.Options{K: slices.Min(r.ks()), Method: framework.EM, NoMoves: true, Workers: 1, MaxIterations: 200,
			Seed: r.Seed}
		here, err := framework.Fit(context.Background(), r.Model, r.Data.all(0), o)
		r.must(err, "Fit", wayOf(o))
		there, err := framework.Fit(context.Background(), r.Model, u.Data.all(0), o)
		if err == nil && math.Abs(here.Value-there.Value-here.N*u.LogDet) <= 1e-5*here.N {
			return u, true
		}
	}
	return Units[B]{}, false
}

// scaled is a block with column j of its rows, or of its steps, times scale[j].
func scaled[B any](b B, scale []float64) B {
	times := func(rows blocks.Rows) blocks.Rows {
		x := make([]float64, rows.N*rows.D)
		for i := range rows.N {
			floats.MulTo(x[i*rows.D:(i+1)*rows.D], rows.Row(i), scale)
		}
		rows.X, rows.Stride = x, rows.D
		return rows
	}
	switch v := any(&b).(type) {
	case *blocks.Rows:
		*v = times(*v)
	case *blocks.Sequences:
		v.Steps = times(v.Steps)
	}
	return b
}

// inUnits compares two fits, to a millionth of a nat an observation where each ends by itself. Where they differ, those
// of a first local step show whether they began alike.
func (r *run[B, P, S]) inUnits(where string, u Units[B], o framework.Options) {
	here := r.fit(where, r.Data.all(0), o)
	there, err := r.tried(u.Data.all(0), o)
	if err != nil {
		r.fatalf("%s, %s: Fit by %v: %v%s", where, u.Name, o.Method, err, r.orInit(u, o.K))
	}
	jacobian := here.N * u.LogDet
	switch got := there.Value + jacobian; {
	case here.Shape.K != there.Shape.K:
		r.errorf("%s: K is %d, and %d in other units: %s%s", where, here.Shape.K, there.Shape.K, u.Name, r.orInit(u, o.K))
	case !r.near(here.Value, got, math.Abs(jacobian)) && !(o.Tolerance == 0 && math.Abs(got-here.Value) <= 1e-6*here.N):
		r.errorf("%s: %s is %v, and moves by %.3g more than −N ln|det A| in other units: %s%s", where, here.Criterion,
			here.Value, got-here.Value, u.Name, r.orInit(u, o.K))
	}
}

// orInit names Init as a possible cause, where fits in other units begin elsewhere.
func (r *run[B, P, S]) orInit(u Units[B], k int) string {
	start := func(d Data[B]) (bound, n float64) {
		src := d.all(0)
		t := r.step(fmt.Sprintf("K = %d", k), r.init(k, src, 0), nil, nil, src)
		return r.bound(t.s, t.entropy, t.p), t.s.Observations()
	}
	a, n := start(r.Data)
	b, _ := start(u.Data)
	if r.near(a, b+n*u.LogDet, math.Abs(n*u.LogDet)) {
		return ""
	}
	return fmt.Sprintf("; or Init depends on units: E_q[ln p] + H(q) is %v at the start, and moves by %.3g more", a,
		b+n*u.LogDet-a)
}

// climbs reports where the objective of a fit falls.
func (r *run[B, P, S]) climbs(o framework.Options) {
	o.FixedK, o.NoMoves, o.Workers, o.MaxIterations = true, true, 1, 200
	for _, o.K = range r.ks() {
		for seed := range uint64(2) {
			o.Seed = r.Seed + seed
			where := fmt.Sprintf("%s, start %d", wayOf(o), seed)
			res, err := framework.Fit(context.Background(), r.Model, r.Data.all(0), o)
			r.must(err, "Fit", where)
			for i := 1; i < len(res.Objective); i++ {
				if last, v := res.Objective[i-1], res.Objective[i]; !(v >= last-r.slack(last)) {
					r.errorf("%s: iteration %d lowers the objective from %v by %.3g", where, i+1, last, last-v)
				}
			}
		}
	}
}

func (r *run[B, P, S]) em() {
	r.deterministic()
	r.ascends()
	r.climbs(framework.Options{Method: framework.EM})
}

func (r *run[B, P, S]) fab() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	r.climbs(framework.Options{Method: framework.FAB})
}

func (r *run[B, P, S]) gfab() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	r.climbs(ofPaper(framework.GFAB))
}

func (r *run[B, P, S]) json() {
	src := r.Data.all(0)
	for _, at := range r.early() {
		text := r.text("parameters", at.p)
		p, err := decoded(text, at.p)
		r.must(err, "json.Unmarshal", at.where)
		if again := r.text("parameters", p); string(again) != string(text) {
			r.errorf("%s: the JSON of the parameters is %.300s, and after a round trip %.300s", at.where, text, again)
		}
		want, got := r.step(at.where, at.p, at.q, nil, src), r.step(at.where+", after JSON", p, at.q, nil, src)
		for _, c := range []struct {
			what      string
			want, got float64
		}{
			{"E_q[ln p]", r.Model.LogJoint(want.s, at.p), r.Model.LogJoint(got.s, p)},
			{"E_q[ln p] of the statistics at the parameters " +
				"before", r.Model.LogJoint(want.s, at.p), r.Model.LogJoint(got.s, at.p)},
			{"H(q)", want.entropy, got.entropy},
		} {
			if c.want != c.got {
				r.errorf("%s: %s is %v, and changes by %.3g after a round trip through JSON", at.where,
					c.what, c.want, c.got-c.want)
			}
		}
	}
}

// decoded reads a value of the type of like.
func decoded[P any](text []byte, like P) (P, error) {
	var p P
	if t := reflect.TypeOf(like); t.Kind() == reflect.Pointer {
		p = reflect.New(t.Elem()).Interface().(P)
		return p, json.Unmarshal(text, p)
	}
	return p, json.Unmarshal(text, &p)
}

var errStop = errors.New("stopped by the suite")

// checkpoint stops fits at several iterations and resumes them.
func (r *run[B, P, S]) checkpoint() {
	src := r.Data.all(max(1, r.Data.Rows/3))
	for _, o := range r.ways() {
		o.K, o.FixedK, o.MaxIterations, o.Tolerance = slices.Max(r.ks()), o.Method == framework.FAB ||
			!r.prunes(), 2*some, 1e-300
		where := wayOf(o)
		uninterrupted := r.fit(where, src, o)
		for _, at := range []int{1, 3, some} {
			if at >= uninterrupted.Iterations {
				continue
			}
			o := o
			o.Recorder = func(e framework.Event) error {
				if e.Iteration == at {
					return errStop
				}
				return nil
			}
			o.Seed, o.Workers, o.NoMoves = r.Seed, 1, true
			part, err := framework.Fit(context.Background(), r.Model, src, o)
			if !errors.Is(err, errStop) {
				r.fatalf("%s: Fit that is stopped: %v", where, err)
			}
			o.Recorder = nil
			o.Resume, err = part.Checkpoint()
			r.must(err, "Checkpoint", where)
			r.bits(fmt.Sprintf("%s, resumed after iteration %d", where, at), uninterrupted, r.fit(where, src, o))
		}
	}
}

// bits compares two fits that must be the same.
func (r *run[B, P, S]) bits(where string, want, got *framework.Result[P, S]) {
	for i, v := range want.Objective {
		if i >= len(got.Objective) || math.Float64bits(got.Objective[i]) != math.Float64bits(v) ||
			math.Float64bits(got.Trace[i]) != math.Float64bits(want.Trace[i]) {
			r.errorf("%s: the fits differ from iteration %d on", where, i+1)
			return
		}
	}
	a, b := r.numbers("parameters", want.Parameters), r.numbers("parameters", got.Parameters)
	if !slices.Equal(a, b) { // of their texts, empty lists and those that are nil would differ
		r.errorf("%s: the parameters differ: %.300v, and %.300v", where, a, b)
	}
}

// workers uses blocks so small that shards hold several.
func (r *run[B, P, S]) workers() {
	src := r.Data.all(max(1, r.Data.Rows/(3*framework.DefaultShards)))
	for _, o := range r.ways() {
		o.K, o.FixedK, o.MaxIterations, o.Tolerance = slices.Max(r.ks()), true, some, 1e-300
		where := wayOf(o)
		one := r.fit(where, src, o)
		for _, workers := range []int{2, 5} {
			o.Workers = workers
			r.bits(fmt.Sprintf("%s with %d workers", where, workers), one, r.fit(where, src, o))
		}
	}
}

// likely is the probability with which a correct model passes the check of a sample.
const likely = 1 - 1e-6

// sampleLimit is what one call of Sample may take. One that ends takes milliseconds.
var sampleLimit = 10 * time.Second

// draw is Sample, on a goroutine of its own, which is abandoned where it does not end.
func (r *run[B, P, S]) draw(where string, p P, n int) Data[B] {
	type drawn struct {
		data     Data[B]
		err      error
		panicked *panics.Panic
	}
	done := make(chan drawn, 1)
	go func() {
		var d drawn
		defer func() {
			d.panicked = panics.Of(recover())
			done <- d
		}()
		d.data, d.err = r.Sample(p, n, r.rng(7))
	}()
	limit := time.NewTimer(sampleLimit)
	defer limit.Stop()
	select {
	case d := <-done:
		if d.panicked != nil {
			r.fatalf("%s: Sample: %s", where, describe(d.panicked))
		}
		r.must(d.err, "Sample", where)
		if d.data.Rows < 1 || d.data.Block == nil {
			r.fatalf("%s: Sample of %d rows returns %d, Block nil: %v", where, n, d.data.Rows, d.data.Block == nil)
		}
		return d.data
	case <-limit.C:
		r.fatalf("%s: Sample of %d rows takes more than %v: check that Sample ends, or lower "+
			"Case.SampleRows", where, n, sampleLimit)
	}
	return Data[B]{}
}

// sample checks the fit by Wilks' theorem: twice what the log-likelihood gains over the
// parameters that the rows were drawn from is χ² with a degree of freedom for each
// identifiable parameter. It needs no labels, and no rotation, and counts every parameter
// in its standard errors.
func (r *run[B, P, S]) sample() {
	r.given(r.Sample != nil, "Sample")
	_, variational := r.Model.(optional.Variational)
	if _, bounded := r.Model.(optional.BoundedLikelihood); variational || bounded {
		r.skipf("the likelihood is not what %T maximises", r.Model)
	}
	penalized, _ := r.Model.(optional.Penalized[P])
	n, k := r.SampleRows, r.SampleK
	if n == 0 {
		n = 2000
	}
	if k == 0 {
		k = slices.Max(r.ks())
	}
	where := fmt.Sprintf("K = %d", k)
	o := framework.Options{K: k, Method: framework.EM, Restarts: 3, MaxIterations: 3000}
	truth := r.fit(where, r.Data.all(0), o).Parameters
	data := r.draw(where, truth, n)
	where = fmt.Sprintf("K = %d, %d rows drawn", k, data.Rows)
	src := data.all(512)
	fitted := r.fit(where, src, o)
	score := func(p P) (bound, prior float64) {
		e, err := framework.Evaluate(context.Background(), r.Model, src, p, 1)
		r.must(err, "Evaluate", where)
		if penalized != nil {
			prior = penalized.LogPrior(p)
		}
		return e.Bound(), prior
	}
	before, priorBefore := score(truth)
	after, priorAfter := score(fitted.Parameters)
	if gain := after - before; !(gain >= -1e-6*fitted.N) {
		r.errorf("%s: the fit ends at %v, %.3g below the parameters that the rows were drawn from (%v)", where,
			after, -gain, fitted.Status)
	}
	degrees := float64(r.Model.Shape(truth).Identifiable())
	gain := 2 * (after - priorAfter - before + priorBefore)
	if bound := (distuv.ChiSquared{K: degrees}).Quantile(likely); !(gain <= bound) {
		r.errorf("%s: −2 ln of the likelihood ratio is %.4g, and of %v parameters at most %.4g: the fit is "+
			"inconsistent with the parameters that the rows were drawn from", where, gain, degrees, bound)
	}
	r.notef("%s: −2 ln of the likelihood ratio is %.4g of %v parameters", where, gain, degrees)
}
