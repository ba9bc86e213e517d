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
		return m.filled(b.Steps, p, func(seen blocks.Rows) ([]float64, error) { return f.Fill(seen, r) })
	}
	path, err := m.SamplePath(b, p, rng)
	if err != nil {
		return nil, err
	}
	return m.filled(b.Steps, p, func(seen blocks.Rows) ([]float64, error) { return f.Impute(seen, path, rng) })
}

// filled are rows whose columns of the family are filled in, with their covariates.
func (m Model) filled(
	b blocks.Rows, p *Parameters, fill func(seen blocks.Rows) ([]float64, error),
) ([]float64, error) {
	x, err := fill(m.seen(b))
	if err != nil || m.Structure.Covariates == 0 {
		return x, err
	}
	var all []float64
	for i := range b.N {
		all = append(append(all, at(x, i, p.D)...), b.Row(i)[p.D:]...)
	}
	return all, nil
}

// SamplePath draws the states of all steps of a block from p(z|x).
func (m Model) SamplePath(b blocks.Sequences, p *Parameters, rng *rand.Rand) ([]int, error) {
	course, err := m.Filter(b, p)
	if err != nil {
		return nil, err
	}
	walk, err := m.walk(p)
	if err != nil {
		return nil, err
	}
	path, weights := make([]int, b.Steps.N), make([]float64, p.K)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		for t := end - 1; t >= first; t-- {
			copy(weights, at(course.Filtered, t, p.K))
			if t < end-1 {
				if err := walk.to(b.Steps, t+1); err != nil {
					return nil, err
				}
				for k := range weights {
					weights[k] *= walk.after(k)[path[t+1]]
				}
			}
			path[t] = categorical.Draw(weights, rng)
		}
	}
	return path, nil
}
