package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/latent-go/latent/internal/htmlreport"
)

// mostIterations bounds the figure and the table of the iterations.
const mostIterations = 600

// iterationsSection shows criterion and K after each iteration, where there were any.
func (r *report) iterationsSection() []htmlreport.Section {
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
	shown := thinned(len(r.Trace), mostIterations, at)
	table := sheet{caption: "iterations" + leftIn(len(r.Trace)-len(shown), "of them"), heads: []string{"iteration", r.Criterion, "objective", "K"}}
	chart := htmlreport.Chart{Title: r.Criterion + " and K over the iterations", XName: "iteration", IntegerX: true, EventsName: "something was pruned"}
	for place, i := range shown {
		table.add(i+1, nats(r.Trace[i]), nats(r.Objective[i]), r.KTrace[i])
		chart.Notes = append(chart.Notes, notes[i])
		if notes[i] != "" {
			chart.Events = append(chart.Events, place)
		}
	}
	chart.X = table.column(0)
	chart.Panels = []htmlreport.Panel{
		{Name: r.Criterion + ", nats", Late: true, Dots: len(shown) == 1, Series: table.series(r.Criterion, 1)},
		{Name: "K", Integer: true, Steps: true, Height: 90, Dots: len(shown) == 1, Series: table.series("K", 3)},
	}
	last := len(r.Trace) - 1
	sizes := fmt.Sprintf("K stayed %d", r.KTrace[last])
	if r.KTrace[0] != r.KTrace[last] {
		sizes = fmt.Sprintf("K went from %d to %d", r.KTrace[0], r.KTrace[last])
	}
	chart.About = fmt.Sprintf("%s went from %s after the first of %s to %s after the last; %s.", r.Criterion, digits(float64(r.Trace[0])), counted(len(r.Trace), "iteration"), digits(float64(r.Trace[last])), sizes)
	chart.About += r.falls()
	if len(r.Restarts) > 1 {
		chart.About += " The best of the starts is shown."
	}
	return section(chart.Title, chart.Figure(), &table)
}

// falls explains where the criterion fell from one iteration to the next. It is not what the iterations ascend: docs/theory/gfab.md,
// section 4.
func (r *report) falls() string {
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
			why = append(why, fmt.Sprintf("%s, %s", counted(n, "time"), because))
		}
	}
	say(dips, "while the objective that the iterations ascend rose: the criterion is not that objective, and only compares different K")
	say(fewer, "where K changed, and the fit went on from there")
	say(down, "with the objective itself: the iterations solve equations and follow no slope")
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf(" Falls, none of more than %s nats: %s.", cellText(worst), strings.Join(why, "; "))
}

// sizesSection shows the criterion over K, where every K was fitted.
func (r *report) sizesSection() []htmlreport.Section {
	if len(r.ByK) == 0 {
		return nil
	}
	chart := htmlreport.Chart{
		Title: r.Criterion + " over K", XName: "K", IntegerX: true,
		About: fmt.Sprintf("Of K from %d to %d, %s chooses %d, the dotted line.", r.ByK[0].K, r.ByK[len(r.ByK)-1].K, r.Criterion, r.K),
	}
	table := sheet{caption: chart.Title, heads: []string{"K", r.Criterion, "converged"}}
	for i, one := range r.ByK {
		table.add(one.K, nats(one.Value), one.Converged)
		if one.K == r.K {
			chart.Events = append(chart.Events, i)
		}
	}
	chart.X = table.column(0)
	chart.Panels = []htmlreport.Panel{{Name: r.Criterion + ", nats", Dots: true, Late: true, Series: table.series(r.Criterion, 1)}}
	return section(chart.Title, chart.Figure(), &table)
}

// prunedSection says what went when, and why.
func (r *report) prunedSection() []htmlreport.Section {
	if len(r.Pruned) == 0 {
		return nil
	}
	table := sheet{caption: "pruned" + leftIn(len(r.Pruned)-mostIterations, "later step"), heads: []string{"iteration", "K left", "rule", "relevance of those dropped", r.Criterion + " before", "after"}, open: true}
	for _, p := range r.Pruned[:min(len(r.Pruned), mostIterations)] {
		table.add(p.Iteration, p.K, p.Rule, abridgedNumbers(p.Relevance), nats(p.Before), nats(p.After))
	}
	list := section(fmt.Sprintf("What was pruned from K = %d", r.KMax), nil, &table)
	reasons := strings.Join(r.pruningReasons(), "; ")
	list[0].Text = strings.ToUpper(reasons[:1]) + reasons[1:] + "."
	return list
}

// mostOpen is how many starts are listed without being asked for.
const mostOpen = 20

// startsSection says how the starts ended, where there were several.
func (r *report) startsSection() []htmlreport.Section {
	if len(r.Restarts) < 2 {
		return nil
	}
	table := sheet{caption: "starts" + leftIn(len(r.Restarts)-mostIterations, "more start"), heads: []string{"start", "K", r.Criterion, "iterations", "status"}, open: len(r.Restarts) <= mostOpen}
	for i, one := range r.Restarts[:min(len(r.Restarts), mostIterations)] {
		table.add(i+1, one.K, nats(one.Value), one.Iterations, one.ending())
	}
	list := section("Starts", nil, &table)
	list[0].Text = fmt.Sprintf("%d of %d reached the best value (to %v nats).", r.reached(), r.apart(), closeBy)
	return list
}
