package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/memory"
	"github.com/latent-go/latent/internal/ranks"
)

// said is what a process of a crew has said.
type said struct {
	status      int
	out, errors string
}

// crewed runs a command in n processes, each with what arguments says.
func crewed(t *testing.T, n int, arguments func(rank int) string) []said {
	t.Helper()
	all := make([]said, n)
	for _, err := range ranks.Each(n, func(r ranks.Rank) error {
		rank, _ := r.Rank()
		all[rank] = process(t.Context(), r, n, arguments(rank))
		return nil
	}) {
		require.NoError(t, err)
	}
	memory.SetNeighbours(1)
	return all
}

func process(ctx context.Context, g framework.Group, n int, args string) said {
	var out, errs bytes.Buffer
	status := Run(ctx, Host{Models: host.Models, Group: g, Name: "latent-x", Local: n}, strings.Fields(args), strings.NewReader(""), &out, &errs)
	return said{status, out.String(), errs.String()}
}

// timeless is JSON without the seconds that it took.
func timeless(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object), text)
	delete(object, "seconds")
	return object
}

// The first of several processes writes what one process writes, and the others write nothing.
func TestACrewWritesWhatOneProcessWrites(t *testing.T) {
	for i, line := range []string{
		"fit --format json --restarts 1", "fit --format json --method em --k 3 --restarts 2 --max-iter 30", "fit --format json --model bpca --method closed-form",
		"fit --format json --model topics --restarts 1 --max-iter 9", "fit --format json --method em --kmax 3 --restarts 1 --max-iter 30",
		"select --format json --kmax 2 --restarts 2 --max-iter 30 --shards 40", "select --format json --data iris --cov all --kmax 2 --restarts 1 --max-iter 9", "datasets", "fit --help",
	} {
		status, alone, errs := latent("", strings.Fields(line)...)
		require.Equal(t, statusDone, status, errs)
		n := 2 + i%2
		for rank, s := range crewed(t, n, func(int) string { return line }) {
			require.Equal(t, statusDone, s.status, s.errors)
			switch {
			case rank > 0:
				assert.Empty(t, s.out+s.errors, line)
			case strings.Contains(line, "json"):
				assert.Equal(t, timeless(t, alone), timeless(t, s.out), "%s by %d", line, n)
				assert.Equal(t, errs, strings.ReplaceAll(s.errors, "latent-x:", "latent:"))
			default:
				assert.Equal(t, alone, strings.ReplaceAll(s.out, "latent-x", "latent"))
			}
		}
	}
}

func TestACrewWritesEachFileOnce(t *testing.T) {
	dir := t.TempDir()
	model, page, assigned := filepath.Join(dir, "m.json"), filepath.Join(dir, "page"), filepath.Join(dir, "a.csv")
	line := "fit --out " + model + " --report " + page + " --assignments " + assigned + " --checkpoint " + filepath.Join(dir, "c") + " --restarts 1"
	all := crewed(t, 3, func(int) string { return line })
	require.Equal(t, statusDone, all[0].status, all[0].errors)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "the checkpoint is removed")
	require.FileExists(t, filepath.Join(page, pageName))
	require.FileExists(t, assigned)

	both, err := os.ReadFile(model)
	require.NoError(t, err)
	done(t, strings.Fields(line)...)
	alone, err := os.ReadFile(model)
	require.NoError(t, err)
	require.Equal(t, string(alone), string(both))
}

func TestACrewSaysThatSomeHaveNothingToDo(t *testing.T) {
	all := crewed(t, 3, func(int) string { return "fit --k 1 --shards 2" })
	require.Equal(t, "latent-x: 1 of 3 processes have no part in the fit: --shards 3 gives each one a part\n", all[0].errors)
}

// A process that fails by itself ends the others, which write nothing, and the first one says what happened.
func TestACrewHearsOfTheErrorOfOne(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	for line, want := range map[string]said{
		"fit --k 0":                            {status: statusUsage, errors: "--k is 0"},
		"fit --data nowhere.csv":               {status: statusFailed, errors: "no such file"},
		"fit --data -":                         {status: statusUsage, errors: "--data -: one process alone can read standard input, and 2 share the fit: name a file"},
		"fit --bootstrap 10":                   {status: statusUsage, errors: "2 processes cannot share --bootstrap: fit without it, or in one process"},
		"fit --online 100":                     {status: statusUsage, errors: "--online 100: mini-batches follow one another, and processes cannot share them"},
		"select --bootstrap 20":                {status: statusUsage, errors: "processes cannot share --bootstrap"},
		"fit --out " + taken + "/m":            {status: statusFailed, errors: "--out"},
		"fit --checkpoint " + taken:            {status: statusFailed, errors: "is not a checkpoint"},
		"fit --shards 0":                       {status: statusUsage, errors: "--shards is 0; must be at least 1 and at most 65536"},
		"predict nowhere.json --data faithful": {status: statusFailed, errors: "nowhere.json"},
	} {
		all := crewed(t, 2, func(int) string { return line })
		assert.Equal(t, want.status, all[0].status, line)
		assert.Equal(t, want.status, all[1].status, line)
		assert.Contains(t, all[0].errors, want.errors, line)
		assert.True(t, strings.HasPrefix(all[0].errors, "latent-x: ") && strings.Count(all[0].errors, "\n") == 1, all[0].errors)
		assert.Empty(t, all[0].out+all[1].out+all[1].errors, line)
	}
	all := crewed(t, 3, func(rank int) string { return "fit --k " + []string{"1", "1", "2"}[rank] })
	require.Equal(t, said{statusUsage, "", "latent-x: process 2 was started with other arguments than process 0: give all of them the same\n"}, all[0])
	require.Equal(t, said{status: statusUsage}, all[1])
}

// failing is a group one of whose processes fails before its exchange of that number.
type failing struct {
	framework.Group
	exchanges int
	fail      func() error
}

func (f *failing) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if f.exchanges--; f.exchanges == 0 {
		if err := f.fail(); err != nil {
			return nil, err
		}
	}
	return f.Group.Gather(ctx, mine)
}

// An interrupt of one process ends all of them, with the progress in the file, from which any number goes on to the same bits.
func TestAnInterruptedCrewGoesOnFromItsCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress")
	line := "fit --format json --data iris --model bpca --max-iter 40 --tol 1e-15 --checkpoint " + path
	_, alone, _ := latent("", strings.Fields(line)...)
	for interrupted := range 2 {
		var all [2]said
		ranks.Each(2, func(r ranks.Rank) error {
			rank, _ := r.Rank()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := &failing{Group: r, exchanges: 20, fail: func() error { cancel(); return nil }}
			if rank != interrupted {
				f.exchanges = -1
			}
			all[rank] = process(ctx, f, 2, line)
			return nil
		})
		require.Equal(t, statusFailed, all[0].status)
		require.Regexp(t, "^latent-x: interrupted after [0-9]+ iterations at K = .*: the progress is in .*progress, and the same command continues from there\n$", all[0].errors)
		require.Empty(t, all[0].out+all[1].out+all[1].errors)
		require.FileExists(t, path)
		for rank, s := range crewed(t, 3, func(int) string { return line }) {
			require.Equal(t, statusDone, s.status, s.errors)
			if rank == 0 {
				require.Equal(t, timeless(t, alone), timeless(t, s.out))
			}
		}
		require.NoFileExists(t, path)
	}
}

// A process that is gone tells nobody: every other one says so.
func TestACrewThatLosesOneSaysSo(t *testing.T) {
	var all [2]said
	ranks.Each(2, func(r ranks.Rank) error {
		rank, _ := r.Rank()
		gone := errors.New("gone")
		f := &failing{Group: r, exchanges: 9, fail: func() error { r.Leave(); return gone }}
		if rank == 0 {
			f.exchanges = -1
		}
		all[rank] = process(t.Context(), f, 2, "fit")
		return nil
	})
	for rank, s := range all {
		require.Equal(t, statusFailed, s.status)
		require.Empty(t, s.out)
		require.Contains(t, s.errors, []string{"disconnected from the others", "gone"}[rank])
	}
}

// Processes that share a machine have equal parts of --memory, and of what the machine has.
func TestACrewSharesMemory(t *testing.T) {
	defer memory.SetLimit(0)
	path := file(t, "wide.csv", strings.Repeat(strings.Repeat("1,2,4,", 2000)+"1,2\n"+strings.Repeat("2,1,3,", 2000)+"2,1\n", 2))
	line := "fit --memory 1GB --model factor --data " + path // whose covariance matrix takes 288 MB
	all := crewed(t, 4, func(int) string { return line })
	require.Equal(t, statusFailed, all[0].status)
	require.Contains(t, all[0].errors, "the covariance matrix of 6002 columns needs 288 MB of memory")
}
