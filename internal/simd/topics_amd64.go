//go:build !noasm && !gccgo

package simd

import "unsafe"

func reassign(q, old []float32, columns []int, counts []float64, alpha, beta, floor float64,
	mine, words, tokens, work []float64) {
	sum, n, k := 0.0, len(columns), len(mine)
	switch level {
	case avx512:
		reassignAVX512(&q[0], &old[0], &columns[0], unsafe.SliceData(counts), n, k, alpha, beta, floor, &mine[0], &words[0],
			&tokens[0], &work[0], &sum)
	case avx2:
		reassignAVX2(&q[0], &old[0], &columns[0], unsafe.SliceData(counts), n, k, alpha, beta, floor, &mine[0], &words[0],
			&tokens[0], &work[0], &sum)
	default:
		reassignPortable(q, old, columns, counts, alpha, beta, floor, mine, words, tokens, work)
	}
}

func rising(mean, squares []float64, a, log, logGamma float64) (sum float64) {
	switch level {
	case avx512:
		risingAVX512(&mean[0], &squares[0], len(mean), a, log, logGamma, &sum)
	case avx2:
		risingAVX2(&mean[0], &squares[0], len(mean), a, log, logGamma, &sum)
	default:
		return risingPortable(mean, squares, a, log, logGamma)
	}
	return sum
}

func tally(
	q []float32, columns []int, counts []float64, weight float64, mine, squares, sum, square []float64,
) (total float64) {
	n, k := len(columns), len(mine)
	switch level {
	case avx512:
		tallyAVX512(&q[0], &columns[0], unsafe.SliceData(counts), n, k, weight, &mine[0], &squares[0], &sum[0], &square[0],
			&total)
	case avx2:
		tallyAVX2(&q[0], &columns[0], unsafe.SliceData(counts), n, k, weight, &mine[0], &squares[0], &sum[0], &square[0],
			&total)
	default:
		return tallyPortable(q, columns, counts, weight, mine, squares, sum, square)
	}
	return total
}
