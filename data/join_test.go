package data

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parts(texts ...string) (list []Part) {
	for i, text := range texts {
		list = append(list, Part{string(rune('a' + i)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	return list
}

func TestPartsAreOneTable(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	want, err := ReadCSV(strings.NewReader("x,c,y\n1,u,2\n?,v,4\n5,,6\n7,w,8\n9,u,\n"), CSVOptions{NA: []string{"?"}})
	require.NoError(t, err)
	for _, store := range []*Store{nil, NewStore(0), NewStore(40)} {
		got, err := ReadParts(parts("x,c,y\n1,u,2\n?,v,4\n", "c,y,x\n,6,5\n", "x,c,y\n7,w,8\n9,u,\n"), CSVOptions{NA: []string{"?"}, Store: store})
		require.NoError(t, err)
		requireSame(t, want, got)
		require.Equal(t, want.MarkedMissing("x"), got.MarkedMissing("x"))
		one, err := ReadParts(parts("x,c,y\n1,u,2\n?,v,4\n5,,6\n7,w,8\n9,u,\n"), CSVOptions{NA: []string{"?"}, Store: store})
		require.NoError(t, err)
		requireSame(t, want, one)
		require.NoError(t, store.Close())
	}

	var array bytes.Buffer
	require.NoError(t, WriteNPY(&array, []float64{1, 2, 3, 4}, 2, 2))
	got, err := ReadParts(parts(array.String(), array.String(), "5,6\n"), CSVOptions{})
	require.NoError(t, err)
	x, rows, _, err := got.Matrix()
	require.NoError(t, err)
	require.Equal(t, 5, rows)
	require.Equal(t, []float64{1, 2, 3, 4, 1, 2, 3, 4, 5, 6}, x)

	for text, message := range map[string]string{
		"x\n1\n":       "b: 1 columns, and earlier parts have 3",
		"x,c,z\n1,u,1": `b: no column "y", which earlier parts have; the columns are "x", "c", "z"`,
		"x,c,y\nu,u,1": `b: column "x"`,
		"x,c,y\n1,2,3": `b: column "c" is numeric, and text in earlier parts`,
		"":             "b: the input is empty",
	} {
		_, err := ReadParts(parts("x,c,y\n1,u,2\n", text), CSVOptions{})
		require.ErrorContains(t, err, message)
	}
}
