// Package columnar reads tables from files in columnar formats: Parquet, and Arrow's file format (Feather version 2). It stands apart
// from package data, whose users need not compile Arrow's code.
package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/panics"
)

// Options say what is read, and where to.
type Options struct {
	// Keep says whether the column of a name is read, nil: all are. What is not read costs nothing.
	Keep func(name string) bool
	// NA lists texts, and numbers, that are missing values as well.
	NA []string
	// Store is where the numbers lie; nil: in memory.
	Store *data.Store
}

const (
	parquetMagic = "PAR1"
	arrowMagic   = "ARROW1"
)

// Is reports whether a file begins as one of the formats does.
func Is(f *os.File) bool {
	head := make([]byte, len(arrowMagic))
	n, _ := f.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte(parquetMagic)) || string(head[:n]) == arrowMagic
}

// Read reads files, one below the other, as one table. Their columns are those of the first, in its order; another file may have them
// in any order, and others that are not kept. Integers, floats, decimals and booleans (0 and 1) are numbers, a null is a missing
// value; integers beyond 2^53 are rounded. Texts and dictionaries are categories, dates and times too, as texts of ISO 8601; texts
// that would be missing in a CSV file (empty, NA, NaN) are missing. It is an error if a column that is kept has another
// type, if files have other columns or kinds of columns, or if there are no rows. Errors name the file.
func Read(paths []string, o Options) (*data.Table, error) {
	rows, parts := 0, make([][]field, len(paths))
	files := make([]source, len(paths))
	defer func() {
		for _, f := range files {
			if f != nil {
				f.Close() //nolint:errcheck // nothing was written
			}
		}
	}()
	for i, path := range paths {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		files[i] = f
		if parts[i], err = kept(f, o.Keep); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := alike(parts[0], parts[i]); err != nil {
			return nil, fmt.Errorf("%s and %s are no parts of one table: %w", paths[0], path, err)
		}
		rows += f.Rows()
	}
	if len(parts[0]) == 0 {
		return nil, fmt.Errorf("%s: no column is left; keep at least one", paths[0])
	}
	if rows == 0 {
		return nil, fmt.Errorf("%s: the file has no rows", paths[0])
	}
	t, err := newTable(parts[0], rows, o)
	if err != nil {
		return nil, err
	}
	at := 0
	for i, f := range files {
		if err := t.add(f, parts[i], at); err != nil {
			return nil, fmt.Errorf("%s: %w", paths[i], err)
		}
		at += f.Rows()
	}
	return t.Table(), nil
}

// A source is an open file.
type source interface {
	io.Closer
	Fields() []field
	Rows() int
	// Fill puts columns into rows of the table from one on, in the table's order of columns.
	Fill(t *table, columns []field, from int) error
}

func open(path string) (_ source, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, damage(recover())) // Arrow's code may panic on what it finds
		if err != nil {
			f.Close() //nolint:errcheck // nothing was written
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	head := make([]byte, len(arrowMagic))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(head) == arrowMagic {
		return openArrow(f)
	}
	return openParquet(f)
}

var errRows = errors.New("its rows are not as many as are announced: the file is damaged")

// damage is the error of a panic.
func damage(recovered any) error {
	p := panics.Of(recovered)
	if p == nil {
		return nil
	}
	return fmt.Errorf("the file is damaged: %v", p.Value)
}

// A field is a column of a file.
type field struct {
	name        string
	place       int
	categorical bool
	strange     string // a type that is neither of numbers nor of categories
}

// kept are the columns that are read.
func kept(f source, keep func(name string) bool) (list []field, err error) {
	for _, one := range f.Fields() {
		if keep != nil && !keep(one.name) {
			continue
		}
		if one.strange != "" {
			return nil, fmt.Errorf("column %q is %s: neither numbers nor categories; leave it out", one.name, one.strange)
		}
		list = append(list, one)
	}
	return list, nil
}

// alike compares the columns of two files, and puts those of the second in the order of the first.
func alike(first, other []field) error {
	if len(first) != len(other) {
		return fmt.Errorf("they have %d and %d columns", len(first), len(other))
	}
	for i, want := range first {
		j := slices.IndexFunc(other, func(f field) bool { return f.name == want.name })
		switch {
		case j < 0:
			return fmt.Errorf("column %q is in the first alone", want.name)
		case other[j].categorical != want.categorical:
			return fmt.Errorf("column %q has numbers in one of them and texts in the other", want.name)
		}
		other[i], other[j] = other[j], other[i]
	}
	return nil
}
