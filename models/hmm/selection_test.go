package hmm_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/hmm"
)

// A truth is a model that sequences are drawn from.
type truth struct {
	name    string
	family  family.Family
	p       hmm.Parameters
	lengths func(rng *rand.Rand) []int
	kmax    int
}

// stays are transitions with the given probabilities to stay, all other states being as likely as each other.
func stays(stay ...float64) []float64 {
	k := len(stay)
	a := make([]float64, k*k)
	for i := range a {
		a[i] = (1 - stay[i/k]) / float64(k-1)
		if i/k == i%k {
			a[i] = stay[i/k]
		}
	}
	return a
}

// between draws n lengths from low to high.
func between(n, low, high int) func(rng *rand.Rand) []int {
	return func(rng *rand.Rand) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = low + rng.IntN(high-low+1)
		}
		return list
	}
}

func truths() []truth {
	four := hmm.Parameters{K: 4, D: 2, Start: []float64{0.25, 0.25, 0.25, 0.25}, Transitions: stays(0.9, 0.8, 0.7, 0.85),
		Components: []float64{0, 0, 1, 1, 3, 0, 1, 1, 0, 3, 1, 1, 3, 3, 1, 1}}
	diagonal := normal.Family{Covariance: normal.Diagonal}
	return []truth{
		{"four Gaussian states, 60 sequences of 20 to 150", diagonal, four, between(60, 20, 150), 8},
		{"four Gaussian states, 400 sequences of 3 to 12", diagonal, four, between(400, 3, 12), 8},
		{"three Poisson states", family.Poisson{}, hmm.Parameters{K: 3, D: 1, Start: []float64{0.4, 0.3, 0.3}, Transitions: stays(0.9, 0.85, 0.8), Components: []float64{2, 8, 20}}, between(30, 20, 80), 7},
		{"twin", diagonal, hmm.Parameters{K: 3, D: 1, Start: []float64{0.4, 0.2, 0.4}, Transitions: []float64{0.97, 0, 0.03, 0, 0.4, 0.6, 0.1, 0.4, 0.5}, Components: []float64{0, 1, 0, 1, 4, 1}}, between(40, 60, 140), 6},
	}
}

// draw makes sequences from a truth.
func (c truth) draw(t testing.TB, seed uint64) *blocks.SequenceTable {
	rng := rand.New(rand.NewPCG(seed, 77))
	lengths := c.lengths(rng)
	x, _, err := hmm.Model{Family: c.family}.Sample(&c.p, lengths, rng)
	require.NoError(t, err)
	table, err := blocks.FromSlice(x, len(x)/c.p.D, c.p.D)
	require.NoError(t, err)
	ends := make([]int, len(lengths))
	endsOf(lengths, ends)
	src, err := blocks.NewSequences(table, ends)
	require.NoError(t, err)
	return src
}

// Each number of states is found in every one of 20 tables: what is asked for is 20, and 18 of twins.
func TestNumberOfStates(t *testing.T) {
	seeds := tier.Of[uint64](1, 3, 20)
	for _, c := range truths() {
		t.Run(c.name, func(t *testing.T) {
			for seed := range seeds {
				o := framework.Options{K: c.kmax, Seed: seed, Tolerance: 1e-7}
				res := fit(t, hmm.Model{Family: c.family}, c.draw(t, seed), o)
				assert.Equal(t, c.p.K, res.Shape.K, "seed %d", seed)
			}
		})
	}
}

// With N = 1, the number of sequences, BIC would charge nothing.
func TestCriteriaOfOneSequenceCountItsSteps(t *testing.T) {
	c := truths()[0]
	c.lengths = between(1, 3000, 3000)
	criteria := []framework.Criterion{framework.BIC, framework.ICL, framework.GFIC, framework.FIC, framework.BICEM, framework.AIC}
	o := framework.Options{Method: framework.EM, Restarts: 3, Tolerance: 1e-7}
	of, err := framework.Select(context.Background(), hmm.Model{Family: c.family}, c.draw(t, 1), []int{1, 2, 3, 4, 5, 6}, o, criteria...)
	require.NoError(t, err)
	for j, criterion := range criteria {
		best := 0
		for i := range of.K {
			if of.Values[i][j] > of.Values[best][j] {
				best = i
			}
		}
		assert.Equal(t, 4, of.K[best], criterion.Name)
	}
	res := fit(t, hmm.Model{Family: c.family}, c.draw(t, 1), framework.Options{K: 4, Method: framework.EM, FixedK: true, MaxIterations: 3})
	want := []optional.Charge{{Parameters: 16, Free: 16, Latent: true, N: 3000}, {N: 3000}, {Parameters: 12, Free: 12, Latent: true, N: 2999}, {Parameters: 3, Free: 3, N: 1}}
	assert.Equal(t, want, hmm.Model{Family: c.family}.Charges(res.Statistics, res.Parameters))
}
