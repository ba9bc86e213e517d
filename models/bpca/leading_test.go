package bpca_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// TestLeadingSpectrumIsPartOfTheWhole: the same solutions up to its last K, from a part of
// the work.
func TestLeadingSpectrumIsPartOfTheWhole(t *testing.T) {
	const n, d, k = 900, 300, 8
	table, err := blocks.FromSlice(factors(n, d, k, 3), n, d)
	require.NoError(t, err)
	m, err := lineargaussian.Summarize(context.Background(), table, 1)
	require.NoError(t, err)
	full, err := m.Spectrum()
	require.NoError(t, err)
	part, err := m.LeadingSpectrum(k)
	require.NoError(t, err)
	require.Len(t, part.Values, k, "the leading path was not taken")
	a, err := bpca.Solve(full, 0)
	require.NoError(t, err)
	b, err := bpca.Solve(part, 0)
	require.NoError(t, err)
	assert.Equal(t, k, b.Max())
	for i := 1; i <= k; i++ {
		assert.InEpsilon(t, full.Values[i-1], part.Values[i-1], 1e-11)
		for _, c := range []framework.Criterion{framework.GFIC, framework.BICEM, framework.BIC} {
			v, err := a.Value(i, c)
			require.NoError(t, err)
			w, err := b.Value(i, c)
			require.NoError(t, err)
			assert.InEpsilon(t, v, w, 1e-11)
		}
	}
	p, err := a.Parameters(k, framework.GFAB)
	require.NoError(t, err)
	q, err := b.Parameters(k, framework.GFAB)
	require.NoError(t, err)
	assert.InDeltaSlice(t, p.Loadings, q.Loadings, 1e-8)

	for _, wrong := range []int{0, d + 1} {
		_, err = m.LeadingSpectrum(wrong)
		assert.ErrorContains(t, err, "choose 1 to 300")
	}
	// No value is well separated: the full spectrum is found.
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 300*30)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	noise, err := blocks.FromSlice(x, 300, 30)
	require.NoError(t, err)
	m, err = lineargaussian.Summarize(context.Background(), noise, 1)
	require.NoError(t, err)
	all, err := m.LeadingSpectrum(20)
	require.NoError(t, err)
	assert.Len(t, all.Values, 30)
}

// TestSpectrumIsThatOfTheCovariance: from moments and from the products of few rows, with vectors
// of more and more eigenvalues, and of all.
func TestSpectrumIsThatOfTheCovariance(t *testing.T) {
	for _, size := range [][2]int{{400, 200}, {180, 240}, {30, 60}} {
		n, d := size[0], size[1]
		src := table(t, factors(n, d, 6, 4), d)
		m := moments(t, src)
		var want mat.EigenSym
		require.True(t, want.Factorize(mat.NewSymDense(d, m.Scatter), true))
		values := want.Values(nil)
		var all mat.Dense
		want.VectorsTo(&all)
		s, err := lineargaussian.Decompose(background, src, 1)
		require.NoError(t, err)
		require.Len(t, s.Values, min(n, d))
		for j, v := range s.Values {
			assert.InDelta(t, values[d-1-j]/float64(n), v, 1e-13*s.Values[0])
		}
		for _, k := range []int{2, 1, 9, len(s.Values) - 1} {
			v, err := s.Vectors(k)
			require.NoError(t, err)
			rows, columns := v.Dims()
			require.Equal(t, []int{d, k}, []int{rows, columns})
			for j := range k {
				dot := 0.0 // the values are distinct: vectors agree but for their sign
				for i := range d {
					dot += v.At(i, j) * all.At(i, d-1-j)
				}
				assert.InDelta(t, 1, math.Abs(dot), 1e-9, "vector %d of %d, %d×%d", j, k, n, d)
			}
		}
		for _, wrong := range []int{0, len(s.Values) + 1} {
			_, err = s.Vectors(wrong)
			assert.ErrorContains(t, err, "choose 1 to")
		}
	}
	_, err := (&lineargaussian.Spectrum{N: 9, D: 3, Values: []float64{2, 1, 1}}).Vectors(1)
	assert.ErrorContains(t, err, "eigenvalues alone")
}

func BenchmarkSpectrum(b *testing.B) {
	const n, d, k = 3000, 1000, 20
	table, err := blocks.FromSlice(factors(n, d, k, 3), n, d)
	if err != nil {
		b.Fatal(err)
	}
	m, err := lineargaussian.Summarize(context.Background(), table, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("full", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Spectrum(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("leading", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.LeadingSpectrum(k); err != nil {
				b.Fatal(err)
			}
		}
	})
}
