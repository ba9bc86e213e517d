package mixture

import (
	"math/rand/v2"

	"github.com/latent-go/latent/family/fill"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// Fill returns the rows of a block, N×D, with their missing values filled in. If rng is nil, each becomes its mean
// given the row's other values, and in a column of codes the most probable code. Otherwise values are drawn given
// these: a component from its probabilities, and the values from the distribution within it, so that M calls give M
// completed tables (multiple imputation). It returns the errors of [fill.New].
func (m Model) Fill(b blocks.Rows, p *Parameters, rng *rand.Rand) ([]float64, error) {
	r, err := m.Responsibilities(b, p, nil)
	if err != nil {
		return nil, err
	}
	return m.FillGiven(b, p, r, rng)
}

// FillGiven is Fill under probabilities of the components given the values that are present, rows×K, from elsewhere.
func (m Model) FillGiven(b blocks.Rows, p *Parameters, r []float64, rng *rand.Rand) ([]float64, error) {
	f, err := m.Filler(p)
	if err != nil {
		return nil, err
	}
	if rng == nil {
		return f.Fill(b, r)
	}
	labels := make([]int, b.N)
	for i := range labels {
		labels[i] = categorical.Draw(at(r, i, p.K), rng)
	}
	return f.Impute(b, labels, rng)
}

// Filler returns what fills gaps of rows whose components, or their probabilities, are known.
func (m Model) Filler(p *Parameters) (*fill.Filler, error) {
	pl, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	return fill.New(pl, p.Components)
}
