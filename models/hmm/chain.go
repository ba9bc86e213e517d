package hmm

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// A chain is the Markov chain of a local step: the factors that a path's density has of its first state and of its
// moves. They are probabilities less the tilt, or exponentials of expected logarithms, and need not sum to 1.
type chain struct {
	k, side int // states, and the length of their vectors: k filled up with zeros to a multiple of simd.Lanes

	start, logStart []float64 // side; k
	move, back      []float64 // side×side: of the move from i to j, and its transpose
	logMove         []float64 // k×k; −Inf of a move that is impossible
	gates           gates     // of moves that depend on covariates: these take the place of the others
}

func newChain(k int) chain {
	side := simd.Padded(k)
	return chain{k: k, side: side, start: make([]float64, side), logStart: make([]float64, k),
		move: make([]float64, side*side), back: make([]float64, side*side), logMove: make([]float64, k*k)}
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

// copy takes over the numbers of another chain of as many states.
func (c *chain) copy(o *chain) {
	copy(c.start, o.start)
	copy(c.logStart, o.logStart)
	copy(c.move, o.move)
	copy(c.back, o.back)
	copy(c.logMove, o.logMove)
	c.gates = o.gates
}

// leastScale is the density of a step given those before it, relative to the most likely state's, below which scaled
// numbers may underflow: such sequences are treated by logarithms.
const leastScale = 1e-200

// forward makes α_t = p(z_t|x_1…x_t), n×side, from the densities e of the steps, n×side, and the probabilities of the
// first state (Rabiner 1989, section V.A). scale are p(x_t|x_1…x_t−1) in the units of e. It returns false where that is
// too small. The first step is step first of the window.
func (c *chain) forward(w *window, first int, e, alpha, scale, entry []float64, n int) bool {
	if c.gated() {
		return c.forwardGated(w, first, e, alpha, scale, entry, n)
	}
	return simd.Forward(alpha, e, scale, entry, c.move, c.k, n, leastScale) == n
}

// backward makes γ_t = p(z_t|x), n×side, and turns e into what follows a state, e_t β_t/scale_t, so that
// ξ_t−1,t(i,j) = α_t−1(i) move(i,j) e_t(j); that of the first step becomes 0. beta (side) is that after the last step,
// and is overwritten. It reports whether numbers stay in range: Σ γ of the first step then is 1.
func (c *chain) backward(w *window, first int, e, alpha, gamma, scale, beta []float64, n int) bool {
	if c.gated() {
		c.backwardGated(w, first, e, alpha, gamma, scale, beta, n)
	} else {
		simd.Backward(e, alpha, gamma, scale, beta, c.back, c.k, n)
	}
	clear(e[:c.side])
	return math.Abs(floats.Sum(gamma[:c.k])-1) < 1e-6
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

// logForward is forward by logarithms: row t of dst (n×k) is ln α_t of step first + t of the window. It returns the
// logarithm of the density of all steps. Each row sums to 1, so that long sequences do not lose digits.
func (c *chain) logForward(w *window, dst, entry []float64, first, n int) (log float64) {
	terms := make([]float64, c.k)
	for t := range n {
		row, moves := at(dst, t, c.k), []float64(nil)
		if t > 0 {
			moves = c.logMoves(w, first+t)
		}
		for j := range c.k {
			predicted := entry[j]
			if t > 0 {
				for i, v := range at(dst, t-1, c.k) {
					terms[i] = v + moves[i*c.k+j]
				}
				predicted = logSumExp(terms)
			}
			row[j] = predicted + w.scores[j*w.padded+first+t]
		}
		total := logSumExp(row)
		floats.AddConst(-total, row)
		log += total
	}
	return log
}

// logBackward is ln β_t, n×k, each row up to a constant, from that after the last step.
func (c *chain) logBackward(w *window, dst, exit []float64, first, n int) {
	terms := make([]float64, c.k)
	copy(at(dst, n-1, c.k), exit)
	for t := n - 2; t >= 0; t-- {
		after, row, moves := at(dst, t+1, c.k), at(dst, t, c.k), c.logMoves(w, first+t+1)
		for i := range c.k {
			for j, v := range after {
				terms[j] = moves[i*c.k+j] + w.scores[j*w.padded+first+t+1] + v
			}
			row[i] = logSumExp(terms)
		}
		floats.AddConst(-floats.Max(row), row)
	}
}

// before puts ln Σ_j move(i,j) exp(after_j) of each state i into dst, of the moves after the window.
func (c *chain) before(w *window, dst, after, terms []float64) {
	moves := c.logMoves(w, w.n)
	for i := range c.k {
		for j, v := range after {
			terms[j] = moves[i*c.k+j] + v
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
