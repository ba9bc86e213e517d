package columns

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// fewestKnown is how many rows it takes to know codes and counts from measurements.
const fewestKnown = 8

// takeKinds chooses --family auto if nobody named a family and a column holds texts, codes, counts or two values, or if
// covariances are named and a column holds texts.
// Numbers that are written in another way are an error, and so is a single column of texts, which may be a table with
// another separator.
func (in Columns) takeKinds(s *tables.Session) error {
	texts := tables.Without(in.TextColumns(), tables.SetOf(in.asked.Aside()))
	covariances := in.asked.Covariance != "" || len(*in.asked.Structures) > 0
	usual := in.asked.AnyFamily && *in.asked.Family == families.Gaussian
	if !usual && (!covariances || *in.asked.Family == families.Auto) || !in.byKinds() {
		return nil
	}
	if len(texts) > 0 && in.Cols() == 1 {
		if familyOf[in.Suggest(texts[0], in.Weights).Kind] == "" { // which the error says
			*in.asked.Family = families.Auto
		}
		return nil
	}
	if len(texts) == 0 {
		if !usual {
			return nil
		}
		if others := in.unmeasured(in.asked.Aside()); len(others) > 0 && in.Rows() >= fewestKnown {
			*in.asked.Family = families.Auto
			s.Note("%s: each column by its kind (--family auto), as these are not measurements: %s: "+
				"--family gaussian treats all as measurements", in.Name, detailed(others))
		}
		return nil
	}
	for _, name := range texts {
		if _, err := in.Column(name); isMisspelt(err) {
			return err
		}
	}
	*in.asked.Family = families.Auto
	s.Note("%s: each column by its kind (--family auto), as texts are in %s: %s leaves them out", in.Name,
		wording.Abridged(texts, ", ", wording.QuotedCell), tables.Dropping(texts))
	return nil
}

// Prepare makes the table that the model is fitted to: it decides families and levels of columns where nobody has, and
// refuses columns that a model cannot be fitted to.
func (in Columns) Prepare(s *tables.Session) (*fitted.Table, error) {
	of := in.asked.Kind
	var named []data.Column
	for _, name := range in.Names {
		named = append(named, data.Column{Name: name})
	}
	t := &fitted.Table{Columns: named, Pairs: in.Pairs, Data: &in.Named}
	describer, describes := in.asked.Flags().(fitted.ColumnDescriber)
	if _, explains := in.asked.Flags().(fitted.Explainer); explains && in.asked.Explained() == nil {
		describes = false
	}
	var err error
	switch {
	case of.Pairs:
	case describes:
		if err = cmp.Or(in.checkGate(in.asked.Gate()), in.checkDescribed(in.asked.Described())); err != nil {
			return nil, err
		}
		if t.Columns, err = describer.DescribeColumns(t.Data, in.asked.Fit()); err == nil {
			err = in.Recode(t.Columns, wording.UpTo(0, len(t.Columns)-1), false)
		}
		if err == nil {
			t.Rows, err = in.ReadRows(s, true, true)
		}
	case of.Classes:
		t, err = in.rows(s)
	default:
		if err = in.checkCovariates(in.asked.Given()); err != nil {
			return nil, err
		}
		t.Rows, err = in.ReadRows(s, false, !of.Gaps)
	}
	if err == nil && of.Sequences {
		t.Sequences, err = in.AsSequences(t.Rows)
	}
	if err == nil && !of.Classes { // which have chosen before
		err = in.asked.Choose(t)
	}
	return t, err
}

// rows finds out what the columns are and makes numbers of them: those that classes describe, and then those of a gate,
// codes of levels.
func (in Columns) rows(s *tables.Session) (*fitted.Table, error) {
	if err := in.checkGate(in.asked.Gate()); err != nil {
		return nil, err
	}
	if err := in.takeKinds(s); err != nil {
		return nil, err
	}
	all, err := described(s, in, *in.asked.Family, in.described())
	if err != nil {
		return nil, err
	}
	if all, err = in.measuredTogether(all); err != nil {
		return nil, err
	}
	d := len(all) - len(in.asked.Gate())
	for j := range in.asked.Gate() {
		all[d+j].Family = families.Gate
	}
	columns := all[:d]
	if err := in.asked.Choose(&fitted.Table{Columns: columns, Data: &in.Named}); err != nil {
		return nil, err
	}
	if ordinal := slices.IndexFunc(columns,
		func(c data.Column) bool { return c.Family == families.Ordinal }); ordinal >= 0 &&
		in.asked.Fit().Method.Prior != nil {
		return nil, fmt.Errorf("column %.60q is ordinal, which has no conjugate prior: take the column as categorical, or "+
			"another method than %s", columns[ordinal].Name, in.asked.Fit().Method.Name)
	}
	if *in.asked.Family == families.Multinomial && families.Described(columns) < 2 {
		return nil, errors.New("1 column: multinomial needs counts of at least two categories")
	}
	if err := in.Recode(all, wording.UpTo(0, len(all)-1), false); err != nil {
		return nil, err
	}
	table, err := in.ReadRows(s, true, families.NeedsComplete(*in.asked.Family))
	if err != nil {
		return nil, err
	}
	if *in.asked.Family == families.Multinomial && allZero(table, d) {
		return nil, errors.New("every count is 0: there is nothing to fit")
	}
	err = in.refuseConstant(columns[:families.Described(columns)], in.asked.LeastVariance(in.asked.Fit()) > 0)
	if err != nil {
		return nil, err
	}
	// said before D² numbers are made
	name := strings.TrimSuffix(*in.asked.Family, families.NoiseSuffix)
	matrix := families.WholeMatrix(name) || name == families.StudentT
	if n := in.Rows(); matrix && n <= d && len(*in.asked.Structures) == 0 {
		return nil, fmt.Errorf("%s and %s: a covariance matrix needs more rows than columns: --family "+
			"gaussian-diagonal or gaussian-spherical, or --model bpca --method vb", wording.Counted(n, "row"), wording.Counted(d,
			"column"))
	}
	return &fitted.Table{Columns: all, Rows: table, Data: &in.Named}, nil
}

// allZero reports whether the first d columns are 0.
func allZero(t *blocks.Table, d int) bool {
	for b := range t.Lent() {
		for i := range b.N {
			if floats.Norm(b.Row(i)[:d], 1) != 0 {
				return false
			}
		}
	}
	return true
}

// refuseConstant refuses columns of one value, all at once, where a family has to measure how
// the values of each column vary: not normal ones with a floor, unless all are constant.
func (in Columns) refuseConstant(columns []data.Column, floor bool) error {
	var constant []string
	bounded := 0 // of the constant ones
	for j, c := range columns {
		if families.Named(c.Family).Varies && in.Constant(j, in.Weights) {
			constant = append(constant, c.Name)
			if floor && families.Named(c.Family).Normal {
				bounded++
			}
		}
	}
	if bounded == len(constant) && bounded < len(columns) {
		return nil
	}
	if in.Rows() == 1 {
		return errOneRow
	}
	return tables.Refusal(constant, len(columns), "every column is constant", "is constant", "are constant")
}

var errOneRow = errors.New("1 row: a fit needs several " +
	"(--header no reads the first line of a file as a row)")
