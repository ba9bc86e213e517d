package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tables compares those of the page, as the browser has them, with the JSON of the same run.
func (p *tab) tables(t *testing.T, report map[string]any) {
	all := ask[map[string][][]string](t, p, `Object.fromEntries([...document.querySelectorAll("table")].map((table) =>
		[table.caption.textContent.replace(/ \(.*/, ""), [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))]))`)
	for _, row := range rowsOf(all["Results and settings"]) {
		value := any(report)
		for _, key := range strings.Split(row[0], ".") {
			value = value.(map[string]any)[key]
		}
		same(t, value, row[1], row[0])
	}
	for _, row := range rowsOf(all["iterations"]) {
		i, err := strconv.Atoi(row[0])
		require.NoError(t, err)
		for j, list := range []string{"trace", "objective_trace", "k_trace"} {
			same(t, report[list].([]any)[i-1], row[j+1], fmt.Sprint(list, " ", i))
		}
	}
	byK, fitted := report["by_k"].([]any)
	for i, row := range rowsOf(all[fmt.Sprint(report["criterion"], " over K")]) {
		if !fitted { // the K that starts came to
			continue
		}
		one := byK[i].(map[string]any)
		same(t, one["k"], row[0], "k")
		same(t, one["value"], row[1], "by_k "+row[0])
	}
	for i, row := range rowsOf(all["starts"]) {
		one := report["restarts"].([]any)[i].(map[string]any)
		for j, key := range []string{"k", "value", "iterations"} {
			same(t, one[key], row[j+1], fmt.Sprint(key, " of start ", i+1))
		}
	}
}

// rowsOf leaves out the heads of a table, which a page need not have.
func rowsOf(table [][]string) [][]string {
	if len(table) == 0 {
		return nil
	}
	return table[1:]
}

// same wants a cell to show a value of the JSON: a number to the digits that it has, anything else as it is.
func same(t *testing.T, value any, cell, what string) {
	t.Helper()
	switch v := value.(type) {
	case nil:
		assert.Equal(t, "–", cell, what)
	case json.Number:
		want, err := v.Float64()
		require.NoError(t, err)
		shown, half, err := readNumber(cell)
		require.NoError(t, err, what)
		assert.LessOrEqual(t, math.Abs(shown-want), half+1e-12*math.Abs(want), "%s: %s is shown for %s", what, cell, v)
	default:
		assert.Equal(t, fmt.Sprint(v), cell, what)
	}
}

// readNumber reads a number as a page writes it, and half a unit of its last digit.
func readNumber(cell string) (v, half float64, err error) {
	text := strings.NewReplacer("−", "-", "×10", "e", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9").Replace(cell)
	if v, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, 0, err
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	_, fraction, _ := strings.Cut(digits, ".")
	power, _ := strconv.Atoi(exponent) // none is 0
	return v, 0.5 * math.Pow10(power-len(fraction)), nil
}
