package data

import (
	"bytes"
	"slices"

	"golang.org/x/text/transform"

	"github.com/latent-go/latent/internal/fastcsv"
)

// blanks puts one tab in place of those that separate fields, outside quotes, and leaves out those around a line.
type blanks struct {
	transform.NopResetter
	above int  // lines above the table, which stay as they are
	short bool // the header has no name for the first column, as write.table of R leaves it out

	started, parted, quoted bool // the line has a field; blanks after it; within quotes
}

// Transform reads one byte after another.
func (b *blanks) Transform(dst, src []byte, _ bool) (written, read int, err error) {
	put := func(c byte) {
		dst[written] = c
		written++
	}
	for ; read < len(src); read++ {
		if len(dst) < written+2 {
			return written, read, transform.ErrShortDst
		}
		switch c := src[read]; {
		case b.above > 0 || b.quoted:
			put(c)
			if b.quoted {
				b.quoted = c != '"'
			} else if c == '\n' {
				b.above--
			}
		case c == ' ' || c == '\t':
			b.parted = true
		case c == '\n':
			put(c)
			b.short = b.short && !b.started
			b.started, b.parted = false, false
		case c == '\r':
			put(c)
		default:
			begins := !b.started || b.parted
			if b.started && b.parted || !b.started && b.short {
				put('\t')
			}
			put(c)
			b.started, b.parted, b.quoted = true, false, c == '"' && begins
		}
	}
	return written, read, nil
}

// found reports whether blanks separate the fields of a text, of which head is the beginning or the whole: no line of
// the table has another separator, all have as many fields, two at least, and one column is of numbers; of two columns,
// both. Above them may be remarks, titles that an empty line parts from them, and a header with a field less.
func (b *blanks) found(head []byte, whole bool) bool {
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	end := bytes.TrimSpace(head)
	if last, ok := spacedFields(end[bytes.LastIndexByte(end, '\n')+1:]); !ok || len(last) < 2 { // of most files
		return false
	}
	lines := bytes.SplitAfter(head, []byte{'\n'})
	first, width, header := len(lines), 0, false
	var rows [][][]byte // from the last one on
	tabs := map[int]bool{}
	for ; first > 0; first-- {
		line := bytes.TrimSpace(lines[first-1])
		fields, ok := spacedFields(line)
		if len(line) == 0 {
			continue
		}
		named := areTexts(fields)
		if !ok || width > 0 && len(fields) != width || named && header {
			break
		}
		width, header = len(fields), named
		rows = append(rows, fields)
		tabs[bytes.Count(line, []byte{'\t'})] = true
	}
	if b.above = first; first > 0 && len(bytes.TrimSpace(lines[first])) > 0 {
		line := bytes.TrimSpace(lines[first-1])
		names, ok := spacedFields(line)
		if b.short = ok && len(names) == width-1 && areTexts(names) && (width > 2 || line[0] == '"'); b.short {
			b.above--
		}
		if b.above > 0 {
			if line = bytes.TrimSpace(lines[b.above-1]); len(line) > 0 && line[0] != '#' {
				return false
			}
		}
	}
	if b.above > preambleLines {
		return false
	}
	if len(rows) > 1 && !b.short { // the first may be a header
		rows = rows[:len(rows)-1]
	}
	numeric := numericColumns(rows, width)
	if numeric < 1 || width == 2 && numeric < 2 && !b.short {
		return false
	}
	for n := range tabs { // as many in every line separate the fields, unless more columns of numbers are between them
		if len(tabs) == 1 && n > 0 && numeric <= n+2 {
			return false
		}
	}
	return true
}

// numericColumns is how many columns have numbers, and no texts.
func numericColumns(rows [][][]byte, width int) (n int) {
	for j := range width {
		of := map[fastcsv.Kind]bool{}
		for _, row := range rows {
			of[kindOfField(row[j])] = true
		}
		if of[fastcsv.Number] && !of[fastcsv.Text] {
			n++
		}
	}
	return n
}

// areTexts reports whether all fields are neither numbers nor missing.
func areTexts(fields [][]byte) bool {
	return !slices.ContainsFunc(fields, func(field []byte) bool { return kindOfField(field) != fastcsv.Text })
}

// kindOfField is that of a field, of which ? and . are missing.
func kindOfField(field []byte) fastcsv.Kind {
	if text := string(field); text != "?" && text != "." {
		_, kind := fastcsv.ParseCell(text)
		return kind
	}
	return fastcsv.Missing
}

// spacedFields are the fields of a line if blanks separate them, and ok is false where it is a remark or has another
// separator.
func spacedFields(line []byte) (fields [][]byte, ok bool) {
	if bytes.HasPrefix(line, []byte{'#'}) {
		return nil, false
	}
	for len(line) > 0 {
		end := 0
		if line[0] == '"' {
			end = 2 + bytes.IndexByte(line[1:], '"')
		}
		if next := bytes.IndexAny(line[end:], " \t"); next < 0 {
			end = len(line)
		} else {
			end += next
		}
		if line[0] != '"' && bytes.ContainsAny(line[:end], ",;|") {
			return nil, false
		}
		fields = append(fields, line[:end])
		line = bytes.TrimLeft(line[end:], " \t")
	}
	return fields, true
}
