package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/models/mixture"
)

// components are the finding of a mixture, the heaviest first.
type components struct {
	columns   []column
	model     mixture.Model
	params    *mixture.Parameters
	posterior *mixture.Posterior // of vb
	list      []component
	order     []int // columns, the most characteristic first
}

// A component as the report tells it.
type component struct {
	Weight      number          `json:"weight"`
	WeightError number          `json:"weight_standard_error"`
	Rows        number          `json:"rows"` // sum of the weights of the rows that are expected to be its own
	Columns     []columnSummary `json:"columns"`
}

// A columnSummary tells a component's distribution of one column in numbers with names,
// such as mean and sd, or the probability of each level.
type columnSummary struct {
	Name   string            `json:"name"`
	Values map[string]number `json:"values"`
	Errors map[string]number `json:"standard_errors"` // null where there is none

	keys []string // of the values, in order
}

// findComponents orders the components by weight and summarises them.
func findComponents(m mixture.Model, columns []column, p *mixture.Parameters, q *mixture.Posterior, s *mixture.Statistics) (finding, error) {
	order := upTo(0, p.K-1)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	f := &components{columns: columns, model: m}
	f.params = &mixture.Parameters{K: p.K, D: p.D, Weights: arranged(p.Weights, order), Components: arranged(p.Components, order), Whole: p.Whole}
	if q != nil {
		f.posterior = &mixture.Posterior{K: q.K, D: q.D, Weights: arranged(q.Weights, order), Components: arranged(q.Components, order), Whole: q.Whole}
	}
	sums := &mixture.Statistics{K: s.K, N: s.N, Nk: arranged(s.Nk, order), Sums: arranged(s.Sums, order), Anchor: arranged(s.Anchor, order)}
	errs, weightErrs, err := m.StandardErrors(sums, f.params)
	if err != nil {
		return nil, err
	}
	at, err := places(m, columns)
	if err != nil {
		return nil, err
	}
	size := len(errs) / p.K
	for k := range p.K {
		c := component{Weight: number(f.params.Weights[k]), WeightError: number(weightErrs[k]), Rows: number(sums.Nk[k])}
		xi, deviations := f.params.Components[k*size:(k+1)*size], errs[k*size:(k+1)*size]
		for j, column := range columns {
			c.Columns = append(c.Columns, summarise(column, at[j], xi, deviations))
		}
		f.list = append(f.list, c)
	}
	f.order, err = characteristic(m, f.params)
	return f, err
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

// characteristic orders the columns by how much they tell of the components: the
// divergence of a component from the table, averaged over the components.
func characteristic(m mixture.Model, p *mixture.Parameters) ([]int, error) {
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
	order := upTo(0, p.D-1)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sum[j], sum[i]) })
	return order, nil
}

// A place is where one number of a column lies among those of a component.
type place struct {
	name string
	at   int
}

// places finds the numbers of each column by the names that the model gives them. The
// columns are numbered for that: their own names could hold anything.
func places(m mixture.Model, columns []column) ([][]place, error) {
	numbered := make([]string, len(columns))
	of := map[string]int{}
	for j := range columns {
		numbered[j] = strconv.Itoa(j)
		of[numbered[j]] = j
		of[fmt.Sprintf("cov(%d,%d)", j, j)] = j
	}
	names, err := m.Names(&mixture.Parameters{D: len(columns)}, numbered)
	if err != nil {
		return nil, err
	}
	list := make([][]place, len(columns))
	for i, name := range names {
		number, what, _ := strings.Cut(name, ".")
		switch j, ok := of[number]; {
		case ok && what == "": // of a covariance
			list[j] = append(list[j], place{"variance", i})
		case ok && columns[j].Family == familyMultinomial: // one probability a column, named after the first
			list[i%len(columns)] = append(list[i%len(columns)], place{"probability", i})
		case ok:
			list[j] = append(list[j], place{what, i})
		case name == "variance": // of all columns
			for j := range list {
				list[j] = append(list[j], place{name, i})
			}
		}
	}
	return list, nil
}

// summarise names the numbers of a column. A variance becomes a standard deviation, and
// levels have their own names.
func summarise(c column, at []place, xi, deviations []float64) columnSummary {
	s := columnSummary{Name: c.Name, Values: map[string]number{}, Errors: map[string]number{}}
	for l, p := range at {
		name, v, e := p.name, xi[p.at], deviations[p.at]
		switch {
		case name == "variance":
			name, v = "sd", math.Sqrt(v)
			e /= 2 * v
		case c.Family == familyCategorical:
			name = c.Levels[l]
		}
		s.keys = append(s.keys, name)
		s.Values[name], s.Errors[name] = number(v), number(e)
	}
	return s
}

// cell is a summary for people.
func (s columnSummary) cell(c column) string {
	v := func(i int) float64 { return float64(s.Values[s.keys[i]]) }
	switch {
	case c.Family == familyCategorical:
		best := 0
		for l := range s.keys {
			if v(l) > v(best) {
				best = l
			}
		}
		return fmt.Sprintf("%s %.2f", s.keys[best], v(best))
	case c.Family == familyBernoulli, c.Family == familyMultinomial:
		return fmt.Sprintf("%.3f", v(0))
	case len(s.keys) == 1:
		return fmt.Sprintf("%.4g", v(0))
	case slices.Equal(s.keys, []string{"mean", "sd"}):
		return fmt.Sprintf("%.4g ± %.3g", v(0), v(1))
	}
	var list []string // in the order of the legend
	for i := range s.keys {
		list = append(list, fmt.Sprintf("%.4g", v(i)))
	}
	return strings.Join(list, ", ")
}

// legend says what the cells of a column tell.
func (s columnSummary) legend(c column) string {
	switch {
	case c.Family == familyCategorical:
		return "most likely"
	case c.Family == familyBernoulli && len(c.Levels) > 0:
		return fmt.Sprintf("P(%s)", c.Levels[1])
	case c.Family == familyBernoulli:
		return "P(1)"
	case len(s.keys) == 1:
		return s.keys[0]
	case slices.Equal(s.keys, []string{"mean", "sd"}):
		return "mean ± sd"
	}
	return strings.Join(s.keys, ", ")
}

func (f *components) fill(s *summary) (err error) {
	s.Components = f.list
	if s.Params, err = encode(f.params); err == nil && f.posterior != nil {
		s.Posterior, err = encode(f.posterior)
	}
	return err
}

// facts tell what is not seen in the name of the family, which columns are what, and of vb,
// which does not prune, how many components it needs.
func (f *components) facts() [][2]string {
	var list [][2]string
	kinds := inventory(f.columns)
	if len(kinds) > 1 || slices.ContainsFunc(f.columns, func(c column) bool { return len(c.Levels) > 0 }) {
		for _, kind := range kinds {
			list = append(list, [2]string{"", kind[0] + ": " + kind[1]})
		}
		list[0][0] = "columns"
	}
	used := 0
	for _, c := range f.list {
		if c.Rows >= 0.5 {
			used++
		}
	}
	if used < len(f.list) {
		list = append(list, [2]string{"in use", fmt.Sprintf("%d of the %d components hold rows", used, len(f.list))})
	}
	return list
}

// mostColumns is how many columns of a table a person is shown.
const mostColumns = 8

func (f *components) print(p *page) {
	shown, left := upTo(0, len(f.columns)-1), len(f.columns)-mostColumns
	if left > 0 {
		shown = f.order[:mostColumns]
	}
	heads := []string{"component", "weight", "rows"}
	for _, j := range shown {
		heads = append(heads, f.columns[j].Name+"\n"+f.list[0].Columns[j].legend(f.columns[j]))
	}
	p.line("")
	g := newGrid(heads...)
	for k, c := range f.list {
		if k == mostRows {
			break
		}
		row := []string{strconv.Itoa(k + 1), fmt.Sprintf("%.4g", float64(c.Weight)), fmt.Sprintf("%.1f", float64(c.Rows))}
		for _, j := range shown {
			row = append(row, c.Columns[j].cell(f.columns[j]))
		}
		g.row(row...)
	}
	p.grid(g)
	if left > 0 {
		p.line("The %d most characteristic columns come first; %d more are left out (--format json has all).", mostColumns, left)
	}
	if more := len(f.list) - mostRows; more > 0 {
		p.line("%s of less weight left out (--format json has all).", counted(more, "component"))
	}
}
