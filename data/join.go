package data

import (
	"fmt"
	"io"
	"slices"

	"github.com/latent-go/latent/internal/fastcsv"
)

// ReadParts reads inputs of any format that [Open] knows, one below the other, as one table. The table has the
// columns of the first part in its order; other parts may have them in any order. The columns of arrays and of files
// without a header are matched by position. It returns an error if a part has other columns, or if a column has
// numbers in one part and texts in another. Errors name the part. The store of the options holds the numbers.
func ReadParts(parts []Part, o CSVOptions) (*Table, error) {
	var whole *Table
	for i, part := range parts {
		own := o
		if own.Float32 = o.Float32 && len(parts) == 1; len(parts) > 1 && o.Store != nil {
			own.Store = NewStore(o.Store.limit)
		}
		err := func() error {
			if len(parts) > 1 {
				defer own.Store.Close() //nolint:errcheck // its numbers have been copied
			}
			t, err := part.read(own)
			if err != nil {
				return err
			}
			if i == 0 {
				whole, err = t.root(o.Store, len(parts) > 1)
				return err
			}
			return whole.appendRows(t)
		}()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.Name, err)
		}
	}
	return whole, nil
}

// A Part is an input of [ReadParts].
type Part struct {
	Name string // for errors
	Open func() (io.ReadCloser, error)
}

func (p Part) read(o CSVOptions) (*Table, error) {
	r, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return Read(r, o)
}

// root is the table that others are appended to: t itself, or in a store that outlives its own.
func (t *Table) root(store *Store, more bool) (*Table, error) {
	if !more {
		return t, nil
	}
	own := *t
	own.store, own.columns = store, slices.Clone(t.columns)
	for j, c := range own.columns {
		if c.factor != nil { // later parts follow, in memory
			own.columns[j].factor = c.factor.with(slices.Clone(c.factor.codes))
		}
	}
	var err error
	if own.flat, err = store.numbers(len(t.flat)); err != nil {
		return nil, err
	}
	own.flat = append(own.flat, t.flat...)
	return &own, nil
}

// appendRows adds the rows of another table, which is of the same columns.
func (t *Table) appendRows(part *Table) error {
	if len(part.Names) != len(t.Names) {
		return fmt.Errorf("%d columns, and earlier parts have %d", len(part.Names), len(t.Names))
	}
	numeric := make([]column, t.stride)
	for j, name := range t.Names {
		at := part.place(name)
		if at < 0 {
			return part.lacks(name)
		}
		c, own := part.columns[at], &t.columns[j]
		switch {
		case own.factor == nil && c.factor == nil:
			numeric[own.at] = c
		case own.factor == nil:
			return fmt.Errorf("%s; it is numeric in earlier parts", part.describeText(at))
		case c.factor == nil && !part.empty(c):
			return fmt.Errorf("column %q is numeric, and text in earlier parts; read it as text", name)
		}
		own.join(c, part.rows)
	}
	var err error
	if t.flat, err = t.store.reserve(t.flat, part.rows*t.stride, 0); err != nil {
		return err
	}
	t.flat = part.gather(t.flat, numeric, nil)
	t.rowsNamed = t.rowsNamed && part.rowsNamed
	t.rows += part.rows
	t.skipped += part.skipped
	return nil
}

// join adds the cells of so many later rows, but for numbers.
func (c *column) join(later column, rows int) {
	whole, more := fastcsv.Column{MarkedMissing: c.marked}, fastcsv.Column{MarkedMissing: later.marked}
	if c.factor != nil {
		whole.Levels, whole.Codes = slices.Clip(c.factor.levels), c.factor.codes
		if later.factor != nil {
			more.Levels, more.Codes = later.factor.levels, later.factor.codes
		} else { // no cell has a value
			more.Codes = slices.Repeat([]int32{missingCode}, rows)
		}
	}
	whole.Join(&more)
	if c.marked = whole.MarkedMissing; c.factor != nil {
		c.factor = &factor{whole.Levels, whole.Codes, c.factor.decimal}
	}
}
