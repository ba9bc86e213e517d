package command

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the three species, which full covariances take for two by gFIC, factor analysers find the third, with one factor
// each.
func TestFactorAnalysersOfIris(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	r := fitJSON(t, "--criterion", "gfic", "--data", "iris", "--label", "Species", "--family", "factor-analysers", "--out", model)
	require.Equal(t, "factor-analysers", r.Family)
	require.Equal(t, 3, r.K)
	for _, c := range r.Components {
		require.Equal(t, 1, *c.Factors)
		for _, column := range c.Columns {
			v := column.Values
			require.InDelta(t, math.Hypot(float64(v["loading 1"]), float64(v["noise sd"])), float64(v["sd"]), 1e-12)
			require.NotContains(t, v, "factors")
		}
	}
	require.Len(t, r.Covariances, 3)
	require.InDelta(t, float64(r.Components[0].Columns[1].Values["sd"]), math.Sqrt(float64(r.Covariances[0].Values[1][1])), 1e-12)
	stdout, _ := done(t, "predict", model, "--data", "iris", "--label", "Species")
	require.Contains(t, stdout, "label,probability,p1,p2,p3,log_likelihood")
	incomplete := file(t, "d.csv", "Sepal.Length,Sepal.Width,Petal.Length,Petal.Width\n5.1,,1.4,0.2\n6.3,3.3,6,\n")
	stdout, _ = done(t, "predict", model, "--data", incomplete)
	require.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 3)
	stdout, _ = done(t, "sample", model, "--rows", "2")
	require.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 3)
}

func TestFactorsFlag(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	stdout, _ := done(t, "fit", "--data", "iris", "--drop", "Species", "--family", "factor-analysers", "--factors", "2", "--k", "2", "--method", "em",
		"--restarts", "1", "--bootstrap", "2", "--out", model)
	require.Contains(t, stdout, "factor-analysers-2 components, by em")
	require.Contains(t, stdout, "rows  factors")
	_, _ = done(t, "predict", model, "--data", "iris", "--drop", "Species")
	require.Equal(t, "factor-analysers-0", fitJSON(t, "--data", "iris", "--drop", "Species", "--family", "factor-analysers", "--factors", "0", "--k", "2").Family)
	for want, args := range map[string][]string{
		"--factors requires --family factor-analysers, and the family is gaussian": {"fit", "--factors", "2"},
		"--factors is -1; must be non-negative":                                    {"fit", "--family", "factor-analysers", "--factors", "-1"},
		"--noise cannot be used with --family factor-analysers":                    {"fit", "--family", "factor-analysers", "--noise"},
		`unknown family "factor-analysers-x"`:                                      {"fit", "--family", "factor-analysers-x"},
	} {
		fails(t, 2, want, "", args...)
	}
	fails(t, 1, "4 factors of 4 columns", "", "fit", "--data", "iris", "--drop", "Species", "--family", "factor-analysers", "--factors", "4")
	fails(t, 1, "have no conjugate prior", "", "fit", "--data", "iris", "--drop", "Species", "--family", "factor-analysers", "--method", "vb")
}
