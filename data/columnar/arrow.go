package columnar

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// An arrowFile is of Arrow's file format or of its stream format: both are read from the beginning on, one record batch
// after another.
type arrowFile struct {
	batches
	file  *os.File
	rows  int
	batch arrow.RecordBatch // the one that Next went on to
}

// batches are what the readers of both formats have. A batch is theirs, and there until the next one is read.
type batches interface {
	Schema() *arrow.Schema
	Read() (arrow.RecordBatch, error) // io.EOF at the end
}

// openArrow reads the file once, since a stream does not say beforehand how many rows it has.
func openArrow(f *os.File, begin func(*os.File) (batches, error)) (source, error) {
	counted, err := begin(f)
	if err != nil {
		return nil, err
	}
	a := &arrowFile{batches: counted, file: f}
	for {
		rows, err := a.Next(nil, 0)
		if err != nil {
			return nil, err
		}
		if rows == 0 {
			break
		}
		a.rows += rows
	}
	a.batches, err = begin(f)
	return a, err
}

func beginFile(f *os.File) (batches, error) {
	limits, _, err := within(f)
	if err != nil {
		return nil, err
	}
	r, err := ipc.NewFileReader(f, limits...)
	if err != nil {
		return nil, fmt.Errorf("incomplete or damaged Arrow file: %w", err)
	}
	return r, nil
}

func beginStream(f *os.File) (batches, error) {
	limits, size, err := within(f)
	if err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(io.NewSectionReader(f, 0, size), limits...)
	if err != nil {
		return nil, fmt.Errorf("incomplete or damaged Arrow stream: %w", err)
	}
	return r, nil
}

// within has a message be as large as the file, and no larger: Arrow's own limit is 256 MiB, which batches of large
// tables exceed.
func within(f *os.File) (limits []ipc.Option, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	size = info.Size()
	return []ipc.Option{ipc.WithMetadataSizeLimit(size), ipc.WithBodySizeLimit(size)}, size, nil
}

func (f *arrowFile) Rows() int    { return f.rows }
func (f *arrowFile) Close() error { return f.file.Close() }

func (f *arrowFile) Fields() (list []field) {
	for j, column := range f.Schema().Fields() {
		one := field{name: column.Name, place: j}
		var ok bool
		if one.categorical, ok = kind(column.Type); !ok {
			one.strange = "of type " + column.Type.String()
		}
		list = append(list, one)
	}
	return list
}

func (f *arrowFile) Next([]field, int) (int, error) {
	for {
		batch, err := f.Read()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, err
		case batch.NumRows() > 0:
			f.batch = batch
			return int(batch.NumRows()), nil
		}
	}
}

func (f *arrowFile) Put(t *table, columns []field, from int) error {
	for j, c := range columns {
		if err := t.put(j, from, f.batch.Column(c.place)); err != nil {
			return fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	return nil
}
