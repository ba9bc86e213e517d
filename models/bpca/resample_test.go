package bpca_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
)

var _ bootstrap.Resampler[blocks.Rows, *bpca.Parameters] = bpca.Model{}

func TestResampleDrawsAsManyRows(t *testing.T) {
	src, err := blocks.FromSlice(make([]float64, 10), 5, 2)
	require.NoError(t, err)
	p := &bpca.Parameters{K: 1, D: 2, Mean: []float64{1, 2}, Loadings: []float64{1, 1}, Noise: 1}
	drawn, err := bpca.Model{}.Resample(t.Context(), src, p, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	assert.Equal(t, 5, drawn.Rows())
	src, err = src.WithWeights([]float64{1, 1, 2, 1, 1})
	require.NoError(t, err)
	_, err = bpca.Model{}.Resample(t.Context(), src, p, rand.New(rand.NewPCG(1, 1)))
	assert.EqualError(t, err, "lineargaussian: the weight of row 3 is 2; must be 1, to draw rows")
}
