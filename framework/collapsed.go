package framework

import (
	"context"
	"fmt"
)

// Collapsible adds [Collapsed] and, with [Labeller], [ExactICL], to models with conjugate priors of the parameters:
// with Π integrated out, ln p(X,Z) is a function of the statistics of Z alone.
type Collapsible[B, P any, S Statistics[S]] interface {
	// LogEvidence is ln p(X,Z) = ln ∫p(X,Z|Π)p(Π)dΠ at the statistics of Z, in nats. At the expected statistics under a q
	// it is E_q[ln p(X,Z)] to first order, and a lower bound of it, because ln Z is convex. p says which model it is.
	LogEvidence(s S, p P) (float64, error)
	// Spread returns a function that sums the second order over the rows of a block,
	//
	//	½ Σ_n tr(Cov_q[T(x_n,z_n)] ∇² ln p(X,Z)),
	//
	// weighted like the rows: ∇² at the statistics at, the covariance under q = p(z_n|x_n,p). It is nil if LogEvidence
	// includes the second order, as it must in a [Coupled] model, whose q is no function of p. Each goroutine asks for its
	// own function.
	Spread(at S, p P) (func(b B) (float64, error), error)
}

// Labeller is a model with discrete latent variables that can be set to their most probable values.
type Labeller[B, P any, S Statistics[S]] interface {
	// InferLabels is [Model].Infer with all of q(z_n) at its largest value, the first of equal ones.
	InferLabels(b B, p P, s S) error
}

// Coded adds [DNML], for discrete data.
type Coded[P, S any] interface {
	// CodeLength is minus the length in nats of the decomposed normalised maximum likelihood code of (X, Z), at the
	// statistics of Z.
	CodeLength(s S, p P) (float64, error)
}

// FixedPoint marks a model whose local step solves an equation for q, as collapsed variational Bayes does, and does not
// maximise LogJoint + H(q), which may fall: a fit continues until nothing changes.
type FixedPoint interface{ SolvesFixedPoint() }

// CollapsedEvidence is the second-order estimate of E_q[ln p(X,Z)] + H(q) at q = p(Z|X,p), an estimate of ln p(X) with
// Π integrated out (docs/theory/mixtures.md, section 9). It makes two passes over the source.
func CollapsedEvidence[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (float64, error) {
	c, ok := m.(Collapsible[B, P, S])
	if !ok {
		return 0, capabilitiesOf(m).supports(Collapsed)
	}
	s, entropy, err := LocalStep(ctx, m, src, p, workers)
	if err != nil {
		return 0, err
	}
	value, err := c.LogEvidence(s, p)
	if err != nil {
		return 0, err
	}
	second, err := spread(ctx, c, src, s, p, workers)
	return value + entropy + second, err
}

// spread is the second order over all rows.
func spread[B, P any, S Statistics[S]](
	ctx context.Context, c Collapsible[B, P, S], src Source[B], at S, p P, workers int,
) (float64, error) {
	if of, err := c.Spread(at, p); of == nil || err != nil {
		return 0, err
	}
	type partial struct {
		of  func(B) (float64, error)
		sum float64
	}
	all, err := Fold(ctx, src, workers,
		func() (*partial, error) {
			of, err := c.Spread(at, p)
			return &partial{of: of}, err
		},
		func(a *partial, b B) error {
			v, err := a.of(b)
			a.sum += v
			return err
		},
		func(into, from *partial) error {
			into.sum += from.sum
			return nil
		})
	if err != nil {
		return 0, err
	}
	return all.sum, nil
}

// LabelStep is [LocalStep] with every z_n at its most probable value under p(Z|X,p).
func LabelStep[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (S, error) {
	var none S
	l, ok := m.(Labeller[B, P, S])
	if !ok {
		return none, fmt.Errorf(
			"framework: labels need a model that implements framework.Labeller (an InferLabels method); %T does not", m,
		)
	}
	var lead leader[B, P, S]
	return Fold(ctx, src, workers,
		func() (S, error) {
			s := m.NewStatistics(p)
			return s, lead.prepare(m, p, nil, s)
		},
		func(s S, b B) error { return l.InferLabels(b, p, s) },
		func(into, from S) error {
			into.Merge(from)
			return nil
		})
}

// collapse fills in what criteria need of the collapsed model and of labels, at p(Z|X,Π̂); an error each.
func (f *fit[B, P, S]) collapse(
	ctx context.Context, needs Needs, s S, p P, e *Evaluation,
) (collapsed, labelled, code error) {
	if f.can.coupled != nil { // the kept q stands for p(Z|X,Π̂), and LogEvidence has the second order
		return f.can.integrate(needs, s, p, e), nil, nil
	}
	if needs&NeedsCollapsed != 0 {
		e.Collapsed, collapsed = CollapsedEvidence(ctx, f.model, f.condensed(), p, f.options.Workers)
	}
	if needs&(NeedsLabeller|NeedsCode) == 0 {
		return collapsed, nil, nil
	}
	labels, err := LabelStep(ctx, f.model, f.condensed(), p, f.options.Workers)
	if err != nil {
		return collapsed, err, err
	}
	if needs&NeedsLabeller != 0 {
		e.LabelEvidence, labelled = f.can.collapsible.LogEvidence(labels, p)
	}
	if needs&NeedsCode != 0 {
		e.CodeLength, code = f.can.coded.CodeLength(labels, p)
	}
	return collapsed, labelled, code
}

// integrate fills in what stands for these before convergence, from the statistics of q alone: of the collapsed model
// the first order.
func (a *capabilities[B, P, S]) integrate(needs Needs, s S, p P, e *Evaluation) (err error) {
	if needs&(NeedsCollapsed|NeedsLabeller) != 0 {
		if e.LabelEvidence, err = a.collapsible.LogEvidence(s, p); err != nil {
			return err
		}
		e.Collapsed = e.LabelEvidence + e.Entropy
	}
	if needs&NeedsCode != 0 {
		e.CodeLength, err = a.coded.CodeLength(s, p)
	}
	return err
}
