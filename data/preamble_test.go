package data

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatStandsAboveATableIsLeftOut(t *testing.T) {
	for _, c := range []struct{ above, table string }{
		{"# exported 2024-12-01, from the shop\n#\n", "a,b\n1,2\n3,4\n"},
		{"# a;b;c, d\r\n\r\n", "a;b\r\n1;2\r\n3;4\r\n"},
		{"Report\n\n", "a,b\n1,2\n"},
		{"Report\nof 2024\n", "a,b,c\n1,2,3\n"},
		{"\ufeff\"Report\"\n", "a\tb\tc\n1\t2\t3\n"},
		{"Report of 2024;;\r\n;;\r\nall shops;;\r\n", "a;b;c\r\n1;2;3\r\n4;5;6\r\n"},
		{"", "a,,\nx,y,1\nz,u,2\n"}, // a header whose other names are missing
		{"", ",,\n1,2,3\n"},         // names that are missing
		{"", "#a,b\n1,2\n"},         // a header
		{"# of\n", "#a,b\n1,2\n"},   // likewise
		{"", "a\n1\n2\n"},           // a column of its own
		{"", "#a\nx\n\"y,z\"\n"},    // likewise
		{"", "\"x, y\",b\n1,2\n"},   // a name with a comma
		{"", "a,b,c\n\n\n4,5,6\n"},  // gaps
	} {
		want, err := requireFastPathAgrees(t, c.table, CSVOptions{})
		require.NoError(t, err, c.table)
		require.Empty(t, want.Preamble(), c.table)
		got, err := requireFastPathAgrees(t, c.above+c.table, CSVOptions{})
		require.NoError(t, err, c.above)
		require.Equal(t, strings.TrimSpace(strings.TrimPrefix(c.above, "\ufeff")), got.Preamble())
		require.Equal(t, want.Names, got.Names, c.above)
		require.Equal(t, want.flat, got.flat, c.above)
		require.Equal(t, want.Rows(), got.Rows(), c.above)
	}
	// Without a header, the first row may be one of hardly any values.
	for _, text := range []string{"a,,\nx,y,z\n", ",,\n1,2,3\n"} {
		table, err := requireFastPathAgrees(t, text, CSVOptions{Header: HeaderNo})
		require.NoError(t, err)
		require.Equal(t, 2, table.Rows())
	}
	// The one name of a header of R, which leaves out that of the rows' names, is no title.
	_, err := ReadCSV(strings.NewReader("\"x\"\n\"1\",5\n\"2\",6\n"), CSVOptions{})
	require.ErrorContains(t, err, "write.table of R leaves out")
	_, err = ReadCSV(strings.NewReader("# remark\n\na,b\n1,2\n1\n"), CSVOptions{})
	require.ErrorContains(t, err, "line 5 has 1 field separated by ',', expected 2 as in line 3")
}

func TestUnitsAndTitlesBelowTheHeaderAreLeftOut(t *testing.T) {
	const rows = "A,1,2.5\nB,3,--\nC,4,6\nD,5,7.25\n"
	for _, c := range []struct {
		titles string // below the header
		left   int
	}{
		{",m,kg\n", 1},
		{",mm,mm\n", 1},
		{"site,(%),[mg/L]\n", 1},
		{"Where?,\"Depth,\nin m\",Weight\n\"{\"\"ImportId\"\":\"\"a\"\"}\",id b,id c\n", 2},
		{",m,\n", 0},                        // a text in one column of numbers may be a mistake
		{"E,absent,absent\n", 0},            // a row without values
		{"E,m,7\n", 0},                      // a row with one
		{"E,m,NA\n", 0},                     // likewise
		{"E,--,?\n", 0},                     // likewise
		{"a,b,c\nd,e,f\ng,h,i\nj,k,l\n", 0}, // too many
	} {
		want, err := requireFastPathAgrees(t, "place,depth,weight\n"+rows, CSVOptions{})
		require.NoError(t, err)
		require.Empty(t, want.Titles())
		got, err := requireFastPathAgrees(t, "place,depth,weight\n"+c.titles+rows, CSVOptions{})
		require.NoError(t, err, c.titles)
		require.Len(t, got.Titles(), c.left, c.titles)
		if c.left > 0 {
			require.Equal(t, want.Levels("place"), got.Levels("place"))
			require.Equal(t, want.flat, got.flat, c.titles)
		}
		require.Equal(t, 4+strings.Count(c.titles, "\n")*min(1, 1-min(c.left, 1)), got.Rows(), c.titles)
	}
	// A row that has what those below it have in columns without numbers is one of them, whatever it has for missing values.
	for _, text := range []string{
		"date,tmax,rain\n2024-01-01,M,T\n2024-01-02,3,0\n2024-01-03,5,1.5\n2024-01-04,2,0\n",
		"sample,lead,zinc\nS9,n.d.,trace\nS10,1.5,2\nS11,2,3\nS12,3,4\n",
		"sample,lead,zinc\nS9,m,m\nS10,1.5,2\nS11,2,3\nS12,3,4\n",
		"group,lead,zinc\ncontrol,n.d.,trace\ncase,1.5,2\ncontrol ,2,3\ncase,3,4\n",
		"a,b\nlow,high\n1,2\n", // too few rows below to tell
	} {
		table, err := requireFastPathAgrees(t, text, CSVOptions{})
		require.NoError(t, err)
		require.Empty(t, table.Titles(), text)
		require.Equal(t, strings.Count(text, "\n")-1, table.Rows(), text)
	}
	// Measures are known above one row, as a table to be predicted may have.
	table, err := requireFastPathAgrees(t, "place,depth,weight\n-,[m],kg\n-,1,2.5\n", CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"-", "[m]", "kg"}}, table.Titles())
	require.Equal(t, 1, table.Rows())
	// The rows behind are counted as they stand in the file, and nothing is left out where there is no header.
	_, err = ReadCSV(strings.NewReader("a,b\nm,kg\n1,2\n3,4\n5,6\n7\n"), CSVOptions{})
	require.ErrorContains(t, err, "line 6 has 1 field")
	table, err = ReadCSV(strings.NewReader("m,kg\n1,2\n3,4\n5,6\n"), CSVOptions{Header: HeaderNo})
	require.NoError(t, err)
	require.Equal(t, 4, table.Rows())
	// A header of years is told by the first row of data.
	table, err = ReadCSV(strings.NewReader("country,2020,2021,2022\n,kg,kg,kg\nA,1,2,3\nB,2,3,4\nC,3,4,5\n"), CSVOptions{})
	require.NoError(t, err)
	require.True(t, table.HeaderOfYears())
	require.Equal(t, 3, table.Rows())
}
