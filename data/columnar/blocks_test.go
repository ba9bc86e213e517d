package columnar_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
)

// TestBlocksAreTheTable: of any format, in several row groups and files, and in a row group that is cut.
func TestBlocksAreTheTable(t *testing.T) {
	dir := t.TempDir()
	var paths [2][]string
	for i, format := range []string{"parquet", "arrow"} {
		for j, rows := range [][]arrow.RecordBatch{{batch(t, 0, 30), batch(t, 30, 30)}, {batch(t, 60, 171)}} {
			path := filepath.Join(dir, string(rune('a'+j))+"."+format)
			[]func(testing.TB, string, ...arrow.RecordBatch){writeParquet, writeArrow}[i](t, path, rows...)
			paths[i] = append(paths[i], path)
		}
	}
	const wide, n = 1 << 10, 2500 // in one row group, and more than a block
	heads := make([]data.Head, wide)
	for j := range heads {
		heads[j].Name = "x" + strings.Repeat("i", j)
	}
	large := filepath.Join(dir, "large.parquet")
	file, err := os.Create(large)
	require.NoError(t, err)
	w, err := columnar.NewParquetWriter(file, heads)
	require.NoError(t, err)
	x := make([]float64, n*wide)
	for i := range x {
		x[i] = float64(i)
	}
	require.NoError(t, w.Write(nil, x))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())

	for _, list := range [][]string{paths[0], paths[1], {large}} {
		o := columnar.Options{Keep: flat, NA: []string{"?", "7"}, Text: func(name string) bool { return name == "i64" }}
		want, err := columnar.Read(list, o)
		require.NoError(t, err)
		at, tables := 0, 0
		marked := make([]int, want.Cols())
		for table, err := range columnar.Blocks(list, o) {
			require.NoError(t, err)
			require.Equal(t, want.Names, table.Names)
			for i := range table.Rows() {
				require.Equal(t, at, table.Origin(i))
				for j, name := range want.Names[:min(want.Cols(), 20)] {
					require.Equal(t, cellOf(want, at, j), cellOf(table, i, j), "row %d of %s", at, name)
				}
				at++
			}
			for j, name := range want.Names {
				for _, n := range table.MarkedMissing(name) {
					marked[j] += n
				}
			}
			tables++
		}
		require.Equal(t, want.Rows(), at)
		require.Greater(t, tables, 1)
		for j, name := range want.Names {
			for _, n := range want.MarkedMissing(name) {
				marked[j] -= n
			}
		}
		require.Zero(t, slices.Max(marked))
		require.Zero(t, slices.Min(marked))
		for range columnar.Blocks(list, o) {
			break // which is no error
		}
	}
	table, err := columnar.Read(paths[0], columnar.Options{Keep: flat, NA: []string{"?", "7"}, Text: func(name string) bool { return name == "i64" }})
	require.NoError(t, err)
	require.Contains(t, table.Levels("i64"), "123000000000")
	require.Equal(t, 39, table.MarkedMissing("species")[0])
	require.Equal(t, 1, table.MarkedMissing("u32")[1])
}

// cellOf is a number, or a text.
func cellOf(t *data.Table, row, col int) any {
	v := t.Number(row, col)
	if levels := t.Levels(t.Names[col]); levels != nil && v == v {
		return levels[int(v)]
	}
	if v != v {
		return "missing"
	}
	return v
}

func TestTextsAreUTF8(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String}}, nil))
	b.Field(0).(*array.StringBuilder).AppendStringValues([]string{"a", "b\xff"}, nil)
	path := filepath.Join(t.TempDir(), "t")
	for _, write := range []func(testing.TB, string, ...arrow.RecordBatch){writeParquet, writeArrow} {
		rows := b.NewRecordBatch()
		rows.Retain()
		write(t, path, rows)
		_, err := columnar.Read([]string{path}, columnar.Options{})
		require.ErrorContains(t, err, `column "t": row 2 is "b\xff", which is not UTF-8`)
		b.Field(0).(*array.StringBuilder).AppendStringValues([]string{"a", "b\xff"}, nil)
	}
}
