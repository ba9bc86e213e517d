package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// mostSaid bounds the columns that are said to set a class apart, and those of the headline.
const mostSaid = 3

// finding says how many classes there are, how sure rows are of theirs, and of each class what sets it apart.
func (f *components) finding(in *input) (list report.Section, err error) {
	shown := f.heaviest()
	list.Tables = []report.Table{f.weights(shown)}
	list.Text = f.headline(shown)
	if len(shown) == 1 {
		return list, nil
	}
	judged, err := f.judge(in)
	if err != nil {
		return list, err
	}
	if judged != nil {
		list.Text += " " + judged.sentence(f.noun)
	}
	if f.groups.joins() {
		list.Text += fmt.Sprintf(" %s.", f.groups.sentence())
	}
	if !f.separable() && len(f.order) > 1 && f.family != families.Multinomial && judged != nil && judged.clear >= mostly {
		list.Text += fmt.Sprintf(
			" No column separates the %ss by itself: together they do (see the directions, and the correlations).", f.noun,
		)
	} else {
		list.Text += f.separating()
	}
	pooled, err := f.pooled()
	if err != nil {
		return list, err
	}
	for k, c := range shown {
		brief, text, err := f.setApart(in, k, pooled)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, report.Item{
			Group: k, Name: fmt.Sprintf("%s %d", capital(f.noun), k+1), Size: f.size(c), Share: float64(c.Weight),
			Brief: brief, Text: text,
		})
	}
	return list, nil
}

// separable reports whether a column by itself separates the classes.
func (f *components) separable() bool { return f.separation[f.order[0]] >= weak }

// separating names the columns that separate the classes most, in a sentence behind others; empty if there is nothing
// to choose from.
func (f *components) separating() string {
	if len(f.order) < 2 || f.family == families.Multinomial {
		return ""
	}
	var names []string
	for _, j := range f.order[:min(len(f.order), mostSaid)] {
		names = append(names, called(f.columns[j]))
	}
	return fmt.Sprintf(" Columns that set the %ss apart most: %s.", f.noun, strings.Join(names, ", "))
}

// headline is how many classes there are and how large they are.
func (f *components) headline(shown []component) string {
	text := f.howMany(shown)
	if noise, ok := f.list[0].Columns[0].Values["noise"]; ok {
		text += fmt.Sprintf(" Outliers (noise) are %s of the rows.", report.Percentage(float64(noise)))
	}
	return text
}

func (f *components) howMany(shown []component) string {
	const few = 5
	used := 0
	for _, c := range f.list {
		if c.Rows >= 0.5 {
			used++
		}
	}
	used = max(used, len(shown))
	if used == 1 {
		return fmt.Sprintf("One %s: it describes the table as a whole, and there are no groups.", f.noun)
	}
	var shares []string
	for _, c := range shown[:min(len(shown), few)] {
		shares = append(shares, report.Percentage(float64(c.Weight)))
	}
	text := fmt.Sprintf("%s, with %s of the rows", capital(counted(used, f.noun)), enumerated(shares))
	if used > few {
		least := report.Percentage(float64(shown[len(shown)-1].Weight))
		text = fmt.Sprintf("%s, from %s to %s of the rows", capital(counted(used, f.noun)), shares[0], least)
		if least == shares[0] {
			text = fmt.Sprintf("%s, each with %s of the rows", capital(counted(used, f.noun)), least)
		}
	}
	return text + "." + leftOut(used-len(shown), f.noun, "of less weight")
}

// size is a class in percent of the rows, as they are expected, and in those that are assigned to it.
func (f *components) size(c component) string {
	return fmt.Sprintf("%s of the rows, %s assigned", report.Percentage(float64(c.Weight)),
		report.Readable(float64(c.Assigned)))
}

// weak is the separation, in nats a row, up to which a column says little by itself: that of a difference of 0.7
// standard deviations.
const weak = 0.25

// A contrast is a column that sets a class apart, in words, and by how much.
type contrast struct {
	said  string // "higher income (64 ± 5, in all rows 40 ± 12)"; empty where the difference is too small for words
	brief string // "income 64 ± 5"
	nats  float64
}

// setApart is the sentence about class k, and what sets it apart most in a few words.
func (f *components) setApart(in *input, k int, pooled []columnSummary) (brief, text string, err error) {
	const least, share = 0.02, 0.1 // nats, and of the largest
	list, err := f.contrasts(in, k, pooled)
	if err != nil {
		return "", "", err
	}
	var said []string
	begin := "Set apart by"
	if list[0].nats < weak {
		begin = "By single columns it differs little:"
	}
	for _, c := range list {
		if c.said != "" && c.nats >= max(least, share*list[0].nats) && len(said) < mostSaid {
			said, brief = append(said, c.said), cmp.Or(brief, c.brief)
		}
	}
	if len(said) == 0 {
		return "", "No single column sets it apart from all rows.", nil
	}
	return brief, begin + " " + enumerated(said) + ".", nil
}

// contrasts are the columns by how far class k is from all rows in them, the farthest first; as many as may be said.
func (f *components) contrasts(in *input, k int, pooled []columnSummary) (list []contrast, err error) {
	ranked, err := f.model.Characteristic(f.params, k)
	if err != nil {
		return nil, err
	}
	if f.family == families.Multinomial { // whose columns have a divergence together: these are their parts
		for i, c := range ranked {
			own, all := f.list[k].Columns[c.Column].number(0), pooled[c.Column].number(0)
			ranked[i].Divergence = math.Abs(own * math.Log(own/all))
		}
		slices.SortStableFunc(ranked, func(a, b mixture.Contrast) int { return cmp.Compare(b.Divergence, a.Divergence) })
	}
	for _, c := range ranked[:min(len(ranked), 4*mostSaid)] {
		one := f.say(in, c.Column, f.list[k].Columns[c.Column], pooled[c.Column])
		if one.nats = c.Divergence; one.nats == 0 && !f.measured(c.Column) { // which nobody knows
			one.nats = weak
		}
		list = append(list, one)
	}
	return list, nil
}

// say is how a class differs from all rows in a column.
func (f *components) say(in *input, j int, own, pooled columnSummary) contrast {
	// standard deviations, ratio of standard deviations, difference of probabilities
	const little, other, points = 0.2, 1.25, 0.02
	c := f.columns[j]
	name := called(c)
	if c.Family == families.Multinomial {
		p, all := own.number(0), pooled.number(0)
		brief := moreOr(p > all, "more", "fewer") + " " + name
		return contrast{brief: brief, said: fmt.Sprintf("%s (%s of the counts, in all rows %s)", brief,
			report.Percentage(p), report.Percentage(all))}
	}
	if levels := levelNames(c); levels != nil {
		p, all := own.probabilities(c), pooled.probabilities(c)
		best := 0
		for l := range p {
			if p[l]-all[l] > p[best]-all[best] {
				best = l
			}
		}
		if p[best]-all[best] < points {
			return contrast{}
		}
		brief := fmt.Sprintf("%s = %s", name, isolated(report.Printable(shortened(levels[best]))))
		return contrast{brief: brief,
			said: fmt.Sprintf("%s (%s, in all rows %s)", brief, report.Percentage(p[best]), report.Percentage(all[best]))}
	}
	if !f.measured(j) {
		brief := name + " with " + own.listed()
		return contrast{brief: brief, said: fmt.Sprintf("%s (in all rows %s)", brief, pooled.listed())}
	}
	here, all := f.spreadOf(own, j), f.whole(in, j)
	how := ""
	switch shift, ratio := (here.Value-all.Value)/all.SD, here.SD/all.SD; {
	case shift >= little:
		how = "higher"
	case shift <= -little:
		how = "lower"
	case ratio <= 1/other:
		how = "less varied"
	case ratio >= other:
		how = "more varied"
	default:
		return contrast{}
	}
	return contrast{brief: fmt.Sprintf("%s %s", name, here),
		said: fmt.Sprintf("%s %s (%s, in all rows %s)", how, name, here, all)}
}

func moreOr(yes bool, more, less string) string {
	if yes {
		return more
	}
	return less
}

// spreadOf are mean and standard deviation of column j under the numbers of a class; of levels in an order, those of
// their numbers.
func (f *components) spreadOf(s columnSummary, j int) report.Cell {
	c := f.columns[j]
	if c.Family == families.Ordinal {
		mean, square := 0.0, 0.0
		for l, p := range s.probabilities(c) {
			v, err := strconv.ParseFloat(c.Levels[l], 64)
			if err != nil {
				v = float64(l + 1)
			}
			mean, square = mean+p*v, square+p*v*v
		}
		return spread(c, mean, math.Sqrt(max(0, square-mean*mean)))
	}
	mean, sd, _ := s.moments(c.Family)
	return spread(c, mean, sd)
}

// whole are mean and standard deviation of column j over all rows, without those that lack it.
func (f *components) whole(in *input, j int) report.Cell {
	if s, ok := f.wholes[j]; ok {
		return s
	}
	n, mean, squares := 0.0, 0.0, 0.0
	for row := range in.Rows() {
		v, w := in.Number(row, j), in.frequency(row)
		if v == v && w > 0 {
			n += w
			step := v - mean
			mean += step * w / n
			squares += w * step * (v - mean)
		}
	}
	s := spread(f.columns[j], mean, math.Sqrt(squares/n))
	if f.wholes == nil {
		f.wholes = map[int]report.Cell{}
	}
	f.wholes[j] = s
	return s
}

// number is the number at a place of the summary.
func (s columnSummary) number(i int) float64 { return float64(s.Values[s.keys[i]]) }

// levelNames are those of a column that has probabilities of levels; nil of one of numbers.
func levelNames(c data.Column) []string {
	if c.Family == families.Bernoulli && len(c.Levels) == 0 {
		return []string{"0", "1"}
	}
	return c.Levels
}

// called is the column's name in a sentence.
func called(c data.Column) string { return isolated(shortened(report.Printable(c.Name))) }

// shortened is a name that a sentence has room for.
func shortened(name string) string {
	const most = 40
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

// listed are the numbers by their names.
func (s columnSummary) listed() string {
	var list []string
	for i, key := range s.keys {
		list = append(list, key+" "+readable(s.number(i)))
	}
	return enumerated(list)
}
