package family

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Ordinal describes the codes 0…L−1 of a variable with L ordered levels, at least 3, by two numbers per class: the
// cumulative logit model with equal steps, location μ and scale s,
//
//	P(x ≤ l) = 1/(1 + exp(−(l + ½ − μ)/s)),  l = 0…L−2,
//
// a logistic variable, rounded and cut off at the ends (McCullagh 1980). A class with small s agrees on a level, a
// class with large s consists of extremes. The counts of the levels are sufficient, with T of [Categorical], η_l = ln
// P(x = l) and ψ = 0: a curved exponential family without a conjugate prior. ln P is concave in (1/s, μ/s) (Pratt
// 1981), so that a class has one maximum, and bounded, so that no class collapses.
//
// The coordinates are those of the point 2√P on the sphere of [Categorical], along the surface of all (μ, s): the
// Fisher information of a row is the identity. It is the expected information. Because the family is curved, the
// observed information of gFIC differs from it as the class's counts differ from P.
type Ordinal struct{ Levels int }

// Name is "ordinal".
func (Ordinal) Name() string { return "ordinal" }

// Columns is 1.
func (Ordinal) Columns() int { return 1 }

// On makes the columns independent.
func (f Ordinal) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats is true: rows are often equal.
func (Ordinal) Repeats() bool { return true }

// Support describes the valid values.
func (f Ordinal) Support() string {
	if f.Levels < 3 {
		return fmt.Sprintf("nothing with %d levels: set Levels to 3 or more, or take Bernoulli", f.Levels)
	}
	return Categorical(f).Support()
}

// Statistics is L.
func (f Ordinal) Statistics() int { return Categorical(f).Statistics() }

// Observe takes a code.
func (f Ordinal) Observe(x, t []float64) (exposure, base float64, ok bool) {
	exposure, base, ok = Categorical(f).Observe(x, t)
	return exposure, base, ok && f.Levels >= 3
}

// Parameters are the location μ, in steps from level 0, and the scale s.
func (Ordinal) Parameters() []string { return []string{"location", "scale"} }

// Free is 2.
func (Ordinal) Free() int { return 2 }

// logits are the cut-points of a class, u_j = slope·(j + ½) − shift for j = 0…L−2, with slope 1/s and shift μ/s.
type logits struct{ slope, shift float64 }

// flattest and steepest bound the slope. Beyond, a row gains no more than about 1e-12 nats, where all have one
// level or two neighbours, or none but the first and the last.
const flattest, steepest = 1e-12, 64

func logitsOf(xi []float64) logits { return logits{1 / xi[1], xi[0] / xi[1]} }

func (c logits) put(xi []float64) { xi[0], xi[1] = c.shift/c.slope, 1/c.slope }

func (c logits) cut(j int) float64 { return c.slope*(float64(j)+0.5) - c.shift }

// logProbabilities puts ln P of every level into dst. Between two cut-points a slope apart,
// F(u) − F(v) = F(u)(1 − F(v))(1 − exp(v − u)), which loses no digits.
func (c logits) logProbabilities(dst []float64) {
	inner := math.Log(-math.Expm1(-c.slope))
	for l := range dst {
		dst[l] = 0
		if l > 0 {
			dst[l] -= softplus(c.cut(l - 1))
		}
		if l < len(dst)-1 {
			dst[l] -= softplus(-c.cut(l))
		}
		if l > 0 && l < len(dst)-1 {
			dst[l] += inner
		}
	}
}

// softplus is ln(1 + eˣ).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// A slant is Σ_l w_l ln P_l with its derivatives in (slope, shift): a logistic regression over the cut-points,
// where those who are at most at level j meet those at the next, and a term of the inner levels.
type slant struct{ value, bySlope, byShift, slope2, cross, shift2 float64 }

// derivatives returns the slant of levels with weights t/n. The second derivatives are negated; with the weights P
// they are the Fisher information.
func (c logits) derivatives(n float64, t []float64) (s slant) {
	inner, lower := 0.0, share(t[0], n)
	for j, v := range t[1:] {
		upper, u, at := share(v, n), c.cut(j), float64(j)+0.5
		above := 1 / (1 + math.Exp(u)) // P(x > j)
		below := 1 / (1 + math.Exp(-u))
		s.value -= lower*softplus(-u) + upper*softplus(u)
		slope, bend := lower*above-upper*below, (lower+upper)*above*below
		s.bySlope += slope * at
		s.byShift -= slope
		s.slope2 += bend * at * at
		s.cross -= bend * at
		s.shift2 += bend
		if lower = upper; j < len(t)-2 {
			inner += upper
		}
	}
	if gap := math.Expm1(c.slope); inner > 0 {
		s.value += inner * math.Log(-math.Expm1(-c.slope))
		s.bySlope += inner / gap
		s.slope2 += inner * (1 + 1/gap) / gap
	}
	return s
}

// newton returns the step to the top of the quadratic; of the shift alone where the slope is at a bound that the
// step would leave, or undetermined.
func (s slant) newton(c logits) (slope, shift float64) {
	if det := s.slope2*s.shift2 - s.cross*s.cross; det > 1e-14*s.slope2*s.shift2 {
		slope = (s.bySlope*s.shift2 - s.byShift*s.cross) / det
		// clipped steps end there but for rounding
		if !(c.slope >= steepest*(1-1e-9) && slope > 0 || c.slope <= 2*flattest && slope < 0) {
			return slope, (s.byShift*s.slope2 - s.bySlope*s.cross) / det
		}
	}
	return 0, s.byShift / s.shift2
}

// Estimate is Newton's method in (1/s, μ/s), in which the likelihood is concave, between the bounds of the slope.
func (f Ordinal) Estimate(n float64, t, xi []float64) error {
	mean, square := 0.0, 0.0
	for l, v := range t {
		p := share(v, n)
		mean += p * float64(l)
		square += p * float64(l*l)
		if p >= 1 {
			logits{steepest, steepest * float64(l)}.put(xi)
			return nil
		}
	}
	slope := math.Pi / math.Sqrt(3*(square-mean*mean)+0.25) // of about the logistic distribution with these moments
	c := logits{slope, slope * mean}
	now, climbs := c.derivatives(n, t), true
	for step := 0; climbs && step < 200; step++ { // rounding has no top where the curvature all but vanishes
		c, now, climbs = now.climb(c, n, t)
	}
	c.put(xi)
	return nil
}

// climb takes a step that does not lower the value; at the top, as far as rounding lets see it, it is the last.
func (s slant) climb(c logits, n float64, t []float64) (logits, slant, bool) {
	slope, shift := s.newton(c)
	gain, length := slope*s.bySlope+shift*s.byShift, 1.0
	if to := min(steepest, max(flattest, c.slope+slope)); to != c.slope+slope {
		length = (to - c.slope) / slope
	}
	for range 60 {
		at := logits{min(steepest, max(flattest, c.slope+length*slope)), c.shift + length*shift}
		if next := at.derivatives(n, t); gain < 1e-9 || next.value > s.value {
			return at, next, gain > 1e-24
		}
		length /= 2
	}
	return c, s, false
}

// Natural is η = ln P, ψ = 0; NaN if s is not positive.
func (Ordinal) Natural(xi, eta []float64) float64 {
	if !(xi[1] > 0) || math.IsInf(xi[1], 1) {
		return nan
	}
	logitsOf(xi).logProbabilities(eta)
	return 0
}

// Expect is P.
func (f Ordinal) Expect(xi, t []float64) {
	logitsOf(xi).logProbabilities(t)
	for l, v := range t {
		t[l] = math.Exp(v)
	}
}

// Information is the identity.
func (Ordinal) Information(_, diag []float64) { diag[0], diag[1] = 1, 1 }

// root is the Cholesky factor of the Fisher information in (shift, slope): [[a, 0], [b, c]].
func (f Ordinal) root(xi []float64) (at logits, a, b, c float64) {
	p := make([]float64, f.Levels)
	f.Expect(xi, p)
	at = logitsOf(xi)
	i := at.derivatives(1, p)
	a = math.Sqrt(max(i.shift2, tiny))
	b = i.cross / a
	return at, a, b, math.Sqrt(max(i.slope2-b*b, tiny))
}

// Move moves along the surface in orthonormal coordinates, in which the information in (μ/s, 1/s) is the identity.
func (f Ordinal) Move(xi, step, dst []float64) {
	at, a, b, c := f.root(xi)
	slope := step[1] / c
	logits{max(at.slope+slope, flattest), at.shift + (step[0]-b*slope)/a}.put(dst)
}

// Deviations are those of the inverse information, by the delta method.
func (f Ordinal) Deviations(xi []float64, n float64, dst []float64) {
	at, a, b, c := f.root(xi)
	// Columns of the inverse factor, transposed: (shift, slope) moves by (1/a, 0) and (−b/(ac), 1/c).
	alongShift := 1 / (a * at.slope)
	alongSlope := -(b/a + xi[0]) / (c * at.slope)
	dst[0] = math.Hypot(alongShift, alongSlope) / math.Sqrt(n)
	dst[1] = 1 / (c * at.slope * at.slope * math.Sqrt(n))
}

// Sample rounds a logistic variable to the nearest level.
func (f Ordinal) Sample(xi []float64, rng *rand.Rand, x []float64) {
	u := rng.Float64()
	y := xi[0] + xi[1]*(math.Log(u)-math.Log1p(-u))
	x[0] = min(float64(f.Levels-1), max(0, math.Floor(y+0.5)))
}
