package data

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiagnosesOfColumns(t *testing.T) {
	for _, c := range []struct {
		rows   int
		cell   func(i int) any
		cause  Cause
		detail string
	}{
		{20, func(i int) any { return 20 - i }, RowNumbers, "(1 to 20)"},
		{20, func(i int) any { return fmt.Sprint("n", i) }, RowNames, ""},
		{30, func(int) any { return 3 }, SingleValue, "(3)"},
		{60, func(i int) any { return fmt.Sprintf("L%d", i*7%20) }, ManyLevels, "(20 levels in 60 rows)"},
		{30, func(i int) any { return fmt.Sprintf("\"1,%d\"", i%9) }, DecimalCommas, ""},
		{30, func(i int) any { return []any{i, "x"}[i/29] }, TextsInNumbers, `("x" in 1 cell, among 29 numbers)`},
		{30, func(i int) any { return []string{"a", "b", "-", "N/A"}[i%4] }, MissingTexts, `("-", "N/A")`},
		{30, func(i int) any { return 1 + i%5 }, FewValues, "(5 values, 1 to 5)"},
		{60, func(i int) any { return i % 3 }, 0, ""}, // may be counts
		{30, func(i int) any { return i % 2 }, 0, ""},
		{30, func(i int) any { return 170 + i*7%20 }, Underdispersed, "(variance 33.8, mean 179)"},
		{30, func(i int) any { return 100 + i%9*900 }, Overdispersed, "(variance 5.57e+06, mean 3.43e+03)"},
		{30, func(i int) any { return 0.5 + float64(i*i) }, 0, ""},
	} {
		text := "x\n"
		for i := range c.rows {
			text += fmt.Sprintln(c.cell(i))
		}
		table, err := ReadCSV(strings.NewReader(text), CSVOptions{Comma: ','})
		require.NoError(t, err)
		d := table.Diagnose("x", table.Kinds()[0])
		assert.Equal(t, c.cause, d.Cause, text)
		assert.Equal(t, c.detail, d.Detail, text)
	}
	table, err := ReadCSV(strings.NewReader("x,y\n,1\n,2\n"), CSVOptions{})
	require.NoError(t, err)
	assert.Zero(t, table.Diagnose("x", Continuous), "no value")
	assert.Zero(t, table.Diagnose("z", Continuous), "no such column")
	assert.Zero(t, table.Diagnose("z", Categorical), "no such column")
}

func TestConstantLooksAtRowsOfPositiveWeight(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("a,b,c,d\n1,2,,x\n1,2,,x\n,3,,y\n1,2,,x\n"), CSVOptions{})
	require.NoError(t, err)
	constant := func(weights []float64) (list []bool) {
		for col := range table.Cols() {
			list = append(list, table.Constant(col, weights))
		}
		return list
	}
	assert.Equal(t, []bool{true, false, false, false}, constant(nil))
	assert.Equal(t, []bool{true, true, false, true}, constant([]float64{1, 1, 0, 2}))
}
