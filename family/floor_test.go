package family

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/variances"
)

func tableOf(t testing.TB, x []float64, n, d int) *framework.Table {
	t.Helper()
	table, err := framework.FromSlice(x, n, d)
	require.NoError(t, err)
	return table
}

// stepOf is the resolution of a column whose values have the standard deviation sd.
func stepOf(x []float64, most int, sd float64) float64 {
	c := resolution{most: most, enough: math.Sqrt(12*variances.Finest) * sd}
	for _, v := range x {
		if c.add(v); c.Done {
			break
		}
	}
	return c.step()
}

func TestResolutionIsTheLeastGap(t *testing.T) {
	tenth := func(n int) float64 { return float64(n) * 0.1 } // 3*0.1 is not 0.3
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5}, math.Inf(1)},
		{[]float64{0, math.Copysign(0, -1), 0}, math.Inf(1)},
		{[]float64{0.1 + 0.2, 0.3, 0.3}, math.Inf(1)},
		{[]float64{0.1 + 0.2, 0.3, 0.7}, 0.4},
		{[]float64{0, 1, 0, 1}, 1},
		{[]float64{0, 7, -3, 12, 4}, 3},
		{[]float64{tenth(3), 0.3, tenth(6), 0.6, tenth(7), 0.7, 0.1}, 0.1},
		{[]float64{1e15, 1e15 + 1, 1e15 + 3}, 1},
		{[]float64{3, 3 + 1e-6, 9}, 0}, // finer than what matters
	} {
		for range 3 {
			seeded(9).Shuffle(len(c.x), func(i, j int) { c.x[i], c.x[j] = c.x[j], c.x[i] })
			got := stepOf(c.x, mostValues, 1)
			assert.True(t, got == c.want || math.Abs(got-c.want) < 1e-12, "%v: %v", c.x, got)
		}
	}
	rng := seeded(1)
	x := make([]float64, 3000)
	for i := range x {
		x[i] = math.Floor(1e4 * rng.NormFloat64())
	}
	assert.Equal(t, 1., stepOf(x, mostValues, 1e4))
	assert.Zero(t, stepOf(x, 1000, 1e4)) // more values than are looked at
	c := resolution{most: mostValues, enough: math.Sqrt(12 * variances.Finest)}
	read := 0
	for ; !c.Done; read++ { // continuous columns are read a little way
		c.add(rng.NormFloat64())
	}
	assert.Less(t, read, 3000)
}

// TestFloorIgnoresWeightsGapsAndRepeats of rows.
func TestFloorIgnoresWeightsGapsAndRepeats(t *testing.T) {
	x := []float64{0, 10, 2, 10, 4, 10.5, 2, 11, 8, 12.5}
	floor := func(table framework.Source[framework.Rows], c Covariance) []float64 {
		w, _, err := Pool(context.Background(), table, Gaussian{Covariance: c})
		require.NoError(t, err)
		return w.Floor
	}
	for c := range Covariance(4) {
		want := floor(tableOf(t, x, 5, 2), c)
		require.InDeltaSlice(t, []float64{4. / 12, 0.25 / 12}, want, 1e-15)
		twice, err := tableOf(t, slices.Concat(x, x, []float64{3, 10.1}), 11, 2).WithWeights([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0})
		require.NoError(t, err)
		assert.Equal(t, want, floor(twice, c))
		if c == Diagonal {
			gaps, err := framework.FromIncomplete(slices.Concat(x, []float64{math.NaN(), 10, 0, math.NaN()}), 7, 2)
			require.NoError(t, err)
			assert.Equal(t, want, floor(gaps, c))
		}
	}
}

// TestBoundIsTheConstrainedMaximum of −ln|Σ| − tr(Σ⁻¹S) where Σ ⪰ F, against a numeric optimiser over Σ = F^½(I + BBᵀ)F^½.
func TestBoundIsTheConstrainedMaximum(t *testing.T) {
	rng := seeded(2)
	const d = 3
	for range 12 {
		floor, all := make([]float64, d), make([]float64, d+d*d)
		for a := range d {
			floor[a] = math.Exp(2 * rng.NormFloat64())
			all[d+a*(d+1)] = 10 * floor[a]
		}
		var b, s mat.Dense
		b.CloneFrom(mat.NewDense(d, 2, normals(rng, 2*d))) // S has rank 2
		s.Mul(&b, b.T())
		s.Apply(func(i, j int, v float64) float64 { return v * math.Sqrt(floor[i]*floor[j]) * 3 }, &s)
		value := func(sigma []float64) float64 {
			var chol mat.Cholesky
			if !chol.Factorize(mat.NewSymDense(d, slices.Clone(sigma))) {
				return math.Inf(1)
			}
			var ratio mat.Dense
			require.NoError(t, chol.SolveTo(&ratio, &s))
			return chol.LogDet() + mat.Trace(&ratio)
		}
		g, w := gaussian{d: d, floor: 1}, &Pooled{Parameters: all, Floor: floor}
		xi := append(make([]float64, d), s.RawMatrix().Data...)
		require.NoError(t, g.Bound(w, Table{1, 0, xi}))
		got := value(xi[d:])

		sigma := make([]float64, d*d)
		res, err := optimize.Minimize(optimize.Problem{Func: func(p []float64) float64 {
			for a := range d {
				for c := range d {
					v := 0.0
					for i := range d {
						v += p[a*d+i] * p[c*d+i]
					}
					if a == c {
						v++
					}
					sigma[a*d+c] = v * math.Sqrt(floor[a]*floor[c])
				}
			}
			return value(sigma)
		}}, normals(rng, d*d), &optimize.Settings{FuncEvaluations: 20000}, &optimize.NelderMead{})
		require.NoError(t, err)
		assert.Less(t, got, res.F+1e-9)
		assert.InDelta(t, res.F, got, 1e-3)

		inside := slices.Clone(xi) // nothing changes what is above the floor already
		for a := range d {
			inside[d+a*(d+1)] += floor[a]
		}
		before := slices.Clone(inside)
		require.NoError(t, g.Bound(w, Table{1, 0, inside}))
		assert.Equal(t, before, inside)
	}

	// What no rows can have is refused.
	xi := []float64{0, 0, 1, 2, 2, 1}
	assert.ErrorIs(t, gaussian{d: 2, floor: 1}.Bound(&Pooled{Parameters: xi, Floor: []float64{0.01, 0.01}}, Table{1, 0, xi}), framework.ErrDegenerate)
	v := []float64{0, -1}
	assert.ErrorIs(t, isotropic{1, 1, Diagonal, 1}.Bound(&Pooled{Parameters: v, Floor: []float64{0.01}}, Table{1, 0, v}), framework.ErrDegenerate)
}

// TestScoresOnTheFloorAreExact where the entries of Σ do not tell ln|Σ| any more.
func TestScoresOnTheFloorAreExact(t *testing.T) {
	rng := seeded(3)
	const d = 3
	g, floor := gaussian{d: d, floor: 1}, []float64{1e-10, 4e-10, 9e-10}
	w := &Pooled{Floor: floor}
	for range 20 {
		u := normals(rng, d) // S = uuᵀ and rounding: two eigenvalues come to lie on the floor
		xi, score := make([]float64, d+d*d), make([]float64, 1+d+d*d)
		w.Parameters = xi
		size := 0.0
		for a := range d {
			size += u[a] * u[a] / floor[a]
			for c := range d {
				xi[d+a*d+c] = u[a] * u[c] * (1 + 1e-16*rng.NormFloat64())
			}
		}
		require.NoError(t, g.Bound(w, Table{1, 0, xi}))
		require.NoError(t, g.Score(xi, score))
		g.Refine(w, xi, score)
		want := -(math.Log(size*36e-30) + d*math.Log(2*math.Pi)) / 2
		assert.InDelta(t, want, score[0], 1e-12)
		_, root := g.split(score, 1)
		logDet := 0.0
		for a := range d {
			logDet -= 2 * math.Log(root[a*d+a])
		}
		assert.InDelta(t, math.Log(size*36e-30), logDet, 1e-9)
	}
}

func TestDoubtsNameColumns(t *testing.T) {
	rng := seeded(4)
	const n, d = 200, 5
	x := make([]float64, n*d)
	for i := range n {
		a, b, rare := rng.NormFloat64(), 1e3*rng.NormFloat64(), 0.0
		if i%50 == 0 {
			rare = 1
		}
		copy(x[i*d:], []float64{a, b, 3*a - b, -4, rare})
	}
	says := map[Covariance][]string{
		Full:      {"column 3 is a linear combination", "column 4 is constant", "column 5 varies less"},
		Tied:      {"column 3 is a linear combination", "column 4 is constant", "column 5 varies less"},
		Diagonal:  {"column 4 is constant", "column 5 varies less"},
		Spherical: {"column 4 is constant"},
	}
	for c, want := range says {
		w, p, err := Pool(context.Background(), tableOf(t, x, n, d), Gaussian{Covariance: c})
		require.NoError(t, err)
		require.NoError(t, p.Check(1, w.Parameters, w))
		doubts := p.Doubts()
		require.Len(t, doubts, len(want), fmt.Sprint(c, doubts))
		for i := range want {
			assert.ErrorContains(t, doubts[i], want[i])
		}
	}
	_, _, err := Pool(context.Background(), tableOf(t, slices.Repeat([]float64{2, 3}, 9), 9, 2), Gaussian{})
	assert.ErrorContains(t, err, "is constant, like all others: there is nothing to fit")
	_, _, err = Pool(context.Background(), tableOf(t, x, n, d), Gaussian{Floor: 1e9})
	assert.ErrorContains(t, err, "lower that factor")
	_, err = Gaussian{Floor: math.NaN()}.On(2)
	assert.ErrorContains(t, err, "must be finite")
}

// TestPositiveNumbersHaveTheConstrainedMaximum: nothing near the estimates of lognormal and gamma classes, above the floor, is
// likelier, and what lies above it stays.
func TestPositiveNumbersHaveTheConstrainedMaximum(t *testing.T) {
	rng := seeded(7)
	g := lognormal{isotropic{1, 1, Diagonal, 1}}
	touched := 0
	for range 200 {
		m, v, r := rng.NormFloat64(), math.Exp(4*rng.NormFloat64()-4), 0.5+rng.Float64()
		w := &Pooled{Parameters: []float64{0.3, math.Exp(rng.NormFloat64())}, Floor: []float64{math.Exp(3*rng.NormFloat64() - 3)}}
		loss := func(mu, variance float64) float64 { return math.Log(variance) + (v+r*(mu-m)*(mu-m))/variance }
		mean, variance := m, v
		g.bound(w, 0, r, &mean, &variance)
		if v >= g.least(w, 0, m) {
			require.Equal(t, []float64{m, v}, []float64{mean, variance})
			continue
		}
		touched++
		require.GreaterOrEqual(t, variance, g.least(w, 0, mean)*(1-1e-15))
		for i := range 200 {
			size := math.Pow(10, -float64(i%8))
			mu := mean + size*rng.NormFloat64()
			other := max(variance*math.Exp(size*rng.NormFloat64()), g.least(w, 0, mu))
			require.LessOrEqual(t, loss(mean, variance), loss(mu, other)+1e-12*math.Abs(loss(mu, other)), "%v %v", w, r)
		}
	}
	require.Greater(t, touched, 50)
	for range 200 {
		shape, mean, floor := math.Exp(3*rng.NormFloat64()), math.Exp(rng.NormFloat64()), math.Exp(3*rng.NormFloat64()-2)
		estimate := []float64{shape, shape / mean}
		sums := make([]float64, 2)
		Gamma{}.Expect(estimate, sums)
		loss := func(xi []float64) float64 {
			eta := make([]float64, 2)
			partition := Gamma{}.Natural(xi, eta)
			return partition - eta[0]*sums[0] - eta[1]*sums[1]
		}
		xi := slices.Clone(estimate)
		Gamma{}.bound(floor, xi)
		at, variance := Gamma{}.moments(xi)
		require.GreaterOrEqual(t, variance, floor*(1-1e-12))
		if _, before := (Gamma{}).moments(estimate); before >= floor {
			require.Equal(t, estimate, xi)
		}
		for i := range 200 {
			size := math.Pow(10, -float64(i%8))
			near := at * math.Exp(size*rng.NormFloat64())
			other := max(floor, variance*math.Exp(size*rng.NormFloat64()))
			to := []float64{near * near / other, near / other}
			require.LessOrEqual(t, loss(xi), loss(to)+1e-10*(1+math.Abs(loss(to))), "%v %v", estimate, floor)
		}
	}
}
