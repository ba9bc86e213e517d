package bpca_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// TestLeadingSpectrumIsPartOfTheWhole: the same solutions up to its last K, from a part of
// the work.
func TestLeadingSpectrumIsPartOfTheWhole(t *testing.T) {
	const n, d, k = 900, 300, 8
	table, err := framework.FromSlice(factors(n, d, k, 3), n, d)
	require.NoError(t, err)
	m, err := bpca.Summarize(context.Background(), table, 1)
	require.NoError(t, err)
	whole, err := m.Spectrum()
	require.NoError(t, err)
	part, err := m.LeadingSpectrum(k)
	require.NoError(t, err)
	require.Len(t, part.Values, k, "the leading path was not taken")
	a, err := bpca.Solve(whole, 0)
	require.NoError(t, err)
	b, err := bpca.Solve(part, 0)
	require.NoError(t, err)
	assert.Equal(t, k, b.Max())
	for i := 1; i <= k; i++ {
		assert.InEpsilon(t, whole.Values[i-1], part.Values[i-1], 1e-11)
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
	// Nothing stands out: the whole is found.
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 300*30)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	noise, err := framework.FromSlice(x, 300, 30)
	require.NoError(t, err)
	m, err = bpca.Summarize(context.Background(), noise, 1)
	require.NoError(t, err)
	all, err := m.LeadingSpectrum(20)
	require.NoError(t, err)
	assert.Len(t, all.Values, 30)
}

func BenchmarkSpectrum(b *testing.B) {
	const n, d, k = 3000, 1000, 20
	table, err := framework.FromSlice(factors(n, d, k, 3), n, d)
	if err != nil {
		b.Fatal(err)
	}
	m, err := bpca.Summarize(context.Background(), table, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
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
