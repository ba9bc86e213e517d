package lds_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/lds"
)

func source(t testing.TB, b framework.Sequences) *framework.SequenceTable {
	table, err := framework.FromIncomplete(b.Steps.X, b.Steps.N, b.Steps.D)
	require.NoError(t, err)
	src, err := framework.NewSequences(table, b.Ends)
	require.NoError(t, err)
	return src
}

// TestTwoOscillationsAreFound begins with four dimensions.
func TestTwoOscillationsAreFound(t *testing.T) {
	for _, criterion := range []framework.Criterion{framework.Evidence, framework.GFIC} {
		for seed := range uint64(10) {
			src := source(t, sequences(oscillating(5), seed, 0.05, 70, 50))
			res, err := framework.Fit(t.Context(), lds.Model{}, src, framework.Options{K: 4, Criterion: criterion})
			require.NoError(t, err)
			assert.Equal(t, 2, res.Shape.K, "%s, seed %d", criterion.Name, seed)
		}
	}
}
