package outcome

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// Print shows a fit to a person.
func (r *Report) Print(p *text.Page, in *tables.Input) {
	p.Prose(0, "%s", in.Describe(float64(r.N)))
	if own, is := r.found.(fitted.Printer); is {
		own.Print(p)
	} else {
		describe(p, r.said)
	}
	if r.Agreement != nil {
		p.Section(r.Agreement.Section())
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
	sections := append(r.begunSection(), r.prunedSection(wording.MostRows)...)
	if r.listStarts {
		sections = append(sections, r.startsSection()...)
	}
	for _, one := range sections {
		p.Section(one)
	}
	if r.K == 0 { // there is nothing to predict or to sample
		return
	}
	p.Line("")
	given, flag := r.Settings.Given()
	path := report.Printable(r.saved)
	drawing, drawn := " and "+r.program+" sample", fmt.Sprintf(", or %s sample %s -n 100", r.program, path)
	switch {
	case len(given) > 0 && flag == "--covariates" || r.responds() && r.kind.Sequences:
		drawing, drawn = "", ""
	case r.responds() || len(given) > 0:
		drawn += " --given FILE"
	}
	if r.saved == "" {
		p.Prose(6, "Next: save the model with --out MODEL.json for %[1]s predict%[2]s; %[1]s %[3]s compares criteria over K.",
			r.program, drawing, r.selecting())
	} else {
		p.Prose(6, "Next: %s predict %s --data FILE%s.", r.program, path, drawn)
	}
}

// facts are what a person wants to know first, by name.
func (r *Report) facts() [][2]string {
	facts := slices.Concat([][2]string{{"chosen K", r.choice()}}, r.certaintyFacts(), r.begunFact())
	facts = append(facts, [2]string{"model", fmt.Sprintf("%s, %s, by %s", r.Model, r.what, r.Method)})
	if r.why != "" {
		facts = append(facts, [2]string{"method", r.Method + ", as " + r.why})
	}
	facts = append(facts, r.comparedFact()...)
	facts = append(facts, [][2]string{
		{r.Criterion, wording.Nats(float64(r.Value)) + " nats: larger is better"}, {"status", r.ending()},
	}...)
	facts = append(facts, r.evidenceFacts()...)
	if r.Criterion == "bic" {
		at := slices.IndexFunc(facts, func(f [2]string) bool { return f[0] == r.Criterion })
		facts[at][1] += r.elsewhere()
	}
	fact := func(name string, value fitted.Number, remark string) {
		if value == value && name != r.Criterion {
			facts = append(facts, [2]string{name, wording.Nats(float64(value)) + " nats" + remark})
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
		facts = append(facts, r.Agreement.Fact())
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
func (r *Report) agreeing() string {
	all, apart := len(r.Restarts), r.apart()
	if all < 2 || slices.ContainsFunc(r.Pruned, func(s Pruned) bool { return s.Rule == "degenerate" }) {
		return ""
	}
	line := fmt.Sprintf("%d of %d reached this value (to %v nats)", r.Reached(), apart, CloseBy)
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
func (r *Report) alone() bool {
	const many = 5
	return r.Converged && r.apart() >= many && r.Reached() == 1
}

// moreStarts is what to do about that.
func (r *Report) moreStarts() string {
	return fmt.Sprintf("more starts may find a better one (--restarts %d)", 4*r.Settings.Restarts)
}

// elsewhere is BIC as other programs have it.
func (r *Report) elsewhere() string {
	bic := float64(r.BIC)
	return fmt.Sprintf(" (mclust: %s; R, scikit-learn: %s)", wording.Nats(2*bic), wording.Nats(-2*bic))
}

func (r *Report) choice() string {
	switch {
	case r.Settings.FixedK:
		return strconv.Itoa(r.K)
	case r.K == r.KMax:
		return fmt.Sprintf("%d, the most that was allowed (--kmax)", r.K)
	}
	if len(r.Restarts) > 0 && r.Restarts[0].KMax < r.KMax && r.ByK == nil {
		first := r.Restarts[0].KMax
		return fmt.Sprintf("%d of at most %d (at most %d first, doubled while the largest were not clearly worse; "+
			"--kmax fixes it)", r.K, r.KMax, first)
	}
	return fmt.Sprintf("%d of at most %d", r.K, r.KMax)
}

func (r *Report) ending() string {
	switch {
	case !r.method().Iterates(), r.Status == framework.OnePass.String():
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
func (r *Report) pruningReasons() []string {
	var why []string
	for _, rule := range pruningRules {
		if slices.ContainsFunc(r.Pruned, func(s Pruned) bool { return s.Rule == rule[0] }) {
			why = append(why, rule[0]+": "+rule[1])
		}
	}
	return why
}

// ending is how a start ended.
func (one restart) ending() string {
	if one.Error != "" {
		return one.Status + ": " + one.Error
	}
	return one.Status
}

// AbridgedNumbers lists some numbers, or their range. What has no relevance has a dash.
func AbridgedNumbers(values []fitted.Number) string {
	values = slices.DeleteFunc(slices.Clone(values), func(v fitted.Number) bool {
		return math.IsInf(float64(v), 0) ||
			v != v
	})
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

// describe shows what a model says of a fit: its first sentences, and the tables that people read, or without such what
// is said of each latent dimension.
func describe(p *text.Page, d *fitted.Description) {
	if d.Finding.Text != "" {
		p.Line("")
		p.Prose(0, "%s", wording.ASCII(d.Finding.Text))
	}
	if !slices.ContainsFunc(d.Sections, hasShort) {
		for _, one := range d.Finding.Items {
			p.Prose(2, "%s, %s: %s", one.Name, wording.ASCII(one.Size), wording.ASCII(one.Text))
		}
	}
	for _, one := range d.Sections {
		p.Section(one)
	}
}

// hasShort says whether a section has a table for people.
func hasShort(s report.Section) bool {
	return slices.ContainsFunc(s.Tables, func(t report.Table) bool { return !t.Long })
}

// printMatrices shows the covariances of components that hold rows, if there is room for all.
func printMatrices(p *text.Page, list []fitted.Matrix, of []*fitted.Class) {
	list = slices.DeleteFunc(slices.Clone(list), func(m fitted.Matrix) bool {
		return m.Component > 1 && of[m.Component-1].Rows < 0.5
	})
	if len(list) == 0 {
		return
	}
	var grids []*report.Grid
	if d := len(list[0].Names); d*len(list) <= wording.MostRows {
		for _, m := range list {
			grids = append(grids, gridOf(m))
		}
	}
	if len(grids) == 0 || slices.ContainsFunc(grids, func(g *report.Grid) bool { return !p.Fits(g) }) {
		p.Prose(0, "Covariances left out (--format json has all).")
		return
	}
	for _, g := range grids {
		p.Line("")
		p.Grid(g)
	}
}

func gridOf(m fitted.Matrix) *report.Grid {
	heads := []string{"covariance"}
	if m.Component > 0 {
		heads[0] += fmt.Sprint(" ", m.Component)
	}
	for _, name := range m.Names {
		heads = append(heads, text.Short(name))
	}
	g := report.NewGrid(heads...)
	for i, values := range m.Values {
		cells := []string{heads[i+1]}
		for _, v := range values {
			cells = append(cells, wording.Readable(float64(v)))
		}
		g.Row(cells...)
	}
	return g
}
