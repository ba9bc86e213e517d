package columnar

import (
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

type arrowFile struct {
	*ipc.FileReader
	file  *os.File
	rows  int
	next  int               // record batch
	batch arrow.RecordBatch // the one before it
}

func openArrow(f *os.File) (source, error) {
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, fmt.Errorf("no whole Arrow file: %w", err)
	}
	a := &arrowFile{FileReader: r, file: f}
	for i := range r.NumRecords() {
		batch, err := r.RecordBatchAt(i)
		if err != nil {
			return nil, err
		}
		a.rows += int(batch.NumRows())
		batch.Release()
	}
	return a, nil
}

func (f *arrowFile) Rows() int { return f.rows }
func (f *arrowFile) Close() error {
	f.release()
	return errors.Join(f.FileReader.Close(), f.file.Close())
}

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

func (f *arrowFile) Next([]field, int) (rows int, err error) {
	for rows == 0 {
		f.release()
		if f.next == f.NumRecords() {
			return 0, nil
		}
		if f.batch, err = f.RecordBatchAt(f.next); err != nil {
			return 0, err
		}
		f.next++
		rows = int(f.batch.NumRows())
	}
	return rows, nil
}

func (f *arrowFile) release() {
	if f.batch != nil {
		f.batch.Release()
		f.batch = nil
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
