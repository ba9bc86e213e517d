//go:build !noasm && !gccgo

package simd

import (
	"math"

	"golang.org/x/sys/cpu"
)

// level is what the processor and the operating system support; tests lower it.
var level = detect()

func detect() instructions {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT:
		return avx512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasPOPCNT:
		return avx2
	}
	return portable
}

func exp(dst, src []float64) {
	switch level {
	case avx512:
		expAVX512(&dst[0], &src[0], len(src))
	case avx2:
		expAVX2(&dst[0], &src[0], len(src))
	default:
		expPortable(dst, src)
	}
}

func log(dst, src []float64) {
	switch level {
	case avx512:
		logAVX512(&dst[0], &src[0], len(src))
	case avx2:
		logAVX2(&dst[0], &src[0], len(src))
	default:
		logPortable(dst, src)
	}
}

func softmax(v []float64, k, n int, logSum, entropy []float64) {
	switch level {
	case avx512:
		softmaxAVX512(&v[0], k, n, &logSum[0], &entropy[0])
	case avx2:
		softmaxAVX2(&v[0], k, n, &logSum[0], &entropy[0])
	default:
		softmaxPortable(v, k, n, logSum, entropy)
	}
}

func finite(x []float64) bool {
	sum := 0.0
	switch level {
	case avx512:
		finiteAVX512(&x[0], len(x), &sum)
	case avx2:
		finiteAVX2(&x[0], len(x), &sum)
	default:
		return finitePortable(x)
	}
	return sum == 0
}

func columns(dst, x []float64, n, d, padded, stride int) bool {
	sum := 0.0
	switch {
	case level == portable || d < 2:
		return columnsPortable(dst, x, n, d, padded, stride)
	case level == avx512:
		columnsAVX512(&dst[0], &x[0], n, d, padded, stride, &sum)
	default:
		columnsAVX2(&dst[0], &x[0], n, d, padded, stride, &sum)
	}
	return sum == 0
}

func within(list []int32, a, b []float64, gap float64) int {
	switch level {
	case avx512:
		return withinAVX512(&list[0], &a[0], &b[0], len(a), gap)
	case avx2:
		return withinAVX2(&list[0], &a[0], &b[0], len(a), gap)
	default:
		return withinPortable(list, a, b, gap)
	}
}

// gather copies some number of the first rows, which it returns.
func gather(dst, x []float64, d, n, padded int, list []int32) (count int) {
	if count = len(list) &^ 3; count == 0 || level == portable {
		return 0
	}
	if level == avx512 {
		gatherAVX512(&dst[0], &x[0], d, n, padded, &list[0], count)
	} else {
		gatherAVX2(&dst[0], &x[0], d, n, padded, &list[0], count)
	}
	return count
}

func raise(dst, v []float64) {
	switch level {
	case avx512:
		raiseAVX512(&dst[0], &v[0], len(v))
	case avx2:
		raiseAVX2(&dst[0], &v[0], len(v))
	default:
		raisePortable(dst, v)
	}
}

func factorise(u, inverse, margin []float64, m, side int, share float64) {
	switch level {
	case avx512:
		factoriseAVX512(&u[0], &inverse[0], &margin[0], m, side, share)
	case avx2:
		factoriseAVX2(&u[0], &inverse[0], &margin[0], m, side, share)
	default:
		factorisePortable(u, inverse, margin, m, side, share)
	}
}

func solve(v, u, inverse []float64, m, side, n int) {
	switch level {
	case avx512:
		solveAVX512(&v[0], &u[0], &inverse[0], m, side, n)
	case avx2:
		solveAVX2(&v[0], &u[0], &inverse[0], m, side, n)
	default:
		solvePortable(v, u, inverse, m, side, n)
	}
}

func invert(u, inverse []float64, m, side int) {
	switch level {
	case avx512:
		invertAVX512(&u[0], &inverse[0], m, side)
	case avx2:
		invertAVX2(&u[0], &inverse[0], m, side)
	default:
		invertPortable(u, inverse, m, side)
	}
}

func rotate(v, w []float64, c, s float64) {
	switch level {
	case avx512:
		rotateAVX512(&v[0], &w[0], len(v), c, s)
	case avx2:
		rotateAVX2(&v[0], &w[0], len(v), c, s)
	default:
		rotatePortable(v, w, c, s)
	}
}

func logComplement(q []float64) float64 {
	var mantissas [Lanes]float64
	var exponents [Lanes]int
	lanes := Lanes
	switch level {
	case avx512:
		complementAVX512(&q[0], len(q), &mantissas, &exponents)
	case avx2:
		lanes = 4
		complementAVX2(&q[0], len(q), &mantissas, &exponents)
	default:
		return logComplementPortable(q)
	}
	product, exponent := 1.0, -1023*len(q)
	for i := range lanes {
		product *= mantissas[i] // below 2⁸ in the end
		exponent += exponents[i]
	}
	return math.Log(product) + float64(exponent)*math.Ln2
}

func inner(x, y []float64) (sum float64) {
	switch level {
	case avx512:
		innerAVX512(&x[0], &y[0], len(x), &sum)
	case avx2:
		innerAVX2(&x[0], &y[0], len(x), &sum)
	default:
		return innerPortable(x, y)
	}
	return sum
}

func addTimes(alpha float64, x, y []float64) {
	switch level {
	case avx512:
		addTimesAVX512(alpha, &x[0], &y[0], len(x))
	case avx2:
		addTimesAVX2(alpha, &x[0], &y[0], len(x))
	default:
		addTimesPortable(alpha, x, y)
	}
}

func widen(dst []float64, src []float32) bool {
	sum := 0.0
	switch level {
	case avx512:
		widenAVX512(&dst[0], &src[0], len(src), &sum)
	case avx2:
		widenAVX2(&dst[0], &src[0], len(src), &sum)
	default:
		return widenPortable(dst, src)
	}
	return sum == 0
}

func gaussianScores(dst, x []float64, d, n int, c float64, m, root []float64, width int, work []float64) {
	switch level {
	case avx512:
		gaussianScoresAVX512(&dst[0], &x[0], d, n, c, &m[0], &root[0], width, &work[0])
	case avx2:
		gaussianScoresAVX2(&dst[0], &x[0], d, n, c, &m[0], &root[0], width, &work[0])
	default:
		gaussianScoresPortable(dst, x, d, n, c, m, root, width, work)
	}
}

func diagonalScores(dst, x []float64, d, n int, c float64, m, h []float64) {
	switch level {
	case avx512:
		diagonalScoresAVX512(&dst[0], &x[0], d, n, c, &m[0], &h[0])
	case avx2:
		diagonalScoresAVX2(&dst[0], &x[0], d, n, c, &m[0], &h[0])
	default:
		diagonalScoresPortable(dst, x, d, n, c, m, h)
	}
}

func diagonalMoments(first, second, x []float64, d, n int, anchor, w []float64) {
	switch level {
	case avx512:
		diagonalMomentsAVX512(&first[0], &second[0], &x[0], d, n, &anchor[0], &w[0])
	case avx2:
		diagonalMomentsAVX2(&first[0], &second[0], &x[0], d, n, &anchor[0], &w[0])
	default:
		diagonalMomentsPortable(first, second, x, d, n, anchor, w)
	}
}

func gaussianMoments(first, second, x []float64, d, n int, anchor, w, work []float64) float64 {
	switch level {
	case avx512:
		return momentsInBlocks(4, deviationsAVX512, productsAVX512, first, second, x, d, n, anchor, w, work)
	case avx2:
		return momentsInBlocks(2, deviationsAVX2, productsAVX2, first, second, x, d, n, anchor, w, work)
	default:
		return gaussianMomentsPortable(first, second, x, d, n, anchor, w, work)
	}
}

func tileSize() (high, wide int) {
	if level == avx512 {
		return 8, 24
	}
	return 4, 12
}

// tileColumns is how many of the columns left the next tile has.
func tileColumns(left int) int {
	switch {
	case level == avx512:
		return min(left, 24)
	case left >= 12:
		return 12
	}
	return min(left, 8)
}

func tile(c *float64, cRow int, a *float64, aRow, aColumn int, b *float64, bRow, rows, columns, k int, alpha float64) {
	switch level {
	case avx512:
		tileAVX512(c, cRow, a, aRow, aColumn, b, bRow, rows, columns, k, alpha)
	case avx2:
		tileAVX2(c, cRow, a, aRow, aColumn, b, bRow, rows, columns, k, alpha)
	}
}
