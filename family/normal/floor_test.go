package normal

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

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func tableOf(t testing.TB, x []float64, n, d int) *blocks.Table {
	t.Helper()
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	return table
}

// TestFloorIgnoresWeightsGapsAndRepeats of rows.
func TestFloorIgnoresWeightsGapsAndRepeats(t *testing.T) {
	x := []float64{0, 10, 2, 10, 4, 10.5, 2, 11, 8, 12.5}
	floor := func(table framework.Source[blocks.Rows], c Covariance) []float64 {
		w, _, err := family.Pool(context.Background(), table, Family{Covariance: c})
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
			gaps, err := blocks.FromIncomplete(slices.Concat(x, []float64{math.NaN(), 10, 0, math.NaN()}), 7, 2)
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
		g, w := gaussian{d: d, floor: 1}, &family.Pooled{Parameters: all, Floor: floor}
		xi := append(make([]float64, d), s.RawMatrix().Data...)
		require.NoError(t, g.Bound(w, family.Table{K: 1, Stride: 0, Data: xi}))
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
		require.NoError(t, g.Bound(w, family.Table{K: 1, Stride: 0, Data: inside}))
		assert.Equal(t, before, inside)
	}

	// What no rows can have is refused.
	xi := []float64{0, 0, 1, 2, 2, 1}
	assert.ErrorIs(t, gaussian{d: 2, floor: 1}.Bound(&family.Pooled{Parameters: xi, Floor: []float64{0.01, 0.01}}, family.Table{K: 1, Stride: 0, Data: xi}), framework.ErrDegenerate)
	v := []float64{0, -1}
	assert.ErrorIs(t, isotropic{1, 1, Diagonal, 1}.Bound(&family.Pooled{Parameters: v, Floor: []float64{0.01}}, family.Table{K: 1, Stride: 0, Data: v}), framework.ErrDegenerate)
}

// TestScoresOnTheFloorAreExact where the entries of Σ do not tell ln|Σ| any more.
func TestScoresOnTheFloorAreExact(t *testing.T) {
	rng := seeded(3)
	for i := range 40 {
		d := []int{3, 40}[i%2]
		g, floor, logDet := gaussian{d: d, floor: 1}, make([]float64, d), 0.0
		for a := range floor {
			floor[a] = 1e-10 * float64((1+a%3)*(1+a%3))
			logDet += math.Log(floor[a])
		}
		u := normals(rng, d) // S = uuᵀ and rounding: all eigenvalues but one come to lie on the floor
		xi, score := make([]float64, d+d*d), make([]float64, 1+d+d*d)
		w := &family.Pooled{Floor: floor, Parameters: xi}
		size := 0.0
		for a := range d {
			size += u[a] * u[a] / floor[a]
			for c := range d {
				xi[d+a*d+c] = u[a] * u[c] * (1 + 1e-16*rng.NormFloat64())
			}
		}
		logDet += math.Log(size)
		require.NoError(t, g.Bound(w, family.Table{K: 1, Stride: 0, Data: xi}))
		require.NoError(t, g.Score(xi, score))
		g.Refine(w, xi, score)
		assert.InDelta(t, -(logDet+float64(d)*math.Log(2*math.Pi))/2, score[0], 1e-12*math.Abs(logDet))
		_, root := g.split(score, 1)
		for a := range d {
			logDet += 2 * math.Log(root[a*d+a])
			assert.Zero(t, slices.IndexFunc(root[a*d:(a+1)*d], func(v float64) bool { return v != 0 })-a)
		}
		assert.InDelta(t, 0, logDet, 1e-9)
		for a := range d { // F^½Σ⁻¹F^½ = I − (1 − 1/s)F^−½uuᵀF^−½/s
			for c := range d {
				got, want := 0.0, -(1-1/size)*u[a]*u[c]/math.Sqrt(floor[a]*floor[c])/size
				if a == c {
					want++
				}
				for i := range d {
					got += root[i*d+a] * root[i*d+c] * math.Sqrt(floor[a]*floor[c])
				}
				assert.InDelta(t, want, got, 1e-9)
			}
		}
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
		w, p, err := family.Pool(context.Background(), tableOf(t, x, n, d), Family{Covariance: c})
		require.NoError(t, err)
		require.NoError(t, p.Check(1, w.Parameters, w))
		doubts := p.Doubts()
		require.Len(t, doubts, len(want), fmt.Sprint(c, doubts))
		for i := range want {
			assert.ErrorContains(t, doubts[i], want[i])
		}
	}
	_, _, err := family.Pool(context.Background(), tableOf(t, slices.Repeat([]float64{2, 3}, 9), 9, 2), Family{})
	assert.ErrorContains(t, err, "is constant, like all others: there is nothing to fit")
	_, _, err = family.Pool(context.Background(), tableOf(t, x, n, d), Family{Floor: 1e9})
	assert.ErrorContains(t, err, "lower that factor")
	_, err = Family{Floor: math.NaN()}.On(2)
	assert.ErrorContains(t, err, "must be finite")
}

// TestLognormalsHaveTheConstrainedMaximum: nothing near the estimates of lognormal classes, above the floor, is likelier, and
// what lies above it stays.
func TestLognormalsHaveTheConstrainedMaximum(t *testing.T) {
	rng := seeded(7)
	g := lognormal{isotropic{1, 1, Diagonal, 1}}
	touched := 0
	for range 200 {
		m, v, r := rng.NormFloat64(), math.Exp(4*rng.NormFloat64()-4), 0.5+rng.Float64()
		w := &family.Pooled{Parameters: []float64{0.3, math.Exp(rng.NormFloat64())}, Floor: []float64{math.Exp(3*rng.NormFloat64() - 3)}}
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
}
