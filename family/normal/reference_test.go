package normal

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
)

// asOneClass is the table as one class.
func asOneClass(t *testing.T, f family.Family, x []float64, n, d int) *family.Pooled {
	t.Helper()
	src, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	w, _, err := family.Pool(context.Background(), src, f)
	require.NoError(t, err)
	return w
}

// groupsOf are two correlated groups in three columns, 5 standard deviations apart.
func groupsOf(n int) []float64 {
	rng, x := rand.New(rand.NewPCG(11, 1)), make([]float64, 0, 3*n)
	for i := range n {
		a, b, c := rng.NormFloat64()+5*float64(i%2), rng.NormFloat64(), rng.NormFloat64()
		x = append(x, a, 0.7*a+0.7*b, 20+3*c)
	}
	return x
}

// Without wild rows the prior is about mean and covariance, in every structure.
func TestReferenceIsThatOfTheTableWithoutWildRows(t *testing.T) {
	_, forms := Structures()
	for _, form := range forms {
		assert.Empty(t, asOneClass(t, Family{Covariance: form}, groupsOf(300), 300, 3).Reference, form)
	}
	assert.Empty(t, asOneClass(t, Family{}, groupsOf(4), 4, 3).Reference, "few rows")
}

// One wild cell, whatever it holds, moves a variance by less than c/(N − c), and the mean by as little.
func TestReferenceHoldsOutAgainstAWildCell(t *testing.T) {
	const n = 300
	_, forms := Structures()
	for _, form := range forms {
		clean := asOneClass(t, Family{Covariance: form}, groupsOf(n), n, 3)
		for _, v := range []float64{1e3, -1e6, 1e12} {
			for _, cell := range []int{0, 3*n - 1} {
				x := groupsOf(n)
				x[cell] = v
				w := asOneClass(t, Family{Covariance: form}, x, n, 3)
				require.NotEmpty(t, w.Reference)
				for j, want := range clean.Parameters {
					if j < 3 {
						assert.InDelta(t, want, w.Reference[j], 1.5)
					} else if want > 1 {
						assert.InEpsilon(t, want, w.Reference[j], 0.3, "%v: %v", form, w.Reference)
					}
				}
			}
		}
	}
}

// The estimate moves with an affine map as the table does, whatever the scales.
func TestReferenceIsAffine(t *testing.T) {
	const n, d = 200, 3
	x := groupsOf(n)
	x[7] = 500
	a := [d][d]float64{{2, 0, 1}, {-1, 1e3, 0}, {1e-3, 0, 1e-3}}
	y := make([]float64, len(x))
	for i := range n {
		for j := range d {
			y[i*d+j] = 4
			for l := range d {
				y[i*d+j] += a[j][l] * x[i*d+l]
			}
		}
	}
	of, there := asOneClass(t, Family{Floor: family.NoFloor}, x, n, d).Reference, asOneClass(t, Family{Floor: family.NoFloor}, y, n, d).Reference
	for i := range d {
		mean := 4.0
		for l := range d {
			mean += a[i][l] * of[l]
		}
		assert.InEpsilon(t, mean, there[i], 1e-8)
		for j := range d {
			cov := 0.0
			for l := range d {
				for m := range d {
					cov += a[i][l] * of[d+l*d+m] * a[j][m]
				}
			}
			assert.InDelta(t, cov, there[d+i*d+j], 1e-7*max(1, a[i][i]*a[j][j]))
		}
	}
}

// Constant, dependent and missing columns, rows of weight 0, and as many columns as rows.
func TestReferenceOfStrangeTables(t *testing.T) {
	const n = 100
	x := groupsOf(n)
	for i := range n {
		x[3*i+2] = 7
		x[3*i+1] = 2 * x[3*i]
	}
	x[0], x[1] = 1e9, 2e9
	for _, form := range []Covariance{Full, Diagonal, Tied, VEE, EEI} {
		w := asOneClass(t, Family{Covariance: form}, x, n, 3)
		assert.NotEmpty(t, w.Reference, form)
		assert.True(t, finite(w.Reference), form)
	}
	rng, wide := rand.New(rand.NewPCG(12, 1)), make([]float64, 5*20)
	for i := range wide {
		wide[i] = rng.NormFloat64()
	}
	wide[3] = 1e8
	assert.True(t, finite(asOneClass(t, Family{}, wide, 5, 20).Reference))
}
