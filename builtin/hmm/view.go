package hmm

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// mostSteps bounds those of a series that is drawn.
const mostSteps = 1000

// sections are those of the components, for what is seen in the states, with those of the chain before.
func (c *chain) sections() ([]report.Section, error) {
	series, err := c.seriesSection()
	if err != nil {
		return nil, err
	}
	durations, err := c.durationsSection()
	if err != nil {
		return nil, err
	}
	residuals, err := c.residualsSection()
	if err != nil {
		return nil, err
	}
	densities, err := c.densitiesSection()
	if err != nil {
		return nil, err
	}
	own, err := c.within.Sections()
	transitions := c.transitionsSection()
	if c.gates != nil && c.params.K > 1 {
		transitions = append(transitions, classes.OddsSection("What covariates add", c.aboutOdds(), "state", c.design,
			c.gates...))
	}
	return slices.Concat(transitions, series, own, durations, densities, residuals), err
}

// finding says of each state, beside what is seen in it, how long it is stayed in and what follows.
func (c *chain) finding() (report.Section, error) {
	list, err := c.within.Finding()
	if err != nil || len(list.Items) == 0 {
		return list, err
	}
	same := 0.0
	for k, state := range c.List {
		same += float64(state.Weight) * c.params.Move(k, k)
	}
	list.Text += fmt.Sprintf(" A row is in the same state as the row before it with a probability of %s.",
		report.Percentage(same))
	durations := c.model.Durations(c.params)
	for k := range list.Items {
		list.Items[k].Text += " " + c.follows(k, durations[k])
	}
	return list, nil
}

// follows says how long state k is stayed in, and which states come after it.
func (c *chain) follows(k int, duration float64) string {
	const most, least = 3, 0.1
	next := make([]float64, c.params.K)
	for l := range next {
		if l != k {
			next[l] = c.params.Move(k, l)
		}
	}
	left := floats.Sum(next)
	if !(left > 0) {
		return "It is never left."
	}
	var said []string
	for _, l := range wording.ByValue(next, wording.Largest(next, most)) {
		if next[l] >= least*left {
			said = append(said, fmt.Sprintf("%d (%s)", l+1, report.Percentage(next[l]/left)))
		}
	}
	if len(said) == 0 {
		return fmt.Sprintf("It lasts %s on average, and many states follow.", rowsOf(duration))
	}
	return fmt.Sprintf("It lasts %s on average; then comes state %s.", rowsOf(duration), wording.Enumerated(said))
}

// rowsOf is a mean number of rows.
func rowsOf(duration float64) string {
	text := report.Readable(duration)
	return text + " " + wording.Either(text == "1", "row", "rows")
}

// seriesSection draws the first steps of the columns that tell the states apart best, coloured by state.
func (c *chain) seriesSection() ([]report.Section, error) {
	n := min(c.Data.Rows(), mostSteps)
	states, err := c.visited(wording.UpTo(0, n-1))
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(slices.Clone(c.Order), func(j int) bool { return len(c.Columns[j].Levels) > 0 })
	columns = columns[:min(len(columns), 3)]
	if c.design.Seen != nil { // whose terms are not columns of the table
		columns = []int{0}
	}
	if len(columns) == 0 {
		return nil, nil
	}
	chart := report.Chart{
		Title:      "The series, coloured by state",
		XName:      "row",
		IntegerX:   true,
		EventsName: "a sequence ends",
		About:      "Above is the most probable path through the states, whose colours mark the rows below.",
	}
	if n < c.Data.Rows() {
		chart.About += fmt.Sprintf(" The first %d of %s are shown.", n, wording.Counted(c.Data.Rows(), "row"))
	}
	table := report.Table{Caption: "rows shown", Columns: report.Columns("row", "state")}
	for _, j := range columns {
		table.Columns = append(table.Columns, report.Column{Name: report.Printable(c.Columns[j].Name)})
	}
	for row, z := range states {
		cells := []any{row + 1, z + 1}
		for _, j := range columns {
			cells = append(cells, c.Data.Number(row, j))
		}
		table.Add(cells...)
	}
	chart.X = table.Values(0)
	for _, end := range c.Data.Ends {
		if end < n {
			chart.Events = append(chart.Events, end-1)
		}
	}
	chart.Panels = []report.Panel{{Name: "state", Integer: true, Steps: true, Height: 90, Series: table.Series("path", 1)}}
	for i, j := range columns {
		panel := report.Panel{Name: classes.Axis(c.Columns[j]), Height: 160,
			Groups: wording.Numbered("state ", min(c.params.K, wording.MostRows))}
		for row, y := range table.Values(i + 2) {
			if y == y {
				panel.Points = append(panel.Points, report.Point{X: float64(row + 1), Y: y, Group: states[row],
					Tip: fmt.Sprintf("row %d\n%.6g\nstate %d", row+1, y, states[row]+1)})
			}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	list := report.Single(chart.Title, chart, table)
	list[0].Wide = true
	return list, nil
}

// transitionsSection shows how states follow one another.
func (c *chain) transitionsSection() []report.Section {
	k := min(c.params.K, wording.MostRows)
	about := "Probabilities that each state (row) is followed by each state (column); beside them, that a sequence " +
		"begins there, and the mean number of rows that a state lasts." +
		wording.LeftOut(c.params.K-k, "state", "with fewer rows")
	if c.gates != nil {
		about += " They are averages over the rows, as covariates change them."
	}
	heat := report.Heat{Title: "Transitions", ColumnsName: "to state", Columns: wording.Numbered("", k), High: "1",
		About: about}
	table := report.Table{
		Caption: "transition probabilities",
		Columns: append(report.Columns("from state", "begins", "rows it lasts"),
			report.Classes(wording.Numbered("to ", k)...)...),
		Open: k <= wording.MostShaded,
		High: "100 %",
	}
	durations := c.model.Durations(c.params)
	for i := range k {
		cells := []any{i + 1, report.Share(c.params.Start[i]), stayed(durations[i])}
		var shades []float64
		var texts []string
		for j := range k {
			p := c.params.Move(i, j)
			shades, texts = append(shades, p), append(texts, report.Percentage(p))
			cells = append(cells, report.Shaded(report.Share(p), p))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, strconv.Itoa(i+1)), append(heat.Shade, shades),
			append(heat.Texts, texts)
		table.Add(cells...)
	}
	if k > wording.MostShaded {
		return report.Single(heat.Title, heat, table)
	}
	list := report.Single(heat.Title, nil, table)
	list[0].Text, list[0].Wide = about, true
	return list
}

// durationsSection compares how long states are stayed in with what the chain expects.
func (c *chain) durationsSection() ([]report.Section, error) {
	path, err := c.visited(wording.UpTo(0, c.Data.Rows()-1))
	if err != nil {
		return nil, err
	}
	k := min(c.params.K, wording.MostRows)
	visits, steps := make([]float64, c.params.K), make([]float64, c.params.K)
	first := 0
	for _, end := range c.Data.EndsOf(c.Data.Rows()) {
		for row := first; row < end; row++ {
			if row == first || path[row] != path[row-1] {
				visits[path[row]]++
			}
			steps[path[row]]++
		}
		first = end
	}
	chart := report.Chart{Title: "How long states are stayed in", XName: "state", Names: wording.Numbered("", k),
		About: "Mean lengths of the visits on the most probable path beside those that the chain expects. Visits " +
			"that are longer than expected in all states suggest durations that are not geometric; the path has fewer " +
			"short visits than the series."}
	table := report.Table{
		Caption: "visits", Columns: report.Columns("state", "visits on the path", "mean length", "expected"),
	}
	durations := c.model.Durations(c.params)
	for i := range k {
		table.Add(i+1, visits[i], steps[i]/visits[i], durations[i])
	}
	chart.Panels = []report.Panel{{
		Name:   "steps",
		Bars:   true,
		Height: 200,
		Series: append(table.Series("on the path", 2), table.Series("expected", 3)...),
	}}
	return report.Single(chart.Title, chart, table), nil
}

// mostCurve bounds the points of a density.
const mostCurve = 161

// densitiesSection shows what is seen in the states: of the columns of numbers that tell them apart best, all values
// and the density, or the probabilities, of each state by its share of the steps.
func (c *chain) densitiesSection() ([]report.Section, error) {
	if c.design.Seen != nil { // a response has a density for each value of the regressors
		return nil, nil
	}
	var list []report.Section
	normal := c.Gaussians()
	for _, j := range c.Order {
		// whose densities the plane has
		if len(c.Columns[j].Levels) > 0 || len(list) == 3 || len(normal) == 1 && normal[0] == j {
			continue
		}
		one, err := c.densitySection(j)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

func (c *chain) densitySection(j int) ([]report.Section, error) {
	values, err := c.Data.Column(c.Columns[j].Name)
	if err != nil {
		return nil, err
	}
	edges, counts := classes.Bins(values, c.Data.Weights)
	if edges == nil {
		return nil, nil
	}
	low, high := edges[0], edges[len(edges)-1]
	chart := report.Chart{Title: "Seen in the states: " + report.Printable(c.Columns[j].Name),
		XName: classes.Axis(c.Columns[j]), About: "All rows, and the states by their share of the rows."}
	panel := report.Panel{Name: "density", Height: 200, BinsName: "all rows"}
	if c.Columns[j].Family == families.Poisson && high-low < mostCurve {
		edges, counts = []float64{low - 0.5}, make([]float64, int(high-low)+1)
		for i := range counts {
			chart.X = append(chart.X, low+float64(i))
			edges = append(edges, low+float64(i)+0.5)
		}
		for row, v := range values {
			if v == v {
				counts[int(v-low)] += c.Data.Weight(row)
			}
		}
		panel.Name, panel.Dots, chart.IntegerX = "probability", true, true
	} else {
		chart.X = floats.Span(make([]float64, mostCurve), low, high)
	}
	total := floats.Sum(counts)
	table := report.Table{Caption: "densities", Columns: report.Columns(report.Printable(c.Columns[j].Name))}
	for i, n := range counts {
		panel.Bins = append(panel.Bins, report.Bin{
			From:   edges[i],
			To:     edges[i+1],
			Height: n / total / (edges[i+1] - edges[i]),
			Tip:    fmt.Sprintf("%.6g to %.6g\n%.6g steps", edges[i], edges[i+1], n),
		})
	}
	rows := blocks.Rows{N: len(chart.X), D: c.params.D, Stride: c.params.D}
	for _, x := range chart.X { // the other columns are missing
		for other := range c.params.D {
			if other != j {
				rows.X = append(rows.X, math.NaN())
			} else {
				rows.X = append(rows.X, x)
			}
		}
	}
	for k := range min(c.params.K, wording.MostRows) {
		one := &mixture.Parameters{
			K: 1, D: c.params.D, Weights: []float64{1}, Components: c.params.Component(k), Pooled: c.params.Pooled,
		}
		logs, err := c.Components.Model.LogProb(rows, one, nil)
		if err != nil {
			return nil, nil // a family of complete rows
		}
		share := float64(c.List[k].Weight)
		curve := report.Series{
			Name: fmt.Sprintf("state %d", k+1), Tip: fmt.Sprintf("state %d\n%.4g of the steps", k+1, share),
		}
		for _, l := range logs {
			curve.Y = append(curve.Y, share*math.Exp(l))
		}
		panel.Series = append(panel.Series, curve)
		table.Columns = append(table.Columns, report.Column{Name: fmt.Sprintf("state %d", k+1)})
	}
	for i, x := range chart.X {
		cells := []any{x}
		for _, curve := range panel.Series {
			cells = append(cells, curve.Y[i])
		}
		table.Add(cells...)
	}
	chart.About += classes.CutCurves(panel) // the table has them
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, table), nil
}

// residualsSection shows whether the steps are what the model expects after those before them, where the families have
// distribution functions.
func (c *chain) residualsSection() ([]report.Section, error) {
	steps := c.shown()
	all, err := c.model.PseudoResiduals(steps, c.params)
	if err != nil {
		return nil, nil // a family without
	}
	d := len(c.Columns)
	chart := report.Chart{Title: "Pseudo-residuals", XName: "normal quantile",
		About: "If the model is right, the probability of at most the value seen, given the steps before, has a " +
			"uniform distribution, and bars, at its normal quantiles, follow the line. Heavier tails are steps " +
			"that the model does not expect."}
	table := report.Table{
		Caption: "pseudo-residuals",
		Columns: report.Columns("column", "values", "mean", "sd", "correlation with the step before"),
	}
	chart.X = floats.Span(make([]float64, 161), -4, 4)
	normal := report.Series{Name: "standard normal"}
	for _, x := range chart.X {
		normal.Y = append(normal.Y, distuv.UnitNormal.Prob(x))
	}
	for _, j := range c.Order[:min(d, 3)] {
		var values []float64
		sum := 0.0
		for t := j; t < len(all); t += d {
			if v := all[t]; v == v {
				values, sum = append(values, max(-4, min(4, v))), sum+v*v
			}
		}
		if len(values) == 0 {
			continue
		}
		n := float64(len(values))
		mean := floats.Sum(values) / n
		table.Add(report.Printable(c.Columns[j].Name), len(values), mean, math.Sqrt(sum/n-mean*mean),
			steps.LagOne(all[j:], d, 0))
		panel := report.Panel{
			Name:     report.Printable(c.Columns[j].Name),
			Height:   160,
			BinsName: "pseudo-residuals",
			Series:   []report.Series{normal},
		}
		edges, counts := classes.Bins(values, nil)
		for i, count := range counts {
			width := edges[i+1] - edges[i]
			panel.Bins = append(panel.Bins, report.Bin{
				From:   edges[i],
				To:     edges[i+1],
				Height: count / n / width,
				Tip:    fmt.Sprintf("%.3g to %.3g\n%.6g values", edges[i], edges[i+1], count),
			})
		}
		chart.Panels = append(chart.Panels, panel)
	}
	if len(chart.Panels) == 0 {
		return nil, nil
	}
	if slices.ContainsFunc(c.Columns, func(c data.Column) bool {
		return len(c.Levels) > 0 ||
			slices.Contains([]string{families.Poisson, families.Bernoulli, families.Indicators}, c.Family)
	}) {
		chart.About += " Counts and codes have few values, and each value has one place for its whole probability: " +
			"bars stand apart, and only the tails are informative."
	}
	return report.Single(chart.Title, chart, table), nil
}
