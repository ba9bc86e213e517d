package command

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/agreement"
)

// skewed is a table of three skewed classes, each of which takes several normal components.
func skewed(t *testing.T) string {
	rng := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	text.WriteString("x,y,class\n")
	for i := range 600 {
		fmt.Fprintf(&text, "%g,%g,%c\n", rng.ExpFloat64()+float64(6*(i%3)), rng.ExpFloat64()+rng.NormFloat64(), 'a'+rune(i%3))
	}
	return file(t, "skewed.csv", text.String())
}

// The groups of text, JSON, --assignments, model file and predictions are the same, and are the classes.
func TestGroupsOfSkewedClasses(t *testing.T) {
	data, dir, all := skewed(t), t.TempDir(), schemas(t)
	model, rows, page := filepath.Join(dir, "model.json"), filepath.Join(dir, "rows.csv"), filepath.Join(dir, "page")
	text, _ := done(t, "fit", "--data", data, "--cov", "full", "--label", "class", "--out", model, "--assignments", rows, "--report", page)
	r := fitJSON(t, "--data", data, "--cov", "full", "--label", "class")
	require.Len(t, r.Groups.Groups, 3)
	require.Greater(t, r.K, 3)
	require.Len(t, r.Joined, r.K-1)
	require.Greater(t, float64(*r.Agreement.Groups), 0.9)
	require.Greater(t, float64(*r.Agreement.Groups), float64(r.Agreement.AdjustedRand)+0.2)
	require.Contains(t, text, r.Sentence())
	require.Contains(t, text, fmt.Sprintf("; of groups %.4f", float64(*r.Agreement.Groups)))
	require.Regexp(t, `component +weight +rows +group`, text)
	written, err := os.ReadFile(filepath.Join(page, pageName))
	require.NoError(t, err)
	require.Contains(t, string(written), "Groups of components")

	assigned, err := os.ReadFile(rows)
	require.NoError(t, err)
	predicted, _ := done(t, "predict", model, "--data", data, "--drop", "class")
	require.Equal(t, predicted, string(assigned))
	json, _ := done(t, "predict", model, "--data", data, "--drop", "class", "--format", "json")
	conforms(t, all["predict"], json)
	saved, err := os.ReadFile(model)
	require.NoError(t, err)
	conforms(t, all["model"], string(saved))

	table, err := csv.NewReader(strings.NewReader(predicted)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"label", "probability", "group", "p1"}, table[0][:4])
	var groups, classes []int
	for i, row := range table[1:] {
		groups, classes = append(groups, int(row[2][0]-'1')), append(classes, i%3)
	}
	index := agreement.AdjustedRand(agreement.CrossTable(groups, classes, nil, 3, 3))
	require.InDelta(t, index, float64(*r.Agreement.Groups), 1e-12)
}

func TestGroupsOfAnyNumber(t *testing.T) {
	data := skewed(t)
	for _, n := range []int{1, 2, 4} {
		r := fitJSON(t, "--data", data, "--drop", "class", "--groups", fmt.Sprint(n))
		require.Len(t, r.Groups.Groups, n)
		require.Len(t, slices.Concat(r.Groups.Groups...), r.K)
	}
	r := fitJSON(t, "--data", data, "--drop", "class", "--k", "2", "--groups", "9")
	require.Equal(t, [][]int{{1}, {2}}, r.Groups.Groups)
	require.Contains(t, strings.Join(r.Warnings, "\n"), "--groups 9: there are 2 components")
	text, _ := done(t, "fit", "--data", "faithful")
	require.NotContains(t, text, "group")
	for _, args := range [][]string{{"--model", "hmm", "--data", "geyser"}, {"--model", "bpca"},
		{"--data", "iris", "--gate", "Petal.Width"}, {"--model", "regression", "--data", "NOdata", "--response", "NO"}} {
		status, _, stderr := latent("", append([]string{"fit", "--groups", "2"}, args...)...)
		require.Equal(t, 2, status)
		require.Contains(t, stderr, "--groups requires a mixture without --gate")
	}
}

// Where the density between components is not known, as of codes, the ridge is null.
func TestGroupsOfCodesHaveNoRidge(t *testing.T) {
	stdout, _ := done(t, "fit", "--data", "housevotes84", "--model", "bernmix", "--kmax", "4", "--restarts", "1",
		"--format", "json")
	conforms(t, schemas(t)["fit"], stdout)
	require.Contains(t, stdout, `"ridge":null`)
}

// Groups of a model file that somebody has changed are no partition of its components.
func TestModelFilesWithDamagedGroups(t *testing.T) {
	data, model := skewed(t), filepath.Join(t.TempDir(), "model.json")
	done(t, "fit", "--data", data, "--drop", "class", "--k", "3", "--groups", "2", "--out", model)
	text, err := os.ReadFile(model)
	require.NoError(t, err)
	first, rest, ok := strings.Cut(string(text), `"groups":[[`)
	require.True(t, ok)
	_, rest, ok = strings.Cut(rest, "]],")
	require.True(t, ok)
	for _, groups := range []string{"1],[2", "1,2],[2,3", "1,2],[4", "0,1],[2,3", "1,2,3],["} {
		require.NoError(t, os.WriteFile(model, []byte(resealed(first+`"groups":[[`+groups+"]],"+rest)), 0o600))
		status, _, stderr := latent("", "predict", model, "--data", data)
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "no partition of 3 components", groups)
	}
	require.NoError(t, os.WriteFile(model, []byte(resealed(first+rest)), 0o600))
	stdout, _ := done(t, "predict", model, "--data", data)
	require.True(t, strings.HasPrefix(stdout, "label,probability,p1"), "a file without groups has none")
}

func TestComponentsThatAreTooManyToJoinAreSaid(t *testing.T) {
	var rows strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&rows, "%d\n", i*i%7919)
	}
	_, stderr := done(t, "fit", "--data", file(t, "many.csv", "a\n"+rows.String()), "--k", "1001", "--method", "em", "--restarts", "1", "--max-iter", "1")
	require.Contains(t, stderr, "1001 components are too many to join into groups; must be at most 1000\n")
}
