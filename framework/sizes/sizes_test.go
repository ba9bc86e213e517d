package sizes_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework/sizes"
	_ "github.com/latent-go/latent/internal/fixedseed"
)

// Two models by hand: L₁ = L₁₁, and L₂² + (L₁ − L₂₂)L₂ − L₂₁L₁ = 0.
func TestSingularBICOfTwoModelsByHand(t *testing.T) {
	const n = 50.
	l := []float64{-3, -1.5}
	lambda := func(i, j int) float64 { return [][]float64{{0.5}, {0.75, 1}}[i][j] }
	l11, l21, l22 := math.Exp(l[0])/math.Sqrt(n), math.Exp(l[1])*math.Pow(n, -0.75), math.Exp(l[1])/n
	want := (l22 - l11 + math.Sqrt((l11-l22)*(l11-l22)+4*l21*l11)) / 2
	got := sizes.SingularBIC(l, n, lambda)
	require.InDeltaSlice(t, []float64{math.Log(l11), math.Log(want)}, got, 1e-14)

	for _, shift := range []float64{-1e4, 1e4} { // far beyond what exp has
		moved := sizes.SingularBIC([]float64{l[0] + shift, l[1] + shift}, n, lambda)
		floats.AddConst(-shift, moved)
		require.InDeltaSlice(t, got, moved, 1e-9)
	}
}

func TestSingularBICOfRegularModelsIsBIC(t *testing.T) {
	l := []float64{-900, -700, -699.9, -400, -1200}
	for i, v := range sizes.SingularBIC(l, 300, func(i, _ int) float64 { return float64(i) + 1 }) {
		require.InDelta(t, l[i]-float64(i+1)*math.Log(300), v, 1e-9, i)
	}
}

// The L solve the equation that defines them.
func TestSingularBICSolvesItsEquation(t *testing.T) {
	l := []float64{-20, -12, -11.5, -11, -10.9}
	lambda := func(i, j int) float64 { return 0.5 + float64(j) + 0.3*float64(i-j) }
	values := sizes.SingularBIC(l, 40, lambda)
	for i, v := range values {
		above, below := 0., 0.
		for j, w := range values[:i+1] {
			above += math.Exp(l[i] - lambda(i, j)*math.Log(40) + w)
			below += math.Exp(w)
		}
		require.InDelta(t, v, math.Log(above/below), 1e-10, i)
	}
}

// Factor analysis of the 301×9 school scores of Holzinger and Swineford: their log-likelihoods at 0 to 5 factors, R's factanal
// has −3706.541 at 3, with λ = ((k+2)m + l(m−k+1))/4 of k factors over l, as in R's sBIC 0.2.0, choose 3.
func TestSingularBICChoosesThreeFactorsOfTheSchoolScores(t *testing.T) {
	const m, n = 9, 301.
	fic := []float64{-4180.2, -3902.52, -3837.16, -3809.06, -3825.83, -3848.97}
	l := make([]float64, len(fic))
	for k, v := range fic { // FIC = l + (k/2)(m + (n−m) ln(1 − m/n)) − ½ m(k+1) ln n
		l[k] = v - float64(k)/2*(m+(n-m)*math.Log(1-m/n)) + float64(m*(k+1))/2*math.Log(n)
	}
	require.InDelta(t, -3706.541, l[3], 0.01)
	values := sizes.SingularBIC(l, n, func(i, j int) float64 { return float64((i+2)*m+j*(m-i+1)) / 4 })
	require.Equal(t, 3, floats.MaxIdx(values), "%v", values)
}

// Beyond the truth the log-likelihood rises by a line: the heuristic finds its slope, and stops where it begins.
func TestSlopeHeuristicFindsTheEndOfTheGains(t *testing.T) {
	d := []float64{14, 4, 9, 24, 19, 29, 34, 39}
	l := make([]float64, len(d))
	for i, v := range d {
		l[i] = -1000 + 1.7*v - 300*math.Exp(-max(0, v-4)/1.4)
	}
	values, slope, err := sizes.SlopeHeuristic(l, d)
	require.NoError(t, err)
	require.InDelta(t, 1.7, slope, 1e-2)
	require.Equal(t, 2, floats.MaxIdx(values)) // from 9 to 14 parameters it gains 16.7, and 2·1.7·5 are 17
	_, _, err = sizes.SlopeHeuristic(l[:4], d[:4])
	require.ErrorContains(t, err, "5 sizes")
	floats.Scale(-1, l)
	_, _, err = sizes.SlopeHeuristic(l, d)
	require.ErrorContains(t, err, "does not rise")
}

func TestGeometricSizesHaveProbabilitiesThatSumToOne(t *testing.T) {
	sum := 0.0
	for k := 1; k < 60; k++ {
		sum += math.Exp(sizes.Geometric(k))
	}
	assert.InDelta(t, 1, sum, 1e-15)
}

// TestPosteriorIsTheSoftmax also of values far beyond the range of exp.
func TestPosteriorIsTheSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "models")
		values := rapid.SliceOfN(rapid.Float64Range(-6, 6), n, n).Draw(t, "values")
		logPrior := rapid.SliceOfN(rapid.Float64Range(-6, 6), n, n).Draw(t, "log priors")
		total := 0.0
		for i := range values {
			total += math.Exp(values[i]) * math.Exp(logPrior[i])
		}
		shifted := slices.Clone(values)
		floats.AddConst(rapid.SampledFrom([]float64{0, -1e5, 1e5}).Draw(t, "shift"), shifted)
		kept := slices.Clone(shifted)
		q, err := sizes.Posterior(shifted, logPrior)
		require.NoError(t, err)
		require.Equal(t, kept, shifted, "the values stay as they are")
		for i := range values {
			require.InDelta(t, math.Exp(values[i])*math.Exp(logPrior[i])/total, q[i], 1e-9)
		}
	})
}

func TestCredibleSetIsTheSmallest(t *testing.T) {
	posterior := []float64{0.05, 0.6, 0.04, 0.31}
	assert.Equal(t, []int{1, 3}, sizes.CredibleSet(posterior, 0.9))
	assert.Equal(t, []int{1}, sizes.CredibleSet(posterior, 0.6))
	assert.Equal(t, []int{0, 1, 3}, sizes.CredibleSet(posterior, 0.92))
	assert.Equal(t, []int{0}, sizes.CredibleSet([]float64{0.5, 0.5}, 0.4), "the first of equal ones")
	assert.Equal(t, []int{0, 1}, sizes.CredibleSet([]float64{0.5, 0.499}, 1), "rounding leaves less than all")
}
