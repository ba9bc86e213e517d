package hmm

import (
	"math"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// A chain is the Markov chain of a local step: the factors that a path's density has of its first state and of its
// moves. They are probabilities less the tilt, or exponentials of expected logarithms, and need not sum to 1.
type chain struct {
	k, side int // states, and the length of their vectors: k filled up with zeros to a multiple of simd.Lanes

	start, logStart []float64 // side; k
	move, back      []float64 // k×side: of the move from i to j, and its transpose
	logMove         []float64 // k×k; −Inf of a move that is impossible
}

func newChain(k int) chain {
	side := simd.Padded(k)
	return chain{k: k, side: side, start: make([]float64, side), logStart: make([]float64, k),
		move: make([]float64, k*side), back: make([]float64, k*side), logMove: make([]float64, k*k)}
}

// set makes the factors from logStart and logMove, less what leaving a state loses.
func (c *chain) set(leaving []float64) {
	for i := range c.k {
		c.start[i] = math.Exp(c.logStart[i])
		for j := range c.k {
			at := i*c.k + j
			c.logMove[at] -= leaving[i]
			v := math.Exp(c.logMove[at])
			c.move[i*c.side+j], c.back[j*c.side+i] = v, v
		}
	}
}

// quads is k filled up to a multiple of 4, which loops are unrolled by.
func (c *chain) quads() int { return (c.k + 3) &^ 3 }

// advance puts v·m into dst, for k numbers and a k×side matrix.
func (c *chain) advance(dst, v, m []float64) {
	v = v[:c.k]
	for j := 0; j < c.k; j += 4 {
		var s0, s1, s2, s3 float64
		at := j
		for _, x := range v {
			row := (*[4]float64)(m[at:])
			s0 += x * row[0]
			s1 += x * row[1]
			s2 += x * row[2]
			s3 += x * row[3]
			at += c.side
		}
		to := (*[4]float64)(dst[j:])
		to[0], to[1], to[2], to[3] = s0, s1, s2, s3
	}
}

// leastScale is the density of a step given those before it, relative to the most likely state's, below which scaled
// numbers may underflow: such sequences are treated by logarithms.
const leastScale = 1e-200

// forward makes α_t = p(z_t|x_1…x_t), n×side, from the densities e of the steps, n×side, and the probabilities of the
// first state (Rabiner 1989, section V.A). scale are p(x_t|x_1…x_t−1) in the units of e. next (side) is scratch. It
// returns false where that is too small.
func (c *chain) forward(e, alpha, scale, entry, next []float64, n int) bool {
	quads := c.quads()
	predicted := entry[:quads]
	for t := range n {
		at, filtered := e[t*c.side:][:quads], alpha[t*c.side:][:quads]
		sum := 0.0
		for j, p := range predicted {
			v := p * at[j]
			filtered[j] = v
			sum += v
		}
		if !(sum > leastScale) {
			return false
		}
		scale[t] = sum
		inverse := 1 / sum
		for j := range filtered {
			filtered[j] *= inverse
		}
		c.advance(next, filtered, c.move)
		predicted = next[:quads]
	}
	return true
}

// backward makes γ_t = p(z_t|x), n×side, and turns e into what follows a state, e_t β_t/scale_t, so that
// ξ_t−1,t(i,j) = α_t−1(i) move(i,j) e_t(j); that of the first step becomes 0. beta (side) is that after the last step,
// and is overwritten. It returns Σ γ of the first step, which is 1 but for rounding, unless numbers overflow.
func (c *chain) backward(e, alpha, gamma, scale, beta []float64, n int) (total float64) {
	quads := c.quads()
	beta = beta[:quads]
	for t := n - 1; t >= 0; t-- {
		at, filtered, smooth := e[t*c.side:][:quads], alpha[t*c.side:][:quads], gamma[t*c.side:][:quads]
		inverse := 1 / scale[t]
		total = 0
		for j, b := range beta {
			v := filtered[j] * b
			smooth[j] = v
			total += v
			at[j] *= b * inverse
		}
		if t > 0 {
			c.advance(beta, at, c.back)
		}
	}
	clear(e[:quads])
	return total
}

// logSumExp is ln Σ exp(v), −Inf where all are.
func logSumExp(v []float64) float64 {
	top := math.Inf(-1)
	for _, x := range v {
		top = max(top, x)
	}
	if math.IsInf(top, -1) || top-top != 0 {
		return top
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	return top + math.Log(sum)
}

// logForward is forward by logarithms: α_t up to a common factor, of which row t of dst (n×k) has the logarithm, from
// scores, the log densities, k×padded.
func (c *chain) logForward(dst, scores, entry []float64, padded, first, n int) {
	terms := make([]float64, c.k)
	for t := range n {
		row := at(dst, t, c.k)
		for j := range c.k {
			predicted := entry[j]
			if t > 0 {
				for i, v := range at(dst, t-1, c.k) {
					terms[i] = v + c.logMove[i*c.k+j]
				}
				predicted = logSumExp(terms)
			}
			row[j] = predicted + scores[j*padded+first+t]
		}
	}
}

// logBackward is β_t by logarithms, n×k, from those after the last step.
func (c *chain) logBackward(dst, scores, exit []float64, padded, first, n int) {
	terms := make([]float64, c.k)
	copy(at(dst, n-1, c.k), exit)
	for t := n - 2; t >= 0; t-- {
		after, row := at(dst, t+1, c.k), at(dst, t, c.k)
		for i := range c.k {
			for j, v := range after {
				terms[j] = c.logMove[i*c.k+j] + scores[j*padded+first+t+1] + v
			}
			row[i] = logSumExp(terms)
		}
	}
}

// before puts ln Σ_j move(i,j) exp(after_j) of each state i into dst.
func (c *chain) before(dst, after, terms []float64) {
	for i := range c.k {
		for j, v := range after {
			terms[j] = c.logMove[i*c.k+j] + v
		}
		dst[i] = logSumExp(terms[:c.k])
	}
}

// at cuts one row out of a matrix of n columns.
func at(v []float64, row, n int) []float64 { return v[row*n : (row+1)*n] }

// logOf puts logarithms of probabilities into dst, and returns it.
func logOf(dst, p []float64) []float64 {
	dst = linalg.Resize(dst, len(p))
	for i, v := range p {
		dst[i] = math.Log(v)
	}
	return dst
}
