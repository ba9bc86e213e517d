package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/internal/fastcsv"
)

func pace(workers, bytes int) fastcsv.Pace { return fastcsv.Pace{Workers: workers, Bytes: bytes} }

// paces of the fast path: sections that are shorter than a line, or as long as a few, by any number of workers.
var paces = []fastcsv.Pace{pace(1, 1), pace(1, 30), pace(2, 8), pace(3, 25), pace(2, 200), pace(5, 64), pace(2, fastcsv.SectionSize)}

// requireFastPathAgrees: with the fast path and without, from any reader, a text is the same table or the same error.
func requireFastPathAgrees(t require.TestingT, text string, o CSVOptions) (*Table, error) {
	want, wantErr := readCSV(rewinder(strings.NewReader(text)), o, fastcsv.Pace{})
	for i, p := range paces {
		readers := []io.Reader{strings.NewReader(text), onlyReader{strings.NewReader(text)}}
		switch i {
		case 2:
			readers = append(readers, iotest.OneByteReader(strings.NewReader(text)))
		case 3:
			readers = append(readers, iotest.DataErrReader(strings.NewReader(text)))
		}
		for _, r := range readers {
			got, err := readCSV(rewinder(r), o, p)
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error(), "%q %v", text, p)
				require.Nil(t, got)
				continue
			}
			require.NoError(t, err, "%q %v", text, p)
			require.Equal(t, want.Names, got.Names)
			require.Equal(t, want.unnamed, got.unnamed)
			require.Equal(t, want.skipped, got.skipped, "%q %v", text, p)
			require.Equal(t, []int{want.rows, want.stride}, []int{got.rows, got.stride})
			require.Equal(t, bitsOf(want.flat), bitsOf(got.flat))
			for j, c := range want.columns {
				require.Equal(t, c.at, got.columns[j].at)
				require.Equal(t, c.marked, got.columns[j].marked)
				require.Equal(t, c.factor == nil, got.columns[j].factor == nil)
				if c.factor != nil {
					require.True(t, slices.Equal(c.factor.levels, got.columns[j].factor.levels))
					require.True(t, slices.Equal(c.factor.codes, got.columns[j].factor.codes))
				}
			}
		}
	}
	return want, wantErr
}

// hostileText is a table with a few things in it that make reading hard.
func hostileText(rt *rapid.T) string {
	plain := rapid.SampledFrom([]string{"1", "-2.5", "007", "12", "0.30000000000000004", "3e-5", "", "NA", "-999", " 4 ", "8."})
	words := rapid.SampledFrom([]string{"red", "green", `"blue"`, `"red"`, "x y", "", "é"})
	odd := rapid.SampledFrom([]string{"1e999", "-1e400", "Inf", "0x1p-2", "1_0", "a", `"1"`, `"a,b"`, `"a""b"`, "\"two\nlines\"", "\"two\r\nlines\"", `b"c`,
		`"open`, `"x"y`, "\xff", "?", " ? ", "nan", "+1", "123456789012345678901234567890", "\t2", "3\r", "\r", `""`, "\u00a05", "one,more", "1;2", "\x00", "\ufeff"})
	comma := rapid.SampledFrom([]string{",", ",", ",", ";", "\t"}).Draw(rt, "comma")
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(rt, "line end")
	cols := rapid.IntRange(1, 4).Draw(rt, "columns")
	cell := make([]*rapid.Generator[string], cols)
	for j := range cell {
		cell[j] = plain
		if rapid.IntRange(0, 3).Draw(rt, "kind") == 0 {
			cell[j] = words
		}
	}
	oddity := rapid.SampledFrom([]int{0, 0, 20, 100, 400}).Draw(rt, "oddity") // in a thousand cells
	var b strings.Builder
	if rapid.IntRange(0, 7).Draw(rt, "mark") == 0 {
		b.WriteString("\ufeff")
	}
	if rapid.Bool().Draw(rt, "header") {
		b.WriteString(strings.Join([]string{"a", `"b"`, "c", "d"}[:cols], comma) + end)
	}
	for range rapid.IntRange(0, 40).Draw(rt, "rows") {
		for j := range cols {
			if j > 0 {
				b.WriteString(comma)
			}
			if rapid.IntRange(0, 999).Draw(rt, "odd") < oddity {
				b.WriteString(odd.Draw(rt, "odd cell"))
			} else {
				b.WriteString(cell[j].Draw(rt, "cell"))
			}
		}
		switch rapid.IntRange(0, 49).Draw(rt, "line") {
		case 0:
			b.WriteString(end + end)
		case 1:
			b.WriteString("\r\n\n")
		default:
			b.WriteString(end)
		}
	}
	text := b.String()
	switch rapid.IntRange(0, 4).Draw(rt, "last") {
	case 0:
		return strings.TrimRight(text, "\r\n")
	case 1:
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

func TestFastPathAgreesWithRowByRowReading(t *testing.T) {
	var tables, refused int
	rapid.Check(t, func(rt *rapid.T) {
		how := rapid.SampledFrom([]Reading{ReadByForm, ReadAsCodes, ReadAsText})
		o := CSVOptions{
			Decimal: rapid.SampledFrom([]byte{0, '.', ','}).Draw(rt, "decimal"),
			Header:  rapid.SampledFrom([]HeaderMode{HeaderAuto, HeaderYes, HeaderNo}).Draw(rt, "mode"),
			NA:      rapid.SampledFrom([][]string{nil, nil, {"?", " -999"}, {"1"}}).Draw(rt, "NA"),
		}
		if rapid.Bool().Draw(rt, "reading") {
			as := map[string]Reading{"a": how.Draw(rt, "a"), "V1": how.Draw(rt, "V1"), "b": how.Draw(rt, "b"), "V2": how.Draw(rt, "V2")}
			o.Reading = func(name string) Reading { return as[name] }
		}
		if _, err := requireFastPathAgrees(rt, hostileText(rt), o); err == nil {
			tables++
		} else {
			refused++
		}
	})
	require.NotZero(t, tables)
	require.NotZero(t, refused)
}

func TestFastPathAgreesOnTheEdges(t *testing.T) {
	long := strings.Repeat("1.5,2.5\n", 30000)                     // more than a section
	wide := strings.Repeat("1.25,", fastcsv.SectionSize/4) + "7\n" // longer than a section
	for name, text := range map[string]string{
		"nothing": "", "line feeds": "\n\n\r\n", "header alone": "a,b\n", "one cell": "1", "one line": "1,2\r",
		"long": long, "long, ragged at the end": long + "1\n", "long, quote at the end": long + "1,\"2\n", "long, text at the end": long + "1,x\n",
		"long, quoted line end": long + "1,\"2\n\"\n" + long, "long, out of range": "\n" + long + "\n\n1,1e999\n" + long,
		"long, then the end of a return": long + "3,4\r", "long, empty lines": strings.ReplaceAll(long, "\n", "\n\r\n\n"),
		"long, text in the middle": long + "x,1\n" + long, "wide": wide + wide, "wide and ragged": wide + wide[5:],
		"long cell":         long + "\"" + strings.Repeat(" ", 3*fastcsv.SectionSize) + "\",1\n" + long,
		"quotes everywhere": strings.ReplaceAll(long, "1.5", `"1""5"`), "plain quotes everywhere": strings.ReplaceAll(long, "1.5", `"1.5"`),
		"dense at the end": strings.Repeat(strings.Repeat(" ", 100)+"1,2\n", 3000) + strings.Repeat("1,2\n", 100000),
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := readCSV(rewinder(strings.NewReader(text)), CSVOptions{}, fastcsv.Pace{})
			for _, p := range []fastcsv.Pace{pace(1, fastcsv.SectionSize), pace(2, fastcsv.SectionSize), pace(3, 1000)} {
				for _, r := range []io.Reader{strings.NewReader(text), onlyReader{strings.NewReader(text)}} {
					got, err := readCSV(rewinder(r), CSVOptions{}, p)
					if wantErr != nil {
						require.EqualError(t, err, wantErr.Error())
						continue
					}
					require.NoError(t, err)
					require.Equal(t, want.Rows(), got.Rows())
					require.True(t, bytes.Equal(bytesOf(want.flat), bytesOf(got.flat)))
					for _, name := range want.Names[:min(2, len(want.Names))] {
						require.Equal(t, want.Levels(name), got.Levels(name))
						require.Equal(t, want.Codes(name), got.Codes(name))
					}
				}
			}
		})
	}
}

// TestFastPathAgreesOnSeparators, also those that a number or more than a byte has.
func TestFastPathAgreesOnSeparators(t *testing.T) {
	for _, comma := range []rune{',', ';', '\t', ' ', '|', '.', '-', 'e', '5', '·', 'x'} {
		c := string(comma)
		text := strings.Repeat("1"+c+"23"+c+"4\n", 20) + "1" + c + c + "e\n"
		_, err := requireFastPathAgrees(t, text, CSVOptions{Comma: comma})
		require.Equal(t, comma == 'e', err != nil, c) // its last row has one more
	}
}

// TestFastPathPassesReadErrorsOn: what a row says that was read before the error comes first, as it does row by row.
func TestFastPathPassesReadErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	text := "a,b\n" + strings.Repeat("1,2\n", 9) + "1\n" + strings.Repeat("3,4\n", 9)
	for n := range len(text) {
		read := func(p fastcsv.Pace) error {
			_, err := readCSV(rewinder(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(broken))), CSVOptions{}, p)
			require.Error(t, err)
			return err
		}
		want := read(fastcsv.Pace{})
		for _, p := range paces {
			require.EqualError(t, read(p), want.Error(), "%d bytes %v", n, p)
		}
	}
}

// TestFastPathDoesTheWork: a table of plain rows is not read row by row, whatever its line ends, gaps and levels.
func TestFastPathDoesTheWork(t *testing.T) {
	for name, line := range map[string]string{
		"numbers": "1.5,-2.25,1e-3\n", "line ends": "1,2,3\r\n", "gaps": ",NA,nan\n", "blanks": " 1,2 ,+3\n", "levels": "1,red,3\n", "quotes": "1,\"red\",\"3\"\n",
	} {
		text := "a,b,c\n" + strings.Repeat(line, 1000)
		b := newCSVBuilder(nil, nil)
		require.NoError(t, b.read(rewinder(strings.NewReader(text)), CSVOptions{Header: HeaderYes}, fastcsv.Pace{}))
		records, err := newRecords(strings.NewReader(text), CSVOptions{Comma: ','})
		require.NoError(t, err)
		_, err = records.Read()
		require.NoError(t, err)
		swept := newCSVBuilder(nil, nil)
		swept.Columns = make([]fastcsv.Column, 3)
		for j := range swept.Columns {
			swept.Columns[j].Categorical = b.Columns[j].Categorical
		}
		records.readPlain(&swept.Table, pace(2, 100))
		require.Equal(t, 1000, swept.Rows, name)
		_, err = records.Read()
		require.Equal(t, io.EOF, err, name)
	}
}

// TestFastPathAllocatesBySection, not by row or cell.
func TestFastPathAllocatesBySection(t *testing.T) {
	for _, line := range []string{strings.Repeat("12.25,", 49) + "7\n", strings.Repeat("1.5,", 48) + "red,NA\n"} {
		allocations := func(rows int) float64 {
			text := strings.Repeat(line, rows)
			return testing.AllocsPerRun(1, func() {
				_, err := readCSV(rewinder(strings.NewReader(text)), CSVOptions{}, pace(1, fastcsv.SectionSize))
				require.NoError(t, err)
			})
		}
		require.Less(t, allocations(8000)-allocations(4000), 100.)
	}
}

// TestFastPathHoldsTheNumbersOnce: beside the result, a table of a known size costs the buffers of the workers and the
// numbers of its first lines.
func TestFastPathHoldsTheNumbersOnce(t *testing.T) {
	const rows, cols = 200000, 10
	text := strings.Repeat(strings.Repeat("0.5,", cols-1)+"0.5\n", rows)
	used := allocated(func() {
		_, err := readCSV(rewinder(strings.NewReader(text)), CSVOptions{}, pace(2, fastcsv.SectionSize))
		require.NoError(t, err)
	})
	require.Less(t, used, uint64(8*rows*cols*106/100+8*fastcsv.SectionSize))
}

func FuzzFastPathAgreesWithRowByRowReading(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "1;2\n01;x\n\"a\"\"\n\";3\n", "\ufeffx\tNA\n1e999\t0x1\n", "1,2\n\n3,\"4\r\n\"\r", "12e4567\nx"} {
		f.Add(seed, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, mode uint8) {
		o := CSVOptions{Header: HeaderMode(mode % 3)}
		if mode > 127 {
			o.NA = []string{"?", "1"}
		}
		_, _ = requireFastPathAgrees(t, text, o)
	})
}

// BenchmarkFastPath reads 100000 rows of 10 columns of several kinds.
func BenchmarkFastPath(b *testing.B) {
	for name, line := range map[string]string{
		"six-decimals": strings.Repeat("-0.595774,", 9) + "1.163140\n", "integers": strings.Repeat("12,", 9) + "345\n",
		"17-digits": strings.Repeat("0.12345678901234567,", 9) + "-1.2345678901234567\n", "gaps": strings.Repeat("1.5,NA,", 5)[:34] + "\n", "levels": strings.Repeat("1.5,", 8) + "red,\"green\"\n",
	} {
		text := strings.Repeat(line, 100000)
		for workers := range 3 {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := readCSV(rewinder(strings.NewReader(text)), CSVOptions{}, pace(workers, fastcsv.SectionSize)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A stuck reader gives nothing and no error once its text is at its end.
type stuck struct{ io.Reader }

func (s stuck) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func TestFastPathEndsWhereAReaderIsStuck(t *testing.T) {
	for _, rows := range []int{1, 100_000} {
		_, err := ReadCSV(stuck{strings.NewReader("a,b\n" + strings.Repeat("1,2\n", rows))}, CSVOptions{})
		require.ErrorIs(t, err, io.ErrNoProgress, rows)
	}
}
