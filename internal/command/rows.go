package command

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// fewestKnown is how many rows it takes to know codes and counts from measurements.
const fewestKnown = 8

// takeKinds chooses --family auto if nobody named a family and a column holds texts, codes, counts or two values.
// Numbers that are written in another way are an error, and so is a single column of texts, which may be a table with
// another separator.
func (f *modelFlags) takeKinds(s *tables.Session, in columns) error {
	texts := without(in.TextColumns(), setOf(f.Gate()))
	if !f.anyFamily || f.Family != families.Gaussian || !f.byKinds() {
		return nil
	}
	if len(texts) > 0 && in.Cols() == 1 {
		if familyOf[in.Suggest(texts[0], in.Weights).Kind] == "" { // which the error says
			f.Family = families.Auto
		}
		return nil
	}
	if len(texts) == 0 {
		if others := in.unmeasured(f.Gate()); len(others) > 0 && in.Rows() >= fewestKnown {
			f.Family = families.Auto
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
	f.Family = families.Auto
	s.Note("%s: each column by its kind (--family auto), as texts are in %s: %s leaves them out", in.Name,
		wording.Abridged(texts, ", ", quotedCell), dropping(texts))
	return nil
}

// rows finds out what the columns are and makes numbers of them: those that classes describe, and then those of a gate,
// codes of levels.
func (in columns) rows(s *tables.Session, f *modelFlags) (*fitted.Table, error) {
	if err := in.checkGate(f.Gate()); err != nil {
		return nil, err
	}
	if err := f.takeKinds(s, in); err != nil {
		return nil, err
	}
	all, err := described(s, in, f.Family, f.described())
	if err != nil {
		return nil, err
	}
	if all, err = f.measuredTogether(in, all); err != nil {
		return nil, err
	}
	d := len(all) - len(f.Gate())
	for j := range f.Gate() {
		all[d+j].Family = families.Gate
	}
	columns := all[:d]
	if err := f.chooseMethod(s, in, &fitted.Table{Columns: columns, Data: &in.Named}); err != nil {
		return nil, err
	}
	if ordinal := slices.IndexFunc(columns,
		func(c data.Column) bool { return c.Family == families.Ordinal }); ordinal >= 0 && f.model().informed(f.Method) {
		return nil, fmt.Errorf("column %.60q is ordinal, which has no conjugate prior: take the column as categorical, or "+
			"another method than %s", columns[ordinal].Name, f.Method)
	}
	if f.Family == families.Multinomial && len(columns) < 2 {
		return nil, errors.New("1 column: multinomial needs counts of at least two categories")
	}
	if err := in.Recode(all, upTo(0, len(all)-1), false); err != nil {
		return nil, err
	}
	x, n, _, err := in.ReadNumbers(s, true, families.NeedsComplete(f.Family))
	if err != nil {
		return nil, err
	}
	whole := framework.Rows{N: n, D: len(all), Stride: len(all), X: x}
	if d < len(all) {
		x = make([]float64, 0, n*d)
		for i := range n {
			x = append(x, whole.Row(i)[:d]...)
		}
	}
	if f.Family == families.Multinomial && floats.Norm(x, 1) == 0 {
		return nil, errors.New("every count is 0: there is nothing to fit")
	}
	if err := in.refuseConstant(columns, f.LeastVariance(f.request()) > 0); err != nil {
		return nil, err
	}
	if families.WholeMatrix(f.Family) && n <= d && len(f.compared) == 0 { // said before D² numbers are made
		return nil, fmt.Errorf("%s and %s: a covariance matrix needs more rows than columns: --family "+
			"gaussian-diagonal or gaussian-spherical, or --model bpca --method vb", counted(n, "row"), counted(d, "column"))
	}
	table, err := in.Weighted(whole.X, n, whole.D, nil)
	of := family.WithFloor(f.model().Families.OfRows(f.Family, columns), f.LeastVariance(f.request()))
	return &fitted.Table{Columns: all, Rows: table, Data: &in.Named, Family: overTable(of, x, d)}, err
}

// overTable gives noise the box of a table.
func overTable(f family.Family, x []float64, d int) family.Family {
	if n, ok := f.(normal.Noise); ok {
		n.Low, n.High = normal.Ranges(x, d)
		return n
	}
	return f
}

// refuseConstant refuses columns of one value, all at once, where a family has to measure how
// the values of each column vary: not normal ones with a floor, unless all are constant.
func (in columns) refuseConstant(columns []data.Column, floor bool) error {
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
