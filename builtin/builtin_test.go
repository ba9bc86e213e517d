//go:build !race

// The command takes long to compile for the race detector, which looks at version3_test.go: rows are scored at the same
// time there, too.

package builtin_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

// latent runs the command, which wrote the files that programs load.
func latent(t testing.TB, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Zero(t, command.Run(context.Background(), command.Host{}, strings.Fields(line), strings.NewReader(""), &out, &errs), "%s: %s", line, &errs)
	return out.String()
}

// saved is the file of a fit, its table and what latent predict says of it.
func saved(t *testing.T, fit, table string) (m *fitted.Fitted, cells, said [][]string) {
	t.Helper()
	dir := t.TempDir()
	path, data := filepath.Join(dir, "m.json"), filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(data, []byte(table), 0o600))
	latent(t, "fit --out "+path+" --data "+data+" "+fit)
	m, err := builtin.Load(path)
	require.NoError(t, err)
	said, err = csv.NewReader(strings.NewReader(latent(t, "predict "+path+" --data "+data))).ReadAll()
	require.NoError(t, err)
	cells, err = csv.NewReader(strings.NewReader(table)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, m.Model.Layout().Names(), said[0])
	return m, cells[1:], said[1:]
}

// mixed is a table of numbers, counts, levels and dates.
func mixed() string {
	var b strings.Builder
	b.WriteString("x,n,kind,day\n")
	for i := range 60 {
		g := i % 2
		b.WriteString(strconv.FormatFloat(float64(10*g)+math.Sin(float64(i)), 'g', -1, 64) + "," + strconv.Itoa(1+7*g+i%3) + "," +
			[]string{"red", "blue", "green"}[(i*i+g)%3] + ",2024-0" + strconv.Itoa(1+5*g) + "-" + strconv.Itoa(10+i%17) + "\n")
	}
	return b.String()
}

// numbers is a table of three columns that two factors explain.
func numbers() string {
	var b strings.Builder
	b.WriteString("a,b,c,d,e\n")
	for i := range 80 {
		u, v := math.Sin(float64(3*i)), math.Cos(float64(7*i*i%97))
		e := func(j int) float64 { return math.Sin(float64(i*(j+11)*(i+j)%1009)) / 3 }
		for j, x := range []float64{u + e(0), u - v + e(1), 2*v + e(2), u + v + e(3), v - 2*u + e(4)} {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// models are fits of the models of rows, and tables for them.
var models = map[string]struct{ fit, table string }{
	"gaussian":   {"--k 2 --method em", numbers()},
	"noise":      {"--k 2 --method em --noise", numbers()},
	"bayes":      {"--k 2 --method vb --family gaussian-diagonal", numbers()},
	"mixed":      {"--k 2 --method em --family auto --dates day", mixed()},
	"gate":       {"--k 2 --method em --family auto --dates day --gate n", mixed()},
	"regression": {"--model regression --response x --regress n --k 2 --method em", mixed()},
	"bpca":       {"--model bpca --k 2 --method em", numbers()},
	"factor":     {"--model factor --k 2 --rotate promax", numbers()},
	"features":   {"--model features --k 2 --method em", numbers()},
	"vbmf":       {"--model vbmf", numbers()},
}

// TestScoresAreThoseOfPredict for each model, cell by cell from texts, and from 64 goroutines at the same time.
func TestScoresAreThoseOfPredict(t *testing.T) {
	for name, c := range models {
		t.Run(name, func(t *testing.T) {
			m, cells, said := saved(t, c.fit, c.table)
			places := map[string]int{}
			head, _, _ := strings.Cut(c.table, "\n")
			for j, column := range strings.Split(head, ",") {
				places[column] = j
			}
			var wait sync.WaitGroup
			for worker := range 64 {
				wait.Go(func() {
					row, dst := make([]float64, len(m.Columns())), make([]float64, m.Model.Layout().Width())
					texts := make([]string, len(row))
					for i := worker % 8; i < len(cells); i += 8 {
						for j, column := range m.Columns() {
							texts[j] = cells[i][places[column.Name]]
						}
						if err := m.Encode(row, texts); err != nil {
							t.Error(err)
							return
						}
						if err := m.Score(row, dst); err != nil {
							t.Error(err)
							return
						}
						for j, v := range dst {
							want, err := strconv.ParseFloat(said[i][j], 64)
							if err != nil || math.Abs(v-want) > 1e-12*max(1, math.Abs(want)) {
								t.Errorf("row %d, number %d: %v and not %v", i, j, v, want)
							}
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// A service links no flags, no Arrow, no plots and no tests.
func TestAServiceHasFewDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "github.com/latent-go/latent/models/mixture\n")
	for _, part := range []string{"kong", "arrow", "plot", "testify", "go-pretty", "internal/command"} {
		require.NotContains(t, string(out), part)
	}
}

// A row of a model of sequences is a sequence: its density is the product of those of its steps, given those before.
func TestASequenceIsARow(t *testing.T) {
	for _, fit := range []string{"--model hmm --k 2 --method em", "--model lds --k 2 --method em"} {
		t.Run(fit, func(t *testing.T) { sequenceIsARow(t, fit) })
	}
}

func sequenceIsARow(t *testing.T, fit string) {
	m, cells, said := saved(t, fit, numbers())
	var texts []string
	want := 0.0
	for i, row := range cells {
		texts = append(texts, row...)
		v, err := strconv.ParseFloat(said[i][len(said[i])-1], 64)
		require.NoError(t, err)
		want += v
	}
	row := make([]float64, len(texts))
	require.NoError(t, m.Encode(row, texts))
	got, err := m.LogProb(row)
	require.NoError(t, err)
	require.InEpsilon(t, want, got, 1e-12)
	_, err = m.LogProb(row[:7])
	require.ErrorContains(t, err, "a sequence of 7 numbers does not match a model of 5 columns")
	row[6] = math.Inf(-1)
	_, err = m.LogProb(row)
	require.ErrorContains(t, err, `fitted: step 2, column "b" is -Inf: `)
}

func TestBadRowsAreOneClearError(t *testing.T) {
	m, cells, _ := saved(t, models["mixed"].fit, models["mixed"].table)
	row, dst := make([]float64, 4), make([]float64, m.Model.Layout().Width())
	require.NoError(t, m.Encode(row, cells[0]))
	fails := func(err error, part string) {
		t.Helper()
		require.ErrorContains(t, err, part)
		require.NotContains(t, err.Error(), "\n")
	}
	fails(m.Score(row[:3], dst), "a row of 3 numbers does not match a model of 4 columns")
	fails(m.Score(row, dst[:2]), "dst has length 2")
	fails(m.Encode(row, []string{"1", "2", "violet", "2024-01-12"}), `column "kind": "violet" is none of its levels: "blue", "green", "red"`)
	fails(m.Encode(row, []string{"one", "2", "red", "2024-01-12"}), `column "x": "one" is not a number`)
	fails(m.Encode(row, []string{"1", "2", "red", "yesterday"}), `column "day": "yesterday" does not have`)
	fails(m.Encode(row, []string{"1", "2"}), "2 cells do not match a model of 4 columns")
	bad := func(j int, v float64, part string) {
		t.Helper()
		other := append([]float64{}, row...)
		other[j] = v
		fails(m.Score(other, dst), part)
	}
	bad(0, math.Inf(1), `column "x"`)
	bad(2, 3, `fitted: column "kind" is 3: the codes of its levels are whole numbers from 0 to 2`)
	bad(2, 0.5, `column "kind" is 0.5: the codes`)
	bad(1, -1, `fitted: column "n"`)
	require.NoError(t, m.Encode(row, []string{"", "NA", "red", "2024-01-12"}))
	require.NoError(t, m.Score(row, dst), "a gap is summed over")

	complete, _, _ := saved(t, models["bpca"].fit, models["bpca"].table)
	_, err := complete.LogProb([]float64{1, 2, math.NaN(), 3, 4})
	fails(err, `fitted: column "c" is missing: the model needs it`)
}

// A row of a graph is two nodes, and one of documents the counts of words.
func TestPairsAndDocumentsAreRows(t *testing.T) {
	graph, err := builtin.Load("testdata/v3/blockmodel.json")
	require.NoError(t, err)
	dst := make([]float64, 3)
	fails := func(m *fitted.Fitted, row, dst []float64, part string) {
		t.Helper()
		require.ErrorContains(t, m.Score(row, dst), part)
	}
	fails(graph, []float64{3, 3}, dst, "fitted: the row is a loop, from")
	fails(graph, []float64{3, 34}, dst, `column "to" is 34: the codes of its levels`)
	fails(graph, []float64{math.NaN(), 1}, dst, `column "from" is missing`)
	_, err = graph.LogProb([]float64{0, 1})
	require.ErrorIs(t, err, fitted.ErrNoLikelihood)
	scorer, err := graph.Model.NewScorer() // as of rows that nothing has checked
	require.NoError(t, err)
	require.ErrorContains(t, scorer.Score(blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{0, -1}}, dst), "column 2 is -1: must be a node of the fitted graph")

	documents, err := builtin.Load("testdata/v3/topics.json")
	require.NoError(t, err)
	row, dense := []float64{1, 4, 0, 0, 2}, make([]float64, 4)
	require.NoError(t, documents.Score(row, dense))
	scorer, err = documents.Model.NewScorer()
	require.NoError(t, err)
	sparse := make([]float64, 4)
	entries := &blocks.Entries{Start: []int{0, 3}, Columns: []int{0, 1, 4}, Values: []float64{1, 4, 2}}
	require.NoError(t, scorer.Score(blocks.Rows{N: 1, D: 5, Entries: entries}, sparse))
	require.Equal(t, dense, sparse)
	for _, v := range []float64{0.5, -1} {
		row[1] = v
		fails(documents, row, dense, fmt.Sprintf(`column "w1" is %v: counts must be non-negative whole numbers`, v))
	}
	_, err = documents.LogProb(row)
	require.ErrorIs(t, err, fitted.ErrNoLikelihood)
}
