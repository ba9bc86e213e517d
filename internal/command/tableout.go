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

// tableWriter begins a table as Parquet where the name of its file says so, and else as CSV.
func tableWriter(out string) func(io.Writer, []data.Head) (data.Writer, error) {
	if isParquet(out) {
		return columnar.NewParquetWriter
	}
	return data.NewCSVWriter
}

// emitTable writes a table to the file of --out, as Parquet where its name says so and else as CSV, or to standard
// output.
func (s *session) emitTable(out string, heads []data.Head, write func(to data.Writer) error) error {
	return s.emit(out, func(w io.Writer) error {
		to, err := tableWriter(out)(w, heads)
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
	return s.emit(path, func(w io.Writer) error { return t.Write(w, tableWriter(path)) })
}
