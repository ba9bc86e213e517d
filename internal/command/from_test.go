package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

// begun is what JSON says of a fit that began at a model.
type begun struct {
	Value, Loglik float64
	K             int
	From          *outcome.Begun
	Params        struct{ Pooled json.RawMessage }
	Restarts      []any
}

func fitFrom(t *testing.T, line string) (b begun) {
	t.Helper()
	text, _ := done(t, strings.Fields("fit --format json "+line)...)
	conforms(t, schemas(t)["fit"], text)
	require.NoError(t, json.Unmarshal([]byte(text), &b))
	return b
}

// TestAFitThatBeginsAtAModelOfItsRowsStaysThere: the value of the saved parameters, which is computed anew, is that of the
// fit that saved them, and no component moves.
func TestAFitThatBeginsAtAModelOfItsRowsStaysThere(t *testing.T) {
	path := t.TempDir() + "/m.json"
	for _, line := range []string{
		"--data faithful --method gfab --criterion evidence", "--data faithful --gate waiting", "--data iris --method em --kmax 3",
		"--data iris --method map --k 3 --family gaussian-diagonal", "--data iris --method vb --k 3", "--data housevotes84",
		"--data faithful --noise --cov full", "--data iris --known Species", "--data iris --family factor-analysers",
		"--data earthquakes --model hmm --select count --family poisson", "--data earthquakes --model hmm --select count --family poisson --method vb --k 2",
		"--data faithful --model regression --response waiting", "--data iris --model bpca --method gfab", "--data iris --model factor --method gfab",
		"--data earthquakes --model lds --select count",
	} {
		first := fitFrom(t, line+" --restarts 2 --out "+path)
		data := strings.Fields(line)[1]
		again := fitFrom(t, "--from "+path+" --data "+data)
		require.Equal(t, first.K, again.From.K, line)
		require.Equal(t, first.K, again.K, line)
		require.InDelta(t, first.Value, float64(again.From.Value), 0.1, line) // of the criterion that steps follow, tilted
		require.InDelta(t, first.Value, again.Value, 0.1, line)
		require.GreaterOrEqual(t, again.Value, first.Value-1e-5, line)
		if first.Loglik != 0 {
			require.InDelta(t, first.Loglik, float64(again.From.LogLik), 1e-6, line)
		}
		require.LessOrEqual(t, len(again.Restarts), 2, line)
		require.Empty(t, again.From.Lost, line)
		for k, m := range again.From.Components {
			require.Equal(t, k+1, m.Was, line)
			require.Less(t, float64(m.Moves[0].Size), 0.05, line)
		}
	}
}

// drawn writes days of rows: two numbers, of kinds of rows in parts of the given sizes, and a level that says nothing.
func drawn(t *testing.T, path string, seed uint64, sizes [3]int, shift float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	text.WriteString("day,a,b,kind\n")
	for k, n := range sizes {
		at := [3][2]float64{{shift, 0}, {15, 4}, {15, 12}}[k]
		for range n {
			level := "xy"[rng.IntN(2)]
			fmt.Fprintf(&text, "%d,%.4f,%.4f,%c\n", rng.IntN(100), at[0]+rng.NormFloat64(), at[1]+rng.NormFloat64(), level)
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

// TestAFitThatBeginsAtAModelGrowsAndShrinks to the fit that many starts find, where moves alone miss the third group, says which components are new, moved and
// lost, keeps the prior of the first table, and is the same for any number of workers.
func TestAFitThatBeginsAtAModelGrowsAndShrinks(t *testing.T) {
	dir := t.TempDir() + "/"
	drawn(t, dir+"1.csv", 1, [3]int{300, 200, 0}, 0)
	drawn(t, dir+"2.csv", 2, [3]int{200, 150, 150}, 0.5)
	drawn(t, dir+"3.csv", 3, [3]int{300, 0, 0}, 0.5)
	columns := "--id day --criterion evidence "
	first := fitFrom(t, columns+"--data "+dir+"1.csv --out "+dir+"1.json")
	require.Equal(t, 2, first.K)
	var grown begun
	for workers := 1; workers <= 3; workers += 2 {
		grown = fitFrom(t, fmt.Sprint("--from ", dir, "1.json --data ", dir, "2.csv --workers ", workers, " --out ", dir, "2-", workers, ".json"))
	}
	one, err := os.ReadFile(dir + "2-1.json")
	require.NoError(t, err)
	three, err := os.ReadFile(dir + "2-3.json")
	require.NoError(t, err)
	require.Equal(t, one, three)
	conforms(t, schemas(t)["model"], string(one))
	require.Equal(t, 3, grown.K)
	require.Equal(t, first.Params.Pooled, grown.Params.Pooled, "the prior is that of the first table")
	require.Greater(t, grown.Value, float64(grown.From.Value)+100)
	var created, moved []outcome.Moved
	for _, m := range grown.From.Components {
		if m.Was == 0 {
			created = append(created, m)
		} else {
			moved = append(moved, m)
		}
	}
	require.Len(t, created, 1)
	require.InDelta(t, 150, float64(created[0].Rows), 5)
	require.Len(t, moved, 2)
	require.Equal(t, "a", moved[0].Moves[0].Column)
	require.InDelta(t, 0.5, float64(moved[0].Moves[0].Now-moved[0].Moves[0].Then), 0.3)
	anew := fitFrom(t, columns+"--data "+dir+"2.csv")
	require.Equal(t, anew.K, grown.K)
	require.InDelta(t, anew.Loglik, grown.Loglik, 2, "the two priors differ by little")
	less := fitFrom(t, "--from "+dir+"2-1.json --data "+dir+"3.csv")
	require.Equal(t, 1, less.K)
	require.Len(t, less.From.Lost, 2)
	page := t.TempDir()
	text, _ := done(t, strings.Fields("fit --from "+dir+"2-1.json --data "+dir+"3.csv --report "+page)...)
	require.Contains(t, text, "K went from 3 to 1")
	require.Contains(t, text, "lost")
	html, err := os.ReadFile(page + "/index.html")
	require.NoError(t, err)
	require.Contains(t, string(html), "Since the saved model")
	require.Contains(t, string(html), "K went from 3 to 1")
}

// TestWhatAFitCannotBeginAt is one line each.
func TestWhatAFitCannotBeginAt(t *testing.T) {
	dir := t.TempDir() + "/"
	drawn(t, dir+"1.csv", 1, [3]int{60, 40, 0}, 0)
	done(t, strings.Fields("fit --id day --data "+dir+"1.csv --restarts 2 --out "+dir+"m.json")...)
	done(t, strings.Fields("fit --data iris --model factor --out "+dir+"f.json")...)
	done(t, strings.Fields("fit --model blockmodel --restarts 1 --out "+dir+"b.json")...)
	text, err := os.ReadFile(dir + "1.csv")
	require.NoError(t, err)
	changed := func(name, old, new string) {
		require.NoError(t, os.WriteFile(dir+name, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
	}
	changed("renamed.csv", ",kind", ",sort")
	changed("level.csv", ",x\n", ",w\n")
	changed("texts.csv", "\n", "\n1,abc,0,x\n")
	for line, want := range map[string]string{
		"m.json --data " + dir + "renamed.csv":                   `renamed.csv: columns of the model are missing in the data: "kind"; the data have "a", "b", "sort"`,
		"m.json --data " + dir + "level.csv":                     `is "w", which is none of the levels "x", "y"; give it one of them, or leave it empty`,
		"m.json --data " + dir + "texts.csv":                     `column "a"`,
		"m.json":                                                 "--from requires --data",
		"none.json --data iris":                                  "no such file",
		"1.csv --data iris":                                      "not a model file",
		"f.json --data iris":                                     "a factor model by method closed-form has no fit that begins at parameters",
		"b.json --data karate":                                   "--from requires a model of rows",
		"m.json --data iris --model hmm":                         "--model cannot be used with --from",
		"m.json --data iris --family poisson":                    "--family cannot be used with --from",
		"m.json --data iris --cov full":                          "--cov cannot be used with --from",
		"m.json --data iris --select a":                          "--select cannot be used with --from",
		"m.json --data iris --restarts 2":                        "--restarts cannot be used with --from",
		"m.json --data iris --k 7":                               "--k is 7, and the fit begins at K = 2",
		"m.json --data iris --kmax 1":                            "--kmax is 1, and the fit begins at K = 2",
		"m.json --data " + dir + "1.csv --out " + dir + "m.json": "name another file",
	} {
		status, stdout, stderr := latent("", strings.Fields("fit --from "+dir+line)...)
		assert.NotZero(t, status, line)
		assert.Contains(t, stderr, want, line)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", line, stderr)
		assert.Empty(t, stdout)
	}
}
