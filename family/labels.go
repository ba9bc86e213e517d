package family

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Free is the label of a class that no known row is in (see [Labeller]).
const Free = -1

// A Labeller is the factor of rows whose classes are known in part (see package known), the last of its plan. Its one
// column has a code for what is known of a row, NaN for nothing. Starts begin the labelled classes with their rows.
type Labeller interface {
	Factor
	// Labels is the number of labels, counted from 0. If all is false, there need not be rows with each of them.
	Labels() (n int, all bool)
	// Label is the only label that a row of this code may have; [Free] if there are several.
	Label(code float64) int
	// Allows reports whether a row of this code may be in a class with this label.
	Allows(code float64, label int) bool
}

// Labeller returns the factor of known classes and the places where its numbers begin in those of a class; nil if the
// plan has none.
func (p *Plan) Labeller() (Labeller, Layout) {
	last := &p.parts[len(p.parts)-1]
	f, _ := last.Factor.(Labeller)
	return f, last.at
}

// described is the number of factors but that of known classes.
func (p *Plan) described() int {
	if f, _ := p.Labeller(); f != nil {
		return len(p.parts) - 1
	}
	return len(p.parts)
}

// held has the class of each row that is known to be in that alone, otherwise Free; nil if there are none. Classes
// begin in the order of their labels; place has that of each label.
func (p *Plan) held(rows blocks.Rows) (held, place []int) {
	f, at := p.Labeller()
	if f == nil {
		return nil, nil
	}
	labels, all := f.Labels()
	seen := make([]bool, labels)
	for i := range rows.N {
		held = append(held, Free)
		if code := rows.Row(i)[at.Columns]; code == code && rows.Weight(i) > 0 {
			if held[i] = f.Label(code); held[i] != Free {
				seen[held[i]] = true
			}
		}
	}
	classes := 0
	for _, is := range seen {
		if place = append(place, Free); is || all {
			place[len(place)-1] = classes
			classes++
		}
	}
	for i, label := range held {
		if label != Free {
			held[i] = place[label]
		}
	}
	return held, place
}

// weightsIn are the weights of the rows that are known to be in class j; nil if there are none.
func weightsIn(held []int, weights []float64, j int) (of []float64) {
	if !slices.Contains(held, j) {
		return nil
	}
	of = make([]float64, len(weights))
	for i, label := range held {
		if label == j {
			of[i] = weights[i]
		}
	}
	return of
}

// restrict takes the shares of rows that are known, q, rows×k, out of the classes that they cannot be in, at the start
// of a fit, whose classes are in the order of the labels.
func (p *Plan) restrict(rows blocks.Rows, q []float64, k int) {
	f, at := p.Labeller()
	if f == nil {
		return
	}
	_, place := p.held(rows)
	for i := range rows.N {
		code, own := rows.Row(i)[at.Columns], linalg.Row(q, i, k)
		if code != code {
			continue
		}
		kept := make([]float64, k)
		var classes []int
		for label, j := range place {
			if f.Allows(code, label) && j != Free {
				classes, kept[j] = append(classes, j), own[j]
			}
		}
		total, left := floats.Sum(own), floats.Sum(kept)
		for _, j := range classes {
			if left > 0 {
				kept[j] *= total / left
			} else {
				kept[j] = total / float64(len(classes))
			}
		}
		copy(own, kept)
	}
}

// mostKnown bounds the rows of each label that a start takes beside those that it has drawn.
const mostKnown = 256

// knownRows are the first rows of each label.
type knownRows struct{ X, Weights [][]float64 }

// withKnown adds known rows of the table to those that were drawn from it. It returns an error if there are fewer than
// k classes, or if no row of positive weight is known to have a label.
func (p *Plan) withKnown(
	ctx context.Context, src framework.Source[blocks.Rows], rows blocks.Rows, k int,
) (blocks.Rows, error) {
	f, _ := p.Labeller()
	if f == nil {
		return rows, nil
	}
	labels, all := f.Labels()
	if !all {
		return rows, nil
	}
	if k < labels {
		return rows, &TooManyLabelsError{K: k, Labels: labels}
	}
	if src.Rows() > rows.N {
		of := func() *knownRows { return &knownRows{make([][]float64, labels), make([][]float64, labels)} }
		d := p.size.Columns
		found, err := framework.Survey(ctx, src, 1, func() (*knownRows, error) { return of(), nil },
			func(s *knownRows, b blocks.Rows) error {
				held, _ := p.held(b)
				for i, label := range held {
					if label != Free && len(s.Weights[label]) < mostKnown {
						s.X[label] = append(s.X[label], b.Row(i)...)
						s.Weights[label] = append(s.Weights[label], b.Weight(i))
					}
				}
				return nil
			},
			func(into, from *knownRows) error {
				for label, w := range from.Weights {
					n := min(len(w), mostKnown-len(into.Weights[label]))
					into.X[label] = append(into.X[label], from.X[label][:n*d]...)
					into.Weights[label] = append(into.Weights[label], w[:n]...)
				}
				return nil
			})
		if err != nil {
			return rows, err
		}
		for label, w := range found.Weights {
			rows.N += len(w)
			rows.X, rows.Weights = append(rows.X, found.X[label]...), append(rows.Weights, w...)
		}
	}
	held, _ := p.held(rows)
	for label := range labels {
		if !slices.Contains(held, label) {
			return rows, fmt.Errorf("family: no row of positive weight is known to have label %d", label)
		}
	}
	return rows, nil
}

// A TooManyLabelsError reports that classes are known to be more than K.
type TooManyLabelsError struct{ K, Labels int }

func (e *TooManyLabelsError) Error() string {
	return fmt.Sprintf("family: %d classes are known, and K = %d: K must be at least %d", e.Labels, e.K, e.Labels)
}
