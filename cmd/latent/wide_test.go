package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeWide writes three rows of numbers, answers and counts in so many columns, in their order or backwards.
func writeWide(t *testing.T, path string, cols int, backwards bool) {
	rows := make([][]string, 4)
	for at := range cols {
		j := at
		if backwards {
			j = cols - 1 - at
		}
		rows[0] = append(rows[0], fmt.Sprintf("c%d", j))
		for i := range 3 {
			cell := fmt.Sprintf("%d.5", 3*i*i+j%7+i)
			if j%2 == 1 {
				cell = []string{"yes", "no", "yes"}[i]
			}
			rows[i+1] = append(rows[i+1], cell)
		}
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Join(row, ",") + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

// Columns are found, matched, recoded and told at a cost of each that does not depend on how many others there are: four
// times as many take four times the memory, and not sixteen.
func TestMemoryOfWideTablesGrowsWithTheColumnsOnce(t *testing.T) {
	dir := t.TempDir()
	use := func(cols int) uint64 {
		data, other, model := filepath.Join(dir, "data.csv"), filepath.Join(dir, "other.csv"), filepath.Join(dir, "m.json")
		writeWide(t, data, cols, false)
		writeWide(t, other, cols, true)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done(t, "fit", "--data", data, "--family", "auto", "--kmax", "1", "--drop", "c0", "--out", model)
		out, stderr := done(t, "predict", model, "--data", other)
		require.Contains(t, stderr, `1 column of `+other+` left out, as not in the model (--id passes columns through): "c0"`)
		require.Equal(t, 4, strings.Count(out, "\n"))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	use(100)
	require.Less(t, float64(use(4000)), 6*float64(use(1000)))
}
