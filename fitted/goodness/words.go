package goodness

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// judge says what differs from the draws, and what to do about it.
func (c *checker) judge(r *Result) {
	var said []string
	r.Verdict = Fits
	for _, t := range r.Tests {
		if !t.Clear {
			continue
		}
		text, advice, slight := c.about(r, t.Name)
		said = append(said, text)
		r.Advice = slices.DeleteFunc(r.Advice, func(one string) bool { return strings.HasPrefix(advice, one) })
		if !slices.ContainsFunc(r.Advice, func(one string) bool { return strings.HasPrefix(one, advice) }) {
			r.Advice = append(r.Advice, advice)
		}
		switch {
		case !slight:
			r.Verdict = Misfit
		case r.Verdict == Fits:
			r.Verdict = Slight
		}
	}
	beside := fmt.Sprintf("%d tables drawn from the model", r.Draws)
	if r.Refitted {
		beside += ", each with a fit of its own"
	}
	switch r.Verdict {
	case Fits:
		r.About = "The model fits: the rows do not differ clearly from those of " + beside + "."
	case Slight:
		r.About = fmt.Sprintf("The model fits, with slight differences from %s: %s.", beside, strings.Join(said, "; "))
	default:
		r.About = fmt.Sprintf("The model does not fit. The rows differ from those of %s: %s.", beside,
			strings.Join(said, "; "))
	}
}

// about says what a group found, what to do, and whether it is little.
func (c *checker) about(r *Result, group string) (text, advice string, slight bool) {
	more := "one more latent dimension"
	switch {
	case c.classes && c.input.Sequence:
		more = "one more state"
	case c.classes:
		more = "one more class"
	}
	switch group {
	case groupNames[patterns]:
		name, one := "G²", r.Patterns.G2
		if float64(one.Adjusted) > level {
			name, one = "X²", r.Patterns.X2
		}
		return fmt.Sprintf("%s is %s, expected %s", name, wording.Readable(float64(one.Value)),
			wording.Readable(float64(one.Expected))), "try " + more, false
	case groupNames[associations]:
		return c.aboutPairs(r.Pairs, more)
	case groupNames[likelihood]:
		if d := r.Distances; d != nil &&
			float64(min(r.Likelihood.Distance.Adjusted, r.Likelihood.Tail.Adjusted)) > level {
			return c.aboutDistances(d)
		}
		return c.aboutLikelihood(r.Likelihood, more)
	case groupNames[outlier]:
		l := r.Likelihood
		if d := r.Distances; d != nil && float64(l.Smallest.Adjusted) > level {
			return fmt.Sprintf("row %s is too far from its class (squared distance %s, where the largest is expected to be %s)",
					d.Row, wording.Readable(float64(d.Largest.Value)), wording.Readable(float64(d.Largest.Expected))),
				fmt.Sprintf("look at row %s: correct it, or leave it out", d.Row), true
		}
		return fmt.Sprintf("row %s is too unlikely (ln p %s, where the least likely row is expected to have %s)", l.Row,
				wording.Readable(float64(l.Smallest.Value)), wording.Readable(float64(l.Smallest.Expected))),
			fmt.Sprintf("look at row %s: correct it, or leave it out", l.Row), true
	}
	one := r.Residuals[0]
	text = fmt.Sprintf("in %.60q the %s is %s, expected %s", one.Column, one.What, report.Fixed(float64(one.Value), 2),
		report.Fixed(float64(one.Expected), 2))
	limit := small
	advice = fmt.Sprintf("steps of %.60q depend on each other beyond the model: try %s, or covariates", one.Column, more)
	if one.What == distance {
		limit, advice = smallDistance, fmt.Sprintf("try another family of %.60q, or %s", one.Column, more)
	}
	return text, advice, math.Abs(float64(one.Value-one.Expected)) < limit
}

func (c *checker) aboutPairs(p *Pairs, more string) (text, advice string, slight bool) {
	slight, measured := true, false
	for _, one := range p.List {
		if float64(one.Adjusted) <= level {
			slight = slight && one.Effect < small
			measured = measured || one.What != bivariate
		}
	}
	top := p.List[0]
	text = fmt.Sprintf("%d of %s of columns %s associations that the model does not explain, most of all %.60q and "+
		"%.60q (%s %s, expected %s)", p.Clear, wording.Counted(p.Looked, "pair"), wording.Plural(p.Clear, "has", "have"),
		top.A, top.B, top.What, report.Fixed(float64(top.Value), 2), report.Fixed(float64(top.Expected), 2))
	advice = fmt.Sprintf("try %s; or leave out %.60q or %.60q, which depend on each other within classes", more, top.A,
		top.B)
	switch {
	case !c.classes:
		advice = "try " + more
	case measured:
		advice = fmt.Sprintf("columns depend on each other within classes: try other covariances (--cov all compares "+
			"them), or %s", more)
	}
	return text, advice, slight
}

func (c *checker) aboutLikelihood(l *Likelihood, more string) (text, advice string, slight bool) {
	tail := float64(l.Tail.Value)
	text = fmt.Sprintf("the distribution of ln p of the rows is another (distance %s, expected %s; %s of the rows are "+
		"among the least likely %s)", report.Fixed(float64(l.Distance.Value), 3),
		report.Fixed(float64(l.Distance.Expected), 3), report.Percentage(tail), report.Percentage(unlikely))
	switch {
	case !slices.Contains(c.levels, 0):
		advice = "try " + more
	case tail > unlikely:
		advice = "more rows are in the tails than the model expects: try heavy tails (--family student-t), or --noise"
	default:
		advice = "fewer rows are in the tails than the model expects: try another family"
	}
	return text, advice, float64(l.Distance.Value-l.Distance.Expected) < smallDistance && tail < 2*unlikely
}

func (c *checker) aboutDistances(d *Distances) (text, advice string, slight bool) {
	text = fmt.Sprintf("the distances of rows from their classes do not have the chi² distribution (distance %s, "+
		"expected %s)", report.Fixed(float64(d.Distance.Value), 3), report.Fixed(float64(d.Distance.Expected), 3))
	advice = "try another family"
	if at := len(d.Quantiles) - 1; d.Quantiles[at] > d.Expected[at] {
		advice = "more rows are in the tails than the model expects: try heavy tails (--family student-t), or --noise"
	}
	return text, advice, float64(d.Distance.Value-d.Distance.Expected) < smallDistance
}

// Describe has the sentences and tables of text and pages.
func (r *Result) Describe() *fitted.Description {
	finding := report.Section{Title: "What was found", Text: r.About, Warnings: r.Notes, Wide: true}
	if !r.Refitted {
		finding.Text += " The model was not fitted to the draws: p is too large, the more so the more parameters it has " +
			"(--refit)."
	}
	if len(r.Advice) > 0 {
		finding.Text += " What to do: " + strings.Join(r.Advice, "; ") + "."
	}
	tests := report.Table{Caption: "tests", Open: true,
		Columns: report.Columns("group", "statistics", "p", "adjusted p")}
	for _, t := range r.Tests {
		tests.Add(t.Name, t.Statistics, float64(t.P), float64(t.Adjusted))
	}
	about := fmt.Sprintf("p is the share of %d tables, this one included, that differ from what is expected as much as "+
		"this one does. Adjusted p allows for the number of statistics in a group, and here for the number of groups.",
		r.Draws+1)
	d := &fitted.Description{Finding: finding}
	looked := report.Single("Tests", nil, tests)
	looked[0].Text = about
	d.Sections = append(d.Sections, looked...)
	for _, list := range [][]report.Section{r.patternSection(), r.pairSection(), r.likelihoodSection(),
		r.distanceSection(), r.stepSection()} {
		for _, one := range list {
			one.Wide = true
			d.Sections = append(d.Sections, one)
		}
	}
	return d
}

// Document is the result as a page.
func (r *Result) Document(title, lead string) *report.Document {
	d := r.Describe()
	return &report.Document{Title: title, Lead: lead, Sections: append([]report.Section{d.Finding}, d.Sections...),
		Foot: "Made by latent check --report. The numbers in the tables are those of --format json, rounded."}
}

// cells are a statistic in a table.
func (s Statistic) cells() []any {
	return []any{float64(s.Value), float64(s.Expected), float64(s.P), float64(s.Adjusted), float64(s.SD)}
}

// statistics is an empty table of them.
func statistics(caption string, names ...string) report.Table {
	return report.Table{Caption: caption, Open: true,
		Columns: report.Columns(append(names, "value", "expected", "p", "adjusted p", "sd")...)}
}

// mostShown is how many statistics text has room for.
const mostShown = 8

// shown splits a table into the first rows and all.
func shown(t report.Table) []report.Table {
	if len(t.Rows) <= mostShown {
		return []report.Table{t}
	}
	all := t
	all.Caption, all.Open, all.Long, t.Rows = t.Caption+", all", false, true, t.Rows[:mostShown]
	return []report.Table{t, all}
}

func (r *Result) patternSection() []report.Section {
	p := r.Patterns
	if p == nil {
		return nil
	}
	table := statistics("patterns of codes", "statistic", "df", "p by chi²")
	for i, one := range []ChiSquared{p.G2, p.X2} {
		table.Add(append([]any{[]string{"G²", "X²"}[i], float64(p.Df), float64(one.ByChi2)}, one.cells()...)...)
	}
	list := report.Single("Patterns of codes", nil, table)
	list[0].Text = fmt.Sprintf("%d complete rows have %d of %s possible patterns.", p.Rows, p.Seen,
		report.Readable(p.Cells))
	if p.Sparse {
		list[0].Text += " That is too few rows for p by chi²: p by the draws counts."
	}
	return list
}

// shortNames are those of statistics in tables.
var shortNames = map[string]string{bivariate: "BVR", within: "r within", marginal: "r", lagged: "residuals, lag 1",
	distance: "residuals, normal", correlated: "values, lag 1"}

func (r *Result) pairSection() []report.Section {
	p := r.Pairs
	if p == nil || len(p.List) == 0 {
		return nil
	}
	table := statistics("pairs of columns, the most striking first", "column", "with", "what")
	for _, one := range p.List {
		table.Add(append([]any{report.Printable(one.A), report.Printable(one.B), shortNames[one.What]}, one.cells()...)...)
	}
	list := report.Single("Pairs of columns", nil, shown(table)...)
	list[0].Text = "BVR is the bivariate residual, X² of the table of two columns over its degrees of freedom; r is the " +
		"correlation over all rows, and r within that within classes, which weights rows by their probabilities."
	return list
}

func (r *Result) likelihoodSection() []report.Section {
	l := r.Likelihood
	table := statistics("ln p of rows", "statistic")
	table.Add(append([]any{"distance from expected"}, l.Distance.cells()...)...)
	table.Add(append([]any{"share in lower tail"}, l.Tail.cells()...)...)
	table.Add(append([]any{"smallest, row " + report.Printable(l.Row)}, l.Smallest.cells()...)...)
	chart := report.Chart{Title: "ln p of rows", XName: "expected by the model, nats",
		About: "Percentiles of ln p of the rows over those that the model expects. Below the line on the left, rows are " +
			"rarer than expected: tails are heavier, or rows are wrong."}
	return percentiles(chart, "ln p, nats", l.Expected, l.Quantiles, table)
}

// percentiles are a section with a chart of those of the rows over those that are expected.
func percentiles(chart report.Chart, name string, expected, rows []fitted.Number, table report.Table) []report.Section {
	line, seen := report.Series{Name: "expected"}, report.Series{Name: "rows"}
	for i, v := range expected {
		if n := len(chart.X); n > 0 && !(float64(v) > chart.X[n-1]) {
			continue
		}
		chart.X, line.Y = append(chart.X, float64(v)), append(line.Y, float64(v))
		seen.Y = append(seen.Y, float64(rows[i]))
	}
	if len(chart.X) < 2 {
		return report.Single(chart.Title, nil, table)
	}
	all := report.Table{Caption: "percentiles", Columns: report.Columns("expected", "rows"), Long: true}
	for i, v := range chart.X {
		all.Add(v, seen.Y[i])
	}
	chart.Panels = []report.Panel{{Name: name, Series: []report.Series{line, seen}, Height: 260}}
	return report.Single(chart.Title, chart, table, all)
}

func (r *Result) stepSection() []report.Section {
	if len(r.Residuals) == 0 {
		return nil
	}
	table := statistics("steps of sequences, the most striking first", "column", "what")
	for _, one := range r.Residuals {
		table.Add(append([]any{report.Printable(one.Column), shortNames[one.What]}, one.cells()...)...)
	}
	list := report.Single("Steps of sequences", nil, shown(table)...)
	list[0].Text = "A pseudo-residual is the normal quantile of the probability of at most the value seen, given the " +
		"steps before: if the model is right, standard normal, and independent of the step before. Lag 1 is the " +
		"correlation with the step before; normal is the distance from the normal distribution."
	return list
}
