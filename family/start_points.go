package family

import (
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/clusters"
)

// points are the rows as points: every column with mean 0 and variance 1, and 0 where a value is missing, or whitened
// by the covariance of the table where a factor is a [Whitener].
func (p *Plan) points(rows blocks.Rows, whiten bool) (*clusters.Points, error) {
	width := max(1, p.size.Features)
	c := clusters.New(rows.Weights, width, ChunkRows(rows))
	lying := make([]float64, min(rows.N, ChunkRows(rows))*width)
	one := p.Classes(1)
	err := one.Chunks(rows, func(first, n int, _ []float64) error {
		for i := range p.parts {
			f := &p.parts[i]
			of, ok := f.Factor.(featured)
			if !ok {
				continue
			}
			if white, ok := f.Factor.(Whitener); ok && whiten {
				white.Whiten(&one.seen[i], f.pooled, lying, width, f.at.Features)
				continue
			}
			of.Features(&one.seen[i], lying, width, f.at.Features)
		}
		c.Set(first, n, lying)
		return nil
	})
	c.Standardise()
	held, _ := p.held(rows)
	c.Hold(held)
	return c, err
}

// KMeansLabels assigns n points, n×d row-major, to at most k clusters by their distances: by k-means++ (Arthur &
// Vassilvitskii 2007), with the best of several candidates each time, followed by Lloyd's steps. It returns the cluster
// of each point, from 0.
func KMeansLabels(x []float64, n, d, k int, rng *rand.Rand) []int {
	c := clusters.New(slices.Repeat([]float64{1}, n), d, ChunkRows(blocks.Rows{}))
	c.Set(0, n, x)
	return c.Lloyd(c.Seeds(k, rng))
}
