package data

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// HeaderMode tells whether the first row of a CSV file names the columns.
type HeaderMode int

const (
	HeaderAuto HeaderMode = iota // the first row is a header if none of its cells is a number other than Inf
	HeaderYes                    // the first row is a header
	HeaderNo                     // the first row is data; the columns are V1, V2, …
)

// CSVOptions says how to read a CSV file. The zero value reads most.
type CSVOptions struct {
	Header HeaderMode
	// Comma separates fields. Zero means the one among comma, semicolon and tab that occurs most often in
	// the first line that is not empty, outside quotes.
	Comma rune
	// NA lists texts that are missing values as well, such as "?" or -999. Blanks around them do not matter.
	NA []string
	// Reading says how the column of a name is read. Nil stands for ReadByForm.
	Reading func(name string) Reading
}

// Reading says whether a column whose cells look like numbers is one of numbers.
type Reading int

const (
	ReadByForm  Reading = iota // a column is categorical if it has a cell that is no number
	ReadAsCodes                // likewise, and also if its cells are digits alone, some with a leading zero: 01234
	ReadAsText                 // the column is categorical, and its levels are its cells' exact texts
)

// ReadCSV reads a table from comma-separated values in UTF-8, as RFC 4180 and [encoding/csv] understand
// them: quoted fields may hold commas and line ends, and empty lines are skipped.
//
// A cell that is empty, NA or NaN is missing. Blanks around a number do not matter, nor do they around the
// names in the header, where an empty or NA cell becomes V1, V2, … by its place. Numbers are decimal,
// rounded to the nearest float64, or Inf. A column with any other cell is categorical, and its levels are
// the cells' exact texts: 01 and 1 differ. The options can have other texts for missing values, and other
// columns categorical.
//
// What makes a column categorical may come late, when the exact texts above it are gone; then the input is read a second time.
// For that it is sought back to where it stood; one that cannot seek is kept in memory meanwhile. Lines are read by
// as many goroutines as may run at a time, but for those that have more than plain cells, which is faster by far; the
// table and the errors are the same.
//
// It is an error if there are no rows, if a row has more or fewer cells than the first, if quotes do not
// match, if two columns have one name, if a name or a level is not valid UTF-8, or if a number is beyond
// the range of a float64. Errors name the line.
func ReadCSV(r io.Reader, o CSVOptions) (*Table, error) {
	return readCSV(rewinder(r), o, pace{runtime.GOMAXPROCS(0), sectionSize})
}

// readCSV reads what open returns, which it calls once or twice.
func readCSV(open func() (io.Reader, error), o CSVOptions, p pace) (*Table, error) {
	b := csvBuilder{na: o.NA}
	if err := b.read(open, o, p); err != nil {
		return nil, err
	}
	if b.late {
		b = b.successor()
		if err := b.read(open, o, p); err != nil {
			return nil, err
		}
	}
	return b.table(), nil
}

// csvBuilder collects a table row by row. A column counts as numeric until a cell tells otherwise.
type csvBuilder struct {
	names   []string
	columns []csvColumn
	unnamed bool // the names are made up
	rows    int
	flat    []float64
	na      []string

	kindsKnown bool // second reading
	late       bool // a column turned categorical after its first row: values are no longer kept
}

type csvColumn struct {
	categorical bool
	codes       bool // ReadAsCodes, and all cells were digits alone so far
	padded      bool // one of its cells has a leading zero
	factor      factor
	index       map[string]int32 // level → code
	marked      []int            // cells that are missing by a text of the options, one number a text; nil: none
	outOfRange  error            // its first number too large for a float64, an error if the column is numeric
}

// successor is the builder for the second reading: kinds and sizes are known, so it grows no slice.
func (b *csvBuilder) successor() csvBuilder {
	next := csvBuilder{kindsKnown: true, na: b.na, columns: make([]csvColumn, len(b.columns))}
	numeric := 0
	for j, c := range b.columns {
		if next.columns[j].categorical = c.categorical; c.categorical {
			next.columns[j].factor.codes = make([]int32, 0, b.rows)
		} else {
			numeric++
		}
	}
	next.flat = make([]float64, 0, b.rows*numeric)
	return next
}

// read reads the whole of what open returns.
func (b *csvBuilder) read(open func() (io.Reader, error), o CSVOptions, p pace) error {
	r, err := open()
	if err != nil {
		return err
	}
	records, err := newRecords(r, o.Comma)
	if err != nil {
		return err
	}
	first, err := records.Read()
	if err == io.EOF {
		return errors.New("the input is empty; a table needs at least one row")
	}
	if err != nil {
		return explain(err, records.Comma, first, 0, 0)
	}
	width := len(first)
	firstLine := records.line(0)
	header := o.Header == HeaderYes || o.Header == HeaderAuto && !slices.ContainsFunc(first, hasDigits)
	if header {
		if err := validNames(first, records); err != nil {
			return err
		}
	}
	if b.names, err = columnNames(first, header); err != nil {
		return err
	}
	b.unnamed = !header
	if b.columns == nil {
		b.columns = newColumns(b.names, o.Reading)
	}
	if len(b.columns) != width {
		return errChanged
	}
	if !header {
		if err := b.add(first, records); err != nil {
			return err
		}
	}
	nextSweep, pause := int64(0), int64(1<<12) // a text that is not for sweeps has few of them
	for {
		if p.workers > 0 && sweepable(records.Comma) && records.offset() >= nextSweep {
			b.sweep(records, p)
			nextSweep, pause = records.offset()+pause, 2*pause
		}
		record, err := records.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return explain(err, records.Comma, record, width, firstLine)
		}
		b.makeRoom(float64(records.offset()) / float64(records.size))
		if err := b.add(record, records); err != nil {
			return err
		}
	}
	b.findCodes()
	return b.check()
}

func newColumns(names []string, reading func(name string) Reading) []csvColumn {
	columns := make([]csvColumn, len(names))
	if reading != nil {
		for j, name := range names {
			how := reading(name)
			columns[j].categorical, columns[j].codes = how == ReadAsText, how == ReadAsCodes
		}
	}
	return columns
}

// findCodes makes the columns categorical that turned out to be codes.
func (b *csvBuilder) findCodes() {
	for j := range b.columns {
		if c := &b.columns[j]; !c.categorical && c.codes && c.padded {
			c.categorical = true
			b.forget()
		}
	}
}

// check looks for what only the end of the input shows to be wrong.
func (b *csvBuilder) check() error {
	if b.rows == 0 {
		return errOnlyHeader
	}
	for _, c := range b.columns {
		if !c.categorical && c.outOfRange != nil {
			return c.outOfRange
		}
	}
	return nil
}

var errOnlyHeader = fmt.Errorf("there are names but no rows; %w", ErrNoHeader)

// makeRoom makes room for the next row, given the share of the text that is read; infinite if not known.
func (b *csvBuilder) makeRoom(share float64) {
	if width := len(b.columns); !b.late && cap(b.flat)-len(b.flat) < width {
		b.flat = reserve(b.flat, width, int(1.05*float64(len(b.flat))/share))
	}
}

var errChanged = errors.New("the input changed while it was read; read it again")

// add takes one row. It allocates for new levels only, beyond the growth of its slices.
func (b *csvBuilder) add(record []string, records *records) error {
	b.rows++
	for j, cell := range record {
		c := &b.columns[j]
		if c.categorical {
			if b.late {
				continue
			}
			if err := c.addLevel(b.na, cell); err != nil {
				return b.explain(err, records, j)
			}
			continue
		}
		value, kind := math.NaN(), missing
		if !c.marks(b.na, cell) {
			value, kind = parse(cell)
		}
		if kind == text {
			if b.kindsKnown {
				return errChanged
			}
			c.categorical = true
			if b.rows > 1 {
				b.forget()
			} else if err := c.addLevel(b.na, cell); err != nil {
				return b.explain(err, records, j)
			}
			continue
		}
		if kind == outOfRange && c.outOfRange == nil {
			c.outOfRange = fmt.Errorf("line %d: row %d of column %q is %.60q, beyond the range of a 64-bit float; rescale the column",
				records.line(j), b.rows, b.names[j], cell)
		}
		if c.codes && kind != missing {
			c.notice(strings.TrimSpace(cell))
		}
		if !b.late {
			b.flat = append(b.flat, value)
		}
	}
	return nil
}

// notice keeps what a number tells of whether its column is one of codes.
func (c *csvColumn) notice(cell string) {
	c.codes = isDigits(cell)
	c.padded = c.padded || len(cell) > 1 && cell[0] == '0'
}

// marks tells whether a cell is missing by a text of the options, and counts it.
func (c *csvColumn) marks(na []string, cell string) bool {
	if len(na) == 0 {
		return false
	}
	cell = strings.TrimSpace(cell)
	i := slices.IndexFunc(na, func(text string) bool { return cell == strings.TrimSpace(text) })
	if i < 0 {
		return false
	}
	if c.marked == nil {
		c.marked = make([]int, len(na))
	}
	c.marked[i]++
	return true
}

// explain puts the place of the last row's cell in column j before an error.
func (b *csvBuilder) explain(err error, records *records, j int) error {
	return fmt.Errorf("line %d: row %d of column %q is %w", records.line(j), b.rows, b.names[j], err)
}

// forget drops the values read so far: from here on only the kinds of the columns matter.
func (b *csvBuilder) forget() {
	b.late = true
	b.flat = nil
	for j := range b.columns {
		b.columns[j].factor, b.columns[j].index = factor{}, nil
	}
}

func (c *csvColumn) addLevel(na []string, cell string) error {
	code, ok := c.index[cell]
	if !ok {
		switch {
		case c.marks(na, cell) || isMissing(strings.TrimSpace(cell)): // which no level is
			code = missingCode
		case !utf8.ValidString(cell):
			return notUTF8(cell)
		default:
			code = c.newLevel(strings.Clone(cell)) // else it would keep its whole row in memory
		}
	}
	c.factor.codes = append(c.factor.codes, code)
	return nil
}

func (c *csvColumn) newLevel(level string) int32 {
	if c.index == nil {
		c.index = make(map[string]int32)
	}
	code := int32(len(c.factor.levels))
	c.index[level] = code
	c.factor.levels = append(c.factor.levels, level)
	return code
}

func notUTF8(cell string) error {
	return fmt.Errorf("%.60q, which is not UTF-8; %s", cell, saveAsUTF8)
}

// validNames refuses a header in another encoding.
func validNames(first []string, records *records) error {
	for j, cell := range first {
		if !utf8.ValidString(cell) {
			return fmt.Errorf("line %d: the name of column %d is %w", records.line(j), j+1, notUTF8(cell))
		}
	}
	return nil
}

func (b *csvBuilder) table() *Table {
	t := &Table{Names: b.names, unnamed: b.unnamed, rows: b.rows, flat: b.flat, columns: make([]column, len(b.columns))}
	for j, c := range b.columns {
		t.columns[j].marked = c.marked
		if c.categorical {
			f := c.factor // alone: its index is not needed any more
			t.columns[j].factor = &f
			continue
		}
		t.columns[j].at = t.stride
		t.stride++
	}
	return t
}

// columnNames takes the names from the first record, or numbers the columns.
func columnNames(first []string, header bool) ([]string, error) {
	names := make([]string, len(first))
	place := make(map[string]int, len(first))
	for j, cell := range first {
		name := strings.TrimSpace(cell)
		if !header || isMissing(name) {
			name = defaultName(j)
		}
		names[j] = strings.Clone(name)
		if i, ok := place[name]; ok {
			return nil, fmt.Errorf("columns %d and %d are both named %q; rename one", i+1, j+1, name)
		}
		place[names[j]] = j
	}
	return names, nil
}
