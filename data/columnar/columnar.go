// Package columnar reads tables from files in columnar formats: Parquet, and Arrow's file format (Feather version 2)
// and stream format. It is separate from package data, so that users of that package need not compile Arrow's code.
package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/panics"
)

// Options say what to read and where to keep it.
type Options struct {
	// Keep reports whether to read the column of a name; nil: all are read. A column that is not read costs nothing.
	Keep func(name string) bool
	// Text reports whether to read a column as texts even if the file has numbers; nil: no column. Integers then keep
	// all digits.
	Text func(name string) bool
	// Open opens the file of a path; nil: [os.Open]. The file is closed at the end.
	Open func(path string) (*os.File, error)
	// NA lists further texts and numbers that stand for missing values.
	NA []string
	// Store holds the numbers; nil: in memory.
	Store *data.Store
	// Float32 has [Read] keep numbers in float32, if all columns of numbers are such in the files and the store holds
	// them in memory (see [data.Table.Float32s]).
	Float32 bool
	// Weights names a column of the weights of [Rows]; empty: all rows weigh 1.
	Weights string
	// Out are rows, of all files, that [Rows] leave out, in ascending order from 0.
	Out []int
	// Sequences are the ends of the sequences that the rows of [Rows] are (see [blocks.NewSequences]), whose blocks have
	// whole ones; nil: the rows are independent.
	Sequences []int
	// Progress, if not nil, is called from time to time with the number of rows read and the number of all rows.
	Progress func(rows, of int)
}

func (o Options) progress(rows, of int) {
	if o.Progress != nil {
		o.Progress(rows, of)
	}
}

const (
	parquetMagic = "PAR1"
	arrowMagic   = "ARROW1"
	streamMagic  = "\xff\xff\xff\xff" // before the length of every message, since Arrow 0.15
)

// HeadSize is the number of bytes that [Begins] needs.
const HeadSize = len(arrowMagic)

// Begins reports whether the first bytes of a file, all of them if it is shorter than HeadSize, are those of one of
// the formats.
func Begins(head []byte) bool {
	return bytes.HasPrefix(head, []byte(parquetMagic)) || bytes.HasPrefix(head, []byte(arrowMagic)) ||
		bytes.HasPrefix(head, []byte(streamMagic))
}

// Is reports whether a file is in one of the formats, by its first bytes.
func Is(f *os.File) bool {
	head := make([]byte, HeadSize)
	n, _ := f.ReadAt(head, 0)
	return Begins(head[:n])
}

// Read reads files, one below the other, as one table. The table has the columns of the first file in its order.
// Other files may have them in any order, and further columns if Options.Keep does not keep these. Integers, floats,
// decimals and booleans (0 and 1) are numbers; integers beyond 2^53 are rounded, and nulls are missing values. Texts
// and dictionaries are categories, and so are dates and times, as texts of ISO 8601. Texts that would be missing in a
// CSV file (empty, NA, NaN) are missing. It returns an error if a kept column has another type, if the files differ
// in columns or kinds of columns, and if there are no rows. Errors name the file.
func Read(paths []string, o Options) (*data.Table, error) {
	all, err := openAll(paths, o)
	defer all.close()
	if err != nil {
		return nil, err
	}
	o.Float32 = o.Float32 && !slices.ContainsFunc(slices.Concat(all.columns...),
		func(f field) bool { return !f.single && !f.categorical })
	t, err := newTable(all.columns[0], all.rows, o)
	if err != nil {
		return nil, err
	}
	at := 0
	err = all.each(rowsOf(nearby, all.columns[0]), func(f source, columns []field, rows int) error {
		if at += rows; at > all.rows {
			return errRows
		}
		err := guarded(func() error { return f.Put(t, columns, at-rows) })
		o.progress(at, all.rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t.done(0), nil
}

// Blocks reads files as [Read] does, but yields a sequence of tables, each with some of the rows, so that memory does
// not grow with the number of rows. It holds one row group of Parquet, as compressed as in the file, or one record
// batch of Arrow, and 8 MB of numbers. [data.Table.Origin] counts the rows of all tables.
func Blocks(paths []string, o Options) iter.Seq2[*data.Table, error] {
	return func(yield func(*data.Table, error) bool) {
		all, err := openAll(paths, o)
		defer all.close()
		if err != nil {
			yield(nil, err)
			return
		}
		o.Store, o.Float32 = nil, false
		at := 0
		err = all.each(rowsOf(1<<20, all.columns[0]), func(f source, columns []field, rows int) error {
			t, err := newTable(columns, rows, o)
			if err == nil {
				err = guarded(func() error { return f.Put(t, columns, 0) })
			}
			if err != nil {
				return err
			}
			at += rows
			o.progress(at, all.rows)
			if !yield(t.done(at-rows), nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// nearby is how many cells of a table, which has its rows one after the other, stay in a processor's cache while they
// are filled column by column.
const nearby = 1 << 16

// rowsOf is how many rows have so many cells.
func rowsOf(cells int, columns []field) int { return max(cells/len(columns), 1<<10) }

var errEnough = errors.New("no more tables are wanted")

// ErrNoColumn reports that Options.Keep keeps no column of a file.
var ErrNoColumn = errors.New("no column is left; keep at least one")

// files are those that are read, as one table.
type files struct {
	paths   []string
	sources []source
	columns [][]field // of each, in the order of the first
	of      []int     // rows of each
	rows    int       // of all
}

func openAll(paths []string, o Options) (*files, error) {
	all := &files{paths: paths}
	for i, path := range paths {
		f, err := open(path, o)
		if err != nil {
			return all, err
		}
		all.sources = append(all.sources, f)
		groups := f.Groups()
		if len(groups) > 0 && slices.Min(groups) < 0 {
			return all, fmt.Errorf("%s: %w", path, errRows)
		}
		rows := sum(groups)
		columns, err := kept(f, o)
		if err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
		all.columns = append(all.columns, columns)
		if err := alike(all.columns[0], columns); err != nil {
			return all, fmt.Errorf("%s and %s are not parts of one table: %w", paths[0], path, err)
		}
		all.rows += rows
		all.of = append(all.of, rows)
		if i == 0 && len(columns) == 0 {
			return all, fmt.Errorf("%s: %w", path, ErrNoColumn)
		}
	}
	if all.rows == 0 {
		return all, fmt.Errorf("%s: the file has no rows", paths[0])
	}
	return all, nil
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

func (all *files) close() {
	for _, f := range all.sources {
		f.Close() //nolint:errcheck // nothing was written
	}
}

// each calls use for so many rows at most, one file after another.
func (all *files) each(most int, use func(f source, columns []field, rows int) error) error {
	for i, f := range all.sources {
		read := 0
		for {
			rows := 0
			err := guarded(func() (err error) {
				rows, err = f.Next(all.columns[i], most)
				return err
			})
			if err == nil && rows == 0 && read != all.of[i] {
				err = errRows
			}
			if err == nil && rows > 0 {
				err = use(f, all.columns[i], rows)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", all.paths[i], err)
			}
			if rows == 0 {
				break
			}
			read += rows
		}
	}
	return nil
}

// guarded makes an error of a panic of Arrow's code.
func guarded(read func() error) (err error) {
	defer func() {
		if e := damage(recover()); e != nil {
			err = e
		}
	}()
	return read()
}

// A source is an open file, which is read from its first group of rows on, or from another one.
type source interface {
	io.Closer
	Fields() []field
	Groups() (rows []int) // of each: a row group, or a record batch
	Seek(group int) error
	// Next goes on to the next rows, and returns how many they are: so many at most, as far as the format lets it, and 0
	// at the end.
	Next(columns []field, most int) (rows int, err error)
	// Put puts columns of those rows into rows of a table from one on, in the table's order of columns.
	Put(t *table, columns []field, from int) error
}

func open(path string, o Options) (_ source, err error) {
	opened := os.Open
	if o.Open != nil {
		opened = o.Open
	}
	f, err := opened(path)
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
	switch {
	case string(head) == arrowMagic:
		return openArrow(f, 8)
	case bytes.HasPrefix(head, []byte(streamMagic)):
		return openArrow(f, 0)
	}
	return openParquet(f)
}

var errRows = errors.New("the number of rows is not the announced one: the file is damaged")

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
	single      bool   // it has float32
	strange     string // a type that is neither of numbers nor of categories
}

// kept are the columns that are read.
func kept(f source, o Options) (list []field, err error) {
	for _, one := range f.Fields() {
		if o.Keep != nil && !o.Keep(one.name) {
			continue
		}
		if one.strange != "" {
			return nil, fmt.Errorf("column %q is %s: neither numbers nor categories; leave it out", one.name, one.strange)
		}
		one.categorical = one.categorical || o.Text != nil && o.Text(one.name)
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
			return fmt.Errorf("column %q is only in the first", want.name)
		case other[j].categorical != want.categorical:
			return fmt.Errorf("column %q has numbers in one of them and texts in the other", want.name)
		}
		other[i], other[j] = other[j], other[i]
	}
	return nil
}
