package normal

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/factoranalysis"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// Factor analysers under a unit-information prior (docs/theory/evidence.md, section 3): means and ln ψ have those of a
// diagonal Gaussian, which a class without factors is. With Σ = Ψ^½(I + ULUᵀ)Ψ^½ the directions U are uniform, and t_k
// = ln(1 + l_k) ~ N(0, 2), so that a class does not pay for being narrower than the table.

// withoutFactors is ξ of a class with the same mean and variances.
func (f analyser) withoutFactors(xi []float64) []float64 {
	to := make([]float64, len(xi))
	copy(to, xi[:f.d])
	copy(to[f.d:], f.variances(xi))
	return to
}

// whitening is that of the table's variances.
func (f analyser) whitening(of *family.Reference) (*whitening, error) {
	return whiteningOf(of, f.gaussian, func() []float64 { return f.normal(f.withoutFactors(of.Pooled.Center())) })
}

// MaximizePosterior is a conditional maximum: the mean given the covariance, then noise, loadings and, unless fixed,
// their number.
func (f analyser) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	w, err := f.whitening(of)
	if err != nil {
		return err
	}
	m, l := memoryOf(of), f.Layout()
	m.scatter = linalg.Resize(m.scatter, f.d*f.d)
	for k := range params.K {
		row, xi := sums.Row(k, l.Sums), params.Row(k, l.Params)
		normal := f.normal(xi)
		if err := w.moveMean(f.gaussian, of.Prior.RowsOr(), row, anchors.Row(k, f.d), normal, m.scatter, m); err != nil {
			return family.ClassError(k, err)
		}
		if err := f.posterior(row[0], normal[:f.d], xi, of, w); err != nil {
			return family.ClassError(k, err)
		}
	}
	return nil
}

// posterior moves noise and loadings to their mode for n rows with the scatter of the memory.
func (f analyser) posterior(n float64, mean, xi []float64, of *family.Reference, w *whitening) error {
	p := &problem{analyser: f, n: n, mean: mean, cov: memoryOf(of).scatter, lower: make([]float64, f.d),
		prior: &factoranalysis.Prior{N: n, Worth: of.Prior.RowsOr(), Middle: make([]float64, f.d)}}
	_, noise, _ := f.parts(xi)
	p.start = append(p.start, noise...)
	for a := range f.d {
		const least = 1e-12 // where there is no floor
		p.prior.Middle[a] = w.all[a*(f.d+1)]
		p.lower[a] = least * p.prior.Middle[a]
		if floor := of.Pooled.Floor; len(floor) > 0 {
			p.lower[a] = max(p.lower[a], floor[a])
		}
	}
	k, solve := f.Dimensions(xi), p.choose
	if f.of.Fixed {
		solve = func(k int) (*solution, error) { return p.solve(k, math.Inf(-1)) }
	}
	if n > 0 {
		linalg.Scale(1/n, p.cov)
	} else { // the mode of the prior
		p.n, p.prior.N = 0, 0
		clear(p.cov)
	}
	s, err := solve(k)
	if err == nil {
		p.put(s, xi)
	}
	return err
}

// Integrals are those of the mean, exact given the covariance, and of noise and loadings.
func (f analyser) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	w, err := f.whitening(of)
	if err != nil {
		return err
	}
	l, worth := f.Layout(), of.Prior.RowsOr()
	for k := range params.K {
		n, xi := max(0, sums.Row(k, 1)[0]), params.Row(k, l.Params)
		mean, cov := f.split(f.normal(xi), 0)
		values, _, err := w.axes(cov, memoryOf(of), false)
		if err == nil && !(values[f.d-1] > 0) {
			err = variances.Singular()
		}
		if err != nil {
			return family.ClassError(k, err)
		}
		add(k, 0, w.meanTerm(n, worth, mean, values, memoryOf(of)))
		t, err := f.term(n, worth, xi, w)
		if err != nil {
			return family.ClassError(k, err)
		}
		add(k, 0, t)
	}
	return nil
}

// term is the integral over noise and loadings.
//
// In units of the noise the class's rows have the variances e_a = 1 + l_a along u_a and 1 in all other directions. The
// information of n rows about the angle between two of them is n(e_a − e_b)²/(e_a e_b), about t_a it is n/2; the volume
// of all directions, shared equally, is as if the angles had a prior of precision τ. What is left of the information
// about ln ψ is n/2 times
//
//	P∘P + Σ_a ν/(n+ν) (u_a∘u_a)(u_a∘u_a)ᵀ
//	    + Σ_{a<b} (e_a + e_b)²/(2 e_a e_b) τ/(τ + n(e_a−e_b)²/(e_a e_b)) (u_au_aᵀ)∘(u_bu_bᵀ),
//
// where P is the projector on the other directions, which the sum over b takes as one with e_b = 1. The k! orders of
// the factors are equivalent.
func (f analyser) term(n, worth float64, xi []float64, w *whitening) (laplace.Term, error) {
	d, k := f.d, f.Dimensions(xi)
	_, free := f.Loadings(k)
	t := laplace.Term{Size: d + free, Count: n, Worth: worth}
	_, noise, loadings := f.parts(xi)
	for a, v := range noise {
		x := math.Log(v / w.all[a*(d+1)])
		t.Distance += worth / 4 * x * x
	}
	e, u := make([]float64, k), make([]float64, k*d)
	for b := range k {
		own := linalg.Row(u, b, d)
		for a, v := range noise {
			own[a] = loadings[a*f.most+b] / math.Sqrt(v)
		}
		length := linalg.Dot(own, own)
		e[b] = 1 + length
		linalg.Scale(1/math.Sqrt(max(length, math.SmallestNonzeroFloat64)), own)
		t.Distance += worth / 4 * math.Log(e[b]) * math.Log(e[b])
	}
	left, angles := f.left(n, worth, e, u)
	chol, ok := linalg.NewCholesky(d, left)
	if !ok {
		return t, variances.Singular()
	}
	orders, _ := math.Lgamma(float64(k + 1))
	t.Information = chol.LogDet()/2 + max(0, angles-orders) - float64(t.Size-k)/2*math.Log1p(n/worth)
	return t, nil
}

// left is the information about ln ψ in units of the prior's, which is added, D×D, and the integral over all angles, in
// nats.
func (f analyser) left(n, worth float64, e, u []float64) (left []float64, angles float64) {
	d, k := f.d, len(e)
	precision := math.Exp(2 * special.AngleShare(d, k))
	pair := func(one, other float64) (integral, left float64) {
		ratio := n * (one - other) * (one - other) / (one * other) / precision
		return math.Log1p(ratio) / 2, n / worth * (one + other) * (one + other) / (2 * one * other) / (1 + ratio)
	}
	left, others, both := make([]float64, d*d), make([]float64, d*d), make([]float64, d)
	for a := range d {
		others[a*(d+1)] = 1
	}
	for b := range k {
		addOuter(-1, linalg.Row(u, b, d), others)
	}
	for i, v := range others {
		left[i] = n / worth * v * v
	}
	for b := range k {
		own := linalg.Row(u, b, d)
		floats.MulTo(both, own, own)
		addOuter(n/(n+worth), both, left)
		for c := range b {
			integral, with := pair(e[b], e[c])
			angles += integral
			floats.MulTo(both, own, linalg.Row(u, c, d))
			addOuter(with, both, left)
		}
		integral, with := pair(e[b], 1)
		angles += float64(d-k) * integral
		for i, v := range own {
			for j, w := range own {
				left[i*d+j] += with * v * w * others[i*d+j]
			}
		}
	}
	for a := range d {
		left[a*(d+1)]++
	}
	return left, angles
}

// addOuter adds αxxᵀ to dst.
func addOuter(alpha float64, x, dst []float64) {
	for i, v := range x {
		linalg.Axpy(alpha*v, x, dst[i*len(x):(i+1)*len(x)])
	}
}

var _ family.Proper = analyser{}
