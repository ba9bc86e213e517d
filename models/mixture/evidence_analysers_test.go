package mixture_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/evidencetest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// Without factors the evidence of factor analysers is that of diagonal covariances.
func TestEvidenceOfAnalysersWithoutFactors(t *testing.T) {
	const n, d = 200, 4
	x, _ := analysed(5, n, d, 0, 0, 0)
	for _, k := range []int{2, 0} {
		diagonal := evident(t, mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}, source(t, x, n, d), k)
		without := evident(t, mixture.Model{Family: normal.FactorAnalysers{Factors: normal.NoFactors}}, source(t, x, n, d), k)
		assert.InDelta(t, diagonal.Value, without.Value, 1e-6*n)
		assert.Equal(t, diagonal.Shape.K, without.Shape.K)
	}
}

// The evidence finds components and the factors of each, from six of five factors.
func TestEvidenceFindsAnalysersAndTheirFactors(t *testing.T) {
	const n, d = 300, 10
	x, _ := analysed(1, n, d, 1, 2, 3)
	res := fit(t, mixture.Model{Family: normal.FactorAnalysers{}}, source(t, x, n, d), framework.Options{K: 6, Criterion: framework.Evidence})
	got := factorsOf(res.Parameters)
	slices.Sort(got)
	assert.Equal(t, []int{1, 2, 3}, got)
	assert.Zero(t, res.Fall)
}

// One wild cell is a component of its own, and its row leaves the others as they are.
func TestEvidenceOfAnalysersWithAWildCell(t *testing.T) {
	const n, d = 200, 5
	x, _ := analysed(3, n, d, 1, 1)
	x[7*d+2] = 1e6
	res := fit(t, mixture.Model{Family: normal.FactorAnalysers{}}, source(t, x, n, d), framework.Options{K: 6, Criterion: framework.Evidence})
	sizes := slices.Clone(res.Statistics.Nk)
	slices.Sort(sizes)
	require.Len(t, sizes, 3)
	assert.InDelta(t, 1, sizes[0], 0.01)
	assert.Zero(t, res.Fall)
}

// oneFactor is one class of factor analysers with 0 or 1 factors, for annealing, in columns of mean 0 and variance 1: ln ψ, and
// of a factor t and its direction. The mean is integrated out.
func oneFactor(x []float64, d, k int, jacobian float64) *evidence.Metropolis {
	n := len(x) / d
	c := mat.NewSymDense(d, nil)
	for i := range n {
		c.SymRankOne(c, 1, mat.NewVecDense(d, x[i*d:(i+1)*d]))
	}
	deviation := func(i int) float64 {
		if i > d {
			return 1
		}
		return math.Sqrt2
	}
	deviations := make([]float64, d+k*(1+d))
	for i := range deviations {
		deviations[i] = deviation(i)
	}
	return evidencetest.Normal(deviations, func(theta []float64) float64 {
		cov := mat.NewSymDense(d, nil)
		for a := range d {
			for b := a; b < d; b++ {
				v := 0.0
				if a == b {
					v = 1
				}
				if k == 1 {
					u := theta[d+1:]
					v += math.Expm1(theta[d]) * u[a] * u[b] / floats.Dot(u, u)
				}
				cov.SetSym(a, b, v*math.Exp((theta[a]+theta[b])/2))
			}
		}
		return jacobian + evidencetest.MeanOut(float64(n), c, cov)
	})
}

// One class beside annealed importance sampling under the same prior.
func TestEvidenceOfAnalysersAgainstAnnealing(t *testing.T) {
	for i, one := range []struct {
		n, d, k, truth int
	}{{20, 3, 0, 0}, {20, 3, 1, 1}, {12, 4, 1, 1}, {40, 4, 1, 1}, {15, 3, 1, 0}} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			x, _ := analysed(uint64(i), one.n, one.d, one.truth)
			m := mixture.Model{Family: normal.FactorAnalysers{Factors: max(1, one.k), Fixed: one.k > 0, Floor: family.NoFloor}}
			if one.k == 0 {
				m.Family = normal.FactorAnalysers{Factors: normal.NoFactors, Floor: family.NoFloor}
			}
			value := evident(t, m, source(t, x, one.n, one.d), 1).Value
			y, jacobian := x, 0.0
			for j := range one.d {
				column := make([]float64, one.n)
				for r := range column {
					column[r] = x[r*one.d+j]
				}
				mean := floats.Sum(column) / float64(one.n)
				floats.AddConst(-mean, column)
				sd := math.Sqrt(floats.Dot(column, column) / float64(one.n))
				jacobian -= float64(one.n) * math.Log(sd)
				for r, v := range column {
					y[r*one.d+j] = v / sd
				}
			}
			exact, err := evidence.AIS(t.Context(), oneFactor(y, one.d, one.k, jacobian), evidence.AISOptions{Temperatures: 200, Chains: tier.Of(16, 16, 32), Seed: 3})
			require.NoError(t, err)
			t.Logf("E − annealed = %.3f ± %.3f", value-exact.LogEvidence, exact.StandardError)
			assert.LessOrEqual(t, value, exact.LogEvidence+0.1+4*exact.StandardError)
			assert.GreaterOrEqual(t, value, exact.LogEvidence-4)
		})
	}
}
