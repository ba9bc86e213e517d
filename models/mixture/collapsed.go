package mixture

import (
	"errors"
	"fmt"
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/prior"
)

// The evidence of a mixture with Π integrated out: of a labelling it is exact,
//
//	ln p(X,Z) = ln Γ(Ka)/Γ(Ka+N) + Σ_k [ln Γ(a+N_k)/Γ(a) + ln Z(h₀+T_k) − ln Z(h₀)] + Σ_n ln h(x_n),
//
// of a q it is estimated to second order (docs/theory/mixtures.md, section 9). A [Model] has no priors of its own: it
// takes those of the fit that its parameters come from, or the defaults of [Variational].

// LogEvidence returns ln p(X,Z), in nats (see [optional.Collapsible]).
func (m Model) LogEvidence(s *Statistics, p *Parameters) (float64, error) {
	return MAP{Model: m}.LogEvidence(s, p)
}

// Spread returns the second order (see [optional.Collapsible]).
func (m Model) Spread(at *Statistics, p *Parameters) (func(blocks.Rows) (float64, error), error) {
	return MAP{Model: m}.Spread(at, p)
}

// InferLabels adds every row to the statistics of its most probable component.
func (Model) InferLabels(b blocks.Rows, _ *Parameters, s *Statistics) error {
	return s.inferLabels(b)
}

// LogEvidence returns that of [Model] under the priors of m.
func (m MAP) LogEvidence(s *Statistics, p *Parameters) (float64, error) {
	b, err := m.bayes(p)
	if err != nil {
		return 0, err
	}
	return b.logEvidence(s)
}

// Spread returns that of [Model] under the priors of m.
func (m MAP) Spread(at *Statistics, p *Parameters) (func(blocks.Rows) (float64, error), error) {
	b, err := m.bayes(p)
	if err != nil {
		return nil, err
	}
	return b.spread(at, func(s *Statistics) error { return m.Prepare(p, nil, s) })
}

// LogEvidence returns that of [Model] under the priors of m.
func (m Variational) LogEvidence(s *Statistics, p *Posterior) (float64, error) {
	return m.mustBayes(p).logEvidence(s)
}

// Spread returns that of [Model] under the priors of m.
func (m Variational) Spread(at *Statistics, p *Posterior) (func(blocks.Rows) (float64, error), error) {
	return m.mustBayes(p).spread(at, func(s *Statistics) error { return m.Prepare(p, nil, s) })
}

// InferLabels adds every row to the statistics of its most probable component.
func (Variational) InferLabels(b blocks.Rows, _ *Posterior, s *Statistics) error {
	return s.inferLabels(b)
}

// Check returns an error for an invalid posterior, such as that of a damaged file.
func (m Variational) Check(p *Posterior) error {
	if p == nil || p.K < 1 || p.D < 1 {
		return errors.New("mixture: the posterior has no components or no columns")
	}
	b, err := m.bayes(p)
	if err != nil {
		return err
	}
	if h := b.Size().Hyper; len(p.Weights) != p.K || len(p.Components) != p.K*h {
		return fmt.Errorf("mixture: %d concentrations and %d hyperparameters for K = %d; must be %d and %d",
			len(p.Weights), len(p.Components), p.K, p.K, p.K*h)
	}
	for k, a := range p.Weights {
		if !(a > 0) || math.IsInf(a, 1) {
			return fmt.Errorf("mixture: the concentration of component %d is %v; must be positive and finite", k+1, a)
		}
	}
	if !simd.Finite(p.Components) {
		return errors.New("mixture: the hyperparameters are not finite")
	}
	mean, err := m.Point(p)
	if err != nil {
		return err
	}
	if err := (Model{Family: m.Family}).Check(mean); err != nil {
		return err
	}
	return m.Prepare(p, nil, m.NewStatistics(p))
}

// Collapses returns an error if some parameters have no predictive distribution in closed form: those that components
// share, and those of a family without a [family.Collapsible] prior.
func (m Variational) Collapses(p *Posterior) error {
	b, err := m.bayes(p)
	if err != nil {
		return err
	}
	return b.Collapses()
}

// Predictive returns ln p(x|X) = ln ∫p(x|Π)q(Π)dΠ of rows that are not among those of the fit, in nats, and the
// probabilities of their components, rows×K. The distribution is a mixture of Student-t distributions for Gaussians,
// of negative binomial distributions for counts, and of Lomax distributions for durations. It overwrites the slices
// from their beginnings, and grows those that are too short. It returns the errors of Collapses.
func (m Variational) Predictive(rows blocks.Rows, p *Posterior, logProb, r []float64) ([]float64, []float64, error) {
	predict, err := m.Predictor(p)
	if err != nil {
		return nil, nil, err
	}
	return predict(rows, logProb, r)
}

// Predictor returns a function that computes [Variational.Predictive] for one block after another, in one goroutine.
// What depends on p alone is computed once.
func (m Variational) Predictor(
	p *Posterior,
) (func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error), error) {
	if err := m.Collapses(p); err != nil {
		return nil, err
	}
	s, of := m.NewStatistics(p), m.mustBayes(p)
	return func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
		return of.scoreRows(b, p, s, 1, logProb, r)
	}, m.Prepare(p, nil, s)
}

func (b *bayes) logEvidence(s *Statistics) (float64, error) {
	if err := b.Collapses(); err != nil {
		return 0, err
	}
	s.restore(b.Plan)
	s.hyper = linalg.Resize(s.hyper, s.K*b.Size().Hyper)
	b.Update(s.Classes, s.hyper)
	c := prior.Dirichlet{Alpha: b.alpha}.Concentrations(s.K)
	before := c.LogNorm()
	linalg.Axpy(1, s.Nk, c)
	return b.LogEvidence(s.Classes, s.hyper) + c.LogNorm() - before, nil
}

// spread has q from the scores that prepare leaves.
func (b *bayes) spread(at *Statistics, prepare func(*Statistics) error) (func(blocks.Rows) (float64, error), error) {
	if err := b.Collapses(); err != nil {
		return nil, err
	}
	q, curved, h := newStatistics(b.Plan, at.K), newStatistics(b.Plan, at.K), make([]float64, at.K*b.Size().Hyper)
	curved.Spread = make([]float64, at.K)
	c := prior.Dirichlet{Alpha: b.alpha}.Concentrations(at.K)
	linalg.Axpy(1, at.Nk, c)
	b.Update(at.Classes, h)
	if err := prepare(q); err != nil {
		return nil, err
	}
	if err := b.Prepare(curved.Classes, h, nil, curved.tilt); err != nil {
		return nil, err
	}
	return func(rows blocks.Rows) (sum float64, err error) {
		clear(curved.Spread)
		err = q.Classes.Chunks(rows, func(first, n int, w []float64) error {
			q.joints(n)
			if _, err := q.normalise(rows, first, n, w); err != nil {
				return err
			}
			if err := curved.Classes.Observe(rows, first, n); err != nil {
				return err
			}
			curved.addSpread(b, c, h, q.r, n, w)
			return nil
		})
		for _, v := range curved.Spread {
			sum += v
		}
		return sum, err
	}, nil
}

// addSpread adds the second order of the n observed rows, whose responsibilities times weights are r, at the
// concentrations c and the hyperparameters h.
func (s *Statistics) addSpread(b *bayes, c, h, r []float64, n int, w []float64) {
	s.out = append(s.out[:0], r...)
	for k := range s.K {
		variance := ofComponent(s.out, k, n)[:n]
		sum := 0.0
		for i, v := range variance {
			switch {
			case w == nil:
				variance[i] = v * (1 - v)
			case v > 0:
				variance[i] = v * (1 - v/w[i])
			}
			if variance[i] < negligible {
				variance[i] = 0
			}
			sum += variance[i]
		}
		s.Spread[k] += sum / 2 * special.Trigamma(c[k])
	}
	b.AddSpread(s.Classes, h, s.out, s.Spread)
}

// negligible is the variance of a label below which its second order is not computed.
const negligible = 1e-14

// inferLabels adds the rows of a block to their most probable components.
func (s *Statistics) inferLabels(b blocks.Rows) error {
	return s.Classes.Chunks(b, func(first, n int, w []float64) error {
		s.joints(n)
		return s.addLabels(b, first, n, w)
	})
}

// addLabels adds the n observed rows to the components of the highest log joints in s.r.
func (s *Statistics) addLabels(b blocks.Rows, first, n int, w []float64) error {
	if _, err := s.normalise(b, first, n, w); err != nil {
		return err
	}
	padded := family.Padded(n)
	for i := range n {
		best, sum := 0, 0.0
		for k := range s.K {
			if s.r[k*padded+i] > s.r[best*padded+i] {
				best = k
			}
			sum += s.r[k*padded+i]
		}
		if w != nil {
			sum = w[i]
		} else {
			sum = 1
		}
		for k := range s.K {
			s.r[k*padded+i] = 0
		}
		s.r[best*padded+i] = sum
	}
	s.add(n, w)
	return nil
}

// rounds of the fixed point of a row, which the rounds approach from both sides in turn, so that the third starts from
// the mean of the first two: House Votes end within 0.007 nats, in all, of what twenty rounds give, without the mean
// within 0.067.
const rounds = 3

// predict puts into s.r ln (c_k − r_nk) + ln p(x_n|h_k − r_nk T(x_n)) of the n observed rows, with r the
// responsibilities that the rounds before have led to, 0 in the first.
func (b *bayes) predict(p *Posterior, s *Statistics, n, rounds int) {
	padded := family.Padded(n)
	s.r, s.out, s.rows = linalg.Resize(s.r, padded*s.K), linalg.Resize(s.out, padded*s.K), linalg.Resize(s.rows, 3*padded)
	clear(s.out)
	for round := range rounds {
		if round > 0 {
			simd.Softmax(s.r, s.K, padded, at(s.rows, 0, padded), at(s.rows, 1, padded))
			for i, q := range s.r {
				s.out[i] += (q - s.out[i]) / float64(min(round, 2))
			}
		}
		for k, c := range p.Weights {
			to, out := ofComponent(s.r, k, n), ofComponent(s.out, k, n)
			for i := range to {
				to[i] = max(c-out[i], min(c, b.alpha)) // at least what the prior gives
			}
		}
		simd.Log(s.r, s.r)
		out := s.out
		if round == 0 {
			out = nil
		}
		b.AddPredictive(s.Classes, p.Components, out, s.r)
	}
}

// CodeLength returns the decomposed normalised maximum likelihood of rows and labels (see [optional.Coded]),
//
//	Σ_k N_k ln(N_k/N) − ln C(N, K) + Σ_k Σ_c [ln p(x_c|ξ̂_kc) − ln C(E_kc, L_c)],
//
// with C that of special.LogComplexity (Wu, Sugawara & Yamanishi 2017, section 3). It returns an error unless the
// family is a [family.Finite].
func (m Model) CodeLength(s *Statistics, p *Parameters) (float64, error) {
	s.restore(m.mustPlan(p))
	return s.codeLength()
}

// CodeLength is Model.CodeLength.
func (m Variational) CodeLength(s *Statistics, p *Posterior) (float64, error) {
	s.restore(m.mustBayes(p).Plan)
	return s.codeLength()
}

func (s *Statistics) codeLength() (float64, error) {
	sum, err := s.Classes.CodeLength()
	if err != nil {
		return 0, err
	}
	for _, n := range s.Nk {
		if n > 0 {
			sum += n * math.Log(n/s.N)
		}
	}
	return sum - special.LogComplexity(s.N, s.K), nil
}
