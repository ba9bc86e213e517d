package lvmtest_test

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// proper is the toy whose parameters have a proper prior: Dir(1) of the weights, which is integrated out exactly, and
// of the logarithm of a rate, about that of the table, a normal one that is worth one row. A row has the information 5
// of it.
type proper struct{ toy }

// distance is that of a rate from the table's, in nats.
func distance(rate float64, p *rates) float64 {
	l := math.Log(rate * 20 * p.Unit / shape)
	return shape * l * l / 2
}

func (proper) CheckPrior() error { return nil }

func (m proper) MaximizePosterior(s *sums, p, dst *rates) (*rates, error) {
	if dst == nil {
		dst = &rates{Weights: make([]float64, len(s.Nk)), Rates: make([]float64, len(s.Nk))}
	}
	dst.Unit, dst.Steps, dst.Lossy = p.Unit, p.Steps+1, p.Lossy
	for k, nk := range s.Nk {
		dst.Weights[k] = (nk + 1) / (s.N + float64(len(s.Nk)))
		table := shape / (20 * p.Unit)
		l := math.Log(shape * (nk + 1) / (s.Sum[k] + shape/table))
		for range 50 { // Newton's method, of a concave function
			slope := shape*nk - s.Sum[k]*math.Exp(l) - shape*(l-math.Log(table))
			l += slope / (s.Sum[k]*math.Exp(l) + shape)
		}
		dst.Rates[k] = math.Exp(l)
	}
	return dst, nil
}

// Prepare takes E[ln β], and the tilt of C + 1.
func (m proper) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	err := m.toy.Prepare(p, tilt, s)
	if tilt.Prior() {
		n := float64(len(p.Rates))
		for k := range s.score {
			n += tilt.Count(k)
		}
		for k, w := range p.Weights {
			s.score[k] += mathext.Digamma(tilt.Count(k)+1) - mathext.Digamma(n) - math.Log(w)
		}
	}
	return err
}

func (m proper) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	if !f.Prior() {
		return m.toy.Curvature(s, p, f)
	}
	logGamma := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	k := float64(len(s.Nk))
	f.Exact(logGamma(k) - logGamma(s.N+k))
	for k, nk := range s.Nk {
		f.Exact(logGamma(nk+1) - nk*math.Log(p.Weights[k]))
		f.Integrate(k, nk, laplace.Term{Size: 1, Count: nk, Distance: distance(p.Rates[k], p)})
	}
	return nil
}

// properCoupled is coupled with that prior.
type properCoupled struct{ coupled }

func (properCoupled) CheckPrior() error { return nil }

func (properCoupled) MaximizePosterior(s *sums, p, dst *rates) (*rates, error) {
	return proper{}.MaximizePosterior(s, p, dst)
}

func (properCoupled) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	return proper{}.Curvature(s, p, f)
}

func (m properCoupled) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if !tilt.Prior() {
		return m.coupled.Update(b, p, tilt, now, next)
	}
	s := m.NewStatistics(p)
	err := proper{}.Prepare(p, tilt, s)
	for i := range b.N {
		s.posterior(b.Row(i)[0], p)
		copy(next.(*kept).row(b.First+i), s.q)
	}
	return err
}

// Mutants of them.

// offMode ends its global step a little beside the mode.
type offMode struct{ proper }

func (m offMode) MaximizePosterior(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.proper.MaximizePosterior(s, p, dst)
	floats.Scale(1+1e-5, dst.Rates)
	return dst, err
}

// forgetting follows no prior in its weights, which have no maximum where a component has no rows.
type forgetting struct{ proper }

func (m forgetting) MaximizePosterior(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.proper.MaximizePosterior(s, p, dst)
	for k, nk := range s.Nk {
		if nk == 0 {
			dst.Weights[k] = math.NaN()
		}
	}
	return dst, err
}

// lessTilted takes the tilt of C for that of C + 1, early in a fit.
type lessTilted struct{ proper }

func (m lessTilted) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	err := m.proper.Prepare(p, tilt, s)
	if tilt.Prior() && p.Steps < 3 {
		for k := range s.score {
			s.score[k] += tilt.Class(k) - 1/(2*tilt.Count(k))
		}
	}
	return err
}

// glitchingEvidence goes wrong once in its integrals.
type glitchingEvidence struct{ proper }

func (m glitchingEvidence) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	if f.Prior() && p.Steps == 11 {
		f.Exact(-1)
	}
	return m.proper.Curvature(s, p, f)
}

// unexportedPrior keeps in an unexported field what its integrals need.
type unexportedPrior struct{ proper }

func (m unexportedPrior) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	s.whole = true
	return m.proper.Prepare(p, tilt, s)
}

func (m unexportedPrior) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	if f.Prior() && !s.whole {
		f.Integrate(0, 1e-6, laplace.Term{Size: 1, Count: 1e-6})
	}
	return m.proper.Curvature(s, p, f)
}

// stickyPosterior adds a trace of what dst held before.
type stickyPosterior struct{ proper }

func (m stickyPosterior) MaximizePosterior(s *sums, p, dst *rates) (*rates, error) {
	trace := 0.0
	if dst != nil && p.Steps == 0 {
		trace = 1e-15 * dst.Rates[0]
	}
	dst, err := m.proper.MaximizePosterior(s, p, dst)
	dst.Rates[0] += trace
	return dst, err
}

// loweringPrior makes q less certain than it should be under the prior.
type loweringPrior struct{ properCoupled }

func (m loweringPrior) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if tilt.Prior() {
		return lowering{}.flatten(b, next, m.properCoupled.Update(b, p, tilt, now, next))
	}
	return m.properCoupled.Update(b, p, tilt, now, next)
}

func properMutants() []mutant {
	of := func(name, check string, m framework.Model[blocks.Rows, *rates, *sums]) mutant {
		return mutant{name: name, check: check, run: running(right(m))}
	}
	return []mutant{
		of("off the mode", "posterior step", offMode{}),
		of("forgetting the prior", "posterior step", forgetting{}),
		of("less tilted", "step under the prior", lessTilted{}),
		of("glitching in the integrals", "evidence", glitchingEvidence{}),
		of("unexported under the prior", "checkpoint", unexportedPrior{}),
		of("sticky under the prior", "memory", stickyPosterior{}),
	}
}
