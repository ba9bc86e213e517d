package laplace

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Term is the integral over some parameters φ of a latent dimension by Laplace's method. The prior is normal, with
// mean φ₀ and precision Worth·I₀, where I₀ is the information of an observation at φ₀. Its normaliser cancels every
// 2π:
//
//	ln ∫ p(φ) exp E_q[ln p(X,Z|φ)] dφ ≈ E_q[ln p(X,Z|φ̃)] − Distance − (Size/2) ln((Count + Worth)/Worth) − Information
//
// (docs/theory/evidence.md, section 1). Distance and Information are in nats, and do not depend on the coordinates.
type Term struct {
	Size        int     // parameters
	Count       float64 // observations behind them, which q determines
	Worth       float64 // observations that the prior is worth; 0 selects 1
	Distance    float64 // Worth · ½(φ̃ − φ₀)ᵀI₀(φ̃ − φ₀)
	Information float64 // ½ ln|I₀⁻¹I|, where I is the information of an observation at φ̃
}

// worth is Worth or its default.
func (t Term) worth() float64 {
	if t.Worth == 0 {
		return 1
	}
	return t.Worth
}

// charge is (Size/2) ln((Count + Worth)/Worth).
func (t Term) charge() float64 { return times(float64(t.Size)/2, math.Log1p(t.Count/t.worth())) }

// tilt is the derivative of charge in the count.
func (t Term) tilt() float64 { return times(float64(t.Size), 1/(2*(t.Count+t.worth()))) }

// integral adds up what the integral over the parameters differs by from E_q[ln p(X,Z|Π̃)].
type integral struct {
	followed    float64 // distances, counts, and what is exact
	information float64 // −Σ Information
}

// ResetPrior clears the curvature, for n observations and parameters with a proper prior. The blocks added next are
// integrals under the prior.
func (f *Curvature) ResetPrior(n float64) {
	f.Reset(n, false)
	f.integral = new(integral)
}

// Prior reports whether the parameters have a proper prior. If so, a model may add its blocks by Integrate and Exact.
// Blocks added by [Curvature.Class], Matrix, Mixed or Unfactored then have a prior that is worth one observation and
// whose information is I, in coordinates in which the table, described as one class, has this information. About
// corrects it for another prior.
func (f *Curvature) Prior() bool { return f.integral != nil }

// Prior reports whether the tilt comes from integrals under a prior; false for nil.
func (t *Tilt) Prior() bool { return t != nil && t.f.Prior() }

// N returns the number of observations; 0 for nil.
func (t *Tilt) N() float64 {
	if t == nil {
		return 0
	}
	return t.f.n
}

// Integrate adds a block of latent dimension k whose parameters have a prior: count observations, and the terms that
// depend on them.
func (f *Curvature) Integrate(k int, count float64, terms ...Term) {
	b := f.add(k, Identity(0))
	b.class, b.count = true, max(0, count)
	for _, t := range terms {
		f.integrate(b, t)
	}
}

// Charge adds a term to block i, which Integrate must have added.
func (f *Curvature) Charge(i int, t Term) { f.integrate(&f.blocks[i], t) }

// Shared adds a term for parameters that all latent dimensions share. It adds no block, and is the same for all rows.
func (f *Curvature) Shared(t Term) { f.integrate(new(factored), t) }

// Exact adds a part of the integral that is known exactly, in nats: its difference from E_q[ln p(X,Z|Π̃)].
func (f *Curvature) Exact(nats float64) { f.integral.followed += nats }

// About corrects the block added last for its prior: its I₀ has ½ ln|I₀| = information in all, and its parameters are
// at this distance from the prior's centre. Both are in nats.
func (f *Curvature) About(information, distance float64) {
	f.integral.information += information
	f.integral.followed -= distance
}

// CountGap returns ½ Σ_ij [ln(1 + e_i) − ln(1 + r_j e_i)], in nats, for the eigenvalues e of a count and r of I₀⁻¹I.
// By this amount the integral over a normal prior, −½ ln|I + e ⊗ r|, is above the charge of the count, which Mixed
// subtracts for a block of information I₀. About must add it.
func CountGap(counts, ratios []float64) (nats float64) {
	for _, r := range ratios {
		for _, e := range counts {
			nats += (math.Log1p(e) - math.Log1p(r*e)) / 2
		}
	}
	return nats
}

// LogRotations is ln M of k loadings, in nats: the volume of the orthogonal group in units of how well q(Z) and q(W)
// fix a rotation. squares are the squared lengths ‖w‖² of orthogonal loadings in units of noise, n the rows. Pairs that
// the data hardly turn count 0 (docs/theory/evidence.md, section 1).
func LogRotations(n float64, squares []float64) (nats float64) {
	k := len(squares)
	if k == 1 {
		return LogVolume(k) // the sign
	}
	share := LogVolume(k) / float64(k*(k-1)/2)
	for i, a := range squares {
		for _, b := range squares[:i] {
			nats += max(0, share+math.Log(n*(a+b)/(math.Pi*math.E))/2)
		}
	}
	return nats
}

// LogVolume returns ln Vol O(k), the volume of the rotations and reflections of k axes, in the metric in which a
// rotation in a plane has unit speed.
func LogVolume(k int) (sum float64) {
	if k > 0 {
		sum = math.Ln2
	}
	for j := 2; j <= k; j++ {
		half := float64(j) / 2
		lgamma, _ := math.Lgamma(half)
		sum += math.Ln2 + half*math.Log(math.Pi) - lgamma
	}
	return sum
}

// integrate adds a term of a block.
func (f *Curvature) integrate(b *factored, t Term) {
	b.tilt += t.tilt()
	f.integral.followed -= t.Distance + t.charge()
	f.integral.information -= t.Information
}

// Integral returns ln ∫ p(Π) exp E_q[ln p(X,Z|Π)] dΠ − E_q[ln p(X,Z|Π̃)] in two parts, in nats: the part that gFAB's
// steps maximise, and −½ ln|I₀⁻¹I|, which depends on Π alone.
func (f *Curvature) Integral() (followed, information float64) {
	return f.integral.followed, f.integral.information
}

// fill copies a matrix that q decides, with unit times the identity added where there is a prior, which is charged then
// for its logarithm and constant nats.
func (f *Curvature) fill(b *factored, m mat.Symmetric, unit, constant float64) {
	if b.matrix == nil {
		b.matrix = new(Dense)
	}
	if f.integral == nil {
		b.matrix.Set(m)
		return
	}
	b.matrix.Set(raised{m, unit})
	p, size := float64(b.matrix.n), float64(b.information.SymmetricDim())
	f.integral.followed -= times(size, b.matrix.LogDet())/2 + constant
	f.integral.information -= times(p, b.information.LogDet()) / 2
}

// raised is a symmetric matrix plus unit times the identity.
type raised struct {
	mat.Symmetric
	unit float64
}

func (r raised) At(i, j int) float64 {
	v := r.Symmetric.At(i, j)
	if i == j {
		v += r.unit
	}
	return v
}

// LogVarianceMode solves n(1 − w e^−x) + worth·x = 0 for x: the posterior mode of a log variance ln(S/S₀), if n rows
// have the variance w·S₀ and the prior at S₀ is worth so many rows. The left side is concave and rises, so that
// Newton's steps increase to the root from the second on.
func LogVarianceMode(n, w, worth float64) (x float64) {
	const least = -600 // far below every floor
	if !(n > 0) {
		return 0
	}
	if !(w > math.Exp(least)) {
		return max(least, -n/worth)
	}
	x = math.Log(w) * (n / (n + worth)) // the first step from ln w
	for range 100 {
		e := n * w * math.Exp(-x)
		step := (n - e + worth*x) / (e + worth)
		x -= step
		if math.Abs(step) <= 1e-9 { // what is left is less than its square
			break
		}
	}
	return max(least, x)
}

// Gained is the Information of a [Term] of one parameter of which n rows have ratio times the information of the
// prior's: −½ ln(1 + n·ratio/worth) less the charge of the term.
func Gained(n, worth, ratio float64) float64 {
	return (math.Log1p(n/worth*ratio) - math.Log1p(n/worth)) / 2
}
