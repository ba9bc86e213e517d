package fastcsv

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // the same cases in every run
)

// newTable is an empty table, categorical columns marked by a t and others by an n.
func newTable(kinds string) *Table {
	t := &Table{Columns: make([]Column, len(kinds))}
	for j, kind := range kinds {
		t.Columns[j].Categorical = kind == 't'
	}
	t.Grow = func(numbers []float64, need, expected int) ([]float64, error) {
		return append(make([]float64, 0, len(numbers)+4*need), numbers...), nil // the next sections begin before these are joined
	}
	return t
}

// requireLikeEncodingCSV: what the fast path reads of a text is what encoding/csv and strconv read, it leaves the rest
// as it was, and it stops only where a row is not plain. It returns the number of rows read.
func requireLikeEncodingCSV(t require.TestingT, text, kinds string, comma byte, source *Source, p Pace) int {
	table := newTable(kinds)
	lines, err := table.Read(source, comma, p)
	require.NoError(t, err)
	left, err := io.ReadAll(source)
	require.NoError(t, err)
	rest := string(left)
	require.True(t, strings.HasSuffix(text, rest), "%q of %q", rest, text)
	done := text[:len(text)-len(rest)]
	if strings.HasSuffix(done, "\n") || done == "" {
		require.Equal(t, strings.Count(done, "\n"), lines)
	} else {
		require.Empty(t, rest)
		require.Equal(t, strings.Count(done, "\n")+1, lines)
	}

	oracle := csv.NewReader(strings.NewReader(text))
	oracle.Comma, oracle.FieldsPerRecord = rune(comma), -1
	numbers := table.Numbers
	for row := range table.Rows {
		record, err := oracle.Read()
		require.NoError(t, err, "%q row %d", text, row)
		require.Len(t, record, len(kinds))
		for j, cell := range record {
			trimmed := strings.TrimSpace(cell)
			absent := trimmed == "" || trimmed == "NA" || strings.ToLower(trimmed) == "nan"
			if kinds[j] == 't' {
				if code := table.Columns[j].Codes[row]; absent {
					require.EqualValues(t, MissingCode, code)
				} else {
					require.Equal(t, cell, table.Columns[j].Levels[code], "%q row %d", text, row)
				}
				continue
			}
			if absent {
				require.True(t, math.IsNaN(numbers[0]))
			} else {
				want, err := strconv.ParseFloat(trimmed, 64)
				require.NoError(t, err, "%q row %d", text, row)
				require.Equal(t, math.Float64bits(want), math.Float64bits(numbers[0]), "%q row %d", text, row)
			}
			numbers = numbers[1:]
		}
	}
	require.Empty(t, numbers)
	require.Empty(t, strings.Trim(text[oracle.InputOffset():max(len(done), int(oracle.InputOffset()))], "\r\n"))

	next := csv.NewReader(strings.NewReader(rest))
	next.Comma, next.FieldsPerRecord = rune(comma), -1
	record, err := next.Read()
	if err != io.EOF {
		require.False(t, err == nil && isPlain(record, rest[:next.InputOffset()], kinds), "%q stopped before %q", text, rest)
	}
	return table.Rows
}

// isPlain is the specification of what the fast path has to read: rows of the right width without quotes, with numbers
// or nothing where numbers are to be, and UTF-8 elsewhere.
func isPlain(record []string, text, kinds string) bool {
	if len(record) != len(kinds) || strings.Contains(text, `"`) {
		return false
	}
	for j, cell := range record {
		if kinds[j] == 't' {
			if !utf8.ValidString(cell) {
				return false
			}
		} else if _, kind := ParseCell(cell); kind != Number && kind != Missing {
			return false
		}
	}
	return true
}

// requireLikeEncodingCSVAtEveryPace, in sections shorter than a line or as long as a few, from several kinds of readers.
// It returns the number of rows read in long sections: short ones may end within quotes, where the fast path stops.
func requireLikeEncodingCSVAtEveryPace(t require.TestingT, text, kinds string, comma byte) (rows int) {
	size := int64(len(text))
	for i, p := range []Pace{{2, SectionSize}, {1, 1}, {1, 30}, {2, 8}, {3, 25}} {
		sources := []*Source{NewSource(strings.NewReader(text), size), NewSource(iotest.DataErrReader(strings.NewReader(text)), 0)}
		if i == 2 {
			sources = append(sources, NewSource(iotest.OneByteReader(strings.NewReader(text)), 0))
		}
		for j, source := range sources {
			n := requireLikeEncodingCSV(t, text, kinds, comma, source, p)
			if i == 0 && j == 0 {
				rows = n
			}
			if strings.Contains(text, `"`) {
				require.LessOrEqual(t, n, rows, "%q %v", text, p)
			} else {
				require.Equal(t, rows, n, "%q %v", text, p)
			}
		}
	}
	return rows
}

// randomText is lines that are mostly of the right width and kind, and a few things that make reading hard: quotes,
// doubled quotes, line ends of both kinds within quotes and without, empty lines, ragged rows, byte order marks, and no
// last line feed.
func randomText(rt *rapid.T) (text, kinds string, comma byte) {
	kinds = rapid.StringMatching(`[nnt]{1,4}`).Draw(rt, "kinds")
	comma = rapid.SampledFrom([]byte(",,,;\t |")).Draw(rt, "comma")
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "line end")
	rare := rapid.SampledFrom([]int{0, 1, 5, 50}).Draw(rt, "rarity") // odd things among a hundred
	number := rapid.OneOf(rapid.StringMatching(`-?[0-9]{1,4}(\.[0-9]{0,20})?(e[+-]?[0-9]{1,2})?`), rapid.SampledFrom([]string{"", "NA", "nan", "Inf", " 7 ", "+1", "1e300", `"2.5"`, `"-1"`, `""`}))
	word := rapid.SampledFrom([]string{"red", "green", `"blue"`, `"two words"`, "", "NA", "é", "007"})
	odd := rapid.SampledFrom([]string{`"`, `""`, `"a""b"`, "\"a\nb\"", "\"a\r\nb\"", "\"1\"\r", `a"b`, `"a"b`, "\ufeff", "\xff", "x", "1e999", "0x10", "1_0", "\r", "\r\r", string(comma), string(comma) + string(comma), "\n", "\r\n", "\x00", " "})
	var b strings.Builder
	for range rapid.IntRange(0, 30).Draw(rt, "rows") {
		for j, kind := range kinds {
			if j > 0 {
				b.WriteByte(comma)
			}
			switch {
			case rapid.IntRange(1, 100).Draw(rt, "odd") <= rare:
				b.WriteString(odd.Draw(rt, "odd cell"))
			case kind == 't':
				b.WriteString(word.Draw(rt, "word"))
			default:
				b.WriteString(number.Draw(rt, "number"))
			}
		}
		b.WriteString(end)
		if rapid.IntRange(1, 100).Draw(rt, "odd line") <= rare {
			b.WriteString(odd.Draw(rt, "line begins"))
		}
	}
	text = b.String()
	if rapid.IntRange(0, 3).Draw(rt, "last") == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return text, kinds, comma
}

func TestReadIsLikeEncodingCSV(t *testing.T) {
	rows := 0
	rapid.Check(t, func(rt *rapid.T) {
		text, kinds, comma := randomText(rt)
		rows += requireLikeEncodingCSVAtEveryPace(rt, text, kinds, comma)
	})
	require.NotZero(t, rows)
}

func TestReadIsLikeEncodingCSVOnTheEdges(t *testing.T) {
	long := strings.Repeat("1.5,red\n", 3000)
	for text, rows := range map[string]int{
		"": 0, "\n\r\n\n": 0, "1,x": 1, "1,x\r": 1, "1,x\n": 1, "1,x\r\n\r\n2,y": 2, "\ufeff1,x\n": 0, "1,\ufeffx\n": 1, "1\n": 0, "1,x,\n": 0, "1,x\n2\n3,z\n": 1, "1,\n,x\n,\n": 3,
		"\"1\",\"x\"\r\n\"\",\"y z\"\n": 2, "1,\"a\"\"b\"\n": 0, "1,x\n2,\"y\nz\"\n": 1, "1,x\n2,\"y\n": 1, "1,x\"y\n": 0, "1,\"x\"y\n": 0, "1\r,x\n": 1, "1,x\r\r\n": 1,
		"one,x\n": 0, "1,\xff\n": 0, long: 3000, long + "2,\"\"\"\"\n" + long: 3000, strings.ReplaceAll(long, "\n", "\n\r\n\n"): 3000,
	} {
		require.Equal(t, rows, requireLikeEncodingCSVAtEveryPace(t, text, "nt", ','), "%.80q", text)
	}
}

func FuzzReadIsLikeEncodingCSV(f *testing.F) {
	for _, seed := range []string{"1,2\n3,4\n", "1,\"x\"\r\n\r\n2,\"y\"\"z\"\n", "\ufeff1,2", "1,2\n3\n", "1,\"2\n3\"\n", "1,\"2\n"} {
		f.Add(seed, "nn")
		f.Add(seed, "nt")
	}
	f.Fuzz(func(t *testing.T, text, kinds string) {
		if kinds == "" || len(kinds) > 8 {
			return
		}
		requireLikeEncodingCSVAtEveryPace(t, text, kinds, ',')
	})
}

// TestSourceGivesBackInOrder: pieces put back come again before the rest, the last put back first.
func TestSourceGivesBackInOrder(t *testing.T) {
	s := NewSource(strings.NewReader("abcdef"), 6)
	b := make([]byte, 4)
	_, err := io.ReadFull(s, b)
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Offset())
	s.PutBack([]byte("c"), nil, []byte("d"))
	s.PutBack([]byte("b"))
	require.EqualValues(t, 1, s.Offset())
	rest, err := io.ReadAll(s)
	require.NoError(t, err)
	require.Equal(t, "bcdef", string(rest))
	require.EqualValues(t, 6, s.Offset())
}
