// Package wire reads texts of encoding/gob that are whole by themselves, as [gob.Decoder] does. It keeps decoders for
// texts that define the same types, so that what decodes a type is compiled once and not for each text.
package wire

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"io"
	"reflect"
	"slices"
	"sync"
)

// A Decoder reads the values of a text, which may come from another process.
type Decoder struct {
	text        []byte
	definitions []byte   // of the types of all values
	values      [][]byte // that are left
	read        int      // values so far
	like        *sync.Pool
	plain       *gob.Decoder // where a decoder is of use for this text alone
}

// Decode reads one value of a text.
func Decode(text []byte, into any) error { return NewDecoder(text).Decode(into) }

// NewDecoder returns a decoder of a text.
func NewDecoder(text []byte) *Decoder {
	d, rest, definition := &Decoder{text: text}, text, false
	for len(rest) > 0 {
		var n int
		if n, definition = message(rest); n == 0 {
			break
		}
		if definition {
			d.definitions = append(d.definitions, rest[:n]...)
		} else {
			d.values = append(d.values, rest[:n])
		}
		rest = rest[n:]
	}
	if len(rest) > 0 || definition {
		d.plain = gob.NewDecoder(bytes.NewReader(text)) // which knows what is wrong
	} else {
		d.like = decodersOf(d.definitions)
	}
	return d
}

// Decode reads the next value into that which a pointer points to.
func (d *Decoder) Decode(into any) error {
	if d.plain == nil && open(reflect.TypeOf(into), nil) {
		d.plain = gob.NewDecoder(bytes.NewReader(d.text))
		for range d.read {
			if err := d.plain.DecodeValue(reflect.Value{}); err != nil {
				return err
			}
		}
	}
	if d.plain != nil {
		return d.plain.Decode(into)
	}
	if len(d.values) == 0 {
		return io.EOF
	}
	value := d.values[0]
	k, known := d.like.Get().(*decoder)
	if !known {
		k = new(decoder)
		k.Decoder = gob.NewDecoder(&k.text)
		value = slices.Concat(d.definitions, value)
	}
	k.text.Reset(value)
	if err := k.Decode(into); err != nil {
		return err
	}
	k.text.Reset(nil)
	d.like.Put(k)
	d.values, d.read = d.values[1:], d.read+1
	return nil
}

// message returns the length of the first message of a text, and whether it defines a type; 0 if there is none.
func message(text []byte) (n int, definition bool) {
	size, at := number(text)
	id, read := number(text[at:])
	if at == 0 || read == 0 || size < uint64(read) || size > uint64(len(text)-at) {
		return 0, false
	}
	return at + int(size), id&1 == 1 // the id is negative
}

// number reads an unsigned integer, and returns the number of its bytes; 0 if there is none.
func number(text []byte) (x uint64, n int) {
	if len(text) == 0 {
		return 0, 0
	}
	if text[0] < 128 {
		return uint64(text[0]), 1
	}
	n = 1 + -int(int8(text[0]))
	if n > 9 || n > len(text) {
		return 0, 0
	}
	for _, b := range text[1:n] {
		x = x<<8 | uint64(b)
	}
	return x, n
}

// A decoder knows the types of some definitions.
type decoder struct {
	*gob.Decoder
	text bytes.Reader
}

// decoders are those at hand, by the definitions that they have read. The same types have other definitions in a
// process that first met them in another order.
var decoders struct {
	sync.Mutex
	of map[string]*sync.Pool
}

// most bounds the definitions that are known.
const most = 1000

func decodersOf(definitions []byte) *sync.Pool {
	decoders.Lock()
	defer decoders.Unlock()
	p := decoders.of[string(definitions)]
	if p == nil {
		if len(decoders.of)%most == 0 {
			decoders.of = map[string]*sync.Pool{}
		}
		p = new(sync.Pool)
		decoders.of[string(definitions)] = p
	}
	return p
}

// opened are the results of open.
var opened sync.Map

// open reports whether values of a type define types within themselves: those that have interfaces.
func open(t reflect.Type, within []reflect.Type) bool {
	if known, is := opened.Load(t); is {
		return known.(bool)
	}
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	is := false
	switch {
	case t == nil:
	case t.Implements(reflect.TypeFor[gob.GobEncoder]()) || t.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()):
	case t.Kind() == reflect.Interface:
		is = true
	case t.Kind() == reflect.Struct:
		for i := 0; i < t.NumField() && !is; i++ {
			is = t.Field(i).IsExported() && open(t.Field(i).Type, within)
		}
	case t.Kind() == reflect.Map:
		is = open(t.Key(), within) || open(t.Elem(), within)
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		is = open(t.Elem(), within)
	}
	if len(within) == 1 {
		opened.Store(t, is)
	}
	return is
}
