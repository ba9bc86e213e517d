package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// print shows a fit to a person.
func (r *fitReport) print(s *session, in *tables.Input, out string) error {
	p := s.page()
	p.Prose(0, "%s", in.Describe(float64(r.N)))
	if own, is := r.found.(fitted.Printer); is {
		own.Print(p)
	} else {
		describe(p, r.said)
	}
	if r.Agreement != nil {
		r.Agreement.print(p)
	}
	p.Line("")
	for _, f := range r.facts() {
		switch {
		case !p.Narrow():
			p.Prose(16, "%-15s %s", f[0], f[1])
		case f[0] == "":
			p.Prose(2, "  %s", f[1])
		default:
			p.Prose(2, "%s: %s", f[0], f[1])
		}
	}
	printMatrices(p, r.Covariances, r.classes)
	r.printPruned(p)
	r.printRestarts(p)
	if r.K == 0 { // there is nothing to predict or to sample
		return s.show(p)
	}
	p.Line("")
	given, _ := r.Settings.Given()
	path, gate := report.Printable(out), r.Settings.Gate()
	drawing, drawn := " and "+s.name+" sample", fmt.Sprintf(", or %s sample %s -n 100", s.name, path)
	switch {
	case r.responds() || gate != nil:
		drawn += " --given FILE"
	case len(given) > 0:
		drawing, drawn = "", ""
	}
	if out == "" {
		p.Prose(6, "Next: save the model with --out MODEL.json for %[1]s predict%[2]s; %[1]s %[3]s compares criteria over K.",
			s.name, drawing, r.selecting())
	} else {
		p.Prose(6, "Next: %s predict %s --data FILE%s.", s.name, path, drawn)
	}
	return s.show(p)
}

// facts are what a person wants to know first, by name.
func (r *fitReport) facts() [][2]string {
	facts := append([][2]string{{"chosen K", r.choice()}}, r.certaintyFacts()...)
	facts = append(facts, [2]string{"model", fmt.Sprintf("%s, %s, by %s", r.Model, r.what, r.Method)})
	if r.why != "" {
		facts = append(facts, [2]string{"method", r.Method + ", as " + r.why})
	}
	facts = append(facts, r.comparedFact()...)
	facts = append(facts, [][2]string{
		{r.Criterion, digits(float64(r.Value)) + " nats: larger is better"}, {"status", r.ending()},
	}...)
	facts = append(facts, r.evidenceFacts()...)
	if r.Criterion == "bic" {
		at := slices.IndexFunc(facts, func(f [2]string) bool { return f[0] == r.Criterion })
		facts[at][1] += r.elsewhere()
	}
	fact := func(name string, value number, remark string) {
		if value == value && name != r.Criterion {
			facts = append(facts, [2]string{name, digits(float64(value)) + " nats" + remark})
		}
	}
	fact("log-likelihood", r.LogLik, "")
	facts = append(facts, [2]string{"free parameters", strconv.Itoa(int(r.Df)) + r.crowded()})
	fact("bic", r.BIC, r.elsewhere())
	doubt := ""
	switch {
	case r.Relative != nil && *r.Relative == *r.Relative:
		doubt = fmt.Sprintf(", relative entropy %.4f (1: no row is in doubt)", float64(*r.Relative))
	case r.ICL != nil:
		doubt = fmt.Sprintf(" (0: no doubt which %s a row is of)", r.kind.Part)
		if r.kind.Several {
			doubt = fmt.Sprintf(" (0: no doubt which %ss a row has)", r.kind.Part)
		}
	}
	fact("entropy", r.Entropy, doubt)
	if line := r.agreeing(); line != "" {
		facts = append(facts, [2]string{"starts", line})
	}
	facts = append(facts, r.groupFact()...)
	if r.Agreement != nil {
		facts = append(facts, r.Agreement.fact())
	}
	if own, is := r.found.(fitted.Printer); is {
		facts = append(facts, own.Facts()...)
	} else {
		facts = append(facts, r.said.Facts...)
	}
	return append(facts, [2]string{"time", fmt.Sprintf("%.3g s", float64(r.Seconds))})
}

// agreeing says how many starts came to the best value; empty of a single one, and of fits that collapsed, which starts
// agree on whatever the table.
func (r *fitReport) agreeing() string {
	all, apart := len(r.Restarts), r.apart()
	if all < 2 || slices.ContainsFunc(r.Pruned, func(s pruned) bool { return s.Rule == "degenerate" }) {
		return ""
	}
	line := fmt.Sprintf("%d of %d reached this value (to %v nats)", r.reached(), apart, closeBy)
	if apart < all {
		line += fmt.Sprintf("; %d more began like one of them", all-apart)
	}
	if r.alone() {
		line += "; " + r.moreStarts()
	}
	return line
}

// alone says whether one start came to the best value, and so many did not that there may be better ones. Of a fit that
// was cut short that says nothing.
func (r *fitReport) alone() bool {
	const many = 5
	return r.Converged && r.apart() >= many && r.reached() == 1
}

// moreStarts is what to do about that.
func (r *fitReport) moreStarts() string {
	return fmt.Sprintf("more starts may find a better one (--restarts %d)", 4*r.Settings.Restarts)
}

// elsewhere is BIC as other programs have it.
func (r *fitReport) elsewhere() string {
	bic := float64(r.BIC)
	return fmt.Sprintf(" (mclust: %s; R, scikit-learn: %s)", digits(2*bic), digits(-2*bic))
}

func (r *fitReport) choice() string {
	switch {
	case r.Settings.FixedK:
		return strconv.Itoa(r.K)
	case r.K == r.KMax:
		return fmt.Sprintf("%d, the most that was allowed (--kmax)", r.K)
	}
	if len(r.Restarts) > 0 && r.Restarts[0].KMax < r.KMax && r.ByK == nil {
		first := r.Restarts[0].KMax
		return fmt.Sprintf("%d of at most %d (at most %d first, doubled while more than half were found; --kmax fixes it)",
			r.K, r.KMax, first)
	}
	return fmt.Sprintf("%d of at most %d", r.K, r.KMax)
}

func (r *fitReport) ending() string {
	switch {
	case !r.method().Iterates():
		return r.Status
	case r.Converged:
		return fmt.Sprintf("%s after %d iterations", r.Status, r.Iterations)
	}
	text := fmt.Sprintf("NOT converged: %s after %d iterations", r.Status, r.Iterations)
	if r.advice != "" {
		text += ": " + r.advice
	}
	return text
}

// pruningRules says why components go.
var pruningRules = [][2]string{
	{"objective", "the smaller model scored higher"},
	{"eigenvalue", "it held at most one row's worth of data"},
	{"merge", "another one that was split took its place"},
	{"degenerate", "it had collapsed: its rows were equal, or in line, to working precision"},
}

// pruningReasons explains the rules that pruned something.
func (r *fitReport) pruningReasons() []string {
	var why []string
	for _, rule := range pruningRules {
		if slices.ContainsFunc(r.Pruned, func(s pruned) bool { return s.Rule == rule[0] }) {
			why = append(why, rule[0]+": "+rule[1])
		}
	}
	return why
}

// printPruned lists what was dropped when. Many steps are shown in groups.
func (r *fitReport) printPruned(p *text.Page) {
	steps := r.Pruned
	if len(steps) == 0 {
		return
	}
	p.Line("")
	p.Prose(0, "Pruned from K = %d (%s):", r.KMax, strings.Join(r.pruningReasons(), "; "))
	before := r.Criterion + " before"
	if r.byEvidence() { // no room
		before = "before"
	}
	g := report.NewGrid("iteration", "K left", "rule", "relevance", before, "after")
	each := (len(steps) + mostRows - 1) / mostRows
	for first := 0; first < len(steps); first += each {
		group := steps[first:min(first+each, len(steps))]
		last := group[len(group)-1]
		when := strconv.Itoa(last.Iteration)
		if group[0].Iteration != last.Iteration {
			when = fmt.Sprintf("%d–%d", group[0].Iteration, last.Iteration)
		}
		var relevance []number
		var rules []string
		for _, s := range group {
			relevance = append(relevance, s.Relevance...)
			if !slices.Contains(rules, s.Rule) {
				rules = append(rules, s.Rule)
			}
		}
		g.Row(when, strconv.Itoa(last.K), strings.Join(rules, ", "), abridgedNumbers(relevance),
			dashed(group[0].Before), dashed(last.After))
	}
	p.Grid(g)
}

// dashed is a value of the criterion, or a dash where there was none.
func dashed(v number) string {
	if v-v != 0 {
		return "–"
	}
	return digits(float64(v))
}

func (r *fitReport) printRestarts(p *text.Page) {
	if len(r.Restarts) < 2 || !r.listStarts {
		return
	}
	p.Line("")
	g := report.NewGrid("start", "K", r.Criterion, "iterations", "status")
	g.Wrap("status")
	for i, one := range r.Restarts {
		g.Row(strconv.Itoa(i+1), strconv.Itoa(one.K), digits(float64(one.Value)), strconv.Itoa(one.Iterations), one.ending())
	}
	p.Grid(g)
}

// ending is how a start ended.
func (one restart) ending() string {
	if one.Error != "" {
		return one.Status + ": " + one.Error
	}
	return one.Status
}

// print shows criteria over K, each one's choice marked.
func (t *selection) print(s *session, in *tables.Input) error {
	p := s.page()
	p.Prose(0, "%s", in.Describe(float64(t.N)))
	p.Prose(0, "%s, %s, by %s; nats, larger is better, * marks each criterion's choice", t.Model, t.what, t.Method)
	for _, kind := range classes.ColumnFacts(t.Family, t.Columns) {
		p.Prose(2, "%s: %s", kind[0], kind[1])
	}
	if slices.ContainsFunc(t.Table, selectionRow.unfinished) {
		p.Line("! marks fits that did not converge: their values could still change")
	}
	for left := t.Criteria; len(left) > 0; {
		n, g := p.Widest(len(left), func(n int) *report.Grid { return t.grid(left[:n]) })
		p.Line("")
		p.Grid(g)
		left = left[n:]
	}
	p.Line("")
	for _, name := range t.Criteria {
		p.Prose(2, "%-6s chooses K = %d", name, t.Chosen[name])
	}
	if t.Posterior != nil {
		p.Prose(11, "p(K|data)  %s", howSure(t.Posterior, t.Credible))
	}
	t.printTests(p)
	if t.Label != "" {
		var list []string
		for _, row := range t.Table {
			if row.AdjustedRand != nil {
				list = append(list, fmt.Sprintf("K = %d: %.4f", row.K, float64(*row.AdjustedRand)))
			}
		}
		p.Line("")
		p.Prose(2, "adjusted Rand of components and column %q: %s", report.Printable(t.Label), strings.Join(list, ", "))
	}
	p.Line("time   %.3g s", float64(t.Seconds))
	return s.show(p)
}

// grid has some of the criteria.
func (t *selection) grid(criteria []string) *report.Grid {
	g := report.NewGrid(append([]string{"K"}, criteria...)...)
	for _, row := range t.Table {
		cells := []string{strconv.Itoa(row.K)}
		if row.unfinished() {
			cells[0] = "! " + cells[0]
		}
		for _, name := range criteria {
			mark := "  "
			if t.Chosen[name] == row.K {
				mark = " *"
			}
			cells = append(cells, digits(float64(row.Values[name]))+mark)
		}
		g.Row(cells...)
	}
	return g
}

// unfinished says whether a fit has values but did not converge; one that failed has none.
func (row selectionRow) unfinished() bool { return !row.Converged && row.Status != statusNone }

// abridgedNumbers lists some numbers, or their range. What has no relevance has a dash.
func abridgedNumbers(values []number) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v number) bool { return math.IsInf(float64(v), 0) || v != v })
	if len(values) == 0 {
		return "–"
	}
	var list []string
	for _, v := range values[:min(4, len(values))] {
		list = append(list, fmt.Sprintf("%.4g", float64(v)))
	}
	if all := strings.Join(list, ", "); len(values) == len(list) && len(all) <= 26 {
		return all
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, float64(v)), max(high, float64(v))
	}
	return fmt.Sprintf("%d between %.4g and %.4g", len(values), low, high)
}
