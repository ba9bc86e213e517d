// Package axes shows latent dimensions that columns load on, such as factors: what each moves, and by how much.
package axes

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

// Axes are latent dimensions that columns load on.
type Axes struct {
	Noun     string // what one is called: dimension, or factor
	Names    []string
	K        int
	Loadings []float64 // D×K, in the units of the columns
	Strength []float64 // likewise, on a scale from −1 to 1
	Shares   []float64 // of the variance, of each dimension
}

// OfPCA are those of BPCA, or the factors of a matrix. The strength is the correlation of column and dimension under
// the model, w_jk/√(Σ_k w_jk² + σ²), which does not depend on the units of the columns.
func OfPCA(noun string, p *bpca.Parameters, names []string) Axes {
	a := Axes{Noun: noun, Names: names, K: p.K, Loadings: p.Loadings, Shares: p.Explained()}
	for j := range p.D {
		w := p.Loadings[j*p.K : (j+1)*p.K]
		spread := math.Sqrt(floats.Dot(w, w) + p.Noise)
		for _, v := range w {
			a.Strength = append(a.Strength, v/spread)
		}
	}
	return a
}

// Items say of each dimension how much of the variance is along it, and which columns it moves.
func (a Axes) Items() (list []report.Item) {
	for k := range min(a.K, wording.MostItems) {
		list = append(list, report.Item{
			Group: k,
			Name:  fmt.Sprintf("%s %d", wording.Capital(a.Noun), k+1),
			Size:  report.Percentage(a.Shares[k]) + " of the variance",
			Share: a.Shares[k],
			Text:  a.About(k, "One standard deviation more of it"),
		})
	}
	return list
}

// About says what dimension k does to the columns that it is most about.
func (a Axes) About(k int, does string) string {
	const most, share = 4, 0.5
	size := make([]float64, len(a.Names))
	for j := range size {
		size[j] = math.Abs(a.Strength[j*a.K+k])
	}
	var said []string
	for _, j := range wording.ByValue(size, wording.Largest(size, most)) {
		if size[j] >= share*floats.Max(size) {
			said = append(said,
				fmt.Sprintf("%s %s", wording.Isolated(report.Printable(a.Names[j])), wording.Signed(a.Loadings[j*a.K+k])))
		}
	}
	return does + ": " + wording.Enumerated(said) + "."
}

// Sorted are some columns in the order of the dimension that each is most about, and within it the strongest first.
func (a Axes) Sorted(columns []int) []int {
	best := func(j int) (k int, size float64) {
		for l := range a.K {
			if v := math.Abs(a.Strength[j*a.K+l]); v > size {
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

// Cells is a table of some columns with their loadings on the first k dimensions, shaded by strength.
func (a Axes) Cells(caption string, columns []int, k int, value func(j, l int) any) report.Table {
	table := report.Table{
		Caption: caption,
		Columns: append(report.Columns("column"), report.Classes(wording.Numbered(a.Noun+" ", k)...)...),
		Open:    k <= wording.MostShaded,
		Low:     "−1",
		High:    "1",
	}
	for _, j := range columns {
		row := []any{a.Names[j]}
		for l := range k {
			row = append(row, report.Shaded(value(j, l), a.Strength[j*a.K+l]))
		}
		table.Add(row...)
	}
	return table
}

// Beside adds to a table of [Axes.Cells] the level of each column and the standard deviation of its noise, and below
// them a share of each dimension.
func Beside(table *report.Table, columns []int, level string, of func(j int) (level, variance float64),
	share string, shares []float64,
) {
	table.Columns = append(table.Columns, report.Columns(level, "noise sd")...)
	for i, j := range columns {
		at, variance := of(j)
		table.Rows[i] = append(table.Rows[i], report.Of(at), report.Of(math.Sqrt(variance)))
	}
	row := []any{share}
	for _, v := range shares {
		row = append(row, report.Share(v))
	}
	table.Add(append(row, "", "")...)
}

// Heat draws the strengths of those columns, where a table has no room for them.
func (a Axes) Heat(title, about string, columns []int, k int, text func(j, l int) string) report.Figure {
	if k <= wording.MostShaded {
		return nil
	}
	heat := report.Heat{
		Title: title, Columns: wording.Numbered("", k), ColumnsName: a.Noun, Low: "−1", High: "1", Root: true, About: about,
	}
	for _, j := range columns {
		var shades []float64
		var texts []string
		for l := range k {
			shades, texts = append(shades, a.Strength[j*a.K+l]), append(texts, text(j, l))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, report.Printable(a.Names[j])), append(heat.Shade, shades),
			append(heat.Texts, texts)
	}
	return heat
}

// Finding says how much of the variance the dimensions hold, and what each of them moves.
func (a Axes) Finding(noise float64) report.Section {
	all := floats.Sum(a.Shares)
	text := fmt.Sprintf("%s: %s of the variance of %s is along %s; the rest is noise, of standard deviation %s in "+
		"every column.", wording.Capital(wording.Counted(a.K, a.Noun)),
		report.Percentage(all), wording.Counted(len(a.Names), "column"), wording.Plural(a.K, "it", "them"),
		report.Readable(math.Sqrt(noise)))
	return report.Section{Text: text, Items: a.Items()}
}

// Omitted is a sentence about dimensions that have no item, or nothing.
func (a Axes) Omitted() string {
	return wording.LeftOut(a.K-wording.MostItems, a.Noun, "of less variance")
}

// Spectrum shows the share of the variance along each latent dimension, beside that of the noise along any direction.
func Spectrum(p *bpca.Parameters) []report.Section {
	shares := p.Explained()
	all := floats.Sum(shares)
	noise := (1 - all) / float64(p.D)
	table := report.Table{Caption: "variance explained", Columns: report.Columns("dimension", "share", "cumulative")}
	for k, sum := range floats.CumSum(make([]float64, p.K), shares)[:min(p.K, wording.MostIterations)] {
		table.Add(k+1, report.Share(shares[k]), report.Share(sum))
	}
	chart := report.Chart{
		Title: "Spectrum", XName: "dimension", Names: wording.Numbered("", len(table.Rows)),
		About: fmt.Sprintf("%s of the variance is along %s; the rest is noise, %s along each of the %s, the dashed line.",
			report.Percentage(all), wording.Counted(p.K, "dimension"), report.Percentage(noise),
			wording.Counted(p.D, "direction")),
		Panels: []report.Panel{{
			Name:   "share of the variance, log scale",
			Height: 220,
			Bars:   true,
			Log:    true,
			Series: table.Series("share", 1),
			Levels: []report.Level{{Name: "noise along a direction", Value: noise}},
		}},
	}
	return []report.Section{{Title: chart.Title, Figure: chart, Tables: []report.Table{table}}}
}

// Loadings shows W, the columns that belong to one dimension together.
func Loadings(noun string, p *bpca.Parameters, names []string) []report.Section {
	a := OfPCA(noun, p, names)
	explained := make([]float64, p.D)
	for j := range explained {
		w := a.Strength[j*p.K : (j+1)*p.K]
		explained[j] = floats.Dot(w, w)
	}
	columns := a.Sorted(wording.Largest(explained, wording.MostProfiles))
	k := min(p.K, wording.MostRows)
	loading := func(j, l int) float64 { return p.Loadings[j*p.K+l] }
	about := fmt.Sprintf("What one standard deviation of a %s adds to each column, in its units. The colour is the "+
		"correlation of the two under the model. Columns stand by the %[1]s that they are most about.", noun) +
		wording.LeftOut(p.D-len(columns), "column", "which the "+noun+"s explain least") +
		wording.LeftOut(p.K-k, "weaker "+noun, "")
	heat := a.Heat("Loadings", about, columns, k, func(j, l int) string {
		return fmt.Sprintf("%s (correlation %.3f)", report.Readable(loading(j, l)), a.Strength[j*a.K+l])
	})
	table := a.Cells("loadings", columns, k, func(j, l int) any { return loading(j, l) })
	table.Long = true
	return a.Section("Loadings", about, heat, table)
}

// Section has a figure and tables; without a figure it says what they show, and has the width that its columns take.
func (a Axes) Section(title, about string, figure report.Figure, tables ...report.Table) []report.Section {
	const most = 2 // columns of dimensions that half a page has room for
	s := report.Section{Title: title, Figure: figure, Tables: tables}
	if figure == nil {
		s.Text, s.Wide = about, a.K > most
	}
	return []report.Section{s}
}

// NoiseFact is the line about noise of one variance.
func NoiseFact(variance float64) [2]string {
	return [2]string{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", variance, math.Sqrt(variance))}
}
