// Package columns finds out what the columns of a table are, by their kinds and values, where nobody has said so: which
// family describes each, which are no data, and what is worth a remark. It makes of them the table that a model is
// fitted to.
package columns

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/roles"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// familyOf says what --family auto takes columns for. Kinds without a family are left out. Of positive numbers with
// a long tail, the likelihood chooses.
var familyOf = map[data.Kind]string{data.Continuous: families.Gaussian, data.Count: families.Poisson,
	data.Binary:      families.Bernoulli,
	data.Categorical: families.Categorical, data.Positive: families.Lognormal}

// A Request says what is known of columns before their values are.
type Request struct {
	roles.Roles
	Kind      fitted.Definition // of the model
	Family    *string           // which the kinds of the columns may decide
	AnyFamily bool              // nobody named one
	// Covariance is the family that measurements have together if the table has other columns, too; empty: none
	Covariance string
	Selected   bool   // somebody named the columns
	Weighting  string // the column of the weights of the rows
	// Structures are the covariances that are compared, which the columns may not bear: then there are none.
	Structures *[]fitted.Structure
	Choose     func(t *fitted.Table) error // the method, where the table decides: of classes, it has columns alone yet
	Fit        func() fitted.Request       // all that is asked of the fit
}

// Columns are those of a table that is fitted, by their kinds.
type Columns struct {
	*tables.Input
	asked *Request
}

// Of are the columns of a table that a request is about.
func Of(in *tables.Input, q *Request) Columns { return Columns{in, q} }

// auto asks the values of all columns that are not given a family what they are, notes what is left out or in
// doubt, and leaves columns without a family out of the table. What it found is in the order of the columns that
// are left.
func (in Columns) auto(s *tables.Session, given *classes.ColumnFamilies) ([]suspect, error) {
	list := make([]suspect, in.Cols())
	if err := parallel.Do(in.Cols(), 0, func(j int) error {
		name := in.Names[j]
		switch {
		case given.Family[name] != "":
		case in.Unit(name) != "":
			list[j] = suspect{name, data.Suggestion{Kind: data.Continuous, Cause: data.Dates}}
		default:
			list[j] = suspect{name, in.Suggest(name, in.Weights)}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	noted, err := in.takeGaps(s, list, given)
	if err != nil {
		return nil, err
	}
	keepOne(list)
	in.countAlike(list)
	notes := append(noted, notesOn(list, given)...)
	var out []string
	var why []suspect
	list = slices.DeleteFunc(list, func(c suspect) bool {
		useless := c.name != "" && familyOf[c.Kind] == ""
		if useless {
			out, why = append(out, c.name), append(why, c)
		}
		return useless
	})
	if len(list) == 0 && in.Rows() == 1 {
		return nil, errOneRow
	}
	if len(list) == 0 {
		advice := ""
		if in.Cols() == 1 {
			advice = " (" + separators + ")"
		}
		return nil, fmt.Errorf("no column is left to fit: %s%s", strings.Join(notes, "; "), advice)
	}
	for _, note := range notes {
		s.Note("%s: %s", in.Name, note)
	}
	if len(out) == 0 {
		return list, nil
	}
	in.noteSeries(s, why, len(list))
	in.Table, err = in.Table.Drop(out...)
	return list, err
}

// separators say what may be wrong with a table of one column of texts.
const separators = "fields are separated by commas, semicolons, tabs or bars, or by blanks, as many in each line"

// unmeasured lists the columns of numbers that are codes or have two values, apart from those in out, and counts if
// there are no measurements at all: beside measurements, a normal distribution that is correlated with theirs describes
// counts better than an independent one. A column with decimals is none of these, as its first values show.
func (in Columns) unmeasured(out []string) (list []suspect) {
	measured := false
	for j, name := range in.Names {
		if slices.Contains(out, name) || name == in.WeightColumn {
			continue
		}
		if in.Unit(name) != "" || !in.wholeOrTwo(j) {
			measured = true
			continue
		}
		if measured && len(in.different(j, mostCodes+1)) > mostCodes {
			continue // neither codes nor, beside measurements, counts that matter
		}
		switch found := in.Suggest(name, in.Weights); found.Kind {
		case data.Binary, data.Categorical, data.Count:
			list = append(list, suspect{name, found})
		case data.Continuous, data.Positive:
			measured = true
		}
	}
	if counts := func(c suspect) bool { return c.Kind == data.Count }; measured {
		list = slices.DeleteFunc(list, counts)
	}
	return list
}

// wholeOrTwo reports whether a column of numbers has whole ones alone, or no more than two different ones.
func (in Columns) wholeOrTwo(j int) bool {
	for row := range in.Rows() {
		if v := in.Number(row, j); v == v && v != math.Trunc(v) {
			return len(in.different(j, 3)) == 2
		}
	}
	return true
}

// keepOne takes columns in order for measurements, as rows may be sorted by one, where none other is left.
func keepOne(list []suspect) {
	if slices.ContainsFunc(list, func(c suspect) bool { return c.name == "" || familyOf[c.Kind] != "" }) {
		return
	}
	for i, c := range list {
		if c.Cause == data.InOrder {
			list[i].Suggestion = data.Suggestion{Kind: data.Continuous, Cause: data.Numbers}
		}
	}
}

// countAlike takes columns of few values from 0 on for counts if more than half of those that bear their name, apart
// from its number, vary as counts do.
func (in Columns) countAlike(list []suspect) {
	type tally struct {
		few    []int
		counts int
	}
	of := map[string]tally{}
	for i, c := range list {
		stem := strings.TrimRight(c.name, "0123456789")
		if stem == c.name || stem == "" {
			continue
		}
		t := of[stem]
		switch {
		case c.Kind == data.Count:
			t.counts++
		case c.Cause == data.FewValues:
			t.few = append(t.few, i)
		}
		of[stem] = t
	}
	for _, t := range of {
		if t.counts <= len(t.few) {
			continue
		}
		for _, i := range t.few {
			if x, err := in.Column(list[i].name); err == nil && slices.Contains(x, 0) && !slices.ContainsFunc(x, notCounted) {
				list[i].Suggestion = data.Suggestion{Kind: data.Count, Cause: data.VaryAsCounts}
			}
		}
	}
}

func notCounted(v float64) bool { return v < 0 || v != math.Trunc(v) && !math.IsNaN(v) }

// byKinds reports whether the model describes columns by their kinds.
func (in Columns) byKinds() bool {
	of := in.asked.Kind.Families
	return of != nil && slices.Contains(of.Names(false), families.Auto)
}

// LeaveEmpty leaves out columns without any value if nobody named the columns or a family.
func (in Columns) LeaveEmpty(s *tables.Session) error {
	if in.asked.Selected || !in.asked.AnyFamily && *in.asked.Family != families.Auto || !in.byKinds() {
		return nil
	}
	used := tables.SetOf(append(slices.Concat(in.asked.Aside(), in.asked.Described().Names), in.asked.Weighting))
	empty := slices.DeleteFunc(tables.Without(in.Names, used), func(name string) bool { return !in.Empty(name) })
	if len(empty) == 0 || len(empty) == in.Cols() {
		return nil
	}
	s.Note("%s: left out, without any value: %s", in.Name, wording.Abridged(empty, ", ", wording.QuotedCell))
	var err error
	in.Table, err = in.Table.Drop(empty...)
	return in.Wrap(err)
}

// LeaveIdentifiers leaves out columns of a table of numbers that identify rows or are dates, as --family auto does, if
// neither columns nor a family are given and other columns remain.
func (in Columns) LeaveIdentifiers(s *tables.Session) error {
	if in.asked.Selected || !in.asked.AnyFamily || in.asked.Explained() != nil || *in.asked.Family == families.Auto ||
		in.Cols() == 1 ||
		len(in.asked.Described().Names) > 0 {
		return nil
	}
	if len(tables.Without(in.TextColumns(), tables.SetOf(in.asked.Aside()))) > 0 && in.byKinds() {
		return nil // see takeKinds
	}
	var list []suspect
	given, _ := in.asked.Given()
	for _, name := range tables.Without(in.Names, tables.SetOf(slices.Concat(given, in.asked.Aside(), in.DateNames(),
		[]string{in.asked.Weighting}))) {
		if found, is := in.Identifies(name, nil); is {
			list = append(list, suspect{name, found})
		}
	}
	if len(list) == in.Cols() {
		return nil
	}
	var out []string
	for _, c := range list {
		out = append(out, c.name)
	}
	for _, note := range notesOn(list, nil) {
		s.Note("%s: %s", in.Name, note)
	}
	if len(out) == 0 {
		return nil
	}
	in.noteSeries(s, list, in.Cols()-len(out))
	var err error
	in.Table, err = in.Table.Drop(out...)
	return in.Wrap(err)
}

// takeGaps has columns of numbers with a few texts among them be numeric, the texts standing for missing values as
// those of --na do, and looks at such columns once more. A text that is a level of another column stays one, and so do
// all where missing values are not to be integrated out.
func (in Columns) takeGaps(s *tables.Session, list []suspect, given *classes.ColumnFamilies) (
	notes []string, err error) {
	var names []string
	taken := slices.DeleteFunc(slices.Clone(list), func(c suspect) bool {
		return !c.Gaps ||
			in.Missing != tables.MissingKeep
	})
	for before := -1; before != len(taken); {
		before = len(taken)
		names = nil
		for _, c := range taken {
			names = append(names, c.name)
		}
		others := tables.Without(in.Names, tables.SetOf(names))
		taken = slices.DeleteFunc(taken, func(c suspect) bool {
			return slices.ContainsFunc(others,
				func(name string) bool {
					return len(tables.Without(c.Texts, tables.SetOf(in.Levels(name)))) < len(c.Texts)
				})
		})
	}
	if len(taken) == 0 {
		return nil, nil
	}
	for _, c := range taken {
		in.Mark(c.Texts)
	}
	if err := cmp.Or(in.TakeNumbers(names), in.TakeCodes(s)); err != nil {
		return nil, err
	}
	for i, c := range list {
		if slices.Contains(names, c.name) {
			list[i] = suspect{c.name, in.Suggest(c.name, in.Weights)}
		}
	}
	note := "read as missing values, texts among numbers: " + detailed(taken)
	return []string{note + ": " + as(families.Categorical, taken, given) + " keeps all as texts"}, nil
}

// choose returns the family of a column by what was found, and the reason.
func (in Columns) choose(c suspect) (name, reason string) {
	i := slices.IndexFunc(diagnostics, func(d diagnostic) bool { return d.cause == c.Cause })
	reason = strings.TrimSpace(diagnostics[i].reason + " " + c.Detail)
	if name = familyOf[c.Kind]; c.Kind == data.Positive {
		if x, err := in.Column(c.name); err == nil && gammaIsLikelier(x) {
			name = families.Gamma
		}
	}
	return name, reason
}

// gammaIsLikelier compares the likelihoods of one gamma and one lognormal distribution of positive numbers, both of two
// parameters.
func gammaIsLikelier(x []float64) bool {
	var logs []float64
	sums := make([]float64, 2) // of x and of ln x
	for _, v := range x {
		if v == v {
			logs = append(logs, math.Log(v))
			sums[0] += v
		}
	}
	n := float64(len(logs))
	sums[1] = floats.Sum(logs)
	xi, eta := make([]float64, 2), make([]float64, 2)
	if (family.Gamma{}).Estimate(n, sums, xi) != nil {
		return false
	}
	partition := family.Gamma{}.Natural(xi, eta)
	_, variance := stat.PopMeanVariance(logs, nil)
	return floats.Dot(eta, sums)-n*partition > -n/2*(math.Log(2*math.Pi*variance)+1) // both but for −Σ ln x
}

// suggestAuto notes the columns that a Gaussian is to describe though they have two values.
func (in Columns) suggestAuto(s *tables.Session, given *classes.ColumnFamilies) {
	var list []string
	for j, name := range in.Names {
		if given.Family[name] == "" && in.Levels(name) == nil && len(in.different(j, 3)) == 2 {
			list = append(list, name)
		}
	}
	switch names := wording.Abridged(list, ", ", wording.QuotedCell); len(list) {
	case 0:
	case 1:
		s.Note("%s: %s has 2 values: --family auto would treat it as Bernoulli", in.Name, names)
	default:
		s.Note("%s: %d columns have 2 values (%s): --family auto would treat them as Bernoulli", in.Name, len(list), names)
	}
}

// different are the first so many different values of a column of numbers.
func (in Columns) different(j, most int) (seen []float64) {
	for row := 0; row < in.Rows() && len(seen) < most; row++ {
		if v := in.Number(row, j); v == v && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return seen
}

// hasTwoCodes says whether a column has two different numbers, but not 0 and 1.
func (in Columns) hasTwoCodes(j int) bool {
	seen := in.different(j, 3)
	return len(seen) == 2 && floats.Max(seen) <= math.MaxFloat64 &&
		slices.ContainsFunc(seen, func(v float64) bool { return v != 0 && v != 1 })
}
