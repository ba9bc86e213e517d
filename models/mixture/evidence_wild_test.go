package mixture_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

// withCell fits the geyser's table with one other cell, which the family may need to see.
func withCell(t *testing.T, of func(x []float64) family.Family, row, column int, value float64) []float64 {
	t.Helper()
	x := slices.Clone(embedded(t, "faithful", 2).All().X)
	x[2*row+column] = value
	o := framework.Options{K: 10, Criterion: framework.Evidence, Restarts: 3, Seed: 1}
	res := fit(t, mixture.Model{Family: of(x)}, source(t, x, 272, 2), o)
	require.Zero(t, res.Fall)
	sizes := slices.Clone(res.Statistics.Nk)
	slices.Sort(sizes)
	return sizes
}

// One wild cell, whatever it holds, leaves the two groups as they are.
func TestEvidenceWithAWildCell(t *testing.T) {
	for _, value := range []float64{-99, 9999, 1e6, 1e12, 1e20} {
		for _, row := range []int{0, 135, 271} {
			for column := range 2 {
				t.Run(fmt.Sprint(value, row, column), func(t *testing.T) {
					sizes := withCell(t, func([]float64) family.Family { return normal.Family{} }, row, column, value)
					require.Len(t, sizes, 3)
					assert.InDelta(t, 1, sizes[0], 0.25)
					assert.InDelta(t, 96.5, sizes[1], 1.5)
				})
			}
		}
	}
	for _, value := range []float64{1e6, 1e12} {
		sizes := withCell(t, func(x []float64) family.Family {
			low, high := normal.Ranges(x, 2)
			return normal.Noise{Family: normal.Family{}, Low: low, High: high}
		}, 135, 0, value)
		require.Len(t, sizes, 2, "noise, %v", value)
		assert.InDelta(t, 97, sizes[0], 1.5)
		sizes = withCell(t, func([]float64) family.Family { return normal.StudentT{} }, 135, 0, value)
		require.GreaterOrEqual(t, len(sizes), 2)
		assert.InDelta(t, 174, sizes[len(sizes)-1], 3, "Student-t, %v", value)
	}
}

// A wild response is a component of its own, and leaves two regressions.
func TestEvidenceWithAWildResponse(t *testing.T) {
	of := regressionTable(t, "NPreg", true, "yn", "x").All()
	x := slices.Clone(of.X)
	x[0] = 1e6
	res := evident(t, mixture.Model{Family: regress.Family{}}, source(t, x, of.N, of.D), 0)
	sizes := slices.Clone(res.Statistics.Nk)
	slices.Sort(sizes)
	require.Len(t, sizes, 3)
	assert.InDelta(t, 1, sizes[0], 0.01)
}

// A wild regressor is a component of its own, or one of few rows, or on the line of a group, and leaves the groups as they are.
func TestEvidenceWithAWildRegressor(t *testing.T) {
	for _, f := range []struct {
		family   regress.Family
		response string
		square   bool
		values   []float64
	}{
		{regress.Family{}, "yn", false, []float64{999, 1e6}},
		{regress.Family{}, "yn", true, []float64{-99}},
		{regress.Family{Response: regress.Counts}, "yp", false, []float64{1e6}},
	} {
		of := regressionTable(t, "NPreg", f.square, f.response, "x").All()
		sizes := func(x []float64, n int) []float64 {
			o := framework.Options{K: 10, Criterion: framework.Evidence, Restarts: 3, Seed: 1}
			res := fit(t, mixture.Model{Family: f.family}, source(t, x, n, of.D), o)
			require.Equal(t, framework.Converged, res.Status)
			nk := slices.Sorted(slices.Values(res.Statistics.Nk))
			return slices.DeleteFunc(nk, func(n float64) bool { return n < 10 })
		}
		want := sizes(of.X[of.D:], of.N-1)
		for _, value := range f.values {
			x := slices.Clone(of.X)
			if x[1] = value; f.square {
				x[2] = value * value
			}
			got := sizes(x, of.N)
			t.Log(f.response, f.square, value, got, want)
			assert.InDeltaSlice(t, want, got, 10, "%s, %v", f.response, value)
		}
	}
}

// bare is a family whose factors have nothing that the evidence needs.
type bare struct{ family.Family }

func (b bare) On(columns int) ([]family.Factor, error) {
	list, err := b.Family.On(columns)
	if err != nil {
		return nil, err
	}
	return []family.Factor{struct{ family.SumFactor }{list[0].(family.SumFactor)}}, nil
}

func TestEvidenceSaysWhichFamilyHasNoPrior(t *testing.T) {
	m := mixture.Model{Family: bare{normal.StudentT{}}}
	_, err := framework.Fit(t.Context(), m, embedded(t, "faithful", 2), framework.Options{K: 2, Criterion: framework.Evidence})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "that of student-t is not known: give it the methods of family.Proper, or take another criterion, such as gFIC")
}
