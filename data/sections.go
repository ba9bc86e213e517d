package data

import (
	"bytes"
	"io"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"
)

// Most files are nothing but lines of plain cells. A sweep reads those in sections of whole lines, several at a time,
// and leaves the first row that is anything else, and all that follow, to encoding/csv and csvBuilder.add, which know
// what it means: an error of the file, a text that makes a column categorical, a quoted line end. So one place decides,
// and the table and the message are the same whoever reads and however many they are.

// pace says how many read at a time, and how much each. No workers: there are no sweeps.
type pace struct{ workers, bytes int }

const (
	sectionSize = 1 << 18 // stays in a core's cache between the system's copy and the parser
	longestLine = 1 << 20 // of a sweep; encoding/csv reads longer ones
)

// layout is what workers know of the table; it does not change during a sweep.
type layout struct {
	comma   byte
	na      []string
	columns []place
	stride  int  // numbers of a row
	keep    bool // else numbers are read, as they may be none, and dropped

	numbersOnly bool // a column has nothing but its numbers to keep
}

// place is what becomes of the cells of a column.
type place struct {
	at          int // in a row of numbers
	categorical bool
	codes       bool // as in csvColumn
}

// sweepable tells whether the separator is one byte that no number has.
func sweepable(comma rune) bool {
	return comma < utf8.RuneSelf && !strings.ContainsRune("0123456789+-.eE", comma)
}

func (b *csvBuilder) layout(comma rune) *layout {
	l := &layout{comma: byte(comma), na: b.na, columns: make([]place, len(b.columns)), keep: !b.late, numbersOnly: len(b.na) == 0}
	for j, c := range b.columns {
		l.columns[j] = place{at: l.stride, categorical: c.categorical, codes: c.codes}
		if !c.categorical {
			l.stride++
		}
		l.numbersOnly = l.numbersOnly && !c.categorical && !c.codes
	}
	return l
}

// section is a piece of the text, and what a worker finds in it.
type section struct {
	buffer  []byte
	text    []byte // of the buffer: lines, each with its line feed
	added   int    // 1: the last line feed is not the file's
	numbers []float64

	columns     []csvColumn // what they keep beside numbers; nil: nothing
	read        int         // bytes of the rows that are done
	lines, rows int
	done        chan struct{}
}

// parse reads the rows up to the first that is not plain.
func (s *section) parse(l *layout) {
	if !s.parseRows(l, s.text) {
		// That row has left traces already: once more without it.
		s.parseRows(l, s.text[:s.read])
	}
}

func (s *section) parseRows(l *layout, text []byte) bool {
	s.read, s.lines, s.rows = 0, 0, 0
	if s.columns == nil && !l.numbersOnly {
		s.columns = make([]csvColumn, len(l.columns))
	}
	for j := range s.columns {
		c := &s.columns[j]
		clear(c.index)
		*c = csvColumn{codes: l.columns[j].codes, index: c.index, factor: factor{codes: c.factor.codes[:0]}}
	}
	var dropped []float64
	if !l.keep {
		dropped = make([]float64, l.stride)
	}
	for s.read < len(text) {
		s.lines++
		if text[s.read] == '\n' {
			s.read++
			continue
		}
		if text[s.read] == '\r' && text[s.read+1] == '\n' {
			s.read += 2
			continue
		}
		row := dropped
		if l.keep {
			row = s.numbers[s.rows*l.stride:][:l.stride]
		}
		end := s.parseRow(l, text, s.read, row)
		if end < 0 {
			return false
		}
		s.read = end
		s.rows++
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
		if !p.categorical && len(l.na) == 0 {
			if text[i] == stop {
				row[p.at] = math.NaN()
				i++
				continue
			}
			if v, end := decimal(text, i); end > i {
				after := end
				if text[end] == '\r' && text[end+1] == '\n' {
					after++
				}
				if text[after] == stop {
					row[p.at] = v
					if p.codes && s.columns[j].codes {
						s.columns[j].notice(textOf(text[i:end]))
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

// take does with a cell what csvBuilder.add does, and returns false where that would do more.
func (s *section) take(l *layout, j int, cell string, row []float64) bool {
	at, value, kind := l.columns[j].at, math.NaN(), missing
	if s.columns == nil {
		value, kind = parse(cell)
	} else if c := &s.columns[j]; l.columns[j].categorical {
		return !l.keep || c.addLevel(l.na, cell) == nil
	} else if !c.marks(l.na, cell) {
		value, kind = parse(cell)
		if c.codes && kind == number {
			c.notice(strings.TrimSpace(cell))
		}
	}
	row[at] = value
	return kind == number || kind == missing
}

// sweep is a run over the text by several workers. Sections begin, and are joined to the table, in the order of the
// text.
type sweep struct {
	*layout
	builder *csvBuilder
	records *records
	bytes   int           // of a section
	jobs    chan *section // as many as there are workers; nil: one, which needs no goroutine
	queue   []*section    // begun and not joined
	idle    []*section
	taken   int      // numbers of the table that are there or have their place
	line    []byte   // the last section's text went to the end of a line; this is the beginning of the next
	back    [][]byte // text that was read in vain
	stopped bool     // a section was not read to its end
}

// sweep reads as far as the rows are plain.
func (b *csvBuilder) sweep(records *records, p pace) {
	w := &sweep{layout: b.layout(records.Comma), builder: b, records: records, bytes: p.bytes, taken: len(b.flat)}
	records.release()
	workers := p.workers
	if records.size > 0 {
		workers = min(workers, 1+int(records.size)/(2*p.bytes))
	}
	if workers > 1 {
		var group sync.WaitGroup
		w.jobs = make(chan *section, workers)
		for range workers {
			group.Go(func() {
				for s := range w.jobs {
					s.parse(w.layout)
					s.done <- struct{}{}
				}
			})
		}
		defer group.Wait()
		defer close(w.jobs)
	}
	for !w.stopped {
		s := w.next()
		if w.stopped || !w.fill(s) {
			break
		}
		w.begin(s)
	}
	w.joinAll()
	records.putBack(append(w.back, w.line)...)
}

// next is a section that has nothing to do.
func (w *sweep) next() *section {
	if len(w.queue) > cap(w.jobs) { // one for each worker, and one that waits
		w.join()
	}
	if last := len(w.idle) - 1; last >= 0 {
		s := w.idle[last]
		w.idle = w.idle[:last]
		return s
	}
	return &section{done: make(chan struct{}, 1)}
}

// fill reads the next lines. It returns false if there are none, or none that end.
func (w *sweep) fill(s *section) bool {
	from := w.records.from
	// What may be a small file is not to fill large buffers, and a growing buffer not to grow often.
	size := min(w.bytes, max(1<<bits.Len64(uint64(w.records.offset())/16), 1<<14))
	size = max(size, len(w.line)+1)
	s.room(size)
	n := copy(s.buffer, w.line)
	s.added = 0
	for {
		got, _ := io.ReadFull(from, s.buffer[n:size])
		n += got
		end := bytes.LastIndexByte(s.buffer[:n], '\n') + 1
		if from.ended() && from.err == io.EOF && end < n {
			s.buffer[n] = '\n'
			n++
			end, s.added = n, 1
		}
		if end > 0 {
			s.text = s.buffer[:end]
			w.line = append(w.line[:0], s.buffer[end:n]...)
			return true
		}
		if from.ended() || n > longestLine || bytes.Count(s.buffer[:n], []byte{'"'})%2 == 1 { // within a quoted cell
			w.line = append(w.line[:0], s.buffer[:n]...)
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

// begin gives the section's numbers a place in the table, and the section to a worker.
func (w *sweep) begin(s *section) {
	if w.keep {
		need := bytes.Count(s.text, []byte{'\n'}) * w.stride
		if need > cap(w.builder.flat)-w.taken { // this counts empty lines, and so did those before
			w.joinAll()
			if w.stopped {
				w.giveBack(s, 0)
				return
			}
			need = countRows(s.text) * w.stride
			w.makeRoom(s, need)
		}
		s.numbers = w.builder.flat[:cap(w.builder.flat)][w.taken : w.taken+need]
		w.taken += need
	}
	w.queue = append(w.queue, s)
	if w.jobs != nil {
		w.jobs <- s
		return
	}
	s.parse(w.layout)
	s.done <- struct{}{}
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

// makeRoom makes room for the numbers of a section, and for those that are expected behind it if the rest of the text
// is like it. All sections before are joined.
func (w *sweep) makeRoom(s *section, need int) {
	b := w.builder
	if need <= cap(b.flat)-len(b.flat) {
		return
	}
	expected := 0
	if w.records.size > 0 {
		length, rows := len(s.text), max(need/max(w.stride, 1), 1)
		if len(w.line) > length/rows { // a line that is longer than those is a sign of others
			length += len(w.line)
		}
		left := float64(w.records.size - w.records.offset())
		expected = len(b.flat) + int(1.05*float64(need)*left/float64(length))
	}
	if len(b.flat) < enough || expected > mostAtOnce {
		b.flat = reserve(b.flat, need, expected)
		return
	}
	b.flat = append(newNumbers(max(expected, len(b.flat)+need, len(b.flat)*5/4)), b.flat...)
}

const (
	enough     = 1 << 12 // numbers, to tell from them how many there are in all
	mostAtOnce = 1 << 27 // 1 GiB: a system may claim any size of a file that has nothing in it
)

// join adds the first section begun to the table, unless one before it stopped.
func (w *sweep) join() {
	s := w.queue[0]
	w.queue = w.queue[1:]
	<-s.done
	w.idle = append(w.idle, s)
	if w.stopped {
		w.giveBack(s, 0)
		return
	}
	b := w.builder
	b.rows += s.rows
	w.records.lines += s.lines
	w.records.skipped += int64(min(s.read, len(s.text)-s.added))
	if w.keep {
		n, at := s.rows*w.stride, len(b.flat)
		b.flat = b.flat[:at+n]
		copy(b.flat[at:], s.numbers[:n]) // they are there already, but for empty lines before
	}
	for j := range s.columns {
		b.columns[j].join(&s.columns[j])
	}
	if s.read < len(s.text) {
		w.stopped = true
		w.giveBack(s, s.read)
	}
}

func (w *sweep) joinAll() {
	for len(w.queue) > 0 {
		w.join()
	}
	w.taken = len(w.builder.flat)
}

// giveBack keeps the text of a section, from a place on, to be read again.
func (w *sweep) giveBack(s *section, from int) {
	w.back = append(w.back, s.text[from:len(s.text)-s.added])
}

// join adds what a section has found of the column in later rows.
func (c *csvColumn) join(later *csvColumn) {
	if c.codes = c.codes && later.codes; c.codes {
		c.padded = c.padded || later.padded
	}
	if later.marked != nil {
		if c.marked == nil {
			c.marked = make([]int, len(later.marked))
		}
		for i, n := range later.marked {
			c.marked[i] += n
		}
	}
	codes := make([]int32, len(later.factor.levels))
	for i, level := range later.factor.levels {
		code, ok := c.index[level]
		if !ok {
			code = c.newLevel(level)
		}
		codes[i] = code
	}
	for _, code := range later.factor.codes {
		if code != missingCode {
			code = codes[code]
		}
		c.factor.codes = append(c.factor.codes, code)
	}
}
