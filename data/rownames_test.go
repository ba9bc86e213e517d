package data

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRowNames(t *testing.T) {
	for _, c := range []struct {
		about, text string
		is          bool
	}{
		{"of R", "\"\",\"a\"\n\"1\",5\n\"2\",5\n", true},
		{"of pandas", ",a\n0,5\n1,5\n", true},
		{"of rows left out of a table", ",a\n7,5\n3,5\n", true},
		{"texts", ",a\nx y,5\nz,5\n", true},
		{"beside names that columns without one have elsewhere", ",V1\nx,5\nz,5\n", true},
		{"a text twice", ",a\nx,5\nx,5\n", false},
		{"a number twice", ",a\n1,5\n1,5\n", false},
		{"a gap", ",a\n1,5\n,5\n", false},
		{"a gap among texts", ",a\nx,5\n,5\n", false},
		{"a measurement", ",a\n1.5,5\n2,5\n", false},
		{"infinite", ",a\nInf,5\n2,5\n", false},
		{"a name", "id,a\n1,5\n2,5\n", false},
		{"another column", "a,\n1,5\n2,5\n", false},
		{"no other column", "\"\"\n1\n2\n", false},
	} {
		table, err := ReadCSV(strings.NewReader(c.text), CSVOptions{Header: HeaderYes})
		require.NoError(t, err, c.about)
		name, is := table.RowNames()
		assert.Equal(t, c.is, is, c.about)
		if is {
			assert.Equal(t, "column 1", name)
			assert.Equal(t, []string{"column 1"}, table.Nameless())
			less, err := table.Drop(name)
			require.NoError(t, err)
			_, is = less.RowNames()
			assert.False(t, is, "it is gone")
		}
	}
}

// Each of several files counts its rows.
func TestRowNamesOfParts(t *testing.T) {
	table, err := ReadParts([]Part{textPart("p.csv", ",a\n1,5\n2,6\n"), textPart("p.csv", ",a\n1,7\n2,8\n")}, CSVOptions{})
	require.NoError(t, err)
	_, is := table.RowNames()
	assert.True(t, is)
	table, err = ReadParts([]Part{textPart("p.csv", ",a\n1,5\n2,6\n"), textPart("p.csv", ",a\n1,7\n1,8\n")}, CSVOptions{})
	require.NoError(t, err)
	_, is = table.RowNames()
	assert.False(t, is)
}

func textPart(name, text string) Part {
	return Part{name, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}
