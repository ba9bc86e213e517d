package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
)

type predictCommand struct {
	Data string `required:"" placeholder:"FILE|NAME" help:"CSV or NPY file, also gzipped; - for standard input; or an embedded data set, see latent datasets."`
	inputFlags
	Unseen string `default:"error" enum:"error,missing" help:"Levels of categorical columns that the model has not seen: error refuses them, missing takes them for missing values."`
	Saved  string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Out    string `placeholder:"FILE" help:"Write here instead of to standard output, which is also -."`
	Format string `default:"csv" enum:"csv,json" help:"Output: csv or json."`
}

// Run writes what the model tells of each row: components or latent means, and the
// log-likelihood; of rows among which some are left out, also their numbers.
func (c *predictCommand) Run(s *session) error {
	m, err := readModel(c.Saved)
	if err != nil {
		return err
	}
	gaps, err := c.gaps(m.learned.needsAll())
	if err != nil {
		return err
	}
	if err := s.checkOut(c.Out, c.Data, c.Saved); err != nil {
		return err
	}
	in, err := c.open(s, c.Data, m.reading)
	if err != nil {
		return err
	}
	names := namesOf(m.Columns)
	if slices.Contains(names, in.label) {
		in.label = "" // to the model, a column like others
	}
	unlabelled, err := c.choose(in)
	if err != nil {
		return err
	}
	if unlabelled {
		s.note("1 column of %s left out, as not in the model: %q", in.name, in.label)
	}
	order, err := in.match(s, names)
	if err != nil {
		return in.wrap(err)
	}
	if err := m.learned.recode(in, order, c.Unseen == "missing"); err != nil {
		return in.wrap(err)
	}
	c.tellNA(s, in)
	if err := in.complete(s, gaps); err != nil {
		return err
	}
	p := &prediction{model: m.learned, in: in, columns: names}
	if p.x, p.rows, err = m.learned.values(s, in); err != nil {
		return in.wrap(err)
	}
	p.told = in.teller()
	p.told.columns = nil
	for _, place := range order {
		p.told.columns = append(p.told.columns, in.Names[place])
	}
	if !slices.IsSorted(order) {
		p.order = order
	}
	if p.layout, err = m.learned.layout(); err != nil {
		return err
	}
	if gaps == missingDrop {
		p.number()
	}
	write := p.writeCSV
	if c.Format == "json" {
		write = p.writeJSON
	}
	return s.emit(c.Out, func(w io.Writer) error { return write(s, w) })
}

// match keeps the model's columns, in the order in which the table has them, and tells
// where each column of the model is. Names decide when the table has all of the
// model's. Otherwise, where either side has made-up names, the places do; and where both
// have, there must be as many.
func (in *input) match(s *session, names []string) (order []int, err error) {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(in.Names, name) })
	made, differ := generated(names), in.Cols() != len(names)
	switch {
	case len(missing) > 0 && !made && !in.unnamed:
		return nil, fmt.Errorf("columns of the model are missing in the data: %s; the data have %s", quoted(missing), quoted(in.Names))
	case len(missing) > 0 && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; by name, these are missing: %s (--select or --drop leaves as many)", in.Cols(), len(names), quoted(missing))
	case made && in.unnamed && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; neither has names to go by: choose columns with --select or --drop", in.Cols(), len(names))
	case len(missing) > 0:
		s.note("the columns of %s are taken by their places: %s are %s of the model", in.name, quoted(in.Names), quoted(names))
		names = in.Names
	}
	extra := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return slices.Contains(names, name) })
	if len(extra) > 0 {
		s.note("%s of %s left out, as not in the model: %s", counted(len(extra), "column"), in.name, quoted(extra))
	}
	kept := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		order = append(order, slices.Index(kept, name))
	}
	in.asked = true
	in.Table, err = in.Table.Select(kept...)
	return order, err
}

// generated tells whether names are V1, V2, …, which package data gives to columns
// without one.
func generated(names []string) bool {
	for j, name := range names {
		if name != "V"+strconv.Itoa(j+1) {
			return false
		}
	}
	return true
}

func quoted(names []string) string {
	const most = 20
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, fmt.Sprintf("%.60q", name))
	}
	if len(names) > most {
		list = append(list, fmt.Sprintf("… (%d in all)", len(names)))
	}
	return strings.Join(list, ", ")
}

// A layout says what the numbers are that a model tells of a row.
type layout struct {
	names     []string       // of the numbers, as CSV has them
	list      string         // JSON has those from first to last−1 as one list of that name
	first     int            //
	last      int            //
	constants map[string]any // further values that JSON has, the same for all rows
}

// A prediction is a model applied to rows, block by block.
type prediction struct {
	model   learned
	layout  layout
	in      *input
	told    teller    // knows the columns of the model by their names in the data
	x       []float64 // rows×D, columns as the table has them
	rows    int
	order   []int // place of each column of the model; nil: they are in place
	columns []string
	numbers bool // rows are written with their numbers

	reordered []float64 // one block
}

const blockRows = 4096

// block is rows first to first+n−1 as the model has its columns. The next call
// overwrites it.
func (p *prediction) block(first, n int) framework.Rows {
	d := len(p.columns)
	b := framework.Rows{First: first, N: n, D: d, Stride: d, X: p.x[first*d : (first+n)*d]}
	if p.order == nil {
		return b
	}
	p.reordered = p.reordered[:0]
	for i := range n {
		for _, place := range p.order {
			p.reordered = append(p.reordered, b.X[i*d+place])
		}
	}
	b.X = p.reordered
	return b
}

// number has each row begin with its number in the data, from 1, as some are left out.
func (p *prediction) number() {
	p.numbers = true
	p.layout.names = append([]string{"row"}, p.layout.names...)
	p.layout.first++
	p.layout.last++
}

// numbered puts the numbers of n rows from first on before what the model tells of them.
func (p *prediction) numbered(table []float64, first, n int) []float64 {
	if !p.numbers {
		return table
	}
	width := len(table) / n
	list := make([]float64, 0, len(table)+n)
	for i := range n {
		list = append(append(list, float64(p.in.Origin(first+i)+1)), table[i*width:(i+1)*width]...)
	}
	return list
}

// blocks calls use with what the model tells of one block of rows after another: as many
// numbers a row as the layout has names.
func (p *prediction) blocks(s *session, use func(table []float64, n int) error) error {
	for first := 0; first < p.rows; first += blockRows {
		if s.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows", first, p.rows)
		}
		n := min(blockRows, p.rows-first)
		table, err := p.model.judge(p.block(first, n))
		if err != nil {
			return told(p.in.name + ": " + p.told.tell(err))
		}
		if err := use(p.numbered(table, first, n), n); err != nil {
			return err
		}
	}
	return nil
}

func (p *prediction) writeCSV(s *session, w io.Writer) error {
	names := p.layout.names
	return p.blocks(s, func(table []float64, n int) error {
		err := data.WriteCSV(w, names, table, n, len(p.layout.names))
		names = nil
		return err
	})
}

// writeJSON writes one object as it comes: the names of the columns, the list of each row,
// and then what was kept until its turn, one list for each of the other numbers, and the
// constants.
func (p *prediction) writeJSON(s *session, w io.Writer) error {
	out := bufio.NewWriter(w)
	if err := p.writePart(out, `{"columns":`, p.columns); err != nil {
		return err
	}
	l, width := p.layout, len(p.layout.names)
	kept := make([][]float64, width) // those outside the list
	separator := fmt.Sprintf(",%q:[", l.list)
	err := p.blocks(s, func(table []float64, n int) error {
		for i := range n {
			row := table[i*width : (i+1)*width]
			if err := p.writePart(out, separator, numbers(row[l.first:l.last])); err != nil {
				return err
			}
			separator = ","
			for j, v := range row {
				if j < l.first || j >= l.last {
					kept[j] = append(kept[j], v)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for j, list := range kept {
		for i, v := range list {
			separator := ","
			if i == 0 {
				separator = fmt.Sprintf("],%q:[", l.names[j])
			}
			if err := p.writePart(out, separator, number(v)); err != nil {
				return err
			}
		}
	}
	if _, err := out.WriteString("]"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.constants)) {
		if err := p.writePart(out, fmt.Sprintf(",%q:", name), l.constants[name]); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("}\n"); err != nil {
		return err
	}
	return out.Flush()
}

// writePart writes a piece of an object: what stands before a value, and the value.
func (p *prediction) writePart(w io.Writer, before string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(before), text...))
	return err
}
