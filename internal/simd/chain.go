package simd

// Forward makes filtered probabilities of a hidden Markov model: row t of alpha is p∘e_t divided by its sum, which goes
// into scale, where p is entry at first and then the row before times move. Rows have Padded(k) numbers, of which all
// from k on are 0, and so has move, Padded(k)×Padded(k) row-major. It stops at the first of n rows whose sum is not
// above least, or NaN, and returns how many rows come before it.
func Forward(alpha, e, scale, entry, move []float64, k, n int, least float64) (done int) {
	side := Padded(k)
	need("alpha", alpha, n*side)
	need("e", e, n*side)
	need("scale", scale, n)
	need("entry", entry, side)
	need("move", move, side*side)
	if n < 1 {
		return 0
	}
	return forward(alpha, e, scale, entry, move, k, n, least)
}

// Backward makes smoothed probabilities of filtered ones, row by row from the last: gamma_t is alpha_t∘beta, e_t
// becomes e_t∘beta divided by scale_t, and beta that row times back. The sizes are those of [Forward].
func Backward(e, alpha, gamma, scale, beta, back []float64, k, n int) {
	side := Padded(k)
	need("e", e, n*side)
	need("alpha", alpha, n*side)
	need("gamma", gamma, n*side)
	need("scale", scale, n)
	need("beta", beta, side)
	need("back", back, side*side)
	if n > 0 {
		backward(e, alpha, gamma, scale, beta, back, k, n)
	}
}

// ---- The reference

func forwardPortable(alpha, e, scale, entry, move []float64, k, n int, least float64) int {
	side, quads := Padded(k), (k+3)&^3
	var room [64]float64
	next := room[:]
	if side > len(next) {
		next = make([]float64, side)
	}
	predicted := entry[:quads]
	for t := range n {
		at, filtered := e[t*side:][:quads], alpha[t*side:][:quads]
		sum := 0.0
		for j, p := range predicted {
			v := p * at[j]
			filtered[j] = v
			sum += v
		}
		if scale[t] = sum; !(sum > least) {
			return t
		}
		inverse := 1 / sum
		for j := range filtered {
			filtered[j] *= inverse
		}
		clear(alpha[t*side+quads : (t+1)*side])
		advance(next, filtered[:k], move, side)
		predicted = next[:quads]
	}
	return n
}

func backwardPortable(e, alpha, gamma, scale, beta, back []float64, k, n int) {
	side, quads := Padded(k), (k+3)&^3
	beta = beta[:quads]
	for t := n - 1; t >= 0; t-- {
		at, filtered, smooth := e[t*side:][:quads], alpha[t*side:][:quads], gamma[t*side:][:quads]
		inverse := 1 / scale[t]
		for j, b := range beta {
			smooth[j] = filtered[j] * b
			at[j] *= b * inverse
		}
		clear(gamma[t*side+quads : (t+1)*side])
		advance(beta, at[:k], back, side)
	}
}

// Advance puts v times a matrix of Padded(len(v)) columns into dst, filled up with zeros to a multiple of 4.
func Advance(dst, v, matrix []float64) { advance(dst, v, matrix, Padded(len(v))) }

func advance(dst, v, matrix []float64, side int) {
	for j := 0; j < len(v); j += 4 {
		var s0, s1, s2, s3 float64
		place := j
		for _, x := range v {
			row := (*[4]float64)(matrix[place:])
			s0 += x * row[0]
			s1 += x * row[1]
			s2 += x * row[2]
			s3 += x * row[3]
			place += side
		}
		to := (*[4]float64)(dst[j:])
		to[0], to[1], to[2], to[3] = s0, s1, s2, s3
	}
}
