package command

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/report"
)

// isParquet says whether a file that is written is to be Parquet, by its name.
func isParquet(out string) bool { return strings.EqualFold(filepath.Ext(out), ".parquet") }

// emitTable writes a table to the file of --out, as Parquet where its name says so and else as CSV, or to standard
// output.
func (s *session) emitTable(out string, heads []data.Head, write func(to data.Writer) error) error {
	begin := data.NewCSVWriter
	if isParquet(out) {
		begin = columnar.NewParquetWriter
	}
	return s.emit(out, func(w io.Writer) error {
		to, err := begin(w, heads)
		if err != nil {
			return err
		}
		if err := write(to); err != nil {
			return err
		}
		return to.Close()
	})
}

// emitAs is emitTable, or the table as JSON.
func (s *session) emitAs(format, out string, heads []data.Head, write func(to data.Writer) error) error {
	if format != "json" {
		return s.emitTable(out, heads, write)
	}
	return s.emit(out, func(w io.Writer) error {
		to := jsontext.NewTable(w, heads, append([]string{}, s.Notes...))
		return cmp.Or(write(to), to.Close())
	})
}

// save writes a table as CSV, or as Parquet by the name of the file, with all digits.
func (s *session) save(path string, t report.Table) error {
	heads, texts, numbers := cellsOf(t)
	return s.emitTable(path, heads, func(to data.Writer) error { return to.Write(texts, numbers) })
}

// cellsOf are the columns of a table and its cells, row by row, as files have them.
func cellsOf(t report.Table) (heads []data.Head, texts []string, numbers []float64) {
	for _, column := range t.Columns {
		heads = append(heads, data.Head{Name: column.Name})
	}
	for _, row := range t.Rows {
		for j, cell := range row {
			switch cell.As {
			case report.Words:
				heads[j].Cells, texts = data.Texts, append(texts, cell.Text)
				continue
			case report.Counts:
				heads[j].Cells = data.Integers
			}
			numbers = append(numbers, cell.Value)
		}
	}
	return heads, texts, numbers
}
