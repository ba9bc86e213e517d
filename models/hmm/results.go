package hmm

import (
	"math/rand/v2"

	"github.com/latent-go/latent/internal/categorical"
)

// Sample draws sequences of the given lengths, their steps one after the other, n×D row-major, and the state of each step.
func (m Model) Sample(p *Parameters, lengths []int, rng *rand.Rand) (x []float64, states []int, err error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range lengths {
		from := p.Start
		for range n {
			z := categorical.Draw(from, rng)
			x = append(x, make([]float64, p.D)...)
			if err := pl.Sample(p.Component(z), rng, x[len(x)-p.D:]); err != nil {
				return nil, nil, err
			}
			states = append(states, z)
			from = at(p.Transitions, z, p.K)
		}
	}
	return x, states, nil
}
