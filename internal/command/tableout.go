package command

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/jsontext"
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
