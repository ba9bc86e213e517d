package classes

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// mostPairs bounds the pairs of columns whose correlations are shown.
const mostPairs = 20

// correlationsSection shows how columns go together within the components, where their covariances are matrices.
func (f *Components) correlationsSection(shown []Component) []report.Section {
	if len(f.matrices) == 0 || len(f.matrices[0].Names) < 2 {
		return nil
	}
	matrices, names := f.matrices[:min(len(f.matrices), len(shown))], f.matrices[0].Names
	columns := report.Columns("columns")
	text := "within a " + f.Noun
	if matrices[0].Component == 0 {
		columns, text = append(columns, report.Columns("all "+f.Noun+"s")...),
			"within the "+f.Noun+"s, all of which share one covariance"
	} else {
		columns = append(columns, report.Classes(wording.Numbered("", len(matrices))...)...)
	}
	var pairs [][2]int
	var sizes []float64
	for i := range names {
		for j := range i {
			largest := 0.0
			for _, m := range matrices {
				largest = max(largest, math.Abs(m.Correlation(j, i)))
			}
			pairs, sizes = append(pairs, [2]int{j, i}), append(sizes, largest)
		}
	}
	table := report.Table{Caption: "correlations " + text, Columns: columns, Open: true, Low: "−1", High: "1"}
	for _, at := range wording.ByValue(sizes, wording.UpTo(0, len(pairs)-1))[:min(len(pairs), mostPairs)] {
		i, j := pairs[at][0], pairs[at][1]
		cells := []any{shortened(report.Printable(names[i])) + ", " + shortened(report.Printable(names[j]))}
		for _, m := range matrices {
			r := m.Correlation(i, j)
			cells = append(cells, report.Shaded(report.Decimals(r), r))
		}
		table.Add(cells...)
	}
	list := report.Single("Correlations within the "+f.Noun+"s", nil, table)
	list[0].Text = fmt.Sprintf("How two columns go together among the rows of one %s, from −1 to 1; the standard "+
		"deviations are in the profiles, the covariances in --format json.", f.Noun) +
		wording.LeftOut(len(pairs)-len(table.Rows), "pair", "with weaker correlations")
	list[0].Wide = len(matrices) > mostBeside
	return list
}
