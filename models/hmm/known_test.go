package hmm_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/hmm"
)

// TestKnownStatesConform, of which two have labels in a part of the steps.
func TestKnownStatesConform(t *testing.T) {
	i := 0
	x, ends := drawn(lengths(30), 3, func(z int, rng *rand.Rand) []float64 {
		i++
		label := math.NaN()
		if i%6 == 0 && z < 2 {
			label = float64(z)
		}
		return append(gaussianState(z, rng), label)
	}, 0)
	m := hmm.Model{Family: known.Labelled(normal.Family{Covariance: normal.Diagonal}, 2)}
	lvmtest.Test(t, hmmCase{
		Model: m, Data: lvmtest.Sequences(x, ends), K: []int{2, 3}, Least: 2, NoAllocations: true,
		Symmetry: func(p *hmm.Parameters, rng *rand.Rand) *hmm.Parameters {
			q, err := m.Permute(p, rng.Perm(p.K))
			if err != nil {
				panic(err)
			}
			return q
		},
	})
}

// TestKnownStates in 10 chains whose states overlap so that steps alone do not tell them apart: the labels of a tenth of
// the steps do, in at least 9.
func TestKnownStates(t *testing.T) {
	found := 0
	for table := range 10 {
		rng := rand.New(rand.NewPCG(uint64(table), 2))
		const n = 800
		var x []float64
		var truth []int
		z := 0
		for range n {
			if rng.Float64() < 0.15 {
				z = (z + 1 + rng.IntN(2)) % 3
			}
			label := math.NaN()
			if rng.Float64() < 0.1 {
				label = float64(z)
			}
			x, truth = append(x, 1.2*float64(z)+rng.NormFloat64(), label), append(truth, z)
		}
		rows, err := blocks.FromIncomplete(x, n, 2)
		require.NoError(t, err)
		steps, err := blocks.NewSequences(rows, nil)
		require.NoError(t, err)
		m := hmm.Model{Family: known.Labelled(normal.Family{}, 3)}
		res, err := framework.Fit(context.Background(), m, steps, framework.Options{K: 6, Criterion: framework.Evidence})
		require.NoError(t, err)
		p, close := res.Parameters, res.Shape.K == 3
		for k := range p.K {
			label := m.Label(p, k)
			close = close && label >= 0 && math.Abs(p.Component(k)[0]-1.2*float64(label)) < 0.4
		}
		if close {
			found++
		}
		q, err := m.Responsibilities(steps.All(), p, nil)
		require.NoError(t, err)
		for i := range n {
			if label := x[2*i+1]; label == label {
				for k := range p.K {
					assert.Equal(t, m.Label(p, k) == truth[i], q[i*p.K+k] == 1)
				}
			}
		}
	}
	assert.GreaterOrEqual(t, found, 9)
}
