package bpca

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
)

// Resample draws as many rows from p as src has, for package bootstrap. It returns an error unless every row of src
// has weight 1.
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
