package columnar

import (
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

type arrowFile struct {
	*ipc.FileReader
	file *os.File
	rows int
}

func openArrow(f *os.File) (source, error) {
	r, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, fmt.Errorf("no whole Arrow file: %w", err)
	}
	a := &arrowFile{r, f, 0}
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

func (f *arrowFile) Rows() int    { return f.rows }
func (f *arrowFile) Close() error { return errors.Join(f.FileReader.Close(), f.file.Close()) }

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

func (f *arrowFile) Fill(t *table, columns []field, from int) error {
	for i := range f.NumRecords() {
		batch, err := f.RecordBatchAt(i)
		if err != nil {
			return err
		}
		n := int(batch.NumRows())
		if from+n > t.rows {
			return errRows
		}
		for j, c := range columns {
			if err := t.put(j, from, batch.Column(c.place)); err != nil {
				return fmt.Errorf("column %q: %w", c.name, err)
			}
		}
		from += n
		batch.Release()
	}
	return nil
}
