package hmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/internal/simd"
)

// Moves that depend on covariates (docs/theory/hmm.md, section 9): the state of a step has a multinomial logit of the
// covariates of the step for each state before, and with a Gated start one for steps that are the first. A source is
// the state before, or, with number K, that there is none. What a logit sees of a step, its bound and its integral are
// those of package logit, for weights w q(z_t−1 = i) and shares w q(z_t−1 = i, z_t = j).

// gates are the logits of a chain.
type gates struct {
	gate         []float64 // γ, sources×K×P; empty where moves do not depend on covariates
	root         logit.Root
	own, columns []int     // of the family, and of the covariates
	leaving      []float64 // K, what leaving a state loses
}

// sources is K, or K + 1 with first steps.
func (g *gates) sources(k int) int { return len(g.gate) / (k * g.root.Width()) }

// gated reports whether moves depend on covariates.
func (c *chain) gated() bool { return len(c.gates.gate) > 0 }

// startGated reports whether first steps depend on covariates, too.
func (c *chain) startGated() bool { return c.gated() && c.gates.sources(c.k) > c.k }

// A course has the moves to the steps of a window, and to the step after it.
type course struct {
	design        logit.Design
	n             int       // steps, with that after
	logits, prior []float64 // η and π, sources×K×padded
	logSum        []float64 // sources×2·padded: ln Σ exp η, and memory
	move          []float64 // sources×padded×side: the factors that a path's density has of its moves
	joint         []float64 // sources×padded×side: Σ w q(z_t−1 = i, z_t = j)
	logs          []float64 // K×K: of the move to one step
	q, weights    []float64 // K×padded and padded: shares and weights of one source
}

func (m *course) padded() int { return m.design.Padded() }

// of are the logits of a source.
func (m *course) of(source, k int) (logits, prior, logSum []float64) {
	n := m.padded()
	return at(m.logits, source, k*n), at(m.prior, source, k*n), at(m.logSum, source, 2*n)
}

// row is what step t of the window has of one source in a matrix with rows of side numbers.
func (m *course) row(of []float64, source, t, side int) []float64 {
	return at(of, source*m.padded()+t, side)
}

var errGap = errors.New("a covariate needs a value in every step: fill it in")

// course makes the moves to n steps of a block from step first on.
func (c *chain) course(m *course, b blocks.Rows, first, n int) error {
	g := &c.gates
	if b.D != len(g.own)+len(g.columns) {
		return fmt.Errorf("hmm: steps of %d columns do not match a model of %d and %d covariates", b.D, len(g.own),
			len(g.columns))
	}
	m.n = min(n+1, b.N-first)
	if err := m.design.Read(b, first, m.n, g.root, g.columns, errGap); err != nil {
		return err
	}
	sources, padded, side := g.sources(c.k), m.padded(), c.side
	m.logits, m.prior = linalg.Resize(m.logits, sources*c.k*padded), linalg.Resize(m.prior, sources*c.k*padded)
	m.logSum = linalg.Resize(m.logSum, sources*2*padded)
	m.move, m.joint = linalg.Resize(m.move, sources*padded*side), linalg.Resize(m.joint, sources*padded*side)
	m.logs = linalg.Resize(m.logs, c.k*c.k)
	m.q, m.weights = linalg.Resize(m.q, c.k*padded), linalg.Resize(m.weights, padded)
	clear(m.joint)
	for i := range sources {
		logits, prior, logSum := m.of(i, c.k)
		m.design.Predict(at(g.gate, i, c.k*g.root.Width()), logits, prior, logSum)
		move := at(m.move, i, padded*side)
		simd.Columns(move, prior, c.k, padded, padded)
		if i < c.k && g.leaving[i] != 0 {
			linalg.Scale(math.Exp(-g.leaving[i]), move)
		}
	}
	return nil
}

// logMoves are the logarithms of the factors of the moves to step t of the window, K×K.
func (c *chain) logMoves(w *window, t int) []float64 {
	if !c.gated() {
		return c.logMove
	}
	for i := range c.k {
		c.logsOf(at(w.course.logs, i, c.k), w, i, t, c.gates.leaving[i])
	}
	return w.course.logs
}

// logStarts are those of the states of step t, the first of a sequence, K.
func (c *chain) logStarts(w *window, t int) []float64 {
	if !c.startGated() {
		return c.logStart
	}
	c.logsOf(w.course.logs[:c.k], w, c.k, t, 0)
	return w.course.logs[:c.k]
}

// logsOf puts ln π of a source at step t into dst, less what is lost.
func (c *chain) logsOf(dst []float64, w *window, source, t int, loss float64) {
	logits, _, logSum := w.course.of(source, c.k)
	for j := range dst {
		dst[j] = logits[j*w.course.padded()+t] - logSum[t] - loss
	}
}

// starts are the factors of the states of step t, the first of a sequence; side.
func (c *chain) starts(w *window, t int) []float64 {
	if !c.startGated() {
		return c.start
	}
	return w.course.row(w.course.move, c.k, t, c.side)
}

// advance puts v times the moves to step t of the window into dst, filled up with zeros to a multiple of 4.
func (c *chain) advance(dst, v []float64, w *window, t int) {
	if !c.gated() {
		simd.Advance(dst, v, c.move)
		return
	}
	clear(dst)
	for i, p := range v {
		for j, a := range w.course.row(w.course.move, i, t, c.side)[:c.k] {
			dst[j] += p * a
		}
	}
}

// forwardGated is [simd.Forward] with the moves to each step; the first is step first of the window.
func (c *chain) forwardGated(w *window, first int, e, alpha, scale, entry []float64, n int) bool {
	predicted := entry
	for t := range n {
		if t > 0 {
			c.advance(w.next, at(alpha, t-1, c.side)[:c.k], w, first+t)
			predicted = w.next
		}
		row, sum := at(alpha, t, c.side), 0.0
		clear(row[c.k:])
		for j, v := range at(e, t, c.side)[:c.k] {
			row[j] = predicted[j] * v
			sum += row[j]
		}
		if scale[t] = sum; !(sum > leastScale) {
			return false
		}
		linalg.Scale(1/sum, row[:c.k])
	}
	return true
}

// backwardGated is [simd.Backward] with the moves to each step; the first is step first of the window.
func (c *chain) backwardGated(w *window, first int, e, alpha, gamma, scale, beta []float64, n int) {
	for t := n - 1; t >= 0; t-- {
		after, filtered, smooth, inverse := at(e, t, c.side), at(alpha, t, c.side), at(gamma, t, c.side), 1/scale[t]
		clear(smooth[c.k:])
		for j := range c.k {
			smooth[j] = filtered[j] * beta[j]
			after[j] *= beta[j] * inverse
		}
		for i := range c.k {
			beta[i] = linalg.Dot(w.course.row(w.course.move, i, first+t, c.side)[:c.k], after[:c.k])
		}
	}
}

// begins adds the states of step t, the first of a sequence.
func (w *window) begins(c *chain, t int, weight float64) {
	gamma := w.gamma[t*c.side:][:c.k]
	for k, v := range gamma {
		w.starts[k] += weight * v
	}
	if c.startGated() {
		linalg.Axpy(weight, gamma, w.course.row(w.course.joint, c.k, t, c.side)[:c.k])
	}
}

// addGates adds the moves of the window to the sums of the gates, and returns −E[ln p] of them.
func (s *Statistics) addGates() (entropy float64) {
	w, c := s.window, &s.chain
	m, side := &w.course, c.side
	for t := 1; t < w.n; t++ {
		after := w.e[t*side:][:c.k]
		for i, v := range w.alpha[(t-1)*side:][:c.k] {
			joint := m.row(m.joint, i, t, side)
			for j, a := range m.row(m.move, i, t, side)[:c.k] {
				joint[j] += v * a * after[j]
			}
		}
	}
	padded := m.padded()
	for i := range c.gates.sources(c.k) {
		logits, prior, logSum := m.of(i, c.k)
		simd.Columns(m.q, at(m.joint, i, padded*side), m.n, c.k, side)
		clear(m.weights)
		loss := 0.0
		if i < c.k {
			loss = c.gates.leaving[i]
		}
		for j := range c.k {
			q, eta := at(m.q, j, padded), at(logits, j, padded)
			floats.Add(m.weights, q)
			entropy -= linalg.Dot(q, eta)
			if i < c.k {
				w.moves[i*c.k+j] = floats.Sum(q[:m.n])
			}
		}
		entropy += linalg.Dot(m.weights, logSum[:padded]) + loss*floats.Sum(m.weights)
		s.Gates[i].Add(&m.design, m.n, m.weights[:m.n], m.q, logits, prior, logSum)
	}
	return entropy
}

// ---- Parameters

// width is P, the numbers that a logit sees of a step: 1 and the covariates.
func (c Structure) width() int { return 1 + c.Covariates }

// sources are those of the logits of k states.
func (c Structure) sources(k int) int {
	switch {
	case c.Covariates == 0:
		return 0
	case c.Initial == Gated:
		return k + 1
	}
	return k
}

// gate is γ of a source, K×P.
func (p *Parameters) gate(source int) []float64 { return at(p.Gate, source, p.K*p.Root.Width()) }

// LogOdds returns the coefficients of the log odds of the next state against staying, ln(a_kl/a_kk), as linear
// functions of (1, covariates), in the table's units: for each state k, (K−1)×P row-major, states l ≠ k in their order.
// If first steps depend on covariates, those of their states against state 1 come last. It is empty without covariates.
func (p *Parameters) LogOdds() (list []float64) {
	for i := range p.sources() {
		list = append(list, p.Root.Odds(p.gate(i), p.reference(i))...)
	}
	return list
}

// reference is the state that log odds of a source are against.
func (p *Parameters) reference(source int) int {
	if source < p.K {
		return source
	}
	return 0
}

func (p *Parameters) sources() int {
	if len(p.Gate) == 0 {
		return 0
	}
	return len(p.Gate) / (p.K * p.Root.Width())
}

// equalGates are logits that do not depend on covariates, of the probabilities of p.
func (p *Parameters) equalGates(sources int, root logit.Root) {
	p.Root, p.Gate = root, make([]float64, sources*p.K*root.Width())
	for i := range sources {
		row := p.Start
		if i < p.K {
			row = at(p.Transitions, i, p.K)
		}
		for j, v := range row {
			p.gate(i)[j*root.Width()] = math.Log(max(v, leastProbability))
		}
		logit.Center(p.gate(i), root.Width())
	}
}

// keepGates are the logits of some states: the probabilities of the others are divided in proportion.
func (p *Parameters) keepGates(dims []int) (kept []float64) {
	width := p.Root.Width()
	for i, from := range keptSources(p.sources(), p.K, dims) {
		for _, j := range dims {
			kept = append(kept, at(p.gate(from), j, width)...)
		}
		logit.Center(kept[i*len(dims)*width:], width)
	}
	return kept
}

// keptSources are those of some of k states.
func keptSources(sources, k int, dims []int) []int {
	if sources > k {
		return append(slices.Clone(dims), k)
	}
	return dims[:min(sources, len(dims))]
}

// gates are the logits of p for a local step of s.
func (c Structure) gates(p *Parameters, s *Statistics) gates {
	g := s.chain.gates
	g.gate, g.root, g.leaving = p.Gate, p.Root, s.leaving
	if c.Covariates > 0 && g.own == nil {
		g.own, g.columns = columns(0, p.D), columns(p.D, p.D+c.Covariates)
	}
	return g
}

// columns are those from first to end−1.
func columns(first, end int) (list []int) {
	for j := first; j < end; j++ {
		list = append(list, j)
	}
	return list
}

// seen are the columns of the family.
func (m Model) seen(b blocks.Rows) blocks.Rows {
	if m.Structure.Covariates == 0 {
		return b
	}
	return b.Columns(columns(0, b.D-m.Structure.Covariates))
}

// steps are all steps, of the columns of the family, and the covariates of them.
func (c Structure) steps(
	ctx context.Context, src framework.Source[blocks.Sequences],
) (own, covariates framework.Source[blocks.Rows], err error) {
	steps, err := framework.StepsOf(ctx, src)
	if err != nil || c.Covariates == 0 {
		return steps, nil, err
	}
	for b, err := range steps.Blocks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		d := b.D - c.Covariates
		if d < 1 {
			return nil, nil, fmt.Errorf("hmm: a table of %d columns, of which %d are covariates, leaves none to the family",
				b.D, c.Covariates)
		}
		return framework.ColumnsOf(steps, columns(0, d)), framework.ColumnsOf(steps, columns(d, b.D)), nil
	}
	return nil, nil, errors.New("hmm: the source has no steps")
}

// beginGates are the logits that a fit begins with, which do not depend on covariates.
func (c Structure) beginGates(ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters) error {
	if c.Covariates == 0 {
		return nil
	}
	_, covariates, err := c.steps(ctx, src)
	if err != nil {
		return err
	}
	root, err := logit.RootOf(ctx, covariates, columns(0, c.Covariates), "the covariates", "covariates")
	if fault, ok := errors.AsType[*blocks.DataError](err); ok && fault.Column >= 0 {
		fault.Column += p.D
	}
	if err != nil {
		return err
	}
	p.equalGates(c.sources(p.K), root)
	return nil
}

// leastPrecision, times the count of a source, is the precision of logits that have no prior: where the steps after a
// state do not tell some of them, those stay near 0.
const leastPrecision = 1e-8

// estimateGates puts the logits at the maximum of their bounds into dst, under a prior of some precision, and the
// averages of their probabilities. Where the start is constant, the prior adds so many counts to each of its states.
func (c Structure) estimateGates(s *Statistics, p, dst *Parameters, precision, count float64) error {
	if err := estimateTransitions(dst.Transitions, s.Moves, p.Transitions, s.K); err != nil {
		return err
	}
	for k, n := range s.Starts {
		dst.Start[k] = n
		if c.Initial == Free {
			dst.Start[k] += count
		}
	}
	complete(dst.Start, 0)
	for i := range s.Gates {
		n := s.Sequences
		if i < s.K {
			n = s.Left(i)
		}
		if n == 0 && precision == 0 { // never left
			copy(dst.gate(i), p.gate(i))
			continue
		}
		if err := s.Gates[i].Maximize(dst.gate(i), max(precision, leastPrecision*n)); err != nil {
			return fmt.Errorf("hmm: %w", err)
		}
	}
	return c.begin(dst.Start, nil)
}

// logChain is E_q[ln p(Z)], or its bound where moves depend on covariates.
func (c Structure) logChain(s *Statistics, p *Parameters) (sum float64) {
	if c.Covariates == 0 {
		return s.logChain(s.Moves, p.Start, p.Transitions)
	}
	if c.Initial != Gated {
		sum = multinomial(0, s.Starts, p.Start)
	}
	for i := range s.Gates {
		sum += s.Gates[i].Value(p.gate(i))
	}
	return sum
}

// shift adds v to the log odds of state to after a state.
func (p *Parameters) shift(from, to int, v float64) {
	p.gate(from)[to*p.Root.Width()] += v
	logit.Center(p.gate(from), p.Root.Width())
}

// divideGates are the logits of p with state k twice, as k and the last, whose probabilities have the given shares.
func (q *Parameters) divideGates(p *Parameters, k int, shares []float64) {
	q.Root = p.Root
	width := p.Root.Width()
	for i := range p.sources() + min(1, p.sources()) {
		from := i
		switch {
		case i == p.K:
			from = k
		case i > p.K: // of first steps
			from = p.K
		}
		old := p.gate(from)
		q.Gate = append(append(q.Gate, old...), at(old, k, width)...)
		for j, state := range []int{k, p.K} {
			q.gate(i)[state*width] += math.Log(shares[j])
		}
		logit.Center(q.gate(i), width)
	}
}

// ---- Draws

// none is the state before a first step.
const none = -1

// A walk goes from step to step.
type walk struct {
	p *Parameters
	s *Statistics // nil where moves do not depend on covariates
}

func (m Model) walk(p *Parameters) (*walk, error) {
	if m.Structure.Covariates == 0 {
		return &walk{p: p}, nil
	}
	r, err := m.Reader(p)
	if err != nil {
		return nil, err
	}
	return &walk{p, r.s}, nil
}

// to goes to step t of a block.
func (w *walk) to(b blocks.Rows, t int) error {
	if w.s == nil {
		return nil
	}
	return w.s.chain.course(&w.s.window.course, b, t, 1)
}

// after are the probabilities of the states of the step after a state, or none.
func (w *walk) after(state int) []float64 {
	switch {
	case state == none && (w.s == nil || !w.s.chain.startGated()):
		return w.p.Start
	case w.s == nil:
		return at(w.p.Transitions, state, w.p.K)
	case state == none:
		state = w.p.K
	}
	return w.s.window.course.row(w.s.window.course.move, state, 0, w.s.chain.side)[:w.p.K]
}
