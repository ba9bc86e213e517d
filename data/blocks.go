package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// Blocks reads inputs of any format that [Open] knows, as [ReadParts] does, but yields a sequence of tables, each
// with some of the rows, so that memory does not grow with the number of rows. [Table.Origin] counts the rows of all
// tables. An array, which is mapped where it is or decoded into the store, is one table.
//
// Unless [CSVOptions].Reading says which columns have numbers, each table decides this separately. A table may have
// no row if lines are empty. The text is read once, and need not seek. Errors are those of [ReadParts] that one table
// can show. They name the part if there are several, and end the sequence.
func Blocks(parts []Part, o CSVOptions) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		rows, names := 0, []string(nil)
		for i, part := range parts {
			failed := func(err error) {
				if len(parts) > 1 {
					err = fmt.Errorf("%s: %w", part.Name, err)
				}
				yield(nil, err)
			}
			before := rows
			for t, err := range part.blocks(o) {
				if err == nil && i > 0 {
					t, err = t.inOrder(names)
				}
				if err != nil {
					failed(err)
					return
				}
				if t.first += before; i > 0 {
					t.unnamed = false
				}
				names, rows = t.Names, t.first+t.rows
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// inOrder is the table with the columns of parts before.
func (t *Table) inOrder(names []string) (*Table, error) {
	if len(names) != len(t.Names) {
		return nil, fmt.Errorf("%d columns, and earlier parts have %d", len(t.Names), len(names))
	}
	for _, name := range names {
		if t.place(name) < 0 {
			return nil, t.lacks(name)
		}
	}
	return t.Select(names...)
}

// lacks is the error about a column that a part of a table has not.
func (t *Table) lacks(name string) error {
	return fmt.Errorf("no column %q, which earlier parts have; the columns are %s", name, quotedList(t.Names))
}

func (p Part) blocks(o CSVOptions) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		r, err := p.Open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close() //nolint:errcheck // nothing was written
		text, array, err := plain(r, o)
		if text == nil || err != nil {
			yield(array, err)
			return
		}
		head, text, err := peek(text)
		encoding := cmp.Or(o.Encoding, utf16Of(head))
		if err == nil {
			text, err = decoded(text, encoding)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		pieces := &pieces{r: text, most: o.Limits.row(), size: pieceSize, encoding: encoding}
		for t, err := range pieces.tables(o) {
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// plain is the text of an input, decompressed, or the array.
func plain(r io.Reader, o CSVOptions) (text io.Reader, array *Table, err error) {
	head, r, err := peek(r)
	if err == nil && bytes.HasPrefix(head, []byte(gzipMagic)) {
		if r, err = newInflater(r, o.Limits); err == nil {
			head, r, err = peek(r)
		}
	}
	switch {
	case err != nil:
		return nil, nil, err
	case bytes.HasPrefix(head, []byte(npyMagic)):
		array, err = readNPY(r, o.Store, false)
		return nil, array, err
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return nil, nil, errTwice
	}
	return r, nil, nil
}

// blocksBefore is what a block of a CSV text has to know of those before it.
type blocksBefore struct {
	names       []string
	nameless    []string // of those
	comma       rune
	blanks      bool // have become tabs
	decimal     byte
	decimalSeen bool
	firstLine   int // where the first row of the text is
	rows, lines int
	after       int // lines of nothing after the last row
}

const (
	pieceSize = 1 << 22 // bytes of text that become one table
	pieceRows = 64      // that a piece has at least, as far as the first tells
)

// pieces cut a text at ends of rows.
type pieces struct {
	r     io.Reader
	most  int64  // bytes of a row
	text  []byte // read, and not given
	size  int    // of a piece
	ended bool

	encoding string // of the text, if it is not in UTF-8; empty until a piece shows it
	letters  bool   // a piece had some in UTF-8, beyond ASCII
}

// tables are those of one piece after another.
func (p *pieces) tables(o CSVOptions) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		var before *blocksBefore
		o.Store = nil // a piece is in memory, and so are its numbers
		for more := true; more; {
			piece, err := p.next()
			if err != nil {
				yield(nil, err)
				return
			}
			more = !p.ended || len(p.text) > 0
			raw := piece
			if piece, err = p.decode(piece, o.Encoding); err != nil {
				yield(nil, err)
				return
			}
			open := func() (io.Reader, error) { return bytes.NewReader(piece), nil }
			b := newCSVBuilder(o.NA, nil)
			b.before, b.encoding = before, p.encoding
			b, err = b.readTwice(open, o, fullPace())
			if more && (errors.Is(err, errEmpty) || errors.Is(err, ErrNoHeader)) { // nothing but a long line of names
				p.text = append(raw, p.text...)
				p.size = 2 * len(p.text)
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if before == nil {
				before = &blocksBefore{names: b.names, nameless: b.nameless, comma: b.comma, blanks: b.blanks, decimal: b.Decimal,
					decimalSeen: b.decimalSeen, firstLine: b.firstLine}
				p.size = max(p.size, pieceRows*(len(piece)/(b.Rows+1)))
			}
			t, err := b.table()
			if !yield(t, err) || err != nil {
				return
			}
			before.rows, before.lines, before.after = b.row(), before.lines+bytes.Count(piece, []byte{'\n'}), emptyAtEnd(piece)
		}
	}
}

// decode returns a piece in UTF-8. If no encoding was given, the first piece that is not UTF-8 shows it; a piece that
// shows nothing is returned as it is.
func (p *pieces) decode(piece []byte, given string) ([]byte, error) {
	switch {
	case given != "" || p.encoding == utf16Name:
	case utf8.Valid(piece):
		if utf8.RuneCount(piece) == len(piece) {
			break
		}
		if p.letters = true; p.encoding == westernName {
			return nil, fmt.Errorf("the file mixes Windows-1252 and UTF-8; %w", ErrEncoding)
		}
	case !p.letters && isWestern(piece):
		p.encoding = westernName
		r, err := decoded(bytes.NewReader(piece), westernName)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case p.encoding == westernName:
		return nil, fmt.Errorf("the file mixes Windows-1252 and another encoding; %w", ErrEncoding)
	}
	return piece, nil
}

// emptyAtEnd is the number of empty lines after the last row of a text that ends with a line.
func emptyAtEnd(text []byte) (n int) {
	for rest, ok := bytes.CutSuffix(text, []byte{'\n'}); ok; n++ {
		rest, ok = bytes.CutSuffix(bytes.TrimSuffix(rest, []byte{'\r'}), []byte{'\n'})
	}
	return max(n-1, 0)
}

// next is the next piece: whole rows, of about the size; all that is left, where there is no more.
func (p *pieces) next() (piece []byte, err error) {
	for {
		if err := p.fill(); err != nil {
			return nil, err
		}
		if p.ended {
			piece, p.text = p.text, nil
			return piece, nil
		}
		if end := endOfRows(p.text); end > 0 || int64(len(p.text)) > p.most { // beyond it, reading says what is wrong
			if end == 0 {
				end = len(p.text)
			}
			piece, rest := p.text[:end:end], p.text[end:]
			p.text = bytes.Clone(rest)
			return piece, nil
		}
		p.size *= 2
	}
}

// fill reads until there is a piece, or no more.
func (p *pieces) fill() error {
	if have := len(p.text); have < p.size {
		p.text = append(p.text, make([]byte, p.size-have)...)
		n, err := io.ReadFull(p.r, p.text[have:])
		p.text = p.text[:have+n]
		if p.ended = err == io.EOF || err == io.ErrUnexpectedEOF; !p.ended {
			return err
		}
	}
	return nil
}

// endOfRows is the place behind the last line feed that ends a row; 0 if there is none. Quotes before such a one come
// in pairs, as what is within a cell is doubled.
func endOfRows(text []byte) int {
	odd := bytes.Count(text, []byte{'"'})%2 == 1
	for end := len(text); ; {
		at := bytes.LastIndexByte(text[:end], '\n')
		if at < 0 {
			return 0
		}
		if bytes.Count(text[at:end], []byte{'"'})%2 == 1 {
			odd = !odd
		}
		if !odd {
			return at + 1
		}
		end = at
	}
}
