package tables

import (
	"strings"

	"github.com/latent-go/latent/internal/wording"
)

// noteNameless says what columns are called for which the header has no name, and leaves out those without a value too,
// as a separator at the ends of lines makes them. The first may name the rows (see takeRowNames).
func (f *Options) noteNameless(s *Session, in *Input) error {
	if in.Table == nil {
		return nil
	}
	named, _ := in.RowNames()
	var empty, called []string
	for _, name := range in.Nameless() {
		switch {
		case name == named:
		case in.Tally == nil && in.Empty(name) && in.Cols() > len(empty)+1:
			empty = append(empty, name)
		default:
			called = append(called, name)
		}
	}
	if len(called) > 0 {
		s.Note("%s: the header has no name for %s, named by %s", in.Name, wording.Quoted(called),
			wording.Plural(len(called), "its place", "their places"))
	}
	if len(empty) == 0 {
		return nil
	}
	s.Note("%s: left out, with neither a name in the header nor a value: %s", in.Name, strings.Join(empty, ", "))
	in.left = append(in.left, empty...)
	var err error
	in.Table, err = in.Table.Drop(empty...)
	return in.Wrap(err)
}
