package data

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBlanksSeparateWhereNothingElseDoes: the same cells, between blanks and between commas, are the same table.
func TestBlanksSeparateWhereNothingElseDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(2, 40).Draw(rt, "rows"), rapid.IntRange(2, 6).Draw(rt, "columns")
		blank := rapid.SampledFrom([]string{" ", "   ", " \t", "\t \t"})
		end := rapid.SampledFrom([]string{"\n", "\r\n", " \n"}).Draw(rt, "end")
		texts := cols > 2 && rapid.Bool().Draw(rt, "texts") // in the last column
		spaced, plain := "", ""
		line := func(cells []string) {
			for j, cell := range cells {
				if j > 0 || rapid.Bool().Draw(rt, "indented") {
					spaced += blank.Draw(rt, "blank")
				}
				spaced += cell
			}
			spaced += end
			plain += strings.Join(cells, ",") + "\n"
		}
		if rapid.Bool().Draw(rt, "header") {
			names := make([]string, cols)
			for j := range names {
				names[j] = fmt.Sprintf("c%d", j)
			}
			line(names)
		}
		for i := range rows {
			cells := make([]string, cols)
			for j := range cells {
				cells[j] = rapid.SampledFrom([]string{"1", "-2.5", "3e2", "NA"}).Draw(rt, "cell")
				if i == rows-1 {
					cells[j] = "7"
				}
			}
			if texts {
				cells[cols-1] = rapid.SampledFrom([]string{"a", `"b c"`, "d"}).Draw(rt, "text")
			}
			line(cells)
		}
		got, err := requireFastPathAgrees(rt, spaced, CSVOptions{})
		require.NoError(rt, err)
		want, err := ReadCSV(strings.NewReader(plain), CSVOptions{})
		require.NoError(rt, err)
		require.True(rt, got.Blanks())
		require.Equal(rt, want.Names, got.Names)
		require.Equal(rt, want.Rows(), got.Rows())
		for j, name := range want.Names {
			require.Equal(rt, want.Levels(name), got.Levels(name))
			for i := range want.Rows() {
				require.Equal(rt, fmt.Sprint(want.Number(i, j)), fmt.Sprint(got.Number(i, j)))
			}
		}
	})
}

func TestWhereBlanksSeparate(t *testing.T) {
	for _, c := range []struct {
		text   string
		names  string
		second string // row, but for the names of the columns
		blanks bool
	}{
		{"\"Length\" \"Width\" \"Species\"\n\"1\" 5.1 3.5 \"setosa\"\n\"2\" 4.9 3 \"setosa\"\n",
			"column 1|Length|Width|Species", "2|4.9|3|setosa", true}, // write.table of R
		{"18.0   8   307.0  3504.\t\"chevrolet chevelle malibu\"\n15.0   8   350.0  3693.\t\"buick skylark 320\"\n",
			"V1|V2|V3|V4|V5", "15|8|350|3693|buick skylark 320", true},
		{"15.26\t14.84\t0.871\n14.88\t\t14.57\t0.881\n", "V1|V2|V3", "14.88|14.57|0.881", true}, // a tab twice
		{"Eruptions of a geyser\n\n  a   b\n 1 2\n 3 4\n", "a|b", "3|4", true},
		{"# measured twice\na b\n1 2\n3 ?\n", "a|b", "3|?", true},
		{"a b\n\n1 2\n\n3 4\n\n", "a|b", "3|4", true},
		{"1 2 3", "V1|V2|V3", "", true},

		{"\n a   b\n1 2\n3 4\n", "a|b", "3|4", true},
		{"# two\n a b\nx 1 2\ny 3 4\n", "column 1|a|b", "y|3|4", true},

		{"name\n12 kg\n13 kg\n", "name", "13", false},
		{"a b c\n1 2 3\n4 5\n6 7 8\n", "a b c", "4 5", false},
		{"a b c\nx y\n6 7 8\n9 10 11\n", "a b c", "6 7 8", false},
		{"range\n10 - 20\n20 - 30\n", "range", "20 - 30", false},
		{"a b\tc d\n1\t2\n3\t4\n", "a b|c d", "3|4", false},
		{"x\ty\n1 234\t2 345\n3 456\t4 567\n", "x|y", "3456|4567", false},
		{"a b,c\n1 2,3\n4 5,6\n", "a b|c", "4 5|6", false},
		{"day\n2024-01-31 13:00:00\n2024-02-01 14:00:00\n", "day", "2024-02-01 14:00:00", false},
		{"first last\nAda Lovelace\nAlan Turing\n", "first last", "Alan Turing", false},
	} {
		table, err := requireFastPathAgrees(t, c.text, CSVOptions{})
		require.NoError(t, err, c.text)
		assert.Equal(t, c.names, strings.Join(table.Names, "|"), c.text)
		assert.Equal(t, c.blanks, table.Blanks(), c.text)
		if c.second == "" {
			continue
		}
		var row []string
		for j, name := range table.Names {
			if levels := table.Levels(name); levels != nil {
				row = append(row, levels[table.Codes(name)[1]])
			} else {
				row = append(row, fmt.Sprint(table.Number(1, j)))
			}
		}
		assert.Equal(t, c.second, strings.Join(row, "|"), c.text)
	}
	_, err := ReadCSV(strings.NewReader("a b c\n"+strings.Repeat("1.25 2 3\n", 20_000)+"4 5\n"), CSVOptions{})
	assert.EqualError(t, err, "line 20002 has 2 fields separated by blanks, expected 3 as in line 1; "+
		"a field with blanks needs quotes, and an empty one a mark such as NA")
}

// TestBlanksInBlocks: rows that are read some at a time, below a title, are those of the whole.
func TestBlanksInBlocks(t *testing.T) {
	text := "A title\n\n  a  b\n" + strings.Repeat(" 1.5   2\n\t3\t4 \n", 1<<19)
	rows, sum := 0, 0.
	for table, err := range Blocks([]Part{textPart("d.txt", text)}, CSVOptions{}) {
		require.NoError(t, err)
		require.True(t, table.Blanks())
		b, err := table.Column("b")
		require.NoError(t, err)
		for _, v := range b {
			sum += v
		}
		rows += table.Rows()
	}
	require.Equal(t, 1<<20, rows)
	require.False(t, math.Abs(sum-6*(1<<19)) > 0)
}
