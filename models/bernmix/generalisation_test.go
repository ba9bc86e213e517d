package bernmix_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/models/bernmix"
)

// drawMixture draws weights and K×m probabilities, some of them 0 and 1 if edges.
func drawMixture(t *rapid.T, m int, edges bool, name string) (weights, probabilities []float64) {
	k := rapid.IntRange(1, 4).Draw(t, "K of "+name)
	total := 0.0
	for range k {
		w := rapid.Float64Range(0.05, 1).Draw(t, "weight")
		weights = append(weights, w)
		total += w
	}
	for j := range weights {
		weights[j] /= total
	}
	for range k * m {
		mu := rapid.Float64Range(0.001, 0.999).Draw(t, "mu")
		if edges && rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
			mu = math.Round(mu)
		}
		probabilities = append(probabilities, mu)
	}
	return weights, probabilities
}

// patternProbability is p(x) by its definition, with no partial products.
func patternProbability(weights, probabilities []float64, x int) float64 {
	m, p := len(probabilities)/len(weights), 0.0
	for j, w := range weights {
		for i, mu := range probabilities[j*m : (j+1)*m] {
			w *= math.Pow(mu, float64(x>>i&1)) * math.Pow(1-mu, float64(1-x>>i&1))
		}
		p += w
	}
	return p
}

func divergence(t require.TestingT, pw, pm, qw, qm []float64) float64 {
	v, err := bernmix.GeneralisationError(pw, pm, qw, qm)
	require.NoError(t, err)
	require.False(t, v < 0 || math.IsNaN(v), "%v", v)
	return v
}

func TestGeneralisationErrorAndEntropyMatchDefinition(t *testing.T) {
	infinite := 0
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 7).Draw(t, "M")
		pw, pm := drawMixture(t, m, true, "truth")
		qw, qm := drawMixture(t, m, rapid.Bool().Draw(t, "model at the edge"), "model")
		kl, entropy := 0.0, 0.0
		for x := range 1 << m {
			p, q := patternProbability(pw, pm, x), patternProbability(qw, qm, x)
			if p > 0 {
				kl += p * math.Log(p/q)
				entropy -= p * math.Log(p)
			}
		}
		got := divergence(t, pw, pm, qw, qm)
		if math.IsInf(kl, 1) {
			infinite++
			require.Equal(t, kl, got)
		} else {
			require.InDelta(t, kl, got, 1e-12*(1+kl))
		}
		require.Zero(t, divergence(t, pw, pm, pw, pm))
		s, err := bernmix.MixtureEntropy(pw, pm)
		require.NoError(t, err)
		require.InDelta(t, entropy, s, 1e-12)
	})
	assert.Positive(t, infinite, "no model ruled a true pattern out")
}

// TestOneComponentDecomposesIntoColumns: at K = 1 both are sums over columns; 20 columns
// also show that a million terms lose nothing.
func TestOneComponentDecomposesIntoColumns(t *testing.T) {
	for _, m := range []int{1, 5, bernmix.EnumerationLimit} {
		var truth, model []float64
		kl, entropy := 0.0, 0.0
		for i := range m {
			p, q := (float64(i)+0.5)/20.5, (20-float64(i))/21
			truth, model = append(truth, p), append(model, q)
			kl += p*math.Log(p/q) + (1-p)*math.Log((1-p)/(1-q))
			entropy -= p*math.Log(p) + (1-p)*math.Log(1-p)
		}
		assert.InEpsilon(t, kl, divergence(t, []float64{1}, truth, []float64{1}, model), 1e-13)
		s, err := bernmix.MixtureEntropy([]float64{1}, truth)
		require.NoError(t, err)
		assert.InEpsilon(t, entropy, s, 1e-13)
	}
}

func TestGeneralisationErrorIgnoresOrderAndSplitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 6).Draw(t, "M")
		pw, pm := drawMixture(t, m, false, "truth")
		qw, qm := drawMixture(t, m, false, "model")
		want := divergence(t, pw, pm, qw, qm)
		// The last component of the model, split, its halves in front.
		last := len(qw) - 1
		half := qw[last] / 2
		w := append([]float64{half, half}, qw[:last]...)
		mu := slices.Concat(qm[last*m:], qm[last*m:], qm[:last*m])
		require.InDelta(t, want, divergence(t, pw, pm, w, mu), 1e-13*(1+want))
		require.InDelta(t, 0, divergence(t, qw, qm, w, mu), 1e-15)
		// An empty component changes nothing, whatever its probabilities.
		require.InDelta(t, want, divergence(t, pw, pm, append(qw, 0), append(qm, make([]float64, m)...)), 1e-13*(1+want))
	})
}

// TestSmallGeneralisationErrorsKeepTheirDigits: KL near d²/2 is far below the rounding of
// Σ p ln(p/q) summed as it stands. The reference is the binary divergence in big floats,
// by its series in the exact difference of the two probabilities.
func TestSmallGeneralisationErrorsKeepTheirDigits(t *testing.T) {
	for _, d := range []float64{1e-4, 1e-6, 1e-8} {
		truth, model := make([]float64, 10), make([]float64, 10)
		want := new(big.Float).SetPrec(400)
		for i := range truth {
			truth[i] = (float64(i) + 1) / 11
			model[i] = truth[i] + d
			want.Add(want, binaryDivergence(truth[i], model[i]))
		}
		reference, _ := want.Float64()
		assert.InEpsilon(t, reference, divergence(t, []float64{1}, truth, []float64{1}, model), 1e-6, "d = %v", d)
	}
}

// binaryDivergence is Σ_{n≥2} (−1)ⁿ/n [dⁿ/pⁿ⁻¹ + (−d)ⁿ/(1−p)ⁿ⁻¹], d = q − p.
func binaryDivergence(p, q float64) *big.Float {
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	d := new(big.Float).Sub(exact(q), exact(p))
	sum := exact(0)
	for _, side := range []struct{ p, d *big.Float }{
		{exact(p), d},
		{new(big.Float).Sub(exact(1), exact(p)), new(big.Float).Neg(d)},
	} {
		ratio := new(big.Float).Quo(side.d, side.p)
		term := new(big.Float).Mul(side.d, ratio)
		for n := 2; n < 12; n++ {
			share := new(big.Float).Quo(term, exact(float64(n)))
			if n%2 == 1 {
				share.Neg(share)
			}
			sum.Add(sum, share)
			term = new(big.Float).Mul(term, ratio)
		}
	}
	return sum
}

func TestUnderflowIsNotRuledOut(t *testing.T) {
	one := []float64{1}
	tiny := []float64{1e-200, 1e-200} // 11 has probability 1e-400
	kl := divergence(t, one, []float64{0.5, 0.5}, one, tiny)
	assert.InEpsilon(t, -2*math.Log(2)+200*math.Log(10), kl, 1e-12)
	assert.Equal(t, math.Inf(1), divergence(t, one, []float64{0.5, 0.5}, one, []float64{0, 1e-200}))
	assert.Equal(t, math.Inf(1), divergence(t, one, tiny, one, []float64{0, 1e-200}), "a truth of 1e-400 is still a truth")
	assert.Zero(t, divergence(t, one, tiny, one, tiny))
	assert.Zero(t, divergence(t, one, []float64{0, 1}, one, []float64{0, 1}))
	assert.InEpsilon(t, math.Log(4), divergence(t, one, []float64{0, 1}, []float64{0.75, 0.25}, []float64{1, 1, 0, 1}), 1e-14)
	s, err := bernmix.MixtureEntropy(one, tiny)
	require.NoError(t, err)
	assert.InEpsilon(t, 2e-200*200*math.Log(10), s, 0.01)
}

func TestEntropyOfDeterministicComponentsIsThatOfTheWeights(t *testing.T) {
	w := []float64{0.5, 0.3, 0.2}
	s, err := bernmix.MixtureEntropy(w, []float64{0, 0, 1, 0, 1, 1})
	require.NoError(t, err)
	assert.InDelta(t, -0.5*math.Log(0.5)-0.3*math.Log(0.3)-0.2*math.Log(0.2), s, 1e-15)
	s, err = bernmix.MixtureEntropy([]float64{1}, []float64{1, 0, 1})
	require.NoError(t, err)
	assert.Zero(t, s)
}

func TestMixturesThatAreNoneAreRefused(t *testing.T) {
	good, mu := []float64{0.5, 0.5}, []float64{0.1, 0.2, 0.3, 0.4}
	for _, c := range []struct {
		w, mu []float64
		says  string
	}{
		{nil, mu, "0 weights and 4 probabilities"},
		{good, nil, "2 weights and 0 probabilities"},
		{good, mu[:3], "2 weights and 3 probabilities"},
		{good, make([]float64, 42), "21 columns: at most 20"},
		{[]float64{0.5, 0.6}, mu, "sum to 1.1"},
		{[]float64{1.5, -0.5}, mu, "weight 1"},
		{[]float64{0.5, math.NaN()}, mu, "weight 2"},
		{[]float64{0.5, math.Inf(1)}, mu, "weight 2"},
		{good, []float64{0.1, 0.2, 0.3, math.NaN()}, "component 2, column 2"},
		{good, []float64{0.1, 1.1, 0.3, 0.4}, "component 1, column 2"},
		{good, []float64{0.1, 0.2, -0.3, 0.4}, "component 2, column 1"},
	} {
		_, err := bernmix.MixtureEntropy(c.w, c.mu)
		assert.ErrorContains(t, err, c.says)
		_, err = bernmix.GeneralisationError(c.w, c.mu, good, mu)
		assert.ErrorContains(t, err, "truth")
		_, err = bernmix.GeneralisationError(good, mu, c.w, c.mu)
		assert.ErrorContains(t, err, "model")
	}
	_, err := bernmix.GeneralisationError(good, mu, good, append(mu, 0.5, 0.5))
	assert.ErrorContains(t, err, "the truth has 2 columns, the model 3")
	assert.InDelta(t, 0, divergence(t, good, mu, []float64{0.5 + 4e-7, 0.5 + 4e-7}, mu), 1e-15, "weights are normalised")
}
