//go:build !race

package builtin_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
)

// No model allocates for a row, or for a sequence. Under the race detector, pools drop what they have at random.
func TestScoringAllocatesNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/v3/*.json")
	require.NoError(t, err)
	for _, path := range files {
		m, err := builtin.Load(path)
		require.NoError(t, err)
		texts, _ := kept(t, path, m)
		if m.Model.Input().Sequence {
			texts = texts[:3*len(m.Columns())]
		} else {
			texts = texts[:len(m.Columns())]
		}
		row, dst := make([]float64, len(texts)), make([]float64, len(texts)/len(m.Columns())*m.Model.Layout().Width())
		require.NoError(t, m.Encode(row, texts))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if m.Score(row, dst) != nil {
				panic(path)
			}
			if _, err := m.LogProb(row); err != nil && err != fitted.ErrNoLikelihood {
				panic(path)
			}
		}), path)
	}
}
