package reproduce

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

// TestSampledYardsticks holds the sampled evidence and gFIC at q* to the exact sums, within
// five standard errors.
func TestSampledYardsticks(t *testing.T) {
	const n = 40
	ctx := context.Background()
	for _, c := range orderCases {
		x := c.draw(n, rand.New(rand.NewPCG(3, 1)))
		levels, codes := make([]int, c.columns), make([]int, len(x))
		for i := range levels {
			levels[i] = 2
		}
		for i, v := range x {
			codes[i] = int(v)
		}
		gfic, logEvidence, err := evidence.Mixture{K: 2, Levels: levels, Alpha: c.alpha, Beta: 0.5, Workers: 1}.ExactGFIC(ctx, codes, nil)
		require.NoError(t, err)

		table, err := blocks.FromSlice(x, n, c.columns)
		require.NoError(t, err)
		ais, err := evidence.AIS(ctx, c.target(table.Distinct().All()), evidence.AISOptions{Temperatures: 400, Chains: 32, Workers: 1})
		require.NoError(t, err)
		assert.InDelta(t, logEvidence, ais.LogEvidence, 5*ais.StandardError, c.name)
		assert.Less(t, ais.StandardError, 0.25)

		sampler, err := mixture.NewAnnealer(ctx, bernmix.VB(c.alpha, 0.5), table.Distinct(), 2)
		require.NoError(t, err)
		gap, stdErr, err := c.exactGap(sampler, table.Distinct().All(), rand.New(rand.NewPCG(3, 2)))
		require.NoError(t, err)
		t.Logf("%s: ln p %.3f, sampled %.3f ± %.3f; gFIC − ln p %.3f, sampled %.3f ± %.3f", c.name, logEvidence, ais.LogEvidence, ais.StandardError, gfic-logEvidence, gap, stdErr)
		assert.InDelta(t, gfic-logEvidence, gap, 5*stdErr, c.name)
		assert.Less(t, stdErr, 0.2)
	}
}

// TestOrders: gFIC at q* is O(1) and EM's objective is not; beyond K' gFAB and BICEM are not; and
// KL(q‖q*) grows on two bits. Two draws leave the other slopes a standard error of 0.1, which
// is too much for a threshold of ¼.
func TestOrders(t *testing.T) {
	tier.Leave(t, "the theorems of these orders, internal/theorems")
	reports, err := Run(context.Background(), []*Experiment{gficTable1()}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	for i, want := range map[int]bool{0: true, 2: true, 8: false, 9: true, 10: false} {
		s := reports[0].Outcome.Statements[i]
		assert.Equal(t, want, s.Agrees, "%+v", s)
	}
}
