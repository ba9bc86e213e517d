// Package tables reads the table of a command, from files, patterns of files, standard input and the embedded data
// sets, as flags say, and takes out of it what is none of the columns of a model: names of rows, known classes,
// weights, which sequence a row belongs to. Remarks about it go to whoever asked, and errors name the table, its
// columns and its rows.
package tables

import (
	"context"
	"fmt"
	"io"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/progress"
)

// A Session is where tables are read for somebody.
type Session struct {
	context.Context
	Stdin   io.Reader
	Sources map[string]Source     // by scheme
	Store   *data.Store           // of the numbers of tables
	Line    func() *progress.Line // for work that begins now
	Notes   []string              // remarks so far
}

// Note keeps a remark.
func (s *Session) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// Quietly is the session with notes of its own, which nobody reads.
func (s *Session) Quietly() *Session {
	quiet := *s
	quiet.Notes = nil
	return &quiet
}
