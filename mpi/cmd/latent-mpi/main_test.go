package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/mpi"
	"github.com/latent-go/latent/mpi/internal/job"
)

func TestMain(m *testing.M) {
	job.Main(m, map[string]func() int{"latent-mpi": run, "lines": lines})
}

// lines runs the commands of a file in one job, and the first process prints what each has written in a line.
func lines() int {
	g, err := mpi.Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rank, _ := g.Rank()
	for line := range strings.Lines(string(text)) {
		if written := written(command.Host{Group: g}, line); rank == 0 {
			fmt.Println(written)
		} else if written != "" {
			fmt.Println("process", rank, "wrote", written)
		}
	}
	if err := g.Finalize(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// written is the result of a command, in one line, or its error.
func written(h command.Host, line string) string {
	var out, errs bytes.Buffer
	if command.Run(context.Background(), h, strings.Fields(line), strings.NewReader(""), &out, &errs) != 0 {
		return errs.String()
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "")
}

// timeless is JSON without the seconds that it took.
func timeless(t *testing.T, text, line string) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object), "%s: %s", line, text)
	delete(object, "seconds")
	return object
}

// array writes an NPY file of n×d numbers.
func array(t *testing.T, name string, n, d int, at func(i, j int, rng *rand.Rand) float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, d)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	text := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	text = append(text, head...)
	for i := range n {
		for j := range d {
			text, _ = binary.Append(text, binary.LittleEndian, at(i, j, rng))
		}
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// everyModel are fits by every model and method: of the embedded data sets, of which all but the first process have no rows, and of
// tables of which four processes have some. Each is of several starts where there may be some, and of few iterations.
func everyModel(t *testing.T) (list []string) {
	t.Helper()
	for model, methods := range map[string]string{
		"mixture": "gfab,fab,em,map,vb", "bernmix": "gfab,fab,em,map,vb,cvb0", "hmm": "gfab,fab,em,map,vb", "bpca --data iris": "gfab,fab,em,vb,closed-form", "ppca --data iris": "em,closed-form",
		"factor --data satellite": "gfab,fab,em,closed-form", "features": "gfab,fab,em", "lds": "gfab,fab,em", "topics": "cvb0", "blockmodel": "greedy,gfab,fab,em", "vbmf --data iris": "vb,closed-form", "regression --data NPreg --response yn": "gfab,fab,em",
	} {
		for method := range strings.SplitSeq(methods, ",") {
			line := "fit --model " + model + " --method " + method + " --kmax 3"
			if method == "greedy" {
				line += " --restarts 2"
			} else if method != "closed-form" {
				line += " --max-iter 6 --restarts 2"
			}
			list = append(list, line)
		}
	}
	const d = 16
	n := 100_000 // 49 blocks
	if testing.Short() {
		n = 33_000 // 17
	}
	wide := " --data " + array(t, "numbers.npy", n, d, func(i, j int, rng *rand.Rand) float64 {
		return rng.NormFloat64() + float64(i/1000%3*(j%4)) + float64(j)*rng.NormFloat64()/10
	})
	bits := " --data " + array(t, "bits.npy", n, d, func(i, j int, rng *rand.Rand) float64 {
		return float64(min(1, rng.IntN(2+i%2*j)))
	})
	for _, line := range []string{
		"mixture --method gfab", "mixture --method fab --family gaussian-diagonal", "mixture --method em --restarts 2", "mixture --method map", "mixture --method vb", "mixture --family student-t", "mixture --family factor-analysers --factors 2",
		"mixture --gate V16", "hmm --method gfab", "hmm --method em", "bpca --method vb", "ppca --method em", "factor --method em", "regression --response V1", "vbmf --method vb", "mixture --cov VVV --accelerate", "mixture --cov VVV --sample 20000", "mixture --cov VVV --shards 48",
	} {
		list = append(list, "fit --model "+line+" --kmax 2 --max-iter 3"+wide)
	}
	for _, method := range []string{"em", "vb", "cvb0", "gfab"} {
		list = append(list, "fit --model bernmix --kmax 2 --max-iter 3 --method "+method+bits)
	}
	return append(list, "select --kmax 3 --max-iter 6 --restarts 2", "select --kmax 2 --max-iter 3"+wide, "select --model hmm --kmax 2 --max-iter 6", "select --model bpca --data iris --method em --max-iter 6", "select --data iris --cov all --kmax 2 --max-iter 6 --restarts 1")
}

// TestAnyNumberOfProcessesHasTheBitsOfOne: what every model and method of the command writes; in short, half of it by two
// processes and half by four.
func TestAnyNumberOfProcessesHasTheBitsOfOne(t *testing.T) {
	all := everyModel(t)
	slices.Sort(all)
	alone := make([]map[string]any, len(all))
	for i := range all {
		all[i] += " --format json"
		alone[i] = timeless(t, written(command.Host{}, all[i]), all[i])
	}
	file := filepath.Join(t.TempDir(), "lines")
	sizes, step := []int{1, 2, 3, 4}, 1
	if testing.Short() {
		sizes, step = []int{2, 4}, 2
	}
	for first, n := range sizes {
		var places []int
		var text strings.Builder
		for i := first % step; i < len(all); i += step {
			places = append(places, i)
			fmt.Fprintln(&text, all[i])
		}
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		j := job.Run(t, "lines", job.Part{Processes: n, Arguments: []string{file}})
		require.Zero(t, j.Status, j.Errors)
		got := strings.Split(strings.TrimSpace(j.Out), "\n")
		require.Len(t, got, len(places))
		for line, i := range places {
			require.Equal(t, alone[i], timeless(t, got[line], all[i]), "%s by %d processes", all[i], n)
		}
	}
}
