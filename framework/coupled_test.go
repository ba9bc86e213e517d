package framework_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/laplace"
)

// remembered is poisson whose q is kept by the engine: its update is the full local step, so
// that everything must come out as without.
type remembered struct{ poisson }

type memory struct {
	K int
	Q []float64 `keep:"columns"` // rows×K
}

func (m *memory) Keep(dims []int) optional.Local {
	kept := framework.KeepAxes(m, m.K, dims)
	for i := 0; i < len(kept.Q); i += len(dims) {
		sum := 0.0
		for _, v := range kept.Q[i : i+len(dims)] {
			sum += v
		}
		for k := range dims {
			kept.Q[i+k] /= sum
		}
	}
	kept.K = len(dims)
	return kept
}

func (remembered) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	k := len(p.Rates)
	m := &memory{K: k, Q: make([]float64, src.Rows()*k)}
	for i := range m.Q {
		m.Q[i] = 1 / float64(k)
	}
	return m, nil
}

func (m remembered) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, tilt, s); err != nil {
		return err
	}
	k := len(p.Rates)
	for i := range b.N {
		m.responsibilities(b.Row(i)[0], p, s)
		copy(next.(*memory).Q[(b.First+i)*k:], s.q)
	}
	return nil
}

func (m remembered) InferAt(b blocks.Rows, p *rates, q optional.Local, s *counts) (entropy float64, err error) {
	k := len(p.Rates)
	for i := range b.N {
		w, x := b.Weight(i), b.Row(i)[0]
		s.N += w
		lgamma, _ := math.Lgamma(x + 1)
		s.Const += w * lgamma
		for j, r := range q.(*memory).Q[(b.First+i)*k : (b.First+i+1)*k] {
			s.Nk[j] += w * r
			s.Sum[j] += w * r * x
			if r > 0 {
				entropy -= w * r * math.Log(r)
			}
		}
	}
	return entropy, nil
}

// inOrder is the same with blocks one after the other.
type inOrder struct{ remembered }

func (inOrder) UpdatesInOrder() {}

// TestKeptLocalStepsAreTheModel: a q that the engine keeps, projects and resumes gives what the
// model gives that computes it anew.
func TestKeptLocalStepsAreTheModel(t *testing.T) {
	src := chopped{table(mixed(500, 3))}
	o := framework.Options{K: 6, Also: []framework.Criterion{framework.BIC}}
	want, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	for _, model := range []framework.Model[blocks.Rows, *rates, *counts]{remembered{}, inOrder{}} {
		for _, workers := range []int{1, 3} {
			o := o
			o.Workers = workers
			got, err := framework.Fit(background, model, src, o)
			require.NoError(t, err)
			assert.Equal(t, want.KTrace, got.KTrace)
			assert.InDeltaSlice(t, want.Trace, got.Trace, 1e-9)
			assert.InDelta(t, want.Scores[1].Value, got.Scores[1].Value, 1e-6)
			q := got.Local.(*memory)
			require.Equal(t, got.Shape.K, q.K)
			assert.Len(t, q.Q, 500*q.K)
		}
	}
}

// TestKeptLocalStepsTravelInCheckpoints: interrupted and resumed, the bits are the same.
func TestKeptLocalStepsTravelInCheckpoints(t *testing.T) {
	src := chopped{table(mixed(300, 3))}
	for _, model := range []framework.Model[blocks.Rows, *rates, *counts]{remembered{}, inOrder{}} {
		uninterrupted, err := framework.Fit(background, model, src, framework.Options{K: 5})
		require.NoError(t, err)
		for _, limit := range []int{1, 4, 20} {
			o := framework.Options{K: 5, MaxIterations: limit}
			part, err := framework.Fit(background, model, src, o)
			require.NoError(t, err)
			o.MaxIterations = 0
			o.Resume, err = part.Checkpoint()
			require.NoError(t, err)
			resumed, err := framework.Fit(background, model, src, o)
			require.NoError(t, err)
			assert.Equal(t, uninterrupted.Trace, resumed.Trace)
			assert.True(t, reflect.DeepEqual(uninterrupted.Local, resumed.Local))
		}
	}
}

// stubborn has nothing to begin with.
type stubborn struct{ remembered }

func (stubborn) NewLocal(context.Context, framework.Source[blocks.Rows], *rates, *rand.Rand) (optional.Local, error) {
	return nil, nil
}

func TestMissingLocalStepIsNamed(t *testing.T) {
	_, err := framework.Fit(background, stubborn{}, table(mixed(100, 1)), framework.Options{K: 2})
	assert.ErrorIs(t, err, framework.ErrContract)
	assert.ErrorContains(t, err, "NewLocal of framework_test.stubborn")
}

// TestAMappedFileThatShrinksIsAnErrorToo: in a sweep that updates blocks in order, as in any pass.
func TestAMappedFileThatShrinksIsAnErrorToo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("which lets nobody shorten a mapped file")
	}
	const n = 20_000
	var text bytes.Buffer
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i % 7)
	}
	require.NoError(t, data.WriteNPY(&text, x, n, 1))
	for _, model := range []framework.Model[blocks.Rows, *rates, *counts]{remembered{}, inOrder{}} {
		path := filepath.Join(t.TempDir(), "x.npy")
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
		file, err := os.Open(path)
		require.NoError(t, err)
		store := data.NewStore(0)
		mapped, err := data.Read(file, data.CSVOptions{Store: store})
		require.NoError(t, err)
		values, _, _, err := mapped.Values()
		require.NoError(t, err)
		src, err := blocks.FromSlice(values, n, 1)
		require.NoError(t, err)
		_, err = framework.Fit(background, model, src, framework.Options{K: 2, Workers: 1, Recorder: func(framework.Event) error {
			return os.Truncate(path, 4096)
		}})
		require.ErrorIs(t, err, panics.ErrFault)
		require.NoError(t, store.Close())
		require.NoError(t, file.Close())
	}
}
