package hmm

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// windowSteps is the number of steps of short sequences that are looked at together.
const windowSteps = 256

// A window is a number of neighbouring steps that are looked at together, some sequences or a part of a long one, with
// what is computed of them: the memory is that of the next window, too.
type window struct {
	first, n, padded int // steps of the block

	scores []float64 // K×padded: log densities less the tilt
	shift  []float64 // padded: what is taken off them in e
	e      []float64 // padded×side: densities relative to exp(shift), then what follows a state (see chain.backward)
	alpha  []float64 // padded×side: filtered probabilities; in the end the smoothed ones, K×padded
	gamma  []float64 // padded×side: smoothed probabilities
	scale  []float64 // padded: p(x_t|x_1…x_t−1) relative to exp(shift)
	weight []float64 // padded: of the steps, where one is not 1; empty otherwise

	next, beta []float64 // side
	exit       []float64 // K: what follows the last step, of a part
	border     []float64 // 2×K×K: scratch of the move over it
	moves      []float64 // K×K: Σ w ξ of the window
	starts     []float64 // K: Σ w γ of first steps
	logDensity float64   // Σ w ln p(x), less the tilt and without ln h(x)
	rows       []int     // first step of each sequence, from the window's first
	own        []float64 // ln p(x) of each, likewise
	course     course    // moves that depend on covariates
}

// resize makes room for n steps and k states.
func (w *window) resize(c *chain, first, n int) {
	w.first, w.n, w.padded = first, n, simd.Padded(n)
	w.scores = linalg.Resize(w.scores, w.padded*c.k)
	w.shift, w.scale = linalg.Resize(w.shift, w.padded), linalg.Resize(w.scale, w.padded)
	size := w.padded * c.side
	w.e, w.alpha, w.gamma = linalg.Resize(w.e, size), linalg.Resize(w.alpha, size), linalg.Resize(w.gamma, size)
	w.next, w.beta = linalg.Resize(w.next, c.side), linalg.Resize(w.beta, c.side)
	w.moves, w.starts = linalg.Resize(w.moves, c.k*c.k), linalg.Resize(w.starts, c.k)
	w.exit, w.border = linalg.Resize(w.exit, c.k), linalg.Resize(w.border, 2*c.k*c.k)
	clear(w.moves)
	clear(w.starts)
	w.logDensity, w.weight, w.rows, w.own = 0, w.weight[:0], w.rows[:0], w.own[:0]
}

// read observes the steps of a window and computes their densities.
func (s *Statistics) read(b blocks.Rows, first, n int) error {
	w, c := s.window, &s.chain
	w.resize(c, first, n)
	seen := b
	if c.gated() {
		if err := c.course(&w.course, b, first, n); err != nil {
			return err
		}
		seen = b.Columns(c.gates.own)
	}
	if err := s.Classes.Observe(seen, first, n); err != nil {
		return err
	}
	for k, v := range s.tilt {
		linalg.Fill(at(w.scores, k, w.padded), -v)
	}
	s.Classes.AddScores(w.scores)
	known.Of(s.plan).Exclude(w.scores)
	relative := w.gamma[:w.padded*c.k]
	copy(relative, w.scores)
	simd.Softmax(relative, c.k, w.padded, w.shift, w.scale)
	if !simd.Finite(w.shift[:n]) {
		return s.remote(b, slices.IndexFunc(w.shift[:n], func(v float64) bool { return v-v != 0 }))
	}
	simd.Columns(w.e, relative, c.k, w.padded, w.padded)
	return nil
}

// remote is the error of a step of the window that no state can have, as far as float64 can say.
func (s *Statistics) remote(b blocks.Rows, i int) error {
	if err := s.Classes.Explain(i); err != nil {
		return err
	}
	return blocks.FaultyRow(b.First+s.window.first+i,
		"is so far from every state that its log density is below the range of float64: look for an outlier")
}

// An impossible sequence has probability 0: no path that the transitions allow can have produced it.
var errImpossible = errors.New(
	"begins a sequence of probability 0: no path through the states that the transitions allow produces it",
)

// infer adds the sequences of a block, and returns the entropy of their paths and of the latent variables of the
// family.
func (s *Statistics) infer(b blocks.Sequences) (entropy float64, err error) {
	for i := 0; i < b.Len(); {
		first, end := b.Bounds(i)
		switch {
		case b.Weight(i) == 0:
			i++
			continue
		case end-first > s.longest():
			h, err := s.inferLong(b, i)
			if err != nil {
				return 0, err
			}
			entropy += h
			i++
			continue
		}
		last := i + 1
		for last < b.Len() && b.Ends[last]-first <= windowSteps && b.Weight(last) != 0 {
			last++
		}
		h, err := s.inferShort(b, i, last)
		if err != nil {
			return 0, err
		}
		entropy += h
		i = last
	}
	return entropy, nil
}

// inferShort adds the sequences from i to last−1, which are a window.
func (s *Statistics) inferShort(b blocks.Sequences, i, last int) (entropy float64, err error) {
	begin, _ := b.Bounds(i)
	if err := s.read(b.Steps, begin, b.Ends[last-1]-begin); err != nil {
		return 0, err
	}
	w, c := s.window, &s.chain
	for j := i; j < last; j++ {
		first, end := b.Bounds(j)
		w.rows = append(w.rows, first-begin)
		own, ok := c.smooth(w, first-begin, end-begin)
		if !ok {
			if own, err = c.smoothLogs(w, first-begin, end-begin, b.Weight(j), c.logStarts(w, first-begin),
				make([]float64, c.k)); err != nil {
				return 0, &blocks.DataError{Row: b.Steps.First + first, Column: -1, Reason: err}
			}
		}
		w.own = append(w.own, own)
		w.logDensity += b.Weight(j) * own
		w.begins(c, first-begin, b.Weight(j))
		if b.Weights != nil {
			for range end - first {
				w.weight = append(w.weight, b.Weight(j))
			}
		}
	}
	if s.sink != nil {
		s.sink.put(s, begin)
		return 0, nil
	}
	s.Sequences += weightOf(b, i, last)
	return s.add(), nil
}

func weightOf(b blocks.Sequences, first, last int) float64 {
	if b.Weights == nil {
		return float64(last - first)
	}
	return floats.Sum(b.Weights[first:last])
}

// smooth makes the posterior of the steps from first to end−1 of a window, a whole sequence, and returns ln p(x); false
// where numbers are out of range.
func (c *chain) smooth(w *window, first, end int) (logDensity float64, ok bool) {
	n, at := end-first, first*c.side
	e, alpha, gamma, scale := w.e[at:], w.alpha[at:], w.gamma[at:], w.scale[first:end]
	if !c.forward(w, first, e, alpha, scale, c.starts(w, first), n) {
		return 0, false
	}
	linalg.Fill(w.beta, 1)
	if !c.backward(w, first, e, alpha, gamma, scale, w.beta, n) {
		return 0, false
	}
	simd.Log(scale, scale)
	return floats.Sum(scale) + floats.Sum(w.shift[first:end]), true
}

// smoothLogs is smooth by logarithms, with those of what comes before the first step and after the last. The moves,
// times weight, are in w.moves, and e is 0.
func (c *chain) smoothLogs(
	w *window, first, end int, weight float64, entry, exit []float64,
) (logDensity float64, err error) {
	n, k := end-first, c.k
	before, after := make([]float64, n*k), make([]float64, n*k)
	logDensity = c.logForward(w, before, entry, first, n)
	c.logBackward(w, after, exit, first, n)
	terms, joint := make([]float64, k), make([]float64, k*k)
	for t := range n {
		place := (first + t) * c.side
		clear(w.e[place:][:c.side])
		expInto(w.alpha[place:][:c.side], at(before, t, k))
		floats.AddTo(terms, at(before, t, k), at(after, t, k))
		if !(expInto(w.gamma[place:][:c.side], terms) > math.Inf(-1)) {
			return 0, errImpossible
		}
		if t == 0 {
			continue
		}
		moves := c.logMoves(w, first+t)
		for i, v := range at(before, t-1, k) {
			for j, u := range at(after, t, k) {
				joint[i*k+j] = v + moves[i*k+j] + w.scores[j*w.padded+first+t] + u
			}
		}
		w.addMoves(c, first+t, weight, joint)
	}
	return logDensity, nil
}

// addMoves adds the moves to step t of the window, given the logarithms of their probabilities up to a constant, K×K,
// which become the probabilities.
func (w *window) addMoves(c *chain, t int, weight float64, joint []float64) {
	total := logSumExp(joint)
	for i, v := range joint {
		joint[i] = math.Exp(v - total)
		w.moves[i] += weight * joint[i]
	}
	for i := 0; i < c.k && c.gated(); i++ {
		linalg.Axpy(weight, at(joint, i, c.k), w.course.row(w.course.joint, i, t, c.side)[:c.k])
	}
}

// expInto puts exp(v), divided by its sum, into dst, which may be longer than v and is filled up with zeros. It returns
// the logarithm of the sum.
func expInto(dst, v []float64) (log float64) {
	log = logSumExp(v)
	clear(dst)
	for j, x := range v {
		dst[j] = math.Exp(x - log)
	}
	return log
}

// add adds the window to the sums, and returns the entropy of its paths and of the family's latent variables.
func (s *Statistics) add() (entropy float64) {
	w, c := s.window, &s.chain
	q := w.alpha[:c.k*w.padded]
	gates := s.addMoves()
	simd.Columns(q, w.gamma, w.n, c.k, c.side)
	s.addLoss(q)
	entropy = w.logDensity + gates
	if len(w.weight) > 0 {
		for k := range c.k {
			floats.Mul(at(q, k, w.padded)[:w.n], w.weight)
		}
	}
	for k := range c.k {
		mine := at(q, k, w.padded)
		s.Nk[k] += floats.Sum(mine[:w.n])
		entropy -= inner(mine[:w.n], at(w.scores, k, w.padded))
	}
	for i, v := range w.starts {
		s.Starts[i] += v
		if !c.startGated() {
			entropy -= times(v, c.logStart[i])
		}
	}
	for i, v := range w.moves {
		s.Moves[i] += v
		if !c.gated() {
			entropy -= times(v, c.logMove[i])
		}
	}
	s.Labels += entropy
	var weights []float64
	if len(w.weight) > 0 {
		weights = w.weight
		s.N += floats.Sum(weights)
	} else {
		s.N += float64(w.n)
	}
	return entropy + s.Classes.Add(w.n, weights, q)
}

// addMoves adds Σ_t α_t−1(i) move(i,j) e_t(j) to the moves of the window, and returns −E[ln p] of moves that depend on
// covariates.
func (s *Statistics) addMoves() (entropy float64) {
	w, c := s.window, &s.chain
	if len(w.weight) > 0 {
		for t, v := range w.weight {
			floats.Scale(v, w.e[t*c.side:][:c.k])
		}
	}
	if c.gated() {
		return s.addGates()
	}
	if w.n < 2 {
		return 0
	}
	s.product = linalg.Resize(s.product, c.k*c.k)
	simd.Product(true, false, c.k, c.k, w.n-1, 1, w.alpha, c.side, w.e[c.side:], c.side, 0, s.product, c.k)
	for i := range c.k {
		for j := range c.k {
			w.moves[i*c.k+j] += s.product[i*c.k+j] * c.move[i*c.side+j]
		}
	}
	return 0
}

// mostCertain bounds the probabilities that losses are taken from: what is missing from those nearer to 1 is rounding.
const mostCertain = 1 - 1e-6

// addLoss adds −Σ w ln(1 − γ) of every state.
func (s *Statistics) addLoss(q []float64) {
	w := s.window
	for k := range s.K {
		bounded := w.scale[:w.padded]
		for i, v := range at(q, k, w.padded) {
			if v > mostCertain {
				v = mostCertain
			}
			bounded[i] = v
		}
		if len(w.weight) == 0 {
			s.Loss[k] -= simd.LogComplement(bounded)
			continue
		}
		for i, v := range bounded {
			bounded[i] = 1 - v
		}
		simd.Log(bounded, bounded)
		s.Loss[k] -= linalg.Dot(w.weight, bounded[:w.n])
	}
}

// inner is Σ q·v, where 0·(−Inf) is 0.
func inner(q, v []float64) float64 {
	if sum := linalg.Dot(q, v[:len(q)]); sum-sum == 0 {
		return sum
	}
	sum := 0.0
	for i, p := range q {
		sum += times(p, v[i])
	}
	return sum
}

// times is a·b with 0·(−Inf) = 0.
func times(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a * b
}

// A sink takes what is asked for of single sequences in the place of sums.
type sink struct {
	k        int
	logProb  []float64 // of each sequence, in order; nil if nobody asks
	smoothed []float64 // steps×K; likewise
}

// put takes a window whose first step is step begin of the block.
func (o *sink) put(s *Statistics, begin int) {
	w := s.window
	o.putPart(s, begin)
	for i, v := range w.own {
		end := w.n
		if i+1 < len(w.rows) {
			end = w.rows[i+1]
		}
		for t := w.rows[i]; t < end; t++ {
			v += s.Classes.BaseOf(t)
		}
		o.logProb = append(o.logProb, v)
	}
}

// putPart takes smoothed probabilities alone.
func (o *sink) putPart(s *Statistics, begin int) {
	if o.smoothed == nil {
		return
	}
	for t := range s.window.n {
		row, gamma := at(o.smoothed, begin+t, o.k), s.window.gamma[t*s.chain.side:][:o.k]
		sum := floats.Sum(gamma) // 1 but for rounding, which would leave probabilities above it
		for k, v := range gamma {
			row[k] = v / sum
		}
	}
}
