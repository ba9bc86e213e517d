package mixture

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
)

// What a model shares with a mixture whose rows have class probabilities of their own, such as package experts: the
// components, and all that is done with rows once their probabilities are known.

// A Prior gives the rows of a block their own prior probabilities of the components, in place of the weights.
type Prior interface {
	// LogProb puts ln p(z_n = k) of the n rows from first on into r. It is K×n: the n numbers of a component are
	// consecutive, and padded with finite numbers to [family.Padded].
	LogProb(first, n int, r []float64) error
	// Assigned receives the responsibilities of these rows times their weights w (nil: 1), in the same layout.
	Assigned(n int, w, r []float64)
}

// InferGiven adds the rows of a block with a prior for each row, or with the weights if prior is nil. Prepare must
// have been called with s. It returns the entropy of the rows' q, in nats.
func (s *Statistics) InferGiven(b blocks.Rows, prior Prior) (entropy float64, err error) {
	err = s.Classes.Chunks(b, func(first, n int, w []float64) error {
		if err := s.jointsGiven(first, n, prior); err != nil {
			return err
		}
		h, err := s.normalise(b, first, n, w)
		if err != nil {
			return err
		}
		if prior != nil {
			prior.Assigned(n, w, s.r)
		}
		s.Labels += h
		entropy += h + s.add(n, w)
		return nil
	})
	return entropy, err
}

// jointsGiven is joints under a prior.
func (s *Statistics) jointsGiven(first, n int, prior Prior) error {
	if prior == nil {
		s.joints(n)
		return nil
	}
	s.r = linalg.Resize(s.r, family.Padded(n)*s.K)
	if err := prior.LogProb(first, n, s.r); err != nil {
		return err
	}
	for k, v := range s.tilt {
		floats.AddConst(-v, ofComponent(s.r, k, n))
	}
	s.Classes.AddScores(s.r)
	return nil
}

// ScoreGiven returns the log-likelihood of each row and its responsibilities under a prior for each row, or under the
// weights if prior is nil. It overwrites the two slices from their beginnings.
func (s *Statistics) ScoreGiven(b blocks.Rows, prior Prior, logProb, r []float64) ([]float64, []float64, error) {
	logProb, r = logProb[:0], r[:0]
	err := s.Classes.Chunks(b, func(first, n int, _ []float64) error {
		if err := s.jointsGiven(first, n, prior); err != nil {
			return err
		}
		padded := family.Padded(n)
		s.rows = linalg.Resize(s.rows, 2*padded)
		simd.Softmax(s.r, s.K, padded, s.rows, s.rows[padded:])
		for i, sum := range s.rows[:n] {
			if sum-sum != 0 {
				return s.remote(b, first, i)
			}
			logProb = append(logProb, sum+s.Classes.BaseOf(i))
			for k := range s.K {
				r = append(r, s.r[k*padded+i])
			}
		}
		return nil
	})
	return logProb, r, err
}

// LogConditional returns E_q[ln p(X|Z,ξ)], in nats: [Model.LogJoint] without the part of the weights.
func (m Model) LogConditional(s *Statistics, p *Parameters) float64 {
	s.restore(m.mustPlan(p))
	return s.Classes.LogJoint(p.Components)
}

// CurvatureGiven is [Model.Curvature] without the part of the weights.
func (m Model) CurvatureGiven(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	s.restore(m.mustPlan(p))
	if f.Prior() {
		return s.Classes.Integrals(f, s.Nk, p.Components, p.Hyper)
	}
	return s.Classes.Curvature(f, s.Nk, p.Components, p.observed)
}

// Worth returns, for each component, the immediate loss of log-likelihood in nats if it were dropped and the other
// weights did not change, less ½ ln|N F_ξk|, gFIC's charge for its parameters; −Inf for a component without an
// estimate, +Inf for one that rows are known to be in.
func (m Model) Worth(s *Statistics, p *Parameters) []float64 {
	s.restore(m.mustPlan(p))
	values := slices.Clone(s.Loss)
	if s.Classes.Proper {
		costs, err := s.Classes.Costs(s.Nk, p.Components, p.Hyper)
		if err != nil {
			return slices.Repeat([]float64{math.Inf(-1)}, s.K)
		}
		floats.Sub(values, costs)
		known.Of(m.mustPlan(p)).Fix(p.Components, values)
		return values
	}
	for k, n := range s.Nk {
		charge, err := s.Classes.Charge(k, n, p.Components, p.observed)
		if err != nil {
			values[k] = math.Inf(-1)
			continue
		}
		values[k] -= charge
	}
	known.Of(m.mustPlan(p)).Fix(p.Components, values)
	return values
}
