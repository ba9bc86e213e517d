package lvmtest

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// checks lists the suite.
func checks[B, P any, S framework.Statistics[S]]() []check[B, P, S] {
	one := func(name, equation string, hold func(r *run[B, P, S])) check[B, P, S] {
		return check[B, P, S]{Outcome{Check: name, Equation: equation}, hold}
	}
	return []check[B, P, S]{
		one("shape", "K, D_Ξ and D_Π are what they are counted to be", (*run[B, P, S]).shape),
		one("global step", "∇E_q[ln p(X,Z|Π)] = 0, and no Π′ has a higher E_q[ln p(X,Z|Π′)]", (*run[B, P, S]).globalStep),
		one("curvature", "F = −∇²_Ξ E_q[ln p(X,Z|Π)]÷N", (*run[B, P, S]).curvature),
		one("counts", "F is what q decides, Counts, times what Π decides", (*run[B, P, S]).counts),
		one("local step", "E_q′[ln p(X,Z|Π)] + H(q′) ≤ E_q[ln p(X,Z|Π)] + H(q)", (*run[B, P, S]).localStep),
		one("tilted local step", "q maximises E_q[ln p(X,Z|Π)] + H(q) − ½ tr(F₀⁻¹F(q))", (*run[B, P, S]).tiltedStep),
		one("q-step", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|F(q)| never falls", (*run[B, P, S]).qStep),
		one("likelihood", "E_q[ln p(X,Z|Π)] + H(q) = ln p(X|Π) at q = p(Z|X,Π)", (*run[B, P, S]).likelihood),
		one("responsibilities", "Σ_k q_nk = 1 and H(q) = −Σ q_nk ln q_nk", (*run[B, P, S]).responsibilities),
		one("expansion", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Counts| never falls", (*run[B, P, S]).expansion),
		one("sums", "S(A) + S(B) = S(A ∪ B)", (*run[B, P, S]).sums),
		one("order", "S does not depend on the order of the rows", (*run[B, P, S]).order),
		one("blocks", "S does not depend on the blocks", (*run[B, P, S]).blocks),
		one("weights", "a row of weight w is w rows, and N = Σ w", (*run[B, P, S]).weights),
		one("scale", "α·S are the statistics of rows of weight α", (*run[B, P, S]).scale),
		one("extrapolation", "E_q[ln p(X,Z|Π)÷p(X,Z|Π′)] is linear in S, also beyond S", (*run[B, P, S]).extrapolation),
		one("memory", "a step is the same in used memory, and leaves its arguments as they are", (*run[B, P, S]).memory),
		one("relevance", "K directions, the most relevant first", (*run[B, P, S]).relevance),
		one("projection", "p(X,Z|Π) = p(X,Z̃|Π̃) where Z is degenerate (paper G, eq. 3)", (*run[B, P, S]).projection),
		one("idempotence", "T(T(Z,Π)) = T(Z,Π)", (*run[B, P, S]).idempotence),
		one("symmetry", "another form of the same Π changes nothing", (*run[B, P, S]).symmetry),
		one("units", "x → Ax changes ln p(X) by −N ln|det A|, and nothing else", (*run[B, P, S]).units),
		one("EM", "E_q[ln p(X,Z|Π)] + H(q) never falls", (*run[B, P, S]).em),
		one("FAB", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Counts| never falls", (*run[B, P, S]).fab),
		one("gFAB", "E_q[ln p(X,Z|Π)] + H(q) − ½ ln|Counts| never falls, with the tilt by F", (*run[B, P, S]).gfab),
		one("JSON", "Π is the same after a round trip", (*run[B, P, S]).json),
		one("checkpoint", "a resumed fit has the same bits", (*run[B, P, S]).checkpoint),
		one("workers", "any number of workers gives the same bits", (*run[B, P, S]).workers),
		one("allocations", "steps in used memory allocate nothing", (*run[B, P, S]).allocations),
		one("sample", "a fit to rows from Π gives Π back", (*run[B, P, S]).sample),
	}
}

func (r *run[B, P, S]) shape() {
	_, variational := r.Model.(framework.Variational)
	for _, at := range r.early() {
		got := r.Model.Shape(at.p)
		if got.K != at.k {
			r.errorf("%s: Shape.K is %d", at.where, got.K)
		}
		if got.Identifiable() < 1 {
			r.errorf("%s: %d identifiable parameters", at.where, got.Identifiable())
		}
		for _, f := range r.curvatures() {
			blocks, err := f.of(at.s, at.p, nil)
			r.must(err, f.name, at.where)
			if blocks.Dim() != got.Component {
				r.errorf("%s: Shape.Component is %d, and %s is of size %d", at.where, got.Component, f.name, blocks.Dim())
			}
		}
		if r.Free != nil && !variational {
			if x, _ := r.Free(at.s, at.p); len(x) != got.Total() {
				r.errorf("%s: Shape.Component + Shape.Shared is %d, and there are %d free coordinates", at.where, got.Total(), len(x))
			}
		}
	}
	switch {
	case variational:
		r.notef("D_Π is not checked: the coordinates of %T are those of a posterior", r.Model)
	case r.Free == nil:
		r.notef("D_Π is not checked: Case.Free is not given")
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
		at.p = r.settled(at)
		best := r.Model.LogJoint(at.s, at.p)
		if best-best != 0 {
			r.fatalf("%s: LogJoint is %v at the maximum", at.where, best)
		}
		for _, rival := range r.rivals(at) {
			if v := r.Model.LogJoint(at.s, rival.p); !(v <= best+r.slack(best)) {
				r.errorf("%s: E_q[ln p] is %v, and %.3g higher at %s", at.where, best, v-best, rival.what)
			}
		}
		if r.Free != nil {
			worst = max(worst, r.slope(at, best))
		}
	}
	if r.Free == nil {
		r.notef("the gradient is not checked: Case.Free is not given")
	} else {
		r.notef("largest slope: %.2g nats over a distance that matters one nat", worst)
	}
}

// slope is the largest of the gradient of E_q[ln p], which is best at the state's
// parameters, along free coordinates in which a distance of 1 matters a nat.
func (r *run[B, P, S]) slope(at state[P, S], best float64) (largest float64) {
	x, point := r.Free(at.s, at.p)
	if len(x) == 0 {
		return 0
	}
	h := func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }
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
			r.errorf("%s: ∂E_q[ln p]÷∂Π is %.3g along free coordinate %d, where %.3g is a change of a nat", at.where, g/scale[i], i+1, scale[i])
		}
	}
	return largest
}

func (r *run[B, P, S]) curvature() {
	m := able[framework.Curved[P, S]](r, "Curved")
	r.given(r.Latent != nil, "Latent")
	if _, ok := r.Model.(framework.Penalized[P]); ok {
		r.skipf("E_q[ln p(X,Z|Π)] has no maximum at the mode of %T", r.Model)
	}
	worst := 0.0
	for _, at := range r.early() {
		at.p = r.settled(at)
		blocks, err := m.Curvature(at.s, at.p, nil)
		r.must(err, "Curvature", at.where)
		x, point := r.Latent(at.s, at.p)
		if len(x) != blocks.Dim() {
			r.fatalf("%s: Curvature is of size %d, and there are %d coordinates of Ξ", at.where, blocks.Dim(), len(x))
		}
		numeric := mat.NewSymDense(len(x), nil)
		laplace.Hessian(numeric, func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x, nil)
		f := dense(blocks)
		for i := range x {
			for j := range i + 1 {
				want, size := -numeric.At(i, j)/at.s.Weight(), math.Sqrt(f.At(i, i)*f.At(j, j))
				worst = max(worst, math.Abs(f.At(i, j)-want)/size)
				if !(math.Abs(f.At(i, j)-want) <= r.numeric()*size) {
					r.errorf("%s: F is %v at (%d, %d), and the numeric Hessian %v", at.where, f.At(i, j), i+1, j+1, want)
				}
			}
		}
		r.consistent(at.where, blocks, f)
	}
	r.notef("largest relative difference: %.2g", worst)
}

// consistent compares what blocks say of themselves, which is all that criteria and tilts
// see, with their entries.
func (r *run[B, P, S]) consistent(where string, blocks laplace.Blocks, f *mat.SymDense) {
	n := float64(blocks.Dim())
	want, sign := mat.LogDet(f)
	if got := blocks.LogDet(); sign <= 0 || !(math.Abs(got-want) <= r.numeric()*n) {
		r.errorf("%s: LogDet is %v, and ln|F| of its entries %v", where, got, want)
	}
	if trace := blocks.InverseTrace(blocks); !(math.Abs(trace-n) <= r.numeric()*n) {
		r.errorf("%s: tr(F⁻¹F) is %v, of size %v", where, trace, n)
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

func (r *run[B, P, S]) counts() {
	curved := able[framework.Curved[P, S]](r, "Curved")
	counted := able[framework.Counted[P, S]](r, "Counted")
	for _, at := range r.early() {
		counts, err := counted.Counts(at.s, at.p, nil)
		r.must(err, "Counts", at.where)
		c := dense(counts)
		for _, rival := range r.rivals(at) {
			others, err := counted.Counts(at.s, rival.p, nil)
			r.must(err, "Counts", at.where)
			if o := dense(others); !mat.EqualApprox(c, o, r.tolerance()*(1+mat.Max(c))) {
				r.errorf("%s: Counts changes with Π, at %s", at.where, rival.what)
			}
			// Another q at the same Π.
			s, _ := r.step(at.where, rival.p, nil, r.Data.all(0))
			var gap [2]float64
			for i, q := range []S{at.s, s} {
				full, err := curved.Curvature(q, at.p, nil)
				r.must(err, "Curvature", at.where)
				part, err := counted.Counts(q, at.p, nil)
				r.must(err, "Counts", at.where)
				gap[i] = full.LogDet() - part.LogDet()
			}
			if math.IsInf(counts.LogDet(), -1) || math.IsNaN(gap[1]) {
				continue // a latent dimension that the other q leaves empty
			}
			if !r.near(gap[0], gap[1], float64(counts.Dim())) {
				r.errorf("%s: ln|F| − ln|Counts| is %v, and changes by %.3g with q, to that at %s", at.where, gap[0], gap[1]-gap[0], rival.what)
			}
		}
	}
}

func (r *run[B, P, S]) localStep() {
	src := r.Data.all(0)
	for _, at := range r.early() {
		best := r.bound(at.s, at.entropy, at.p)
		for _, rival := range r.rivals(at) {
			s, entropy := r.step(at.where, rival.p, nil, src)
			if v := r.bound(s, entropy, at.p); !(v <= best+r.slack(best)) {
				r.errorf("%s: E_q[ln p] + H(q) is %v, and %.3g higher at the q of %s", at.where, best, v-best, rival.what)
			}
		}
	}
}

// A linearised penalty of a state: the curvature at it, whose tangent lies below −½ ln|F|.
func (r *run[B, P, S]) penalised(f curvatureOf[P, S], s S, entropy float64, p P, f0 laplace.Blocks, where string) (tangent, value float64) {
	blocks, err := f.of(s, p, nil)
	r.must(err, f.name, where)
	bound := r.bound(s, entropy, p)
	return bound + f0.Tangent(blocks), bound - blocks.LogDet()/2
}

func (r *run[B, P, S]) tiltedStep() {
	r.tiltable()
	src := r.Data.all(0)
	for _, f := range r.curvatures() {
		for _, at := range r.early() {
			next := r.maximize(at.where, at.s, at.p)
			f0, err := f.of(at.s, next, nil)
			r.must(err, f.name, at.where)
			tilt := &laplace.Tilt{F: f0, N: at.s.Weight()}
			s, entropy := r.step(at.where, next, tilt, src)
			best, _ := r.penalised(f, s, entropy, next, f0, at.where)
			judge := func(s S, entropy float64, what string) {
				if v, _ := r.penalised(f, s, entropy, next, f0, at.where); !(v <= best+r.slack(best)) {
					r.errorf("%s, %s: the objective is %v, and %.3g higher at the q of %s", at.where, f.name, best, v-best, what)
				}
			}
			plain, h := r.step(at.where, next, nil, src)
			judge(plain, h, "no tilt")
			for _, rival := range r.rivals(at) {
				plain, h := r.step(at.where, rival.p, nil, src)
				judge(plain, h, rival.what+" without a tilt")
				tilted, h := r.step(at.where, rival.p, tilt, src)
				judge(tilted, h, rival.what)
				other, err := f.of(plain, next, nil)
				r.must(err, f.name, at.where)
				tilted, h = r.step(at.where, next, &laplace.Tilt{F: other, N: at.s.Weight()}, src)
				judge(tilted, h, "the tilt at the q of "+rival.what)
			}
		}
	}
}

// tiltable skips the check where the model knows no F.
func (r *run[B, P, S]) tiltable() {
	if len(r.curvatures()) == 0 {
		r.skipf("%T is neither framework.Curved nor framework.Counted", r.Model)
	}
}

// qStep starts at the q's of a fit, and at others that the parameters do not go with:
// minorise–maximise works from any.
func (r *run[B, P, S]) qStep() {
	r.tiltable()
	src := r.Data.all(0)
	for _, f := range r.curvatures() {
		for _, at := range append(r.early(), r.late(f.method)...) {
			next := r.maximize(at.where, at.s, at.p)
			climb := func(s S, entropy float64, from string) {
				f0, err := f.of(s, next, nil)
				r.must(err, f.name, at.where)
				_, before := r.penalised(f, s, entropy, next, f0, at.where)
				if math.IsInf(before, 1) {
					return // a latent dimension is empty, and costs −∞
				}
				s, entropy = r.step(at.where, next, &laplace.Tilt{F: f0, N: s.Weight()}, src)
				if _, after := r.penalised(f, s, entropy, next, f0, at.where); !(after >= before-r.slack(before)) {
					r.errorf("%s, %s: the q-step from %s lowers the objective from %v by %.3g", at.where, f.name, from, before, before-after)
				}
			}
			climb(at.s, at.entropy, "the q that Π was maximised for")
			for _, rival := range r.few(at) {
				s, entropy := r.step(at.where, rival.p, nil, src)
				climb(s, entropy, "the q of "+rival.what)
			}
		}
	}
}

func (r *run[B, P, S]) likelihood() {
	m := able[framework.LogProber[B, P]](r, "LogProber")
	penalized, _ := r.Model.(framework.Penalized[P])
	src := r.Data.all(0)
	for _, at := range r.late(framework.EM) {
		s, entropy := r.step(at.where, at.p, nil, src)
		bound := r.bound(s, entropy, at.p)
		if penalized != nil {
			bound -= penalized.LogPrior(at.p)
		}
		rows, err := m.LogProb(src.blocks[0], at.p, nil)
		r.must(err, "LogProb", at.where)
		if len(rows) != r.Data.Rows {
			r.fatalf("%s: LogProb of %d rows has %d numbers", at.where, r.Data.Rows, len(rows))
		}
		sum := 0.0
		for _, v := range rows {
			sum += v
		}
		if !r.near(sum, bound, s.Weight()) {
			r.errorf("%s: Σ ln p(x_n|Π) is %v, and the bound %.3g more", at.where, sum, bound-sum)
		}
		again, err := m.LogProb(src.blocks[0], at.p, slices.Repeat([]float64{math.NaN()}, len(rows)))
		r.must(err, "LogProb", at.where)
		if !slices.Equal(rows, again) {
			r.errorf("%s: LogProb is another in the memory of dst", at.where)
		}
	}
}

func (r *run[B, P, S]) responsibilities() {
	m := able[framework.Assigner[B, P]](r, "Assigner")
	src := r.Data.all(0)
	for _, at := range r.late(framework.EM) {
		_, want := r.step(at.where, at.p, nil, src)
		q, err := m.Responsibilities(src.blocks[0], at.p, nil)
		r.must(err, "Responsibilities", at.where)
		if len(q) != r.Data.Rows*at.k {
			r.fatalf("%s: %d responsibilities for %d rows", at.where, len(q), r.Data.Rows)
		}
		entropy := 0.0
		for i := range r.Data.Rows {
			sum := 0.0
			for _, v := range q[i*at.k : (i+1)*at.k] {
				if sum += v; v > 0 {
					entropy -= v * math.Log(v)
				}
			}
			if !r.near(1, sum, 1) {
				r.errorf("%s: the responsibilities of row %d sum to %v", at.where, i+1, sum)
			}
		}
		if !r.near(want, entropy, float64(r.Data.Rows)) {
			r.errorf("%s: −Σ q ln q is %v, and the local step's entropy %v", at.where, entropy, want)
		}
	}
}

func (r *run[B, P, S]) expansion() {
	m := able[framework.Expander[P, S]](r, "Expander")
	counted, _ := r.Model.(framework.Counted[P, S])
	for _, charged := range []bool{false, true} {
		if charged && counted == nil {
			r.notef("the charged expansion is not checked: %T is not framework.Counted", r.Model)
			continue
		}
		objective := func(s S, entropy float64, p P, where string) float64 {
			v := r.bound(s, entropy, p)
			if charged {
				blocks, err := counted.Counts(s, p, nil)
				r.must(err, "Counts", where)
				v -= blocks.LogDet() / 2
			}
			return v
		}
		for _, at := range r.early() {
			at.where += fmt.Sprintf(", charged %v", charged)
			p := r.maximize(at.where, at.s, at.p)
			before := objective(at.s, at.entropy, p, at.where)
			p, gain, err := m.Expand(at.s, p, charged)
			r.must(err, "Expand", at.where)
			if after := objective(at.s, at.entropy+gain, p, at.where); !(after >= before-r.slack(before)) {
				r.errorf("%s: the expansion lowers the objective from %v by %.3g", at.where, before, before-after)
			}
		}
	}
}
