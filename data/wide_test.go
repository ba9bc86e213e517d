package data

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/fastcsv"
)

func wideCSV(t *testing.T, rows, cols int, cell func(i, j int) string) *Table {
	var b strings.Builder
	for i := -1; i < rows; i++ {
		for j := range cols {
			if j > 0 {
				b.WriteByte(',')
			}
			if i < 0 {
				fmt.Fprintf(&b, "c%d", j)
				continue
			}
			b.WriteString(cell(i, j))
		}
		b.WriteByte('\n')
	}
	table, err := ReadCSV(strings.NewReader(b.String()), CSVOptions{})
	require.NoError(t, err)
	return table
}

func TestColumnsAreFoundByAnIndexInEveryTable(t *testing.T) {
	table := wideCSV(t, 3, 50, func(i, j int) string { return []string{"1", "", "x"}[(i+j)%3] })
	narrow, err := table.Drop("c7", "c40")
	require.NoError(t, err)
	chosen, err := table.Select("c9", "c3")
	require.NoError(t, err)
	coded, err := table.Factor("c1", nil, false)
	require.NoError(t, err)
	complete, _ := dropMissing(t, wideCSV(t, 4, 5, func(i, j int) string { return []string{"1", "", "2", "3"}[i] }))
	for _, made := range []*Table{table, narrow, chosen, coded, complete, numericTable(make([]float64, 6), 2, 3)} {
		for j, name := range made.Names {
			require.Equal(t, j, made.place(name))
			require.Equal(t, j, made.index.places[name], "proposed, so that no list of names is searched")
		}
		require.Equal(t, -1, made.place("none"))
		require.True(t, made.Empty("none"))
	}
	require.Equal(t, -1, new(Table).place("c1"))
}

func TestNamesChangedFromOutsideAreFound(t *testing.T) {
	table := numericTable([]float64{1, 2, 3}, 1, 3)
	require.False(t, table.Empty("V2")) // the index is made
	table.Names[1], table.Names[2] = "b", "V2"
	for name, want := range map[string]float64{"b": 2, "V2": 3} {
		x, err := table.Column(name)
		require.NoError(t, err)
		require.Equal(t, []float64{want}, x)
	}
}

// Reading, asking and recoding are linear in the columns: four times as many take four times the memory, and not sixteen.
func TestMemoryGrowsWithTheColumnsOnce(t *testing.T) {
	use := func(cols int) uint64 {
		return allocated(func() {
			late := func(i, j int) string { return []string{"1", "01", "x"}[i] } // all become categorical in the last row
			table := wideCSV(t, 3, cols, late)
			levels := make([][]string, cols)
			for j, name := range table.Names {
				var err error
				levels[j], err = table.Occurring(name)
				require.NoError(t, err)
				require.False(t, table.Empty(name))
			}
			require.Equal(t, []string{"01", "1", "x"}, levels[cols-1])
			coded, err := table.Factors(table.Names, levels, false)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 0, 2}, coded.Codes(table.Names[cols-1]))
			_, err = coded.Drop(table.Names[:cols/2]...)
			require.NoError(t, err)
		})
	}
	require.Less(t, float64(use(4000)), 6*float64(use(1000)))
}

// A column that turns out to be text makes the builder forget all columns, once and not once a column.
func TestForgettingHappensOnce(t *testing.T) {
	b := newCSVBuilder(nil, nil)
	b.Columns = make([]fastcsv.Column, 2)
	b.Columns[1].Categorical = true
	require.True(t, b.Columns[1].AddText("x", nil))
	b.forget()
	require.Empty(t, b.Columns[1].Levels)
	require.True(t, b.Columns[1].AddText("y", nil)) // which nobody does then
	b.forget()
	require.Equal(t, []string{"y"}, b.Columns[1].Levels)
}

func TestOccurringLeavesOutLevelsThatNoRowHas(t *testing.T) {
	table := csvTable(t, "a,b\nx,10\n,9\nz,\n")
	coded, err := table.Factor("a", []string{"z", "y", "x"}, false)
	require.NoError(t, err)
	for name, want := range map[string][]string{"a": {"x", "z"}, "b": {"9", "10"}} {
		levels, err := coded.Occurring(name)
		require.NoError(t, err)
		require.Equal(t, want, levels)
	}
	_, err = coded.Occurring("none")
	require.ErrorContains(t, err, `no column "none"`)
	_, err = csvTable(t, "a,b\n,1\n,2\n").Occurring("a")
	require.EqualError(t, err, `column "a" has no value to take levels from; drop it`)
	_, err = table.Factors([]string{"a", "a"}, [][]string{nil, nil}, false)
	require.ErrorContains(t, err, "named twice")
}
