package reproduce

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBeyondSplits: folds share no row, and together they have all.
func TestBeyondSplits(t *testing.T) {
	const n = 23
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	seen := map[float64]int{}
	for fold := range 5 {
		train, held, err := split(x, n, 1, fold, 5)
		require.NoError(t, err)
		assert.Equal(t, n, train.Rows()+held.Rows())
		for _, v := range held.All().X {
			seen[v]++
			assert.NotContains(t, train.All().X, v)
		}
	}
	assert.Len(t, seen, n)
	train, held, err := split(x, n, 1, -1, 5)
	require.NoError(t, err)
	assert.Equal(t, n, train.Rows())
	assert.Nil(t, held)
}

// TestBeyondRuns: one fold of the small data sets.
func TestBeyondRuns(t *testing.T) {
	for _, c := range beyondCases {
		if c.name != "iris" && c.name != "iris-bpca" && c.name != "zoo" {
			continue
		}
		run, err := c.run(context.Background(), 0, 5, c.quickKmax, 1)
		require.NoError(t, err, c.name)
		assert.Len(t, run.K, len(beyondMethods))
		assert.Len(t, run.HeldOut, len(beyondMethods))
		for m := range run.K {
			assert.Positive(t, run.K[m])
			assert.InDelta(t, run.HeldOut[0], run.HeldOut[m], 2, "%s: methods are of the same order, in nats a row", c.name)
		}
	}
}

// TestBeyondSaysWhereItLoses: a sweep that predicts better than gFAB beyond its standard
// error is named, one within it is not.
func TestBeyondSaysWhereItLoses(t *testing.T) {
	s := &Settings{Quick: true}
	var runs []beyondRun
	for i := range beyondCases {
		for fold := range 4 {
			better := 0.0
			if i == 1 {
				better = 1 + 0.1*float64(fold)
			}
			if i == 2 {
				better = 3*float64(fold%2) - 1 // 1 with a standard error of 1
			}
			runs = append(runs, beyondRun{K: []int{2, 2, 2, 2}, HeldOut: []float64{-5, -5, -5 + better, -6}, Seconds: []float64{1, 3, 3, 3}})
		}
	}
	out, err := beyondConclude(s, runs)
	require.NoError(t, err)
	for i := range beyondCases {
		assert.Equal(t, i != 1, out.Statements[i].Agrees)
		assert.Equal(t, i == 1, strings.HasSuffix(out.Statements[i].Measured, "It loses to BIC"), out.Statements[i].Measured)
	}
	assert.True(t, out.Statements[len(beyondCases)].Agrees, "a third of the time")
	assert.Equal(t, InPart, out.Verdict())
}
