package data

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestInflaterJoinsMembers(t *testing.T) {
	first, second := compress(t, []byte("a,b\n1,")), compress(t, []byte("2\n3,4\n"))
	file := append(append(bytes.Clone(first), compress(t, nil)...), second...)
	for _, r := range []io.Reader{bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file)), iotest.DataErrReader(bytes.NewReader(file))} {
		g, err := newInflater(r, Limits{})
		require.NoError(t, err)
		text, err := io.ReadAll(g)
		require.NoError(t, err)
		require.Equal(t, "a,b\n1,2\n3,4\n", string(text))
	}
	table, err := Read(bytes.NewReader(file), CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, 2, table.Rows())
}

// TestInflaterTellsTheEndFromWhatFollows, however few bytes that are, in CSV and in NPY.
func TestInflaterTellsTheEndFromWhatFollows(t *testing.T) {
	var array bytes.Buffer
	require.NoError(t, WriteNPY(&array, []float64{1, 2}, 1, 2))
	for _, content := range [][]byte{[]byte("a,b\n1,2\n"), array.Bytes()} {
		whole := compress(t, content)
		for _, after := range []string{"x", "\x1f", "garbage", "more than a gzip header has"} {
			_, err := Read(bytes.NewReader(append(bytes.Clone(whole), after...)), CSVOptions{})
			require.ErrorIs(t, err, errGzipAfter, "%q", after)
		}
		_, err := Read(bytes.NewReader(append(bytes.Clone(whole), whole[:9]...)), CSVOptions{})
		require.ErrorIs(t, err, errGzipCut)
		for n := len(gzipMagic); n < len(whole); n++ {
			_, err := Read(bytes.NewReader(whole[:n]), CSVOptions{})
			require.ErrorIs(t, err, errGzipCut, "%d bytes", n)
		}
		_, err = Read(io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(io.ErrClosedPipe)), CSVOptions{})
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}
