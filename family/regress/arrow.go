package regress

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
)

// An arrow is the quadratic approximation Σ gᵀs − ½sᵀHs, over all classes, of what steps s of their lines gain. The
// coefficients of a class are its own, b, but for some, c, that all share, so that H is zero between the own ones of
// two classes.
type arrow struct {
	design
	value        float64 // of the likelihood, where the steps begin
	gradients    [][]float64
	informations []*mat.SymDense
	balls        []*ball // of b
}

// arrowAt sums up the derivatives of all classes. ok is false where they are not finite.
func (f generalised) arrowAt(
	rows []family.Weighted, w *family.Pooled, unit *mat.TriDense, lines [][]float64, middle []float64,
) (a *arrow, ok bool) {
	m := len(rows)
	a = &arrow{
		design: f.design, gradients: make([][]float64, m), informations: make([]*mat.SymDense, m), balls: make([]*ball, m),
	}
	values := make([]float64, m)
	_ = parallel.Do(m, 0, func(k int) error {
		values[k], a.gradients[k], a.informations[k] = f.derivatives(rows[k], w.Anchor, lines[k])
		return nil
	})
	a.value, ok = floats.Sum(values), true
	for k, h := range a.informations {
		from := make([]float64, len(f.own))
		for i, b := range f.own {
			from[i] = lines[k][b] - middle[b]
		}
		var finite bool
		a.balls[k], finite = ballOf(unit, from, submatrix(h, f.own), farthest)
		ok = ok && finite
	}
	return a, ok
}

// A ridge is the maximum of an arrow over all b in their balls, as a function of the step of c.
type ridge struct {
	value       float64
	steps       [][]float64   // of the lines
	gradient    *mat.VecDense // Σ g_c − H_cc s_c − H_cb s_b: as b is at its maximum, its own change adds nothing
	information *mat.SymDense // Σ H_cc − H_cb F, with F by which b follows c: the negative of the second derivatives
}

// ridgeAt is the ridge at a step of c.
func (a *arrow) ridgeAt(shared *mat.VecDense) *ridge {
	n := len(a.fixed)
	r := &ridge{gradient: mat.NewVecDense(n, nil), information: mat.NewSymDense(n, nil)}
	for k, h := range a.informations {
		cross, pull := mat.NewDense(len(a.own), n, nil), mat.NewVecDense(len(a.own), nil)
		for i, b := range a.own {
			for j, c := range a.fixed {
				cross.Set(i, j, h.At(b, c))
			}
			pull.SetVec(i, a.gradients[k][b]-mat.Dot(cross.RowView(i), shared))
		}
		own := a.balls[k].maximum(pull)
		step, follow := make([]float64, a.size()), a.balls[k].follow(own, cross)
		for i, b := range a.own {
			step[b] = own.step.AtVec(i)
		}
		for i, c := range a.fixed {
			step[c] = shared.AtVec(i)
		}
		var curve mat.VecDense
		at := mat.NewVecDense(len(step), step)
		curve.MulVec(h, at)
		for i, c := range a.fixed {
			r.gradient.SetVec(i, r.gradient.AtVec(i)+a.gradients[k][c]-curve.AtVec(c))
			for j := i; j < n; j++ {
				r.information.SetSym(i, j, r.information.At(i, j)+h.At(c, a.fixed[j])-mat.Dot(cross.ColView(i), follow.ColView(j)))
			}
		}
		r.steps, r.value = append(r.steps, step), r.value+linalg.Dot(step, a.gradients[k])-mat.Dot(at, &curve)/2
	}
	return r
}

// steps are those to the maximum of the approximation, by Newton's method on the ridge: one step, but where the b of a
// class comes to its sphere, or leaves it.
func (a *arrow) steps() [][]float64 {
	shared := mat.NewVecDense(len(a.fixed), nil)
	best := a.ridgeAt(shared)
	for range mostSteps {
		var chol mat.Cholesky
		var move mat.VecDense
		if !chol.Factorize(best.information) {
			break
		}
		_ = chol.SolveVecTo(&move, best.gradient) // badly conditioned at worst
		promise, better := mat.Dot(&move, best.gradient), false
		for i := 0; i < mostHalvings && promise > 1e-9*best.value && !better; i++ {
			var next mat.VecDense
			next.AddVec(shared, &move)
			there := a.ridgeAt(&next)
			if better = there.value > best.value; better {
				shared, best = &next, there
			}
			move.ScaleVec(0.5, &move)
			promise /= 2
		}
		if !better {
			break
		}
	}
	return best.steps
}

// unitBesides is the [design.unit] V of the own regressors less their projections on those of c, with the matrix
// G_bb − G_bc G_cc⁻¹ G_cb: what a Cholesky decomposition that begins with c ends with.
func (f generalised) unitBesides(w *family.Pooled) *mat.TriDense {
	unit := f.unit(w, w.Sums[1:], f.size(), slices.Concat(f.fixed, f.own))
	return unit.SliceTri(len(f.fixed), f.size()).(*mat.TriDense)
}

// climbTogether moves the lines of all classes to the maximum of their likelihood among those whose own coefficients
// are in the ball ‖V(b − b_table)‖ ≤ farthest: where c could make up for a difference, it does not count. c itself has
// a finite maximum, as the table is not separated. The likelihood never falls.
func (f generalised) climbTogether(rows []family.Weighted, w *family.Pooled, lines [][]float64, middle []float64) {
	total, unit := 0.0, f.unitBesides(w)
	for _, one := range rows {
		total += one.N
	}
	at, ok := f.arrowAt(rows, w, unit, lines, middle)
	next := make([][]float64, len(lines))
	for k, line := range lines {
		next[k] = make([]float64, len(line))
	}
	for n := 0; n < mostSteps && ok; n++ {
		steps, gain := at.steps(), 0.0
		for k, step := range steps {
			gain += linalg.Dot(step, at.gradients[k])
		}
		if !(gain > 1e-16*max(1, total)) {
			return
		}
		last, better := at.value, false
		for length, i := 1.0, 0; i < mostHalvings && !better; length, i = length/2, i+1 {
			for k, line := range lines {
				floats.AddScaledTo(next[k], line, length, steps[k])
			}
			there, known := f.arrowAt(rows, w, unit, next, middle)
			if better = there.value >= last || gain < 1e-9*(1+math.Abs(last)); better { // as in climb
				at, ok = there, known
				for k := range lines {
					copy(lines[k], next[k])
				}
			}
		}
		if !(at.value > last) { // but for rounding, this is the maximum
			return
		}
	}
}
