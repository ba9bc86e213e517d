//go:build !noasm && !gccgo

package simd

func reassign(
	q, old []float32, n, one, alpha, beta, floor float64, mine, words, tokens, work []float64,
) {
	sum := 0.0
	switch level {
	case avx512:
		reassignAVX512(&q[0], &old[0], len(q), n, one, alpha, beta, floor, &mine[0], &words[0], &tokens[0], &work[0], &sum)
	case avx2:
		reassignAVX2(&q[0], &old[0], len(q), n, one, alpha, beta, floor, &mine[0], &words[0], &tokens[0], &work[0], &sum)
	default:
		reassignPortable(q, old, n, one, alpha, beta, floor, mine, words, tokens, work)
	}
}

func tally(q []float32, n, weight float64, mine, squares, sum, square []float64) (total float64) {
	switch level {
	case avx512:
		tallyAVX512(&q[0], len(q), n, weight, &mine[0], &squares[0], &sum[0], &square[0], &total)
	case avx2:
		tallyAVX2(&q[0], len(q), n, weight, &mine[0], &squares[0], &sum[0], &square[0], &total)
	default:
		return tallyPortable(q, n, weight, mine, squares, sum, square)
	}
	return total
}
