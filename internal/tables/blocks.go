package tables

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/wording"
)

// A rowTally is what is noted of a table, counted in tables of some of its rows, one after another.
type rowTally struct {
	rows, dropped int              // those read, and those that --missing leaves out
	values, gaps  int              // missing values that are integrated out, and the rows that have some
	marked        map[string][]int // cells that each text of --na makes missing, by column
	names         []string         // the columns that are used
	skipped       int              // lines without a value between the rows
	unseen        []unseenCells    // that --unseen makes missing, one for each column that has some
}

// unseenCells are those of a column whose levels a model has not seen.
type unseenCells struct {
	column, text string // the text of the first
	row, n       int    // its place in the table, and how many there are
}

// mark counts the cells that --na makes missing.
func (t *rowTally) mark(in *Input) {
	t.names = in.Names
	for _, name := range in.Names {
		for i, n := range in.MarkedMissing(name) {
			if t.marked == nil {
				t.marked = map[string][]int{}
			}
			if t.marked[name] == nil {
				t.marked[name] = make([]int, len(in.MarkedMissing(name)))
			}
			t.marked[name][i] += n
		}
	}
}

func (t *rowTally) noteNA(s *Session, in *Input, texts []string) {
	count := func(of func(marked []int) int) (cells int, names []string) {
		for _, name := range t.names {
			if marked := t.marked[name]; marked != nil && of(marked) > 0 {
				cells, names = cells+of(marked), append(names, name)
			}
		}
		return cells, names
	}
	for i, text := range texts {
		cells, names := count(func(marked []int) int { return marked[i] })
		if cells == 0 {
			s.Note("--na %s makes no cell of %s missing: no cell in use is %q", wording.Word(text), in.Name, text)
			continue
		}
		s.Note("--na %s makes %s of %s missing, in %s", wording.Word(text), wording.Counted(cells, "cell"), in.Name,
			wording.Quoted(names))
	}
	if cells, names := count(func(marked []int) int { return marked[len(marked)-1] }); cells > 0 {
		s.Note("%s: N/A, NULL, k.A. and the like are read as missing: %s, in %s", in.Name, wording.Counted(cells, "cell"),
			wording.Quoted(names))
	}
}

// addUnseen counts the cells that have a value before, in a table of the same columns, and none any more.
func (t *rowTally) addUnseen(in *Input, before *data.Table) {
	for j, name := range in.Names {
		if in.Levels(name) == nil {
			continue
		}
		at := slices.IndexFunc(t.unseen, func(c unseenCells) bool { return c.column == name })
		for row := range in.Rows() {
			v := before.Number(row, j)
			if v != v || in.Number(row, j) >= 0 {
				continue
			}
			if at < 0 {
				text := strconv.FormatFloat(v, 'g', -1, 64)
				if levels := before.Levels(name); levels != nil {
					text = levels[int(v)]
				}
				at = len(t.unseen)
				t.unseen = append(t.unseen, unseenCells{column: name, text: text, row: in.Origin(row)})
			}
			t.unseen[at].n++
		}
	}
}

func (t *rowTally) noteUnseen(s *Session, in *Input) {
	cells, list := 0, []string(nil)
	for _, c := range t.unseen {
		cells += c.n
		such := ""
		if c.n > 1 {
			such = wording.Counted(c.n, "cell") + ", such as "
		}
		list = append(list, fmt.Sprintf("%.60q (%s%.60q in row %d)", c.column, such, c.text, c.row+1))
	}
	if cells > 0 {
		s.Note("--unseen missing makes %s of %s missing, as the model has not seen their levels: %s",
			wording.Counted(cells, "cell"), in.Name, wording.Listed(list, 20))
	}
}

// Note notes what was counted, once all rows have been read.
func (t *rowTally) Note(s *Session, in *Input, texts []string) {
	t.noteSkipped(s, in)
	t.noteNA(s, in, texts)
	t.noteUnseen(s, in)
	t.noteDropped(s, in)
	t.noteGaps(s, in)
}

// None says whether all rows were left out.
func (t *rowTally) None() bool { return t.dropped == t.rows }

// NoteUnseen notes the cells that --unseen makes missing, which had a value before, once all rows have been read.
func (in *Input) NoteUnseen(s *Session, before *data.Table) {
	if in.Tally != nil {
		in.Tally.addUnseen(in, before)
		return
	}
	t := new(rowTally)
	t.addUnseen(in, before)
	t.noteUnseen(s, in)
}

// skipped are the empty lines of a file that has a single column, whose missing values they may be.
func (in *Input) skipped() int {
	if in.Cols() > 1 {
		return 0
	}
	return in.EmptyLines()
}

func (t *rowTally) noteSkipped(s *Session, in *Input) {
	if t.skipped > 0 {
		s.Note("skipped %s of %s, which are not rows: write NA where a value is missing",
			wording.Counted(t.skipped, "empty line"), in.Name)
	}
}

func (t *rowTally) noteDropped(s *Session, in *Input) {
	what := "which have missing values"
	if in.Missing == missingEmpty {
		what = "which have no value"
	}
	if t.dropped > 0 {
		s.Note("left out %d of the %d rows of %s, %s", t.dropped, t.rows, in.Name, what)
	}
}

func (t *rowTally) noteGaps(s *Session, in *Input) {
	if t.values > 0 {
		s.Note("%s in %d of the %d rows of %s integrated out (--missing drop leaves the rows out)",
			wording.Counted(t.values, "missing value"), t.gaps, t.rows-t.dropped, in.Name)
	}
}

// blocks reads the table as inputs of some rows each, one after another; an embedded data set is one. The store's
// Check tells whether the files have stayed what they were.
func (f *Options) blocks(
	s *Session, source string, reading func(name string) data.Reading, far *progress.Reading,
) iter.Seq2[*Input, error] {
	return func(yield func(*Input, error) bool) {
		if _, embedded := data.Lookup(source); embedded {
			yield(f.read(s, source, reading, far))
			return
		}
		in, r, err := f.reader(s, source, reading, far)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, path := range r.paths {
			if err := s.Store.Watch(path); err != nil {
				yield(nil, err)
				return
			}
		}
		for t, err := range r.blocks() {
			if changed := s.Store.Check(); err != nil && changed != nil { // which is why it makes no sense
				yield(nil, changed)
				return
			}
			one := *in
			one.Table = t
			if !yield(&one, r.explain(in, err)) {
				return
			}
		}
	}
}

// OpenBlocks begins to read the table as inputs of some rows each: next is the next one, nil after the last. One is
// read while another is worked on. Like open, it says how far it is and gives up waiting when the session is
// interrupted. stop ends it.
func (f *Options) OpenBlocks(
	s *Session, source string, reading func(name string) data.Reading, status *progress.Line,
) (next func() (*Input, error), stop func()) {
	type answer struct {
		in  *Input
		err error
	}
	answers, stopped := make(chan answer), make(chan struct{})
	far := progress.NewReading(source)
	go func() {
		defer close(answers)
		for in, err := range f.blocks(s, source, reading, far) {
			select {
			case answers <- answer{in, err}:
			case <-stopped:
				return
			}
		}
	}()
	total := new(rowTally)
	next = func() (*Input, error) {
		a, here := progress.Receive(s, answers, status, far)
		switch {
		case !here:
			return nil, fmt.Errorf("interrupted while reading %s", source)
		case a.err != nil || a.in == nil: // or the last one has been
			return nil, a.err
		}
		a.in.Tally = total
		a.in.Unnamed = Generated(a.in.Names)
		if err := f.begun(s, a.in, total.rows == 0); err != nil {
			return nil, err
		}
		total.rows += a.in.Rows()
		total.skipped += a.in.skipped()
		return a.in, nil
	}
	stop = func() {
		close(stopped)
		status.Close()
	}
	return next, stop
}

// begun has the dates of some rows become numbers; the first ones decide on their forms.
func (f *Options) begun(s *Session, in *Input, first bool) error {
	if first {
		f.noteNumbers(s, in)
		if err := cmp.Or(f.noteNameless(s, in), f.takeDates(s, in)); err != nil {
			return err
		}
		for i, name := range f.Dates.Names {
			f.Dates.Forms[i] = in.dates.Forms[slices.Index(in.dates.Names, name)]
		}
		return nil
	}
	return f.takeDates(s.Quietly(), in)
}
