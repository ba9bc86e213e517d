package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/report"
)

// axes are latent dimensions that columns load on.
type axes struct {
	noun     string // what one is called: dimension, or factor
	names    []string
	k        int
	loadings []float64 // D×K, in the units of the columns
	strength []float64 // likewise, on a scale from −1 to 1
	shares   []float64 // of the variance, of each dimension
}

// pcaAxes are those of BPCA, or the factors of a matrix. The strength is the correlation of column and dimension under the model, w_jk/√(Σ_k w_jk² + σ²), which does
// not depend on the units of the columns.
func pcaAxes(noun string, p *bpca.Parameters, names []string) axes {
	a := axes{noun: noun, names: names, k: p.K, loadings: p.Loadings, shares: p.Explained()}
	for j := range p.D {
		w := p.Loadings[j*p.K : (j+1)*p.K]
		spread := math.Sqrt(floats.Dot(w, w) + p.Noise)
		for _, v := range w {
			a.strength = append(a.strength, v/spread)
		}
	}
	return a
}

// items say of each dimension how much of the variance is along it, and which columns it moves.
func (a axes) items() (list []report.Item) {
	for k := range min(a.k, wording.MostItems) {
		list = append(list, report.Item{Group: k, Name: fmt.Sprintf("%s %d", capital(a.noun), k+1),
			Size: report.Percentage(a.shares[k]) + " of the variance", Share: a.shares[k], Text: a.about(k, "One standard deviation more of it")})
	}
	return list
}

// about says what dimension k does to the columns that it is most about.
func (a axes) about(k int, does string) string {
	const most, share = 4, 0.5
	size := make([]float64, len(a.names))
	for j := range size {
		size[j] = math.Abs(a.strength[j*a.k+k])
	}
	var said []string
	for _, j := range byValue(size, chosen(size, most)) {
		if size[j] >= share*floats.Max(size) {
			said = append(said, fmt.Sprintf("%s %s", isolated(report.Printable(a.names[j])), wording.Signed(a.loadings[j*a.k+k])))
		}
	}
	return does + ": " + enumerated(said) + "."
}

// sorted are some columns in the order of the dimension that each is most about, and within it the strongest first.
func (a axes) sorted(columns []int) []int {
	best := func(j int) (k int, size float64) {
		for l := range a.k {
			if v := math.Abs(a.strength[j*a.k+l]); v > size {
				k, size = l, v
			}
		}
		return k, size
	}
	list := slices.Clone(columns)
	slices.SortStableFunc(list, func(i, j int) int {
		k, u := best(i)
		l, v := best(j)
		return cmp.Or(cmp.Compare(k, l), cmp.Compare(v, u))
	})
	return list
}

// cells is a table of some columns with their loadings on the first k dimensions, shaded by strength.
func (a axes) cells(caption string, columns []int, k int, value func(j, l int) any) report.Table {
	table := report.Table{Caption: caption, Columns: append(report.Columns("column"), report.Classes(numbered(a.noun+" ", k)...)...), Open: k <= mostShaded, Low: "−1", High: "1"}
	for _, j := range columns {
		row := []any{a.names[j]}
		for l := range k {
			row = append(row, report.Shaded(value(j, l), a.strength[j*a.k+l]))
		}
		table.Add(row...)
	}
	return table
}

// heat draws the strengths of those columns, where a table has no room for them.
func (a axes) heat(title, about string, columns []int, k int, text func(j, l int) string) report.Figure {
	if k <= mostShaded {
		return nil
	}
	heat := report.Heat{Title: title, Columns: numbered("", k), ColumnsName: a.noun, Low: "−1", High: "1", Root: true, About: about}
	for _, j := range columns {
		var shades []float64
		var texts []string
		for l := range k {
			shades, texts = append(shades, a.strength[j*a.k+l]), append(texts, text(j, l))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, report.Printable(a.names[j])), append(heat.Shade, shades), append(heat.Texts, texts)
	}
	return heat
}

// finding says how much of the variance the dimensions hold, and what each of them moves.
func (a axes) finding(noise float64) report.Section {
	all := floats.Sum(a.shares)
	text := fmt.Sprintf("%s: %s of the variance of %s is along %s; the rest is noise, of standard deviation %s in every column.", capital(counted(a.k, a.noun)),
		report.Percentage(all), counted(len(a.names), "column"), plural(a.k, "it", "them"), report.Readable(math.Sqrt(noise)))
	return report.Section{Text: text + leftOut(a.k-wording.MostItems, a.noun, "of less variance"), Items: a.items()}
}

// spectrumSection shows the share of the variance along each latent dimension, beside that of the noise along any direction.
func spectrumSection(p *bpca.Parameters) []report.Section {
	shares := p.Explained()
	all := floats.Sum(shares)
	noise := (1 - all) / float64(p.D)
	table := report.Table{Caption: "variance explained", Columns: report.Columns("dimension", "share", "cumulative")}
	for k, sum := range floats.CumSum(make([]float64, p.K), shares)[:min(p.K, mostIterations)] {
		table.Add(k+1, report.Share(shares[k]), report.Share(sum))
	}
	chart := report.Chart{
		Title: "Spectrum", XName: "dimension", Names: numbered("", len(table.Rows)),
		About: fmt.Sprintf("%s of the variance is along %s; the rest is noise, %s along each of the %s, the dashed line.", report.Percentage(all), counted(p.K, "dimension"), report.Percentage(noise), counted(p.D, "direction")),
		Panels: []report.Panel{{Name: "share of the variance, log scale", Height: 220, Bars: true, Log: true, Series: table.Series("share", 1),
			Levels: []report.Level{{Name: "noise along a direction", Value: noise}}}},
	}
	return section(chart.Title, chart, table)
}

// loadingsSection shows W, the columns that belong to one dimension together.
func loadingsSection(noun string, p *bpca.Parameters, names []string) []report.Section {
	a := pcaAxes(noun, p, names)
	explained := make([]float64, p.D)
	for j := range explained {
		w := a.strength[j*p.K : (j+1)*p.K]
		explained[j] = floats.Dot(w, w)
	}
	columns := a.sorted(chosen(explained, mostProfiles))
	k := min(p.K, mostRows)
	loading := func(j, l int) float64 { return p.Loadings[j*p.K+l] }
	about := fmt.Sprintf("What one standard deviation of a %s adds to each column, in its units. The colour is the correlation of the two under the model. Columns stand by the %[1]s that they are most about.", noun) +
		leftOut(p.D-len(columns), "column", "which the "+noun+"s explain least") + leftOut(p.K-k, "weaker "+noun, "")
	heat := a.heat("Loadings", about, columns, k, func(j, l int) string {
		return fmt.Sprintf("%s (correlation %.3f)", report.Readable(loading(j, l)), a.strength[j*a.k+l])
	})
	list := section("Loadings", heat, a.cells("loadings", columns, k, func(j, l int) any { return loading(j, l) }))
	a.place(&list[0], about)
	return list
}

// place says what a table without a figure shows, and gives it the width that its columns take.
func (a axes) place(s *report.Section, about string) {
	const most = 2 // columns of dimensions that half a page has room for
	if s.Figure == nil {
		s.Text, s.Wide = about, a.k > most
	}
}

// finding says the rank, the noise and what each factor moves; p is nil at rank 0.
func (file factorsFile) finding(in *input, p *bpca.Parameters) (list report.Section) {
	if p == nil {
		return report.Section{Text: "Nothing stands out from the noise. The rank is 0."}
	}
	return pcaAxes("factor", p, in.Names).finding(file.Noise)
}

// sections draw the loadings, and the singular values before and after shrinkage.
func (file factorsFile) sections(in *input, p *bpca.Parameters) []report.Section {
	edge := math.Sqrt(file.Noise) * (math.Sqrt(float64(in.Rows())) + math.Sqrt(float64(in.Cols())))
	text := fmt.Sprintf("Rank %d. Noise variance %s, standard deviation %s: the largest singular value of a matrix of such noise alone is about %s.",
		file.K, report.Readable(file.Noise), report.Readable(math.Sqrt(file.Noise)), report.Readable(edge))
	rank := report.Table{Caption: "rank and noise", Columns: report.Columns("number", "value")}
	rank.Add("rank", file.K)
	rank.Add("noise variance", file.Noise)
	if file.K == 0 {
		list := section("Rank and noise", nil, rank)
		list[0].Text = text
		return list
	}
	about := fmt.Sprintf("Singular values of the matrix and what shrinkage leaves of them, for the %s kept; beside them the edge of the noise, about σ(√rows + √columns).", counted(file.K, "factor"))
	table := report.Table{Caption: "singular values", Columns: report.Columns("factor", "before", "after shrinkage")}
	for k, shrunk := range file.Shrunk[:min(len(file.Shrunk), mostIterations)] {
		before := math.NaN()
		if k < len(file.Singular) {
			before = file.Singular[k]
		}
		table.Add(k+1, before, shrunk)
	}
	series := slices.Concat(table.Series("before", 1), table.Series("after", 2))
	if len(file.Singular) == 0 {
		about = fmt.Sprintf("Singular values of E[BAᵀ], after shrinkage, for the %s kept; iterations do not know those of the matrix.", counted(file.K, "factor"))
		series = series[1:]
	}
	chart := report.Chart{
		Title: "Singular values", About: about, XName: "factor", Names: numbered("", len(table.Rows)),
		Panels: []report.Panel{{Name: "singular value, log scale", Height: 220, Bars: true, Log: true, Series: series,
			Levels: []report.Level{{Name: "edge of the noise", Value: edge}}}},
	}
	list := section("Rank and noise", chart, rank, table)
	list[0].Text = text
	return append(loadingsSection("factor", p, in.Names), list...)
}
