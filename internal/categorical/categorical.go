// Package categorical draws from finite distributions.
package categorical

import "math/rand/v2"

// Draw returns i with probability weights[i]/Σ weights, from one uniform number of rng; −1, without drawing, if no
// weight is positive. It keeps nothing between draws, where gonum's distuv.Categorical builds a heap: most weights
// here are drawn from once. What is not positive is never drawn, whatever the rounding.
func Draw(weights []float64, rng *rand.Rand) int {
	total, last := 0.0, -1
	for i, w := range weights {
		if w > 0 {
			total += w
			last = i
		}
	}
	if last < 0 {
		return last
	}
	u := rng.Float64() * total
	for i, w := range weights[:last] {
		if w > 0 { // in the order in which they were added
			if u -= w; u < 0 {
				return i
			}
		}
	}
	return last
}
