package experts

import (
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/prior"
)

// The evidence of a gate (docs/theory/evidence.md, "Gates"): γ is normal about 0, where all classes are equally likely,
// with the precision ½ in the coordinates t of package logit, which is the most that a row can tell (Böhning's bound)
// and what one tells of two classes. A class that is left out leaves the prior of the others as it was. The integral is
// Laplace's.

// LogModes returns ln K!, less the orders of classes with labels (see [known.Family]).
func (m Model) LogModes(p *Parameters) float64 { return m.mixture().LogModes(p.Mixture) }

// CheckPrior returns an error if the family has no proper prior.
func (m Model) CheckPrior() error { return m.mixture().CheckPrior() }

// MaximizePosterior is Maximize under the evidence's priors, with ridge regression of the working responses.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	return m.maximize(s, p, dst, m.mixture().MaximizePosterior, m.worth()*logit.ARow)
}

// worth is what the gate's prior is worth, in rows.
func (m Model) worth() float64 {
	unit, _ := m.ParameterPrior.(prior.UnitInformation)
	return unit.RowsOr()
}
