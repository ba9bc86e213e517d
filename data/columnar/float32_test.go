package columnar

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// TestFloat32OfOtherReaders: of Arrow's files, and of Arrow's reader of the chunks whose pages are not read; a file of
// other numbers beside, or texts in place of numbers, keeps what it had.
func TestFloat32OfOtherReaders(t *testing.T) {
	dir := t.TempDir()
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "b", Type: arrow.PrimitiveTypes.Float32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	want := [][2]float32{}
	for i := range 40_000 {
		row := [2]float32{float32(i) / 3, float32(-i)}
		if b.Field(1).(*array.Float32Builder).Append(row[1]); i%7 == 0 {
			b.Field(0).AppendNull()
			row[0] = float32(math.NaN())
		} else {
			b.Field(0).(*array.Float32Builder).Append(row[0])
		}
		want = append(want, row)
	}
	batch := b.NewRecordBatch()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		return f
	}
	parquet, arrows := create("t.parquet"), create("t.arrow")
	w, err := pqarrow.NewFileWriter(schema, parquet, nil, pqarrow.NewArrowWriterProperties())
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	a, err := ipc.NewFileWriter(arrows, ipc.WithSchema(schema))
	require.NoError(t, err)
	require.NoError(t, a.Write(batch))
	require.NoError(t, a.Close())
	require.NoError(t, arrows.Close())

	o := Options{Float32: true, NA: []string{"-5"}}
	check := func(x []float32) {
		t.Helper()
		require.Len(t, x, 2*len(want))
		for i, row := range want {
			if row[1] == -5 {
				row[1] = float32(math.NaN())
			}
			for j, v := range row {
				require.True(t, v == x[2*i+j] || v != v && x[2*i+j] != x[2*i+j], i)
			}
		}
	}
	for _, path := range []string{parquet.Name(), arrows.Name()} {
		table, err := Read([]string{path}, o)
		require.NoError(t, err)
		x, complete := table.Float32s()
		require.False(t, complete)
		check(x)
		require.Equal(t, []int{1, 0}, table.MarkedMissing("b"))

		text := o
		text.Text = func(name string) bool { return name == "a" }
		table, err = Read([]string{path}, text)
		require.NoError(t, err)
		require.Equal(t, "1", table.Levels("a")[2])
		table, err = table.Select("b")
		require.NoError(t, err)
		x, _ = table.Float32s()
		require.Len(t, x, len(want))
	}
	table, err := Read([]string{parquet.Name(), arrows.Name()}, o)
	require.NoError(t, err)
	x, _ := table.Float32s()
	check(x[:2*len(want)])
	check(x[2*len(want):])

	r, err := file.OpenParquetFile(parquet.Name(), false)
	require.NoError(t, err)
	defer r.Close() //nolint:errcheck // nothing was written
	own, err := newTable([]field{{name: "a", single: true}, {name: "b", place: 1, single: true}}, len(want), o)
	require.NoError(t, err)
	for j := range 2 {
		chunk, err := r.RowGroup(0).Column(j)
		require.NoError(t, err)
		require.NoError(t, own.chunk(j, 0, len(want), chunk))
	}
	x, _ = own.done(0).Float32s()
	check(x)
}
