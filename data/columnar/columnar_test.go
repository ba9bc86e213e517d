package columnar_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
)

var dictionary = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

// schema has a column of every type that is read, and one that is not.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "f64", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "f32", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "i8", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "i64", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32, Nullable: true},
	{Name: "truth", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "money", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "species", Type: dictionary, Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
	{Name: "half", Type: arrow.FixedWidthTypes.Float16, Nullable: true},
	{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true},
}, nil)

// batch makes rows whose cells follow from their numbers; every seventh is null.
func batch(t testing.TB, from, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := from; i < from+n; i++ {
		for j := range schema.NumFields() {
			if (i+j)%7 == 6 {
				b.Field(j).AppendNull()
				continue
			}
			switch f := b.Field(j).(type) {
			case *array.Float64Builder:
				f.Append(math.Sin(float64(i)))
			case *array.Float32Builder:
				f.Append(float32(i) / 8)
			case *array.Int8Builder:
				f.Append(int8(i % 100))
			case *array.Int64Builder:
				f.Append(int64(i) * 1e9)
			case *array.Uint32Builder:
				f.Append(uint32(i))
			case *array.BooleanBuilder:
				f.Append(i%3 == 0)
			case *array.Decimal128Builder:
				f.Append(decimal128.FromI64(int64(100*i + 25)))
			case *array.StringBuilder:
				f.Append([]string{"a", "b", "01", "NA"}[i%4])
			case *array.BinaryDictionaryBuilder:
				require.NoError(t, f.AppendString([]string{"x", "y", "?"}[(i+i/5)%3]))
			case *array.Date32Builder:
				f.Append(arrow.Date32FromTime(time.Date(2020, 1, 1+i%3, 0, 0, 0, 0, time.UTC)))
			case *array.Float16Builder:
				f.Append(float16.New(float32(i % 16)))
			default:
				f.AppendEmptyValue()
			}
		}
	}
	return b.NewRecordBatch()
}

// table is what the rows make, told cell by cell.
func requireTable(t *testing.T, table *data.Table, n int) {
	t.Helper()
	require.Equal(t, n, table.Rows())
	require.Equal(t, []string{"f64", "f32", "i8", "i64", "u32", "truth", "money", "text", "species", "day", "half"}, table.Names)
	require.Equal(t, []string{"a", "b", "01"}, table.Levels("text"))
	require.Equal(t, []string{"2020-01-01", "2020-01-02", "2020-01-03"}, table.Levels("day"))
	for i := range n {
		want := []float64{math.Sin(float64(i)), float64(float32(i) / 8), float64(i % 100), float64(i) * 1e9, float64(i), 0, float64(i) + 0.25,
			float64(i % 4), 0, float64(i % 3), float64(i % 16)}
		if i%3 == 0 {
			want[5] = 1
		}
		for j, v := range want {
			got := table.Number(i, j)
			switch missing := (i+j)%7 == 6; {
			case missing || j == 7 && i%4 == 3:
				require.True(t, math.IsNaN(got), "%d %d", i, j)
			case j == 8:
				level := []string{"x", "y", "?"}[(i+i/5)%3]
				if level == "?" {
					require.True(t, math.IsNaN(got))
				} else {
					require.Equal(t, level, table.Levels("species")[int(got)])
				}
			default:
				require.Equal(t, v, got, "%d %s", i, table.Names[j])
			}
		}
	}
}

func writeParquet(t testing.TB, path string, rows ...arrow.RecordBatch) {
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := pqarrow.NewFileWriter(rows[0].Schema(), file, parquet.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	require.NoError(t, err)
	for _, r := range rows { // each its own row group
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
}

func writeArrow(t testing.TB, path string, rows ...arrow.RecordBatch) {
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(rows[0].Schema()), ipc.WithDictionaryDeltas(false))
	require.NoError(t, err)
	for _, r := range rows {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
}

func writeStream(t testing.TB, path string, rows ...arrow.RecordBatch) {
	file, err := os.Create(path)
	require.NoError(t, err)
	w := ipc.NewWriter(file, ipc.WithSchema(rows[0].Schema()))
	for _, r := range rows {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
}

var writers = map[string]func(testing.TB, string, ...arrow.RecordBatch){"parquet": writeParquet, "arrow": writeArrow, "arrows": writeStream}

func flat(name string) bool { return name != "list" }

func TestColumnsOfEveryType(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for format, write := range writers {
		t.Run(format, func(t *testing.T) {
			const n = 40_000
			one := filepath.Join(dir, "one."+format)
			write(t, one, batch(t, 0, n))
			store := data.NewStore(1000)
			defer store.Close() //nolint:errcheck // of a test
			table, err := columnar.Read([]string{one}, columnar.Options{Keep: flat, NA: []string{"?"}, Store: store})
			require.NoError(t, err)
			require.NotZero(t, store.Mapped())
			requireTable(t, table, n)

			// Several files, one of them in several pieces.
			first, rest := filepath.Join(dir, "1."+format), filepath.Join(dir, "2."+format)
			write(t, first, batch(t, 0, 10))
			write(t, rest, batch(t, 10, 100))
			table, err = columnar.Read([]string{first, rest}, columnar.Options{Keep: flat, NA: []string{"?"}})
			require.NoError(t, err)
			requireTable(t, table, 110)

			_, err = columnar.Read([]string{one}, columnar.Options{})
			require.ErrorContains(t, err, `column "list" is `)
			less, err := columnar.Read([]string{one}, columnar.Options{Keep: func(name string) bool { return name == "text" || name == "u32" }, NA: []string{"7"}})
			require.NoError(t, err)
			require.Equal(t, []string{"u32", "text"}, less.Names)
			require.Equal(t, 8.0, less.Number(8, 0))
			require.True(t, math.IsNaN(less.Number(7, 0)))
			_, err = columnar.Read([]string{one}, columnar.Options{Keep: func(string) bool { return false }})
			require.ErrorContains(t, err, "no column is left")
		})
	}
	_, err := columnar.Read([]string{filepath.Join(dir, "none")}, columnar.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestStreamOfBatches: batches may be empty, have dictionaries of their own, and end without a mark.
func TestStreamOfBatches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stream")
	writeStream(t, path, batch(t, 0, 0), batch(t, 0, 3), batch(t, 3, 40), batch(t, 43, 0), batch(t, 43, 60))
	o := columnar.Options{Keep: flat, NA: []string{"?"}}
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	const mark = 8 // bytes: continuation, and a length of 0
	for _, text := range [][]byte{whole, whole[:len(whole)-mark]} {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		table, err := columnar.Read([]string{path}, o)
		require.NoError(t, err)
		requireTable(t, table, 103)
		rows := 0
		for block, err := range columnar.Blocks([]string{path}, o) {
			require.NoError(t, err)
			rows += block.Rows()
		}
		require.Equal(t, 103, rows)
	}
	require.NoError(t, os.WriteFile(path, []byte("\xff\xff\xff\xff\xf0\xff\xff\x7f no stream"), 0o600))
	_, err = columnar.Read([]string{path}, o)
	require.ErrorContains(t, err, "incomplete or damaged Arrow stream")
}

// TestArrowThatEndsTooSoon is refused, but a stream between two batches.
func TestArrowThatEndsTooSoon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut")
	for format, write := range map[string]func(testing.TB, string, ...arrow.RecordBatch){"file": writeArrow, "stream": writeStream} {
		write(t, path, batch(t, 0, 105), batch(t, 105, 105))
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for n := columnar.HeadSize; n < len(whole); n += 61 {
			require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
			table, err := columnar.Read([]string{path}, columnar.Options{Keep: flat})
			if err == nil {
				require.Equal(t, "stream", format)
				require.Contains(t, []int{105, 210}, table.Rows())
				continue
			}
			require.ErrorContains(t, err, path)
		}
	}
}

// Lists of a schema claim no more memory than their file, whatever number is wrong.
func TestArrowWithWrongNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wrong")
	writeStream(t, path, batch(t, 0, 20))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	var before, after runtime.MemStats
	for at := 8; at < 8+int(binary.LittleEndian.Uint32(whole[4:])); at += 4 { // behind it are claims of rows
		wrong := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(wrong[at:], 0x07ffffff)
		require.NoError(t, os.WriteFile(path, wrong, 0o600))
		runtime.ReadMemStats(&before)
		_, _ = columnar.Read([]string{path}, columnar.Options{Keep: flat})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), at)
	}
}

func TestPartsHaveTheSameColumns(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, fields ...arrow.Field) string {
		schema := arrow.NewSchema(fields, nil)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, f := range b.Fields() {
			switch f := f.(type) {
			case *array.Float64Builder:
				f.Append(1)
			case *array.Int32Builder:
				f.Append(2)
			case *array.StringBuilder:
				f.Append("3")
			}
		}
		path := filepath.Join(dir, name)
		writeParquet(t, path, b.NewRecordBatch())
		return path
	}
	x, y := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int32}
	whole := write("xy", x, y)
	table, err := columnar.Read([]string{whole, write("yx", y, x)}, columnar.Options{})
	require.NoError(t, err)
	values, rows, cols, err := table.Matrix()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 1, 2}, values)
	require.Equal(t, []int{2, 2}, []int{rows, cols})
	_, err = columnar.Read([]string{whole, write("x", x)}, columnar.Options{})
	require.ErrorContains(t, err, "they have 2 and 1 columns")
	_, err = columnar.Read([]string{whole, write("xz", x, arrow.Field{Name: "z", Type: arrow.PrimitiveTypes.Int32})}, columnar.Options{})
	require.ErrorContains(t, err, `column "y" is only in the first`)
	_, err = columnar.Read([]string{whole, write("text", x, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String})}, columnar.Options{})
	require.ErrorContains(t, err, `column "y" has numbers in one of them and texts in the other`)
}

// TestDamagedFiles: whatever is left of a file, or changed in it, is an error or a table, and never a panic.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	for format, write := range writers {
		path := filepath.Join(dir, format)
		write(t, path, batch(t, 0, 500))
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range 60 {
			text := whole[:len(whole)*i/60]
			require.NoError(t, os.WriteFile(path, text, 0o600))
			_, err := columnar.Read([]string{path}, columnar.Options{Keep: flat})
			require.ErrorContains(t, err, path, "%s cut at %d", format, len(text))
		}
		if format != "parquet" {
			continue // Arrow's reader believes the sizes that a file states (see SECURITY.md)
		}
		for i := range 200 {
			text := bytes.Clone(whole)
			text[len(text)*i/200] ^= 1 << (i % 8)
			require.NoError(t, os.WriteFile(path, text, 0o600))
			table, err := columnar.Read([]string{path}, columnar.Options{Keep: flat})
			require.True(t, (err == nil) == (table != nil), fmt.Sprint(err))
			rows := 0
			for block, e := range columnar.Blocks([]string{path}, columnar.Options{Keep: flat}) {
				if e != nil {
					require.EqualError(t, e, err.Error())
					break
				}
				rows += block.Rows()
			}
			if err == nil {
				require.Equal(t, table.Rows(), rows)
			}
		}
	}
}

func TestIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	writeStream(t, path, batch(t, 0, 1))
	file, err := os.Open(path)
	require.NoError(t, err)
	require.True(t, columnar.Is(file))
	writeArrow(t, path, batch(t, 0, 1))
	require.True(t, columnar.Is(file))
	at, err := file.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	require.Zero(t, at)
	require.NoError(t, os.WriteFile(path, []byte("PA"), 0o600))
	require.False(t, columnar.Is(file))
}

// FuzzParquet: whatever a file holds, reading it ends, in a table or in an error.
func FuzzParquet(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	writeParquet(f, path, batch(f, 0, 3), batch(f, 3, 20))
	seed, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte("PAR1PAR1"))
	writeStream(f, path, batch(f, 0, 3))
	seed, err = os.ReadFile(path)
	require.NoError(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		table, err := columnar.Read([]string{path}, columnar.Options{Keep: flat})
		require.True(t, (err == nil) == (table != nil))
	})
}

// TestChecksumsOfPages: with one wrong byte in a page that has a checksum, a file is refused, or the byte is one of a header that says
// nothing of the values. The files are those of pyarrow.parquet.write_table with write_page_checksum, of both versions of pages.
func TestChecksumsOfPages(t *testing.T) {
	for _, name := range []string{"v1", "v2"} {
		path := filepath.Join("testdata", "checksums-"+name+".parquet")
		whole, err := columnar.Read([]string{path}, columnar.Options{})
		require.NoError(t, err)
		want, rows, _, err := whole.Values()
		require.NoError(t, err)
		require.Equal(t, 600, rows)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		copied, summed := filepath.Join(t.TempDir(), "d.parquet"), 0
		for at := 4; at < len(text)-1000; at += 7 { // before what is at the end
			damaged := bytes.Clone(text)
			damaged[at] ^= 4
			require.NoError(t, os.WriteFile(copied, damaged, 0o600))
			table, err := columnar.Read([]string{copied}, columnar.Options{})
			if err != nil {
				if strings.Contains(err.Error(), "the checksum of a page is wrong") {
					summed++
				}
				continue
			}
			got, _, _, err := table.Values()
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%s, byte %d", name, at)
		}
		require.Greater(t, summed, 300, name)
	}
}

// TestColumnsOfTheNullTypeAreMissing: a frame whose column holds nothing but None has the null type, whether numbers or texts are
// expected of it.
func TestColumnsOfTheNullTypeAreMissing(t *testing.T) {
	fields := []arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "gone", Type: arrow.Null, Nullable: true}}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{1, 2}, nil)
	b.Field(1).AppendNull()
	b.Field(1).AppendNull()
	path := filepath.Join(t.TempDir(), "null.arrow")
	writeArrow(t, path, b.NewRecordBatch())
	for _, text := range []bool{false, true} {
		table, err := columnar.Read([]string{path}, columnar.Options{Text: func(name string) bool { return text && name == "gone" }})
		require.NoError(t, err)
		require.True(t, table.Empty("gone"))
	}
}
