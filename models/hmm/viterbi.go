package hmm

import (
	"math"
	"slices"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Viterbi returns the most probable path of each sequence given the whole sequence, as the state of each step, and ln
// p(x, path) in nats (Viterbi 1967). Apart from the path, its memory does not grow with the length of a sequence: it
// keeps the best paths to the borders of parts, and runs through the parts again from the last to the first.
func (m Model) Viterbi(b blocks.Sequences, p *Parameters) (states []int, logJoint []float64, err error) {
	r, err := m.Reader(p)
	if err != nil {
		return nil, nil, err
	}
	return r.Viterbi(b, nil, nil)
}

// Viterbi is Model.Viterbi. It overwrites the slices from their beginnings, and grows those that are too short.
func (r *Reader) Viterbi(b blocks.Sequences, states []int, logJoint []float64) ([]int, []float64, error) {
	if err := b.Check(); err != nil {
		return nil, nil, err
	}
	states, logJoint = slices.Grow(states[:0], b.Steps.N)[:b.Steps.N], logJoint[:0]
	for i := range b.Len() {
		first, end := b.Bounds(i)
		best, err := r.viterbi(b.Steps, first, end, states)
		if err != nil {
			return nil, nil, err
		}
		logJoint = append(logJoint, best)
	}
	return states, logJoint, nil
}

// viterbi finds the path of the steps from first to end−1.
func (r *Reader) viterbi(b blocks.Rows, first, end int, states []int) (logJoint float64, err error) {
	s, k := r.s, r.s.K
	part := min(partSteps, end-first)
	r.best, r.borders = linalg.Resize(r.best, part*k), r.borders[:0]
	r.origin = slices.Grow(r.origin[:0], part*k)[:part*k]
	base := 0.0
	for from := first; from < end; from += partSteps {
		n := min(partSteps, end-from)
		if err := s.read(b, from, n); err != nil {
			return 0, err
		}
		s.ways(r.best, nil, r.before(len(r.borders)/k))
		r.borders = append(r.borders, at(r.best, n-1, k)...)
		for t := range n {
			base += s.Classes.BaseOf(t)
		}
	}
	last := r.before(len(r.borders) / k)
	z := place(last)
	if logJoint = last[z]; logJoint-logJoint != 0 {
		return 0, &blocks.DataError{Row: b.First + first, Column: -1, Reason: errImpossible}
	}
	for part := len(r.borders)/k - 1; part >= 0; part-- {
		from := first + part*partSteps
		n := min(partSteps, end-from)
		if err := s.read(b, from, n); err != nil {
			return 0, err
		}
		s.ways(r.best, r.origin, r.before(part))
		for t := n - 1; t >= 0; t-- {
			states[from+t] = z
			z = int(r.origin[t*k+z])
		}
	}
	return logJoint + base, nil
}

// before are the ways to the border before a part; nil before the first.
func (r *Reader) before(part int) []float64 {
	if part == 0 {
		return nil
	}
	return at(r.borders, part-1, r.s.K)
}

// ways puts the log density of the best way to each state into best, n×k, and where it comes from into origin, which
// may be nil, for the steps of the window; those to the border before it go on.
func (s *Statistics) ways(best []float64, origin []int32, border []float64) {
	w, c, k := s.window, &s.chain, s.K
	for t := range w.n {
		var starts, moves []float64
		if t > 0 {
			border = at(best, t-1, k)
		}
		if border == nil {
			starts = c.logStarts(w, t)
		} else {
			moves = c.logMoves(w, t)
		}
		for j := range k {
			top, from := math.Inf(-1), 0
			if border == nil {
				top = starts[j]
			}
			for i, v := range border {
				if v += moves[i*k+j]; v > top {
					top, from = v, i
				}
			}
			best[t*k+j] = top + w.scores[j*w.padded+t]
			if origin != nil {
				origin[t*k+j] = int32(from)
			}
		}
	}
}

// place is that of the largest number.
func place(v []float64) int { return slices.Index(v, slices.Max(v)) }
