package framework_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// blind knows nothing of the highest of three rates.
type blind struct{ poisson }

func (blind) Curvature(s *counts, p *rates, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		if len(s.Nk) == 3 && p.Rates[k] == slices.Max(p.Rates) {
			f.Class(k, nk, laplace.Diagonal{0})
		} else {
			f.Class(k, nk, unitInformation)
		}
	}
	return nil
}

// A component of which the rows say nothing, so that ln|F| is −Inf, leaves; where none may, the fit ends.
func TestSingularComponentsArePruned(t *testing.T) {
	src := table(mixed(300, 1))
	res, err := framework.Fit(background, blind{}, src, framework.Options{K: 3})
	require.NoError(t, err)
	assert.Equal(t, 2, res.Shape.K)
	assert.Equal(t, "degenerate", res.Pruned[0].Rule)
	_, err = framework.Fit(background, blind{}, src, framework.Options{K: 3, FixedK: true})
	assert.ErrorContains(t, err, "gFIC is +Inf at K = 3")
}

// tried counts the projections of a mixture, and those to one component.
type tried struct {
	poisson
	projections, single *int
}

func (m tried) Keep(s *counts, p *rates, dims []int) (*counts, *rates, error) {
	*m.projections++
	if len(dims) == 1 {
		*m.single++
	}
	return m.poisson.Keep(s, p, dims)
}

func TestHopelessTrialsAreNotRepeatedOnTheWay(t *testing.T) {
	for seed := range uint64(5) {
		m := tried{projections: new(int), single: new(int)}
		res, err := framework.Fit(background, m, table(mixed(2000, seed)), framework.Options{K: 3, Seed: seed})
		require.NoError(t, err)
		require.Equal(t, 3, res.Shape.K)
		require.Empty(t, res.Pruned)
		// Twice each component on the way, and each at convergence.
		assert.LessOrEqual(t, *m.projections, 2*3+3)
		assert.GreaterOrEqual(t, *m.projections, 3, "convergence tries every component")
		assert.Zero(t, *m.single, "not two together, of which each is missed")
	}
}

func TestTwoTogetherAreTriedWhereEachIsHardlyMissed(t *testing.T) {
	together := 0
	for seed := range uint64(4) {
		m := tried{projections: new(int), single: new(int)}
		res, err := framework.Fit(background, m, table(mixed(12, seed)), framework.Options{K: 3, Seed: seed})
		require.NoError(t, err)
		if res.Shape.K == 3 {
			together += *m.single
		}
	}
	assert.Positive(t, together)
}
