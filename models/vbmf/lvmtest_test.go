package vbmf

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
)

// TestConformance holds the iterative algorithm to the equations of the engine.
func TestConformance(t *testing.T) {
	y := artificial(40, 6, 2, 5)
	given := []Prior{{1, 2}, {0.5, 1}, {0.2, 0.3}}
	for name, v := range map[string]Iterative{"estimated": {}, "noise given": {Noise: 2}, "priors given": {Priors: given}, "all given": {Noise: 1, Priors: given}} {
		c := lvmtest.Case[blocks.Rows, *Parameters, *Statistics]{
			Model: v, Data: lvmtest.Matrix(y), K: []int{3},
			Partial:       true, // q(A), the priors and σ² one after another
			NoAllocations: true,
		}
		// Repeated for one q(B), rounds of E[A] and c_a² converge too slowly for a gradient.
		if v.Priors != nil {
			c.Free = func(s *Statistics, p *Parameters) ([]float64, func([]float64) *Parameters) { return coordinates(v, p) }
		}
		if v.Noise == 0 && v.Priors == nil {
			c.Units = []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("times 1000", y, []float64{1000, 1000, 1000, 1000, 1000, 1000})}
		}
		if v.Priors == nil {
			c.K = tier.Sizes()
			c.Symmetry = func(p *Parameters, rng *rand.Rand) *Parameters { return permuted(p, rng.Perm(p.H)) }
		}
		t.Run(name, func(t *testing.T) { lvmtest.Test(t, c) })
	}
}

// coordinates are E[A], the Cholesky factor of CovA with logarithms on its diagonal, and the
// logarithm of σ² where it is estimated.
func coordinates(m Iterative, p *Parameters) ([]float64, func([]float64) *Parameters) {
	v := append([]float64(nil), p.A...)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(p.H, p.CovA)) {
		panic("covariance is not positive definite")
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	for i := range p.H {
		for j := range i {
			v = append(v, lower.At(i, j))
		}
		v = append(v, math.Log(lower.At(i, i)))
	}
	if m.Noise == 0 {
		v = append(v, math.Log(p.Noise))
	}
	return v, func(v []float64) *Parameters {
		q := p.clone()
		copy(q.A, v)
		v = v[len(q.A):]
		lower := mat.NewDense(p.H, p.H, nil)
		for i := range p.H {
			for j := range i {
				lower.Set(i, j, v[j])
			}
			lower.Set(i, i, math.Exp(v[i]))
			v = v[i+1:]
		}
		mat.NewDense(p.H, p.H, q.CovA).Mul(lower, lower.T())
		if m.Noise == 0 {
			q.Noise = math.Exp(v[0])
		}
		return q
	}
}

// permuted has the factors in another order.
func permuted(p *Parameters, order []int) *Parameters {
	q := p.clone()
	for to, from := range order {
		q.PriorA[to], q.PriorB[to] = p.PriorA[from], p.PriorB[from]
		for j := range p.M {
			q.A[j*p.H+to] = p.A[j*p.H+from]
		}
		copy(q.Gain[to*p.M:(to+1)*p.M], p.Gain[from*p.M:(from+1)*p.M])
		for to2, from2 := range order {
			q.CovA[to*p.H+to2] = p.CovA[from*p.H+from2]
		}
	}
	return q
}
