package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	builtinmixture "github.com/latent-go/latent/builtin/mixture"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// records are the lines of a CSV text, the names first.
func records(t *testing.T, text string) [][]string {
	t.Helper()
	list, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return list
}

func TestFitWithoutFlagsShowsTheTwoKindsOfEruptions(t *testing.T) {
	stdout, stderr := done(t, "fit")
	for _, part := range []string{"faithful: 272 rows × 2 columns", "mixture, gaussian-vve components, by gfab", "chosen K        2 of at most 10", "evidence", "p(K|data)       K = 2: 0.91", "converged after",
		"component", "weight", "rows", "eruptions", "mean ± sd", "4.29 ± 0.40", "2.04 ± 0.29", "Pruned from K = 10", "time", "latent predict"} {
		assert.Contains(t, stdout, part)
	}
	assert.Empty(t, stderr)

	r := fitJSON(t)
	assert.Equal(t, 2, r.K)
	require.Len(t, r.Components, 2)
	long, short := r.Components[0], r.Components[1]
	assert.Greater(t, long.Weight, short.Weight)
	assert.InDelta(t, 272, float64(long.Rows+short.Rows), 1e-9)
	assert.InDelta(t, 4.29, float64(long.Columns[0].Values["mean"]), 0.01)
	assert.InDelta(t, 2.04, float64(short.Columns[0].Values["mean"]), 0.01)
}

func TestMixturesKeepTheContractOfTheJSON(t *testing.T) {
	keys := []string{"model", "family", "method", "criterion", "value", "k", "kmax", "n", "d", "iterations", "converged", "status", "seed", "seconds", "trace", "objective_trace", "k_trace", "shape", "settings", "params",
		"components", "relative_entropy", "columns", "rows", "pruned", "split", "restarts", "loglik", "df", "bic", "aic", "entropy", "criteria", "warnings", "groups", "group_tree"}
	ofEvidence := []string{"evidence_bound", "ln_modes", "log_evidence", "prior", "size_posterior", "credible"}
	for _, model := range []string{"mixture", "bernmix"} {
		for _, method := range []string{"gfab", "fab", "em", "map", "vb", "cvb0"} {
			integrated := method == "vb" || method == "cvb0"
			for _, size := range [][]string{{"--k", "2"}, {"--kmax", "2"}} {
				stdout, _ := done(t, append([]string{"fit", "--model", model, "--format", "json", "--method", method, "--seed", "7"}, size...)...)
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(stdout), &object))
				for _, key := range keys {
					assert.Contains(t, object, key, method)
				}
				for key := range object {
					assert.True(t, slices.Contains(keys, key) || key == "by_k" || key == "posterior" || key == "icl" && !integrated || model == "mixture" && slices.Contains([]string{"covariances", "compared", "compared_by"}, key) ||
						method == "gfab" && slices.Contains(ofEvidence, key) || integrated && slices.Contains(ofEvidence[3:], key), "%s of %s", key, method)
				}
				assert.Equal(t, model, object["model"])
				assert.Equal(t, method, object["method"])
				assert.Equal(t, integrated, object["posterior"] != nil)
				assert.Equal(t, !known.models[model].method(method).FindsK && size[0] == "--kmax", object["by_k"] != nil)
				assert.EqualValues(t, 7, object["seed"])
				assert.EqualValues(t, object["k"], object["shape"].(map[string]any)["k"])
				assert.Len(t, object["components"], int(object["k"].(float64)))
				assert.Len(t, object["columns"], int(object["d"].(float64)))
				assert.Len(t, object["trace"], int(object["iterations"].(float64)))
			}
		}
	}
}

// Parameters that are integrated out leave one answer for House Votes, whatever the start.
func TestCollapsedFitsOfHouseVotesAgree(t *testing.T) {
	stdout, _ := done(t, "fit", "--model", "bernmix", "--method", "cvb0", "--prior", "a=0.5,b=0.5", "--kmax", "8", "--restarts", "2", "--tol", "1e-8")
	for _, part := range []string{"chosen K        6 of at most 8", "collapsed       -3023.1", "2 of 2 reached this value"} {
		assert.Contains(t, stdout, part)
	}
	for _, args := range [][]string{{"fit", "--method", "cvb0", "--accelerate"}, {"fit", "--method", "cvb0", "--criterion", "bic"},
		{"fit", "--criterion", "sbic"}, {"select", "--method", "vb", "--criteria", "sbic"}, {"fit", "--model", "bpca", "--criterion", "collapsed"}} {
		status, _, stderr := latent("", args...)
		assert.Equal(t, 2, status, args)
		assert.Contains(t, stderr, "cannot be used with", args)
	}
	status, _, stderr := latent("", "fit", "--family", "gaussian-tied", "--method", "cvb0")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "give each class its own")
}

func TestSelectComparesByCriteriaOfTheWholeSweep(t *testing.T) {
	few := []string{"select", "--data", "faithful", "--kmax", "2", "--restarts", "1", "--criteria"}
	fails(t, 1, "slope has no value: the slope heuristic fits a line to the larger half of the fits: compare 5 sizes or more", "", append(few, "bic,slope")...)
	fails(t, 1, "dnml has no value: gaussian has infinitely many values", "", append(few, "bic,dnml", "--cov", "full")...)
	stdout, _ := done(t, "select", "--data", "faithful", "--kmax", "5", "--restarts", "1", "--tol", "1e-6", "--criteria", "slope,collapsed,exacticl,sbic,bic")
	for _, part := range []string{"collapsed chooses K = 2", "exacticl chooses K = 2", "bic    chooses K = 2", "slope  chooses K = 2"} {
		assert.Contains(t, stdout, part)
	}
}

// The standard errors of one component are those of any table of normal numbers: σ/√n, and
// σ/√(2n) of the standard deviation.
func TestStandardErrorsOfOneComponentAreThoseOfTheTable(t *testing.T) {
	for _, family := range []string{"gaussian", "gaussian-diagonal", "gaussian-tied"} {
		r := fitJSON(t, "--family", family, "--k", "1")
		column := r.Components[0].Columns[1]
		assert.Equal(t, "waiting", column.Name)
		sd := float64(column.Values["sd"])
		assert.InDelta(t, 13.57, sd, 0.01)
		assert.InEpsilon(t, sd/math.Sqrt(272), float64(column.Errors["mean"]), 1e-9)
		if family != "gaussian-tied" { // whose covariance no single component tells
			assert.InEpsilon(t, sd/math.Sqrt(2*272), float64(column.Errors["sd"]), 1e-9)
		}
	}
}

// Beside the parameters are the standard errors of all of them, those of covariances too: of
// a sample one, √((σ₁²σ₂² + σ₁₂²)/n).
func TestParametersHaveTheirStandardErrors(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	type estimated struct {
		Weights, Components []float64
		Errors              struct{ Weights, Components []float64 } `json:"complete_data_standard_errors"`
	}
	var p estimated
	r := fitJSON(t, "--k", "1", "--out", model)
	require.NoError(t, json.Unmarshal(r.Params, &p))
	mean, cov := p.Components[:2], p.Components[2:]
	assert.InDelta(t, 70.897, mean[1], 1e-3)
	assert.Equal(t, []float64{0}, p.Errors.Weights)
	for i, want := range []float64{math.Sqrt(cov[0]), math.Sqrt(cov[3]),
		math.Sqrt(2 * cov[0] * cov[0]), math.Sqrt(cov[0]*cov[3] + cov[1]*cov[1]), math.Sqrt(cov[0]*cov[3] + cov[1]*cov[1]), math.Sqrt(2 * cov[3] * cov[3])} {
		assert.InEpsilon(t, want/math.Sqrt(272), p.Errors.Components[i], 1e-9, "parameter %d", i)
	}
	_, stderr := done(t, "predict", model, "--data", "faithful")
	assert.Empty(t, stderr)

	for _, method := range []string{"gfab", "vb"} {
		p = estimated{}
		r = fitJSON(t, "--data", "iris", "--k", "3", "--method", method, "--family", "gaussian-diagonal")
		require.NoError(t, json.Unmarshal(r.Params, &p))
		for k, c := range r.Components {
			assert.EqualValues(t, c.WeightError, p.Errors.Weights[k])
		}
		require.Len(t, p.Errors.Components, len(p.Components))
	}
}

// votes tells how many rows of House Votes two components separate as the parties do.
func votes(t *testing.T, args ...string) float64 {
	t.Helper()
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, append([]string{"fit", "--model", "bernmix", "--k", "2", "--out", model}, args...)...)
	stdout, _ := done(t, "predict", model, "--data", "housevotes84")
	table, err := data.Load("housevotes84")
	require.NoError(t, err)
	agree := 0
	for i, record := range records(t, stdout)[1:] {
		if record[0] == strconv.Itoa(int(table.Codes("Class")[i])+1) {
			agree++
		}
	}
	share := float64(agree) / float64(table.Rows())
	return max(share, 1-share)
}

func TestBernoulliMixturesFindTheParties(t *testing.T) {
	for _, args := range [][]string{{"--method", "gfab"}, {"--method", "em"}, {"--method", "map", "--prior", "a=2,b=2"}, {"--method", "vb", "--prior", "a=0.5,b=0.5"}} {
		assert.Greater(t, votes(t, args...), 0.8, "%v", args)
	}
	stdout, stderr := done(t, "fit", "--model", "bernmix", "--k", "2")
	for _, part := range []string{"housevotes84: 435 rows × 16 columns", "bernmix, bernoulli components", `bernoulli, "y" is 1 and "n" is 0: V1, V2,`, "P(y)",
		"The most characteristic columns come first; 9 more columns are left out"} {
		assert.Contains(t, stdout, part)
	}
	assert.Contains(t, stderr, "392 missing values in 203 of the 435 rows of housevotes84 integrated out (--missing drop leaves the rows out)")

	stdout, stderr = done(t, "fit", "--model", "bernmix", "--k", "2", "--missing", "drop")
	assert.Contains(t, stdout, "232 rows")
	assert.Contains(t, stderr, "left out 203 of the 435 rows")
	fails(t, 1, "is missing: --missing keep integrates it out", "", "fit", "--model", "bernmix", "--missing", "error")
}

// mixedTable draws a table of two kinds of rows whose columns are of all types, with gaps.
func mixedTable(rows int, gaps float64) string {
	rng := rand.New(rand.NewPCG(3, 5))
	text := "age,visits,smokes,colour,answer\n"
	for i := range rows {
		kind := i % 2
		cells := []string{
			strconv.FormatFloat(30+30*float64(kind)+4*rng.NormFloat64(), 'f', 3, 64),
			strconv.FormatFloat(distuv.Poisson{Lambda: 1 + 11*float64(kind), Src: rng}.Rand(), 'f', 0, 64),
			strconv.Itoa(kind),
			[][]string{{"green", "blue", `"red, dark"`}, {`"red, dark"`, `"red, dark"`, "blue"}}[kind][rng.IntN(3)],
			[]string{"nny", "yyn"}[kind][rng.IntN(3):][:1],
		}
		if i%7 == 0 {
			cells[2] = strconv.Itoa(1 - kind)
		}
		if rng.Float64() < gaps {
			cells[rng.IntN(len(cells))] = ""
		}
		text += strings.Join(cells, ",") + "\n"
	}
	return text
}

func TestATableOfMixedTypesGoesAllTheWay(t *testing.T) {
	dir := t.TempDir()
	table, model := file(t, "mixed.csv", mixedTable(240, 0.1)), filepath.Join(dir, "m.json")
	args := []string{"--family", "auto", "--columns", "answer=bernoulli"}
	stdout, stderr := done(t, append([]string{"fit", "--data", table, "--out", model}, args...)...)
	for _, part := range []string{"gaussian (numbers): age", "poisson (counts): visits", "bernoulli (two values): smokes", "categorical of 3 levels (texts): colour", `bernoulli, "y" is 1 and "n" is 0: answer`,
		"chosen K        2 of at most 10", "most likely", "red, dark 0.", "P(1)", "P(y)", "rate"} {
		assert.Contains(t, stdout, part)
	}
	assert.Contains(t, stderr, "integrated out")
	saved, err := known.read(model)
	require.NoError(t, err)
	assert.Equal(t, []data.Column{{Name: "age", Family: "gaussian"}, {Name: "visits", Family: "poisson"}, {Name: "smokes", Family: "bernoulli"},
		{Name: "colour", Family: "categorical", Levels: []string{"blue", "green", "red, dark"}}, {Name: "answer", Family: "bernoulli", Levels: []string{"n", "y"}}}, withoutReasons(saved.Columns))
	assert.Equal(t, "answer=bernoulli", saved.Settings.Described().Text)

	stdout, _ = done(t, "predict", model, "--data", table)
	rows := records(t, stdout)
	assert.Equal(t, []string{"label", "probability", "p1", "p2", "log_likelihood"}, rows[0])
	assert.Len(t, rows, 241)
	wrong := 0
	for i, row := range rows[1:] {
		if row[0] != rows[1+i%2][0] {
			wrong++
		}
	}
	assert.Less(t, wrong, 10)

	drawn := filepath.Join(dir, "drawn.csv")
	done(t, "sample", model, "-n", "2000", "--labels", "--out", drawn)
	sample := records(t, contents(t, drawn))
	assert.Equal(t, []string{"age", "visits", "smokes", "colour", "answer", "component"}, sample[0])
	for _, row := range sample[1:] {
		assert.Contains(t, []string{"blue", "green", "red, dark"}, row[3])
		assert.Contains(t, []string{"n", "y"}, row[4])
		assert.Contains(t, []string{"1", "2"}, row[5])
	}
	first, again := fitJSON(t, append([]string{"--data", table}, args...)...), fitJSON(t, append([]string{"--data", drawn, "--drop", "component", "--restarts", "2"}, args...)...)
	assert.Equal(t, first.K, again.K)
	assert.Equal(t, withoutReasons(first.Columns), withoutReasons(again.Columns))
	for k, c := range first.Components { // the weights are nearly equal: the means tell which is which
		best := math.Inf(1)
		for _, other := range again.Components {
			best = min(best, math.Abs(float64(c.Columns[0].Values["mean"]-other.Columns[0].Values["mean"])))
		}
		assert.Less(t, best, 1., "component %d", k+1)
	}
}

func TestPredictionsOfASavedMixtureAreBitExact(t *testing.T) {
	dir := t.TempDir()
	table := file(t, "mixed.csv", mixedTable(80, 0.05))
	for _, c := range [][]string{
		{"--data", table, "--family", "auto", "--method", "em"},
		{"--data", table, "--family", "auto", "--method", "vb"},
		{"--data", "faithful", "--method", "gfab"},
		{"--data", "faithful", "--family", "gaussian-tied", "--method", "vb"},
		{"--data", "faithful", "--family", "gaussian-spherical", "--method", "map"},
		{"--data", "faithful", "--family", "gamma", "--method", "em"},
	} {
		model := filepath.Join(dir, "m.json")
		r := fitJSON(t, append([]string{"--k", "2", "--out", model}, c...)...)
		saved, err := known.read(model)
		require.NoError(t, err)
		assert.JSONEq(t, string(r.Params), string(saved.Params))
		assert.JSONEq(t, string(orNull(r.Posterior)), string(orNull(saved.Posterior)))

		stdout, _ := done(t, "predict", model, "--data", c[1], "--format", "json")
		var p struct {
			Columns          []string
			Label            []int
			Probability      []float64
			Responsibilities [][]float64
			LogLikelihood    []float64 `json:"log_likelihood"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &p))
		assert.Equal(t, namesOf(r.Columns), p.Columns)
		var params *mixture.Parameters
		require.NoError(t, json.Unmarshal(saved.Params, &params))
		m := mixture.Model{Family: families.OfRows(saved.Family, saved.Columns)}
		in := &tables.Input{Named: data.Named{Table: mustLoad(t, c[1])}}
		require.NoError(t, in.Recode(saved.Columns, upTo(0, len(saved.Columns)-1), false))
		x, n, d, err := in.Values()
		require.NoError(t, err)
		rows := blocks.Rows{N: n, D: d, Stride: d, X: x}
		score, err := m.Scorer(params)
		require.NoError(t, err)
		logProb, q, err := score(rows, nil, nil)
		require.NoError(t, err)
		if of := (mixture.Variational{Family: m.Family}); saved.Posterior != nil {
			var posterior *mixture.Posterior
			require.NoError(t, json.Unmarshal(saved.Posterior, &posterior))
			if of.Collapses(posterior) == nil {
				logProb, q, err = of.Predictive(rows, posterior, nil, nil)
				require.NoError(t, err)
			}
		}
		assert.Equal(t, logProb, p.LogLikelihood)
		assert.Equal(t, q, slices.Concat(p.Responsibilities...))
		for i, label := range mixture.Labels(q, 2) {
			assert.Equal(t, label+1, p.Label[i])
			assert.Equal(t, slices.Max(p.Responsibilities[i]), p.Probability[i])
		}
	}
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}

func mustLoad(t *testing.T, name string) *data.Table {
	t.Helper()
	var table *data.Table
	var err error
	if _, ok := data.Lookup(name); ok {
		table, err = data.Load(name)
	} else {
		table, err = data.Open(name)
	}
	require.NoError(t, err)
	return table
}

func TestPredictionsOfAMixtureFollowTheNamesOfColumns(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.json")
	done(t, "fit", "--data", file(t, "a.csv", mixedTable(60, 0)), "--family", "auto", "--k", "2", "--out", model)
	want, _ := done(t, "predict", model, "--data", file(t, "b.csv", "age,visits,smokes,colour,answer\n31,2,0,green,n\n65,10,1,\"red, dark\",y\n"))
	got, _ := done(t, "predict", model, "--data", file(t, "c.csv", "colour,more,answer,age,smokes,visits\ngreen,x,n,31,0,2\n\"red, dark\",x,y,65,1,10\n"))
	assert.Equal(t, want, got)
}

// Predict knows the class labels of embedded data sets by their name if the model does.
func TestPredictLeavesOutLabelsThatTheModelHasNot(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", "iris", "--k", "2", "--out", model)
	_, stderr := done(t, "predict", model, "--data", "iris")
	assert.Equal(t, "latent: 1 column of iris left out, as not in the model (--id passes columns through): \"Species\"\n", stderr)
	done(t, "fit", "--data", "iris", "--select", "Petal.Length,Species", "--family", "auto", "--k", "3", "--out", model)
	stdout, stderr := done(t, "predict", model, "--data", "iris")
	assert.Len(t, records(t, stdout), 151)
	assert.Contains(t, stderr, `3 columns of iris left out, as not in the model (--id passes columns through): "Sepal.Length", "Sepal.Width", "Petal.Width"`)
}

func TestUnseenLevelsAreRefusedOrMissing(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", file(t, "a.csv", mixedTable(60, 0)), "--columns", "answer=bernoulli", "--k", "2", "--out", model)
	const head = "age,visits,smokes,colour,answer\n31,2,0,green,n\n"
	unseen := file(t, "u.csv", head+"65,10,1,pink,y\n")
	fails(t, 1, `row 2 of column "colour" is "pink", which is none of the levels "blue", "green", "red, dark"`, "", "predict", model, "--data", unseen)
	fails(t, 1, `row 2 of column "answer" is "maybe", which is none of the levels "n", "y"`, "", "predict", model, "--data", file(t, "v.csv", head+"65,10,1,blue,maybe\n"))
	fails(t, 1, `row 2 of column "visits" is -1: outside the support of poisson: the counts`, "", "predict", model, "--data", file(t, "w.csv", head+"65,-1,1,blue,y\n"))
	fails(t, 1, `column "age" is categorical: row 2 is "old"`, "", "predict", model, "--data", file(t, "x.csv", head+"old,1,1,blue,y\n"))

	want, _ := done(t, "predict", model, "--data", file(t, "m.csv", head+"65,10,1,,y\n"))
	got, stderr := done(t, "predict", model, "--data", unseen, "--unseen", "missing")
	assert.Equal(t, want, got)
	assert.Contains(t, stderr, "1 missing value in 1 of the 2 rows")
	assert.Contains(t, stderr, `--unseen missing makes 1 cell of `+unseen+` missing, as the model has not seen their levels: "colour" ("pink" in row 2)`)
	several := file(t, "s.csv", head+"65,10,1,pink,maybe\n31,2,0,teal,n\n31,2,0,,no\n")
	for _, format := range []string{"csv", "json"} {
		_, stderr = done(t, "predict", model, "--data", several, "--unseen", "missing", "--format", format)
		assert.Contains(t, stderr, `makes 4 cells of `+several+` missing, as the model has not seen their levels: "colour" (2 cells, such as "pink" in row 2), "answer" (2 cells, such as "maybe" in row 2)`)
	}
	_, stderr = done(t, "predict", model, "--data", file(t, "seen.csv", head), "--unseen", "missing")
	assert.Empty(t, stderr)
	got, stderr = done(t, "predict", model, "--data", unseen, "--unseen", "missing", "--missing", "drop")
	lines := strings.Split(want, "\n")
	assert.Equal(t, "row,"+lines[0]+"\n1,"+lines[1]+"\n", got)
	assert.Contains(t, stderr, "left out 1 of the 2 rows")
	fails(t, 1, `row 2 of column "colour" is missing`, "", "predict", model, "--data", unseen, "--unseen", "missing", "--missing", "error")
}

func TestFamiliesThatNeedCompleteRowsSaySo(t *testing.T) {
	gaps := file(t, "g.csv", "a,b\n1,4\n2,\n3,1\n4,7\n5,2\n6,6\n")
	for _, family := range []string{"gaussian-spherical", "gaussian-vei", "multinomial"} {
		fails(t, 1, `row 2 of column "b" is missing: this family needs complete rows; --missing drop leaves such rows out`, "", "fit", "--data", gaps, "--family", family)
		_, stderr := done(t, "fit", "--data", gaps, "--family", family, "--k", "1", "--missing", "drop")
		assert.Contains(t, stderr, "left out 1 of the 6 rows")
	}
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", gaps, "--family", "gaussian-spherical", "--missing", "drop", "--k", "1", "--out", model)
	fails(t, 1, `row 2 of column "b" is missing`, "", "predict", model, "--data", gaps)
	fails(t, 2, "--missing drop", "", "predict", model, "--data", gaps, "--missing", "keep")
	for _, family := range []string{"gaussian", "gaussian-tied", "gaussian-eev", "gaussian-diagonal", "auto", "poisson"} {
		_, stderr := done(t, "fit", "--data", gaps, "--family", family, "--k", "1")
		assert.Contains(t, stderr, "1 missing value in 1 of the 6 rows of "+gaps+" integrated out")
	}
}

func TestBadDataOfMixturesAreOneLine(t *testing.T) {
	const counts = "a,b\n1,0\n2,3\n1,4\n2,5\n"
	for _, c := range []struct{ text, flags, part string }{
		{"a,b\n1,0\n2,3\n3,-1\n", "--family poisson", `row 3 of column "b" is -1: outside the support of poisson: the counts 0, 1, 2, …`},
		{"a,b\n1,0\n2,2.5\n3,1\n", "--columns b=poisson", `row 2 of column "b" is 2.5: outside the support of poisson: the counts 0, 1, 2, …`},
		{"a,b\n1,0\n0,7\n0,1\n", "--family bernoulli", `row 2 of column "b" is 7: outside the support of bernoulli: the numbers 0 and 1`},
		{"a,b\n1,0\n0,7\n0,1\n", "--model bernmix", `row 2 of column "b" is 7: outside the support of bernoulli: the numbers 0 and 1`},
		{"a,b\n1,-3\n0,7\n0,1\n", "--columns b=exponential", `row 1 of column "b" is -3: outside the support of exponential:`},
		{counts, "--columns b=gamma", `row 1 of column "b" is 0: outside the support of gamma:`},
		{"a,b\n1,x\n2,y\n3,z\n", "--family gaussian", `column "b" is categorical: row 1 is "x"; a numeric column is needed here (--drop b, or --family auto)`},
		{"a,b\n1,x\n0,y\n1,z\n", "--model bernmix", `column "b" has 3 levels ("x", "y", "z"): bernoulli takes columns of 0 and 1, or texts with two levels: --drop b, or --model mixture --columns b=categorical`},
		{"a,b\n1,x\n0,x\n1,x\n", "--model bernmix", `column "b" has 1 level ("x")`},
		{"a,b\n1,x\n0,x\n1,x\n", "--columns b=categorical", `column "b" has 1 level ("x"); must have at least two: --drop b`},
		{"a,b,c\nu,x,0\nu,x,1\n", "--columns a=categorical,b=categorical", `columns "a", "b" have 1 level each; must have at least two: --drop a,b`},
		{"a,b\nu,x\nu,x\n", "--family categorical", "every column has a single level: there is nothing to fit"},
		{"a,b\nu,x\nu,x\n", "--family auto", `no column is left to fit: left out, with the same value in every row: "a", "b"`},
		{"a,b,c\n1,5,2\n1,5,4\n1,5,9\n", "--floor 0", `columns "a", "b" are constant: --drop a,b`},
		{"a,b\n1,5\n1,5\n", "--family gamma", "every column is constant: there is nothing to fit"},
		{"a,b,c\n1,x,u\n2,y,v\n3,z,w\n", "--family gaussian", "(--drop b,c, or --family auto)"},
		{"a,b,c\n1,x,u\n2,y,v\n3,z,w\n", "--columns a=gamma --family poisson", "(--drop b,c, or --columns a=gamma,b=categorical,c=categorical)"},
		{"b,c\nx,u\ny,v\nz,w\n", "--family gaussian", "a numeric column is needed here (--family auto)"},
		{"a,b,c\n1,2,3\n2,5,1\n7,1,1\n", "--cov full", "3 rows and 3 columns: a covariance matrix needs more rows than columns: --family gaussian-diagonal"},
		{"1:2\n3:4\n5:b\n", "", "(fields are separated by commas, semicolons, tabs or bars, or by blanks, as many in each line; --family auto describes"},
		{"a,b\n1e-310,5\n2e-310,6\n4e-310,9\n", "", `column "a" is constant, to working precision: drop it, or rescale it (--drop a)`},
		{"a,b\n0,0\n0,0\n", "--family multinomial", "every count is 0: there is nothing to fit"},
		{"a,b\n0,0\n0,0\n", "--family exponential", `column "a" is constant, to working precision: drop it, or rescale it (--drop a)`},
		{"a,b,w\n1,5,1\n2,5,1\n3,6,0\n", "--weights w --floor 0", `column "b" is constant: --drop b`},
		{"a;b\n1,5;2\n2,5;5\n", "--decimal .", `row 1 is "1,5"; the table is read with decimal points, as in 1.5`},
		{"a,b\n1,2\n2,x y\n", "--columns a=poisson --family poisson", "(--drop b, or --columns a=poisson,b=categorical)"},
		{"a,b\n1,5\n2,5\n3,5\n4,5\n", "--method vb", `column "b" is constant: --drop b`},
		{"a,b\n1,5\n2,5\n3,5\n4,5\n", "--family gaussian-diagonal --floor 0", `column "b" is constant: --drop b`},
		{"a,b\n1,5\n1,5\n1,5\n1,5\n", "", "every column is constant: there is nothing to fit"},
		{counts, "--floor 1000", `column "a" has the variance 0.25, below 1000 times its floor, 83.3: lower that factor`},
		{"a,b\n1,5\n2,5\n3,5\n4,5\n", "--columns b=categorical", `column "b" has 1 level ("5")`},
		{"a,b\n1,\n2,\n3,\n", "--family gaussian", `column "b" has no value at all: --drop b`},
		{"a,b\n1,\n2,\n3,\n", "--columns b=categorical", `column "b" has no value at all: --drop b`},
		{"a,b\n1,2\n2,4\n3,6\n4,8\n", "--floor 0 --cov full", `column "b" is a linear combination of other columns: drop it, or take a diagonal covariance (--drop b, or --family gaussian-diagonal)`},
		{"a\n3\n-1\n", "--family poisson", "(correct it, --drop a, or give it another family by --columns)"},
		{"a,b\n1,0\n0,7\n0,1\n", "--model bernmix --method em", "(correct it, --drop b, or take --model mixture --family auto)"},
		{counts, "--columns q=poisson", `no column "q" to describe; the columns are "a", "b"`},
		{counts, "--drop b --columns b=poisson", `no column "b" to describe; the columns are "a"`},
		{counts, "--weights b --columns b=poisson", `no column "b" to describe; the columns are "a"`},
		{"a,b\n1,0\n1,0\n2,1\n2,1\n", "--k 3 --family poisson", "3 components for 2 distinct rows: choose K up to 2"},
		{"a,b\n1,0\n1,0\n2,1\n2,1\n", "--k 3 --family auto", "3 components for 2 distinct rows: choose K up to 2"},
		{"a\n1\n2\n3\n", "--family multinomial", "1 column: multinomial needs counts of at least two categories"},
		{"a,b\n1,Inf\n2,1\n", "--family auto", `row 1 of column "b" is infinite`},
		{"a,b,w\n1,2,1\n4,5,-1\n7,1,1\n", "--weights w", "the weight of row 2 is -1"},
		{"a,b,w\n1,2,1\n4,5,\n7,1,1\n", "--weights w --family auto", "the weight of row 2 is missing"},
		{"1,b\n1,2\n3,4\n5,7\n", "", "the first row looks like a header: read it with a header (--header yes)"},
		{"1,b\n1,2\n3,4\n5,7\n", "--family auto", "the first row looks like a header: read it with a header (--header yes)"},
		{"a,b\n", "", "there are names but no rows; if the first line is data, say that there is no header (--header no)"},
		{counts, "--k 1000000000", "1000000000 components for 4 rows: choose K up to 4"},
		{counts, "--kmax 1000000000 --method em", "1000000000 components for 4 rows: choose K up to 4"},
		{"a,b\n1,0\n0,0\n0,1\n", "--model bernmix --kmax 1000000000", "1000000000 components for 3 rows: choose K up to 3"},
		{"a\n1\n2\n", "--model bpca --kmax 1000000000 --method em", "1 column and K = 1000000000"},
		{"a,b\n1,2\n2,5\n2,3\n", "--model bpca --k 1000000000", "K = 1000000000 with D = 2 columns"},
		{"a,b\n1,x\n2,y\n3,z\n", "--columns b=poisson", `row 1 is "x"; a numeric column is needed here (--columns b=poisson describes numbers: say categorical, or --na TEXT`},
		{"a,b\n1,x\n2,y\n3,z\n", "--family gaussian-diagonal --columns a=poisson", "(--drop b, or --columns a=poisson,b=categorical)"},
		{counts, "--method vb --prior nu=0.5", "--prior nu=0.5: 2 columns need more than 1 degrees of freedom"},
	} {
		path := file(t, "d.csv", c.text)
		args := append([]string{"fit", "--data", path}, strings.Fields(c.flags)...)
		fails(t, 1, c.part, "", args...)
		fails(t, 1, path+": ", "", args...)
	}
	for _, args := range [][]string{{"--model", "mixture"}, {"--model", "bernmix"}, {"--model", "bpca"}} {
		fails(t, 1, "1000000000", "", append([]string{"select", "--kmin", "1000000000"}, args...)...)
	}
	fails(t, 2, "no family of the model takes kappa: bernoulli, poisson takes weights, shape, rate, a, b", "", "fit", "--data", file(t, "d.csv", counts), "--family", "auto", "--method", "vb", "--prior", "kappa=1")
}

// Repeated rows, and tables of fewer rows than the default kmax, are no error.
func TestTheDefaultOfKmaxFitsTheTable(t *testing.T) {
	for _, c := range []struct {
		text, family string
		want         int
	}{
		{"a,b\n1,0\n1,0\n2,1\n2,1\n1,0\n5,3\n5,3\n", "poisson", 3},
		{"a,b\n1,0\n", "poisson", 1},
		{"a,b\n1,0\n2,1\n3,4\n", "poisson", 1},
		{mixedTable(40, 0), "auto", 10},
	} {
		assert.Equal(t, c.want, fitJSON(t, "--data", file(t, "d.csv", c.text), "--family", c.family).KMax)
	}
	assert.Equal(t, 3, fitJSON(t, "--data", file(t, "d.csv", "a,b\n1,0\n2,5\n3,1\n4,9\n5,5\n6,2\n7,7\n")).KMax, "two rows determine a sphere")
}

func TestWeightsOfMixturesAreRepeatedRows(t *testing.T) {
	weighted, repeated := "a,w,b\n", "a,b\n"
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		row := [2]float64{rng.NormFloat64() + float64(6*(i%2)), rng.NormFloat64()}
		times := 1 + i%3
		weighted += fmt.Sprintf("%v,%d,%v\n", row[0], times, row[1])
		repeated += strings.Repeat(fmt.Sprintf("%v,%v\n", row[0], row[1]), times)
	}
	w, r := file(t, "w.csv", weighted), file(t, "r.csv", repeated)
	for _, method := range []string{"em", "map", "vb"} {
		a := fitJSON(t, "--data", w, "--weights", "w", "--k", "2", "--method", method)
		b := fitJSON(t, "--data", r, "--k", "2", "--method", method)
		assert.EqualValues(t, 120, a.N)
		assert.InEpsilon(t, float64(b.Value), float64(a.Value), 1e-6, method)
	}
}

func TestSelectOfMixturesHasICL(t *testing.T) {
	stdout, stderr := done(t, "select", "--kmax", "4", "--format", "json")
	assert.Equal(t, "latent: K = 4 is the largest compared, and best by fic, aic: larger K may be better (--kmax)\n", stderr)
	var s outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	assert.Equal(t, "em", s.Method)
	assert.Equal(t, []string{"bicem", "evidence", "gfic", "fic", "bic", "aic", "icl"}, s.Criteria)
	assert.Equal(t, []data.Column{{Name: "eruptions", Family: "gaussian"}, {Name: "waiting", Family: "gaussian"}}, s.Columns)
	assert.Equal(t, 2, s.Chosen["icl"])
	assert.Equal(t, 2, s.Chosen["gfic"])
	assert.Len(t, s.Table, 4)

	stdout, _ = done(t, "select", "--model", "bernmix", "--method", "vb", "--kmin", "2", "--kmax", "3")
	assert.Contains(t, stdout, "elbo")
	assert.Contains(t, stdout, "bernmix, bernoulli components, by vb")
}

func TestPriorsReachTheirFamilies(t *testing.T) {
	mixed := file(t, "mixed.csv", mixedTable(60, 0))
	for _, c := range []struct{ data, family, columns, plain, other string }{
		{"faithful", "gaussian", "", "kappa=1", "kappa=100,nu=50"},
		{"faithful", "gaussian-tied", "", "nu=2", "nu=90"},
		{mixed, "auto", "answer=bernoulli", "a=1,b=1", "a=30,b=30"},
		{mixed, "auto", "", "alpha=1", "alpha=30"},
		{mixed, "auto", "age=exponential", "weights=1", "shape=90,rate=9"},
		{mixed, "auto", "", "weights=1", "weights=50"},
	} {
		for _, method := range []string{"map", "vb"} {
			args := []string{"--data", c.data, "--family", c.family, "--method", method, "--k", "2"}
			if c.columns != "" {
				args = append(args, "--columns", c.columns)
			}
			def := fitJSON(t, args...)
			plain := fitJSON(t, append(args, "--prior", c.plain)...)
			other := fitJSON(t, append(args, "--prior", c.other)...)
			assert.Equal(t, def.Value, plain.Value, "%v: %s is the default", args, c.plain)
			assert.NotEqual(t, plain.Value, other.Value, "%v: %s", args, c.other)
			assert.Equal(t, c.other, other.Settings.Prior)
		}
	}
}

func TestComponentsThatVariationalBayesEmptiesAreTold(t *testing.T) {
	stdout, _ := done(t, "fit", "--method", "vb", "--k", "6", "--prior", "weights=0.001")
	assert.Contains(t, stdout, "in use          2 of the 6 components hold rows")
	assert.Contains(t, stdout, "4 components are left out, with less than half a row each")
	assert.NotRegexp(t, `(?m)^ +3 `, stdout)
	assert.Len(t, fitJSON(t, "--method", "vb", "--k", "6", "--prior", "weights=0.001").Components, 6)
}

// A flat prior of the weights lets MAP empty components: that is a mode, and is warned of.
func TestComponentsThatMAPEmptiesAreWarnedOf(t *testing.T) {
	text := "x\n"
	for i := range 60 {
		text += fmt.Sprintln(-math.Log((float64(i) + 0.5) / 60))
	}
	args := []string{"--data", file(t, "x.csv", text), "--family", "exponential", "--method", "map", "--k", "3", "--restarts", "2"}
	r := fitJSON(t, args...)
	require.Less(t, float64(r.Components[1].Weight), 1e-6)
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], "1 of the 3 components hold rows, and the others are as the prior has them: --k 1 fits as many, --prior weights=2 empties fewer")
	assert.Empty(t, fitJSON(t, append(args, "--prior", "weights=2")...).Warnings)
}

func TestMixturesOfFewRowsHaveTenStarts(t *testing.T) {
	r := fitJSON(t, "--k", "5", "--method", "em")
	assert.Len(t, r.Restarts, 10)
	assert.Equal(t, 10, r.Settings.Restarts)
	best := 0
	for _, one := range r.Restarts {
		assert.LessOrEqual(t, one.Value, r.Value)
		if one.Value > r.Value-outcome.CloseBy {
			best++
		}
	}
	assert.Less(t, best, 10, "five components of two kinds of rows have several maxima")
	stdout, _ := done(t, "fit", "--k", "5", "--method", "em")
	assert.Contains(t, stdout, fmt.Sprintf("starts          %d of 10 reached this value (to 0.01 nats)", best))
	assert.NotContains(t, stdout, " start ", "a table of starts is for those who asked for them")
	assert.Equal(t, 2, known.models["mixture"].starts(methodGFAB, 5001, 2), "one of each kind")
	assert.Equal(t, 1, known.models["mixture"].starts(methodCVB0, 5001, 2))
	assert.Equal(t, 1, known.models["features"].starts(methodGFAB, 5001, 2))
	assert.Equal(t, 10, known.models["bernmix"].starts(methodGFAB, 5000, 200))
	assert.Equal(t, 2, known.models["mixture"].starts(methodGFAB, 3, 400_000), "three million numbers in three rows")
	assert.Len(t, bpcaJSON(t, "--data", "iris").Restarts, 1)
}

func TestRowsLeftOutKeepTheNumbersOfTheOthers(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	stdout, _ := done(t, "predict", model, "--data", file(t, "d.csv", "eruptions,waiting\n2,50\n,60\n4,80\n"), "--missing", "drop", "--format", "json")
	var p struct {
		Row              []int
		Label            []int
		Responsibilities [][]float64
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &p))
	assert.Equal(t, []int{1, 3}, p.Row)
	assert.Equal(t, []int{2, 1}, p.Label)
	assert.Len(t, p.Responsibilities[1], 2)
	fails(t, 1, "none.json: no such file: make one with latent fit --out", "", "predict", "none.json", "--data", "iris")
	done(t, "fit", "--family", "gaussian-spherical", "--k", "2", "--out", model)
	status, _, stderr := latent("", "predict", model, "--data", file(t, "d.csv", "eruptions,waiting\n2,50\n,60\n"))
	assert.Equal(t, 1, status)
	assert.NotContains(t, stderr, "--family", "the family is past choice")
}

// Where --missing drop has left rows out, errors have the numbers of the others in the file.
func TestErrorsCountTheRowsOfTheFile(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	for _, c := range []struct{ text, args, part string }{
		{"a,b\n1,1\n2,\n-3,4\n", "fit --family poisson", `row 3 of column "a" is -3`},
		{"a,b\n1,1\n2,\nInf,4\n5,5\n", "fit", `row 3 of column "a" is infinite`},
		{"a,b\n1,1\n2,\n3,4\n5,-5\n", "fit --weights b", "the weight of row 4 is -5"},
		{"a,b\n1,\n2,x\n3,4\n", "fit --family gaussian", `row 2 is "x"`},
		{"eruptions,waiting\n2,\n2,50\n3e200,4\n", "predict " + model, "row 3 is so far from every component"},
	} {
		fails(t, 1, c.part, "", append(strings.Fields(c.args), "--missing", "drop", "--data", file(t, "d.csv", c.text))...)
	}
}

func TestStandardErrorsSayThatTheyAreOfCompleteData(t *testing.T) {
	stdout, _ := done(t, "fit", "--format", "json")
	assert.Contains(t, stdout, `"complete_data_standard_errors":{`)
	assert.Contains(t, stdout, `"weight_complete_data_standard_error":`)
	assert.NotContains(t, stdout, `"standard_errors"`)
	stdout, _ = done(t, "help", "fit")
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "they ignore the uncertainty about labels")
}

func TestStartsAndRestarts(t *testing.T) {
	for _, start := range []string{"kmeans", "random", "rows", "scaled", "hierarchical", "seeded"} {
		r := fitJSON(t, "--k", "2", "--start", start, "--restarts", "2")
		assert.Len(t, r.Restarts, 2)
		assert.Equal(t, start, *r.Settings.Flags().(*builtinmixture.Settings).Start)
	}
}

// To a multinomial, proportional rows are the same, and an empty one is like any other.
func TestProportionalRowsAreNotDistinctToAMultinomial(t *testing.T) {
	path := file(t, "d.csv", "a,b\n0,0\n1,2\n2,4\n3,6\n7,14\n49,98\n")
	assert.Equal(t, 1, fitJSON(t, "--data", path, "--family", "multinomial").KMax)
	assert.Equal(t, 3, fitJSON(t, "--data", path, "--family", "poisson").KMax)
}

func TestLabelsOfSamplesRequireAMixture(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.json")
	done(t, "fit", "--data", file(t, "d.csv", "component,b\n1,2\n2,2.5\n3,1\n4,4\n"), "--k", "1", "--out", own)
	fails(t, 2, `a second column named "component"`, "", "sample", own, "-n", "2", "--labels")
	_, bpcaModel := smallModel(t)
	fails(t, 2, "--labels requires a mixture or hmm", "", "sample", bpcaModel, "-n", "2", "--labels")

	votes := filepath.Join(dir, "votes.json")
	done(t, "fit", "--data", file(t, "c.csv", "a,b,c\n1,0,4\n3,2,1\n0,5,2\n2,2,2\n"), "--family", "multinomial", "--k", "1", "--out", votes)
	stdout, stderr := done(t, "sample", votes, "-n", "3")
	assert.Len(t, records(t, stdout), 4)
	assert.Contains(t, stderr, "each row has a single trial")
}

func TestADamagedMixtureIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", file(t, "a.csv", mixedTable(60, 0)), "--family", "auto", "--k", "2", "--method", "vb", "--out", path)
	text := contents(t, path)
	for _, c := range []struct{ old, new, part string }{
		{`"model":"mixture"`, `"model":"bernmix"`, "knows bernoulli"},
		{`"family":"auto"`, `"family":"x"`, "knows gaussian,"},
		{`"family":"auto"`, `"family":"gaussian"`, `the family of column "visits" is "poisson"`},
		{`"family":"poisson"`, `"family":"weibull"`, `the family of column "visits" is "weibull", and this model has gaussian, poisson`},
		{`"family":"poisson"`, `"family":"categorical"`, `column "visits" is categorical and has 0 levels`},
		{`"family":"bernoulli"`, `"family":"bernoulli","levels":["a"]`, "has 1 level"},
		{`"family":"poisson"`, `"family":"poisson","levels":["a"]`, "has 1 level"},
		{`["n","y"]`, `["n","n"]`, "a level twice"},
		{`["n","y"]`, `["n","y","z"]`, "numbers of components do not match"},
		{`"name":"visits"`, `"name":"age"`, "two columns"},
		{`{"name":"visits","family":"poisson","reason":"counts (variance 33.6, mean 6.07)"},`, ``, "column names"},
		{`"k":2`, `"k":3`, "do not match"},
		{`"params":`, `"other":`, "no parameters"},
		{`"params":{`, `"params":null,"other":{`, "no parameters"},
		{`"params":{"k":2,"d":5,"weights":[`, `"params":{"k":2,"d":5,"weights":[-`, "weight of component 1 is -"},
		{`"pooled":`, `"part":`, "table as one component"},
	} {
		require.Contains(t, text, c.old)
		broken := file(t, "broken.json", resealed(strings.Replace(text, c.old, c.new, 1)))
		fails(t, 1, c.part, "", "predict", broken, "--data", "iris")
		fails(t, 1, c.part, "", "sample", broken, "-n", "2")
	}
}

// TestNamesOfColumnsAreNoPartOfAMessage, whatever they look like: rows keep their numbers in the
// file where others were left out, and names stay as they are in the header.
func TestNamesOfColumnsAreNoPartOfAMessage(t *testing.T) {
	const odd, table = "row 2 is odd", "row 2 is odd,column 1 is constant: drop it\n1,2\n,3\n%s,5\n6,7\n8,1\n"
	path := func(cell string) string { return file(t, "d.csv", fmt.Sprintf(table, cell)) }
	fails(t, 1, `column "row 2 is odd" is categorical: row 3 is "x"`, "", "fit", "--data", path("x"), "--missing", "drop", "--family", "gaussian")
	fails(t, 1, `row 3 of column "row 2 is odd" is infinite`, "", "fit", "--data", path("Inf"), "--missing", "drop")
	fails(t, 1, `row 3 of column "row 2 is odd" is -4: outside the support of poisson: the counts 0, 1, 2, … (correct it, --drop 'row 2 is odd', or`, "",
		"fit", "--data", path("-4"), "--missing", "drop", "--family", "poisson")
	fails(t, 1, `column "column 1 is constant: drop it" is constant`, "", "fit", "--data", file(t, "e.csv", odd+",column 1 is constant: drop it\n1,2\n,3\n3,2\n4,2\n"), "--missing", "drop", "--floor", "0")

	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", path("4"), "--missing", "drop", "--family", "poisson", "--k", "1", "--out", model)
	fails(t, 1, `row 3 of column "row 2 is odd" is -4: outside the support of poisson`, "", "predict", model, "--data", path("-4"), "--missing", "drop")
	other := file(t, "f.csv", "2,1\n3,\n7,-4\n") // without names: columns are taken by their places
	fails(t, 1, `row 3 of column "V2" is -4`, "", "predict", model, "--data", other, "--missing", "drop")
}

// The plain fit of a Bernoulli mixture finds one K and one value, whatever the seed. Flags that estimated components go
// with choose the method after it.
func TestPlainBernoulliMixtureHasOneAnswer(t *testing.T) {
	for seed := range tier.Of(1, 1, 10) {
		r := fitJSON(t, "--model", "bernmix", "--seed", strconv.Itoa(seed+1))
		assert.Equal(t, methodCVB0, r.Method)
		assert.Equal(t, 5, r.K)
		assert.InDelta(t, -3037.234, float64(r.Value), 0.01)
		assert.Equal(t, len(r.Restarts), r.Reached())
	}
	assert.Equal(t, methodGFAB, fitJSON(t, "--model", "bernmix", "--k", "2").Method)
}

// A category is the same, in every method, as a column of its levels and as columns of 0 and 1 or FALSE and TRUE for
// each of them.
func TestACategoryInColumnsOfItsLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	texts, numbers, truths := "colour,x\n", "red,green,blue,x\n", "red,green,blue,x\n"
	for i := range 120 {
		level := i % 3
		if rng.IntN(5) == 0 {
			level = rng.IntN(3)
		}
		x := fmt.Sprintf("%.3f\n", 3*float64(i%3)+rng.NormFloat64())
		texts += []string{"red", "green", "blue"}[level] + "," + x
		for l := range 3 {
			numbers += map[bool]string{true: "1,", false: "0,"}[l == level]
			truths += map[bool]string{true: "True,", false: "False,"}[l == level]
		}
		numbers, truths = numbers+x, truths+x
	}
	for _, method := range []string{"gfab", "vb"} {
		var fits []reported
		for _, text := range []string{texts, numbers, truths} {
			fits = append(fits, fitJSON(t, "--data", file(t, "c.csv", text), "--family", "auto", "--method", method))
		}
		for _, other := range fits[1:] {
			assert.Equal(t, fits[0].K, other.K)
			assert.Equal(t, fits[0].Df, other.Df)
			assert.InEpsilon(t, float64(fits[0].Value), float64(other.Value), 1e-9, method)
		}
	}
	// Pages, lists of components and forecasts have the probabilities of the levels.
	model, dir := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
	var probabilities []float64
	for _, c := range []struct{ text, column, head string }{
		{texts, "colour", "p_colour=red"}, {numbers, "red", "mean_red"}, {truths, "red", "p_red=True"},
	} {
		table := file(t, "c.csv", c.text)
		done(t, "fit", "--data", table, "--family", "auto", "--k", "2", "--report", dir, "--components", filepath.Join(dir, "c.csv"), "--out", model)
		done(t, "check", model, "--data", table, "--draws", "19")
		done(t, "fit", "--model", "hmm", "--data", table, "--family", "auto", "--k", "2", "--out", model)
		out, _ := done(t, "predict", model, "--data", table, "--forecast", "1")
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		require.NoError(t, err)
		p, err := strconv.ParseFloat(rows[1][slices.Index(rows[0], c.head)], 64)
		require.NoError(t, err)
		probabilities = append(probabilities, p)
	}
	assert.InDelta(t, 0.4, probabilities[0], 0.1)
	assert.InDeltaSlice(t, slices.Repeat(probabilities[:1], 3), probabilities, 1e-6)
}
