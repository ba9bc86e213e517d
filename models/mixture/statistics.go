package mixture

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
)

// Statistics are the sums of a local step: of responsibilities, and for each component of
// the exposures and sufficient statistics of its family. Sums of Gaussian columns are
// taken about an anchor, the component's location in that step, so that nothing cancels.
type Statistics struct {
	K      int
	N      float64   // Σ_n w_n
	Base   float64   // Σ_n w_n ln h(x_n)
	Nk     []float64 // Σ_n w_n q_nk
	Sums   []float64 // K×S
	Anchor []float64 // K×A, the same in every shard
	Loss   []float64 // −Σ_n w_n ln(1 − q_nk): what ln p(X) would lose at once without component k

	plan  *plan
	log   []float64 // K, logarithms of the weights, or what stands for them
	score []float64 // K×C
	hyper []float64 // K×H, of MAP
	r     []float64 // log joints or responsibilities of a chunk of rows, K×n with rows side by side
	rows  []float64 // other numbers of the rows of a chunk
	seen  []observed
	units [][]laplace.Block // unit information of each component's cells
}

func newStatistics(pl *plan, k int) *Statistics {
	return &Statistics{K: k, Nk: make([]float64, k), Loss: make([]float64, k), Sums: make([]float64, k*pl.sums), Anchor: make([]float64, k*pl.anchor), plan: pl,
		log: make([]float64, k), score: make([]float64, k*pl.score), seen: make([]observed, len(pl.parts))}
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.N }

// Merge adds the sums of another shard, or of another local step at as many components.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	s.Base += o.Base
	linalg.Axpy(1, o.Nk, s.Nk)
	linalg.Axpy(1, o.Loss, s.Loss)
	if slices.Equal(s.Anchor, o.Anchor) {
		linalg.Axpy(1, o.Sums, s.Sums)
	} else {
		s.addAbout(o)
	}
}

// Scale makes the rows weigh factor times as much (see [framework.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	s.Base *= factor
	linalg.Scale(factor, s.Nk)
	linalg.Scale(factor, s.Loss)
	linalg.Scale(factor, s.Sums)
}

func (s *Statistics) clear() {
	s.N, s.Base = 0, 0
	clear(s.Nk)
	clear(s.Loss)
	clear(s.Sums)
}

// A block of rows, in whatever form.
type block interface {
	// dims returns rows and columns, and how many rows to look at together: few enough that
	// what is computed from them stays in the processor's cache.
	dims() (rows, d, chunk int)
	weights(first, n int) []float64 // nil when every row weighs 1
	index(i int) int                // of row i in the source
	observe(s *Statistics, first, n int) error
	copyRow(i int, dst []float64)
}

// dense rows are those of a table held row by row.
type dense struct{ framework.Rows }

func (b dense) dims() (rows, d, chunk int)     { return b.N, b.D, 256 }
func (b dense) weights(first, n int) []float64 { return span(b.Weights, first, n) }
func (b dense) index(i int) int                { return b.First + i }

func (b dense) copyRow(i int, dst []float64) { copy(dst, b.Row(i)) }

func (b dense) observe(s *Statistics, first, n int) error {
	for i := range s.plan.parts {
		p := &s.plan.parts[i]
		if err := p.observe(b.Rows, p.at.columns, first, n, &s.seen[i]); err != nil {
			return err
		}
	}
	return nil
}

// span is n numbers from first on, or nil of nil.
func span(v []float64, first, n int) []float64 {
	if v == nil {
		return nil
	}
	return v[first : first+n]
}

// infer adds the rows of a block under the scores that Prepare has left, and returns the
// entropy of their q.
func infer[B block](s *Statistics, b B) (entropy float64, err error) {
	var fault error
	err = chunks(s, b, func(first, n int) {
		s.joints(n)
		if fault == nil {
			var h float64
			h, fault = normalise(s, b, first, n)
			entropy += h
			add(s, b, first, n)
		}
	})
	if err == nil {
		err = fault
	}
	return entropy, err
}

// chunks observes a block, some rows at a time.
func chunks[B block](s *Statistics, b B, visit func(first, n int)) error {
	rows, d, size := b.dims()
	if d != s.plan.columns {
		return fmt.Errorf("mixture: a row of %d columns does not go with a model of %d", d, s.plan.columns)
	}
	for first := 0; first < rows; first += size {
		n := min(size, rows-first)
		if err := b.observe(s, first, n); err != nil {
			return err
		}
		visit(first, n)
	}
	return nil
}

// scores puts the log joint of each row and component into s.r.
func (s *Statistics) scores(n int) {
	s.weights(n)
	for i := range s.plan.parts {
		p := &s.plan.parts[i]
		p.addScores(&s.seen[i], table{s.K, s.plan.score, s.score[p.at.score:]}, s.r)
	}
}

// weights puts the logarithms of the components' weights into s.r.
func (s *Statistics) weights(n int) {
	s.r = linalg.Resize(s.r, simd.Padded(n)*s.K)
	for k, v := range s.log {
		fill(beside(s.r, k, n), v)
	}
}

// A selective factor can tell log joints that are negligible (see [simd.Softmax]) without computing them.
type selective interface {
	// addJoints is addScores to log joints that are the same for all rows, when nothing will
	// be added any more. Where a row's responsibility comes out as exactly 0, so it does
	// from what addJoints leaves there.
	addJoints(o *observed, scores table, r []float64)
}

// joints is scores, as far as responsibilities, their entropy and ln p(x) need them: a
// factor that is the only one may leave out scores of far rows.
func (s *Statistics) joints(n int) {
	if p := &s.plan.parts[0]; len(s.plan.parts) == 1 {
		if f, ok := p.factor.(selective); ok {
			s.weights(n)
			f.addJoints(&s.seen[0], table{s.K, s.plan.score, s.score[p.at.score:]}, s.r)
			return
		}
	}
	s.scores(n)
}

// fill sets all numbers of s to v, by copies of twice as many each time.
func fill(s []float64, v float64) {
	for n := copy(s, []float64{v}); n < len(s); n *= 2 {
		copy(s[n:], s[:n])
	}
}

// beside is what a component has for n rows side by side, filled up to a multiple of
// [simd.Lanes].
func beside(r []float64, k, n int) []float64 { return at(r, k, simd.Padded(n)) }

// normalise turns log joints into responsibilities times the rows' weights, and returns
// the weighted entropy.
func normalise[B block](s *Statistics, b B, first, n int) (entropy float64, err error) {
	padded := simd.Padded(n)
	s.rows = linalg.Resize(s.rows, 3*padded)
	logSum, h, rest := at(s.rows, 0, padded), at(s.rows, 1, padded), at(s.rows, 2, padded)
	simd.Softmax(s.r, s.K, padded, logSum, h)
	clearBeyond(s.r, n)
	w := b.weights(first, n)
	for i, v := range w {
		if v == 0 { // a row left out may lie as far away as it likes
			logSum[i], h[i] = 0, 0
			for k := range s.K {
				s.r[k*padded+i] = 0
			}
		}
	}
	if !simd.Finite(logSum[:n]) {
		return 0, remote(b, first+slices.IndexFunc(logSum, func(v float64) bool { return v-v != 0 }))
	}
	if w == nil {
		for k := range s.K {
			s.Loss[k] -= simd.LogComplement(beside(s.r, k, n))
		}
		return floats.Sum(h[:n]), nil
	}
	for k := range s.K {
		q := beside(s.r, k, n)[:n]
		for i, v := range q {
			rest[i] = 1 - min(v, 1-0x1p-53) // a responsibility of 1 counts as 1 − 2⁻⁵³
			q[i] *= w[i]
		}
		simd.Log(rest[:n], rest[:n])
		s.Loss[k] -= linalg.Dot(w, rest[:n])
	}
	return linalg.Dot(w, h[:n]), nil
}

// clearBeyond leaves weights of 0 beyond the n rows side by side.
func clearBeyond(r []float64, n int) {
	for padded := simd.Padded(n); len(r) > 0; r = r[padded:] {
		clear(r[n:padded])
	}
}

// remote says that even the logarithm of a row's density is beyond the range of float64.
func remote[B block](b B, i int) error {
	return fmt.Errorf("mixture: %w", framework.FaultyRow(b.index(i), "is so far from every component that its density cannot be told from 0: look for an outlier"))
}

// softmax turns log joints into probabilities in place; it returns the logarithm of their
// sum and the entropy of the probabilities.
func softmax(row []float64) (logSum, entropy float64) {
	top := math.Inf(-1)
	for _, v := range row {
		top = max(top, v)
	}
	sum, mean := 0.0, 0.0
	for k, v := range row {
		e := math.Exp(v - top)
		sum += e
		if e > 0 {
			mean += e * (v - top)
		}
		row[k] = e
	}
	for k := range row {
		row[k] /= sum
	}
	log := math.Log(sum)
	return top + log, max(0, log-mean/sum)
}

// add adds the rows with the weights in s.r.
func add[B block](s *Statistics, b B, first, n int) {
	w := b.weights(first, n)
	if w == nil {
		s.N += float64(n)
	} else {
		s.N += floats.Sum(w)
	}
	for j := range s.seen {
		switch base := s.seen[j].base; {
		case base == nil:
		case w == nil:
			s.Base += floats.Sum(base[:n])
		default:
			s.Base += linalg.Dot(w, base[:n])
		}
	}
	for k := range s.Nk {
		s.Nk[k] += floats.Sum(beside(s.r, k, n)[:n])
	}
	for i := range s.plan.parts {
		p := &s.plan.parts[i]
		p.addSums(&s.seen[i], s.r, table{s.K, s.plan.anchor, s.Anchor[p.at.anchor:]}, table{s.K, s.plan.sums, s.Sums[p.at.sums:]})
	}
}

// base is ln h(x) of row i of the chunk.
func (s *Statistics) base(i int) float64 {
	sum := 0.0
	for j := range s.seen {
		if s.seen[j].base != nil {
			sum += s.seen[j].base[i]
		}
	}
	return sum
}

// judge appends the log-likelihood of each row and its responsibilities to two slices, from
// their beginnings.
func judge[B block](s *Statistics, b B, logProb, r []float64) ([]float64, []float64, error) {
	logProb, r = logProb[:0], r[:0]
	var fault error
	err := chunks(s, b, func(first, n int) {
		s.joints(n)
		padded := simd.Padded(n)
		s.rows = linalg.Resize(s.rows, 2*padded)
		simd.Softmax(s.r, s.K, padded, s.rows, s.rows[padded:])
		for i, sum := range s.rows[:n] {
			if fault == nil && sum-sum != 0 {
				fault = remote(b, first+i)
			}
			logProb = append(logProb, sum+s.base(i))
			for k := range s.K {
				r = append(r, s.r[k*padded+i])
			}
		}
	})
	if err == nil {
		err = fault
	}
	return logProb, r, err
}

// keep keeps some components.
func (s *Statistics) keep(keep []int) *Statistics {
	t := newStatistics(s.plan, len(keep))
	t.N, t.Base = s.N, s.Base
	for j, k := range keep {
		t.Nk[j], t.Loss[j] = s.Nk[k], s.Loss[k]
		copy(at(t.Sums, j, s.plan.sums), at(s.Sums, k, s.plan.sums))
		copy(at(t.Anchor, j, s.plan.anchor), at(s.Anchor, k, s.plan.anchor))
	}
	return t
}

// restore completes statistics that come from a checkpoint.
func (s *Statistics) restore(pl *plan) {
	if s.plan == nil {
		s.plan, s.log, s.score, s.seen = pl, make([]float64, s.K), make([]float64, s.K*pl.score), make([]observed, len(pl.parts))
	}
}
