package data

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Cells is the type of the cells of a column to write.
type Cells int

const (
	Floats   Cells = iota // float64; NaN is a missing value
	Integers              // integers up to 2⁵³ in a float64
	Texts                 // UTF-8; an empty one is a missing value
)

// A Head holds the name of a column to write and the type of its cells.
type Head struct {
	Name  string
	Cells Cells
}

// A Writer writes a table block by block, in memory that does not grow with the number of rows. [NewCSVWriter]
// returns one, and so does [github.com/latent-go/latent/data/columnar.NewParquetWriter].
type Writer interface {
	// Write adds rows: texts holds the cells of the text columns, row by row and in the order of the columns, and
	// numbers those of the other columns. It returns an error if both are not the same number of whole rows, or if the
	// underlying file fails.
	Write(texts []string, numbers []float64) error
	// Close ends the table. It does not close the underlying file.
	Close() error
}

// RowsOf returns the number of rows in these arguments of Writer.Write, for columns with these heads. It returns an
// error if they are not whole rows.
func RowsOf(heads []Head, texts []string, numbers []float64) (int, error) {
	wide := 0 // texts a row
	for _, h := range heads {
		if h.Cells == Texts {
			wide++
		}
	}
	rows := 0
	switch {
	case wide < len(heads):
		rows = len(numbers) / (len(heads) - wide)
	case wide > 0:
		rows = len(texts) / wide
	}
	if len(texts) != rows*wide || len(numbers) != rows*(len(heads)-wide) {
		return 0, fmt.Errorf("%d texts and %d numbers do not make rows of %d and %d", len(texts),
			len(numbers), wide, len(heads)-wide)
	}
	return rows, nil
}

// csvWriter writes CSV.
type csvWriter struct {
	heads   []Head
	numeric bool // no column has texts
	out     *bufio.Writer
	records *csv.Writer // to out
	record  []string
	line    []byte
}

// NewCSVWriter returns a Writer of comma-separated values, as [ReadCSV] reads them, under a line of names. Numbers
// are the shortest decimals that read back as the same float64; a missing number is NaN; integers keep all digits.
// When Write returns, its rows have been written to w.
func NewCSVWriter(w io.Writer, heads []Head) (Writer, error) {
	c := newCSVWriter(w, heads)
	for _, h := range heads {
		c.record = append(c.record, h.Name)
	}
	return c, c.records.Write(c.record)
}

func newCSVWriter(w io.Writer, heads []Head) *csvWriter {
	c := &csvWriter{heads: heads, numeric: true, out: bufio.NewWriterSize(w, 1<<16)}
	c.records = csv.NewWriter(c.out) // which takes out for its own buffer
	for _, h := range heads {
		c.numeric = c.numeric && h.Cells != Texts
	}
	return c
}

// Write implements [Writer].
func (c *csvWriter) Write(texts []string, numbers []float64) error {
	rows, err := RowsOf(c.heads, texts, numbers)
	if err != nil {
		return err
	}
	write := c.writeRecord
	if c.numeric {
		write = c.writeLine
	}
	for range rows {
		if texts, numbers, err = write(texts, numbers); err != nil {
			return err
		}
	}
	return c.out.Flush()
}

// writeRecord writes a row, and returns the cells of those after it.
func (c *csvWriter) writeRecord(texts []string, numbers []float64) ([]string, []float64, error) {
	c.record = c.record[:0]
	for _, h := range c.heads {
		if h.Cells == Texts {
			c.record, texts = append(c.record, texts[0]), texts[1:]
			continue
		}
		c.line = appendNumber(c.line[:0], numbers[0], h.Cells)
		c.record, numbers = append(c.record, string(c.line)), numbers[1:]
	}
	return texts, numbers, c.records.Write(c.record)
}

// writeLine is writeRecord of numbers alone, which need no quotes and so no strings.
func (c *csvWriter) writeLine(texts []string, numbers []float64) ([]string, []float64, error) {
	c.line = c.line[:0]
	for j, h := range c.heads {
		c.line = append(appendNumber(c.line, numbers[j], h.Cells), ',')
	}
	c.line[len(c.line)-1] = '\n'
	_, err := c.out.Write(c.line)
	return texts, numbers[len(c.heads):], err
}

func appendNumber(text []byte, v float64, cells Cells) []byte {
	if cells == Integers && v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
		return strconv.AppendInt(text, int64(v), 10)
	}
	return strconv.AppendFloat(text, v, 'g', -1, 64)
}

// Close implements [Writer].
func (c *csvWriter) Close() error { return c.out.Flush() }
