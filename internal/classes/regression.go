package classes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
)

// RegressionSettings say which column classes explain by which.
type RegressionSettings struct {
	Response    string   `json:"response,omitempty" placeholder:"COL" help:"The column to explain by the others, by one regression in each component or state. With --model regression --family binomial: 0 and 1, a text of two levels, or with --trials a number of successes."`
	Regress     []string `json:"regress,omitempty" placeholder:"COL" help:"Explain it by these columns. Default: all others. Texts become indicators of all levels except the first."`
	Exposure    string   `json:"exposure,omitempty" family:"poisson" placeholder:"COL" help:"The column with the exposures of --family poisson, such as the time that events are counted over. Default: 1 each."`
	Power       Powers   `json:"power,omitzero" placeholder:"COL=DEGREE,…" help:"Polynomials: x=2 adds the square of column x to the regressors."`
	Fixed       []string `json:"fixed,omitempty" placeholder:"NAME" help:"Coefficients that all components or states share, by the names that the text has: intercept, or a regressor. Default: none."`
	NoIntercept bool     `json:"no_intercept,omitempty" name:"no-intercept" help:"Lines through the origin."`
}

// Powers hold the degree of a polynomial for each of some columns.
type Powers struct {
	Names  []string // as they were given
	Degree map[string]int
	Text   string
}

// MarshalText returns the text that UnmarshalText has read.
func (p Powers) MarshalText() ([]byte, error) { return []byte(p.Text), nil }

// UnmarshalText reads COL=DEGREE,….
func (p *Powers) UnmarshalText(text []byte) (err error) {
	*p = Powers{Text: string(text)}
	p.Names, p.Degree, err = byColumn(p.Text, "DEGREE", func(value string) (int, error) {
		degree, err := strconv.Atoi(value)
		if err != nil || degree < 1 || degree > design.MostDegree {
			return 0, fmt.Errorf("the degree of a polynomial must be from 1 to %d", design.MostDegree)
		}
		return degree, nil
	})
	return err
}

// Explained names the response and the regressors.
func (m *RegressionSettings) Explained() fitted.Explained {
	return fitted.Explained{Response: m.Response, Over: m.Exposure, By: m.Regress, Powers: m.Power.Names}
}

// About is the first setting about a response that is given; empty if none is.
func (m *RegressionSettings) About() string {
	switch {
	case m.Regress != nil:
		return "Regress"
	case m.Exposure != "":
		return "Exposure"
	case m.Power.Names != nil:
		return "Power"
	case m.Fixed != nil:
		return "Fixed"
	case m.NoIntercept:
		return "NoIntercept"
	}
	return ""
}

// CheckRegression returns a *[fitted.SettingError] for families that a response cannot have, or its regressors.
func (m *RegressionSettings) CheckRegression(r fitted.Request, c *ColumnSettings) error {
	wrong := func(setting, reason string, args ...any) error {
		return &fitted.SettingError{Setting: setting, Reason: fmt.Sprintf(reason, args...)}
	}
	for _, name := range c.Columns.Names {
		if c.Columns.Family[name] != families.Categorical {
			return wrong("Columns", "%s=%s cannot be used with --response: regressors are numbers, or categorical",
				wording.Item(name), c.Columns.Family[name])
		}
	}
	switch {
	case c.Floor != nil && r.Family != families.Gaussian:
		return wrong("Floor", "requires --family gaussian, and the family is %s", r.Family)
	case c.Columns.Family[m.Response] != "":
		return wrong("Columns", "cannot name the response, %q: --family is its distribution", m.Response)
	}
	return nil
}

// numeric is the family of columns of numbers that explain.
const numeric = "regressor"

// A Role says which columns of a regression are no regressors.
type Role struct {
	Columns ColumnFamilies // that have a family of their own
	Trials  string         // what a response counts over, if it is not Exposure
	Known   string         // classes that are known
	Gate    []string       // columns that probabilities depend on
}

// ColumnsOf returns the columns that a model reads: the response, its exposure or trials, the regressors, which may be
// categorical, and the columns of the gate.
func (m *RegressionSettings) ColumnsOf(t *data.Named, r fitted.Request, of Role) ([]data.Column, error) {
	columns := make([]data.Column, len(t.Names))
	for j, name := range t.Names {
		c := data.Column{Name: name}
		text := t.Levels(name) != nil
		switch {
		case name == of.Known:
			c.Family = families.Known
			var err error
			if c.Levels, err = t.Occurring(name); err != nil {
				return nil, err
			}
		case slices.Contains(of.Gate, name) && !slices.Contains(m.Regress, name):
			c.Family = families.Gate
			if text || of.Columns.Family[name] == families.Categorical {
				var err error
				if c.Levels, err = t.Occurring(name); err != nil {
					return nil, err
				}
			}
		case j == 0:
			c.Family = r.Family
			if text && r.Family == design.Binomial && of.Trials == "" {
				levels, err := t.Occurring(name)
				if err != nil {
					return nil, err
				}
				if len(levels) != 2 {
					return nil, fmt.Errorf("column %.60q, the response, has %s (%s); must have two", name,
						wording.Counted(len(levels), "level"), wording.Quoted(levels))
				}
				c.Levels = levels
			}
		case j == 1 && cmp.Or(of.Trials, m.Exposure) != "":
			c.Family = map[bool]string{true: "trials", false: "exposure"}[of.Trials != ""]
		case text || of.Columns.Family[name] == families.Categorical:
			var err error
			if c.Family = families.Categorical; m.Power.Degree[name] > 0 {
				return nil, fmt.Errorf("--power: column %.60q is categorical", name)
			}
			if c.Levels, err = t.Occurring(name); err != nil {
				return nil, err
			}
			if len(c.Levels) < 2 {
				return nil, fmt.Errorf("column %.60q has 1 level (%.60q); must have at least two: --drop %s", name, c.Levels[0],
					wording.Item(name))
			}
		default:
			c.Family = numeric
		}
		columns[j] = c
	}
	_, err := m.Design(columns, r, of)
	return columns, err
}

// Design finds the terms of columns.
func (m *RegressionSettings) Design(columns []data.Column, r fitted.Request, of Role) (*design.Regression, error) {
	g := &design.Regression{Distribution: r.Family, Response: m.Response, Size: cmp.Or(of.Trials, m.Exposure),
		Intercept: !m.NoIntercept}
	g.Know(columns)
	for j, c := range columns[g.First():] {
		j += g.First()
		for l := 1; l < len(c.Levels) && c.Family == families.Categorical; l++ {
			g.Terms = append(g.Terms, design.Term{Name: c.Name + " = " + c.Levels[l], Column: j, Level: l, Against: c.Levels[0]})
		}
		for power := 1; power <= max(1, m.Power.Degree[c.Name]) && c.Family == numeric; power++ {
			t := design.Term{Name: c.Name, Column: j, Power: power}
			if power > 1 {
				t.Name = fmt.Sprintf("%s^%d", c.Name, power)
			}
			g.Terms = append(g.Terms, t)
		}
	}
	switch {
	case len(g.Terms) == 0 && len(of.Gate) > 0:
		return nil, errors.New("there is no column beside the response and the gate to explain it by: --regress " +
			"names some, which may be the gate's too")
	case len(g.Terms) == 0:
		return nil, errors.New("there is no column beside the response to explain it by: take --model mixture")
	}
	return g, fix(g, m.Fixed)
}

// fix finds the coefficients of --fixed.
func fix(g *design.Regression, names []string) error {
	all := g.Coefficients()
	for _, name := range names {
		place := slices.Index(all, name)
		switch {
		case place < 0:
			return fmt.Errorf("--fixed: no coefficient %.60q; there are %s", name, wording.Quoted(all))
		case slices.Contains(g.Fixed, place):
			return fmt.Errorf("--fixed names %q twice", name)
		}
		g.Fixed = append(g.Fixed, place)
	}
	if len(g.Fixed) == len(all) {
		return errors.New("--fixed names every coefficient: leave at least one to the components")
	}
	return nil
}
