package vbmf

import (
	"errors"
	"math"
	"slices"
)

// ErrNoNoise reports that the free energy falls without bound as σ² → 0, because the matrix has exactly a low rank.
// The remedy is to give σ².
var ErrNoNoise = errors.New("the matrix has a low rank exactly, and the free energy falls without bound as the noise " +
	"goes to 0: give the noise variance")

// exact is the share of the largest singular value below which others are rounding.
const exact = 1e-14

// empiricalNoise is the σ² at which the free energy of the empirical solution with at
// most h components is least; ok is false when there is none.
//
// In s = 1/(Mσ²), L ≤ M, and with the leading j values kept, (2/M)·dF/d ln σ² is
//
//	g(s) = L − s‖Y‖² + Σ_{i≤j} τ(sγ_i²),
//
// concave in s because τ is (docs/theory/vbmf.md, section 4). So between two thresholds
// the free energy has one local minimum at most, at the larger root of g, and Newton's
// method from the upper end comes down to it without passing it. At a threshold F is the
// smaller of two smooth functions, which is no minimum.
func (s *Spectrum) empiricalNoise(h int) (noise float64, ok bool) {
	e := newEdge(s.L, s.M)
	short, long := float64(min(s.L, s.M)), float64(max(s.L, s.M))
	unit := s.Energy / short / long // so that s is about 1
	squares, rank := s.squares(h, unit)
	rests := s.rests(unit)
	best := math.Inf(1)
	for j := 0; j <= rank; j++ {
		lo, hi := 0.0, math.Inf(1)
		if j > 0 {
			lo = e.x / squares[j-1]
		}
		if j < rank {
			hi = e.x / squares[j]
		}
		if !(lo < hi) {
			continue
		}
		// g is summed as L − s·rest − Σ(1 + α + α/τ), where nothing large cancels.
		derivative := func(t float64) (g, slope float64) {
			g, slope = short-t*rests[j]-float64(j)*(1+e.alpha), -rests[j]
			for _, q := range squares[:j] {
				y := t*q - 1 - e.alpha
				root := difference(y, 2*math.Sqrt(e.alpha))
				tau := (y + root) / 2
				g -= e.alpha / tau
				slope += q * e.alpha / (tau * root)
			}
			return g, slope
		}
		if math.IsInf(hi, 0) {
			// g tends to −∞, or without a rest to L − j(1 + α).
			if rests[j] == 0 && short >= float64(j)*(1+e.alpha) {
				return 0, false
			}
			for hi = max(1, 2*lo); ; hi *= 2 {
				if g, _ := derivative(hi); g < 0 {
					break
				} else if math.IsInf(hi, 0) {
					return 0, false
				}
			}
		}
		t, found := largerRoot(derivative, lo, hi)
		if !found {
			continue
		}
		value := -short*math.Log(t) + t*rests[j] // 2F/M, constants aside
		for _, q := range squares[:j] {
			value += e.cost(t * q)
		}
		if value < best {
			best, noise = value, unit/(long*t)
		}
	}
	return noise, noise > 0
}

// squares are the first h squared singular values in the given unit, and how many of
// them are more than rounding.
func (s *Spectrum) squares(h int, unit float64) (squares []float64, rank int) {
	for _, v := range s.Values[:min(h, len(s.Values))] {
		if v > exact*s.Values[0] {
			rank++
		}
		squares = append(squares, v*v/unit)
	}
	return squares, rank
}

// rests[j] is the energy beyond the leading j values in the given unit; what is rounding
// counts as 0.
func (s *Spectrum) rests(unit float64) []float64 {
	rests := make([]float64, len(s.Values)+1)
	sum := 0.0
	if len(s.Values) < s.order() {
		for _, v := range slices.Backward(s.Values) {
			sum += v * v / unit
		}
		if sum = s.Energy/unit - sum; sum < 1e-13*s.Energy/unit {
			sum = 0
		}
		rests[len(s.Values)] = sum
	}
	for j, v := range slices.Backward(s.Values) {
		if v > exact*s.Values[0] {
			sum += v * v / unit
		}
		rests[j] = sum
	}
	return rests
}

// largerRoot is the larger root of a concave function in (lo, hi), if there is one below
// a hi at which it is negative.
func largerRoot(f func(t float64) (value, slope float64), lo, hi float64) (t float64, ok bool) {
	t = hi
	value, slope := f(t)
	if !(value < 0) {
		return 0, false
	}
	for range 200 {
		if !(slope < 0) {
			return 0, false // the function has passed its maximum below 0
		}
		step := value / slope
		if t-step <= lo {
			return 0, false
		}
		t -= step
		if step <= 1e-15*t {
			break
		}
		if value, slope = f(t); value >= 0 {
			break // rounding
		}
	}
	return t, true
}

// givenNoise is the σ² at which the free energy with the given priors is least. Its
// minima are searched between all thresholds, on a grid with steps of at most 0.05 in ln σ².
func (s *Spectrum) givenNoise(priors []Prior) (noise float64, ok bool) {
	l, m := float64(s.L), float64(s.M)
	mean := s.Energy / l / m
	rest := s.rests(1)[len(priors)]
	slope := func(u float64) float64 { return s.givenSlope(priors, rest, math.Exp(u)) }
	// Above this σ² no component reduces the residual by as much as it adds.
	top := mean
	for _, p := range priors {
		top += p.A * p.B
	}
	ends := []float64{math.Log(top) + 1}
	for h, p := range priors {
		if g := s.Values[h]; g > exact*s.Values[0] {
			ends = append(ends, 2*math.Log(g)+math.Log(2/(l+m+math.Hypot(l-m, 2*g/math.Sqrt(p.A*p.B)))))
		}
	}
	slices.Sort(ends)
	low := min(ends[0], math.Log(mean)) - 1
	for slope(low) >= 0 {
		// F still rises with σ² here: descend while the noise is above rounding.
		if low -= 2; low < math.Log(mean)+2*math.Log(exact) {
			return 0, false
		}
	}
	ends = append([]float64{low}, ends...)
	best := math.Inf(1)
	for i := 1; i < len(ends); i++ {
		pieces := max(2, int(math.Ceil((ends[i]-ends[i-1])/0.05)))
		// The slope jumps at the thresholds: stay inside.
		inside := func(j int) float64 {
			w := ends[i] - ends[i-1]
			return ends[i-1] + w*min(1-1e-12, max(1e-12, float64(j)/float64(pieces)))
		}
		a := inside(0)
		fa := slope(a)
		for j := 1; j <= pieces; j++ {
			b := inside(j)
			fb := slope(b)
			if fa < 0 && fb >= 0 {
				v := math.Exp(crossing(slope, a, b))
				if f := s.freeEnergy(priors, v); f < best {
					best, noise = f, v
				}
			}
			a, fa = b, fb
		}
	}
	return noise, noise > 0
}

// crossing halves the interval in which f changes its sign.
func crossing(f func(float64) float64, a, b float64) float64 {
	for range 100 {
		mid := a + (b-a)/2
		if mid <= a || mid >= b {
			break
		}
		if f(mid) < 0 {
			a = mid
		} else {
			b = mid
		}
	}
	return b
}

// givenSlope is 2·dF/d ln σ² = LM − R/σ², R = E‖Y − BAᵀ‖² at the solution for σ²: the energy
// beyond the priors' factors, in rest, and what these leave of theirs, summed without
// cancellation, so that a small noise is not lost in rounding.
func (s *Spectrum) givenSlope(priors []Prior, rest, noise float64) float64 {
	l, m := float64(s.L), float64(s.M)
	r := rest / noise
	for h, p := range priors {
		c := newComponent(s.Values[h], s.L, s.M, noise, p)
		left := c.Singular - c.Shrunk
		r += (left*left + l*c.A*c.A*c.VarB + m*c.B*c.B*c.VarA + l*c.VarB*m*c.VarA) / noise
	}
	return l*m - r
}

// freeEnergy is F at the solution for the given priors and σ².
func (s *Spectrum) freeEnergy(priors []Prior, noise float64) float64 {
	f := float64(s.L)*float64(s.M)*math.Log(2*math.Pi*noise) + s.Energy/noise
	for h, p := range priors {
		f += newComponent(s.Values[h], s.L, s.M, noise, p).energy(s.L, s.M, noise)
	}
	return f / 2
}
