package wire_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/wire"
)

type head struct {
	Kind  string
	Roots []int
	Fault *fault
}

type fault struct{ Text string }

type sums struct {
	N    float64
	X    []float64
	Next *sums
}

// An other has fields of the names of sums and other types.
type other struct {
	N string
	X []float64
}

// textOf is what a program writes.
func textOf(t *testing.T, values ...any) []byte {
	var text bytes.Buffer
	e := gob.NewEncoder(&text)
	for _, v := range values {
		require.NoError(t, e.Encode(v))
	}
	return text.Bytes()
}

// valuesOf reads a head and sums until an error.
func valuesOf(d interface{ Decode(any) error }) (h head, all []sums, err error) {
	err = d.Decode(&h)
	for err == nil {
		var s sums
		if err = d.Decode(&s); err == nil {
			all = append(all, s)
		}
	}
	return h, all, err
}

// examples are texts of some types: alone, with others, in another order, and of none.
func examples(t *testing.T) [][]byte {
	a, b := &sums{N: 2, X: []float64{1, 2.5}, Next: &sums{N: 3}}, &sums{X: []float64{-7}}
	return [][]byte{
		textOf(t, head{Kind: "a", Roots: []int{0, 8}}, a, b), textOf(t, head{Kind: "b", Fault: &fault{"no"}}), textOf(t, head{}, b, b, b),
		textOf(t, a, head{}), textOf(t, 7, head{}, b), textOf(t, other{N: "x"}, a), textOf(t, head{}, other{N: "x"}), textOf(t, head{}, a, other{}), nil,
	}
}

// TestValuesAreThoseOfGob, the first time and later, and the errors about other types, too.
func TestValuesAreThoseOfGob(t *testing.T) {
	for range 3 {
		for i, text := range examples(t) {
			wantHead, want, wantErr := valuesOf(gob.NewDecoder(bytes.NewReader(text)))
			gotHead, got, err := valuesOf(wire.NewDecoder(text))
			require.Equal(t, wantErr.Error(), err.Error(), "text %d", i)
			require.Equal(t, wantHead, gotHead)
			require.Equal(t, want, got)
		}
	}
}

// TestDamagedTextsAreReadAsByGob: any byte is another one, or the text ends early.
func TestDamagedTextsAreReadAsByGob(t *testing.T) {
	for _, text := range examples(t)[:3] {
		for i := range text {
			for _, damaged := range [][]byte{text[:i], flipped(text, i, 0), flipped(text, i, i%8), flipped(text, i, 7)} {
				wantHead, want, wantErr := valuesOf(gob.NewDecoder(bytes.NewReader(damaged)))
				gotHead, got, err := valuesOf(wire.NewDecoder(damaged))
				if wantErr != io.EOF { // as gob returns it
					require.Error(t, err)
					require.NotErrorIs(t, err, io.EOF)
					continue
				}
				require.ErrorIs(t, err, io.EOF, "byte %d", i)
				require.Equal(t, wantHead, gotHead)
				require.Equal(t, want, got)
			}
		}
	}
	_, all, err := valuesOf(wire.NewDecoder(examples(t)[0])) // no decoder is spoiled
	require.ErrorIs(t, err, io.EOF)
	require.Len(t, all, 2)
}

func flipped(text []byte, i, bit int) []byte {
	text = slices.Clone(text)
	text[i] ^= 1 << bit
	return text
}

type (
	box  struct{ Of any }
	leaf struct{ X int }
)

// TestTypesWithinValues: of an interface in an interface, gob defines the type within the value.
func TestTypesWithinValues(t *testing.T) {
	gob.Register(box{})
	gob.Register(leaf{})
	for i := range 3 {
		d := wire.NewDecoder(textOf(t, head{Kind: "c"}, box{box{leaf{i}}}, box{box{leaf{-i}}}))
		var h head
		var first, second box
		require.NoError(t, errors.Join(d.Decode(&h), d.Decode(&first), d.Decode(&second)))
		require.Equal(t, box{box{leaf{i}}}, first)
		require.Equal(t, box{box{leaf{-i}}}, second)
	}
}

func TestGoroutinesDecodeAtTheSameTime(t *testing.T) {
	text := examples(t)[0]
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 200 {
				_, all, err := valuesOf(wire.NewDecoder(text))
				if len(all) != 2 || !errors.Is(err, io.EOF) {
					t.Errorf("%d values, %v", len(all), err)
				}
			}
		})
	}
	wait.Wait()
}

// TestNothingIsCompiledTwice, by what it takes of memory.
func TestNothingIsCompiledTwice(t *testing.T) {
	text := examples(t)[0]
	anew := testing.AllocsPerRun(20, func() { _, _, _ = valuesOf(gob.NewDecoder(bytes.NewReader(text))) })
	again := testing.AllocsPerRun(20, func() { _, _, _ = valuesOf(wire.NewDecoder(text)) })
	require.Less(t, again, anew) // a fifth; the race detector has pools forget
}
