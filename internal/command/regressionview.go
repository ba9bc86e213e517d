package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// curves are the result of a mixture of regressions, the heaviest component first.
type curves struct {
	*components
	design *design.Regression
	table  *framework.Table // of the design
}

// regressionEngine fits a mixture of regressions.
func regressionEngine(g *design.Regression, model mixture.Model, table *framework.Table) engine {
	made := &iterated[framework.Rows, *mixture.Parameters, *mixture.Statistics]{Model: model, Source: table}
	made.Found = func(p *mixture.Parameters, s *mixture.Statistics) (*result, error) {
		found, err := newComponents(model, g.Distribution, g.Columns(), p, nil, s)
		if err != nil {
			return nil, err
		}
		c := curves{found, g, table}
		found.probabilities = c.responsibilities
		r := found.result()
		r.params, r.facts, r.print, r.sections = regressionFile{estimates{found.params, found.errors}, g},
			c.facts(), c.print, c.sections
		r.finding, r.count = c.finding, likeliestOf(table, found.params.K, found.scorer)
		r.bootstrap = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			return found.bootstrap(ctx, model, table, o)
		}
		return r, nil
	}
	return made
}

// responsibilities are the probabilities of the components of rows, of the table that was fitted.
func (c curves) responsibilities(_ *input, rows []int) ([]float64, error) {
	return c.model.Responsibilities(some(c.table.All(), rows), c.params, nil)
}

// facts say what the terms are, where names do not.
func (c curves) facts() [][2]string {
	var list [][2]string
	if c.design.Size != "" {
		list = append(list, [2]string{"counts over", report.Printable(c.design.Size)})
	}
	if len(c.design.Fixed) > 0 {
		var names []string
		for _, place := range c.design.Fixed {
			names = append(names, report.Printable(c.design.Coefficients()[place]))
		}
		list = append(list, [2]string{"in common", listed(names, 8)})
	}
	if against := c.references(); len(against) > 0 {
		list = append(list, [2]string{"levels are", "against " + listed(against, 8)})
	}
	return list
}

// references are the levels that indicators are against.
func (c curves) references() (list []string) {
	for _, t := range c.design.Terms {
		if t.Level == 1 {
			name, _, _ := strings.Cut(t.Name, " = ")
			list = append(list, report.Printable(name+" = "+t.Against))
		}
	}
	return list
}

// A coefficient is a row of the table of coefficients: one number of every component.
type coefficient struct {
	name   string
	column int    // of the design
	key    string // of its summary
}

// coefficients are the intercept, those of the terms, and the standard deviation.
func (c curves) coefficients() (list []coefficient) {
	for j, s := range c.list[0].Columns {
		for _, key := range s.keys {
			name := key
			if j > 0 {
				name = c.columns[j].Name
			}
			list = append(list, coefficient{name, j, key})
		}
	}
	slices.SortStableFunc(list, func(a, b coefficient) int { // the deviation last
		rank := map[bool]int{true: 1}
		return rank[a.key == "sd"] - rank[b.key == "sd"]
	})
	return list
}

// print shows the coefficients with their standard errors, as many components as the page is wide.
func (c curves) print(p *page) {
	list := c.coefficients()
	rows := list[:min(len(list), mostRows)]
	shown, g := p.widest(min(len(c.list), mostRows), func(n int) *grid {
		heads := []string{"component"}
		for k := range n {
			heads = append(heads, strconv.Itoa(k+1))
		}
		g := newGrid(heads...)
		cells := func(name string, of func(k component) string) {
			row := []string{name}
			for _, one := range c.list[:n] {
				row = append(row, of(one))
			}
			g.row(row...)
		}
		cells("weight", func(k component) string { return readable(float64(k.Weight)) })
		cells("rows", func(k component) string { return fmt.Sprintf("%.10g", float64(k.Assigned)) })
		for _, one := range rows {
			cells(short(one.name), func(k component) string { return one.in(k) })
		}
		return g
	})
	p.line("")
	p.prose(0, "%s", ascii(c.headline(c.heaviest())))
	p.line("")
	p.grid(g)
	if c.drawn {
		p.prose(0, "Numbers after ± are standard errors by bootstrap (--format json has intervals).")
	} else {
		p.prose(0,
			"Numbers after ± are standard errors that assume known components of the rows (those of --bootstrap do not).")
	}
	if left := len(c.list) - shown; left > 0 {
		p.prose(0, "%s left out (--format json has all).", are(left, "component"))
	}
	if left := len(list) - len(rows); left > 0 {
		p.prose(0, "%s left out (--format json has all).", are(left, "coefficient"))
	}
}

// in is the number in a component, with its standard error.
func (one coefficient) in(k component) string {
	s := k.Columns[one.column]
	e := s.Errors[one.key]
	if s.Drawn != nil {
		e = s.Drawn[one.key]
	}
	if e != e {
		return readable(float64(s.Values[one.key]))
	}
	return fmt.Sprintf("%.4g ± %.2g", float64(s.Values[one.key]), float64(e))
}

// gatedRegressionFile is what JSON and a model file have of the parameters.
type gatedRegressionFile struct {
	gatedEstimates
	Regression *design.Regression `json:"regression"`
}

// regressions are the result of regressions behind a gate; table is the regressions' design.
func (g *gatedClasses) regressions(design *design.Regression, table *framework.Table) *result {
	c := curves{g.components, design, table}
	r := g.result()
	whole := r.facts[len(r.facts)-1] // of the gate
	r.params, r.facts = gatedRegressionFile{gatedEstimates{g.params, g.errors}, design}, append(c.facts(), whole)
	r.print = func(p *page) {
		c.print(p)
		g.printGate(p)
	}
	r.finding = c.finding
	r.sections = func(in *input) ([]report.Section, error) {
		first, err := c.sections(in)
		if err != nil {
			return nil, err
		}
		gate, err := g.gateSections(in)
		return append(first, gate...), err
	}
	return r
}
