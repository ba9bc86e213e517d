package classes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// A plane is where the Gaussian columns are looked at: two columns as they are, or the two directions that separate the
// components most.
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
func (f *Components) numeric() []int {
	return slices.DeleteFunc(slices.Clone(f.Order), func(j int) bool {
		return len(levelNames(f.Columns[j])) > 0 || families.Named(f.Columns[j].Family).Moments == nil
	})
}

// Gaussians are the places of the columns that are normal or Student distributed, those that separate most first.
func (f *Components) Gaussians() []int {
	var list []int
	for _, j := range f.Order {
		name := strings.TrimSuffix(f.Columns[j].Family, families.NoiseSuffix)
		if families.Named(name).Normal || name == families.StudentT {
			list = append(list, j)
		}
	}
	return list
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

// MostPoints bounds the rows that a page holds.
const MostPoints = 2000

// planeSections show rows and components, where columns are Gaussian: the only one, the two that separate the
// components most, and, of more, the plane of the leading directions.
func (f *Components) planeSections(shown []Component) ([]report.Section, error) {
	columns, numeric := f.Gaussians(), f.numeric()
	if len(columns) == 1 && len(numeric) == 1 {
		return f.histogramSection(shown, columns[0])
	}
	if len(numeric) < 2 {
		return nil, nil
	}
	pair, err := f.bestPair(numeric)
	if err != nil {
		return nil, err
	}
	first, err := f.planeSection(shown, pair, 0)
	if len(columns) <= 2 || err != nil {
		return first, err
	}
	cut := len(columns) - mostDirected
	columns = columns[:min(len(columns), mostDirected)]
	slices.Sort(columns)
	further, err := f.planeSection(shown, columns, cut)
	return append(first, further...), err
}

// bestPair are the two columns, in the order of the table, that together keep the components furthest apart, of those
// that separate most by themselves.
func (f *Components) bestPair(columns []int) ([]int, error) {
	const few = 20
	columns = slices.Clone(columns[:min(len(columns), few)])
	slices.Sort(columns)
	var means [][]float64
	var covs []*mat.SymDense
	for k := range f.Mixture.K {
		mean, cov, err := f.moments(k, columns)
		if err != nil {
			return nil, err
		}
		means, covs = append(means, mean), append(covs, cov)
	}
	best, pair := math.Inf(-1), [2]int{0, 1}
	for j := range columns {
		for i := range j {
			if apart := f.apart(means, covs, i, j); apart > best {
				best, pair = apart, [2]int{i, j}
			}
		}
	}
	return []int{columns[pair[0]], columns[pair[1]]}, nil
}

// moments are the mean and the covariance of component k in some columns of numbers; those of other families than
// Gaussian ones are independent.
func (f *Components) moments(k int, columns []int) (mean []float64, cov *mat.SymDense, err error) {
	normal := f.Gaussians()
	if mean, cov, err = f.normal(k, columns); err != nil {
		return nil, nil, err
	}
	for i, j := range columns {
		if !slices.Contains(normal, j) {
			own := f.spreadOf(f.List[k].Columns[j], j)
			mean[i] = own.Value
			cov.SetSym(i, i, own.SD*own.SD)
		}
	}
	return mean, cov, nil
}

// apart is how far apart the components are in columns i and j: 1 − the Bhattacharyya coefficient of two, by their
// weights. A component without extent in them counts as one with all.
func (f *Components) apart(means [][]float64, covs []*mat.SymDense, i, j int) (sum float64) {
	var normals []*distmv.Normal
	for k, mean := range means {
		cov := mat.NewSymDense(2, []float64{covs[k].At(i, i), covs[k].At(i, j), 0, covs[k].At(j, j)})
		normal, ok := distmv.NewNormal([]float64{mean[i], mean[j]}, cov, nil)
		if !ok {
			normal = nil
		}
		normals = append(normals, normal)
		for l := range k {
			if normal != nil && normals[l] != nil {
				sum += f.Mixture.Weights[k] * f.Mixture.Weights[l] *
					-math.Expm1(-distmv.Bhattacharyya{}.DistNormal(normal, normals[l]))
			}
		}
	}
	return sum
}

// planeSection shows rows and Gaussian components in the plane of two columns, or of the leading directions of more.
func (f *Components) planeSection(shown []Component, columns []int, cut int) ([]report.Section, error) {
	p, ok, err := f.newPlane(columns)
	if !ok || err != nil {
		return nil, err
	}
	chart := report.Chart{XName: p.names[0], Title: wording.Capital(f.Noun) + "s over two columns"}
	panel := report.Panel{Name: p.names[1], Height: 340, EllipsesName: "half and 95 % of a " + f.Noun}
	about, places, rows, axes := "", f.Noun+"s in the plane", "rows shown", []report.Table(nil)
	switch {
	case p.directions != nil:
		chart.Title, places, rows = wording.Capital(f.Noun)+"s over the two directions that separate them most",
			f.Noun+"s in the plane of directions", "rows in the plane of directions"
		about = fmt.Sprintf("Directions are weighted sums of columns, chosen so that most of their variance is "+
			"between the %ss. %s%s ", f.Noun, f.weighed(p), wording.LeftOut(cut, "column", "which separate less"))
		if f.Mixture.K == 1 {
			chart.Title = "The rows over the two leading directions"
			about = "Directions are the two leading eigenvectors of the correlations. "
		}
		weights := report.Table{
			Caption: "directions, per standard deviation of a column",
			Columns: report.Columns("column", "direction 1", "direction 2"),
		}
		for i, j := range columns {
			weights.Add(f.Columns[j].Name, p.directions[0][i], p.directions[1][i])
		}
		axes = []report.Table{weights}
	case f.Mixture.K == 1:
		chart.Title = "The rows over two columns"
	case len(f.numeric()) > 2:
		chart.Title = wording.Capital(f.Noun) + "s over the two columns that separate them most"
	}
	drawn := !slices.ContainsFunc(columns, func(j int) bool { return !slices.Contains(f.Gaussians(), j) })
	if !drawn {
		panel.EllipsesName = ""
	}
	ovals := report.Table{
		Caption: places, Columns: report.Columns(f.Noun, "weight", "rows", "x", "y", "sd of x", "sd of y", "correlation"),
	}
	for k, c := range shown {
		mean, cov, err := f.moments(k, columns)
		if err != nil {
			return nil, err
		}
		x, y := p.point(mean)
		s := p.spread(cov)
		xx, xy, yy := s.At(0, 0), s.At(0, 1), s.At(1, 1)
		ovals.Add(k+1, c.Weight, c.Rows, x, y, math.Sqrt(xx), math.Sqrt(yy), xy/math.Sqrt(xx*yy))
		panel.Groups = append(panel.Groups, fmt.Sprintf("%s (%s)", f.Called(k), report.Percentage(float64(c.Weight))))
		if !drawn { // whose distributions are no ellipses: the means alone
			xx, xy, yy = 0, 0, 0
		}
		panel.Ellipses = append(panel.Ellipses,
			report.Ellipse{X: x, Y: y, XX: xx, XY: xy, YY: yy, Group: k, Name: strconv.Itoa(k + 1),
				Tip: fmt.Sprintf(f.Noun+" %d\nweight %.4g, %.1f rows\nmean %.6g, %.6g", k+1, float64(c.Weight),
					float64(c.Rows), x, y)})
	}
	table := report.Table{Caption: rows, Columns: report.Columns("row", "x", "y", f.Noun)}
	remark := ""
	if panel.Points, remark, err = f.points(p, &table); err != nil {
		return nil, err
	}
	chart.About, chart.Panels = about+remark, []report.Panel{panel}
	return report.Single(chart.Title, chart, append([]report.Table{ovals, table}, axes...)...), nil
}

// points are rows in the plane, each with its most probable component: all of them, or so many at equal
// distances.
func (f *Components) points(p plane, table *report.Table) (list []report.Point, remark string, err error) {
	at := wording.Thinned(f.Data.Rows(), MostPoints, nil)
	labels, err := f.Assign(at)
	if err != nil {
		return nil, "", err
	}
	values, lacking := make([]float64, len(p.columns)), 0
	for i, row := range at {
		for c, j := range p.columns {
			values[c] = f.Data.Number(row, j)
		}
		u, v := p.point(values)
		if f.Data.Weight(row) == 0 {
			continue
		}
		if math.IsNaN(u) || math.IsNaN(v) {
			lacking++
			continue
		}
		name := f.Data.Origin(row) + 1
		table.Add(name, u, v, labels[i]+1)
		list = append(list, report.Point{
			X: u, Y: v, Group: labels[i], Tip: fmt.Sprintf("row %d\n%.6g, %.6g\n%s %d", name, u, v, f.Noun, labels[i]+1),
		})
	}
	remark = fmt.Sprintf("Points are the %s, coloured by their most probable %s.", wording.Counted(len(list), "row"),
		f.Noun)
	if len(list) < f.Data.Rows() {
		remark = fmt.Sprintf("Points are %d of the %s, coloured by their most probable %s.", len(list),
			wording.Counted(f.Data.Rows(), "row"), f.Noun)
		if len(at) < f.Data.Rows() {
			remark += " They are at equal distances in the table."
		}
		if lacking > 0 {
			remark += fmt.Sprintf(" %s missing in the figure, for lack of a value.", wording.Are(lacking, "row"))
		}
	}
	return list, remark, nil
}

// histogramSection shows the only Gaussian column: all its values, and the densities of the components.
func (f *Components) histogramSection(shown []Component, j int) ([]report.Section, error) {
	values, err := f.Data.Column(f.Columns[j].Name)
	if err != nil {
		return nil, err
	}
	edges, counts := Bins(values, f.Data.Weights)
	if edges == nil {
		return nil, nil
	}
	name, total := report.Printable(f.Columns[j].Name), floats.Sum(counts)
	chart := report.Chart{
		Title: wording.Capital(f.Noun) + "s over " + name,
		XName: Axis(f.Columns[j]),
		About: fmt.Sprintf("The rows over %s, and the weighted densities of the %ss.", name, f.Noun),
	}
	panel := report.Panel{Name: "density", Height: 240, BinsName: "rows"}
	table := report.Table{Caption: "rows in bins", Columns: report.Columns("from", "to", "rows", "density")}
	for i, n := range counts {
		bin := report.Bin{From: edges[i], To: edges[i+1], Height: n / total / (edges[i+1] - edges[i])}
		bin.Tip = fmt.Sprintf("%.6g to %.6g\n%.6g rows", bin.From, bin.To, n)
		table.Add(bin.From, bin.To, n, bin.Height)
		panel.Bins = append(panel.Bins, bin)
	}
	chart.X = floats.Span(make([]float64, 241), edges[0], edges[len(edges)-1])
	curves := report.Table{Caption: f.Noun + "s", Columns: report.Columns(f.Noun, "weight", "mean", "sd")}
	for k, c := range shown {
		mean, sd := float64(c.Columns[j].Values["mean"]), float64(c.Columns[j].Values["sd"])
		curve := report.Series{
			Name: fmt.Sprintf("%s %s (%s)", f.Noun, f.Called(k), report.Percentage(float64(c.Weight))),
			Tip:  fmt.Sprintf(f.Noun+" %d\nweight %.4g\nmean %.6g\nsd %.6g", k+1, float64(c.Weight), mean, sd),
		}
		for _, x := range chart.X {
			curve.Y = append(curve.Y, float64(c.Weight)*distuv.Normal{Mu: mean, Sigma: sd}.Prob(x))
		}
		panel.Series = append(panel.Series, curve)
		curves.Add(k+1, c.Weight, mean, sd)
	}
	chart.About += CutCurves(panel)
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, curves, table), nil
}

// CutCurves cuts densities off far above the bars, which could not be read beside those of a narrow class. It returns a
// sentence about it.
func CutCurves(p report.Panel) string {
	const times = 2 // the highest bar
	highest := slices.MaxFunc(p.Bins, func(a, b report.Bin) int { return cmp.Compare(a.Height, b.Height) }).Height
	cut := ""
	for _, s := range p.Series {
		for i, v := range s.Y {
			if v > times*highest {
				s.Y[i], cut = times*highest, fmt.Sprintf(" Densities above %s are cut off.", report.Readable(times*highest))
			}
		}
	}
	return cut
}

// Bins share out values, missing ones left out, by the weights of their rows: about 2 n^(1/3) bins of one width
// (Rice's rule), 60 at most. The edges are nil where no bin has a width.
func Bins(values, weights []float64) (edges, counts []float64) {
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
	edges = floats.Span(make([]float64, 1+int(min(most, math.Ceil(2*math.Cbrt(float64(len(x))))))),
		floats.Min(x), floats.Max(x))
	dividers := slices.Clone(edges)
	dividers[len(edges)-1] = math.Nextafter(floats.Max(x), math.Inf(1)) // the last bin holds the largest value
	stat.SortWeighted(x, w)
	return edges, stat.Histogram(nil, dividers, x, w)
}
