package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/evidence"
)

// TestPosteriorOfZ: the exact posterior's sizes are those of package evidence, all three
// posteriors sum to 1, and the experiment finds the peak and the raised mass.
func TestPosteriorOfZ(t *testing.T) {
	for _, c := range fig1Cases() {
		n := c.rows()
		if n > 40 {
			continue
		}
		r := c.posterior()
		for which := range r.Smaller {
			assert.InDelta(t, 1, floats.Sum(r.Smaller[which]), 1e-12, c.name)
		}
		levels, rows, counts := make([]int, c.columns), []int{}, []float64{}
		for i := range levels {
			levels[i] = 2
		}
		for pattern, count := range c.counts {
			for m := range c.columns {
				rows = append(rows, pattern>>m&1)
			}
			counts = append(counts, float64(count))
		}
		_, want, err := evidence.Mixture{K: 2, Levels: levels, Alpha: 0.5, Beta: 0.5, Workers: 1}.Expect(context.Background(), rows, counts, n/2+1, func(a *evidence.Allocation, dst []float64) {
			clear(dst)
			dst[min(a.Sizes[0], a.Sizes[1])] = 1
		})
		require.NoError(t, err)
		assert.InDeltaSlice(t, want, r.Smaller[zExact], 1e-12, c.name)
	}

	reports, err := Run(context.Background(), []*Experiment{gficFig1()}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	for i, want := range []bool{true, true, true, false, true} {
		assert.Equal(t, want, reports[0].Outcome.Statements[i].Agrees, "%+v", reports[0].Outcome.Statements[i])
	}
}
