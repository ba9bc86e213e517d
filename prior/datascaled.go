package prior

import (
	"fmt"
	"math"
	"slices"
)

// DataScaled is a weakly informative prior of a Gaussian, in the location and units of the data: a normal–inverse
// Wishart distribution centred at the data's mean, with the data's covariance as Ψ. It says with the weight of Kappa
// rows that a component is where the data are, and with the weight of Nu rows that it is as wide.
//
// Unlike those of other priors, the zero value has a meaning, the usual choice: Kappa = 1, the weight of one row, and
// Nu = D, the smallest integer for which the distribution is proper. E[Σ⁻¹] is then D times the data's precision
// matrix.
type DataScaled struct {
	Kappa float64 `json:"kappa"` // 0 means 1
	Nu    float64 `json:"nu"`    // 0 selects D, the number of columns
}

// Check returns an error unless Kappa and Nu are finite and not negative. Wishart, which knows D,
// checks that Nu is more than D − 1.
func (s DataScaled) Check() error {
	for _, field := range []struct {
		name  string
		value float64
	}{{"Kappa", s.Kappa}, {"Nu", s.Nu}} {
		if !(field.value >= 0) || math.IsInf(field.value, 1) {
			return fmt.Errorf("prior: DataScaled.%s is %v: give a positive finite number, or 0 for the default",
				field.name, field.value)
		}
	}
	return nil
}

// orDefault returns the parameters with the defaults for D columns filled in.
func (s DataScaled) orDefault(d int) DataScaled {
	if s.Kappa == 0 {
		s.Kappa = 1
	}
	if s.Nu == 0 {
		s.Nu = float64(d)
	}
	return s
}

// Wishart returns the prior of the mean and the full covariance of D columns, given
// the data's mean (D) and covariance (D×D row-major), which it copies. It returns an error if Nu is at most D − 1,
// and if the covariance is not positive definite, for example with constant or dependent columns or too few rows.
func (s DataScaled) Wishart(mean, covariance []float64) (NormalInverseWishart, error) {
	if err := s.Check(); err != nil {
		return NormalInverseWishart{}, err
	}
	s = s.orDefault(len(mean))
	p := NormalInverseWishart{slices.Clone(mean), s.Kappa, s.Nu, slices.Clone(covariance)}
	return p, p.Check()
}

// InverseGamma returns the prior of one column's mean and variance, given those of the data. It is Wishart with D =
// 1, that is, Shape = Nu/2 (½ by default) and Rate = variance/2. A Gaussian with diagonal covariance has one for each
// column. If the column has no variance, Check of the result returns an error.
func (s DataScaled) InverseGamma(mean, variance float64) NormalInverseGamma {
	s = s.orDefault(1)
	return NormalInverseGamma{Mean: mean, Kappa: s.Kappa, Shape: s.Nu / 2, Rate: variance / 2}
}
