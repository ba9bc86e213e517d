package mixture_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/models/mixture"
)

// TestMappedFile: a fit to an array that lies in a file has the bits of one to the same numbers in memory, and where the file
// is made shorter meanwhile, so that its pages are gone, the fit ends in an error, whichever goroutine or kernel meets it.
func TestMappedFile(t *testing.T) {
	const n, d = 20_000, 4
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + float64(i/d%3)*3
	}
	memory, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, data.WriteNPY(&text, x, n, d))
	path := filepath.Join(t.TempDir(), "x.npy")

	for _, workers := range []int{1, 2} {
		for _, covariance := range []normal.Covariance{normal.Full, normal.Diagonal} {
			t.Run(fmt.Sprint(workers, covariance), func(t *testing.T) {
				require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
				file, err := os.Open(path)
				require.NoError(t, err)
				defer file.Close() //nolint:errcheck // nothing was written
				store := data.NewStore(0)
				defer store.Close() //nolint:errcheck // it is unmapped or not
				table, err := data.Read(file, data.CSVOptions{Store: store})
				require.NoError(t, err)
				require.NotZero(t, store.Mapped())
				values, _, _, err := table.Values()
				require.NoError(t, err)
				src, err := blocks.FromSlice(values, n, d)
				require.NoError(t, err)

				m := mixture.Model{Family: normal.Family{Covariance: covariance}}
				o := framework.Options{K: 4, Workers: workers, Seed: 3}
				want, err := framework.Fit(context.Background(), m, memory, o)
				require.NoError(t, err)
				got, err := framework.Fit(context.Background(), m, src, o)
				require.NoError(t, err)
				require.Equal(t, want.Trace, got.Trace)

				if runtime.GOOS == "windows" {
					return // which lets nobody shorten a mapped file
				}
				o.Recorder = func(e framework.Event) error {
					if e.Iteration == 3 {
						return os.Truncate(path, 128+8*n*d/2)
					}
					return nil
				}
				_, err = framework.Fit(context.Background(), m, src, o)
				require.ErrorIs(t, err, panics.ErrFault)
			})
		}
	}
}
