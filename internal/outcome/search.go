package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// iterationsSection shows criterion and K after each iteration, where there were any.
func (r *Report) iterationsSection() []report.Section {
	if len(r.Trace) == 0 {
		return nil
	}
	var at []int // of prunings
	notes := map[int]string{}
	for _, p := range r.Pruned {
		if i := p.Iteration - 1; i >= 0 && i < len(r.Trace) {
			at = append(at, i)
			notes[i] = strings.TrimPrefix(notes[i]+"\n"+fmt.Sprintf("pruned to %d by the rule %s", p.K, p.Rule), "\n")
		}
	}
	shown := wording.Thinned(len(r.Trace), wording.MostIterations, at)
	table := report.Table{
		Caption: "iterations" + leftIn(len(r.Trace)-len(shown), "of them"),
		Columns: report.Columns("iteration", r.Criterion, "objective", "K"),
	}
	chart := report.Chart{
		Title:      r.Criterion + " and K over the iterations",
		XName:      "iteration",
		IntegerX:   true,
		EventsName: "something was pruned",
	}
	for place, i := range shown {
		table.Add(i+1, report.Nats(r.Trace[i]), report.Nats(r.Objective[i]), r.KTrace[i])
		chart.Notes = append(chart.Notes, notes[i])
		if notes[i] != "" {
			chart.Events = append(chart.Events, place)
		}
	}
	chart.X = table.Values(0)
	chart.Panels = []report.Panel{
		{Name: r.Criterion + ", nats", Late: true, Dots: len(shown) == 1, Series: table.Series(r.Criterion, 1)},
		{Name: "K", Integer: true, Steps: true, Height: 90, Dots: len(shown) == 1, Series: table.Series("K", 3)},
	}
	last := len(r.Trace) - 1
	sizes := fmt.Sprintf("K stayed %d", r.KTrace[last])
	if r.KTrace[0] != r.KTrace[last] {
		sizes = fmt.Sprintf("K went from %d to %d", r.KTrace[0], r.KTrace[last])
	}
	chart.About = fmt.Sprintf("In %s, %s went from %s after the first to %s after the last; %s.",
		wording.Counted(len(r.Trace), "iteration"), criterionCalled(r.Criterion), wording.Nats(float64(r.Trace[0])),
		wording.Nats(float64(r.Trace[last])), sizes)
	chart.About += r.falls()
	if len(r.Restarts) > 1 {
		chart.About += " The best of the starts is shown."
	}
	return report.Single(chart.Title, chart, table)
}

// falls explains where the criterion fell from one iteration to the next. It is not what the iterations ascend:
// docs/theory/gfab.md, section 4.
func (r *Report) falls() string {
	const rounding = 1e-9
	var fewer, dips, down int
	worst := 0.0
	for i := 1; i < len(r.Trace); i++ {
		fall := float64(r.Trace[i-1] - r.Trace[i])
		switch {
		case !(fall > rounding*math.Abs(float64(r.Trace[i]))):
			continue
		case r.KTrace[i] != r.KTrace[i-1]:
			fewer++
		case r.Objective[i] >= r.Objective[i-1]:
			dips++
		default:
			down++
		}
		worst = max(worst, fall)
	}
	var why []string
	say := func(n int, because string) {
		if n > 0 {
			why = append(why, fmt.Sprintf("%s, %s", wording.Counted(n, "time"), because))
		}
	}
	say(dips, "while the objective that the iterations ascend rose: the criterion is not that objective, and only "+
		"compares different K")
	say(fewer, "where K changed, and the fit went on from there")
	say(down, "with the objective itself: the iterations solve equations and follow no slope")
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf(" Falls, none of more than %s nats: %s.", report.Of(worst), strings.Join(why, "; "))
}

// sizes are the best values of the criterion by K: of all K that were fitted, or of those that the starts ended with.
func (r *Report) sizes() (list []SizeScore) {
	if len(r.ByK) > 0 || r.Settings.FixedK {
		return r.ByK
	}
	for _, one := range r.Restarts {
		at := slices.IndexFunc(list, func(s SizeScore) bool { return s.K == one.K })
		switch {
		case one.Value != one.Value:
		case at < 0:
			list = append(list, SizeScore{one.K, one.Value, one.Status == framework.Converged.String()})
		case one.Value > list[at].Value:
			list[at] = SizeScore{one.K, one.Value, one.Status == framework.Converged.String()}
		}
	}
	slices.SortFunc(list, func(a, b SizeScore) int { return cmp.Compare(a.K, b.K) })
	return list
}

// clarity says how sure K is, by its probabilities if the fit has them, or else how far the K that was chosen is ahead
// of the next best one. The words are those of Kass & Raftery (1995), J. Am. Stat. Assoc. 90, p. 777, for the
// logarithm of a ratio of evidences.
func (r *Report) clarity() string {
	switch {
	case r.Settings.FixedK && r.Begun != nil && r.Begun.K == r.K:
		return "K is that of the saved model (--from), and was not compared to others."
	case r.Settings.FixedK:
		return "K was given (--k), and not compared to others."
	}
	most := ""
	if r.K == r.KMax && r.K > 1 {
		most = " It is the most that was allowed (--kmax): more may be better."
	}
	if r.Evidence != nil && r.SizePosterior != nil {
		return fmt.Sprintf("How sure K is, p(K|data): %s.", howSure(r.SizePosterior, r.Credible)) + most
	}
	var next *SizeScore
	ended := 0
	for _, one := range r.Restarts {
		if one.Value == one.Value {
			ended++
		}
	}
	for _, one := range r.sizes() {
		if one.K != r.K && one.Value-one.Value == 0 && (next == nil || one.Value > next.Value) {
			next = &one
		}
	}
	switch {
	case next == nil && ended > 1 && r.KMax > 1:
		return fmt.Sprintf("%s came to K = %d, from at most %d.", wording.Capital(starts(ended, len(r.Restarts))), r.K,
			r.KMax) + most
	case next == nil:
		return strings.TrimSpace(most)
	}
	lead := float64(r.Value - next.Value)
	if lead < 0 {
		return fmt.Sprintf("K = %d is %s nats higher by %s, and was not chosen, for the reason under notes.", next.K,
			report.Nats(-lead).String(), criterionCalled(r.Criterion))
	}
	if len(r.ByK) == 0 {
		return fmt.Sprintf("The best start that ended with another K has K = %d, and %s is %s nats lower: latent %s "+
			"fits every K.",
			next.K, criterionCalled(r.Criterion), report.Nats(lead).String(), r.selecting()) + most
	}
	return fmt.Sprintf("By %s, K = %d is %s the next best, K = %d, which is %s nats lower.",
		criterionCalled(r.Criterion), r.K, ahead(lead), next.K, report.Nats(lead).String()) + most
}

// criterionCalled is what a criterion is called in a sentence; flags, JSON and the heads of tables have its code.
func criterionCalled(code string) string {
	c, err := framework.CriterionByName(code)
	if err != nil {
		return code
	}
	switch c.Name {
	case framework.Collapsed.Name:
		return "the collapsed evidence"
	case framework.Completed.Name:
		return "the evidence less the entropy of the labels"
	case framework.ExactICL.Name:
		return "exact ICL"
	case framework.Slope.Name:
		return "the slope heuristic"
	}
	return c.Name
}

// ahead says how clear a lead of so many nats is.
func ahead(lead float64) string {
	switch {
	case lead >= much:
		return "far better than"
	case lead >= 3:
		return "clearly better than"
	case lead >= 1:
		return "somewhat better than"
	}
	return "hardly better than"
}

// starts names those that ended with a value.
func starts(ended, all int) string {
	if ended < all {
		return fmt.Sprintf("all %d starts of %d that did not fail", ended, all)
	}
	return fmt.Sprintf("all %d starts", all)
}

// sizesSection shows the criterion over K, where several K were fitted.
func (r *Report) sizesSection() []report.Section {
	list := r.sizes()
	if len(list) < 2 {
		return nil
	}
	chart := report.Chart{
		Title:      r.Criterion + " over K",
		XName:      "K",
		IntegerX:   true,
		EventsName: fmt.Sprintf("chosen: K = %d", r.K),
		About:      r.clarity() + " Larger is better.",
	}
	if len(r.ByK) == 0 {
		chart.Title = r.Criterion + " over the K of the starts"
	}
	table := report.Table{Caption: chart.Title, Columns: report.Columns("K", r.Criterion, "below the best", "converged")}
	best := math.Inf(-1)
	for _, one := range list {
		if one.Value == one.Value {
			best = max(best, float64(one.Value))
		}
	}
	for i, one := range list {
		table.Add(one.K, report.Nats(one.Value), report.Nats(best-float64(one.Value)), one.Converged)
		if one.K == r.K {
			chart.Events = append(chart.Events, i)
		}
	}
	chart.X = table.Values(0)
	chart.Panels = []report.Panel{
		{Name: r.Criterion + ", nats", Dots: true, Late: true, Series: table.Series(r.Criterion, 1)},
	}
	return report.Single(chart.Title, chart, table)
}

// prunedSection says what went when, and why: many steps in groups, at most so many.
func (r *Report) prunedSection(most int) []report.Section {
	steps := r.Pruned
	if len(steps) == 0 {
		return nil
	}
	table := report.Table{
		Caption: fmt.Sprintf("pruned from K = %d (%s), %s before and after", r.KMax, strings.Join(r.pruningReasons(), "; "),
			r.Criterion),
		Columns: report.Columns("iteration", "K left", "rule", "relevance", "before", "after"),
		Open:    true,
	}
	for group := range slices.Chunk(steps, (len(steps)+most-1)/most) {
		first, last := group[0], group[len(group)-1]
		when := strconv.Itoa(last.Iteration)
		if first.Iteration != last.Iteration {
			when = fmt.Sprintf("%d–%d", first.Iteration, last.Iteration)
		}
		var relevance []fitted.Number
		var rules []string
		for _, s := range group {
			relevance = append(relevance, s.Relevance...)
			if !slices.Contains(rules, s.Rule) {
				rules = append(rules, s.Rule)
			}
		}
		table.Add(when, last.K, strings.Join(rules, ", "), AbridgedNumbers(relevance), report.Nats(first.Before),
			report.Nats(last.After))
	}
	list := report.Single("What was pruned", nil, table)
	list[0].Text, list[0].Wide = "Relevance is that of the pruned part.", true
	return list
}

// mostOpen is how many starts are listed without being asked for.
const mostOpen = 20

// startsSection says how the starts ended, where there were several.
func (r *Report) startsSection() []report.Section {
	if len(r.Restarts) < 2 {
		return nil
	}
	table := report.Table{
		Caption: "starts" + leftIn(len(r.Restarts)-wording.MostIterations, "more start"),
		Columns: report.Columns("start", "K", r.Criterion, "iterations", "status"),
		Open:    len(r.Restarts) <= mostOpen,
	}
	for i, one := range r.Restarts[:min(len(r.Restarts), wording.MostIterations)] {
		table.Add(i+1, one.K, report.Nats(one.Value), one.Iterations, one.ending())
	}
	list := report.Single("Starts", nil, table)
	list[0].Text = fmt.Sprintf("%d of %d reached the best value (to %v nats).", r.Reached(), r.apart(), CloseBy)
	return list
}
