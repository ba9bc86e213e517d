package normal

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// StudentT is the multivariate t distribution of all columns, with heavy tails: rows far out hardly influence location
// and scale (Peel & McLachlan 2000, Statistics and Computing 10). A component has its location μ, its scale matrix Σ
// and, if Nu is 0, its own degrees of freedom ν, between 0.5 and 200; otherwise all have Nu. Rows must be complete. The
// scale matrix has the floor of a full covariance (see [Family]), above which its estimate is the exact maximum.
type StudentT struct {
	Nu    float64
	Floor float64 // that of a Gaussian
}

// WithFloor returns the family with another Floor.
func (f StudentT) WithFloor(floor float64) family.Family {
	f.Floor = floor
	return f
}

// Name is "student-t", with the degrees of freedom if they are fixed.
func (f StudentT) Name() string {
	if f.Nu == 0 {
		return "student-t"
	}
	return fmt.Sprintf("student-t-%v", f.Nu)
}

// Creeps reports whether the degrees of freedom are estimated: they converge slowly if large.
func (f StudentT) Creeps() bool { return f.Nu == 0 }

// Columns is 0: the family takes all columns.
func (StudentT) Columns() int { return 0 }

// On needs 1 column or more.
func (f StudentT) On(columns int) ([]family.Factor, error) {
	switch {
	case columns < 1:
		return nil, fmt.Errorf("family: %s needs 1 column or more, and the table has %d", f.Name(), columns)
	case f.Nu != 0 && !(f.Nu >= fewestDegrees && f.Nu <= mostDegrees):
		return nil, fmt.Errorf("family: the degrees of freedom are %v; must be from %v to %v, or 0 to estimate them", f.Nu,
			fewestDegrees, mostDegrees)
	}
	floor, err := variances.FloorFactor(f.Name(), f.Floor)
	return []family.Factor{studentT{gaussian{d: columns, floor: floor}, f}}, err
}

// The range of ν, at the end of which a distribution is normal to any table, and where it begins.
const fewestDegrees, mostDegrees, firstDegrees = 0.5, 200, 8

// studentT is the scale mixture x|u ~ N(μ, Σ/u), u ~ Gamma(ν/2, ν/2), with
//
//	q(u) = Gamma((ν+D)/2, (ν+δ)/2),  δ = (x−μ)ᵀΣ⁻¹(x−μ).
//
// The numbers of one component are
//
//	sums    n; those of a Gaussian with weights E[u]; Σ E[ln u]
//	anchor  a
//	score   c; that of a Gaussian without its constant; ν; ln(2π)^(−D/2)|Σ|^(−½), with ln p(x) = c − (ν+D)/2 ln(1 + δ/ν)
//	params  μ, Σ, ν
type studentT struct {
	gaussian
	of StudentT
}

func (f studentT) Name() string { return f.of.Name() }

func (f studentT) Layout() family.Layout {
	l := f.gaussian.Layout()
	l.Sums, l.Score, l.Params, l.Hyper = l.Sums+2, l.Score+3, l.Params+1, l.Columns+1
	if f.of.Nu == 0 {
		l.Free++
	}
	return l
}

// parts of sums are n, those of the Gaussian, and the last.
func (f studentT) parts(sums []float64) (n float64, normal []float64, logs float64) {
	last := len(sums) - 1
	return sums[0], sums[1:last], sums[last]
}

// normal is the Gaussian's part of a score.
func (f studentT) normal(score []float64) []float64 { return score[1 : 2+f.d+f.d*f.d] }

// degrees of a score, 0 before there is one.
func (f studentT) degrees(score []float64) float64 { return score[2+f.d+f.d*f.d] }

func (f studentT) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	if ok, err := o.Transpose(b, at, first, n, f.d); ok || err != nil {
		return err
	}
	for i := range n {
		for j, v := range o.Row(i, f.d) {
			if math.IsNaN(v) {
				return &blocks.DataError{Row: b.First + first + i, Column: at + j, Value: v,
					Reason: fmt.Errorf("%s needs complete rows; take a Gaussian, or leave the row out", f.Name())}
			}
			if v-v != 0 {
				return blocks.NotFinite(b.First+first+i, at+j, v)
			}
		}
	}
	return nil
}

// work is scratch of three numbers a row and what the kernels take.
func (f studentT) work(o *family.Observed) (delta, weights, logs, kernels []float64) {
	n := o.Padded()
	o.Work = linalg.Resize(o.Work, 3*n+max(simd.ScoresWork(f.d), simd.MomentsWork(f.d, n)))
	return o.Work[:n], o.Work[n : 2*n], o.Work[2*n : 3*n], o.Work[3*n:]
}

// distances puts δ of each row under a class into dst.
func (f studentT) distances(o *family.Observed, score, dst, work []float64) {
	m, root := f.split(f.normal(score), 1)
	clear(dst)
	simd.GaussianScores(dst, o.X, f.d, len(dst), 0, m, root, work)
	linalg.Scale(-2, dst)
}

func (f studentT) AddScores(o *family.Observed, scores family.Table, r []float64) {
	n, l := o.Padded(), f.Layout()
	farther, _, logs, work := f.work(o)
	for k := range scores.K {
		score, to := scores.Row(k, l.Score), linalg.Row(r, k, n)
		nu := f.degrees(score)
		f.distances(o, score, farther, work)
		linalg.Scale(1/nu, farther)
		floats.AddConst(1, farther)
		simd.Log(logs, farther)
		floats.AddConst(score[0], to)
		floats.AddScaled(to, -(nu+float64(f.d))/2, logs)
	}
}

// AddJoints is AddScores.
func (f studentT) AddJoints(o *family.Observed, scores family.Table, r []float64) {
	f.AddScores(o, scores, r)
}

// AddSums adds expectations under q(u), and returns its entropy. Before there are scores every u is 1, with the E[ln u]
// of firstDegrees.
func (f studentT) AddSums(o *family.Observed, r []float64, scores, anchors, sums family.Table) (entropy float64) {
	n, d, l := o.Padded(), f.d, f.Layout()
	rates, weights, logRates, work := f.work(o)
	first := special.DigammaExcess(firstDegrees / 2)
	for k := range sums.K {
		score, to, q := scores.Row(k, l.Score), sums.Row(k, l.Sums), linalg.Row(r, k, n)[:o.N]
		total := floats.Sum(q)
		to[0] += total
		if total == 0 {
			continue
		}
		copy(weights, q)
		if nu := f.degrees(score); nu > 0 {
			f.distances(o, score, rates, work)
			floats.AddConst(nu, rates)
			linalg.Scale(0.5, rates)
			simd.Log(logRates, rates)
			shape, logs := (nu+float64(f.d))/2, floats.Dot(q, logRates[:o.N])
			lgamma, _ := math.Lgamma(shape)
			digamma := math.Log(shape) + special.DigammaExcess(shape)
			entropy += total*(shape+lgamma+(1-shape)*digamma) - logs
			to[l.Sums-1] += total*digamma - logs
			linalg.Scale(shape, weights[:o.N])
			floats.Div(weights[:o.N], rates[:o.N])
		} else {
			to[l.Sums-1] += total * first
		}
		clear(weights[o.N:])
		normal := to[1:]
		first, second := f.split(normal, 1)
		sum := simd.GaussianMoments(first, second, o.X, d, n, anchors.Row(k, d), weights, work)
		normal[0] += sum
		floats.AddConst(sum, f.values(normal))
	}
	return entropy
}

// Estimate is μ = a + Σu(x−a)/Σu, Σ = Σu(x−μ)(x−μ)ᵀ/n, and ν where ln(ν/2) − ψ(ν/2) = Σ(u − ln u)/n − 1.
func (f studentT) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	n, normal, logs := f.parts(sums)
	if !(n > 0) {
		return variances.ErrNoRows
	}
	mean, cov := f.split(xi, 0)
	first, second := f.split(normal, 1)
	for a := range f.d {
		mean[a] = anchor[a] + first[a]/normal[0]
		for c := a; c < f.d; c++ {
			cov[a*f.d+c] = (second[a*f.d+c] - first[a]/normal[0]*first[c]) / n
		}
	}
	linalg.Mirror(f.d, cov)
	xi[len(xi)-1] = f.of.Nu
	if f.of.Nu == 0 {
		gap := (normal[0]-logs)/n - 1
		xi[len(xi)-1] = min(mostDegrees, max(fewestDegrees, 2/special.GammaSpread(max(gap, 1e-9))))
	}
	switch {
	case w == nil && f.floor > 0:
		return nil // SetFloor judges
	case w == nil:
		return f.varied(mean, cov)
	case len(w.Floor) > 0:
		return nil // Bound follows
	}
	return f.regular(cov, w)
}

// asNormal is the table as a Gaussian's, with the weights that rows have without a density.
func (f studentT) asNormal(w *family.Pooled) *family.Pooled {
	normal := *w
	_, normal.Sums, _ = f.parts(w.Sums)
	normal.Parameters = w.Parameters[:len(w.Parameters)-1]
	if len(w.Reference) > 0 {
		normal.Reference = w.Reference[:len(w.Reference)-1]
	}
	return &normal
}

func (f studentT) Spread(params []float64) []float64 {
	return f.gaussian.Spread(params[:len(params)-1])
}

func (f studentT) SetFloor(steps []float64, w *family.Pooled) error {
	return f.gaussian.SetFloor(steps, f.asNormal(w))
}

func (f studentT) Doubts(w *family.Pooled) []error { return f.gaussian.Doubts(f.asNormal(w)) }

// Refine keeps the Gaussian's constant in the place that Score uses.
func (f studentT) Refine(w *family.Pooled, xi, score []float64) {
	if len(w.Floor) == 0 {
		return
	}
	normal, base := f.normal(score), &score[len(score)-1]
	normal[0] = *base
	f.gaussian.Refine(f.asNormal(w), xi[:len(xi)-1], normal)
	score[0] += normal[0] - *base
	*base, normal[0] = normal[0], 0
}

func (f studentT) Score(xi, score []float64) error {
	d, nu := float64(f.d), xi[len(xi)-1]
	if !(nu >= fewestDegrees && nu <= mostDegrees) {
		return fmt.Errorf("family: the degrees of freedom are %v; must be from %v to %v", nu, fewestDegrees, mostDegrees)
	}
	normal := f.normal(score)
	if err := f.gaussian.Score(xi[:len(xi)-1], normal); err != nil {
		return err
	}
	base := normal[0]
	normal[0] = 0
	whole, _ := math.Lgamma((nu + d) / 2)
	half, _ := math.Lgamma(nu / 2)
	score[0] = whole - half - d/2*math.Log(nu/2) + base
	score[len(score)-2], score[len(score)-1] = nu, base
	return nil
}

func (f studentT) Center(sums, anchor []float64) {
	_, normal, _ := f.parts(sums)
	f.gaussian.Center(normal, anchor)
}

func (f studentT) Locate(score, anchor []float64) { f.gaussian.Locate(f.normal(score), anchor) }

func (f studentT) AddAbout(sums, anchor, others, another []float64) {
	n, theirs, logs := f.parts(others)
	_, normal, _ := f.parts(sums)
	f.gaussian.AddAbout(normal, anchor, theirs, another)
	sums[0] += n
	sums[len(sums)-1] += logs
}

// Total is Σ E[ln p(x, u)].
func (f studentT) Total(score, sums, anchor []float64) float64 {
	n, normal, logs := f.parts(sums)
	nu := f.degrees(score)
	half, _ := math.Lgamma(nu / 2)
	return n*(score[len(score)-1]+nu/2*math.Log(nu/2)-half) + ((float64(f.d)+nu)/2-1)*logs - nu/2*normal[0] +
		f.gaussian.Total(f.normal(score), normal, anchor)
}

// AddPooled adds a part of the table.
func (f studentT) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	part := floats.ScaleTo(make([]float64, len(sums)), weight/w.Sums[0], w.Sums)
	f.AddAbout(sums, anchor, part, w.Anchor)
}

func (f studentT) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	f.gaussian.Whiten(o, f.asNormal(w), dst, width, at)
}

func (f studentT) Numbers() []family.Number {
	list := f.gaussian.Numbers()
	for i := range list {
		if i >= f.d { // Σ is no covariance, which is νΣ/(ν−2)
			list[i].Name = "scale " + list[i].Name
		}
	}
	return append(list, family.Number{Name: "degrees of freedom", From: 0, To: f.d - 1})
}

// Deviations are unknown.
func (f studentT) Deviations(_, _ []float64, _ float64, dst []float64) { linalg.Fill(dst, math.NaN()) }

// Contrast is that of normal distributions with the same locations and scales.
func (f studentT) Contrast(xi, pooled, dst []float64) {
	f.gaussian.Contrast(xi[:len(xi)-1], pooled[:len(pooled)-1], dst)
}

func (f studentT) Sample(xi []float64, rng *rand.Rand, x []float64) {
	nu := xi[len(xi)-1]
	f.gaussian.Sample(xi[:len(xi)-1], rng, x)
	root := math.Sqrt(distuv.Gamma{Alpha: nu / 2, Beta: nu / 2, Src: rng}.Rand())
	for a := range x {
		x[a] = xi[a] + (x[a]-xi[a])/root
	}
}

// Conjugate returns an error.
func (f studentT) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) {
	return nil, fmt.Errorf("family: %s has no conjugate prior, which MAP and variational Bayes need: take EM, FAB or gFAB",
		f.Name())
}

func (f studentT) Valid(xi []float64) bool { return f.gaussian.Valid(xi[:len(xi)-1]) }

// Information is that of a row of the t distribution, u integrated out (Lange, Little & Taylor 1989), in (μ, vech Σ)
// after the map that gives the table's Σ the value I, and ln(1 + 1/ν).
func (f studentT) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	last := len(xi) - 1
	info := &studentInformation{nu: xi[last], free: f.of.Nu == 0}
	_, cov := f.split(xi[:last], 0)
	_, all := f.split(w.Parameters[:last], 0)
	info.set(f.gaussian, cov, all, w.Floor)
	return append(dst, info)
}

// studentInformation changes that of a normal distribution, P ⊕ M with M of vech Σ, to
//
//	aP ⊕ (aM − bttᵀ), a = (ν+D)/(ν+D+2), b = 1/(2(ν+D+2)),
//
// where t·vech dΣ = tr(P dΣ), bordered by −ct of ν, c = 1/((ν+D)(ν+D+2)), and by ν's own.
type studentInformation struct {
	normalInformation
	nu   float64
	free bool // ν is a parameter
}

// terms are a, b, and those of φ = ln(1 + 1/ν): its cross term and its own.
func (f *studentInformation) terms() (a, b, cross, own float64) {
	nu, d := f.nu, float64(f.d)
	slope := nu * (nu + 1) // −dν/dφ
	own = (special.Trigamma(nu/2)-special.Trigamma((nu+d)/2))/4 - d*(nu+d+4)/(2*nu*(nu+d)*(nu+d+2))
	return (nu + d) / (nu + d + 2), 1 / (2 * (nu + d + 2)), slope / ((nu + d) * (nu + d + 2)), own * slope * slope
}

func (f *studentInformation) SymmetricDim() int {
	n := f.normalInformation.SymmetricDim()
	if f.free {
		n++
	}
	return n
}

func (f *studentInformation) Dims() (r, c int) { n := f.SymmetricDim(); return n, n }

func (f *studentInformation) T() mat.Matrix { return f }

// LogDet uses tᵀM⁻¹t = 2D.
func (f *studentInformation) LogDet() float64 {
	a, _, cross, own := f.terms()
	d, nu := float64(f.d), f.nu
	sum := f.normalInformation.LogDet() + (d+d*(d+1)/2)*math.Log(a) + math.Log(nu/(nu+d))
	if f.free {
		sum += math.Log(own - cross*cross*2*d/a*(nu+d)/nu)
	}
	return sum
}

func (f *studentInformation) At(i, j int) float64 { return f.dense().At(i, j) }

func (f *studentInformation) Eigenvalues(dst []float64) []float64 { return f.dense().Eigenvalues(dst) }

func (f *studentInformation) InverseTrace(g mat.Symmetric) float64 { return f.dense().InverseTrace(g) }

// dense writes the matrix down.
func (f *studentInformation) dense() *laplace.Dense {
	a, b, cross, own := f.terms()
	n, m := f.SymmetricDim(), f.normalInformation.SymmetricDim()
	normal, p := f.normalInformation.dense(), f.precision()
	var trace []float64
	for i := range f.d {
		for j := i; j < f.d; j++ {
			v := 2 * p.At(i, j)
			if i == j {
				v /= 2
			}
			trace = append(trace, v)
		}
	}
	info := mat.NewSymDense(n, nil)
	for i := range m {
		for j := i; j < m; j++ {
			v := a * normal.At(i, j)
			if i >= f.d {
				v -= b * trace[i-f.d] * trace[j-f.d]
			}
			info.SetSym(i, j, v)
		}
	}
	if f.free {
		for i, v := range trace {
			info.SetSym(f.d+i, m, cross*v)
		}
		info.SetSym(m, m, own)
	}
	return laplace.NewDense(info)
}
