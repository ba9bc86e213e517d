// Package fastcsv is the fast path of a CSV reader. Most files are only lines of plain cells: numbers, or texts of
// columns that are known to be categorical, bare or in one pair of quotes. [Table.Read] reads those in sections of
// complete lines, several at a time, and stops before the first row that is anything else: an error of the file, a text
// in a column of numbers, a quoted line end. That row is for encoding/csv and the caller, who know what it means. So
// one place decides, and the table and the messages are the same however much the fast path has read.
package fastcsv

import (
	"bytes"
	"io"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// A Table is what was read of a table so far.
type Table struct {
	Columns []Column
	Rows    int
	Empty   int       // lines of nothing above rows
	After   int       // lines of nothing after the last row
	Numbers []float64 // Rows × columns that are not categorical, row-major; NaN is a missing value
	Missing []string  // cells of these texts are missing, as empty ones, NA and NaN are
	Decimal byte      // what decimals follow: a comma, or else a point

	KindsOnly bool // neither numbers nor codes are kept: only what determines the kinds of the columns

	// Grow returns Numbers in memory that has room for need more; in all there may be expected, 0 if that is not known.
	Grow func(numbers []float64, need, expected int) ([]float64, error)
}

// Pace is the number of goroutines that parse at a time, at least one, and the bytes of each.
type Pace struct{ Workers, Bytes int }

const (
	// SectionSize is what is good for [Pace].Bytes: it stays in a core's cache between the system's copy and the parser.
	SectionSize = 1 << 18

	longestLine = 1 << 20 // of the fast path; encoding/csv reads longer ones
)

// CanSeparate reports whether the fast path can read cells with this separator: one byte that no number has.
func CanSeparate(comma rune, decimal byte) bool {
	return comma < utf8.RuneSelf && comma != rune(decimal) && !strings.ContainsRune("0123456789+-.eE", comma)
}

// Read adds the rows of a text to the table, as far as they are plain, and leaves the rest in the source. It returns
// the number of lines that it has read. An error of the source is left there for who reads on; that of Grow is
// returned.
func (t *Table) Read(text *Source, comma byte, pace Pace) (lines int, err error) {
	r := &run{
		layout: t.layout(comma), Table: t, source: text, bytes: pace.Bytes, workers: pace.Workers, taken: len(t.Numbers),
	}
	if text.Size > 0 {
		r.workers = min(r.workers, 1+int(text.Size)/(2*pace.Bytes))
	}
	for !r.stopped {
		s := r.next()
		if r.stopped || !r.fill(s) {
			break
		}
		r.begin(s)
	}
	r.joinAll()
	text.PutBack(append(r.back, r.line)...)
	return r.lines, r.err
}

// run is one call of Read. Sections begin, and are joined to the table, in the order of the text.
type run struct {
	*layout
	*Table
	source  *Source
	bytes   int // of a section
	workers int
	lines   int
	queue   []*section // begun and not joined
	idle    []*section
	taken   int      // numbers of the table that are there or have their place
	line    []byte   // the last section's text went to the end of a line; this is the beginning of the next
	back    [][]byte // text that was read ahead and not used
	stopped bool     // a section was not read to its end
	err     error    // of Grow
}

// next is a section that has nothing to do.
func (r *run) next() *section {
	most := 1
	if r.workers > 1 {
		most += r.workers // one that waits, so that no core does
	}
	if len(r.queue) == most {
		r.join()
	}
	if last := len(r.idle) - 1; last >= 0 {
		s := r.idle[last]
		r.idle = r.idle[:last]
		return s
	}
	return &section{done: make(chan struct{}, 1)}
}

// fill reads the next lines. It returns false if there are none, or none that end.
func (r *run) fill(s *section) bool {
	// What may be a small file is not to fill large buffers, and a growing buffer not to grow often.
	size := min(r.bytes, max(1<<bits.Len64(uint64(r.source.Offset())/16), 1<<14))
	size = max(size, len(r.line)+1)
	s.room(size)
	n := copy(s.buffer, r.line)
	s.added = 0
	for {
		got, _ := io.ReadFull(r.source, s.buffer[n:size])
		n += got
		end := bytes.LastIndexByte(s.buffer[:n], '\n') + 1
		if r.source.ended() && r.source.err == io.EOF && end < n {
			s.buffer[n] = '\n'
			n++
			end, s.added = n, 1
		}
		if end > 0 {
			s.text = s.buffer[:end]
			r.line = append(r.line[:0], s.buffer[end:n]...)
			return true
		}
		if r.source.ended() || n > longestLine || bytes.Count(s.buffer[:n], []byte{'"'})%2 == 1 { // within a quoted cell
			r.line = append(r.line[:0], s.buffer[:n]...)
			return false
		}
		size = 2*n + 1
		s.room(size)
	}
}

// room makes the buffer longer than n.
func (s *section) room(n int) {
	if len(s.buffer) <= n {
		s.buffer = append(make([]byte, 0, n+1), s.buffer...)[:n+1]
	}
}

// begin gives the section's numbers a place in the table, and parses the section.
func (r *run) begin(s *section) {
	if !r.kindsOnly {
		need := bytes.Count(s.text, []byte{'\n'}) * r.stride
		if need > cap(r.Numbers)-r.taken { // this counts empty lines, and so did those before
			r.joinAll()
			if r.stopped {
				r.giveBack(s, 0)
				return
			}
			need = countRows(s.text) * r.stride
			if need > cap(r.Numbers)-len(r.Numbers) {
				var grown []float64
				if grown, r.err = r.Grow(r.Numbers, need, r.expected(s, need)); r.err != nil {
					r.stopped = true
					return
				}
				r.Numbers = grown
			}
		}
		s.numbers = r.Numbers[:cap(r.Numbers)][r.taken : r.taken+need]
		r.taken += need
	}
	r.queue = append(r.queue, s)
	if r.workers == 1 {
		s.parse(r.layout)
		return
	}
	go s.parse(r.layout)
}

// countRows counts the lines that are not empty.
func countRows(text []byte) int {
	rows := 0
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end > 1 || end == 1 && text[0] != '\r' {
			rows++
		}
		text = text[end+1:]
	}
	return rows
}

// expected is how many numbers there are in all if the rest of the text is like a section that has so many; 0 if not
// known. All sections before are joined.
func (r *run) expected(s *section, numbers int) int {
	if r.source.Size == 0 {
		return 0
	}
	length, rows := len(s.text), max(numbers/max(r.stride, 1), 1)
	left := r.source.Size - r.source.Offset() + int64(length-s.added+len(r.line))
	if len(r.line) > length/rows { // a line that is longer than those is a sign of others
		length += len(r.line)
	}
	return len(r.Numbers) + int(1.05*float64(numbers)*float64(left)/float64(length))
}

// join adds the first section begun to the table, unless one before it stopped.
func (r *run) join() {
	s := r.queue[0]
	r.queue = r.queue[1:]
	<-s.done
	r.idle = append(r.idle, s)
	if r.stopped {
		r.giveBack(s, 0)
		return
	}
	r.Rows += s.rows
	if s.rows > 0 {
		r.Empty, r.After = r.Empty+r.After+s.empty, 0
	}
	r.After += s.after
	r.lines += s.lines
	if !r.kindsOnly {
		n, at := s.rows*r.stride, len(r.Numbers)
		r.Numbers = r.Numbers[:at+n]
		copy(r.Numbers[at:], s.numbers[:n]) // they are there already, but for empty lines before
	}
	for j := range s.columns {
		r.Columns[j].Join(&s.columns[j])
	}
	if s.read < len(s.text) {
		r.stopped = true
		r.giveBack(s, s.read)
	}
}

func (r *run) joinAll() {
	for len(r.queue) > 0 {
		r.join()
	}
	r.taken = len(r.Numbers)
}

// giveBack keeps the text of a section, from a place on, to be read again.
func (r *run) giveBack(s *section, from int) {
	r.back = append(r.back, s.text[from:len(s.text)-s.added])
}
