package data

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLongRowsAndCellsAreRefused(t *testing.T) {
	small := CSVOptions{Limits: Limits{Cell: 1, Row: 1}} // the least, 1 MiB, holds
	short, long := strings.Repeat("x", least), strings.Repeat("x", least+1)
	read := func(text string, o CSVOptions) error {
		t.Helper()
		_, err := ReadCSV(strings.NewReader(text), o)
		return err
	}
	require.NoError(t, read("a,b\n1,"+short+"\n2,y\n", CSVOptions{Limits: Limits{Cell: 1}}))
	for text, want := range map[string]string{
		"a,b\n1,\"" + long + "\"\n2,y\n":                                  "line 2: column 2 has a cell of 1.05 MB, beyond the limit of cells",
		"a,b\n1,x\n\n2," + strings.Repeat("\n", 3) + "3,\"" + long + "\"": "line 7: column 2 has a cell",
		"a," + long + "\n1,x\n":                                           "line 1: column 2 has a cell",
	} {
		err := read(text, CSVOptions{Limits: Limits{Cell: 1}})
		require.ErrorIs(t, err, ErrLimit)
		require.ErrorContains(t, err, want)
		require.NoError(t, read(strings.ReplaceAll(text, long, "x"), small))
	}
	rest := strings.Repeat("12,2\n", least/2)
	for text, want := range map[string]string{
		"a,b\n\"1,2\n" + rest:                                      "line 2: a row of more than 1.05 MB begins there, beyond the limit of rows: do its quotes end?",
		"a,b\n1,2\n\"3\n3\",4\n5,\"\n" + rest:                      "line 5: a row of more",
		"a,b\n" + strings.Repeat("1,2\n", 40000) + "5,\"\n" + rest: "line 40002: a row of more",
		strings.Repeat("a,", least) + "b\n":                        "line 1: a row of more",
	} {
		err := read(text, small)
		require.ErrorIs(t, err, ErrLimit)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, read("a,b\n"+rest, small), "many rows are no long one")
	require.NoError(t, read("a,b\n"+strings.Repeat("\"1\",\"2\n3\"\n", least/5), small))
}

func TestAGzippedFileThatHoldsFarTooMuchIsRefused(t *testing.T) {
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := w.Write(bytes.Repeat([]byte("0,0,0\n"), 1<<18))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	inflate := func(limits Limits, free int64) (int64, error) {
		g, err := newInflater(bytes.NewReader(file.Bytes()), limits)
		require.NoError(t, err)
		g.free = free
		return io.Copy(io.Discard, g)
	}
	n, err := inflate(Limits{}, 1<<20)
	require.ErrorIs(t, err, ErrLimit)
	require.ErrorContains(t, err, "of the compressed data hold more than 1.0")
	require.Less(t, n, int64(1<<20+1<<17), "it ends where the limit is passed")
	for limits, free := range map[Limits]int64{{}: 1 << 30, {Ratio: 1100}: 0} {
		n, err := inflate(limits, free)
		require.NoError(t, err)
		require.EqualValues(t, 6<<18, n)
	}
}
