// Package logit is the multinomial logit of classes on numbers of their rows, t of P numbers each,
//
//	ln L(γ) = Σ_n w_n ln Σ_k π_k(t_n) f_nk,  π_k(t) ∝ exp(γ_kᵀt),  γ_1 = 0,
//
// given what is known of the class of each row: densities f_nk, or shares of the row.
package logit

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// A Likelihood is that of N rows.
type Likelihood struct {
	K, Width int       // classes, and P
	T        []float64 // N×P
	Weights  []float64 // of the rows, N
	// LogDensity is ln f_nk, N×K, up to what is the same for all classes of a row.
	LogDensity []float64
	// Shares are the parts of each row that are in each class, N×K, if LogDensity is nil: ln L is then
	// Σ_n w_n Σ_k s_nk ln π_k(t_n). They sum to 1 in each row, and may be negative.
	Shares []float64

	prior, q []float64 // of a row
}

// of puts π of a row into prior and returns its classes given all that is known, p(z_n = k) or the shares, with
// its part of ln L. gate is γ, K×P.
func (l *Likelihood) of(gate []float64, n int) (q []float64, value float64) {
	t := l.T[n*l.Width : (n+1)*l.Width]
	l.prior, l.q = l.prior[:0], l.q[:0]
	for k := range l.K {
		l.prior = append(l.prior, floats.Dot(gate[k*l.Width:(k+1)*l.Width], t))
	}
	total := floats.LogSumExp(l.prior)
	if l.LogDensity == nil {
		q = l.Shares[n*l.K : (n+1)*l.K]
		for k, share := range q {
			value += share * (l.prior[k] - total)
		}
	} else {
		l.q = append(l.q, l.prior...)
		q = l.q
		floats.Add(q, l.LogDensity[n*l.K:(n+1)*l.K])
		all := floats.LogSumExp(q)
		exp(q, all)
		value = all - total
	}
	exp(l.prior, total)
	return q, value
}

// exp takes exp(v − top).
func exp(v []float64, top float64) {
	for k := range v {
		v[k] = math.Exp(v[k] - top)
	}
}

// Scores visits p(z_n = k | all that is known of row n) − π_k(t_n), K numbers, of each row: times t_n the derivative of
// ln L in γ_k that a row of weight 1 adds. They are overwritten afterwards.
func (l *Likelihood) Scores(gate []float64, visit func(n int, t, score []float64)) {
	for n := range l.Weights {
		q, _ := l.of(gate, n)
		floats.SubTo(l.prior, q, l.prior)
		visit(n, l.T[n*l.Width:(n+1)*l.Width], l.prior)
	}
}

// Derivatives returns the gradient in the γ_k of classes 2 to K, and the information about them: that of known classes,
// and the observed one, which is less by what is not known of the classes (Louis 1982).
func (l *Likelihood) Derivatives(gate []float64) (gradient *mat.VecDense, complete, observed *mat.SymDense) {
	free := (l.K - 1) * l.Width
	if free == 0 {
		return new(mat.VecDense), new(mat.SymDense), new(mat.SymDense)
	}
	gradient, complete, observed = mat.NewVecDense(free, nil), mat.NewSymDense(free, nil), mat.NewSymDense(free, nil)
	for n, w := range l.Weights {
		t := l.T[n*l.Width : (n+1)*l.Width]
		q, _ := l.of(gate, n)
		for a := range free {
			k, j := a/l.Width+1, a%l.Width
			gradient.SetVec(a, gradient.AtVec(a)+w*(q[k]-l.prior[k])*t[j])
			for c := a; c < free; c++ {
				m, h := c/l.Width+1, c%l.Width
				of := w * t[j] * t[h]
				known, unknown := -l.prior[k]*l.prior[m], -q[k]*q[m]
				if k == m {
					known, unknown = known+l.prior[k], unknown+q[k]
				}
				if l.LogDensity == nil {
					unknown = 0
				}
				complete.SetSym(a, c, complete.At(a, c)+of*known)
				observed.SetSym(a, c, observed.At(a, c)+of*(known-unknown))
			}
		}
	}
	return gradient, complete, observed
}

// Step is Newton's step from γ with the information of known classes, in the γ_k of classes 2 to K. ok is false if that
// is singular.
func (l *Likelihood) Step(gate []float64) (step []float64, ok bool) {
	gradient, complete, _ := l.Derivatives(gate)
	var chol mat.Cholesky
	to := mat.NewVecDense(gradient.Len(), nil)
	if !chol.Factorize(complete) || chol.SolveVecTo(to, gradient) != nil {
		return nil, false
	}
	return to.RawVector().Data, true
}

// Farthest is the largest change of log odds, at some row, that a step in the γ_k of classes 2 to K makes.
func (l *Likelihood) Farthest(step []float64) (most float64) {
	for n := range l.Weights {
		for k := range l.K - 1 {
			most = max(most, math.Abs(floats.Dot(step[k*l.Width:(k+1)*l.Width], l.T[n*l.Width:(n+1)*l.Width])))
		}
	}
	return most
}

// What steps near a maximum are, in log odds: LongStep is no step near one, and ShortStep one that ends there.
const LongStep, ShortStep = 0.1, 1e-3

// ErrSeparated is the error of a likelihood without a finite maximum.
var ErrSeparated = errors.New("the classes are separated: the log odds have no finite estimate")

// Maximize returns γ at the maximum of the likelihood, K×P with γ_1 = 0, by gonum's Newton method from γ = 0. It
// returns ErrSeparated, with γ as far as it went, if there is none at finite γ.
func (l *Likelihood) Maximize() (gate []float64, err error) {
	gate = make([]float64, l.K*l.Width)
	total := floats.Sum(l.Weights)
	of := gate[l.Width:]
	problem := optimize.Problem{
		Func: func(x []float64) (sum float64) {
			copy(of, x)
			for n, w := range l.Weights {
				_, value := l.of(gate, n)
				sum -= w / total * value
			}
			return sum
		},
		Grad: func(dst, x []float64) {
			copy(of, x)
			gradient, _, _ := l.Derivatives(gate)
			floats.ScaleTo(dst, -1/total, gradient.RawVector().Data)
		},
		Hess: func(dst *mat.SymDense, x []float64) {
			copy(of, x)
			_, _, observed := l.Derivatives(gate)
			dst.ScaleSym(1/total, observed)
		},
	}
	// The search may end because no step gains more than rounding: Newton's step says where that is.
	const flat, steps = 1e-12, 200
	found, fault := optimize.Minimize(problem, make([]float64, len(of)), &optimize.Settings{GradientThreshold: flat,
		MajorIterations: steps, Converger: optimize.NeverTerminate{}}, &optimize.Newton{})
	if found == nil {
		return gate, fault
	}
	copy(of, found.X)
	step, ok := l.Step(gate)
	if !ok || l.Farthest(step) > LongStep {
		return gate, ErrSeparated
	}
	if l.Farthest(step) > ShortStep {
		return gate, errNoMaximum
	}
	return gate, nil
}

var errNoMaximum = errors.New("no maximum of the likelihood was found: the covariates may say nearly all of " +
	"the classes")
