package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDecimalCommasReadAsPointsDo: a table with semicolons and decimal commas has the bits of the same one with commas and
// points, whether it is said so or seen, and its levels have theirs.
func TestDecimalCommasReadAsPointsDo(t *testing.T) {
	seen := 0
	rapid.Check(t, func(rt *rapid.T) {
		cell := rapid.SampledFrom([]string{"1", "-2.5", "007", "12", "0.30000000000000004", "3.e-5", "", "NA", "red", "8.", "-0.25", "1234567.125", "Inf"})
		rows, cols := rapid.IntRange(1, 30).Draw(rt, "rows"), rapid.IntRange(1, 4).Draw(rt, "columns")
		text := "a,b,c,d"[:2*cols-1] + "\n"
		for range rows {
			var cells []string
			for range cols {
				cells = append(cells, cell.Draw(rt, "cell"))
			}
			text += strings.Join(cells, ",") + "\n"
		}
		commas := strings.NewReplacer(",", ";", ".", ",").Replace(text)
		want, wantErr := requireFastPathAgrees(rt, text, CSVOptions{Comma: ',', Decimal: '.'})
		for _, decimal := range []byte{',', 0} {
			got, err := requireFastPathAgrees(rt, commas, CSVOptions{Comma: ';', Decimal: decimal})
			if wantErr != nil {
				require.Error(rt, err)
				return
			}
			require.NoError(rt, err)
			if decimal == 0 && !got.DecimalComma() {
				continue // no column of numbers alone shows it
			}
			require.Equal(rt, bitsOf(want.flat), bitsOf(got.flat))
			for j, name := range want.Names {
				require.Equal(rt, want.columns[j].factor == nil, got.columns[j].factor == nil)
				levels, err := want.Occurring(name)
				others, otherErr := got.Occurring(name)
				require.Equal(rt, err == nil, otherErr == nil)
				for i, level := range levels {
					if want.columns[j].factor != nil {
						level = strings.Replace(level, ".", ",", 1)
					}
					require.Equal(rt, level, others[i])
				}
			}
			if decimal == 0 {
				seen++
			}
		}
	})
	require.Greater(t, seen, 5)
}

func TestDecimalsAreSeenInTheFirstLines(t *testing.T) {
	for text, comma := range map[string]bool{
		"a;b\n1,5;x\n2,25;y\n":              true,
		"a\tb\n1,5\tx\n2,25\ty\n":           true,
		"1,5;2\n3;4\n":                      true, // no header
		"a;b\n;2\n3;4,5":                    true, // no line end
		"a,b\n\"1,5\",2\n":                  true,
		"a;b\n1,5;1.5\n":                    false,
		"a;b\n1,234;2\n5,678;1\n":           false, // thousands, or three decimals
		"a;b\n1,234;2\n5,6789;1\n":          true,
		"a;b\n1,5;2\nx;1\n":                 false, // no column of numbers
		"a;b\n1,5;2\no.B.;1\n2,5;7\n":       true,  // a text among numbers
		"a;b\n1,5;01.02.2024\n2;13.5.23\n":  true,  // a date is no number
		"a;b\n1;2\n3;4\n":                   false,
		"a,b\n1,5\n2,5\n":                   false, // separators
		"a;b\n1,2,3;2\n":                    false,
		"a;b\n12;83,5 %\n4;7 %\n":           true,
		"a;b\n1.234,50 €;1\n20,5 €;2\n":     true,
		"a;b\n1.234.567;1\n":                true,  // points separate thousands
		"a;b\n4.868;1\n537;2\n12;3\n":       true,  // as decimals would be 537.000
		"a;b\n4.868;1,5\n537;2\n":           true,  // and so says another column
		"a;b\n4.868;1\n537;2\n":             false, // a single one may have none
		"a;b\n4.868;1\n0;2\n1;3\n":          false, // these often have none
		"a;b\n4.868;1\n537;2\n12345;3\n":    false, // no separators here
		"a;b\n4.868;1.5\n537;2\n12;3\n":     false,
		"a;b\n1.625;1\n3;2\n2;3\n2.375;1\n": false, // far from 2 and 3 if they were thousands
		"a;b\n0.868;1\n537;2\n12;3\n":       false,
	} {
		table := csvTable(t, text)
		require.Equal(t, comma, table.DecimalComma(), "%q", text)
	}
	far := "a;b\n" + strings.Repeat("1;2\n", 1<<15) + "1,5;2\n"
	table := csvTable(t, far)
	require.False(t, table.DecimalComma())
	_, err := table.Column("a")
	require.ErrorIs(t, err, ErrDecimalComma)
}

func TestNumbersThatAreNoneSayWhy(t *testing.T) {
	for _, c := range []struct {
		text    string
		decimal byte
		want    error
	}{
		{"a;b\n1.234,50;1\n1 234,5;2\n", ',', ErrGrouped},
		{"a;b\n1,234;1\n5678;2\n", '.', ErrGrouped},
		{"a;b\n1\u00a0234;1\n1'234'567;2\n", '.', ErrGrouped},
		{"a;b\n1,234;1\n20,500;2\n", 0, ErrGrouped},
		{"a;b\n1.5;1\n20,5;2\n", ',', ErrDecimalPoint},
		{"a;b\n1.5;1\n20,5;2\n", '.', ErrDecimalComma},
		{"a;b\n1.5;1\nx;2\n", ',', nil},
	} {
		table, err := ReadCSV(strings.NewReader(c.text), CSVOptions{Decimal: c.decimal})
		require.NoError(t, err)
		_, err = table.Column("a")
		require.Error(t, err)
		for _, one := range []error{ErrGrouped, ErrDecimalPoint, ErrDecimalComma} {
			require.Equal(t, one == c.want, errors.Is(err, one), "%q: %v", c.text, err)
		}
	}
}

// TestLevelsOfDecimalCommas: a column that is read as text has the levels of numbers, whatever its decimals follow.
func TestLevelsOfDecimalCommas(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("a\n10,5\n9,5\n9,5\n"), CSVOptions{Decimal: ',', Reading: func(string) Reading { return ReadAsText }})
	require.NoError(t, err)
	levels, err := table.Occurring("a")
	require.NoError(t, err)
	require.Equal(t, []string{"9,5", "10,5"}, levels)
	known, err := table.Factor("a", []string{"9.5", "10.5"}, false)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 0}, known.Codes("a"))
}

// TestDecimalCommasOutliveLeftOutRows: what is read as text is still a number where rows have been left out.
func TestDecimalCommasOutliveLeftOutRows(t *testing.T) {
	table, err := Read(strings.NewReader("a;b\n1,5;1\n2,5;\n3,5;3\n"), CSVOptions{Comma: ';', Decimal: ',', Reading: func(name string) Reading {
		if name == "a" {
			return ReadAsText
		}
		return ReadByForm
	}})
	require.NoError(t, err)
	complete, left, err := table.DropMissing()
	require.NoError(t, err)
	require.Equal(t, 1, left)
	numbers, err := complete.Numbers([]string{"a"}, [][]string{nil})
	require.NoError(t, err)
	x, err := numbers.Column("a")
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, 3.5}, x)
}
