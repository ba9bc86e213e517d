package mixture

import (
	"context"

	"github.com/latent-go/latent/framework"
)

// Condense counts equal rows once, as a [framework.Condenser] does, where no column has
// a family of continuous values: then rows often are equal.
func (m Model) Condense(ctx context.Context, src framework.Source[framework.Rows]) framework.Source[framework.Rows] {
	if !repeats(m.Family) {
		return src
	}
	return framework.Condense(ctx, src)
}

// Condense is [Model.Condense].
func (m Variational) Condense(ctx context.Context, src framework.Source[framework.Rows]) framework.Source[framework.Rows] {
	return m.model().Condense(ctx, src)
}

// repeats says that a family describes counts or codes.
func repeats(f Family) bool {
	switch f := f.(type) {
	case Bernoulli, Categorical, Poisson, Multinomial:
		return true
	case Of:
		return repeats(f.Family)
	case Product:
		for _, one := range f {
			if !repeats(one) {
				return false
			}
		}
		return true
	}
	return false
}
