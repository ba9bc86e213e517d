package hmm_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/prior"
)

// A path's counts: of steps and ones in each of two states, and of moves.
type pathCounts struct{ steps, ones, start, moves [4]float64 }

func countsOf(x []float64, path int) (c pathCounts) {
	last := 0
	for t, v := range x {
		z := path >> t & 1
		c.steps[z]++
		c.ones[z] += v
		if t == 0 {
			c.start[z]++
		} else {
			c.moves[2*last+z]++
		}
		last = z
	}
	return c
}

// logEvidence is ln p(x, path) with all parameters integrated out under Dirichlet(½) priors.
func (c pathCounts) logEvidence() (sum float64) {
	half := prior.Dirichlet{Alpha: 0.5}.LogNorm(2)
	of := func(a, b float64) float64 { return prior.Concentrations{a + 0.5, b + 0.5}.LogNorm() - half }
	for z := range 2 {
		sum += of(c.ones[z], c.steps[z]-c.ones[z]) + of(c.moves[2*z], c.moves[2*z+1])
	}
	return sum + of(c.start[0], c.start[1])
}

// gfic is the criterion of a path, at its own parameters: a state that it does not visit is projected away.
func (c pathCounts) gfic(t testing.TB, m hmm.Model, p *hmm.Parameters, s *hmm.Statistics) float64 {
	t.Helper()
	n := c.steps[0] + c.steps[1]
	s.N, s.Sequences = n, 1
	copy(s.Nk, c.steps[:2])
	copy(s.Starts, c.start[:2])
	copy(s.Moves, c.moves[:])
	for z := range 2 {
		s.Classes.Sums[2*z], s.Classes.Sums[2*z+1] = c.steps[z], c.ones[z]
	}
	var err error
	for z := range 2 {
		if c.steps[z] == 0 {
			s, p, err = m.Keep(s, p, []int{1 - z})
			require.NoError(t, err)
			break
		}
	}
	q, err := m.Maximize(s, p, nil)
	require.NoError(t, err)
	var f laplace.Curvature
	f.Reset(n, false)
	require.NoError(t, m.Curvature(s, q, &f))
	e := framework.Evaluation{LogJoint: m.LogJoint(s, q), LogDet: f.LogDet(), Shape: m.Shape(q), N: n, Charges: m.Charges(s, q)}
	return framework.GFIC.Value(&e)
}

// gFIC less ln p(X), both by the sum over all paths, with q the exact posterior of the paths: it is bounded as T grows
// (paper G, section 4; docs/theory/hmm.md, section 8).
func TestCriterionAgainstTheExactEvidence(t *testing.T) {
	m := hmm.Model{Family: family.Bernoulli{}}
	pooled := &family.Pooled{N: 1, Parameters: []float64{0.5}, Sums: []float64{1, 0.5}, Anchor: []float64{}, Units: []float64{}}
	p := &hmm.Parameters{K: 2, D: 1, Start: []float64{0.5, 0.5}, Transitions: []float64{0.5, 0.5, 0.5, 0.5}, Components: []float64{0.5, 0.5}, Pooled: pooled}
	s := m.NewStatistics(p)
	all := []float64{0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1}
	var gaps []float64
	for _, n := range []int{6, 9, 12, 15} {
		x := all[:n]
		logs := make([]float64, 1<<n)
		for path := range logs {
			logs[path] = countsOf(x, path).logEvidence()
		}
		evidence, value := floats.LogSumExp(logs), 0.0
		for path, v := range logs {
			q := math.Exp(v - evidence)
			value += q * (countsOf(x, path).gfic(t, m, p, s) - (v - evidence))
		}
		gaps = append(gaps, value-evidence)
	}
	t.Log(gaps)
	for i, gap := range gaps {
		assert.Less(t, math.Abs(gap), 3.0)
		if i > 0 {
			assert.Less(t, math.Abs(gap), math.Abs(gaps[i-1])+0.02)
		}
	}
}
