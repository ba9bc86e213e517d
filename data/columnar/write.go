package columnar

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/latent-go/latent/data"
)

// groupRows is the number of rows in a row group: those of one are kept in memory until it is whole.
const groupRows = 1 << 16

// parquetWriter collects a row group.
type parquetWriter struct {
	heads   []data.Head
	file    *file.Writer
	rows    int
	texts   [][]parquet.ByteArray // by column, as are the others; missing values are left out
	floats  [][]float64
	ints    [][]int64
	defined [][]int16 // of every row, 0 where it is missing
}

// NewParquetWriter returns a Writer of a Parquet file. It writes numbers as doubles, integers as 64-bit integers,
// texts as UTF-8 strings, and missing values as nulls. It holds one row group, of 65,536 rows, in memory. The file is
// complete only after Close.
func NewParquetWriter(w io.Writer, heads []data.Head) (_ data.Writer, err error) {
	defer refused(&err)
	var nodes schema.FieldList
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Snappy), parquet.WithCreatedBy("latent"),
	}
	for _, h := range heads {
		var logical schema.LogicalType = schema.NoLogicalType{}
		kind := parquet.Types.Double
		switch h.Cells {
		case data.Integers:
			kind = parquet.Types.Int64
		case data.Texts:
			kind, logical = parquet.Types.ByteArray, schema.StringLogicalType{}
		}
		node, err := schema.NewPrimitiveNodeLogical(h.Name, parquet.Repetitions.Optional, logical, kind, 0, -1)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", h.Name, err)
		}
		nodes = append(nodes, node)
		if h.Cells == data.Floats { // which hardly repeat
			properties = append(properties, parquet.WithDictionaryPath(parquet.ColumnPath{h.Name}, false))
		}
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		return nil, err
	}
	n := len(heads)
	p := &parquetWriter{
		heads:   heads,
		texts:   make([][]parquet.ByteArray, n),
		floats:  make([][]float64, n),
		ints:    make([][]int64, n),
		defined: make([][]int16, n),
	}
	p.file, err = file.NewParquetWriterWithError(notCloser{w}, root,
		file.WithWriterProps(parquet.NewWriterProperties(properties...)))
	return p, err
}

// refused makes an error of a panic, by which Arrow's code says some.
func refused(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
	default:
		*err = fmt.Errorf("no Parquet: %v", p)
	}
}

// notCloser hides a Close method, which Arrow's writer would call.
type notCloser struct{ io.Writer }

// Write implements [data.Writer].
func (p *parquetWriter) Write(texts []string, numbers []float64) error {
	rows, err := data.RowsOf(p.heads, texts, numbers)
	if err != nil {
		return err
	}
	for range rows {
		texts, numbers = p.add(texts, numbers)
		if p.rows++; p.rows == groupRows {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// add keeps a row, and returns the cells of those after it.
func (p *parquetWriter) add(texts []string, numbers []float64) ([]string, []float64) {
	for j, h := range p.heads {
		missing := false
		if h.Cells == data.Texts {
			if missing = texts[0] == ""; !missing {
				p.texts[j] = append(p.texts[j], parquet.ByteArray(texts[0]))
			}
			texts = texts[1:]
		} else {
			v := numbers[0]
			numbers = numbers[1:]
			switch missing = math.IsNaN(v); {
			case missing:
			case h.Cells == data.Integers:
				p.ints[j] = append(p.ints[j], int64(v))
			default:
				p.floats[j] = append(p.floats[j], v)
			}
		}
		level := int16(1)
		if missing {
			level = 0
		}
		p.defined[j] = append(p.defined[j], level)
	}
	return texts, numbers
}

// flush writes the rows that there are as a row group.
func (p *parquetWriter) flush() (err error) {
	defer refused(&err)
	group, err := p.file.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for j := range p.heads {
		column, err := group.NextColumn()
		if err != nil {
			return err
		}
		switch c := column.(type) {
		case *file.Float64ColumnChunkWriter:
			_, err = c.WriteBatch(p.floats[j], p.defined[j], nil)
		case *file.Int64ColumnChunkWriter:
			_, err = c.WriteBatch(p.ints[j], p.defined[j], nil)
		case *file.ByteArrayColumnChunkWriter:
			_, err = c.WriteBatch(p.texts[j], p.defined[j], nil)
		}
		if err == nil {
			err = column.Close()
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", p.heads[j].Name, err)
		}
		p.texts[j], p.floats[j], p.ints[j], p.defined[j] = p.texts[j][:0], p.floats[j][:0], p.ints[j][:0], p.defined[j][:0]
	}
	p.rows = 0
	return group.Close()
}

// Close implements [data.Writer].
func (p *parquetWriter) Close() (err error) {
	defer refused(&err)
	if p.rows > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	return p.file.Close()
}
