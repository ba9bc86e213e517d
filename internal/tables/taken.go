package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
)

// IDs are columns that are passed through, as texts.
type IDs struct {
	Names []string
	Cells []func(row int) string // of every row of the table
}

// PassThrough keeps columns of the table, which stays as it is.
func (in *Input) PassThrough(names []string) (list IDs, err error) {
	list.Names = names
	for _, name := range names {
		cell := func(int) string { return "" }
		if !in.Empty(name) || !slices.Contains(in.Names, name) {
			t := in.Table
			if slices.Contains(in.dates.Names, name) {
				t = in.written
			}
			if _, err := t.Select(name); err != nil {
				return list, in.Wrap(fmt.Errorf("--id: %w", err))
			}
			if t.Codes(name) == nil {
				list.Cells = append(list.Cells, digitsOf(t, slices.Index(t.Names, name)))
				continue
			}
			levels, codes := t.Levels(name), t.Codes(name)
			cell = func(row int) string {
				if codes[row] < 0 {
					return ""
				}
				return levels[codes[row]]
			}
		}
		list.Cells = append(list.Cells, cell)
	}
	return list, nil
}

// digitsOf are the numbers of a column as texts, whole ones in all their digits.
func digitsOf(t *data.Table, column int) func(row int) string {
	return func(row int) string {
		switch v := t.Number(row, column); {
		case v != v:
			return ""
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
}

// Match keeps the model's columns, in the order in which the table has them, and returns
// where each column of the model is. Names decide when the table has all of the
// model's. Otherwise, where either side has made-up names, the places do; and where both
// have, there must be as many.
func (in *Input) Match(s *Session, names []string) (order []int, err error) {
	missing := Without(names, SetOf(in.Names))
	all := slices.Concat(in.Names, in.unread)
	made, differ := Generated(names), in.Cols() != len(names)
	switch {
	case len(missing) > 0 && !made && !in.Unnamed:
		return nil, fmt.Errorf("columns of the model are missing in the data: %s; the data have %s",
			wording.Quoted(missing), wording.Quoted(all))
	case len(missing) > 0 && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; by name, these are missing: %s (--select "+
			"or --drop leaves as many)", in.Cols(), len(names), wording.Quoted(missing))
	case made && in.Unnamed && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; neither has names to go by: choose "+
			"columns with --select or --drop", in.Cols(), len(names))
	case len(missing) > 0:
		s.Note("the columns of %s are matched by their places: %s are %s of the model", in.Name,
			wording.Quoted(in.Names), wording.Quoted(names))
		names = in.Names
	}
	asked := SetOf(names)
	extra := Without(all, asked)
	if len(extra) > 0 {
		s.Note("%s of %s left out, as not in the model (--id passes columns through): %s",
			wording.Counted(len(extra), "column"), in.Name, wording.Quoted(extra))
	}
	kept := Without(in.Names, SetOf(extra))
	at := make(map[string]int, len(kept))
	for j, name := range kept {
		at[name] = j
	}
	for _, name := range names {
		order = append(order, at[name])
	}
	in.asked = true
	in.Table, err = in.Table.Select(kept...)
	return order, err
}

// Lacks says whether the table has names, and none of those of the columns.
func (in *Input) Lacks(columns []data.Column) bool {
	return !in.Unnamed && len(Without(in.Names, SetOf(NamesOf(columns)))) == in.Cols()
}

// SetOf is the set of some names.
func SetOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Without are the names that are not in the set.
func Without(names []string, set map[string]bool) (rest []string) {
	for _, name := range names {
		if !set[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

// Generated says whether names are V1, V2, …, which package data gives to columns
// without one.
func Generated(names []string) bool {
	for j, name := range names {
		if name != "V"+strconv.Itoa(j+1) {
			return false
		}
	}
	return true
}

// TakeIDs takes the columns of --id out of the table, and keeps their texts.
func (in *Input) TakeIDs(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var err error
	if in.IDs, err = in.PassThrough(names); err != nil {
		return err
	}
	if slices.Contains(names, in.Label) {
		in.Label = ""
	}
	in.Table, err = in.Table.Drop(names...)
	return in.Wrap(err)
}

// NamesOf are the names of columns.
func NamesOf(columns []data.Column) []string {
	names := make([]string, len(columns))
	for j, c := range columns {
		names[j] = c.Name
	}
	return names
}

// Labels are the known classes of --label.
type Labels struct {
	Column string
	Levels []string
	Codes  []int32 // of every row that was read; negative: not known
}

// TakeLabels takes the column of --label out of the table.
func (in *Input) TakeLabels(column string) error {
	if column == "" {
		return nil
	}
	levels, err := in.Occurring(column)
	if err != nil {
		return in.Wrap(fmt.Errorf("--label: %w", err))
	}
	if len(levels) < 2 {
		return in.Wrap(fmt.Errorf("--label: column %.60q has a single value, %.60q: labels need at least "+
			"two values", column, levels[0]))
	}
	t, err := in.Factor(column, levels, false)
	if err != nil {
		return in.Wrap(err)
	}
	in.Known = &Labels{column, levels, t.Codes(column)}
	if in.Label == column {
		in.Label = ""
	}
	in.Table, err = t.Drop(column)
	return in.Wrap(err)
}

// TakeKnown makes the column of --known one of the classes that its values name.
func (in *Input) TakeKnown(s *Session, column string) error {
	if column == "" {
		return nil
	}
	if in.Empty(column) && slices.Contains(in.Names, column) {
		return in.Wrap(fmt.Errorf("--known: column %.60q has no value at all: it names the classes of no row", column))
	}
	levels, err := in.Occurring(column)
	if err == nil {
		_, _, err = families.Labels(levels)
	}
	if err != nil {
		return in.Wrap(fmt.Errorf("--known: %w", err))
	}
	if in.Table, err = in.Factor(column, levels, false); err != nil {
		return in.Wrap(err)
	}
	if in.ClassColumn = column; in.Label == column {
		in.Label = ""
	}
	counts := make([]int, len(levels))
	for _, code := range in.Codes(column) {
		if code >= 0 {
			counts[code]++
		}
	}
	in.noteAlone(s, levels, func(class string) int { return counts[slices.Index(levels, class)] })
	return nil
}

// noteAlone says which classes have a single row that is known to be in them.
func (in *Input) noteAlone(s *Session, classes []string, rows func(class string) int) {
	for _, class := range classes {
		if rows(class) == 1 {
			s.Note("%s: only 1 row is known to be in class %.60q, which says little of the class", in.Name, class)
		}
	}
}

// AsText reads some columns as texts, so that 01 and 1 differ, and the others as before.
func AsText(reading func(name string) data.Reading, columns ...string) func(name string) data.Reading {
	return func(name string) data.Reading {
		if slices.Contains(columns, name) {
			return data.ReadAsText
		}
		return reading(name)
	}
}

// TakeSequences takes the column of --sequence out of the table: rows with one value of it, one after the other, are a
// sequence.
func (in *Input) TakeSequences(column string) error {
	if column == "" {
		return nil
	}
	t, err := in.Factor(column, nil, false)
	if err != nil {
		return in.Wrap(fmt.Errorf("--sequence: %w", err))
	}
	levels, codes := t.Levels(column), t.Codes(column)
	ids := make([]string, len(codes))
	for row, code := range codes {
		if code < 0 {
			return in.Wrap(
				fmt.Errorf("--sequence: row %d has no value of column %.60q: every row belongs to a sequence", row+1, column),
			)
		}
		ids[row] = levels[code]
	}
	if in.Ends, err = blocks.EndsOf(ids); err != nil {
		return in.Wrap(fmt.Errorf("--sequence: %w", err))
	}
	for _, end := range in.Ends {
		in.SequenceNames = append(in.SequenceNames, ids[end-1])
	}
	if in.Label == column {
		in.Label = ""
	}
	in.Table, err = in.Table.Drop(column)
	return in.Wrap(err)
}

// AsSequences are the rows as sequences, each with the weight that its rows have.
func (in *Input) AsSequences(rows *blocks.Table) (*blocks.SequenceTable, error) {
	weights, err := in.SequenceWeights(rows.Rows())
	if err != nil {
		return nil, err
	}
	return classes.SequencesOf(rows, in.Ends, weights)
}

// SequenceWeights are those of the sequences of n rows; nil: all weigh 1.
func (in *Input) SequenceWeights(n int) (weights []float64, err error) {
	if in.Weights == nil {
		return nil, nil
	}
	first := 0
	for _, end := range in.EndsOf(n) {
		for row := first; row < end; row++ {
			if in.Weights[row] != in.Weights[first] {
				return nil, fmt.Errorf("the weights of rows %d and %d, column %q, differ: a weight belongs to a whole sequence",
					first+1, row+1, in.WeightColumn)
			}
		}
		weights = append(weights, in.Weights[first])
		first = end
	}
	return weights, nil
}

// noteNameless says what columns are called for which the header has no name, and leaves out those without a value too,
// as a separator at the ends of lines makes them. The first may name the rows, which its caller sees to.
func (f *Options) noteNameless(s *Session, in *Input) error {
	if in.Table == nil {
		return nil
	}
	named, _ := in.RowNames()
	var empty, called []string
	for _, name := range in.Nameless() {
		switch {
		case name == named:
		case in.Tally == nil && in.Empty(name) && in.Cols() > len(empty)+1:
			empty = append(empty, name)
		default:
			called = append(called, name)
		}
	}
	if len(called) > 0 {
		s.Note("%s: the header has no name for %s, named by %s", in.Name, wording.Quoted(called),
			wording.Plural(len(called), "its place", "their places"))
	}
	if len(empty) == 0 {
		return nil
	}
	s.Note("%s: left out, with neither a name in the header nor a value: %s", in.Name, strings.Join(empty, ", "))
	in.left = append(in.left, empty...)
	var err error
	in.Table, err = in.Table.Drop(empty...)
	return in.Wrap(err)
}
