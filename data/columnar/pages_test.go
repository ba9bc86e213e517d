package columnar_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data/columnar"
)

// numberTypes are those that are read from the bytes of pages.
var numberTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16,
	&arrow.Decimal128Type{Precision: 9, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 4},
}

// appendNumber appends the number that bits stand for, and returns what reading must make of it.
func appendNumber(b array.Builder, bits uint64) float64 {
	switch f := b.(type) {
	case *array.Float64Builder:
		v := math.Float64frombits(bits)
		f.Append(v)
		return v
	case *array.Float32Builder:
		v := math.Float32frombits(uint32(bits))
		f.Append(v)
		return float64(v)
	case *array.Int64Builder:
		f.Append(int64(bits))
		return float64(int64(bits))
	case *array.Int32Builder:
		f.Append(int32(bits))
		return float64(int32(bits))
	case *array.Uint64Builder:
		f.Append(bits)
		return float64(bits)
	case *array.Uint32Builder:
		f.Append(uint32(bits))
		return float64(uint32(bits))
	case *array.Int8Builder:
		f.Append(int8(bits))
		return float64(int8(bits))
	case *array.Uint16Builder:
		f.Append(uint16(bits))
		return float64(uint16(bits))
	case *array.Decimal128Builder:
		whole := int64(bits % 1e9)
		f.Append(decimal128.FromI64(whole))
		return float64(whole) / math.Pow10(int(f.Type().(*arrow.Decimal128Type).Scale))
	}
	panic(b.Type())
}

// numberFile writes a file of random columns of numbers, and returns what reading must make of them, row by row.
func numberFile(t testing.TB, path string, rng *rand.Rand, types []arrow.DataType) (want [][]float64) {
	properties := []parquet.WriterProperty{
		parquet.WithDataPageVersion([]parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}[rng.IntN(2)]),
		parquet.WithDataPageSize([]int64{1, 300, 5000, 1 << 20}[rng.IntN(4)]), parquet.WithBatchSize(int64(1 + rng.IntN(200))),
		parquet.WithDictionaryPageSizeLimit([]int64{100, 1 << 20}[rng.IntN(2)]),
		parquet.WithCompression([]compress.Compression{
			compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli,
		}[rng.IntN(5)]), parquet.WithStoreDecimalAsInteger(true),
	}
	fields := make([]arrow.Field, 1+rng.IntN(12))
	few, missing := make([]int, len(fields)), make([]float64, len(fields))
	for j := range fields {
		fields[j] = arrow.Field{Name: fmt.Sprint("x", j), Type: types[rng.IntN(len(types))], Nullable: rng.IntN(3) > 0}
		if fields[j].Nullable {
			missing[j] = []float64{0, .01, .5, .99, 1}[rng.IntN(5)]
		}
		few[j] = []int{1, 2, 300, 1 << 30}[rng.IntN(4)]
		path := parquet.ColumnPath{fields[j].Name}
		switch rng.IntN(4) {
		case 0:
			properties = append(properties, parquet.WithDictionaryPath(path, false))
		case 1: // which Arrow's reader reads
			encoding := parquet.Encodings.DeltaBinaryPacked
			if j%2 == 0 || arrow.IsFloating(fields[j].Type.ID()) {
				encoding = parquet.Encodings.ByteStreamSplit
			}
			properties = append(properties, parquet.WithDictionaryPath(path, false), parquet.WithEncodingPath(path, encoding))
		}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(properties...),
		pqarrow.NewArrowWriterProperties())
	require.NoError(t, err)
	for range 1 + rng.IntN(3) {
		run := 1
		for range []int{1, 7, 1500, 4000}[rng.IntN(4)] {
			row := make([]float64, len(fields))
			for j := range fields {
				if run--; rng.Float64() < missing[j] || run > 0 && fields[j].Nullable && missing[j] > 0 {
					b.Field(j).AppendNull()
					row[j] = math.NaN()
					continue
				}
				v := uint64(rng.IntN(few[j])) * 0x9E3779B97F4A7C15
				if few[j] > 1000 {
					v = rng.Uint64()
				}
				row[j] = appendNumber(b.Field(j), v)
				if rng.IntN(1000) == 0 {
					run = rng.IntN(100 * len(fields))
				}
			}
			want = append(want, row)
		}
		require.NoError(t, w.Write(b.NewRecordBatch()))
	}
	require.NoError(t, w.Close())
	return want
}

// TestPagesOfNumbers: whatever their types, encodings, pages, compression and missing values, and how many rows are read at a time, the
// numbers are those that were written, to the bit.
func TestPagesOfNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numbers.parquet")
	for seed := range uint64(90) {
		types := numberTypes
		if seed >= 60 {
			types = types[1:2] // float32, which can stay so
		}
		want := numberFile(t, path, rand.New(rand.NewPCG(seed, 1)), types)
		row := 0
		for some, err := range columnar.Blocks([]string{path}, columnar.Options{}) {
			require.NoError(t, err, "seed %d", seed)
			row += some.Rows()
		}
		require.Equal(t, len(want), row)
		for _, float32s := range []bool{false, true} {
			table, err := columnar.Read([]string{path}, columnar.Options{Float32: float32s})
			require.NoError(t, err, "seed %d", seed)
			require.Equal(t, len(want), table.Rows())
			for i, row := range want {
				for j, v := range row {
					got := table.Number(i, j)
					require.True(t, math.Float64bits(v) == math.Float64bits(got) || v != v && got != got, "seed %d, row %d, column %d: %v is %v",
						seed, i, j, got, v)
				}
			}
			kept, _ := table.Float32s()
			infinite := slices.ContainsFunc(slices.Concat(want...), func(v float64) bool { return math.IsInf(v, 0) })
			require.True(t, len(types) > 1 || (kept != nil) == (float32s && !infinite), "seed %d", seed)
			marked, err := columnar.Read([]string{path}, columnar.Options{NA: []string{fmt.Sprint(want[0][0])}, Float32: float32s})
			require.NoError(t, err)
			for i, row := range want {
				require.True(t, row[0] == want[0][0] != (marked.Number(i, 0) == row[0]) || row[0] != row[0])
			}
		}
	}
}

// TestDamagedPagesOfNumbers: with any one byte changed, reading ends with a table of as many rows, or with an error of one line that names
// the file.
func TestDamagedPagesOfNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numbers.parquet")
	refused := 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 2))
		want := numberFile(t, path, rng, numberTypes)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for range 60 {
			at, was := rng.IntN(len(whole)), byte(0)
			was, whole[at] = whole[at], byte(rng.Uint32())
			require.NoError(t, os.WriteFile(path, whole, 0o600))
			whole[at] = was
			table, err := columnar.Read([]string{path}, columnar.Options{})
			if err != nil {
				refused++
				require.ErrorContains(t, err, path)
				require.NotContains(t, err.Error(), "\n")
				continue
			}
			require.Equal(t, len(want), table.Rows())
		}
	}
	require.Greater(t, refused, 20)
}
