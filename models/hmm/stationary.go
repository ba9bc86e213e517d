package hmm

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// stationarySteps bounds the steps of the search for transitions whose stationary distribution sequences begin
	// with: where these say more than the moves the rest follows in further global steps.
	stationarySteps = 50
	// stationaryHalvings bounds the halvings of a step.
	stationaryHalvings = 40
	// stationaryTolerance is the change of probabilities at which it ends.
	stationaryTolerance = 1e-14
)

// estimateStationary puts the transitions A into dst that maximise Σ_k f_k ln π_k + Σ_kl ξ_kl ln a_kl with π the
// stationary distribution of A, f the starts and ξ the moves. The gradient of the first sum is π_k y_l with y = (I − A
// + 1π)⁻¹(f/π), so that starts count as moves ξ_kl + a_kl π_k y_l, but for a constant in each row: the steps of the
// past that is not seen (docs/theory/hmm.md, section 5).
func estimateStationary(s *Statistics, moves []float64, p, dst *Parameters) error {
	k := s.K
	value := func(a, start []float64) float64 {
		if stationary(start, a) != nil {
			return math.Inf(-1)
		}
		return s.logChain(moves, start, a)
	}
	if err := estimateTransitions(dst.Transitions, moves, p.Transitions, k); err != nil {
		return err
	}
	best := value(dst.Transitions, dst.Start)
	if before := value(p.Transitions, dst.Start); !(best > before) {
		copy(dst.Transitions, p.Transitions)
		best = before
	}
	if err := stationary(dst.Start, dst.Transitions); err != nil {
		return err
	}
	trial, start, step := make([]float64, k*k), make([]float64, k), 1.0
	for range stationarySteps {
		toward := seenAndUnseen(s, moves, dst)
		if floats.Distance(toward, dst.Transitions, math.Inf(1)) <= stationaryTolerance {
			break
		}
		v, rounding := math.Inf(-1), 1e-14*math.Abs(best)
		step = min(1, 2*step)
		for range stationaryHalvings {
			for i := range trial {
				trial[i] = dst.Transitions[i] + step*(toward[i]-dst.Transitions[i])
			}
			if v = value(trial, start); v >= best-rounding {
				break
			}
			step /= 2
		}
		if !(v >= best-rounding) {
			break
		}
		copy(dst.Transitions, trial)
		copy(dst.Start, start)
		best = max(best, v)
	}
	return nil
}

// seenAndUnseen are the rows that the moves and those of the past make.
func seenAndUnseen(s *Statistics, moves []float64, p *Parameters) []float64 {
	k := s.K
	m, h := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for i := range k {
		if p.Start[i] > 0 {
			h.SetVec(i, s.Starts[i]/p.Start[i])
		}
		for j := range k {
			v := p.Start[j] - p.Move(i, j)
			if i == j {
				v++
			}
			m.Set(i, j, v)
		}
	}
	rows := slices.Clone(moves)
	y := mat.NewVecDense(k, nil)
	if y.SolveVec(m, h) == nil {
		least := floats.Min(y.RawVector().Data)
		for i := range k {
			for j := range k {
				rows[i*k+j] += p.Move(i, j) * p.Start[i] * (y.AtVec(j) - least)
			}
		}
	}
	for i := range k {
		row := at(rows, i, k)
		if floats.Sum(row) == 0 {
			copy(row, at(p.Transitions, i, k))
			continue
		}
		floats.Scale(1/floats.Sum(row), row)
	}
	return rows
}
