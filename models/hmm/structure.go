package hmm

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
)

// Initial says how the first state of a sequence is distributed.
type Initial int

const (
	// Free estimates the probabilities of the first state; each sequence is one observation.
	Free Initial = iota
	// Uniform gives all states the same probability, 1/K.
	Uniform
	// Stationary takes the distribution that the transitions leave unchanged, for sequences cut from a process that has
	// long been running.
	Stationary
	// FirstState starts every sequence in state 1, for chains that go from left to right.
	FirstState
	// Gated has the first state depend on the covariates of its step.
	Gated
)

var initialNames = [...]string{"free", "uniform", "stationary", "first", "gated"}

func (i Initial) String() string {
	if i < 0 || int(i) >= len(initialNames) {
		return fmt.Sprintf("Initial(%d)", int(i))
	}
	return initialNames[i]
}

// InitialByName finds an Initial by its name. The error for an unknown name lists the names.
func InitialByName(name string) (Initial, error) {
	for i, n := range initialNames {
		if n == name {
			return Initial(i), nil
		}
	}
	return 0, fmt.Errorf("hmm: unknown initial distribution %q: choose one of %v", name, initialNames)
}

// A Structure restricts the chain. The zero value allows any chain.
type Structure struct {
	Initial Initial
	// LeftRight, if positive, forbids moves back and limits moves forward to so many states: 1 allows the next state,
	// K−1 any later one. 0 allows moves between all states.
	LeftRight int
	// Covariates is the number of covariates, the last columns of the table, which the family does not describe. The
	// state of a step then depends on the covariates of the step: for each state before, ln(a_kl/a_kj) is linear in them.
	Covariates int
}

func (c Structure) check() error {
	switch {
	case c.Initial < Free || c.Initial > Gated:
		return fmt.Errorf("hmm: Initial is %v; must be Free, Uniform, Stationary, FirstState or Gated", c.Initial)
	case c.Covariates < 0:
		return fmt.Errorf("hmm: Covariates is %d; must not be negative", c.Covariates)
	case c.Covariates > 0 && c.LeftRight > 0:
		return errors.New("hmm: the moves of a chain from left to right cannot depend on covariates")
	case c.Covariates > 0 && c.Initial == Stationary:
		return errors.New("hmm: a chain whose moves depend on covariates has no stationary distribution: choose another " +
			"Initial")
	case c.Covariates == 0 && c.Initial == Gated:
		return errors.New("hmm: a Gated start needs Covariates")
	case c.LeftRight < 0:
		return fmt.Errorf("hmm: LeftRight is %d; must not be negative", c.LeftRight)
	case c.LeftRight > 0 && c.Initial == Stationary:
		return errors.New(
			"hmm: the stationary distribution of a chain from left to right is its last state: choose another Initial",
		)
	case c.LeftRight == 0 && c.Initial == FirstState:
		return errors.New(
			"hmm: FirstState needs a chain from left to right: set LeftRight, or choose another Initial",
		)
	}
	return nil
}

// span are the first state that one of k states may be followed by, and the one after the last.
func (c Structure) span(state, k int) (first, end int) {
	if c.LeftRight == 0 {
		return 0, k
	}
	return state, min(k, state+c.LeftRight+1)
}

// free is the number of free parameters of a state's transitions.
func (c Structure) free(state, k int) int {
	first, end := c.span(state, k)
	return (end - first - 1) * c.width()
}

// starts is the number of free parameters of the first state.
func (c Structure) starts(k int) int {
	switch c.Initial {
	case Free:
		return k - 1
	case Gated:
		return (k - 1) * c.width()
	}
	return 0
}

// begin puts the distribution of the first state into start, for those that are not estimated from sequences alone.
func (c Structure) begin(start, transitions []float64) error {
	k := len(start)
	switch c.Initial {
	case Uniform:
		for i := range start {
			start[i] = 1 / float64(k)
		}
	case FirstState:
		clear(start)
		start[0] = 1
	case Stationary:
		return stationary(start, transitions)
	}
	return nil
}

var errReducible = fmt.Errorf("hmm: the transitions have no single stationary distribution, as some states never "+
	"lead to others; choose another Initial: %w", framework.ErrDegenerate)

// stationary puts the distribution with πA = π into dst (K), for transitions A, K×K: the solution of π(I − A + 1) = 1,
// where 1 is the matrix of ones.
func stationary(dst, transitions []float64) error {
	k := len(dst)
	m, ones := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for i := range k {
		ones.SetVec(i, 1)
		for j := range k {
			v := 1 - transitions[i*k+j]
			if i == j {
				v++
			}
			m.Set(j, i, v)
		}
	}
	x := mat.NewVecDense(k, dst)
	if err := x.SolveVec(m, ones); err != nil {
		return errReducible
	}
	for i, v := range dst {
		if v < -1e-9 || v-v != 0 {
			return errReducible
		}
		dst[i] = max(0, v)
	}
	floats.Scale(1/floats.Sum(dst), dst)
	return nil
}

// occupancy is the share of steps in each state of a long sequence.
func occupancy(p *Parameters) []float64 {
	const steps = 1000
	now, next, share := append([]float64(nil), p.Start...), make([]float64, p.K), make([]float64, p.K)
	for range steps {
		floats.AddScaled(share, 1.0/steps, now)
		p.step(next, now)
		now, next = next, now
	}
	return share
}

// step puts the distribution one step after that of now into dst.
func (p *Parameters) step(dst, now []float64) {
	clear(dst)
	for i, v := range now {
		floats.AddScaled(dst, v, at(p.Transitions, i, p.K))
	}
}

// leastMove is the probability below which a move is impossible: products with it would fall below the normal numbers,
// which many processors are slow with.
const leastMove = 1e-150

// estimateTransitions puts the maximum likelihood rows, moves_kl/Σ_l moves_kl, into dst; a state that is never left
// keeps the row it has in old.
func estimateTransitions(dst, moves, old []float64, k int) error {
	for i := range k {
		row, n := at(dst, i, k), 0.0
		for _, v := range at(moves, i, k) {
			if v < 0 {
				return errors.New("hmm: expected numbers of moves are negative")
			}
			n += v
		}
		if n == 0 {
			copy(row, at(old, i, k))
			continue
		}
		for j, v := range at(moves, i, k) {
			if row[j] = v / n; row[j] < leastMove {
				row[j] = 0
			}
		}
	}
	return nil
}

// leastLeavings is the number of leavings below which ln N, what a row of the transitions is charged for, goes on as
// its tangent: e, where the tangent leads through 0, so that a state that is never left costs nothing.
const leastLeavings = math.E

// leavings is the count that a row of transitions is charged by, from which a state is left n times.
func leavings(n float64) float64 {
	if n < leastLeavings {
		return math.Exp(n / leastLeavings)
	}
	return n
}
