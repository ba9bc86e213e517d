// Package jsontext writes JSON as the command does: compact, with the fields of several structs in one object, and
// large objects piece by piece.
package jsontext

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"reflect"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
)

// Object is one JSON object with the fields of several structs, in their order; nil has none.
func Object(parts ...any) ([]byte, error) {
	var fields [][]byte
	for _, part := range parts {
		if v := reflect.ValueOf(part); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		text, err := Encode(part)
		if err != nil {
			return nil, err
		}
		if len(text) > len("{}") { // of the braces, one pair is left
			fields = append(fields, text[1:len(text)-1])
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(fields, []byte(",")), []byte("}")), nil
}

// Encode writes compact JSON without an end of line.
func Encode(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(text.Bytes(), "\n"), err
}

// Write writes compact JSON and an end of line.
func Write(w io.Writer, v any) error {
	text, err := Encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Pieces writes JSON piece by piece, and remembers the first error.
type Pieces struct {
	*bufio.Writer
	within bool // something stands before, in the same object or list
	Err    error
}

// NewPieces writes an object to w.
func NewPieces(w io.Writer) *Pieces { return &Pieces{Writer: bufio.NewWriter(w)} }

// End writes what is left, and returns the first error.
func (o *Pieces) End() error { return cmp.Or(o.Err, o.Flush()) }

// Field writes a value: under a name in an object, under none in a list.
func (o *Pieces) Field(name string, value any) {
	text, err := Encode(value)
	o.Err = cmp.Or(o.Err, err)
	o.piece(name, string(text))
	o.within = true
}

// Open begins an object or a list by its bracket.
func (o *Pieces) Open(name, bracket string) {
	o.piece(name, bracket)
	o.within = false
}

// Shut ends an object or a list by its bracket.
func (o *Pieces) Shut(bracket string) {
	o.within = false
	o.piece("", bracket)
	o.within = true
}

// List writes n values as a list.
func (o *Pieces) List(name string, n int, item func(i int) any) {
	o.Open(name, "[")
	for i := range n {
		o.Field("", item(i))
	}
	o.Shut("]")
}

func (o *Pieces) piece(name, text string) {
	if name != "" {
		quoted, err := Encode(name)
		o.Err = cmp.Or(o.Err, err)
		text = string(quoted) + ":" + text
	}
	if o.within {
		text = "," + text
	}
	if o.Err == nil {
		_, o.Err = o.WriteString(text)
	}
}

// tableJSON writes a table as one object: the names of the columns, a list for each row, and the warnings.
type tableJSON struct {
	Pieces
	heads []data.Head
	notes []string
}

// NewTable begins a table of some columns; warnings end it.
func NewTable(w io.Writer, heads []data.Head, warnings []string) data.Writer {
	t := &tableJSON{Pieces{Writer: bufio.NewWriter(w)}, heads, warnings}
	t.Open("", "{")
	t.List("columns", len(heads), func(j int) any { return heads[j].Name })
	t.Open("rows", "[")
	return t
}

// Write implements [data.Writer].
func (t *tableJSON) Write(texts []string, numbers []float64) error {
	rows, err := data.RowsOf(t.heads, texts, numbers)
	if err != nil {
		return err
	}
	for range rows {
		t.Open("", "[")
		for _, head := range t.heads {
			if head.Cells == data.Texts {
				t.Field("", texts[0])
				texts = texts[1:]
				continue
			}
			t.Field("", fitted.Number(numbers[0]))
			numbers = numbers[1:]
		}
		t.Shut("]")
	}
	return t.Err
}

// Close implements [data.Writer].
func (t *tableJSON) Close() error {
	t.Pieces.Shut("]")
	t.Field("warnings", t.notes)
	t.Pieces.Shut("}\n")
	return cmp.Or(t.Err, t.Flush())
}
