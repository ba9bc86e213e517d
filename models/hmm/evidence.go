package hmm

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The evidence of a chain (docs/theory/evidence.md, section 5): the start and each row of transitions have the prior
// Dir(1), over the states that may follow, and are integrated out; what is seen in a state has the priors of package
// family. A Dirichlet posterior is known by its mean, which is in the parameters, and its counts, which are in the
// curvature. Logits have the prior and the integral of those of gates (docs/theory/experts.md, section 1).

// CheckPrior returns an error if the family has no proper prior.
func (m Model) CheckPrior() error { return family.CheckPrior(m.Family, m.Prior) }

// MaximizePosterior returns the mode of Π given q(Z): the posterior means of start and transitions, a_kl = (ξ_kl +
// 1)/(N⁻_k + K), and the states' modes. A state without steps has the mode of the prior.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	pl := m.mustPlan(p)
	s.restore(pl)
	dst = p.like(dst, pl)
	dst.Hyper = linalg.Resize(dst.Hyper, p.K*pl.Size().Hyper)
	if err := m.Structure.mean(s, p, dst, m.worth()); err != nil {
		return dst, err
	}
	copy(dst.Components, p.Components)
	return dst, s.Classes.MaximizePosterior(dst.Components, dst.Hyper)
}

// worth is what the prior of logits is worth, in steps.
func (m Model) worth() float64 {
	unit, _ := m.Prior.(prior.UnitInformation)
	return unit.RowsOr()
}

// LogModes returns ln K!, less the orders of states with labels (see [known.Family]); 0 if the structure orders the
// states.
func (m Model) LogModes(p *Parameters) float64 {
	if m.Structure.LeftRight > 0 {
		return 0
	}
	return known.Of(m.mustPlan(p)).LogModes(p.Components)
}

// mean puts the posterior means of start and transitions into dst.
func (c Structure) mean(s *Statistics, p, dst *Parameters, worth float64) error {
	if c.Covariates > 0 {
		return c.estimateGates(s, p, dst, worth*logit.ARow, 1)
	}
	s.counts = append(s.counts[:0], s.Moves...)
	for i := range s.K {
		first, end := c.span(i, s.K)
		floats.AddConst(1, at(s.counts, i, s.K)[first:end])
	}
	if c.Initial == Stationary {
		return estimateStationary(s, s.counts, p, dst)
	}
	if err := estimateTransitions(dst.Transitions, s.counts, p.Transitions, s.K); err != nil {
		return err
	}
	if c.Initial != Free {
		return c.begin(dst.Start, dst.Transitions)
	}
	for k, n := range s.Starts {
		dst.Start[k] = n + 1
	}
	complete(dst.Start, 0)
	return nil
}

// about is the Dirichlet posterior, under Dir(1), of n counts with the given mean.
func about(mean []float64, n float64) prior.Concentrations {
	c := make(prior.Concentrations, len(mean))
	floats.ScaleTo(c, n+float64(len(mean)), mean)
	return c
}

// marginal is ln ∫ Dir(p; 1) Π p_i^n_i dp; where c is not the posterior of the counts n, the bound that it gives.
func marginal(n []float64, c prior.Concentrations) float64 {
	return gained(n, c, c.ExpectedLog(nil), 1) - prior.Dirichlet{Alpha: 1}.LogNorm(len(n))
}

// integrals adds rows of transitions and start to a curvature with a prior, after the blocks of the family.
func (c Structure) integrals(s *Statistics, p *Parameters, f *laplace.Curvature, worth float64) {
	for i := range s.K {
		if c.Covariates > 0 {
			f.Integrate(i, s.Left(i), s.Gates[i].Integral(p.gate(i), s.Left(i), worth))
			continue
		}
		first, end := c.span(i, s.K)
		row, moves, left := at(p.Transitions, i, s.K)[first:end], at(s.Moves, i, s.K)[first:end], s.Left(i)
		if c.Initial == Stationary {
			f.Integrate(i, left, rowTerm(row, left))
			continue
		}
		f.Integrate(i, left)
		f.Exact(marginal(moves, about(row, left)) - multinomial(0, moves, row))
	}
	f.Integrate(0, s.Sequences)
	switch c.Initial {
	case Free:
		f.Exact(marginal(s.Starts, about(p.Start, s.Sequences)) - multinomial(0, s.Starts, p.Start))
	case Gated:
		f.Shared(s.Gates[s.K].Integral(p.gate(s.K), s.Sequences, worth))
	}
}

// rowTerm is the integral over a row a of w probabilities whose start depends on it, too: by Laplace's method in ln a,
// where Dir(1) is worth w counts at equal probabilities; what that misses without a start is known from the Dirichlet
// integral.
func rowTerm(a []float64, left float64) laplace.Term {
	w, posterior := float64(len(a)), about(a, left)
	t := laplace.Term{
		Size:     len(a) - 1,
		Count:    left,
		Worth:    w,
		Distance: -multinomial(0, slices.Repeat([]float64{1}, len(a)), a) - w*math.Log(w),
	}
	exact := prior.Dirichlet{Alpha: 1}.LogNorm(len(a)) - posterior.LogNorm() + multinomial(0, posterior, a) + w*math.Log(w)
	t.Information = exact - float64(t.Size)/2*math.Log1p(left/w)
	return t
}

// expect makes the chain that of E[ln π] and E[ln a], or lowers that of the parameters by the tilt of the rows.
func (c Structure) expect(p *Parameters, tilt *laplace.Tilt, s *Statistics) {
	rows := s.K * s.plan.Blocks()
	clear(s.leaving)
	for i := range s.K {
		if c.Initial == Stationary || c.Covariates > 0 {
			s.leaving[i] = tilt.Block(rows + i)
			continue
		}
		first, end := c.span(i, s.K)
		linalg.Fill(at(s.chain.logMove, i, s.K), math.Inf(-1))
		about(at(p.Transitions, i, s.K)[first:end], tilt.Count(rows+i)).ExpectedLog(at(s.chain.logMove, i, s.K)[first:end])
	}
	if c.Initial == Free {
		about(p.Start, tilt.Count(rows+s.K)).ExpectedLog(s.chain.logStart)
	}
}

// worth is what the evidence charges for the transitions from and to state k, and for beginning in it.
func (c Structure) worth(s *Statistics, k int) (sum float64) {
	if c.Covariates > 0 {
		return c.share(s, k)
	}
	if c.Initial == Free {
		sum = without(s.Starts, k)
	}
	for i := range s.K {
		first, end := c.span(i, s.K)
		row := at(s.Moves, i, s.K)[first:end]
		switch {
		case i == k:
			sum += charge(row)
		case first <= k && k < end && end-first > 1:
			sum += without(row, k-first)
		}
	}
	return sum
}

// charge is how far ln ∫ Dir(p; 1) Π p_i^n_i dp is below Σ n_i ln p_i at the posterior mean.
func charge(n []float64) float64 {
	mean := make([]float64, len(n))
	for i, v := range n {
		mean[i] = v + 1
	}
	complete(mean, 0)
	return multinomial(0, n, mean) - marginal(n, about(mean, floats.Sum(n)))
}

// without is how much of the charge is for place k.
func without(n []float64, k int) float64 {
	rest := append(append(make([]float64, 0, len(n)), n[:k]...), n[k+1:]...)
	return charge(n) - charge(rest)
}
