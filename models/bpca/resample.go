package bpca

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
)

// Resample draws from p, for package bootstrap, as many rows as src has, which must weigh 1 each.
func (Model) Resample(
	ctx context.Context, src framework.Source[framework.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[framework.Rows], error) {
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			if w := b.Weight(i); w != 1 {
				return nil, fmt.Errorf("bpca: the weight of %w",
					framework.FaultyRow(b.First+i, "is %v; must be 1, to draw rows", w))
			}
		}
	}
	x, err := p.Sample(src.Rows(), rng)
	if err != nil {
		return nil, err
	}
	return framework.FromMatrix(x)
}
