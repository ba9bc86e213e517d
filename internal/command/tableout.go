package command

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
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
