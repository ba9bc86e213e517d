package regress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// linear has a normal response. With p regressors u, of columns x about the centre a, and residuals e = y − lᵀu about a
// line l, the numbers of one component are
//
//	sums    n; Σ(u, e)(u, e)ᵀ (upper triangle of (p+1)×(p+1))
//	anchor  l, of the class in that step, so that nothing cancels; a
//	score   c, m, R with score(y, x) = c − ½‖R((y, x) − m)‖²: the first row of R makes the residual, the others
//	        the leverage; l and a
//	params  coefficients, σ²
type linear struct {
	design
	floor float64 // factor of the squared resolution; 0: there is none
}

func (f linear) Name() string { return Family{}.Name() }

func (f linear) Layout() family.Layout {
	p, d := f.size(), 1+f.columns
	return family.Layout{
		Columns:    d,
		Features:   f.width(),
		Cells:      1,
		Free:       1,
		Design:     len(f.own),
		Shared:     len(f.fixed),
		Sums:       1 + (p+1)*(p+1),
		Anchor:     p + f.columns,
		Score:      1 + d + d*d + p + f.columns,
		Params:     p + 1,
		Regressors: f.columns + f.columns*f.columns,
	}
}

// split gives m, R, and what is an anchor, of a score.
func (f linear) split(score []float64) (m, root, anchor []float64) {
	d := 1 + f.columns
	return score[1 : 1+d], score[1+d : 1+d+d*d], score[1+d+d*d:]
}

// parts of an anchor.
func (f linear) parts(anchor []float64) (line, centre []float64) {
	return anchor[:f.size()], anchor[f.size():]
}

func (f linear) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	return f.observe(b, at, first, n, o)
}

func (f linear) AddScores(o *family.Observed, scores family.Table, r []float64) {
	d, n := 1+f.columns, o.Padded()
	o.Work = linalg.Resize(o.Work, n+simd.ScoresWork(d))
	own, work := o.Work[:n], o.Work[n:]
	for k := range scores.K {
		score, to := scores.Row(k, f.Layout().Score), linalg.Row(r, k, n)
		m, root, _ := f.split(score)
		if o.Complete {
			simd.GaussianScores(to, o.X, d, n, score[0], m, root, work)
			continue
		}
		clear(own)
		simd.GaussianScores(own, o.X, d, n, score[0], m, root, work)
		floats.Add(to, present(o, own, own))
	}
}

func (f linear) AddSums(o *family.Observed, r []float64, _, anchors, sums family.Table) (entropy float64) {
	p, n, l := f.size(), o.Padded(), f.Layout()
	o.Work = linalg.Resize(o.Work, (p+3)*n)
	t, scratch, own := o.Work[:(p+1)*n], linalg.Row(o.Work, p+1, n), linalg.Row(o.Work, p+2, n)
	u, e := t[:p*n], t[p*n:]
	for k := range sums.K {
		to := sums.Row(k, l.Sums)
		line, centre := f.parts(anchors.Row(k, l.Anchor))
		if k == 0 { // all classes have the same
			f.regressors(o, centre, u)
		}
		f.predict(u, line, e)
		floats.SubTo(e, o.X[:n], e)
		w := present(o, linalg.Row(r, k, n), own)
		to[0] += floats.Sum(w)
		addProducts(t, p+1, w, scratch, to[1:])
	}
	return 0
}

// solve is the maximum about an anchor: the line, less that of the anchor, and Σ(y − lᵀu)². ok is false where the rows
// do not determine it.
func (f linear) solve(sums []float64) (line *mat.VecDense, squares float64, ok bool) {
	p, m := f.size(), f.size()+1
	products := sums[1:]
	gram, right := f.gram(products, m), mat.NewVecDense(p, nil)
	for i := range p {
		right.SetVec(i, products[i*m+p])
	}
	var chol mat.Cholesky
	if _, ok := f.undetermined(gram); !ok || !chol.Factorize(gram) {
		return nil, 0, false
	}
	line = mat.NewVecDense(p, nil)
	_ = chol.SolveVecTo(line, right) // badly conditioned at worst
	return line, products[p*m+p] - mat.Dot(line, right), true
}

func (f linear) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	n, p := sums[0], f.size()
	if w == nil {
		if err := f.regular(sums, anchor); err != nil {
			return err
		}
	}
	if !(n > 0) {
		return variances.ErrNoRows
	}
	change, squares, ok := f.solve(sums)
	if !ok {
		return dependent()
	}
	line, centre := f.parts(anchor)
	floats.Add(change.RawVector().Data, line)
	f.fromLine(change.RawVector().Data, centre, xi)
	xi[p] = max(0, squares/n)
	switch {
	case w == nil && f.floor > 0, w != nil && len(w.Floor) > 0:
		return nil // SetFloor judges, Bound follows
	case w == nil && !(xi[p] > variances.Vanishing*sums[len(sums)-1]/n):
		return blocks.FaultyColumn(0,
			fmt.Errorf("is a linear function of the regressors, apart from rounding: nothing is left to explain"))
	case w != nil && !(xi[p] > variances.Vanishing*w.Parameters[p]):
		return fmt.Errorf("the rows lie on a line: %w; lower K, or allow a floor", framework.ErrDegenerate)
	}
	return nil
}

// regular is an error where the table does not determine a regression.
func (f linear) regular(sums, anchor []float64) error {
	n, p := sums[0], f.size()
	if err := f.identified(f.gram(sums[1:], p+1), n); err != nil {
		return err
	}
	if n < float64(p+1) {
		return fmt.Errorf(
			"family: %d coefficients and a variance need more rows with a response than %v: leave regressors out", p, n,
		)
	}
	square := sums[len(sums)-1] / n
	if f.intercept && variances.Constant(anchor[0], square) || square == 0 {
		return blocks.FaultyColumn(0, errResponse)
	}
	if !(square < variances.Widest) {
		return blocks.FaultyColumn(0,
			fmt.Errorf("has the mean square %.3g, near the limits of float64: rescale it", square))
	}
	return nil
}

// Spread is that of the residuals, and 0 for the regressors, whose resolution does not matter.
func (f linear) Spread(params []float64) []float64 {
	if f.floor == 0 {
		return nil
	}
	spread := make([]float64, 1+f.columns)
	spread[0] = params[f.size()]
	return spread
}

// SetFloor concerns the response alone.
func (f linear) SetFloor(steps []float64, w *family.Pooled) error {
	if f.floor == 0 {
		return nil
	}
	if math.IsInf(steps[0], 1) {
		return blocks.FaultyColumn(0, errResponse)
	}
	square := w.Sums[len(w.Sums)-1] / w.Sums[0] // about the mean, or about 0
	if w.Floor[0] = max(f.floor*steps[0]*steps[0]/12, variances.Finest*square); !(w.Floor[0] > variances.Narrowest) {
		return blocks.FaultyColumn(0,
			fmt.Errorf("has the mean square %.3g, near the limits of float64: rescale it", square))
	}
	return f.Bound(w, family.Table{K: 1, Stride: 0, Data: w.Parameters})
}

var errResponse = fmt.Errorf("is the response, and constant: there is nothing to explain")

// Bound raises variances to the floor.
func (f linear) Bound(w *family.Pooled, params family.Table) error {
	for k := range params.K {
		variance := &params.Row(k, f.size()+1)[f.size()]
		*variance = max(*variance, w.Floor[0])
	}
	return nil
}

// Doubts is empty: a residual variance on its floor is practically exact.
func (f linear) Doubts(*family.Pooled) []error { return nil }

func (f linear) Score(xi, score []float64) error {
	p := f.size()
	variance := xi[p]
	if !(variance > 0) {
		return fmt.Errorf("family: a residual variance is %v: %w", variance, framework.ErrDegenerate)
	}
	clear(score)
	score[0] = -math.Log(2*math.Pi*variance) / 2
	m, root, anchor := f.split(score)
	copy(anchor, xi[:p])
	if f.intercept {
		m[0] = xi[0]
	}
	sd := math.Sqrt(variance)
	root[0] = 1 / sd
	for j, b := range xi[p-f.columns : p] {
		root[1+j] = -b / sd
	}
	return nil
}

// Refine centres x.
func (f linear) Refine(w *family.Pooled, xi, score []float64) {
	m, _, anchor := f.split(score)
	line, centre := f.parts(anchor)
	_, pooled := f.parts(w.Anchor)
	copy(centre, pooled)
	f.toLine(xi[:f.size()], centre, line)
	copy(m[1:], centre)
	if f.intercept {
		m[0] = line[0]
	}
}

// Total is n·c − ½ Σ(y − lᵀu)²/σ².
func (f linear) Total(score, sums, anchor []float64) float64 {
	p, m := f.size(), f.size()+1
	_, root, at := f.split(score)
	v := make([]float64, m)
	floats.SubTo(v[:p], anchor[:p], at[:p])
	v[p] = 1
	quad := 0.0
	for i := range m {
		quad += v[i] * v[i] * sums[1+i*m+i]
		for j := i + 1; j < m; j++ {
			quad += 2 * v[i] * v[j] * sums[1+i*m+j]
		}
	}
	return sums[0]*score[0] - quad*root[0]*root[0]/2
}

// Center makes the means of the table the centre of x and of y; without an intercept nothing changes.
func (f linear) Center(sums, anchor []float64) {
	if !f.centred() || !(sums[0] > 0) {
		return
	}
	line, centre := f.parts(anchor)
	for j := range centre {
		centre[j] += sums[2+j] / sums[0]
	}
	line[0] += sums[1+f.size()] / sums[0]
}

func (f linear) Locate(score, anchor []float64) {
	_, _, at := f.split(score)
	copy(anchor, at)
}

// AddAbout adds sums about another line, with the same centre: with δ = l' − l, e = e' + δᵀu.
func (f linear) AddAbout(sums, anchor, others, another []float64) {
	p, m := f.size(), f.size()+1
	delta := make([]float64, p)
	floats.SubTo(delta, another[:p], anchor[:p])
	gram := f.gram(others[1:], m)
	for i := range p {
		cross, products := others[1+i*m+p], linalg.Dot(gram.RawSymmetric().Data[i*p+i:(i+1)*p], delta[i:])
		for j := range i {
			products += gram.At(i, j) * delta[j]
		}
		sums[1+i*m+p] += cross + products
		sums[len(sums)-1] += delta[i] * (2*cross + products)
		for j := i; j < p; j++ {
			sums[1+i*m+j] += others[1+i*m+j]
		}
	}
	sums[0] += others[0]
	sums[len(sums)-1] += others[len(others)-1]
}

// AddPooled treats regressors and responses as independent if rows lie far out, because these rows would determine the
// line of the table.
func (f linear) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	of := slices.Clone(w.Sums)
	_, centre := f.parts(w.Anchor)
	if row := f.robustRow(w, centre); row != nil {
		p, n := f.size(), w.Sums[0]
		for i := range p {
			for j := i; j < p; j++ {
				of[1+i*(p+1)+j] = n * row.At(i, j)
			}
			of[1+i*(p+1)+p] = 0
		}
		of[len(of)-1] = n * w.Reference[1]
	}
	linalg.Scale(weight/w.Sums[0], of)
	f.AddAbout(sums, anchor, of, w.Anchor)
}

// Features are the response and the own regressors' columns.
func (f linear) Features(o *family.Observed, dst []float64, width, at int) {
	f.Whiten(o, nil, dst, width, at)
}

func (f linear) RegressorScatter(w *family.Pooled) (first int, mean, cov []float64) {
	_, centre := f.parts(w.Anchor)
	return f.scatterIn(w.Sums[1:], f.size()+1, w.Sums[0], centre)
}

// Whiten is Features without the part that common coefficients explain in the table.
func (f linear) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	f.features(o, w, func(row []float64) float64 { return row[0] }, dst, width, at)
}

// Information is about σ²/v, with v the variance of the table.
func (f linear) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	r := w.Parameters[f.size()] / xi[f.size()]
	return append(dst, laplace.Diagonal{r * r / 2})
}

func (f linear) Count(sums []float64, w *family.Pooled, dst *mat.SymDense) {
	f.count(sums[1:], f.size()+1, w, w.Sums[1:], dst)
}

// Unit is v/σ².
func (f linear) Unit(xi []float64, w *family.Pooled) float64 {
	return w.Parameters[f.size()] / xi[f.size()]
}

func (f linear) Lower(precision mat.Symmetric, w *family.Pooled, score []float64) error {
	l, err := f.leverage(precision, f.unit(w, w.Sums[1:], f.size()+1, f.own))
	if err != nil {
		return err
	}
	d := 1 + f.columns
	m, root, anchor := f.split(score)
	line, centre := f.parts(anchor)
	score[0] -= l.constant
	slopes := line[f.size()-f.columns:]
	m[0] = linalg.Dot(slopes, l.shift)
	if f.intercept {
		m[0] += line[0]
	}
	for i, a := range centre {
		m[1+i] = a + l.shift[i]
		copy(root[(1+i)*d+1:], linalg.Row(l.root, i, f.columns))
	}
	return nil
}

// PooledDeviations are √(σ²(Σ q uuᵀ)⁻¹_jj) and σ²√(2/n).
func (f linear) PooledDeviations(xi, sums []float64, w *family.Pooled, dst []float64) {
	p := f.size()
	information := f.gram(sums[1:], p+1)
	information.ScaleSym(1/xi[p], information)
	_, centre := f.parts(w.Anchor)
	f.deviations(information, centre, dst[:p])
	dst[p] = xi[p] * math.Sqrt(2/sums[0])
}

func (f linear) Numbers() []family.Number {
	return append(f.numbers(), family.Number{Name: "variance", From: 0, To: 0})
}

// Valid reports whether the variance is positive.
func (f linear) Valid(xi []float64) bool { return xi[f.size()] > 0 }

// Mean is η.
func (f linear) Mean(xi, x []float64) float64 { return f.predictor(xi, x) }

// Sample draws the response of a row x, which holds the regressors.
func (f linear) Sample(xi []float64, rng *rand.Rand, x []float64) {
	x[0] = f.Mean(xi, x) + math.Sqrt(xi[f.size()])*rng.NormFloat64()
}

// SampleGiven is Sample.
func (f linear) SampleGiven(xi []float64, rng *rand.Rand, x []float64) { f.Sample(xi, rng, x) }

var (
	_ family.SumFactor          = linear{}
	_ family.Designed           = linear{}
	_ family.Whitener           = linear{}
	_ family.Anchored           = linear{}
	_ family.Bounder            = linear{}
	_ family.Predictor          = linear{}
	_ family.ConditionalSampler = linear{}
	_ family.PooledDeviator     = linear{}
	_ family.Numberer           = linear{}
)
