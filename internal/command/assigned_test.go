package command

import (
	"encoding/csv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAssignedRowsAreThoseOfPredict: the rows that a fit assigns to each component are as many as those that latent predict does, for each
// kind of model.
func TestAssignedRowsAreThoseOfPredict(t *testing.T) {
	mixed := file(t, "mixed.csv", mixedTable(300, 0.1))
	chain := file(t, "chain.csv", series(12))
	for name, args := range map[string][]string{
		"gfab":             {"--data", "faithful"},
		"vb":               {"--data", "iris", "--method", "vb", "--kmax", "4"},
		"vb, no predictor": {"--data", "iris", "--family", "gaussian-tied", "--method", "vb", "--kmax", "4"},
		"cvb0":             {"--data", "housevotes84", "--model", "bernmix", "--kmax", "4"},
		"noise":            {"--data", "faithful", "--noise", "--k", "2"},
		"gaps":             {"--data", mixed, "--family", "auto"},
		"one component":    {"--data", "faithful", "--k", "1"},
		"gate":             {"--data", "iris", "--gate", "Petal.Width", "--method", "em", "--k", "3"},
		"regression":       {"--data", "NOdata", "--model", "regression", "--response", "NO"},
		"sequences":        {"--data", chain, "--model", "hmm", "--sequence", "id", "--drop", "truth", "--family", "auto"},
		"one sequence":     {"--data", "geyser", "--model", "hmm"},
	} {
		t.Run(name, func(t *testing.T) {
			model := filepath.Join(t.TempDir(), "model.json")
			r := fitJSON(t, append(args, "--out", model)...)
			stdout, _ := done(t, "predict", model, "--data", args[1])
			rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
			require.NoError(t, err)
			column := slices.IndexFunc(rows[0], func(head string) bool { return head == labelHead || head == stateHead })
			want := make([]number, r.K)
			for _, row := range rows[1:] {
				label, err := strconv.Atoi(row[column])
				require.NoError(t, err)
				want[label-1]++
			}
			var got []number
			for _, c := range r.Components {
				got = append(got, c.Assigned)
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestAssignedRowsCountByTheirWeights: a row of weight 0 may lie where no component has a density.
func TestAssignedRowsCountByTheirWeights(t *testing.T) {
	r := fitJSON(t, "--data", file(t, "d.csv", "x,w\n0,1\n0.5,2\n0.2,1.5\n9,1\n9.4,0.5\n9.1,2\n1e300,0\n8.8,2\n0.3,1\n"), "--weights", "w", "--k", "2")
	require.Len(t, r.Components, 2)
	assert.InDelta(t, 5.5, float64(r.Components[0].Assigned), 0)
	assert.InDelta(t, 5.5, float64(r.Components[1].Assigned), 0)
}
