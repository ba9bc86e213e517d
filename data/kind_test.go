package data

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// kindOfCells is the specification of Kinds in exact arithmetic on the decimals of a column.
func kindOfCells(t require.TestingT, cells []string) Kind {
	limit := new(big.Rat).SetInt64(1 << 53)
	binary, count, empty := true, true, true
	for _, cell := range cells {
		if cell == "" || cell == "NA" {
			continue
		}
		empty = false
		if strings.ContainsAny(cell, "xy") {
			return Categorical
		}
		if strings.Contains(cell, "Inf") {
			binary, count = false, false
			continue
		}
		v, ok := new(big.Rat).SetString(cell)
		require.True(t, ok, cell)
		whole := v.IsInt() && v.Sign() >= 0 && v.Cmp(limit) <= 0
		count = count && whole
		binary = binary && whole && v.Num().IsInt64() && v.Num().Int64() <= 1
	}
	switch {
	case empty:
		return Continuous
	case binary:
		return Binary
	case count:
		return Count
	}
	return Continuous
}

func TestKindsAreThoseOfTheDecimals(t *testing.T) {
	seen := map[Kind]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		pool := rapid.SampledFrom([][]string{
			{"NA", "NA", "0", "1", "1.0", "-0", "0e5", "10e-1"},
			{"NA", "0", "1", "2", "7e2", "1e6", "30e-1", "9007199254740992"},
			{"NA", "0", "1", "2", "0.5", "-1", "1e-3", "5e-324", "1e300", "9007199254740994", "Inf", "-Inf"},
			{"NA", "0", "1", "x", "y"},
		}).Draw(rt, "pool")
		cells := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 6).Draw(rt, "cells")
		table := csvTable(rt, "c\n"+strings.Join(cells, "\n")+"\n")
		want := kindOfCells(rt, cells)
		require.Equal(rt, []Kind{want}, table.Kinds(), "%q", cells)
		seen[want] = true
	})
	if !testing.Short() { // which draws fewer cases
		require.Len(t, seen, 4, "every kind was drawn")
	}
}

func TestKindsDoNotDependOnTheOrderOfTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := drawLines(rt)
		_, moved := drawOrder(rt, lines)
		require.Equal(rt, csvTable(rt, strings.Join(lines, "\n")+"\n").Kinds(), moved.Kinds())
	})
}

// TestKindsFollowTheColumns: those of a selection are those of its columns.
func TestKindsFollowTheColumns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt)
		order := rapid.Permutation(table.Names).Draw(rt, "order")
		selected, err := table.Select(order...)
		require.NoError(rt, err)
		for j, kind := range selected.Kinds() {
			require.Equal(rt, table.Kinds()[slices.Index(table.Names, order[j])], kind)
		}
	})
}

func TestKindsOfColumnsWithoutValues(t *testing.T) {
	require.Empty(t, (&Table{}).Kinds())
	table := csvTable(t, "a,b,c\n1,,x\n,NA,\n")
	require.Equal(t, []Kind{Binary, Continuous, Categorical}, table.Kinds())
	none, left := dropMissing(t, table)
	require.Equal(t, 2, left)
	require.Equal(t, []Kind{Continuous, Continuous, Categorical}, none.Kinds())
	otherNaN := math.Float64frombits(0xfff8000000000001)
	require.Equal(t, []Kind{Binary}, numericTable([]float64{otherNaN, 0}, 2, 1).Kinds())
}

func TestTextOfTwoLevelsIsCategorical(t *testing.T) {
	for _, text := range []string{"a\nTRUE\nFALSE\n", "a\nyes\nno\nNA\n", "a\ny\ny\n", "a\n0\n1\n1_0\n"} {
		require.Equal(t, []Kind{Categorical}, csvTable(t, text).Kinds())
	}
}

func TestKindsHaveNames(t *testing.T) {
	names := map[Kind]string{Continuous: "continuous", Count: "count", Binary: "binary", Categorical: "categorical", Date: "date", 9: "Kind(9)", -1: "Kind(-1)"}
	for kind, name := range names {
		require.Equal(t, name, kind.String())
	}
}

// TestKindsSeeEveryRow of a long table, which is looked at in parts.
func TestKindsSeeEveryRow(t *testing.T) {
	const rows, cols = 20000, 3
	x := make([]float64, rows*cols)
	for i := range x {
		x[i] = float64(i % 2)
	}
	table := numericTable(x, rows, cols)
	require.Equal(t, []Kind{Binary, Binary, Binary}, table.Kinds())
	for _, row := range []int{0, 5000, 1<<14/cols - 1, 1 << 14 / cols, rows - 1} {
		for v, want := range map[float64]Kind{2: Count, 1 << 53: Count, 0.5: Continuous, -1: Continuous, 5e-324: Continuous, math.Inf(1): Continuous,
			math.Copysign(0, -1): Binary, 1<<53 + 2: Continuous} {
			old := x[row*cols+1]
			x[row*cols+1] = v
			require.Equal(t, []Kind{Binary, want, Binary}, table.Kinds(), "%v in row %d", v, row)
			x[row*cols+1] = old
		}
	}
}

func TestCompleteRowsBesideInfiniteNumbers(t *testing.T) {
	table := numericTable([]float64{1, math.Inf(1), 3, 4, math.NaN(), 6}, 2, 3)
	first, dropped := dropMissing(t, table)
	require.Equal(t, 1, dropped)
	require.Equal(t, 0, first.Origin(0))
	table, err := table.Drop("V2")
	require.NoError(t, err)
	same, dropped := dropMissing(t, table)
	require.Same(t, table, same)
	require.Zero(t, dropped)
	require.Equal(t, 1, table.Origin(1))
}
