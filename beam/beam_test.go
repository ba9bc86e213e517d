package beam

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func benchmarkPasses(b *testing.B, r Runner, rows int) {
	path := table(b, rows, 2)
	require.NoError(b, ofFile.With(b.Context(), fileSpec{Path: path}, Options{Runner: r}, func(w *work) error {
		p, err := w.Model.Init(b.Context(), w.Source, 2, rand.New(rand.NewPCG(1, 1)))
		require.NoError(b, err)
		pass := func() {
			began := time.Now()
			_, err := w.Source.(framework.Executor[parameters]).Step(b.Context(), framework.State[parameters]{Parameters: p}, 16)
			require.NoError(b, err)
			b.Log(time.Since(began))
		}
		pass()
		before := cpu()
		for b.Loop() {
			pass()
		}
		b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "driver-ms/op")
		return nil
	}))
}

// cpu is what this process has computed.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
