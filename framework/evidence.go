package framework

import (
	"fmt"

	"github.com/latent-go/latent/laplace"
)

// Evidence is the lower bound of ln p(X|K) under the prior at a q(Z),
//
//	E(q) = ln ∫ p(Π) exp{E_q[ln p(X,Z|Π)]} dΠ + H(q) ≤ ln p(X|K),
//
// exact for conjugate priors, otherwise by Laplace's method (docs/theory/evidence.md). It holds for every q: gFAB
// climbs it, and other fits take it at the posterior mode of Π given their q. It needs no rule about components without
// data, which always cost more than they are worth, and its values are comparable between structures, families and
// models.
var Evidence = Criterion{
	Name:   "evidence",
	Source: "docs/theory/evidence.md; Kass & Wasserman 1995; Hayashi, Maeda & Fujimaki 2015",
	Needs:  Needs{Prior: true, Estimates: true},
	Value:  func(e *Evaluation) float64 { return e.Evidence },
}

// Completed is [Evidence] less the entropy of the labels: ln p(X,Ẑ|K), what [ICL] approximates by BIC. It rewards
// components that separate the rows, not only a good density: if the classes do not belong to the family, the evidence
// takes as many overlapping components as the rows support. So Completed chooses between models whose components differ
// in shape, such as covariance structures (see [FitBest] and docs/theory/groups.md); the evidence chooses K of one
// model.
var Completed = Criterion{Name: "Completed", Source: "Biernacki, Celeux & Govaert 2000, section 2.2",
	Needs: Needs{Prior: true, Estimates: true, Assigner: true},
	Value: func(e *Evaluation) float64 { return e.Evidence - e.LabelEntropy }}

// supportsPrior says why the model has no evidence, or nil.
func (a *capabilities[B, P, S]) supportsPrior(of string) error {
	switch {
	case a.curved == nil:
		return a.missing(of, "Curved", "a Curvature method")
	case a.proper == nil:
		return a.missing(of, "Proper", "a MaximizePosterior method")
	case a.penalized != nil && !a.replacing:
		return fmt.Errorf("framework: %s has its own prior, and %s another: fit the model without a prior", of, a.name)
	}
	return a.proper.CheckPrior()
}

// climbs says whether the local and global steps follow the evidence.
func (o *Options) climbs() bool { return o.Method.tilts() && o.Criterion.Needs.Prior }

// maximize is the global step.
func (r *run[B, P, S]) maximize(s S, p, dst P) (P, error) {
	if r.options.climbs() {
		return r.can.proper.MaximizePosterior(s, p, dst)
	}
	return r.model.Maximize(s, p, dst)
}

// integrals fills in f, memory reused, by integrals under the prior.
func (a *capabilities[B, P, S]) integrals(s S, p P, f *laplace.Curvature) error {
	f.ResetPrior(s.Observations())
	if err := a.curved.Curvature(s, p, f); err != nil {
		return err
	}
	followed, information := f.Integral()
	return a.number("Curvature", followed+information)
}

// modeRounds bounds the steps to the mode of Π given q: they are conditional maxima where the parts of Π depend on one
// another.
const modeRounds = 100

// evidenceOf is the evidence of the q behind the statistics of a fit by another criterion, whose parameters are p.
func (a *capabilities[B, P, S]) evidenceOf(m Model[B, P, S], s S, p P, entropy float64) (float64, error) {
	var none P
	var f laplace.Curvature
	best := 0.0
	for i := range modeRounds {
		next, err := a.proper.MaximizePosterior(s, p, none)
		if err == nil {
			err = a.given("MaximizePosterior", next)
		}
		if err == nil {
			err = a.integrals(s, next, &f)
		}
		if err != nil {
			return 0, err
		}
		p = next
		followed, information := f.Integral()
		value := m.LogJoint(s, p) + entropy + followed + information
		if err := a.number("LogJoint", value); err != nil {
			return 0, err
		}
		if i > 0 && !(value > best+DefaultTolerance*s.Observations()) {
			return max(best, value), nil
		}
		best = value
	}
	return best, nil
}
