package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	utf16Name   = "utf-16"
	westernName = "windows-1252"
)

// ErrEncoding is part of the error about a text that is not valid UTF-8; [CSVOptions].Encoding can name its encoding.
var ErrEncoding = errors.New("save it as CSV in UTF-8, or say what encoding it has")

// encodingOf finds an encoding by its name in the Encoding Standard of WHATWG, https://encoding.spec.whatwg.org, such
// as windows-1252, latin1, utf-16le and shift_jis; nil stands for UTF-8.
func encodingOf(name string) (encoding.Encoding, error) {
	if name == utf16Name {
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return nil, fmt.Errorf("no encoding is called %.60q: such names are utf-8, utf-16, windows-1252, latin1, "+
			"iso-8859-2, macintosh, shift_jis, gb18030", name)
	}
	if found == unicode.UTF8 {
		return nil, nil
	}
	return found, nil
}

// decoded is a text of an encoding in UTF-8, of which nothing has been read; empty stands for UTF-8.
func decoded(text io.Reader, name string) (io.Reader, error) {
	if name == "" {
		return text, nil
	}
	of, err := encodingOf(name)
	if of == nil || err != nil {
		return text, err
	}
	return transform.NewReader(text, of.NewDecoder()), nil
}

// utf16Of is UTF-16 where a text begins with its byte order mark, or with three letters of Latin in it, and else empty.
func utf16Of(head []byte) string {
	if bytes.HasPrefix(head, []byte("\xfe\xff")) ||
		bytes.HasPrefix(head, []byte("\xff\xfe")) && !bytes.HasPrefix(head, []byte("\xff\xfe\xff")) {
		return utf16Name
	}
	var zero [6]bool
	for i, c := range head[:min(len(head), len(zero))] {
		zero[i] = c == 0
	}
	switch zero {
	case [...]bool{true, false, true, false, true, false}:
		return "utf-16be"
	case [...]bool{false, true, false, true, false, true}:
		return "utf-16le"
	}
	return ""
}

// isWestern says whether a text that is not UTF-8 is taken to be in Windows-1252, of which ISO 8859-1 is a part: it has
// no byte without a character there, and no letter in UTF-8 beyond ASCII, as damaged UTF-8 has.
func isWestern(text []byte) bool {
	others := false
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRune(text[i:])
		if size > 1 || strings.IndexByte("\x81\x8d\x8f\x90\x9d", text[i]) >= 0 {
			return false
		}
		others = true
		i++
	}
	return others
}

// encodingFound returns the encoding of a text that is not UTF-8: UTF-16 if a mark or its first letters say so,
// Windows-1252 if every byte fits it, and else an empty name.
func encodingFound(open func() (io.Reader, error)) string {
	r, err := open()
	if err != nil {
		return ""
	}
	head := make([]byte, len(npyMagic))
	n, _ := io.ReadFull(r, head)
	if mark := utf16Of(head[:n]); mark != "" {
		return mark
	}
	text, found, part := io.MultiReader(bytes.NewReader(head[:n]), r), "", make([]byte, 1<<16)
	for kept := 0; ; {
		n, err := io.ReadFull(text, part[kept:])
		n += kept
		for kept = 0; err == nil && kept < utf8.UTFMax-1 && part[n-kept-1] >= utf8.RuneSelf; { // perhaps part of a letter
			kept++
		}
		switch now := part[:n-kept]; {
		case isWestern(now):
			found = westernName
		case !utf8.Valid(now), utf8.RuneCount(now) < len(now): // letters in UTF-8, or what Windows-1252 does not have
			return ""
		}
		if err != nil {
			return found
		}
		copy(part, part[n-kept:n])
	}
}

// Encoding returns the encoding of the CSV file if it is not UTF-8: the one of [CSVOptions], or UTF-16 or
// Windows-1252 if the file was recognised as such. It returns "" for UTF-8.
func (t *Table) Encoding() string { return t.encoding }

// Preamble returns the lines that stand above the table in its CSV file and are no part of it: remarks that begin with
// #, and titles ([ReadCSV]).
func (t *Table) Preamble() string { return t.preamble }

// Titles returns the rows below the header of the CSV file that have no data but units or further titles ([ReadCSV]).
// The caller must not change them.
func (t *Table) Titles() [][]string { return t.titles }

// Blanks reports whether blanks separate the fields of the CSV file ([CSVOptions].Comma).
func (t *Table) Blanks() bool { return t.blanks }
