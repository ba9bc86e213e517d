package experts

import (
	"math/rand/v2"

	"github.com/latent-go/latent/framework/blocks"
)

// Fill returns the rows of a block, N×D, with the missing values of the family's columns filled in, as
// [mixture.Model.Fill] does, given the other columns and those of the gate.
func (m Model) Fill(b blocks.Rows, p *Parameters, rng *rand.Rand) ([]float64, error) {
	r, err := m.Responsibilities(b, p, nil)
	if err != nil {
		return nil, err
	}
	own, err := m.columns(p.D)
	if err != nil {
		return nil, err
	}
	seen, x := blocks.Rows{First: b.First, N: b.N, D: len(own), Stride: len(own)}, []float64(nil)
	for i := range b.N {
		row := b.Row(i)
		x = append(x, row...)
		for _, c := range own {
			seen.X = append(seen.X, row[c])
		}
	}
	filled, err := m.mixture().FillGiven(seen, p.Mixture, r, rng)
	if err != nil {
		return nil, shift(err, own)
	}
	for i := range b.N {
		for j, c := range own {
			x[i*p.D+c] = filled[i*len(own)+j]
		}
	}
	return x, nil
}
