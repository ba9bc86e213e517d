package family

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// A Distributor knows the distribution function of its columns: a [Factor], or an [ExponentialFamily] of one column.
type Distributor interface {
	// Below is P(X < x) and P(X ≤ x) of a column, counted from the first, under ξ: equal where X is continuous.
	Below(xi []float64, column int, x float64) (less, atMost float64)
}

// Below is P(X < x) and P(X ≤ x) of a column of the table in a class with parameters ξ, with the other columns
// integrated out. It returns an error if the family of the column is not a [Distributor].
func (p *Plan) Below(xi []float64, column int, x float64) (less, atMost float64, err error) {
	d, xi, within, name, err := ofColumn[Distributor](p, xi, column)
	if err != nil {
		return 0, 0, err
	}
	if d == nil {
		return 0, 0, fmt.Errorf(
			"family: a distribution function needs family.Distributor (a Below method), which %s does not implement", name,
		)
	}
	less, atMost = d.Below(xi, within, x)
	return less, atMost, nil
}

// ofColumn finds what describes a column: an ability of its factor, or of its exponential family, with the parameters
// and the column counted from the first of those that it describes, and its name; nil if it lacks the ability.
func ofColumn[A any](
	p *Plan, xi []float64, column int,
) (ability A, params []float64, within int, name string, err error) {
	for i := range p.parts {
		f := &p.parts[i]
		within = column - f.at.Columns
		if within < 0 || within >= f.size.Columns {
			continue
		}
		params = f.ofParams(xi)
		if e, exponential := f.Factor.(interface{ exponential() exponentialKernel }); exponential {
			k := e.exponential()
			ability, _ = k.law.(A)
			return ability, k.params(params, within/k.width), within % k.width, f.Name(), nil
		}
		ability, _ = f.Factor.(A)
		return ability, params, within, f.Name(), nil
	}
	return ability, nil, 0, "", fmt.Errorf("family: there is no column %d: columns are 0 to %d", column, p.size.Columns-1)
}

// Below is Σ_{i<x} e^−λ λⁱ/i! by the incomplete gamma function.
func (Poisson) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	upTo := func(n float64) float64 {
		if n < 0 {
			return 0
		}
		if xi[0] == 0 {
			return 1
		}
		return mathext.GammaIncRegComp(n+1, xi[0])
	}
	return upTo(math.Ceil(x) - 1), upTo(math.Floor(x))
}

// Below is 1 − e^−λx.
func (Exponential) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	p := -math.Expm1(-xi[0] * max(0, x))
	return p, p
}

// Below is the incomplete gamma function.
func (Gamma) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	p := mathext.GammaIncReg(max(xi[0], tiny), max(xi[1], tiny)*max(0, x))
	return p, p
}

// Below is 1 − p between 0 and 1.
func (Bernoulli) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	return belowCode([]float64{1 - xi[0], xi[0]}, x)
}

// Below sums the probabilities of lower codes.
func (Categorical) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	return belowCode(xi, x)
}

func belowCode(p []float64, x float64) (less, atMost float64) {
	for code, v := range p {
		if float64(code) < x {
			less += v
		}
		if float64(code) <= x {
			atMost += v
		}
	}
	return min(1, less), min(1, atMost)
}

// Below is that of a logistic variable, rounded to the nearest level.
func (f Ordinal) Below(xi []float64, _ int, x float64) (less, atMost float64) {
	upTo := func(level float64) float64 {
		switch {
		case level < 0:
			return 0
		case level >= float64(f.Levels-1):
			return 1
		}
		return 1 / (1 + math.Exp(-(level+0.5-xi[0])/xi[1]))
	}
	return upTo(math.Ceil(x) - 1), upTo(math.Floor(x))
}
