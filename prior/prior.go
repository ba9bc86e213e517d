package prior

import (
	"fmt"
	"math"
)

// Prior is what a model's field holds: a distribution of parameters, or a rule that
// makes one. A family finds out which by a type switch.
type Prior interface {
	// Check returns an error that names the first hyperparameter which no
	// distribution has, and its value. Apart from DataScaled's, no zero stands for a
	// default.
	Check() error
}

// positive refuses all but positive finite hyperparameters.
func positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 1) {
		return fmt.Errorf("prior: %s is %v: give a positive finite number", name, value)
	}
	return nil
}

func finite(name string, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("prior: %s is %v: give a finite number", name, value)
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
