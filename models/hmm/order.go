package hmm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// States of a chain from left to right that are known in some steps (see package known) have an order, which the
// steps tell: a state comes before those that are known after it in a sequence, and is no farther from the next than
// moves lead. Where the steps leave the order open, states that come early in their sequences come first. States
// that no label names lie between those with labels, where a start has segments for them.

// An OrderError reports that no chain from left to right passes through known states as the steps do.
type OrderError struct {
	// Labels are known one after the other, each but the first in the row of Rows, counted from 0. −1 stands for the
	// first state of the chain, in which a sequence begins.
	Labels, Rows []int
	// Moves and States are the moves between two labels, and the states from one to the other; 0 if the last label
	// is the first, so that the chain would have to go back.
	Moves, States int
}

func (e *OrderError) Error() string {
	name := func(label int) string { return fmt.Sprintf("label %d", label) }
	return "hmm: " + e.Text(name, func(row int) int { return row + 1 })
}

// Text is the message with names of the labels and numbers of the rows.
func (e *OrderError) Text(name func(label int) string, number func(row int) int) string {
	var list []string
	for i, row := range e.Rows {
		before := "the first state of the chain"
		if e.Labels[i] >= 0 {
			before = name(e.Labels[i])
		}
		list = append(list, fmt.Sprintf("row %d is in %s after %s", number(row), name(e.Labels[i+1]), before))
	}
	if e.States == 0 {
		return strings.Join(list, ", and ") + ": a chain from left to right never goes back"
	}
	return fmt.Sprintf("%s, farther on than the moves between the two lead (states: %d, moves: %d)", list[0], e.States,
		e.Moves)
}

// never stands for the moves between labels that do not follow one another.
const never = math.MaxInt

// A succession is what the steps say of the order of L labels.
type succession struct {
	// of a label and the next that is known in a sequence, (L+1)×L: the fewest moves between them, and where the
	// second is known; row L is the beginning of a sequence
	Moves, Rows []int
	Place, N    []float64 // Σ w of the places in a sequence, from 0 to 1, and Σ w, of the steps of each label
}

func newSuccession(labels int) *succession {
	pairs := (labels + 1) * labels
	return &succession{Moves: slices.Repeat([]int{never}, pairs), Rows: make([]int, pairs),
		Place: make([]float64, labels), N: make([]float64, labels)}
}

func (s *succession) labels() int { return len(s.N) }

// follows says whether label b is the next after a in some sequence.
func (s *succession) follows(a, b int) bool { return a != b && s.Moves[a*s.labels()+b] != never }

func (s *succession) note(pair, moves, row int) {
	if moves < s.Moves[pair] {
		s.Moves[pair], s.Rows[pair] = moves, row
	}
}

// add takes the sequences of a block, in which held has the label of each step, or family.Free.
func (s *succession) add(b blocks.Sequences, held []int) {
	for i := range b.Len() {
		first, end := b.Bounds(i)
		last, at := s.labels(), first
		for t := first; t < end && b.Weight(i) > 0; t++ {
			if label := held[t]; label != family.Free {
				s.Place[label] += b.Weight(i) * (float64(t-first) + 0.5) / float64(end-first)
				s.N[label] += b.Weight(i)
				s.note(last*s.labels()+label, t-at, b.Steps.First+t)
				last, at = label, t
			}
		}
	}
}

func (s *succession) merge(o *succession) {
	for pair, moves := range o.Moves {
		s.note(pair, moves, o.Rows[pair])
	}
	linalg.Axpy(1, o.Place, s.Place)
	linalg.Axpy(1, o.N, s.N)
}

// heldIn has the label of each step of a block, or family.Free; nil for a plan without labels.
func heldIn(b blocks.Sequences, pl *family.Plan) (held []int) {
	f, at := pl.Labeller()
	for t := 0; f != nil && t < b.Steps.N; t++ {
		held = append(held, family.Free)
		if code := b.Steps.Row(t)[at.Columns]; code == code {
			held[t] = f.Label(code)
		}
	}
	return held
}

// successionOf reads how the labels of a plan follow one another, and returns an error if there are more than k, or
// one that no step has; nil for a plan without labels.
func successionOf(
	ctx context.Context, src framework.Source[blocks.Sequences], pl *family.Plan, k int,
) (*succession, error) {
	f, _ := pl.Labeller()
	if f == nil {
		return nil, nil
	}
	labels, _ := f.Labels()
	if k < labels {
		return nil, &family.TooManyLabelsError{K: k, Labels: labels}
	}
	s, err := framework.Survey(ctx, src, 1, func() (*succession, error) { return newSuccession(labels), nil },
		func(s *succession, b blocks.Sequences) error {
			s.add(b, heldIn(b, pl))
			return nil
		},
		func(into, from *succession) error {
			into.merge(from)
			return nil
		})
	if err != nil {
		return nil, err
	}
	for label, n := range s.N {
		if n == 0 {
			return nil, fmt.Errorf("hmm: no step of positive weight is known to have label %d", label)
		}
		s.Place[label] /= n
	}
	return s, nil
}

// reaches says whether the moves from label a to b, or with a = L from the beginning, lead so many states further.
func (c Structure) reaches(s *succession, a, b, states int) bool {
	moves := s.Moves[a*s.labels()+b]
	return a == b || moves == never || a == s.labels() && c.Initial != FirstState || states <= moves*c.LeftRight
}

// strays is the error of labels that come so late that moves do not lead to them, if next follows the list of labels.
func (c Structure) strays(s *succession, list []int, next int) *OrderError {
	for b := range s.labels() {
		rank := len(list) // of next; all others that are left come later
		if slices.Contains(list, b) {
			continue
		} else if b != next {
			rank++
		}
		for place, a := range append([]int{s.labels()}, list...) {
			states := rank - max(0, place-1)
			if !c.reaches(s, a, b, states) {
				pair, from := a*s.labels()+b, a
				if a == s.labels() {
					from = -1
				}
				return &OrderError{[]int{from, b}, []int{s.Rows[pair]}, s.Moves[pair], states}
			}
		}
	}
	return nil
}

// waits says whether label b comes after one that list does not have.
func (s *succession) waits(list []int, b int) bool {
	for a := range s.labels() {
		if s.follows(a, b) && !slices.Contains(list, a) {
			return true
		}
	}
	return false
}

// circle is the error of labels that come before one another; nil if there are none.
func (s *succession) circle() error {
	var list []int // those that do not wait for each other
	for range s.labels() {
		for b := range s.labels() {
			if !slices.Contains(list, b) && !s.waits(list, b) {
				list = append(list, b)
			}
		}
	}
	var back []int // each comes after the next
	b := 0
	for slices.Contains(list, b) {
		b++
	}
	if b == s.labels() {
		return nil
	}
	for !slices.Contains(back, b) {
		back = append(back, b)
		a := 0
		for !s.follows(a, b) || slices.Contains(list, a) {
			a++
		}
		b = a
	}
	e := &OrderError{Labels: []int{b}}
	for _, next := range slices.Backward(back[slices.Index(back, b):]) {
		e.Labels, e.Rows = append(e.Labels, next), append(e.Rows, s.Rows[b*s.labels()+next])
		b = next
	}
	return e
}

// mostOrders bounds the beginnings of orders that are tried.
const mostOrders = 10000

// order is that of the labels: the first, by their places in sequences, that steps and moves allow.
func (c Structure) order(s *succession) ([]int, error) {
	if err := s.circle(); err != nil {
		return nil, err
	}
	early := make([]int, s.labels())
	for label := range early {
		early[label] = label
	}
	slices.SortStableFunc(early, func(a, b int) int { return cmp.Compare(s.Place[a], s.Place[b]) })
	var fault *OrderError // the first
	tries := 0
	var complete func(list []int) []int
	complete = func(list []int) []int {
		if tries++; len(list) == len(early) {
			return list
		}
		for _, next := range early {
			if slices.Contains(list, next) || s.waits(list, next) || tries > mostOrders {
				continue
			}
			strays := c.strays(s, list, next)
			if fault == nil {
				fault = strays
			}
			if strays == nil {
				if whole := complete(append(slices.Clone(list), next)); whole != nil {
					return whole
				}
			}
		}
		return nil
	}
	if whole := complete(nil); whole != nil {
		return whole, nil
	}
	return nil, fault
}

// placesOf are the states of the labels in a start whose segments end at the cuts: states that no label names are put
// before, between and after the others so that these come close to their places in the sequences.
func (c Structure) placesOf(s *succession, cuts []float64) ([]int, error) {
	list, err := c.order(s)
	if err != nil {
		return nil, err
	}
	places := make([]int, len(list))
	for rank, label := range list {
		places[label] = rank
	}
	for range len(cuts) - len(list) {
		var best []int
		least := never
		for gap := range len(list) + 1 {
			moved, cost := slices.Clone(places), 0
			for rank, label := range list {
				if rank >= gap {
					moved[label]++
				}
				off := moved[label] - sort.SearchFloat64s(cuts, s.Place[label])
				cost += max(off, -off)
			}
			if cost < least && c.allows(s, moved) {
				best, least = moved, cost
			}
		}
		places = best // one further state at the end is always allowed
	}
	return places, nil
}

// allows says whether moves lead from label to label in these places.
func (c Structure) allows(s *succession, places []int) bool {
	for a, from := range append(slices.Clone(places), 0) {
		for b, to := range places {
			if !c.reaches(s, a, b, to-from) {
				return false
			}
		}
	}
	return true
}

// CheckOrder returns an [OrderError] if states are known in an order that no chain of the structure has, in steps of
// d columns.
func (m Model) CheckOrder(ctx context.Context, src framework.Source[blocks.Sequences], d int) error {
	pl, err := family.NewPlan(m.Family, d)
	if err != nil || m.Structure.LeftRight == 0 {
		return err
	}
	s, err := successionOf(ctx, src, pl, math.MaxInt)
	if err != nil || s == nil {
		return err
	}
	_, err = m.Structure.order(s)
	return err
}

// hold moves the steps of known states to the places of their labels, and the others between them.
func hold(b blocks.Sequences, held, places, states []int) {
	for i := range b.Len() {
		first, end := b.Bounds(i)
		least, most := 0, never
		for t := first; t < end; t++ {
			if held[t] != family.Free {
				least = places[held[t]]
				states[t] = least
			}
			states[t] = max(states[t], least)
		}
		for t := end - 1; t >= first; t-- {
			if held[t] != family.Free {
				most = places[held[t]]
			}
			states[t] = min(states[t], most)
		}
	}
}
