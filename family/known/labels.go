package known

import (
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
)

// Labels reads and moves the labels of classes that a plan describes. It does nothing, and all classes are
// [family.Free], unless the plan is that of a [Family].
type Labels struct {
	factor   *factor
	at, size family.Layout
}

// Of returns the labels of a plan's classes.
func Of(p *family.Plan) Labels {
	f, at := p.Labeller()
	of, _ := f.(*factor)
	return Labels{of, at, p.Size()}
}

// label is the place of the label among the numbers of a class.
func (l Labels) label(xi []float64) *float64 { return &xi[l.at.Params] }

// sums are the weights of the labels among the hyperparameters of a class.
func (l Labels) sums(h []float64) []float64 { return h[l.at.Hyper:][:l.factor.labels] }

// Label returns the label of a class with parameters ξ, from 0; [family.Free] if it has none.
func (l Labels) Label(xi []float64) int {
	if l.factor == nil {
		return family.Free
	}
	return max(family.Free, int(*l.label(xi)))
}

// Exclude sets the scores of classes that rows cannot be in to −Inf. Scores have a finite number in its place, so
// low that sums over the classes of a row do not see it, as sums of many models have 0 times a score.
func (l Labels) Exclude(scores []float64) {
	if l.factor == nil {
		return
	}
	for i, v := range scores {
		if v < impossible/2 {
			scores[i] = math.Inf(-1)
		}
	}
}

// Fix sets the values of labelled classes to +Inf: the relevance of classes that must stay (see
// [optional.Projector]). params are their parameters, K×P.
func (l Labels) Fix(params, values []float64) {
	for k := range values {
		if l.Label(linalg.Row(params, k, l.size.Params)) != family.Free {
			values[k] = math.Inf(1)
		}
	}
}

// FixPosterior is Fix for hyperparameters, K×H.
func (l Labels) FixPosterior(hyper, values []float64) {
	for k := range values {
		if l.factor != nil && l.factor.label(l.sums(linalg.Row(hyper, k, l.size.Hyper))) != family.Free {
			values[k] = math.Inf(1)
		}
	}
}

// Divide gives the label of a divided class to its first half, unless the second alone has it by its rows.
func (l Labels) Divide(whole, first, second []float64) {
	if l.factor == nil {
		return
	}
	label, one, other := *l.label(whole), l.label(first), l.label(second)
	if *other == label && *one != label {
		*one = family.Free
		return
	}
	*one, *other = label, family.Free
}

// DividePosterior is Divide for hyperparameters.
func (l Labels) DividePosterior(whole, first, second []float64) {
	if l.factor == nil {
		return
	}
	h, one, other := l.sums(whole), l.sums(first), l.sums(second)
	of := l.factor.label
	if label := of(h); label != family.Free && of(other) == label && of(one) != label {
		clear(one)
		copy(other, h)
		return
	}
	copy(one, h)
	clear(other)
}

// LogModes is the logarithm of the number of orders of the classes with parameters params, K×P, that rows tell
// nothing of: those of classes with labels have an order (see [optional.Symmetric]).
func (l Labels) LogModes(params []float64) float64 {
	free := 1.0
	for k := range len(params) / l.size.Params {
		if l.Label(linalg.Row(params, k, l.size.Params)) == family.Free {
			free++
		}
	}
	orders, _ := math.Lgamma(free)
	return orders
}
