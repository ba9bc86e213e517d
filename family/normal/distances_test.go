package normal_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// Distances are (x−m)ᵀS⁻¹(x−m) over the normal columns that a row has, by a Cholesky factor for each row.
func TestDistancesOfRows(t *testing.T) {
	of := family.Product{family.Poisson{}, family.Of{Family: normal.Family{}, Width: 3}, normal.Family{Covariance: normal.Diagonal}}
	p, err := family.NewPlan(of, 5)
	require.NoError(t, err)
	s := []float64{2, 0.6, -0.3, 0.6, 1, 0.2, -0.3, 0.2, 0.5}
	xi := append(append([]float64{3, 1, -1, 0.5}, s...), 2, 0.25) // the rate, three means, S, a mean and a variance
	require.Equal(t, len(xi), p.Size().Params)
	rng := rand.New(rand.NewPCG(3, 3))
	b := blocks.Rows{N: 40, D: 5, Stride: 5}
	for i := range 5 * b.N {
		if b.X = append(b.X, rng.NormFloat64()); rng.Float64() < 0.3 {
			b.X[i] = math.NaN()
		}
	}
	squared, columns := p.Distances(append(append([]float64(nil), xi...), xi...), b)
	for i := range b.N {
		var at []int
		for j := range 3 {
			if !math.IsNaN(b.Row(i)[1+j]) {
				at = append(at, j)
			}
		}
		want, n := 0.0, len(at)
		if n > 0 {
			part, x := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
			for a, j := range at {
				x.SetVec(a, b.Row(i)[1+j]-xi[1+j])
				for c, l := range at {
					part.SetSym(a, c, s[3*j+l])
				}
			}
			var chol mat.Cholesky
			require.True(t, chol.Factorize(part))
			var y mat.VecDense
			require.NoError(t, chol.SolveVecTo(&y, x))
			want = mat.Dot(x, &y)
		}
		if v := b.Row(i)[4]; v == v {
			want += (v - 2) * (v - 2) / 0.25
			n++
		}
		assert.Equal(t, n, columns[i])
		assert.InDelta(t, want, squared[2*i], 1e-10)
		assert.InDelta(t, want, squared[2*i+1], 1e-10)
	}
	for _, none := range []family.Family{family.Poisson{}, normal.StudentT{}, normal.Noise{Family: normal.Family{}}} {
		p, err := family.NewPlan(none, 2)
		require.NoError(t, err)
		squared, _ := p.Distances(make([]float64, p.Size().Params), blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{1, 2}})
		assert.Nil(t, squared)
	}
}
