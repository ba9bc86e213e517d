package numeric

import (
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Statistics are what a global step of [Discrete] needs of the rows and their responsibilities. A density at large has no
// sums that would do, so they hold the rows themselves, by reference to the blocks of the source, and
// a responsibility for each row and component: 8·K bytes a row beside the data, three or four times over in a fit. Rows of different
// shards follow one another. Of an [Additive] density there are sums instead, 8·K·S bytes.
type Statistics struct {
	K    int       `keep:"count"`
	N    float64   // Σ_n w_n
	Nk   []float64 `keep:"rows"` // Σ_n w_n q_nk
	Loss []float64 `keep:"rows"` // −Σ_n w_n ln(1 − q_nk): what ln p(X) would lose at once without component k

	Blocks []framework.Rows // the rows
	Q      []float64        `keep:"columns"` // w_n q_nk, rows×K
	Sums   []float64        `keep:"rows"`    // Σ_n w_n q_nk T(x_n), K×S

	score []float64 // ln β_k less the tilt
	q     []float64
	rest  []float64
	t     []float64 // T(x)
	one   *machine
}

func newStatistics(c *compiled, k int) *Statistics {
	return &Statistics{K: k, Nk: make([]float64, k), Loss: make([]float64, k), Sums: make([]float64, k*c.statistics),
		score: make([]float64, k), q: make([]float64, k), rest: make([]float64, k), t: make([]float64, c.statistics), one: c.machine()}
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.N }

// Merge adds another's sums and appends a copy of its responsibilities.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	linalg.Axpy(1, o.Nk, s.Nk)
	linalg.Axpy(1, o.Loss, s.Loss)
	for i, v := range o.Sums {
		s.Sums[i] += v
	}
	s.Blocks = append(s.Blocks, o.Blocks...)
	s.Q = append(s.Q, o.Q...)
}

func (s *Statistics) clear() {
	s.N = 0
	clear(s.Nk)
	clear(s.Loss)
	clear(s.Sums)
	s.Blocks, s.Q = s.Blocks[:0], s.Q[:0]
}

// add adds a row with the responsibilities in s.q and returns their entropy, weighted.
func (s *Statistics) add(w float64) (entropy float64) {
	s.N += w
	s.lose(w)
	for k, q := range s.q {
		s.Nk[k] += w * q
		if q > 0 {
			entropy -= w * q * math.Log(q)
		}
	}
	if n := len(s.t); s.one.additive != nil {
		for k, q := range s.q {
			for j, t := range s.t {
				s.Sums[k*n+j] += w * q * t
			}
		}
		return entropy
	}
	for _, q := range s.q {
		s.Q = append(s.Q, w*q)
	}
	return entropy
}

// skip keeps the place of a row that is left out.
func (s *Statistics) skip() {
	if s.one.additive == nil {
		for range s.K {
			s.Q = append(s.Q, 0)
		}
	}
}

// lose adds to Loss. 1 − q_k is the sum of the others, so that nothing cancels where q_k is nearly 1.
func (s *Statistics) lose(w float64) {
	before := 0.0
	for k := range s.q {
		s.rest[k] = before
		before += s.q[k]
	}
	after := 0.0
	for k := s.K - 1; k >= 0; k-- {
		if s.q[k] > 0 {
			s.Loss[k] -= w * math.Log(max(s.rest[k]+after, least))
		}
		after += s.q[k]
	}
}

// least stands for a probability of 0, so that no logarithm is infinite.
const least = 1e-300

// weighted are the rows of component k.
func (s *Statistics) weighted(c *compiled, k int) Weighted {
	w := Weighted{N: s.Nk[k], blocks: s.Blocks, q: s.Q, k: s.K, of: k}
	if c.additive != nil {
		w.Sums = s.Sums[k*c.statistics : (k+1)*c.statistics]
	}
	return w
}

func (s *Statistics) all(c *compiled) []Weighted {
	list := make([]Weighted, s.K)
	for k := range list {
		list[k] = s.weighted(c, k)
	}
	return list
}
