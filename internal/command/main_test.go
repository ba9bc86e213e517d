package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/roles"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/bpca"
)

// host is that of latent.
var host = Host{Models: builtin.Models()}

// informed is a context in which the command knows the models of latent.
func informed(ctx context.Context) context.Context {
	if _, is := ctx.Value(surroundingsKey{}).(*surroundings); is {
		return ctx
	}
	return context.WithValue(ctx, surroundingsKey{}, &surroundings{host: host, now: time.Now})
}

// known are the models of the command.
var known = func() *registry {
	r, err := registryOf(host.Models)
	if err != nil {
		panic(err)
	}
	return r
}()

// latent runs the command in this process.
func latent(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(informed(context.Background()), args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// done runs the command and expects it to succeed.
func done(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	status, stdout, stderr := latent("", args...)
	require.Equal(t, 0, status, "latent %v: %s", args, stderr)
	return stdout, stderr
}

// reported is what JSON has of a fit.
type reported struct {
	outcome.Report
	Components []classes.Component `json:"components"`
	Gate       *classes.GateReport `json:"gate"`
}

// fitJSON is the report of a fit.
func fitJSON(t *testing.T, args ...string) reported {
	t.Helper()
	stdout, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
	return reportOf(t, stdout, args...)
}

// reportOf is the report that a fit wrote with these flags.
func reportOf(t *testing.T, text string, args ...string) reported {
	t.Helper()
	r := reported{Report: outcome.Report{Evidence: new(outcome.Evidence)}}
	r.Settings.Roles = roles.Of(known.models[known.modelNamed(args)].settings())
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	return r
}

// bpcaJSON is the report of a fit of BPCA.
func bpcaJSON(t *testing.T, args ...string) reported {
	t.Helper()
	return fitJSON(t, append([]string{"--model", "bpca"}, args...)...)
}

// bpcaOf are the parameters of BPCA.
func bpcaOf(t *testing.T, s outcome.Summary) *bpca.Parameters {
	t.Helper()
	var p *bpca.Parameters
	require.NoError(t, json.Unmarshal(s.Params, &p))
	return p
}

// file writes a temporary file.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// csvOf writes an embedded data set with numbers only, each changed by f.
func csvOf(t *testing.T, name string, f func(v float64) float64) string {
	t.Helper()
	table, err := data.Load(name)
	require.NoError(t, err)
	if set, _ := data.Lookup(name); set.Label != "" {
		table, err = table.Drop(set.Label)
		require.NoError(t, err)
	}
	x, n, d, err := table.Matrix()
	require.NoError(t, err)
	for i := range x {
		x[i] = f(x[i])
	}
	var text bytes.Buffer
	require.NoError(t, data.WriteCSV(&text, table.Names, x, n, d))
	return file(t, name+".csv", text.String())
}

func same(v float64) float64 { return v }

// The closed form of gFAB has its maximum at K = 23, and so ends pruning from 35.
func TestBPCAFindsTheSizeOfSatellite(t *testing.T) {
	best := bpcaJSON(t, "--method", "closed-form")
	assert.Equal(t, 23, best.K)
	r := bpcaJSON(t)
	assert.Equal(t, 23, r.K)
	assert.InEpsilon(t, float64(best.Value), float64(r.Value), 1e-8)
	assert.True(t, r.Converged)

	stdout, stderr := done(t, "fit", "--model", "bpca")
	for _, part := range []string{"satellite: 6435 rows × 36 columns", "chosen K", "gfic", "converged after", "noise variance", "Variance explained", "cumulative", "Pruned from K = 35", "time", "latent predict"} {
		assert.Contains(t, stdout, part)
	}
	assert.Equal(t, "latent: left out the class labels of satellite, column \"classes\" (--select chooses columns)\n", stderr)
}

func TestFitKeepsTheContractOfItsJSON(t *testing.T) {
	keys := []string{"model", "family", "method", "criterion", "value", "k", "kmax", "n", "d", "iterations", "converged", "status", "seed", "seconds", "trace", "objective_trace", "k_trace", "shape", "settings", "params", "loglik", "df", "bic", "aic", "entropy", "criteria", "warnings"}
	allowed := []string{"by_k", "rows", "columns", "pruned", "split", "restarts", "explained", "posterior"}
	for _, method := range []string{"gfab", "fab", "em", "vb", "closed-form"} {
		for _, size := range [][]string{nil, {"--k", "2"}, {"--kmax", "2"}} {
			stdout, _ := done(t, append([]string{"fit", "--model", "bpca", "--data", "iris", "--format", "json", "--method", method, "--seed", "7"}, size...)...)
			var object map[string]any
			require.NoError(t, json.Unmarshal([]byte(stdout), &object))
			for _, key := range keys {
				assert.Contains(t, object, key, method)
			}
			for key := range object {
				assert.True(t, slices.Contains(keys, key) || slices.Contains(allowed, key) ||
					method == "vb" && slices.Contains([]string{"prior", "size_posterior", "credible"}, key), "%s of %s", key, method)
			}
			assert.Equal(t, method, object["method"])
			assert.EqualValues(t, 150, object["n"])
			assert.EqualValues(t, 4, object["d"])
			assert.EqualValues(t, 7, object["seed"])
			assert.Len(t, object["trace"], len(object["k_trace"].([]any)))
			assert.NotNil(t, object["trace"])
			assert.Len(t, object["objective_trace"], len(object["k_trace"].([]any)))
			if method != "closed-form" {
				assert.Len(t, object["trace"], int(object["iterations"].(float64)))
			}
			assert.Equal(t, method == "vb", object["posterior"] != nil)
			shape := object["shape"].(map[string]any)
			k := object["k"].(float64)
			assert.Equal(t, map[string]any{"k": k, "component": 4 * k, "shared": 1.}, shape)
			if size != nil {
				assert.EqualValues(t, 2, object["kmax"])
				assert.EqualValues(t, 2, k)
			}
			prunes := method == "gfab" || method == "fab"
			assert.Equal(t, !prunes && !slices.Contains(size, "--k"), object["by_k"] != nil)
		}
	}
}

func TestMethodsAgreeWithTheClosedForm(t *testing.T) {
	for _, c := range []struct{ method, criterion string }{{"gfab", "gfic"}, {"fab", "fic"}, {"em", "bicem"}, {"em", "bic"}, {"em", "aic"}} {
		solved := bpcaJSON(t, "--data", "iris", "--method", "closed-form", "--criterion", c.criterion)
		r := bpcaJSON(t, "--data", "iris", "--method", c.method, "--criterion", c.criterion)
		assert.Equal(t, solved.K, r.K)
		assert.InEpsilon(t, float64(solved.Value), float64(r.Value), 1e-7, "%v", c)
	}
}

func TestScalingKeepsKAndShiftsTheValue(t *testing.T) {
	plain, scaled := csvOf(t, "satellite", same), csvOf(t, "satellite", func(v float64) float64 { return 1000 * v })
	for _, method := range []string{"gfab", "closed-form"} {
		a, b := bpcaJSON(t, "--data", plain, "--method", method), bpcaJSON(t, "--data", scaled, "--method", method)
		assert.Equal(t, a.K, b.K)
		shift := float64(a.N) * float64(a.D) * math.Log(1000)
		assert.InEpsilon(t, float64(a.Value)-shift, float64(b.Value), 1e-9, method)
	}
}

func TestWeightThreeIsThreeRows(t *testing.T) {
	weighted, repeated := "w,a,b,c\n", "a,b,c\n"
	for i := range 30 {
		x := float64(i)
		row := fmt.Sprintf("%v,%v,%v\n", math.Sin(x)+0.3*math.Sin(7*x*x), math.Sin(x)+0.3*math.Cos(5*x*x), x/9)
		times := 1 + 2*(i%2)
		weighted += fmt.Sprintf("%d,%s", times, row)
		repeated += strings.Repeat(row, times)
	}
	w, r := file(t, "w.csv", weighted), file(t, "r.csv", repeated)
	for _, method := range []string{"gfab", "em", "vb", "closed-form"} {
		a := bpcaJSON(t, "--data", w, "--weights", "w", "--method", method)
		b := bpcaJSON(t, "--data", r, "--method", method)
		assert.Equal(t, b.N, a.N)
		assert.EqualValues(t, 60, a.N)
		assert.Equal(t, []string{"a", "b", "c"}, namesOf(a.Columns))
		assert.Equal(t, b.K, a.K)
		assert.InEpsilon(t, float64(b.Value), float64(a.Value), 1e-9, method)
	}
}

func TestMoreColumnsThanRows(t *testing.T) {
	text := ""
	for i := range 8 {
		for j := range 12 {
			text += fmt.Sprintf("%v,", math.Sin(float64(i*i+3*j*j*i+j)))
		}
		text += fmt.Sprintf("%v\n", math.Sqrt(float64(i)))
	}
	path := file(t, "wide.csv", text)
	for _, args := range [][]string{{"--method", "em"}, {"--method", "vb", "--max-iter", "300"}, {"--method", "closed-form", "--criterion", "bicem"}} {
		r := bpcaJSON(t, append([]string{"--data", path}, args...)...)
		assert.Equal(t, 6, r.KMax, "the 8 centred rows have rank 7")
		assert.Equal(t, 13, r.D)
	}
	for _, method := range []string{"gfab", "fab", "closed-form"} {
		fails(t, 1, "gFIC and FIC need more rows than columns", "", "fit", "--model", "bpca", "--data", path, "--method", method)
	}
	stdout, _ := done(t, "select", "--model", "bpca", "--data", path)
	assert.NotContains(t, stdout, "gfic")
	assert.Contains(t, stdout, "bicem")
}

func TestRestartsAreListed(t *testing.T) {
	r := bpcaJSON(t, "--data", "iris", "--restarts", "3", "--workers", "1")
	assert.Len(t, r.Restarts, 3)
	stdout, _ := done(t, "fit", "--model", "bpca", "--data", "iris", "--restarts", "3")
	assert.Contains(t, stdout, " start ")
}

func TestSelectMarksEachCriterionsChoice(t *testing.T) {
	stdout, _ := done(t, "select", "--model", "bpca", "--format", "json")
	var s outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	assert.Equal(t, []string{"gfic", "fic", "bicem", "bic", "aic"}, s.Criteria)
	assert.Equal(t, 23, s.Chosen["gfic"])
	assert.EqualValues(t, 6435, s.N)
	assert.Len(t, s.Table, 35)

	stdout, _ = done(t, "select", "--model", "bpca", "--data", "iris", "--kmin", "2", "--criteria", "bic,aic")
	assert.Contains(t, stdout, "*")
	assert.NotContains(t, stdout, "bicem")
	for _, method := range []string{"gfab", "fab", "em", "vb"} {
		stdout, _ = done(t, "select", "--model", "bpca", "--data", "iris", "--method", method)
		assert.Contains(t, stdout, "chooses K = 3", method)
	}
}

// With the evidence, p(K|X) says how sure the choice is.
func TestSelectSaysHowSure(t *testing.T) {
	args := []string{"select", "--model", "blockmodel", "--data", "karate", "--method", "gfab", "--criteria", "gfic,evidence", "--kmax", "5", "--size-prior", "uniform"}
	stdout, _ := done(t, args...)
	assert.Contains(t, stdout, "p(K|data)  K = 4: 0.8")
	assert.Contains(t, stdout, "at least 90 %: K = 4, 5")
	stdout, _ = done(t, append(args, "--format", "json")...)
	var s outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	assert.Equal(t, []int{4, 5}, s.Credible)
	sum := 0.0
	for i, p := range s.Posterior {
		assert.Equal(t, i+1, p.K)
		assert.InDelta(t, float64(s.Table[i].Values["evidence"]-s.Table[3].Values["evidence"]), math.Log(float64(p.Probability/s.Posterior[3].Probability)), 1e-9)
		sum += float64(p.Probability)
	}
	assert.InDelta(t, 1, sum, 1e-12)
}

func TestPredictFromTheSavedModelIsBitExact(t *testing.T) {
	dir := t.TempDir()
	for _, method := range []string{"gfab", "vb", "closed-form"} {
		model := filepath.Join(dir, method+".json")
		r := bpcaJSON(t, "--data", "iris", "--method", method, "--out", model)
		saved, err := known.read(model)
		require.NoError(t, err)
		params := bpcaOf(t, saved.Summary)
		assert.Equal(t, bpcaOf(t, r.Summary), params)
		assert.Equal(t, r.Columns, saved.Columns)

		stdout, _ := done(t, "predict", model, "--data", "iris", "--format", "json")
		var p struct {
			Columns       []string
			Mean          [][]float64
			Covariance    fitted.Matrix
			LogLikelihood []float64 `json:"log_likelihood"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &p))
		table, err := data.Load("iris")
		require.NoError(t, err)
		table, err = table.Drop("Species")
		require.NoError(t, err)
		x, n, d, err := table.Matrix()
		require.NoError(t, err)
		rows := mat.NewDense(n, d, x)
		mean, cov, err := params.Transform(rows)
		require.NoError(t, err)
		logProb, err := params.LogProb(rows)
		require.NoError(t, err)
		assert.Equal(t, logProb, p.LogLikelihood)
		assert.Equal(t, mean.RawRowView(149), p.Mean[149])
		assert.Equal(t, number(cov.At(0, 1)), p.Covariance.Values[0][1])
		assert.Equal(t, wording.Numbered("z", r.K), p.Covariance.Names)

		stdout, _ = done(t, "predict", model, "--data", "iris")
		records, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		require.NoError(t, err)
		require.Len(t, records, 151)
		assert.Equal(t, "log_likelihood", records[0][r.K])
		for i, record := range records[1:] {
			v, err := strconv.ParseFloat(record[r.K], 64)
			require.NoError(t, err)
			assert.Equal(t, logProb[i], v)
		}
	}
}

func TestPredictMatchesColumnsByName(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "bpca", "--data", file(t, "a.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,1\n2,2,2\n9,1,1\n"), "--out", model)
	want, _ := done(t, "predict", model, "--data", file(t, "b.csv", "a,b,c\n1,5,3\n4,4,0\n"))
	got, _ := done(t, "predict", model, "--data", file(t, "c.csv", "c,extra,a,text,b\n3,,1,x,5\n0,7,4,y,4\n"))
	assert.Equal(t, want, got)
	_, stderr := done(t, "predict", model, "--data", file(t, "c.csv", "c,extra,a,text,b\n3,,1,x,5\n"))
	assert.Regexp(t, `^latent: 2 columns of .*c.csv left out, as not in the model \(--id passes columns through\): "extra", "text"\n$`, stderr)
	status, got, stderr := latent("1,5,3\n4,4,0\n", "predict", model, "--data", "-")
	assert.Equal(t, 0, status)
	assert.Equal(t, want, got)
	assert.Equal(t, "latent: the columns of standard input are matched by their places: \"V1\", \"V2\", \"V3\" are \"a\", \"b\", \"c\" of the model\n", stderr)

	got, stderr = done(t, "predict", model, "--data", file(t, "d.csv", "a,b,c\n1,5,3\n,2,1\n4,4,0\n"), "--missing", "drop")
	lines := strings.Split(want, "\n")
	assert.Equal(t, "row,"+lines[0]+"\n1,"+lines[1]+"\n3,"+lines[2]+"\n", got)
	assert.Contains(t, stderr, "left out 1 of the 3 rows")

	fails(t, 1, `missing in the data: "b"`, "", "predict", model, "--data", file(t, "e.csv", "a,c,d\n1,2,3\n"))
	fails(t, 1, `2 columns and the model 3`, "1,2\n", "predict", model, "--data", "-")

	out := filepath.Join(t.TempDir(), "p.csv")
	done(t, "predict", model, "--data", file(t, "b.csv", "a,b,c\n1,5,3\n4,4,0\n"), "--out", out)
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, want, string(written))
}

func TestSampleFollowsTheSeed(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "bpca", "--data", "iris", "--out", model)
	a, _ := done(t, "sample", model, "-n", "5000", "--seed", "3")
	b, _ := done(t, "sample", model, "-n", "5000", "--seed", "3")
	c, _ := done(t, "sample", model, "-n", "5000", "--seed", "4")
	assert.Equal(t, a, b)
	assert.NotEqual(t, a, c)
	table, err := data.ReadCSV(strings.NewReader(a), data.CSVOptions{})
	require.NoError(t, err)
	assert.Equal(t, 5000, table.Rows())
	assert.Equal(t, []string{"Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"}, table.Names)
}

// TestFewDimensionsOfManyColumns: with a low --kmax the closed form looks for leading eigenvalues
// alone, or begins to and finds that they do not stand out, with the values of all.
func TestFewDimensionsOfManyColumns(t *testing.T) {
	const n, d, factors = 420, 400, 5
	rng := rand.New(rand.NewPCG(8, 1))
	loadings := make([]float64, d*factors)
	for i := range loadings {
		loadings[i] = rng.NormFloat64()
	}
	var text strings.Builder
	for range n {
		var z [factors]float64
		for k := range z {
			z[k] = float64(k+1) * rng.NormFloat64()
		}
		for j := range d {
			v := rng.NormFloat64()
			for k, zk := range z {
				v += zk * loadings[j*factors+k]
			}
			fmt.Fprintf(&text, "%s%.5g", map[bool]string{true: ","}[j > 0], v)
		}
		text.WriteString("\n")
	}
	path := file(t, "wide.csv", text.String())
	solve := func(kmax string) reported {
		return bpcaJSON(t, "--data", path, "--method", "closed-form", "--criterion", "bicem", "--kmax", kmax)
	}
	all := solve("30")
	assert.Equal(t, factors, all.K)
	for _, kmax := range []string{"5", "12"} {
		few := solve(kmax)
		assert.Equal(t, factors, few.K)
		assert.InEpsilon(t, float64(all.Value), float64(few.Value), 1e-11)
		for i, size := range few.ByK {
			assert.InEpsilon(t, float64(all.ByK[i].Value), float64(size.Value), 1e-11)
		}
		assert.InDeltaSlice(t, bpcaOf(t, all.Summary).Loadings, bpcaOf(t, few.Summary).Loadings, 1e-8)
	}
}

func TestDatasetsAndVersion(t *testing.T) {
	stdout, _ := done(t, "datasets")
	for _, name := range tables.DatasetNames() {
		assert.Contains(t, stdout, name)
	}
	stdout, _ = done(t, "datasets", "--format", "json")
	var list []dataset
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	assert.Len(t, list, len(tables.DatasetNames()))
	stdout, _ = done(t, "version")
	assert.Contains(t, stdout, "latent ")
	stdout, stderr := done(t, "fit", "--model", "bpca", "--help")
	assert.Contains(t, stdout, "--kmax")
	assert.Empty(t, stderr)
}

// fails expects an exit status and one line that holds part.
func fails(t *testing.T, want int, part, stdin string, args ...string) {
	t.Helper()
	status, stdout, stderr := latent(stdin, args...)
	assert.Equal(t, want, status, "latent %v: %s", args, stderr)
	assert.Empty(t, stdout, "latent %v", args)
	assert.Contains(t, stderr, part, "latent %v", args)
	assert.True(t, strings.HasPrefix(stderr, "latent: "), stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	assert.NotRegexp(t, `(^latent|:) (bpca|factor|mixture|vbmf|framework|prior|laplace|pruning): `, stderr)
}

func TestBadDataAreOneLineAndLeaveNoFile(t *testing.T) {
	for _, c := range []struct {
		text, part string
		flags      []string
	}{
		{"a,b,c\n1,2,3\n4,NaN,6\n7,8,1\n", `row 2 of column "b" is missing`, nil},
		{"a,b,c\n1,2,3\n4,Inf,6\n7,8,1\n", `row 2 of column "b" is infinite`, nil},
		{"a,b,c\n1,2\n", "line 2 has 2 fields", nil},
		{"", "empty", nil},
		{"a,b\nx,y\nz,w\n", "no numeric column", nil},
		{"a,b,c\n1,2,x\n4,5,y\n", `column "c" is categorical: row 1 is "x"; drop it (--drop c)`, nil},
		{"a,b,c\n1,u,x\n4,v,y\n", `column "b" is categorical: row 1 is "u"; drop it (--drop b,c)`, nil},
		{"a,b,c\n1,2,3\n1,5,6\n1,8,1\n1,3,3\n1,0,9\n", `column "a" is constant`, nil},
		{"a,b,c\n1,2,3\n1,5,6\n1,8,1\n1,3,3\n1,0,9\n", `column "a" is constant`, []string{"--method", "em"}},
		{"a,b,c\n1,2,3\n1,5,6\n1,8,1\n1,3,3\n1,0,9\n", `column "a" is constant`, []string{"--method", "closed-form"}},
		{"a,b,c\n1,2,3\n", "1 row", nil},
		{"a\n1\n2\n3\n", "1 column", nil},
		{"a,b,c\n1,2,3\n4,5,7\n", "need more rows than columns", nil},
		{"a,b,c\n1,2,3\n4,5,6\n7,8,1\n2,2,2\n9,1,1\n", "K = 3 with D = 3 columns", []string{"--k", "3"}},
		{"a,b,c\n1,2,3\n4,5,6\n7,8,1\n2,2,2\n9,1,1\n", "K = 5 with D = 3 columns", []string{"--kmax", "5", "--method", "em"}},
		{"a,b,w\n1,2,1\n4,5,-1\n7,1,1\n", "the weight of row 2 is -1", []string{"--weights", "w"}},
		{"a,b,w\n1,2,0\n4,5,0\n7,1,0\n", "weights sum to 0", []string{"--weights", "w"}},
		{"a,b\n1,2\n4,5\n", `no column "w"`, []string{"--weights", "w"}},
		{"a,b\n1,2\n4,5\n", `no column "q"`, []string{"--drop", "q"}},
		{"a,b\n1,2\n4,5\n", `no column "q"`, []string{"--select", "a,q"}},
		{"a,b\n1,NA\nNA,5\n", "no rows left", []string{"--missing", "drop"}},
		{"a,b\n1,2\nNA,5\n", "(--missing drop)", nil},
		{"a;b\n1,5;2\n2,5;5\n", "as in 1.5: read it with decimal commas (--decimal ,)", []string{"--decimal", "."}},
		{"a,b,w\n1,2,1e308\n4,5,1e308\n7,1,1\n", "more than a 64-bit float holds", []string{"--weights", "w"}},
		{"a,b,c\n1,,\n2,,\n", `columns "b", "c" have no value at all: --drop b,c`, nil},
		{"a,b\n,\n,\n", "no column has a value: there is nothing to fit", nil},
	} {
		dir := t.TempDir()
		args := append([]string{"fit", "--model", "bpca", "--data", "-", "--out", filepath.Join(dir, "m.json")}, c.flags...)
		fails(t, 1, c.part, c.text, args...)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
	fails(t, 1, "no such file", "", "fit", "--model", "bpca", "--data", filepath.Join(t.TempDir(), "none.csv"))
	fails(t, 1, "categorical", "", "fit", "--model", "bpca", "--data", "iris", "--select", "Sepal.Length,Species")
	fails(t, 1, "is a directory", "", "fit", "--model", "bpca", "--out", t.TempDir())
	fails(t, 1, "is a directory: name a file", "", "fit", "--data", t.TempDir())
	fails(t, 1, "is a directory and not a model file: make one with", "", "predict", t.TempDir(), "--data", "iris")
	fails(t, 1, "cannot write", "", "fit", "--model", "bpca", "--out", filepath.Join(t.TempDir(), "none", "m.json"))
	fails(t, 1, "K = 7 with D = 4", "", "select", "--model", "bpca", "--data", "iris", "--kmin", "7")
}

func TestWrongUseIsOneLineWithTheValidChoices(t *testing.T) {
	for _, c := range []struct{ line, part string }{
		{"", "fit, select, predict, check, after, sample, datasets, version"},
		{"fiit", "fit, select, predict, check, after, sample, datasets, version"},
		{"fit --foo", "unknown flag --foo: --log or --tol or --floor or --cov or --from is perhaps meant, and latent help fit has all flags\n"},
		{"fit --frobnicate", "unknown flag --frobnicate: latent help fit has all flags\n"},
		{"help frobnicate", "no command and no model has that name: choose one of fit, select"},
		{"fit --model lca --family poisson", "--model lca has --family categorical: leave --family poisson out, or take --model mixture"},
		{"fit --model bpca --covariates V1", "--covariates is a flag of --model bernmix, hmm, lds, mixture, regression, and the model is bpca"},
		{"fit extra", "unexpected argument extra: name data by --data extra"},
		{"version extra", "see latent version --help"},
		{"--verison", "unknown flag --verison: choose one of fit, select, predict, check, after, sample, datasets, version"},
		{"fit --model x", `"mixture","bernmix","hmm","regression","bpca"`},
		{"fit --family x", "gaussian, gaussian-tied, gaussian-diagonal, gaussian-spherical, poisson, exponential, gamma, lognormal, bernoulli, categorical, ordinal, multinomial, auto"},
		{"fit --model bpca --family poisson", "--family poisson cannot be used with --model bpca: its only one is gaussian"},
		{"fit --model bernmix --family poisson", "its only one is bernoulli"},
		{"fit --method x", `unknown method "x": the methods are gfab, fab, em, map, vb`},
		{"fit --family gausian", `unknown family "gausian": the families are gaussian, gaussian-tied`},
		{"fit --method closed-form", "choose one of gfab, fab, em, map, vb"},
		{"select --model bernmix --method closed-form", "choose one of gfab, fab, em, map, vb, cvb0"},
		{"fit --model bpca --method map", "choose one of gfab, fab, em, vb, closed-form"},
		{"fit --criterion x", "gfic, fic, bicem, bic, aic, icl, elbo"},
		{"fit --model bpca --criterion icl", "gfic, fic, bicem, bic, aic, elbo"},
		{"fit --method vb --criterion bic", "elbo"},
		{"fit --method vb --criterion icl", "elbo"},
		{"fit --header maybe", `"auto","yes","no"`},
		{"fit --missing x", `"error","drop","keep"`},
		{"fit --family gaussian-spherical --missing keep", "--missing drop"},
		{"fit --family multinomial --missing keep", "--missing drop"},
		{"fit --model bpca --missing keep", "--missing drop"},
		{"fit --start x", "choose one of varied, kmeans, random, rows"},
		{"fit --model bpca --start rows", "--start is a flag of --model bernmix, hmm, mixture, regression, and the model is bpca"},
		{"select --model=bpca --columns a=poisson", "--columns is a flag of --model hmm, mixture, regression, and the model is bpca"},
		{"fit --model bernmix --columns a=poisson", "and the model is bernmix"},
		{"fit --noise diagonal", "--noise diagonal is a flag of --model factor, features, lds, and the model is mixture"},
		{"fit --noise grand", "unexpected argument grand"},
		{"fit --model hmm --family --model=mixture", "a value of another flag begins with --model"},
		{"fit --model factor --noise", `must be one of "diagonal","isotropic"`},
		{"fit --family gaussian --columns a=poisson", "take auto or gaussian-diagonal"},
		{"fit --columns a", "COL=FAMILY"},
		{"fit --columns a=x", "gaussian, poisson, exponential, gamma, lognormal, bernoulli, categorical, ordinal"},
		{"fit --columns a=gaussian-tied", "gaussian, poisson, exponential, gamma, lognormal, bernoulli, categorical, ordinal"},
		{"fit --columns a=poisson,a=gamma", "given twice"},
		{"fit --format xml", `"text","json"`},
		{"fit --k 0", "at least 1"},
		{"fit --k -3", "--k is -3; must be at least 1"},
		{"fit --k two", "--k"},
		{"fit --kmax 0", "at least 1"},
		{"fit --k 2 --kmax 3", "--k and --kmax"},
		{"fit --restarts 0", "at least 1"},
		{"fit --restarts 1000000000", "--restarts is 1000000000; must be at least 1 and at most 1000000"},
		{"select --restarts 1000001", "at most 1000000"},
		{"fit --model bpca --restarts 1000000000", "at most 1000000"},
		{"fit --model bernmix --restarts 1000000000", "at most 1000000"},
		{"fit --max-iter 0", "at least 1"},
		{"fit --tol 0", "positive"},
		{"fit --tol NaN", "positive"},
		{"fit --workers -1", "--workers is -1; must be non-negative"},
		{"fit --seed -1", "--seed"},
		{"fit --prior weights=1", "--prior requires --method map or vb or cvb0, and the method is gfab"},
		{"fit --model bernmix --method em --prior a=1", "--prior requires --method map or vb or cvb0, and the method is em"},
		{"fit --model bpca --prior alpha=1", "--prior requires --method vb, and the method is gfab"},
		{"fit --model bpca --method vb --prior beta=1", "a_alpha, b_alpha, a_lambda, b_lambda, alpha and unit"},
		{"fit --method vb --prior beta=1", "weights, kappa, nu, a, b, shape, rate and alpha"},
		{"fit --model bernmix --method vb --prior weights=1", "the keys are a and b"},
		{"fit --method vb --prior kappa=0", "positive number"},
		{"fit --method map --prior nu=-1", "positive number"},
		{"fit --method map --prior weights=0.5", "give 1 or more"},
		{"fit --model bernmix --method map --prior a=0.5", "give 1 or more"},
		{"fit --family categorical --method map --prior alpha=0.5", "alpha=0.5: with less than 1"},
		{"fit --method vb --prior kappa=NaN", "positive number"},
		{"fit --method vb --prior kappa", `"kappa": write KEY=VALUE,…`},
		{"fit --method vb --prior =1", "write KEY=VALUE,…"},
		{"fit --family bernoulli --method map --prior a=0.5,b=1", "a=0.5: with less than 1 a beta distribution"},
		{"fit --model bernmix --method map --prior b=0.5", "b=0.5: with less than 1 a beta distribution"},
		{"fit --family poisson --method map --prior shape=0.5,rate=1", "shape=0.5: with less than 1 a gamma distribution"},
		{"fit --method vb --prior kappa=1,kappa=1", "given twice"},
		{"fit --method vb --family bernoulli --prior a=1", "both or neither"},
		{"fit --method vb --family poisson --prior shape=1", "both or neither"},
		{"fit --method vb --prior alpha=1", "no family of the model takes alpha: gaussian takes weights, kappa, nu"},
		{"fit --model bpca --method vb --prior alpha=1,a_alpha=2", "one or the other"},
		{"fit --data iris --weights Sepal.Width --drop Sepal.Width", "cannot be selected or dropped"},
		{"select --kmin 0", "at least 1"},
		{"select --kmin 3 --kmax 2", "at least --kmin"},
		{"select --criteria bic,x", "gfic, fic"},
		{"sample m.json", "--rows"},
		{"select --criteria bic,,aic", "empty name"},
		{"select --criteria bic,", "empty name"},
		{"select --criteria=", "empty name"},
		{"select --criteria bic,aic,BIC", "names BIC twice"},
		{"select --model bpca --tol 1e-9", "--tol cannot be used with --method closed-form (the default of --model bpca), which has no iterations"},
		{"fit --model bpca --method closed-form --max-iter 10000", "--max-iter cannot be used with --method closed-form, which has no iterations"},
		{"fit --model ppca --max-iter 9", "--max-iter cannot be used with --method closed-form (the default of --model ppca), which has no iterations: leave it out, or take --method em"},
		{"fit --model factor --data iris --tol 1e-5", "--tol cannot be used with --method closed-form (the default of --model factor)"},
		{"fit --model bpca --method closed-form --restarts 1", "--restarts cannot be used with --method closed-form, which has no starts"},
		{"fit --out -", "--out is -, but standard output has the report: name a file"},
		{"sample m.json -n 0", "at least 1"},
		{"sample m.json -n -5", "--rows is -5; must be at least 1"},
		{"sample m.json --rows -5", "--rows is -5; must be at least 1"},
		{"predict", "--data"},
		{"predict --data iris", "no model is named: give latent predict MODEL.json a file that latent fit --out saved"},
		{"sample -n 5", "no model is named: give latent sample MODEL.json"},
		{"fit --data=", "--data is empty: give it a value, or leave it out"},
		{"fit --out=", "--out is empty"},
		{"fit --weights=", "--weights is empty"},
		{"fit --method=", "--method is empty"},
		{"fit --drop=", "--drop is empty"},
		{"fit --columns=", "COL=FAMILY"},
		{"predict m.json", "--data"},
	} {
		fails(t, 2, c.part, "", strings.Fields(c.line)...)
	}
}

func TestAnInterruptedFitSaysSoAndLeavesNoFile(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	status := run(informed(ctx), []string{"fit", "--model", "bpca", "--out", filepath.Join(dir, "m.json")}, strings.NewReader(""), &out, &errs)
	assert.Equal(t, 1, status)
	assert.Contains(t, errs.String(), "latent: interrupted")
	assert.Empty(t, out.String())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAClosedPipeIsQuiet(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "bpca", "--data", "iris", "--out", model)
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	var errs bytes.Buffer
	assert.Equal(t, 1, run(informed(context.Background()), []string{"sample", model, "-n", "100000"}, strings.NewReader(""), w, &errs))
	assert.Empty(t, errs.String())
}

func TestNumbersThatAreNotFiniteAreNull(t *testing.T) {
	text, err := encode(numbers([]float64{1.5, math.NaN(), math.Inf(-1)}))
	require.NoError(t, err)
	assert.Equal(t, "[1.5,null,null]", string(text))
}

// Faults have the names of columns, and failed fits are said once.
func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	// Faults of rows and of columns may come together.
	in := &tables.Input{Named: data.Named{Table: mustLoad(t, "faithful")}, For: &modelFlags{Model: "mixture", known: known}}
	both := errors.Join(fmt.Errorf("mixture: %w", blocks.FaultyRow(3, "is far")), fmt.Errorf("restart 2: %w", blocks.FaultyColumn(1, blocks.ErrConstant)))
	assert.Equal(t, `row 4 is far; restart 2: column "waiting" is constant, to working precision: drop it, or rescale it (--drop waiting)`, in.Render(both))
	// A name that looks like what the error wraps is none of its parts.
	like := fmt.Errorf("%q: %w", "column 1 is far", blocks.FaultyColumn(0, errors.New("is far")))
	assert.Equal(t, `"column 1 is far": column "eruptions" is far`, in.Render(like))

	_, stderr := done(t, "fit", "--data", file(t, "d.csv", "a\n1\n1\n1\n2\n2\n2\n3\n3\n"), "--floor", "0", "--method", "em", "--kmax", "3", "--start", "kmeans", "--family", "gaussian")
	assert.Contains(t, stderr, "fits failed")
	assert.Less(t, len(stderr), 250)
	assert.Contains(t, stderr, "--method map, or gfab with --kmax")
	status, _, stderr := latent("a\n1\n1\n1\n2\n2\n2\n", "select", "--floor", "0", "--data", "-", "--start", "kmeans", "--kmin", "2", "--kmax", "2")
	assert.Equal(t, 1, status)
	assert.Equal(t, 1, strings.Count(stderr, "has collapsed onto one value"), stderr)
}
