package framework_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// half makes a checkpoint of a fit that is not complete.
func half(t *testing.T, src framework.Source[blocks.Rows], o framework.Options) []byte {
	t.Helper()
	o.MaxIterations = 5
	res, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	saved, err := res.Checkpoint()
	require.NoError(t, err)
	return saved
}

func TestDamagedCheckpointsAreRefused(t *testing.T) {
	src := table(mixed(300, 5))
	o := framework.Options{K: 4}
	saved := half(t, src, o)
	refuses := func(checkpoint []byte, at int) {
		o.Resume = checkpoint
		_, err := framework.Fit(background, poisson{}, src, o)
		require.ErrorContains(t, err, "checkpoint", "at %d of %d", at, len(saved))
		require.NotContains(t, err.Error(), "\n")
	}
	for cut := 0; cut < len(saved); cut += 11 {
		refuses(saved[:cut:cut], cut)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		flipped := bytes.Clone(saved)
		at := rng.IntN(len(flipped))
		flipped[at] ^= 1 << rng.IntN(8)
		refuses(flipped, at)
	}
	refuses(append(bytes.Clone(saved), 0), len(saved))
	refuses(bytes.Repeat(saved, 2), len(saved))
	junk := make([]byte, 5000)
	for i := range junk {
		junk[i] = byte(rng.Uint32())
	}
	refuses(junk, 0)
	refuses([]byte("latent checkpoint 4: a fit\n"), 0)
	o.Resume = saved
	_, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
}

func TestForeignCheckpointsSayWhatIsForeign(t *testing.T) {
	x := mixed(300, 5)
	other := append([]float64(nil), x...)
	other[7]++
	weights := make([]float64, len(x))
	for i := range weights {
		weights[i] = 1
	}
	weights[3] = 2
	heavier, err := table(x).WithWeights(weights)
	require.NoError(t, err)
	for want, change := range map[string]func(*framework.Options) framework.Source[blocks.Rows]{
		"K is 4 in the checkpoint and 3 here":    func(o *framework.Options) framework.Source[blocks.Rows] { o.K = 3; return nil },
		"Seed is 0 in the checkpoint and 1 here": func(o *framework.Options) framework.Source[blocks.Rows] { o.Seed = 1; return nil },
		"Also is  in the checkpoint and BIC here": func(o *framework.Options) framework.Source[blocks.Rows] {
			o.Also = []framework.Criterion{framework.BIC}
			return nil
		},
		"fit to other rows":                          func(*framework.Options) framework.Source[blocks.Rows] { return table(other) },
		"to other rows: their numbers, weights":      func(*framework.Options) framework.Source[blocks.Rows] { return heavier },
		"Rows is 300 in the checkpoint and 299 here": func(*framework.Options) framework.Source[blocks.Rows] { return table(x[1:]) },
	} {
		var src framework.Source[blocks.Rows] = table(x)
		o := framework.Options{K: 4}
		o.Resume = half(t, src, o)
		if foreign := change(&o); foreign != nil {
			src = foreign
		}
		_, err := framework.Fit(background, poisson{}, src, o)
		assert.ErrorContains(t, err, want)
	}
	o := framework.Options{K: 4}
	o.Resume = half(t, table(x), o)
	_, err = framework.Select(background, poisson{}, table(x), []int{4}, o)
	assert.ErrorContains(t, err, "belongs to a fit and cannot resume a selection")
}

// TestASelectionResumesToTheSameBits stops a sweep after any of its iterations.
func TestASelectionResumesToTheSameBits(t *testing.T) {
	src := table(mixed(300, 5))
	ks := []int{1, 2, 3, 4}
	options := framework.Options{Method: framework.EM, Restarts: 2, Workers: 2, Tolerance: 1e-6}
	criteria := []framework.Criterion{framework.BICEM, framework.ICL}
	var total int
	options.Recorder = func(framework.Event) error { total++; return nil }
	whole, err := framework.Select(background, poisson{}, src, ks, options, criteria...)
	require.NoError(t, err)
	require.Greater(t, total, 30)
	for _, at := range []int{1, 2, 3, total / 4, total / 2, total - 1} {
		ctx, cancel := context.WithCancel(background)
		o := options
		seen := 0
		var recorded []byte
		o.Recorder = func(e framework.Event) (err error) {
			if seen++; seen == at {
				cancel()
				recorded, err = e.Checkpoint()
			}
			return err
		}
		part, err := framework.Select(ctx, poisson{}, src, ks, o, criteria...)
		require.ErrorIs(t, err, context.Canceled)
		last, err := part.Checkpoint()
		require.NoError(t, err)
		o.Recorder = nil
		for _, o.Resume = range [][]byte{recorded, last} {
			again, err := framework.Select(background, poisson{}, src, ks, o, criteria...)
			require.NoError(t, err)
			assert.Equal(t, whole.Values, again.Values, "stopped at %d of %d", at, total)
			for i, fit := range again.Fits {
				assert.Equal(t, whole.Fits[i].Parameters, fit.Parameters)
				assert.Equal(t, whole.Fits[i].Trace, fit.Trace)
			}
		}
		_, err = framework.Select(background, poisson{}, src, ks[:3], o, criteria...)
		assert.ErrorContains(t, err, "holds 4 fits; this call makes 3")
	}
}
