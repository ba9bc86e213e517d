package fastcsv

import (
	"bytes"
	"math"
	"strings"
	"unsafe"
)

// layout is what the parsers of sections know of the table; it does not change meanwhile.
type layout struct {
	comma     byte
	point     byte // what decimals follow
	missing   []string
	columns   []place
	stride    int  // numbers of a row
	kindsOnly bool // numbers are read, as they may be none, and dropped

	numbersOnly bool // no column has more to keep than its numbers
}

// place is what becomes of the cells of a column.
type place struct {
	at     int  // in a row of numbers
	text   bool // the column is categorical
	digits bool // its DigitsOnly before the run
}

func (t *Table) layout(comma byte) *layout {
	l := &layout{
		comma:       comma,
		point:       '.',
		missing:     t.Missing,
		columns:     make([]place, len(t.Columns)),
		kindsOnly:   t.KindsOnly,
		numbersOnly: len(t.Missing) == 0,
	}
	if t.Decimal != 0 {
		l.point = t.Decimal
	}
	for j, c := range t.Columns {
		l.columns[j] = place{at: l.stride, text: c.Categorical, digits: c.DigitsOnly}
		if !c.Categorical {
			l.stride++
		}
		l.numbersOnly = l.numbersOnly && !c.Categorical && !c.DigitsOnly
	}
	return l
}

// section is a piece of the text, and what is found in it.
type section struct {
	buffer  []byte
	text    []byte // of the buffer: lines, each with its line feed
	added   int    // 1: the last line feed is not the file's
	numbers []float64

	columns     []Column // what they keep besides numbers; nil: nothing
	read        int      // bytes of the rows that are done
	lines, rows int
	empty       int // lines of nothing above rows
	after       int // lines of nothing after the last row
	done        chan struct{}
}

// parse reads the rows up to the first that is not plain.
func (s *section) parse(l *layout) {
	if !s.parseRows(l, s.text) {
		// That row has left traces already: once more without it.
		s.parseRows(l, s.text[:s.read])
	}
	s.done <- struct{}{}
}

func (s *section) parseRows(l *layout, text []byte) bool {
	s.read, s.lines, s.rows, s.empty, s.after = 0, 0, 0, 0, 0
	if s.columns == nil && !l.numbersOnly {
		s.columns = make([]Column, len(l.columns))
	}
	for j := range s.columns {
		c := &s.columns[j]
		clear(c.index)
		*c = Column{DigitsOnly: l.columns[j].digits, Codes: c.Codes[:0], index: c.index}
	}
	var dropped []float64
	if l.kindsOnly {
		dropped = make([]float64, l.stride)
	}
	for s.read < len(text) {
		s.lines++
		if text[s.read] == '\n' {
			s.read++
			s.after++
			continue
		}
		if text[s.read] == '\r' && text[s.read+1] == '\n' {
			s.read += 2
			s.after++
			continue
		}
		row := dropped
		if !l.kindsOnly {
			row = s.numbers[s.rows*l.stride:][:l.stride]
		}
		end := s.parseRow(l, text, s.read, row)
		if end < 0 {
			return false
		}
		s.read = end
		s.rows++
		s.empty, s.after = s.empty+s.after, 0
	}
	return true
}

// parseRow reads the row at text[i:], and returns where the next begins; -1 if it is not plain.
func (s *section) parseRow(l *layout, text []byte, i int, row []float64) int {
	for j, p := range l.columns {
		stop := l.comma
		if j == len(l.columns)-1 {
			stop = '\n'
		}
		if !p.text && len(l.missing) == 0 {
			if text[i] == stop {
				row[p.at] = math.NaN()
				i++
				continue
			}
			if v, end := decimal(text, i, l.point); end > i {
				after := end
				if text[end] == '\r' && text[end+1] == '\n' {
					after++
				}
				if text[after] == stop {
					row[p.at] = v
					if p.digits && s.columns[j].DigitsOnly {
						s.columns[j].NoteDigits(textOf(text[i:end]))
					}
					i = after + 1
					continue
				}
			}
		}
		cell, end := cellAt(text, i, l.comma)
		if end < 0 || text[end] != stop || !s.take(l, j, textOf(cell), row) {
			return -1
		}
		i = end + 1
	}
	return i
}

// textOf is b as a string, valid as long as b is not changed.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// cellAt is the cell at text[i:], and the place of the separator or line feed behind it; that is -1 if quotes are more
// than a pair around the cell.
func cellAt(text []byte, i int, comma byte) (cell []byte, end int) {
	quoted := text[i] == '"'
	if quoted {
		i++
		length := bytes.IndexByte(text[i:], '"')
		if length < 0 || bytes.IndexByte(text[i:i+length], '\n') >= 0 {
			return nil, -1
		}
		cell, end = text[i:i+length], i+length+1
		if text[end] == '\r' && text[end+1] == '\n' {
			end++
		}
		if text[end] != comma && text[end] != '\n' {
			return nil, -1
		}
		return cell, end
	}
	for end = i; text[end] != comma && text[end] != '\n'; end++ {
		if text[end] == '"' {
			return nil, -1
		}
	}
	cell = text[i:end]
	if text[end] == '\n' {
		cell = bytes.TrimSuffix(cell, []byte{'\r'})
	}
	return cell, end
}

// take keeps a cell, and returns false where its column cannot.
func (s *section) take(l *layout, j int, cell string, row []float64) bool {
	p, value, kind := l.columns[j], math.NaN(), Missing
	if s.columns == nil {
		value, kind = ParseDecimal(cell, l.point)
	} else if c := &s.columns[j]; p.text {
		return l.kindsOnly || c.AddText(cell, l.missing)
	} else if !c.MarksMissing(cell, l.missing) {
		value, kind = ParseDecimal(cell, l.point)
		if c.DigitsOnly && kind == Number {
			c.NoteDigits(strings.TrimSpace(cell))
		}
	}
	if kind == Missing && namesMissing(cell) {
		if s.columns == nil {
			s.columns = make([]Column, len(l.columns))
		}
		s.columns[j].CountMissing(len(l.missing), len(l.missing))
	}
	row[p.at] = value
	return kind == Number || kind == Missing
}
