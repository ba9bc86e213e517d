// Package regress is the family of regressions: a [Family] describes one column of a table given the others, by normal
// responses, counts or successes (docs/theory/regression.md).
package regress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/huber"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
)

// Response is the distribution of a [Family]'s response given the regressors.
type Response int

const (
	// Normal is y ~ N(η, σ²) with a variance σ² for each class.
	Normal Response = iota
	// Counts is y ~ Poisson(e exp(η)), with an exposure e for each row.
	Counts
	// Successes is y ~ Binomial(m, 1/(1 + exp(−η))), with a number of trials m for each row.
	Successes
)

// A Family describes the first column of a table, the response, given the others: a generalised linear model with the
// predictor η = b₀ + Σ b_j x_j and coefficients b for each class. The regressors are given, without a density: the log
// density of a row is that of its response (docs/theory/regression.md). A row without a response (NaN) does not
// contribute to its class; a row with a response needs all regressors.
//
// Estimates of a normal response are weighted least squares, and its variance has a floor, Δ²/12 with Δ the resolution
// of the response, and 1e-10 of its variance in the table if that is more (see normal.Family). Newton's method
// estimates the other responses from the rows, with η in a class at most 10 from that of the table as one class, in the
// root of the mean square over the table. So there is a maximum even if a class's responses are all 0, or separated.
// Differences that Fixed coefficients could compensate do not count.
type Family struct {
	Response Response
	// Exposure says that the second column holds the trials of Successes, otherwise 1, or the exposure of Counts.
	Exposure bool
	// NoIntercept leaves b₀ out.
	NoIntercept bool
	// Fixed are the places of coefficients that all classes share: the intercept, if there is one, is 0, and the
	// regressors follow. At least one coefficient must differ between classes.
	Fixed []int
	Floor float64 // of a normal response, as for normal.Family
}

var regressionNames = [...]string{"regression", "regression-poisson", "regression-binomial"}

// Name is "regression", with the distribution of the response if it is not normal.
func (f Family) Name() string {
	if f.Response < 0 || int(f.Response) >= len(regressionNames) {
		return fmt.Sprintf("regression-%d", int(f.Response))
	}
	return regressionNames[f.Response]
}

// Columns is 0: the family takes all columns.
func (Family) Columns() int { return 0 }

// WithFloor returns the family with another Floor.
func (f Family) WithFloor(floor float64) family.Family {
	f.Floor = floor
	return f
}

// On takes the response, the exposure if there is one, and any number of regressors.
func (f Family) On(columns int) ([]family.Factor, error) {
	d := design{first: 1, intercept: !f.NoIntercept}
	if f.Exposure {
		d.first = 2
	}
	d.columns = columns - d.first
	switch {
	case f.Response < Normal || f.Response > Successes:
		return nil, fmt.Errorf("family: Response is %d; must be Normal, Counts or Successes", f.Response)
	case f.Response == Normal && f.Exposure:
		return nil, errors.New("family: a normal response has no exposure: weigh the rows instead")
	case d.columns < 0 || d.size() < 1:
		return nil, fmt.Errorf("family: %s of %d columns has no regressors, and no intercept", f.Name(), columns)
	}
	for i := range d.size() {
		if slices.Contains(f.Fixed, i) {
			d.fixed = append(d.fixed, i)
		} else {
			d.own = append(d.own, i)
		}
	}
	if len(d.fixed) != len(f.Fixed) || len(d.own) == 0 {
		return nil, fmt.Errorf("family: the fixed coefficients %v of %s must be different, from 0 to %d, and not all of them",
			f.Fixed, f.Name(), d.size()-1)
	}
	if f.Response != Normal {
		return []family.Factor{generalised{d, f}}, nil
	}
	floor, err := variances.FloorFactor(f.Name(), f.Floor)
	if len(d.fixed) > 0 {
		return []family.Factor{sharing{linear{d, floor}}}, err
	}
	return []family.Factor{linear{d, floor}}, err
}

// design says what the p regressors u of a row are: 1 and x − a, with a the mean of x in the table, so that nothing
// cancels; without an intercept of each class x itself. A line is the coefficients of u.
type design struct {
	first      int // of the factor's columns that hold x
	columns    int // of x
	intercept  bool
	own, fixed []int // coefficients of each class, and those that all share
}

// centred says that the centre is the mean of the table.
func (d design) centred() bool { return d.intercept && d.own[0] == 0 }

// every is all regressors.
func (d design) every() []int { return slices.Sorted(slices.Values(slices.Concat(d.own, d.fixed))) }

// size is p.
func (d design) size() int {
	if d.intercept {
		return 1 + d.columns
	}
	return d.columns
}

// columnOf is the factor's column of a regressor.
func (d design) columnOf(regressor int) int { return d.first + regressor - (d.size() - d.columns) }

// toLine makes the line of coefficients, given the centre a.
func (d design) toLine(coefficients, centre, line []float64) {
	copy(line, coefficients)
	if d.intercept {
		line[0] += linalg.Dot(coefficients[1:d.size()], centre)
	}
}

// fromLine makes the coefficients of a line.
func (d design) fromLine(line, centre, coefficients []float64) {
	copy(coefficients, line)
	if d.intercept {
		coefficients[0] -= linalg.Dot(line[1:], centre)
	}
}

// predictor is η of a row.
func (d design) predictor(coefficients, row []float64) float64 {
	x := row[d.first:][:d.columns]
	if d.intercept {
		return coefficients[0] + linalg.Dot(coefficients[1:d.size()], x)
	}
	return linalg.Dot(coefficients[:d.size()], x)
}

// observe keeps rows column-major. Those without a response have the exposure 0, and zeros in all their columns.
func (d design) observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	width := d.first + d.columns
	if finite, err := o.Transpose(b, at, first, n, width); finite || err != nil {
		return err
	}
	o.Complete, o.Exposures = false, make([]float64, o.Padded())
	for i := range n {
		row := o.Row(i, width)
		if math.IsNaN(row[0]) {
			for j := range width {
				o.X[j*o.Padded()+i] = 0
			}
			continue
		}
		o.Exposures[i] = 1
		for j, v := range row {
			switch {
			case math.IsNaN(v):
				return &blocks.DataError{
					Row:    o.Place(i),
					Column: at + j,
					Value:  v,
					Reason: errors.New("a row with a response needs all of its regressors: fill it in, or leave the row out"),
				}
			case math.IsInf(v, 0):
				return blocks.NotFinite(o.Place(i), at+j, v)
			}
		}
	}
	return nil
}

// regressors puts the columns of u into dst, p×padded rows.
func (d design) regressors(o *family.Observed, centre, dst []float64) {
	n := o.Padded()
	if d.intercept {
		linalg.Fill(dst[:n], 1)
		dst = dst[n:]
	}
	for j, a := range centre {
		for i, v := range linalg.Row(o.X, d.first+j, n) {
			dst[j*n+i] = v - a
		}
	}
}

// scatterIn is mean and covariance of n rows' regressors, whose products about their centre a are given, m×m.
func (d design) scatterIn(products []float64, m int, n float64, a []float64) (first int, mean, cov []float64) {
	if !d.centred() || d.columns == 0 {
		return 0, nil, nil
	}
	x := d.columns
	mean, cov = slices.Clone(a), make([]float64, x*x)
	for i := range x {
		mean[i] += products[1+i] / n
		for j := range x {
			cov[i*x+j] = products[(1+min(i, j))*m+1+max(i, j)]/n - products[1+i]/n*products[1+j]/n
		}
	}
	return d.first, mean, cov
}

// robustRow is Σ uuᵀ/N of regressors with that location and scatter, about the centre a; nil if no row lies far out.
func (d design) robustRow(w *family.Pooled, a []float64) *mat.SymDense {
	if len(w.Regressors) == 0 || !(w.Regressors[d.columns] > 0) {
		return nil
	}
	mean, cov := w.Regressors[:d.columns], w.Regressors[d.columns:]
	row := mat.NewSymDense(d.size(), nil)
	row.SetSym(0, 0, 1)
	for i, m := range mean {
		row.SetSym(0, 1+i, m-a[i])
		for j := i; j < d.columns; j++ {
			row.SetSym(1+i, 1+j, cov[i*d.columns+j]+(m-a[i])*(mean[j]-a[j]))
		}
	}
	return row
}

// charge is ln|count/worth + I|.
func charge(count *mat.SymDense, worth float64) (float64, bool) {
	n := count.SymmetricDim()
	count.ScaleSym(1/worth, count)
	for i := range n {
		count.SetSym(i, i, count.At(i, i)+1)
	}
	return logDetOf(count)
}

// width is the number of a row's features.
func (d design) width() int {
	n := 1
	for _, i := range d.own {
		if d.columnOf(i) >= d.first {
			n++
		}
	}
	return n
}

// features puts the response of each row, less what coefficients in common explain in the table w, if that is given,
// and the own regressors' columns into dst, n×width from its column at on. Columns of rows far out are brought nearer,
// by the location and scatter that w has.
func (d design) features(
	o *family.Observed, w *family.Pooled, response func(row []float64) float64, dst []float64, width, at int,
) {
	within := func(_ int, v float64) float64 { return v }
	if w != nil && len(w.Regressors) > 0 {
		within = func(j int, v float64) float64 {
			mean, far := w.Regressors[j], math.Sqrt(huber.Furthest(1, w.N)*w.Regressors[d.columns+j*(d.columns+1)])
			return min(max(v, mean-far), mean+far)
		}
	}
	for i := range o.N {
		row, to := o.Row(i, d.first+d.columns), append(dst[i*width+at:][:0], 0)
		to[0] = response(row)
		for _, j := range d.every() {
			switch c := d.columnOf(j); {
			case c < d.first:
			case !slices.Contains(d.fixed, j):
				to = append(to, within(c-d.first, row[c]))
			case w != nil:
				to[0] -= w.Parameters[j] * row[c]
			}
		}
	}
}

// predict puts η of each row into dst, given the columns of u.
func (d design) predict(u, line, dst []float64) {
	clear(dst)
	for j, b := range line {
		linalg.Axpy(b, linalg.Row(u, j, len(dst)), dst)
	}
}

// present are weights without those of rows that have no response; scratch is as long.
func present(o *family.Observed, weights, scratch []float64) []float64 {
	if o.Complete {
		return weights
	}
	for i, e := range o.Exposures {
		scratch[i] = e * weights[i]
	}
	return scratch
}

// addProducts adds the weighted products of columns t, m×len(w), to the upper triangle of sums, m×m.
func addProducts(t []float64, m int, w, scratch, sums []float64) {
	n := len(w)
	for i := range m {
		for row, v := range linalg.Row(t, i, n) {
			scratch[row] = w[row] * v
		}
		for j := i; j < m; j++ {
			sums[i*m+j] += linalg.Dot(scratch, linalg.Row(t, j, n))
		}
	}
}

// gram is Σ q uuᵀ, the first p rows of m×m sums of products.
func (d design) gram(sums []float64, m int) *mat.SymDense {
	p := d.size()
	g := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			g.SetSym(i, j, sums[i*m+j])
		}
	}
	return g
}

// submatrix has some rows and the same columns.
func submatrix(m mat.Symmetric, places []int) *mat.SymDense {
	to := mat.NewSymDense(len(places), nil)
	for i, a := range places {
		for j := i; j < len(places); j++ {
			to.SetSym(i, j, m.At(a, places[j]))
		}
	}
	return to
}

// undetermined is the first regressor that those before it determine in a class; ok is false where there is one.
func (d design) undetermined(gram *mat.SymDense) (regressor int, ok bool) {
	return linalg.Undetermined(d.size(), append([]float64(nil), gram.RawSymmetric().Data...))
}

// identified is an error where the table does not determine the coefficients: n rows, about the means of x.
func (d design) identified(gram *mat.SymDense, n float64) error {
	p := d.size()
	if !(n > 0) {
		return blocks.FaultyColumn(0, blocks.ErrNoValue)
	}
	if n < float64(p) {
		return fmt.Errorf(
			"family: %d coefficients need at least as many rows with a response, and there are %v: leave regressors out", p, n,
		)
	}
	for i := range p {
		v := gram.At(i, i)
		switch {
		case d.columnOf(i) < d.first:
		case v == 0:
			return blocks.FaultyColumn(d.columnOf(i), blocks.ErrConstant)
		case !(v > variances.Narrowest && v < variances.Widest):
			return blocks.FaultyColumn(d.columnOf(i),
				fmt.Errorf("has the mean square %.3g, near the limits of float64: rescale it", v/n))
		}
	}
	regressor, ok := d.undetermined(gram)
	switch {
	case ok:
		return nil
	case d.intercept && regressor == 0:
		return variances.ErrNoRows
	}
	return blocks.FaultyColumn(d.columnOf(regressor), errRegressor)
}

var errRegressor = errors.New("is a linear combination of the intercept and regressors before it: leave it out")

// dependent is the error of a class whose rows do not determine its coefficients.
func dependent() error {
	return fmt.Errorf("the rows do not determine the coefficients: %w; lower K", framework.ErrDegenerate)
}

// unit is the upper triangular U with UᵀU = Σ uuᵀ/N of the table, of the regressors given: in the coordinates U⁻ᵀu its
// matrix is I.
func (d design) unit(w *family.Pooled, products []float64, m int, of []int) *mat.TriDense {
	g := submatrix(d.gram(products, m), of)
	g.ScaleSym(1/w.Sums[0], g)
	if _, ok := linalg.NewCholesky(len(of), g.RawSymmetric().Data); !ok {
		panic("family: the regressors of the pooled table are dependent") // Pool lets none through
	}
	return mat.NewTriDense(len(of), mat.Upper, g.RawSymmetric().Data)
}

// sandwich is A⁻¹ S A⁻ᵀ, or A⁻ᵀ S A⁻¹.
func sandwich(a *mat.TriDense, trans blas.Transpose, s mat.Symmetric) *mat.SymDense {
	half := mat.DenseCopyOf(s)
	blas64.Trsm(blas.Left, trans, 1, a.RawTriangular(), half.RawMatrix())
	whole := mat.DenseCopyOf(half.T())
	blas64.Trsm(blas.Left, trans, 1, a.RawTriangular(), whole.RawMatrix())
	return linalg.SymmetricPart(whole)
}

// count is Σ q uuᵀ of a class's own regressors in the coordinates of unit.
func (d design) count(sums []float64, m int, w *family.Pooled, products []float64, dst *mat.SymDense) {
	dst.CopySym(sandwich(d.unit(w, products, m, d.own), blas.Trans, submatrix(d.gram(sums, m), d.own)))
}

// A leverage is ½ uᵀPu = ½‖R(x−m)‖² + constant, with R upper triangular.
type leverage struct {
	root, shift []float64 // R, and m less the centre
	constant    float64
}

// leverage of a precision in the coordinates of unit, of a class's own regressors.
func (d design) leverage(precision mat.Symmetric, unit *mat.TriDense) (leverage, error) {
	p, all := len(d.own), d.columns
	x := p // of the own regressors, those that are columns
	if d.centred() {
		x--
	}
	q := sandwich(unit, blas.NoTrans, precision)
	last := mat.NewSymDense(p, nil) // with the intercept behind x
	for i := range p {
		for j := i; j < p; j++ {
			last.SetSym((i+x)%p, (j+x)%p, q.At(i, j))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(last) {
		return leverage{}, dependent()
	}
	l := leverage{root: make([]float64, all*all), shift: make([]float64, all)}
	u, places := chol.RawU(), d.own[p-x:]
	column := func(i int) int { return d.columnOf(places[i]) - d.first }
	for i := range x {
		for j := i; j < x; j++ {
			l.root[column(i)*all+column(j)] = u.At(i, j)
		}
	}
	if d.centred() {
		l.constant = u.At(x, x) * u.At(x, x) / 2
		for i := x - 1; i >= 0; i-- {
			at := column(i)
			l.shift[at] = (-u.At(i, x) - linalg.Dot(l.root[at*all+at+1:(at+1)*all], l.shift[at+1:])) / u.At(i, i)
		}
	}
	return l, nil
}

// deviations puts the standard errors of a class's own coefficients, given those that all classes share, into dst, from
// the information about the line. How well the others are known, no class says alone: NaN.
func (d design) deviations(information mat.Symmetric, centre, dst []float64) {
	linalg.Fill(dst, math.NaN())
	inverse, known := inverseInUnits(submatrix(information, d.own))
	v := mat.NewVecDense(len(d.own), nil) // the intercept by the line
	for i, j := range d.own {
		if dst[j] = math.Inf(1); known {
			dst[j] = math.Sqrt(max(0, inverse.At(i, i)))
		}
		if c := d.columnOf(j) - d.first; c >= 0 {
			v.SetVec(i, -centre[c])
		} else {
			v.SetVec(i, 1)
		}
	}
	if known && d.centred() {
		dst[0] = math.Sqrt(max(0, mat.Inner(v, inverse, v)))
	}
}

// inverseInUnits is the inverse of an information, which is singular or not whatever the units of its numbers: it is
// inverted where the diagonal is 1.
func inverseInUnits(information *mat.SymDense) (inverse *mat.SymDense, ok bool) {
	p := information.SymmetricDim()
	units := make([]float64, p)
	for i := range units {
		units[i] = math.Sqrt(information.At(i, i))
	}
	rescale := func(m *mat.SymDense) {
		for i := range p {
			for j := i; j < p; j++ {
				m.SetSym(i, j, m.At(i, j)/units[i]/units[j])
			}
		}
	}
	rescale(information)
	var chol mat.Cholesky
	inverse = mat.NewSymDense(p, nil)
	if !chol.Factorize(information) || chol.InverseTo(inverse) != nil {
		return inverse, false
	}
	rescale(inverse)
	return inverse, true
}

// numbers describes the coefficients.
func (d design) numbers() (list []family.Number) {
	for j := range d.size() {
		if c := d.columnOf(j); c < d.first {
			list = append(list, family.Number{Name: "intercept", From: 0, To: 0})
		} else {
			list = append(list, family.Number{Name: "coefficient", From: c, To: c})
		}
	}
	return list
}

// Response is the first column.
func (d design) Response() int { return 0 }

// lowered adds −½‖R(x−m)‖² to scores of complete rows.
func (d design) lowered(o *family.Observed, root, m, to []float64) {
	if !slices.ContainsFunc(root, func(v float64) bool { return v != 0 }) { // no tilt
		return
	}
	n := o.Padded()
	simd.GaussianScores(to, o.X[d.first*n:], d.columns, n, 0, m, root, o.Work[len(o.Work)-simd.ScoresWork(d.columns):])
}
