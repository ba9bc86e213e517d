package framework_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// streamed has the blocks of a table, which come one after the other.
type streamed struct{ framework.Source[blocks.Rows] }

// ofManyBlocks is a table of 17 blocks, more than there are shards.
func ofManyBlocks() *blocks.Table { return table(slices.Repeat(mixed(5000, 1), 108)) }

// numbered counts the statistics that are made.
type numbered struct {
	poisson
	made *atomic.Int64
}

func (m numbered) NewStatistics(p *rates) *counts {
	m.made.Add(1)
	return m.poisson.NewStatistics(p)
}

// TestTablesMergeAsStreamsDo: shards of a table are taken one after the other, and few are there at once; the bits are
// those of a stream of its blocks.
func TestTablesMergeAsStreamsDo(t *testing.T) {
	src := ofManyBlocks()
	o := framework.Options{K: 3, FixedK: true, Method: framework.EM, MaxIterations: 2, NoMoves: true, Workers: 1}
	made := new(atomic.Int64)
	want, err := framework.Fit(background, numbered{made: made}, streamed{src}, o)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, made.Load(), int64(framework.DefaultShards))
	for _, workers := range []int{1, 3} {
		o.Workers = workers
		made.Store(0)
		got, err := framework.Fit(background, numbered{made: made}, src, o)
		require.NoError(t, err)
		requireBits(t, want, got)
		if workers == 1 { // of the shards log₂ 16 + 1 at once, and of the points and the result
			assert.LessOrEqual(t, made.Load(), int64(10))
		}
	}
	requireBits(t, want, fitTogether(t, 3, src, o))
}

// TestFloat32TablesFitAsFloat64: to the bit, for any number of workers and processes, whatever the start reads.
func TestFloat32TablesFitAsFloat64(t *testing.T) {
	wide := ofManyBlocks()
	x := make([]float32, wide.Rows())
	for i, v := range wide.All().X {
		x[i] = float32(v) // a count
	}
	src, err := blocks.FromFloat32(x, len(x), 1)
	require.NoError(t, err)
	o := framework.Options{K: 3, FixedK: true, Method: framework.EM, MaxIterations: 2, NoMoves: true, Sample: 1000}
	want, err := framework.Fit(background, poisson{}, wide, o)
	require.NoError(t, err)
	for _, workers := range []int{1, 3} {
		o.Workers = workers
		got, err := framework.Fit(background, poisson{}, src, o)
		require.NoError(t, err)
		requireBits(t, want, got)
	}
	requireBits(t, want, fitTogether(t, 3, src, o))
}

// TestShardsInTurnFailAtTheFirstBlock: that of a stream, whether by an error or a panic.
func TestShardsInTurnFailAtTheFirstBlock(t *testing.T) {
	fold := func(src framework.Source[blocks.Rows], workers int, visit func(b blocks.Rows) error) error {
		_, err := framework.Fold(background, src, workers, func() (*int, error) { return new(int), nil },
			func(_ *int, b blocks.Rows) error { return visit(b) }, func(_, _ *int) error { return nil })
		return err
	}
	fails := func(b blocks.Rows) error {
		if b.First > 500_000 {
			panic("boom")
		}
		if b.First > 80_000 {
			return fmt.Errorf("row %d", b.First)
		}
		return nil
	}
	src := ofManyBlocks()
	want := fold(streamed{src}, 1, fails)
	require.Error(t, want)
	for _, workers := range []int{1, 2, 5} {
		assert.EqualError(t, fold(src, workers, fails), want.Error())
	}
	panics := func(b blocks.Rows) error {
		if b.First > 80_000 {
			panic("boom")
		}
		return nil
	}
	requirePanic(t, "boom", "fold_test", func() { _ = fold(src, 1, panics) })
	requirePanic(t, "boom", "fold_test", func() { _ = fold(src, 3, panics) })
	require.ErrorContains(t, fold(src, 2, func(blocks.Rows) error { return errors.New("at once") }), "at once")
}
