package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

var threeNormals = []string{"--data", "iris", "--family", "gaussian", "--k", "3", "--criterion", "gfic"}

// The adjusted Rand index of the three normal components of iris is 0.9039, as mclust and scikit-learn have it: five
// flowers of versicolor are with virginica.
func TestComponentsAreComparedWithLabels(t *testing.T) {
	r := fitJSON(t, append(threeNormals, "--label", "Species")...)
	require.NotNil(t, r.Agreement)
	assert.Equal(t, "Species", r.Agreement.Column)
	assert.InDelta(t, 0.9039, float64(r.Agreement.AdjustedRand), 1e-4)
	assert.Equal(t, []string{"setosa", "versicolor", "virginica"}, r.Agreement.Labels)
	assert.ElementsMatch(t, [][]number{{0, 5, 50}, {50, 0, 0}, {0, 45, 0}}, r.Agreement.Table)
	assert.Equal(t, 4, r.D)
	plain := fitJSON(t, threeNormals...)
	assert.Nil(t, plain.Agreement)
	assert.Equal(t, plain.Value, r.Value, "the labels are no part of the fit")
	assert.NotContains(t, r.Warnings, "left out", "on purpose")

	stdout, stderr := done(t, append(append([]string{"fit"}, threeNormals...), "--label", "Species")...)
	text := strings.Join(strings.Fields(stdout), " ")
	assert.Contains(t, text, `adjusted Rand 0.9039, of components and column "Species"`)
	assert.Contains(t, text, "component setosa versicolor virginica")
	assert.Contains(t, text, " 2 50 0 0 ")
	assert.Empty(t, stderr)

	page := pageOf(t, append(threeNormals, "--label", "Species")...)
	assert.Contains(t, page.tables["rows by component and Species"], []string{"2", "50", "0", "0"})
}

func TestLabelsMayBeNumbersMissingOrWeighted(t *testing.T) {
	text := "class,x,w\n"
	for i := range 40 {
		class := fmt.Sprintf("0%d", i%2)
		if i >= 36 {
			class = ""
		}
		text += fmt.Sprintf("%s,%v,%d\n", class, 10*(i%2)+i%5, 1+i%3)
	}
	path := file(t, "d.csv", text)
	r := fitJSON(t, "--data", path, "--label", "class", "--drop", "w", "--k", "2")
	assert.EqualValues(t, 40, r.N, "rows without a label are fitted")
	assert.Equal(t, []string{"00", "01"}, r.Agreement.Labels)
	assert.EqualValues(t, 1, r.Agreement.AdjustedRand)
	assert.ElementsMatch(t, [][]number{{18, 0}, {0, 18}}, r.Agreement.Table)
	r = fitJSON(t, "--data", path, "--label", "class", "--weights", "w", "--k", "2", "--missing", "drop")
	assert.ElementsMatch(t, [][]number{{36, 0}, {0, 36}}, r.Agreement.Table)
}

func TestLabelsThatCannotBeAreRefused(t *testing.T) {
	same := file(t, "same.csv", "class,x\na,1\na,2\na,5\n,6\n")
	none := file(t, "none.csv", "class,x\n,1\n,2\n,5\n")
	fails(t, 1, same+`: --label: column "class" has a single value, "a": labels need at least two values`, "", "fit", "--data", same, "--label", "class")
	fails(t, 1, none+`: --label: column "class" has no value`, "", "fit", "--data", none, "--label", "class")
	fails(t, 1, `iris: --label: no column "kind"; the columns are "Sepal.Length"`, "", "fit", "--data", "iris", "--label", "kind")
	fails(t, 2, "--label requires a mixture: a bpca model has no components", "", "fit", "--model", "bpca", "--label", "classes")
	fails(t, 2, `column "Species" is named by --label: it cannot be selected or dropped`, "", "fit", "--data", "iris", "--label", "Species", "--drop", "Species")
	fails(t, 2, `column "waiting" is named by --weights and by --label`, "", "fit", "--label", "waiting", "--weights", "waiting")

	model := filepath.Join(t.TempDir(), "m.json")
	done(t, append(append([]string{"fit"}, threeNormals...), "--out", model)...)
	fails(t, 1, `iris: --label: no column "kind"`, "", "predict", model, "--data", "iris", "--label", "kind")
	fails(t, 2, `--label: column "Sepal.Width" is one of the model's`, "", "predict", model, "--data", "iris", "--label", "Sepal.Width")
	fails(t, 1, `iris: --id: no column "kind"`, "", "predict", model, "--data", "iris", "--id", "kind")
	fails(t, 2, `--id names column "a" twice`, "", "predict", model, "--data", "iris", "--id", "a,a")
	fails(t, 2, `--id would add a second column named "p1"`, "", "predict", model, "--data", "iris", "--id", "p1")
}

func TestPredictComparesWithLabels(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	r := fitJSON(t, append(threeNormals, "--label", "Species", "--out", model)...)
	args := []string{"predict", model, "--data", "iris", "--label", "Species"}
	stdout, _ := done(t, append(args, "--format", "json")...)
	var p struct{ Agreement *outcome.Agreement }
	require.NoError(t, json.Unmarshal([]byte(stdout), &p))
	assert.Equal(t, r.Agreement, p.Agreement)

	stdout, stderr := done(t, args...)
	assert.Len(t, records(t, stdout), 151)
	assert.Contains(t, stderr, `adjusted Rand: 0.9039, of components and column "Species"`)
	stdout, stderr = done(t, append(args, "--out", filepath.Join(t.TempDir(), "p.csv"))...)
	assert.Contains(t, stdout, "adjusted Rand: 0.9039")
	assert.Empty(t, stderr)
}

func TestPredictPassesColumnsThrough(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", "faithful", "--k", "2", "--out", model)
	path := file(t, "d.csv", "id,eruptions,waiting,\"who, where\"\n007,4.3,80,\"a \"\"b\"\"\"\n07,,54,c\n7,2.0,54,\n")
	want, _ := done(t, "predict", model, "--data", path, "--drop", "id,who\\, where", "--missing", "drop")
	stdout, stderr := done(t, "predict", model, "--data", path, "--id", "id,who\\, where", "--missing", "drop")
	assert.NotContains(t, stderr, "as not in the model")
	rows, plain := records(t, stdout), records(t, want)
	assert.Equal(t, append([]string{"id", "who, where"}, plain[0]...), rows[0])
	assert.Equal(t, append([]string{"007", `a "b"`}, plain[1]...), rows[1])
	assert.Equal(t, append([]string{"7", ""}, plain[2]...), rows[2], "row 3: the second is left out")

	stdout, _ = done(t, "predict", model, "--data", path, "--id", "id", "--id", "waiting", "--missing", "drop", "--format", "json")
	var p struct {
		IDs      map[string][]string `json:"ids"`
		Label    []int
		Warnings []string
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &p))
	assert.Equal(t, map[string][]string{"id": {"007", "7"}, "waiting": {"80", "54"}}, p.IDs, "a column of the model, too")
	assert.Len(t, p.Label, 2)
	assert.Contains(t, strings.Join(p.Warnings, "\n"), `left out, as not in the model (--id passes columns through): "who, where"`)
	stdout, _ = done(t, "predict", model, "--data", "faithful", "--format", "json")
	assert.Contains(t, stdout, `"warnings":[]`)

	// The class labels of an embedded data set, and columns without a value.
	done(t, append(append([]string{"fit"}, threeNormals...), "--out", model)...)
	stdout, stderr = done(t, "predict", model, "--data", "iris", "--id", "Species")
	assert.Equal(t, "setosa", records(t, stdout)[1][0])
	assert.Empty(t, stderr)
}
