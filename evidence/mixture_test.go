package evidence_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/evidence"
	_ "github.com/latent-go/latent/internal/fixedseed"
)

// exhaustive goes through all K^N assignments of rows, each by its definition.
type exhaustive struct {
	m    evidence.Mixture
	rows []int

	logs, gaps, used []float64 // ln p(X,Z|K), L − ln p(X,Z|K) and κ(Z) of every Z
}

func enumerate(m evidence.Mixture, rows []int) *exhaustive {
	e := &exhaustive{m: m, rows: rows}
	n := len(rows) / len(m.Levels)
	z := make([]int, n)
	for {
		e.add(z)
		i := 0
		for i < n && z[i] == m.K-1 {
			z[i] = 0
			i++
		}
		if i == n {
			return e
		}
		z[i]++
	}
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

func (e *exhaustive) add(z []int) {
	m, n := e.m, float64(len(z))
	k := float64(m.K)
	joint := lgamma(k*m.Alpha) - lgamma(k*m.Alpha+n)
	likelihood, penalty, used, parameters := 0.0, 0.0, 0.0, -1.0
	for c := range m.K {
		size := 0.0
		for _, zi := range z {
			if zi == c {
				size++
			}
		}
		joint += lgamma(m.Alpha+size) - lgamma(m.Alpha)
		if size > 0 {
			used++
			parameters++
			likelihood += size * math.Log(size/n)
		}
		for j, levels := range m.Levels {
			l := float64(levels)
			joint += lgamma(l*m.Beta) - lgamma(l*m.Beta+size)
			if size > 0 {
				parameters += l - 1
				penalty += (l - 1) / 2 * math.Log(size/n)
			}
			for level := range levels {
				count := 0.0
				for i, zi := range z {
					if zi == c && e.rows[i*len(m.Levels)+j] == level {
						count++
					}
				}
				joint += lgamma(m.Beta+count) - lgamma(m.Beta)
				if count > 0 {
					likelihood += count * math.Log(count/size)
				}
			}
		}
	}
	e.logs = append(e.logs, joint)
	e.gaps = append(e.gaps, likelihood-penalty-parameters/2*math.Log(n)-joint)
	e.used = append(e.used, used)
}

func (e *exhaustive) logEvidence() float64 { return floats.LogSumExp(e.logs) }

// mean is the expectation of values under p(Z|X,K).
func (e *exhaustive) mean(values []float64) float64 {
	total, sum := e.logEvidence(), 0.0
	for i, v := range values {
		sum += math.Exp(e.logs[i]-total) * v
	}
	return sum
}

// criterion is gFIC from its definition, the entropy of q* included.
func (e *exhaustive) criterion() float64 {
	total, sum := e.logEvidence(), 0.0
	for i, log := range e.logs {
		sum += math.Exp(log-total) * (e.gaps[i] + log - (log - total))
	}
	return sum
}

func randomMixture(t *rapid.T, maxK, maxColumns int) evidence.Mixture {
	return evidence.Mixture{
		K:      rapid.IntRange(1, maxK).Draw(t, "K"),
		Levels: rapid.SliceOfN(rapid.IntRange(2, 4), 1, maxColumns).Draw(t, "levels"),
		Alpha:  math.Exp(rapid.Float64Range(-3, 2).Draw(t, "ln alpha")),
		Beta:   math.Exp(rapid.Float64Range(-3, 2).Draw(t, "ln beta")),
	}
}

func randomRows(t *rapid.T, m evidence.Mixture, n int) []int {
	rows := make([]int, 0, n*len(m.Levels))
	for range n {
		for _, levels := range m.Levels {
			rows = append(rows, rapid.IntRange(0, levels-1).Draw(t, "code"))
		}
	}
	return rows
}

// requireClose holds two numbers to tolerance, relative to the larger of 1 and them.
func requireClose(t require.TestingT, want, got, tolerance float64, what string) {
	require.LessOrEqual(t, math.Abs(want-got), tolerance*max(1, math.Abs(want)), "%s: want %v, got %v", what, want, got)
}

func TestExactSumsEqualEnumerationOfAllAssignments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMixture(t, 6, 3)
		n := rapid.IntRange(1, 8).Draw(t, "N")
		for math.Pow(float64(m.K), float64(n)) > 7000 {
			n--
		}
		rows := randomRows(t, m, n)
		all := enumerate(m, rows)

		gfic, value, err := m.ExactGFIC(t.Context(), rows, nil)
		require.NoError(t, err)
		requireClose(t, all.logEvidence(), value, 1e-12, "ln p(X|K)")
		requireClose(t, all.criterion(), gfic, 1e-12, "gFIC")

		value, means, err := m.Expect(t.Context(), rows, nil, 2, func(a *evidence.Allocation, dst []float64) {
			dst[0], dst[1] = 0, a.LogJoint
			for _, size := range a.Sizes {
				if size > 0 {
					dst[0]++
				}
			}
		})
		require.NoError(t, err)
		requireClose(t, all.logEvidence(), value, 1e-12, "ln p(X|K)")
		requireClose(t, all.mean(all.used), means[0], 1e-12, "E κ(Z)")
		requireClose(t, all.mean(all.logs), means[1], 1e-12, "E ln p(X,Z|K)")
	})
}

// Without Z at all: for a and b whole, p(X) is the integral of a polynomial over the
// weight and the probabilities, for which Gauss-Legendre is exact.
func TestEvidenceEqualsIntegralOverParameters(t *testing.T) {
	const nodes = 7
	x, w := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(x, w, 0, 1)
	rows := []int{0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0}
	for _, prior := range []int{1, 2} {
		density := func(p float64) float64 { // Beta(prior, prior)
			return math.Pow(p*(1-p), float64(prior-1)) / mathext.Beta(float64(prior), float64(prior))
		}
		sum, at := 0.0, make([]int, 5)
		for code := range int(math.Pow(nodes, 5)) {
			value := 1.0
			for i := range at {
				at[i] = code % nodes
				code /= nodes
				value *= w[at[i]] * density(x[at[i]])
			}
			for r := 0; r < len(rows); r += 2 {
				likelihood := 0.0
				for k := range 2 {
					part := math.Abs(float64(1-k) - x[at[0]])
					for j := range 2 {
						part *= math.Abs(float64(1-rows[r+j]) - x[at[1+2*k+j]])
					}
					likelihood += part
				}
				value *= likelihood
			}
			sum += value
		}
		m := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: float64(prior), Beta: float64(prior)}
		value, err := m.LogEvidence(t.Context(), rows, nil)
		require.NoError(t, err)
		requireClose(t, math.Log(sum), value, 1e-13, fmt.Sprint("a = b = ", prior))
	}
}

// One column in which every row has a level of its own: work and memory stay linear.
func TestOneComponentTakesManyDistinctRows(t *testing.T) {
	const n = 100_000
	m := evidence.Mixture{K: 1, Levels: []int{2 * n}, Alpha: 1, Beta: 1}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = 2 * i
	}
	value, err := m.LogEvidence(t.Context(), rows, nil)
	require.NoError(t, err)
	requireClose(t, lgamma(2*n)-lgamma(3*n), value, 1e-12, "ln p(X|1)")
}

func TestOneComponentHasClosedForm(t *testing.T) {
	m := evidence.Mixture{K: 1, Levels: []int{2, 2}, Alpha: 3, Beta: 0.7}
	value, err := m.LogEvidence(t.Context(), []int{0, 1, 1, 1, 1, 0}, []float64{200_000, 300_000, 1})
	require.NoError(t, err)
	want := mathext.Lbeta(0.7+200_000, 0.7+300_001) + mathext.Lbeta(0.7+1, 0.7+500_000) - 2*mathext.Lbeta(0.7, 0.7)
	requireClose(t, want, value, 1e-12, "ln p(X|1)")
}

// Σ_x p(X,x) = p(X): rows and their order mean what they should, at sizes that no
// enumeration reaches.
func TestEvidenceSumsToOneOverNextRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMixture(t, 4, 2)
		rows := randomRows(t, m, rapid.IntRange(1, 3).Draw(t, "patterns"))
		columns := len(m.Levels)
		counts := make([]float64, len(rows)/columns)
		for i := range counts {
			counts[i] = float64(rapid.IntRange(1, 9).Draw(t, "count"))
		}
		before, err := m.LogEvidence(t.Context(), rows, counts)
		require.NoError(t, err)

		var after []float64
		next := make([]int, columns)
		for j := 0; j < columns; {
			value, err := m.LogEvidence(t.Context(), slices.Concat(rows, next), append(slices.Clone(counts), 1))
			require.NoError(t, err)
			after = append(after, value)
			for j = 0; j < columns; j++ {
				if next[j]++; next[j] < m.Levels[j] {
					break
				}
				next[j] = 0
			}
		}
		requireClose(t, before, floats.LogSumExp(after), 1e-12, "Σ_x p(X,x)")
	})
}

// With Beta → ∞ all components are uniform, p(X|Z) is a constant, and Σ_Z p(Z) = 1 holds
// only if every Z is counted once.
func TestEveryAssignmentIsCountedOnce(t *testing.T) {
	for _, c := range []struct {
		k      int
		counts []float64
	}{
		{2, []float64{60, 50, 40, 30}}, {3, []float64{12, 9, 12, 7}}, {4, []float64{6, 6, 6}}, {7, []float64{30}},
		{5, []float64{1, 1, 1, 1, 1, 1, 1}}, {1000, []float64{1, 1, 1, 1, 1, 2}}, {math.MaxInt, []float64{4, 2}},
	} {
		codes, rows := make([]int, len(c.counts)), 0.0
		for i, count := range c.counts {
			codes[i] = i
			rows += count
		}
		for _, alpha := range []float64{0.1, 1, 20} {
			m := evidence.Mixture{K: c.k, Levels: []int{7}, Alpha: alpha, Beta: 1e13}
			value, err := m.LogEvidence(t.Context(), codes, c.counts)
			require.NoError(t, err)
			require.InDelta(t, -rows*math.Log(7), value, 1e-8, "K = %d, counts %v, alpha %v", c.k, c.counts, alpha)
		}
	}
}

func TestOrderGroupingAndNamesOfLevelsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMixture(t, 3, 3)
		columns := len(m.Levels)
		rows := randomRows(t, m, rapid.IntRange(1, 7).Draw(t, "N"))
		want, err := m.LogEvidence(t.Context(), rows, nil)
		require.NoError(t, err)

		// Each row twice with counts 1 and 0, in reverse, and the same as codes that count down.
		var other, renamed []int
		var counts []float64
		for i := len(rows) - columns; i >= 0; i -= columns {
			other = append(append(other, rows[i:i+columns]...), rows[i:i+columns]...)
			counts = append(counts, 0, 1)
			for j := range columns {
				renamed = append(renamed, m.Levels[j]-1-rows[i+j])
			}
		}
		got, err := m.LogEvidence(t.Context(), other, counts)
		require.NoError(t, err)
		require.Equal(t, want, got, "order and grouping")
		got, err = m.LogEvidence(t.Context(), renamed, nil)
		require.NoError(t, err)
		requireClose(t, want, got, 1e-12, "names of levels")
	})
}

// binaryRows draws n rows of two bits from two components.
func binaryRows(n int) []int {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]int, 0, 2*n)
	for range n {
		means := [2]float64{0.15, 0.25}
		if rng.Float64() < 0.4 {
			means = [2]float64{0.9, 0.7}
		}
		for _, mean := range means {
			bit := 0
			if rng.Float64() < mean {
				bit = 1
			}
			rows = append(rows, bit)
		}
	}
	return rows
}

func TestSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	rows := binaryRows(60)
	for _, k := range []int{2, 3} {
		if k == 3 {
			rows = rows[:50]
		}
		var gfic, value [3]float64
		for i, workers := range []int{1, 2, 7} {
			m := evidence.Mixture{K: k, Levels: []int{2, 2}, Alpha: 0.7, Beta: 0.5, Workers: workers}
			var err error
			gfic[i], value[i], err = m.ExactGFIC(t.Context(), rows, nil)
			require.NoError(t, err)
		}
		require.Equal(t, [3]float64{gfic[0], gfic[0], gfic[0]}, gfic)
		require.Equal(t, [3]float64{value[0], value[0], value[0]}, value)
	}
}

func TestAllocationsAddUpToTheRows(t *testing.T) {
	m := evidence.Mixture{K: 3, Levels: []int{3, 9}, Alpha: 1, Beta: 1}
	rows := []int{0, 8, 2, 3, 0, 3}
	_, means, err := m.Expect(t.Context(), rows, []float64{4, 1, 2}, 5, func(a *evidence.Allocation, dst []float64) {
		clear(dst)
		for k, size := range a.Sizes {
			dst[0] += float64(size)
			dst[1] += float64(a.Count(k, 0, 0))
			dst[2] += float64(a.Count(k, 0, 1)) // does not occur
			dst[3] += float64(a.Count(k, 1, 3))
		}
		dst[4] = float64(a.Rows())
	})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{7, 6, 0, 3, 7}, means, 1e-12)
}

func TestSumTooLongIsRefusedWithItsLength(t *testing.T) {
	m := evidence.Mixture{K: 2, Levels: []int{2}, Alpha: 1, Beta: 1, MaxTerms: 100}
	rows, counts := []int{0, 1}, []float64{9, 9} // 10·10 allocations
	_, err := m.LogEvidence(t.Context(), rows, counts)
	require.NoError(t, err)
	m.MaxTerms = 99
	_, err = m.LogEvidence(t.Context(), rows, counts)
	require.ErrorIs(t, err, evidence.ErrTooManyTerms)
	require.ErrorContains(t, err, "100 ways to allot 2 distinct rows to 2 components exceed MaxTerms = 99")

	m.MaxTerms = 0
	_, err = m.LogEvidence(t.Context(), rows, []float64{1e5, 1e5})
	require.ErrorIs(t, err, evidence.ErrTooManyTerms)
	require.ErrorContains(t, err, "1e+10")

	// A length that no float64 holds.
	m = evidence.Mixture{K: 1 << 40, Levels: []int{2000}, Alpha: 1, Beta: 1}
	codes := make([]int, 2000)
	for i := range codes {
		codes[i] = i
	}
	_, err = m.LogEvidence(t.Context(), codes, nil)
	require.ErrorIs(t, err, evidence.ErrTooManyTerms)
	require.NotContains(t, err.Error(), "Inf")
}

func TestCancelledSumStops(t *testing.T) {
	m := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: 1, Beta: 1}
	rows, counts := []int{0, 0, 0, 1, 1, 0, 1, 1}, []float64{300, 300, 300, 300} // 8e9 allocations
	ctx, cancel := context.WithCancel(t.Context())
	value, _, err := m.Expect(ctx, rows, counts, 0, func(*evidence.Allocation, []float64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, math.IsNaN(value))
	_, err = m.LogEvidence(ctx, rows[:2], nil)
	require.ErrorIs(t, err, context.Canceled, "before the start")
}

func TestWrongModelsAndRowsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := evidence.Mixture{K: 2, Levels: []int{2, 3}, Alpha: 1, Beta: 0.5}
	with := func(change func(*evidence.Mixture)) evidence.Mixture {
		m := good
		change(&m)
		return m
	}
	for _, c := range []struct {
		m      evidence.Mixture
		rows   []int
		counts []float64
		want   string
	}{
		{with(func(m *evidence.Mixture) { m.K = 0 }), []int{0, 0}, nil, "K = 0"},
		{with(func(m *evidence.Mixture) { m.Levels = nil }), nil, nil, "no columns"},
		{with(func(m *evidence.Mixture) { m.Levels = []int{2, 1} }), []int{0, 0}, nil, "column 2 has 1 levels"},
		{with(func(m *evidence.Mixture) { m.Alpha = 0 }), []int{0, 0}, nil, "Alpha = 0"},
		{with(func(m *evidence.Mixture) { m.Alpha = 5e-324 }), []int{0, 0}, nil, "Alpha = 5e-324"},
		{with(func(m *evidence.Mixture) { m.Alpha = nan }), []int{0, 0}, nil, "Alpha = NaN"},
		{with(func(m *evidence.Mixture) { m.Alpha = 1e308 }), []int{0, 0}, nil, "Alpha = 1e+308"},
		{with(func(m *evidence.Mixture) { m.Beta = -1 }), []int{0, 0}, nil, "Beta = -1"},
		{with(func(m *evidence.Mixture) { m.Beta = inf }), []int{0, 0}, nil, "Beta = +Inf"},
		{with(func(m *evidence.Mixture) { m.MaxTerms = nan }), []int{0, 0}, nil, "MaxTerms = NaN"},
		{with(func(m *evidence.Mixture) { m.Workers = -1 }), []int{0, 0}, nil, "Workers = -1"},
		{good, []int{0, 0, 1, 3}, nil, "row 2, column 2: code 3 is not in 0 to 2"},
		{good, []int{-1, 0}, nil, "row 1, column 1: code -1"},
		{good, nil, nil, "no rows"},
		{good, []int{0, 0}, []float64{0}, "no rows"},
		{good, []int{0, 0, 1, 1}, []float64{1, -1}, "row 2: count -1"},
		{good, []int{0, 0}, []float64{0.5}, "row 1: count 0.5"},
		{good, []int{0, 0}, []float64{nan}, "row 1: count NaN"},
		{good, []int{0, 0}, []float64{inf}, "more than 10000000 rows"},
		{good, []int{0, 0}, []float64{1e300}, "more than 10000000 rows"},
	} {
		gfic, value, err := c.m.ExactGFIC(t.Context(), c.rows, c.counts)
		require.ErrorContains(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), "evidence: ") && !strings.Contains(err.Error(), "\n"), err)
		require.True(t, math.IsNaN(value) && math.IsNaN(gfic))
	}
	_, _, err := good.Expect(t.Context(), []int{0, 0}, nil, 1, func(_ *evidence.Allocation, dst []float64) { dst[0] = nan })
	require.ErrorContains(t, err, "expectation of value 0 is NaN")

	assert.Panics(t, func() { _, _ = good.LogEvidence(t.Context(), []int{0, 0, 1}, nil) })
	assert.Panics(t, func() { _, _ = good.LogEvidence(t.Context(), []int{0, 0}, []float64{1, 1}) })
	assert.Panics(t, func() { _, _, _ = good.Expect(t.Context(), []int{0, 0}, nil, -1, nil) })
	requirePanic(t, "mine", func() { // a caller's panic comes out where the caller is
		_, _, _ = good.Expect(t.Context(), []int{0, 0, 1, 1}, nil, 0, func(*evidence.Allocation, []float64) { panic("mine") })
	})
}

func TestExtremePriorsGiveFiniteEvidence(t *testing.T) {
	rows := binaryRows(20)
	for _, alpha := range []float64{2.3e-308, 1e-200, 1, 1e200, 1e307} {
		for _, beta := range []float64{2.3e-308, 1e-200, 1, 1e200, 1e307} {
			m := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: alpha, Beta: beta}
			gfic, value, err := m.ExactGFIC(t.Context(), rows, nil)
			require.NoError(t, err)
			require.False(t, math.IsNaN(value+gfic) || math.IsInf(value+gfic, 0) || value > 0, "a = %v, b = %v: %v, %v", alpha, beta, value, gfic)
			if beta >= 1e200 {
				require.InDelta(t, -40*math.Ln2, value, 1e-9, "every cell has probability ½")
			}
		}
	}
}

// Theorem 2 of paper G, with q the exact posterior. Measured gaps for N = 10, 20, 50, 100, 200,
// 300: 2.07, 1.48, 1.15, 0.97, 0.88, 0.85 nats, while ½ ln N grows by 0.9 from 50 to 300.
func TestGFICAtExactPosteriorStaysWithinAConstantOfEvidence(t *testing.T) {
	const bound = 0.35
	m := evidence.Mixture{K: 2, Levels: []int{2, 2}, Alpha: 1, Beta: 0.5}
	rows := binaryRows(300)
	var gaps, more, fewer []float64
	for _, n := range []int{10, 20, 50, 100, 200, 300} {
		gfic, value, err := m.ExactGFIC(t.Context(), rows[:2*n], nil)
		require.NoError(t, err)
		half := math.Log(float64(n)) / 2
		t.Logf("N = %3d: gFIC %9.3f, ln p(X|K) %9.3f, gap %.4f, ½ ln N %.3f", n, gfic, value, gfic-value, half)
		if n >= 50 {
			gaps = append(gaps, gfic-value)
			more, fewer = append(more, gfic-value-half), append(fewer, gfic-value+half)
		}
	}
	require.Less(t, spread(gaps), bound)
	// The test has power: one parameter too many or too few would fail it.
	require.Greater(t, spread(more), bound)
	require.Greater(t, spread(fewer), bound)
}

func spread(values []float64) float64 { return slices.Max(values) - slices.Min(values) }

// Ten columns that never vary: q* leaves the second component empty, and the gap of K = 2
// grows as a ln N beside that of K = 1.
func TestEmptyComponentsWidenTheGapByTheirPrior(t *testing.T) {
	row := make([]int, 10)
	levels := slices.Repeat([]int{2}, 10)
	for _, alpha := range []float64{0.3, 1, 2} {
		excess := func(n float64) float64 {
			var gap [2]float64
			for k := range gap {
				m := evidence.Mixture{K: k + 1, Levels: levels, Alpha: alpha, Beta: 0.5}
				gfic, value, err := m.ExactGFIC(t.Context(), row, []float64{n})
				require.NoError(t, err)
				gap[k] = gfic - value
			}
			return gap[1] - gap[0]
		}
		slope := (excess(1e5) - excess(1e3)) / math.Log(1e2)
		t.Logf("a = %v: slope in ln N %.4f", alpha, slope)
		require.InDelta(t, alpha, slope, 0.05)
	}
}

// A level that never occurs costs ½ ln N in gFIC and b ln N in the evidence.
func TestConstantColumnsWidenTheGapUnlessThePriorIsJeffreys(t *testing.T) {
	for _, beta := range []float64{0.25, 0.5, 1, 2} {
		m := evidence.Mixture{K: 1, Levels: []int{2, 3}, Alpha: 1, Beta: beta}
		gap := func(n float64) float64 {
			gfic, value, err := m.ExactGFIC(t.Context(), []int{1, 2}, []float64{n})
			require.NoError(t, err)
			return gfic - value
		}
		require.InDelta(t, 3*(beta-0.5), (gap(1e5)-gap(1e3))/math.Log(1e2), 0.01)
	}
}
