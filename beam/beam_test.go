package beam

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/framework"
)

// alone is the fit of one process.
func alone(t testing.TB, path string, o framework.Options) *framework.Result[parameters, statistics] {
	w, err := ofFile.open(context.Background(), fileSpec{Path: path})
	require.NoError(t, err)
	defer w.Close()
	res, err := framework.Fit(context.Background(), w.Model, w.Source, o)
	require.NoError(t, err)
	return res
}

func TestFitHasTheBitsOfOneProcess(t *testing.T) {
	path := table(t, 12_000, 4) // enough for the workers to make the sums of the starts, too
	address, _ := worker(t)
	o := framework.Options{K: 5, Seed: 1, MaxIterations: 30, Restarts: 2}
	want := alone(t, path, o)
	for name, c := range map[string]struct {
		workers string
		parts   int
	}{"a worker in this process": {"", 1}, "a worker process": {address, 1}, "parts": {address, 3}} {
		t.Run(name, func(t *testing.T) {
			r, err := Prism(t.Context(), c.workers)
			require.NoError(t, err)
			defer r.Close()
			begin := time.Now()
			got, err := Fit(t.Context(), ofFile, fileSpec{Path: path}, o, Options{Runner: r, Dir: t.TempDir(), Parts: c.parts})
			require.NoError(t, err)
			t.Logf("%v for %d iterations", time.Since(begin), got.Iterations)
			require.Equal(t, want.Parameters, got.Parameters)
			require.Equal(t, want.Trace, got.Trace)
		})
	}
}

// TestRowGroupsAreDecodedOnce, by the worker, for all passes and tasks; the driver looks at the first ones.
func TestRowGroupsAreDecodedOnce(t *testing.T) {
	const n, d, group = 200_000, 2, 1 << 16
	npy, path := table(t, n, d), filepath.Join(t.TempDir(), "rows.parquet")
	store := data.NewStore(1 << 20)
	defer store.Close()
	text, err := os.Open(npy)
	require.NoError(t, err)
	defer text.Close()
	rows, err := data.Read(text, data.CSVOptions{Store: store})
	require.NoError(t, err)
	x, _, _, err := rows.Values()
	require.NoError(t, err)
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := columnar.NewParquetWriter(file, []data.Head{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	require.NoError(t, w.Write(nil, x))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())

	o := framework.Options{K: 3, Seed: 1, MaxIterations: 3, NoMoves: true}
	want := alone(t, npy, o)
	got, err := Fit(t.Context(), ofParquet, path, o, Options{Dir: t.TempDir(), Parts: 4})
	require.NoError(t, err)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Trace, got.Trace)
	count, _ := decoded.Load(path)
	all := count.(*atomic.Int64).Load()
	t.Logf("%d of %d rows decoded", all, n)
	require.GreaterOrEqual(t, all, int64(n))
	require.LessOrEqual(t, all, int64(2*n+2*group)) // the driver reads all at most once; starts look at the first rows
}

// BenchmarkPass is what a pass costs beyond the computing: there are 30 rows.
func BenchmarkPass(b *testing.B) {
	address, _ := worker(b)
	for _, c := range []struct {
		name, workers string
		rows          int
	}{{"in process", "", 30}, {"worker process", address, 30}, {"worker process", address, 300_000}} {
		b.Run(fmt.Sprintf("%s, %d rows", c.name, c.rows), func(b *testing.B) {
			r, err := Prism(b.Context(), c.workers)
			require.NoError(b, err)
			defer r.Close()
			benchmarkPasses(b, r, c.rows)
		})
	}
}

func benchmarkPasses(b *testing.B, r Runner, rows int, of ...*os.Process) {
	path := table(b, rows, 2)
	require.NoError(b, ofFile.With(b.Context(), fileSpec{Path: path}, Options{Runner: r, Parts: 2}, func(w *work) error {
		p, err := w.Model.Init(b.Context(), w.Source, 2, rand.New(rand.NewPCG(1, 1)))
		require.NoError(b, err)
		pass := func() {
			began := time.Now()
			_, err := w.Source.(framework.Executor[parameters]).Step(b.Context(), framework.State[parameters]{Parameters: p}, 16)
			require.NoError(b, err)
			b.Log(time.Since(began))
		}
		pass()
		before, theirs := cpu(), cpuOf(of)
		for b.Loop() {
			pass()
		}
		b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "driver-ms/op")
		b.ReportMetric(float64((cpuOf(of)-theirs).Microseconds())/1000/float64(b.N), "others-ms/op")
		return nil
	}))
}

// cpu is what this process has computed.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf is what other processes have computed, in steps of 10 ms.
func cpuOf(list []*os.Process) (sum time.Duration) {
	for _, p := range list {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		for _, ticks := range strings.Fields(after)[11:13] {
			n, _ := strconv.Atoi(ticks)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
