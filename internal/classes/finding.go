package classes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// MostSaid bounds the columns that are said to set a class apart, and those of the headline.
const MostSaid = 3

// Finding says how many classes there are, how sure rows are of theirs, and of each class what sets it apart.
func (f *Components) Finding() (list report.Section, err error) {
	shown := f.Heaviest()
	list.Tables = []report.Table{f.Weights(shown)}
	list.Text = f.Headline(shown)
	if len(shown) == 1 {
		return list, nil
	}
	judged, err := f.Judge()
	if err != nil {
		return list, err
	}
	if judged != nil {
		list.Text += " " + judged.Sentence(f.Noun)
	}
	if f.groups.Join() {
		list.Text += fmt.Sprintf(" %s.", f.groups.Sentence())
	}
	if !f.separable() && len(f.Order) > 1 && f.family != families.Multinomial && judged != nil && judged.clear >= mostly {
		list.Text += fmt.Sprintf(
			" No column separates the %ss by itself: together they do (see the directions, and the correlations).", f.Noun,
		)
	} else {
		list.Text += f.separating()
	}
	pooled, err := f.pooled()
	if err != nil {
		return list, err
	}
	for k, c := range shown {
		brief, text, err := f.setApart(k, pooled)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, report.Item{
			Group: k, Name: wording.Capital(f.Noun) + " " + f.Called(k), Size: f.Size(c), Share: float64(c.Weight),
			Brief: brief, Text: text,
		})
	}
	return list, nil
}

// separable reports whether a column by itself separates the classes.
func (f *Components) separable() bool { return f.separation[f.Order[0]] >= weak }

// separating names the columns that separate the classes most, in a sentence behind others; empty if there is nothing
// to choose from.
func (f *Components) separating() string {
	if len(f.Order) < 2 || f.family == families.Multinomial {
		return ""
	}
	var names []string
	for _, j := range f.Order[:min(len(f.Order), MostSaid)] {
		names = append(names, Called(f.Columns[j]))
	}
	return fmt.Sprintf(" Columns that set the %ss apart most: %s.", f.Noun, strings.Join(names, ", "))
}

// Headline is how many classes there are and how large they are.
func (f *Components) Headline(shown []Component) string {
	text := f.howMany(shown)
	if noise, ok := f.List[0].Columns[0].Values["noise"]; ok {
		text += fmt.Sprintf(" Outliers (noise) are %s of the rows.", report.Percentage(float64(noise)))
	}
	return text
}

func (f *Components) howMany(shown []Component) string {
	const few = 5
	used := 0
	for _, c := range f.List {
		if c.Rows >= 0.5 {
			used++
		}
	}
	used = max(used, len(shown))
	if used == 1 {
		return fmt.Sprintf("One %s: it describes the table as a whole, and there are no groups.", f.Noun)
	}
	var shares []string
	for _, c := range shown[:min(len(shown), few)] {
		shares = append(shares, report.Percentage(float64(c.Weight)))
	}
	text := fmt.Sprintf("%s, with %s of the rows", wording.Capital(wording.Counted(used, f.Noun)),
		wording.Enumerated(shares))
	if used > few {
		least := report.Percentage(float64(shown[len(shown)-1].Weight))
		text = fmt.Sprintf("%s, from %s to %s of the rows", wording.Capital(wording.Counted(used, f.Noun)), shares[0], least)
		if least == shares[0] {
			text = fmt.Sprintf("%s, each with %s of the rows", wording.Capital(wording.Counted(used, f.Noun)), least)
		}
	}
	return text + "." + wording.LeftOut(used-len(shown), f.Noun, "of less weight")
}

// Size is a class in percent of the rows, as they are expected, and in those that are assigned to it.
func (f *Components) Size(c Component) string {
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
func (f *Components) setApart(k int, pooled []ColumnSummary) (brief, text string, err error) {
	const least, share = 0.02, 0.1 // nats, and of the largest
	list, err := f.contrasts(k, pooled)
	if err != nil {
		return "", "", err
	}
	var said []string
	begin := "Set apart by"
	if list[0].nats < weak {
		begin = "By single columns it differs little:"
	}
	for _, c := range list {
		if c.said != "" && c.nats >= max(least, share*list[0].nats) && len(said) < MostSaid {
			said, brief = append(said, c.said), cmp.Or(brief, c.brief)
		}
	}
	if len(said) == 0 {
		return "", "No single column sets it apart from all rows.", nil
	}
	return brief, begin + " " + wording.Enumerated(said) + ".", nil
}

// contrasts are the columns by how far class k is from all rows in them, the farthest first; as many as may be said.
func (f *Components) contrasts(k int, pooled []ColumnSummary) (list []contrast, err error) {
	ranked, err := f.Model.Characteristic(f.Mixture, k)
	if err != nil {
		return nil, err
	}
	for i, c := range ranked {
		if inParts(f.Columns[c.Column]) {
			own, all := f.List[k].Columns[c.Column].number(0), pooled[c.Column].number(0)
			ranked[i].Divergence = 0
			if own > 0 { // and so all
				ranked[i].Divergence = math.Abs(own * math.Log(own/all))
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b mixture.Contrast) int { return cmp.Compare(b.Divergence, a.Divergence) })
	for _, c := range ranked[:min(len(ranked), 4*MostSaid)] {
		one := f.say(c.Column, f.List[k].Columns[c.Column], pooled[c.Column])
		if one.nats = c.Divergence; one.nats == 0 && !f.measured(c.Column) { // which nobody knows
			one.nats = weak
		}
		list = append(list, one)
	}
	return list, nil
}

// inParts says whether a column has a divergence together with its neighbours, of which it is a part.
func inParts(c data.Column) bool {
	return c.Family == families.Multinomial || c.Family == families.Indicators
}

// say is how a class differs from all rows in a column.
func (f *Components) say(j int, own, pooled ColumnSummary) contrast {
	// standard deviations, ratio of standard deviations, difference of probabilities
	const little, other, points = 0.2, 1.25, 0.02
	c := f.Columns[j]
	name := Called(c)
	if inParts(c) {
		p, all := own.number(0), pooled.number(0)
		brief := wording.Either(p > all, "more", "fewer") + " " + name
		of := ""
		if c.Family == families.Multinomial {
			of = " of the counts"
		}
		return contrast{brief: brief, said: fmt.Sprintf("%s (%s%s, in all rows %s)", brief, report.Percentage(p), of,
			report.Percentage(all))}
	}
	if levels := levelNames(c); levels != nil {
		p, all := own.Probabilities(c), pooled.Probabilities(c)
		best := 0
		for l := range p {
			if p[l]-all[l] > p[best]-all[best] {
				best = l
			}
		}
		if p[best]-all[best] < points {
			return contrast{}
		}
		brief := fmt.Sprintf("%s = %s", name, wording.Isolated(report.Printable(shortened(levels[best]))))
		return contrast{brief: brief,
			said: fmt.Sprintf("%s (%s, in all rows %s)", brief, report.Percentage(p[best]), report.Percentage(all[best]))}
	}
	if !f.measured(j) {
		brief := name + " with " + own.listed()
		return contrast{brief: brief, said: fmt.Sprintf("%s (in all rows %s)", brief, pooled.listed())}
	}
	here, all := f.spreadOf(own, j), f.whole(j)
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

// spreadOf are mean and standard deviation of column j under the numbers of a class; of levels in an order, those of
// their numbers.
func (f *Components) spreadOf(s ColumnSummary, j int) report.Cell {
	c := f.Columns[j]
	if c.Family == families.Ordinal {
		mean, square := 0.0, 0.0
		for l, p := range s.Probabilities(c) {
			v, err := strconv.ParseFloat(c.Levels[l], 64)
			if err != nil {
				v = float64(l + 1)
			}
			mean, square = mean+p*v, square+p*v*v
		}
		return Spread(c, mean, math.Sqrt(max(0, square-mean*mean)))
	}
	mean, sd, _ := s.Moments(c.Family)
	return Spread(c, mean, sd)
}

// whole are mean and standard deviation of column j over all rows, without those that lack it.
func (f *Components) whole(j int) report.Cell {
	if s, ok := f.wholes[j]; ok {
		return s
	}
	n, mean, squares := 0.0, 0.0, 0.0
	for row := range f.Data.Rows() {
		v, w := f.Data.Number(row, j), f.Data.Weight(row)
		if v == v && w > 0 {
			n += w
			step := v - mean
			mean += step * w / n
			squares += w * step * (v - mean)
		}
	}
	s := Spread(f.Columns[j], mean, math.Sqrt(squares/n))
	if f.wholes == nil {
		f.wholes = map[int]report.Cell{}
	}
	f.wholes[j] = s
	return s
}

// number is the number at a place of the summary.
func (s ColumnSummary) number(i int) float64 { return float64(s.Values[s.Keys[i]]) }

// listed are the numbers by their names.
func (s ColumnSummary) listed() string {
	var list []string
	for i, key := range s.Keys {
		list = append(list, key+" "+wording.Readable(s.number(i)))
	}
	return wording.Enumerated(list)
}
