package numeric

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// Discrete is the mixture Σ_k β_k p(x|ξ_k, Θ) of a [Density]: a model with all that EM, FAB, gFAB, every criterion
// and pruning ask for. β on the simplex and Θ are shared, ξ_k belongs to component k.
//
// The local step is exact. The global step is a closed form where the density is an [Estimator], and else a search that
// ends within about 1e-13 nats of the maximum, where sums over rows are below 10⁴ nats. F_ξk is (N_k/N) times the information of a row: the observed one, averaged
// over the component's rows at the estimate, in the coordinates that [Parameter] describes.
//
// A fit begins with the whole table as one component, whatever K is: there the numbers need a maximum, at which the information
// about Real ones is positive definite.
type Discrete struct{ Density Density }

// MarshalJSON names the density's type, so that a checkpoint knows which one it belongs to.
func (m Discrete) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    string
		Density Density
	}{fmt.Sprintf("%T", m.Density), m.Density})
}

// Parameters of a mixture of K components on D columns. A literal of the exported fields is complete; Whole is that of the
// fit, which the units of the curvature come from.
type Parameters struct {
	K          int       `json:"k" keep:"count"`
	D          int       `json:"d"`
	Weights    []float64 `json:"weights" keep:"weights"` // β, K
	Components []float64 `json:"components" keep:"rows"` // ξ, K×P row-major, in the order of the layout
	Shared     []float64 `json:"shared"`                 // Θ
	Whole      *Whole    `json:"whole"`                  // the whole table as one component

	compiled *compiled

	mu       sync.Mutex
	observed []*mat.SymDense // information of a row of each component, in the coordinates of the search; nil until asked for
}

// Whole is the table as one component, which the units of the curvature are taken from.
type Whole struct {
	N         float64   `json:"n"`
	Component []float64 `json:"component"` // ξ, P
	Shared    []float64 `json:"shared"`    // Θ
	Root      []float64 `json:"root"`      // R, row-major and upper triangular, where RᵀR is the information of a row about the Real numbers of ξ
}

func (m Discrete) compiled(p *Parameters) (*compiled, error) {
	if p.compiled != nil && p.compiled.columns == p.D {
		return p.compiled, nil
	}
	return compile(m.Density, p.D)
}

// must is compiled where the parameters come from Init, which has done it before.
func (m Discrete) must(p *Parameters) *compiled {
	c, err := m.compiled(p)
	if err != nil {
		panic(err)
	}
	return c
}

// Check says whether parameters that come from elsewhere can be those of the model.
func (m Discrete) Check(p *Parameters) error {
	if p == nil || p.K < 1 || p.D < 1 || p.Whole == nil {
		return errors.New("numeric: parameters without components, columns or the whole table")
	}
	c, err := compile(m.Density, p.D)
	if err != nil {
		return err
	}
	n, reals := c.component.numbers, len(c.component.reals())
	if len(p.Weights) != p.K || len(p.Components) != p.K*n || len(p.Shared) != c.shared.numbers || len(p.Whole.Component) != n || len(p.Whole.Shared) != len(p.Shared) || len(p.Whole.Root) != reals*reals {
		return fmt.Errorf("numeric: %d weights, %d numbers of components and %d shared ones do not belong to K = %d and the layout of %T, which has %d and %d", len(p.Weights), len(p.Components), len(p.Shared), p.K, m.Density, n, c.shared.numbers)
	}
	if err := simplexKind(p.K).check(p.Weights); err != nil {
		return fmt.Errorf("numeric: the weights: %w", err)
	}
	for k := range p.K {
		if err := c.component.check(p.component(k, c)); err != nil {
			return fmt.Errorf("numeric: component %d: %w", k+1, err)
		}
	}
	if err := c.shared.check(p.Shared); err != nil {
		return fmt.Errorf("numeric: shared %w", err)
	}
	return nil
}

func (p *Parameters) component(k int, c *compiled) []float64 {
	return p.Components[k*c.component.numbers : (k+1)*c.component.numbers]
}

// Component returns the numbers of component k, in the order of the layout.
func (p *Parameters) Component(k int) []float64 {
	n := len(p.Components) / p.K
	return p.Components[k*n : (k+1)*n]
}

// ---- Start: Init, in start.go

// ---- Local step

// NewStatistics makes statistics for p.K components.
func (m Discrete) NewStatistics(p *Parameters) *Statistics { return newStatistics(m.must(p), p.K) }

// Prepare computes ln β_k, lowered with a tilt by D_ξ/(2N_k).
func (m Discrete) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	c := m.must(p)
	if s.one == nil { // from a checkpoint
		sums := *s
		*s = *newStatistics(c, p.K)
		s.Blocks, s.Q = sums.Blocks, sums.Q
	}
	s.clear()
	for k, w := range p.Weights {
		s.score[k] = math.Log(max(w, least)) - tilt.Class(k)
	}
	if math.IsInf(slices.Max(s.score), -1) {
		return errors.New("numeric: no component has rows, so that the tilted local step has none to choose; lower K")
	}
	return nil
}

// Infer adds the rows of a block.
func (m Discrete) Infer(b framework.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	c := s.one
	defer c.recover(&err)
	if b.D != c.columns {
		return 0, fmt.Errorf("numeric: %w", framework.FaultyRow(b.First, "has %d columns, the model %d", b.D, c.columns))
	}
	for i := range b.N {
		if b.Weight(i) == 0 { // left out, whatever it holds
			s.skip()
			continue
		}
		if _, err := m.assign(b, i, p, s); err != nil {
			return 0, err
		}
		if c.additive != nil {
			c.enter("Observe", b.First+i, -1)
			c.additive.Observe(b.Row(i), s.t)
			c.leave()
		}
		entropy += s.add(b.Weight(i))
	}
	if c.additive == nil {
		s.Blocks = append(s.Blocks, b)
	}
	return entropy, nil
}

// assign puts the responsibilities of row i into s.q and returns its log-likelihood.
func (Discrete) assign(b framework.Rows, i int, p *Parameters, s *Statistics) (logProb float64, err error) {
	top := math.Inf(-1)
	for k := range s.q {
		v, err := s.one.checked(b.Row(i), b.First+i, k, p.component(k, s.one.compiled), p.Shared)
		if err != nil {
			return 0, err
		}
		s.q[k] = s.score[k] + v
		top = max(top, s.q[k])
	}
	if math.IsInf(top, -1) {
		s.one.enter("LogProb", b.First+i, -1)
		return 0, s.one.refused("it returned −Inf for every component: the row %v cannot come from the model; check the row, or the support of the density", b.Row(i))
	}
	sum := 0.0
	for k, v := range s.q {
		s.q[k] = math.Exp(v - top)
		sum += s.q[k]
	}
	for k := range s.q {
		s.q[k] /= sum
	}
	return top + math.Log(sum), nil
}

// ---- Global step

// Maximize is β_k = N_k/N, and ξ and Θ where Σ_k Σ_n w_n q_nk ln p(x_n|ξ_k, Θ) is largest, searched for from p.
func (m Discrete) Maximize(s *Statistics, p, dst *Parameters) (_ *Parameters, err error) {
	c := m.must(p)
	if dst == nil {
		dst = &Parameters{}
	}
	dst.K, dst.D, dst.Whole, dst.compiled, dst.observed = p.K, p.D, p.Whole, c, nil
	dst.Weights = append(dst.Weights[:0], s.Nk...)
	for k := range dst.Weights {
		dst.Weights[k] /= s.N
		if !(s.Nk[k] > 0) {
			return dst, &framework.DegenerateError{Dimension: k, Reason: errors.New("numeric: the component has lost all its rows; lower K")}
		}
	}
	dst.Components = append(dst.Components[:0], p.Components...)
	dst.Shared = append(dst.Shared[:0], p.Shared...)
	t := &task{machine: c.machine(), rows: s.all(c), components: dst.Components, shared: dst.Shared, whole: p.Whole}
	defer t.recover(&err)
	return dst, t.do()
}

// information is what has been observed of a row of each component, in a slice of its own.
func (p *Parameters) information() []*mat.SymDense {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.observed)
}

// LogJoint is E_q[ln p(X,Z|Π)].
func (m Discrete) LogJoint(s *Statistics, p *Parameters) (value float64) {
	c := m.must(p)
	one := c.machine()
	var panicked error
	defer func() {
		if panicked != nil {
			value = math.NaN() // the engine reports it
		}
	}()
	defer one.recover(&panicked)
	for k, n := range s.Nk {
		value += n * math.Log(max(p.Weights[k], least))
		if n > 0 {
			value += one.total(s.weighted(c, k), p.component(k, c), p.Shared)
		}
	}
	return value
}

// Shape counts K − 1 weights and Θ as shared.
func (m Discrete) Shape(p *Parameters) framework.Shape {
	c := m.must(p)
	return framework.Shape{K: p.K, Component: p.K * c.component.free, Shared: p.K - 1 + c.shared.free}
}

// ---- Curvature

// Curvature adds N_k rows with the information I_k each for component k (paper G, eq. 1). I_k is observed when it is first
// asked for, from s, which has to be what p was maximised from; it belongs to the estimate p from then on.
func (m Discrete) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	c := m.must(p)
	if f.CountOnly() {
		for k, n := range s.Nk {
			f.Class(k, n, laplace.Identity(c.component.free))
		}
		return nil
	}
	if err := m.observe(s, p, c); err != nil {
		return err
	}
	root := p.Whole.root()
	for k, n := range s.Nk {
		info, err := c.inCoordinates(p.observed[k], p.component(k, c), p.Whole, root)
		if err != nil {
			return fmt.Errorf("component %d: %w", k+1, err)
		}
		f.Class(k, n, laplace.NewDense(info))
	}
	return nil
}

// observe fills in p.observed where that has not been done.
func (m Discrete) observe(s *Statistics, p *Parameters, c *compiled) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.observed != nil {
		return nil
	}
	list := make([]*mat.SymDense, p.K)
	err := c.each(p.K, func(one *machine, k int) error {
		list[k] = &mat.SymDense{}
		if c.component.free == 0 {
			return nil
		}
		list[k] = mat.NewSymDense(c.component.free, nil)
		if !(s.Nk[k] > 0) {
			return nil
		}
		one.observe(s.weighted(c, k), p.component(k, c), p.Shared, p.Whole, true, list[k])
		if v, bad := notFinite(list[k]); bad {
			one.enter(c.curvatureMethod(), -1, k)
			return one.refused("the second derivatives at component %v, shared %v hold %v: a density with two finite derivatives inside its range is wanted", p.component(k, c), p.Shared, v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.observed = list
	return nil
}

func (c *compiled) curvatureMethod() string {
	switch {
	case c.informer != nil:
		return "Information"
	case c.additive != nil:
		return "LogTotal"
	}
	return "LogProb"
}

func (w *Whole) root() *mat.TriDense {
	n := int(math.Sqrt(float64(len(w.Root))))
	if n == 0 {
		return nil
	}
	return mat.NewTriDense(n, mat.Upper, w.Root)
}

// inCoordinates takes a row's information from the coordinates of the search to those of the curvature: J⁻ᵀIJ⁻¹.
func (c *compiled) inCoordinates(info *mat.SymDense, xi []float64, w *Whole, root *mat.TriDense) (*mat.SymDense, error) {
	if c.component.free == 0 {
		return &mat.SymDense{}, nil
	}
	var inverse mat.Dense
	jacobian := c.component.jacobian(xi, w.Component, root)
	if v := mat.Sum(jacobian); v-v != 0 {
		return nil, fmt.Errorf("numeric: the coordinates of the curvature have no slope at %v: choose others with In", xi)
	}
	if err := inverse.Inverse(jacobian); err != nil {
		var condition mat.Condition
		if !errors.As(err, &condition) || math.IsInf(float64(condition), 0) {
			return nil, fmt.Errorf("numeric: the coordinates of the curvature have no slope at %v: %w; choose others with In", xi, err)
		}
	}
	return congruent(&inverse, info), nil
}

// StandardErrors are those of the numbers of [Parameters].Components, K×P: the square roots of the diagonal of (N_k I_k)⁻¹,
// carried to the numbers by the delta method (paper G, Proposition 9). They know of no uncertainty about Z. s are the
// statistics that p was maximised from.
func (m Discrete) StandardErrors(s *Statistics, p *Parameters) ([]float64, error) {
	c, err := m.compiled(p)
	if err != nil {
		return nil, err
	}
	if err := m.observe(s, p, c); err != nil {
		return nil, err
	}
	errs := make([]float64, len(p.Components))
	n, free := c.component.numbers, c.component.free
	unit, widths := make([]float64, n), make([]float64, free)
	fill(widths, 1)
	for k := range p.K {
		var inverse mat.Dense
		if free == 0 {
			continue
		}
		if err := inverse.Inverse(p.observed[k]); err != nil {
			return nil, fmt.Errorf("numeric: the rows of component %d do not determine its parameters: %w", k+1, err)
		}
		row := make([]float64, free)
		for i := range n {
			clear(unit)
			unit[i] = 1
			c.component.chain(p.component(k, c), make([]float64, free), unit, row, widths)
			v := mat.NewVecDense(free, row)
			errs[k*n+i] = math.Sqrt(max(0, mat.Inner(v, &inverse, v)/s.Nk[k]))
		}
	}
	return errs, nil
}

// ---- Projection

// Relevance is what gFIC would lose at once, in nats, if a component were left out and its rows went to the others:
// the rows' log-likelihood less the component's share of the penalty; −Inf for one that has lost all its rows.
func (m Discrete) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	c := m.must(p)
	var f laplace.Curvature
	f.Reset(s.N, false)
	if err := m.Curvature(s, p, &f); err != nil {
		return nil, err
	}
	blocks, values := f.Blocks(), slices.Clone(s.Loss)
	for k, n := range s.Nk {
		if !(n > 0) {
			values[k] = math.Inf(-1)
			continue
		}
		values[k] += s.N*math.Log1p(-min(n/s.N, 1-0x1p-53)) - blocks[k].LogDet()/2 - float64(c.component.free+1)/2*math.Log(s.N)
	}
	return values, nil
}

// Keep keeps some components, and what has been observed of them.
func (m Discrete) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	q := framework.KeepAxes(p, p.K, dims)
	q.compiled, q.observed = m.must(p), kept(p.information(), dims)
	return framework.KeepAxes(s, p.K, dims), q, nil
}

// kept are some of a list; nil of nil.
func kept(list []*mat.SymDense, dims []int) (some []*mat.SymDense) {
	if list == nil {
		return nil
	}
	for _, k := range dims {
		some = append(some, list[k])
	}
	return some
}

// ---- Judging rows

// LogProb is ln Σ_k β_k p(x_n|ξ_k, Θ) of each row, in nats.
func (m Discrete) LogProb(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst = resized(dst, b.N)
	return dst, m.judge(b, p, func(i int, logProb float64, _ []float64) { dst[i] = logProb })
}

// Responsibilities are p(z_n = k|x_n), rows×K.
func (m Discrete) Responsibilities(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst = resized(dst, b.N*p.K)
	return dst, m.judge(b, p, func(i int, _ float64, q []float64) { copy(dst[i*p.K:], q) })
}

func (m Discrete) judge(b framework.Rows, p *Parameters, see func(i int, logProb float64, q []float64)) (err error) {
	c, err := m.compiled(p)
	if err != nil {
		return err
	}
	if b.D != c.columns {
		return fmt.Errorf("numeric: rows have %d columns, the model %d", b.D, c.columns)
	}
	s := newStatistics(c, p.K)
	defer s.one.recover(&err)
	if err := m.Prepare(p, nil, s); err != nil {
		return err
	}
	for i := range b.N {
		logProb, err := m.assign(b, i, p, s)
		if err != nil {
			return err
		}
		see(i, logProb, s.q)
	}
	return nil
}

var (
	_ framework.Model[framework.Rows, *Parameters, *Statistics] = Discrete{}
	_ framework.Curved[*Parameters, *Statistics]                = Discrete{}
	_ framework.Projector[*Parameters, *Statistics]             = Discrete{}
	_ framework.LogProber[framework.Rows, *Parameters]          = Discrete{}
	_ framework.Assigner[framework.Rows, *Parameters]           = Discrete{}
)
