package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Document is the selection as a page: what each criterion chooses and how clear that is, the criteria over K, and the
// fits behind them.
func (t *Selection) Document(in *tables.Input) (*report.Document, error) {
	settings, err := settingsSection(t)
	return &report.Document{
		Title: wording.Isolated(in.Title()),
		Lead: fmt.Sprintf("%s. %s, %s: K from %d to %d, each fitted by latent with method %s.",
			in.Contents(float64(t.N)), wording.Capital(t.Model), t.What, t.KMin, t.KMax, t.Method),
		Foot: "Made by latent select --report. The numbers in the tables are those of --format json, rounded: it " +
			"has all digits.",
		Sections: slices.Concat(t.findingSection(), t.criteriaSection(), t.fitsSection(), t.testsSection(), settings),
	}, err
}

// A choice is what a criterion says of K.
type choice struct {
	criterion string
	k, next   int // next is the second best; 0: there is none
	lead      float64
}

// choices are those of all criteria.
func (t *Selection) choices() (list []choice) {
	for _, name := range t.Criteria {
		c := choice{criterion: name, k: t.Chosen[name], lead: math.NaN()}
		own, best := math.NaN(), math.Inf(-1)
		for _, row := range t.Table {
			v := float64(row.Values[name])
			switch {
			case row.K == c.k:
				own = v
			case v > best:
				c.next, best = row.K, v
			}
		}
		if c.next > 0 {
			c.lead = own - best
		}
		list = append(list, c)
	}
	return list
}

// findingSection says which K the criteria choose, and how clear that is.
func (t *Selection) findingSection() []report.Section {
	choices := t.choices()
	table := report.Table{
		Caption: "choices",
		Columns: report.Columns("criterion", "chooses K", "next best K", "nats lower", "the choice is"),
		Open:    true,
	}
	by := map[int][]string{}
	var ks []int
	for _, c := range choices {
		if by[c.k] == nil {
			ks = append(ks, c.k)
		}
		by[c.k] = append(by[c.k], criterionCalled(c.criterion))
		switch {
		case c.next == 0:
			table.Add(c.criterion, c.k, report.Missing, report.Missing, "the only K")
		case c.lead < 0: // by a prior of the sizes
			table.Add(c.criterion, c.k, c.next, report.Nats(c.lead), "that of --size-prior")
		default:
			table.Add(c.criterion, c.k, c.next, report.Nats(c.lead), strings.TrimSuffix(ahead(c.lead), " than"))
		}
	}
	list := report.Single("What was found", nil, table)
	switch {
	case len(choices) == 1:
		list[0].Text = fmt.Sprintf("K = %d by %s.", ks[0], criterionCalled(choices[0].criterion))
	case len(ks) == 1:
		list[0].Text = fmt.Sprintf("K = %d by all %d criteria.", ks[0], len(choices))
	default:
		slices.Sort(ks)
		var said []string
		for _, k := range ks {
			said = append(said, fmt.Sprintf("K = %d by %s", k, wording.Enumerated(by[k])))
		}
		list[0].Text = "The criteria differ: " + strings.Join(said, "; ") + "."
	}
	list[0].Text += atTheEnd(choices, t.KMin, t.KMax) + trusted(t.Criteria)
	list[0].Text += " Larger is better; a difference of less than 1 nat says little, and one of more than 5 much."
	list[0].Wide = true
	for _, warning := range t.Warnings {
		list[0].Warnings = append(list[0].Warnings, report.Printable(warning))
	}
	return list
}

// atTheEnd says which criteria choose the largest K compared.
func atTheEnd(choices []choice, least, most int) string {
	var by []string
	for _, c := range choices {
		if c.k == most && most > least {
			by = append(by, criterionCalled(c.criterion))
		}
	}
	if by == nil {
		return ""
	}
	return fmt.Sprintf(" K = %d, the choice of %s, is the largest that was compared (--kmax).", most,
		wording.Enumerated(by))
}

// trusted says which criterion is for what, where there are several.
func trusted(criteria []string) string {
	var said []string
	for _, use := range []struct {
		of   []string
		what string
	}{
		{[]string{"evidence", "gfic", "bic"}, "the number of groups"},
		{[]string{"icl"}, "clusters that are apart"},
		{[]string{"aic"}, "prediction"},
	} {
		own := tables.Without(use.of, tables.SetOf(tables.Without(use.of, tables.SetOf(criteria))))
		for i, name := range own {
			own[i] = criterionCalled(name)
		}
		if len(own) > 0 {
			said = append(said, fmt.Sprintf("%s for %s", wording.Enumerated(own), use.what))
		}
	}
	if len(said) < 2 {
		return ""
	}
	return " Which to trust: " + wording.Enumerated(said) + "."
}

// criteriaSection shows how far each K is below the best of each criterion.
func (t *Selection) criteriaSection() []report.Section {
	chart := report.Chart{
		Title:    "Criteria over K",
		XName:    "K",
		IntegerX: true,
		About:    "How far each K is below the best one by each criterion: 0 is the best.",
	}
	floor := t.floor()
	table := report.Table{
		Caption: "criteria", Columns: report.Columns(append([]string{"K"}, t.Criteria...)...), Open: true, High: "chosen",
	}
	panel := report.Panel{Name: "nats below the best", Dots: true, Height: 280}
	for _, name := range t.Criteria {
		best := math.Inf(-1)
		for _, row := range t.Table {
			best = max(best, wording.FiniteOr(float64(row.Values[name]), math.Inf(-1)))
		}
		series := report.Series{Name: name}
		for _, row := range t.Table {
			v := float64(row.Values[name]) - best
			if v < floor {
				v = math.NaN()
			}
			series.Y = append(series.Y, v)
		}
		panel.Series = append(panel.Series, series)
	}
	for _, row := range t.Table {
		cells := []any{row.K}
		for _, name := range t.Criteria {
			mark := 0.0
			if t.Chosen[name] == row.K {
				mark = 1
			}
			cells = append(cells, report.Shaded(report.Nats(row.Values[name]), mark))
		}
		table.Add(cells...)
		chart.X = append(chart.X, float64(row.K))
	}
	if floor > math.Inf(-1) {
		panel.Name += fmt.Sprintf(", cut at %s", report.Readable(floor))
		chart.About += fmt.Sprintf(" What is more than %s nats below is left out; the table has it.", report.Readable(-floor))
	}
	chart.Panels = []report.Panel{panel}
	values := report.Single("The values of the criteria", nil, table)
	values[0].Wide = len(t.Criteria) > 3
	return append(values, report.Single(chart.Title, chart)...)
}

// floor is how far below the best value the chart of the criteria ends, so that those near the best can be told apart;
// −Inf: nowhere. It keeps the best K of each criterion with both of its neighbours, and half of all values.
func (t *Selection) floor() float64 {
	const room, far = 1.25, 3
	var below []float64
	kept := 10.0 // nats
	for _, name := range t.Criteria {
		value := func(row selectionRow) float64 { return wording.FiniteOr(float64(row.Values[name]), math.Inf(-1)) }
		best := slices.MaxFunc(t.Table, func(a, b selectionRow) int { return cmp.Compare(value(a), value(b)) })
		for _, row := range t.Table {
			v := float64(best.Values[name] - row.Values[name])
			if v-v != 0 {
				continue
			}
			below = append(below, v)
			if row.K > best.K-2 && row.K < best.K+2 && row.K > t.KMin {
				kept = max(kept, v)
			}
		}
	}
	if len(below) == 0 {
		return math.Inf(-1)
	}
	slices.Sort(below)
	kept = room * max(kept, below[len(below)/2])
	if below[len(below)-1] < far*kept {
		return math.Inf(-1)
	}
	return -math.Ceil(kept)
}

// fitsSection shows the fits behind the criteria.
func (t *Selection) fitsSection() []report.Section {
	chart := report.Chart{
		Title:    "Log-likelihood and free parameters",
		XName:    "K",
		IntegerX: true,
		About:    "A larger K fits more closely and takes more parameters: criteria weigh the two.",
	}
	table := report.Table{
		Caption: "fits", Columns: report.Columns("K", "log-likelihood", "free parameters", "entropy", "status"), Open: true,
	}
	for _, row := range t.Table {
		status := row.Status
		if row.Error != "" {
			status += ": " + row.Error
		}
		table.Add(row.K, report.Nats(row.LogLik), row.Df, report.Nats(row.Entropy), status)
	}
	chart.X = table.Values(0)
	chart.Panels = []report.Panel{
		{Name: "log-likelihood, nats", Dots: true, Series: table.Series("log-likelihood", 1)},
		{Name: "free parameters", Dots: true, Integer: true, Height: 90, Series: table.Series("free parameters", 2)},
	}
	return report.Single(chart.Title, chart, table)
}

// testsSection shows the tests of --bootstrap.
func (t *Selection) testsSection() []report.Section {
	if len(t.Tests) == 0 {
		return nil
	}
	table := report.Table{
		Caption: fmt.Sprintf("likelihood ratio tests by bootstrap, up to the first p-value above %.2g", 1-Level),
		Columns: report.Columns("K", "against", "statistic", "p-value", "draws"),
		Open:    true,
	}
	for _, one := range t.Tests {
		table.Add(one.K, one.K+1, report.Nats(one.Statistic), one.PValue, one.Draws-one.Failed)
	}
	list := report.Single("Tests of K against K + 1", nil, table)
	list[0].Text = "A small p-value says that K components are too few."
	return list
}

// much is a lead, in nats, that says much.
const much = 5

// Document is the comparison of families as a page.
func (t *Comparison) Document(in *tables.Input) (*report.Document, error) {
	settings, err := settingsSection(t)
	table := report.Table{Caption: "families", Columns: report.Columns("family", "K", t.Criterion, "below the best",
		"log-likelihood", "free parameters", "converged"), Open: true, High: "the best"}
	for _, row := range t.Table {
		if row.Error != "" {
			table.Add(row.Family, report.Missing, report.Missing, report.Missing, report.Missing, report.Missing, row.Error)
			continue
		}
		table.Add(row.Family, row.K, report.Nats(row.Value), report.Shaded(report.Nats(row.Behind),
			math.Exp(-float64(row.Behind)/much)), report.Nats(row.LogLikelihood), row.Free, strconv.FormatBool(row.Converged))
	}
	list := report.Single("What was found", nil, table)
	list[0].Wide, list[0].Text = true,
		fmt.Sprintf("By %s, %s with K = %d is the best.", criterionCalled(t.Criterion), t.Best, t.K)
	if t.Second != "" {
		list[0].Text = fmt.Sprintf("By %s, %s with K = %d is %s the next best, %s, which is %s nats lower.",
			criterionCalled(t.Criterion), t.Best, t.K, ahead(float64(t.Margin)), t.Second, report.Nats(t.Margin).String())
	}
	if t.K == t.KMax && t.KMax > t.KMin {
		list[0].Text += fmt.Sprintf(" K = %d is the largest that was compared (--kmax).", t.K)
	}
	list[0].Text += " Each family stands at its best K; larger is better."
	for _, warning := range t.Warnings {
		list[0].Warnings = append(list[0].Warnings, report.Printable(warning))
	}
	return &report.Document{
		Title: wording.Isolated(in.Title()),
		Lead: fmt.Sprintf("%s. Families of %s, each at K from %d to %d, fitted by latent with method %s.",
			in.Contents(float64(t.N)), t.Model, t.KMin, t.KMax, t.Method),
		Foot: "Made by latent select --report. The numbers in the tables are those of --format json, rounded: it " +
			"has all digits.",
		Sections: append(list, settings...),
	}, err
}
