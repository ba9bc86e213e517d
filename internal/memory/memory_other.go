//go:build !linux

package memory

import "math"

// Other systems do not say what they have left in a way that is worth the code: there [SetLimit] alone bounds.

func system() float64 { return math.Inf(1) }

// Limits is nil.
func Limits() error { return nil }

func controlGroup() float64 { return math.Inf(1) }
