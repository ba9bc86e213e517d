package framework_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// condensed counts how often its rows are condensed.
type condensed struct {
	poisson
	asked *atomic.Int32
}

func (m condensed) Condense(ctx context.Context, src framework.Source[blocks.Rows]) framework.Source[blocks.Rows] {
	m.asked.Add(1)
	return framework.Condense(ctx, src)
}

func TestRowsAreCondensedOnceForAllSizes(t *testing.T) {
	m, src := condensed{asked: new(atomic.Int32)}, table(mixed(500, 1))
	s, err := framework.Select(background, m, src, []int{1, 2, 3, 4}, framework.Options{Method: framework.EM, Tolerance: 1e-6, Workers: 2})
	require.NoError(t, err)
	assert.EqualValues(t, 1, m.asked.Load())
	for i, k := range s.K {
		alone, err := framework.Fit(background, m, src, framework.Options{K: k, Method: framework.EM, Tolerance: 1e-6})
		require.NoError(t, err)
		assert.Equal(t, alone.Value, s.Fits[i].Value, "K = %d", k)
	}
}

// TestCondensingRowsOfEntriesAllocatesForDifferentRowsAlone: 10000 rows, 4 of which differ.
func TestCondensingRowsOfEntriesAllocatesForDifferentRowsAlone(t *testing.T) {
	rows := make([][]int, 10000)
	for i := range rows {
		rows[i] = []int{i % 4, 10 + i%2}
	}
	src, err := blocks.FromOnes(rows, 100)
	require.NoError(t, err)
	require.Equal(t, 4, framework.Condense(background, src).Rows())
	require.Less(t, testing.AllocsPerRun(3, func() { framework.Condense(background, src) }), 100.)
}
