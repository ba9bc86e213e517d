package simd

import "math"

// Bits reports whether all numbers of n rows of d columns are 0 or 1. Row i begins at x[i*stride].
func Bits(x []float64, n, d, stride int) bool {
	checkRows(x, n, d, stride)
	return n == 0 || d == 0 || bits(x, n, d, stride)
}

// RowScores adds Σ_c eta_jc x_ic to dst, n×k column-major, for n row-major rows
// (see [Bits]) and k vectors, of which eta_j begins at eta[j*etaStride]. What it adds to
// padding rows is arbitrary.
func RowScores(dst, x []float64, n, d, stride int, eta []float64, k, etaStride int) {
	checkRows(x, n, d, stride)
	checkRows(eta, k, d, etaStride)
	need("dst", dst, k*Padded(n))
	if n > 0 && d > 0 && k > 0 {
		rowScores(dst, x, n, d, stride, eta, k, etaStride)
	}
}

// Nearer puts the smaller of gap and the squared distance from m into dst, for each row of an
// n×d column-major matrix, and returns the sum with weights w. No number is NaN; dst and
// gap may be one slice.
func Nearer(dst, gap, x []float64, d, n int, m, w []float64) (sum float64) {
	rows(n)
	need("dst", dst, n)
	need("gap", gap, n)
	need("x", x, d*n)
	need("m", m, d)
	need("w", w, n)
	if d == 0 {
		panic("simd: no columns")
	}
	if n == 0 {
		return 0
	}
	return nearer(dst[:n], gap, x, d, n, m, w)
}

func checkRows(x []float64, n, d, stride int) {
	if n < 0 || d < 0 || n > 1 && stride < d {
		panic("simd: rows of a negative size, or that overlap")
	}
	if n > 0 && d > 0 {
		need("x", x, (n-1)*stride+d)
	}
}

// ---- The reference

func rowScoresPortable(dst, x []float64, n, d, stride int, eta []float64, k, etaStride int) {
	padded := Padded(n)
	for i := range n {
		row := x[i*stride:][:d]
		for j := range k {
			dst[j*padded+i] += dot(row, eta[j*etaStride:][:d])
		}
	}
}

// dot takes four sums at a time, which need not wait for each other.
func dot(x, y []float64) float64 {
	var s0, s1, s2, s3 float64
	y = y[:len(x)]
	c := 0
	for ; c+4 <= len(x); c += 4 {
		a, b := x[c:][:4], y[c:][:4]
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for ; c < len(x); c++ {
		s0 += x[c] * y[c]
	}
	return s0 + s1 + (s2 + s3)
}

func bitsPortable(x []float64, n, d, stride int) bool {
	sum := 0.0
	for i := range n {
		for _, v := range x[i*stride:][:d] {
			sum += math.Abs(v * (v - 1)) // no unpredictable branch
		}
	}
	return sum == 0
}

func nearerPortable(dst, gap, x []float64, d, n int, m, w []float64) (sum float64) {
	for from := 0; from < n; from += strip {
		part := dst[from:min(from+strip, n)]
		var square [strip]float64
		for a := range d {
			center := m[a]
			for i, v := range x[a*n+from:][:len(part)] {
				v -= center
				square[i] += v * v
			}
		}
		for i := range part {
			part[i] = min(square[i], gap[from+i])
			sum += w[from+i] * part[i]
		}
	}
	return sum
}
