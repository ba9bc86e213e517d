//go:build !noasm && !gccgo

package simd

func bits(x []float64, n, d, stride int) bool {
	sum := 0.0
	switch level {
	case avx512:
		bitsAVX512(&x[0], stride, n, d, &sum)
	case avx2:
		bitsAVX2(&x[0], stride, n, d, &sum)
	default:
		return bitsPortable(x, n, d, stride)
	}
	return sum == 0
}

// rowScores takes as many rows at a time as a register has numbers.
func rowScores(dst, x []float64, n, d, stride int, eta []float64, k, etaStride int) {
	scores, group := rowScoresAVX512, 8
	switch level {
	case avx2:
		scores, group = rowScoresAVX2, 4
	case portable:
		rowScoresPortable(dst, x, n, d, stride, eta, k, etaStride)
		return
	}
	for first := 0; first < n; first += group {
		scores(&dst[first], Padded(n), &x[first*stride], stride, min(group, n-first), d, &eta[0], etaStride, k)
	}
}

func nearer(dst, gap, x []float64, d, n int, m, w []float64) (sum float64) {
	switch level {
	case avx512:
		nearerAVX512(&dst[0], &gap[0], &x[0], d, n, &m[0], &w[0], &sum)
	case avx2:
		nearerAVX2(&dst[0], &gap[0], &x[0], d, n, &m[0], &w[0], &sum)
	default:
		return nearerPortable(dst, gap, x, d, n, m, w)
	}
	return sum
}
