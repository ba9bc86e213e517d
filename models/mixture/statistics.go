package mixture

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Statistics are the sums of a local step: responsibilities, and for each component the statistics of its family.
type Statistics struct {
	K       int       `keep:"count"`
	N       float64   // Σ_n w_n
	Nk      []float64 `keep:"rows"` // Σ_n w_n q_nk
	Loss    []float64 `keep:"rows"` // −Σ_n w_n ln(1 − q_nk): the immediate loss of ln p(X) without component k
	Labels  float64   // Σ_n w_n H(q_n), without the families' latent variables
	Spread  []float64 `keep:"rows"` // for [CVB0] alone: the second order of E_q[ln p(X,Z)], by component
	Classes *family.Classes

	log   []float64 // K, logarithms of the weights, or what stands for them
	tilt  []float64 // K, what every row loses by a tilt
	hyper []float64 // K×H, of MAP
	r     []float64 // log joints or responsibilities of a chunk of rows, K×n
	rows  []float64 // other numbers of the rows of a chunk
	out   []float64 // of CVB0: the shares of rows that are left out, or weights of the second order, K×n
}

func newStatistics(p *family.Plan, k int) *Statistics {
	return &Statistics{
		K:       k,
		Nk:      make([]float64, k),
		Loss:    make([]float64, k),
		Classes: p.Classes(k),
		log:     make([]float64, k),
		tilt:    make([]float64, k),
	}
}

// Follow empties s and readies it for the local step that lead is ready for (see [optional.Follower]).
func (s *Statistics) Follow(lead *Statistics) {
	s.Classes.Follow(lead.Classes)
	s.clear()
	s.log, s.tilt = append(s.log[:0], lead.log...), append(s.tilt[:0], lead.tilt...)
}

// Observations returns N, the sum of the row weights.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of another shard, or of another local step with as many components.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	s.Labels += o.Labels
	linalg.Axpy(1, o.Nk, s.Nk)
	linalg.Axpy(1, o.Loss, s.Loss)
	linalg.Axpy(1, o.Spread, s.Spread)
	s.Classes.Merge(o.Classes)
}

// Scale multiplies the weight of all rows by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	s.Labels *= factor
	linalg.Scale(factor, s.Nk)
	linalg.Scale(factor, s.Loss)
	linalg.Scale(factor, s.Spread)
	s.Classes.Scale(factor)
}

// clear empties the sums over rows, but for those of the classes.
func (s *Statistics) clear() {
	s.N, s.Labels = 0, 0
	clear(s.Nk)
	clear(s.Loss)
	clear(s.Spread)
}

// restore completes statistics that come from a checkpoint.
func (s *Statistics) restore(p *family.Plan) {
	if s.log == nil {
		s.Classes.Restore(p)
		s.log, s.tilt = make([]float64, s.K), make([]float64, s.K)
	}
}

// keep keeps some components.
func (s *Statistics) keep(dims []int) *Statistics {
	t := framework.KeepAxes(s, s.K, dims)
	t.Classes = s.Classes.Keep(dims)
	t.log, t.tilt = make([]float64, t.K), make([]float64, t.K)
	return t
}

// lowered takes the tilt off the logarithms of the weights.
func (s *Statistics) lowered() {
	for k, v := range s.tilt {
		s.log[k] -= v
	}
}

// infer adds the rows of a block under the scores that Prepare has left, and returns the
// entropy of their q.
func (s *Statistics) infer(b blocks.Rows) (float64, error) { return s.InferGiven(b, nil) }

// joints puts the log joint of each row and component into s.r, as far as responsibilities, their
// entropy and ln p(x) need it.
func (s *Statistics) joints(n int) {
	s.r = linalg.Resize(s.r, family.Padded(n)*s.K)
	for k, v := range s.log {
		linalg.Fill(ofComponent(s.r, k, n), v)
	}
	s.Classes.AddJoints(s.r)
}

// ofComponent is component k's part of r for n rows, filled up to a multiple of [simd.Lanes].
func ofComponent(r []float64, k, n int) []float64 { return at(r, k, family.Padded(n)) }

// at cuts one component's numbers out of a K×n matrix.
func at(v []float64, k, n int) []float64 { return v[k*n : (k+1)*n] }

// normalise turns log joints into responsibilities times the rows' weights, and returns
// the weighted entropy.
func (s *Statistics) normalise(b blocks.Rows, first, n int, w []float64) (entropy float64, err error) {
	padded := family.Padded(n)
	s.rows = linalg.Resize(s.rows, 3*padded)
	logSum, h, rest := at(s.rows, 0, padded), at(s.rows, 1, padded), at(s.rows, 2, padded)
	simd.Softmax(s.r, s.K, padded, logSum, h)
	clearBeyond(s.r, n)
	for i, v := range w {
		if v == 0 { // a row of weight 0 may lie at any distance
			logSum[i], h[i] = 0, 0
			for k := range s.K {
				s.r[k*padded+i] = 0
			}
		}
	}
	if !simd.Finite(logSum[:n]) {
		return 0, s.remote(b, first, slices.IndexFunc(logSum, func(v float64) bool { return v-v != 0 }))
	}
	if w == nil {
		for k := range s.K {
			s.Loss[k] -= simd.LogComplement(ofComponent(s.r, k, n))
		}
		return floats.Sum(h[:n]), nil
	}
	for k := range s.K {
		q := ofComponent(s.r, k, n)[:n]
		for i, v := range q {
			rest[i] = 1 - min(v, 1-0x1p-53) // a responsibility of 1 counts as 1 − 2⁻⁵³
			q[i] *= w[i]
		}
		simd.Log(rest[:n], rest[:n])
		s.Loss[k] -= linalg.Dot(w, rest[:n])
	}
	return linalg.Dot(w, h[:n]), nil
}

// clearBeyond leaves weights of 0 beyond the n rows of each component.
func clearBeyond(r []float64, n int) {
	for padded := family.Padded(n); len(r) > 0; r = r[padded:] {
		clear(r[n:padded])
	}
}

// remote is the error of row i of a chunk whose log density is below the range of float64, or that has no density.
func (s *Statistics) remote(b blocks.Rows, first, i int) error {
	if err := s.Classes.Explain(i); err != nil {
		return err
	}
	return blocks.FaultyRow(b.First+first+i,
		"is so far from every component that its log density is below the range of float64: look for an outlier")
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

// add adds the rows with the weights in s.r, and returns the entropy of the families' latent
// variables.
func (s *Statistics) add(n int, w []float64) (entropy float64) {
	if w == nil {
		s.N += float64(n)
	} else {
		s.N += floats.Sum(w)
	}
	for k := range s.Nk {
		s.Nk[k] += floats.Sum(ofComponent(s.r, k, n)[:n])
	}
	return s.Classes.Add(n, w, s.r)
}

// score appends the log-likelihood of each row and its responsibilities to two slices, from
// their beginnings.
func (s *Statistics) score(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
	return s.ScoreGiven(b, nil, logProb, r)
}
