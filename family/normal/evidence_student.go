package normal

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/laplace"
)

// Student-t classes and classes with noise under a unit-information prior (docs/theory/evidence.md, section 3).

// degreesPrior is the normal prior of φ = ln(1 + 1/ν), about the table's degrees of freedom and with the information of
// a row about them where the scale is not known.
type degreesPrior struct{ centre, precision float64 }

func logDegrees(nu float64) float64 { return math.Log1p(1 / nu) }

// degreesInformation is the information of a row about φ where the scale is not known: the Schur complement in
// [studentInformation].
func (f studentT) degreesInformation(nu float64) float64 {
	a, _, cross, own := (&studentInformation{normalInformation: normalInformation{d: f.d}, nu: nu}).terms()
	const least = 1e-300 // so that its logarithm is finite
	return max(own-cross*cross*2*float64(f.d)/a*(nu+float64(f.d))/nu, least)
}

func (f studentT) degreesPrior(of *family.Reference) degreesPrior {
	all := of.Pooled.Parameters
	nu := all[len(all)-1]
	return degreesPrior{logDegrees(nu), of.Prior.RowsOr() * f.degreesInformation(nu)}
}

func (p degreesPrior) distance(nu float64) float64 {
	shift := logDegrees(nu) - p.centre
	return p.precision / 2 * shift * shift
}

// mode is the best degrees of freedom for n rows with gap Σ E[u − ln u], of nu and others.
func (p degreesPrior) mode(n, gap, nu float64) float64 {
	value := func(nu float64) float64 {
		half := nu / 2
		lgamma, _ := math.Lgamma(half)
		return n*(half*math.Log(half)-lgamma) - half*gap - p.distance(nu)
	}
	slope := func(phi float64) float64 {
		nu := 1 / math.Expm1(phi)
		half := nu / 2
		return nu*(nu+1)/2*(gap-n*(1+special.DigammaGap(half)/half)) - p.precision*(phi-p.centre)
	}
	phi := special.Crossing(slope, logDegrees(mostDegrees), logDegrees(fewestDegrees))
	next := min(mostDegrees, max(fewestDegrees, 1/math.Expm1(phi)))
	if worst := value(next); value(nu) > worst+1e-9*(1+math.Abs(worst)) { // there are two maxima
		return nu
	}
	return next
}

// whitening is that of the table's location and scale matrix.
func (f studentT) whitening(of *family.Reference) (*whitening, error) {
	return whiteningOf(of, f.gaussian, f.asNormal(of.Pooled).Center)
}

// MaximizePosterior is a conditional maximum: the location, the scale matrix, then the degrees of freedom. With the
// weights u the location has Σ E[u] rows and the scale n.
func (f studentT) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	w, err := f.whitening(of)
	if err != nil {
		return err
	}
	l, m, prior := f.Layout(), memoryOf(of), f.degreesPrior(of)
	m.scatter = linalg.Resize(m.scatter, f.d*f.d)
	worth := newLogScales(Full, f.d, of).worth
	for k := range params.K {
		n, normal, logs := f.parts(sums.Row(k, l.Sums))
		xi := params.Row(k, l.Params)
		_, cov := f.split(xi[:l.Params-1], 0)
		err := w.moveMean(f.gaussian, of.Prior.RowsOr(), normal, anchors.Row(k, f.d), xi[:l.Params-1], m.scatter, m)
		if err != nil {
			return family.ClassError(k, err)
		}
		values, err := w.mode(n, worth, m.scatter, cov, m)
		if err != nil {
			return family.ClassError(k, err)
		}
		keep(of, k, cov, values)
		if f.of.Nu == 0 {
			xi[l.Params-1] = prior.mode(n, normal[0]-logs, xi[l.Params-1])
		}
	}
	return nil
}

// Integrals are those of a full covariance with the information of t rows, u integrated out: (ν+D)/(ν+D+2) of that of
// normal ones, about the volume ν/(ν+D+2); and of the degrees of freedom.
func (f studentT) Integrals(
	sums, _, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	w, err := f.whitening(of)
	if err != nil {
		return err
	}
	l, d, prior := f.Layout(), float64(f.d), f.degreesPrior(of)
	scales, rows := newLogScales(Full, f.d, of), of.Prior.RowsOr()
	m := memoryOf(of)
	m.counts = m.counts[:0]
	for k := range params.K {
		xi := params.Row(k, l.Params)
		n, nu := sums.Row(k, l.Sums)[0], xi[l.Params-1]
		m.counts = append(m.counts, n)
		part := (nu + d) / (nu + d + 2)
		mean, cov := f.split(xi[:l.Params-1], 0)
		values, err := spectrum(of, w, k, cov)
		if err != nil {
			return family.ClassError(k, err)
		}
		scales.add(values)
		m.values = linalg.Resize(m.values, f.d)
		floats.ScaleTo(m.values, 1/part, values)
		add(k, 0, w.meanTerm(n, rows, mean, m.values, m))
		add(k, 0,
			laplace.Term{Information: laplace.Gained(n, scales.worth, nu/(nu+d+2)) +
				(d*(d+1)/2-1)*laplace.Gained(n, scales.worth, part)})
		if f.of.Nu == 0 {
			add(k, 0, laplace.Term{Size: 1, Count: n, Worth: rows, Distance: prior.distance(nu),
				Information: laplace.Gained(n, rows, f.degreesInformation(nu)*rows/prior.precision)})
		}
	}
	scales.terms(m.counts, func(class int, t laplace.Term) { add(class, 0, t) })
	return nil
}

// ---- Noise

// within is the family's part of a reference.
func (f noisy) within(of *family.Reference) (family.Proper, *family.Reference, error) {
	inner, ok := f.inner.(family.Proper)
	if !ok {
		return nil, nil, family.NoPrior(f.inner)
	}
	r := *of
	r.Pooled = f.pooled(of.Pooled)
	return inner, &r, nil
}

// MaximizePosterior is that of the family, from its share of the rows; the share of noise has the prior of one row of
// the table at its initial value.
func (f noisy) MaximizePosterior(sums, anchors, params family.Table, of *family.Reference) error {
	inner, within, err := f.within(of)
	if err != nil {
		return err
	}
	worth, noise, n := of.Prior.RowsOr(), 0.0, 0.0
	for k := range params.K {
		row := sums.Row(k, 2)
		noise, n = noise+row[1], n+row[0]
	}
	for k := range params.K {
		params.Row(k, f.l.Params+1)[f.l.Params] = (noise + worth*firstNoise) / (n + worth)
	}
	return inner.MaximizePosterior(sums.From(2), anchors, params, within)
}

// Integrals are those of the family with the count of all rows, so that no component can hide in the noise without a
// charge. In the coordinate 2 arcsin √ε the information about the share of noise is 1.
func (f noisy) Integrals(
	sums, anchors, params family.Table, of *family.Reference, add func(class, cell int, t laplace.Term),
) error {
	inner, within, err := f.within(of)
	if err != nil {
		return err
	}
	n := 0.0
	for k := range params.K {
		n += sums.Row(k, 1)[0]
	}
	share, worth := params.Row(0, f.l.Params+1)[f.l.Params], of.Prior.RowsOr()
	distance := firstNoise*math.Log(firstNoise/share) + (1-firstNoise)*(math.Log1p(-firstNoise)-math.Log1p(-share))
	add(-1, 0, laplace.Term{Size: 1, Count: n, Worth: worth, Distance: worth * distance})
	return inner.Integrals(sums.From(2), anchors, params, within, func(class, _ int, t laplace.Term) {
		if t.Count = n; class >= 0 {
			t.Count = sums.Row(class, 1)[0]
		}
		add(class, 0, t)
	})
}
