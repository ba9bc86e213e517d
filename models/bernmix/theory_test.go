package bernmix_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/models/bernmix"
)

func drawHyperparameters(t *rapid.T) bernmix.Hyperparameters {
	m := rapid.IntRange(1, 12).Draw(t, "M")
	return bernmix.Hyperparameters{
		A: rapid.Float64Range(0.01, float64(m)+2).Draw(t, "a"),
		B: rapid.Float64Range(0.01, 1.5).Draw(t, "b"),
		M: m,
	}
}

func drawTruth(t *rapid.T) (truth bernmix.Truth, k int) {
	truth.Stochastic = rapid.IntRange(0, 4).Draw(t, "K₁*")
	truth.Deterministic = rapid.IntRange(max(0, 1-truth.Stochastic), 4).Draw(t, "ΔK*")
	k = truth.Stochastic + truth.Deterministic + rapid.IntRange(0, 4).Draw(t, "redundant")
	return truth, k
}

func lambda(t require.TestingT, h bernmix.Hyperparameters, truth bernmix.Truth, k int) float64 {
	v, err := h.Lambda(truth, k)
	require.NoError(t, err)
	return v
}

// TestPhaseMinimisesTheoremOverComponents derives Theorem 5.1.2 from 5.1.1 anew: over all
// K₁ ≥ K₁*, ΔK ≥ ΔK* with K₁ + ΔK ≤ K, none has a smaller coefficient than the phase's,
// and off the borders none has the same.
func TestPhaseMinimisesTheoremOverComponents(t *testing.T) {
	seen := map[bernmix.Phase]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := drawHyperparameters(t)
		truth, k := drawTruth(t)
		phase, err := h.Phase()
		require.NoError(t, err)
		seen[phase]++
		best := lambda(t, h, truth, k)
		for k1 := truth.Stochastic; k1 <= k-truth.Deterministic; k1++ {
			for dk := truth.Deterministic; k1+dk <= k; dk++ {
				// The theorem's formula as printed.
				m := float64(h.M)
				c := ((m+1)/2-h.A)*float64(k1) + (0.5-h.A+m*h.B)*float64(dk) + float64(k)*h.A - 0.5
				got, err := h.Coefficient(k1, dk, k)
				require.NoError(t, err)
				require.InDelta(t, c, got, 1e-10)
				require.GreaterOrEqual(t, c, best-1e-10)
				if phase == bernmix.Critical {
					continue
				}
				wantK1, wantDK, err := phase.Components(truth, k)
				require.NoError(t, err)
				if k1 != wantK1 || dk != wantDK {
					require.Greater(t, c, best)
				} else {
					require.InDelta(t, c, best, 1e-10)
				}
			}
		}
	})
	for p := bernmix.NoRedundant; p < bernmix.Critical && !testing.Short(); p++ { // -short draws fewer cases
		assert.Positive(t, seen[p], "%v was never drawn", p)
	}
}

func TestPhaseOfEveryCaseAndBorder(t *testing.T) {
	none, deterministic, stochastic := bernmix.NoRedundant, bernmix.DeterministicRedundant, bernmix.StochasticRedundant
	for _, c := range []struct {
		name    string
		a, b    float64
		m       int
		meeting []bernmix.Phase
	}{
		{"case 1", 1, 1, 4, []bernmix.Phase{none}},
		{"case 2", 2, 0.1, 4, []bernmix.Phase{deterministic}},
		{"case 3", 4, 2, 4, []bernmix.Phase{stochastic}},
		{"case 4a", 6, 0.8, 4, []bernmix.Phase{stochastic}},
		{"case 4b", 6, 0.3, 4, []bernmix.Phase{deterministic}},
		{"case 1 | 3", 2.5, 0.8, 4, []bernmix.Phase{none, stochastic}},
		{"case 1 | 2", 1.5, 0.25, 4, []bernmix.Phase{none, deterministic}},
		{"case 1 | 2 in decimals", 0.8, 0.1, 3, []bernmix.Phase{none, deterministic}},
		{"case 4a | 4b", 6, 0.5, 4, []bernmix.Phase{deterministic, stochastic}},
		{"all three", 2.5, 0.5, 4, []bernmix.Phase{none, deterministic, stochastic}},
		{"case 2 | 4b, one phase", 2.5, 0.2, 4, []bernmix.Phase{deterministic}},
		{"case 3 | 4a, one phase", 4.5, 1, 4, []bernmix.Phase{stochastic}},
		{"one column, uniform", 1, 1, 1, []bernmix.Phase{none, stochastic}},
		{"tiny", 5e-324, 5e-324, 1, []bernmix.Phase{none}},
		{"huge b", 1e-4, math.MaxFloat64, 1 << 40, []bernmix.Phase{none}},
		{"huge a", math.MaxFloat64, 1, 7, []bernmix.Phase{deterministic, stochastic}}, // a swallows M
	} {
		t.Run(c.name, func(t *testing.T) {
			h := bernmix.Hyperparameters{A: c.a, B: c.b, M: c.m}
			meeting, err := h.Meeting()
			require.NoError(t, err)
			assert.Equal(t, c.meeting, meeting)
			phase, err := h.Phase()
			require.NoError(t, err)
			if len(c.meeting) > 1 {
				assert.Equal(t, bernmix.Critical, phase)
			} else {
				assert.Equal(t, c.meeting[0], phase)
			}
		})
	}
}

// TestCoefficientIsContinuousAcrossBorders walks through each border: λ is a minimum of
// linear functions of (a, b), so it moves by at most their slope times the step.
func TestCoefficientIsContinuousAcrossBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth, k := drawTruth(t)
		m := rapid.IntRange(1, 12).Draw(t, "M")
		at := rapid.Float64Range(0.05, 0.45).Draw(t, "along")
		const step = 1e-7
		for _, border := range []struct {
			h        bernmix.Hyperparameters
			da, db   float64
			from, to bernmix.Phase
		}{
			{bernmix.Hyperparameters{A: (float64(m) + 1) / 2, B: 0.5 + at, M: m}, 1, 0, bernmix.NoRedundant, bernmix.StochasticRedundant},
			{bernmix.Hyperparameters{A: 0.5 + float64(m)*at, B: at, M: m}, 1, 0, bernmix.NoRedundant, bernmix.DeterministicRedundant},
			{bernmix.Hyperparameters{A: (float64(m)+1)/2 + at, B: 0.5, M: m}, 0, 1, bernmix.DeterministicRedundant, bernmix.StochasticRedundant},
		} {
			h := border.h
			before := bernmix.Hyperparameters{A: h.A - step*border.da, B: h.B - step*border.db, M: m}
			after := bernmix.Hyperparameters{A: h.A + step*border.da, B: h.B + step*border.db, M: m}
			for _, side := range []struct {
				bernmix.Hyperparameters
				want bernmix.Phase
			}{{before, border.from}, {h, bernmix.Critical}, {after, border.to}} {
				phase, err := side.Phase()
				require.NoError(t, err)
				require.Equal(t, side.want, phase)
				require.InDelta(t, lambda(t, h, truth, k), lambda(t, side.Hyperparameters, truth, k), step*float64((m+2)*k))
			}
		}
	})
}

// TestPrintedCorollaryIsNotTheMinimum stands between the border that Corollary 5.1.1
// prints, b > a/M − ½, and the theorem's, b > a/M − 1/(2M): the print calls (2, 0.1) at
// M = 4 Case 1.
func TestPrintedCorollaryIsNotTheMinimum(t *testing.T) {
	h := bernmix.Hyperparameters{A: 2, B: 0.1, M: 4}
	truth, k := bernmix.Truth{Stochastic: 1, Deterministic: 1}, 3
	require.Greater(t, h.B, h.A/4-0.5)
	require.Less(t, h.B, h.A/4-1.0/8)
	printed, err := h.Coefficient(1, 1, k)
	require.NoError(t, err)
	assert.InDelta(t, 4.9, printed, 1e-12)
	assert.InDelta(t, 3.8, lambda(t, h, truth, k), 1e-12)
	assert.InDelta(t, 3.8, fitted{h, patternsOf(mixedTruth), 1}.coefficient(mixedTruth, 3), 0.02, "variational Bayes finds the smaller")

	// Case 2 with ΔK₁* for ΔK* would not charge for true deterministic components.
	h = bernmix.Hyperparameters{A: 4, B: 2, M: 4}
	assert.InDelta(t, h.StochasticCost()*2+h.DeterministicCost()+3*h.A-0.5, lambda(t, h, truth, k), 1e-12)
}

// TestUniformPriorCoefficients is section 7.1 with its signs corrected.
func TestUniformPriorCoefficients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth, k := drawTruth(t)
		m := rapid.IntRange(2, 30).Draw(t, "M")
		vb := lambda(t, bernmix.Hyperparameters{A: 1, B: 1, M: m}, truth, k)
		k1, dk, k0, columns := float64(truth.Stochastic), float64(truth.Deterministic), float64(truth.Stochastic+truth.Deterministic), float64(m)
		require.InDelta(t, columns*k1/2+float64(k)+columns*dk-k0/2-0.5, vb, 1e-10)
		if dk > 0 {
			require.Greater(t, math.Abs(columns*k1/2+float64(k)-columns*dk-k0/2-0.5-vb), 1.0, "as printed")
		}
		bayes, err := bernmix.BayesBound(truth, k, m)
		require.NoError(t, err)
		require.InDelta(t, -columns*dk/2, bayes-vb, 1e-10)
		regular, err := bernmix.RegularCoefficient(k, m)
		require.NoError(t, err)
		require.InDelta(t, columns/2*(float64(k)-k1)+k0/2-columns*dk-float64(k)/2, regular-vb, 1e-10)
		if dk == 0 {
			require.LessOrEqual(t, vb, regular+1e-10)
		}
	})
	// Section 7.1 claims λ_regular ≥ λ_VB always; with deterministic components it fails.
	regular, err := bernmix.RegularCoefficient(1, 4)
	require.NoError(t, err)
	assert.Equal(t, 2.0, regular)
	assert.Equal(t, 4.0, lambda(t, bernmix.Hyperparameters{A: 1, B: 1, M: 4}, bernmix.Truth{Deterministic: 1}, 1))
}

// TestBayesBoundHoldsInsideAndFailsAtTheEdge measures the coefficient of ln N in the exact
// evidence of one component, M independent Beta integrals.
func TestBayesBoundHoldsInsideAndFailsAtTheEdge(t *testing.T) {
	const m = 3
	measured := func(mu float64) float64 {
		normalized := func(n float64) float64 {
			evidence := lnBeta(1+n*mu, 1+n*(1-mu)) // b = 1
			entropy := 0.0
			if mu > 0 && mu < 1 {
				entropy = -mu*math.Log(mu) - (1-mu)*math.Log1p(-mu)
			}
			return m * (-evidence - n*entropy)
		}
		return (normalized(1e6) - normalized(1e5)) / math.Log(10)
	}
	inside, err := bernmix.BayesBound(bernmix.Truth{Stochastic: 1}, 1, m)
	require.NoError(t, err)
	assert.InDelta(t, inside, measured(0.3), 1e-3)
	edge, err := bernmix.BayesBound(bernmix.Truth{Deterministic: 1}, 1, m)
	require.NoError(t, err)
	exact := lambda(t, bernmix.Hyperparameters{A: 1, B: 1, M: m}, bernmix.Truth{Deterministic: 1}, 1)
	assert.InDelta(t, exact, measured(1), 1e-3)
	assert.InDelta(t, edge+m/2.0, measured(1), 1e-3)
}

// A component of a mixture over four columns, or fewer.
type component struct {
	weight float64
	mu     []float64
}

var (
	interior = []float64{0.3, 0.6, 0.4, 0.7}
	ones     = []float64{1, 1, 1, 1}

	stochasticTruth    = []component{{1, interior}}
	deterministicTruth = []component{{0.6, ones}, {0.4, []float64{0, 0, 0, 0}}}
	mixedTruth         = []component{{0.6, interior}, {0.4, ones}}
)

// patternsOf is the distribution of a mixture over its patterns.
func patternsOf(mix []component) []float64 {
	m := len(mix[0].mu)
	p := make([]float64, 1<<m)
	for x := range p {
		for _, c := range mix {
			v := c.weight
			for i, mu := range c.mu {
				v *= mu*float64(x>>i&1) + (1-mu)*float64(1-x>>i&1)
			}
			p[x] += v
		}
	}
	return p
}

// fitted is variational Bayes (paper K, eqs. 4.3 to 4.6) on n rows in the proportions of
// the truth itself, so that N·S(X) is N times its entropy and nothing is random.
type fitted struct {
	bernmix.Hyperparameters
	patterns []float64
	n        float64
}

// coefficient is the slope in ln N, between 10⁵ and 10⁶ rows, of the normalised free
// energy at k components, the least over starts that copy a true component or leave the
// others empty.
func (f fitted) coefficient(truth []component, k int) float64 {
	starts := [][]component{spread(truth, -1, k)}
	for j := range truth {
		starts = append(starts, spread(truth, j, k))
	}
	return f.least(starts)
}

func (f fitted) least(starts [][]component) float64 {
	at := func(n float64) float64 {
		f.n = n
		least := math.Inf(1)
		for _, s := range starts {
			least = min(least, f.normalized(s))
		}
		return least
	}
	return (at(1e6) - at(1e5)) / math.Log(10)
}

// spread divides the weight of component j over the copies that bring the truth to k
// components, or leaves them without rows where j is −1.
func spread(truth []component, j, k int) []component {
	start := append([]component(nil), truth...)
	copies := k - len(truth)
	extra := component{0, []float64{0.5, 0.5, 0.5, 0.5}[:len(truth[0].mu)]}
	if j >= 0 {
		start[j].weight /= float64(copies + 1)
		extra = start[j]
	}
	for range copies {
		start = append(start, extra)
	}
	return start
}

func lnGamma(x float64) float64 { v, _ := math.Lgamma(x); return v }

func lnBeta(x, y float64) float64 { return lnGamma(x) + lnGamma(y) - lnGamma(x+y) }

// posterior is q(π_k, μ_k) of one component.
type posterior struct {
	alpha float64
	eta   [2][]float64 // of zeros and of ones
}

// normalized is F̄ − N·S where the iteration from the start ends.
func (f fitted) normalized(start []component) float64 {
	q := make([]posterior, len(start))
	for j, c := range start {
		q[j] = posterior{f.A + f.n*c.weight, [2][]float64{make([]float64, f.M), make([]float64, f.M)}}
		for i, mu := range c.mu {
			q[j].eta[1][i] = f.B + f.n*c.weight*mu
			q[j].eta[0][i] = f.B + f.n*c.weight*(1-mu)
		}
	}
	free := math.Inf(1)
	for range 4000 {
		next := f.step(q)
		if free-next < 1e-9 {
			break
		}
		free = next
	}
	for _, p := range f.patterns {
		if p > 0 {
			free += f.n * p * math.Log(p)
		}
	}
	return free
}

// step is one e-step and m-step; it returns F̄ (paper K, eq. 5.3).
func (f fitted) step(q []posterior) float64 {
	free, score := 0.0, make([]float64, len(q))
	expected := make([][]float64, len(q)) // E ln π_k, then E ln(1−μ_km), E ln μ_km alternating
	for j, c := range q {
		expected[j] = append(expected[j], mathext.Digamma(c.alpha))
		for i := range f.M {
			total := mathext.Digamma(c.eta[0][i] + c.eta[1][i])
			expected[j] = append(expected[j], mathext.Digamma(c.eta[0][i])-total, mathext.Digamma(c.eta[1][i])-total)
		}
		q[j].alpha = f.A
		for i := range f.M {
			c.eta[0][i], c.eta[1][i] = f.B, f.B
		}
	}
	for x, p := range f.patterns {
		if p == 0 {
			continue
		}
		for j, e := range expected {
			score[j] = e[0]
			for i := range f.M {
				score[j] += e[1+2*i+x>>i&1]
			}
		}
		total := floats.LogSumExp(score)
		for j, s := range score {
			if r := math.Exp(s - total); r > 0 {
				rows := f.n * p * r
				free += rows * (s - total)
				q[j].alpha += rows
				for i := range f.M {
					q[j].eta[x>>i&1][i] += rows
				}
			}
		}
	}
	k := float64(len(q))
	free += -lnGamma(k*f.A) + k*lnGamma(f.A) + k*float64(f.M)*lnBeta(f.B, f.B) + lnGamma(f.n+k*f.A)
	for _, c := range q {
		free -= lnGamma(c.alpha)
		for i := range f.M {
			free -= lnBeta(c.eta[0][i], c.eta[1][i])
		}
	}
	return free
}

// TestFreeEnergyFollowsTheoremInScope compares λ_VB with the slope of variational Bayes
// itself, in each phase and for each kind of truth.
func TestFreeEnergyFollowsTheoremInScope(t *testing.T) {
	for _, c := range []struct {
		a, b   float64
		mix    []component
		truth  bernmix.Truth
		phase  bernmix.Phase
		lambda float64
	}{
		{1, 0.3, mixedTruth, bernmix.Truth{Stochastic: 1, Deterministic: 1}, bernmix.NoRedundant, 4.7},
		{2, 0.1, mixedTruth, bernmix.Truth{Stochastic: 1, Deterministic: 1}, bernmix.DeterministicRedundant, 3.8},
		{6, 0.3, mixedTruth, bernmix.Truth{Stochastic: 1, Deterministic: 1}, bernmix.DeterministicRedundant, 5.4},
		{1, 1, stochasticTruth, bernmix.Truth{Stochastic: 1}, bernmix.NoRedundant, 4},
		{4, 2, stochasticTruth, bernmix.Truth{Stochastic: 1}, bernmix.StochasticRedundant, 7},
		{6, 0.8, stochasticTruth, bernmix.Truth{Stochastic: 1}, bernmix.StochasticRedundant, 7},
		{1, 1, deterministicTruth, bernmix.Truth{Deterministic: 2}, bernmix.NoRedundant, 9.5},
		{6, 0.3, deterministicTruth, bernmix.Truth{Deterministic: 2}, bernmix.DeterministicRedundant, 4.6},
	} {
		t.Run(fmt.Sprintf("a=%v b=%v K1=%d dK=%d", c.a, c.b, c.truth.Stochastic, c.truth.Deterministic), func(t *testing.T) {
			h := bernmix.Hyperparameters{A: c.a, B: c.b, M: 4}
			require.NoError(t, h.Scope(c.truth, 3))
			phase, err := h.Phase()
			require.NoError(t, err)
			assert.Equal(t, c.phase, phase)
			assert.InDelta(t, c.lambda, lambda(t, h, c.truth, 3), 1e-12)
			assert.InDelta(t, c.lambda, fitted{h, patternsOf(c.mix), 1}.coefficient(c.mix, 3), 0.02)
		})
	}
}

// TestFreeEnergyLeavesTheoremOutOfScope exhibits every reason of Scope: variational Bayes
// has another slope than the theorem says. A slope below λ refutes the theorem by itself,
// the free energy being a minimum.
func TestFreeEnergyLeavesTheoremOutOfScope(t *testing.T) {
	sparse := func(n float64) []component {
		return []component{{1 - 1/math.Sqrt(n), interior}, {1 / math.Sqrt(n), ones}}
	}
	pair := []component{{1, []float64{0.3, 0.6}}}
	rebuilt := []component{ // half of the pair, and the patterns of the other half
		{0.7, []float64{0, 0.6}}, {0.12, []float64{1, 0}}, {0.18, []float64{1, 1}},
	}
	for _, c := range []struct {
		name           string
		h              bernmix.Hyperparameters
		mix            []component
		starts         [][]component
		truth          bernmix.Truth
		k              int
		reason         error
		theorem, slope float64
	}{
		{"no deterministic component to copy", bernmix.Hyperparameters{A: 2, B: 0.1, M: 4}, stochasticTruth,
			[][]component{spread(stochasticTruth, -1, 2), spread(stochasticTruth, 0, 2), sparse(1e5)},
			bernmix.Truth{Stochastic: 1}, 2, bernmix.ErrNothingToCopy, 2.9, 3.45}, // g₁ + g₂/2 + 2a − ½
		{"no stochastic component to copy", bernmix.Hyperparameters{A: 6, B: 2, M: 4}, deterministicTruth,
			[][]component{spread(deterministicTruth, -1, 3), spread(deterministicTruth, 0, 3), append(spread(deterministicTruth, -1, 2), component{0.1, interior})},
			bernmix.Truth{Deterministic: 2}, 3, bernmix.ErrNothingToCopy, 19, 22.5}, // as without redundant ones
		{"blurred edge", bernmix.Hyperparameters{A: 1, B: 1, M: 4}, mixedTruth,
			[][]component{mixedTruth}, bernmix.Truth{Stochastic: 1, Deterministic: 1}, 2, bernmix.ErrBlurredEdge, 6.5, 5.5}, // b/2 + ¼ for b
		{"decomposed", bernmix.Hyperparameters{A: 0.4, B: 0.01, M: 2}, pair,
			[][]component{spread(pair, -1, 3), rebuilt}, bernmix.Truth{Stochastic: 1}, 3, bernmix.ErrDecomposed, 1.8, 1.55}, // 3g₂ + ½ − b + 3a − ½
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorIs(t, c.h.Scope(c.truth, c.k), c.reason)
			assert.InDelta(t, c.theorem, lambda(t, c.h, c.truth, c.k), 1e-12)
			assert.InDelta(t, c.slope, fitted{c.h, patternsOf(c.mix), 1}.least(c.starts), 0.02)
		})
	}
}

func TestScopeEndsWhereComponentsSufficeToDecompose(t *testing.T) {
	truth := bernmix.Truth{Stochastic: 2}
	for _, m := range []int{1, 2, 4, 6} {
		enough := truth.Stochastic + 1<<(m-1)
		sparse := bernmix.Hyperparameters{A: 0.1, B: 0.3, M: m}
		assert.NoError(t, sparse.Scope(truth, enough-1))
		assert.ErrorIs(t, sparse.Scope(truth, enough), bernmix.ErrDecomposed)
		assert.NoError(t, bernmix.Hyperparameters{A: 0.1, B: 0.7, M: m}.Scope(truth, enough))
		assert.NoError(t, sparse.Scope(bernmix.Truth{Deterministic: 2}, enough))
	}
	assert.NoError(t, bernmix.Hyperparameters{A: 0.1, B: 0.3, M: math.MaxInt}.Scope(truth, math.MaxInt))
}

func TestScopeNeedsNothingWithoutRedundantComponents(t *testing.T) {
	h := bernmix.Hyperparameters{A: 6, B: 0.3, M: 4}
	assert.NoError(t, h.Scope(bernmix.Truth{Stochastic: 2}, 2))
	assert.ErrorIs(t, h.Scope(bernmix.Truth{Stochastic: 2}, 3), bernmix.ErrNothingToCopy)
	assert.ErrorContains(t, bernmix.Hyperparameters{A: 2.5, B: 0.5, M: 4}.Scope(bernmix.Truth{Stochastic: 1}, 1), "border")
}

func TestAsymptoticFreeEnergyAddsEntropyAndLambda(t *testing.T) {
	h, truth := bernmix.Hyperparameters{A: 1, B: 0.3, M: 4}, bernmix.Truth{Stochastic: 1, Deterministic: 1}
	got, err := h.AsymptoticFreeEnergy(1000, 1.25, truth, 3)
	require.NoError(t, err)
	assert.InDelta(t, 1250+4.7*math.Log(1000), got, 1e-9)
	got, err = h.AsymptoticFreeEnergy(1, 0, truth, 3)
	require.NoError(t, err)
	assert.Zero(t, got)
	for _, entropy := range []float64{math.NaN(), math.Inf(1), -1, math.MaxFloat64} {
		_, err := h.AsymptoticFreeEnergy(1000, entropy, truth, 3)
		assert.ErrorContains(t, err, "bernmix: ")
	}
	_, err = h.AsymptoticFreeEnergy(1000, 1, truth, 1)
	assert.ErrorContains(t, err, "K = 1")
	_, err = h.AsymptoticFreeEnergy(0, 1, truth, 3)
	assert.ErrorContains(t, err, "N is 0")
}

func TestTheoryRefusesWhatItDoesNotCover(t *testing.T) {
	good, truth := bernmix.Hyperparameters{A: 1, B: 1, M: 4}, bernmix.Truth{Stochastic: 1, Deterministic: 1}
	bad := []bernmix.Hyperparameters{{A: 1, B: 1}, {A: 1, B: 1, M: math.MinInt}}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad = append(bad, bernmix.Hyperparameters{A: v, B: 1, M: 4}, bernmix.Hyperparameters{A: 1, B: v, M: 4})
	}
	for _, h := range bad {
		assert.ErrorContains(t, h.Check(), "bernmix: ")
		_, err := h.Phase()
		assert.Error(t, err)
		_, err = h.Lambda(truth, 3)
		assert.Error(t, err)
		_, err = h.Coefficient(1, 1, 3)
		assert.Error(t, err)
		assert.Error(t, h.Scope(truth, 3))
	}
	for _, c := range []struct {
		truth bernmix.Truth
		k     int
	}{{bernmix.Truth{}, 3}, {truth, 1}, {truth, 0}, {truth, -1}, {bernmix.Truth{Stochastic: -1, Deterministic: 2}, 3},
		{bernmix.Truth{Stochastic: 2, Deterministic: -1}, 3}, {bernmix.Truth{Stochastic: math.MaxInt, Deterministic: math.MaxInt}, 3}} {
		_, err := good.Lambda(c.truth, c.k)
		assert.ErrorContains(t, err, "bernmix: ")
		_, err = good.Coefficient(c.truth.Stochastic, c.truth.Deterministic, c.k)
		assert.ErrorContains(t, err, "bernmix: ")
		_, err = bernmix.BayesBound(c.truth, c.k, 4)
		assert.ErrorContains(t, err, "bernmix: ")
	}
	_, _, err := bernmix.Critical.Components(truth, 3)
	assert.ErrorContains(t, err, "border")
	_, _, err = bernmix.Phase(9).Components(truth, 3)
	assert.ErrorContains(t, err, "Phase(9)")
	assert.Equal(t, "Phase(-1)", bernmix.Phase(-1).String())
	assert.Equal(t, "critical", bernmix.Critical.String())
	_, err = bernmix.BayesBound(truth, 3, 1)
	assert.ErrorContains(t, err, "at least 2")
	_, err = bernmix.RegularCoefficient(0, 1)
	assert.ErrorContains(t, err, "K is 0 and M is 1; both")

	_, err = bernmix.Hyperparameters{A: 1, B: math.MaxFloat64, M: 4}.Coefficient(0, 2, 3)
	assert.ErrorContains(t, err, "overflows")
	_, err = bernmix.Hyperparameters{A: 1, B: math.MaxFloat64, M: 4}.Coefficient(2, 0, 3)
	assert.NoError(t, err, "nothing deterministic, nothing overflows")
	_, err = bernmix.Hyperparameters{A: math.MaxFloat64, B: 1, M: 4}.Lambda(truth, 3)
	assert.ErrorContains(t, err, "overflows")
}
