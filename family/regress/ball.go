package regress

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A ball bounds the steps s of Newton's method, ‖U(from + s)‖ ≤ radius, with the information H about them. In the
// coordinates t = QᵀU(from + s), where U⁻ᵀHU⁻¹ = QΛQᵀ, H is diagonal and the ball stays one.
type ball struct {
	unit    *mat.TriDense
	vectors mat.Dense    // Q
	values  []float64    // Λ
	from    mat.VecDense // QᵀU from
	radius  float64
}

// ballOf is false where an entry of the information is not finite.
func ballOf(unit *mat.TriDense, from []float64, information mat.Symmetric, radius float64) (b *ball, ok bool) {
	var eigen mat.EigenSym
	if !eigen.Factorize(sandwich(unit, blas.Trans, information), true) {
		return nil, false
	}
	b = &ball{unit: unit, values: eigen.Values(nil), radius: radius}
	for i, v := range b.values {
		b.values[i] = max(0, v) // but for rounding
	}
	eigen.VectorsTo(&b.vectors)
	b.from.MulVec(unit, mat.NewVecDense(len(from), from))
	b.from.MulVec(b.vectors.T(), &b.from)
	return b, true
}

// A peak is the maximum of gᵀs − ½sᵀHs in a ball.
type peak struct {
	step *mat.VecDense // s
	to   []float64     // t
	mu   float64       // Lagrange's multiplier: 0 inside
}

// maximum is at t = (Λ + μI)⁻¹(QᵀU⁻ᵀg + ΛQᵀU from), with μ = 0, or such that it is on the sphere.
func (b *ball) maximum(gradient *mat.VecDense) peak {
	var pull mat.VecDense
	_ = pull.SolveVec(b.unit.T(), gradient) // U is not singular
	pull.MulVec(b.vectors.T(), &pull)
	to, mu := make([]float64, len(b.values)), 0.0
	solve := func(mu float64) float64 {
		for i, v := range b.values {
			to[i] = 0
			if c := pull.AtVec(i) + v*b.from.AtVec(i); c != 0 {
				to[i] = c / (v + mu)
			}
		}
		return floats.Norm(to, 2)
	}
	if solve(0) > b.radius {
		low, high := 0.0, solve(1)/b.radius+floats.Max(b.values)+1
		for solve(high) > b.radius {
			high *= 2
		}
		for middle := high / 2; low < middle && middle < high; middle = (low + high) / 2 {
			if solve(middle) > b.radius {
				low = middle
			} else {
				high = middle
			}
		}
		mu = high
		solve(mu)
	}
	step := mat.NewVecDense(len(to), nil)
	for i, t := range to {
		step.SetVec(i, t-b.from.AtVec(i))
	}
	step.MulVec(&b.vectors, step)
	_ = step.SolveVec(b.unit, step)
	return peak{step, to, mu}
}

// follow is how s changes at a maximum with each column by which the gradient does: by D = (Λ + μI)⁻¹, and on the
// sphere by D − Dt(Dt)ᵀ/tᵀDt, which keeps to it.
func (b *ball) follow(at peak, columns *mat.Dense) *mat.Dense {
	var moves mat.Dense
	_ = moves.Solve(b.unit.T(), columns)
	moves.Mul(b.vectors.T(), &moves)
	normal, across := make([]float64, len(at.to)), 0.0 // Dt and tᵀDt
	for i, v := range b.values {
		if v += at.mu; v > 0 {
			normal[i] = at.to[i] / v
			across += at.to[i] * normal[i]
		}
	}
	_, n := moves.Dims()
	for j := range n {
		along := 0.0
		if at.mu > 0 {
			along = floats.Dot(normal, mat.Col(nil, j, &moves)) / across
		}
		for i, v := range b.values {
			if v += at.mu; v > 0 {
				moves.Set(i, j, moves.At(i, j)/v-along*normal[i])
			} else { // nothing is known of it
				moves.Set(i, j, 0)
			}
		}
	}
	moves.Mul(&b.vectors, &moves)
	_ = moves.Solve(b.unit, &moves)
	return &moves
}
