package vbmf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
)

// A Prior gives the variances c_a² and c_b² of the entries of a pair of columns, a_h of
// A (M×H) and b_h of B (L×H). The product has the units of Y².
type Prior struct{ A, B float64 }

// Options give known quantities. The zero value estimates everything.
type Options struct {
	Noise float64 // σ², in the units of Y²; 0: estimated
	// Priors are the priors of the H factors; nil: estimated ("empirical"), with H = MaxRank. The prior with the largest
	// product c_a²c_b² is assigned to the largest singular value.
	Priors []Prior
	// MaxRank is the largest H of the empirical solution; 0 selects min(L, M).
	MaxRank int
}

// A Component is the posterior of one pair of factors (paper N, Corollary 3):
// a_h ~ N(±A·ω_a, VarA·I_M), b_h ~ N(±B·ω_b, VarB·I_L), with ω_a and ω_b the right and left
// singular vectors of Singular.
type Component struct {
	Singular float64 `json:"singular"` // γ, the singular value of Y
	Shrunk   float64 `json:"shrunk"`   // γ̂ = A·B, the singular value of E[BAᵀ]
	A        float64 `json:"a"`        // length of E[a_h]
	B        float64 `json:"b"`        // length of E[b_h]
	VarA     float64 `json:"var_a"`
	VarB     float64 `json:"var_b"`
	PriorA   float64 `json:"prior_a"` // c_a²
	PriorB   float64 `json:"prior_b"` // c_b²
}

// A Solution is a global minimum of the free energy for an L×M matrix.
type Solution struct {
	L          int     `json:"l"`
	M          int     `json:"m"`
	Rank       int     `json:"rank"`        // number of components kept
	Noise      float64 `json:"noise"`       // σ², given or estimated
	FreeEnergy float64 `json:"free_energy"` // F, in nats; −F bounds ln p(Y), at the estimates
	// Components lists the kept components, the strongest first. If the priors were given, the dropped components
	// follow; their means are 0.
	Components []Component `json:"components"`
	Left       []float64   `json:"left"`  // ω_b of the kept components, L×Rank row-major
	Right      []float64   `json:"right"` // ω_a of the kept components, M×Rank row-major
}

// Solve computes the global variational Bayesian solution for the L×M matrix in a table, without centring it. It
// returns an error that names the first missing entry or the invalid option, and [ErrNoNoise] if σ² is to be
// estimated from a matrix of exactly low rank. A matrix of zeros has rank 0; if σ² is estimated, σ² = 0 and the free
// energy is −Inf.
func Solve(ctx context.Context, t *blocks.Table, o Options) (*Solution, error) {
	rank := o.MaxRank
	if o.Priors != nil {
		rank = len(o.Priors)
	}
	l, m := t.Dims()
	if err := o.check(l, m); err != nil {
		return nil, err
	}
	s, err := Decompose(ctx, t, rank)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Complete(o)
}

// Complete is [Spectrum.Solve] with the singular vectors. The spectrum must come from [Decompose], and its table must
// not have changed since.
func (s *Spectrum) Complete(o Options) (*Solution, error) {
	if s.y.IsEmpty() {
		return nil, errors.New("vbmf: singular values alone have no vectors: use Solve, or Decompose the matrix")
	}
	sol, err := s.Solve(o)
	if err == nil {
		sol.Left, sol.Right, err = s.factors(sol.Rank)
	}
	return sol, err
}

func (s *Spectrum) factors(r int) (left, right []float64, err error) {
	if r == 0 {
		return nil, nil, nil
	}
	u, v, err := s.triplets(r)
	if err != nil {
		return nil, nil, err
	}
	return u.RawMatrix().Data, v.RawMatrix().Data, nil
}

func (o Options) check(l, m int) error {
	if !(o.Noise >= 0) || math.IsInf(o.Noise, 0) {
		return fmt.Errorf("vbmf: the noise variance is %v; must be positive and finite, or 0 to estimate it", o.Noise)
	}
	if err := checkMaxRank(o.MaxRank, l, m); err != nil {
		return err
	}
	if o.Priors == nil {
		return nil
	}
	if len(o.Priors) == 0 || len(o.Priors) > min(l, m) {
		return fmt.Errorf("vbmf: priors of %d factors for a %d×%d matrix: give 1 to %d", len(o.Priors), l, m, min(l, m))
	}
	if o.MaxRank != 0 && o.MaxRank != len(o.Priors) {
		return fmt.Errorf("vbmf: maximal rank %d with priors of %d factors: leave the rank out; the number "+
			"of priors decides", o.MaxRank, len(o.Priors))
	}
	for h, p := range o.Priors {
		for _, v := range []float64{p.A, p.B, p.A * p.B} {
			if !(v > 0) || math.IsInf(v, 0) {
				return fmt.Errorf("vbmf: factor %d has prior variances c_a² = %v and c_b² = %v: both and their "+
					"product must be positive and finite", h+1, p.A, p.B)
			}
		}
	}
	return nil
}

func checkMaxRank(rank, l, m int) error {
	if rank < 0 || rank > min(l, m) {
		return fmt.Errorf("vbmf: maximal rank %d of a %d×%d matrix: choose one from 1 to %d, or 0 for the largest",
			rank, l, m, min(l, m))
	}
	return nil
}

// [Solve] is the function [Solve] from the singular values alone: the solution has no vectors. A spectrum of fewer
// than min(L, M) values allows at most as many components as it has values.
func (s *Spectrum) Solve(o Options) (*Solution, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := o.check(s.L, s.M); err != nil {
		return nil, err
	}
	if s.Energy == 0 {
		return s.nothing(o), nil
	}
	sol, err := s.solve(o)
	if err == nil && s.coarse(sol.Noise) || errors.Is(err, ErrNoNoise) && s.coarse(0) {
		if err := s.refine(); err != nil {
			return nil, err
		}
		return s.solve(o)
	}
	return sol, err
}

func (s *Spectrum) check() error {
	if s.L < 1 || s.M < 1 || len(s.Values) > s.order() || len(s.Values) == 0 {
		return fmt.Errorf("vbmf: %d singular values of a %d×%d matrix: give 1 to min(L, M) of them", len(s.Values), s.L, s.M)
	}
	sum, last := 0.0, math.Inf(1)
	for i, v := range s.Values {
		if !(v >= 0) || math.IsInf(v, 0) || v > last {
			return fmt.Errorf("vbmf: singular value %d is %v; must be finite, non-negative and descending", i+1, v)
		}
		sum, last = sum+v*v, v
	}
	if !(s.Energy >= sum*(1-1e-8)) || math.IsInf(s.Energy, 0) {
		return fmt.Errorf("vbmf: ‖Y‖² = %v is less than the sum of the squares of the singular values, %v", s.Energy, sum)
	}
	return nil
}

// nothing is the solution for a matrix of zeros.
func (s *Spectrum) nothing(o Options) *Solution {
	sol := &Solution{L: s.L, M: s.M, Noise: o.Noise, FreeEnergy: math.Inf(-1)}
	if o.Noise > 0 {
		priors := sorted(o.Priors)
		sol.FreeEnergy = s.freeEnergy(priors, o.Noise)
		for _, p := range priors {
			sol.Components = append(sol.Components, newComponent(0, s.L, s.M, o.Noise, p))
		}
	}
	return sol
}

// sorted puts the strongest prior first.
func sorted(priors []Prior) []Prior {
	priors = slices.Clone(priors)
	slices.SortStableFunc(priors, stronger)
	return priors
}

func stronger(p, q Prior) int { return cmp.Compare(q.A*q.B, p.A*p.B) }

func (s *Spectrum) solve(o Options) (*Solution, error) {
	sol := &Solution{L: s.L, M: s.M, Noise: o.Noise}
	if o.Priors != nil {
		if len(o.Priors) > len(s.Values) {
			return nil, fmt.Errorf("vbmf: priors of %d factors, but %d singular values", len(o.Priors), len(s.Values))
		}
		priors := sorted(o.Priors)
		if ok := true; sol.Noise == 0 {
			if sol.Noise, ok = s.givenNoise(priors); !ok {
				return nil, fmt.Errorf("vbmf: %w", ErrNoNoise)
			}
		}
		for h, p := range priors {
			c := newComponent(s.Values[h], s.L, s.M, sol.Noise, p)
			if c.Shrunk > 0 {
				sol.Rank++
			}
			sol.Components = append(sol.Components, c)
		}
		sol.FreeEnergy = s.freeEnergy(priors, sol.Noise)
		return sol, nil
	}

	h := len(s.Values)
	if o.MaxRank > 0 {
		h = min(h, o.MaxRank)
	}
	if ok := true; sol.Noise == 0 {
		if sol.Noise, ok = s.empiricalNoise(h); !ok {
			return nil, fmt.Errorf("vbmf: %w", ErrNoNoise)
		}
	}
	e := newEdge(s.L, s.M)
	short, long := float64(min(s.L, s.M)), float64(max(s.L, s.M))
	energy := short * long * math.Log(2*math.Pi*sol.Noise)
	for _, gamma := range s.Values[:h] {
		x := gamma * gamma / (long * sol.Noise)
		if !(x > e.x) {
			break
		}
		energy += long * e.cost(x)
		c := math.Sqrt(sol.Noise / short * e.tau(x)) // c̆ = c_a² = c_b²; only their product is determined
		sol.Components = append(sol.Components, newComponent(gamma, s.L, s.M, sol.Noise, Prior{c, c}))
		sol.Rank++
	}
	sol.FreeEnergy = (energy + s.rests(sol.Noise)[sol.Rank]) / 2
	return sol, nil
}

// newComponent is the posterior of one pair of factors. With γ̂ from [Shrink], and δ the
// ratio of the lengths of E[a] and E[b], stationarity (paper N, eqs. 11 and 12) makes
// σ_a² = δσ²/γ, σ_b² = σ²/(δγ) and δ = c_a²(γ − γ̂ − Lσ²/γ)/σ². Of a dropped one,
// σ_a²(Lσ_b² + σ²/c_a²) = σ² = σ_b²(Mσ_a² + σ²/c_b²).
func newComponent(gamma float64, l, m int, noise float64, p Prior) Component {
	c := Component{Singular: gamma, PriorA: p.A, PriorB: p.B}
	lf, mf := float64(l), float64(m)
	if gamma > Threshold(l, m, noise, p.A*p.B) {
		if k := newKept(gamma, lf, mf, noise, p.A*p.B); k.shrunk > 0 {
			ratio := p.A * k.rest / noise
			c.Shrunk = k.shrunk
			c.A, c.B = math.Sqrt(k.shrunk*ratio), math.Sqrt(k.shrunk/ratio)
			c.VarA, c.VarB = ratio*noise/gamma, noise/(ratio*gamma)
			return c
		}
	}
	// v_a = σ_a²/c_a² solves κMv² + (1 + κ(L − M))v − 1 = 0, κ = c_a²c_b²/σ².
	kappa := p.A * p.B / noise
	left := func(l, m float64) float64 {
		b := 1 + kappa*(l-m)
		root := math.Sqrt(b*b + 4*kappa*m)
		if b > 0 {
			return 2 / (b + root)
		}
		return (root - b) / (2 * kappa * m)
	}
	c.VarA, c.VarB = p.A*left(lf, mf), p.B*left(mf, lf)
	return c
}

// residual is what the component adds to E‖Y − BAᵀ‖²/σ².
func (c Component) residual(l, m int, noise float64) float64 {
	a, b := c.A*c.A+float64(m)*c.VarA, c.B*c.B+float64(l)*c.VarB
	return (a*b - 2*c.Singular*c.Shrunk) / noise
}

// energy is 2(F − F₀), F₀ the free energy without the component (paper N, eq. 13).
func (c Component) energy(l, m int, noise float64) float64 {
	lf, mf := float64(l), float64(m)
	return mf*(math.Log(c.PriorA)-math.Log(c.VarA)) + lf*(math.Log(c.PriorB)-math.Log(c.VarB)) - lf - mf +
		(c.A*c.A+mf*c.VarA)/c.PriorA + (c.B*c.B+lf*c.VarB)/c.PriorB + c.residual(l, m, noise)
}

// MeanA returns E[A], M×Rank.
func (s *Solution) MeanA() *mat.Dense {
	return s.scaled(s.M, s.Right, func(c Component) float64 { return c.A })
}

// MeanB returns E[B], L×Rank.
func (s *Solution) MeanB() *mat.Dense {
	return s.scaled(s.L, s.Left, func(c Component) float64 { return c.B })
}

func (s *Solution) scaled(rows int, vectors []float64, length func(Component) float64) *mat.Dense {
	if s.Rank == 0 {
		return &mat.Dense{}
	}
	a := mat.NewDense(rows, s.Rank, slices.Clone(vectors))
	a.Apply(func(_, j int, v float64) float64 { return v * length(s.Components[j]) }, a)
	return a
}

// Mean returns E[BAᵀ], L×M: the matrix without its noise.
func (s *Solution) Mean() *mat.Dense {
	u := mat.NewDense(s.L, s.M, nil)
	if s.Rank > 0 {
		u.Mul(s.MeanB(), s.MeanA().T())
	}
	return u
}

// Kept returns the components that are not dropped.
func (s *Solution) Kept() []Component { return s.Components[:s.Rank] }
