package simd

import "math"

// Reassign makes the probabilities q of topics for n equal tokens from those before, old, by collapsed variational
// inference of zeroth order, where one token is subtracted from each count,
//
//	q_k ∝ (alpha + mine_k − old_k)(beta + words_k − old_k)/(floor + tokens_k − old_k),
//
// less than one where n is; differences are at least 0. It moves the document's counts mine along, and needs work for
// as many numbers.
func Reassign(q, old []float32, n, alpha, beta, floor float64, mine, words, tokens, work []float64) {
	k := len(q)
	if len(old) != k {
		panic("simd: old and new probabilities differ in number")
	}
	for _, s := range [][]float64{mine, words, tokens, work} {
		need("a count of topics", s, k)
	}
	if k > 0 {
		reassign(q, old, n, min(n, 1), alpha, beta, floor, mine, words, tokens, work)
	}
}

// Tally adds the expected counts of n equal tokens with the probabilities q of topics, n·q, to mine and, times weight,
// to sum, and n·q² to squares and square. It returns Σ q ln q.
func Tally(q []float32, n, weight float64, mine, squares, sum, square []float64) (total float64) {
	for _, s := range [][]float64{mine, squares, sum, square} {
		need("a count of topics", s, len(q))
	}
	if len(q) == 0 {
		return 0
	}
	return tally(q, n, weight, mine, squares, sum, square)
}

// nothing is added to a probability, whose logarithm then is finite.
const nothing = 1e-300

// ---- The reference

func reassignPortable(
	q, old []float32, n, one, alpha, beta, floor float64, mine, words, tokens, work []float64,
) {
	old, mine, words, tokens, work = old[:len(q)], mine[:len(q)], words[:len(q)], tokens[:len(q)], work[:len(q)]
	sum := 0.0
	for j, v := range old {
		out := one * float64(v) // differences are below 0 by rounding, or before the first sums of q
		w := (alpha + max(0, mine[j]-out)) * (beta + max(0, words[j]-out)) / (floor + max(0, tokens[j]-out))
		work[j] = w
		sum += w
	}
	scale := 1 / sum
	for j, w := range work {
		v := float32(w * scale)
		mine[j] += n * (float64(v) - float64(old[j]))
		q[j] = v
	}
}

func tallyPortable(q []float32, n, weight float64, mine, squares, sum, square []float64) (total float64) {
	mine, squares, sum, square = mine[:len(q)], squares[:len(q)], sum[:len(q)], square[:len(q)]
	for j, f := range q {
		v := float64(f)
		expected := n * v
		squared := expected * v
		mine[j] += expected
		squares[j] += squared
		sum[j] += weight * expected
		square[j] += weight * squared
		total += v * math.Log(v+nothing)
	}
	return total
}
