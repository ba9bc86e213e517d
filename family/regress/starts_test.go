package regress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
)

// crossingLines are n rows of y and x on two lines that cross at 0, or whose logarithms do, with their lines.
func crossingLines(f Family, n int) (x []float64, line []int) {
	rng := seeded(5)
	for i := range n {
		at, slope := 6*rng.Float64()-3, 2.0
		if line = append(line, i%2); line[i] == 1 {
			slope = -2
		}
		switch f.Response {
		case Normal:
			x = append(x, 100+10*(slope*at+0.3*rng.NormFloat64()), at)
		case Counts:
			x = append(x, math.Floor(math.Exp(3+slope*at/3)), at)
		default:
			x = append(x, math.Floor(0.5+100/(1+math.Exp(-slope*at))), 100, at)
		}
	}
	return x, line
}

// Both starts by lines find two that cross, whatever the response and its units; distances between rows cannot.
func TestStartsAlongLines(t *testing.T) {
	const n = 400
	for _, f := range []Family{{}, {Response: Counts}, {Response: Successes, Exposure: true}} {
		x, line := crossingLines(f, n)
		d := len(x) / n
		rows := blocks.Rows{N: n, D: d, Stride: d, X: x, Weights: ones(n)}
		p, err := family.NewPlan(f, d)
		require.NoError(t, err)
		share := func(start family.Start) float64 {
			q, err := p.Partition(rows, 2, start, seeded(1))
			require.NoError(t, err)
			same := 0.0
			for i, j := range line {
				same += q[2*i+j] / n
			}
			return max(same, 1-same)
		}
		assert.Greater(t, share(family.KMeans), 0.93, f.Name())
		assert.Greater(t, share(family.Seeded), 0.8, f.Name())
		assert.Less(t, share(family.Scaled), 0.75, f.Name())
	}
}

// Regressors turned into one another and shifted leave starts by lines as they are; so does the scale of the response.
func TestStartsAlongLinesKeepToLinearMaps(t *testing.T) {
	const n, d, k = 200, 4, 3
	rng := seeded(2)
	x, turned := make([]float64, n*d), make([]float64, n*d)
	for i := range n {
		row, to := x[i*d:(i+1)*d], turned[i*d:(i+1)*d]
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		row[0] += float64(i%k-1) * 3 * row[1]
		to[0], to[1], to[2], to[3] = 1000*row[0]+7, 2*row[1]-row[2]+5, row[1]+row[2]-10, 1e-3*row[3]
	}
	for _, f := range []Family{{}, {Fixed: []int{0}}} {
		p, err := family.NewPlan(f, d)
		require.NoError(t, err)
		for _, start := range []family.Start{family.KMeans, family.Seeded} {
			var labels [2][]float64
			for i, of := range [][]float64{x, turned} {
				labels[i], err = p.Partition(blocks.Rows{N: n, D: d, Stride: d, X: of, Weights: ones(n)}, k, start, seeded(3))
				require.NoError(t, err)
			}
			assert.Equal(t, labels[0], labels[1], fmt.Sprint(f.Fixed, start))
		}
	}
}

// No table stops a start: one row, equal rows, more classes than rows that differ, regressors that depend on one another.
func TestStartsAlongLinesOfFewRows(t *testing.T) {
	p, err := family.NewPlan(Family{}, 3)
	require.NoError(t, err)
	for _, x := range [][]float64{{1, 2, 3}, slices.Repeat([]float64{1, 2, 3}, 7), {1, 2, 3, 4, 2, 3, 1, 2, 3, 9, 2, 3}, {1, 1, 1, 2, 2, 2, 5, 3, 3, 8, 4, 4}} {
		n := len(x) / 3
		for _, start := range []family.Start{family.KMeans, family.Seeded, family.Scaled, family.Hierarchical} {
			q, err := p.Partition(blocks.Rows{N: n, D: 3, Stride: 3, X: x, Weights: ones(n)}, 3, start, seeded(1))
			require.NoError(t, err)
			for i := range n {
				assert.Equal(t, 1.0, q[3*i]+q[3*i+1]+q[3*i+2])
			}
		}
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }
