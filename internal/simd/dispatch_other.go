//go:build !amd64 || noasm || gccgo

package simd

var level = portable

func exp(dst, src []float64) { expPortable(dst, src) }

func log(dst, src []float64) { logPortable(dst, src) }

func softmax(v []float64, k, n int, logSum, entropy []float64) {
	softmaxPortable(v, k, n, logSum, entropy)
}

func finite(x []float64) bool { return finitePortable(x) }

func columns(dst, x []float64, n, d, padded, stride int) bool {
	return columnsPortable(dst, x, n, d, padded, stride)
}

func within(list []int32, a, b []float64, gap float64) int {
	return withinPortable(list, a, b, gap)
}

func gather(_, _ []float64, _, _, _ int, _ []int32) int { return 0 }

func raise(dst, v []float64) { raisePortable(dst, v) }

func factorise(u, inverse, margin []float64, m, side int, share float64) {
	factorisePortable(u, inverse, margin, m, side, share)
}

func solve(v, u, inverse []float64, m, side, n int) { solvePortable(v, u, inverse, m, side, n) }

func invert(u, inverse []float64, m, side int) { invertPortable(u, inverse, m, side) }

func rotate(v, w []float64, c, s float64) { rotatePortable(v, w, c, s) }

func logComplement(q []float64) float64 { return logComplementPortable(q) }

func rising(mean, squares []float64, a, log, logGamma float64) float64 {
	return risingPortable(mean, squares, a, log, logGamma)
}

func inner(x, y []float64) float64 { return innerPortable(x, y) }

func addTimes(alpha float64, x, y []float64) { addTimesPortable(alpha, x, y) }

func widen(dst []float64, src []float32) bool { return widenPortable(dst, src) }

func gaussianScores(dst, x []float64, d, n int, c float64, m, root []float64, width int, work []float64) {
	gaussianScoresPortable(dst, x, d, n, c, m, root, width, work)
}

func diagonalScores(dst, x []float64, d, n int, c float64, m, h []float64) {
	diagonalScoresPortable(dst, x, d, n, c, m, h)
}

func diagonalMoments(first, second, x []float64, d, n int, anchor, w []float64) {
	diagonalMomentsPortable(first, second, x, d, n, anchor, w)
}

func gaussianMoments(first, second, x []float64, d, n int, anchor, w, work []float64) float64 {
	return gaussianMomentsPortable(first, second, x, d, n, anchor, w, work)
}

func product(_, _, _ int, _ float64, _, _ operand, _ float64, _ []float64, _ int, _ bool) {
	panic("simd: no assembly")
}

func bits(x []float64, n, d, stride int) bool { return bitsPortable(x, n, d, stride) }

func rowScores(dst, x []float64, n, d, stride int, eta []float64, k, etaStride int) {
	rowScoresPortable(dst, x, n, d, stride, eta, k, etaStride)
}

func nearer(dst, gap, x []float64, d, n int, m, w []float64) (sum float64) {
	return nearerPortable(dst, gap, x, d, n, m, w)
}

func forward(alpha, e, scale, entry, move []float64, k, n int, least float64) int {
	return forwardPortable(alpha, e, scale, entry, move, k, n, least)
}

func backward(e, alpha, gamma, scale, beta, back []float64, k, n int) {
	backwardPortable(e, alpha, gamma, scale, beta, back, k, n)
}

func reassign(q, old []float32, columns []int, counts []float64, alpha, beta, floor float64,
	mine, words, tokens, work []float64) {
	reassignPortable(q, old, columns, counts, alpha, beta, floor, mine, words, tokens, work)
}

func tally(
	q []float32, columns []int, counts []float64, weight float64, mine, squares, sum, square []float64,
) float64 {
	return tallyPortable(q, columns, counts, weight, mine, squares, sum, square)
}
