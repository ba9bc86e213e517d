package mixture

import (
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// The evidence of a mixture (docs/theory/evidence.md): the weights have the prior Dir(1), which is integrated out
// exactly, and components the priors of package family.

// LogModes returns ln K!, less the orders of components with labels (see [known.Family]).
func (m Model) LogModes(p *Parameters) float64 { return known.Of(m.mustPlan(p)).LogModes(p.Components) }

// CheckPrior returns an error if the family has no proper prior.
func (m Model) CheckPrior() error { return family.CheckPrior(m.Family, m.Prior) }

// MaximizePosterior sets β_k to its posterior mean (N_k + 1)/(N + K), and each component's parameters to their
// posterior mode given q(Z). A component without rows has the mode of the prior.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	pl := m.mustPlan(p)
	s.restore(pl)
	dst = p.like(dst, pl)
	dst.Hyper = linalg.Resize(dst.Hyper, p.K*pl.Size().Hyper)
	for k, n := range s.Nk {
		dst.Weights[k] = (max(0, n) + 1) / (s.N + float64(s.K))
	}
	copy(dst.Components, p.Components)
	return dst, s.Classes.MaximizePosterior(dst.Components, dst.Hyper)
}

// concentrations are those of the weights' posterior, of which p has the mean.
func (p *Parameters) concentrations() prior.Concentrations {
	c := make(prior.Concentrations, p.K)
	floats.ScaleTo(c, p.Pooled.N+float64(p.K), p.Weights)
	return c
}

// weights is ln ∫ p(β) Π_k β_k^N_k dβ − Σ_k N_k ln β̃_k.
func (s *Statistics) weights(p *Parameters) float64 {
	flat := prior.Dirichlet{Alpha: 1}.Concentrations(s.K)
	before := flat.LogNorm()
	floats.Add(flat, s.Nk)
	sum := flat.LogNorm() - before
	for k, n := range s.Nk {
		sum -= n * logOf(p.Weights[k])
	}
	return sum
}
