package hmm

import (
	"math/rand/v2"

	"github.com/latent-go/latent/family/fill"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// Fill returns the steps of a block, steps×D, with their missing values filled in. If rng is nil, each becomes its mean
// given all values of the sequence, and in a column of codes the most probable code. Otherwise values are drawn given
// these: a path of states by forward filtering and backward sampling (Frühwirth-Schnatter 2006, algorithm 11.5), and
// the values from the distributions within its states. It returns the errors of [fill.New].
func (m Model) Fill(b blocks.Sequences, p *Parameters, rng *rand.Rand) ([]float64, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	f, err := fill.New(pl, p.Components)
	if err != nil {
		return nil, err
	}
	if rng == nil {
		r, err := m.Responsibilities(b, p, nil)
		if err != nil {
			return nil, err
		}
		return f.Fill(b.Steps, r)
	}
	path, err := m.SamplePath(b, p, rng)
	if err != nil {
		return nil, err
	}
	return f.Impute(b.Steps, path, rng)
}

// SamplePath draws the states of all steps of a block from p(z|x).
func (m Model) SamplePath(b blocks.Sequences, p *Parameters, rng *rand.Rand) ([]int, error) {
	course, err := m.Filter(b, p)
	if err != nil {
		return nil, err
	}
	path, weights := make([]int, b.Steps.N), make([]float64, p.K)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		for t := end - 1; t >= first; t-- {
			copy(weights, at(course.Filtered, t, p.K))
			for k := range weights {
				if t < end-1 {
					weights[k] *= p.Move(k, path[t+1])
				}
			}
			path[t] = categorical.Draw(weights, rng)
		}
	}
	return path, nil
}
