package prior

import (
	"math"

	"github.com/latent-go/latent/internal/special"
)

// Student is the posterior predictive distribution of W columns under a [NormalInverseWishart] or an
// [IsotropicNormal]. It depends on the distance δ of the row from its mean: (x−m)ᵀΨ⁻¹(x−m), or ‖x−m‖²/(2·rate).
// Adding t times the row to the posterior multiplies the posterior's scale, |Ψ| or the rate, by 1 + tκδ/(κ+t), so
// that up to a constant
//
//	LogNorm(t) = −(W/2) ln(κ+t) + G(a+ts) − (a+ts) ln(1 + tκδ/(κ+t)) − t·scale
//
// Here the shape a is ν/2 or shape, a row adds s = ½ or W/2 to it, and G is the multivariate ln Γ or ln Γ. For both,
// G(a+s) − G(a) = ln Γ(a+s) − ln Γ(a+s−W/2).
type Student struct {
	width, kappa, shape, step float64
	rows                      float64 // that the posterior has come from
	scale                     float64 // its logarithm, as far as a row is charged for it, with the powers of 2 and π
	least                     float64 // of 1 + tκδ/(κ+t): the prior's scale beside the posterior's
	bend                      float64 // s²G″(a)
}

// Student returns the predictive distribution of the posterior p, whose prior is before.
func (p IsotropicNormal) Student(before IsotropicNormal) Student {
	g, w := p.precision(), p.width()
	return Student{width: w, kappa: p.kappa(), shape: g.Shape, step: w / 2, rows: p.kappa() - before.kappa(),
		scale: w / 2 * math.Log(2*math.Pi*g.Rate), least: before.precision().Rate / g.Rate,
		bend: w * w / 4 * special.Trigamma(g.Shape)}
}

// Distance returns ‖x−m‖²/(2·rate) for the squared distance ‖x−m‖².
func (p IsotropicNormal) Distance(squared float64) float64 { return squared / (2 * p.precision().Rate) }

// LogEvidence returns ln p(X) in nats, where X are the rows whose posterior is p and before is the prior.
func (p IsotropicNormal) LogEvidence(before IsotropicNormal) float64 {
	rows := p.kappa() - before.kappa()
	return p.precision().LogNorm() - before.precision().LogNorm() -
		p.width()/2*(math.Log(p.kappa()/before.kappa())+2*rows*special.HalfLogTwoPi)
}

// Student returns the predictive distribution of the posterior p, whose prior is before; logNorm is the prior's
// LogNorm. root is the upper triangular R of Expected, with RᵀR = νΨ⁻¹.
func (p NormalInverseWishart) Student(root []float64, before NormalInverseWishart, logNorm float64) Student {
	d := len(p.Mean)
	w, logDet := float64(d), float64(d)*math.Log(p.Nu)
	s := Student{width: w, kappa: p.Kappa, shape: p.Nu / 2, step: 0.5, rows: p.Kappa - before.Kappa}
	for i := range d {
		logDet -= 2 * math.Log(root[i*d+i])
		s.bend += special.Trigamma((p.Nu-float64(i))/2) / 4
	}
	s.scale = (logDet + w*math.Log(math.Pi)) / 2
	s.least = math.Exp(2*(before.LogNorm(0)-logNorm)/before.Nu - logDet)
	return s
}

// Without returns the predictive distribution of the columns but those missing, whose precision given the others has
// the logarithm logDet of its determinant, in nats, under the expected precision νΨ⁻¹; at least one is left. The margin
// of an inverse Wishart distribution is one, with ν and W less by their number. The distance is that of the others.
func (p NormalInverseWishart) Without(s Student, missing int, logDet float64) Student {
	m := float64(missing)
	s.width, s.shape = s.width-m, s.shape-m/2
	s.scale += (logDet - m*math.Log(p.Nu*math.Pi)) / 2
	for i := range missing { // those of (ν−i)/2 for i below m
		s.bend -= special.Trigamma((p.Nu-float64(i))/2) / 4
	}
	return s
}

// LogEvidence returns ln p(X) in nats, where X are the rows whose posterior is p and before is the prior; logNorm is
// the prior's LogNorm. It returns an error if Ψ is not positive definite.
func (p NormalInverseWishart) LogEvidence(before NormalInverseWishart, logNorm float64) (float64, error) {
	logDet, err := p.LogDetScale()
	return p.LogNorm(logDet) - logNorm - (p.Kappa-before.Kappa)*float64(len(p.Mean))*special.HalfLogTwoPi, err
}

// LogPredictive returns the log density of a row at a distance, in nats, after a share out of the row has been
// removed from the posterior. What is removed never leaves less than the prior.
func (s *Student) LogPredictive(distance, out float64) float64 {
	out = max(0, min(out, s.rows))
	kappa, a := s.kappa-out, s.shape+(1-out)*s.step
	up, _ := math.Lgamma(a)
	down, _ := math.Lgamma(a - s.width/2)
	with, without := math.Log1p((1-out)*s.kappa*distance/(kappa+1)), 0.0
	if out > 0 {
		without = math.Log(max(1-out*s.kappa*distance/kappa, s.least))
	}
	return up - down - s.width/2*math.Log1p(1/kappa) - a*with + (a-s.step)*without - s.scale
}

// Curvature returns the second derivative of LogNorm(t) at t = 0.
func (s *Student) Curvature(distance float64) float64 {
	return s.width/(2*s.kappa*s.kappa) + s.bend - 2*s.step*distance + s.shape*distance*(2/s.kappa+distance)
}
