package regress

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/laplace"
)

// The evidence of regressions (docs/theory/evidence.md, section 9). Coefficients have a normal prior about the
// response's mean with the information of one row of the table (g = N of Zellner 1986); a residual variance s that of a
// variance, ln(s/v) ~ N(0, 2).

// zellner is the prior of a line: that of a class's own coefficients, and that of those in common, once.
type zellner struct {
	design
	middle    []float64     // the intercept alone
	precision *mat.SymDense // without products of own coefficients and those in common
	worth     float64       // rows
	variance  float64       // of a normal response about its mean, or about 0 without an intercept
	root      *mat.TriDense // lower, of the precision of own coefficients; nil if it has none
}

// zellner is the prior with the information of a row, p×p.
func (d design) zellner(middle []float64, row *mat.SymDense, worth float64) *zellner {
	z := &zellner{design: d, middle: middle, precision: row, worth: worth}
	z.precision.ScaleSym(worth, row)
	for _, i := range d.own {
		for _, j := range d.fixed {
			z.precision.SetSym(i, j, 0)
		}
	}
	var chol mat.Cholesky
	if chol.Factorize(submatrix(z.precision, z.own)) {
		z.root = new(mat.TriDense)
		chol.LTo(z.root)
	}
	return z
}

// arm is what one class says of the coefficients: the second derivatives H and the gradient of −ln p about its line.
type arm struct {
	own    linalg.Cholesky // of H_bb + P_bb
	cross  *mat.Dense      // H_cb
	follow *mat.Dense      // H_cb (H_bb + P_bb)⁻¹
}

// armOf is false where numbers are not finite.
func (z *zellner) armOf(information *mat.SymDense) (a *arm, ok bool) {
	a = &arm{}
	own := submatrix(information, z.own)
	own.AddSym(own, submatrix(z.precision, z.own))
	if a.own, ok = linalg.NewCholesky(len(z.own), own.RawSymmetric().Data); !ok || len(z.fixed) == 0 {
		return a, ok
	}
	a.cross = mat.NewDense(len(z.fixed), len(z.own), nil)
	for i, c := range z.fixed {
		for j, b := range z.own {
			a.cross.Set(i, j, information.At(c, b))
		}
	}
	a.follow = mat.DenseCopyOf(a.cross)
	a.own.SolveRight(a.follow.RawMatrix())
	return a, true
}

// addSchur adds what is left of the information about the coefficients in common.
func (z *zellner) addSchur(a *arm, information, sum *mat.SymDense) {
	for i, c := range z.fixed {
		for j := i; j < len(z.fixed); j++ {
			sum.SetSym(i, j, sum.At(i, j)+information.At(c, z.fixed[j])-mat.Dot(a.cross.RowView(i), a.follow.RowView(j)))
		}
	}
}

// gap is l − middle at some places.
func (z *zellner) gap(line []float64, places []int) *mat.VecDense {
	v := z.at(line, places)
	v.SubVec(v, z.at(z.middle, places))
	return v
}

// steps are those of all lines to the maximum of Σ gᵀs − ½sᵀHs and the prior, over own coefficients and those in
// common.
func (z *zellner) steps(lines, gradients [][]float64, informations []*mat.SymDense) (steps [][]float64, err error) {
	arms, pulls := make([]*arm, len(lines)), make([]*mat.VecDense, len(lines))
	shared, sum, pull := new(mat.VecDense), new(mat.SymDense), new(mat.VecDense)
	if len(z.fixed) > 0 {
		sum = submatrix(z.precision, z.fixed)
		pull.MulVec(sum, z.gap(lines[0], z.fixed))
		pull.ScaleVec(-1, pull)
	}
	for k, line := range lines {
		var ok bool
		if arms[k], ok = z.armOf(informations[k]); !ok {
			return nil, family.ClassError(k, dependent())
		}
		var right mat.VecDense
		right.MulVec(submatrix(z.precision, z.own), z.gap(line, z.own))
		for i, b := range z.own {
			right.SetVec(i, gradients[k][b]-right.AtVec(i))
		}
		pulls[k] = &right
		arms[k].own.SolveRight(blas64.General{Rows: 1, Cols: right.Len(), Stride: right.Len(), Data: right.RawVector().Data})
		if len(z.fixed) > 0 {
			z.addSchur(arms[k], informations[k], sum)
			for i, c := range z.fixed {
				pull.SetVec(i, pull.AtVec(i)+gradients[k][c]-mat.Dot(arms[k].cross.RowView(i), pulls[k]))
			}
		}
	}
	if len(z.fixed) > 0 {
		var chol mat.Cholesky
		if !chol.Factorize(sum) {
			return nil, dependent()
		}
		_ = chol.SolveVecTo(shared, pull)
	}
	for k := range lines {
		step := make([]float64, z.size())
		for i, c := range z.fixed {
			step[c] = shared.AtVec(i)
		}
		for i, b := range z.own {
			step[b] = pulls[k].AtVec(i)
			if len(z.fixed) > 0 {
				step[b] -= mat.Dot(arms[k].follow.ColView(i), shared)
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// penalty is how far the prior at the lines is below that at its mode, in nats.
func (z *zellner) penalty(lines [][]float64) float64 {
	sum := 0.0
	for _, line := range lines {
		sum += z.distance(line, z.own)
	}
	return sum + z.distance(lines[0], z.fixed)
}

// gain is by how much the likelihood and the prior rise in the first order.
func (z *zellner) gain(lines, gradients, steps [][]float64) (sum float64) {
	pull := func(k int, places []int) float64 {
		if len(places) == 0 {
			return 0
		}
		return mat.Inner(z.gap(lines[k], places), submatrix(z.precision, places), z.at(steps[k], places))
	}
	for k, step := range steps {
		sum += floats.Dot(step, gradients[k]) - pull(k, z.own)
	}
	return sum - pull(0, z.fixed)
}

// at are some of the entries of a line.
func (z *zellner) at(line []float64, places []int) *mat.VecDense {
	v := mat.NewVecDense(len(places), nil)
	for i, j := range places {
		v.SetVec(i, line[j])
	}
	return v
}

func (z *zellner) distance(line []float64, places []int) float64 {
	if len(places) == 0 {
		return 0
	}
	gap := z.gap(line, places)
	return mat.Inner(gap, submatrix(z.precision, places), gap) / 2
}

// integrals are those over the coefficients: where Σ q uuᵀ = count in the coordinates of unit, of the class's own,
// ½ ln|count/worth + I| is charged, without the half, by [family.Classes.Integrals], and here what ½ ln|P⁻¹H + I| is
// more.
func (z *zellner) integrals(n float64, lines [][]float64, informations []*mat.SymDense, charged []float64,
	add func(class, cell int, t laplace.Term)) error {
	if z.root == nil {
		return dependent()
	}
	before := 0.0
	for i := range z.own {
		before += 2 * math.Log(z.root.At(i, i))
	}
	var sum *mat.SymDense
	if len(z.fixed) > 0 {
		sum = submatrix(z.precision, z.fixed)
	}
	for k, line := range lines {
		a, ok := z.armOf(informations[k])
		if !ok {
			return family.ClassError(k, dependent())
		}
		add(k, 0, laplace.Term{Distance: z.distance(line, z.own), Information: (a.own.LogDet() - before - charged[k]) / 2})
		if sum != nil {
			z.addSchur(a, informations[k], sum)
		}
	}
	if sum == nil {
		return nil
	}
	t := laplace.Term{Size: len(z.fixed), Count: n, Worth: z.worth, Distance: z.distance(lines[0], z.fixed)}
	after, ok := logDetOf(sum)
	alone, known := logDetOf(submatrix(z.precision, z.fixed))
	if !ok || !known {
		return dependent()
	}
	t.Information = (after - alone - float64(t.Size)*math.Log1p(n/z.worth)) / 2
	add(-1, 0, t)
	return nil
}

func logDetOf(m *mat.SymDense) (v float64, ok bool) {
	c, ok := linalg.NewCholesky(m.SymmetricDim(), slices.Clone(m.RawSymmetric().Data))
	if ok {
		v = c.LogDet()
	}
	return v, ok
}

// ---- Normal responses

// prior is that of lines.
func (f linear) prior(of *family.Reference) *zellner {
	if z, known := of.Memory.Value.(*zellner); known {
		return z
	}
	w, p := of.Pooled, f.size()
	n, middle := w.Sums[0], make([]float64, p)
	variance := w.Sums[len(w.Sums)-1] / n
	if f.intercept {
		response := w.Reference
		if len(response) == 0 {
			response = make([]float64, p+1)
			f.Scatter(w.Sums, w.Anchor, response)
		}
		middle[0], variance = response[0], response[1]
	}
	_, centre := f.parts(w.Anchor)
	row := f.robustRow(w, centre)
	if row == nil {
		row = f.gram(w.Sums[1:], p+1)
		row.ScaleSym(1/n, row)
	}
	row.ScaleSym(1/variance, row)
	z := f.zellner(middle, row, of.Prior.RowsOr())
	z.variance, of.Memory.Value = variance, z
	return z
}

// ScatterForm is of its response alone.
func (f linear) ScatterForm() (groups, width int, matrix bool) {
	if !f.intercept {
		return 0, 0, false
	}
	return 1, 1, false
}

// ScatterOf is mean and variance of the response, where Scatter puts them.
func (f linear) ScatterOf(xi []float64) []float64 { return xi[:2] }

// Scatter puts mean and variance of the response into the first places of dst.
func (f linear) Scatter(sums, anchor, dst []float64) {
	n := sums[0]
	shift := sums[1+f.size()] / n
	dst[0], dst[1] = anchor[0]+shift, sums[len(sums)-1]/n-shift*shift
}

// MaximizePosterior is the maximum in the coefficients given the variances before, and then in the variances.
func (f linear) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	p, l := f.size(), f.Layout()
	z := f.prior(of)
	lines, gradients, informations := make([][]float64, params.K), make([][]float64, params.K),
		make([]*mat.SymDense, params.K)
	for k := range params.K {
		products, s := sums.Row(k, l.Sums)[1:], params.Row(k, p+1)[p]
		lines[k], _ = f.parts(anchors.Row(k, l.Anchor))
		gradients[k], informations[k] = make([]float64, p), f.gram(products, p+1)
		informations[k].ScaleSym(1/s, informations[k])
		for i := range p {
			gradients[k][i] = products[i*(p+1)+p] / s
		}
	}
	steps, err := z.steps(lines, gradients, informations)
	if err != nil {
		return err
	}
	for k, step := range steps {
		row, xi := sums.Row(k, l.Sums), params.Row(k, p+1)
		_, centre := f.parts(anchors.Row(k, l.Anchor))
		squares := row[l.Sums-1]
		at := mat.NewVecDense(p, step)
		squares += xi[p] * (mat.Inner(at, informations[k], at) - 2*floats.Dot(step, gradients[k]))
		floats.Add(step, lines[k])
		f.fromLine(step, centre, xi)
		xi[p] = z.variance * math.Exp(laplace.LogVarianceMode(row[0], max(0, squares)/(row[0]*z.variance), z.worth))
	}
	return nil
}

// Integrals are exact in the coefficients given the variances, and by Laplace's method in the variances, at their mode.
func (f linear) Integrals(
	sums, anchors, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	p, l := f.size(), f.Layout()
	z := f.prior(of)
	_, centre := f.parts(of.Pooled.Anchor)
	lines, informations, charged, n := make([][]float64, params.K), make([]*mat.SymDense, params.K),
		make([]float64, params.K), 0.0
	count := mat.NewSymDense(len(f.own), nil)
	for k := range params.K {
		row, xi := sums.Row(k, l.Sums), params.Row(k, p+1)
		n += row[0]
		lines[k] = make([]float64, p)
		f.toLine(xi, centre, lines[k])
		informations[k] = f.gram(row[1:], p+1)
		informations[k].ScaleSym(1/xi[p], informations[k])
		x := math.Log(xi[p] / z.variance)
		line, _ := f.parts(anchors.Row(k, l.Anchor))
		m := z.profile(row, line, lines[k])
		f.Count(row, of.Pooled, count)
		var ok bool
		if charged[k], ok = charge(count, z.worth); !ok {
			return family.ClassError(k, dependent())
		}
		above := m.above(xi[p], z.variance)
		add(k, 0, laplace.Term{Size: 1, Count: row[0], Worth: z.worth, Distance: z.worth / 4 * x * x, Information: -above})
	}
	return z.integrals(n, lines, informations, charged, add)
}

// marginal is the integral over the own coefficients b of a class as a function of its variance, in coordinates in
// which P = I and Σ q uuᵀ is diagonal: up to constants,
//
//	−(n/2) ln s − Q/2s + ½ Σ (r_i/s − g_i)²/(λ_i/s + 1) − ½ Σ ln(λ_i/s + 1) − (worth/4) ln²(s/v)
type marginal struct {
	n, squares, worth   float64
	values, pulls, gaps []float64 // λ; r = Σ q ue; g = P^½(b − b₀)
}

// profile is the marginal about a line, where the sums are about an anchor.
func (z *zellner) profile(sums, anchor, line []float64) *marginal {
	p, products := z.size(), sums[1:]
	gram, right := z.gram(products, p+1), mat.NewVecDense(p, nil)
	delta, moved := mat.NewVecDense(p, nil), new(mat.VecDense)
	for i := range p {
		right.SetVec(i, products[i*(p+1)+p])
		delta.SetVec(i, line[i]-anchor[i])
	}
	moved.MulVec(gram, delta)
	m := &marginal{n: sums[0], worth: z.worth}
	m.squares = max(0, products[len(products)-1]-2*mat.Dot(delta, right)+mat.Dot(delta, moved))
	right.SubVec(right, moved)
	var eigen mat.EigenSym
	var vectors mat.Dense
	if z.root == nil || !eigen.Factorize(sandwich(z.root, blas.NoTrans, submatrix(gram, z.own)), true) {
		return &marginal{n: math.NaN()}
	}
	eigen.VectorsTo(&vectors)
	var pulls, gaps mat.VecDense
	_ = pulls.SolveVec(z.root, z.at(right.RawVector().Data, z.own))
	pulls.MulVec(vectors.T(), &pulls)
	gaps.MulVec(z.root.T(), z.gap(line, z.own))
	gaps.MulVec(vectors.T(), &gaps)
	m.values, m.pulls, m.gaps = eigen.Values(nil), pulls.RawVector().Data, gaps.RawVector().Data
	return m
}

// at is the marginal at the variance s = v eˣ.
func (m *marginal) at(x, v float64) float64 {
	t := math.Exp(-x) / v
	value := -m.n/2*x - m.squares*t/2 - m.worth/4*x*x
	for i, l := range m.values {
		a, h := max(0, l)*t+1, m.pulls[i]*t-m.gaps[i]
		value += h*h/a/2 - math.Log(a)/2
	}
	return value
}

// slope is its derivative by x.
func (m *marginal) slope(x, v float64) float64 {
	t := math.Exp(-x) / v
	slope := m.squares*t/2 - m.n/2 - m.worth/2*x
	for i, l := range m.values {
		a, h := max(0, l)*t+1, m.pulls[i]*t-m.gaps[i]
		slope -= t * (2*h*m.pulls[i]*a - h*h*l - l*a) / (2 * a * a)
	}
	return slope
}

// above is by how much the marginal is higher at its mode than at s, the mode given the coefficients, which is not
// above it.
func (m *marginal) above(s, v float64) float64 {
	low := math.Log(s / v)
	from := m.at(low, v)
	if !(m.slope(low, v) > 0) || !(m.n > 0) {
		return 0
	}
	high := low + 1
	for m.slope(high, v) > 0 {
		low, high = high, 2*high-low
	}
	const close = 1e-9 // the marginal changes by its square
	for high-low > close {
		if middle := (low + high) / 2; m.slope(middle, v) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	to := m.at(low, v)
	return max(0, to-from)
}

// ---- Counts and successes

// prior is that of lines, with the information of one event of the table, or of one trial, at the η₀ of the intercept
// alone: that of a row would be narrower the more a row counts, and with the intercept alone not the prior of
// [family.Poisson] (worth one event) and [family.Bernoulli].
func (f generalised) prior(of *family.Reference) *zellner {
	p := f.size()
	middle, row := make([]float64, p), mat.NewSymDense(p, nil)
	if f.intercept {
		middle[0] = of.Pooled.Units[0]
	}
	for i := range p {
		for j := i; j < p; j++ {
			row.SetSym(i, j, of.Pooled.Units[1+i*p+j])
		}
	}
	if robust := f.robustRow(of.Pooled, of.Pooled.Anchor); robust != nil {
		row.ScaleSym(row.At(0, 0), robust) // as where exposures and regressors are independent
	}
	return f.zellner(middle, row, of.Prior.RowsOr())
}

// linesOf are those of all classes.
func (f generalised) linesOf(params family.Table, w *family.Pooled) [][]float64 {
	lines := make([][]float64, params.K)
	for k := range lines {
		lines[k] = make([]float64, f.size())
		f.toLine(params.Row(k, f.size()), w.Anchor, lines[k])
	}
	return lines
}

// slopes are the derivatives of all classes' likelihoods.
func (f generalised) slopes(
	rows []family.Weighted, w *family.Pooled, lines [][]float64,
) (value float64, gradients [][]float64, informations []*mat.SymDense) {
	values := make([]float64, len(rows))
	gradients, informations = make([][]float64, len(rows)), make([]*mat.SymDense, len(rows))
	_ = parallel.Do(len(rows), 0, func(k int) error {
		values[k], gradients[k], informations[k] = f.derivatives(rows[k], w.Anchor, lines[k])
		return nil
	})
	return floats.Sum(values), gradients, informations
}

// MaximizePosteriorRows is Newton's method in all classes: the ridge of the prior makes the maximum unique and finite.
func (f generalised) MaximizePosteriorRows(rows []family.Weighted, params family.Table, of *family.Reference) error {
	z, w := f.prior(of), of.Pooled
	lines, next := f.linesOf(params, w), make([][]float64, params.K)
	likelihood, gradients, informations := f.slopes(rows, w, lines)
	value := likelihood - z.penalty(lines)
	for range mostSteps {
		steps, err := z.steps(lines, gradients, informations)
		if err != nil {
			return err
		}
		// the error of a Newton step is the square of the one before
		last, better := z.gain(lines, gradients, steps) < 1e-9*(1+math.Abs(value)), false
		for length, i := 1.0, 0; i < mostHalvings && !better; length, i = length/2, i+1 {
			for k, line := range lines {
				next[k] = floats.AddScaledTo(make([]float64, len(line)), line, length, steps[k])
			}
			if better = last; !last {
				l, g, h := f.slopes(rows, w, next)
				if v := l - z.penalty(next); v > value {
					better, value, gradients, informations = true, v, g, h
				}
			}
		}
		if better {
			copy(lines, next)
		}
		if last || !better { // but for rounding, this is the maximum
			break
		}
	}
	for k, line := range lines {
		f.fromLine(line, w.Anchor, params.Row(k, f.size()))
	}
	return nil
}

// IntegralsRows are by Laplace's method.
func (f generalised) IntegralsRows(
	rows []family.Weighted, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	lines, charged, n := f.linesOf(params, of.Pooled), make([]float64, params.K), 0.0
	_, _, informations := f.slopes(rows, of.Pooled, lines)
	z, count := f.prior(of), mat.NewSymDense(len(f.own), nil)
	for k, one := range rows {
		n += one.N
		f.count(one.Sums, f.size(), of.Pooled, of.Pooled.Sums[1:], count)
		var ok bool
		if charged[k], ok = charge(count, z.worth); !ok {
			return family.ClassError(k, dependent())
		}
	}
	return z.integrals(n, lines, informations, charged, add)
}

var (
	_ family.Proper     = linear{}
	_ family.Proper     = sharing{}
	_ family.ProperRows = generalised{}
)
