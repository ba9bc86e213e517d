package family

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
)

// An arrow is Newton's step of classes whose coefficients are their own, b_k, but for some, c, that all share: the
// information is zero between the own ones of two classes.
type arrow struct {
	design
	value     float64 // of the likelihood
	gradients [][]float64
	follow    []*mat.Dense    // H_bb⁻¹ H_bc of each class
	alone     []*mat.VecDense // H_bb⁻¹ g_b
	schur     *mat.SymDense   // Σ H_cc − H_cb H_bb⁻¹ H_bc
	pull      *mat.VecDense   // Σ g_c − H_cb H_bb⁻¹ g_b
}

// arrowAt sums up the derivatives of all classes. ok is false where there is no step.
func (f generalised) arrowAt(rows []Weighted, w *Pooled, lines [][]float64) (a *arrow, ok bool) {
	n, m := len(f.fixed), len(rows)
	a = &arrow{design: f.design, gradients: make([][]float64, m), follow: make([]*mat.Dense, m), alone: make([]*mat.VecDense, m),
		schur: mat.NewSymDense(n, nil), pull: mat.NewVecDense(n, nil)}
	values, informations := make([]float64, m), make([]*mat.SymDense, m)
	_ = parallel.Do(m, 0, func(k int) error {
		values[k], a.gradients[k], informations[k] = f.derivatives(rows[k], w.Anchor, lines[k])
		return nil
	})
	a.value, ok = floats.Sum(values), true
	for k, h := range informations {
		ok = a.add(k, h) && ok
	}
	return a, ok
}

// add eliminates the own coefficients of class k. Those about which nothing is known, but for rounding, stay where they are.
func (a *arrow) add(k int, h *mat.SymDense) (ok bool) {
	own, cross, right := submatrix(h, a.own), mat.NewDense(len(a.own), len(a.fixed), nil), mat.NewVecDense(len(a.own), nil)
	ridge := 1e-14 * mat.Trace(h)
	for i, b := range a.own {
		own.SetSym(i, i, own.At(i, i)+ridge)
		right.SetVec(i, a.gradients[k][b])
		for j, c := range a.fixed {
			cross.Set(i, j, h.At(b, c))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(own) {
		return false
	}
	a.follow[k], a.alone[k] = new(mat.Dense), new(mat.VecDense)
	_, _ = chol.SolveTo(a.follow[k], cross), chol.SolveVecTo(a.alone[k], right)
	for i, c := range a.fixed {
		a.pull.SetVec(i, a.pull.AtVec(i)+a.gradients[k][c]-mat.Dot(cross.ColView(i), a.alone[k]))
		for j := i; j < len(a.fixed); j++ {
			a.schur.SetSym(i, j, a.schur.At(i, j)+h.At(c, a.fixed[j])-mat.Dot(cross.ColView(i), a.follow[k].ColView(j)))
		}
	}
	return true
}

// steps are those of the lines of all classes, and what they promise to gain.
func (a *arrow) steps() (steps [][]float64, gain float64, ok bool) {
	var chol mat.Cholesky
	var shared mat.VecDense
	if !chol.Factorize(a.schur) {
		return nil, 0, false
	}
	_ = chol.SolveVecTo(&shared, a.pull)
	for k, g := range a.gradients {
		step := make([]float64, len(g))
		var move mat.VecDense
		move.MulVec(a.follow[k], &shared)
		for i, b := range a.own {
			step[b] = a.alone[k].AtVec(i) - move.AtVec(i)
		}
		for i, c := range a.fixed {
			step[c] = shared.AtVec(i)
		}
		steps, gain = append(steps, step), gain+linalg.Dot(step, g)
	}
	return steps, gain, true
}

// climbTogether moves the lines of all classes to the maximum of their likelihood, as climb does. A class whose own
// coefficients are on their way out of the ball stays there.
func (f generalised) climbTogether(rows []Weighted, w *Pooled, unit *mat.TriDense, lines [][]float64, middle []float64) {
	total := 0.0
	for _, one := range rows {
		total += one.N
	}
	at, ok := f.arrowAt(rows, w, lines)
	for range mostSteps {
		if !ok {
			return
		}
		steps, gain, determined := at.steps()
		if !determined || !(gain > 1e-16*max(1, total)) {
			return
		}
		better := false
		for length, i := 1.0, 0; i < mostHalvings && !better; length, i = length/2, i+1 {
			next := make([][]float64, len(lines))
			for k, line := range lines {
				next[k] = f.moved(unit, line, steps[k], middle, length)
			}
			there, known := f.arrowAt(rows, w, next)
			if better = there.value >= at.value || gain < 1e-9*(1+math.Abs(at.value)); better { // as in climb
				at, ok = there, known
				for k := range lines {
					copy(lines[k], next[k])
				}
			}
		}
		if !better {
			return
		}
	}
}

// moved is a line after a step, without that of the class's own coefficients where it leads out of the ball.
func (f generalised) moved(unit *mat.TriDense, line, step, middle []float64, length float64) []float64 {
	next := floats.AddScaledTo(make([]float64, len(line)), line, length, step)
	gap := mat.NewVecDense(len(line), floats.SubTo(make([]float64, len(line)), next, middle))
	gap.MulVec(unit, gap)
	if mat.Norm(gap, 2) > farthest {
		for j := range next {
			if !slices.Contains(f.fixed, j) {
				next[j] = line[j]
			}
		}
	}
	return next
}
