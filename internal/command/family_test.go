package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/data"
)

// gradedTable has a positive column and two of grades 1 to 5 in two classes.
func gradedTable(rows int) string {
	rng, text := rand.New(rand.NewPCG(8, 1)), "price,school,gym\n"
	for i := range rows {
		kind := float64(i % 2)
		grade := func(mean float64) float64 { return min(5, max(1, math.Round(mean+rng.NormFloat64()))) }
		text += fmt.Sprintf("%.4f,%v,%v\n", math.Exp(1+2*kind+0.5*rng.NormFloat64()), grade(1.5+2.7*kind), grade(4-2*kind))
	}
	return text
}

func TestLognormalAndOrdinalColumnsGoAllTheWay(t *testing.T) {
	table, model := file(t, "g.csv", gradedTable(300)), filepath.Join(t.TempDir(), "m.json")
	args := []string{"--data", table, "--columns", "price=lognormal,school=ordinal,gym=ordinal"}
	stdout, _ := done(t, append([]string{"fit", "--out", model, "--report", t.TempDir()}, args...)...)
	for _, part := range []string{"chosen K        2 of at most 10", "lognormal: price", "ordinal of 5 levels: school, gym", "mean ± sd", "most likely"} {
		assert.Contains(t, stdout, part)
	}
	r := fitJSON(t, args...)
	levels := []string{"1", "2", "3", "4", "5"}
	assert.Equal(t, []data.Column{{Name: "price", Family: "lognormal"}, {Name: "school", Family: "ordinal", Levels: levels}, {Name: "gym", Family: "ordinal", Levels: levels}}, r.Columns)
	means := []float64{float64(r.Components[0].Columns[0].Values["log mean"]), float64(r.Components[1].Columns[0].Values["log mean"])}
	assert.ElementsMatch(t, []float64{1, 3}, []float64{math.Round(means[0]), math.Round(means[1])})
	assert.InDelta(t, 0.5, float64(r.Components[0].Columns[0].Values["log sd"]), 0.1)
	assert.Contains(t, r.Components[0].Columns[1].Values, "location")

	stdout, _ = done(t, "predict", model, "--data", table)
	assert.Len(t, records(t, stdout), 301)
	stdout, _ = done(t, "sample", model, "-n", "200")
	for _, row := range records(t, stdout)[1:] {
		assert.Contains(t, levels, row[1])
		assert.Contains(t, levels, row[2])
	}
	done(t, "fit", "--data", table, "--family", "lognormal", "--method", "vb", "--prior", "kappa=2,nu=1", "--k", "2")
}

// Criteria of one column compare across families.
func TestSkewedColumnsAreLikeliestUnderTheirOwnFamily(t *testing.T) {
	table, bic := file(t, "g.csv", gradedTable(300)), map[string]number{}
	for _, family := range []string{"gaussian", "gamma", "lognormal"} {
		bic[family] = fitJSON(t, "--data", table, "--select", "price", "--columns", "price="+family, "--k", "2").BIC
	}
	assert.Greater(t, bic["lognormal"], bic["gaussian"])
	assert.Greater(t, bic["lognormal"], bic["gamma"])
}

func TestWhatOrdinalColumnsCannotBe(t *testing.T) {
	table := file(t, "d.csv", "a,b,c\n1,low,1\n2,high,0\n3,low,1\n2,high,1\n")
	for _, c := range []struct{ args, says string }{
		{"b=ordinal", `column "b" holds texts, whose order is unknown: number the levels in their order, as in 1 low and 2 high, or take the column as categorical`},
		{"b=categorical,c=ordinal", `column "c" has 2 levels, and ordinal needs three or more: take the column as bernoulli`},
	} {
		fails(t, 1, c.says, "", "fit", "--data", table, "--columns", c.args, "--k", "1")
	}
	fails(t, 1, `column "a" is ordinal, which has no conjugate prior: take the column as categorical, or another method than vb`, "",
		"fit", "--data", table, "--columns", "a=ordinal,b=categorical", "--method", "vb")
}

// Of a posterior, predict gives the predictive distribution, here of durations with heavy tails: it integrates to 1, and the
// exponential at the posterior mean lies below it far out.
func TestPredictiveDistributionOfASavedPosterior(t *testing.T) {
	const step = 0.02
	table := file(t, "durations.csv", "t\n1\n3\n0.2\n0.7\n1.5\n")
	var grid strings.Builder
	grid.WriteString("t\n")
	for i := range 200000 {
		fmt.Fprintln(&grid, (float64(i)+0.5)*step)
	}
	points := file(t, "points.csv", grid.String())
	logs := map[string][]float64{}
	for _, method := range []string{"vb", "em"} {
		model := filepath.Join(t.TempDir(), "model.json")
		done(t, "fit", "--data", table, "--family", "exponential", "--method", method, "--k", "1", "--out", model)
		stdout, _ := done(t, "predict", model, "--data", points, "--format", "json")
		var p struct {
			LogLikelihood []float64 `json:"log_likelihood"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &p))
		logs[method] = p.LogLikelihood
		assert.InDelta(t, 0, floats.LogSumExp(p.LogLikelihood)+math.Log(step), 1e-4, method)
	}
	assert.Greater(t, logs["vb"][2500], logs["em"][2500]+10)
}
