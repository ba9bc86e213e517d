package prior

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// asymptotic is where the series below begin: the first terms they leave out are 3e-17
// and 4e-17 there, and fall fast.
const asymptotic = 10

var halfLogTwoPi = math.Log(2*math.Pi) / 2

// stirling is what Stirling's formula leaves over,
//
//	ln Γ(x) − [(x−½) ln x − x + ½ ln 2π],
//
// for x > 0. Differences of ln Γ taken through it keep the digits that their large
// parts, x ln x, would swallow: ln Γ(1e9) has none after the sixth decimal place.
func stirling(x float64) float64 {
	if x < asymptotic {
		v, _ := math.Lgamma(x)
		return v - ((x-0.5)*math.Log(x) - x + halfLogTwoPi)
	}
	r := 1 / x
	s := r * r
	return r * (1./12 - s*(1./360-s*(1./1260-s*(1./1680-s*(1./1188-s*(691./360360-s/156))))))
}

// digammaExcess is ψ(x) − ln x, for x > 0, to full relative accuracy for large x.
// (mathext.Digamma errs by up to 5e-11, which a count of 10⁹ makes visible.)
func digammaExcess(x float64) float64 {
	if x >= asymptotic {
		r := 1 / x
		s := r * r
		return -r/2 - s*(1./12-s*(1./120-s*(1./252-s*(1./240-s*(1./132-s*(691./32760-s/12))))))
	}
	n := math.Ceil(asymptotic - x)
	far := x + n
	sum := math.Log(far/x) + digammaExcess(far)
	if math.IsInf(far/x, 1) { // x is below 10⁻³⁰⁷, where 1/x alone counts
		sum = 0
	}
	for i := n - 1; i >= 0; i-- {
		sum -= 1 / (x + i)
	}
	return sum
}

// digamma is ψ(x), for x > 0.
func digamma(x float64) float64 { return math.Log(x) + digammaExcess(x) }

// randLogGamma draws ln G, where G ~ Gamma(shape, 1). Below 1 the shape is raised by
// one and the logarithm of the factor U^(1/shape) added (Marsaglia and Tsang 2000,
// section 6): G itself would underflow. The result is −Inf only for shapes below
// 10⁻³⁰⁵.
func randLogGamma(rng *rand.Rand, shape float64) float64 {
	boost := 0.0
	if shape < 1 {
		boost = -rng.ExpFloat64() / shape
		shape++
	}
	return boost + math.Log(distuv.Gamma{Alpha: shape, Beta: 1, Src: rng}.Rand())
}
