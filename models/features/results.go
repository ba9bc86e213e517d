package features

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// LogProb returns ln p(x_n|Π) of each row, in nats, summed over all 2^K states. Missing entries (NaN) are integrated
// out. It returns an error if K is above [MaxExact].
func (Model) LogProb(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	if p.K > MaxExact {
		return nil, fmt.Errorf("features: the likelihood of %d features is a sum over 2^%d states, and %d at most "+
			"are enumerated", p.K, p.K, MaxExact)
	}
	logProb, _, err := p.Score(b)
	return append(dst[:0], logProb...), err
}

// Probabilities returns the probabilities p(z_nk = 1|x_n) that features are on, rows×K.
func (Model) Probabilities(b blocks.Rows, p *Parameters) ([]float64, error) {
	_, on, err := p.Score(b)
	return on, err
}

// Score returns the log-likelihood of each row, in nats, and the probabilities of its features, rows×K. Missing
// entries (NaN) are integrated out. For more than [MaxExact] features both come from a mean-field q: the
// log-likelihood is its lower bound, and the probabilities are those of q.
func (p *Parameters) Score(b blocks.Rows) (logProb, on []float64, err error) {
	return p.Scorer()(b, nil, nil)
}

// Scorer returns a function that computes Score for one block after another, in one goroutine. It computes once what
// rows with the same missing entries share, and allocates nothing if the slices are large enough.
func (p *Parameters) Scorer() func(b blocks.Rows, logProb, on []float64) ([]float64, []float64, error) {
	var s scorer
	return func(b blocks.Rows, logProb, on []float64) ([]float64, []float64, error) {
		logProb, on = linalg.Resize(logProb, b.N), linalg.Resize(on, b.N*p.K)
		for i := range b.N {
			row := b.Row(i)
			if s.p == nil || !s.shows(row) {
				if err := s.show(p, row); err != nil {
					return nil, nil, err
				}
			}
			if logProb[i] = s.score(row, on[i*p.K:(i+1)*p.K]); logProb[i]-logProb[i] != 0 {
				return nil, nil, blocks.FaultyRow(b.First+i,
					"is so far from every state that its log density is below the range of float64: look for an outlier")
			}
		}
		return logProb, on, nil
	}
}

// A scorer scores rows that show the same columns.
type scorer struct {
	columns []int
	p       *Parameters // of these columns
	states  states
	base    float64
	x       []float64
	gains   []float64 // of mean field
}

// shows reports whether a row shows the columns of the last.
func (s *scorer) shows(row []float64) bool {
	at := 0
	for j, v := range row {
		shown := at < len(s.columns) && s.columns[at] == j
		if shown != (v == v) {
			return false
		}
		if shown {
			at++
		}
	}
	return true
}

// show readies the scorer for rows that show the columns of row.
func (s *scorer) show(p *Parameters, row []float64) error {
	s.columns = s.columns[:0]
	for j, v := range row {
		if v == v {
			s.columns = append(s.columns, j)
		}
	}
	s.p, s.base = p.of(s.columns), 0
	for _, on := range p.On {
		s.base += logOf(1 - on)
	}
	for _, v := range s.p.Noise {
		s.base -= math.Log(2*math.Pi*v) / 2
	}
	s.x = make([]float64, len(s.columns))
	if p.K <= MaxExact {
		return s.states.prepare(s.p, nil, 1)
	}
	s.states.chunk.prepare(s.p, 8)
	return s.states.field.prepare(s.p, nil, 1)
}

// of are the parameters of some columns, each with a noise of its own.
func (p *Parameters) of(columns []int) *Parameters {
	q := &Parameters{K: p.K, D: len(columns), On: p.On}
	for _, j := range columns {
		q.Offset, q.Center = append(q.Offset, p.Offset[j]), append(q.Center, p.Offset[j])
		q.Loadings = append(q.Loadings, p.Loadings[j*p.K:(j+1)*p.K]...)
		q.Noise = append(q.Noise, p.NoiseOf(j))
	}
	return q
}

// score is ln p(x), or its bound; on is overwritten.
func (s *scorer) score(row, on []float64) float64 {
	value := s.base
	for i, j := range s.columns {
		s.x[i] = row[j]
		gap := row[j] - s.p.Offset[i]
		value -= gap * gap / s.p.Noise[i] / 2
	}
	t, d := &s.states, len(s.columns)
	t.load(blocks.Rows{N: 1, D: d, Stride: d, X: s.x}, 0, 1, s.p, &t.field)
	if s.p.K > MaxExact {
		s.gains = linalg.Resize(s.gains, s.p.K)
		gains := s.gains
		for l := range gains {
			gains[l] = t.g[l*t.padded]
		}
		copy(on, s.p.On)
		t.ascend(gains, on, posteriorRounds, 1e-12)
		return value + t.bound(gains, on)
	}
	t.enumerate(s.p)
	value += t.logSum[0]
	t.marginals(s.p.K)
	for l := range on {
		on[l] = t.on[l*t.padded]
	}
	return value
}

// Reconstruct returns b + W E[z|x], rows×D: the fitted mean of each row given its present entries.
func (p *Parameters) Reconstruct(b blocks.Rows) (*mat.Dense, error) {
	_, on, err := p.Score(b)
	if err != nil {
		return nil, err
	}
	x := mat.NewDense(b.N, p.D, nil)
	x.Mul(mat.NewDense(b.N, p.K, on), p.W().T())
	for i := range b.N {
		row := x.RawRowView(i)
		for j, v := range p.Offset {
			row[j] += v
		}
	}
	return x, nil
}

// Fill returns the rows with their missing entries replaced by [Parameters.Reconstruct], rows×D.
func (p *Parameters) Fill(b blocks.Rows) (*mat.Dense, error) {
	x, err := p.Reconstruct(b)
	if err != nil {
		return nil, err
	}
	b.Overlay(x)
	return x, nil
}

// CoOccurrence returns the share of the rows in which two features are on together, K×K; on its diagonal, the share
// with each feature.
func (s *Statistics) CoOccurrence() *mat.SymDense {
	m := mat.NewSymDense(s.K, nil)
	for k := range s.K {
		for l := k; l < s.K; l++ {
			m.SetSym(k, l, s.ZZ[(k+1)*(s.K+1)+l+1]/s.N)
		}
	}
	return m
}

// Featureless returns the evaluation of the model without features, independent normal columns, on the table that p
// was fitted to, with n observations. A fit that scores lower has found no features.
func (p *Parameters) Featureless(n float64) framework.Evaluation {
	e := framework.Evaluation{N: n, Shape: framework.Shape{Component: p.D, Shared: len(p.Unit)}}
	for j := range p.D {
		at := min(j, len(p.Unit)-1)
		noise := max(p.Unit[at], p.Floor[at])
		e.LogJoint -= n / 2 * (math.Log(2*math.Pi*noise) + p.Unit[at]/noise)
		e.LogDet -= math.Log(noise / p.Unit[at])
	}
	e.LogLikelihood = e.LogJoint
	e.Evidence = e.LogJoint - float64(e.Shape.Total())/2*math.Log1p(n)
	return e
}
