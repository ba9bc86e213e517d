package threestep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Of JSON.
type (
	fields struct {
		Classes    int               `json:"classes"`
		Assignment string            `json:"assignment"`
		Sizes      []fitted.Number   `json:"sizes"`
		Assigned   []fitted.Number   `json:"assigned"`
		Errors     [][]fitted.Number `json:"classification_errors"`
		Draws      int               `json:"draws"`
		Outcomes   []outcomeFields   `json:"outcomes,omitempty"`
		Covariates *covariateFields  `json:"covariates,omitempty"`
	}
	outcomeFields struct {
		Name      string         `json:"name"`
		Kind      string         `json:"kind"`
		Levels    []string       `json:"levels,omitempty"`
		Rows      int            `json:"rows"`
		Left      int            `json:"left_out"`
		Estimates []distalFields `json:"estimates"`
	}
	distalFields struct {
		Correction string        `json:"correction"`
		Classes    [][]value     `json:"classes"`
		Equal      testFields    `json:"equal"`
		Pairs      []testFields  `json:"pairs"`
		Moved      fitted.Number `json:"moved"`
	}
	value struct {
		Name  string        `json:"name"`
		Value fitted.Number `json:"value"`
		errorFields
	}
	errorFields struct {
		Error     fitted.Number `json:"standard_error"`
		ThirdStep fitted.Number `json:"third_step_standard_error"`
	}
	testFields struct {
		Between   []int         `json:"between,omitempty"`
		Covariate string        `json:"covariate,omitempty"`
		Statistic fitted.Number `json:"statistic"`
		Df        int           `json:"df"`
		P         fitted.Number `json:"p"`
	}
	covariateFields struct {
		Columns   []string      `json:"columns"`
		Reference int           `json:"reference"`
		Rows      int           `json:"rows"`
		Left      int           `json:"left_out"`
		Estimates []logitFields `json:"estimates"`
	}
	logitFields struct {
		Correction   string          `json:"correction"`
		Coefficients [][]coefficient `json:"coefficients"`
		Tests        []testFields    `json:"tests"`
	}
	coefficient struct {
		LogOdds fitted.Number `json:"log_odds"`
		errorFields
		Z        fitted.Number    `json:"z"`
		P        fitted.Number    `json:"p"`
		Ratio    fitted.Number    `json:"odds_ratio"`
		Interval [2]fitted.Number `json:"odds_ratio_interval"`
	}
)

func errorsOf(e *Estimates) (list []errorFields) {
	third := deviations(e.ThirdStep)
	for i, v := range e.Errors() {
		list = append(list, errorFields{fitted.Number(v), fitted.Number(third[i])})
	}
	return list
}

func testOf(t Test) testFields {
	return testFields{Statistic: fitted.Number(t.Statistic), Df: t.Df, P: fitted.Number(t.P)}
}

// normal95 is the end of the 95 % interval of a standard normal number.
const normal95 = 1.959963984540054

// Names are those of the numbers of a class.
func (c Column) Names() []string {
	if c.Kind == Categorical {
		return c.Levels
	}
	return []string{"mean", "sd"}[:map[Kind]int{Continuous: 2, Count: 1}[c.Kind]]
}

// Fields are the fields of JSON.
func (a *Analysis) Fields() any {
	c := a.Classification
	f := fields{Classes: c.K, Assignment: "modal", Sizes: fitted.Numbers(c.Sizes), Assigned: fitted.Numbers(c.Assigned),
		Draws: a.Draws}
	if a.How == Proportional {
		f.Assignment = "proportional"
	}
	for t := range c.K {
		f.Errors = append(f.Errors, fitted.Numbers(mat.Row(nil, t, c.Errors)))
	}
	for i, o := range a.Outcomes {
		own := outcomeFields{Name: o.Name, Kind: o.Kind.String(), Levels: o.Levels}
		for j, d := range a.Distal[i] {
			if d != nil {
				own.Rows, own.Left = d.Rows, d.Left
				own.Estimates = append(own.Estimates, d.fields(Corrections[j], o.Names()))
			}
		}
		f.Outcomes = append(f.Outcomes, own)
	}
	if len(a.Covariates) == 0 {
		return f
	}
	f.Covariates = &covariateFields{Columns: a.terms(), Reference: 1}
	for j, g := range a.Logit {
		if g != nil {
			f.Covariates.Rows, f.Covariates.Left = g.Rows, g.Left
			f.Covariates.Estimates = append(f.Covariates.Estimates, a.logitFields(Corrections[j], g))
		}
	}
	return f
}

// terms are the intercept and the columns.
func (a *Analysis) terms() []string { return append([]string{"(intercept)"}, a.columns()...) }

func (d *Distal) fields(how Correction, names []string) distalFields {
	f := distalFields{Correction: how.String(), Equal: testOf(d.Equal()), Pairs: []testFields{},
		Moved: fitted.Number(d.Moved)}
	if how != ML {
		f.Moved = fitted.Number(math.NaN())
	}
	errs := errorsOf(&d.Estimates)
	for i, v := range d.Values {
		if i%len(names) == 0 {
			f.Classes = append(f.Classes, nil)
		}
		at := &f.Classes[i/len(names)]
		*at = append(*at, value{names[i%len(names)], fitted.Number(v), errs[i]})
	}
	for k := range d.K {
		for l := k + 1; l < d.K; l++ {
			t := testOf(d.Same(k, l))
			t.Between = []int{k + 1, l + 1}
			f.Pairs = append(f.Pairs, t)
		}
	}
	return f
}

// tests are those of each covariate, that it says nothing of the classes.
func (a *Analysis) tests(g *Logit) (list []Test) {
	first := 0
	for _, c := range a.Covariates {
		list = append(list, g.Without(wording.UpTo(first, first+len(c.Columns)-1)...))
		first += len(c.Columns)
	}
	return list
}

func (a *Analysis) logitFields(how Correction, g *Logit) logitFields {
	f := logitFields{Correction: how.String()}
	errs := errorsOf(&g.Estimates)
	for i, v := range g.Values {
		if i%(1+g.Width) == 0 {
			f.Coefficients = append(f.Coefficients, nil)
		}
		at, e := &f.Coefficients[i/(1+g.Width)], float64(errs[i].Error)
		*at = append(*at, coefficient{fitted.Number(v), errs[i], fitted.Number(v / e), fitted.Number(TwoSided(v / e)),
			fitted.Number(math.Exp(v)), [2]fitted.Number{
				fitted.Number(math.Exp(v - normal95*e)), fitted.Number(math.Exp(v + normal95*e))}})
	}
	for i, t := range a.tests(g) {
		own := testOf(t)
		own.Covariate = a.Covariates[i].Name
		f.Tests = append(f.Tests, own)
	}
	return f
}

// ---- Text and page

// Page is the analysis as a page, with remarks about it.
func (a *Analysis) Page(title, lead string, remarks []string) *report.Document {
	finding := report.Section{Title: "What was found", Text: a.Finding(), Warnings: remarks, Wide: true}
	return &report.Document{Title: title, Lead: lead, Foot: "Made by latent after --report.",
		Sections: append([]report.Section{finding}, a.Sections()...)}
}

// Sections show the analysis: how rows are assigned, then what each outcome is in the classes, and the log odds of the
// covariates.
func (a *Analysis) Sections() []report.Section {
	list := []report.Section{a.assignments()}
	for i, o := range a.Outcomes {
		list = append(list, a.outcome(o, a.Distal[i]))
	}
	if len(a.Covariates) > 0 {
		list = append(list, a.logit())
	}
	return list
}

func (a *Analysis) assignments() report.Section {
	c := a.Classification
	table := report.Table{Caption: "shares of the " + a.Part + "s, and where their rows are assigned", Open: true}
	table.Columns = report.Columns(append([]string{a.Part, "share", "assigned"}, wording.Numbered("to ", c.K)...)...)
	for t := range c.K {
		cells := []any{t + 1, report.Share(c.Sizes[t]), report.Share(c.Assigned[t])}
		for s := range c.K {
			cells = append(cells, report.Share(c.Errors.At(t, s)))
		}
		table.Add(cells...)
	}
	text := fmt.Sprintf("Of the rows of %[1]s t, the part in column s is assigned to %[1]s s. The corrected estimates "+
		"allow for that.", a.Part)
	return report.Section{Title: "Assignments", Wide: true, Tables: []report.Table{table}, Text: text}
}

// titles are the corrections in heads.
var titles = map[Correction]string{BCH: "BCH", ML: "ML", Uncorrected: "uncorrected"}

func (a *Analysis) outcome(o Column, by []*Distal) report.Section {
	table := report.Table{Caption: "outcome " + o.Name, Open: true, Columns: report.Columns(a.Part)}
	tests := report.Table{Caption: "is " + o.Name + " equal in all " + a.Part + "s?", Open: true,
		Columns: report.Columns("correction", "chi-squared", "df", "p")}
	pairs := report.Table{Caption: "is " + o.Name + " equal in two " + a.Part + "s?", Long: true,
		Columns: report.Columns(a.Part+"s", "correction", "chi-squared", "df", "p")}
	names := o.Names()
	cell := func(v float64) any { return v }
	if o.Kind == Categorical {
		table.Columns, cell = report.Columns(a.Part, "level"), func(v float64) any { return report.Decimals(v) }
	}
	for k := range a.Classification.K {
		for j, name := range names {
			if o.Kind != Categorical && j > 0 {
				continue
			}
			cells := []any{k + 1}
			if o.Kind == Categorical {
				cells = append(cells, name)
			}
			for i, d := range by {
				if d == nil {
					continue
				}
				at, head := k*len(names)+j, titles[Corrections[i]]
				if cells = append(cells, cell(d.Values[at]), d.Errors()[at]); len(table.Rows) == 0 {
					table.Columns = append(table.Columns, report.Columns(head, "s.e.")...)
				}
				if o.Kind == Continuous {
					if cells = append(cells, d.Values[at+1]); len(table.Rows) == 0 {
						table.Columns = append(table.Columns, report.Columns("sd")...)
					}
				}
			}
			table.Add(cells...)
		}
	}
	for i, d := range by {
		if d == nil {
			continue
		}
		head, t := titles[Corrections[i]], d.Equal()
		tests.Add(head, t.Statistic, t.Df, t.P)
		for k := range d.K {
			for l := k + 1; l < d.K; l++ {
				t := d.Same(k, l)
				pairs.Add(fmt.Sprintf("%d and %d", k+1, l+1), head, t.Statistic, t.Df, t.P)
			}
		}
	}
	return report.Section{Title: "Outcome " + o.Name, Wide: true, Tables: []report.Table{table, tests, pairs}}
}

func (a *Analysis) logit() report.Section {
	table := report.Table{Caption: fmt.Sprintf("log odds against %s 1", a.Part), Open: true,
		Columns: report.Columns(a.Part, "column")}
	tests := report.Table{Caption: "do covariates say nothing?", Open: true,
		Columns: report.Columns("covariate", "correction", "chi-squared", "df", "p")}
	var values [][]any
	for _, how := range []Correction{ML, BCH, Uncorrected} { // the apt one first
		g := a.Logit[slices.Index(Corrections, how)]
		if g == nil {
			continue
		}
		head, ratios := titles[how], how != Uncorrected
		if table.Columns = append(table.Columns, report.Columns(head, "s.e.")...); ratios {
			table.Columns = append(table.Columns, report.Columns("p", "odds ratio")...)
		}
		errs := g.Errors()
		for at, v := range g.Values {
			if len(values) < len(g.Values) {
				values = append(values, []any{at/(1+g.Width) + 2, a.terms()[at%(1+g.Width)]})
			}
			if values[at] = append(values[at], v, errs[at]); ratios {
				values[at] = append(values[at], TwoSided(v/errs[at]), math.Exp(v))
			}
		}
		for at, t := range a.tests(g) {
			tests.Add(a.Covariates[at].Name, head, t.Statistic, t.Df, t.P)
		}
	}
	for _, row := range values {
		table.Add(row...)
	}
	return report.Section{Title: "Covariates", Wide: true, Tables: []report.Table{table, tests}}
}

// Finding says the tests in words, with the corrections that are apt: BCH of outcomes, and ML of covariates.
func (a *Analysis) Finding() (text string) {
	say := func(name, yes, no string, t Test) {
		verb := no
		switch {
		case t.P != t.P:
			verb = "has no test for whether it " + yes
		case t.P < 0.05:
			verb = yes
		}
		text += fmt.Sprintf("%s %s", name, verb)
		if t.P == t.P {
			p := "< 0.001"
			if t.P >= 0.001 {
				p = "= " + wording.Readable(t.P)
			}
			text += fmt.Sprintf(" (Wald test: chi-squared = %s, %d df, p %s)", wording.Readable(t.Statistic), t.Df, p)
		}
		text += ". "
	}
	for i, o := range a.Outcomes {
		if d := a.Distal[i][0]; d != nil {
			say(o.Name, "differs between the "+a.Part+"s", "does not differ clearly between the "+a.Part+"s", d.Equal())
		}
	}
	if len(a.Covariates) > 0 && a.Logit[1] != nil {
		for i, t := range a.tests(a.Logit[1]) {
			say(a.Covariates[i].Name, "goes with the "+a.Part, "does not go clearly with the "+a.Part, t)
		}
	}
	return strings.TrimSpace(text)
}
