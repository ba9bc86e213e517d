package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/htmlreport"
)

// A plane is where the Gaussian columns are looked at: two columns as they are, or the two directions that separate the components most.
type plane struct {
	columns    []int       // of the table
	centre     []float64   // taken off
	axes       *mat.Dense  // columns×2
	directions [][]float64 // the axes, per standard deviation of a column; nil of two columns as they are
	names      [2]string
}

// mostDirected is the most columns that directions are made of: the most characteristic.
const mostDirected = 200

// numeric are the places of the columns of numbers, those that separate most first.
func (f *components) numeric() []int {
	return slices.DeleteFunc(slices.Clone(f.order), func(j int) bool {
		return len(f.columns[j].levelNames()) > 0 || familyNamed(strings.TrimSuffix(f.columns[j].Family, noiseSuffix)).moments == nil
	})
}

// gaussians are the places of the columns that are normal or Student distributed, those that separate most first.
func (f *components) gaussians() []int {
	var list []int
	for _, j := range f.order {
		name := strings.TrimSuffix(f.columns[j].Family, noiseSuffix)
		if familyNamed(name).normal || name == familyStudent {
			list = append(list, j)
		}
	}
	return list
}

// newPlane takes two columns as they are, and finds directions of more. ok is false where the numbers allow none.
func (f *components) newPlane(columns []int) (p plane, ok bool, err error) {
	d := len(columns)
	p = plane{columns: columns, centre: make([]float64, d), axes: mat.NewDense(d, 2, nil)}
	if d == 2 {
		for a, j := range columns {
			p.axes.Set(a, a, 1)
			p.names[a] = isolated(printable(f.columns[j].Name))
		}
		return p, true, nil
	}
	s, ok, err := f.standardised(&p)
	if !ok || err != nil {
		return p, false, err
	}
	directions, shares, ok := s.separating()
	what := "between " + f.noun + "s"
	if f.params.K == 1 {
		directions, shares, ok = s.leading()
		what = "of the variance"
	}
	for a := range directions {
		v := directions[a]
		if -floats.Min(v) > floats.Max(v) {
			floats.Scale(-1, v)
		}
		p.names[a] = fmt.Sprintf("direction %d (%s %s)", a+1, percentage(shares[a]), what)
		p.directions = append(p.directions, v)
		p.axes.SetCol(a, floats.DivTo(make([]float64, d), v, s.unit))
	}
	return p, ok, nil
}

// standardised are the moments of the components in standard deviations of each column over the whole mixture.
type standardised struct {
	weights []float64
	unit    []float64 // the standard deviations
	means   [][]float64
	covs    []*mat.SymDense
	total   *mat.SymDense // the correlations of the mixture
}

// standardised takes the centre of the plane and the units of the columns off the components.
func (f *components) standardised(p *plane) (s standardised, ok bool, err error) {
	d := len(p.columns)
	s = standardised{weights: f.params.Weights, unit: make([]float64, d), total: mat.NewSymDense(d, nil)}
	for k, w := range s.weights {
		mean, cov, err := f.normal(k, p.columns)
		if err != nil {
			return s, false, err
		}
		s.means, s.covs = append(s.means, mean), append(s.covs, cov)
		floats.AddScaled(p.centre, w, mean)
	}
	for j := range d {
		for k, w := range s.weights {
			step := s.means[k][j] - p.centre[j]
			s.unit[j] += w * (s.covs[k].At(j, j) + step*step)
		}
		s.unit[j] = math.Sqrt(s.unit[j])
	}
	for k, w := range s.weights {
		floats.Sub(s.means[k], p.centre)
		floats.Div(s.means[k], s.unit)
		for i := range d {
			for j := range i + 1 {
				v := s.covs[k].At(i, j) / s.unit[i] / s.unit[j]
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return s, false, nil
				}
				s.covs[k].SetSym(i, j, v)
				s.total.SetSym(i, j, s.total.At(i, j)+w*(v+s.means[k][i]*s.means[k][j]))
			}
		}
	}
	return s, true, nil
}

// leading are the two directions of the largest variance, and their shares of it.
func (s standardised) leading() (directions [][]float64, shares []float64, ok bool) {
	return largest(s.total, float64(len(s.unit)))
}

// separating are the two directions along which most of the variance is between the components, and these shares: the discriminant
// directions, eigenvectors of B, the covariance of the means, with the mixture whitened. Where the means differ along fewer than two, the
// covariances decide by Σ_k β_k (S_k − S̄)², with S̄ their mean (Scrucca 2010, Statistics and Computing 20, section 3).
func (s standardised) separating() (directions [][]float64, shares []float64, ok bool) {
	const little = 1e-3 // of what is between the components, below which the covariances decide
	d := len(s.unit)
	var whole mat.Cholesky
	if !whole.Factorize(s.total) {
		return nil, nil, false
	}
	var l mat.TriDense
	whole.LTo(&l)
	between, within := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for k, w := range s.weights {
		between.SymRankOne(between, w, mat.NewVecDense(d, s.means[k]))
		var part mat.SymDense
		part.ScaleSym(w, s.covs[k])
		within.AddSym(within, &part)
	}
	means, ok := whitened(&l, between)
	if !ok {
		return nil, nil, false
	}
	shapes := mat.NewSymDense(d, nil)
	for k, w := range s.weights {
		var part, square mat.SymDense
		part.ScaleSym(-1, within)
		part.AddSym(&part, s.covs[k])
		white, ok := whitened(&l, &part)
		if !ok {
			return nil, nil, false
		}
		square.SymOuterK(w, white)
		shapes.AddSym(shapes, &square)
	}
	var kernel mat.SymDense
	kernel.ScaleSym(little/max(mat.Trace(shapes), math.SmallestNonzeroFloat64), shapes)
	kernel.AddSym(&kernel, means)
	directions, _, ok = largest(&kernel, 1)
	for a, v := range directions { // from the whitened columns back to standardised ones
		white, back := mat.NewVecDense(d, v), mat.NewVecDense(d, nil)
		if back.SolveVec(l.T(), white) != nil {
			return nil, nil, false
		}
		shares = append(shares, min(1, max(0, mat.Inner(white, means, white))))
		directions[a] = back.RawVector().Data
	}
	return directions, shares, ok
}

// whitened is L⁻¹ m L⁻ᵀ.
func whitened(l *mat.TriDense, m mat.Symmetric) (*mat.SymDense, bool) {
	var half, white mat.Dense
	if half.Solve(l, m) != nil || white.Solve(l, half.T()) != nil {
		return nil, false
	}
	d := m.SymmetricDim()
	sym := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			sym.SetSym(i, j, (white.At(i, j)+white.At(j, i))/2)
		}
	}
	return sym, true
}

// largest are the eigenvectors of the two largest eigenvalues, and these as shares of a whole.
func largest(m mat.Symmetric, whole float64) (vectors [][]float64, shares []float64, ok bool) {
	var eigen mat.EigenSym
	if !(whole > 0) || !eigen.Factorize(m, true) {
		return nil, nil, false
	}
	var all mat.Dense
	eigen.VectorsTo(&all)
	last := m.SymmetricDim() - 1
	for a := range 2 {
		vectors, shares = append(vectors, mat.Col(nil, last-a, &all)), append(shares, eigen.Values(nil)[last-a]/whole)
	}
	return vectors, shares, true
}

// point is a row of values in the plane.
func (p plane) point(x []float64) (u, v float64) {
	for i, value := range x {
		u, v = u+(value-p.centre[i])*p.axes.At(i, 0), v+(value-p.centre[i])*p.axes.At(i, 1)
	}
	return u, v
}

// spread is a covariance in the plane.
func (p plane) spread(cov *mat.SymDense) *mat.Dense {
	var half, out mat.Dense
	half.Mul(cov, p.axes)
	out.Mul(p.axes.T(), &half)
	return &out
}

// mostPoints bounds the rows that a page holds.
const mostPoints = 2000

// planeSections show rows and components, where columns are Gaussian: the only one, the two that separate the components most, and, of
// more, the plane of the leading directions.
func (f *components) planeSections(in *input, shown []component) ([]htmlreport.Section, error) {
	columns, numeric := f.gaussians(), f.numeric()
	if len(columns) == 1 && len(numeric) == 1 {
		return f.histogramSection(in, shown, columns[0])
	}
	if len(numeric) < 2 {
		return nil, nil
	}
	pair, err := f.bestPair(numeric)
	if err != nil {
		return nil, err
	}
	first, err := f.planeSection(in, shown, pair, 0)
	if len(columns) <= 2 || err != nil {
		return first, err
	}
	cut := len(columns) - mostDirected
	columns = columns[:min(len(columns), mostDirected)]
	slices.Sort(columns)
	further, err := f.planeSection(in, shown, columns, cut)
	return append(first, further...), err
}

// bestPair are the two columns, in the order of the table, that together keep the components furthest apart, of those that separate most by themselves.
func (f *components) bestPair(columns []int) ([]int, error) {
	const few = 40
	columns = slices.Clone(columns[:min(len(columns), few)])
	slices.Sort(columns)
	var means [][]float64
	var covs []*mat.SymDense
	for k := range f.params.K {
		mean, cov, err := f.moments(k, columns)
		if err != nil {
			return nil, err
		}
		means, covs = append(means, mean), append(covs, cov)
	}
	best, pair := math.Inf(-1), []int{0, 1}
	for j := range columns {
		for i := range j {
			sum := 0.0
			for k, w := range f.params.Weights {
				for l := range k {
					overlap := overlap(means[k], means[l], covs[k], covs[l], i, j)
					sum += w * f.params.Weights[l] * (1 - overlap)
				}
			}
			if sum > best {
				best, pair = sum, []int{i, j}
			}
		}
	}
	return []int{columns[pair[0]], columns[pair[1]]}, nil
}

// moments are the mean and the covariance of component k in some columns of numbers; those of other families than Gaussian ones are
// independent.
func (f *components) moments(k int, columns []int) (mean []float64, cov *mat.SymDense, err error) {
	normal := f.gaussians()
	if mean, cov, err = f.normal(k, columns); err != nil {
		return nil, nil, err
	}
	for i, j := range columns {
		if !slices.Contains(normal, j) {
			own := f.spreadOf(f.list[k].Columns[j], j)
			mean[i] = float64(own.mean)
			cov.SetSym(i, i, float64(own.sd*own.sd))
		}
	}
	return mean, cov, nil
}

// overlap is the Bhattacharyya coefficient of two normal distributions in columns i and j: 1 of the same, 0 far apart.
// With S the mean of the covariances, it is exp(−(m₁−m₂)ᵀ S⁻¹ (m₁−m₂)/8) (|S₁||S₂|)^(1/4)/|S|^(1/2).
func overlap(m1, m2 []float64, s1, s2 *mat.SymDense, i, j int) float64 {
	det := func(a, b, c float64) float64 { return a*c - b*b }
	of := func(s *mat.SymDense) (a, b, c float64) { return s.At(i, i), s.At(i, j), s.At(j, j) }
	a1, b1, c1 := of(s1)
	a2, b2, c2 := of(s2)
	a, b, c := (a1+a2)/2, (b1+b2)/2, (c1+c2)/2
	u, v, size := m1[i]-m2[i], m1[j]-m2[j], det(a, b, c)
	coefficient := math.Exp(-(c*u*u-2*b*u*v+a*v*v)/size/8) * math.Pow(det(a1, b1, c1)*det(a2, b2, c2), 0.25) / math.Sqrt(size)
	if coefficient != coefficient { // of a component without extent
		return 1
	}
	return min(1, coefficient)
}

// planeSection shows rows and Gaussian components in the plane of two columns, or of the leading directions of more.
func (f *components) planeSection(in *input, shown []component, columns []int, cut int) ([]htmlreport.Section, error) {
	p, ok, err := f.newPlane(columns)
	if !ok || err != nil {
		return nil, err
	}
	chart := htmlreport.Chart{XName: p.names[0], Title: capital(f.noun) + "s over two columns"}
	panel := htmlreport.Panel{Name: p.names[1], Height: 340, EllipsesName: "half and 95 % of a " + f.noun}
	about, places, rows, axes := "", f.noun+"s in the plane", "rows shown", (*sheet)(nil)
	switch {
	case p.directions != nil:
		chart.Title, places, rows = capital(f.noun)+"s over the two directions that separate them most", f.noun+"s in the plane of directions", "rows in the plane of directions"
		about = fmt.Sprintf("Directions are weighted sums of columns, chosen so that most of their variance is between the %ss. %s%s ", f.noun, f.weighed(p), leftOut(cut, "column", "which separate less"))
		if f.params.K == 1 {
			chart.Title = "The rows over the two leading directions"
			about = "Directions are the two leading eigenvectors of the correlations. "
		}
		axes = &sheet{caption: "directions, per standard deviation of a column", heads: []string{"column", "direction 1", "direction 2"}}
		for i, j := range columns {
			axes.add(f.columns[j].Name, p.directions[0][i], p.directions[1][i])
		}
	case len(f.numeric()) > 2:
		chart.Title = capital(f.noun) + "s over the two columns that separate them most"
	}
	drawn := !slices.ContainsFunc(columns, func(j int) bool { return !slices.Contains(f.gaussians(), j) })
	if !drawn {
		panel.EllipsesName = ""
	}
	ovals := sheet{caption: places, heads: []string{f.noun, "weight", "rows", "x", "y", "sd of x", "sd of y", "correlation"}}
	for k, c := range shown {
		mean, cov, err := f.moments(k, columns)
		if err != nil {
			return nil, err
		}
		x, y := p.point(mean)
		s := p.spread(cov)
		xx, xy, yy := s.At(0, 0), s.At(0, 1), s.At(1, 1)
		ovals.add(k+1, c.Weight, c.Rows, x, y, math.Sqrt(xx), math.Sqrt(yy), xy/math.Sqrt(xx*yy))
		panel.Groups = append(panel.Groups, fmt.Sprintf("%d (%s)", k+1, percentage(float64(c.Weight))))
		if !drawn { // whose distributions are no ellipses: the means alone
			xx, xy, yy = 0, 0, 0
		}
		panel.Ellipses = append(panel.Ellipses, htmlreport.Ellipse{X: x, Y: y, XX: xx, XY: xy, YY: yy, Group: k, Name: strconv.Itoa(k + 1),
			Tip: fmt.Sprintf(f.noun+" %d\nweight %.4g, %.1f rows\nmean %.6g, %.6g", k+1, float64(c.Weight), float64(c.Rows), x, y)})
	}
	table := sheet{caption: rows, heads: []string{"row", "x", "y", f.noun}}
	remark := ""
	if panel.Points, remark, err = f.points(in, p, &table); err != nil {
		return nil, err
	}
	chart.About, chart.Panels = about+remark, []htmlreport.Panel{panel}
	sheets := []*sheet{&ovals, &table}
	if axes != nil {
		sheets = append(sheets, axes)
	}
	return section(chart.Title, chart.Figure(), sheets...), nil
}

// weighed says which columns the directions are mostly made of.
func (f *components) weighed(p plane) string {
	var texts []string
	for a, v := range p.directions {
		sizes := make([]float64, len(v))
		for i, c := range v {
			sizes[i] = math.Abs(c)
		}
		var parts []string
		for _, i := range byValue(sizes, upTo(0, len(v)-1))[:min(len(v), mostSaid)] {
			parts = append(parts, f.columns[p.columns[i]].called()+" "+htmlreport.Fixed(v[i], 2))
		}
		texts = append(texts, fmt.Sprintf("direction %d %s", a+1, enumerated(parts)))
	}
	return "Their largest weights, for a standard deviation of the column: " + strings.Join(texts, "; ") + "."
}

// points are rows in the plane, each with its most probable component: all of them, or so many at equal
// distances.
func (f *components) points(in *input, p plane, table *sheet) (list []htmlreport.Point, remark string, err error) {
	at := thinned(in.Rows(), mostPoints, nil)
	labels, err := f.assign(in, at)
	if err != nil {
		return nil, "", err
	}
	values, lacking := make([]float64, len(p.columns)), 0
	for i, row := range at {
		for c, j := range p.columns {
			values[c] = in.Number(row, j)
		}
		u, v := p.point(values)
		if in.frequency(row) == 0 {
			continue
		}
		if math.IsNaN(u) || math.IsNaN(v) {
			lacking++
			continue
		}
		name := in.Origin(row) + 1
		table.add(name, u, v, labels[i]+1)
		list = append(list, htmlreport.Point{X: u, Y: v, Group: labels[i], Tip: fmt.Sprintf("row %d\n%.6g, %.6g\n%s %d", name, u, v, f.noun, labels[i]+1)})
	}
	remark = fmt.Sprintf("Points are the %s, coloured by their most probable %s.", counted(len(list), "row"), f.noun)
	if len(list) < in.Rows() {
		remark = fmt.Sprintf("Points are %d of the %s, coloured by their most probable %s.", len(list), counted(in.Rows(), "row"), f.noun)
		if len(at) < in.Rows() {
			remark += " They are at equal distances in the table."
		}
		if lacking > 0 {
			remark += fmt.Sprintf(" %s missing in the figure, for lack of a value.", are(lacking, "row"))
		}
	}
	return list, remark, nil
}

// histogramSection shows the only Gaussian column: all its values, and the densities of the components.
func (f *components) histogramSection(in *input, shown []component, j int) ([]htmlreport.Section, error) {
	values, err := in.Column(f.columns[j].Name)
	if err != nil {
		return nil, err
	}
	edges, counts := bins(values, in.frequencies)
	if edges == nil {
		return nil, nil
	}
	name, total := printable(f.columns[j].Name), floats.Sum(counts)
	chart := htmlreport.Chart{Title: capital(f.noun) + "s over " + name, XName: name, About: fmt.Sprintf("How the rows lie over %s, and how the %ss, each by its weight, describe them.", name, f.noun)}
	panel := htmlreport.Panel{Name: "density", Height: 240, BinsName: "rows"}
	table := sheet{caption: "rows in bins", heads: []string{"from", "to", "rows", "density"}}
	for i, n := range counts {
		bin := htmlreport.Bin{From: edges[i], To: edges[i+1], Height: n / total / (edges[i+1] - edges[i])}
		bin.Tip = fmt.Sprintf("%.6g to %.6g\n%.6g rows", bin.From, bin.To, n)
		table.add(bin.From, bin.To, n, bin.Height)
		panel.Bins = append(panel.Bins, bin)
	}
	chart.X = floats.Span(make([]float64, 241), edges[0], edges[len(edges)-1])
	curves := sheet{caption: f.noun + "s", heads: []string{f.noun, "weight", "mean", "sd"}}
	for k, c := range shown {
		mean, sd := float64(c.Columns[j].Values["mean"]), float64(c.Columns[j].Values["sd"])
		curve := htmlreport.Series{Name: fmt.Sprintf("%s %d (%s)", f.noun, k+1, percentage(float64(c.Weight))), Tip: fmt.Sprintf(f.noun+" %d\nweight %.4g\nmean %.6g\nsd %.6g", k+1, float64(c.Weight), mean, sd)}
		for _, x := range chart.X {
			curve.Y = append(curve.Y, float64(c.Weight)*distuv.Normal{Mu: mean, Sigma: sd}.Prob(x))
		}
		panel.Series = append(panel.Series, curve)
		curves.add(k+1, c.Weight, mean, sd)
	}
	chart.Panels = []htmlreport.Panel{panel}
	return section(chart.Title, chart.Figure(), &curves, &table), nil
}

// bins share out values, missing ones left out, by the weights of their rows: about 2 n^(1/3) bins of one width
// (Rice's rule), 60 at most. The edges are nil where no bin has a width.
func bins(values, weights []float64) (edges, counts []float64) {
	var x, w []float64
	for row, v := range values {
		if math.IsNaN(v) {
			continue
		}
		x = append(x, v)
		if weights != nil {
			w = append(w, weights[row])
		}
	}
	if len(x) == 0 || !(floats.Max(x) > floats.Min(x)) || math.IsInf(floats.Max(x)-floats.Min(x), 0) {
		return nil, nil
	}
	const most = 60
	edges = floats.Span(make([]float64, 1+int(min(most, math.Ceil(2*math.Cbrt(float64(len(x))))))), floats.Min(x), floats.Max(x))
	dividers := slices.Clone(edges)
	dividers[len(edges)-1] = math.Nextafter(floats.Max(x), math.Inf(1)) // the last bin holds the largest value
	stat.SortWeighted(x, w)
	return edges, stat.Histogram(nil, dividers, x, w)
}
