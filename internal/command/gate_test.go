package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/families"
)

// polled writes a table of answers of two classes: the log odds of the second are −4 + 0.08 age, and 1.5 more in the north.
func polled(n int, also ...string) string {
	rng := rand.New(rand.NewPCG(3, 1))
	var text strings.Builder
	text.WriteString("age,q1,q2,q3,region,q4,q5,class" + strings.Join(also, "") + "\n")
	for range n {
		age, region, class := 20+60*rng.Float64(), "south", 0
		eta := -4 + 0.08*age
		if rng.Float64() < 0.4 {
			region, eta = "north", eta+1.5
		}
		if rng.Float64() < 1/(1+math.Exp(-eta)) {
			class = 1
		}
		var answers [5]any
		for j := range answers {
			answers[j] = "no"
			if rng.Float64() < [2]float64{0.15, 0.85}[(class+j)%2] {
				answers[j] = "yes"
			}
		}
		fmt.Fprintf(&text, "%.1f,%s,%s,%s,%s,%s,%s,%d\n", age, answers[0], answers[1], answers[2], region, answers[3], answers[4], class)
	}
	return text.String()
}

// cells are the rows of CSV without the heads.
func cells(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

func TestLatentClassRegression(t *testing.T) {
	path, model := file(t, "polled.csv", polled(1200)), filepath.Join(t.TempDir(), "m.json")
	args := []string{"--data", path, "--gate", "age,region", "--family", "bernoulli", "--label", "class", "--restarts", "3"}
	r := fitJSON(t, append(args, "--out", model)...)
	require.Equal(t, 2, r.K)
	assert.Equal(t, "gfab", r.Method)
	assert.Equal(t, []string{"intercept", "age", "region = south"}, r.Gate.Columns)
	sign := 1.0 // the larger component is the first
	for _, yes := range r.Components[0].Columns[0].Values {
		if yes > 0.5 {
			sign = -1
		}
	}
	for j, want := range []float64{-4 + 1.5, 0.08, -1.5} { // the first level is in the intercept
		value, e := float64(r.Gate.LogOdds[0][j]), float64(r.Gate.Errors[0][j])
		assert.Less(t, math.Abs(sign*value-want), 3*e)
		assert.InEpsilon(t, math.Exp(value), float64(r.Gate.Ratios[0][j]), 1e-12)
		assert.Less(t, e, 0.1*math.Abs(want)+0.5)
	}
	assert.Greater(t, float64(r.Agreement.AdjustedRand), 0.75)
	text, _ := done(t, append([]string{"fit"}, args...)...)
	assert.Contains(t, text, "region = south")
	assert.Contains(t, text, "odds ratio")

	whole, _ := done(t, "predict", model, "--data", path)
	total := 0.0
	for _, row := range cells(t, whole) {
		v, err := strconv.ParseFloat(row[len(row)-1], 64)
		require.NoError(t, err)
		total += v
	}
	assert.InDelta(t, float64(r.LogLik), total, 1e-6)
	alone, stderr := done(t, "predict", model, "--data", file(t, "alone.csv", "region,age\nnorth,70\nsouth,30\n"))
	assert.Contains(t, stderr, "no column of the components")
	for i, want := range []float64{-4 + 0.08*70 + 1.5, -4 + 0.08*30} {
		p, err := strconv.ParseFloat(cells(t, alone)[i][3], 64)
		require.NoError(t, err)
		assert.InDelta(t, 1/(1+math.Exp(-sign*want)), p, 0.1)
	}
	drawn, _ := done(t, "sample", model, "-n", "4", "--labels", "--given", file(t, "given.csv", "age,region\n70,north\n30,south\n"))
	rows := cells(t, drawn)
	require.Len(t, rows, 4)
	assert.Equal(t, []string{"70", "north"}, rows[2][5:7])
	assert.Equal(t, []string{"30", "south"}, rows[3][5:7])
	fails(t, 2, "--given FILE", "", "sample", model, "-n", "4")
}

// A gate does what it says for other families, and with missing answers, weights and refits.
func TestGatesOfOtherFits(t *testing.T) {
	text := strings.Replace(polled(300), ",yes,", ",,", 5)
	path := file(t, "p.csv", text)
	auto := fitJSON(t, "--data", path, "--gate", "age,region", "--drop", "class", "--kmax", "4", "--restarts", "2", "--columns", "region=categorical", "--bootstrap", "3")
	assert.Equal(t, families.Categorical, auto.Columns[0].Family)
	assert.Equal(t, families.Gate, auto.Columns[5].Family)
	assert.Len(t, auto.Gate.Drawn, auto.K-1)
	stdout, _ := done(t, "select", "--data", path, "--gate", "age", "--drop", "class,region", "--family", "bernoulli", "--kmax", "3", "--restarts", "2", "--bootstrap", "19")
	assert.Contains(t, stdout, "bic    chooses K = 2")
	one := fitJSON(t, "--data", path, "--gate", "age", "--drop", "class,region", "--family", "bernoulli", "--k", "1", "--method", "em")
	plain := fitJSON(t, "--data", path, "--drop", "class,region,age", "--family", "bernoulli", "--k", "1", "--method", "em")
	assert.InDelta(t, float64(plain.LogLik), float64(one.LogLik), 1e-9)
	assert.Empty(t, one.Gate.LogOdds)
	gaussian := fitJSON(t, "--data", "iris", "--gate", "Sepal.Width", "--drop", "Species", "--kmax", "5", "--restarts", "2")
	assert.Len(t, gaussian.Components[0].Columns, 3)
	texts := fitJSON(t, "--data", "iris", "--gate", "Species", "--k", "2", "--restarts", "1") // which separates
	assert.Len(t, texts.Warnings, 1)
	assert.Contains(t, strings.Join(texts.Warnings, "\n"), "separates classes in the gate")
}

// crossing writes rows of three lines, which x says which one is likely: log odds 4 + 4x and 8x against the first.
func crossing(n int) string {
	rng := rand.New(rand.NewPCG(2, 1))
	var text strings.Builder
	text.WriteString("x,y\n")
	for range n {
		x := 6*rng.Float64() - 3
		u := rng.Float64() * (1 + math.Exp(4+4*x) + math.Exp(8*x))
		y := 2 + 3*x + 0.5*rng.NormFloat64()
		if u > 1+math.Exp(8*x) {
			y = -2*x + 0.3*rng.NormFloat64()
		} else if u > 1 {
			y = 4 + 0.5*x + 0.6*rng.NormFloat64()
		}
		fmt.Fprintf(&text, "%.4f,%.4f\n", x, y)
	}
	return text.String()
}

func TestMixtureOfExperts(t *testing.T) {
	path, model := file(t, "crossing.csv", crossing(500)), filepath.Join(t.TempDir(), "m.json")
	args := []string{"--model", "regression", "--data", path, "--response", "y", "--regress", "x", "--gate", "x", "--restarts", "3", "--criterion", "gfic"}
	r := fitJSON(t, append(args, "--out", model)...)
	require.Equal(t, 3, r.K)
	slope := func(k int) (v float64) {
		for _, only := range r.Components[k].Columns[1].Values {
			v = float64(only)
		}
		return v
	}
	truth := map[float64][2]float64{3: {0, 0}, -2: {4, 4}, 0.5: {0, 8}} // log odds against the line of slope 3
	nearest := func(k int) (best float64) {
		best = 3
		for s := range truth {
			if math.Abs(slope(k)-s) < math.Abs(slope(k)-best) {
				best = s
			}
		}
		return best
	}
	for k := 1; k < 3; k++ {
		for j := range 2 {
			want := truth[nearest(k)][j] - truth[nearest(0)][j]
			assert.Less(t, math.Abs(float64(r.Gate.LogOdds[k-1][j])-want), 3*float64(r.Gate.Errors[k-1][j]))
		}
	}
	predicted, _ := done(t, "predict", model, "--data", file(t, "x.csv", "x\n-2.5\n2.5\n"))
	for i, want := range []float64{2 - 3*2.5, 4 + 0.5*2.5} {
		mean, err := strconv.ParseFloat(cells(t, predicted)[i][2], 64)
		require.NoError(t, err)
		assert.InDelta(t, want, mean, 0.3)
	}
	drawn, _ := done(t, "sample", model, "-n", "2", "--given", file(t, "x.csv", "x\n-2.5\n2.5\n"))
	require.Len(t, cells(t, drawn), 2)
	page := pageOf(t, args...)
	assert.Contains(t, page.titles, "Fitted curves")
	assert.Contains(t, page.titles, "Component probabilities by x")
	other := fitJSON(t, "--criterion", "gfic", "--model", "regression", "--data", "iris", "--response", "Petal.Width", "--regress", "Petal.Length", "--gate", "Sepal.Width", "--k", "2", "--restarts", "2", "--bootstrap", "2")
	assert.Equal(t, families.Gate, other.Columns[2].Family)
	counts := fitJSON(t, "--criterion", "gfic", "--model", "regression", "--data", "NPreg", "--response", "yp", "--regress", "x", "--gate", "x", "--family", "poisson", "--k", "2", "--restarts", "1", "--tol", "1e-6")
	assert.Equal(t, 2, counts.K)
	fails(t, 1, "--regress names some", "", "fit", "--model", "regression", "--data", path, "--response", "y", "--gate", "x")
	fails(t, 2, `column "y" is named by --gate and by --response: it cannot be both`, "", "fit", "--model", "regression", "--data", path, "--response", "y", "--gate", "y")
}

func TestReportOfAGate(t *testing.T) {
	path := file(t, "polled.csv", polled(300))
	page := pageOf(t, "--data", path, "--gate", "age,region", "--family", "bernoulli", "--drop", "class", "--k", "2", "--restarts", "2")
	assert.Contains(t, page.titles, "Component probabilities by age")
	assert.Len(t, page.tables["probabilities by age"], 1+81)
	assert.Len(t, page.tables["probabilities by region"], 3)
	assert.Len(t, page.tables["log odds against component 1"], 4)
	var kept map[string]any
	text, err := json.Marshal(page.report["gate"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &kept))
	assert.Len(t, kept["columns"], 3)
}

func TestWrongGates(t *testing.T) {
	path := file(t, "polled.csv", polled(60))
	constant := file(t, "c.csv", "a,b,c,x\n1,2,1,0\n1,4,0,1\n1,1,1,1\n1,7,0,0\n1,3,1,0\n")
	gap := file(t, "g.csv", "a,x,y\n1,1,0\n,0,1\n3,1,1\n4,0,0\n2,1,0\n")
	twice := file(t, "t.csv", "a,b,x,y\n1,2,1,0\n2,4,0,1\n3,6,1,1\n4,8,0,0\n2,4,1,0\n5,10,1,1\n")
	for _, c := range []struct {
		status int
		part   string
		args   string
	}{
		{1, `no column "height"`, "--data " + path + " --gate height"},
		{1, `column "a" is constant: leave it out of the gate`, "--data " + constant + " --gate a"},
		{1, `row 2 of column "a" is missing: a gate needs every value of its columns; --missing drop leaves such rows out`, "--data " + gap + " --gate a --family bernoulli"},
		{1, `column "b" is a linear combination of other columns of the gate: leave it out of the gate`, "--data " + twice + " --gate a,b --family bernoulli --k 2"},
		{2, `names column "age" twice`, "--data " + path + " --gate age,age"},
		{2, "--gate is a flag of --model bernmix, mixture, regression, and the model is bpca", "--model bpca --data iris --gate Species"},
		{2, "--gate cannot be used with --method vb", "--data " + path + " --gate age --method vb"},
		{2, "--gate cannot be used with --noise", "--data iris --gate Species --noise"},
		{2, `column "class" is named by --label and by --gate: it cannot be both`, "--data " + path + " --gate class --label class"},
		{2, `column "age" is named by --gate: it cannot be selected or dropped`, "--data " + path + " --gate age --drop age"},
		{2, "a column of --gate is a number, or categorical", "--data " + path + " --gate age --columns age=poisson"},
		{2, "leaves none to the components", "--data " + path + " --select age --gate age"},
		{2, "collapsed", "--data " + path + " --gate age --criterion collapsed"},
	} {
		fails(t, c.status, c.part, "", append([]string{"fit"}, strings.Fields(c.args)...)...)
	}
}
