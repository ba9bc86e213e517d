package simd

// Dot is Σ x_i y_i of two slices of one length.
func Dot(x, y []float64) float64 {
	need("y", y, len(x))
	if len(x) == 0 {
		return 0
	}
	return inner(x, y)
}

// AddTimes adds alpha·x to y, of the same length: the product is rounded, and then the sum, on every processor.
func AddTimes(alpha float64, x, y []float64) {
	need("y", y, len(x))
	if len(x) > 0 {
		addTimes(alpha, x, y)
	}
}

// Widen makes float64 of numbers, in dst of the same length, and reports whether all are finite.
func Widen(dst []float64, src []float32) bool {
	need("dst", dst, len(src))
	return len(src) == 0 || widen(dst, src)
}

// ---- The reference

func innerPortable(x, y []float64) float64 { return reference.Ddot(len(x), x, 1, y, 1) }

func addTimesPortable(alpha float64, x, y []float64) { reference.Daxpy(len(x), alpha, x, 1, y, 1) }

func widenPortable(dst []float64, src []float32) bool {
	sum := float32(0)
	for i, v := range src {
		dst[i] = float64(v)
		sum += v - v
	}
	return sum == 0
}
