package data

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFloat32sAreTheNumbers: whatever is asked of a table of float32 is the same as of its widened numbers, and they are kept only where
// that can be had without a copy.
func TestFloat32sAreTheNumbers(t *testing.T) {
	const rows, cols = 400, 3
	rng := rand.New(rand.NewPCG(1, 33))
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = rng.Float32()*4 - 2
		if i%cols == 1 {
			x[i] = float32(rng.IntN(3))
		}
	}
	x[7], x[301] = float32(math.NaN()), float32(math.NaN())
	file := func(x []float32, order string, fortran bool) []byte {
		payload, err := binary.Append(nil, map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian}[order], x)
		require.NoError(t, err)
		return npyFile(order+"f4", fortran, "(400, 3)", payload)
	}
	read := func(r io.Reader, o CSVOptions) *Table {
		table, err := Read(r, o)
		require.NoError(t, err)
		return table
	}
	native := map[bool]string{false: "<", true: ">"}
	own := file(x, native[isBigEndian], false)
	wide := read(bytes.NewReader(own), CSVOptions{})
	got, complete := wide.Float32s()
	require.True(t, got == nil && !complete)
	small, large := NewStore(4*rows*cols-1), NewStore(4*rows*cols)
	defer small.Close() //nolint:errcheck // of a test
	for name, table := range map[string]*Table{
		"a pipe":              read(struct{ io.Reader }{bytes.NewReader(own)}, CSVOptions{Float32: true}),
		"the other order":     read(bytes.NewReader(file(x, native[!isBigEndian], false)), CSVOptions{Float32: true}),
		"columns":             read(bytes.NewReader(file(x, native[isBigEndian], true)), CSVOptions{Float32: true}),
		"more than the store": read(bytes.NewReader(own), CSVOptions{Float32: true, Store: small}),
	} {
		got, _ := table.Float32s()
		require.Nil(t, got, name)
	}

	table := read(bytes.NewReader(own), CSVOptions{Float32: true, Store: large})
	require.Zero(t, large.Mapped())
	got, complete = table.Float32s()
	require.False(t, complete)
	require.Equal(t, bytesOf(x), bytesOf(got))
	one, err := table.Select("V1")
	require.NoError(t, err)
	got, _ = one.Float32s()
	require.Nil(t, got)
	categories, err := table.Factor("V2", nil, false)
	require.NoError(t, err)
	got, _ = categories.Float32s()
	require.Nil(t, got)

	equal := func(what string, of func(t *Table) (*Table, error)) {
		a, err := of(wide)
		require.NoError(t, err, what)
		b, err := of(table)
		require.NoError(t, err, what)
		require.Equal(t, a.Names, b.Names, what)
		p, n, d, err := a.Values()
		require.NoError(t, err, what)
		q, m, e, err := b.Values()
		require.NoError(t, err, what)
		require.Equal(t, [2]int{n, d}, [2]int{m, e}, what)
		require.True(t, slices.EqualFunc(p, q, func(v, w float64) bool { return v == w || v != v && w != w }), what)
		_, _, _, wantErr := a.Matrix()
		_, _, _, err = b.Matrix()
		require.Equal(t, wantErr, err, what)
		require.Equal(t, a.Kinds(), b.Kinds(), what)
		for j, name := range a.Names {
			require.Equal(t, a.Suggest(name, nil), b.Suggest(name, nil), what)
			require.Equal(t, a.Levels(name), b.Levels(name), what)
			require.Equal(t, a.Constant(j, nil), b.Constant(j, nil), what)
		}
	}
	equal("all", func(t *Table) (*Table, error) { return t, nil })
	equal("some", func(t *Table) (*Table, error) { return t.Select("V3", "V1") })
	equal("complete", func(t *Table) (*Table, error) {
		t, dropped, err := t.DropMissing()
		if dropped != 2 {
			return nil, io.ErrUnexpectedEOF
		}
		return t, err
	})
	equal("levels", func(t *Table) (*Table, error) { return t.Factor("V2", nil, false) })
	equal("numbers again", func(t *Table) (*Table, error) {
		t, err := t.Factor("V2", nil, false)
		if err != nil {
			return nil, err
		}
		return t.Numbers([]string{"V2"}, [][]string{{"2"}})
	})

	x[5] = float32(math.Inf(1))
	got, _ = read(bytes.NewReader(file(x, native[isBigEndian], false)), CSVOptions{Float32: true}).Float32s()
	require.Nil(t, got, "an infinite number, which Values refuses")
	x[5], x[7], x[301] = 0, 0, 0
	got, complete = read(bytes.NewReader(file(x, native[isBigEndian], false)), CSVOptions{Float32: true}).Float32s()
	require.True(t, got != nil && complete)
	_, err = Read(bytes.NewReader(own[:len(own)-1]), CSVOptions{Float32: true})
	require.ErrorContains(t, err, "cut short")
}
