package blockmodel

import (
	"math"

	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The evidence of a block model is exact (docs/theory/evidence.md): the weights of the blocks have the prior Dir(1), in
// a bipartite graph those of each set, and θ_kl Beta(1, 1), or of weights that are counts gamma(1, u), u the pairs of
// one observation. A posterior is known by its mean, which is in the parameters, and by the count of data, which is in
// the curvature.

// ReplacesPrior says that Curvature integrates under the prior, so that the evidence does not add LogPrior.
func (Model) ReplacesPrior() {}

// flat is the prior of θ.
func (p *Parameters) flat() Prior {
	if p.Family == Poisson {
		return Prior{Alpha: 1, A: 1, B: p.Unit}
	}
	return Prior{Alpha: 1, A: 1, B: 1}
}

// CheckPrior returns nil: the prior is fixed.
func (Model) CheckPrior() error { return nil }

// MaximizePosterior sets π and θ to their posterior means.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	dst, err := m.Maximize(s, p, dst)
	if err != nil {
		return dst, err
	}
	all, blocks, flat := s.members(p), p.blocks(), p.flat()
	for k, n := range s.Nodes {
		side := p.side(k)
		dst.Weights[k] = (n + 1) / (all[side] + float64(blocks[side]))
	}
	for k, l := range p.cells {
		weight, pairs := s.cell(p, k, l)
		dst.set(k, l, flat.mean(p.Family, weight, pairs))
	}
	return dst, nil
}

// LogModes returns ln K! for the K blocks without labels, in a bipartite graph summed over the two sets.
func (Model) LogModes(p *Parameters) (nats float64) {
	n := p.blocks()
	for k := range p.Known {
		if p.Known[k] != free {
			n[p.side(k)]--
		}
	}
	for _, k := range n {
		orders, _ := math.Lgamma(float64(k) + 1)
		nats += orders
	}
	return nats
}

// integrals adds a count for each θ, in the order of cells, and for each weight, and what is known exactly: all of
// them, in place of what LogJoint has.
func (m Model) integrals(s *Statistics, p *Parameters, f *laplace.Curvature) {
	flat := p.flat()
	none := flat.logNorm(p.Family, 0, 0)
	exact := s.Base - m.LogJoint(s, p)
	for k, l := range p.cells {
		weight, pairs := s.cell(p, k, l)
		f.Integrate(min(k, l), pairs)
		exact += flat.logNorm(p.Family, weight, pairs) - none
	}
	var sides [2]prior.Concentrations
	for k, n := range s.Nodes {
		f.Integrate(k, n)
		sides[p.side(k)] = append(sides[p.side(k)], n+1)
	}
	for _, c := range sides {
		if len(c) > 0 {
			exact += c.LogNorm() - prior.Dirichlet{Alpha: 1}.LogNorm(len(c))
		}
	}
	f.Exact(exact)
}

// expectations are E[ln π], and the scores by E[ln p(edge|θ)], under the posteriors that p has the means of.
func (p *Parameters) expectations(tilt *laplace.Tilt) (logWeights []float64, s scores) {
	s, block, flat := newScores(p.K), 0, p.flat()
	for k, l := range p.cells {
		b := flat.B + tilt.Count(block)
		theta := p.Theta[k*p.K+l]
		if p.Family == Poisson {
			s.set(p, k, l, prior.Gamma{Shape: theta * b, Rate: b}.ExpectedLog(), -theta)
		} else {
			b += flat.A
			logP, logQ := prior.Beta{A: theta * b, B: (1 - theta) * b}.ExpectedLog()
			s.set(p, k, l, logP-logQ, logQ)
		}
		block++
	}
	var sides [2]prior.Concentrations
	for k := range p.K {
		sides[p.side(k)] = append(sides[p.side(k)], tilt.Count(block+k)+1)
	}
	for k := range sides {
		sides[k] = sides[k].ExpectedLog(nil)
	}
	for k := range p.K {
		side := p.side(k)
		logWeights, sides[side] = append(logWeights, sides[side][0]), sides[side][1:]
	}
	return logWeights, s
}
