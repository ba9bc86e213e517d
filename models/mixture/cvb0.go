package mixture

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/simd"
)

// CVB0 is collapsed variational Bayes of order 0 (Asuncion, Welling, Smyth & Teh 2009): the parameters are integrated
// out, and a row's q is its predictive distribution given all other rows,
//
//	q_nk ∝ (a + N_k − q_nk) p(x_n | h₀ + T_k − q_nk T(x_n)).
//
// The equation is solved row by row, from q = 0 in a few rounds, so that no q is kept. Hence repeated rows need one
// computation, and the number of workers changes no bit. LogJoint is the second-order estimate of E_q[ln p(X,Z)],
// whose second derivatives are taken at the parameters of the local step; the fixed point is not its maximum
// ([optional.FixedPoint]). Fit it with framework.PrunedEM, which lowers K if that raises the estimate:
//
//	m := mixture.CVB0{Variational: mixture.Variational{Family: family.Bernoulli{}, Prior: prior.Jeffreys{}}}
//	res, err := framework.FitFrom(ctx, m, table, m.Thinned, framework.Options{K: 12, Method: framework.PrunedEM})
//
// [CVB0.Thinned] starts from the components of a gFAB fit. This takes a fraction of the time and finds the same
// components.
//
// The parameters, start, priors and predictive distribution are those of [Variational]
// (docs/theory/mixtures.md, section 9).
type CVB0 struct{ Variational }

// SolvesFixedPoint marks the model: CVB0 solves a fixed-point equation for q and climbs no bound.
func (CVB0) SolvesFixedPoint() {}

// Init starts as [Variational] does. It returns an error if parameters cannot be integrated out (see
// Variational.Collapses).
func (m CVB0) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Posterior, error) {
	p, err := m.Variational.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	return p, p.bayes.Collapses()
}

const (
	// thinTolerance is the change, in nats per row, at which gFAB ends for a start: its iterations only have to find the
	// classes.
	thinTolerance = 1e-6
	// thinCells is the number of cells up to which starts are CVB0's own: they take little time, and agree more often. On
	// House Votes one of five that gFAB thins ends 3 nats low.
	thinCells = 10_000
)

// Thinned runs gFAB from k components and starts from those that it keeps, at most k. For codes and counts these are
// rather too many, and CVB0 prunes them. It is a [framework.Start] for fits whose K is free. If the table has at most
// 10,000 cells, or if gFAB fails, it calls Init instead.
func (m CVB0) Thinned(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Posterior, error) {
	own, err := m.Init(ctx, src, k, rng)
	if err != nil || src.Rows() <= thinCells/own.D {
		return own, err
	}
	of := Model{Family: family.WithFloor(m.Family, family.NoFloor), Start: m.Start}
	first, err := of.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	given := func(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*Parameters, error) {
		return first, nil
	}
	kept, err := framework.FitFrom(ctx, of, src, given,
		framework.Options{K: k, Criterion: framework.GFIC, Tolerance: thinTolerance, NoMoves: true})
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return own, nil
	}
	p := &Posterior{K: kept.Shape.K, D: own.D, Pooled: own.Pooled, bayes: own.bayes}
	return m.Maximize(kept.Statistics, p, nil)
}

// NewStatistics allocates statistics for p.K components.
func (m CVB0) NewStatistics(p *Posterior) *Statistics {
	s := m.Variational.NewStatistics(p)
	s.Spread = make([]float64, p.K)
	return s
}

// Infer adds the rows of a block.
func (m CVB0) Infer(b blocks.Rows, p *Posterior, s *Statistics) (entropy float64, err error) {
	with := m.mustBayes(p)
	err = s.Classes.Chunks(b, func(first, n int, w []float64) error {
		with.predict(p, s, n, rounds)
		h, err := s.normalise(b, first, n, w)
		if err != nil {
			return err
		}
		s.addSpread(with, p.Weights, p.Components, s.r, n, w)
		s.Labels += h
		entropy += h + s.add(n, w)
		return nil
	})
	return entropy, err
}

// InferLabels adds every row to the statistics of its most probable component.
func (m CVB0) InferLabels(b blocks.Rows, p *Posterior, s *Statistics) error {
	with := m.mustBayes(p)
	return s.Classes.Chunks(b, func(first, n int, w []float64) error {
		with.predict(p, s, n, rounds)
		return s.addLabels(b, first, n, w)
	})
}

// LogJoint returns the second-order estimate of E_q[ln p(X,Z)]; NaN if no posterior has these statistics.
func (m CVB0) LogJoint(s *Statistics, p *Posterior) float64 {
	v, err := m.LogEvidence(s, p)
	if err != nil {
		return math.NaN()
	}
	return v
}

// LogEvidence returns that of [Variational] plus the second order of the local step.
func (m CVB0) LogEvidence(s *Statistics, p *Posterior) (float64, error) {
	v, err := m.Variational.LogEvidence(s, p)
	return v + floats.Sum(s.Spread), err
}

// Spread returns nil: LogEvidence has it.
func (CVB0) Spread(*Statistics, *Posterior) (func(blocks.Rows) (float64, error), error) {
	return nil, nil
}

// Relevance returns the expected number of rows in each component, so that the smallest are tried first.
func (m CVB0) Relevance(s *Statistics, p *Posterior) ([]float64, error) {
	values := slices.Clone(s.Nk)
	known.Of(m.mustBayes(p).Plan).FixPosterior(p.Components, values)
	return values, nil
}

// Keep restricts s and p to the components dims.
func (m CVB0) Keep(s *Statistics, p *Posterior, dims []int) (*Statistics, *Posterior, error) {
	b := m.mustBayes(p)
	s.restore(b.Plan)
	q := framework.KeepAxes(p, p.K, dims)
	q.bayes = b
	return s.keep(dims), q, nil
}

// Responsibilities returns q(z_n = k) of each row of the fit, rows×K. For other rows, see [Variational.Predictive].
func (m CVB0) Responsibilities(rows blocks.Rows, p *Posterior, dst []float64) ([]float64, error) {
	_, r, err := m.leaveOut(rows, p, nil, dst)
	return r, err
}

// LeaveOneOut returns ln p(x_n|X without row n) of each row of the fit, in nats, to the accuracy of the method.
func (m CVB0) LeaveOneOut(rows blocks.Rows, p *Posterior, dst []float64) ([]float64, error) {
	logProb, _, err := m.leaveOut(rows, p, dst, nil)
	return logProb, err
}

func (m CVB0) leaveOut(rows blocks.Rows, p *Posterior, logProb, r []float64) ([]float64, []float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, nil, err
	}
	return m.mustBayes(p).scoreRows(rows, p, s, rounds, logProb, r)
}

// scoreRows appends the predictive log density of each row, which is left out of its own in more than one round, and
// its responsibilities.
func (b *bayes) scoreRows(
	rows blocks.Rows, p *Posterior, s *Statistics, rounds int, logProb, r []float64,
) ([]float64, []float64, error) {
	logProb, r = logProb[:0], r[:0]
	total := floats.Sum(p.Weights)
	if rounds > 1 {
		total--
	}
	err := s.Classes.Chunks(rows, func(first, n int, _ []float64) error {
		b.predict(p, s, n, rounds)
		padded := family.Padded(n)
		sums := at(s.rows, 0, padded)
		simd.Softmax(s.r, s.K, padded, sums, at(s.rows, 1, padded))
		for i, sum := range sums[:n] {
			if sum-sum != 0 {
				return s.remote(rows, first, i)
			}
			logProb = append(logProb, sum-math.Log(total)+s.Classes.BaseOf(i))
			for k := range s.K {
				r = append(r, s.r[k*padded+i])
			}
		}
		return nil
	})
	return logProb, r, err
}
