package data

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read reads a text with the reading of some columns, from an input that can seek and from one that cannot.
func read(t *testing.T, text string, o CSVOptions, how map[string]Reading) *Table {
	t.Helper()
	o.Reading = func(name string) Reading { return how[name] }
	table, err := ReadCSV(strings.NewReader(text), o)
	require.NoError(t, err)
	again, err := ReadCSV(onlyReader{strings.NewReader(text)}, o)
	require.NoError(t, err)
	requireSame(t, table, again)
	return table
}

func TestColumnsReadAsTextKeepTheirText(t *testing.T) {
	const text = "id,zip,x\n1.0,01234,1\n1,02139,2\n01,01234,3\n9007199254740993,,4\n9007199254740992,NA,5\n"
	table := read(t, text, CSVOptions{}, map[string]Reading{"id": ReadAsText, "zip": ReadAsText, "other": ReadAsText})
	require.Equal(t, []string{"1.0", "1", "01", "9007199254740993", "9007199254740992"}, table.Levels("id"))
	require.Equal(t, []string{"01234", "02139"}, table.Levels("zip"))
	require.Equal(t, []int32{0, 1, 0, -1, -1}, table.Codes("zip"))
	require.Nil(t, table.Levels("x"))

	// A text elsewhere that comes late changes nothing.
	late := read(t, text+"1,01234,x\n", CSVOptions{}, map[string]Reading{"id": ReadAsText, "zip": ReadAsText})
	require.Equal(t, table.Levels("id"), late.Levels("id"))
	require.Len(t, late.Levels("x"), 6)

	// A column without a value has no levels to take.
	empty, err := ReadCSV(strings.NewReader("a,b\n1,\n2,\n"), CSVOptions{Reading: func(name string) Reading { return map[string]Reading{"b": ReadAsText}[name] }})
	require.NoError(t, err)
	_, err = empty.Factor("b", nil, false)
	require.ErrorContains(t, err, "no value to take levels from")
	empty, err = empty.Factor("b", []string{"u", "v"}, false)
	require.NoError(t, err)
	require.Equal(t, []int32{-1, -1}, empty.Codes("b"))
}

func TestDigitsWithLeadingZerosAreCodes(t *testing.T) {
	for _, c := range []struct {
		cells []string
		text  bool
	}{
		{[]string{"01234", "02139", "10001"}, true},
		{[]string{"10001", "10002", "", "02139"}, true},
		{[]string{" 007", "8"}, true},
		{[]string{"0", "1", "10"}, false},
		{[]string{"01234", "2.5"}, false},
		{[]string{"2.5", "01234"}, false},
		{[]string{"-01", "02"}, false},
		{[]string{"0.5", "00"}, false},
	} {
		text := "a,b\n"
		for _, cell := range c.cells {
			text += cell + ",1\n"
		}
		require.Equal(t, c.text, read(t, text, CSVOptions{}, map[string]Reading{"a": ReadAsCodes}).Levels("a") != nil, "%v", c.cells)
		require.Nil(t, read(t, text, CSVOptions{}, nil).Levels("a"), "%v", c.cells)
	}
}

func TestTextsThatAreToBeMissingAre(t *testing.T) {
	table := read(t, "a,b,c\n1,?,x\n-999,2, ? \n3,unknown,z\n", CSVOptions{NA: []string{"?", "-999", " unknown"}}, map[string]Reading{"c": ReadAsText})
	require.Equal(t, []Kind{Count, Count, Categorical}, table.Kinds())
	require.Equal(t, []string{"x", "z"}, table.Levels("c"))
	require.Equal(t, []int32{0, -1, 1}, table.Codes("c"))
	none, _ := dropMissing(t, table)
	require.Zero(t, none.Rows())
	table, err := table.Drop("b")
	require.NoError(t, err)
	kept, _ := dropMissing(t, table)
	require.Equal(t, 2, kept.Rows())
	require.Equal(t, []int{0, 2}, []int{kept.Origin(0), kept.Origin(1)})

	// What the texts did is told by column.
	require.Equal(t, []int{0, 1, 0, 0}, table.MarkedMissing("a"))
	require.Equal(t, []int{1, 0, 0, 0}, kept.MarkedMissing("c"))
	require.Nil(t, table.MarkedMissing("b"), "dropped")
	coded, err := table.Factor("a", nil, false)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 0, 0}, coded.MarkedMissing("a"))
	require.Nil(t, read(t, "a\n1\n?\n", CSVOptions{}, nil).MarkedMissing("a"))

	// Text that comes late has the input read again, but cells are counted once.
	late := read(t, "a,b\n?,1\n2,?\nx,?\n", CSVOptions{NA: []string{"?"}}, nil)
	require.Equal(t, []int{1, 0}, late.MarkedMissing("a"))
	require.Equal(t, []int{2, 0}, late.MarkedMissing("b"))

	// Texts that pandas reads as missing are, in columns of numbers, of texts and of numbers with units.
	common, err := requireFastPathAgrees(t, "a,b,c\n1,x,$5\nNULL,n/a,k.A.\n-3,None,$7\n?,<NA>,N/A\n", CSVOptions{NA: []string{"?"}})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, common.MarkedMissing("a"))
	require.Equal(t, []int{0, 2}, common.MarkedMissing("b"))
	require.Equal(t, []string{"x", "None"}, common.Levels("b"))
	require.Equal(t, []int{0, 2}, common.MarkedMissing("c"))
	require.Nil(t, common.Levels("c"))
	german, err := requireFastPathAgrees(t, "a;b\n1,5;x\nk.A.;y\n2,5;z\n", CSVOptions{})
	require.NoError(t, err)
	require.Nil(t, german.Levels("a"))
	require.Equal(t, []int{1}, german.MarkedMissing("a"))
	numbers, err := requireFastPathAgrees(t, "a,b\n1,2\nnull,\n3,4\n", CSVOptions{})
	require.NoError(t, err)
	require.Equal(t, []int{1}, numbers.MarkedMissing("a"))
	require.Nil(t, numbers.MarkedMissing("b"))
}

func TestLevelsOfManyDigitsAreToldByTheirText(t *testing.T) {
	table := read(t, "a\n9007199254740993\n", CSVOptions{}, map[string]Reading{"a": ReadAsText})
	_, err := table.Factor("a", []string{"9007199254740992", "1"}, false)
	require.ErrorContains(t, err, "none of the levels")
	short := read(t, "a\n01\n", CSVOptions{}, map[string]Reading{"a": ReadAsText})
	short, err = short.Factor("a", []string{"9007199254740992", "1"}, false)
	require.NoError(t, err)
	require.Equal(t, []int32{1}, short.Codes("a"))
}

func TestAHeaderAloneIsAnErrorToTell(t *testing.T) {
	_, err := ReadCSV(onlyReader{io.LimitReader(strings.NewReader("a,b\n"), 4)}, CSVOptions{})
	require.ErrorIs(t, err, ErrNoHeader)
}
