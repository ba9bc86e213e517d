package prior

import (
	"fmt"
	"math"
)

// UnitInformation is the prior under which the evidence is computed (docs/theory/evidence.md, section 2). It is
// centred at the fit of the table as one class, and has the information of one row of the table (Kass & Wasserman
// 1995). Its zero value is the usual choice.
type UnitInformation struct {
	// Rows is the number of rows that the prior is worth; 0 selects 1.
	Rows float64 `json:"rows,omitempty"`
	// Covariance is the number of rows that the prior of a full covariance matrix is worth; 0 selects √D for D columns.
	Covariance float64 `json:"covariance,omitempty"`
}

// Check returns an error unless both numbers are finite and not negative.
func (u UnitInformation) Check() error {
	for _, field := range []struct {
		name  string
		value float64
	}{{"Rows", u.Rows}, {"Covariance", u.Covariance}} {
		if !(field.value >= 0) || math.IsInf(field.value, 1) {
			return fmt.Errorf("prior: UnitInformation.%s is %v: give a positive finite number, or 0 for the default",
				field.name, field.value)
		}
	}
	return nil
}

// AsUnitInformation returns p as a UnitInformation, the default if p is nil, for models whose evidence allows no
// other prior. It returns an error if p is another prior, or invalid.
func AsUnitInformation(p Prior) (u UnitInformation, err error) {
	if p == nil {
		return u, nil
	}
	u, ok := p.(UnitInformation)
	if !ok {
		return u, fmt.Errorf("prior: the evidence of this model needs prior.UnitInformation, not %T", p)
	}
	return u, u.Check()
}

// RowsOr returns Rows or its default.
func (u UnitInformation) RowsOr() float64 {
	if u.Rows == 0 {
		return 1
	}
	return u.Rows
}

// CovarianceOr returns Covariance, or its default for so many columns.
func (u UnitInformation) CovarianceOr(columns int) float64 {
	if u.Covariance == 0 {
		return math.Sqrt(float64(columns))
	}
	return u.Covariance
}
