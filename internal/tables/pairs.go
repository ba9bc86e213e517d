package tables

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
)

// OpenPairs reads a list of pairs. Of the columns that --select and --drop leave, the first two have the names, whose
// cells are texts but for the blanks around them, and the third, or the one that is called numbers, has the numbers.
func (f *Options) OpenPairs(s *Session, source, numbers string) (*Input, error) {
	gaps, err := f.Missings(true)
	if err != nil {
		return nil, err
	}
	in, err := f.Open(s, source, func(string) data.Reading { return data.ReadAsText })
	if err != nil {
		return nil, err
	}
	if _, err := f.Choose(in); err != nil {
		return nil, err
	}
	f.NoteNA(s, in)
	if err := in.Complete(s, gaps); err != nil {
		return nil, err
	}
	t, err := in.triples(numbers)
	if err != nil {
		return nil, in.Wrap(err)
	}
	in.Pairs = t
	f.noteHeader(s, in, t)
	return in, nil
}

// noteHeader says where the first row may not be the names of columns, but one of the list.
func (f *Options) noteHeader(s *Session, in *Input, t *fitted.Pairs) {
	if first := in.Names[0]; f.Header == "auto" && !in.Unnamed &&
		(slices.Contains(t.Names[0], first) || slices.Contains(t.Names[1], first)) {
		s.Note("the first row of %s names the columns, %s; %.60q is also a name in other rows: --header no "+
			"reads it as a row of the list", in.Name, wording.Quoted(in.Names), first)
	}
}

// TakeKnownNames reads what is known of the classes of the names of a list of pairs: a table of two columns, names and
// their classes, where a name without a class may be in any.
func (f *Options) TakeKnownNames(s *Session, in *Input, source string) error {
	if source == "" {
		return nil
	}
	of := *f // what chooses columns and values chooses those of the list
	of.Select, of.Drop, of.Dates, of.Missing = nil, nil, Dates{}, nil
	t, err := of.Open(s, source, func(string) data.Reading { return data.ReadAsText })
	if err != nil {
		return err
	}
	if len(t.Names) != 2 {
		return t.Wrap(fmt.Errorf("--known: must have two columns, the names and their classes, and has %s",
			wording.Quoted(t.Names)))
	}
	of.noteHeader(s, t, in.Pairs)
	names, index, err := t.dictionary(t.Names[0])
	if err != nil {
		return t.Wrap(err)
	}
	classes, places, err := t.cells(t.Names[1])
	if err != nil {
		return t.Wrap(err)
	}
	here := SetOf(slices.Concat(in.Pairs.Names[0], in.Pairs.Names[1]))
	known, counts, elsewhere := map[string]string{}, map[string]int{}, 0
	for row, at := range index {
		if places[row] < 0 || strings.TrimSpace(classes[places[row]]) == "" {
			continue
		}
		name, class := names[at], strings.TrimSpace(classes[places[row]])
		switch before, is := known[name]; {
		case !here[name]:
			elsewhere++
		case is && before != class:
			return t.Wrap(fmt.Errorf("row %d says that %.60q is in class %.60q, and a row before it %.60q",
				t.Origin(row)+1, name, class, before))
		case !is:
			known[name] = class
			counts[class]++
		}
	}
	switch {
	case len(known) == 0 && elsewhere > 0:
		return t.Wrap(fmt.Errorf("--known: none of its names with a class is one of %s", in.Name))
	case len(known) == 0:
		return t.Wrap(fmt.Errorf("--known: column %.60q has no value at all: it names the classes of no row", t.Names[1]))
	case elsewhere > 0:
		s.Note("%s: left out %s, whose names %s does not have", t.Name, wording.Counted(elsewhere, "row"), in.Name)
	}
	in.Pairs.Known = known
	t.noteAlone(s, slices.Sorted(maps.Keys(counts)), func(class string) int { return counts[class] })
	return nil
}

// triples are the table as a list of pairs.
func (in *Input) triples(numbers string) (t *fitted.Pairs, err error) {
	columns := slices.Clone(in.Names)
	if numbers != "" {
		if !slices.Contains(columns, numbers) {
			_, err := in.Column(numbers)
			return nil, fmt.Errorf("--weights: %w", err)
		}
		columns = append(slices.DeleteFunc(columns, func(name string) bool { return name == numbers }), numbers)
	}
	switch n := len(columns); {
	case n < 2 || n < 3 && numbers != "":
		return nil, fmt.Errorf("a list of pairs has two columns of names, and this one has %s alone",
			wording.Quoted(in.Names))
	case n > 3:
		return nil, fmt.Errorf("a list of pairs has two columns of names and perhaps one of numbers, and this one "+
			"has %s: --select chooses them, in that order", wording.Quoted(in.Names))
	case n == 3:
		if t, err = in.pairs(columns[:2]); err == nil {
			t.Numbers, err = in.amounts(columns[2])
		}
		return t, err
	}
	return in.pairs(columns)
}

// pairs are two columns of names.
func (in *Input) pairs(columns []string) (*fitted.Pairs, error) {
	t := new(fitted.Pairs)
	for side, column := range columns {
		var err error
		if t.Names[side], t.Index[side], err = in.dictionary(column); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// cells are the texts of a column: the different ones, and the place of each row's among them, negative where it is
// missing.
func (in *Input) cells(column string) (texts []string, places []int32, err error) {
	if places = in.Codes(column); places != nil {
		return in.Levels(column), places, nil
	}
	t, err := in.Factor(column, nil, false) // numbers of an embedded data set
	if err != nil {
		return nil, nil, err
	}
	return t.Levels(column), t.Codes(column), nil
}

// dictionary lists the different names of a column, sorted, and the place of each row's.
func (in *Input) dictionary(column string) (names []string, index []int, err error) {
	texts, cells, err := in.cells(column)
	if err != nil {
		return nil, nil, err
	}
	for row, cell := range cells {
		if cell < 0 || strings.TrimSpace(texts[cell]) == "" {
			return nil, nil, in.missing(row, column, "must be a name")
		}
	}
	levels, err := in.Occurring(column)
	if err != nil {
		return nil, nil, err
	}
	at, index := make(map[string]int, len(levels)), make([]int, len(cells))
	for _, level := range levels {
		name := strings.TrimSpace(level)
		if _, known := at[name]; !known {
			at[name], names = len(names), append(names, name)
		}
	}
	for row, cell := range cells {
		index[row] = at[strings.TrimSpace(texts[cell])]
	}
	return names, index, nil
}

// amounts are the numbers of a column.
func (in *Input) amounts(column string) ([]float64, error) {
	texts, cells, err := in.cells(column)
	if err != nil {
		return nil, err
	}
	parsed, faults := make([]float64, len(texts)), make([]error, len(texts))
	for i, text := range texts {
		if in.DecimalComma() {
			text = strings.Replace(text, ",", ".", 1)
		}
		parsed[i], faults[i] = strconv.ParseFloat(strings.TrimSpace(text), 64)
	}
	x, place := make([]float64, len(cells)), slices.Index(in.Names, column)
	for row, cell := range cells {
		if cell < 0 {
			return nil, in.missing(row, column, "a number is needed")
		}
		v := parsed[cell]
		switch {
		case errors.Is(faults[cell], strconv.ErrSyntax):
			return nil, fmt.Errorf("row %d of column %.60q is %.60q; must be a non-negative number",
				in.Origin(row)+1, column, texts[cell])
		case !(v >= 0) || math.IsInf(v, 1):
			return nil, &blocks.DataError{
				Row: row, Column: place, Value: v, Reason: errors.New("must be a non-negative finite number"),
			}
		}
		x[row] = v
	}
	return x, nil
}

// missing is the error about an empty cell.
func (in *Input) missing(row int, column, need string) error {
	return &blocks.DataError{Row: row, Column: slices.Index(in.Names, column), Value: math.NaN(),
		Reason: errors.New(need + " (--missing drop leaves such rows out)")}
}
