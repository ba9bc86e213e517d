package columnar

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"golang.org/x/exp/constraints"

	"github.com/latent-go/latent/internal/parallel"
)

// parquetFile is read chunk by chunk, without Arrow's own reader of Parquet files, which allocates what the schemas in
// them claim.
type parquetFile struct {
	*file.Reader
	file   *os.File
	next   int                      // row group
	chunks []file.ColumnChunkReader // of the one before it, by column; nil: there are pages of numbers
	pages  []pages
	groups [][]int // columns that are put into rows together
	left   int     // its rows that are not read
	rows   int     // that are read next
}

func openParquet(f *os.File) (source, error) {
	properties := parquet.NewReaderProperties(memory.DefaultAllocator)
	properties.BufferedStreamEnabled = true // page by page: chunks of a row group may be large
	r, err := file.NewParquetReader(f, file.WithReadProps(properties))
	if err != nil {
		return nil, fmt.Errorf("incomplete or damaged Parquet file: %w", err)
	}
	p := &parquetFile{Reader: r, file: f}
	if p.NumRows() != int64(sum(p.Groups())) {
		return nil, errRows
	}
	return p, nil
}

func (f *parquetFile) Groups() (rows []int) {
	for i := range f.NumRowGroups() {
		rows = append(rows, int(f.MetaData().RowGroups[i].GetNumRows()))
	}
	return rows
}

func (f *parquetFile) Seek(group int) error {
	f.next, f.left = group, 0
	return nil
}

func (f *parquetFile) Fields() (list []field) {
	s := f.MetaData().Schema
	seen := map[string]bool{}
	for j := range s.NumColumns() {
		c := s.Column(j)
		one := field{name: c.ColumnPath()[0], place: j, single: c.PhysicalType() == parquet.Types.Float}
		if nested := len(c.ColumnPath()) > 1 || c.MaxRepetitionLevel() > 0; nested {
			one.strange = "a list or a group of columns"
		} else {
			one.categorical, one.strange = parquetKind(c)
		}
		if !seen[one.name] { // a group has several leaves
			list = append(list, one)
		}
		seen[one.name] = true
	}
	return list
}

// parquetKind says whether a column's values are categories, or that they are neither these nor numbers.
func parquetKind(c *schema.Column) (categorical bool, strange string) {
	switch c.PhysicalType() {
	case parquet.Types.Boolean, parquet.Types.Float, parquet.Types.Double:
		return false, ""
	case parquet.Types.Int32, parquet.Types.Int64:
		return isTime(c), ""
	case parquet.Types.Int96: // a time, as Hive and Impala wrote it
		return true, ""
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		switch c.LogicalType().(type) {
		case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
			return true, ""
		case schema.DecimalLogicalType, schema.Float16LogicalType:
			return false, ""
		}
	}
	return false, fmt.Sprintf("of type %s (%s)", c.PhysicalType(), c.LogicalType())
}

func isTime(c *schema.Column) bool {
	switch c.LogicalType().(type) {
	case schema.DateLogicalType, schema.TimestampLogicalType:
		return true
	}
	return false
}

func (f *parquetFile) Next(columns []field, most int) (int, error) {
	for f.left == 0 {
		if f.next == f.NumRowGroups() {
			return 0, nil
		}
		r := f.RowGroup(f.next)
		f.next++
		if f.left = int(r.NumRows()); f.left < 0 {
			return 0, errRows
		}
		if err := f.open(r, columns); err != nil {
			return 0, err
		}
	}
	f.rows = min(f.left, most)
	f.left -= f.rows
	return f.rows, nil
}

// open begins the columns of a row group, whose pages are what their writer has summed.
func (f *parquetFile) open(r *file.RowGroupReader, columns []field) error {
	f.chunks = make([]file.ColumnChunkReader, len(columns))
	if f.pages == nil {
		f.pages = make([]pages, len(columns))
	}
	err := parallel.Do(len(columns), 0, func(j int) error {
		if err := f.begin(r, j, columns[j]); err != nil {
			return fmt.Errorf("column %q: %w", columns[j].name, err)
		}
		return nil
	})
	f.groups = f.groups[:0]
	for j := range columns {
		last := len(f.groups) - 1
		if f.chunks[j] == nil && j > 0 && f.chunks[j-1] == nil && len(f.groups[last]) < together {
			f.groups[last] = append(f.groups[last], j)
		} else {
			f.groups = append(f.groups, []int{j})
		}
	}
	return err
}

// begin begins column j.
func (f *parquetFile) begin(r *file.RowGroupReader, j int, c field) error {
	chunk, err := r.MetaData().ColumnChunk(c.place)
	if err != nil {
		return err
	}
	if !c.categorical {
		of := f.MetaData().Schema.Column(c.place)
		if own, err := f.pages[j].begin(f.file, of, chunk, int(r.NumRows())); own || err != nil {
			return err
		}
	}
	if f.chunks[j], err = r.Column(c.place); err != nil {
		return err
	}
	return checkPages(f.file, chunk)
}

// Put reads the columns, several at a time: each is one that nobody else writes to.
func (f *parquetFile) Put(t *table, columns []field, from int) error {
	return parallel.Do(len(f.groups), 0, func(i int) error {
		return guarded(func() error { return f.put(t, columns, f.groups[i], from) })
	})
}

// put reads a group of columns.
func (f *parquetFile) put(t *table, columns []field, group []int, from int) error {
	if j := group[0]; f.chunks[j] != nil {
		if err := t.chunk(j, from, f.rows, f.chunks[j]); err != nil {
			return fmt.Errorf("column %q: %w", columns[j].name, err)
		}
		return nil
	}
	if to, stride := t.Float32s(group[0]); to != nil {
		return putPages(f, t, columns, group, to[from*stride:], stride)
	}
	to, stride := t.Numbers(group[0])
	return putPages(f, t, columns, group, to[from*stride:], stride)
}

// putPages reads columns of pages next to one another.
func putPages[F constraints.Float](f *parquetFile, t *table, columns []field, group []int, to []F, stride int) error {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	var numbers [together][]byte
	for row := 0; row < f.rows; row += strip {
		n := min(strip, f.rows-row)
		for i, j := range group {
			var err error
			if numbers[i], err = f.pages[j].next(n, s.numbers[i][:], s); err != nil {
				return fmt.Errorf("column %q: %w", columns[j].name, err)
			}
		}
		interleave(to[row*stride:], stride, numbers[:len(group)], n)
	}
	for i, j := range group {
		mark(t, j, to[i:], stride, f.rows)
	}
	return nil
}

// integers says of integers in a file whether they are unsigned, and by what they are divided.
func integers(c *schema.Column) (unsigned bool, scale float64) {
	switch l := c.LogicalType().(type) {
	case schema.IntLogicalType:
		return !l.IsSigned(), 1
	case schema.DecimalLogicalType:
		return false, math.Pow10(int(l.Scale()))
	}
	return false, 1
}

// chunk reads column j of a row group.
func (t *table) chunk(j, from, rows int, chunk file.ColumnChunkReader) error {
	c := chunk.Descriptor()
	unsigned, scale := integers(c)
	put := cells{t, j, from, rows, c.MaxDefinitionLevel() > 0}
	switch r := chunk.(type) {
	case *file.Float64ColumnChunkReader:
		return numbers(put, r, func(v float64) float64 { return v })
	case *file.Float32ColumnChunkReader:
		if to, stride := t.Float32s(j); to != nil {
			to = to[from*stride:]
			defer mark(t, j, to, stride, rows)
			return each(put, r, func(row int, v float32) error {
				to[row*stride] = v
				return nil
			}, func(row int) { to[row*stride] = float32(math.NaN()) })
		}
		return numbers(put, r, func(v float32) float64 { return float64(v) })
	case *file.BooleanColumnChunkReader:
		return numbers(put, r, func(v bool) float64 {
			if v {
				return 1
			}
			return 0
		})
	case *file.Int32ColumnChunkReader:
		switch {
		case isTime(c):
			return texts(put, r, func(v int32) string { return arrow.Date32(v).ToTime().Format(time.DateOnly) })
		case unsigned:
			return numbers(put, r, func(v int32) float64 { return float64(uint32(v)) })
		}
		return numbers(put, r, func(v int32) float64 { return float64(v) / scale })
	case *file.Int64ColumnChunkReader:
		if stamp, ok := c.LogicalType().(schema.TimestampLogicalType); ok {
			return texts(put, r, func(v int64) string { return momentOf(v, stamp.TimeUnit()) })
		}
		if unsigned {
			return numbers(put, r, func(v int64) float64 { return float64(uint64(v)) })
		}
		return numbers(put, r, func(v int64) float64 { return float64(v) / scale })
	case *file.Int96ColumnChunkReader:
		return texts(put, r, func(v parquet.Int96) string { return v.ToTime().UTC().Format(moment) })
	case *file.ByteArrayColumnChunkReader:
		if t.columns[j].categorical {
			return texts(put, r, func(v parquet.ByteArray) string { return string(v) })
		}
		return numbers(put, r, func(v parquet.ByteArray) float64 { return bigEndian(v) / scale })
	case *file.FixedLenByteArrayColumnChunkReader:
		if _, half := c.LogicalType().(schema.Float16LogicalType); half {
			return numbers(put, r,
				func(v parquet.FixedLenByteArray) float64 { return float64(float16.FromLEBytes(v).Float32()) })
		}
		if t.columns[j].categorical {
			return texts(put, r, func(v parquet.FixedLenByteArray) string { return string(v) })
		}
		return numbers(put, r, func(v parquet.FixedLenByteArray) float64 { return bigEndian(v) / scale })
	}
	return fmt.Errorf("its type %s is unknown", chunk.Type())
}

const moment = "2006-01-02T15:04:05.999999999"

func momentOf(v int64, unit schema.TimeUnitType) string {
	switch unit {
	case schema.TimeUnitMillis:
		return time.UnixMilli(v).UTC().Format(moment)
	case schema.TimeUnitMicros:
		return time.UnixMicro(v).UTC().Format(moment)
	}
	return time.Unix(0, v).UTC().Format(moment)
}

// bigEndian is a number in two's complement, as decimals are written.
func bigEndian(b []byte) float64 {
	var v big.Int
	v.SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(&v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	number, _ := new(big.Float).SetInt(&v).Float64()
	return number
}

// cells are those of a column of a row group.
type cells struct {
	*table
	j, from, rows int
	nullable      bool
}

type chunkReader[T any] interface {
	ReadBatch(size int64, values []T, definitions, repetitions []int16) (total int64, read int, err error)
}

func numbers[T any](to cells, r chunkReader[T], number func(T) float64) error {
	if to.columns[to.j].categorical {
		return texts(to, r, func(v T) string { return digits(v, number(v)) })
	}
	dst, stride := to.Numbers(to.j)
	dst = dst[to.from*stride:]
	err := runs(to, r, func(row int, values []T, defined []int16) error {
		of, at := dst[row*stride:], 0
		if floats, is := any(values).([]float64); is && len(values) == len(defined) {
			for _, v := range floats {
				of[at] = v
				at += stride
			}
			return nil
		}
		next := 0
		for _, d := range defined {
			of[at] = math.NaN()
			if d > 0 {
				of[at] = number(values[next])
				next++
			}
			at += stride
		}
		return nil
	})
	mark(to.table, to.j, dst, stride, to.rows)
	return err
}

// digits is the text of a number as it is in the file. Integers that are what the file says have all their digits.
func digits(stored any, number float64) string {
	if v, ok := stored.(int64); ok && float64(v) == number {
		return strconv.FormatInt(v, 10)
	}
	if number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

func texts[T any](to cells, r chunkReader[T], text func(T) string) error {
	return each(to, r, func(_ int, v T) error { return to.addText(to.j, text(v)) }, func(int) { _ = to.addText(to.j, "") })
}

// each visits every row of a chunk.
func each[T any](to cells, r chunkReader[T], value func(row int, v T) error, null func(row int)) error {
	return runs(to, r, func(row int, values []T, defined []int16) error {
		next := 0
		for i, d := range defined {
			if d == 0 {
				null(row + i)
				continue
			}
			if err := value(row+i, values[next]); err != nil {
				return err
			}
			next++
		}
		return nil
	})
}

// runs visits the rows of a chunk, many at a time: defined is 1 for each row with a value, and values has those.
func runs[T any](to cells, r chunkReader[T], visit func(row int, values []T, defined []int16) error) error {
	const batch = 1 << 14
	values := make([]T, min(batch, to.rows))
	defined := make([]int16, len(values))
	for i := range defined {
		defined[i] = 1
	}
	for row := 0; row < to.rows; {
		levels := defined
		if !to.nullable {
			levels = nil
		}
		total, given, err := r.ReadBatch(int64(min(batch, to.rows-row)), values, levels, nil)
		switch {
		case err != nil && err != io.EOF:
			return err
		case total <= 0:
			return errRows
		}
		if err := visit(row, values[:given], defined[:total]); err != nil {
			return err
		}
		row += int(total)
	}
	return nil
}
