// Package irt holds item response models of several dimensions (Reckase 2009): the answers 0 and 1 of a person to D
// items depend on K abilities,
//
//	P(x_j = 1 | z) = F(b_j + Σ_k z_k a_kj),    z ~ N(0, I)
//
// with F logistic (the two-parameter logistic model, Birnbaum 1968) or normal (the normal ogive, Bock & Aitkin 1981).
// For a person neither the posterior of z nor its mode has a closed form, and [Density] is all that package numeric
// asks for.
package irt

import (
	"math"

	"github.com/latent-go/latent/framework/numeric"
)

// Density has K latent abilities; ξ_k are the D slopes (loadings) of ability k, Θ the D intercepts.
type Density struct {
	Probit bool // F is the normal distribution function, not the logistic one
}

// Layout has a slope for each ability and item, and an intercept for each item.
func (Density) Layout(items int) numeric.Layout {
	return numeric.Layout{
		Component: []numeric.Parameter{numeric.Real("slope", items)},
		Shared:    []numeric.Parameter{numeric.Real("intercept", items)},
	}
}

// LogJoint is ln N(z|0, I) + Σ_j ln F(±(b_j + Σ_k z_k a_kj)), + where the answer is 1.
func (d Density) LogJoint(answers, z, slopes, intercepts []float64) float64 {
	sum := 0.0
	for _, v := range z {
		sum -= (v*v + math.Log(2*math.Pi)) / 2
	}
	for j := range answers {
		value, _ := d.item(answers, z, slopes, intercepts, j)
		sum += value
	}
	return sum
}

// JointGradient is that of LogJoint by slopes and intercepts.
func (d Density) JointGradient(answers, z, slopes, intercepts, dSlopes, dIntercepts []float64) {
	for j := range answers {
		_, rise := d.item(answers, z, slopes, intercepts, j)
		dIntercepts[j] = rise
		for k, v := range z {
			dSlopes[k*len(answers)+j] = rise * v
		}
	}
}

// item is ln F(±η) of item j and its derivative by η.
func (d Density) item(answers, z, slopes, intercepts []float64, j int) (value, rise float64) {
	eta, sign := intercepts[j], 2*answers[j]-1
	for k, v := range z {
		eta += v * slopes[k*len(answers)+j]
	}
	if d.Probit {
		value, rise = normal(sign * eta)
	} else {
		value, rise = logistic(sign * eta)
	}
	return value, sign * rise
}

// logistic is ln 1/(1 + e^−t) and its derivative.
func logistic(t float64) (value, rise float64) {
	e := math.Exp(-math.Abs(t))
	value, rise = -math.Log1p(e), e/(1+e)
	if t < 0 {
		value, rise = value+t, 1-rise
	}
	return value, rise
}

// normal is ln Φ(t) and its derivative; far out by the asymptotic series of Mills' ratio.
func normal(t float64) (value, rise float64) {
	density := -(t*t + math.Log(2*math.Pi)) / 2
	if t < -30 {
		u := 1 / (t * t)
		mills := (1 - u*(1-3*u*(1-5*u*(1-7*u)))) / -t // Φ(t)/φ(t)
		return density + math.Log(mills), 1 / mills
	}
	p := math.Erfc(-t/math.Sqrt2) / 2
	return math.Log(p), math.Exp(density) / p
}

var (
	_ numeric.JointDensity        = Density{}
	_ numeric.JointDifferentiable = Density{}
)
