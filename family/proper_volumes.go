package family

import (
	"math"

	"github.com/latent-go/latent/laplace"
)

// volumes are those of classes, v_k = ln |S⁻¹Σ_k|/D, in the coordinate y = v, or 2 arsinh(v/2) of a class that is wider
// than the table, as one of a wild row is: how wide says nothing of others. The prior of each is N(0, 1/p) with p = νD/2,
// as it would have by itself, and two that vary have the correlation ½: y_k = a + e_k, where a and e_k are N(0, 1/2p).
// Without a that is
//
//	ln p(y) = −p [Σ_k y_k² − (Σ_k y_k)²/(K+1)] + …,
//
// so that classes pay once for what they have in common, as equal ones do; one class has N(0, 1/p); and a class that
// nothing is known of has y = â = Σ_k y_k/(K+1) and leaves the density of the others as it is.
type volumes struct {
	y   []float64
	sum float64
}

// bend is 2 in y = 2 arsinh(v/2).
const bend = 2

func bent(v float64) float64 {
	if v <= 0 {
		return v
	}
	return bend * math.Asinh(v/bend)
}

// unbent is v.
func unbent(y float64) float64 {
	if y <= 0 {
		return y
	}
	return bend * math.Sinh(y/bend)
}

// bentSlope is dy/dv.
func bentSlope(v float64) float64 { return 1 / math.Hypot(1, max(0, v)/bend) }

// add appends the volume of a class.
func (l *volumes) add(v float64) {
	l.y = append(l.y, bent(v))
	l.sum += bent(v)
}

// level is the mode of a.
func (l *volumes) level() float64 { return l.sum / float64(len(l.y)+1) }

// replace puts another volume in the place of that of class k, where there are several.
func (l *volumes) replace(k int, v float64) {
	if k < len(l.y) {
		l.sum += bent(v) - l.y[k]
		l.y[k] = bent(v)
	}
}

// own is the distance of a class from the level, under a prior that is worth so many rows of so many columns.
func (l *volumes) own(k int, worth, columns float64) float64 {
	shift := l.y[k] - l.level()
	return worth / 2 * columns * shift * shift
}

// shared passes what is left of −ln of the integral over volumes to add, when each has had its own distance and
// ½ ln(1 + n_k/2ν), of n_k rows: with c = n/ν, |I + P⁻¹diag(pc)| is Π_k (1 + c_k/2) · (1 + Σ_k c_k/(c_k + 2)), P the
// precision of the prior. parts are what a row knows of y_k in units of ½D.
func (l *volumes) shared(worth, columns float64, counts, parts []float64, add func(class int, t laplace.Term)) {
	all, known, level := 0.0, 0.0, l.level()
	for k, n := range counts {
		all += n / (n + 2*worth)
		known += n * parts[k] / (n*parts[k] + 2*worth)
	}
	add(-1, laplace.Term{Distance: worth/2*columns*level*level + math.Log1p(all)/2,
		Information: (math.Log1p(known) - math.Log1p(all)) / 2})
	for k, n := range counts {
		add(k, laplace.Term{Tilt: worth / ((n + 2*worth) * (n + 2*worth) * (1 + all))})
	}
}

// A conditional is the prior of one class's volume given those of others, ∝ exp{−(νD/4)[sy² − 2by]}; the zero value is
// that of variances which are no parts of a volume.
type conditional struct{ scale, offset float64 } // s, b

// given is the prior of the volume of class k given the others.
func (l *volumes) given(k int) conditional {
	if len(l.y) == 0 {
		return conditional{}
	}
	n := float64(len(l.y))
	return conditional{2 * n / (n + 1), 2 * (l.sum - l.y[k]) / (n + 1)}
}

// pull is −2/ν times the derivative of the log density along each axis, less v, and its own derivative, at volume v.
func (c conditional) pull(v float64) (u, slope float64) {
	y, dy := bent(v), bentSlope(v)
	return dy*(c.scale*y-c.offset) - v, dy*dy*(c.scale-(c.scale*y-c.offset)*max(0, v)/bend/bend*dy) - 1
}

// modes puts the modes of a class's log variances along its axes, of each of which n rows have the variance w relative to
// S, into x:
//
//	n_j(1 − w_j e^−x_j) + ν(x_j + u) = 0  or x_j = least_j,  u = y′(sy − b) − v,  v the mean of x,
//
// and returns u, by Newton's method in that alone. least may be nil; x is where they begin.
func (c conditional) modes(n, w func(j int) float64, least, x []float64, worth float64) (u float64) {
	if c == (conditional{}) {
		modesAt(0, n, w, least, x, worth)
		return 0
	}
	for _, v := range x {
		u += v / float64(len(x))
	}
	u, _ = c.pull(u)
	for range 100 {
		v, falls := modesAt(u, n, w, least, x, worth)
		to, slope := c.pull(v)
		step := (to - u) / max(0.2, 1+falls*slope)
		u += step
		if math.Abs(step) <= 1e-9 { // what is left is less than its square
			break
		}
	}
	modesAt(u, n, w, least, x, worth)
	return u
}

// modesAt puts the modes given u into x, and returns their mean and by how much it falls in u.
func modesAt(u float64, n, w func(j int) float64, least, x []float64, worth float64) (mean, falls float64) {
	for j := range x {
		x[j] = laplace.LogVarianceMode(n(j), w(j)*math.Exp(u), worth) - u
		part := 1.0
		if n(j) > 0 {
			part = worth / (n(j)*w(j)*math.Exp(-x[j]) + worth)
		}
		if least != nil && x[j] < least[j] {
			x[j], part = least[j], 0
		}
		mean += x[j] / float64(len(x))
		falls += part / float64(len(x))
	}
	return mean, falls
}

// within finds u for another volume at u, that of a class on its floor.
func (c conditional) within(u float64, volume func(u float64) (float64, error)) error {
	slope, left, step := 1.5, 0.0, 0.0
	for round := range 100 {
		v, err := volume(u)
		if err != nil {
			return err
		}
		to, _ := c.pull(v)
		if round > 0 { // a secant
			slope = min(2, max(0.5, (left-(to-u))/step))
		}
		if left = to - u; math.Abs(left) <= 1e-10*(1+math.Abs(u)) {
			break
		}
		step = left / slope
		u += step
	}
	return nil
}
