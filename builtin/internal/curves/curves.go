package regression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// curves are the result of a mixture of regressions, the component of the largest weight first.
type curves struct {
	*classes.Components
	design *design.Regression
	table  *blocks.Table // of the design
}

// Params have the terms, too.
func (c *curves) Params() any {
	return regressionFile{classes.Estimates{Parameters: c.Mixture, Errors: c.Errors}, c.design}
}

// Describe returns the contents of the page.
func (c *curves) Describe() (*fitted.Description, error) {
	return classes.DescribedBy(c.finding, c.sections)
}

// responsibilities are the probabilities of the components for the rows of the fitted table.
func (c *curves) responsibilities(rows []int) ([]float64, error) {
	return c.Model.Responsibilities(classes.Some(c.table.All(), rows), c.Mixture, nil)
}

// Facts explain the terms whose names do not.
func (c *curves) Facts() [][2]string {
	var list [][2]string
	if c.design.Size != "" {
		list = append(list, [2]string{"counts over", report.Printable(c.design.Size)})
	}
	if len(c.design.Fixed) > 0 {
		var names []string
		for _, place := range c.design.Fixed {
			names = append(names, report.Printable(c.design.Coefficients()[place]))
		}
		list = append(list, [2]string{"in common", wording.Listed(names, 8)})
	}
	if against := c.references(); len(against) > 0 {
		list = append(list, [2]string{"levels are", "against " + wording.Listed(against, 8)})
	}
	return list
}

// references are the reference levels of indicators.
func (c *curves) references() (list []string) {
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
func (c *curves) coefficients() (list []coefficient) {
	for j, s := range c.List[0].Columns {
		for _, key := range s.Keys {
			name := key
			if j > 0 {
				name = c.Columns[j].Name
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

// Print shows the coefficients with their standard errors, as many components as the page is wide.
func (c *curves) Print(p report.Page) {
	list := c.coefficients()
	rows := list[:min(len(list), wording.MostRows)]
	shown, g := p.Widest(min(len(c.List), wording.MostRows), func(n int) *report.Grid {
		heads := []string{"component"}
		for k := range n {
			heads = append(heads, c.Called(k))
		}
		g := report.NewGrid(heads...)
		cells := func(name string, of func(k classes.Component) string) {
			row := []string{name}
			for _, one := range c.List[:n] {
				row = append(row, of(one))
			}
			g.Row(row...)
		}
		cells("weight", func(k classes.Component) string { return wording.Readable(float64(k.Weight)) })
		cells("rows", func(k classes.Component) string { return fmt.Sprintf("%.10g", float64(k.Assigned)) })
		for _, one := range rows {
			cells(p.Short(one.name), func(k classes.Component) string { return one.in(k) })
		}
		return g
	})
	p.Line("")
	p.Prose(0, "%s", wording.ASCII(c.Headline(c.Heaviest())))
	p.Line("")
	p.Grid(g)
	if c.Drawn {
		p.Prose(0, "Numbers after ± are standard errors by bootstrap (--format json has intervals).")
	} else {
		p.Prose(0,
			"Numbers after ± are standard errors that assume known components of the rows (those of --bootstrap do not).")
	}
	if left := len(c.List) - shown; left > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(left, "component"))
	}
	if left := len(list) - len(rows); left > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(left, "coefficient"))
	}
}

// in returns the number of a component, with its standard error.
func (one coefficient) in(k classes.Component) string {
	s := k.Columns[one.column]
	e := s.Errors[one.key]
	if s.Drawn != nil {
		e = s.Drawn[one.key]
	}
	if e != e {
		return wording.Readable(float64(s.Values[one.key]))
	}
	return fmt.Sprintf("%.4g ± %.2g", float64(s.Values[one.key]), float64(e))
}

// gatedRegressionFile holds the parameters of JSON and of a model file.
type gatedRegressionFile struct {
	classes.GatedEstimates
	Regression *design.Regression `json:"regression"`
}

// gatedCurves are the result of regressions with a gate.
type gatedCurves struct {
	*classes.Gated
	curves *curves
}

// Params have the terms, too.
func (g gatedCurves) Params() any {
	return gatedRegressionFile{g.Gated.Params().(classes.GatedEstimates), g.curves.design}
}

// Facts are those of the terms, and of the gate.
func (g gatedCurves) Facts() [][2]string { return append(g.curves.Facts(), g.GateFact()) }

// Print shows the coefficients, and those of the gate.
func (g gatedCurves) Print(p report.Page) {
	g.curves.Print(p)
	g.PrintGate(p)
}

// Describe shows the gate after the curves.
func (g gatedCurves) Describe() (*fitted.Description, error) {
	return classes.DescribedBy(g.curves.finding, func() ([]report.Section, error) {
		first, err := g.curves.sections()
		if err != nil {
			return nil, err
		}
		gate, err := g.GateSections()
		return append(first, gate...), err
	})
}
