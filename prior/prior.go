package prior

import (
	"fmt"
	"math"
)

// Prior is the type of a model's prior: a distribution of parameters, or a rule that makes one. A family
// distinguishes them by a type switch.
type Prior interface {
	// Check returns an error that names the first invalid hyperparameter and its value. Only in DataScaled and
	// UnitInformation does 0 select a default.
	Check() error
}

// A ParameterError says that a parameter of a prior is outside its range.
type ParameterError struct {
	Name   string // of the type and the field, such as "Beta.A", or of a sum, such as "Beta.A + Beta.B"
	Value  float64
	Reason string // what to do, such as "give a positive finite number"
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("prior: %s is %v: %s", e.Name, e.Value, e.Reason)
}

// positive refuses all but positive finite hyperparameters.
func positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return &ParameterError{name, value, "give a positive finite number"}
	}
	return nil
}

func finite(name string, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return &ParameterError{name, value, "give a finite number"}
	}
	return nil
}

// first returns the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// timesLog is c·ln x with the limit 0 at c = 0, x = 0.
func timesLog(c, x float64) float64 {
	if c == 0 {
		return 0
	}
	return c * math.Log(x)
}
