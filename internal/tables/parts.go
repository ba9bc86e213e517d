package tables

import (
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/wording"
)

// Divisible reports whether rows of a source can be read without the others: it is Parquet or Arrow files.
func (s *Session) Divisible(source string) bool {
	if _, embedded := data.Lookup(source); embedded || source == "-" {
		return false
	}
	if src, err := s.Source(source); err != nil || src != nil {
		return false // which reading says
	}
	paths, err := FilesOf(source)
	if err != nil {
		return false
	}
	n, err := inFormat(paths, columnar.Is)
	return err == nil && n == len(paths)
}

// Reading is how the columns of a fitted table are read in a later one: as texts where they have levels. Columns with
// made-up names have those of their places.
func Reading(columns []data.Column) func(name string) data.Reading {
	named, placed := map[string]bool{}, map[string]bool{} // whether a column has levels
	for j, c := range columns {
		named[c.Name], placed["V"+strconv.Itoa(j+1)] = len(c.Levels) > 0, len(c.Levels) > 0
	}
	return func(name string) data.Reading {
		hasLevels, ok := named[name]
		if hasLevels || !ok && placed[name] {
			return data.ReadAsText
		}
		return data.ReadByForm
	}
}

// Parts opens the rows of a source that is divisible for the columns of a fit to it: they are the numbers of these
// columns, codes of their levels, with the Weights, Out and Sequences of such options. The input has the columns and
// none of the rows.
func (f *Options) Parts(s *Session, source string, columns []data.Column, of columnar.Options) (*Input,
	*columnar.Rows, error) {
	paths, err := FilesOf(source)
	if err != nil {
		return nil, nil, err
	}
	in, names := &Input{Name: source}, NamesOf(columns)
	all := names
	if of.Weights != "" {
		all = append(slices.Clone(names), of.Weights)
	}
	f.Require(all)
	f.Dates = Dates{} // of which the fit's forms are known
	o := f.columnarOptions(in, data.CSVOptions{NA: slices.Concat(f.NA, f.fitted), Reading: Reading(columns),
		Store: s.Store})
	o.Weights, o.Out, o.Sequences = of.Weights, of.Out, of.Sequences
	rows, err := columnar.OpenRecoded(paths, o, func(t *data.Table) ([]float64, error) {
		some := &Input{Named: data.Named{Table: t}, Name: source, marks: f.fitted}
		err := f.takeDates(s.Quietly(), some)
		if err == nil {
			some.Table, err = some.Table.Select(all...)
		}
		if err == nil {
			err = some.Recode(columns, wording.UpTo(0, len(columns)-1), false)
		}
		if err != nil {
			return nil, err
		}
		x, _, _, err := some.Values()
		return x, err
	})
	if err != nil {
		return nil, nil, err
	}
	b, err := data.NewBuilder(names, make([]bool, len(names)), 1, nil)
	if err == nil {
		in.Table, in.Ends, in.origin = b.Table(0), of.Sequences, rows.Origin
	}
	return in, rows, err
}
