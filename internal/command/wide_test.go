package command

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

// Every model that has an answer for three rows gives it at such a cost. What has a covariance matrix of all columns is
// refused where it is too large (TestWhatIsQuadraticInColumnsIsForeseen).
func TestNoFitIsQuadraticInColumns(t *testing.T) {
	dir := t.TempDir()
	use := func(line string, cols int) uint64 {
		path := filepath.Join(dir, fmt.Sprintf("%d.csv", cols))
		rows := make([][]string, 3)
		for j := range cols {
			for i := range rows {
				rows[i] = append(rows[i], fmt.Sprintf("%d.%d", (7*i*i+j*(i+1))%11, j%9))
			}
		}
		text := strings.Join(rows[0], ",") + "\n" + strings.Join(rows[1], ",") + "\n" + strings.Join(rows[2], ",") + "\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done(t, append([]string{"fit", "--data", path, "--max-iter", "5", "--restarts", "1", "--workers", "1"}, strings.Fields(line)...)...)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, line := range []string{
		"--cov diag --k 1", "--cov spherical --k 1", "--cov VVI --kmax 2", "--cov diag --method map --k 1", "--family exponential --k 1",
		"--model hmm --cov diag --kmax 2", "--model bpca --method vb", "--model bpca --method em", "--model vbmf --method vb --kmax 2",
	} {
		use(line, 100)
		require.Less(t, float64(use(line, 4000)), 6*float64(use(line, 1000)), line)
	}
}
