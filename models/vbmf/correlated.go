package vbmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// A Posterior is q(A)q(B): rows of A (M×H) are N(A_m, CovA), rows of B (L×H) are
// N(B_l, CovB), under the priors N(0, PriorA) and N(0, PriorB).
type Posterior struct {
	A, B           *mat.Dense
	CovA, CovB     *mat.SymDense
	PriorA, PriorB *mat.SymDense
	Noise          float64 // σ²
	Rank           int     // rank of E[B]E[A]ᵀ
	FreeEnergy     float64 // F, in nats
}

// SolveCorrelated is [Solve] for priors with correlations between the H factors (paper N, section 5). transform is an
// H×H matrix T for which T·C_A·Tᵀ and T⁻ᵀ·C_B·T⁻¹ are both diagonal. Such a T always exists: nil selects one from a
// Cholesky and an eigenvalue decomposition. Since A → ATᵀ, B → BT⁻¹ does not change the free energy, SolveCorrelated
// solves under the diagonal priors and transforms back. noise is σ²; 0 estimates it.
func SolveCorrelated(
	ctx context.Context, t *blocks.Table, priorA, priorB, transform mat.Matrix, noise float64,
) (*Posterior, error) {
	ca, err := covarianceOf("C_A", priorA)
	if err != nil {
		return nil, err
	}
	cb, err := covarianceOf("C_B", priorB)
	if err != nil {
		return nil, err
	}
	h := ca.SymmetricDim()
	if cb.SymmetricDim() != h {
		return nil, fmt.Errorf("vbmf: C_A is of order %d and C_B of order %d: both must have the number of factors", h,
			cb.SymmetricDim())
	}
	if transform == nil {
		if transform, err = diagonalizer(ca, cb); err != nil {
			return nil, err
		}
	}
	forward, back, priors, err := diagonal(ca, cb, transform)
	if err != nil {
		return nil, err
	}
	s, err := Solve(ctx, t, Options{Noise: noise, Priors: priors})
	if err != nil {
		return nil, err
	}
	return s.posterior().transformed(forward, back, ca, cb), nil
}

// covarianceOf checks a prior.
func covarianceOf(name string, c mat.Matrix) (*mat.SymDense, error) {
	if c == nil {
		return nil, fmt.Errorf("vbmf: %s is missing", name)
	}
	h, w := c.Dims()
	if h != w || h == 0 {
		return nil, fmt.Errorf("vbmf: %s is %d×%d; must be square, with a row for each factor", name, h, w)
	}
	s := mat.NewSymDense(h, nil)
	for i := range h {
		for j := range h {
			a, b := c.At(i, j), c.At(j, i)
			if !(math.Abs(a-b) <= 1e-10*max(math.Abs(a), math.Abs(b))) || math.IsInf(a, 0) {
				return nil, fmt.Errorf("vbmf: %s has %v and %v at (%d, %d) and (%d, %d); must be finite and symmetric", name,
					a, b, i+1, j+1, j+1, i+1)
			}
			s.SetSym(i, j, (a+b)/2)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		return nil, fmt.Errorf("vbmf: %s is not positive definite", name)
	}
	return s, nil
}

// diagonalizer is T = QᵀU⁻ᵀ with C_A = UᵀU and Q the eigenvectors of U·C_B·Uᵀ: T·C_A·Tᵀ = I.
func diagonalizer(ca, cb *mat.SymDense) (mat.Matrix, error) {
	var chol mat.Cholesky
	chol.Factorize(ca)
	var u, inverse mat.TriDense
	chol.UTo(&u)
	if err := inverse.InverseTri(&u); err != nil {
		return nil, fmt.Errorf("vbmf: C_A is singular to rounding: %w", err)
	}
	var m, t mat.Dense
	m.Product(&u, cb, u.T())
	_, eigen, err := decompose(&m)
	if err != nil {
		return nil, err
	}
	t.Mul(eigen.Vectors(len(eigen.Values)).T(), inverse.T())
	return &t, nil
}

// diagonal applies T to the priors. The rows of the T that it returns are ordered like the
// diagonal priors, the strongest first.
func diagonal(ca, cb *mat.SymDense, transform mat.Matrix) (forward, back *mat.Dense, priors []Prior, err error) {
	h := ca.SymmetricDim()
	if r, c := transform.Dims(); r != h || c != h {
		return nil, nil, nil, fmt.Errorf("vbmf: T is %d×%d for %d factors", r, c, h)
	}
	forward, back = mat.DenseCopyOf(transform), new(mat.Dense)
	var condition mat.Condition
	if err := back.Inverse(forward); err != nil && (!errors.As(err, &condition) || math.IsInf(float64(condition), 0)) {
		return nil, nil, nil, fmt.Errorf("vbmf: T has no inverse: %w", err)
	}
	var a, b mat.Dense
	a.Product(forward, ca, forward.T())
	b.Product(back.T(), cb, back)
	for i := range h {
		for j := range h {
			for _, d := range []struct {
				name string
				of   *mat.Dense
			}{{"T·C_A·Tᵀ", &a}, {"T⁻ᵀ·C_B·T⁻¹", &b}} {
				if bound := 1e-8 * math.Sqrt(d.of.At(i, i)*d.of.At(j, j)); i != j && !(math.Abs(d.of.At(i, j)) <= bound) {
					return nil, nil, nil, fmt.Errorf("vbmf: T does not diagonalise the priors: entry (%d, %d) of %s "+
						"is %.3g; nil finds a T that does", i+1, j+1, d.name, d.of.At(i, j))
				}
			}
		}
		priors = append(priors, Prior{a.At(i, i), b.At(i, i)})
	}
	order := make([]int, h)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return stronger(priors[i], priors[j]) })
	rows := mat.DenseCopyOf(forward)
	columns := mat.DenseCopyOf(back)
	for to, from := range order {
		forward.SetRow(to, rows.RawRowView(from))
		back.SetCol(to, mat.Col(nil, from, columns))
	}
	return forward, back, sorted(priors), nil
}

// posterior is the solution with a factor for every component.
func (s *Solution) posterior() *Posterior {
	h := len(s.Components)
	p := &Posterior{
		A:          mat.NewDense(s.M, h, nil),
		B:          mat.NewDense(s.L, h, nil),
		Noise:      s.Noise,
		Rank:       s.Rank,
		FreeEnergy: s.FreeEnergy,
		CovA:       mat.NewSymDense(h, nil),
		CovB:       mat.NewSymDense(h, nil),
		PriorA:     mat.NewSymDense(h, nil),
		PriorB:     mat.NewSymDense(h, nil),
	}
	if s.Rank > 0 {
		p.A.Slice(0, s.M, 0, s.Rank).(*mat.Dense).Copy(s.MeanA())
		p.B.Slice(0, s.L, 0, s.Rank).(*mat.Dense).Copy(s.MeanB())
	}
	for i, c := range s.Components {
		p.CovA.SetSym(i, i, c.VarA)
		p.CovB.SetSym(i, i, c.VarB)
		p.PriorA.SetSym(i, i, c.PriorA)
		p.PriorB.SetSym(i, i, c.PriorB)
	}
	return p
}

// transformed is A·T⁻ᵀ, B·T, T⁻¹Σ_AT⁻ᵀ, TᵀΣ_BT.
func (p *Posterior) transformed(forward, back *mat.Dense, ca, cb *mat.SymDense) *Posterior {
	q := &Posterior{
		A: new(mat.Dense), B: new(mat.Dense), PriorA: ca, PriorB: cb, Noise: p.Noise, Rank: p.Rank, FreeEnergy: p.FreeEnergy,
	}
	q.A.Mul(p.A, back.T())
	q.B.Mul(p.B, forward)
	q.CovA, q.CovB = congruent(back, p.CovA), congruent(forward.T(), p.CovB)
	return q
}

// congruent is t·c·tᵀ.
func congruent(t mat.Matrix, c mat.Symmetric) *mat.SymDense {
	var m mat.Dense
	m.Product(t, c, t.T())
	return linalg.SymmetricPart(&m)
}
