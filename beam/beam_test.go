package beam

import (
	"context"
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
	path := table(t, 3000, 4)
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
