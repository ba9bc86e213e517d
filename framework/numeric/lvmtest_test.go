package numeric_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
)

func TestDiscreteConforms(t *testing.T) {
	t.Run("poisson", func(t *testing.T) {
		x := mat.NewDense(90, 2, counts(90, 2, 11))
		lvmtest.Test(t, lvmtest.Case[framework.Rows, *numeric.Parameters, *numeric.Statistics]{
			Model: numeric.Discrete{Density: poisson{}}, Data: lvmtest.Matrix(x), K: []int{1, 3},
			Symmetry: relabelled, Degenerate: emptied, Tolerance: 1e-7,
		})
	})
	t.Run("diagonal", func(t *testing.T) {
		x := mat.NewDense(80, 2, clouds(80, 11))
		lvmtest.Test(t, lvmtest.Case[framework.Rows, *numeric.Parameters, *numeric.Statistics]{
			Model: numeric.Discrete{Density: diagonal{}}, Data: lvmtest.Matrix(x), K: []int{1, 2},
			Symmetry: relabelled, Degenerate: emptied, Tolerance: 1e-7,
			Units: []lvmtest.Units[framework.Rows]{lvmtest.Rescaled("columns times 1000 and 0.01", x, []float64{1000, 0.01})},
		})
	})
}

// relabelled has the components in another order.
func relabelled(p *numeric.Parameters, rng *rand.Rand) *numeric.Parameters {
	q := &numeric.Parameters{K: p.K, D: p.D, Shared: p.Shared, Whole: p.Whole}
	order := []int{0, 1, 2}[:p.K]
	if rng != nil {
		order = rng.Perm(p.K)
	}
	for _, k := range order {
		q.Weights = append(q.Weights, p.Weights[k])
		q.Components = append(q.Components, p.Component(k)...)
	}
	return q
}

// emptied gives the rows of the last component to the first, and its weight with them.
func emptied(s *numeric.Statistics, p *numeric.Parameters) (*numeric.Statistics, *numeric.Parameters, float64) {
	last := p.K - 1
	q := relabelled(p, nil)
	q.Weights = slices.Clone(p.Weights)
	for row := 0; row < len(s.Q); row += p.K {
		s.Q[row] += s.Q[row+last]
		s.Q[row+last] = 0
	}
	s.Nk[0] += s.Nk[last]
	s.Nk[last] = 0
	q.Weights[0] += q.Weights[last]
	q.Weights[last] = 0
	return s, q, 0
}

func TestContinuousConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	x := mat.NewDense(24, 3, centred(24, 3, 11))
	lvmtest.Test(t, lvmtest.Case[framework.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{
		Model: numeric.Continuous{Density: ppca{}}, Data: lvmtest.Matrix(x), K: []int{1, 2},
		Tolerance: 1e-7,
		Units:     []lvmtest.Units[framework.Rows]{lvmtest.Rescaled("times 1000", x, []float64{1000, 1000, 1000})},
	})
}
