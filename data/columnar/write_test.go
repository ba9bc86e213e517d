package columnar_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
)

// TestParquetRoundTrip writes more than a row group, and reads it back.
func TestParquetRoundTrip(t *testing.T) {
	const n = 1<<16 + 100
	var b bytes.Buffer
	w, err := columnar.NewParquetWriter(&b, []data.Head{{Name: "id", Cells: data.Texts}, {Name: "row", Cells: data.Integers}, {Name: "x.y"}})
	require.NoError(t, err)
	for from := 0; from < n; from += 4096 {
		var texts []string
		var numbers []float64
		for i := from; i < min(from+4096, n); i++ {
			id, v := fmt.Sprint("n", i%5), math.Sin(float64(i))
			if i%7 == 0 {
				id, v = "", math.NaN()
			}
			texts, numbers = append(texts, id), append(numbers, float64(i), v)
		}
		require.NoError(t, w.Write(texts, numbers))
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "t.parquet")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))

	table, err := columnar.Read([]string{path}, columnar.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"id", "row", "x.y"}, table.Names)
	require.Equal(t, n, table.Rows())
	levels, codes := table.Levels("id"), table.Codes("id")
	for i := range n {
		require.Equal(t, float64(i), table.Number(i, 1))
		if i%7 == 0 {
			require.Negative(t, codes[i])
			require.True(t, math.IsNaN(table.Number(i, 2)))
			continue
		}
		require.Equal(t, fmt.Sprint("n", i%5), levels[codes[i]])
		require.Equal(t, math.Sin(float64(i)), table.Number(i, 2))
	}
}

var errFull = errors.New("full")

// short takes so many bytes.
type short int

func (s *short) Write(b []byte) (int, error) {
	if *s -= short(len(b)); *s < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestAFullDiskIsAnError: whichever write it is that fails, of the head, the pages or the footer.
func TestAFullDiskIsAnError(t *testing.T) {
	heads := []data.Head{{Name: "id", Cells: data.Texts}, {Name: "x"}}
	write := func(room short) error {
		w, err := columnar.NewParquetWriter(&room, heads)
		if err != nil {
			return err
		}
		if err := w.Write([]string{"a", "b"}, []float64{1, 2}); err != nil {
			return err
		}
		return w.Close()
	}
	require.NoError(t, write(1<<12))
	for room := range short(300) {
		require.ErrorIs(t, write(room), errFull, "%d", room)
	}
	_, err := columnar.NewParquetWriter(new(short), []data.Head{{Name: ""}})
	require.Error(t, err)
	w, err := columnar.NewParquetWriter(&bytes.Buffer{}, heads)
	require.NoError(t, err)
	require.Error(t, w.Write([]string{"a"}, nil))
}
