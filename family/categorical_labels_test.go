package family

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/prior"
)

// byIndicators is a categorical family whose rows are observed by all their statistics.
type byIndicators struct{ Categorical }

func (f byIndicators) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// TestManyLevelsAreObservedByTheirLabels: scores, sums, predictions and second orders are those of the indicators, with
// missing cells and without, and a code that there is not is an error.
func TestManyLevelsAreObservedByTheirLabels(t *testing.T) {
	const n, cells, levels, k = 50, 3, labelBits + 7, 2
	for _, gaps := range []bool{false, true} {
		rng, x := seeded(3), make([]float64, n*cells)
		for i := range x {
			if x[i] = float64(rng.IntN(levels)); gaps && rng.IntN(4) == 0 {
				x[i] = math.NaN()
			}
		}
		numbers := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = 0.5 + rng.Float64()
			}
			return v
		}
		width, padded := cells*(1+levels), Padded(n)
		table, weights := numbers(k*width), numbers(k*padded)
		hyper := numbers(k * width)
		for c := range k * cells { // a cell's concentrations, after their sum
			h := hyper[c*(1+levels):][:1+levels]
			h[0] = 0
			for _, v := range h[1:] {
				h[0] += v
			}
		}
		var want [][]float64
		for _, f := range []ExponentialFamily{byIndicators{Categorical{levels}}, Categorical{levels}} {
			factors, err := Independent(f, cells)
			require.NoError(t, err)
			factor, o := factors[0], &Observed{}
			rows := blocks.Rows{N: n, D: cells, Stride: cells, X: x}
			require.NoError(t, factor.Observe(rows, 0, 0, n, o))
			require.Equal(t, f == ExponentialFamily(Categorical{levels}), o.coded)
			scores, sums := make([]float64, k*padded), make([]float64, k*width)
			factor.AddScores(o, Table{k, width, table}, scores)
			factor.AddSums(o, weights, Table{}, Table{}, Table{k, width, sums})
			p, err := factor.(ConjugateFactor).Conjugate(prior.Jeffreys{}, &Pooled{Parameters: make([]float64, cells*levels)})
			require.NoError(t, err)
			predicted, spread := make([]float64, k*padded), make([]float64, k)
			collapsed := p.(Collapsible)
			collapsed.AddPredictive(o, Table{k, width, hyper}, Table{}, nil, predicted)
			collapsed.AddSpread(o, Table{k, width, hyper}, Table{}, weights, spread)
			got := [][]float64{scores, sums, predicted, spread}
			if want == nil {
				want = got
				continue
			}
			for j, v := range got {
				for i := range v {
					if j%2 == 1 || i%padded < n {
						require.InDelta(t, want[j][i], v[i], 1e-10)
					}
				}
			}
			for _, wrong := range []float64{levels, -1, 0.5, math.Inf(1)} {
				bad := append([]float64(nil), x...)
				bad[7] = wrong
				rows.X = bad
				require.ErrorIs(t, factor.Observe(rows, 0, 0, n, o), ErrSupport)
			}
		}
	}
}
