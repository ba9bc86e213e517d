package family

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
)

// aroundRows says that a start builds classes around one row each.
func (p *Plan) aroundRows(start Start) bool {
	return start == RandomRows || start == KMeans && p.seeded()
}

// startWeight is the number of rows of the pooled table that a class begins with. Lines of their own would be drawn to
// that of the table by more than one.
func (p *Plan) startWeight() float64 {
	if p.designed > 0 {
		return 1
	}
	return p.seedWeight()
}

// seedWeight is the number of rows that a seed counts for where a class is built around one row: as many as of the
// pooled table are added then, so that it lies half-way between the row and the pooled mean.
func (p *Plan) seedWeight() float64 {
	if p.seeded() || p.designed > 0 {
		return float64(p.size.Free + 1)
	}
	return float64(p.size.Columns + 1)
}

// seeds gives each of k classes one row, rows×k. The first is drawn at random, each further one in proportion to how
// much less likely it is under the classes built around those before than the likeliest row: k-means++ with the log
// density in place of the distance, which any density has.
func (p *Plan) seeds(rows blocks.Rows, k int, rng *rand.Rand) ([]float64, error) {
	r, share := make([]float64, rows.N*k), make([]float64, rows.N)
	best := slices.Repeat([]float64{math.Inf(-1)}, rows.N)
	drawn := slices.Clone(rows.Weights)
	held, _ := p.held(rows)
	for i, j := range held {
		if j != Free {
			drawn[i] = 0
		}
	}
	seed := categorical.Draw(drawn, rng)
	for j := range k {
		if of := weightsIn(held, rows.Weights, j); of != nil {
			seed = categorical.Draw(of, rng)
		}
		r[seed*k+j] = p.seedWeight()
		if err := p.likeliest(rows, seed, best); err != nil {
			return nil, err
		}
		top := floats.Max(best)
		for i, v := range best {
			if share[i] = drawn[i] * (top - v); share[i]-share[i] != 0 {
				share[i] = 0
			}
		}
		if floats.Sum(share) == 0 {
			copy(share, drawn)
		}
		if floats.Sum(share) == 0 { // every row has a label
			copy(share, rows.Weights)
		}
		seed = categorical.Draw(share, rng)
	}
	return r, nil
}

// likeliest raises best, the log density of each row under the likeliest class so far, by a class around one row.
func (p *Plan) likeliest(rows blocks.Rows, seed int, best []float64) error {
	w := p.pooled
	c, xi := p.Classes(1), slices.Clone(w.Parameters)
	copy(c.Anchor, w.Anchor)
	weight := min(p.seedWeight(), w.N)
	share := weight / floats.Sum(rows.Weights)
	var r []float64
	if err := c.Chunks(rows, func(first, n int, w []float64) error {
		r = linalg.Resize(r, Padded(n))
		clear(r)
		for i := range n {
			if r[i] = share * rows.Weights[first+i]; first+i == seed {
				r[i] += weight
			}
		}
		c.Add(n, w, r)
		return nil
	}); err != nil {
		return err
	}
	if err := c.Estimate(xi); errors.Is(err, framework.ErrDegenerate) {
		copy(xi, w.Parameters)
	} else if err != nil {
		return err
	}
	if f, at := p.Labeller(); f != nil { // the class around a row is of any label, as the table as one class
		copy(xi[at.Params:], w.Parameters[at.Params:])
	}
	return c.scoreOne(rows, xi, func(i int, v float64) { best[i] = max(best[i], v) })
}

// scoreOne visits the log density of each row under one class.
func (c *Classes) scoreOne(rows blocks.Rows, xi []float64, visit func(i int, v float64)) error {
	if err := c.Prepare(xi, nil, nil, make([]float64, 1)); err != nil {
		return err
	}
	var r []float64
	return c.Chunks(rows, func(first, n int, _ []float64) error {
		r = linalg.Resize(r, Padded(n))
		clear(r)
		c.AddScores(r)
		for i, v := range r[:n] {
			visit(first+i, v)
		}
		return nil
	})
}
