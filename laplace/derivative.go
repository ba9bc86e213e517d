package laplace

import (
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
)

// Hessian puts the numeric Hessian of h at x into dst, which must be empty or d×d.
// It extrapolates central differences at two steps to the fourth order, with about 4d² evaluations of h, one at a
// time unless Concurrent is set. Steps follow the scale of each coordinate: the distance over which h changes by
// about a nat, which is found from h itself. The error of entry i, j is about 1e-9 √|H_ii H_jj| for values of h
// around 1, and 1e-7 √|H_ii H_jj| for values around 10⁶. Options.Hessian and Tolerance are not used.
func Hessian(dst *mat.SymDense, h func(x []float64) float64, x []float64, o *Options) {
	if o == nil {
		o = new(Options)
	}
	sizeTo(dst, len(x))
	if len(x) == 0 {
		return
	}
	numeric := *o
	numeric.Hessian = nil
	local := differentiate(h, x, h(x), &numeric)
	local.hessian(dst)
	for i, si := range local.scale {
		for j := i; j < len(x); j++ {
			dst.SetSym(i, j, dst.At(i, j)/si/local.scale[j])
		}
	}
}

// derivative differentiates h around a point in scaled coordinates t.
type derivative struct {
	h          func([]float64) float64
	point      []float64
	value      float64 // h(point)
	scale      []float64
	step       float64
	concurrent bool
}

func differentiate(h func([]float64) float64, point []float64, value float64, o *Options) *derivative {
	d := &derivative{h: h, point: point, value: value, scale: o.Scale, concurrent: o.Concurrent}
	// Extrapolated differences over s = 2·step err by s⁴/90 times the sixth
	// derivative, and by some 5/s² times the rounding of h: equal near here.
	d.step = powerOfTwo(1.5 * math.Pow(d.rounding(), 1./6))
	switch {
	case o.Scale != nil && len(o.Scale) != len(point):
		panic(badScale)
	case o.Scale == nil && o.Hessian == nil:
		d.scale = make([]float64, len(point))
		for i := range point {
			d.scale[i] = d.natural(i)
		}
	}
	return d
}

// rounding is the least error that h can have, in nats.
func (d *derivative) rounding() float64 { return eps * max(1, math.Abs(d.value)) }

// noise bounds the error of a scaled numeric Hessian's entries.
func (d *derivative) noise() float64 { return 10 * d.rounding() / (d.step * d.step) }

// shifted is h as a function of t. Calls may run at once, so each has its own point.
func (d *derivative) shifted(t []float64) float64 {
	x := make([]float64, len(t))
	for i, v := range t {
		x[i] = d.point[i] + d.scale[i]*v
	}
	return d.h(x)
}

// natural finds the distance along coordinate i over which h curves by one nat:
// 1/√|H_ii|, the conditional standard deviation where h is a log density.
func (d *derivative) natural(i int) float64 {
	const aim = 0.1 // nats: well above rounding, small enough to be quadratic
	x := append([]float64(nil), d.point...)
	size := max(1, math.Abs(x[i]))
	step, limit := size/10, math.Inf(1)
	for range 200 {
		x[i] = d.point[i] + step
		above := d.h(x)
		x[i] = d.point[i] - step
		below := d.h(x)
		bend := math.Abs(above - 2*d.value + below)
		rounding := eps * (math.Abs(above) + math.Abs(below) + 2*math.Abs(d.value))
		switch {
		case math.IsNaN(bend) || math.IsInf(bend, 0):
			limit = step // beyond the edge of h's domain
			step /= 8
			continue
		case bend > aim/4 && bend < aim*4 && bend > 100*rounding:
			return powerOfTwo(step / math.Sqrt(bend))
		}
		factor := 32.
		if bend > 100*rounding {
			factor = min(max(math.Sqrt(aim/bend), 1./32), 32)
		}
		next := min(step*factor, limit/2)
		if next == step || next > 1e12*size || next == 0 {
			break
		}
		step = next
	}
	// Flat to working precision.
	return powerOfTwo(min(size, limit/8))
}

// hessian puts the Hessian in t into dst.
func (d *derivative) hessian(dst *mat.SymDense) {
	origin := make([]float64, len(d.point))
	var coarse mat.SymDense
	fd.Hessian(dst, d.shifted, origin, d.settings(d.step))
	fd.Hessian(&coarse, d.shifted, origin, d.settings(2*d.step))
	for i := range origin {
		for j := i; j < len(origin); j++ {
			dst.SetSym(i, j, (4*dst.At(i, j)-coarse.At(i, j))/3)
		}
	}
}

// analytic puts the Hessian in t into dst and, unless it was given, takes the scale
// from its diagonal.
func (d *derivative) analytic(dst *mat.SymDense, hessian func(*mat.SymDense, []float64)) {
	hessian(dst, d.point)
	if d.scale == nil {
		d.scale = make([]float64, len(d.point))
		for i := range d.scale {
			d.scale[i] = 1
			if v := math.Abs(dst.At(i, i)); v > 0 {
				d.scale[i] = powerOfTwo(1 / math.Sqrt(v))
			}
		}
	}
	for i, si := range d.scale {
		for j := i; j < len(d.scale); j++ {
			dst.SetSym(i, j, dst.At(i, j)*si*d.scale[j])
		}
	}
}

// gradient returns the gradient in t.
func (d *derivative) gradient() []float64 {
	return fd.Gradient(nil, d.shifted, make([]float64, len(d.point)), d.settings(d.step))
}

func (d *derivative) settings(step float64) *fd.Settings {
	return &fd.Settings{Formula: fd.Central, Step: step, Concurrent: d.concurrent}
}

// powerOfTwo rounds v to a power of two: steps of such a length are added to a
// coordinate without rounding.
func powerOfTwo(v float64) float64 { return math.Exp2(math.Round(math.Log2(v))) }
