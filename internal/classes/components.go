// Package classes describes models whose z is a class of each row, such as mixtures: what their components are, which
// rows belong to them and how surely, which form groups, in text, JSON and the sections of a page.
package classes

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// Components are the result of a mixture, the heaviest first.
type Components struct {
	Noun       string // what a class is called: component, or state
	family     string // as --family has it
	Columns    []data.Column
	Data       *data.Named // the table that was fitted
	Model      mixture.Model
	Mixture    *mixture.Parameters
	posterior  *mixture.Posterior // of vb
	Errors     StandardErrors
	List       []Component
	matrices   []fitted.Matrix // covariances
	Order      []int           // columns, those that separate most first
	Warnings   []error         // about the fit
	onFloor    [][]int         // of each component: columns that vary no more than they are rounded
	separation []float64       // of the columns, in nats: how far they set the components apart
	// Assign finds the class of some rows of the table that was fitted, ascending, from 0.
	Assign func(rows []int) ([]int, error)
	// Probabilities are those of the classes of some such rows, K a row; nil where rows are not judged one by one.
	Probabilities func(rows []int) ([]float64, error)
	Counter       Counter // of the rows that are assigned to each component
	// Draw adds standard errors by bootstrap; nil of posteriors
	Draw   func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error)
	tree   *grouping.Tree // of groups, once the rows are counted
	groups *fitted.Groups // likewise
	Drawn  bool           // the list has standard errors by bootstrap

	judged *certainty          // what the page says of probabilities; nil until it is asked for
	wholes map[int]report.Cell // of columns over all rows, likewise
}

// StandardErrors are those of the parameters, in their places.
type StandardErrors struct {
	Weights    []fitted.Number `json:"weights"`
	Components []fitted.Number `json:"components"`
}

// Estimates are parameters as a report has them.
type Estimates struct {
	*mixture.Parameters
	Errors StandardErrors `json:"complete_data_standard_errors"`
}

// A Component as the report has it. Standard errors are those of the complete data: they
// take the components of the rows for known, and so are too small where components overlap.
type Component struct {
	fitted.Class
	Drawn    *fitted.Number  `json:"weight_bootstrap_standard_error,omitempty"`
	Interval []fitted.Number `json:"weight_bootstrap_interval,omitempty"` // two ends
	Factors  *int            `json:"factors,omitempty"`                   // of factor analysers
	Columns  []ColumnSummary `json:"columns"`
}

// A ColumnSummary is a component's distribution of one column in numbers with names,
// such as mean and sd, or the probability of each level.
type ColumnSummary struct {
	Name   string                   `json:"name"`
	Values map[string]fitted.Number `json:"values"`
	Errors map[string]fitted.Number `json:"complete_data_standard_errors"` // null where there is none

	Drawn     map[string]fitted.Number   `json:"bootstrap_standard_errors,omitempty"`
	Intervals map[string][]fitted.Number `json:"bootstrap_intervals,omitempty"`

	Keys []string `json:"-"` // of the values, in order
}

// NewComponents orders the components by weight and summarises them.
func NewComponents(m mixture.Model, family string, columns []data.Column, t *data.Named, p *mixture.Parameters,
	q *mixture.Posterior, s *mixture.Statistics) (*Components, error) {
	order := wording.UpTo(0, p.K-1)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	sums, params, err := m.Keep(s, p, order)
	if err != nil {
		return nil, err
	}
	f, err := DescribeComponents(m, family, columns, t, params, sums)
	if err == nil && q != nil {
		f.posterior = &mixture.Posterior{
			K: q.K, D: q.D, Weights: arranged(q.Weights, order), Components: arranged(q.Components, order), Pooled: q.Pooled,
		}
	}
	return f, err
}

// DescribeComponents summarises components in their order.
func DescribeComponents(
	m mixture.Model, family string, columns []data.Column, t *data.Named, p *mixture.Parameters,
	sums *mixture.Statistics,
) (*Components, error) {
	labels := Labels(columns)
	columns = columns[:families.Described(columns)]
	f := &Components{Noun: "component", family: family, Columns: columns, Data: t, Model: m, Mixture: p}
	f.Assign, f.Probabilities = f.likeliest, f.responsibilities
	own, shares, err := m.StandardErrors(sums, f.Mixture)
	if err != nil {
		return nil, err
	}
	f.Errors = StandardErrors{Weights: fitted.Numbers(shares), Components: fitted.Numbers(own)}
	summaries, err := m.Summarize(sums, f.Mixture)
	if err != nil {
		return nil, err
	}
	for k, s := range summaries {
		c := Component{Class: fitted.Class{Weight: fitted.Number(s.Weight), WeightError: fitted.Number(s.WeightError),
			Rows: fitted.Number(s.Rows)}}
		for j, column := range columns {
			var own ColumnSummary
			own, c.Factors = summarise(column, s.Columns[j])
			c.Columns = append(c.Columns, own)
		}
		if label := m.Label(p, k); label >= 0 {
			c.Label = labels[label]
		}
		f.List = append(f.List, c)
	}
	if f.separation, err = separation(m, f.Mixture); err != nil {
		return nil, err
	}
	f.Order = wording.ByValue(f.separation, wording.UpTo(0, len(columns)-1))
	if f.matrices, err = f.covariances(); err != nil {
		return nil, err
	}
	if f.onFloor, err = m.OnFloor(p); err != nil {
		return nil, err
	}
	f.Warnings, err = m.Doubts(p)
	return f, err
}

// repeated is the doubt, if there is one, whether components are groups or values that were noted alike.
func (f *Components) repeated() (doubts []error) {
	var constant []string
	for j, c := range f.Columns {
		var there []string
		for k, on := range f.onFloor {
			if slices.Contains(on, j) {
				there = append(there, strconv.Itoa(k+1))
			}
		}
		if len(there) > 0 {
			constant = append(constant,
				fmt.Sprintf("%.60q in %s %s", c.Name, wording.Plural(len(there), f.Noun, f.Noun+"s"), wording.Enumerated(there)))
		}
	}
	if len(constant) == 0 {
		return nil
	}
	return []error{fmt.Errorf("as good as constant: %s. A group, or values that were noted alike?",
		wording.Listed(constant, 5))}
}

// Params are the parameters with their standard errors.
func (f *Components) Params() any { return Estimates{f.Mixture, f.Errors} }

// Posterior is that of vb and of cvb0; nil of other methods.
func (f *Components) Posterior() any {
	if f.posterior == nil {
		return nil
	}
	return f.posterior
}

// Doubts are about the fit.
func (f *Components) Doubts() []error { return append(f.repeated(), f.Warnings...) }

// Classes are the components.
func (f *Components) Classes() (list []*fitted.Class) {
	for k := range f.List {
		list = append(list, &f.List[k].Class)
	}
	return list
}

// ComponentList are those of JSON.
func (f *Components) ComponentList() any { return f.List }

// Covariances are those of the components; a single one where all have the same.
func (f *Components) Covariances() []fitted.Matrix { return f.matrices }

// Count adds up the weights of the rows by their components.
func (f *Components) Count(ctx context.Context, workers int) ([]float64, error) {
	return f.Counter(ctx, workers)
}

// Bootstrap adds standard errors from tables that are drawn.
func (f *Components) Bootstrap(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
	return f.Draw(ctx, o)
}

// Describe is what the page says.
func (f *Components) Describe() (*fitted.Description, error) {
	return DescribedBy(f.Finding, f.Sections)
}

// DescribedBy is a description of parts.
func DescribedBy(
	finding func() (report.Section, error), sections func() ([]report.Section, error),
) (d *fitted.Description, err error) {
	d = new(fitted.Description)
	if d.Finding, err = finding(); err == nil {
		d.Sections, err = sections()
	}
	return d, err
}

// arranged puts K equal pieces of a list into another order.
func arranged(v []float64, order []int) []float64 {
	size := len(v) / len(order)
	list := make([]float64, 0, len(v))
	for _, k := range order {
		list = append(list, v[k*size:(k+1)*size]...)
	}
	return list
}

// separation is how far each column sets the components apart: the divergence of a component from the table, averaged
// over the components.
func separation(m mixture.Model, p *mixture.Parameters) ([]float64, error) {
	sum := make([]float64, p.D)
	for k, w := range p.Weights {
		list, err := m.Characteristic(p, k)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			sum[c.Column] += w * c.Divergence
		}
	}
	return sum, nil
}

// summarise names the numbers of a column. A variance becomes a standard deviation, levels have their own names, and a
// column of factor analysers has its standard deviation beside noise and loadings; factors are their number, nil of
// other families.
func summarise(c data.Column, values []mixture.Value) (s ColumnSummary, factors *int) {
	factors, values = factorsOf(values)
	s = ColumnSummary{Name: c.Name, Values: map[string]fitted.Number{}, Errors: map[string]fitted.Number{}}
	for l, one := range values {
		name, v, e := one.Name, one.Value, one.Error
		switch {
		case isVariance(name):
			name, v = strings.TrimSuffix(name, "variance")+"sd", math.Sqrt(v)
			e /= 2 * v
		case c.Family == families.Categorical:
			name = c.Levels[l]
		case inParts(c):
			name = "probability"
		}
		s.Keys = append(s.Keys, name)
		s.Values[name], s.Errors[name] = fitted.Number(v), fitted.Number(e)
	}
	if factors != nil {
		s.addDeviation()
	}
	return s, factors
}

// shown is a summary for people: the head of its table column, and the cell.
func (s ColumnSummary) shown(p report.Page, c data.Column) (legend, cell string) {
	v := func(i int) float64 { return float64(s.Values[s.Keys[i]]) }
	switch at := Truth(c); {
	case c.Family == families.Categorical && at >= 0:
		return fmt.Sprintf("P(%s)", c.Levels[at]), fmt.Sprintf("%.3f", v(at))
	case c.Family == families.Categorical:
		return mostLikely(p, c.Levels, v)
	case c.Family == families.Ordinal:
		list := s.Probabilities(c)
		return mostLikely(p, c.Levels, func(l int) float64 { return list[l] })
	case c.Family == families.Bernoulli, c.Family == families.Indicators:
		one := "1"
		if len(c.Levels) > 0 {
			one = p.Short(c.Levels[1])
		}
		return fmt.Sprintf("P(%s)", one), fmt.Sprintf("%.3f", v(0))
	case c.Family == families.Multinomial:
		return s.Keys[0], fmt.Sprintf("%.3f", v(0))
	case len(s.Keys) == 1:
		return s.Keys[0], wording.Readable(v(0))
	}
	if mean, sd, ok := s.Moments(c.Family); ok {
		return "mean ± sd", wording.ASCII(Spread(c, mean, sd).String())
	}
	var cells []string
	for i := range s.Keys {
		cells = append(cells, wording.Readable(v(i)))
	}
	return strings.Join(s.Keys, ", "), strings.Join(cells, ", ")
}

// measured says whether column j has a mean and a standard deviation; families of an author's own have numbers alone.
func (f *Components) measured(j int) bool { return families.Named(f.Columns[j].Family).Moments != nil }

// Probabilities are those of the levels of a column, in their order.
func (s ColumnSummary) Probabilities(c data.Column) []float64 {
	p := make([]float64, len(levelNames(c)))
	v := func(i int) float64 { return float64(s.Values[s.Keys[i]]) }
	switch c.Family {
	case families.Bernoulli, families.Indicators:
		p[0], p[1] = 1-v(0), v(0)
	case families.Ordinal:
		family.Ordinal{Levels: len(p)}.Expect([]float64{v(0), v(1)}, p)
	case families.Known:
		_, sets, _ := families.Labels(c.Levels)
		for code, set := range sets {
			if len(set) == 1 && float64(set[0]) == v(0) {
				p[code] = 1
			}
		}
	default:
		for l := range p {
			p[l] = v(l)
		}
	}
	return p
}

// mostLikely shows the level of the largest probability.
func mostLikely(page report.Page, levels []string, p func(l int) float64) (legend, cell string) {
	best := 0
	for l := range levels {
		if p(l) > p(best) {
			best = l
		}
	}
	return "most likely", fmt.Sprintf("%s %.2f", page.Short(levels[best]), p(best))
}

// Facts say what is not seen in the name of the family, which columns are what, and of vb,
// which does not prune, how many components it needs.
func (f *Components) Facts() [][2]string {
	var list [][2]string
	for i, kind := range ColumnFacts(f.family, f.Columns) {
		head := ""
		if i == 0 {
			head = "columns"
		}
		list = append(list, [2]string{head, kind[0] + ": " + kind[1]})
	}
	if used := f.used(); used < len(f.List) {
		list = append(list, [2]string{"in use", fmt.Sprintf("%d of the %d %ss hold rows", used, len(f.List), f.Noun)})
	}
	return list
}

// used is the number of components that hold rows.
func (f *Components) used() (n int) {
	for _, c := range f.List {
		if c.Rows >= 0.5 {
			n++
		}
	}
	return n
}

// Emptied doubts a mode of the posterior at which components hold no rows. Such modes are true ones: where weights are
// as likely near 0 as elsewhere, an empty component costs nothing, and gains the density at the mode of its own prior.
// That of the weights has the key prior.
func (f *Components) Emptied(prior string) []error {
	used := f.used()
	if used == 0 || used == len(f.List) { // 0 of a table whose weights are small
		return nil
	}
	return []error{fmt.Errorf("%d of the %d components hold rows, and the others are as the prior has them: --k %d "+
		"fits as many, --prior %s=2 empties fewer", used, len(f.List), used, prior)}
}

// Print says how many components there are, and shows those that hold rows, with as many columns as the page is wide.
func (f *Components) Print(p report.Page) {
	opening := f.Heaviest()
	p.Line("")
	text := f.Headline(opening)
	if len(opening) > 1 && f.separable() {
		text += f.separating()
	}
	p.Prose(0, "%s", wording.ASCII(text))
	list := slices.DeleteFunc(slices.Clone(f.List), func(c Component) bool { return c.Rows < 0.5 })
	if len(list) == 0 {
		list = f.List // of a table whose weights are small
	}
	empty := len(f.List) - len(list)
	rows := list[:min(len(list), wording.MostRows)]
	shown, g := f.fitting(p, rows)
	p.Line("")
	p.Grid(g)
	if left := len(f.Columns) - len(shown); left > 0 {
		p.Prose(0, "The most characteristic columns come first; %s left out (--format json has all).",
			wording.Are(left, "more column"))
	}
	if more := len(list) - len(rows); more > 0 {
		p.Prose(0, "%s of less weight left out (--format json has all).", wording.Counted(more, f.Noun))
	}
	if empty > 0 {
		p.Prose(0, "%s left out, with less than half a row each (--format json has all).", wording.Are(empty, f.Noun))
	}
	if f.Drawn {
		f.printDrawn(p, rows)
	}
}

// fitting are all columns in their order where the page is wide enough, else the most
// characteristic that it has room for, one at least.
func (f *Components) fitting(p report.Page, rows []Component) (shown []int, g *report.Grid) {
	n, g := p.Widest(len(f.Order), func(n int) *report.Grid { return f.grid(p, rows, f.Order[:n]) })
	if n < len(f.Order) {
		return f.Order[:n], g
	}
	all := wording.UpTo(0, n-1)
	return all, f.grid(p, rows, all)
}

// grid shows some components and columns.
func (f *Components) grid(p report.Page, rows []Component, columns []int) *report.Grid {
	heads := []string{f.Noun, "weight", "rows"}
	if rows[0].Factors != nil {
		heads = append(heads, numberOfFactors)
	}
	if f.groups.Join() {
		heads = append(heads, GroupHead)
	}
	for _, j := range columns {
		legend, _ := rows[0].Columns[j].shown(p, f.Columns[j])
		heads = append(heads, p.Short(f.Columns[j].Name)+"\n"+legend)
	}
	g := report.NewGrid(heads...)
	for k, c := range rows {
		row := []string{f.Called(k), wording.Readable(float64(c.Weight)), fmt.Sprintf("%.10g", float64(c.Assigned))}
		if c.Factors != nil {
			row = append(row, strconv.Itoa(*c.Factors))
		}
		if f.groups.Join() {
			row = append(row, strconv.Itoa(f.groups.Of(k+1)))
		}
		for _, j := range columns {
			_, cell := c.Columns[j].shown(p, f.Columns[j])
			row = append(row, cell)
		}
		g.Row(row...)
	}
	return g
}

// Called is what class k is called: its number, and its label if it has one.
func (f *Components) Called(k int) string {
	if label := f.List[k].Label; label != "" {
		return fmt.Sprintf("%d, %s", k+1, report.Printable(label))
	}
	return strconv.Itoa(k + 1)
}

// Moments are mean and standard deviation of a column of numbers, where its family has them.
func (s ColumnSummary) Moments(name string) (mean, sd fitted.Number, ok bool) {
	if name == families.Bernoulli || name == families.Indicators {
		p := float64(s.Values[s.Keys[0]])
		return fitted.Number(p), fitted.Number(math.Sqrt(p * (1 - p))), true
	}
	of := families.Named(name).Moments
	if of == nil {
		return 0, 0, false
	}
	m, v := of(func(name string) float64 { return float64(s.Values[name]) })
	return fitted.Number(m), fitted.Number(v), true
}
