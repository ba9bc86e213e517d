package reproduce

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/reproduce/ppca"
)

// TestHeavyDensity: E_P⁰[g(x)/p⁰(x)] = 1 for a density g, here the normal law with the
// covariance of P⁰, whose ratio to the heavier p⁰ is bounded: the density of the heavy-tailed
// law integrates to 1 and belongs to its sampler. Held to 5 standard errors.
func TestHeavyDensity(t *testing.T) {
	p0 := newRankTruth(tailsRank, true)
	law, err := ppca.Law(p0.w0, 1)
	require.NoError(t, err)
	rows := p0.tails()
	ratios := make([]float64, tailsRows)
	for i, v := range rows.logP {
		ratios[i] = math.Exp(law.LogProb(rows.x[i*elboD:(i+1)*elboD]) - v)
	}
	mean, sd := stat.MeanStdDev(ratios, nil)
	assert.InDelta(t, 1, mean, 5*sd/math.Sqrt(tailsRows))
	assert.Less(t, sd/math.Sqrt(tailsRows), 0.1)
}

// TestELBORuns: one data set of each experiment.
func TestELBORuns(t *testing.T) {
	run, err := newRankTruth(rateRank, false).rate(context.Background(), 1000, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	assert.Equal(t, rateRank, run.Rank)
	assert.Equal(t, rateRank, run.Weighted)
	assert.InDelta(t, 21.75, 1000*run.Chosen, 5, "several standard deviations between data sets")
	if testing.Short() {
		return
	}
	reports, err := Run(context.Background(), []*Experiment{elboRate()}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	assert.Equal(t, Agrees, reports[0].Verdict, "%+v", reports[0].Outcome.Statements)
}
