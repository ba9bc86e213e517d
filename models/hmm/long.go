package hmm

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/internal/simd"
)

// A long sequence is cut into parts of a fixed length. What a part does to the distribution of the state before it is
// multiplication by a K×K matrix, the product of its steps. With these matrices the distributions at all borders follow
// one after the other, forwards and backwards; then the parts are as independent as sequences. The matrix costs K rows
// to advance only until a part has forgotten where it began: then the rows are multiples of one another, and one is
// enough. Nothing but the matrices is kept, so that densities are computed twice.

const (
	// partSteps is the least length of a part; with many states it is longer, so that the matrices take little memory
	// beside the steps.
	partSteps = 1024
	// partStates is how many steps a part has for each number of its matrix.
	partStates = 16
	// lanes is the number of partial sums of a long sequence: parts go to them in turn, as blocks go to shards.
	lanes = framework.DefaultShards
	// brief is the number of steps at both ends of a part that are enough where it forgets soon.
	brief = 96
	// sameRow is the largest relative difference between two rows of a matrix that are multiples of one another.
	sameRow = 1e-14
)

// longest is the number of steps up to which a sequence is not cut.
func (s *Statistics) longest() int { return max(partSteps, partStates*s.K*s.K) }

// A border is the part between two borders of a long sequence, as the states at its borders see it.
type border struct {
	logs  []float64 // K: row i of its matrix is exp(logs_i)·rows_i, up to a constant
	rows  []float64 // K×K; K where all rows are the same
	entry []float64 // K: ln p(z of the first step | the steps before), up to a constant
	exit  []float64 // K: ln p(the steps after | z of the last step), likewise
}

// A long is a long sequence under way, with the memory for it.
type long struct {
	sums    []*Statistics // of the lanes
	windows []*window     // of the workers
	borders []border
	ends    []float64 // of each part: its share of ln p(x)
	entropy []float64 // of each lane

	block       blocks.Sequences
	sequence    int // of the block
	first, end  int // its steps
	size, parts int // steps of a part, and parts
	lanes       int // in use
	smoothing   bool
}

// inferLong adds sequence i of the block, part by part.
func (s *Statistics) inferLong(b blocks.Sequences, i int) (entropy float64, err error) {
	l := s.ready(b, i)
	for _, lane := range l.sums[:l.lanes] {
		lane.Follow(s)
		lane.sink, lane.hasty = s.sink, true
	}
	if err := l.each(s.workers, false); err != nil {
		return 0, err
	}
	if !s.chain.link(l.borders[:l.parts], s.window) {
		return 0, &blocks.DataError{Row: b.Steps.First + l.first, Column: -1, Reason: errImpossible}
	}
	if err := l.each(s.workers, true); err != nil {
		return 0, err
	}
	if s.sink != nil {
		s.sink.logProb = append(s.sink.logProb, floats.Sum(l.ends))
		return 0, nil
	}
	for _, lane := range l.sums[:l.lanes] {
		s.Merge(lane)
	}
	s.Sequences += b.Weight(i)
	return floats.Sum(l.entropy), nil
}

// ready makes memory for the parts of sequence i of the block.
func (s *Statistics) ready(b blocks.Sequences, i int) *long {
	if s.long == nil {
		s.long = new(long)
	}
	l, k := s.long, s.K
	l.block, l.sequence, l.size = b, i, s.longest()
	l.first, l.end = b.Bounds(i)
	l.parts = (l.end - l.first + l.size - 1) / l.size
	l.lanes = min(lanes, l.parts)
	for len(l.sums) < l.lanes {
		l.sums = append(l.sums, newStatistics(s.plan, k))
	}
	for len(l.windows) < s.workers {
		l.windows = append(l.windows, new(window))
	}
	s.window.resize(&s.chain, 0, 0)
	l.ends, l.entropy = linalg.Resize(l.ends, l.parts), linalg.Resize(l.entropy, l.lanes)
	clear(l.entropy)
	if len(l.borders) < l.parts {
		l.borders = make([]border, l.parts)
		numbers := make([]float64, l.parts*4*k)
		for i := range l.borders {
			v := at(numbers, i, 4*k)
			l.borders[i] = border{rows: v[:k:k], logs: v[k:][:k], entry: v[2*k:][:k], exit: v[3*k:][:k]}
		}
	}
	return l
}

// each finds the matrices of all parts, or smooths them, with so many workers, of which each has whole lanes.
func (l *long) each(workers int, smoothing bool) error {
	l.smoothing = smoothing
	if workers = min(workers, l.lanes); workers == 1 {
		return l.serve(0, 1)
	}
	return parallel.Do(workers, workers, func(worker int) error { return l.serve(worker, workers) })
}

// serve visits the parts of a worker's lanes, lane by lane.
func (l *long) serve(worker, workers int) error {
	for j := worker; j < l.lanes; j += workers {
		lane := l.sums[j]
		lane.window = l.windows[worker]
		for part := j; part < l.parts; part += l.lanes {
			first := l.first + part*l.size
			end := min(l.end, first+l.size)
			if !l.smoothing {
				if err := lane.transfer(l.block.Steps, first, end, part == l.parts-1, &l.borders[part]); err != nil {
					return err
				}
				continue
			}
			h, err := lane.inferPart(l, part, first, end)
			if err != nil {
				return err
			}
			l.entropy[j] += h
		}
	}
	return nil
}

// transfer finds what the steps from first to end−1 do to the states at their borders, m: from the states of the first
// step, less its density, to those of the step after the last, or to nothing where that is the last of all. Where a
// part forgets soon, its first steps say how likely it is from each state, up to a constant, and its last ones what
// state follows, of which the last part has none.
func (s *Statistics) transfer(b blocks.Rows, first, end int, last bool, m *border) error {
	w, c := s.window, &s.chain
	if s.hasty && end-first > 2*brief {
		row, t, forgotten, err := s.spread(b, first, brief, false, m)
		if err == nil && forgotten && !last {
			row, t, forgotten, err = s.spread(b, end-brief, brief, false, &border{logs: w.exit})
		}
		if err != nil {
			return err
		}
		if forgotten {
			m.ends(c.follow(w, t, row))
			return nil
		}
		s.hasty = false
	}
	row, t, forgotten, err := s.spread(b, first, end-first, last, m)
	if err != nil {
		return err
	}
	if forgotten {
		m.ends(c.follow(w, t, row))
		return nil
	}
	m.rows = linalg.Resize(m.rows, c.k*c.k)
	for i := range c.k {
		copy(at(m.rows, i, c.k), at(w.alpha, i, c.side))
	}
	return nil
}

// ends takes the row that a part ends with wherever it began.
func (m *border) ends(row []float64) {
	m.rows = m.rows[:len(m.logs)]
	copy(m.rows, row)
}

// spread multiplies the densities and transitions of n steps from each of the states, until the rows of the product are
// multiples of one another: row i times exp(logs_i) is that of state i. It returns one of them, and the step that it
// has come to. The entry becomes that of a sequence that begins there.
func (s *Statistics) spread(
	b blocks.Rows, first, n int, last bool, m *border,
) (row []float64, t int, forgotten bool, err error) {
	if err := s.read(b, first, n); err != nil {
		return nil, 0, false, err
	}
	w, c, logs := s.window, &s.chain, m.logs
	copy(m.entry, c.logStarts(w, 0))
	rows, products := w.alpha[:c.k*c.side], w.moves[:c.k] // memory
	clear(rows)
	for i := range c.k {
		rows[i*c.side+i], logs[i], products[i] = 1, 0, 1
	}
	const check = 8 // steps between comparisons
	lead := 0
	for ; t < n && !forgotten; t++ {
		for i := range c.k {
			if !math.IsInf(logs[i], -1) {
				row := at(rows, i, c.side)
				logs[i] += c.multiply(w, t, row, &products[i])
				c.pass(w, row, t+1, t+1 == n && last)
			}
		}
		if t%check == check-1 {
			lead, forgotten = c.forgets(rows, logs)
		}
	}
	for i, v := range products {
		logs[i] += math.Log(v)
		products[i] = 0
	}
	return at(rows, lead, c.side), t, forgotten, nil
}

// follow advances one row from step t of the window beyond its end, and returns it.
func (c *chain) follow(w *window, t int, row []float64) []float64 {
	for t < w.n {
		if c.gated() {
			// no kernel has their moves
		} else if done := simd.Forward(w.gamma, w.e[t*c.side:], w.scale, row, c.move, c.k, w.n-t, leastScale); done > 0 {
			copy(row, at(w.gamma, done-1, c.side))
			t += done
			c.pass(w, row, t, false)
			continue
		}
		product := 1.0
		c.multiply(w, t, row, &product)
		t++
		c.pass(w, row, t, false)
	}
	return row
}

// pass moves a row to step t of the window, unless that is none.
func (c *chain) pass(w *window, row []float64, t int, none bool) {
	if !none {
		c.advance(w.next, row[:c.k], w, t)
		copy(row[:c.k], w.next)
	}
}

// multiply multiplies a row of the matrix by the densities of step t, and makes it sum to 1. The sum goes into product,
// or where that might underflow its logarithm is returned.
func (c *chain) multiply(w *window, t int, row []float64, product *float64) (log float64) {
	e, sum := w.e[t*c.side:][:c.k], 0.0
	row = row[:c.k]
	for j, v := range e {
		w.next[j] = row[j] * v
		sum += w.next[j]
	}
	if !(sum > leastScale) {
		for j, v := range row {
			w.next[j] = math.Log(v) + w.scores[j*w.padded+t]
		}
		if log = logSumExp(w.next[:c.k]); math.IsInf(log, -1) {
			clear(row)
			return log
		}
		for j := range row {
			row[j] = math.Exp(w.next[j] - log)
		}
		return log - w.shift[t]
	}
	inverse := 1 / sum
	for j := range row {
		row[j] = w.next[j] * inverse
	}
	if *product *= sum; *product < 1e-90 {
		log = math.Log(*product)
		*product = 1
	}
	return log
}

// forgets finds the first possible row of the matrix, and reports whether every other possible one is a multiple of it.
func (c *chain) forgets(rows, logs []float64) (lead int, all bool) {
	for lead < c.k-1 && math.IsInf(logs[lead], -1) {
		lead++
	}
	first := at(rows, lead, c.side)[:c.k]
	for i := lead + 1; i < c.k; i++ {
		if math.IsInf(logs[i], -1) {
			continue
		}
		for j, v := range at(rows, i, c.side)[:c.k] {
			if !(math.Abs(v-first[j]) <= sameRow*first[j]) {
				return lead, false
			}
		}
	}
	return lead, true
}

// row is that of the matrix that belongs to a state.
func (m *border) row(state int) []float64 {
	if k := len(m.logs); len(m.rows) > k {
		return at(m.rows, state, k)
	}
	return m.rows
}

// link finds the distributions at all borders; false where the sequence is impossible. The window is scratch.
func (c *chain) link(borders []border, w *window) bool {
	terms, next := w.exit, w.border[:c.k]
	copy(next, borders[0].entry)
	for i := range borders {
		m := &borders[i]
		copy(m.entry, next)
		for j := range c.k {
			for from := range c.k {
				terms[from] = m.entry[from] + m.logs[from] + math.Log(m.row(from)[j])
			}
			next[j] = logSumExp(terms)
		}
		total := logSumExp(next)
		if total-total != 0 {
			return false
		}
		for j := range next {
			next[j] -= total
		}
	}
	last := &borders[len(borders)-1]
	clear(last.exit)
	for i := len(borders) - 1; i > 0; i-- {
		m, before := &borders[i], borders[i-1].exit
		for from := range c.k {
			for j := range c.k {
				terms[j] = math.Log(m.row(from)[j])
				if i < len(borders)-1 {
					terms[j] += next[j]
				}
			}
			before[from] = m.logs[from] + logSumExp(terms)
		}
		total := logSumExp(before)
		for from := range before {
			before[from] -= total
		}
		copy(next, before)
	}
	return true
}

// inferPart adds a part of a long sequence, the steps from first to end−1.
func (s *Statistics) inferPart(l *long, part, first, end int) (entropy float64, err error) {
	b := l.block
	if err := s.read(b.Steps, first, end-first); err != nil {
		return 0, err
	}
	w, c, weight, m, last := s.window, &s.chain, b.Weight(l.sequence), &l.borders[part], part == l.parts-1
	exit := w.exit[:c.k]
	clear(exit)
	if !last {
		c.before(w, exit, m.exit, w.next) // what follows a state of the last step
	}
	own, ok := c.smoothPart(w, m.entry, exit)
	if !ok {
		if own, err = c.smoothLogs(w, 0, w.n, weight, m.entry, exit); err != nil {
			return 0, &blocks.DataError{Row: b.Steps.First + first, Column: -1, Reason: err}
		}
	}
	if part == 0 {
		w.begins(c, 0, weight)
	}
	if !last {
		own += c.cross(w, m.exit, weight)
	}
	l.ends[part] = own
	w.logDensity = weight * own
	if s.sink != nil {
		s.sink.putPart(s, first)
		for t := range w.n {
			l.ends[part] += s.Classes.BaseOf(t)
		}
		return 0, nil
	}
	if weight != 1 {
		for range w.n {
			w.weight = append(w.weight, weight)
		}
	}
	return s.add(), nil
}

// smoothPart is smooth of a whole window between two borders, given by logarithms.
func (c *chain) smoothPart(w *window, entry, exit []float64) (logDensity float64, ok bool) {
	clear(w.beta)
	for j, v := range entry {
		w.beta[j] = math.Exp(v)
	}
	if !c.forward(w, 0, w.e, w.alpha, w.scale, w.beta, w.n) {
		return 0, false
	}
	filtered, terms := w.alpha[(w.n-1)*c.side:][:c.k], w.next[:c.k]
	for j, v := range filtered {
		terms[j] = math.Log(v) + exit[j]
	}
	total := logSumExp(terms)
	for j, v := range exit {
		w.beta[j] = math.Exp(v - total)
	}
	if !c.backward(w, 0, w.e, w.alpha, w.gamma, w.scale, w.beta, w.n) {
		return 0, false
	}
	scale := w.scale[:w.n]
	simd.Log(scale, scale)
	return floats.Sum(scale) + floats.Sum(w.shift[:w.n]), true
}

// cross adds the move over the border after the window, and returns the logarithm of what the moves from the filtered
// last step sum to, which is 0 without a tilt.
func (c *chain) cross(w *window, after []float64, weight float64) float64 {
	filtered := w.alpha[(w.n-1)*c.side:][:c.k]
	joint, moved, moves := w.border[:c.k*c.k], w.border[c.k*c.k:], c.logMoves(w, w.n)
	for i, v := range filtered {
		for j, next := range after {
			moved[i*c.k+j] = math.Log(v) + moves[i*c.k+j]
			joint[i*c.k+j] = moved[i*c.k+j] + next
		}
	}
	w.addMoves(c, w.n, weight, joint)
	return logSumExp(moved)
}
