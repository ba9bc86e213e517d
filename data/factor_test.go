package data

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// textsOf is a column of either kind as texts, "" where it is missing.
func textsOf(t require.TestingT, table *Table, name string) []string {
	texts := make([]string, table.Rows())
	if codes := table.Codes(name); codes != nil {
		for row, code := range codes {
			if code != missingCode {
				texts[row] = table.Levels(name)[code]
			}
		}
		return texts
	}
	x, err := table.Column(name)
	require.NoError(t, err)
	for row, v := range x {
		if !math.IsNaN(v) {
			texts[row] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		if texts[row] == "-0" {
			texts[row] = "0"
		}
	}
	return texts
}

// factorAll makes every column that has a value categorical with its own levels.
func factorAll(t require.TestingT, table *Table) *Table {
	for _, name := range table.Names {
		made, err := table.Factor(name, nil, false)
		if empty := strings.Join(textsOf(t, table, name), "") == ""; empty {
			require.EqualError(t, err, fmt.Sprintf("column %q has no value to take levels from; drop it", name))
			require.Nil(t, made)
			continue
		}
		require.NoError(t, err)
		table = made
	}
	return table
}

// TestFactorKeepsTheTextOfEveryCell, leaves the other columns and the table it comes from as they were, and
// sorts the levels.
func TestFactorKeepsTheTextOfEveryCell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := drawLines(rt)
		table := csvTable(rt, strings.Join(lines, "\n")+"\n")
		made := factorAll(rt, table)
		requireConsistent(rt, made)
		requireSame(rt, csvTable(rt, strings.Join(lines, "\n")+"\n"), table)
		require.Equal(rt, table.Names, made.Names)
		for j, name := range made.Names {
			texts := textsOf(rt, table, name)
			require.Equal(rt, texts, textsOf(rt, made, name))
			if strings.Join(texts, "") != "" {
				require.Equal(rt, Categorical, made.Kinds()[j])
				want := slices.DeleteFunc(texts, func(s string) bool { return s == "" })
				slices.Sort(want)
				require.ElementsMatch(rt, slices.Compact(want), made.Levels(name))
			}
		}
	})
}

// TestFactorWithItsOwnLevelsIsTheIdentity, whether they are named or left to it.
func TestFactorWithItsOwnLevelsIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		made := factorAll(rt, drawTable(rt))
		requireSame(rt, made, factorAll(rt, made))
		for _, name := range made.Names {
			if levels := made.Levels(name); levels != nil {
				again, err := made.Factor(name, levels, rapid.Bool().Draw(rt, "unseen missing"))
				require.NoError(rt, err)
				requireSame(rt, made, again)
			}
		}
	})
}

func TestFactorDoesNotDependOnTheOrderOfTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := drawLines(rt)
		made := factorAll(rt, csvTable(rt, strings.Join(lines, "\n")+"\n"))
		order, moved := drawOrder(rt, lines)
		moved = factorAll(rt, moved)
		for _, name := range made.Names {
			require.Equal(rt, made.Levels(name), moved.Levels(name))
			for i, row := range order {
				if codes := made.Codes(name); codes != nil {
					require.Equal(rt, codes[row], moved.Codes(name)[i])
				}
			}
		}
	})
}

// TestFactorTakesTheLevelsInTheOrderGiven: a code is the place of the cell's text among them; what is not
// there is missing or an error at the first row that has it.
func TestFactorTakesTheLevelsInTheOrderGiven(t *testing.T) {
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		cells := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z", "7", "NA", "12e4567", "TRUE"}), 1, 8).Draw(rt, "cells")
		levels := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z", "7", "TRUE", "never", "12e4567"}), 1, 7, rapid.ID).Draw(rt, "levels")
		table := csvTable(rt, "a,b\n"+strings.Join(append(cells, "x"), ",1\n")+",1\n")
		want, first := make([]int32, table.Rows()), -1
		for row, text := range textsOf(rt, table, "a") {
			want[row] = int32(slices.Index(levels, text)) // -1, missingCode, if there is none
			if text != "" && want[row] < 0 && first < 0 {
				first = row
			}
		}
		made, err := table.Factor("a", levels, true)
		require.NoError(rt, err)
		requireConsistent(rt, made)
		require.Equal(rt, levels, made.Levels("a"))
		require.Equal(rt, want, made.Codes("a"))

		strict, err := table.Factor("a", levels, false)
		if first < 0 {
			require.NoError(rt, err)
			requireSame(rt, made, strict)
			return
		}
		refused++
		require.Nil(rt, strict)
		require.EqualError(rt, err, fmt.Sprintf("row %d of column \"a\" is %q, which is none of the levels %s; give it one of them, or leave it empty",
			first+1, append(cells, "x")[first], quotedList(levels)))
	})
	require.Positive(t, refused)
}

// TestANumberHasItsLevelHoweverItsColumnWasRead: one text makes a column categorical, and its absence from
// other rows makes it numeric there; the codes of the other cells are the same.
func TestANumberHasItsLevelHoweverItsColumnWasRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cells := rapid.SliceOfN(rapid.SampledFrom([]string{"01234", "2.50", "3", "1e6", "-0", "NA"}), 1, 8).Draw(rt, "cells")
		cells = append(cells, "7")
		numbers := csvTable(rt, "c\n"+strings.Join(cells, "\n")+"\n")
		texts := csvTable(rt, "c\n"+strings.Join(cells, "\n")+"\nK1A\n")
		require.Nil(rt, numbers.Levels("c"))
		require.NotNil(rt, texts.Levels("c"))

		known, err := numbers.Factor("c", texts.Levels("c"), false)
		require.NoError(rt, err)
		require.Equal(rt, texts.Codes("c")[:len(cells)], known.Codes("c"))

		known, err = numbers.Factor("c", nil, false)
		require.NoError(rt, err)
		later, err := texts.Factor("c", known.Levels("c"), true)
		require.NoError(rt, err)
		require.Equal(rt, append(slices.Clone(known.Codes("c")), missingCode), later.Codes("c"))
	})
}

func TestLevelsThatAreOneNumberAreToldApartByTheirTexts(t *testing.T) {
	table := csvTable(t, "c\n1\n01\n1.0\nx\n")
	made, err := table.Factor("c", []string{"01", "x", "1"}, true)
	require.NoError(t, err)
	require.Equal(t, []int32{2, 0, missingCode, 1}, made.Codes("c"))
	_, err = table.Factor("c", []string{"01", "x", "1"}, false)
	require.EqualError(t, err, `row 3 of column "c" is "1.0", which is none of the levels "01", "x", "1"; give it one of them, or leave it empty`)
}

// TestNumbersBeyondRangeAreTexts: as levels they are not all the same infinite number.
func TestNumbersBeyondRangeAreTexts(t *testing.T) {
	made, err := csvTable(t, "c\nx\nInf\n2e999\n1e999\n").Factor("c", []string{"1e999", "2e999", "x"}, true)
	require.NoError(t, err)
	require.Equal(t, []int32{2, missingCode, 1, 0}, made.Codes("c"))
	made, err = csvTable(t, "c\nx\nInf\n").Factor("c", []string{"1e999", "x"}, true)
	require.NoError(t, err)
	require.Equal(t, []int32{1, missingCode}, made.Codes("c"))
}

func TestLevelsAreSortedNumbersBeforeTexts(t *testing.T) {
	for text, want := range map[string][]string{
		"10\n9\n-1\n2.5\n0\n-0\nInf\n-Inf\n1000000\nNA\n":         {"-Inf", "-1", "0", "2.5", "9", "10", "1e+06", "+Inf"},
		"x\n10\n9\n1.0\n01\n1\nX\n 1\nInf\n10a\n\"a\nb\"\n\"\"\n": {" 1", "01", "1", "1.0", "9", "10", "Inf", "10a", "X", "a\nb", "x"},
		"TRUE\nFALSE\n":            {"FALSE", "TRUE"},
		"abcdef0\n12e4567\n5\n":    {"5", "12e4567", "abcdef0"},
		"-0\n":                     {"0"},
		"1e308\n5e-324\n-1e-300\n": {"-1e-300", "5e-324", "1e+308"},
	} {
		table, err := ReadCSV(strings.NewReader("c\n"+text), CSVOptions{Header: HeaderYes})
		require.NoError(t, err)
		made, err := table.Factor("c", nil, false)
		require.NoError(t, err)
		require.Equal(t, want, made.Levels("c"))
	}
}

func TestFactorKeepsLevelsThatNoRowHas(t *testing.T) {
	table, left := dropMissing(t, csvTable(t, "a,b\nz,\ny,1\n"))
	require.Equal(t, 1, left)
	made, err := table.Factor("a", nil, false)
	require.NoError(t, err)
	require.Equal(t, []string{"y", "z"}, made.Levels("a"))
	made, err = table.Factor("a", []string{"y"}, false)
	require.NoError(t, err, "no row is z")
	require.Equal(t, []int32{0}, made.Codes("a"))

	empty, _ := dropMissing(t, csvTable(t, "a,b\n1,\n"))
	made, err = empty.Factor("a", []string{"1"}, false)
	require.NoError(t, err)
	requireConsistent(t, made)
}

func TestFactorSharesTheOtherColumnsAndCopiesTheLevels(t *testing.T) {
	table := csvTable(t, "a,b\n1,2\n3,4\n")
	levels := []string{"3", "1"}
	made, err := table.Factor("a", levels, false)
	require.NoError(t, err)
	require.Same(t, &table.flat[0], &made.flat[0])
	levels[0], made.Names[0] = "5", "z"
	require.Equal(t, []string{"3", "1"}, made.Levels("z"))
	require.Equal(t, []string{"a", "b"}, table.Names)

	numeric, err := made.Drop("z")
	require.NoError(t, err)
	x, _, _, err := numeric.Matrix()
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4}, x)
	_, _, _, err = made.Matrix()
	require.EqualError(t, err, `column "z" is categorical; drop it`)
	_, err = made.Column("z")
	require.EqualError(t, err, `column "z" is categorical; a numeric column is needed here`)
}

func TestFactorRefusesInOneLine(t *testing.T) {
	table := csvTable(t, "a,b,c\n1,x,\n2.50,\"y\nz\",NA\n")
	for _, c := range []struct {
		name, column string
		levels       []string
		want         string
	}{
		{"unknown column", "z", nil, `no column "z"; the columns are "a", "b", "c"`},
		{"no value", "c", nil, `column "c" has no value to take levels from; drop it`},
		{"no level", "a", []string{}, `column "a": no levels are given; a categorical column needs at least one`},
		{"twins", "a", []string{"1", "2.5", "1"}, `column "a": the level "1" is given twice; give each level once`},
		{"empty level", "b", []string{"x", ""}, `column "b": the level "" means a missing value; leave it out`},
		{"missing level", "b", []string{" NA ", "x"}, `column "b": the level " NA " means a missing value; leave it out`},
		{"unseen number", "a", []string{"1"}, `row 2 of column "a" is "2.5", which is none of the levels "1"; give it one of them, or leave it empty`},
		{"unseen text", "b", []string{"x", "y z"}, `row 2 of column "b" is "y\nz", which is none of the levels "x", "y z"; give it one of them, or leave it empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, err := table.Factor(c.column, c.levels, false)
			require.Nil(t, made)
			require.EqualError(t, err, c.want)
		})
	}
	_, err := new(Table).Factor("a", nil, true)
	require.Error(t, err)

	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("long", 100) + strconv.Itoa(i)
	}
	_, err = table.Factor("b", many, false)
	require.ErrorContains(t, err, "… (1000 in all); give it one of them")
	require.Less(t, len(err.Error()), 4000)
}
