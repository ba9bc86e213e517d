package blocks_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func sequenceTable(t *testing.T, steps int, ends []int) *blocks.SequenceTable {
	t.Helper()
	x := make([]float64, 2*steps)
	for i := range x {
		x[i] = float64(i)
	}
	table, err := blocks.FromSlice(x, steps, 2)
	require.NoError(t, err)
	s, err := blocks.NewSequences(table, ends)
	require.NoError(t, err)
	return s
}

func TestBlocksHaveWholeSequences(t *testing.T) {
	ends := []int{10, 20_010, 20_011, 20_020, 40_000, 40_003} // two are longer than a block
	s := sequenceTable(t, 40_003, ends)
	assert.Equal(t, 6, s.Rows())
	assert.Equal(t, 40_003, s.Observations())
	weighted, err := s.WithWeights([]float64{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	for _, s := range []*blocks.SequenceTable{s, weighted} {
		next, step, blocks := 0, 0, 0
		for b, err := range s.Blocks(context.Background()) {
			require.NoError(t, err)
			require.NoError(t, b.Check())
			assert.Equal(t, next, b.First)
			assert.Equal(t, step, b.Steps.First)
			for i := range b.Len() {
				first, end := b.Bounds(i)
				assert.Equal(t, ends[next+i], step+end)
				assert.Equal(t, float64(2*(step+first)), b.Steps.Row(first)[0])
				if s == weighted {
					assert.Equal(t, float64(1+next+i), b.Weight(i))
				}
			}
			next, step, blocks = next+b.Len(), step+b.Steps.N, blocks+1
		}
		assert.Equal(t, 6, next)
		assert.Equal(t, 5, blocks)
	}
	assert.Equal(t, 6, s.All().Len())
}

func TestStepsHaveTheWeightOfTheirSequence(t *testing.T) {
	s, err := sequenceTable(t, 5, []int{2, 5}).WithWeights([]float64{3, 0.5})
	require.NoError(t, err)
	steps, err := framework.StepsOf(context.Background(), s)
	require.NoError(t, err)
	assert.Equal(t, 5, steps.Rows())
	var weights []float64
	for b, err := range steps.Blocks(context.Background()) {
		require.NoError(t, err)
		weights = append(weights, b.Weights...)
	}
	assert.Equal(t, []float64{3, 3, 0.5, 0.5, 0.5}, weights)
	single, err := framework.StepsOf(context.Background(), blocks.Single[blocks.Sequences]{Block: s.All(), Count: 2})
	require.NoError(t, err)
	assert.Equal(t, 5, single.Rows())
}

func TestEndsOfIdentifiers(t *testing.T) {
	ends, err := blocks.EndsOf([]string{"b", "b", "a", "c", "c", "c"})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 6}, ends)
	_, err = blocks.EndsOf([]string{"b", "b", "a", "b"})
	var fault *blocks.DataError
	require.True(t, errors.As(err, &fault))
	assert.Equal(t, 3, fault.Row)
	assert.EqualError(t, err, "framework: row 4 continues sequence b, which began in row 1 and has ended: sort the rows by sequence")
}

func TestFaultySequencesAreRefused(t *testing.T) {
	table, err := blocks.FromSlice([]float64{1, 2, 3}, 3, 1)
	require.NoError(t, err)
	for name, ends := range map[string][]int{"an empty one": {1, 1, 3}, "none": {}, "steps left": {1, 2}, "too many": {4}, "backwards": {2, 1, 3}} {
		_, err := blocks.NewSequences(table, ends)
		assert.Error(t, err, name)
	}
	weighted, err := table.WithWeights([]float64{1, 1, 2})
	require.NoError(t, err)
	_, err = blocks.NewSequences(weighted, nil)
	assert.ErrorContains(t, err, "give weights of whole sequences")
	s, err := blocks.NewSequences(table, nil)
	require.NoError(t, err)
	for _, w := range [][]float64{{1, 1}, {-1}, {0}} {
		_, err = s.WithWeights(w)
		assert.Error(t, err)
	}
	b := s.All()
	b.Weights = []float64{1, 2}
	assert.Error(t, b.Check())
	b.Weights, b.Steps.Weights = nil, []float64{1, 1, 1}
	assert.Error(t, b.Check())
	b.Steps.Weights, b.Ends = nil, []int{2}
	assert.Error(t, b.Check())
}

// Sequences 1, 2, gap, 4 and −1, 3: about 1 the products are 0·1 and −2·2, as nothing follows a gap or another sequence.
func TestLagOneStaysWithinSequences(t *testing.T) {
	b := sequenceTable(t, 6, []int{4, 6}).All()
	x := []float64{1, 9, 2, 9, math.NaN(), 9, 4, 9, -1, 9, 3}
	assert.InDelta(t, -4./(0+1+9+4+4), b.LagOne(x, 2, 1), 1e-15)
	assert.True(t, math.IsNaN(b.LagOne(slices.Repeat([]float64{math.NaN()}, 6), 1, 0)))
}
