package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keysOf collects the names of fields, but not those below a name that stands for anything.
func keysOf(value any, open []string, visit func(key string)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			visit(key)
			if !slices.Contains(open, key) {
				keysOf(inner, open, visit)
			}
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, open, visit)
		}
	}
}

// Every field that the command writes is in docs/guides/json.md, and in the schemas of docs/schema with its type.
func TestEveryFieldOfJSONIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/json.md")
	require.NoError(t, err)
	shapes := schemas(t)
	model := filepath.Join(t.TempDir(), "m.json")
	weighted := file(t, "w.csv", "w,a,b,c\n1,1,2,x\n2,4,3,y\n1,9,5,x\n2,8,1,y\n3,1,3,x\n")
	for _, args := range [][]string{
		{"fit", "--data", "iris", "--label", "Species", "--kmax", "4", "--out", model},
		{"predict", model, "--data", "iris", "--label", "Species", "--id", "Sepal.Width", "--missing", "drop"},
		{"fit", "--data", weighted, "--weights", "w", "--columns", "c=categorical", "--method", "vb", "--kmax", "2", "--start", "rows", "--prior", "weights=1", "--temper", "0.9", "--accelerate", "--size-prior", "geometric"},
		{"fit", "--model", "bpca", "--data", "iris", "--k", "2", "--out", model},
		{"predict", model, "--data", "iris"},
		{"fit", "--model", "vbmf", "--data", "iris", "--center"},
		{"select", "--model", "bpca", "--data", file(t, "two.csv", rankTwo)},
		{"select", "--kmax", "2", "--restarts", "1", "--bootstrap", "19"},
		{"fit", "--k", "2", "--bootstrap", "2"},
		{"fit", "--data", "ruspini", "--cov", "EII", "--k", "4", "--noise", "--out", model},
		{"predict", model, "--data", "ruspini"},
		{"fit", "--data", "ruspini", "--family", "gaussian-tied", "--start", "rows", "--kmax", "4", "--restarts", "1", "--seed", "2"}, // with moves
		{"fit", "--model", "hmm", "--data", file(t, "s.csv", seriesTable), "--sequence", "id", "--left-right", "1", "--start", "first", "--kmax", "2", "--bootstrap", "2", "--out", model},
		{"predict", model, "--data", file(t, "s.csv", seriesTable), "--id", "id"},
		{"predict", model, "--data", file(t, "s.csv", seriesTable), "--forecast", "2"},
		{"fit", "--data", file(t, "polled.csv", polled(120)), "--gate", "age,region", "--drop", "class", "--family", "bernoulli", "--k", "2", "--bootstrap", "2", "--out", model},
		{"predict", model, "--data", file(t, "polled.csv", polled(20))},
		{"fit", "--model", "regression", "--data", file(t, "crossing.csv", crossing(100)), "--response", "y", "--regress", "x", "--gate", "x", "--k", "2", "--out", model},
		{"predict", model, "--data", file(t, "crossing.csv", crossing(20))},
		{"fit", "--model", "factor", "--data", holzinger, "--blocks", "x1,x2,x3,x4;x5,x6,x7,x8,x9", "--rotate", "promax", "--bootstrap", "2", "--out", model},
		{"predict", model, "--data", holzinger},
		{"predict", model, "--data", holzinger, "--fill"},
		{"select", "--model", "factor", "--data", holzinger, "--noise", "diagonal"},
		{"fit", "--data", "iris", "--drop", "Species", "--family", "factor-analysers", "--factors", "1", "--k", "2"},
		{"fit", "--model", "topics", "--kmax", "3", "--max-iter", "20", "--out", model},
		{"predict", model, "--data", "bars"},
		{"fit", "--model", "features", "--data", "ruspini", "--restarts", "1", "--out", model},
		{"predict", model, "--data", "ruspini"},
		{"fit", "--model", "features", "--data", "iris", "--k", "13", "--method", "em", "--max-iter", "5", "--restarts", "1", "--out", model},
		{"predict", model, "--data", "iris"},
		{"fit", "--model", "regression", "--data", "iris", "--response", "Petal.Width", "--regress", "Species,Petal.Length", "--power", "Petal.Length=2", "--fixed", "Petal.Length^2", "--no-intercept", "--k", "2", "--out", model},
		{"predict", model, "--data", "iris"},
		{"fit", "--model", "blockmodel", "--bipartite", "--kmax", "4", "--out", model},
		{"predict", model, "--data", "karate"},
		{"fit", "--model", "blockmodel", "--method", "gfab", "--directed", "--loops", "drop", "--kmax", "2"},
		{"fit", "--model", "ppca", "--data", "iris", "--k", "2", "--out", model},
		{"fit", "--model", "bernmix", "--data", "zoo", "--select", "hair,eggs,milk", "--kmax", "3", "--out", model},
		{"fit", "--model", "hmm", "--data", "geyser", "--method", "vb", "--k", "2", "--restarts", "1", "--out", model},
		{"fit", "--model", "factor", "--data", holzinger, "--noise", "isotropic", "--k", "1"},
		{"select", "--data", "ruspini", "--cov", "all", "--kmax", "2", "--restarts", "1"},
		{"fit", "--data", file(t, "d.csv", customers(30)), "--id", "Kunde", "--dates", "Datum", "--na", "k.A.", "--decimal", ",", "--k", "1", "--family", "gaussian-diagonal", "--out", model},
		{"sample", model, "-n", "2"},
		{"datasets"},
	} {
		stdout, _ := done(t, append(args, "--format", "json")...)
		texts := []string{stdout}
		conforms(t, shapes[args[0]], stdout, args)
		if slices.Contains(args, "--out") {
			texts = append(texts, contents(t, model))
			conforms(t, shapes["model"], texts[1], args)
		}
		for _, text := range texts {
			var value any
			require.NoError(t, json.Unmarshal([]byte(text), &value))
			keysOf(value, []string{"params", "posterior", "values", "complete_data_standard_errors", "bootstrap_standard_errors", "bootstrap_intervals", "chosen", "ids", "mean", "sd", "criteria"}, func(key string) {
				assert.Contains(t, string(page), "`"+key+"`", args)
			})
		}
	}
}
