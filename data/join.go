package data

import (
	"fmt"
	"io"
	"slices"
)

// ReadParts reads inputs of any format that [Open] knows, one below the other, as one table. Their columns are those of the
// first, in its order; another part may have them in any order, and in arrays and in files without a header they have no names but
// by place. It is an error if a part has other columns, or if a column has numbers in one part and texts in another. Errors name the
// part. The store of the options holds the numbers.
func ReadParts(parts []Part, o CSVOptions) (*Table, error) {
	var whole *Table
	for i, part := range parts {
		own := o
		if len(parts) > 1 && o.Store != nil {
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
	own.store = store
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
		return fmt.Errorf("%d columns, and the parts before have %d", len(part.Names), len(t.Names))
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
			return fmt.Errorf("%s; in the parts before it has numbers alone", part.describeText(at))
		case c.factor == nil && !part.empty(c):
			return fmt.Errorf("column %q has numbers alone, and texts in the parts before; read it as text", name)
		default:
			own.factor = own.factor.with(c.factor, part.rows)
		}
		if c.marked != nil {
			own.marked = slices.Grow(own.marked, len(c.marked))[:len(c.marked)]
			for i, n := range c.marked {
				own.marked[i] += n
			}
		}
	}
	var err error
	if t.flat, err = t.store.reserve(t.flat, part.rows*t.stride, 0); err != nil {
		return err
	}
	t.flat = part.gather(t.flat, numeric, nil)
	t.rows += part.rows
	return nil
}

// with is the column with the rows of another behind its own; nil stands for missing cells.
func (f *factor) with(other *factor, rows int) *factor {
	joined := &factor{slices.Clip(f.levels), f.codes, f.decimal}
	if other == nil {
		for range rows {
			joined.codes = append(joined.codes, missingCode)
		}
		return joined
	}
	place := make(map[string]int32, len(f.levels))
	for code, level := range f.levels {
		place[level] = int32(code)
	}
	codes := make([]int32, len(other.levels))
	for i, level := range other.levels {
		code, known := place[level]
		if !known {
			code = int32(len(joined.levels))
			joined.levels = append(joined.levels, level)
		}
		codes[i] = code
	}
	for _, code := range other.codes {
		if code != missingCode {
			code = codes[code]
		}
		joined.codes = append(joined.codes, code)
	}
	return joined
}
