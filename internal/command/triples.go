package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

// openTriples reads a list of pairs. Of the columns that --select and --drop leave, the first two have the names, whose
// cells are texts but for the blanks around them, and the third, or the one that is called numbers, has the numbers.
func (f *inputFlags) openTriples(s *session, source, numbers string) (*input, error) {
	gaps, err := f.gaps(true)
	if err != nil {
		return nil, err
	}
	in, err := f.open(s, source, func(string) data.Reading { return data.ReadAsText })
	if err != nil {
		return nil, err
	}
	if _, err := f.choose(in); err != nil {
		return nil, err
	}
	f.noteNA(s, in)
	if err := in.complete(s, gaps); err != nil {
		return nil, err
	}
	t, err := in.triples(numbers)
	if err != nil {
		return nil, in.wrap(err)
	}
	in.list = t
	if first := in.Names[0]; f.Header == "auto" && !in.unnamed &&
		slices.Contains(slices.Concat(t.Names[0], t.Names[1]), first) {
		s.note("the first row of %s names the columns, %s; %.60q is also a name in other rows: --header no "+
			"reads it as a row of the list", in.name, quoted(in.Names), first)
	}
	return in, nil
}

// triples are the table as a list of pairs.
func (in *input) triples(numbers string) (t *fitted.Pairs, err error) {
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
		return nil, fmt.Errorf("a list of pairs has two columns of names, and this one has %s alone", quoted(in.Names))
	case n > 3:
		return nil, fmt.Errorf("a list of pairs has two columns of names and perhaps one of numbers, and this one "+
			"has %s: --select chooses them, in that order", quoted(in.Names))
	case n == 3:
		if t, err = in.pairs(columns[:2]); err == nil {
			t.Numbers, err = in.amounts(columns[2])
		}
		return t, err
	}
	return in.pairs(columns)
}

// pairs are two columns of names.
func (in *input) pairs(columns []string) (*fitted.Pairs, error) {
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
func (in *input) cells(column string) (texts []string, places []int32, err error) {
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
func (in *input) dictionary(column string) (names []string, index []int, err error) {
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
func (in *input) amounts(column string) ([]float64, error) {
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
			return nil, &framework.DataError{
				Row: row, Column: place, Value: v, Reason: errors.New("must be a non-negative finite number"),
			}
		}
		x[row] = v
	}
	return x, nil
}

// missing is the error about an empty cell.
func (in *input) missing(row int, column, need string) error {
	return &framework.DataError{Row: row, Column: slices.Index(in.Names, column), Value: math.NaN(),
		Reason: errors.New(need + " (--missing drop leaves such rows out)")}
}

// readPairs reads a list of pairs of names, which come before what the model says of them.
func (c *predictCommand) readPairs(s *session, m *modelFile) (*prediction, error) {
	if len(c.ID) > 0 || c.Label != "" {
		return nil, misused("--id and --label cannot be used with %s, a %s model: the predictions begin with the "+
			"names of each pair", c.Saved, m.Model)
	}
	in, err := c.openTriples(s, c.Data, "")
	if err != nil {
		return nil, err
	}
	x := make([]float64, 2*in.Rows())
	for side, names := range in.list.Names {
		coder := data.NewCoder(m.saved.Columns()[side].Levels)
		for row, at := range in.list.Index[side] {
			code := coder.Code(names[at], '.')
			if code < 0 {
				return nil, in.wrap(framework.FaultyRow(row,
					"has the node %.60q, which is not in the graph that the model was fitted to: it has no block", names[at]))
			}
			x[2*row+side] = float64(code)
		}
	}
	p := &prediction{
		score:   m.score,
		layout:  m.layout,
		in:      in,
		x:       x,
		rows:    in.Rows(),
		columns: []string{"from", "to"},
		errors:  in.renderer(),
	}
	p.ids.names = p.columns
	for side, names := range in.list.Names {
		p.ids.cells = append(p.ids.cells, func(row int) string { return names[in.list.Index[side][row]] })
	}
	return p, nil
}

// scoreList writes what a model says of a list of pairs as a whole.
func (c *predictCommand) scoreList(s *session, m *modelFile, model fitted.ListScorer) error {
	if err := cmp.Or(m.kind.checkLabel(m.Model, c.Label), s.checkWritten(c.inputFiles(), c.out())); err != nil {
		return err
	}
	if len(c.ID) > 0 {
		return misused("--id cannot be used with a %s model: its predictions begin with the names of the %[1]s", m.Model)
	}
	in, err := c.openTriples(s, c.Data, m.Settings.Weights)
	if err != nil {
		return err
	}
	said, err := model.ScoreList(s, in.list)
	if err != nil {
		return in.wrap(err)
	}
	in.notes(s, said.Notes)
	if c.Format == "json" {
		text, err := object(said.Fields, struct {
			Warnings []string `json:"warnings"`
		}{append([]string{}, s.notes...)})
		return cmp.Or(err, s.emit(c.Out, func(w io.Writer) error { return writeJSON(w, json.RawMessage(text)) }))
	}
	if err := s.save(c.Out, said.Table); err != nil {
		return err
	}
	w := s.stderr
	if c.Out != "" && c.Out != "-" {
		w = s.stdout
	}
	_, err = fmt.Fprintln(w, said.About)
	return err
}
