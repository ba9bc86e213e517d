package command

import (
	"slices"
	"strings"
)

// noteNameless says what columns are called for which the header has no name, and leaves out those without a value too,
// as a separator at the ends of lines makes them. The first may name the rows (see takeRowNames).
func (f *inputFlags) noteNameless(s *session, in *input) error {
	if in.Table == nil {
		return nil
	}
	named, _ := in.RowNames()
	var empty, called []string
	for _, name := range in.Nameless() {
		switch {
		case name == named:
		case in.tally == nil && in.Empty(name) && in.Cols() > len(empty)+1:
			empty = append(empty, name)
		default:
			called = append(called, name)
		}
	}
	if len(called) > 0 {
		s.note("%s: the header has no name for %s, named by %s", in.name, quoted(called),
			plural(len(called), "its place", "their places"))
	}
	if len(empty) == 0 {
		return nil
	}
	s.note("%s: left out, with neither a name in the header nor a value: %s", in.name, strings.Join(empty, ", "))
	in.left = append(in.left, empty...)
	var err error
	in.Table, err = in.Table.Drop(empty...)
	return in.wrap(err)
}

// takeRowNames has the first column name the rows, as --id does, where it has no name in the header and no flag names
// it.
func (f *fittingFlags) takeRowNames(s *session, in *input, asked ...string) error {
	name, is := in.RowNames()
	asked = slices.Concat(asked, f.Select, f.Drop, f.ID, f.Described().Names, f.Dates.Names)
	if r := f.Explained(); r != nil {
		asked = append(slices.Concat(asked, r.By), r.Response)
	}
	if !is || slices.Contains(asked, name) {
		return nil
	}
	what := "names"
	if in.Levels(name) == nil {
		what = "numbers"
	}
	if len(f.ID) > 0 {
		s.note("%s: left out column 1, which has no name in the header and %s the rows", in.name, what)
		var err error
		in.Table, err = in.Table.Drop(name)
		return in.wrap(err)
	}
	s.note("%s: column 1, which has no name in the header, %s the rows and is not data (--id %s)", in.name, what,
		item(name))
	f.ID = []string{name}
	return nil
}
