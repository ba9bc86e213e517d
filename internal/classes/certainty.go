package classes

import (
	"fmt"
	"slices"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// certainty is how probable the classes of rows are, summed over rows.
type certainty struct {
	looked, rows  int // rows looked at, of how many
	weight        float64
	edges, counts []float64   // the most probable class's probability, in bins
	assigned      []float64   // rows by their most probable class
	mean          [][]float64 // of such rows: the probabilities of all classes
	clear         float64     // share of the rows whose probability is at least clearly
}

const (
	// Clearly is the probability from which a row is said to belong to its class clearly.
	Clearly = 0.9
	// mostly is the share of such rows from which the classes are said to be mostly apart.
	mostly = 0.8
	// mostJudged bounds the probabilities that are found for it, times columns.
	mostJudged = 10_000_000
	// widthOfBins is that of probabilities.
	widthOfBins = 0.05
)

// Judge finds the probabilities of the classes: of all rows, or, of large tables, of so many at equal distances. It is
// nil where there is one class, and where rows are not judged one by one.
func (f *Components) Judge() (*certainty, error) {
	k := f.Mixture.K
	if f.judged != nil || f.Probabilities == nil || k < 2 {
		return f.judged, nil
	}
	rows := wording.Thinned(f.Data.Rows(), max(MostPoints, mostJudged/k/f.Data.Cols()), nil)
	c := &certainty{looked: len(rows), rows: f.Data.Rows(), assigned: make([]float64, k), mean: make([][]float64, k)}
	for l := range c.mean {
		c.mean[l] = make([]float64, k)
	}
	first := int(1 / float64(k) / widthOfBins) // of the bins that can hold a row
	for i := first; i <= int(1/widthOfBins); i++ {
		c.edges = append(c.edges, float64(i)*widthOfBins)
	}
	c.counts = make([]float64, len(c.edges)-1)
	for block := range slices.Chunk(rows, rowsOfBlock) {
		q, err := f.Probabilities(block)
		if err != nil {
			return nil, err
		}
		for i, row := range block {
			c.add(q[i*k:(i+1)*k], f.Data.Weight(row))
		}
	}
	for l, n := range c.assigned {
		for m := range c.mean[l] {
			c.mean[l][m] /= max(n, 1e-300)
		}
	}
	c.clear /= c.weight
	f.judged = c
	return c, nil
}

// add counts a row of some weight.
func (c *certainty) add(q []float64, weight float64) {
	best := 0
	for l, p := range q {
		if p > q[best] {
			best = l
		}
	}
	c.weight += weight
	c.assigned[best] += weight
	for l, p := range q {
		c.mean[best][l] += weight * p
	}
	if q[best] >= Clearly {
		c.clear += weight
	}
	bin := 0
	for bin < len(c.counts)-1 && q[best] >= c.edges[bin+1] {
		bin++
	}
	c.counts[bin] += weight
}

// Sentence says how far the classes are apart.
func (c *certainty) Sentence(noun string) string {
	apart := "They overlap so much that few rows clearly belong to one"
	switch {
	case c.clear >= 0.95:
		apart = "They are well apart"
	case c.clear >= mostly:
		apart = "They are mostly apart"
	case c.clear >= 0.5:
		apart = "They overlap"
	}
	return fmt.Sprintf("%s: %s of the rows belong to their %s with a probability of %v or more.", apart,
		report.Percentage(c.clear), noun, Clearly)
}

// CertaintySection shows how sure rows are of their classes, and which classes are mistaken for which.
func (f *Components) CertaintySection(shown []Component) ([]report.Section, error) {
	c, err := f.Judge()
	if c == nil || err != nil {
		return nil, err
	}
	chart := report.Chart{Title: "How certain the assignment is", XName: "probability of the most probable " + f.Noun,
		About: fmt.Sprintf("Rows by the probability of their most probable %s. %s", f.Noun, c.Sentence(f.Noun))}
	if c.looked < c.rows {
		chart.About += fmt.Sprintf(" The figure uses %d of the %d rows, at equal distances in the table.", c.looked, c.rows)
	}
	panel := report.Panel{Name: "percent of the rows", Height: 180}
	bins := report.Table{
		Caption: "rows by their largest probability", Columns: report.Columns("from", "to", "rows", "share of the rows"),
	}
	for i, n := range c.counts {
		bins.Add(report.Share(c.edges[i]), report.Share(c.edges[i+1]), n, report.Share(n/c.weight))
		panel.Bins = append(panel.Bins, report.Bin{From: c.edges[i], To: c.edges[i+1], Height: 100 * n / c.weight,
			Tip: fmt.Sprintf("probability %.2f to %.2f\n%s of the rows", c.edges[i], c.edges[i+1],
				report.Percentage(n/c.weight))})
	}
	chart.Panels = []report.Panel{panel}
	confusion := f.confusion(c, shown)
	if len(shown) > wording.MostShaded {
		heat := report.Heat{Title: fmt.Sprintf("Which %ss are mistaken for which", f.Noun), ColumnsName: f.Noun,
			High:    "100 %",
			Columns: wording.Numbered("", len(shown)), Classes: true, Root: true,
			About: fmt.Sprintf("Mean probabilities of the %[1]ss (columns) for the rows that are assigned to a %[1]s. "+
				"Where a row has colour in two places, the two are hard to tell apart.", f.Noun)}
		for _, row := range confusion.Rows {
			var shades []float64
			var texts []string
			for _, cell := range row[2:] {
				shades, texts = append(shades, cell.Shade), append(texts, report.Percentage(cell.Value))
			}
			heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, row[0].String()), append(heat.Shade, shades),
				append(heat.Texts, texts)
		}
		return append(report.Single(chart.Title, chart, bins), report.Single(heat.Title, heat, confusion)...), nil
	}
	list := report.Single(chart.Title, chart, bins, confusion)
	list[0].Wide = len(shown) > mostBeside
	return list, nil
}

// confusion is how probable the classes are, on average, for the rows that are assigned to each.
func (f *Components) confusion(c *certainty, shown []Component) report.Table {
	table := report.Table{
		Caption: "mean probabilities, in percent, of the rows that are assigned to a " + f.Noun,
		Columns: append(report.Columns("assigned to", "rows"), report.Classes(wording.Numbered("", len(shown))...)...),
		Open:    len(shown) <= wording.MostShaded,
		High:    "100 %",
	}
	for k := range shown {
		cells := []any{f.Noun + " " + f.Called(k), c.assigned[k]}
		for l := range shown {
			if c.assigned[k] == 0 {
				cells = append(cells, report.Missing)
			} else {
				cells = append(cells, report.Shaded(report.Percent(c.mean[k][l]), c.mean[k][l]))
			}
		}
		table.Add(cells...)
	}
	return table
}

// mostBeside is how many classes a table has room for in half a page.
const mostBeside = 5
