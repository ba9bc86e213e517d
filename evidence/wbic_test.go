package evidence_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/evidence"
)

// Of a normal mean the tempered expectation is a closed form, which the estimate misses by as much as it says; and it is near
// the evidence, which it is for.
func TestWBICIsTheTemperedExpectation(t *testing.T) {
	const n = 200
	m := newNormalMean(n)
	mean, deviation := m.posterior(1 / math.Log(n))
	want := m.LogLikelihood(mean) - n*deviation*deviation/2
	var scores float64
	const seeds = 20
	for seed := range uint64(seeds) {
		got, se, err := evidence.WBIC(context.Background(), m, n, evidence.WBICOptions{Seed: seed})
		require.NoError(t, err)
		require.InDelta(t, want, got, 6*se, "seed %d", seed)
		scores += (got - want) / se * (got - want) / se / seeds
	}
	require.InDelta(t, 1, scores, 0.7, "mean of squared standard scores of %d seeds, whose standard deviation is 0.32", seeds)
	require.InDelta(t, m.exact(), want, 1.5, "of the order of √ln n = 2.3")
}

func TestWBICHasTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	m := newNormalMean(30)
	one, _, err := evidence.WBIC(context.Background(), m, 30, evidence.WBICOptions{Draws: 8, Workers: 1})
	require.NoError(t, err)
	four, _, err := evidence.WBIC(context.Background(), m, 30, evidence.WBICOptions{Draws: 8, Workers: 4})
	require.NoError(t, err)
	require.Equal(t, one, four)
}

func TestWBICRefusesWhatItCannotTemper(t *testing.T) {
	m := newNormalMean(5)
	for _, n := range []float64{0, 1, math.E, math.NaN(), math.Inf(1)} {
		_, _, err := evidence.WBIC(context.Background(), m, n, evidence.WBICOptions{})
		require.ErrorContains(t, err, "observations")
	}
	_, _, err := evidence.WBIC(context.Background(), m, 5, evidence.WBICOptions{Chains: 1})
	require.ErrorContains(t, err, "2 chains")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = evidence.WBIC(ctx, m, 5, evidence.WBICOptions{})
	require.ErrorIs(t, err, context.Canceled)
}
