package lvmtest_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lds"
)

// chain is the right linear dynamical system with one method that may be wrong.
type chain struct {
	lds.Model
	begins   func(p *lds.Parameters)                             // Init
	local    func(p *lds.Parameters)                             // the parameters of a local step
	untilted bool                                                // Prepare
	sees     func(b blocks.Sequences) blocks.Sequences           // what Infer is given
	sums     func(s *lds.Statistics)                             // what a block adds
	entropy  func(h float64, b blocks.Sequences) float64         // its entropy
	step     func(s *lds.Statistics, p, q *lds.Parameters)       // Maximize from p to q
	joint    func(s *lds.Statistics, p *lds.Parameters) float64  // what LogJoint is more
	density  func(first, all float64) float64                    // LogProb of a sequence, from that of its first step
	shape    func(s *framework.Shape, k int)                     // Shape
	charges  func(s *lds.Statistics, list []optional.Charge)     // Charges, of which the first is of A
	curve    func(s *lds.Statistics, f *laplace.Curvature) error // Curvature
	rotate   func(s, t *lds.Statistics, p, q *lds.Parameters)    // Rotate, from s and p to t and q
	keep     func(m chain, s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error)
}

func (m chain) Init(ctx context.Context, src framework.Source[blocks.Sequences], k int, rng *rand.Rand) (*lds.Parameters, error) {
	p, err := m.Model.Init(ctx, src, k, rng)
	if m.begins != nil {
		m.begins(p)
	}
	return p, err
}

// at are the parameters that the local step takes.
func (m chain) at(p *lds.Parameters) *lds.Parameters {
	if m.local != nil {
		p = cloned(p)
		m.local(p)
	}
	return p
}

func cloned(p *lds.Parameters) *lds.Parameters {
	q := *p
	for _, list := range []*[]float64{&q.Loadings, &q.Mean, &q.Noise, &q.Dynamics, &q.Start} {
		*list = slices.Clone(*list)
	}
	return &q
}

func (m chain) Prepare(p *lds.Parameters, tilt *laplace.Tilt, s *lds.Statistics) error {
	if m.untilted {
		tilt = nil
	}
	return m.Model.Prepare(m.at(p), tilt, s)
}

func (m chain) Infer(b blocks.Sequences, p *lds.Parameters, s *lds.Statistics) (float64, error) {
	seen := b
	if m.sees != nil {
		seen = m.sees(b)
	}
	lists := []*[]float64{&s.Columns, &s.Moves, &s.Start}
	var before [][]float64
	for _, list := range lists {
		before = append(before, slices.Clone(*list))
	}
	h, err := m.Model.Infer(seen, m.at(p), s)
	if m.sums != nil {
		for i, list := range lists {
			floats.Sub(*list, before[i])
		}
		m.sums(s)
		for i, list := range lists {
			floats.Add(*list, before[i])
		}
	}
	if m.entropy != nil {
		h = m.entropy(h, b)
	}
	return h, err
}

func (m chain) Maximize(s *lds.Statistics, p, dst *lds.Parameters) (*lds.Parameters, error) {
	q, err := m.Model.Maximize(s, p, dst)
	if m.step != nil {
		m.step(s, p, q)
	}
	return q, err
}

func (m chain) LogJoint(s *lds.Statistics, p *lds.Parameters) float64 {
	v := m.Model.LogJoint(s, p)
	if m.joint != nil {
		v += m.joint(s, p)
	}
	return v
}

func (m chain) LogProb(b blocks.Sequences, p *lds.Parameters, dst []float64) ([]float64, error) {
	dst, err := m.Model.LogProb(b, p, dst)
	if m.density == nil {
		return dst, err
	}
	var c lds.Course
	err = m.Smooth(b, p, &c)
	for i := range dst {
		first, _ := b.Bounds(i)
		dst[i] = m.density(c.LogDensity[first], dst[i])
	}
	return dst, err
}

func (m chain) Shape(p *lds.Parameters) framework.Shape {
	s := m.Model.Shape(p)
	if m.shape != nil {
		m.shape(&s, p.K)
	}
	return s
}

func (m chain) Charges(s *lds.Statistics, p *lds.Parameters) []optional.Charge {
	list := m.Model.Charges(s, p)
	if m.charges != nil {
		m.charges(s, list)
	}
	return list
}

func (m chain) Curvature(s *lds.Statistics, p *lds.Parameters, f *laplace.Curvature) error {
	if m.curve != nil && !f.Prior() {
		return m.curve(s, f)
	}
	return m.Model.Curvature(s, p, f)
}

func (m chain) Rotate(s *lds.Statistics, p *lds.Parameters, basis *mat.Dense) (*lds.Statistics, *lds.Parameters, error) {
	t, q, err := m.Model.Rotate(s, p, basis)
	if m.rotate != nil {
		m.rotate(s, t, p, q)
	}
	return t, q, err
}

func (m chain) Keep(s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error) {
	if m.keep != nil {
		return m.keep(m, s, p, dims)
	}
	return m.Model.Keep(s, p, dims)
}

// momentsOf are what is on rows and columns from first to end of matrix i of a list, each n×n.
func momentsOf(list []float64, i, n, first, end int) *mat.SymDense {
	part := mat.NewSymDense(end-first, nil)
	for r := range end - first {
		for c := range end - first {
			part.SetSym(r, c, list[i*n*n+(first+r)*n+first+c])
		}
	}
	return part
}

// curvature has the loadings of each column, of the second moments that are given, and A.
func curvature(f *laplace.Curvature, s *lds.Statistics, loadings func(j int) *mat.SymDense, a *mat.SymDense, factor float64) error {
	k := s.K
	for j := range len(s.Columns) / (k + 2) / (k + 2) {
		f.Mixed(loadings(j), laplace.Diagonal{factor})
	}
	f.Mixed(a, laplace.Diagonal(slices.Repeat([]float64{factor}, k)))
	return nil
}

func transpose(k int, a []float64) {
	copy(a, mat.DenseCopyOf(mat.NewDense(k, k, a).T()).RawMatrix().Data)
}

// turning are sequences of 1 to 4 steps, some values missing, of two dimensions that turn, in some unit.
func turning(unit float64) lvmtest.Data[blocks.Sequences] {
	rng := rand.New(rand.NewPCG(5, 6))
	truth := &lds.Parameters{K: 2, D: 3, Loadings: []float64{2, 0, 0, 2, 1, -1}, Mean: []float64{3, 1, 2}, Noise: []float64{0.5, 0.7, 1},
		Dynamics: []float64{0.6, -0.6, 0.6, 0.6}, Start: []float64{1, -2}, Spread: 4}
	var x []float64
	var ends []int
	for i := range 40 {
		one, _ := truth.Sample(1+i%4, nil, nil, rng)
		if i > 24 {
			one[2] = math.NaN()
		}
		x = append(x, one...)
		ends = append(ends, len(x)/3)
	}
	floats.Scale(unit, x)
	return lvmtest.Sequences(mat.NewDense(len(x)/3, 3, x), ends)
}

type chainCase = lvmtest.Case[blocks.Sequences, *lds.Parameters, *lds.Statistics]

// chainLatent are the loadings in units of the noise, and A column by column.
func chainLatent(_ *lds.Statistics, p *lds.Parameters) ([]float64, func([]float64) *lds.Parameters) {
	k := p.K
	return make([]float64, (p.D+k)*k), func(x []float64) *lds.Parameters {
		q := cloned(p)
		for i := range p.D * k {
			q.Loadings[i] += x[i] * math.Sqrt(p.NoiseOf(i/k))
		}
		for i := range k * k {
			q.Dynamics[i%k*k+i/k] += x[p.D*k+i]
		}
		return q
	}
}

// TestMistakesOfDynamicsAreFound: by Model and Data alone, by a failure that names the method, but where needs says
// which field of the case a check asks for, with which it is found: nobody else knows the coordinates in which an
// information is twice too large. A spread that stays 1 and a Signal of one step, CᵀR⁻¹C, are no mistakes: each makes
// another right model.
func TestMistakesOfDynamicsAreFound(t *testing.T) {
	right := lds.Model{}
	for _, m := range []struct {
		name, check, method, needs string
		wrong                      chain
	}{
		{"nothing", "", "", "", chain{}},
		{"units of the table", "units", "Init", "Units", chain{begins: func(p *lds.Parameters) { p.Noise[0] = 1 }}},
		{"A transposed", "local step", "Infer", "", chain{local: func(p *lds.Parameters) { transpose(p.K, p.Dynamics) }}},
		{"a start of variance 1", "likelihood", "Infer", "", chain{local: func(p *lds.Parameters) { p.Spread = 1 }}},
		{"a start of mean 0", "likelihood", "Infer", "", chain{local: func(p *lds.Parameters) { clear(p.Start) }}},
		{"noise of other columns", "likelihood", "Infer", "", chain{local: func(p *lds.Parameters) { slices.Reverse(p.Noise) }}},
		{"no tilt", "tilted local step", "Prepare", "", chain{untilted: true}},
		{"one long sequence", "blocks", "Infer", "", chain{sees: func(b blocks.Sequences) blocks.Sequences {
			b.Ends, b.Weights = b.Ends[len(b.Ends)-1:], nil
			return b
		}}},
		{"weights ignored", "weights", "Infer", "", chain{sees: func(b blocks.Sequences) blocks.Sequences {
			b.Weights = nil
			return b
		}}},
		{"gaps that are 0", "likelihood", "Infer", "", chain{sees: func(b blocks.Sequences) blocks.Sequences {
			b.Steps.X = slices.Clone(b.Steps.X)
			for i, v := range b.Steps.X {
				if v != v {
					b.Steps.X[i] = 0
				}
			}
			return b
		}}},
		{"moves of means alone", "likelihood", "Infer", "", chain{sums: func(s *lds.Statistics) {
			for i := range s.K {
				for j := range s.K {
					s.Moves[i*2*s.K+s.K+j] *= 0.9
					s.Moves[(s.K+j)*2*s.K+i] *= 0.9
				}
			}
		}}},
		{"starts counted twice", "likelihood", "Infer", "", chain{sums: func(s *lds.Statistics) { floats.Scale(2, s.Start) }}},
		{"entropy of a step more", "likelihood", "Infer", "", chain{entropy: func(h float64, b blocks.Sequences) float64 {
			for i := range b.Len() {
				h += b.Weight(i) * math.Log(2*math.Pi*math.E) / 2
			}
			return h
		}}},
		{"entropy without weights", "weights", "Infer", "", chain{entropy: func(h float64, b blocks.Sequences) float64 {
			if b.Weights == nil {
				return h
			}
			return h / b.Weight(0)
		}}},
		{"A transposed", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, _, q *lds.Parameters) { transpose(q.K, q.Dynamics) }}},
		{"A of before", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, p, q *lds.Parameters) { copy(q.Dynamics, p.Dynamics) }}},
		{"loadings of before", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, p, q *lds.Parameters) { copy(q.Loadings, p.Loadings) }}},
		{"loadings shrunk", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, _, q *lds.Parameters) { floats.Scale(0.99, q.Loadings) }}},
		{"mean of before", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, p, q *lds.Parameters) { copy(q.Mean, p.Mean) }}},
		{"noise by N − 1", "global step", "Maximize", "", chain{step: func(s *lds.Statistics, _, q *lds.Parameters) { floats.Scale(s.N/(s.N-1), q.Noise) }}},
		{"start of before", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, p, q *lds.Parameters) { copy(q.Start, p.Start) }}},
		{"half of the spread", "global step", "Maximize", "", chain{step: func(_ *lds.Statistics, _, q *lds.Parameters) { q.Spread = (1 + q.Spread) / 2 }}},
		{"no determinant of the start", "likelihood", "LogJoint", "", chain{joint: func(s *lds.Statistics, p *lds.Parameters) float64 {
			return s.Start[0] * float64(p.K) / 2 * math.Log(p.Spread)
		}}},
		{"no 2π of z", "likelihood", "LogJoint", "", chain{joint: func(s *lds.Statistics, p *lds.Parameters) float64 {
			return s.N * float64(p.K) / 2 * math.Log(2*math.Pi)
		}}},
		{"no first step", "likelihood", "LogProb", "", chain{density: func(first, all float64) float64 { return all - first }}},
		{"no constant", "likelihood", "LogProb", "", chain{density: func(_, all float64) float64 { return all + 1 }}},
		{"A is shared", "shape", "Shape", "", chain{shape: func(s *framework.Shape, k int) { s.Component, s.Shared = s.Component-k*k, s.Shared+k*k }}},
		{"rotations are told", "identifiability", "Shape", "", chain{shape: func(s *framework.Shape, _ int) { s.Free = s.Total() }}},
		{"a rotation too many", "identifiability", "Shape", "", chain{shape: func(s *framework.Shape, _ int) { s.Free -= 2 }}},
		{"A by all steps", "charges", "Charges", "", chain{charges: func(s *lds.Statistics, l []optional.Charge) { l[0].N = s.N }}},
		{"loadings by all steps", "charges", "Charges", "", chain{charges: func(s *lds.Statistics, l []optional.Charge) { l[6].N = s.N }}},
		{"A by its starts", "charges", "Charges", "", chain{charges: func(s *lds.Statistics, l []optional.Charge) { l[0].N = s.Start[0] }}},
		{"the start by a step too many", "charges", "Charges", "", chain{charges: func(_ *lds.Statistics, l []optional.Charge) { l[1].N++ }}},
		{"information twice", "curvature", "Curvature", "Latent", chain{curve: func(s *lds.Statistics, f *laplace.Curvature) error {
			return curvature(f, s, func(j int) *mat.SymDense { return momentsOf(s.Columns, j, s.K+2, 2, s.K+2) }, momentsOf(s.Moves, 0, 2*s.K, s.K, 2*s.K), 2)
		}}},
		{"A by the steps after", "tilted local step", "Infer", "", chain{curve: func(s *lds.Statistics, f *laplace.Curvature) error {
			return curvature(f, s, func(j int) *mat.SymDense { return momentsOf(s.Columns, j, s.K+2, 2, s.K+2) }, momentsOf(s.Moves, 0, 2*s.K, 0, s.K), 1)
		}}},
		{"loadings by moves", "tilted local step", "Infer", "", chain{curve: func(s *lds.Statistics, f *laplace.Curvature) error {
			a := momentsOf(s.Moves, 0, 2*s.K, s.K, 2*s.K)
			return curvature(f, s, func(int) *mat.SymDense { return a }, a, 1)
		}}},
		{"A not turned", "rotation", "Rotate", "", chain{rotate: func(_, _ *lds.Statistics, p, q *lds.Parameters) { copy(q.Dynamics, p.Dynamics) }}},
		{"start not turned", "rotation", "Rotate", "", chain{rotate: func(_, _ *lds.Statistics, p, q *lds.Parameters) { copy(q.Start, p.Start) }}},
		{"moves not turned", "rotation", "Rotate", "", chain{rotate: func(s, t *lds.Statistics, _, _ *lds.Parameters) { copy(t.Moves, s.Moves) }}},
		{"loadings not turned", "rotation", "Rotate", "", chain{rotate: func(_, _ *lds.Statistics, p, q *lds.Parameters) { copy(q.Loadings, p.Loadings) }}},
		{"the first", "kept dimensions", "Keep", "", chain{keep: func(m chain, s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error) {
			return m.Model.Keep(s, p, upTo(len(dims)))
		}}},
		{"sums of the first", "kept dimensions", "Keep", "", chain{keep: func(m chain, s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error) {
			t, _, _ := m.Model.Keep(s, p, upTo(len(dims)))
			_, q, err := m.Model.Keep(s, p, dims)
			return t, q, err
		}}},
		{"A of the first", "rotation", "Keep", "", chain{keep: func(m chain, s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error) {
			t, q, err := m.Model.Keep(s, p, dims)
			_, first, _ := m.Model.Keep(s, p, upTo(len(dims)))
			q.Dynamics = first.Dynamics
			return t, q, err
		}}},
		{"shared memory", "memory", "Keep", "", chain{keep: func(m chain, s *lds.Statistics, p *lds.Parameters, dims []int) (*lds.Statistics, *lds.Parameters, error) {
			t, q, err := m.Model.Keep(s, p, dims)
			q.Mean = p.Mean
			return t, q, err
		}}},
	} {
		t.Run(m.name+", "+m.check, func(t *testing.T) {
			m.wrong.Model = right
			c := chainCase{Model: m.wrong, Data: turning(1), K: []int{1, 2}}
			all := c
			all.Latent = chainLatent
			if m.check == "" {
				for _, o := range lvmtest.Run(all) {
					assert.Empty(t, o.Failures, o.Check)
				}
				return
			}
			o := lvmtest.RunSome(c, m.check)[0]
			if m.needs != "" {
				all.Units = []lvmtest.Units[blocks.Sequences]{{Name: "times 8", Data: turning(8), LogDet: 2.85 * math.Log(8)}} // of 300 values 15 are missing
				assert.Equal(t, "Case."+m.needs+" is not given", o.Skipped)
				o = lvmtest.RunSome(all, m.check)[0]
			}
			assert.Contains(t, strings.Join(o.Failures, "\n"), m.method, o.Notes)
			t.Log(o.Failures)
		})
	}
}
