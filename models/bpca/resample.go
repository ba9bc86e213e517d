package bpca

import (
	"context"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Resample draws as many rows from p as src has, for package bootstrap. It returns an error unless every row of src
// has weight 1.
func (Model) Resample(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Rows], error) {
	x, err := p.Sample(src.Rows(), rng)
	if err != nil {
		return nil, err
	}
	return lineargaussian.Redrawn(ctx, src, x)
}
