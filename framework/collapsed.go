package framework

import (
	"context"

	"github.com/latent-go/latent/framework/optional"
)

// CollapsedEvidence is the second-order estimate of E_q[ln p(X,Z)] + H(q) at q = p(Z|X,p), an estimate of ln p(X) with
// Π integrated out (docs/theory/mixtures.md, section 9). It makes two passes over the source.
func CollapsedEvidence[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (float64, error) {
	c, ok := m.(optional.Collapsible[B, P, S])
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
	ctx context.Context, c optional.Collapsible[B, P, S], src Source[B], at S, p P, workers int,
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

// labelStep is [LocalStep] with every z_n at its most probable value under p(Z|X,p).
func labelStep[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (S, error) {
	l := m.(optional.Labeller[B, P, S]) // as supports has found
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
	if needs.Collapsed {
		e.Collapsed, collapsed = CollapsedEvidence(ctx, f.model, f.condensed(), p, f.options.Workers)
	}
	if !(needs.Labeller || needs.Code) {
		return collapsed, nil, nil
	}
	labels, err := labelStep(ctx, f.model, f.condensed(), p, f.options.Workers)
	if err != nil {
		return collapsed, err, err
	}
	if needs.Labeller {
		e.LabelEvidence, labelled = f.can.collapsible.LogEvidence(labels, p)
	}
	if needs.Code {
		e.CodeLength, code = f.can.coded.CodeLength(labels, p)
	}
	return collapsed, labelled, code
}

// integrate fills in what stands for these before convergence, from the statistics of q alone: of the collapsed model
// the first order.
func (a *capabilities[B, P, S]) integrate(needs Needs, s S, p P, e *Evaluation) (err error) {
	if needs.Collapsed || needs.Labeller {
		if e.LabelEvidence, err = a.collapsible.LogEvidence(s, p); err != nil {
			return err
		}
		e.Collapsed = e.LabelEvidence + e.Entropy
	}
	if needs.Code {
		e.CodeLength, err = a.coded.CodeLength(s, p)
	}
	return err
}
