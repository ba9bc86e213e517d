package command

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/drift"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
)

// A prediction is a model applied to rows, block by block.
type prediction struct {
	following func() (*prediction, error) // those after these, nil where these are the last; nil: these are all
	first     int                         // rows of the table before those of in
	carry     carry                       // rows before those of in

	drift   *drift.Drift // gathers what the page of --report says; nil: nothing
	score   func(rows blocks.Rows) ([]float64, error)
	layout  fitted.Layout
	in      *tables.Input
	errors  faults.Renderer // knows the columns of the model by their names in the data
	x       []float64       // rows×D, columns as the table has them
	rows    int
	order   []int // place of each column of the model; nil: they are in place
	columns []string
	ids     tables.IDs
	ends    []int // of sequences; nil where rows are independent
	numbers bool  // rows are written with their numbers
	fill    *filling
	wide    []int // places of all columns of the model, where the data lack some: see present

	assigned  []int     // components of the rows so far, from 0, where known classes are to be compared
	reordered []float64 // one block
}

// The columns of components and of states, from 1, have these heads.
const (
	labelHead = "label"
	classHead = "class" // of their labels
	stateHead = "state"
)

const blockRows = 4096

// take takes the numbers of the rows, which have the columns of the model in an order, and says how they are written by
// what becomes of missing values.
func (p *prediction) take(s *tables.Session, m *modelFile, order []int, gaps string) (err error) {
	if p.x, p.rows, _, err = p.in.ReadNumbers(s, m.kind.Classes, !m.input.Gaps); err != nil {
		return p.in.Wrap(err)
	}
	if !slices.IsSorted(order) {
		p.order = order
	}
	if m.input.Sequence {
		p.ends = p.in.EndsOf(p.rows)
		p.score = func(b blocks.Rows) ([]float64, error) { return m.scoreSequences(p.series(p.widened(b))) }
	}
	if p.numbers = tables.LeavesOut(gaps); p.numbers {
		p.layout.First = append([]string{rowHead}, p.layout.First...)
	}
	return nil
}

// block is rows first to first+n−1 as the model has its columns. The next call
// overwrites it.
func (p *prediction) block(first, n int) blocks.Rows {
	d := len(p.columns)
	b := blocks.Rows{First: first, N: n, D: d, Stride: d, X: p.x[first*d : (first+n)*d]}
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

// after is the row after the last of the block that begins with row first: whole sequences where there are such.
func (p *prediction) after(first int) int {
	end := min(first+blockRows, p.rows)
	if p.ends == nil {
		return end
	}
	at, _ := slices.BinarySearch(p.ends, end)
	return p.ends[at]
}

// series are the sequences of a block.
func (p *prediction) series(b blocks.Rows) blocks.Sequences {
	from, _ := slices.BinarySearch(p.ends, b.First+1)
	var ends []int
	for _, end := range p.ends[from:] {
		if end > b.First+b.N {
			break
		}
		ends = append(ends, end-b.First)
	}
	return blocks.Sequences{First: from, Steps: b, Ends: ends}
}

// withNumbers puts the numbers of n rows from first on before what the model says of them.
func (p *prediction) withNumbers(table []float64, first, n int) []float64 {
	if !p.numbers {
		return table
	}
	width := len(table) / n
	list := make([]float64, 0, len(table)+n)
	for i := range n {
		list = append(append(list, float64(p.origin(first+i)+1)), table[i*width:(i+1)*width]...)
	}
	return list
}

// blocks calls use with what the model says of one block of rows after another, of these and those that follow: as many
// numbers a row as the layout has names.
func (p *prediction) blocks(s *session, use func(part *prediction, first, n int, table []float64) error) error {
	for part := p; ; {
		whole := part.rows
		if p.following != nil {
			whole -= part.rows % blockRows
		}
		err := part.between(s, 0, whole, use)
		if err != nil || p.following == nil {
			return err
		}
		next, err := p.following()
		switch {
		case err != nil:
			return err
		case next == nil:
			return part.between(s, whole, part.rows, use)
		}
		next.prepend(part, whole)
		part = next
	}
}

// A carry is rows that come before those of a table, so that blocks are the same wherever a table was cut: the last
// bits of what a model says of a row depend on the rows beside it.
type carry struct {
	rows    int
	origins []int
	texts   []string // of the columns passed through
}

// prepend puts the rows of another prediction from one on before the own.
func (p *prediction) prepend(other *prediction, from int) {
	d := len(p.columns)
	p.x = slices.Concat(other.x[from*d:], p.x)
	var c carry
	for row := from; row < other.rows; row++ {
		c.origins = append(c.origins, other.origin(row))
		c.texts = other.appendIDs(c.texts, row)
	}
	c.rows = other.rows - from
	p.rows += c.rows
	p.carry = c
}

// origin is the place of a row in the table as it was read.
func (p *prediction) origin(row int) int {
	if row < p.carry.rows {
		return p.carry.origins[row]
	}
	return p.in.Origin(row - p.carry.rows)
}

// appendIDs adds the cells of a row that are passed through.
func (p *prediction) appendIDs(texts []string, row int) []string {
	if row < p.carry.rows {
		wide := len(p.ids.Cells)
		return append(texts, p.carry.texts[row*wide:(row+1)*wide]...)
	}
	for _, cell := range p.ids.Cells {
		texts = append(texts, cell(p.in.Origin(row-p.carry.rows)-p.first))
	}
	return texts
}

// between is blocks of some of the own rows.
func (p *prediction) between(
	s *session, first, end int, use func(part *prediction, first, n int, table []float64) error,
) error {
	for n := 0; first < end; first += n {
		if s.Err() != nil {
			return p.interrupted(first)
		}
		n = p.after(first) - first
		b := p.block(first, n)
		table, err := p.score(b)
		if err != nil {
			return faults.Rendered(p.in.Name + ": " + p.errors.Render(err))
		}
		if at := slices.IndexFunc(table, func(v float64) bool { return v-v != 0 }); at >= 0 && p.fill == nil {
			width := len(table) / n
			err := blocks.FaultyRow(first+at/width, "%s", fitted.OutOfRange(p.layout, at, table[at]))
			return faults.Rendered(p.in.Name + ": " + p.errors.Render(err))
		}
		if p.drift != nil {
			p.drift.Add(p.widened(b), table, func(i int) int { return p.origin(first + i) })
			if p.ends != nil {
				p.drift.Follow(p.series(b).Ends)
			}
		}
		table = p.withNumbers(table, first, n)
		if p.in.Known != nil {
			names := p.layout.Names()
			for at := slices.IndexFunc(names,
				func(name string) bool { return name == labelHead || name == stateHead }); at < len(table); at += len(names) {
				p.assigned = append(p.assigned, int(table[at])-1)
			}
		}
		if err := use(p, first, n, table); err != nil {
			return err
		}
	}
	return nil
}

// interrupted is the error about rows from one on that are not done.
func (p *prediction) interrupted(first int) error {
	if p.in.Tally != nil {
		return fmt.Errorf("interrupted after %d rows", p.origin(first))
	}
	return fmt.Errorf("interrupted after %d of %d rows", first, p.rows)
}

// agreement compares the components of all rows with known classes; nil where there are none.
func (p *prediction) agreement() *outcome.Agreement {
	return outcome.AgreementOf(p.in, p.assigned, len(p.layout.Items))
}

// heads are those of the table that is written: what is passed through, and the numbers of the layout.
func (p *prediction) heads() (heads []data.Head) {
	if p.fill != nil {
		return p.fill.heads(p)
	}
	for _, name := range p.ids.Names {
		heads = append(heads, data.Head{Name: name, Cells: data.Texts})
	}
	if p.layout.Classes != nil {
		heads = append(heads, data.Head{Name: classHead, Cells: data.Texts})
	}
	for _, name := range p.layout.Names() {
		cells := data.Floats
		if slices.Contains([]string{rowHead, labelHead, classes.GroupHead, stateHead}, name) {
			cells = data.Integers
		}
		heads = append(heads, data.Head{Name: name, Cells: cells})
	}
	return heads
}

// classOf is the label of the class of a row, of n from first on whose numbers a table has; empty if it has none.
func (p *prediction) classOf(table []float64, first, n, row int) string {
	at := slices.IndexFunc(p.layout.Names(), func(name string) bool { return name == labelHead || name == stateHead })
	return p.layout.Classes[int(table[(row-first)*(len(table)/n)+at])-1]
}

// writeTable writes one row after another.
func (p *prediction) writeTable(s *session, to data.Writer) error {
	var texts []string
	return p.blocks(s, func(part *prediction, first, n int, table []float64) error {
		texts = texts[:0]
		for row := first; row < first+n; row++ {
			texts = part.appendIDs(texts, row)
			if part.layout.Classes != nil {
				texts = append(texts, part.classOf(table, first, n, row))
			}
		}
		if part.fill != nil {
			texts, table = part.fill.rows(texts, table)
		}
		return to.Write(texts, table)
	})
}

// writeJSON writes one object as it comes: the names of the columns, the list of each row, and then what was kept
// meanwhile, one list for each of the other numbers, the constants, the columns passed through, the agreement with
// known classes and the warnings.
func (p *prediction) writeJSON(s *session, w io.Writer) error {
	o := jsontext.NewPieces(w)
	o.Open("", "{")
	o.Field("columns", p.columns)
	from, to, names := len(p.layout.First), len(p.layout.First)+len(p.layout.Items), p.layout.Names()
	kept := make([][]float64, len(names)) // those outside the list
	if from < to {
		o.Open(p.layout.List, "[")
	}
	err := p.blocks(s, func(_ *prediction, _, _ int, table []float64) error {
		for row := range slices.Chunk(table, len(names)) {
			if p.fill != nil {
				o.Field("", p.fill.values(row))
			} else if from < to {
				o.Field("", numbers(row[from:to]))
			}
			for j, v := range row {
				if j < from || j >= to {
					kept[j] = append(kept[j], v)
				}
			}
		}
		return o.Err
	})
	if err != nil {
		return err
	}
	if from < to {
		o.Shut("]")
	}
	for j, list := range kept {
		if j < from || j >= to {
			o.List(names[j], len(list), func(i int) any { return number(list[i]) })
		}
	}
	if at := slices.IndexFunc(names, func(name string) bool { return name == labelHead || name == stateHead }); at >= 0 &&
		p.layout.Classes != nil {
		o.List(classHead, len(kept[at]), func(i int) any { return p.layout.Classes[int(kept[at][i])-1] })
	}
	for _, name := range slices.Sorted(maps.Keys(p.layout.Constants)) {
		o.Field(name, p.layout.Constants[name])
	}
	passed := p.ids.Names
	if p.fill != nil {
		passed = passed[:len(passed)-len(p.fill.Names)]
	}
	if len(passed) > 0 {
		o.Open("ids", "{")
		for j, name := range passed {
			o.List(name, p.rows, func(row int) any { return p.ids.Cells[j](p.in.Origin(row)) })
		}
		o.Shut("}")
	}
	if a := p.agreement(); a != nil {
		o.Field("agreement", a)
	}
	o.Field("warnings", append([]string{}, s.Notes...))
	o.Shut("}\n")
	return o.End()
}
