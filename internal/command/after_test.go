package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// surveyed are 400 rows of two classes: six answers, and by class an outcome, a level, a count and a covariate. Every tenth
// row lacks the outcome.
func surveyed(t *testing.T) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	text := strings.Builder{}
	text.WriteString("a,b,c,d,e,f,income,place,visits,age,one,name,class\n")
	for i := range 400 {
		age := 20 + rng.IntN(50)
		class := 0
		if rng.Float64() < float64(age-20)/50 {
			class = 1
		}
		for range 6 {
			answer := "no"
			if rng.Float64() < 0.25+0.5*float64(class) {
				answer = "yes"
			}
			text.WriteString(answer + ",")
		}
		income := fmt.Sprintf("%.3f", 3+2*float64(class)+rng.NormFloat64())
		if i%10 == 0 {
			income = ""
		}
		place := []string{"town", "village"}[min(1, rng.IntN(2+class))]
		fmt.Fprintf(&text, "%s,%s,%d,%d,1,row %d,%d\n", income, place, rng.IntN(3)*(1+2*class), age, i, class)
	}
	return file(t, "surveyed.csv", text.String())
}

const notAsked = "income,place,visits,age,one,name,class"

// saved is a fit of two classes to the answers.
func saved(t *testing.T, data string, args ...string) string {
	t.Helper()
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, append([]string{"fit", "--data", data, "--k", "2", "--seed", "1", "--out", model}, args...)...)
	return model
}

// TestAfterIsThatOfTheClasses: of every model with classes JSON is as its schema has it, and income differs by 2.
func TestAfterIsThatOfTheClasses(t *testing.T) {
	schema := schemas(t)["after"]
	data := surveyed(t)
	for name, args := range map[string][]string{
		"lca":     {"--drop", notAsked, "--model", "lca"},
		"bernmix": {"--drop", notAsked, "--model", "bernmix"},
		"gate":    {"--drop", "income,place,visits,one,name,class", "--gate", "age", "--family", "auto"},
		"vb":      {"--drop", notAsked, "--family", "categorical", "--method", "vb"},
		"hmm":     {"--drop", notAsked, "--model", "hmm", "--family", "categorical"},
	} {
		model := saved(t, data, args...)
		text, _ := done(t, "after", model, "--data", data, "--outcome", "income,place,visits", "--covariates", "age,place",
			"--draws", "8", "--format", "json")
		conforms(t, schema, text, name)
		var found struct {
			Draws    int
			Outcomes []struct {
				Kind      string
				Rows      int
				LeftOut   int `json:"left_out"`
				Estimates []struct {
					Correction string
					Classes    [][]struct {
						Value         float64
						StandardError float64 `json:"standard_error"`
						ThirdStep     float64 `json:"third_step_standard_error"`
					}
				}
			}
			Covariates struct {
				Columns   []string
				Estimates []json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &found))
		assert.Equal(t, 8, found.Draws, name)
		require.Len(t, found.Outcomes, 3)
		assert.Equal(t, []string{"(intercept)", "age", "place = village"}, found.Covariates.Columns)
		income := found.Outcomes[0]
		assert.Equal(t, []any{"continuous", 360, 40}, []any{income.Kind, income.Rows, income.LeftOut})
		assert.Equal(t, "categorical", found.Outcomes[1].Kind)
		require.NotEmpty(t, income.Estimates)
		bch := income.Estimates[0].Classes
		apart := bch[1][0].Value - bch[0][0].Value
		assert.InDelta(t, 2, max(apart, -apart), 0.6, name)
		assert.Greater(t, bch[0][0].StandardError, bch[0][0].ThirdStep, name)
	}
}

func TestAfterIsWrittenForPeople(t *testing.T) {
	data := surveyed(t)
	model := saved(t, data, "--drop", notAsked, "--model", "lca")
	page := filepath.Join(t.TempDir(), "page")
	text, stderr := done(t, "after", model, "--data", data, "--outcome", "income", "--covariates", "age", "--draws", "0", "--report", page)
	for _, part := range []string{"income differs between the components", "age goes with the component", "Outcome income:", "Log odds against component 1:"} {
		assert.Contains(t, text, part)
	}
	assert.Contains(t, stderr, `column "income": 40 rows with missing values left out of these estimates`)
	assert.Contains(t, stderr, "standard errors are those of the last step alone, as if the classes were known: --draws is 0")
	assert.NotContains(t, stderr, "as not in the model")
	html, err := os.ReadFile(filepath.Join(page, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(html), "Outcome income")
	// weights and proportional assignment
	text, _ = done(t, "after", model, "--data", data, "--outcome", "visits", "--columns", "visits=poisson", "--weights", "one",
		"--assignment", "proportional", "--draws", "4", "--seed", "2", "--format", "json")
	assert.Contains(t, text, `"kind":"count"`)
	assert.Contains(t, text, `"assignment":"proportional"`)
	_, stderr = done(t, "after", model, "--data", data, "--outcome", "a", "--draws", "0")
	assert.Contains(t, stderr, `found the classes by "a", which differ between them for that reason alone`)
}

func TestAfterRefuses(t *testing.T) {
	data := surveyed(t)
	model := saved(t, data, "--drop", notAsked, "--model", "lca")
	single := filepath.Join(t.TempDir(), "one.json")
	done(t, "fit", "--data", data, "--drop", notAsked, "--model", "lca", "--k", "1", "--out", single)
	axes := filepath.Join(t.TempDir(), "axes.json")
	done(t, "fit", "--data", "faithful", "--model", "bpca", "--out", axes)
	for _, one := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{model, "--data", data}, 2, "needs --outcome COL, --covariates COL, or both"},
		{[]string{axes, "--data", "faithful", "--outcome", "waiting"}, 2, "a bpca model does not have"},
		{[]string{single, "--data", data, "--outcome", "income"}, 1, "there is one class"},
		{[]string{model, "--data", data, "--outcome", "wages"}, 1, `no column "wages"; the columns are`},
		{[]string{model, "--data", data, "--covariates", "wages"}, 1, `no column "wages"; the columns are`},
		{[]string{model, "--data", data, "--outcome", "one"}, 1, `column "one": the outcome has one value`},
		{[]string{model, "--data", data, "--covariates", "one"}, 1, `column "one": the covariate has one value`},
		{[]string{model, "--data", data, "--outcome", "name"}, 1, `column "name" has 400 levels: join them`},
		{[]string{model, "--data", data, "--outcome", "income", "--columns", "income=gamma"}, 1, "none of gaussian, poisson, bernoulli and categorical"},
		{[]string{model, "--data", data, "--outcome", "income", "--columns", "age=poisson"}, 1, `column "age" has a family, and is no outcome`},
		{[]string{model, "--data", data, "--outcome", "income", "--columns", "income=poisson"}, 1, "which is not a count"},
		{[]string{model, "--data", data, "--outcome", "income", "--weights", "wages"}, 1, `--weights: no column "wages"`},
		{[]string{model, "--data", data, "--covariates", "a,b,c,d,e,f", "--draws", "0"}, 1, "(separation)"},
		{[]string{model, "--data", file(t, "few.csv", "a,income\nyes,1\n"), "--outcome", "income"}, 1, `columns of the model are missing in the data: "b"`},
	} {
		status, _, stderr := latent("", append([]string{"after"}, one.args...)...)
		assert.Equal(t, one.status, status, one.args)
		assert.Contains(t, stderr, one.want)
		assert.Equal(t, 1, strings.Count(stderr, "latent: "), stderr)
	}
}
