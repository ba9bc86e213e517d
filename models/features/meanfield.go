package features

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// MeanField is the model for any number of features, with the approximation q(z_n) = Π_k q(z_nk): features are
// independent given x. It keeps q between iterations. Its likelihood is a lower bound, and so are BIC, AIC and ICL.
type MeanField struct{ Model }

// BoundsLikelihood says that the likelihood is a lower bound, since q is an approximation.
func (MeanField) BoundsLikelihood() {}

// A Posterior is q(Z): the probability that each feature is on in each row.
type Posterior struct {
	K  int       `keep:"count"`
	On []float64 `keep:"columns"` // rows×K
}

// Keep restricts q to the features dims.
func (q *Posterior) Keep(dims []int) optional.Local { return framework.KeepAxes(q, q.K, dims) }

func (q *Posterior) row(n int) []float64 { return q.On[n*q.K : (n+1)*q.K] }

// Init starts as [Model] does, without a limit to k.
func (m MeanField) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	return m.init(ctx, src, k, rng)
}

// NewLocal returns q with every feature's probability at its π_k.
func (MeanField) NewLocal(
	_ context.Context, src framework.Source[blocks.Rows], p *Parameters, _ *rand.Rand,
) (optional.Local, error) {
	return &Posterior{p.K, slices.Repeat(p.On, src.Rows())}, nil
}

// updateRounds is the number of times that an Update goes through the features of a row.
const updateRounds = 3

// ascend improves the probabilities q of a row's features, of which gains are WᵀΨ⁻¹x, one after the other, each to its
// best value given the others. It ends where a round changes none by more than the tolerance.
func (f *field) ascend(gains, q []float64, rounds int, tolerance float64) {
	k := len(q)
	for range rounds {
		change := 0.0
		for l, old := range q {
			row := f.pair[l*k : (l+1)*k]
			v := f.linear[l] + gains[l] - linalg.Dot(row, q) + row[l]*old
			q[l] = 1 / (1 + math.Exp(-v))
			change = max(change, math.Abs(q[l]-old))
		}
		if change <= tolerance {
			return
		}
	}
}

// bound is E_q[ln p(x,z)] + H(q) of a row, up to what does not depend on z.
func (f *field) bound(gains, q []float64) (value float64) {
	k := len(q)
	for l, v := range q {
		value += v*(f.linear[l]+gains[l]) + binaryEntropy(v)
		for m := range l {
			value -= v * q[m] * f.pair[l*k+m]
		}
	}
	return value
}

// binaryEntropy is that of a feature that is on with probability v, in nats.
func binaryEntropy(v float64) float64 {
	if v <= 0 || v >= 1 {
		return 0
	}
	return -v*math.Log(v) - (1-v)*math.Log1p(-v)
}

// Update maximises the objective over one q(z_nk) after another: coordinate ascent.
func (m MeanField) Update(b blocks.Rows, p *Parameters, tilt *laplace.Tilt, now, next optional.Local) error {
	return m.ascendRows(b, p, tilt, now.(*Posterior), next.(*Posterior), updateRounds)
}

func (m MeanField) ascendRows(
	b blocks.Rows, p *Parameters, tilt *laplace.Tilt, now, next *Posterior, rounds int,
) error {
	var f field
	var c chunk
	if err := f.prepare(p, tilt, m.rows()); err != nil {
		return err
	}
	c.prepare(p, mostRows)
	gains := make([]float64, p.K)
	for first := 0; first < b.N; first += c.size {
		n := min(c.size, b.N-first)
		c.load(b, first, n, p, &f)
		for i := range n {
			for l := range gains {
				gains[l] = c.g[l*c.padded+i]
			}
			q := next.row(b.First + first + i)
			copy(q, now.row(b.First+first+i))
			f.ascend(gains, q, rounds, 0)
		}
	}
	return nil
}

// Prepare clears the sums.
func (MeanField) Prepare(p *Parameters, _ *laplace.Tilt, s *Statistics) error {
	s.clear()
	s.states.chunk.prepare(p, mostRows)
	return s.states.field.prepare(p, nil, 1)
}

// InferAt adds the rows' expected statistics under q to s and returns the entropy of q, in nats.
func (MeanField) InferAt(
	b blocks.Rows, p *Parameters, local optional.Local, s *Statistics,
) (entropy float64, err error) {
	t, q := &s.states, local.(*Posterior)
	for first := 0; first < b.N; first += t.size {
		n := min(t.size, b.N-first)
		t.load(b, first, n, p, &t.field)
		clear(t.on[:p.K*t.padded])
		for i := range n {
			for l, v := range q.row(b.First + first + i) {
				if v-v != 0 {
					return 0, remote(b, first+i, []float64{v})
				}
				t.on[l*t.padded+i] = v
				entropy += t.w[i] * binaryEntropy(v)
			}
		}
		s.addIndependent(t.w[:t.padded], t.on[:p.K*t.padded])
		s.addRows(t.x[:t.padded*p.D], t.w[:t.padded], t.on[:p.K*t.padded])
	}
	linalg.Mirror(p.K+1, s.ZZ)
	s.Entropy += entropy
	return entropy, nil
}

// addIndependent adds Σ E[z zᵀ], but for N, where features are on with the probabilities on, K×n.
func (s *Statistics) addIndependent(w, on []float64) {
	n, k := len(w), s.K
	for l := range k {
		row := s.ZZ[(l+1)*(k+1):]
		for i, v := range on[l*n : (l+1)*n] {
			u := w[i] * v
			s.ZZ[l+1] += u
			row[l+1] += u
			for m := l + 1; m < k; m++ {
				row[m+1] += u * on[m*n+i]
			}
		}
	}
}

// posteriorRounds bounds the rounds through the features of a row that is not part of a fit.
const posteriorRounds = 200

// Infer computes q for rows that are not part of a fit, and adds them.
func (m MeanField) Infer(b blocks.Rows, p *Parameters, s *Statistics) (float64, error) {
	b.First = 0
	q := &Posterior{p.K, slices.Repeat(p.On, b.N)}
	if err := m.ascendRows(b, p, nil, q, q, posteriorRounds); err != nil {
		return 0, err
	}
	return m.InferAt(b, p, q, s)
}
