package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/tier"
)

// hurried is a context in which a second passes whenever a keeper looks at the clock, but none while it writes, which it does
// after every iteration.
func hurried(ctx context.Context, look func()) context.Context {
	var now time.Time
	around := &surroundings{host: host}
	around.now = func() time.Time {
		if around.writing.TryLock() {
			around.writing.Unlock()
			now = now.Add(time.Second)
		}
		look()
		return now
	}
	return context.WithValue(ctx, surroundingsKey{}, around)
}

// found runs a command, and returns what its JSON says but for the time it took.
func found(t *testing.T, ctx context.Context, args []string) map[string]any {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 0, run(informed(ctx), args, strings.NewReader(""), &out, &errs), "%v: %s", args, &errs)
	var all map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &all))
	delete(all, "seconds")
	return all
}

// TestAKilledCommandGoesOnToTheSameBits takes the file as a kill after any of its writes would leave it.
func TestAKilledCommandGoesOnToTheSameBits(t *testing.T) {
	var edges strings.Builder
	edges.WriteString("from,to\n")
	for i := range 60 {
		fmt.Fprintf(&edges, "a%d,b%d\n", i%12, i%12/4*4+i*i%5)
	}
	lines := map[string]string{
		"mixture":      "fit --kmax 4 --restarts 2",
		"moves":        "fit --data iris --kmax 3 --restarts 1",
		"em":           "fit --method em --kmax 3 --restarts 2 --criterion icl",
		"vb":           "fit --data housevotes84 --model bernmix --method vb --kmax 3 --restarts 1",
		"cvb0":         "fit --data zoo --family categorical --method cvb0 --kmax 4 --restarts 1",
		"codes":        "fit --data zoo --family categorical --kmax 4 --restarts 2",
		"greedy":       "fit --model blockmodel --data karate --restarts 3 --kmax 3",
		"bipartite":    "fit --model blockmodel --data " + file(t, "edges.csv", edges.String()) + " --bipartite --restarts 2",
		"select graph": "select --model blockmodel --data karate --restarts 2 --kmax 4",
		"gate":         "fit --data iris --gate Petal.Width --drop Species --kmax 4 --restarts 2",
		"hmm":          "fit --model hmm --data geyser --kmax 4 --restarts 2",
		"regression":   "fit --model regression --data NPreg --response yp --regress x --family poisson --kmax 3 --restarts 2",
		"bpca":         "fit --model bpca --data iris",
		"vbmf":         "fit --model vbmf --method vb --data iris",
		"features":     "fit --model features --data iris --kmax 6 --restarts 2",
		"mean field":   "fit --model features --data iris --kmax 13 --restarts 1",
		"select":       "select --kmax 3 --restarts 2 --criteria bic,sbic,icl",
		"families":     "select --cov all --kmax 2 --restarts 1",
		"structures":   "fit --data iris --cov EII,EEE,VVV --kmax 4 --restarts 3",
		"select gaps":  "select --model factor --kmax 2 --data " + gappy(t),
		"select bpca":  "select --model bpca --method em --data iris",
		"temper":       "fit --method vb --temper 0.5 --kmax 2 --restarts 1",
		"accelerating": "fit --method em --k 3 --accelerate --restarts 2",
	}
	nightly, err := strconv.Atoi(os.Getenv("LATENT_KILLS"))
	for name, m := range known.models {
		for _, method := range m.methods {
			if err == nil && method != methodClosedForm {
				lines[name+" by "+method] = "fit --model " + name + " --method " + method + " --kmax 3 --restarts 1"
			}
		}
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(line), "--format", "json", "--seed", "3", "--workers", "1")
			if model := strings.Contains(line, "blockmodel"); !model || strings.Contains(line, "--method") && !strings.Contains(line, methodGreedy) {
				args = append(args, "--max-iter", "400")
			}
			if nightly > 0 {
				if status, _, stderr := latent("", args...); status == statusUsage {
					t.Skip(stderr) // it needs flags of its own
				}
			}
			whole := found(t, context.Background(), args)
			path := filepath.Join(t.TempDir(), "checkpoint")
			args = append(args, "--checkpoint", path)
			var kills [][]byte
			kept := found(t, hurried(context.Background(), func() {
				if text, err := os.ReadFile(path); err == nil && (len(kills) == 0 || !bytes.Equal(kills[len(kills)-1], text)) {
					kills = append(kills, text)
				}
			}), args)
			require.Equal(t, whole, kept)
			require.NoFileExists(t, path, "it is done")
			if nightly == 0 {
				require.Greater(t, len(kills), 5)
			}
			most := tier.Of(1, 2, 4)
			if nightly > 0 {
				most = nightly
			}
			most = min(most, len(kills))
			for i := range most { // spread over all of them
				require.NoError(t, os.WriteFile(path, kills[(i*len(kills)+i)/most%len(kills)], 0o600))
				again := found(t, context.Background(), args)
				for key, value := range whole {
					require.Equal(t, value, again[key], "%s, kill %d of %d", key, i, len(kills))
				}
				require.NoFileExists(t, path)
			}
		})
	}
}

// TestAnInterruptSavesAndSaysHowToGoOn cancels a command, as INT, TERM and HUP do.
func TestAnInterruptSavesAndSaysHowToGoOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	for _, line := range []string{"fit --kmax 4 --restarts 2", "select --kmax 3 --restarts 2"} {
		args := append(strings.Fields(line), "--format", "json", "--workers", "1")
		whole := found(t, context.Background(), args)
		args = append(args, "--checkpoint", path)
		ctx, cancel := context.WithCancel(context.Background())
		looks := 0
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(hurried(ctx, func() {
			if looks++; looks == 40 {
				cancel()
			}
		}), args, strings.NewReader(""), &out, &errs))
		assert.Regexp(t, `^latent: interrupted .*: the progress is in \S+, and the same command continues from there\n$`, errs.String())
		require.Equal(t, whole, found(t, context.Background(), args))
	}
}

func TestForeignAndDamagedCheckpointFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path, table := filepath.Join(dir, "checkpoint"), filepath.Join(dir, "t.csv")
	write := func(cell string) {
		require.NoError(t, os.WriteFile(table, []byte("a,b\n"+strings.Repeat("1.5,2\n3,4.5\n2,7\n0,1\n5,5\n", 8)+cell+",2\n"), 0o600))
	}
	write("1")
	args := []string{"fit", "--data", table, "--kmax", "3", "--checkpoint", path, "--keep-checkpoint", "--max-iter", "30", "--format", "json"}
	whole := found(t, context.Background(), args)
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := func(want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(informed(context.Background()), args, strings.NewReader(""), &out, &errs), "%s", &out)
		assert.Contains(t, errs.String(), want)
		assert.Contains(t, errs.String(), "name another file, or remove it to begin anew\n")
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "one line: %s", &errs)
		assert.Empty(t, out.String())
	}
	refused("--seed is 1 in the checkpoint and 2 here", append(args, "--seed", "2")...)
	refused("--kmax is 3 in the checkpoint and 4 here", append(args, "--kmax", "4")...)
	refused("--drop is nothing in the checkpoint and [\"a\"] here", append(args, "--drop", "a")...)
	refused("--method is gfab in the checkpoint and fab here", append(args, "--method", "fab")...)
	refused("belongs to another command", "select", "--data", table, "--checkpoint", path)
	write("1.0001")
	refused("belongs to a fit to other rows", args...)
	write("1")
	for i := range 28 {
		flipped := bytes.Clone(saved)
		flipped[(i*len(saved)+len(saved)/2)/28] ^= 1 << (i % 8)
		require.NoError(t, os.WriteFile(path, flipped, 0o600))
		refused("--checkpoint "+path, args...)
	}
	for _, text := range []string{"", "junk", string(saved[:len(saved)-1]), string(saved) + "\n", "latent command checkpoint 1\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		refused("--checkpoint "+path, args...)
	}
	require.NoError(t, os.WriteFile(path, saved, 0o600))
	require.Equal(t, whole["k"], found(t, context.Background(), args)["k"])

	for want, line := range map[string]string{
		"requires --checkpoint":                                      "fit --keep-checkpoint",
		"--checkpoint is -":                                          "fit --checkpoint -",
		"--checkpoint is the input":                                  "fit --data " + table + " --checkpoint " + table,
		"--out and --checkpoint both name m.json":                    "fit --out m.json --checkpoint m.json",
		"--out and --checkpoint both name ./m.json":                  "fit --out m.json --checkpoint ./m.json",
		"--report and --checkpoint both name " + dir + "/new":        "fit --report " + dir + "/new --checkpoint " + dir + "/new",
		"--report and --checkpoint both name " + dir + "/index.html": "fit --report " + dir + " --checkpoint " + dir + "/index.html",
		"is not a regular file":                                      "fit --checkpoint " + os.DevNull,
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(informed(context.Background()), strings.Fields(line), strings.NewReader(""), &out, &errs), line)
		assert.Contains(t, errs.String(), want)
	}
}
