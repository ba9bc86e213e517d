package simd

import "math"

// Reassign makes the probabilities q of topics for the entries of a document, from those before, old, both entries×k,
// by collapsed variational inference of zeroth order, where one token is subtracted from each count,
//
//	q_k ∝ (alpha + mine_k − old_k)(beta + words_k − old_k)/(floor + tokens_k − old_k),
//
// less than one where an entry has less; differences are at least 0. Entries are of the words columns, with these
// counts of tokens, nil for 1; words has a row of k numbers for each word. It moves the document's counts mine along,
// entry after entry, and needs work for k numbers.
func Reassign(q, old []float32, columns []int, counts []float64, alpha, beta, floor float64,
	mine, words, tokens, work []float64) {
	k := len(mine)
	document(q, columns, counts, k, words)
	if len(old) != len(q) {
		panic("simd: old and new probabilities differ in number")
	}
	need("tokens", tokens, k)
	need("work", work, k)
	if len(q) > 0 {
		reassign(q, old, columns, counts, alpha, beta, floor, mine, words, tokens, work)
	}
}

// Tally adds the expected counts of a document's tokens with the probabilities q of topics, n·q, to mine and, times
// weight, to the words' rows of sum, and n·q² to squares and the rows of square. It returns Σ n q ln q. Entries are
// those of [Reassign].
func Tally(q []float32, columns []int, counts []float64, weight float64, mine, squares, sum, square []float64) (
	total float64) {
	k := len(mine)
	document(q, columns, counts, k, sum, square)
	need("squares", squares, k)
	if len(q) == 0 {
		return 0
	}
	return tally(q, columns, counts, weight, mine, squares, sum, square)
}

// document panics unless entries and matrices go together.
func document(q []float32, columns []int, counts []float64, k int, words ...[]float64) {
	if len(q) != len(columns)*k || counts != nil && len(counts) != len(columns) {
		panic("simd: the entries of a document differ in number")
	}
	least := len(words[0])
	for _, m := range words {
		least = min(least, len(m))
	}
	for _, w := range columns {
		if w < 0 || (w+1)*k > least {
			panic("simd: a word has no row")
		}
	}
}

// tokensOf is the number of tokens of entry e.
func tokensOf(counts []float64, e int) float64 {
	if counts == nil {
		return 1
	}
	return counts[e]
}

// nothing is added to a probability, whose logarithm then is finite.
const nothing = 1e-300

// ---- The reference

func reassignPortable(q, old []float32, columns []int, counts []float64, alpha, beta, floor float64,
	mine, words, tokens, work []float64) {
	k := len(mine)
	tokens, work = tokens[:k], work[:k]
	for e, w := range columns {
		n, now, before, words := tokensOf(counts, e), q[e*k:(e+1)*k], old[e*k:(e+1)*k], words[w*k:(w+1)*k]
		one, sum := min(n, 1), 0.0
		for j, v := range before {
			out := one * float64(v) // differences are below 0 by rounding, or before the first sums of q
			w := (alpha + max(0, mine[j]-out)) * (beta + max(0, words[j]-out)) / (floor + max(0, tokens[j]-out))
			work[j] = w
			sum += w
		}
		scale := 1 / sum
		for j, w := range work {
			v := float32(w * scale)
			mine[j] += n * (float64(v) - float64(before[j]))
			now[j] = v
		}
	}
}

func tallyPortable(
	q []float32, columns []int, counts []float64, weight float64, mine, squares, sum, square []float64,
) (total float64) {
	k := len(mine)
	squares = squares[:k]
	for e, w := range columns {
		n, h, sum, square := tokensOf(counts, e), 0.0, sum[w*k:(w+1)*k], square[w*k:(w+1)*k]
		for j, f := range q[e*k : (e+1)*k] {
			v := float64(f)
			expected := n * v
			squared := expected * v
			mine[j] += expected
			squares[j] += squared
			sum[j] += weight * expected
			square[j] += weight * squared
			h += v * math.Log(v+nothing)
		}
		total += n * h
	}
	return total
}
