package command

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
)

type regressionJSON struct {
	K          int
	Value      float64
	LogLik     float64
	Columns    []data.Column
	Components []classes.Component
	Params     struct{ Regression design.Regression }
}

func fitRegression(t *testing.T, args ...string) (r regressionJSON) {
	stdout, _ := done(t, append([]string{"fit", "--model", "regression", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	return r
}

var quadratic = []string{"--data", "NPreg", "--response", "yn", "--regress", "x", "--power", "x=2"}

func TestRegression(t *testing.T) {
	for seed := range 6 {
		r := fitRegression(t, append(quadratic, "--restarts", "1", "--seed", fmt.Sprint(seed))...)
		assert.Equal(t, 2, r.K, "seed %d", seed)
	}
	dir := t.TempDir()
	model := filepath.Join(dir, "m.json")
	stdout, _ := done(t, append([]string{"fit", "--criterion", "gfic", "--model", "regression", "--label", "class", "--out", model, "--report", dir}, quadratic...)...)
	for _, part := range []string{"gaussian regressions of yn on x, x^2", "log-likelihood  -642.532", "9.847 ± 0.54", "-0.9684 ± 0.052", "adjusted Rand   0.8090", "latent sample " + model + " -n 100 --given FILE"} {
		assert.Contains(t, strings.Join(strings.Fields(stdout), " "), strings.Join(strings.Fields(part), " "))
	}
	page := contents(t, filepath.Join(dir, pageName))
	for _, part := range []string{"Fitted curves", "Coefficients", "standard error (complete data)", "component 2"} {
		assert.Contains(t, page, part)
	}
	stdout, _ = done(t, append([]string{"select", "--model", "regression", "--kmax", "3"}, quadratic...)...)
	for _, line := range []string{"gfic   chooses K = 2", "bic    chooses K = 2", "icl    chooses K = 2"} {
		assert.Contains(t, stdout, line)
	}

	// Rows with and without a response.
	rows := file(t, "new.csv", "x\n1\n9\n")
	stdout, _ = done(t, "predict", model, "--data", rows)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	assert.Equal(t, "label,probability,mean,p1,p2,mean1,mean2,log_likelihood", lines[0])
	var label, probability, mean, p1, p2, mean1, mean2 float64
	_, err := fmt.Sscanf(strings.ReplaceAll(lines[1], ",", " "), "%g %g %g %g %g %g %g", &label, &probability, &mean, &p1, &p2, &mean1, &mean2)
	require.NoError(t, err)
	assert.InDelta(t, 0.506, p1, 1e-3)
	assert.InDelta(t, 14.716+9.847-0.968, mean1, 2e-3)
	assert.InDelta(t, p1*mean1+p2*mean2, mean, 1e-9)
	stdout, _ = done(t, "predict", model, "--data", file(t, "new.csv", "x,yn\n1,24\n1,4\n"))
	lines = strings.Split(strings.TrimSpace(stdout), "\n")
	assert.True(t, strings.HasPrefix(lines[1], "1,0.99") && strings.HasPrefix(lines[2], "2,0.99"), lines)

	// Draws are of the response alone.
	stdout, _ = done(t, "sample", model, "-n", "2", "--given", rows, "--labels")
	lines = strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, "yn,x,component", lines[0])
	assert.Contains(t, lines[2], ",9,")
	stdout, _ = done(t, "sample", model, "--given", rows, "-n", "50")
	assert.Equal(t, 51, strings.Count(stdout, "\n"))
	fails(t, 2, "latent sample needs rows that have them (--given FILE)", "", "sample", model, "-n", "5")
	fails(t, 1, `row 1 of column "x" is missing`, "", "sample", model, "-n", "5", "--given", file(t, "new.csv", "x,yn\n,1\n2,3\n"))
}

// curvesOf are successes among trials, alternately of two curves, with weights and a text of no effect.
func curvesOf(t *testing.T, weights bool) string {
	rng := rand.New(rand.NewPCG(4, 1))
	var b strings.Builder
	fmt.Fprintln(&b, "y,n,z,w,side")
	for i := range 120 {
		z := rng.NormFloat64()
		eta := 1 + 2*z
		if i%2 == 1 {
			eta = -1 - z
		}
		n := 5 + rng.IntN(15)
		y := distuv.Binomial{N: float64(n), P: 1 / (1 + math.Exp(-eta)), Src: rng}.Rand()
		times, w := 1, 1+i%2
		if !weights {
			times, w = w, 1
		}
		side := []string{"left", "right"}[rng.IntN(2)]
		for range times {
			fmt.Fprintf(&b, "%v,%d,%v,%d,%s\n", y, n, z, w, side)
		}
	}
	return file(t, "curves.csv", b.String())
}

func TestRegressionOfSuccesses(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	args := []string{"--response", "y", "--trials", "n", "--regress", "z,side", "--family", "binomial", "--restarts", "2"}
	weighted := fitRegression(t, append(args, "--data", curvesOf(t, true), "--weights", "w", "--out", model, "--report", t.TempDir())...)
	require.Equal(t, 2, weighted.K)
	assert.Equal(t, []string{"left", "right"}, weighted.Columns[3].Levels)
	assert.Equal(t, "side = right", weighted.Params.Regression.Terms[1].Name)
	assert.InDelta(t, 2, float64(weighted.Components[1].Columns[2].Values["coefficient"]), 0.3)
	// Weights repeat rows, and the number of workers changes no bit.
	repeated := fitRegression(t, append(args, "--data", curvesOf(t, false))...)
	assert.InDelta(t, weighted.Value, repeated.Value, 1e-4)
	assert.Equal(t, weighted.Value, fitRegression(t, append(args, "--data", curvesOf(t, true), "--weights", "w", "--workers", "1")...).Value)
	stdout, _ := done(t, "predict", model, "--data", file(t, "new.csv", "side,z\nright,0.5\n"), "--format", "json")
	var one struct{ Mean, Mean1, Mean2 []float64 }
	require.NoError(t, json.Unmarshal([]byte(stdout), &one))
	for _, p := range []float64{one.Mean[0], one.Mean1[0], one.Mean2[0]} {
		assert.True(t, p > 0 && p < 1)
	}
	fails(t, 1, `is "middle", which is none of the levels "left", "right"`, "", "predict", model, "--data", file(t, "new.csv", "side,z\nmiddle,0.5\n"))
	fails(t, 1, `row 1 of column "z" is missing`, "", "predict", model, "--data", file(t, "new.csv", "side,z\nleft,\nleft,1\n"))
	stdout, _ = done(t, "sample", model, "--given", curvesOf(t, true), "-n", "3")
	assert.True(t, strings.HasPrefix(stdout, "y,n,z,side\n"), stdout)
	drawn, _ := done(t, append([]string{"fit", "--model", "regression", "--data", curvesOf(t, true), "--weights", "w", "--k", "2", "--bootstrap", "2"}, args...)...)
	assert.Contains(t, drawn, "standard errors by bootstrap")
}

func TestRegressionOfCounts(t *testing.T) {
	r := fitRegression(t, "--data", "NPreg", "--response", "yp", "--regress", "x", "--family", "poisson", "--k", "1", "--criterion", "gfic")
	assert.InDelta(t, -460.736785, r.LogLik, 1e-5)
	assert.InDelta(t, -0.030380, float64(r.Components[0].Columns[1].Values["coefficient"]), 1e-6)
	assert.InDelta(t, 0.012559, float64(r.Components[0].Columns[1].Errors["coefficient"]), 1e-6)
	// Twice the exposure is half the rate.
	r = fitRegression(t, "--data", file(t, "e.csv", "y,e,x\n3,2,1\n5,2,2\n4,2,3\n9,2,4\n12,2,5\n"), "--response", "y", "--exposure", "e", "--family", "poisson", "--k", "1")
	plain := fitRegression(t, "--data", file(t, "e.csv", "y,x\n3,1\n5,2\n4,3\n9,4\n12,5\n"), "--response", "y", "--family", "poisson", "--k", "1")
	assert.InDelta(t, float64(plain.Components[0].Columns[0].Values["intercept"])-math.Ln2, float64(r.Components[0].Columns[0].Values["intercept"]), 1e-9)
}

// A slope that both components share, as well as each has its own intercept.
func TestRegressionWithAFixedSlope(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var b strings.Builder
	fmt.Fprintln(&b, "y,x")
	for i := range 200 {
		x := 10 * rng.Float64()
		fmt.Fprintf(&b, "%v,%v\n", 3*float64(i%2)+0.5*x+0.5*rng.NormFloat64(), x)
	}
	table, model := file(t, "t.csv", b.String()), filepath.Join(t.TempDir(), "m.json")
	r := fitRegression(t, "--data", table, "--response", "y", "--fixed", "x", "--out", model)
	own := fitRegression(t, "--data", table, "--response", "y")
	require.Equal(t, 2, r.K)
	require.Equal(t, 2, own.K)
	slope := func(k int) float64 { return float64(r.Components[k].Columns[1].Values["coefficient"]) }
	assert.Equal(t, slope(0), slope(1))
	assert.InDelta(t, 0.5, slope(0), 0.03)
	assert.Greater(t, own.LogLik, r.LogLik)
	assert.Less(t, own.LogLik, r.LogLik+4) // one number more
	stdout, _ := done(t, "predict", model, "--data", file(t, "new.csv", "x\n4\n"))
	assert.Contains(t, stdout, "mean2")
}

// Numbers that are codes have a coefficient for each level but the first.
func TestRegressionOnCodes(t *testing.T) {
	table := file(t, "t.csv", "y,x,code\n1,1,3\n2.5,2,3\n2,3,5\n4.5,4,5\n8,5,7\n9.5,6,7\n3,3,3\n7,7,5\n9,8,7\n")
	r := fitRegression(t, "--data", table, "--response", "y", "--columns", "code=categorical", "--k", "1")
	var names []string
	for _, term := range r.Params.Regression.Terms {
		names = append(names, term.Name)
	}
	assert.Equal(t, []string{"x", "code = 5", "code = 7"}, names)
}

func TestRegressionIsRefused(t *testing.T) {
	table := file(t, "t.csv", "y,c,x,u,s\n1,3,1,2,0\n2,3,2,4,0\n5,3,3,6,0\n1,3,4,8,1\n7,3,5,10,1\n4,3,6,12,1\n")
	for _, c := range []struct {
		status int
		part   string
		args   string
	}{
		{2, "requires --response", ""},
		{1, `--response: no column "zz"`, "--response zz"},
		{1, `--regress: no column "zz"`, "--response y --regress zz"},
		{2, "--trials requires --family binomial, and the family is gaussian", "--response y --trials c"},
		{2, "--exposure requires --family poisson, and the family is gaussian", "--response y --exposure c"},
		{2, `column "y" is named by --response and by --regress`, "--response y --regress x,y"},
		{1, `column "c" is the response, and constant`, "--response c --regress x"},
		{1, `column "c" is constant`, "--response y --regress c,x"},
		{1, `column "u" is a linear combination`, "--response y --regress x,u"},
		{1, "6 coefficients and a variance need more rows", "--response y --regress x --power x=5"},
		{1, `column "s" is separated by the regressors`, "--response s --regress x --family binomial"},
		{1, `row 1 of column "y" is 1: there are more successes than trials`, "--response y --trials s --regress x --family binomial"},
		{2, "the degree of a polynomial must be from 1 to 9", "--response y --power x=x"},
		{1, "--power: column \"u\" is not a regressor", "--response y --regress x --power u=2"},
		{2, "--columns x=poisson cannot be used with --response: regressors are numbers, or categorical", "--response y --columns x=poisson"},
		{2, `--columns cannot name the response, "y"`, "--response y --columns y=categorical"},
		{1, `--columns: no column "zz" to describe`, "--response y --regress x --columns zz=categorical"},
		{1, `--fixed: no coefficient "z"; there are "intercept", "x"`, "--response y --regress x --fixed z"},
		{1, "leave at least one", "--response y --regress x --fixed x,intercept"},
		{2, "cannot be used with --model regression: choose one of gfab, fab, em", "--response y --method vb"},
	} {
		fails(t, c.status, c.part, "", append(append([]string{"fit", "--model", "regression", "--data", table}, strings.Fields(c.args)...), "--k", "1")...)
	}
	fails(t, 1, `row 2 of column "y" is 2.5: a count is a whole number`, "", "fit", "--model", "regression", "--data", file(t, "h.csv", "y,x\n1,1\n2.5,2\n4,4\n"), "--response", "y", "--family", "poisson")
	fails(t, 1, `row 2 of column "x" is missing`, "", "fit", "--model", "regression", "--data", file(t, "h.csv", "y,x\n1,1\n2,\n4,4\n"), "--response", "y")
	fails(t, 2, "--response is a flag of --model hmm, regression, and the model is mixture", "", "fit", "--response", "waiting")
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--out", model)
	fails(t, 2, "--given requires a model with a gate, or a regression", "", "sample", model, "-n", "3", "--given", table)
	require.NoError(t, os.Remove(model))
}
