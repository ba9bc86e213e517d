// Package fingerprint hashes data sets and settings, the same on every machine.
package fingerprint

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"iter"
	"math"
	"reflect"

	"github.com/latent-go/latent/framework/blocks"
)

// Of is a hash of so many rows and of their blocks: of the rows' numbers and weights, and of the exported fields of
// blocks of other types. It takes a pass.
func Of[B any](rows int, list iter.Seq2[B, error]) (string, error) {
	h := sha256.New()
	d := digest{bufio.NewWriterSize(h, 1<<16)}
	d.word(uint64(rows))
	for b, err := range list {
		if err != nil {
			return "", err
		}
		if rows, ok := any(b).(blocks.Rows); ok {
			d.rows(rows)
		} else {
			d.value(reflect.ValueOf(b), deepest)
		}
	}
	_ = d.w.Flush() // a hash takes everything
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Hash is a hash of a value, and the same in every process.
func Hash(v any) (sum [sha256.Size]byte) {
	h := sha256.New()
	d := digest{bufio.NewWriter(h)}
	d.value(reflect.ValueOf(v), deepest)
	_ = d.w.Flush()
	h.Sum(sum[:0])
	return sum
}

// A digest writes values so that different ones make different bytes.
type digest struct{ w *bufio.Writer }

func (d digest) word(v uint64) {
	_, _ = d.w.Write(binary.LittleEndian.AppendUint64(d.w.AvailableBuffer(), v))
}

func (d digest) floats(x []float64) {
	d.word(uint64(len(x)))
	for _, v := range x {
		d.word(math.Float64bits(v))
	}
}

// rows leaves out what lies between rows in memory.
func (d digest) rows(b blocks.Rows) {
	d.word(uint64(b.N))
	d.word(uint64(b.D))
	d.floats(b.Weights)
	for i := range b.N {
		if b.Entries == nil {
			d.floats(b.Row(i))
			continue
		}
		columns, values := b.Entries.Row(i)
		d.word(uint64(len(columns)))
		for _, j := range columns {
			d.word(uint64(j))
		}
		d.floats(values)
	}
}

// deepest bounds the walk through a block that leads back to itself.
const deepest = 32

// value walks through what a block holds. Functions, channels and maps are left out, and fields with the tag
// fingerprint:"-".
func (d digest) value(v reflect.Value, depth int) {
	if depth--; depth < 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		d.word(map[bool]uint64{true: 1}[v.Bool()])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.word(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.word(v.Uint())
	case reflect.Float32, reflect.Float64:
		d.word(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		d.floats([]float64{real(v.Complex()), imag(v.Complex())})
	case reflect.String:
		d.word(uint64(v.Len()))
		_, _ = io.WriteString(d.w, v.String())
	case reflect.Pointer, reflect.Interface:
		if d.word(map[bool]uint64{true: 1}[v.IsNil()]); !v.IsNil() {
			d.value(v.Elem(), depth)
		}
	case reflect.Slice, reflect.Array:
		d.word(uint64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("fingerprint") != "-" {
				d.value(v.Field(i), depth)
			}
		}
	}
}
