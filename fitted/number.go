package fitted

import (
	"encoding/json"
	"math"
)

// A Number is a float64 that JSON writes as null if it is not finite.
type Number float64

// MarshalJSON writes the number, or null if it is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Numbers converts a list to Numbers.
func Numbers(values []float64) []Number {
	list := make([]Number, len(values))
	for i, v := range values {
		list[i] = Number(v)
	}
	return list
}
