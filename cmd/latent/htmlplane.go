package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/mixture"
)

// A plane is where the Gaussian columns are looked at: two columns as they are, or the two leading
// directions of the correlations that the mixture implies.
type plane struct {
	columns      []int      // of the table
	centre, unit []float64  // taken off, and divided by
	axes         *mat.Dense // columns×2
	names        [2]string
}

// mostDirected is the most columns that directions are made of: the most characteristic.
const mostDirected = 200

// gaussians are the places of the columns with a mean and a variance, the most characteristic first.
func (f *components) gaussians() []int {
	var list []int
	for _, j := range f.order {
		if slices.Contains([]string{familyGaussian, familyTied, familySpherical}, f.columns[j].Family) {
			list = append(list, j)
		}
	}
	return list
}

// normal is the mean and the covariance of component k in some columns.
func (f *components) normal(k int, columns []int) (mean []float64, cov *mat.SymDense, err error) {
	numbers, err := f.model.Numbers(f.params)
	if err != nil {
		return nil, nil, err
	}
	place := map[int]int{}
	for i, j := range columns {
		place[j] = i
	}
	mean, cov = make([]float64, len(columns)), mat.NewSymDense(len(columns), nil)
	for i, n := range numbers {
		v := f.params.Components[k*len(numbers)+i]
		from, has := place[n.From]
		to, both := place[n.To]
		switch {
		case n.Name == "mean" && has:
			mean[from] = v
		case n.Name == "covariance" && has && both:
			cov.SetSym(from, to, v)
		case n.Name == "variance":
			for j := n.From; j <= n.To; j++ {
				if at, ok := place[j]; ok {
					cov.SetSym(at, at, v)
				}
			}
		}
	}
	return mean, cov, nil
}

// newPlane finds the directions. ok is false where the numbers allow none.
func (f *components) newPlane(columns []int) (p plane, ok bool, err error) {
	d := len(columns)
	p = plane{columns: columns, centre: make([]float64, d), unit: make([]float64, d), axes: mat.NewDense(d, 2, nil)}
	if d == 2 {
		p.unit[0], p.unit[1] = 1, 1
		p.axes.Set(0, 0, 1)
		p.axes.Set(1, 1, 1)
		p.names = [2]string{printable(f.columns[columns[0]].Name), printable(f.columns[columns[1]].Name)}
		return p, true, nil
	}
	total := mat.NewSymDense(d, nil) // E[xxᵀ] about the mean, once that is known
	var means [][]float64
	for k, w := range f.params.Weights {
		mean, cov, err := f.normal(k, columns)
		if err != nil {
			return p, false, err
		}
		means = append(means, mean)
		for i, m := range mean {
			p.centre[i] += w * m
		}
		cov.ScaleSym(w, cov)
		total.AddSym(total, cov)
	}
	for k, w := range f.params.Weights {
		step := mat.NewVecDense(d, nil)
		for i, m := range means[k] {
			step.SetVec(i, m-p.centre[i])
		}
		total.SymRankOne(total, w, step)
	}
	for i := range d {
		p.unit[i] = math.Sqrt(total.At(i, i))
	}
	correlation := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			v := total.At(i, j) / p.unit[i] / p.unit[j]
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
	values := eigen.Values(nil)
	for a := range 2 {
		from := d - 1 - a
		peak := 0.0
		for i := range d {
			if v := vectors.At(i, from); math.Abs(v) > math.Abs(peak) {
				peak = v
			}
		}
		for i := range d {
			p.axes.Set(i, a, math.Copysign(1, peak)*vectors.At(i, from))
		}
		p.names[a] = fmt.Sprintf("direction %d (%s of the variance)", a+1, percent(values[from]/float64(d)))
	}
	return p, true, nil
}

// point is a row of values in the plane.
func (p plane) point(x []float64) (u, v float64) {
	for i, value := range x {
		z := (value - p.centre[i]) / p.unit[i]
		u, v = u+z*p.axes.At(i, 0), v+z*p.axes.At(i, 1)
	}
	return u, v
}

// spread is a covariance in the plane.
func (p plane) spread(cov *mat.SymDense) *mat.Dense {
	d := len(p.columns)
	scaled := mat.NewDense(d, 2, nil)
	for i := range d {
		for a := range 2 {
			scaled.Set(i, a, p.axes.At(i, a)/p.unit[i])
		}
	}
	var half, out mat.Dense
	half.Mul(cov, scaled)
	out.Mul(scaled.T(), &half)
	return &out
}

// mostPoints bounds the rows that a page holds.
const mostPoints = 2000

// planeSection shows rows and Gaussian components; nil where no column is Gaussian.
func (f *components) planeSection(in *input, shown []component) (*htmlreport.Section, error) {
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
	drawing := htmlreport.Scatter{XName: p.names[0], YName: p.names[1], Title: "Components over two columns"}
	about := "Ellipses hold half and 95 % of a component; numbers are components."
	if len(columns) > 2 {
		drawing.Title = "Components over the two leading directions"
		about = "Directions are the two leading eigenvectors of the correlations of the Gaussian columns under the mixture. " + about + leftOut(cut, "column", "less characteristic")
	}
	places := htmlreport.Table{Caption: "components in the plane", Head: []string{"component", "weight", "rows", "x", "y", "sd of x", "sd of y", "correlation"}}
	for k, c := range shown {
		mean, cov, err := f.normal(k, columns)
		if err != nil {
			return nil, err
		}
		x, y := p.point(mean)
		s := p.spread(cov)
		xx, xy, yy := s.At(0, 0), s.At(0, 1), s.At(1, 1)
		name := strconv.Itoa(k + 1)
		row := []string{name, c.Weight.cell(), c.Rows.cell()}
		for _, v := range []float64{x, y, math.Sqrt(xx), math.Sqrt(yy), xy / math.Sqrt(xx*yy)} {
			row = append(row, htmlreport.Number(v))
		}
		places.Rows = append(places.Rows, row)
		drawing.Ellipses = append(drawing.Ellipses, htmlreport.Ellipse{X: x, Y: y, XX: xx, XY: xy, YY: yy, Group: k, Name: name,
			Tip: fmt.Sprintf("component %s\nweight %.4g, %.1f rows\nmean %.6g, %.6g", name, float64(c.Weight), float64(c.Rows), x, y)})
	}
	points, remark, err := f.points(in, p)
	if err != nil {
		return nil, err
	}
	rows := htmlreport.Table{Caption: "rows shown", Head: []string{"row", "x", "y", "component"}}
	for _, one := range points {
		rows.Rows = append(rows.Rows, []string{strconv.Itoa(one.row), htmlreport.Number(one.X), htmlreport.Number(one.Y), strconv.Itoa(one.Group + 1)})
		drawing.Points = append(drawing.Points, one.Point)
	}
	drawing.About = about + " " + remark
	section := &htmlreport.Section{Title: drawing.Title, Figure: drawing.Figure(), Tables: []htmlreport.Table{places, rows}}
	if len(columns) > 2 {
		axes := htmlreport.Table{Caption: "directions, per standard deviation of a column", Head: []string{"column", "direction 1", "direction 2"}}
		for i, j := range columns {
			axes.Rows = append(axes.Rows, []string{printable(f.columns[j].Name), htmlreport.Number(p.axes.At(i, 0)), htmlreport.Number(p.axes.At(i, 1))})
		}
		section.Tables = append(section.Tables, axes)
	}
	return section, nil
}

// A placed row is a point that knows its number in the table, from 1.
type placed struct {
	htmlreport.Point
	row int
}

// points are rows in the plane, each with its most probable component: all of them, or so many at equal
// distances.
func (f *components) points(in *input, p plane) (list []placed, remark string, err error) {
	at := thinned(in.Rows(), mostPoints, nil)
	x, err := in.rowsAt(at)
	if err != nil {
		return nil, "", err
	}
	d := len(f.columns)
	_, q, err := f.model.Judge(framework.Rows{N: len(at), D: d, Stride: d, X: x}, f.params, nil, nil)
	if err != nil {
		return nil, "", err
	}
	labels := mixture.Labels(q, f.params.K)
	values := make([]float64, len(p.columns))
	for i, row := range at {
		for c, j := range p.columns {
			values[c] = x[i*d+j]
		}
		u, v := p.point(values)
		if math.IsNaN(u) || math.IsNaN(v) || in.frequencies != nil && in.frequencies[row] == 0 {
			continue
		}
		name := in.Origin(row) + 1
		list = append(list, placed{htmlreport.Point{X: u, Y: v, Group: labels[i],
			Tip: fmt.Sprintf("row %d\n%.6g, %.6g\ncomponent %d", name, u, v, labels[i]+1)}, name})
	}
	remark = fmt.Sprintf("Points are the %s, coloured by component.", counted(len(list), "row"))
	if len(list) < in.Rows() {
		remark = fmt.Sprintf("Points are %d of the %s, coloured by component.", len(list), counted(in.Rows(), "row"))
	}
	return list, remark, nil
}

// rowsAt are some rows of the table as numbers, codes where a column has levels.
func (in *input) rowsAt(at []int) ([]float64, error) {
	d := in.Cols()
	x := make([]float64, len(at)*d)
	for j, name := range in.Names {
		if codes := in.Codes(name); codes != nil {
			for i, row := range at {
				if x[i*d+j] = float64(codes[row]); codes[row] < 0 {
					x[i*d+j] = math.NaN()
				}
			}
			continue
		}
		values, err := in.Column(name)
		if err != nil {
			return nil, err
		}
		for i, row := range at {
			x[i*d+j] = values[row]
		}
	}
	return x, nil
}

// histogramSection shows the only Gaussian column: all its values, and the densities of the components.
func (f *components) histogramSection(in *input, shown []component, j int) (*htmlreport.Section, error) {
	values, err := in.Column(f.columns[j].Name)
	if err != nil {
		return nil, err
	}
	edges, counts, total := in.bins(values)
	if edges == nil {
		return nil, nil
	}
	name := printable(f.columns[j].Name)
	drawing := htmlreport.Histogram{Title: "Components over " + name, XName: name, YName: "density", Edges: edges,
		About: "Bars are all rows, lines the components by their weight."}
	bins := htmlreport.Table{Caption: "rows in bins", Head: []string{"from", "to", "rows", "density"}}
	for i, n := range counts {
		height := n / total / (edges[i+1] - edges[i])
		drawing.Heights = append(drawing.Heights, height)
		drawing.Tips = append(drawing.Tips, fmt.Sprintf("%.6g to %.6g\n%.6g rows", edges[i], edges[i+1], n))
		bins.Rows = append(bins.Rows, []string{htmlreport.Number(edges[i]), htmlreport.Number(edges[i+1]), htmlreport.Number(n), htmlreport.Number(height)})
	}
	const steps = 240
	for i := range steps + 1 {
		drawing.X = append(drawing.X, edges[0]+float64(i)/steps*(edges[len(edges)-1]-edges[0]))
	}
	curves := htmlreport.Table{Caption: "components", Head: []string{"component", "weight", "mean", "sd"}}
	for k, c := range shown {
		mean, sd := float64(c.Columns[j].Values["mean"]), float64(c.Columns[j].Values["sd"])
		curve := htmlreport.Series{Name: fmt.Sprintf("component %d\nweight %.4g\nmean %.6g\nsd %.6g", k+1, float64(c.Weight), mean, sd)}
		for _, x := range drawing.X {
			z := (x - mean) / sd
			curve.Y = append(curve.Y, float64(c.Weight)*math.Exp(-z*z/2)/(sd*math.Sqrt(2*math.Pi)))
		}
		drawing.Curves = append(drawing.Curves, curve)
		curves.Rows = append(curves.Rows, []string{strconv.Itoa(k + 1), c.Weight.cell(), c.Columns[j].Values["mean"].cell(), c.Columns[j].Values["sd"].cell()})
	}
	return &htmlreport.Section{Title: drawing.Title, Figure: drawing.Figure(), Tables: []htmlreport.Table{curves, bins}}, nil
}

// bins share out the values of a column, missing ones left out: about 2 n^(1/3) bins of one width (Rice's rule),
// 60 at most. The edges are nil where no bin has a width.
func (in *input) bins(values []float64) (edges, counts []float64, total float64) {
	low, high, n := math.Inf(1), math.Inf(-1), 0.0
	for _, v := range values {
		if v == v {
			low, high, n = min(low, v), max(high, v), n+1
		}
	}
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil, nil, 0
	}
	const most = 60
	size := int(min(most, math.Ceil(2*math.Cbrt(n))))
	counts = make([]float64, size)
	for i := range size + 1 {
		edges = append(edges, low+float64(i)/float64(size)*(high-low))
	}
	for row, v := range values {
		if v != v {
			continue
		}
		weight := 1.0
		if in.frequencies != nil {
			weight = in.frequencies[row]
		}
		counts[min(size-1, int((v-low)/(high-low)*float64(size)))] += weight
		total += weight
	}
	return edges, counts, total
}
