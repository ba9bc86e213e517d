package tables

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Describe names the data in one line.
func (in *Input) Describe(n float64) string {
	if in.What != "" {
		return report.Printable(in.Name) + ": " + in.What
	}
	line := fmt.Sprintf("%s: %s × %s", report.Printable(in.Name), wording.Counted(in.Rows(), "row"),
		wording.Counted(in.Cols(), "column"))
	if in.WeightColumn != "" {
		line += fmt.Sprintf(", weighted by column %q: N = %.10g", in.WeightColumn, n)
	}
	return line
}

// Shortened are warnings that name the file without its folders.
func (in *Input) Shortened(warnings []string) (list []string) {
	for _, one := range warnings {
		list = append(list, report.Printable(strings.ReplaceAll(one, in.Name, filepath.Base(in.Name))))
	}
	return list
}

// Title is the name of the file, without its folders.
func (in *Input) Title() string { return report.Printable(filepath.Base(in.Name)) }

// Contents are the rows and columns, without the name of the table.
func (in *Input) Contents(n float64) string {
	return strings.TrimPrefix(in.Describe(n), report.Printable(in.Name)+": ")
}

// NoteAll are remarks of a model about the table.
func (in *Input) NoteAll(s *Session, list []string) {
	for _, note := range list {
		s.Note("%s: %s", in.Name, note)
	}
}
