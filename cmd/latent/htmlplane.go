package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/htmlreport"
)

// A plane is where the Gaussian columns are looked at: two columns as they are, or the two leading
// directions of the correlations that the mixture implies.
type plane struct {
	columns    []int       // of the table
	centre     []float64   // taken off
	axes       *mat.Dense  // columns×2
	directions [][]float64 // the axes, per standard deviation of a column; nil of two columns as they are
	names      [2]string
}

// mostDirected is the most columns that directions are made of: the most characteristic.
const mostDirected = 200

// gaussians are the places of the columns with a mean and a variance, the most characteristic first.
func (f *components) gaussians() []int {
	var list []int
	for _, j := range f.order {
		if familyNamed(f.columns[j].Family).normal {
			list = append(list, j)
		}
	}
	return list
}

// newPlane finds the directions. ok is false where the numbers allow none.
func (f *components) newPlane(columns []int) (p plane, ok bool, err error) {
	d := len(columns)
	p = plane{columns: columns, centre: make([]float64, d), axes: mat.NewDense(d, 2, nil)}
	if d == 2 {
		for a, j := range columns {
			p.axes.Set(a, a, 1)
			p.names[a] = printable(f.columns[j].Name)
		}
		return p, true, nil
	}
	total := mat.NewSymDense(d, nil) // the covariance of a row
	means := make([][]float64, f.params.K)
	for k, w := range f.params.Weights {
		mean, cov, err := f.normal(k, columns)
		if err != nil {
			return p, false, err
		}
		means[k] = mean
		floats.AddScaled(p.centre, w, mean)
		cov.ScaleSym(w, cov)
		total.AddSym(total, cov)
	}
	for k, w := range f.params.Weights {
		total.SymRankOne(total, w, mat.NewVecDense(d, floats.SubTo(make([]float64, d), means[k], p.centre)))
	}
	correlation, unit := mat.NewSymDense(d, nil), make([]float64, d)
	for i := range d {
		unit[i] = math.Sqrt(total.At(i, i))
		for j := range i + 1 {
			v := total.At(i, j) / unit[i] / unit[j]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return p, false, nil
			}
			correlation.SetSym(i, j, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(correlation, true) {
		return p, false, nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for a := range 2 {
		v := mat.Col(nil, d-1-a, &vectors)
		if -floats.Min(v) > floats.Max(v) {
			floats.Scale(-1, v)
		}
		p.names[a] = fmt.Sprintf("direction %d (%s of the variance)", a+1, percent(eigen.Values(nil)[d-1-a]/float64(d)))
		p.directions = append(p.directions, v)
		p.axes.SetCol(a, floats.DivTo(make([]float64, d), v, unit))
	}
	return p, true, nil
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

// planeSection shows rows and Gaussian components, where a column is Gaussian.
func (f *components) planeSection(in *input, shown []component) ([]htmlreport.Section, error) {
	columns := f.gaussians()
	switch len(columns) {
	case 0:
		return nil, nil
	case 1:
		return f.histogramSection(in, shown, columns[0])
	}
	cut := len(columns) - mostDirected
	columns = columns[:min(len(columns), mostDirected)]
	slices.Sort(columns)
	p, ok, err := f.newPlane(columns)
	if !ok || err != nil {
		return nil, err
	}
	chart := htmlreport.Chart{XName: p.names[0], Title: capital(f.noun) + "s over two columns"}
	panel := htmlreport.Panel{Name: p.names[1], Height: 340}
	about := "Ellipses hold half and 95 % of a " + f.noun + "; numbers are " + f.noun + "s."
	if p.directions != nil {
		chart.Title = capital(f.noun) + "s over the two leading directions"
		about = "Directions are the two leading eigenvectors of the correlations of the Gaussian columns under the mixture. " + about + leftOut(cut, "column", "less characteristic")
	}
	places := sheet{caption: f.noun + "s in the plane", heads: []string{f.noun, "weight", "rows", "x", "y", "sd of x", "sd of y", "correlation"}}
	for k, c := range shown {
		mean, cov, err := f.normal(k, columns)
		if err != nil {
			return nil, err
		}
		x, y := p.point(mean)
		s := p.spread(cov)
		xx, xy, yy := s.At(0, 0), s.At(0, 1), s.At(1, 1)
		places.add(k+1, c.Weight, c.Rows, x, y, math.Sqrt(xx), math.Sqrt(yy), xy/math.Sqrt(xx*yy))
		panel.Ellipses = append(panel.Ellipses, htmlreport.Ellipse{X: x, Y: y, XX: xx, XY: xy, YY: yy, Group: k, Name: strconv.Itoa(k + 1),
			Tip: fmt.Sprintf(f.noun+" %d\nweight %.4g, %.1f rows\nmean %.6g, %.6g", k+1, float64(c.Weight), float64(c.Rows), x, y)})
	}
	rows := sheet{caption: "rows shown", heads: []string{"row", "x", "y", f.noun}}
	remark := ""
	if panel.Points, remark, err = f.points(in, p, &rows); err != nil {
		return nil, err
	}
	chart.About, chart.Panels = about+" "+remark, []htmlreport.Panel{panel}
	sheets := []*sheet{&places, &rows}
	if p.directions != nil {
		axes := &sheet{caption: "directions, per standard deviation of a column", heads: []string{"column", "direction 1", "direction 2"}}
		for i, j := range columns {
			axes.add(f.columns[j].Name, p.directions[0][i], p.directions[1][i])
		}
		sheets = append(sheets, axes)
	}
	return section(chart.Title, chart.Figure(), sheets...), nil
}

// points are rows in the plane, each with its most probable component: all of them, or so many at equal
// distances.
func (f *components) points(in *input, p plane, table *sheet) (list []htmlreport.Point, remark string, err error) {
	at := thinned(in.Rows(), mostPoints, nil)
	labels, err := f.assign(in, at)
	if err != nil {
		return nil, "", err
	}
	values := make([]float64, len(p.columns))
	for i, row := range at {
		for c, j := range p.columns {
			values[c] = in.Number(row, j)
		}
		u, v := p.point(values)
		if math.IsNaN(u) || math.IsNaN(v) || in.frequency(row) == 0 {
			continue
		}
		name := in.Origin(row) + 1
		table.add(name, u, v, labels[i]+1)
		list = append(list, htmlreport.Point{X: u, Y: v, Group: labels[i], Tip: fmt.Sprintf("row %d\n%.6g, %.6g\n%s %d", name, u, v, f.noun, labels[i]+1)})
	}
	remark = fmt.Sprintf("Points are the %s, coloured by %s.", counted(len(list), "row"), f.noun)
	if len(list) < in.Rows() {
		remark = fmt.Sprintf("Points are %d of the %s, coloured by %s.", len(list), counted(in.Rows(), "row"), f.noun)
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
	chart := htmlreport.Chart{Title: capital(f.noun) + "s over " + name, XName: name, About: "Bars are all rows, lines the " + f.noun + "s by their weight."}
	panel := htmlreport.Panel{Name: "density", Height: 240}
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
		curve := htmlreport.Series{Tip: fmt.Sprintf(f.noun+" %d\nweight %.4g\nmean %.6g\nsd %.6g", k+1, float64(c.Weight), mean, sd)}
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
