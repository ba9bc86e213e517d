package command

import (
	"bufio"
	"cmp"
	"io"

	"github.com/latent-go/latent/data"
)

// tableJSON writes a table as one object: the names of the columns, a list for each row, and the warnings.
type tableJSON struct {
	objectWriter
	heads []data.Head
	notes []string
}

// emitAs is emitTable, or the table as JSON.
func (s *session) emitAs(format, out string, heads []data.Head, write func(to data.Writer) error) error {
	if format != "json" {
		return s.emitTable(out, heads, write)
	}
	return s.emit(out, func(w io.Writer) error {
		to := &tableJSON{objectWriter{Writer: bufio.NewWriter(w)}, heads, append([]string{}, s.Notes...)}
		to.open("", "{")
		to.list("columns", len(heads), func(j int) any { return heads[j].Name })
		to.open("rows", "[")
		return cmp.Or(write(to), to.Close())
	})
}

// Write implements [data.Writer].
func (t *tableJSON) Write(texts []string, numbers []float64) error {
	rows, err := data.RowsOf(t.heads, texts, numbers)
	if err != nil {
		return err
	}
	for range rows {
		t.open("", "[")
		for _, head := range t.heads {
			if head.Cells == data.Texts {
				t.field("", texts[0])
				texts = texts[1:]
				continue
			}
			t.field("", number(numbers[0]))
			numbers = numbers[1:]
		}
		t.close("]")
	}
	return t.err
}

// Close implements [data.Writer].
func (t *tableJSON) Close() error {
	t.objectWriter.close("]")
	t.field("warnings", t.notes)
	t.objectWriter.close("}\n")
	return cmp.Or(t.err, t.Flush())
}
