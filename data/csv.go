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

	"golang.org/x/text/transform"

	"github.com/latent-go/latent/internal/fastcsv"
)

// HeaderMode says whether the first row of a CSV file names the columns.
type HeaderMode int

const (
	// The first row is a header if none of its cells is a number other than Inf, or if these numbers are years in
	// ascending order, beside texts, and the cells below them are not years.
	HeaderAuto HeaderMode = iota
	HeaderYes             // the first row is a header
	HeaderNo              // the first row is data; the columns are V1, V2, …
)

// CSVOptions say how to read a CSV file. The zero value reads most files.
type CSVOptions struct {
	Header HeaderMode
	// Comma separates fields. Zero selects the one of comma, semicolon and tab that occurs most often, outside quotes,
	// in the first line that is not empty, or a vertical bar if none of them occurs; or else one blank or tab and more,
	// where all lines of the first 64 kB have as many numbers or words between them ([Table.Blanks]).
	Comma rune
	// Decimal is the decimal mark: '.' or ','; the other one may separate thousands. Zero selects the mark that the
	// numbers of the first 64 kB show, or a point if they show neither.
	Decimal byte
	// NA lists further texts that stand for missing values, such as "?" or -999 (which includes -999.0). Blanks around
	// them are ignored.
	NA []string
	// Reading says how to read the column of a name. Nil selects ReadByForm for all columns.
	Reading func(name string) Reading
	// Spellings are those of an earlier table: what the cells of this one leave in doubt is as there, such as 4:30, which
	// may be a time of day, and <5, which may be a class.
	Spellings []Spelling
	// Encoding is the encoding of a CSV file, by its name in the Encoding Standard of WHATWG. Empty selects UTF-16 if a
	// byte order mark or the first letters show it, otherwise UTF-8, or Windows-1252 if a name or a level is not valid
	// UTF-8.
	Encoding string
	// Store holds the numbers of files of any format. Nil: in memory.
	Store *Store
	// Float32 keeps the numbers of an NPY file of float32, of rows one after the other and not compressed, as they are,
	// if the store holds them in memory (see [Table.Float32s]).
	Float32 bool
	Limits  Limits
}

// Reading says whether a column whose cells look like numbers is numeric.
type Reading int

const (
	ReadByForm  Reading = iota // a column is categorical if a cell is not a number
	ReadAsCodes                // likewise, and also if all cells are digits, some with a leading zero: 01234
	ReadAsText                 // the column is categorical, and its levels are its cells' exact texts
)

// ReadCSV reads a table from comma-separated values, as RFC 4180 and [encoding/csv] understand
// them: quoted fields may hold commas and line ends, and empty lines are skipped. Lines above the table are left out
// ([Table.Preamble]): remarks that begin with #, and titles, which have one field where the rows have several, or one
// that is not empty above a row of names (above two columns, titles that an empty line parts from them); not so where
// the options say that there is no header. So are up to three rows below the header that have units or further titles
// ([Table.Titles]): texts or nothing where columns have numbers below, and texts in two such columns at least, but
// nothing in other columns that has the form of what is below it, such as a date.
//
// A cell is missing if it is empty, NA, NaN, N/A, NULL, k.A., another text that pandas reads as missing (except
// None), or a spreadsheet's error such as #DIV/0!. Blanks around numbers and around names in the header are ignored.
// An empty or NA cell of the header becomes "column 1", "column 2", … according to its position. Numbers are decimal,
// with a point, or with a comma throughout; they are rounded to the nearest float64, or are Inf. If all cells of a
// column are numbers, thousands may be separated, and a currency, a percent sign, k, M or 0x may stand beside them; a
// limit such as <0.05 among them is missing ([Table.Spellings]). A column with any other cell is categorical, and its
// levels are the cells' exact texts: 01 and 1 differ. The options name further texts for missing values, and further
// categorical columns.
//
// If the cell that makes a column categorical comes late, the exact texts above it are gone, and the input is read a
// second time. ReadCSV then seeks back to where the input started; an input that cannot seek is kept in memory for
// this purpose. As many goroutines as can run in parallel read lines of plain cells, far faster than other lines; the
// table and the errors are the same.
//
// It returns an error if there are no rows, if a row has more or fewer cells than the first, if quotes do not match,
// if two columns have the same name, if a name or a level is in another encoding, or if a number is beyond the range
// of a float64. Errors name the line.
func ReadCSV(r io.Reader, o CSVOptions) (*Table, error) {
	return readCSV(rewinder(r), o, fullPace())
}

func fullPace() fastcsv.Pace {
	return fastcsv.Pace{Workers: runtime.GOMAXPROCS(0), Bytes: fastcsv.SectionSize}
}

// readCSV reads what open returns, which it calls once or twice. Without workers it reads row by row.
func readCSV(open func() (io.Reader, error), o CSVOptions, p fastcsv.Pace) (*Table, error) {
	encoding := o.Encoding
	read := func() (*csvBuilder, error) {
		return newCSVBuilder(o.NA, o.Store).readTwice(func() (io.Reader, error) {
			r, err := open()
			if err != nil {
				return nil, err
			}
			return decoded(r, encoding)
		}, o, p)
	}
	b, err := read()
	if encoding == "" && errors.Is(err, ErrEncoding) {
		if encoding = encodingFound(open); encoding != "" {
			b, err = read()
		}
	}
	if err != nil {
		return nil, err
	}
	b.encoding = encoding
	return b.table()
}

// readTwice reads what open returns, once more if that is how the kinds of the columns came out.
func (b *csvBuilder) readTwice(open func() (io.Reader, error), o CSVOptions, p fastcsv.Pace) (*csvBuilder, error) {
	err := b.read(open, o, p)
	if err != nil || !b.KindsOnly {
		return b, err
	}
	if b, err = b.successor(); err != nil {
		return nil, err
	}
	return b, b.read(open, o, p)
}

// csvBuilder collects a table row by row. A column counts as numeric until a cell says otherwise. When one becomes
// categorical after its first row, values are no longer kept (KindsOnly).
type csvBuilder struct {
	fastcsv.Table
	store       *Store
	before      *blocksBefore // nil: the text is read from its beginning
	names       []string
	encoding    string     // of the text, if it is not in UTF-8
	preamble    string     // what stands above the table
	titles      [][]string // rows below the header that are no data
	unnamed     bool       // the names are made up, and the first row is among these
	nameless    []string
	years       bool   // the header has years for names
	asText      []bool // columns whose cells are kept as texts
	earlier     map[string]Spelling
	decimalSeen bool     // the text shows what decimals follow, or it was given
	unsure      []string // columns whose decimals may be thousands
	comma       rune
	blanks      bool    // have become tabs, which separate the fields
	firstLine   int     // where the first row of the text is
	outOfRange  []error // by column, its first number too large for a float64: an error if the column is numeric
	kindsKnown  bool    // second reading
}

func newCSVBuilder(na []string, store *Store) *csvBuilder {
	return &csvBuilder{store: store, Table: fastcsv.Table{Missing: na, Grow: store.grow}}
}

// successor is the builder for the second reading: kinds and sizes are known, so it grows no slice.
func (b *csvBuilder) successor() (next *csvBuilder, err error) {
	next = newCSVBuilder(b.Missing, b.store)
	next.before, next.kindsKnown, next.Columns = b.before, true, make([]fastcsv.Column, len(b.Columns))
	numeric := 0
	for _, c := range b.Columns {
		if !c.Categorical {
			numeric++
		}
	}
	codes, err := b.store.codes(len(b.Columns)-numeric, b.Rows)
	if err != nil {
		return nil, err
	}
	for j, c := range b.Columns {
		if next.Columns[j].Categorical = c.Categorical; c.Categorical {
			next.Columns[j].Codes, codes = codes[0][:0], codes[1:]
		}
	}
	next.Numbers, err = b.store.numbers(b.Rows * numeric)
	return next, err
}

// read reads the whole of what open returns.
func (b *csvBuilder) read(open func() (io.Reader, error), o CSVOptions, p fastcsv.Pace) error {
	r, err := open()
	if err != nil {
		return err
	}
	var records *records
	if b.before == nil {
		records, err = b.begin(r, o)
	} else {
		records, err = b.goOn(r, o)
	}
	if err != nil {
		return err
	}
	if err := b.readRows(records, p); err != nil {
		return err
	}
	b.findCodes()
	return b.check()
}

// begin reads the first row, which says what the columns are.
func (b *csvBuilder) begin(r io.Reader, o CSVOptions) (*records, error) {
	records, err := newRecords(r, o)
	if err != nil {
		return nil, err
	}
	first, err := records.Read()
	if err == io.EOF {
		return nil, errEmpty
	}
	if err != nil {
		return nil, b.explain(err, records.Comma, first)
	}
	// Where commas separate fields they are no decimals of those without quotes, whatever an earlier table had.
	b.Decimal, b.decimalSeen = records.decimal, records.seen && !(records.Comma == ',' && records.decimal == ',')
	b.firstLine, b.preamble = records.line(0), records.preamble
	header := o.Header == HeaderYes
	if o.Header == HeaderAuto {
		if header, err = b.isHeader(first, records); err != nil {
			return nil, err
		}
	}
	if header {
		if err := validNames(first, records); err != nil {
			return nil, err
		}
	}
	if b.names, b.nameless, err = columnNames(first, header); err != nil {
		return nil, err
	}
	b.comma, b.blanks, b.unnamed = records.Comma, records.blanks, !header
	for _, j := range records.unsure {
		if j < len(b.names) {
			b.unsure = append(b.unsure, b.names[j])
		}
	}
	if err := b.setColumns(o); err != nil {
		return nil, err
	}
	if !header {
		return records, b.add(first, records)
	}
	for range records.titles {
		row, err := records.Read()
		if err != nil {
			return nil, b.explain(err, records.Comma, row)
		}
		b.titles = append(b.titles, slices.Clone(row))
	}
	return records, nil
}

// goOn is begin behind the rows of another block.
func (b *csvBuilder) goOn(r io.Reader, o CSVOptions) (*records, error) {
	b.names, b.comma, b.Decimal, b.firstLine = b.before.names, b.before.comma, b.before.decimal, b.before.firstLine
	b.nameless, b.decimalSeen, b.blanks = b.before.nameless, b.before.decimalSeen, b.before.blanks
	if b.blanks {
		r = transform.NewReader(r, &blanks{})
	}
	records := recordsOf(r, b.comma, b.Decimal, o.Limits)
	records.lines, records.FieldsPerRecord = b.before.lines, len(b.names)
	b.After = b.before.after
	return records, b.setColumns(o)
}

func (b *csvBuilder) setColumns(o CSVOptions) error {
	b.earlier = make(map[string]Spelling, len(o.Spellings))
	for _, s := range o.Spellings {
		b.earlier[s.Column] = s
	}
	if b.Columns == nil {
		b.Columns = newColumns(b.names, o.Reading)
	}
	if len(b.Columns) != len(b.names) {
		return errChanged
	}
	b.outOfRange, b.asText = make([]error, len(b.names)), make([]bool, len(b.names))
	for j, name := range b.names {
		b.asText[j] = o.Reading != nil && o.Reading(name) == ReadAsText
	}
	return nil
}

// readRows reads the rest.
func (b *csvBuilder) readRows(records *records, p fastcsv.Pace) error {
	fast := p.Workers > 0 && fastcsv.CanSeparate(records.Comma, records.decimal)
	tryAt, pause := int64(0), int64(1<<12) // a text that is not for the fast path has few attempts
	for {
		if fast && records.offset() >= tryAt {
			if err := records.readPlain(&b.Table, p); err != nil {
				return err
			}
			tryAt, pause = records.offset()+pause, 2*pause
		}
		began := records.offset()
		record, err := records.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return b.explain(err, records.Comma, record)
		}
		if err := b.makeRoom(float64(records.offset()) / float64(records.source.Size)); err != nil {
			return err
		}
		if err := b.add(record, records); err != nil {
			return err
		}
		if b.Rows == 1 && !b.kindsKnown &&
			!b.store.holds(b.codeBytes(float64(records.source.Size)/float64(records.offset()-began))) {
			b.forget() // the second reading knows how many codes there are, and the store has a place for them
		}
	}
}

// codeBytes are those of the codes of so many rows like the first.
func (b *csvBuilder) codeBytes(rows float64) float64 {
	bytes := 0.
	for _, c := range b.Columns {
		if c.Categorical {
			bytes += 4 * rows
		}
	}
	return bytes
}

func newColumns(names []string, reading func(name string) Reading) []fastcsv.Column {
	columns := make([]fastcsv.Column, len(names))
	if reading != nil {
		for j, name := range names {
			how := reading(name)
			columns[j].Categorical, columns[j].DigitsOnly = how == ReadAsText, how == ReadAsCodes
		}
	}
	return columns
}

// findCodes makes the columns categorical that turned out to be codes.
func (b *csvBuilder) findCodes() {
	for j := range b.Columns {
		if c := &b.Columns[j]; !c.Categorical && c.DigitsOnly && c.LeadingZero {
			c.Categorical = true
			b.forget()
		}
	}
}

// check looks for what only the end of the input shows to be wrong.
func (b *csvBuilder) check() error {
	if b.Rows == 0 && b.before == nil {
		return errOnlyHeader
	}
	for j, c := range b.Columns {
		if !c.Categorical && b.outOfRange[j] != nil {
			return b.outOfRange[j]
		}
	}
	return nil
}

// row is the number of the last row, from 1.
func (b *csvBuilder) row() int { return b.first() + b.Rows }

// first is the number of rows in the blocks before.
func (b *csvBuilder) first() int {
	if b.before == nil {
		return 0
	}
	return b.before.rows
}

var errEmpty = errors.New("the input is empty; a table needs at least one row")

var errOnlyHeader = fmt.Errorf("there are names but no rows; %w", ErrNoHeader)

// makeRoom makes room for the next row, given the share of the text that is read; infinite if not known.
func (b *csvBuilder) makeRoom(share float64) (err error) {
	if !b.KindsOnly {
		b.Numbers, err = b.store.reserve(b.Numbers, len(b.Columns), int(1.05*float64(len(b.Numbers))/share))
	}
	return err
}

var errChanged = errors.New("the input changed while it was read; read it again")

// add takes one row. It allocates for new levels only, beyond the growth of its slices.
func (b *csvBuilder) add(record []string, records *records) error {
	b.Rows++
	b.Empty, b.After = b.Empty+b.After+records.empty, 0
	for j, cell := range record {
		c := &b.Columns[j]
		if c.Categorical {
			if err := b.addText(records, j, cell); err != nil {
				return err
			}
			continue
		}
		value, kind := math.NaN(), fastcsv.Missing
		if !c.MarksMissing(cell, b.Missing) {
			if value, kind = fastcsv.ParseDecimal(cell, b.Decimal); kind == fastcsv.Missing {
				c.NoteMissing(cell, b.Missing)
			}
		}
		if kind == fastcsv.Text {
			if b.kindsKnown {
				return errChanged
			}
			c.Categorical = true
			if b.Rows > 1 {
				b.forget()
			} else if err := b.addText(records, j, cell); err != nil {
				return err
			}
			continue
		}
		if kind == fastcsv.OutOfRange && b.outOfRange[j] == nil {
			b.outOfRange[j] = fmt.Errorf("line %d: row %d of column %q is %.60q, beyond the range of a 64-bit float; "+
				"rescale the column",
				records.line(j), b.row(), b.names[j], cell)
		}
		if c.DigitsOnly && kind != fastcsv.Missing {
			c.NoteDigits(strings.TrimSpace(cell))
		}
		if !b.KindsOnly {
			b.Numbers = append(b.Numbers, value)
		}
	}
	return nil
}

// addText adds the last row's cell to categorical column j.
func (b *csvBuilder) addText(records *records, j int, cell string) error {
	if b.KindsOnly || b.Columns[j].AddText(cell, b.Missing) {
		return nil
	}
	return fmt.Errorf("line %d: row %d of column %q is %w", records.line(j), b.row(), b.names[j], notUTF8(cell))
}

// forget drops the values read so far: from here on only the kinds of the columns matter.
func (b *csvBuilder) forget() {
	if b.KindsOnly { // and nothing was kept since
		return
	}
	b.KindsOnly = true
	b.Numbers = nil
	for j := range b.Columns {
		b.Columns[j].Forget()
	}
}

func notUTF8(cell string) error {
	return fmt.Errorf("%.60q, which is not UTF-8; %w", cell, ErrEncoding)
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

func (b *csvBuilder) table() (*Table, error) {
	t := &Table{
		Names:    b.names,
		decimal:  b.Decimal,
		unnamed:  b.unnamed,
		nameless: b.nameless,
		years:    b.years,
		encoding: b.encoding,
		preamble: b.preamble,
		titles:   b.titles,
		blanks:   b.blanks,
		unsure:   b.unsure,
		first:    b.first(),
		rows:     b.Rows,
		skipped:  b.Empty,
		flat:     b.Numbers,
		store:    b.store,
		columns:  make([]column, len(b.Columns)),
		index:    new(index),
	}
	for j, c := range b.Columns {
		t.columns[j].marked = c.MarkedMissing
		if c.Categorical {
			t.columns[j].factor = &factor{levels: c.Levels, codes: c.Codes, decimal: b.Decimal}
			continue
		}
		t.columns[j].at = t.stride
		t.stride++
	}
	t.rowsNamed = t.namesRows()
	return b.takeSpellings(t)
}

// columnNames takes the names from the first record, or numbers the columns: all of them, or those without a name.
func columnNames(first []string, header bool) (names, nameless []string, err error) {
	names = make([]string, len(first))
	place := make(map[string]int, len(first))
	for j, cell := range first {
		name := strings.TrimSpace(cell)
		switch {
		case !header:
			name = defaultName(j)
		case fastcsv.IsMissing(name):
			name = fmt.Sprintf("column %d", j+1)
			nameless = append(nameless, name)
		}
		names[j] = strings.Clone(name)
		if i, ok := place[name]; ok {
			return nil, nil, fmt.Errorf("columns %d and %d are both named %q; rename one", i+1, j+1, name)
		}
		place[names[j]] = j
	}
	return names, nameless, nil
}

// isHeader reports whether the first row has names: no cell is a number, or the numbers are years in ascending order,
// beside texts, and the cells below them are no years. Years without texts are an error, as they may be either.
func (b *csvBuilder) isHeader(first []string, records *records) (bool, error) {
	numbers, years, before, step := 0, 0, 0., 0.
	for j, cell := range first {
		if !records.hasDigits(cell) {
			continue
		}
		numbers++
		v, _ := fastcsv.ParseDecimal(cell, records.decimal)
		below := math.NaN()
		if j < len(records.second) {
			below, _ = fastcsv.ParseDecimal(records.second[j], records.decimal)
		}
		if years == 1 {
			step = v - before
		}
		if isYear(v) && !isYear(below) && (years == 0 || v-before == step && step > 0) {
			years, before = years+1, v
		}
	}
	switch {
	case numbers == 0:
		return true, nil
	case years < numbers || len(records.second) != len(first) || years < 3 && step != 1:
		return false, nil
	case numbers == len(first):
		return false, fmt.Errorf("the first row, %s, may be data or names of columns; %w", quotedList(first), ErrWhichHeader)
	}
	b.years = true
	return true, nil
}

// isYear says whether a number may be a year of a header.
func isYear(v float64) bool { return v == math.Trunc(v) && v >= 1500 && v < 2200 }

// hasDigits reports the numbers that no header has: Inf is a name that a column may have, and so is NaN,
// which is missing.
func (r *records) hasDigits(cell string) bool {
	v, kind := fastcsv.ParseDecimal(cell, r.decimal)
	return kind == fastcsv.Number && !math.IsInf(v, 0) || kind == fastcsv.OutOfRange
}
