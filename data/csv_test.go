package data

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/internal/fastcsv"
)

// onlyReader hides everything of a reader but Read.
type onlyReader struct{ io.Reader }

// requireSame compares tables cell by cell, floats by their bits.
func requireSame(t require.TestingT, want, got *Table) {
	require.Equal(t, want.Names, got.Names)
	require.Equal(t, want.Rows(), got.Rows())
	require.Equal(t, want.Cols(), got.Cols())
	for _, name := range want.Names {
		require.Equal(t, want.Levels(name), got.Levels(name), name)
		require.Equal(t, want.Codes(name), got.Codes(name), name)
		if want.Levels(name) == nil {
			require.Equal(t, columnBits(t, want, name), columnBits(t, got, name), name)
		}
	}
}

func columnBits(t require.TestingT, table *Table, name string) []uint64 {
	x, err := table.Column(name)
	require.NoError(t, err)
	return bitsOf(x)
}

func bitsOf(x []float64) []uint64 {
	b := make([]uint64, len(x))
	for i, v := range x {
		if b[i] = math.Float64bits(v); v != v {
			b[i] = math.Float64bits(math.NaN()) // one missing value is as good as another
		}
	}
	return b
}

// plainTable is the specification of ReadCSV written column by column, for a file with a header.
func plainTable(t require.TestingT, text string) *Table {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	names, records := records[0], records[1:]
	table := &Table{Names: names, rows: len(records), columns: make([]column, len(names))}
	for j := range names {
		isText := slices.ContainsFunc(records, func(r []string) bool { _, kind := fastcsv.ParseCell(r[j]); return kind == fastcsv.Text })
		if !isText {
			table.columns[j].at = table.stride
			table.stride++
			continue
		}
		f := &factor{}
		for _, r := range records {
			if _, kind := fastcsv.ParseCell(r[j]); kind == fastcsv.Missing {
				f.codes = append(f.codes, missingCode)
				continue
			}
			if !slices.Contains(f.levels, r[j]) {
				f.levels = append(f.levels, r[j])
			}
			f.codes = append(f.codes, int32(slices.Index(f.levels, r[j])))
		}
		table.columns[j].factor = f
	}
	for _, r := range records {
		for j, c := range table.columns {
			if c.factor == nil {
				v, _ := fastcsv.ParseCell(r[j])
				table.flat = append(table.flat, v)
			}
		}
	}
	return table
}

// TestReadCSVAgreesWithColumnByColumnReading: whenever a text cell comes, early or late, and whether or not
// the input can seek, the table is that of a reader that sees whole columns at once.
// Empty lines are no rows, and are counted but for those above the header and below the last row.
func TestEmptyLinesAreCounted(t *testing.T) {
	for text, want := range map[string]int{"x\n1\n2\n": 0, "\nx\n1\n\n\n": 0, "x\n\n1\n\r\n\n2\n\n": 3, "1\n\n2": 1, "\n1\n2": 1,
		"x\n\"a\n\nb\"\n\nc\n\n\"\"\n": 2, "x,y\n1,2\n\n3,4\n": 1} {
		table, err := requireFastPathAgrees(t, text, CSVOptions{})
		require.NoError(t, err)
		require.Equal(t, want, table.EmptyLines(), "%q", text)
		whole, err := ReadParts(parts(text, text), CSVOptions{})
		require.NoError(t, err)
		require.Equal(t, 2*want, whole.EmptyLines(), "%q", text)
	}
}

func TestReadCSVAgreesWithColumnByColumnReading(t *testing.T) {
	cells := []string{"1", "01", " 2.5 ", "-3e2", "", "NA", "nan", "NaN", "Inf", "-inf", "0x1p-2", "1_0", "yes", " yes", "a,b", "a\nb", "\"q\"", "TRUE"}
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(1, 12).Draw(rt, "rows"), rapid.IntRange(1, 4).Draw(rt, "cols")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		header := make([]string, cols)
		for j := range header {
			header[j] = fmt.Sprintf("c%d", j)
		}
		require.NoError(rt, w.Write(header))
		numbersOnly := rapid.Bool().Draw(rt, "numbers first") // so that text tends to come late
		for i := range rows {
			record := make([]string, cols)
			for j := range record {
				pool := cells
				if numbersOnly && i < rows-1 {
					pool = cells[:10]
				}
				record[j] = rapid.SampledFrom(pool).Draw(rt, "cell")
			}
			if cols == 1 && record[0] == "" {
				record[0] = "NA" // an empty line is skipped
			}
			require.NoError(rt, w.Write(record))
		}
		w.Flush()
		text := b.String()
		want := plainTable(rt, text)
		for _, r := range []io.Reader{strings.NewReader(text), onlyReader{strings.NewReader(text)}, strings.NewReader("\ufeff" + text)} {
			got, err := ReadCSV(r, CSVOptions{Header: HeaderYes, Comma: ','})
			require.NoError(rt, err)
			requireSame(rt, want, got)
		}
	})
}

// TestCSVRoundTripKeepsEveryBit: what WriteCSV writes, ReadCSV reads.
func TestCSVRoundTripKeepsEveryBit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(1, 8).Draw(rt, "rows"), rapid.IntRange(1, 5).Draw(rt, "cols")
		float := rapid.Map(rapid.Uint64(), math.Float64frombits)
		x := rapid.SliceOfN(rapid.OneOf(float, rapid.Float64()), rows*cols, rows*cols).Draw(rt, "x")
		names := make([]string, cols)
		for j := range names {
			names[j] = fmt.Sprintf("column, \"%d\"", j)
		}
		var b bytes.Buffer
		require.NoError(rt, WriteCSV(&b, names, x, rows, cols))
		table, err := ReadCSV(&b, CSVOptions{})
		require.NoError(rt, err)
		require.Equal(rt, names, table.Names)
		require.Equal(rt, bitsOf(x), bitsOf(table.flat))

		b.Reset()
		require.NoError(rt, WriteCSV(&b, nil, x, rows, cols))
		table, err = ReadCSV(&b, CSVOptions{Header: HeaderNo})
		require.NoError(rt, err)
		require.Equal(rt, "V1", table.Names[0])
		require.Equal(rt, bitsOf(x), bitsOf(table.flat))
	})
}

func TestReadCSVStartsWhereTheReaderStands(t *testing.T) {
	r := strings.NewReader("skip this,\nx\n01\ntwo\n")
	_, err := r.Seek(int64(len("skip this,\n")), io.SeekStart)
	require.NoError(t, err)
	table, err := ReadCSV(r, CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"01", "two"}, table.Levels("x"))
}

func TestReadCSVHeaders(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode       HeaderMode
		names      []string
		rows       int
	}{
		{"names", "a,b\n1,2\n", HeaderAuto, []string{"a", "b"}, 1},
		{"numbers", "1,b\n1,2\n", HeaderAuto, []string{"V1", "V2"}, 2},
		{"infinite is a name", "Inf,-infinity,c\n1,2,3\n", HeaderAuto, []string{"Inf", "-infinity", "c"}, 1},
		{"not a number is no name", "nan,NaN,c\n1,2,3\n", HeaderAuto, []string{"column 1", "column 2", "c"}, 1},
		{"infinite beside a number", "Inf,1\n1,2\n", HeaderAuto, []string{"V1", "V2"}, 2},
		{"beyond float64", "x,1e999\nx,y\n", HeaderAuto, []string{"V1", "V2"}, 2},
		{"gaps in the names", ",b, NA \nx,1,2\n", HeaderAuto, []string{"column 1", "b", "column 3"}, 1},
		{"blanks around names", " a , b\n1,2\n", HeaderAuto, []string{"a", "b"}, 1},
		{"told yes", "2001,2002\n1,2\n", HeaderYes, []string{"2001", "2002"}, 1},
		{"years beside texts", "Country,2019,2020\nx,1.5,2\n", HeaderAuto, []string{"Country", "2019", "2020"}, 1},
		{"years apart", "Country,1960,1970,1980\nx,1.5,2,3\n", HeaderAuto, []string{"Country", "1960", "1970", "1980"}, 1},
		{"years above years", "Who,2019,2020\nx,2018,2020\n", HeaderAuto, []string{"V1", "V2", "V3"}, 2},
		{"two years apart", "Who,2015,2020\nx,18,20\n", HeaderAuto, []string{"V1", "V2", "V3"}, 2},
		{"years out of order", "Who,2021,2020,2019\nx,1,2,3\n", HeaderAuto, []string{"V1", "V2", "V3", "V4"}, 2},
		{"a year", "Who,2021\nx,1\n", HeaderAuto, []string{"V1", "V2"}, 2},
		{"years beside a number", "x,2019,2020,1\ny,1,2,3\n", HeaderAuto, []string{"V1", "V2", "V3", "V4"}, 2},
		{"years alone, told no", "2019,2020\n1,2\n", HeaderNo, []string{"V1", "V2"}, 2},
		{"told no", "a,b\n1,2\n", HeaderNo, []string{"V1", "V2"}, 2},
		{"windows", "\ufeffa;b\r\n\r\n1;2\r\n", HeaderAuto, []string{"a", "b"}, 1},
		{"no last newline", "a\tb\n1\t2", HeaderAuto, []string{"a", "b"}, 1},
		{"commas in quoted names", "\"a,b,c\";\"d\ne\"\n1;2\n", HeaderAuto, []string{"a,b,c", "d\ne"}, 1},
		{"carriage return in quotes", "a,\"b\rc\"\r", HeaderNo, []string{"V1", "V2"}, 1},
		{"empty first lines", "\n\na;b\n1;2", HeaderAuto, []string{"a", "b"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, err := ReadCSV(strings.NewReader(c.text), CSVOptions{Header: c.mode})
			require.NoError(t, err)
			require.Equal(t, c.names, table.Names)
			require.Equal(t, c.rows, table.Rows())
			require.Equal(t, len(c.names), table.Cols())
		})
	}
}

func TestReadCSVRefusesInOneLine(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		o                CSVOptions
	}{
		{"empty", "", "the input is empty; a table needs at least one row", CSVOptions{}},
		{"blank lines", "\n\r\n\n", "the input is empty; a table needs at least one row", CSVOptions{}},
		{"only names", "a,b\n", "there are names but no rows; if the first line is data, say that there is no header", CSVOptions{}},
		{"short row", "a,b\n\"1\n\",2\n\n1\n", "line 5 has 1 field separated by ',', expected 2 as in line 1; an empty field needs its separator, too", CSVOptions{}},
		{"long row", "\na;b\n1;2;3\n", "line 3 has 3 fields separated by ';', expected 2 as in line 2; a field that holds the separator needs quotes, and names of rows need a place in the header, which write.table of R leaves out (col.names = NA, or write.csv)", CSVOptions{}},
		{"twins", "a,b,a\n1,2,3\n", `columns 1 and 3 are both named "a"; rename one`, CSVOptions{}},
		{"years alone", "2019,2020\n1,2\n", `the first row, "2019", "2020", may be data or names of columns; say whether there is a header`, CSVOptions{}},
		{"made twins", "column 2,\n1,2\n", `columns 1 and 2 are both named "column 2"; rename one`, CSVOptions{}},
		{"open quote", "a,b\n1,\"2\n3,4\n", "line 3: quotes do not match in the row that starts at line 2", CSVOptions{}},
		{"bare quote", "a,b\n1,2\"\n", "line 2, byte 4: a quote inside a field; put the field in quotes and double those within", CSVOptions{}},
		{"quote", "a,b\n1,\"2\"x\n", "line 2, byte 5: quotes do not match; double the quotes within a quoted field", CSVOptions{}},
		{"too large", "a,b\n1,2\n\n3,-1e999\n", `line 4: row 2 of column "b" is "-1e999", beyond the range of a 64-bit float; rescale the column`, CSVOptions{}},
		{"old Mac", "a,b\r1,2\r3,\"4\r\"\r", "the lines end in carriage returns alone, as on old Macs; save the table with line feeds", CSVOptions{}},
		{"name in Latin-1", "a,b\x8f\n1,2\n", `line 1: the name of column 2 is "b\x8f", which is not UTF-8; save it as CSV in UTF-8, or say what encoding it has`, CSVOptions{}},
		{"level in Latin-1", "a,b\nx,2\n\nMalm\x8f,3\n", `line 4: row 2 of column "a" is "Malm\x8f", which is not UTF-8; save it as CSV in UTF-8, or say what encoding it has`, CSVOptions{}},
		{"level late", "a,b\n1,2\nMalm\x8f,3\n", `line 3: row 2 of column "a" is "Malm\x8f", which is not UTF-8; save it as CSV in UTF-8, or say what encoding it has`, CSVOptions{}},
		{"level at once", "\x8f,1\n", `line 1: row 1 of column "V1" is "\x8f", which is not UTF-8; save it as CSV in UTF-8, or say what encoding it has`, CSVOptions{}},
		{"comma", "a,b\n1,2\n", "csv: invalid field or comment delimiter", CSVOptions{Comma: '"'}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.text), onlyReader{strings.NewReader(c.text)}} {
				table, err := ReadCSV(r, c.o)
				require.Nil(t, table)
				require.EqualError(t, err, c.want)
			}
		})
	}
}

// The line that tells Excel the separator is no header, and errors count it.
func TestExcelsLineOfTheSeparator(t *testing.T) {
	for _, c := range [][2]string{
		{"sep=;\r\n", "a,1;b\n1,5;2\n"}, {"\ufeffsep=;\n", "a;b\n1;2\n"}, {"\"sep=;\"\n", "a;b\n1;2\n"},
		{"SEP=\t\n", "a;x\tb\n1\t2\n"}, {"sep=|\n", "a|b\n1|2\n3|4\n"},
	} {
		comma := rune(strings.Trim(c[0], "\ufeffsepSEP=\"\r\n")[0])
		want, err := requireFastPathAgrees(t, c[1], CSVOptions{Comma: comma})
		require.NoError(t, err)
		got, err := requireFastPathAgrees(t, c[0]+c[1], CSVOptions{})
		require.NoError(t, err)
		require.Equal(t, want.Names, got.Names, c[0])
		require.Equal(t, want.flat, got.flat, c[0])
	}
	bars, err := requireFastPathAgrees(t, "a|b\n1|x\n2|y\n", CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, bars.Names)
	require.Equal(t, []string{"x", "y"}, bars.Levels("b"))
	_, err = ReadCSV(strings.NewReader("sep=;\na;b\n1;2\n1;2;3\n"), CSVOptions{})
	require.ErrorContains(t, err, "line 4 has 3 fields separated by ';', expected 2 as in line 2")
	table, err := ReadCSV(strings.NewReader("sep=x\n1\n"), CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"sep=x"}, table.Names)
}

// TestLargeNumbersAmongTextAreText: 12e4567 may be part of a hash.
func TestLargeNumbersAmongTextAreText(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("commit,n\n12e4567,1\nabcdef0,2\n"), CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"12e4567", "abcdef0"}, table.Levels("commit"))
}

func TestColumnMissingEverywhereIsNumeric(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("a,b\n1,\n2,NA\n"), CSVOptions{})
	require.NoError(t, err)
	require.Nil(t, table.Levels("b"))
	b, err := table.Column("b")
	require.NoError(t, err)
	require.Len(t, b, 2)
	require.True(t, math.IsNaN(b[0]) && math.IsNaN(b[1]))
}

// changing gives one text on the first reading, and another once it is sought back after that.
type changing struct {
	*strings.Reader
	second string
	read   bool
}

func (c *changing) Read(p []byte) (int, error) {
	c.read = true
	return c.Reader.Read(p)
}

func (c *changing) Seek(offset int64, whence int) (int64, error) {
	if c.read && whence == io.SeekStart {
		c.Reader = strings.NewReader(c.second)
	}
	return c.Reader.Seek(offset, whence)
}

func TestReadCSVNoticesThatTheInputChanged(t *testing.T) {
	for _, second := range []string{"a,b\n1,2\nx,y\n", "a\n1\n", "a,b,c\n1,2,3\n"} {
		r := &changing{Reader: strings.NewReader("a,b\n1,2\nx,2\n"), second: second}
		_, err := ReadCSV(r, CSVOptions{})
		require.EqualError(t, err, "the input changed while it was read; read it again")
	}
}

func TestReadCSVAllocatesByRowNotByCell(t *testing.T) {
	const cols = 50
	perRow := func(rows int) float64 {
		text := strings.Repeat("1.5,"+strings.Repeat("12.25,", cols-2)+"label\n", rows)
		return testing.AllocsPerRun(1, func() {
			_, err := ReadCSV(strings.NewReader(text), CSVOptions{})
			require.NoError(t, err)
		})
	}
	// One string a row, by encoding/csv; the growth of slices is logarithmic in their number.
	require.Less(t, perRow(4000)-perRow(2000), 1.2*2000)
}

// TestReadCSVHoldsTheNumbersOnce: where the size of the input is known, the growth of the result costs no
// more than an eighth of it and what encoding/csv needs, one string a row.
func TestReadCSVHoldsTheNumbersOnce(t *testing.T) {
	const rows, cols = 20000, 20
	text := strings.Repeat(strings.Repeat("1,", cols-1)+"1\n", rows)
	used := allocated(func() {
		_, err := ReadCSV(strings.NewReader(text), CSVOptions{})
		require.NoError(t, err)
	})
	const result, strings = 8 * rows * cols, 32 * rows
	require.Less(t, used, uint64(result*5/4+strings+1<<18))
}

// TestReadCSVAllocatesByTheRowsThatAreThere: the estimate of the result's size is no way to exhaust memory.
func TestReadCSVAllocatesByTheRowsThatAreThere(t *testing.T) {
	text := strings.Repeat("1\n", 1000) + "\"" + strings.Repeat(" ", 1<<24) + "\"\n"
	var table *Table
	used := allocated(func() {
		var err error
		table, err = ReadCSV(strings.NewReader(text), CSVOptions{})
		require.NoError(t, err)
	})
	require.Equal(t, 1001, table.Rows())
	require.Less(t, used, uint64(8*len(text))) // the long cell itself, in the buffers of encoding/csv
}

func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "1;2\n01;x\n\"a\"\"\n\";3\n", "\ufeffx\tNA\n1e999\t0x1\n", "a,a\n", "\"", "\r", "12e4567\nx", "a b\n1  2\n\t3\t4 \n", "a,b\nm,kg\n1,2\n3,4\n5,6\n", "\"a\" b\nx 1 \"2\nx\" 3\n"} {
		f.Add(seed, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, mode uint8) {
		o := CSVOptions{Header: HeaderMode(mode % 3)}
		table, err := ReadCSV(strings.NewReader(text), o)
		again, err2 := ReadCSV(onlyReader{strings.NewReader(text)}, o)
		require.Equal(t, err, err2)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		requireConsistent(t, table)
		requireSame(t, table, again)
	})
}

// BenchmarkReadCSV reads 20000 rows of 20 numbers with 6 significant digits or fewer, and, in the second
// case, a column that turns out to be text in its last row.
func BenchmarkReadCSV(b *testing.B) {
	const rows, cols = 20000, 20
	x := make([]float64, rows*cols)
	for i := range x {
		x[i] = float64(i*7919%1000003) / 1000
	}
	var text bytes.Buffer
	if err := WriteCSV(&text, nil, x, rows, cols); err != nil {
		b.Fatal(err)
	}
	late := strings.Repeat("7,", cols-1) + "seven\n"
	for name, file := range map[string]string{"numbers": text.String(), "late-text": text.String() + late} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadCSV(strings.NewReader(file), CSVOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
