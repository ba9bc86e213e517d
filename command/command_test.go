package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/examples/geometric"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// said is the status and the last line of a command of a host.
func said(h command.Host, line string) (status int, text string) {
	var out, errs bytes.Buffer
	status = command.Run(context.Background(), h, strings.Fields(line), strings.NewReader(""), &out, &errs)
	return status, out.String() + errs.String()
}

// A contradiction is a family whose factors are none.
type contradiction struct{ family.Family }

func (contradiction) Name() string                            { return "contradiction" }
func (contradiction) Columns() int                            { return 1 }
func (contradiction) On(columns int) ([]family.Factor, error) { return []family.Factor{half{}}, nil }

type half struct{ family.Factor }

func (half) Name() string          { return "half" }
func (half) Layout() family.Layout { return family.Layout{Columns: 1, Cells: 1} }

// TestHostsThatContradictThemselvesAreRefusedAtOnce, before data are read.
func TestHostsThatContradictThemselvesAreRefusedAtOnce(t *testing.T) {
	of := func(names ...string) (list []builtin.Family) {
		for _, name := range names {
			list = append(list, builtin.Family{Name: name, Of: family.Poisson{}})
		}
		return list
	}
	models := builtin.Models()
	for want, list := range map[string]fitted.Registry{
		`family of one's own is named ""`:                         builtin.Models(of("")...),
		`is named "a,b": a name is one word`:                      builtin.Models(of("a,b")...),
		"has the name of a family of the library, poisson":        builtin.Models(of("poisson")...),
		"two families of one's own are named visits":              builtin.Models(of("visits", "visits")...),
		"the family visits of one's own has no Of":                builtin.Models(builtin.Family{Name: "visits"}),
		"must be either a family.SumFactor or a family.RowFactor": builtin.Models(builtin.Family{Name: "visits", Of: contradiction{}}),
		`two definitions are named "mixture"`:                     append(models, models[0]),
		`the definition of model "mine" has no Load`:              append(models, fitted.Definition{Name: "mine"}),
		`definition 13 of 13 is named ""`:                         append(models, fitted.Definition{}),
		"there are no models":                                     {},
	} {
		status, text := said(command.Host{Name: "own", Models: list}, "fit --data nothing.csv")
		require.Contains(t, text, want)
		require.True(t, strings.HasPrefix(text, "own: "), text)
		require.Equal(t, 2, status, text)
		require.Equal(t, 1, strings.Count(text, "\n"), text)
	}
}

// TestModelsOfOneHostAreUnknownToAnother, which says what it knows.
func TestModelsOfOneHostAreUnknownToAnother(t *testing.T) {
	own := command.Host{Name: "own", Models: builtin.Models(builtin.Family{Name: "visits", Of: family.Poisson{}})}
	path := t.TempDir() + "/m.json"
	status, text := said(own, "fit --data earthquakes --columns year=gaussian,count=visits --kmax 2 --restarts 2 --out "+path)
	require.Zero(t, status, text)
	require.Contains(t, text, "visits: count")
	status, text = said(own, "predict --data earthquakes "+path)
	require.Zero(t, status, text)
	status, text = said(own, "check --data earthquakes --draws 19 --refit "+path)
	require.Zero(t, status, text)
	require.Contains(t, text, "each with a fit of its own")
	status, text = said(command.Host{}, "predict --data earthquakes "+path)
	require.Equal(t, 1, status)
	require.Contains(t, text, "visits")
	require.Contains(t, text, "ordinal")
	status, text = said(command.Host{}, "fit --data earthquakes --columns count=visits")
	require.Equal(t, 2, status)
	require.Contains(t, text, `no family "visits" of one column: choose one of gaussian, `)
}

// TestAModelInOneLine: the geometric mixture of the examples has all of the command by its definition, and the numbers of the library.
func TestAModelInOneLine(t *testing.T) {
	own := command.Host{Name: "own", Models: append(builtin.Models(), fitted.Plain("geometric", "Geometric mixture", geometric.Model{}))}
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	var counts []float64
	text := "visits\n"
	for i := range 200 {
		counts = append(counts, math.Floor(rng.ExpFloat64()*float64(1+30*(i%2))))
		text += fmt.Sprintln(counts[i])
	}
	csv := dir + "/visits.csv"
	require.NoError(t, os.WriteFile(csv, []byte(text), 0o600))
	run := func(line string) string {
		t.Helper()
		status, text := said(own, line)
		require.Zero(t, status, "%s: %s", line, text)
		return text
	}
	fit := "fit --model geometric --k 2 --method em --tol 1e-12 --data " + csv + " "
	var found struct {
		LogLik, BIC, ICL float64
		K                int
		Params           geometric.Parameters
	}
	text = run(fit + "--format json --out " + dir + "/m.json --report " + dir + "/page --assignments " + dir + "/rows.csv --checkpoint " + dir + "/progress")
	require.NoError(t, json.NewDecoder(strings.NewReader(text)).Decode(&found))

	src, err := blocks.FromSlice(counts, len(counts), 1)
	require.NoError(t, err)
	res, err := framework.Fit(t.Context(), geometric.Model{}, src, framework.Options{K: 2, Method: framework.EM, Tolerance: 1e-12, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, *res.Parameters, found.Params)
	require.InDelta(t, res.Value, found.BIC, 1e-9) // two components are one set of parameters: BIC and BICEM agree where none is lost

	var rows struct {
		Names            []string
		LogLikelihood    []float64   `json:"log_likelihood"`
		Responsibilities [][]float64 `json:"responsibilities"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(run("predict --format json --data "+csv+" "+dir+"/m.json"))).Decode(&rows))
	require.InDelta(t, found.LogLik, floats.Sum(rows.LogLikelihood), 1e-8)
	for i, x := range counts { // by the formula
		p, sum := found.Params, 0.0
		for k, w := range p.Weights {
			sum += w * p.P[k] * math.Pow(1-p.P[k], x)
		}
		require.InDelta(t, math.Log(sum), rows.LogLikelihood[i], 1e-10)
		require.InDelta(t, p.Weights[0]*p.P[0]*math.Pow(1-p.P[0], x)/sum, rows.Responsibilities[i][0], 1e-10)
	}
	assigned, err := os.ReadFile(dir + "/rows.csv")
	require.NoError(t, err)
	require.Equal(t, run("predict --data "+csv+" "+dir+"/m.json"), string(assigned))

	text = run(fit)
	require.Contains(t, text, "geometric, Geometric mixture, by em")
	require.Regexp(t, `component\W+weights\W+p`, text)
	page, err := os.ReadFile(dir + "/page/index.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "Geometric mixture")
	require.Contains(t, run("fit --model geometric --restarts 2 --data "+csv), "chosen K        2 of at most 10")
	require.Contains(t, run("select --model geometric --kmax 3 --data "+csv), "chooses K = ")
	require.Contains(t, run("help fit"), "geometric (Geometric mixture)")
	require.Contains(t, run("help geometric"), "geometric: Geometric mixture.")
	require.Contains(t, run("completion bash"), "blockmodel geometric")

	for line, want := range map[string]string{
		"sample -n 3 " + dir + "/m.json":                                               "is a geometric model, which cannot draw rows",
		"check --data " + csv + " " + dir + "/m.json":                                  "the model cannot draw rows",
		"fit --model geometric --data earthquakes --select count --method map":         "map cannot be used with --model geometric",
		"fit --model geometric --data earthquakes --select count --family gaussian":    "--family cannot be used with --model geometric",
		"fit --model geometric --data earthquakes --select count --prior a=1":          "--prior",
		"fit --model geometric --data earthquakes --select count --criterion dnml":     "choose one of gfic, fic, bicem, bic, aic, icl",
		"fit --model geometric --data iris --select Species":                           "Species",
		"fit --model geometric --data iris --select Sepal.Length":                      "a count is needed",
		"fit --model geometric --data earthquakes --select count --components x.csv":   "--components requires a mixture or hmm",
		"fit --model geometric --data earthquakes --select count --bootstrap 20 --k 1": "--bootstrap requires a mixture",
		"fit --model geometric --data earthquakes --select count --label year":         "--label requires a mixture",
		"fit --model geometric --data earthquakes --select count --k 200":              "200 latent dimensions for 107 rows",
		"fit --model geometric --data earthquakes --select count --noise":              "--noise is a flag of --model ",
		"sample -n 3 --labels " + dir + "/m.json":                                      "--labels requires a mixture or hmm",
		"predict --data earthquakes --fill " + dir + "/m.json":                         "--fill requires a model that",
		"predict --data earthquakes --forecast 3 " + dir + "/m.json":                   "--forecast",
	} {
		status, text := said(own, line)
		require.NotZero(t, status, line)
		require.Contains(t, text, want, line)
		require.Equal(t, 1, strings.Count(text, "\n"), text)
	}
	status, text := said(command.Host{}, "predict --data earthquakes "+dir+"/m.json")
	require.Equal(t, 1, status)
	require.Contains(t, text, `unknown model "geometric": this program knows bernmix, blockmodel, `)
}
