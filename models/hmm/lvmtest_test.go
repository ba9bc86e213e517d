package hmm_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/prior"
)

// drawn are sequences of the given lengths from a chain of 3 sticky states of d columns; missing is the share of values
// left out.
func drawn(lengths []int, d int, row func(state int, rng *rand.Rand) []float64, missing float64) (*mat.Dense, []int) {
	rng := rand.New(rand.NewPCG(11, 12))
	var x []float64
	var ends []int
	n := 0
	for _, length := range lengths {
		z := rng.IntN(3)
		for range length {
			one := row(z, rng)
			for j := range one {
				if rng.Float64() < missing {
					one[j] = math.NaN()
				}
			}
			x = append(x, one...)
			if rng.Float64() < 0.25 {
				z = (z + 1 + rng.IntN(2)) % 3
			}
		}
		n += length
		ends = append(ends, n)
	}
	return mat.NewDense(n, d, x), ends
}

// lengths are those of the suite's sequences, of 1 step too.
func lengths(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1 + (7*i)%12
	}
	return list
}

// A conforming case is a family on sequences.
type conforming struct {
	name   string
	family family.Family
	x      *mat.Dense
	ends   []int
	units  [][]float64
	move   func(p *hmm.Parameters, xi, step []float64) []float64 // the coordinates of a state's ξ
	steps  int
	ks     []int
}

// gaussianState draws a step of two correlated columns.
func gaussianState(z int, rng *rand.Rand) []float64 {
	e := []float64{rng.NormFloat64(), rng.NormFloat64()}
	return []float64{4*float64(z) + e[0], float64(z*z) + 0.5*e[0] + 1.5*e[1]}
}

func conformingCases() []conforming {
	poisson := func(z int, rng *rand.Rand) []float64 {
		x := 0.0
		for range 40 {
			if rng.Float64() < []float64{0.1, 0.35, 0.7}[z] {
				x++
			}
		}
		return []float64{x}
	}
	mixed := func(z int, rng *rand.Rand) []float64 { return append(gaussianState(z, rng)[:1], poisson(z, rng)...) }
	var list []conforming
	x, ends := drawn(lengths(30), 2, gaussianState, 0)
	list = append(list, conforming{name: "diagonal Gaussian", family: normal.Family{Covariance: normal.Diagonal}, x: x, ends: ends, units: [][]float64{{10, 0.01}}, steps: 4,
		move: func(p *hmm.Parameters, xi, step []float64) []float64 {
			to, whole := slices.Clone(xi), p.Pooled.Parameters
			for j := range 2 {
				to[j] += step[2*j] * math.Sqrt(whole[2+j])
				to[2+j] += step[2*j+1] * whole[2+j]
			}
			return to
		}})
	list = append(list, conforming{name: "full Gaussian", family: normal.Family{}, x: x, ends: ends, units: [][]float64{{10, 0.01}}, ks: []int{1, 2}})
	list = append(list, conforming{name: "tied Gaussian", family: normal.Family{Covariance: normal.Tied}, x: x, ends: ends})
	x, ends = drawn(lengths(30), 1, poisson, 0)
	list = append(list, conforming{name: "Poisson", family: family.Poisson{}, x: x, ends: ends, steps: 1,
		move: func(_ *hmm.Parameters, xi, step []float64) []float64 {
			to := make([]float64, 1)
			family.Poisson{}.Move(xi, step, to)
			return to
		}})
	x, ends = drawn(lengths(30), 2, mixed, 0.15)
	list = append(list, conforming{name: "incomplete product", family: family.Product{family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1}, family.Poisson{}}, x: x, ends: ends})
	return list
}

// latent are the coordinates of the states: those of the family one state after the other, and then 2√a of the rows of
// transitions.
func (c conforming) latent(_ *hmm.Statistics, p *hmm.Parameters) ([]float64, func([]float64) *hmm.Parameters) {
	return make([]float64, p.K*(c.steps+p.K-1)), func(x []float64) *hmm.Parameters {
		q := *p
		q.Components, q.Transitions = nil, make([]float64, p.K*p.K)
		for k := range p.K {
			q.Components = append(q.Components, c.move(p, p.Component(k), x[k*c.steps:(k+1)*c.steps])...)
			step := x[p.K*c.steps+k*(p.K-1):][:p.K-1]
			family.Categorical{Levels: p.K}.Move(p.Transitions[k*p.K:(k+1)*p.K], step, q.Transitions[k*p.K:(k+1)*p.K])
		}
		return &q
	}
}

// free are those and the logits of the start.
func (c conforming) free(s *hmm.Statistics, p *hmm.Parameters) ([]float64, func([]float64) *hmm.Parameters) {
	x, move := c.latent(s, p)
	n := len(x)
	for _, v := range p.Start[1:] {
		x = append(x, math.Log(v/p.Start[0]))
	}
	return x, func(x []float64) *hmm.Parameters {
		q := move(x[:n])
		q.Start = []float64{1}
		for _, v := range x[n:] {
			q.Start = append(q.Start, math.Exp(v))
		}
		floats.Scale(1/floats.Sum(q.Start), q.Start)
		return q
	}
}

type hmmCase = lvmtest.Case[blocks.Sequences, *hmm.Parameters, *hmm.Statistics]

func (c conforming) estimates(m framework.Model[blocks.Sequences, *hmm.Parameters, *hmm.Statistics]) hmmCase {
	if c.ks == nil {
		c.ks = tier.Sizes()
	}
	model := hmm.Model{Family: c.family}
	of := hmmCase{
		Model: m, Data: lvmtest.Sequences(c.x, c.ends), K: c.ks, NoAllocations: true,
		Symmetry: func(p *hmm.Parameters, rng *rand.Rand) *hmm.Parameters {
			q, err := model.Permute(p, rng.Perm(p.K))
			if err != nil {
				panic(err)
			}
			return q
		},
		// No step is in the first state.
		Degenerate: func(s *hmm.Statistics, p *hmm.Parameters) (*hmm.Statistics, *hmm.Parameters, float64) {
			s.Nk[0], s.Starts[0] = 0, 0
			clear(s.Classes.Sums[:len(s.Classes.Sums)/s.K])
			unreached := func(v []float64) {
				v[0] = 0
				floats.Scale(1/floats.Sum(v), v)
			}
			unreached(p.Start)
			clear(s.Moves[:s.K])
			for k := range p.K {
				s.Moves[k*s.K] = 0
				if k > 0 {
					unreached(p.Transitions[k*p.K : (k+1)*p.K])
				}
			}
			return s, p, 0
		},
		Sample: func(p *hmm.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Sequences], error) {
			long := make([]int, n)
			for i := range long {
				long[i] = 1 + i%12
			}
			x, _, err := model.Sample(p, long, rng)
			if err != nil {
				return lvmtest.Data[blocks.Sequences]{}, err
			}
			ends := make([]int, n)
			endsOf(long, ends)
			return lvmtest.Sequences(mat.NewDense(len(x)/p.D, p.D, x), ends), nil
		},
		SampleRows: 150, SampleK: 2,
	}
	if c.move != nil {
		of.Latent, of.Free = c.latent, c.free
	}
	for _, scale := range c.units {
		y := mat.DenseCopyOf(c.x)
		y.Apply(func(_, j int, v float64) float64 { return v * scale[j] }, y)
		logDet := 0.0
		for _, v := range scale {
			logDet += math.Log(v)
		}
		of.Units = append(of.Units, lvmtest.Units[blocks.Sequences]{Name: "columns rescaled", Data: lvmtest.Sequences(y, c.ends), LogDet: logDet})
	}
	return of
}

// posterior are the logarithms of the concentrations; nil where the family's hyperparameters have no coordinates here.
func posterior(c conforming) lvmtest.Coordinates[*hmm.Posterior, *hmm.Statistics] {
	if c.name != "Poisson" {
		return nil
	}
	return func(_ *hmm.Statistics, p *hmm.Posterior) ([]float64, func([]float64) *hmm.Posterior) {
		apply := func(v []float64, f func(float64) float64) []float64 {
			to := make([]float64, len(v))
			for i, x := range v {
				to[i] = f(x)
			}
			return to
		}
		x := apply(slices.Concat(p.Start, p.Transitions, p.Components), math.Log)
		return x, func(x []float64) *hmm.Posterior {
			q, v := *p, apply(x, math.Exp)
			q.Start, q.Transitions, q.Components = v[:p.K], v[p.K:p.K+p.K*p.K], v[p.K+p.K*p.K:]
			return &q
		}
	}
}

// endsOf puts the running sums of lengths into ends.
func endsOf(lengths, ends []int) {
	n := 0
	for i, v := range lengths {
		n += v
		ends[i] = n
	}
}

func TestConformanceOfStructures(t *testing.T) {
	c := conformingCases()[0]
	for name, structure := range map[string]hmm.Structure{
		"uniform": {Initial: hmm.Uniform}, "stationary": {Initial: hmm.Stationary},
		"left to right": {LeftRight: 1, Initial: hmm.FirstState}, "forward": {LeftRight: 2},
	} {
		t.Run(name, func(t *testing.T) {
			of := c.estimates(hmm.Model{Family: c.family, Structure: structure})
			of.Latent, of.Free, of.Sample = nil, nil, nil // whose coordinates and draws are those of any chain
			of.NoAllocations = structure.Initial != hmm.Stationary
			if structure.LeftRight > 0 {
				of.Symmetry, of.Degenerate = nil, nil // the first state is never left out
			}
			if structure.Initial == hmm.Stationary {
				of.Degenerate = nil // the start follows the transitions
			}
			lvmtest.Test(t, of)
		})
	}
}

// Sequences of more than one part have the same equations.
func TestConformanceOfLongSequences(t *testing.T) {
	c := conformingCases()[0]
	c.x, c.ends = drawn([]int{1100, 30, 2060, 5, 1030}, 2, gaussianState, 0)
	c.ks = []int{1, 3}
	of := c.estimates(hmm.Model{Family: c.family, Workers: 1})
	of.Sample = nil
	lvmtest.Test(t, of)
}

func TestConformance(t *testing.T) {
	for _, c := range conformingCases() {
		model := hmm.Model{Family: c.family, Start: family.Seeded} // clearer classes leave FAB none of its rows
		t.Run(c.name, func(t *testing.T) { lvmtest.Test(t, c.estimates(model)) })
		t.Run(c.name+" MAP", func(t *testing.T) {
			mode := c.estimates(hmm.MAP{Model: model, Chain: hmm.ChainPrior{Start: prior.Dirichlet{Alpha: 2}, Rows: prior.Dirichlet{Alpha: 1.5}, Stay: 2}})
			mode.NoAllocations = false // the log prior takes some memory
			lvmtest.Test(t, mode)
		})
		t.Run(c.name+" VB", func(t *testing.T) {
			m := hmm.Variational{Family: c.family, Chain: hmm.ChainPrior{Start: prior.Dirichlet{Alpha: 0.5}, Rows: prior.Dirichlet{Alpha: 0.7}, Stay: 2}}
			of := c.estimates(model)
			lvmtest.Test(t, lvmtest.Case[blocks.Sequences, *hmm.Posterior, *hmm.Statistics]{Model: m, Data: of.Data, K: of.K, Units: of.Units, Free: posterior(c),
				Symmetry: func(p *hmm.Posterior, rng *rand.Rand) *hmm.Posterior {
					return framework.KeepAxes(p, p.K, rng.Perm(p.K))
				}})
		})
	}
}
