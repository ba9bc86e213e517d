package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// components are the result of a mixture, the heaviest first.
type components struct {
	noun       string // what a class is called: component, or state
	family     string // as --family has it
	columns    []data.Column
	model      mixture.Model
	params     *mixture.Parameters
	posterior  *mixture.Posterior // of vb
	errors     standardErrors
	list       []component
	matrices   []namedMatrix // covariances
	order      []int         // columns, those that separate most first
	doubts     []error       // about the fit
	onFloor    [][]int       // of each component: columns that vary no more than they are rounded
	separation []float64     // of the columns, in nats: how far they set the components apart
	// assign finds the class of some rows of the table that was fitted, ascending, from 0.
	assign func(in *input, rows []int) ([]int, error)
	// probabilities are those of the classes of some such rows, K a row; nil where rows are not judged one by one.
	probabilities func(in *input, rows []int) ([]float64, error)
	tree          *grouping.Tree // of groups, once the rows are counted
	groups        *groupsView    // likewise
	drawn         bool           // the list has standard errors by bootstrap

	judged *certainty          // what the page says of probabilities; nil until it is asked for
	wholes map[int]report.Cell // of columns over all rows, likewise
}

// standardErrors are those of the parameters, in their places.
type standardErrors struct {
	Weights    []number `json:"weights"`
	Components []number `json:"components"`
}

// estimates are parameters as a report has them.
type estimates struct {
	*mixture.Parameters
	Errors standardErrors `json:"complete_data_standard_errors"`
}

// A component as the report has it. Standard errors are those of the complete data: they
// take the components of the rows for known, and so are too small where components overlap.
type component struct {
	Weight      number          `json:"weight"`
	WeightError number          `json:"weight_complete_data_standard_error"`
	Rows        number          `json:"rows"`     // sum of the weights of the rows that are expected to be its own
	Assigned    number          `json:"assigned"` // of those whose most probable component it is
	Drawn       *number         `json:"weight_bootstrap_standard_error,omitempty"`
	Interval    []number        `json:"weight_bootstrap_interval,omitempty"` // two ends
	Factors     *int            `json:"factors,omitempty"`                   // of factor analysers
	Columns     []columnSummary `json:"columns"`
}

// A columnSummary is a component's distribution of one column in numbers with names,
// such as mean and sd, or the probability of each level.
type columnSummary struct {
	Name   string            `json:"name"`
	Values map[string]number `json:"values"`
	Errors map[string]number `json:"complete_data_standard_errors"` // null where there is none

	Drawn     map[string]number   `json:"bootstrap_standard_errors,omitempty"`
	Intervals map[string][]number `json:"bootstrap_intervals,omitempty"`

	keys []string // of the values, in order
}

// newComponents orders the components by weight and summarises them.
func newComponents(m mixture.Model, family string, columns []data.Column, p *mixture.Parameters, q *mixture.Posterior,
	s *mixture.Statistics) (*components, error) {
	order := upTo(0, p.K-1)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	sums, params, err := m.Keep(s, p, order)
	if err != nil {
		return nil, err
	}
	f, err := describeComponents(m, family, columns, params, sums)
	if err == nil && q != nil {
		f.posterior = &mixture.Posterior{
			K: q.K, D: q.D, Weights: arranged(q.Weights, order), Components: arranged(q.Components, order), Pooled: q.Pooled,
		}
	}
	return f, err
}

// describeComponents summarises components in their order.
func describeComponents(
	m mixture.Model, family string, columns []data.Column, p *mixture.Parameters, sums *mixture.Statistics,
) (*components, error) {
	f := &components{noun: "component", family: family, columns: columns, model: m, params: p}
	f.assign, f.probabilities = f.likeliest, f.responsibilities
	own, shares, err := m.StandardErrors(sums, f.params)
	if err != nil {
		return nil, err
	}
	f.errors = standardErrors{Weights: numbers(shares), Components: numbers(own)}
	summaries, err := m.Summarize(sums, f.params)
	if err != nil {
		return nil, err
	}
	for _, s := range summaries {
		c := component{Weight: number(s.Weight), WeightError: number(s.WeightError), Rows: number(s.Rows)}
		for j, column := range columns {
			var own columnSummary
			own, c.Factors = summarise(column, s.Columns[j])
			c.Columns = append(c.Columns, own)
		}
		f.list = append(f.list, c)
	}
	if f.separation, err = separation(m, f.params); err != nil {
		return nil, err
	}
	f.order = byValue(f.separation, upTo(0, f.params.D-1))
	if f.matrices, err = f.covariances(); err != nil {
		return nil, err
	}
	if f.onFloor, err = m.OnFloor(p); err != nil {
		return nil, err
	}
	f.doubts, err = m.Doubts(p)
	return f, err
}

// repeated is the doubt, if there is one, whether components are groups or values that were noted alike.
func (f *components) repeated() (doubts []error) {
	var constant []string
	for j, c := range f.columns {
		var there []string
		for k, on := range f.onFloor {
			if slices.Contains(on, j) {
				there = append(there, strconv.Itoa(k+1))
			}
		}
		if len(there) > 0 {
			constant = append(constant,
				fmt.Sprintf("%.60q in %s %s", c.Name, moreOr(len(there) == 1, f.noun, f.noun+"s"), enumerated(there)))
		}
	}
	if len(constant) == 0 {
		return nil
	}
	return []error{fmt.Errorf("as good as constant: %s. A group, or values that were noted alike?", listed(constant, 5))}
}

func (f *components) result() *result {
	r := &result{
		k:           f.params.K,
		doubts:      append(f.repeated(), f.doubts...),
		params:      estimates{f.params, f.errors},
		components:  f.list,
		table:       f.table,
		covariances: f.matrices,
		facts:       f.facts(),
		print:       f.print,
		classify:    f.classify,
		sections:    f.sections,
		finding:     f.finding,
	}
	if f.posterior != nil {
		r.posterior = f.posterior
	}
	return r
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
func summarise(c data.Column, values []mixture.Value) (s columnSummary, factors *int) {
	factors, values = factorsOf(values)
	s = columnSummary{Name: c.Name, Values: map[string]number{}, Errors: map[string]number{}}
	for l, one := range values {
		name, v, e := one.Name, one.Value, one.Error
		switch {
		case isVariance(name):
			name, v = strings.TrimSuffix(name, "variance")+"sd", math.Sqrt(v)
			e /= 2 * v
		case c.Family == families.Categorical:
			name = c.Levels[l]
		case c.Family == families.Multinomial:
			name = "probability"
		}
		s.keys = append(s.keys, name)
		s.Values[name], s.Errors[name] = number(v), number(e)
	}
	if factors != nil {
		s.addDeviation()
	}
	return s, factors
}

// shown is a summary for people: the head of its table column, and the cell.
func (s columnSummary) shown(c data.Column) (legend, cell string) {
	v := func(i int) float64 { return float64(s.Values[s.keys[i]]) }
	switch at := truth(c); {
	case c.Family == families.Categorical && at >= 0:
		return fmt.Sprintf("P(%s)", c.Levels[at]), fmt.Sprintf("%.3f", v(at))
	case c.Family == families.Categorical:
		return mostLikely(c.Levels, v)
	case c.Family == families.Ordinal:
		p := s.probabilities(c)
		return mostLikely(c.Levels, func(l int) float64 { return p[l] })
	case c.Family == families.Bernoulli && len(c.Levels) > 0:
		return fmt.Sprintf("P(%s)", short(c.Levels[1])), fmt.Sprintf("%.3f", v(0))
	case c.Family == families.Bernoulli:
		return "P(1)", fmt.Sprintf("%.3f", v(0))
	case c.Family == families.Multinomial:
		return s.keys[0], fmt.Sprintf("%.3f", v(0))
	case len(s.keys) == 1:
		return s.keys[0], readable(v(0))
	}
	if mean, sd, ok := s.moments(c.Family); ok {
		return "mean ± sd", ascii(spread(c, mean, sd).String())
	}
	var cells []string
	for i := range s.keys {
		cells = append(cells, readable(v(i)))
	}
	return strings.Join(s.keys, ", "), strings.Join(cells, ", ")
}

// measured says whether column j has a mean and a standard deviation; families of an author's own have numbers alone.
func (f *components) measured(j int) bool { return families.Named(f.columns[j].Family).Moments != nil }

// probabilities are those of the levels of a column, in their order.
func (s columnSummary) probabilities(c data.Column) []float64 {
	p := make([]float64, len(levelNames(c)))
	v := func(i int) float64 { return float64(s.Values[s.keys[i]]) }
	switch c.Family {
	case families.Bernoulli:
		p[0], p[1] = 1-v(0), v(0)
	case families.Ordinal:
		family.Ordinal{Levels: len(p)}.Expect([]float64{v(0), v(1)}, p)
	default:
		for l := range p {
			p[l] = v(l)
		}
	}
	return p
}

// mostLikely shows the level of the largest probability.
func mostLikely(levels []string, p func(l int) float64) (legend, cell string) {
	best := 0
	for l := range levels {
		if p(l) > p(best) {
			best = l
		}
	}
	return "most likely", fmt.Sprintf("%s %.2f", short(levels[best]), p(best))
}

// truth is the place of TRUE among the levels of a column of TRUE and FALSE; −1 in others.
func truth(c data.Column) int {
	is := func(word string) func(string) bool {
		return func(level string) bool { return strings.EqualFold(level, word) }
	}
	if len(c.Levels) != 2 || !slices.ContainsFunc(c.Levels, is("false")) {
		return -1
	}
	return slices.IndexFunc(c.Levels, is("true"))
}

// facts say what is not seen in the name of the family, which columns are what, and of vb,
// which does not prune, how many components it needs.
func (f *components) facts() [][2]string {
	var list [][2]string
	for i, kind := range columnFacts(f.family, f.columns) {
		head := ""
		if i == 0 {
			head = "columns"
		}
		list = append(list, [2]string{head, kind[0] + ": " + kind[1]})
	}
	if used := f.used(); used < len(f.list) {
		list = append(list, [2]string{"in use", fmt.Sprintf("%d of the %d %ss hold rows", used, len(f.list), f.noun)})
	}
	return list
}

// used is the number of components that hold rows.
func (f *components) used() (n int) {
	for _, c := range f.list {
		if c.Rows >= 0.5 {
			n++
		}
	}
	return n
}

// emptied doubts a mode of the posterior at which components hold no rows. Such modes are true ones: where weights are
// as likely near 0 as elsewhere, an empty component costs nothing, and gains the density at the mode of its own prior.
// That of the weights has the key prior.
func (f *components) emptied(prior string) []error {
	used := f.used()
	if used == 0 || used == len(f.list) { // 0 of a table whose weights are small
		return nil
	}
	return []error{fmt.Errorf("%d of the %d components hold rows, and the others are as the prior has them: --k %d "+
		"fits as many, --prior %s=2 empties fewer", used, len(f.list), used, prior)}
}

// print says how many components there are, and shows those that hold rows, with as many columns as the page is wide.
func (f *components) print(p *page) {
	opening := f.heaviest()
	p.line("")
	text := f.headline(opening)
	if len(opening) > 1 && f.separable() {
		text += f.separating()
	}
	p.prose(0, "%s", ascii(text))
	list := slices.DeleteFunc(slices.Clone(f.list), func(c component) bool { return c.Rows < 0.5 })
	if len(list) == 0 {
		list = f.list // of a table whose weights are small
	}
	empty := len(f.list) - len(list)
	rows := list[:min(len(list), mostRows)]
	shown, g := f.fitting(p, rows)
	p.line("")
	p.grid(g)
	if left := len(f.columns) - len(shown); left > 0 {
		p.prose(0, "The most characteristic columns come first; %s left out (--format json has all).",
			are(left, "more column"))
	}
	if more := len(list) - len(rows); more > 0 {
		p.prose(0, "%s of less weight left out (--format json has all).", counted(more, f.noun))
	}
	if empty > 0 {
		p.prose(0, "%s left out, with less than half a row each (--format json has all).", are(empty, f.noun))
	}
	if f.drawn {
		f.printDrawn(p, rows)
	}
}

// fitting are all columns in their order where the page is wide enough, else the most
// characteristic that it has room for, one at least.
func (f *components) fitting(p *page, rows []component) (shown []int, g *grid) {
	n, g := p.widest(len(f.order), func(n int) *grid { return f.grid(rows, f.order[:n]) })
	if n < len(f.order) {
		return f.order[:n], g
	}
	all := upTo(0, n-1)
	return all, f.grid(rows, all)
}

// grid shows some components and columns.
func (f *components) grid(rows []component, columns []int) *grid {
	heads := []string{f.noun, "weight", "rows"}
	if rows[0].Factors != nil {
		heads = append(heads, numberOfFactors)
	}
	if f.groups.joins() {
		heads = append(heads, groupHead)
	}
	for _, j := range columns {
		legend, _ := rows[0].Columns[j].shown(f.columns[j])
		heads = append(heads, short(f.columns[j].Name)+"\n"+legend)
	}
	g := newGrid(heads...)
	for k, c := range rows {
		row := []string{strconv.Itoa(k + 1), readable(float64(c.Weight)), fmt.Sprintf("%.10g", float64(c.Assigned))}
		if c.Factors != nil {
			row = append(row, strconv.Itoa(*c.Factors))
		}
		if f.groups.joins() {
			row = append(row, strconv.Itoa(f.groups.of(k+1)))
		}
		for _, j := range columns {
			_, cell := c.Columns[j].shown(f.columns[j])
			row = append(row, cell)
		}
		g.row(row...)
	}
	return g
}
