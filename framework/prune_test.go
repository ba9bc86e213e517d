package framework_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

// tried counts the projections of a mixture.
type tried struct {
	poisson
	projections *int
}

func (m tried) Keep(s *counts, p *rates, dims []int) (*counts, *rates, error) {
	*m.projections++
	return m.poisson.Keep(s, p, dims)
}

func TestHopelessTrialsAreNotRepeatedOnTheWay(t *testing.T) {
	for seed := range uint64(5) {
		m := tried{projections: new(int)}
		res, err := framework.Fit(background, m, table(mixed(2000, seed)), framework.Options{K: 3, Seed: seed})
		require.NoError(t, err)
		require.Equal(t, 3, res.Shape.K)
		require.Empty(t, res.Pruned)
		// Twice each component on the way, each at convergence, and there the weakest two.
		assert.LessOrEqual(t, *m.projections, 2*3+3+1)
		assert.GreaterOrEqual(t, *m.projections, 3+1, "convergence tries everything")
	}
}
