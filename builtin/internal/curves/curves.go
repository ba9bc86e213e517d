// Package curves describes classes that explain a column by others: their coefficients in text and on the page, and the
// curves of a single regressor.
package curves

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

// Curves are classes with a regression each, the largest first.
type Curves struct {
	*classes.Components
	Design   *design.Regression
	Expanded *blocks.Table // of the design
}

// Describe returns the contents of the page.
func (c *Curves) Describe() (*fitted.Description, error) {
	return classes.DescribedBy(c.Finding, c.Sections)
}

// Facts explain the terms whose names do not.
func (c *Curves) Facts() [][2]string {
	var list [][2]string
	if c.Design.Size != "" {
		list = append(list, [2]string{"counts over", report.Printable(c.Design.Size)})
	}
	if len(c.Design.Fixed) > 0 {
		var names []string
		for _, place := range c.Design.Fixed {
			names = append(names, report.Printable(c.Design.Coefficients()[place]))
		}
		list = append(list, [2]string{"in common", wording.Listed(names, 8)})
	}
	if against := c.references(); len(against) > 0 {
		list = append(list, [2]string{"levels are", "against " + wording.Listed(against, 8)})
	}
	return list
}

// references are the reference levels of indicators.
func (c *Curves) references() (list []string) {
	for _, t := range c.Design.Terms {
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
func (c *Curves) coefficients() (list []coefficient) {
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
func (c *Curves) Print(p report.Page) {
	list := c.coefficients()
	rows := list[:min(len(list), wording.MostRows)]
	shown, g := p.Widest(min(len(c.List), wording.MostRows), func(n int) *report.Grid {
		heads := []string{c.Noun}
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
			"Numbers after ± are standard errors that assume known %ss of the rows (those of --bootstrap do not).", c.Noun)
	}
	if left := len(c.List) - shown; left > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(left, c.Noun))
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
