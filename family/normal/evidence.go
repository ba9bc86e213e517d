package normal

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// Gaussian classes under a unit-information prior (docs/theory/evidence.md, section 3): μ_k ~ N(m, S), and X_k =
// ln(S^−½ Σ_k S^−½) is normal with density ∝ exp(−(ν/4)‖X_k‖²), as ν rows of the table would have it at X = 0. S is the
// table's covariance, in the structure's own form, and ν is one row, or √D where axes lie in any direction.

// logScales are the eigenvalues x_kj of X_k, in the three parts of a covariance: volume v_k, their mean; shape, x_kj −
// v_k; and orientation.
type logScales struct {
	letters string // of volume, shape and orientation (see [EII])
	d       int
	worth   float64   // ν
	x       []float64 // K×D
	halves  []float64 // e^(x/2) of a class
}

// letters are volume, shape and orientation of any covariance.
func (c Covariance) allLetters() string {
	switch c {
	case Full:
		return "VVV"
	case Tied:
		return "EEE"
	case Diagonal:
		return "VVI"
	case Spherical:
		return "VII"
	}
	return c.letters()
}

func newLogScales(form Covariance, columns int, of *family.Reference) *logScales {
	l := &memoryOf(of).scales
	*l = logScales{letters: form.allLetters(), d: columns, worth: of.Prior.RowsOr(),
		x: l.x[:0], halves: l.halves}
	if l.letters[2] != 'I' {
		l.worth = of.Prior.CovarianceOr(columns)
	}
	return l
}

// add appends a class's numbers, of variances relative to S.
func (l *logScales) add(variances []float64) {
	for _, v := range variances {
		l.x = append(l.x, math.Log(max(v, math.SmallestNonzeroFloat64)))
	}
}

// classes is K.
func (l *logScales) classes() float64 { return float64(len(l.x) / l.d) }

// of is x_k.
func (l *logScales) of(k int) []float64 { return linalg.Row(l.x, k, l.d) }

// volume is v_k.
func (l *logScales) volume(k int) float64 { return floats.Sum(l.of(k)) / float64(l.d) }

// shapeOfEach says that the distance of the shape is charged for every class: of what all share it is the mean's.
func (l *logScales) shapeOfEach() bool { return l.letters[1] == 'V' || l.letters[2] == 'V' }

// pull is −(2/ν) times the derivative of the log prior density in x_kj.
func (l *logScales) pull(k, j int) float64 {
	volume, volumes, shapes := l.volume(k), 1.0, 1.0
	if l.letters[0] == 'E' {
		volumes = 1 / l.classes()
	}
	if !l.shapeOfEach() {
		shapes = 1 / l.classes()
	}
	return volumes*volume + shapes*(l.x[k*l.d+j]-volume)
}

// parts are distance and information of volume, shape and orientation of class k.
func (l *logScales) parts(k int) (distance, information [3]float64) {
	v := l.volume(k)
	distance[0] = l.worth / 4 * float64(l.d) * v * v
	for _, x := range l.of(k) {
		distance[1] += l.worth / 4 * (x - v) * (x - v)
	}
	if l.letters[2] != 'I' {
		information[2] = l.logSinhcs(l.of(k))
	}
	return distance, information
}

// logSinhcs is Σ_{i<j} ln(sinh t/t), t = (x_i − x_j)/2: from e^(x/2), which pairs share, as the logarithm of products.
func (l *logScales) logSinhcs(x []float64) (sum float64) {
	const far, most = 30, 1e100
	l.halves = l.halves[:0]
	product := 1.0
	for i, v := range x {
		e := math.Exp(v / 2)
		inverse := 1 / e
		for j, w := range x[:i] {
			switch t := math.Abs(v-w) / 2; {
			case t < 0.2:
				s := t * t
				sum += s * (1./6 - s*(1./180-s*(1./2835-s*(1./37800-s*(1./467775-s*(691./3831077250))))))
			case t > far:
				sum += t - math.Log(2*t)
			default:
				if product *= (e/l.halves[j] - inverse*l.halves[j]) / (v - w); product > most {
					sum, product = sum+math.Log(product), 1
				}
			}
		}
		l.halves = append(l.halves, e)
	}
	return sum + math.Log(product)
}

// terms passes the terms of the covariances of classes with so many rows to add: of volume, shape and orientation one a
// class for those that vary, and one in all, of the means, for each that is equal.
func (l *logScales) terms(counts []float64, add func(class int, t laplace.Term)) {
	sizes := [3]int{1, l.d - 1, l.d * (l.d - 1) / 2}
	var equal [3]laplace.Term
	for k, n := range counts {
		distance, information := l.parts(k)
		own := laplace.Term{Count: n, Worth: l.worth}
		for i, size := range sizes {
			switch l.letters[i] {
			case 'V':
				own.Size += size
				own.Distance += distance[i]
				own.Information += information[i]
				continue
			case 'I':
				continue
			}
			e := &equal[i]
			e.Size, e.Worth, e.Count = size, l.worth, e.Count+n
			e.Information += information[i] / float64(len(counts))
			if i == 1 && l.shapeOfEach() {
				own.Distance += distance[i]
			} else {
				e.Distance += distance[i] / float64(len(counts))
			}
		}
		add(k, own)
	}
	for _, t := range equal {
		if t.Worth > 0 {
			add(-1, t)
		}
	}
}

// prior rows: n_k and scatter that pull variances as the prior does at x, for global steps that iterate. With count c
// the pseudo-scatter along an axis, relative to S, is (c − ν·pull) e^x; where c ≥ ν(1 + pull) it bounds the
// density from below near x, and a fixed point of such steps is the mode.
func (l *logScales) pseudo(k int) (count float64, along []float64) {
	most := 0.0
	for j := range l.d {
		most = max(most, l.pull(k, j))
	}
	count = l.worth * (1 + most)
	l.halves = linalg.Resize(l.halves, l.d)
	for j, x := range l.of(k) {
		l.halves[j] = (count - l.worth*l.pull(k, j)) * math.Exp(x)
	}
	return count, l.halves
}

// ---- Axes along the columns

// meanTerms is the integral over a mean of width columns, of n rows with this variance, under N(m, scale): exact given
// the variance.
func meanTerms(n, worth, variance, scale float64, mean, prior []float64) laplace.Term {
	distance, width := 0.0, float64(len(mean))
	for j, v := range mean {
		distance += worth / 2 * (v - prior[j]) * (v - prior[j]) / scale
	}
	return laplace.Term{Size: len(mean), Count: n, Worth: worth, Distance: distance,
		Information: width / 2 * (math.Log1p(n/worth*scale/variance) - math.Log1p(n/worth))}
}

// shrunk is the mode of a mean of n rows, which have the mean anchor + first/n.
func shrunk(n, worth, variance, scale, anchor, first, prior float64) float64 {
	if !(n > 0) {
		return prior
	}
	return prior + (anchor-prior+first/n)*(n*scale/(n*scale+worth*variance))
}

// scaleOf is the variance of column j in the table, in the structure's form.
func (g isotropic) scaleOf(of *family.Reference, j int) float64 {
	_, all := g.moments(of.Pooled.Center())
	return all[j/g.width]
}

// moveMeans moves the means of class k to their mode given its variances, and puts the second moments about them into
// scatter, one a group.
func (g isotropic) moveMeans(sums, anchor, xi []float64, of *family.Reference, scatter []float64) {
	n, first, second := g.split(sums)
	mean, variance := g.moments(xi)
	before, _ := g.moments(of.Pooled.Center())
	copy(scatter, second)
	for j, a := range anchor {
		i := j / g.width
		mean[j] = shrunk(n[i], of.Prior.RowsOr(), variance[i], g.scaleOf(of, j), a, first[j], before[j])
		memoryOf(of).note(mean[j]-before[j], g.scaleOf(of, j))
		shift := mean[j] - a
		scatter[i] += shift * (n[i]*shift - 2*first[j])
	}
	for i, v := range scatter {
		scatter[i] = max(0, v)
	}
}

// MaximizePosterior is exact given the variances before.
func (g isotropic) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	d, scatter, worth := g.columns(), make([]float64, g.groups), of.Prior.RowsOr()
	for k := range params.K {
		row, xi := sums.Row(k, d+2*g.groups), params.Row(k, d+g.groups)
		g.moveMeans(row, anchors.Row(k, d), xi, of, scatter)
		_, variance := g.moments(xi)
		for i, n := range row[:g.groups] {
			scale := g.scaleOf(of, i*g.width)
			variance[i] = scale * math.Exp(laplace.LogVarianceMode(n, scatter[i]/(n*float64(g.width)*scale), worth))
		}
	}
	return nil
}

// Integrals are those of the mean and of the variance of each group.
func (g isotropic) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	before, _ := g.moments(of.Pooled.Center())
	worth := of.Prior.RowsOr()
	for k := range params.K {
		mean, variance := g.moments(params.Row(k, g.columns()+g.groups))
		for i, v := range variance {
			n, scale := sums.Row(k, g.groups)[i], g.scaleOf(of, i*g.width)
			add(k, i, meanTerms(n, worth, v, scale, g.of(mean, i), g.of(before, i)))
			x := math.Log(v / scale)
			add(k, i, laplace.Term{Size: 1, Count: n, Worth: worth, Distance: worth / 4 * float64(g.width) * x * x})
		}
	}
	return nil
}

// relative are the variances of class k relative to S.
func (g axial) relative(params family.Table, k int, of *family.Reference) []float64 {
	_, variance := g.moments(params.Row(k, 2*g.columns()))
	list := make([]float64, len(variance))
	for j, v := range variance {
		list[j] = v / g.scaleOf(of, j)
	}
	return list
}

// MaximizePosterior is a conditional maximum: means, then variances with pseudo-counts.
func (g axial) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	d := g.columns()
	l := newLogScales(g.form, d, of)
	for k := range params.K {
		l.add(g.relative(params, k, of))
	}
	m := memoryOf(of).maximum.begin(g.structure, params.K, of.Pooled)
	for k := range params.K {
		row, xi, scatter := sums.Row(k, 3*d), params.Row(k, 2*d), linalg.Row(m.scatter, k, d)
		g.moveMeans(row, anchors.Row(k, d), xi, of, scatter)
		count, along := l.pseudo(k)
		m.n[k] = row[0] + count
		for j, v := range along {
			scatter[j] += g.scaleOf(of, j) * v
		}
	}
	g.solve(m, params)
	return nil
}

// Integrals are those of the means, and of volume and shape.
func (g axial) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	d, counts := g.columns(), make([]float64, params.K)
	before, _ := g.moments(of.Pooled.Center())
	l := newLogScales(g.form, d, of)
	for k := range params.K {
		counts[k] = sums.Row(k, 1)[0]
		mean, variance := g.moments(params.Row(k, 2*d))
		for j, v := range variance {
			add(k, 0, meanTerms(counts[k], of.Prior.RowsOr(), v, g.scaleOf(of, j), mean[j:j+1], before[j:j+1]))
		}
		l.add(g.relative(params, k, of))
	}
	l.terms(counts, func(class int, t laplace.Term) { add(class, 0, t) })
	return nil
}

// ---- Axes in any direction

// whitening is the table's covariance S = UᵀU.
type whitening struct {
	d              int
	mean, all      []float64
	root           linalg.Cholesky
	upper, inverse []float64 // U and U⁻¹, with zeros below
}

// whiteningOf is that of the table, of the Gaussian whose ξ is normal; made when it is first needed.
func whiteningOf(of *family.Reference, g gaussian, normal func() []float64) (*whitening, error) {
	w, err := of.Once.Do(func() (any, error) {
		w := &whitening{d: g.d}
		w.mean, w.all = g.split(normal(), 0)
		if !w.factorize() {
			return nil, variances.Singular()
		}
		return w, nil
	})
	if err != nil {
		return nil, err
	}
	return w.(*whitening), nil
}

func (w *whitening) factorize() (ok bool) {
	w.upper = append([]float64(nil), w.all...)
	if w.root, ok = linalg.NewCholesky(w.d, w.upper); !ok {
		return false
	}
	for a := range w.d {
		clear(w.upper[a*w.d : a*w.d+a])
	}
	w.inverse = append([]float64(nil), w.upper...)
	return lapack64.Trtri(blas64.Triangular{N: w.d, Stride: w.d, Data: w.inverse, Uplo: blas.Upper, Diag: blas.NonUnit})
}

// normalMemory is what global steps and integrals of normal classes work in.
type normalMemory struct {
	scales                 logScales
	axes                   linalg.Axes
	vectors, columns, half []float64   // D×D
	scatter, with          []float64   // D×D
	all, scatters          []float64   // D×D, or K×D×D
	covs                   [][]float64 // K, of the parameters
	maximum                maximum
	shift, values          []float64      // D
	counts                 []float64      // K
	of                     *family.Memory // which this is the value of
}

// memoryOf is the factor's.
func memoryOf(of *family.Reference) *normalMemory {
	m, ok := of.Memory.Value.(*normalMemory)
	if !ok {
		m = &normalMemory{of: of.Memory}
		of.Memory.Value = m
	}
	return m
}

// mostFar is the distance from the prior's mean, in its standard deviations, from which a mean is far: a wild row has
// drawn it there in a class whose covariance is still that of other rows. Sums about such a mean would have no digits
// for those.
const mostFar = 1e4

// note has the step made again if a mean has moved far from that of the prior.
func (m *normalMemory) note(shift, variance float64) {
	m.of.Again = m.of.Again || shift*shift > mostFar*mostFar*variance
}

// axes are the eigenvalues of S^−½ΣS^−½, and where columns are wanted, the columns of S^½ times its eigenvectors,
// whose squares, with the eigenvalues as weights, sum to Σ. Both are the memory's.
func (w *whitening) axes(cov []float64, m *normalMemory, wanted bool) (values, columns []float64, err error) {
	d := w.d
	if order, graded := w.grading(cov); graded {
		return w.gradedAxes(cov, order, m)
	}
	m.vectors, m.half = linalg.Resize(m.vectors, d*d), linalg.Resize(m.half, d*d)
	w.whiten(cov, m.vectors, m.half)
	if !m.axes.Find(d, m.vectors, wanted) {
		return nil, nil, variances.Singular()
	}
	if wanted {
		m.columns = linalg.Resize(m.columns, d*d)
		product(d, true, true, w.upper, m.vectors, m.columns)
	}
	return m.axes.Values, m.columns, nil
}

// whiten puts U⁻ᵀΣU⁻¹, which has the eigenvalues of S^−½ΣS^−½, into dst.
func (w *whitening) whiten(cov, dst, half []float64) {
	product(w.d, false, false, cov, w.inverse, half)
	product(w.d, true, false, w.inverse, half, dst)
}

// product is c = a·b of order d, either factor transposed where that is said: of few columns without a call that takes
// longer than the product.
func product(d int, transA, transB bool, a, b, c []float64) {
	if d >= simd.Lanes {
		linalg.MulSerial(transA, transB, 1, linalg.General(d, d, a), linalg.General(d, d, b), 0, linalg.General(d, d, c))
		return
	}
	rowA, alongA := d, 1
	if transA {
		rowA, alongA = 1, d
	}
	for i := range d {
		row := c[i*d : (i+1)*d]
		clear(row)
		for j := 0; transB && j < d; j++ {
			for k, v := range b[j*d : (j+1)*d] {
				row[j] += a[i*rowA+k*alongA] * v
			}
		}
		for k := 0; !transB && k < d; k++ {
			f := a[i*rowA+k*alongA]
			for j, v := range b[k*d : (k+1)*d] {
				row[j] += f * v
			}
		}
	}
}

// grading orders the columns by how much wider the class is than the table. graded says that a wild cell has made one
// of them so much wider that the others' digits would be lost if it came before them: U⁻ᵀΣU⁻¹ subtracts columns from
// those after them.
func (w *whitening) grading(cov []float64) (order []int, graded bool) {
	const most = 1e8
	wider := func(j int) float64 { return cov[j*(w.d+1)] / w.all[j*(w.d+1)] }
	least, widest := wider(0), wider(0)
	for j := 1; j < w.d; j++ {
		least, widest = min(least, wider(j)), max(widest, wider(j))
	}
	if !(widest > most*least) {
		return nil, false
	}
	for j := range w.d {
		order = append(order, j)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wider(i), wider(j)) })
	return order, !slices.IsSorted(order)
}

// gradedAxes is axes with the columns in an order.
func (w *whitening) gradedAxes(cov []float64, order []int, m *normalMemory) (values, columns []float64, err error) {
	d := w.d
	ordered := &whitening{d: d, all: make([]float64, d*d)}
	there := make([]float64, d*d)
	for a, i := range order {
		for b, j := range order {
			there[a*d+b], ordered.all[a*d+b] = cov[i*d+j], w.all[i*d+j]
		}
	}
	if !ordered.factorize() {
		return nil, nil, variances.Singular()
	}
	values, turned, err := ordered.axes(there, m, true)
	if err != nil {
		return nil, nil, err
	}
	columns = make([]float64, d*d)
	for a, i := range order {
		copy(columns[i*d:(i+1)*d], turned[a*d:(a+1)*d])
	}
	return values, columns, nil
}

// moveMean moves a mean to its mode given the covariance, under a prior that is worth so many rows, and puts the
// scatter about it into scatter.
func (w *whitening) moveMean(g gaussian, rows float64, sums, anchor, xi, scatter []float64, m *normalMemory) error {
	d, n := w.d, sums[0]
	first, second := g.split(sums, 1)
	mean, cov := g.split(xi, 0)
	copy(mean, w.mean)
	m.shift = linalg.Resize(m.shift, d)
	if n > 0 {
		m.with = linalg.Resize(m.with, d*d) // nS + rows·Σ
		for i, v := range w.all {
			m.with[i] = n*v + rows*cov[i]
		}
		chol, ok := linalg.NewCholesky(d, m.with)
		if !ok {
			return variances.Singular()
		}
		for j, a := range anchor {
			m.shift[j] = a - w.mean[j] + first[j]/n
		}
		chol.SolveRight(linalg.General(1, d, m.shift))
		for a, v := range m.shift {
			linalg.Axpy(n*v, w.all[a*d:(a+1)*d], mean)
		}
		for j, v := range mean {
			m.note(v-w.mean[j], w.all[j*(d+1)])
		}
	}
	floats.SubTo(m.shift, mean, anchor)
	for a, s := range m.shift {
		for c, t := range m.shift[a:] {
			c += a
			scatter[a*d+c] = second[a*d+c] - first[a]*t - s*first[c] + n*s*t
			scatter[c*d+a] = scatter[a*d+c]
		}
	}
	return nil
}

// meanTerm is the integral over a mean under N(m, S/rows), of n rows whose covariance has these eigenvalues relative
// to S: exact given these.
func (w *whitening) meanTerm(n, rows float64, mean, values []float64, m *normalMemory) laplace.Term {
	term := laplace.Term{Size: w.d, Count: n, Worth: rows}
	m.shift = linalg.Resize(m.shift, w.d)
	floats.SubTo(m.shift, mean, w.mean)
	w.root.HalfSolveRight(linalg.General(1, w.d, m.shift))
	term.Distance = rows / 2 * floats.Dot(m.shift, m.shift)
	all := math.Log1p(n / rows)
	for _, v := range values {
		term.Information += (math.Log1p(n/rows/v) - all) / 2
	}
	return term
}

// MaximizePosterior is exact given the covariances before.
func (g gaussian) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	w, err := whiteningOf(of, g, of.Pooled.Center)
	if err != nil {
		return err
	}
	d, m, total := g.d, memoryOf(of), 0.0
	m.scatter, m.all = linalg.Resize(m.scatter, d*d), linalg.Resize(m.all, d*d)
	clear(m.all)
	worth := newLogScales(g.form(), d, of).worth
	for k := range params.K {
		row, xi := sums.Row(k, 1+2*d+d*d), params.Row(k, d+d*d)
		if err := w.moveMean(g, of.Prior.RowsOr(), row, anchors.Row(k, d), xi, m.scatter, m); err != nil {
			return family.ClassError(k, err)
		}
		if g.tied {
			floats.Add(m.all, m.scatter)
			total += row[0]
			continue
		}
		_, cov := g.split(xi, 0)
		values, err := w.mode(row[0], worth, m.scatter, cov, m)
		if err != nil {
			return family.ClassError(k, err)
		}
		keep(of, k, cov, values)
	}
	if !g.tied {
		return nil
	}
	_, shared := g.split(params.Row(0, d+d*d), 0)
	values, err := w.mode(total, worth, m.all, shared, m)
	for k := 0; err == nil && k < params.K; k++ {
		_, cov := g.split(params.Row(k, d+d*d), 0)
		copy(cov, shared)
		keep(of, k, cov, values)
	}
	return err
}

// mode puts the mode of the covariance of n rows into cov: its axes are those of the scatter, whitened. It returns
// its eigenvalues relative to S.
func (w *whitening) mode(n, worth float64, scatter, cov []float64, m *normalMemory) ([]float64, error) {
	values, columns, err := w.axes(scatter, m, true)
	if err != nil {
		return nil, err
	}
	d := w.d
	m.half = linalg.Resize(m.half, d*d)
	for j, v := range values {
		values[j] = math.Exp(laplace.LogVarianceMode(n, v/n, worth))
	}
	for a := range d {
		for j, v := range values {
			m.half[a*d+j] = columns[a*d+j] * v
		}
	}
	product(d, false, true, m.half, columns, cov)
	linalg.Mirror(d, cov)
	return values, nil
}

// keep keeps the eigenvalues of the covariance of class k relative to S, and its hash, by which they are known again.
func keep(of *family.Reference, k int, cov, values []float64) {
	if of.Kept.Data == nil {
		return
	}
	d := len(values)
	row := of.Kept.Row(k, d+1)
	row[0] = hash(d, cov)
	copy(row[1:], values)
}

// hash is an integer of 53 bits for the upper triangle of a matrix (FNV-1a, of numbers in place of bytes).
func hash(d int, cov []float64) float64 {
	h := uint64(14695981039346656037)
	for a := range d {
		for _, v := range cov[a*d+a : (a+1)*d] {
			h = (h ^ math.Float64bits(v)) * 1099511628211
			h ^= h >> 32
		}
	}
	return float64(h >> 11)
}

// spectrum has the eigenvalues of the covariance of class k relative to S: those kept, where they are its own.
func spectrum(of *family.Reference, w *whitening, k int, cov []float64) ([]float64, error) {
	if d := w.d; of.Kept.Data != nil {
		if row := of.Kept.Row(k, d+1); row[0] == hash(d, cov) {
			return row[1:], nil
		}
	}
	values, _, err := w.axes(cov, memoryOf(of), false)
	if err == nil && !(values[w.d-1] > 0) {
		err = variances.Singular()
	}
	return values, err
}

// Integrals are those of the means, and of volume, shape and orientation.
func (g gaussian) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	return g.integrals(newLogScales(g.form(), g.d, of), sums, params, of, add)
}

func (g gaussian) integrals(
	l *logScales, sums, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	w, err := whiteningOf(of, g, of.Pooled.Center)
	if err != nil {
		return err
	}
	m := memoryOf(of)
	m.counts = m.counts[:0]
	for k := range params.K {
		mean, cov := g.split(params.Row(k, g.d+g.d*g.d), 0)
		n := sums.Row(k, 1)[0]
		m.counts = append(m.counts, n)
		values, err := spectrum(of, w, k, cov)
		if err != nil {
			return family.ClassError(k, err)
		}
		add(k, 0, w.meanTerm(n, of.Prior.RowsOr(), mean, values, m))
		l.add(values)
	}
	l.terms(m.counts, func(class int, t laplace.Term) { add(class, 0, t) })
	return nil
}

// MaximizePosterior is a conditional maximum: means, then covariances with pseudo-counts.
func (g ellipsoidal) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	w, err := whiteningOf(of, g.gaussian, of.Pooled.Center)
	if err != nil {
		return err
	}
	d, memory := g.d, memoryOf(of)
	l := newLogScales(g.structure.form, d, of)
	columns, scatters := linalg.Resize(memory.all, params.K*d*d), linalg.Resize(memory.scatters, params.K*d*d)
	memory.all, memory.scatters, memory.covs = columns, scatters, memory.covs[:0]
	for k := range params.K {
		xi := params.Row(k, d+d*d)
		_, cov := g.split(xi, 0)
		memory.covs = append(memory.covs, cov)
		values, own, err := w.axes(cov, memory, true)
		if err == nil {
			l.add(values)
			copy(linalg.Row(columns, k, d*d), own)
			row, scatter := sums.Row(k, 1+2*d+d*d), linalg.Row(scatters, k, d*d)
			err = w.moveMean(g.gaussian, of.Prior.RowsOr(), row, anchors.Row(k, d), xi, scatter, memory)
		}
		if err != nil {
			return family.ClassError(k, err)
		}
	}
	m, pulled := memory.maximum.begin(g.structure, params.K, of.Pooled), linalg.Resize(memory.scatter, d*d)
	m.conditional, memory.scatter = true, pulled
	for k := range params.K {
		count, along := l.pseudo(k)
		m.n[k] = sums.Row(k, 1)[0] + count
		assemble(linalg.Row(columns, k, d*d), along, pulled)
		floats.Add(linalg.Row(scatters, k, d*d), pulled)
	}
	return m.covariances(scatters, memory.covs)
}

// Integrals are those of the means, and of volume, shape and orientation.
func (g ellipsoidal) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	return g.gaussian.integrals(newLogScales(g.structure.form, g.d, of), sums, params, of, add)
}
