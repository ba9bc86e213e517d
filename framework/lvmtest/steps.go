package lvmtest

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// about are the methods that the equation of a check is about, where its failures do not name them.
var about = map[string]string{
	"shape": "Shape", "charges": "Charges", "global step": "Maximize", "posterior step": "MaximizePosterior",
	"curvature": "Curvature", "counts": "Curvature", "local step": "Prepare, Infer", "tilted local step": "Prepare, Infer",
	"step under the prior": "Prepare, Infer", "q-step": "Prepare, Infer", "update": "Update",
	"likelihood": "LogProb, LogJoint, Infer", "expansion": "Expand", "sums": "Merge, Infer", "order": "Infer",
	"blocks": "Infer", "weights": "Infer", "scale": "Scale", "extrapolation": "Scale, LogJoint", "relevance": "Relevance",
	"rotation": "Rotate, Signal", "projection": "Keep", "idempotence": "Keep", "sample": "Case.Sample, Maximize",
}

// checks lists the suite.
func checks[B, P any, S framework.Statistics[S]]() []check[B, P, S] {
	one := func(name, equation string, hold func(r *run[B, P, S])) check[B, P, S] {
		return check[B, P, S]{Outcome{Check: name, Equation: equation}, hold}
	}
	return []check[B, P, S]{
		one("interfaces", "every method with the name of an optional one has its signature", (*run[B, P, S]).interfaces),
		one("density", "the optional methods of a density of package numeric agree with its log density",
			(*run[B, P, S]).density),
		one("shape", "Shape counts K, D_Ξ and D_Π", (*run[B, P, S]).shape),
		one("identifiability", "Shape.Free is the rank of ∂ln p(x_n|Π)÷∂Π", (*run[B, P, S]).identifiability),
		one("charges", "the charges add up to the numbers of Shape, and their N to observations", (*run[B, P, S]).charges),
		one("global step", "∇E_q[ln p(X,Z|Π)] = 0, and no Π′ has a higher E_q[ln p(X,Z|Π′)]", (*run[B, P, S]).globalStep),
		one("posterior step", "∇(E_q[ln p(X,Z|Π)] + ln p(Π)) = 0 where MaximizePosterior leads, and it never lowers it",
			(*run[B, P, S]).posteriorStep),
		one("curvature", "F = −∇²_Ξ E_q[ln p(X,Z|Π)]÷N", (*run[B, P, S]).curvature),
		one("counts", "F is a count, which depends on q alone, times an information, which depends on Π "+
			"alone", (*run[B, P, S]).counts),
		one("local step", "E_q′[ln p(X,Z|Π)] + H(q′) ≤ E_q[ln p(X,Z|Π)] + H(q)", (*run[B, P, S]).localStep),
		one("tilted local step", "q maximises E_q[ln p(X,Z|Π)] + H(q) − ½ tr(F₀⁻¹F(q))", (*run[B, P, S]).tiltedStep),
		one("step under the prior", "q maximises E_q[ln p(X,Z|Π)] + H(q) + the tangent of the integrals in E_q[S]",
			(*run[B, P, S]).priorStep),
		one("q-step", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|F(q)| never falls", (*run[B, P, S]).qStep),
		one("update", "an Update of q never lowers E_q[ln p(X,Z|Π)] + H(q) − ½ tr(F₀⁻¹F(q))", (*run[B, P, S]).update),
		one("kept q", "Keep of all latent dimensions copies q, and encoding/gob brings it back", (*run[B, P, S]).keptLocals),
		one("likelihood", "E_q[ln p(X,Z|Π)] + H(q) = ln p(X|Π) at q = p(Z|X,Π), and bounds it at any q",
			(*run[B, P, S]).likelihood),
		one("responsibilities", "Σ_k q_nk = 1, and the entropy of the labels is −Σ q_nk ln q_nk",
			(*run[B, P, S]).responsibilities),
		one("expansion", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Count| never falls", (*run[B, P, S]).expansion),
		one("sums", "S(A) + S(B) = S(A ∪ B)", (*run[B, P, S]).sums),
		one("order", "S does not depend on the order of the rows", (*run[B, P, S]).order),
		one("blocks", "S does not depend on the blocks", (*run[B, P, S]).blocks),
		one("weights", "a row of weight w is w rows, and N = Σ w", (*run[B, P, S]).weights),
		one("scale", "α·S are the statistics of rows of weight α", (*run[B, P, S]).scale),
		one("extrapolation", "E_q[ln p(X,Z|Π)÷p(X,Z|Π′)] is linear in S, also beyond S", (*run[B, P, S]).extrapolation),
		one("memory", "a step in used memory has the same result, and no step changes its arguments", (*run[B, P, S]).memory),
		one("relevance", "a number for each latent dimension, and a degenerate one has the smallest",
			(*run[B, P, S]).relevance),
		one("rotation", "a rotation of z leaves p(X,Z|Π) unchanged, and rotates Signal", (*run[B, P, S]).rotation),
		one("projection", "p(X,Z|Π) = p(X,Z̃|Π̃) where Z is degenerate (paper G, eq. 3)", (*run[B, P, S]).projection),
		one("kept dimensions", "Keep keeps the latent dimensions that it is asked for", (*run[B, P, S]).keptDimensions),
		one("idempotence", "T(T(Z,Π)) = T(Z,Π)", (*run[B, P, S]).idempotence),
		one("split", "Split divides one of K latent dimensions between two that differ, K + 1 of them with the Shape "+
			"of any", (*run[B, P, S]).split),
		one("symmetry", "another form of the same Π changes nothing", (*run[B, P, S]).symmetry),
		one("units", "x → Ax changes ln p(X) by −N ln|det A|, and nothing else", (*run[B, P, S]).units),
		one("EM", "E_q[ln p(X,Z|Π)] + H(q) never falls", (*run[B, P, S]).em),
		one("FAB", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Count| never falls, with the counts alone", (*run[B, P, S]).fab),
		one("gFAB", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Count| never falls, with all of F", (*run[B, P, S]).gfab),
		one("evidence", "ln ∫ p(Π) exp E_q[ln p(X,Z|Π)] dΠ + H(q) never falls, apart from the information",
			(*run[B, P, S]).evidence),
		one("JSON", "Π is the same after a round trip", (*run[B, P, S]).json),
		one("checkpoint", "a resumed fit has the same bits", (*run[B, P, S]).checkpoint),
		one("workers", "any number of workers gives the same bits", (*run[B, P, S]).workers),
		one("processes", "any number of processes gives the same bits", (*run[B, P, S]).processes),
		one("allocations", "steps in used memory allocate nothing", (*run[B, P, S]).allocations),
		one("sample", "a fit to rows drawn from Π recovers Π", (*run[B, P, S]).sample),
	}
}

func (r *run[B, P, S]) shape() {
	_, variational := r.Model.(optional.Variational)
	for _, at := range r.early() {
		got := r.Model.Shape(at.p)
		if got.K != at.k {
			r.errorf("%s: Shape.K is %d", at.where, got.K)
		}
		if got.Identifiable() < 1 {
			r.errorf("%s: %d identifiable parameters", at.where, got.Identifiable())
		}
		if r.curved() {
			if n := r.curvatureOf(at.where, at.s, at.p, false).Dim(); n != got.Component {
				r.errorf("%s: Shape.Component is %d, and Curvature is of size %d", at.where, got.Component, n)
			}
		}
		if r.Free != nil && !variational {
			if x, _ := r.Free(at.s, at.p); len(x) != got.Total() {
				r.errorf("%s: Shape.Component + Shape.Shared is %d, and there are %d free coordinates",
					at.where, got.Total(), len(x))
			}
		}
	}
	switch {
	case variational:
		r.notef("D_Π is not checked: %T has coordinates of a posterior", r.Model)
	case r.Free == nil:
		r.notef("D_Π is not checked: Case.Free is not given")
	}
}

// charges are of observations, of which there are twice as many when every row counts twice.
func (r *run[B, P, S]) charges() {
	_ = able[optional.Charger[P, S]](r, "Charger")
	twice := slices.Repeat([]float64{2}, r.Data.Rows)
	for _, at := range r.early() {
		var total, latent, free int
		charges := r.charged(at.where, at.s, at.p)
		for i, c := range charges {
			total, free = total+c.Parameters, free+c.Free
			if c.Latent {
				latent += c.Parameters
			}
			if c.Parameters < 0 || c.Free < 0 || !(c.N > 0) || !r.Unweighted && c.N > (1+r.tolerance())*at.s.Observations() {
				r.errorf("%s: charge %d counts %d parameters, %d of them free, from %v of %v observations", at.where, i+1,
					c.Parameters, c.Free, c.N, at.s.Observations())
			}
		}
		shape := r.Model.Shape(at.p)
		if total != shape.Total() || latent != shape.Component || free != shape.Identifiable() {
			r.errorf("%s: the charges count %d parameters, %d of them latent and %d free, and Shape counts %d, %d and %d",
				at.where,
				total, latent, free, shape.Total(), shape.Component, shape.Identifiable())
		}
		if r.Unweighted {
			continue
		}
		r.additiveCharges(at, charges)
		doubled := r.other(at, at.where+", every row twice",
			r.Data.arranged(arrangement{order: upTo(len(twice)), weights: twice}))
		for i, c := range r.charged(doubled.where, doubled.s, at.p) {
			if i < len(charges) && !r.near(2*charges[i].N, c.N, 0) {
				r.errorf("%s: N of charge %d is %v, and %v when every row counts twice", at.where, i+1, charges[i].N, c.N)
			}
		}
	}
	if !r.Unweighted {
		r.untold()
	}
}

// additiveCharges holds the N of all parameters together to be a sum over rows.
func (r *run[B, P, S]) additiveCharges(at state[P, S], all []optional.Charge) {
	total := func(charges []optional.Charge) (sum float64) {
		for _, c := range charges {
			sum += float64(c.Parameters) * c.N
		}
		return sum
	}
	half, parts := r.Data.Rows/2, 0.0
	for _, rows := range [][]int{upTo(r.Data.Rows)[:half], upTo(r.Data.Rows)[half:]} {
		part := r.other(at, at.where+", half of the rows", r.Data.arranged(arrangement{order: rows, first: rows[0]}))
		parts += total(r.charged(part.where, part.s, at.p))
	}
	if want := total(all); !r.near(want, parts, want) {
		r.errorf("%s: N of the charges, once a parameter, adds up to %v, and over the two halves of the rows to %v", at.where,
			want, parts)
	}
}

// settled is the maximum that the global step leads to from p.
func (r *run[B, P, S]) settled(at state[P, S]) P {
	p := r.maximize(at.where, at.s, at.p)
	if !r.Partial {
		return p
	}
	v := r.Model.LogJoint(at.s, p)
	for range 1000 {
		q := r.maximize(at.where, at.s, p)
		w := r.Model.LogJoint(at.s, q)
		if w < v-r.slack(v) {
			r.errorf("%s: the global step lowers E_q[ln p] from %v to %v", at.where, v, w)
		}
		p = q
		if math.Abs(w-v) <= 1e-15*math.Abs(v) {
			break
		}
		v = w
	}
	return p
}

func (r *run[B, P, S]) globalStep() {
	r.deterministic()
	worst := 0.0
	for _, at := range r.early() {
		from := at
		at.p = r.settled(at)
		best := r.Model.LogJoint(at.s, at.p)
		if best-best != 0 {
			r.fatalf("%s: LogJoint is %v at the maximum", at.where, best)
		}
		if !r.Partial { // a repeated step may creep
			r.sameMaximum(from, best)
			r.stationary(from, best)
		}
		for _, rival := range r.rivals(at) {
			if v := r.Model.LogJoint(at.s, rival.p); !(v <= best+r.slack(best)) {
				r.errorf("%s: E_q[ln p] is %v, and %.3g higher at %s", at.where, best, v-best, rival.what)
			}
		}
		if r.Free != nil {
			x, point := r.Free(at.s, at.p)
			worst = max(worst, r.slope(at.where, func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x, best))
		}
	}
	if r.Free == nil {
		r.notef("the gradient is not checked: Case.Free is not given")
	} else {
		r.notef("largest slope: %.2g nats over a distance that matters one nat", worst)
	}
}

// sameMaximum makes the global step from parameters of another start, which the maximum does not depend on.
func (r *run[B, P, S]) sameMaximum(at state[P, S], best float64) {
	other := r.init(at.k, r.Data.all(0), 1)
	if a, b := r.Model.Shape(other), r.Model.Shape(at.p); r.coupled() != nil || a.K != b.K || a.Component != b.Component {
		return
	}
	if v := r.Model.LogJoint(at.s, r.maximize(at.where, at.s, other)); !r.near(best, v, math.Abs(best)) {
		r.errorf("%s: E_q[ln p] is %v, and %v where the global step begins at other parameters", at.where, best, v)
	}
}

// stationary makes small steps to the maxima for rows that are reweighted a little, and as far the other way.
func (r *run[B, P, S]) stationary(at state[P, S], best float64) {
	if r.Unweighted {
		return
	}
	for _, pair := range r.reweightings(at, 4) {
		up, down := r.Model.LogJoint(at.s, pair[0]), r.Model.LogJoint(at.s, pair[1])
		bend := math.Abs(up + down - 2*best) // a slope that is less may be one of a bound
		if rise := math.Abs(up - down); rise > 10*bend+r.slack(best) {
			r.errorf("%s: E_q[ln p] is %v, and rises by %.3g along a small step, and by %.3g where it bends", at.where, best,
				rise/2, bend/2)
		}
	}
}

// slope is the largest of the gradient of h, which is best at x, along free coordinates in which a distance of 1
// matters a nat.
func (r *run[B, P, S]) slope(where string, h func([]float64) float64, x []float64, best float64) (largest float64) {
	if len(x) == 0 {
		return 0
	}
	scale := r.scales(h, x)
	gradient := fd.Gradient(nil, func(t []float64) float64 {
		y := append([]float64(nil), x...)
		for i, v := range t {
			y[i] += scale[i] * v
		}
		return h(y)
	}, make([]float64, len(x)), &fd.Settings{Formula: fd.Central, Step: 1e-4})
	for i, g := range gradient {
		largest = max(largest, math.Abs(g))
		if !(math.Abs(g) <= r.numeric()*(1+1e-4*math.Abs(best))) {
			r.errorf("%s: ∂E_q[ln p]÷∂Π is %.3g along free coordinate %d, where %.3g is a change of a nat", where,
				g/scale[i], i+1, scale[i])
		}
	}
	return largest
}

func (r *run[B, P, S]) curvature() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	r.given(r.Latent != nil, "Latent")
	penalized, _ := r.Model.(optional.Penalized[P])
	worst := 0.0
	for _, at := range r.early() {
		at.p = r.settled(at)
		f := r.curvatureOf(at.where, at.s, at.p, false)
		x, point := r.Latent(at.s, at.p)
		if len(x) != f.Dim() {
			r.fatalf("%s: Curvature is of size %d, and there are %d coordinates of Ξ", at.where, f.Dim(), len(x))
		}
		if penalized != nil && r.depends(penalized.LogPrior, x, point) {
			r.skipf("%T has a prior of Ξ: E_q[ln p(X,Z|Π)] has no maximum at the mode", r.Model)
		}
		numeric := mat.NewSymDense(len(x), nil)
		laplace.Hessian(numeric, func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x, nil)
		entries := dense(f.Blocks())
		for i := range x {
			for j := range i + 1 {
				want, size := -numeric.At(i, j)/at.s.Observations(), math.Sqrt(entries.At(i, i)*entries.At(j, j))
				worst = max(worst, math.Abs(entries.At(i, j)-want)/size)
				if !(math.Abs(entries.At(i, j)-want) <= r.numeric()*size) {
					r.errorf("%s: F is %v at (%d, %d), and the numeric Hessian %v", at.where, entries.At(i, j), i+1, j+1, want)
				}
			}
		}
	}
	r.notef("largest relative difference: %.2g", worst)
}

// depends reports whether a log prior changes with coordinates of Ξ.
func (r *run[B, P, S]) depends(logPrior func(P) float64, x []float64, point func([]float64) P) bool {
	here := logPrior(point(x))
	for i, v := range x {
		y := slices.Clone(x)
		y[i] = v + 1e-3*max(1, math.Abs(v))
		if !r.near(here, logPrior(point(y)), 1) {
			return true
		}
	}
	return false
}

// consistent compares what criteria and tilts read of F with its entries.
func (r *run[B, P, S]) consistent(where string, f *laplace.Curvature, entries *mat.SymDense) {
	n := float64(f.Dim())
	want, sign := mat.LogDet(entries)
	if got := f.LogDet(); sign <= 0 || !(math.Abs(got-want) <= r.numeric()*n) {
		r.errorf("%s: LogDet is %v, and ln|F| of its entries %v", where, got, want)
	}
	if blocks := f.Blocks(); !(math.Abs(blocks.InverseTrace(blocks)-n) <= r.numeric()*n) {
		r.errorf("%s: tr(F⁻¹F) is %v, of size %v", where, blocks.InverseTrace(blocks), n)
	}
}

// dense writes blocks down as one matrix.
func dense(blocks laplace.Blocks) *mat.SymDense {
	m, first := mat.NewSymDense(blocks.Dim(), nil), 0
	for _, b := range blocks {
		n := b.SymmetricDim()
		for i := range n {
			for j := i; j < n; j++ {
				m.SetSym(first+i, first+j, b.At(i, j))
			}
		}
		first += n
	}
	return m
}

// counts also asks for the counts alone, which must be the same.
func (r *run[B, P, S]) counts() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	for _, at := range r.early() {
		here := r.curvatureOf(at.where, at.s, at.p, false)
		r.consistent(at.where, here, dense(here.Blocks()))
		if !here.Factors() {
			r.skipf("F of %T does not factor", r.Model)
		}
		count, size := here.LogDetCounts(), float64(here.Dim())
		if alone := r.curvatureOf(at.where, at.s, at.p, true); alone.Dim() != here.Dim() ||
			!r.near(count, alone.LogDetCounts(), size) {
			r.errorf("%s: Curvature has %d counts, ln|Count| = %v, and with CountOnly %d, %v",
				at.where, here.Dim(), count, alone.Dim(), alone.LogDetCounts())
		}
		for _, rival := range r.rivals(at) {
			if there := r.curvatureOf(at.where, at.s, rival.p, false).LogDetCounts(); !r.near(count, there, size) {
				r.errorf("%s: ln|Count| is %v, and changes by %.3g with Π, that of %s", at.where, count, there-count, rival.what)
			}
			// Another q at the same Π.
			t := r.step(at.where, rival.p, at.q, nil, r.Data.all(0))
			other := r.curvatureOf(at.where, t.s, at.p, false)
			if math.IsInf(count, -1) || math.IsInf(other.LogDetCounts(), -1) {
				continue // a latent dimension that has no data
			}
			before, after := here.LogDet()-count, other.LogDet()-other.LogDetCounts()
			if !r.near(before, after, size) {
				r.errorf("%s: ln|Information| is %v, and changes by %.3g with q, that of %s", at.where, before,
					after-before, rival.what)
			}
		}
	}
}

func (r *run[B, P, S]) localStep() {
	r.ascends()
	r.uncoupled("an Update need not be the best")
	src := r.Data.all(0)
	for _, at := range r.early() {
		best := r.bound(at.s, at.entropy, at.p)
		for _, rival := range r.rivals(at) {
			t := r.step(at.where, rival.p, nil, nil, src)
			if v := r.bound(t.s, t.entropy, at.p); !(v <= best+r.slack(best)) {
				r.errorf("%s: E_q[ln p] + H(q) is %v, and %.3g higher at the q of %s", at.where, best, v-best, rival.what)
			}
		}
	}
}

// underTangent is the objective of a local step that is tilted at F₀: its penalty is the tangent
// of −½ ln|F| there, which lies below that.
func (r *run[B, P, S]) underTangent(t state[P, S], f0 laplace.Blocks) float64 {
	return r.bound(t.s, t.entropy, t.p) + f0.Tangent(r.curvatureOf(t.where, t.s, t.p, false).Blocks())
}

func (r *run[B, P, S]) tiltedStep() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	r.uncoupled("an Update need not be the best")
	src := r.Data.all(0)
	for _, at := range r.early() {
		next := r.maximize(at.where, at.s, at.p)
		f := r.curvatureOf(at.where, at.s, next, false)
		f0, tilt := f.Blocks(), tilted(f)
		best := r.underTangent(r.step(at.where, next, nil, tilt, src), f0)
		check := func(t state[P, S], what string) {
			t.p = next
			if v := r.underTangent(t, f0); !(v <= best+r.slack(best)) {
				r.errorf("%s: the objective is %v, and %.3g higher at the q of %s", at.where, best, v-best, what)
			}
		}
		check(r.step(at.where, next, nil, nil, src), "no tilt")
		for _, rival := range r.rivals(at) {
			plain := r.step(at.where, rival.p, nil, nil, src)
			check(plain, rival.what+" without a tilt")
			check(r.step(at.where, rival.p, nil, tilt, src), rival.what)
			there := tilted(r.curvatureOf(at.where, plain.s, next, false))
			check(r.step(at.where, next, nil, there, src), "the tilt at the q of "+rival.what)
		}
	}
}

// qStep starts at the q's of a fit, and at others that the parameters do not go with:
// minorise–maximise works from any.
func (r *run[B, P, S]) qStep() {
	_ = able[optional.Curved[P, S]](r, "Curved")
	src := r.Data.all(0)
	for _, at := range append(r.early(), r.late(framework.GFAB)...) {
		next := r.maximize(at.where, at.s, at.p)
		climb := func(from state[P, S], what string) {
			f := r.curvatureOf(at.where, from.s, next, false)
			before := r.bound(from.s, from.entropy, next) - f.LogDet()/2
			if math.IsInf(before, 1) {
				return // a latent dimension is empty, and costs −∞
			}
			t := r.step(at.where, next, from.q, tilted(f), src)
			after := r.bound(t.s, t.entropy, next) - r.curvatureOf(at.where, t.s, next, false).LogDet()/2
			if !(after >= before-r.slack(before)) {
				r.errorf("%s: the q-step from %s lowers the objective from %v by %.3g", at.where, what, before, before-after)
			}
		}
		climb(at, "the q that Π was maximised for")
		for _, rival := range r.someRivals(at) {
			climb(r.step(at.where, rival.p, at.q, nil, src), "the q of "+rival.what)
		}
	}
}

// likelihood of a q that is an approximation even at its best is an inequality.
func (r *run[B, P, S]) likelihood() {
	m := able[optional.LogProber[B, P]](r, "LogProber")
	penalized, _ := r.Model.(optional.Penalized[P])
	_, bounded := r.Model.(optional.BoundedLikelihood)
	src := r.Data.all(0)
	for _, at := range r.late(framework.EM) {
		t := r.step(at.where, at.p, at.q, nil, src)
		if r.coupled() != nil {
			t = r.converged(t, src)
		}
		bound := r.bound(t.s, t.entropy, at.p)
		if penalized != nil {
			bound -= penalized.LogPrior(at.p)
		}
		rows, err := m.LogProb(src.blocks[0], at.p, nil)
		r.must(err, "LogProb", at.where)
		r.numbersOf(rows, r.Data.Rows, "LogProb", at.where)
		switch sum := floats.Sum(rows); {
		case bounded && !(bound <= sum+r.slack(sum)):
			r.errorf("%s: Σ ln p(x_n|Π) is %v, and its lower bound %.3g more", at.where, sum, bound-sum)
		case !bounded && !r.near(sum, bound, t.s.Observations()):
			r.errorf("%s: Σ ln p(x_n|Π) is %v, and E_q[ln p] + H(q) %.3g more", at.where, sum, bound-sum)
		}
		again, err := m.LogProb(src.blocks[0], at.p, slices.Repeat([]float64{math.NaN()}, len(rows)))
		r.must(err, "LogProb", at.where)
		if !slices.Equal(rows, again) {
			r.errorf("%s: LogProb gives another result when dst is used", at.where)
		}
	}
}

// responsibilities are of the q that Infer finds, a label for each observation. Where labels depend on one another, as
// those of a sequence do, all have less entropy than each by itself has.
func (r *run[B, P, S]) responsibilities() {
	m := able[optional.Assigner[B, P]](r, "Assigner")
	src := r.Data.all(0)
	for _, at := range r.late(framework.EM) {
		q, err := m.Responsibilities(src.blocks[0], at.p, nil)
		r.must(err, "Responsibilities", at.where)
		labelled := r.Data.Rows
		if r.Data.Observations != nil && len(q) != labelled*at.k { // each observation has one
			labelled = int(floats.Sum(r.Data.Observations))
		}
		r.numbersOf(q, labelled*at.k, "Responsibilities", at.where)
		entropy := 0.0
		for i := range labelled {
			sum := 0.0
			for _, v := range q[i*at.k : (i+1)*at.k] {
				if sum += v; v > 0 {
					entropy -= v * math.Log(v)
				}
			}
			if !r.near(1, sum, 1) {
				r.errorf("%s: the responsibilities of label %d sum to %v", at.where, i+1, sum)
			}
		}
		t := r.under(at.where, at.p, nil, nil, src)
		labels := r.labelEntropy(at.where, t.s, t.entropy)
		size := float64(labelled)
		if coupled := (r.inOrder() || r.Data.Observations != nil) && -size*r.tolerance() <= labels &&
			labels < entropy; !coupled && !r.near(labels, entropy, size) {
			r.errorf("%s: −Σ q ln q is %v, and the entropy of the labels %v in the local step", at.where, entropy, labels)
		}
	}
}

func (r *run[B, P, S]) expansion() {
	m := able[optional.Expander[P, S]](r, "Expander")
	for _, charged := range []bool{false, true} {
		if charged && !r.curved() {
			r.notef("the charged expansion is not checked: %T is not optional.Curved", r.Model)
			continue
		}
		objective := func(s S, entropy float64, p P, where string) float64 {
			v := r.bound(s, entropy, p)
			if charged {
				v -= r.curvatureOf(where, s, p, true).LogDetCounts() / 2
			}
			return v
		}
		for _, at := range r.early() {
			at.where += fmt.Sprintf(", charged %v", charged)
			p := r.maximize(at.where, at.s, at.p)
			before := objective(at.s, at.entropy, p, at.where)
			p, gain, err := m.Expand(at.s, p, charged)
			r.must(err, "Expand", at.where)
			r.there(p, "Expand", at.where)
			r.number(gain, "the change of H(q) of Expand", at.where)
			if after := objective(at.s, at.entropy+gain, p, at.where); !(after >= before-r.slack(before)) {
				r.errorf("%s: the expansion lowers the objective from %v by %.3g", at.where, before, before-after)
			}
		}
	}
}
