package command

import (
	"encoding/csv"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestComponentsAsATableAreThoseOfJSON of every model that has components: the same numbers, one a row, and of columns with levels
// probabilities that sum to 1.
func TestComponentsAsATableAreThoseOfJSON(t *testing.T) {
	for _, args := range [][]string{
		{"--data", "iris", "--k", "3"},
		{"--model", "bernmix", "--data", "housevotes84", "--k", "2"},
		{"--data", "housevotes84", "--family", "auto", "--k", "2"},
		{"--model", "hmm", "--data", "geyser", "--k", "2"},
		{"--model", "regression", "--data", "NOdata", "--response", "NO", "--k", "2"},
		{"--data", file(t, "polled.csv", polled(60)), "--gate", "age,region", "--drop", "class", "--family", "bernoulli", "--k", "2"},
	} {
		path := filepath.Join(t.TempDir(), "components.csv")
		text, _ := done(t, append([]string{"fit", "--format", "json", "--components", path}, args...)...)
		r := reportOf(t, text, args...)
		records, err := csv.NewReader(strings.NewReader(contents(t, path))).ReadAll()
		require.NoError(t, err)
		require.Equal(t, []string{"component", "weight", "column", "quantity", "value"}, records[0])
		sums, seen := map[string]float64{}, 0
		for _, record := range records[1:] {
			k, err := strconv.Atoi(record[0])
			require.NoError(t, err)
			c := r.Components[k-1]
			assert.Equal(t, strconv.FormatFloat(float64(c.Weight), 'g', -1, 64), record[1])
			value, err := strconv.ParseFloat(record[4], 64)
			require.NoError(t, err)
			if strings.HasPrefix(record[3], "P(") {
				sums[record[0]+" "+record[2]] += value
				continue
			}
			for _, s := range c.Columns {
				if s.Name == record[2] {
					require.Contains(t, s.Values, record[3])
					assert.Equal(t, float64(s.Values[record[3]]), value, record)
					seen++
				}
			}
		}
		all := 0
		for _, c := range r.Components {
			for _, s := range c.Columns {
				if all += len(s.Values); sums["1 "+s.Name] > 0 {
					all -= len(s.Values)
				}
			}
		}
		assert.Equal(t, all, seen, args)
		for where, sum := range sums {
			assert.InDelta(t, 1, sum, 1e-12, where)
		}
	}
}

func TestComponentsInParquetAndWhatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "components.parquet")
	_, _ = done(t, "fit", "--k", "2", "--components", path)
	back, _ := done(t, "fit", "--data", path, "--select", "weight,value", "--family", "gaussian-diagonal", "--k", "1")
	assert.Contains(t, strings.Join(strings.Fields(back), " "), "8 rows × 2 columns")
	for _, c := range []struct{ args, part string }{
		{"--components -", "--components is -, but standard output has the report"},
		{"--components c.csv --assignments c.csv", "--assignments and --components both name c.csv"},
		{"--components c.csv --model factor", "a factor model has no components"},
		{"--components c.csv --model blockmodel", "a blockmodel model has no components"},
	} {
		status, _, stderr := latent("", append([]string{"fit"}, strings.Fields(c.args)...)...)
		require.Equal(t, 2, status, c.args)
		assert.Contains(t, stderr, c.part)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
