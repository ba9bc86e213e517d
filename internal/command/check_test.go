package command

import (
	"context"
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

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/goodness"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// steps are rows of two classes: numbers, codes, a count, a weight, a group of rows, and the numbers.
func steps(n int) (text string, numbers []float64) {
	rng := rand.New(rand.NewPCG(2, 2))
	var b strings.Builder
	b.WriteString("x,y,answer,count,Freq,part\n")
	for i := range n {
		class := float64(i / 8 % 2)
		x := math.Round(1000*(4*class+rng.NormFloat64())) / 1000
		y := math.Round(1000*(x+rng.NormFloat64())) / 1000
		answer := "no"
		if rng.Float64() < 0.2+0.6*class {
			answer = "yes"
		}
		fmt.Fprintf(&b, "%v,%v,%s,%d,%d,p%d\n", x, y, answer, rng.IntN(4)+int(4*class), 1+i/40%3, i/40)
		numbers = append(numbers, x, y)
	}
	return b.String(), numbers
}

// Every model that draws rows is fitted again to tables of its own, with the settings of its file.
func TestCheckFitsDrawsOfEveryModelAgain(t *testing.T) {
	text, _ := steps(120)
	table, model, schema := file(t, "steps.csv", text), filepath.Join(t.TempDir(), "m.json"), schemas(t)["check"]
	for _, args := range []string{
		"--k 2 --select x,y",
		"--k 2 --select x,y --cov spherical --noise",
		"--k 2 --select x,y --family student-t --floor 2",
		"--k 2 --select x,answer,count --method map --prior weights=2",
		"--k 2 --select x,answer,count --weights Freq",
		"--select answer,count --method cvb0",
		"--k 2 --select x,y,answer --method vb",
		"--k 2 --select x,answer --gate y",
		"--k 2 --model hmm --select x,count --sequence part",
		"--k 2 --model hmm --family auto --select answer,count --sequence part --weights Freq --start stationary --method em",
		"--k 1 --model regression --response y --regress x,answer --power x=2",
		"--k 2 --model regression --response y --regress x --gate count --method em",
		"--k 1 --model factor --select x,y,count --rotate varimax --method em",
		"--k 1 --model bpca --select x,y,count",
		"--k 1 --model features --select x,y,count",
		"--k 1 --model lds --select x,y --method em",
	} {
		done(t, append([]string{"fit", "--data", table, "--out", model}, strings.Fields(args)...)...)
		out, _ := done(t, "check", model, "--data", table, "--refit", "--draws", "19", "--format", "json")
		conforms(t, schema, out, args)
		var r goodness.Result
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		assert.True(t, r.Refitted, args)
		assert.Zero(t, r.Failed, args)
		rows := 120
		if strings.Contains(args, "Freq") {
			rows = 240
		}
		assert.Equal(t, rows, r.Rows, args)
		plain, _ := done(t, "check", model, "--data", table, "--no-refit", "--draws", "19", "--format", "json")
		require.NoError(t, json.Unmarshal([]byte(plain), &r))
		assert.False(t, r.Refitted, args)
	}
}

// A model fitted again to its own table is the same.
func TestRefitsOfTheSameTableAreTheFit(t *testing.T) {
	text, numbers := steps(120)
	table, model := file(t, "steps.csv", text), filepath.Join(t.TempDir(), "m.json")
	for _, args := range []string{"--family gaussian-tied", "--family gaussian --method em --k 2", "--model bpca --k 1"} {
		done(t, append([]string{"fit", "--data", table, "--select", "x,y", "--out", model}, strings.Fields(args)...)...)
		f, err := known.Open(model)
		require.NoError(t, err)
		rows, err := blocks.FromSlice(numbers, 120, 2)
		require.NoError(t, err)
		again, err := known.Refit(context.Background(), f, &fitted.Table{Columns: f.Columns(), Rows: rows},
			framework.Options{Seed: 1})
		require.NoError(t, err)
		width := f.Model.Layout().Width()
		var numbers [2][]float64
		for i, of := range []fitted.Model{f.Model, again} {
			scorer, err := of.NewScorer()
			require.NoError(t, err)
			numbers[i] = make([]float64, 120*width)
			require.NoError(t, scorer.Score(rows.All(), numbers[i]))
		}
		assert.InDeltaSlice(t, numbers[0], numbers[1], 1e-3, args)
	}
	_, err := fitted.Registry{}.Refit(context.Background(), &fitted.Fitted{}, nil, framework.Options{})
	assert.ErrorContains(t, err, `unknown model ""`)
	_, err = known.Refit(context.Background(), &fitted.Fitted{File: fitted.File{Model: "mixture", Method: "greedy"}}, nil,
		framework.Options{})
	assert.ErrorContains(t, err, "cannot be fitted by method")
}

func TestCheckSaysWhetherAModelFits(t *testing.T) {
	dir := t.TempDir()
	model, page := filepath.Join(dir, "m.json"), filepath.Join(dir, "page")
	done(t, "fit", "--data", "housevotes84", "--k", "2", "--restarts", "2", "--out", model)
	text, notes := done(t, "check", model, "--data", "housevotes84", "--no-refit", "--report", page)
	for _, part := range []string{"The model does not fit.", "What to do: try one more class; or leave out", "Patterns of codes:", "G²", "Pairs of",
		"Ln p of rows:"} {
		assert.Contains(t, strings.Join(strings.Fields(text), " "), part)
	}
	assert.Contains(t, notes, "left out, as not in the model")
	html, err := os.ReadFile(filepath.Join(page, pageName))
	require.NoError(t, err)
	for _, part := range []string{"Whether the mixture", "The model does not fit.", "<svg", "Percentiles of ln p"} {
		assert.Contains(t, string(html), part)
	}
	again, _ := done(t, "check", model, "--data", "housevotes84", "--no-refit", "--workers", "1")
	assert.Equal(t, text, again)
}

func TestWhatCheckRefuses(t *testing.T) {
	text, _ := steps(120)
	table, model := file(t, "steps.csv", text), filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", table, "--select", "x,y", "--weights", "Freq", "--k", "1", "--out", model)
	fails(t, 1, "columns of the model are missing in the data", "", "check", model, "--data", "iris")
	fails(t, 1, "a table of one row: whether a model fits takes more", "x,y,Freq\n1,2,1\n", "check", model, "--data", "-")
	fails(t, 1, "the weight of row 2 is 1.5; must be a whole number", "x,y,Freq\n1,2,1\n2,1,1.5\n", "check", model, "--data", "-")
	fails(t, 1, `the weight of row 1 is "": must be a number`, "x,y,Freq\n1,2,\n2,1,1\n", "check", model, "--data", "-")
	fails(t, 1, `no column "Freq"`, "x,y\n1,2\n2,1\n", "check", model, "--data", "-")
	fails(t, 2, "--draws is 5", "", "check", model, "--data", table, "--draws", "5")
	done(t, "fit", "--data", table, "--select", "x,y", "--model", "lds", "--covariates", "y", "--k", "1", "--restarts", "1",
		"--out", model)
	fails(t, 1, "the model cannot draw rows", "", "check", model, "--data", table)
	done(t, "fit", "--data", file(t, "graph.csv", "from,to\na,b\nb,c\nc,a\n"), "--model", "blockmodel", "--k", "1", "--out", model)
	fails(t, 2, "latent check requires a model of rows", "", "check", model, "--data", table)
}
