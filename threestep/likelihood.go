package threestep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/mixture"
)

// given is the model of [ML] for an outcome: a mixture whose rows, the records, were assigned to a class s, which adds
// ln D_ts to their log joint in class t.
type given struct {
	mixture   mixture.Model
	assigned  []int     // s of the records
	logErrors []float64 // ln D_ts, K×K, those of one s after those of another
}

// sums are those of a mixture, and the part of the assigned classes in LogJoint.
type sums struct {
	*mixture.Statistics
	Assigning float64 // Σ_n w_n Σ_t q_nt ln D_ts

	of        *given
	log       []float64 // ln P(X = t), K
	base, now int       // records of the block, and of its chunk
}

// Merge adds the sums of other records.
func (s *sums) Merge(o *sums) {
	s.Statistics.Merge(o.Statistics)
	s.Assigning += o.Assigning
}

// Scale multiplies the weight of all records by factor.
func (s *sums) Scale(factor float64) {
	s.Statistics.Scale(factor)
	s.Assigning *= factor
}

// errors is ln D_ts of record i of the chunk, K.
func (s *sums) errors(i int) []float64 {
	k, at := len(s.log), s.of.assigned[s.now+i]
	return s.of.logErrors[at*k : (at+1)*k]
}

// LogProb puts ln P(X = t) D_ts of some records into r (see [mixture.Prior]).
func (s *sums) LogProb(first, n int, r []float64) error {
	s.now = s.base + first
	clear(r)
	padded := family.Padded(n)
	for i := range n {
		for t, v := range s.errors(i) {
			r[t*padded+i] = s.log[t] + v
		}
	}
	return nil
}

// Assigned adds what the assigned classes of these records are to LogJoint.
func (s *sums) Assigned(n int, _, r []float64) {
	padded := family.Padded(n)
	for i := range n {
		for t, v := range s.errors(i) {
			s.Assigning += r[t*padded+i] * v
		}
	}
}

// Init is no start: fits begin with equal classes.
func (*given) Init(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*mixture.Parameters, error) {
	return nil, errors.ErrUnsupported
}

func (m *given) NewStatistics(p *mixture.Parameters) *sums {
	return &sums{Statistics: m.mixture.NewStatistics(p), of: m, log: make([]float64, p.K)}
}

func (m *given) Prepare(p *mixture.Parameters, tilt *laplace.Tilt, s *sums) error {
	for t, w := range p.Weights {
		s.log[t] = math.Log(max(w, 1e-300))
	}
	s.Assigning = 0
	return m.mixture.Prepare(p, tilt, s.Statistics)
}

func (m *given) Infer(b blocks.Rows, _ *mixture.Parameters, s *sums) (float64, error) {
	s.base = b.First
	return s.InferGiven(b, s)
}

func (m *given) Maximize(s *sums, p, dst *mixture.Parameters) (*mixture.Parameters, error) {
	return m.mixture.Maximize(s.Statistics, p, dst)
}

func (m *given) LogJoint(s *sums, p *mixture.Parameters) float64 {
	return m.mixture.LogJoint(s.Statistics, p) + s.Assigning
}

func (m *given) Shape(p *mixture.Parameters) framework.Shape { return m.mixture.Shape(p) }

// fit returns q of the records, N×K, at the maximum of the likelihood.
func (m *given) fit(ctx context.Context, src framework.Source[blocks.Rows], sizes []float64) ([]float64, error) {
	k := len(sizes)
	start := func(
		ctx context.Context, src framework.Source[blocks.Rows], _ int, _ *rand.Rand,
	) (*mixture.Parameters, error) {
		pooled, _, err := family.Pool(ctx, src, m.mixture.Family)
		if err != nil {
			return nil, err
		}
		return &mixture.Parameters{K: k, D: 1, Weights: slices.Clone(sizes),
			Components: slices.Repeat(pooled.Parameters, k), Pooled: pooled}, nil
	}
	const tolerance = 1e-14 // nats a row, of a likelihood that is flat at its maximum
	res, err := framework.FitFrom(ctx, m, src, start,
		framework.Options{K: k, Method: framework.EM, Tolerance: tolerance, Accelerate: true})
	if err != nil {
		return nil, fmt.Errorf("threestep: ML finds no estimate, take BCH: %w", err)
	}
	if res.Status != framework.Converged {
		return nil, fmt.Errorf("threestep: ML ended before it converged, take BCH: %v", res.Status)
	}
	var q []float64
	s := m.NewStatistics(res.Parameters)
	if err := m.Prepare(res.Parameters, nil, s); err != nil {
		return nil, err
	}
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		s.base = b.First
		_, r, err := s.ScoreGiven(b, s, nil, nil)
		if err != nil {
			return nil, err
		}
		q = append(q, r...)
	}
	return q, nil
}

// likely are the means of T in each class, K×S, by maximum likelihood given the classification errors, and their
// covariance.
func (s *statistics) likely(ctx context.Context, d *Distal) (means []float64, cov *mat.SymDense, err error) {
	list := s.records(s.rows)
	m := &given{logErrors: make([]float64, s.K*s.K)}
	switch s.Kind {
	case Continuous:
		m.mixture.Family = normal.Family{Covariance: normal.Diagonal}
	case Count:
		m.mixture.Family = family.Poisson{}
	case Categorical:
		m.mixture.Family = family.Categorical{Levels: s.Levels}
	}
	for t := range s.K {
		s.logErrors(t, m.logErrors[t*s.K:(t+1)*s.K])
	}
	y, weights := make([]float64, len(list)), make([]float64, len(list))
	for i, r := range list {
		m.assigned = append(m.assigned, r.class)
		if y[i], weights[i] = s.Values[r.row], r.weight; s.Kind == Continuous {
			y[i] = (y[i] - s.centre) / s.unit
		}
	}
	table, err := blocks.FromSlice(y, len(y), 1)
	if err == nil {
		table, err = table.WithWeights(weights)
	}
	if err != nil {
		return nil, nil, err
	}
	q, err := m.fit(ctx, table, s.Sizes)
	if err != nil {
		return nil, nil, err
	}
	l := newLouis(s, list, q)
	for i, r := range list {
		if floats.MaxIdx(q[i*s.K:(i+1)*s.K]) != r.class {
			d.Moved += r.weight / floats.Sum(weights)
		}
	}
	cov, err = l.covariance()
	return l.means, cov, err
}

// louis has the information of the records about the natural parameters of the classes (Louis 1982): γ_t, up to those
// of the first class, and η_t of the outcome. In them the derivatives of the complete records' log-likelihood in
// class t are a_t = (1, T − m_t) less their means.
type louis struct {
	*statistics
	list         []record
	q            []float64 // records×K
	sizes, means []float64 // P(X = t), and m
	at           [][]float64
}

func newLouis(s *statistics, list []record, q []float64) *louis {
	l := &louis{statistics: s, list: list, q: q, sizes: make([]float64, s.K), means: make([]float64, s.K*s.size)}
	of := make(map[int][]float64, len(s.rows)) // T of a row
	for i, row := range s.rows {
		of[row] = s.t[i*s.size : (i+1)*s.size]
	}
	for i, r := range list {
		l.at = append(l.at, of[r.row])
		for k := range l.sizes {
			w := r.weight * q[i*s.K+k]
			l.sizes[k] += w
			floats.AddScaled(l.means[k*s.size:(k+1)*s.size], w, of[r.row])
		}
	}
	for k, n := range l.sizes {
		floats.Scale(1/n, l.means[k*s.size:(k+1)*s.size])
	}
	floats.Scale(1/floats.Sum(l.sizes), l.sizes)
	return l
}

// covariance is that of the means of T, robust.
func (l *louis) covariance() (*mat.SymDense, error) {
	width := 1 + l.size
	all := l.K * width // of which the first, γ_1, is left out
	information, scores := mat.NewSymDense(all, nil), mat.NewSymDense(all, nil)
	within := l.variances(l.means)
	row, a := make([]float64, all), make([]float64, all)
	for i, r := range l.list {
		q := l.q[i*l.K : (i+1)*l.K]
		for k := range l.K {
			a[k*width] = 1
			floats.SubTo(a[k*width+1:(k+1)*width], l.at[i], l.means[k*l.size:(k+1)*l.size])
			row[k*width] += r.weight * (q[k] - l.sizes[k])
			floats.AddScaled(row[k*width+1:(k+1)*width], r.weight*q[k], a[k*width+1:(k+1)*width])
		}
		for x := range all {
			for y := x; y < all; y++ {
				k, j, h, g := x/width, x%width, y/width, y%width
				v, both := q[k]*q[h], -l.sizes[k]*l.sizes[h]
				if k == h {
					v, both = v-q[k], both+l.sizes[k]
				}
				v *= a[x] * a[y]
				switch {
				case j == 0 && g == 0:
					v += both
				case k == h && j > 0 && g > 0:
					v += q[k] * within[k].At(j-1, g-1)
				}
				information.SetSym(x, y, information.At(x, y)+r.weight*v)
			}
		}
		if i+1 == len(l.list) || l.list[i+1].row != r.row {
			scores.SymRankOne(scores, 1/l.weights[r.row], mat.NewVecDense(all, row))
			clear(row)
		}
	}
	natural, err := sandwich(information.SliceSym(1, all).(*mat.SymDense), scores.SliceSym(1, all).(*mat.SymDense))
	if err != nil {
		return nil, err
	}
	to := mat.NewDense(l.K*l.size, all-1, nil) // the derivatives of m_t by η_t are the variances within the class
	for k := range l.K {
		for x := range l.size {
			for y := range l.size {
				to.Set(k*l.size+x, k*width+y, within[k].At(x, y))
			}
		}
	}
	return through(to, natural), nil
}
