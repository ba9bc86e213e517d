package family

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// Gaussian classes under a unit-information prior (docs/theory/evidence.md, section 3): μ_k ~ N(m, S), and X_k = ln(S₀^−½ Σ_k S₀^−½) is normal
// with density ∝ exp(−(ν/4)‖X_k‖²), as ν rows of the table would have it at X = 0. S₀ is the part of the table's covariance S
// that one of K classes has. S is in the structure's own form, and ν is one row, or √D where axes lie in any direction.

// logScales are the eigenvalues x_kj of X_k, in the three parts of a covariance: volume v_k, their mean; shape, x_kj − v_k;
// and orientation.
type logScales struct {
	letters string // of volume, shape and orientation (see [EII])
	d       int
	worth   float64     // ν
	x       [][]float64 // of each class, D, or one number where all are the same
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

func newLogScales(form Covariance, columns int, of *Reference) *logScales {
	l := &logScales{letters: form.allLetters(), d: columns, worth: of.Prior.RowsOr()}
	if l.letters[2] != 'I' {
		l.worth = of.Prior.CovarianceOr(columns)
	}
	return l
}

// add appends a class's numbers, of variances relative to S₀.
func (l *logScales) add(variances []float64) {
	x := make([]float64, len(variances))
	for j, v := range variances {
		x[j] = math.Log(max(v, math.SmallestNonzeroFloat64))
	}
	l.x = append(l.x, x)
}

// volume is v_k.
func (l *logScales) volume(k int) float64 { return floats.Sum(l.x[k]) / float64(len(l.x[k])) }

// shapeOfEach says that the distance of the shape is charged for every class: of what all share it is the mean's.
func (l *logScales) shapeOfEach() bool { return l.letters[1] == 'V' || l.letters[2] == 'V' }

// pull is −(2/ν) times the derivative of the log prior density in x_kj.
func (l *logScales) pull(k, j int) float64 {
	volume, volumes, shapes := l.volume(k), 1.0, 1.0
	if l.letters[0] == 'E' {
		volumes = 1 / float64(len(l.x))
	}
	if !l.shapeOfEach() {
		shapes = 1 / float64(len(l.x))
	}
	return volumes*volume + shapes*(l.x[k][j]-volume)
}

// parts are distance and information of volume, shape and orientation of class k.
func (l *logScales) parts(k int) (distance, information [3]float64) {
	v := l.volume(k)
	distance[0] = l.worth / 4 * float64(l.d) * v * v
	for i, x := range l.x[k] {
		distance[1] += l.worth / 4 * (x - v) * (x - v)
		if l.letters[2] == 'I' {
			continue
		}
		for _, y := range l.x[k][:i] {
			information[2] += logSinhc((x - y) / 2)
		}
	}
	return distance, information
}

// logSinhc is ln(sinh t/t).
func logSinhc(t float64) float64 {
	if t = math.Abs(t); t < 1e-2 {
		return t * t / 6 * (1 - t*t/30)
	}
	return t + math.Log(-math.Expm1(-2*t)/(2*t))
}

// terms passes the terms of the covariances of classes with so many rows to add: of volume, shape and orientation each one a class where it varies,
// and one in all, of the means, where it is equal.
func (l *logScales) terms(counts []float64, add func(class int, t laplace.Term)) {
	sizes := [3]int{1, l.d - 1, l.d * (l.d - 1) / 2}
	var equal [3]laplace.Term
	for k, n := range counts {
		distance, information := l.parts(k)
		for i, size := range sizes {
			switch l.letters[i] {
			case 'V':
				add(k, laplace.Term{Size: size, Count: n, Worth: l.worth, Distance: distance[i], Information: information[i]})
				continue
			case 'I':
				continue
			}
			e := &equal[i]
			e.Size, e.Worth, e.Count = size, l.worth, e.Count+n
			e.Information += information[i] / float64(len(counts))
			if i == 1 && l.shapeOfEach() {
				add(k, laplace.Term{Distance: distance[i]})
			} else {
				e.Distance += distance[i] / float64(len(counts))
			}
		}
	}
	for _, t := range equal {
		if t.Worth > 0 {
			add(-1, t)
		}
	}
}

// prior rows: n_k and scatter that pull variances as the prior does at x, for global steps that iterate. With count c the
// pseudo-scatter along an axis is (c − ν·pull) e^x, relative to S₀; where c ≥ ν(1 + pull) it bounds the density from below near x, and a fixed
// point of such steps is the mode.
func (l *logScales) pseudo(k int) (count float64, along []float64) {
	most := 0.0
	for j := range l.x[k] {
		most = max(most, l.pull(k, j))
	}
	count = l.worth * (1 + most)
	along = make([]float64, len(l.x[k]))
	for j, x := range l.x[k] {
		along[j] = (count - l.worth*l.pull(k, j)) * math.Exp(x)
	}
	return count, along
}

// ---- Axes along the columns

// meanTerms is the integral over a mean of width columns, of n rows with this variance, under N(m, scale): exact given the variance.
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
func (g isotropic) scaleOf(of *Reference, j int) float64 {
	_, all := g.moments(of.Pooled.reference())
	return all[j/g.width]
}

// moveMeans moves the means of class k to their mode given its variances, and puts the second moments about them into scatter, one a group.
func (g isotropic) moveMeans(sums, anchor, xi []float64, of *Reference, scatter []float64) {
	n, first, second := g.split(sums)
	mean, variance := g.moments(xi)
	before, _ := g.moments(of.Pooled.reference())
	copy(scatter, second)
	for j, a := range anchor {
		i := j / g.width
		mean[j] = shrunk(n[i], of.Prior.RowsOr(), variance[i], g.scaleOf(of, j), a, first[j], before[j])
		shift := mean[j] - a
		scatter[i] += shift * (n[i]*shift - 2*first[j])
	}
	for i, v := range scatter {
		scatter[i] = max(0, v)
	}
}

// MaximizePosterior is exact given the variances before.
func (g isotropic) MaximizePosterior(sums, anchors, params Table, of *Reference) error {
	d, scatter, worth := g.columns(), make([]float64, g.groups), of.Prior.RowsOr()
	for k := range params.K {
		row, xi := sums.Row(k, d+2*g.groups), params.Row(k, d+g.groups)
		g.moveMeans(row, anchors.Row(k, d), xi, of, scatter)
		_, variance := g.moments(xi)
		for i, n := range row[:g.groups] {
			scale := of.Share * g.scaleOf(of, i*g.width)
			variance[i] = scale * math.Exp(laplace.LogVarianceMode(n, scatter[i]/(n*float64(g.width)*scale), worth))
		}
	}
	return nil
}

// Integrals are those of the mean and of the variance of each group.
func (g isotropic) Integrals(sums, _, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error {
	before, _ := g.moments(of.Pooled.reference())
	worth := of.Prior.RowsOr()
	for k := range params.K {
		mean, variance := g.moments(params.Row(k, g.columns()+g.groups))
		for i, v := range variance {
			n, scale := sums.Row(k, g.groups)[i], g.scaleOf(of, i*g.width)
			add(k, i, meanTerms(n, worth, v, scale, g.of(mean, i), g.of(before, i)))
			x := math.Log(v / (of.Share * scale))
			add(k, i, laplace.Term{Size: 1, Count: n, Worth: worth, Distance: worth / 4 * float64(g.width) * x * x})
		}
	}
	return nil
}

// relative are the variances of class k relative to S₀.
func (g axial) relative(params Table, k int, of *Reference) []float64 {
	_, variance := g.moments(params.Row(k, 2*g.columns()))
	list := make([]float64, len(variance))
	for j, v := range variance {
		list[j] = v / (of.Share * g.scaleOf(of, j))
	}
	return list
}

// MaximizePosterior is a conditional maximum: means, then variances with pseudo-counts.
func (g axial) MaximizePosterior(sums, anchors, params Table, of *Reference) error {
	d := g.columns()
	l := newLogScales(g.form, d, of)
	for k := range params.K {
		l.add(g.relative(params, k, of))
	}
	m := newMaximum(g.structure, params.K, of.Pooled)
	for k := range params.K {
		row, xi, scatter := sums.Row(k, 3*d), params.Row(k, 2*d), at(m.scatter, k, d)
		_, variance := g.moments(xi)
		g.moveMeans(row, anchors.Row(k, d), xi, of, scatter)
		count, along := l.pseudo(k)
		m.n[k] = row[0] + count
		for j, v := range along {
			scatter[j] += of.Share * g.scaleOf(of, j) * v
		}
		copy(at(m.variance, k, d), variance)
		copy(at(m.least, k, d), m.floor)
	}
	m.variances()
	for k := range params.K {
		_, variance := g.moments(params.Row(k, 2*d))
		copy(variance, at(m.variance, k, d))
	}
	return nil
}

// Integrals are those of the means, and of volume and shape.
func (g axial) Integrals(sums, _, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error {
	d, counts := g.columns(), make([]float64, params.K)
	before, _ := g.moments(of.Pooled.reference())
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
	d         int
	mean, all []float64
	root      linalg.Cholesky
	upper     []float64 // U, with zeros below
	share     float64   // S₀ is so much of S
	rows      float64   // that the prior of a mean is worth
}

func newWhitening(g gaussian, of *Reference) (*whitening, error) {
	w := &whitening{d: g.d, share: of.Share, rows: of.Prior.RowsOr()}
	w.mean, w.all = g.split(of.Pooled.reference(), 0)
	if !w.factorize() {
		return nil, singular()
	}
	return w, nil
}

func (w *whitening) factorize() (ok bool) {
	w.upper = append([]float64(nil), w.all...)
	w.root, ok = linalg.NewCholesky(w.d, w.upper)
	for a := range w.d {
		clear(w.upper[a*w.d : a*w.d+a])
	}
	return ok
}

// axes are the eigenvalues of S₀^−½ΣS₀^−½, and the columns of S₀^½ times its eigenvectors, whose squares, with the
// eigenvalues as weights, sum to Σ.
func (w *whitening) axes(cov []float64) (values, columns []float64, err error) {
	d := w.d
	if order, graded := w.grading(cov); graded {
		return w.gradedAxes(cov, order)
	}
	e, ok := linalg.NewSymmetricEigen(d, w.whitened(cov))
	if !ok {
		return nil, nil, singular()
	}
	columns = make([]float64, d*d)
	linalg.MulSerial(true, false, math.Sqrt(w.share), linalg.General(d, d, w.upper),
		linalg.General(d, d, e.Vectors(d).RawMatrix().Data), 0, linalg.General(d, d, columns))
	return e.Values, columns, nil
}

// whitened is U⁻ᵀΣU⁻¹/share, which has the eigenvalues of S₀^−½ΣS₀^−½.
func (w *whitening) whitened(cov []float64) []float64 {
	a := linalg.General(w.d, w.d, append([]float64(nil), cov...))
	w.root.HalfSolveRight(a)
	transpose(w.d, a.Data)
	w.root.HalfSolveRight(a)
	linalg.Scale(1/w.share, a.Data)
	return a.Data
}

// values are the eigenvalues alone.
func (w *whitening) values(cov []float64) ([]float64, error) {
	if order, graded := w.grading(cov); graded {
		values, _, err := w.gradedAxes(cov, order)
		return values, err
	}
	values, ok := linalg.SymmetricValues(w.d, w.whitened(cov))
	if !ok {
		return nil, singular()
	}
	return values, nil
}

// grading orders the columns by how much wider the class is than the table. graded says that a wild cell has made one of them so much
// wider that the others' digits would be lost if it came before them: U⁻ᵀΣU⁻¹ subtracts columns from those after them.
func (w *whitening) grading(cov []float64) (order []int, graded bool) {
	order = make([]int, w.d)
	for j := range order {
		order[j] = j
	}
	wider := func(j int) float64 { return cov[j*(w.d+1)] / w.all[j*(w.d+1)] }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wider(i), wider(j)) })
	const most = 1e8
	return order, wider(order[w.d-1]) > most*wider(order[0]) && !slices.IsSorted(order)
}

// gradedAxes is axes with the columns in an order.
func (w *whitening) gradedAxes(cov []float64, order []int) (values, columns []float64, err error) {
	d := w.d
	ordered := &whitening{d: d, all: make([]float64, d*d), share: w.share}
	there := make([]float64, d*d)
	for a, i := range order {
		for b, j := range order {
			there[a*d+b], ordered.all[a*d+b] = cov[i*d+j], w.all[i*d+j]
		}
	}
	if !ordered.factorize() {
		return nil, nil, singular()
	}
	values, turned, err := ordered.axes(there)
	if err != nil {
		return nil, nil, err
	}
	columns = make([]float64, d*d)
	for a, i := range order {
		copy(columns[i*d:(i+1)*d], turned[a*d:(a+1)*d])
	}
	return values, columns, nil
}

func transpose(d int, a []float64) {
	for i := range d {
		for j := range i {
			a[i*d+j], a[j*d+i] = a[j*d+i], a[i*d+j]
		}
	}
}

// moveMean moves a mean to its mode given the covariance, and puts the scatter about it into scatter.
func (w *whitening) moveMean(g gaussian, sums, anchor, xi, scatter []float64) error {
	d, n := w.d, sums[0]
	first, second := g.split(sums, 1)
	mean, cov := g.split(xi, 0)
	copy(mean, w.mean)
	if n > 0 {
		with := make([]float64, d*d) // nS + rows·Σ
		floats.AddScaledTo(with, floats.ScaleTo(with, n, w.all), w.rows, cov)
		chol, ok := linalg.NewCholesky(d, with)
		if !ok {
			return singular()
		}
		shift := make([]float64, d)
		for j, a := range anchor {
			shift[j] = a - w.mean[j] + first[j]/n
		}
		chol.SolveRight(linalg.General(1, d, shift))
		linalg.MulSerial(false, false, n, linalg.General(1, d, shift), linalg.General(d, d, w.all), 1, linalg.General(1, d, mean))
	}
	for a := range d {
		s := mean[a] - anchor[a]
		for c := a; c < d; c++ {
			t := mean[c] - anchor[c]
			scatter[a*d+c] = second[a*d+c] - first[a]*t - s*first[c] + n*s*t
		}
	}
	linalg.Mirror(d, scatter)
	return nil
}

// meanTerm is the integral over a mean under N(m, S/rows): exact given the covariance.
func (w *whitening) meanTerm(g gaussian, n float64, xi []float64) (laplace.Term, error) {
	d := w.d
	mean, cov := g.split(xi, 0)
	term := laplace.Term{Size: d, Count: n, Worth: w.rows}
	shift := make([]float64, d)
	floats.SubTo(shift, mean, w.mean)
	w.root.HalfSolveRight(linalg.General(1, d, shift))
	term.Distance = w.rows / 2 * floats.Dot(shift, shift)
	own, with := append([]float64(nil), cov...), make([]float64, d*d)
	floats.AddScaledTo(with, cov, n/w.rows, w.all)
	of, ok := linalg.NewCholesky(d, own)
	sum, okSum := linalg.NewCholesky(d, with)
	if !ok || !okSum {
		return term, singular()
	}
	term.Information = (sum.LogDet() - of.LogDet() - float64(d)*math.Log1p(n/w.rows)) / 2
	return term, nil
}

// MaximizePosterior is exact given the covariances before.
func (g gaussian) MaximizePosterior(sums, anchors, params Table, of *Reference) error {
	w, err := newWhitening(g, of)
	if err != nil {
		return err
	}
	d := g.d
	scatter, all, total := make([]float64, d*d), make([]float64, d*d), 0.0
	l := newLogScales(g.form(), d, of)
	for k := range params.K {
		row, xi := sums.Row(k, 1+2*d+d*d), params.Row(k, d+d*d)
		if err := w.moveMean(g, row, anchors.Row(k, d), xi, scatter); err != nil {
			return ofClass(k, err)
		}
		if g.tied {
			floats.Add(all, scatter)
			total += row[0]
			continue
		}
		_, cov := g.split(xi, 0)
		if err := w.mode(row[0], l.worth, scatter, cov); err != nil {
			return ofClass(k, err)
		}
	}
	if !g.tied {
		return nil
	}
	_, shared := g.split(params.Row(0, d+d*d), 0)
	if err := w.mode(total, l.worth, all, shared); err != nil {
		return err
	}
	for k := range params.K {
		_, cov := g.split(params.Row(k, d+d*d), 0)
		copy(cov, shared)
	}
	return nil
}

// mode puts the mode of the covariance of n rows into cov: its axes are those of the scatter, whitened.
func (w *whitening) mode(n, worth float64, scatter, cov []float64) error {
	values, columns, err := w.axes(scatter)
	if err != nil {
		return err
	}
	for j, v := range values {
		values[j] = math.Exp(laplace.LogVarianceMode(n, v/n, worth))
	}
	assemble(columns, values, cov)
	return nil
}

// Integrals are those of the means, and of volume, shape and orientation.
func (g gaussian) Integrals(sums, _, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error {
	return g.integrals(newLogScales(g.form(), g.d, of), sums, params, of, add)
}

func (g gaussian) integrals(l *logScales, sums, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error {
	w, err := newWhitening(g, of)
	if err != nil {
		return err
	}
	counts := make([]float64, params.K)
	for k := range params.K {
		xi := params.Row(k, g.d+g.d*g.d)
		counts[k] = sums.Row(k, 1)[0]
		term, err := w.meanTerm(g, counts[k], xi)
		if err != nil {
			return ofClass(k, err)
		}
		add(k, 0, term)
		_, cov := g.split(xi, 0)
		values, err := w.values(cov)
		if err != nil {
			return ofClass(k, err)
		}
		l.add(values)
	}
	l.terms(counts, func(class int, t laplace.Term) { add(class, 0, t) })
	return nil
}

// MaximizePosterior is a conditional maximum: means, then covariances with pseudo-counts.
func (g ellipsoidal) MaximizePosterior(sums, anchors, params Table, of *Reference) error {
	w, err := newWhitening(g.gaussian, of)
	if err != nil {
		return err
	}
	d := g.d
	l, columns := newLogScales(g.structure.form, d, of), make([][]float64, params.K)
	scatters, covs := make([]float64, params.K*d*d), make([][]float64, params.K)
	for k := range params.K {
		xi := params.Row(k, d+d*d)
		_, covs[k] = g.split(xi, 0)
		var values []float64
		if values, columns[k], err = w.axes(covs[k]); err == nil {
			err = w.moveMean(g.gaussian, sums.Row(k, 1+2*d+d*d), anchors.Row(k, d), xi, at(scatters, k, d*d))
		}
		if err != nil {
			return ofClass(k, err)
		}
		l.add(values)
	}
	m, pulled := newMaximum(g.structure, params.K, of.Pooled), make([]float64, d*d)
	for k := range params.K {
		count, along := l.pseudo(k)
		m.n[k] = sums.Row(k, 1)[0] + count
		assemble(columns[k], along, pulled)
		floats.Add(at(scatters, k, d*d), pulled)
	}
	return m.covariances(scatters, covs)
}

// Integrals are those of the means, and of volume, shape and orientation.
func (g ellipsoidal) Integrals(sums, _, params Table, of *Reference, add func(class, cell int, t laplace.Term)) error {
	return g.gaussian.integrals(newLogScales(g.structure.form, g.d, of), sums, params, of, add)
}
