package command

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/report"
)

// mostPairs bounds the pairs of columns whose correlations are shown.
const mostPairs = 20

// correlationsSection shows how columns go together within the components, where their covariances are matrices.
func (f *components) correlationsSection(shown []component) []report.Section {
	if len(f.matrices) == 0 || len(f.matrices[0].Names) < 2 {
		return nil
	}
	matrices, names := f.matrices[:min(len(f.matrices), len(shown))], f.matrices[0].Names
	columns := report.Columns("columns")
	text := "within a " + f.noun
	if matrices[0].Component == 0 {
		columns, text = append(columns, report.Columns("all "+f.noun+"s")...),
			"within the "+f.noun+"s, all of which share one covariance"
	} else {
		columns = append(columns, report.Classes(numbered("", len(matrices))...)...)
	}
	var pairs [][2]int
	var sizes []float64
	for i := range names {
		for j := range i {
			largest := 0.0
			for _, m := range matrices {
				largest = max(largest, math.Abs(m.correlation(j, i)))
			}
			pairs, sizes = append(pairs, [2]int{j, i}), append(sizes, largest)
		}
	}
	table := report.Table{Caption: "correlations " + text, Columns: columns, Open: true, Low: "−1", High: "1"}
	for _, at := range byValue(sizes, upTo(0, len(pairs)-1))[:min(len(pairs), mostPairs)] {
		i, j := pairs[at][0], pairs[at][1]
		cells := []any{shortened(report.Printable(names[i])) + ", " + shortened(report.Printable(names[j]))}
		for _, m := range matrices {
			r := m.correlation(i, j)
			cells = append(cells, report.Shaded(report.Decimals(r), r))
		}
		table.Add(cells...)
	}
	list := section("Correlations within the "+f.noun+"s", nil, table)
	list[0].Text = fmt.Sprintf("How two columns go together among the rows of one %s, from −1 to 1; the standard "+
		"deviations are in the profiles, the covariances in --format json.", f.noun) +
		leftOut(len(pairs)-len(table.Rows), "pair", "with weaker correlations")
	list[0].Wide = len(matrices) > mostBeside
	return list
}

// correlation is that of two columns.
func (m namedMatrix) correlation(i, j int) float64 {
	return float64(m.Values[i][j]) / math.Sqrt(float64(m.Values[i][i])*float64(m.Values[j][j]))
}
