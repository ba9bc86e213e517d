package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Document is a finding as a page, about a table by its title and a model by the name of its file.
func (d *Drift) Document(title, model string, f *Finding) *report.Document {
	finding := report.Section{Title: "What was found", Wide: true, Text: d.verdict(f), Warnings: f.Warnings}
	return &report.Document{
		Title: title,
		Lead: fmt.Sprintf("%s beside the %s of %s rows that %s holds, by latent predict.",
			wording.Counted(int(d.now.rows), "new row"), d.model.File.Model, report.Readable(float64(d.model.File.N)),
			wording.Isolated(report.Printable(model))),
		Foot: "Made by latent predict --report.",
		Sections: slices.Concat([]report.Section{finding}, d.sharesSection(), d.likelihoodSection(),
			d.columnsSection(), d.unlikeSection()),
	}
}

// then is the mean log-likelihood of a row of the fit; of fits that have none, beside rows with gaps, whose
// log-likelihood is that of fewer cells, and of sequences, of a row drawn from the model.
func (d *Drift) then() (mean float64, ofFit bool) {
	if (d.missing() > 0 || len(d.drawn) > 0) && d.expected.rows > 0 {
		return d.expected.sum / d.expected.rows, false
	}
	if then := float64(d.model.File.LogLik / d.model.File.N); then != 0 && then-then == 0 { // a model file has 0 for none
		return then, true
	}
	return d.expected.sum / d.expected.rows, false
}

// threshold is the log-likelihood below which a row is called unlike those that the model expects.
func (d *Drift) threshold() float64 { return d.expected.logs.quantile(unlikely) }

func (r *reservoir) quantile(p float64) float64 {
	if len(r.kept) == 0 {
		return math.NaN()
	}
	if !slices.IsSorted(r.kept) {
		slices.Sort(r.kept)
	}
	return stat.Quantile(p, stat.Empirical, r.kept, nil)
}

// below is the part of the values that are below a bound.
func (r *reservoir) below(v float64) float64 {
	n := 0
	for _, one := range r.kept {
		if one < v {
			n++
		}
	}
	return float64(n) / float64(len(r.kept))
}

// Verdicts on new rows, the worst last; there is none if the model draws no rows.
const (
	Alike        = "alike"
	Likelier     = "likelier"
	Uncertain    = "uncertain"
	PartlyUnlike = "partly unlike"
	LessLikely   = "less likely"
	Unlike       = "unlike"
)

// verdicts are what is said of rows; %s is what is uncertain.
var verdicts = map[string]string{
	Alike:    "The new rows are like those of the fit.",
	Likelier: "The new rows are likelier than those of the fit: they lie closer to what is typical of it.",
	Uncertain: "The new rows do not differ clearly from those of the fit: the mean log-likelihood of %s " +
		"is uncertain by ± %s nats (2 standard errors).",
	PartlyUnlike: "Most of the new rows are like those of the fit, and some are not.",
	LessLikely:   "The new rows are somewhat less likely than those of the fit.",
	Unlike:       "The new rows are unlike those of the fit.",
}

// A Finding says how the rows of a table lie beside those of the fit.
type Finding struct {
	Verdict  string        `json:"verdict"`
	Drift    bool          `json:"drift"` // the verdict is unlike
	Rows     int           `json:"rows"`
	LogLik   fitted.Number `json:"mean_loglik"`
	Expected fitted.Number `json:"expected_mean_loglik"`
	Fitted   bool          `json:"expected_is_of_the_fit"` // and not of rows that the model has drawn
	Shift    fitted.Number `json:"shift"`                  // of the mean, standard deviations of the log-likelihood of a row
	Chance   fitted.Number `json:"shift_by_chance"`        // two standard errors
	Unlikely fitted.Number `json:"unlikely_rows"`          // the part that is among the least likely 0.1 % of what is expected
	Columns  []Movement    `json:"columns"`
	Warnings []string      `json:"warnings"`

	uncertain float64 // nats
}

// A Movement says how far a column has moved.
type Movement struct {
	Name   string        `json:"name"`
	Moved  fitted.Number `json:"moved"` // standard deviations; of levels the part of the rows that would have to change theirs
	Chance fitted.Number `json:"moved_by_chance"`
	Clear  bool          `json:"clear"`

	moved moved
}

// Find draws the rows that the model expects, and compares. It is called once, after the last block; the finding has
// the warnings, which may be nil, with those of its own.
func (d *Drift) Find(warnings []string) *Finding {
	const some, clear, few, many = 0.1, 0.5, 0.01, 0.05 // standard deviations of the log-likelihood, and parts of the rows
	d.draw()
	now := d.now.sum / d.now.rows
	then, ofFit := d.then()
	f := &Finding{
		Rows: int(d.now.rows), LogLik: fitted.Number(now), Expected: fitted.Number(then), Fitted: ofFit,
		Columns: []Movement{}, Warnings: append([]string{}, warnings...),
	}
	if d.fault != nil {
		f.Warnings = append(f.Warnings, "the model could draw no rows to compare these with: "+d.fault.Error())
	}
	if d.expected.rows == 0 {
		return f
	}
	sd, strange := stat.StdDev(d.expected.logs.kept, nil), d.now.logs.below(d.threshold())
	shift := (now - then) / sd
	sure := d.chance(func(g *gathering) float64 { return (g.sum/g.rows - d.expected.sum/d.expected.rows) / sd })
	f.Shift, f.Chance, f.Unlikely, f.uncertain = fitted.Number(shift), fitted.Number(sure), fitted.Number(strange), sure*sd
	f.Verdict = Alike
	switch {
	case shift < -max(clear, sure) || strange > many && strange-2*math.Sqrt(strange*(1-strange)/d.now.rows) > few:
		f.Verdict, f.Drift = Unlike, true
	case shift < -max(some, sure):
		f.Verdict = LessLikely
	case strange > few:
		f.Verdict = PartlyUnlike
	case shift > max(clear, sure):
		f.Verdict = Likelier
	case math.Abs(shift) > some:
		f.Verdict = Uncertain
	}
	for _, m := range d.movements() {
		chance := d.chance(func(g *gathering) float64 { return d.moves(g, m.column) })
		if levels := d.model.File.Columns[m.column].Levels; len(levels) > 0 && len(d.drawn) == 0 {
			chance = math.Sqrt(float64(len(levels)) / d.now.rows)
		}
		f.Columns = append(f.Columns, Movement{
			d.model.File.Columns[m.column].Name, fitted.Number(m.by), fitted.Number(chance),
			math.Abs(m.by) >= max(2*some, chance), m,
		})
	}
	return f
}

// verdict says a finding in words.
func (d *Drift) verdict(f *Finding) string {
	text := fmt.Sprintf("The log-likelihood of a row is %s nats on average, and was %s in the fit.",
		report.Nats(float64(f.LogLik)).String(), report.Nats(float64(f.Expected)).String())
	if !f.Fitted {
		text = fmt.Sprintf("The log-likelihood of a row is %s nats on average, and the model expects %s.",
			report.Nats(float64(f.LogLik)).String(), report.Nats(float64(f.Expected)).String())
	}
	if f.Verdict == "" {
		return text
	}
	words := verdicts[f.Verdict]
	if f.Verdict == Uncertain {
		words = fmt.Sprintf(words, wording.Counted(f.Rows, "row"), report.Nats(f.uncertain).String())
	}
	text = fmt.Sprintf("%s %s %s of them are among the least likely %s of what the model expects.", words, text,
		report.Percentage(float64(f.Unlikely)), report.Percentage(unlikely))
	if d.first >= 0 && len(d.now.shares) > 1 {
		text += fmt.Sprintf(" %s of them belong to their %s with a probability of %v or more; the model expects %s.",
			report.Percentage(d.now.clear/d.now.rows), d.noun(), classes.Clearly,
			report.Percentage(d.expected.clear/d.expected.rows))
	}
	var moved []string
	for _, c := range f.Columns {
		if c.Clear && len(moved) < classes.MostSaid {
			moved = append(moved, d.said(c.moved))
		}
	}
	if len(moved) > 0 {
		text += " Moved most: " + wording.Enumerated(moved) + "."
	}
	if gaps := d.missing(); gaps > 0 {
		text += fmt.Sprintf(" %s of the cells are missing: the rows that the model draws for comparison have the same gaps.",
			report.Percentage(gaps))
	}
	return text
}

// missing is the part of the cells that are missing.
func (d *Drift) missing() float64 {
	sum := 0.0
	for _, c := range d.now.columns {
		sum += c.missing
	}
	return sum / d.now.rows / float64(len(d.now.columns))
}

// said is a movement in words.
func (d *Drift) said(m moved) string {
	c := d.model.File.Columns[m.column]
	if len(c.Levels) > 0 {
		return fmt.Sprintf("%s (%s of the rows have another level)", classes.Called(c), report.Percentage(m.by))
	}
	way := "higher"
	if m.by < 0 {
		way = "lower"
	}
	return fmt.Sprintf("%s (%s by %s standard deviations)", classes.Called(c), way, report.Fixed(math.Abs(m.by), 2))
}

// withSign writes a change.
func withSign(v float64, decimals int) string {
	text := report.Fixed(v, decimals)
	if v > 0 {
		return "+" + text
	}
	return text
}

// noun is what a component is called.
func (d *Drift) noun() string {
	if d.input.Sequence {
		return "state"
	}
	return "component"
}

// sharesSection compares the shares of the components.
func (d *Drift) sharesSection() []report.Section {
	if d.first < 0 || len(d.model.File.Components) != len(d.now.shares) || len(d.now.shares) < 2 {
		return nil
	}
	noun := d.noun()
	table := report.Table{
		Caption: "shares",
		Columns: report.Columns(noun, "in the fit", "now", "change"),
		Open:    true,
		Low:     "smaller",
		High:    "larger",
	}
	for k, c := range d.model.File.Components[:min(len(d.model.File.Components), wording.MostRows)] {
		now := d.now.shares[k] / d.now.rows
		change := now - float64(c.Weight)
		table.Add(k+1, report.Share(c.Weight), report.Share(now),
			report.Shaded(withSign(100*change, 1)+" points", max(-1, min(1, 5*change))))
	}
	chart := report.Chart{Title: wording.Capital(noun) + "s then and now", XName: noun,
		Names: wording.Numbered("", len(table.Rows)),
		About: fmt.Sprintf("The share of the rows in each %s, by their probabilities.", noun) +
			wording.LeftOut(len(d.model.File.Components)-wording.MostRows, noun, ""),
		Panels: []report.Panel{{
			Name:   "share of the rows",
			Bars:   true,
			Height: 200,
			Series: slices.Concat(table.Series("in the fit", 1), table.Series("now", 2)),
		}}}
	return report.Single(chart.Title, chart, table)
}

// likelihoodSection compares the log-likelihoods of rows.
func (d *Drift) likelihoodSection() []report.Section {
	table := report.Table{
		Caption: "quantiles of the log-likelihood", Columns: report.Columns("of the rows", "expected", "now"), Open: true,
	}
	for _, p := range []float64{unlikely, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99} {
		table.Add(fmt.Sprintf("%v %% are below", 100*p), report.Nats(d.expected.logs.quantile(p)),
			report.Nats(d.now.logs.quantile(p)))
	}
	table.Add("mean", report.Nats(d.expected.sum/d.expected.rows), report.Nats(d.now.sum/d.now.rows))
	chart := report.Chart{Title: "How likely the rows are", XName: "log-likelihood of a row, nats",
		About: fmt.Sprintf("The new rows beside %s drawn from the model, as it expects them. Rows far to "+
			"the left are unlike those.", wording.Counted(int(d.expected.rows), "row"))}
	low, high := d.now.logs.quantile(0.005),
		max(d.now.logs.quantile(1), wording.FiniteOr(d.expected.logs.quantile(1), math.Inf(-1)))
	low = min(low, wording.FiniteOr(d.threshold(), math.Inf(1)))
	if !(high > low) {
		return report.Single(chart.Title, nil, table)
	}
	const steps = 40
	edges := floats.Span(make([]float64, steps+1), low, high)
	now, expected := densities(d.now.logs.kept, edges), densities(d.expected.logs.kept, edges)
	panel := report.Panel{
		Name: "density", Height: 200, BinsName: "the new rows", Series: []report.Series{{Name: "expected by the model"}},
	}
	for i := range steps {
		chart.X = append(chart.X, (edges[i]+edges[i+1])/2)
		panel.Bins = append(panel.Bins, report.Bin{From: edges[i], To: edges[i+1], Height: now[i],
			Tip: fmt.Sprintf("%s to %s\n%s of the rows", report.Readable(edges[i]), report.Readable(edges[i+1]),
				report.Percentage(now[i]*(edges[i+1]-edges[i])))})
	}
	panel.Series[0].Y = expected
	if len(d.expected.logs.kept) == 0 {
		panel.Series = nil
	}
	chart.Panels = []report.Panel{panel}
	return report.Single(chart.Title, chart, table)
}

// densities are those of values in bins; what is outside counts, and is in none.
func densities(values, edges []float64) []float64 {
	list := make([]float64, len(edges)-1)
	for _, v := range values {
		if i, found := slices.BinarySearch(edges, v); i > 0 || found {
			if !found || i == len(list) { // the last bin holds the largest value
				i--
			}
			if i < len(list) {
				list[i] += 1 / float64(len(values)) / (edges[i+1] - edges[i])
			}
		}
	}
	return list
}

// columnsSection lists the columns, those that moved most first.
func (d *Drift) columnsSection() []report.Section {
	moves := d.movements()
	measured := report.Table{
		Caption: "means ± standard deviations",
		Columns: report.Columns("column", "expected", "now", "moved, in sd", "missing"),
		Open:    true,
		Low:     "lower by 1 sd",
		High:    "higher by 1 sd",
	}
	levels := report.Table{
		Caption: "levels",
		Columns: report.Columns("column", "level that changed most", "expected", "now", "rows with another level", "missing"),
		Open:    true,
		High:    "all rows",
	}
	for _, m := range moves[:min(len(moves), wording.MostProfiles)] {
		c, now, then := d.model.File.Columns[m.column], d.now.columns[m.column], d.expected.columns[m.column]
		missing := report.Share(now.missing / d.now.rows)
		if now.levels == nil {
			measured.Add(c.Name, classes.Spread(c, then.mean, then.sd()), classes.Spread(c, now.mean, now.sd()),
				report.Shaded(withSign(m.by, 2), max(-1, min(1, m.by))), missing)
			continue
		}
		change := make([]float64, len(now.levels))
		for l := range change {
			change[l] = math.Abs(now.levels[l]/now.n - then.levels[l]/then.n)
		}
		most := floats.MaxIdx(change)
		levels.Add(c.Name, c.Levels[most], report.Share(then.levels[most]/then.n), report.Share(now.levels[most]/now.n),
			report.Shaded(report.Share(m.by), m.by), missing)
	}
	tables := slices.DeleteFunc([]report.Table{measured, levels}, func(t report.Table) bool { return len(t.Rows) == 0 })
	if len(tables) == 0 {
		return nil
	}
	list := report.Single("Columns then and now", nil, tables...)
	list[0].Wide = true
	list[0].Text = fmt.Sprintf("What the model expects, from %s drawn from it, beside the new rows: the columns that "+
		"moved most come first.", wording.Counted(int(d.expected.rows), "row")) +
		wording.LeftOut(len(moves)-wording.MostProfiles, "column", "which moved less")
	return list
}

// unlikeSection lists the rows that are least like what the model expects.
func (d *Drift) unlikeSection() []report.Section {
	table := report.Table{
		Caption: "least likely rows",
		Columns: report.Columns("row", "log-likelihood", "farthest in", "value", "from the mean"),
		Open:    true,
	}
	for _, one := range d.unlike {
		if !(one.log < cmp.Or(d.threshold(), math.Inf(-1))) {
			continue
		}
		cells := []any{one.row + 1, report.Nats(one.log)}
		if j, by := d.farthest(one.x); j >= 0 {
			cells = append(cells, d.model.File.Columns[j].Name, one.x[j], withSign(by, 1)+" sd")
		} else {
			cells = append(cells, report.Missing, report.Missing, report.Missing)
		}
		table.Add(cells...)
	}
	list := report.Section{Title: "Rows unlike those of the fit", Wide: true}
	if len(table.Rows) == 0 {
		list.Text = "There are none."
		return []report.Section{list}
	}
	list.Tables = []report.Table{table}
	list.Text = fmt.Sprintf(
		"Rows whose log-likelihood is below %s nats, which is that of the least likely %s of the rows that the model "+
			"expects; the least likely first.", report.Nats(d.threshold()).String(), report.Percentage(unlikely),
	)
	if len(table.Rows) == mostUnlike {
		list.Text += fmt.Sprintf(" The first %d are listed.", mostUnlike)
	}
	return []report.Section{list}
}
