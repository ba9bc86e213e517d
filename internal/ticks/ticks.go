// Package ticks labels the axes of charts.
package ticks

import (
	"math"
	"strconv"
)

// Labels are the numbers of an axis, ascending, in as few digits as distinguish and locate them, where
// gonum's own labels round −1.25 to −1.3: to a hundredth of the distance between two, or to 16 digits.
func Labels(values []float64) []string {
	gap, largest := math.Inf(1), 0.0
	for i, v := range values {
		largest = max(largest, math.Abs(v))
		if i > 0 {
			gap = min(gap, v-values[i-1])
		}
	}
	if len(values) == 1 {
		gap = largest
	}
	form, most := byte('f'), 9
	if largest >= 1e7 || largest < 1e-4 {
		form, most = 'e', 16
	}
	list := make([]string, len(values))
	for digits := range most + 1 {
		distinct := true
		for i, v := range values {
			if math.Abs(v) < gap/1e6 {
				v = 0 // to rounding
			}
			list[i] = strconv.FormatFloat(v, form, digits, 64)
			back, _ := strconv.ParseFloat(list[i], 64)
			distinct = distinct && math.Abs(back-v) <= 0.01*gap
		}
		if distinct {
			break
		}
	}
	return list
}
