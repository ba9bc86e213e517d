package data

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"github.com/latent-go/latent/internal/fastcsv"
)

// separatorLine says to Excel what separates the fields of the lines below it.
var separatorLine = regexp.MustCompile(`^"?(?i:sep)=([^"\s\pL\pN]|\t)"?\r?\n`)

const saveAsUTF8 = "save the table as CSV in UTF-8, or as NPY"

// records are the rows of a CSV text, by encoding/csv, and between two of them by the fast path.
type records struct {
	*csv.Reader
	source   *fastcsv.Source
	buffered *bufio.Reader // of source, and what the csv.Reader reads
	limits   Limits
	decimal  byte     // what decimals follow
	seen     bool     // the text shows it, or it was given
	preamble string   // what stands above the table
	blanks   bool     // were between the fields, and are tabs
	second   []string // row of the table, where it is near; nil: not
	titles   int      // rows below the header that are no data
	unsure   []int    // columns whose decimals may be thousands
	lines    int      // that the fast path has read
	done     int      // lines of the rows that the csv.Reader has
	empty    int      // lines of nothing above the last row
}

// newRecords strips a byte order mark, refuses what is not text, and guesses the separator and the decimal point unless
// they are given.
func newRecords(r io.Reader, o CSVOptions) (*records, error) {
	c := recordsOf(r, o.Comma, o.Decimal, o.Limits)
	br := c.buffered
	if bom, _ := br.Peek(3); string(bom) == "\ufeff" {
		_, _ = br.Discard(3)
	}
	head, err := br.Peek(br.Size())
	if err != nil && err != io.EOF {
		return nil, err
	}
	if utf16Of(head) != "" { // which no UTF-8 begins with
		return nil, fmt.Errorf("a text in UTF-16; %w", ErrEncoding)
	}
	if err := isStrange(head); err != nil {
		return nil, err
	}
	if spaced := new(blanks); o.Comma == 0 && spaced.found(head, err == io.EOF) {
		c = recordsOf(transform.NewReader(br, spaced), '\t', o.Decimal, o.Limits)
		br, c.blanks, o.Comma = c.buffered, true, '\t'
		if head, err = br.Peek(br.Size()); err != nil && err != io.EOF {
			return nil, err
		}
	}
	if line := separatorLine.FindSubmatch(head); line != nil {
		_, _ = br.Discard(len(line[0]))
		head = head[len(line[0]):]
		c.lines = 1
		if o.Comma == 0 {
			o.Comma, _ = utf8.DecodeRune(line[1])
			c.Comma = o.Comma
		}
	}
	if i := bytes.IndexByte(head, 0); i >= 0 {
		return nil, fmt.Errorf("not a text in UTF-8: byte %d is zero; %w", i+1, ErrEncoding)
	}
	if onlyReturns(head) {
		return nil, errors.New("the lines end in carriage returns alone, as on old Macs; save the table with line feeds")
	}
	if o.Header != HeaderNo { // else the first row may be one of hardly any values
		above, lines := preamble(head, o.Comma, o.Decimal)
		c.preamble = strings.TrimSpace(string(head[:above]))
		_, _ = br.Discard(above)
		head = head[above:]
		c.lines += lines
	}
	if o.Comma == 0 {
		c.Comma = separator(head, o.Decimal)
	}
	c.decimal, c.seen, c.unsure = decimalOf(head, err == io.EOF, c.Comma, o.NA, o.Decimal)
	if o.Header != HeaderNo {
		rows := firstRows(head, err == io.EOF, c.Comma)
		c.titles = titlesBelow(rows, c.decimal, o.NA)
		if len(rows) > 1+c.titles {
			c.second = rows[1+c.titles]
		}
	}
	return c, nil
}

// rowsLookedAt bounds the rows that show what those below the header are.
const rowsLookedAt = 100

// firstRows are those of a text, of which head is the beginning or the whole, as far as they have as many fields as the
// first.
func firstRows(head []byte, whole bool, comma rune) (list [][]string) {
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	rows := csv.NewReader(bytes.NewReader(head))
	rows.Comma = comma
	for row, err := rows.Read(); err == nil && len(list) < rowsLookedAt; row, err = rows.Read() {
		list = append(list, row)
	}
	return list
}

// recordsOf reads a text that has begun already.
func recordsOf(r io.Reader, comma rune, decimal byte, limits Limits) *records {
	size, _ := remaining(r)
	source := fastcsv.NewSource(r, size)
	br := bufio.NewReaderSize(source, 1<<16)
	c := csv.NewReader(br) // which takes br for its own buffer, as it is no smaller
	c.Comma = comma
	c.ReuseRecord = true
	return &records{Reader: c, source: source, buffered: br, limits: limits, decimal: decimal, seen: decimal != 0}
}

// Read reads a row as the csv.Reader does, within the limits, and counts all lines in its errors.
func (r *records) Read() ([]string, error) {
	r.source.Until = r.offset() + r.limits.row()
	record, err := r.Reader.Read()
	var bad *csv.ParseError
	switch {
	case errors.Is(err, fastcsv.ErrUntil):
		return nil, r.limits.longRow(r.lines + r.done + 1)
	case errors.As(err, &bad):
		bad.StartLine += r.lines
		bad.Line += r.lines
	}
	for j, cell := range record {
		if int64(len(cell)) > r.limits.cell() {
			return nil, r.limits.longCell(r.line(j), j+1, cell)
		}
	}
	if last := len(record) - 1; last >= 0 {
		first, _ := r.FieldPos(0)
		r.empty = first - r.done - 1
		line, _ := r.FieldPos(last)
		r.done = line + strings.Count(record[last], "\n")
	}
	return record, err
}

// line is where the field of the last row begins.
func (r *records) line(field int) int {
	line, _ := r.FieldPos(field)
	return line + r.lines
}

// offset is how much of the text was read.
func (r *records) offset() int64 { return r.source.Offset() - int64(r.buffered.Buffered()) }

// readPlain has the fast path read on behind the last row, as far as the rows are plain.
func (r *records) readPlain(t *fastcsv.Table, p fastcsv.Pace) error {
	head, _ := r.buffered.Peek(r.buffered.Buffered())
	r.source.PutBack(bytes.Clone(head))
	r.buffered.Reset(r.source)
	r.source.Until = math.MaxInt64 // the lines of the fast path are short
	lines, err := t.Read(r.source, byte(r.Comma), p)
	r.lines += lines
	return err
}

// onlyReturns says whether the text has carriage returns between lines, outside quotes, and no line feed.
func onlyReturns(head []byte) bool {
	between, quoted := false, false
	for i, c := range head {
		switch {
		case c == '\n':
			return false
		case c == '"':
			quoted = !quoted
		case c == '\r' && !quoted && i < len(head)-1:
			between = true
		}
	}
	return between
}

// separator is the one that occurs most often in the first line; a comma that decimals follow is one only where there
// is no other, and so is a vertical bar.
func separator(head []byte, decimal byte) rune {
	var commas, semicolons, tabs, bars int
	quoted := false
scan:
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			commas++
		case c == ';':
			semicolons++
		case c == '\t':
			tabs++
		case c == '|':
			bars++
		case c == '\n':
			break scan
		}
	}
	switch {
	case bars > 0 && commas+semicolons+tabs == 0:
		return '|'
	case decimal == ',' && commas == 0 && tabs == 0: // cells of their own line each
		return ';'
	case tabs > 0 && tabs >= semicolons && (tabs >= commas || decimal == ','):
		return '\t'
	case semicolons > 0 && (semicolons >= commas || decimal == ','):
		return ';'
	}
	return ','
}

// explain turns an error of encoding/csv into a line that says what to do.
func (b *csvBuilder) explain(err error, comma rune, record []string) error {
	width, by := len(b.names), strconv.QuoteRune(comma)
	if b.blanks {
		by = "blanks"
	}
	var bad *csv.ParseError
	switch {
	case !errors.As(err, &bad):
		return err
	case bad.Err == csv.ErrFieldCount:
		advice := "a field that holds the separator needs quotes"
		switch {
		case b.blanks:
			advice = "a field with blanks needs quotes, and an empty one a mark such as NA"
		case len(record) < width:
			advice = "an empty field needs its separator, too"
		case len(record) == width+1 && bad.StartLine == b.firstLine+1:
			advice += ", and names of rows need a place in the header, which write.table of R leaves out " +
				"(col.names = NA, or write.csv)"
		}
		return fmt.Errorf("line %d has %s separated by %s, expected %d as in line %d; %s",
			bad.StartLine, plural(len(record), "field"), by, width, b.firstLine, advice)
	case bad.Err == csv.ErrBareQuote:
		return fmt.Errorf(`line %d, byte %d: a quote inside a field; put the field in quotes and double those within`, bad.Line, bad.Column)
	case bad.Err == csv.ErrQuote && bad.Line != bad.StartLine:
		return fmt.Errorf("line %d: quotes do not match in the row that starts at line %d", bad.Line, bad.StartLine)
	}
	return fmt.Errorf("line %d, byte %d: quotes do not match; double the quotes within a quoted field", bad.Line,
		bad.Column)
}
