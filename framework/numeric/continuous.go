package numeric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Continuous is the model of a [JointDensity], with z_n ∈ R^K: EM, FAB, gFAB, criteria and pruning from ln p(x, z|Ξ,
// Θ).
//
// The points of adaptive Gauss–Hermite quadrature about the mode of each row's z, in units of the curvature there,
// represent q(z_n); the local step, the global step and the criteria take every expectation at these points. So
// LogJoint + H(q) is ln p(X) by that rule. If ln p(x, z) is quadratic in z, as in linear Gaussian models, 2K points are
// exact, and EM never falls; a fit tests this at its beginning. Otherwise the error is that of the rule, and EM may
// fall by as much.
//
// The latent dimensions mix linearly by assumption: rotating z and Ξ together changes nothing. Then F is (S/N) ⊗ B,
// with S = Σ E[z zᵀ] and B, P×P, the information about Σ_k z_k ξ_k. F is exact if ξ_k acts through such sums and the
// information is the same for all rows, as in paper G's eq. 5; otherwise B is an average over rows. With Axes the
// dimensions do not mix, and F has one block (S_kk/N) B_k for each.
//
// F is unit-free: Ξ is measured in units in which the table without latent dimensions (Ξ = 0, Θ at its maximum, z from
// N(0, 1)) has the information I a row about ξ_k.
type Continuous struct {
	Density JointDensity
	Axes    bool // the latent dimensions do not mix
	Nodes   int  // of the rule in each latent dimension; 0: 15, 7, 5 at K = 1, 2, 3, and 3 beyond, or 2K points in all
	// Prior is that of the evidence; nil for [prior.UnitInformation] worth one row, any other kind is refused
	Prior prior.Prior
}

// MarshalJSON names the density's type, by which a checkpoint identifies it.
func (m Continuous) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    string
		Density JointDensity
		Axes    bool
		Nodes   int
		Rule    string
		Prior   prior.Prior `json:",omitempty"`
	}{fmt.Sprintf("%T", m.Density), m.Density, m.Axes, m.Nodes, "adaptive", m.Prior})
}

// A pooledTable is the table as one component, which gives the units of the curvature.
type pooledTable struct {
	N         float64   `json:"n"`
	Component []float64 `json:"component"` // ξ, P
	Shared    []float64 `json:"shared"`    // Θ
	// R, row-major and upper triangular, where RᵀR is the information of a row about the Real numbers of ξ
	Root []float64 `json:"root"`
	// Quadratic says that ln p(x, z) is quadratic in z, in a model of continuous z
	Quadratic bool `json:"quadratic,omitempty"`
	// Information is that of a row about Θ, row-major, in a model of continuous z
	Information []float64 `json:"information,omitempty"`
}

func (w *pooledTable) root() *mat.TriDense {
	n := int(math.Sqrt(float64(len(w.Root))))
	if n == 0 {
		return nil
	}
	return mat.NewTriDense(n, mat.Upper, w.Root)
}

// ContinuousParameters are those of K latent dimensions on D columns.
type ContinuousParameters struct {
	K          int          `json:"k" keep:"count"`
	D          int          `json:"d"`
	Components []float64    `json:"components" keep:"rows"` // Ξ, K×P row-major, in the order of the layout
	Shared     []float64    `json:"shared"`                 // Θ
	Pooled     *pooledTable `json:"whole"`                  // the table without latent dimensions

	compiled *compiledJoint

	mu       sync.Mutex
	observed []*mat.SymDense // B, or B_k of each dimension, by the numbers of ξ; nil until asked for
	about    *mat.SymDense   // minus the second derivatives by Θ, in its coordinates; nil until asked for
}

// Component returns the numbers of latent dimension k.
func (p *ContinuousParameters) Component(k int) []float64 {
	n := len(p.Components) / p.K
	return p.Components[k*n : (k+1)*n]
}

func (m Continuous) compiled(p *ContinuousParameters) (*compiledJoint, error) {
	if p.compiled != nil && p.compiled.columns == p.D {
		return p.compiled, nil
	}
	return compileJoint(m.Density, p.D, m.Nodes, p.Pooled != nil && p.Pooled.Quadratic)
}

// must is compiled where the parameters come from Init, which has done it before.
func (m Continuous) must(p *ContinuousParameters) *compiledJoint {
	c, err := m.compiled(p)
	if err != nil {
		panic(err)
	}
	return c
}

// Check returns an error if parameters from elsewhere cannot belong to the model.
func (m Continuous) Check(p *ContinuousParameters) error {
	if p == nil || p.K < 1 || p.D < 1 || p.Pooled == nil {
		return errors.New("numeric: the parameters have no latent dimensions, no columns or no Pooled")
	}
	c, err := m.compiled(p)
	if err != nil {
		return err
	}
	n := c.component.numbers
	if len(p.Components) != p.K*n || len(p.Shared) != c.shared.numbers || len(p.Pooled.Root) != n*n {
		return fmt.Errorf("numeric: %d numbers of latent dimensions and %d shared ones do not fit K = %d and "+
			"the layout of %T, which has %d and %d", len(p.Components), len(p.Shared), p.K, m.Density, n, c.shared.numbers)
	}
	if err := realKind(0).check(p.Components); err != nil {
		return fmt.Errorf("numeric: a latent dimension: %w", err)
	}
	if err := c.shared.check(p.Shared); err != nil {
		return fmt.Errorf("numeric: shared %w", err)
	}
	_, err = c.machine().rule(p.K)
	return err
}

// ---- Start

// Init fits Θ with Ξ = 0, and draws Ξ from a normal distribution of about the size of the remaining noise.
func (m Continuous) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (_ *ContinuousParameters, err error) {
	all, err := read(ctx, src)
	if err != nil {
		return nil, err
	}
	if m.Nodes < 0 {
		return nil, fmt.Errorf("numeric: Nodes is %d; must not be negative", m.Nodes)
	}
	c, err := compileJoint(m.Density, all[0].D, m.Nodes, true)
	if err != nil {
		return nil, err
	}
	w, err := c.pooled(all)
	if err != nil {
		return nil, err
	}
	if c.quadratic, err = c.isQuadratic(all, w); err != nil {
		return nil, err
	}
	w.Quadratic = c.quadratic
	if _, err := c.machine().rule(k); err != nil {
		return nil, err
	}
	p := &ContinuousParameters{K: k, D: c.columns, Shared: slices.Clone(w.Shared), Pooled: w, compiled: c}
	for range k {
		xi, err := w.draw(rng, 1/float64(k))
		if err != nil {
			return nil, err
		}
		p.Components = append(p.Components, xi...)
	}
	return p, nil
}

// read collects the blocks of a source.
func read(ctx context.Context, src framework.Source[blocks.Rows]) ([]blocks.Rows, error) {
	var all []blocks.Rows
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && b.D != all[0].D {
			return nil, fmt.Errorf("numeric: %w",
				blocks.FaultyRow(b.First, "has %d columns, earlier rows %d", b.D, all[0].D))
		}
		all = append(all, b)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("numeric: the source has no rows")
	}
	return all, nil
}

// pooled fits Θ with Ξ = 0 under z ~ N(0, 1), and measures the information of a row about ξ there.
func (c *compiledJoint) pooled(all []blocks.Rows) (_ *pooledTable, err error) {
	one := c.machine()
	defer one.recover(&err)
	s := newPosteriors(c, 1)
	s.Blocks = all
	w := &pooledTable{Component: make([]float64, c.component.numbers), Shared: make([]float64, c.shared.numbers)}
	rule := axial(1)
	prior := local{[]float64{0}, []float64{1}, rule.weight}
	s.each(func(b blocks.Rows, i, _ int) bool {
		s.append(b.Weight(i), prior, rule)
		return true
	})
	if w.N = s.N; !(w.N > 0) {
		return nil, errors.New("numeric: all weights are 0")
	}
	c.shared.neutral(w.Shared)
	s.each(func(b blocks.Rows, i, _ int) bool {
		if b.Weight(i) == 0 {
			return true
		}
		if v := one.expected(rule, b.Row(i), b.First+i, prior, w.Component, w.Shared); v-v != 0 {
			one.enter("LogJoint", b.First+i, -1)
			err = one.violated("returned %v for the row %v at component %v, shared %v, where the fit begins", v,
				b.Row(i), w.Component, w.Shared)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	t := &jointTask{jointMachine: one, s: s, rule: rule, shared: w.Shared, components: w.Component, far: true}
	if c.shared.free > 0 {
		g := t.objective(false)
		g.search(true)
	}
	if err := c.shared.check(w.Shared); err != nil {
		return nil, fmt.Errorf("numeric: there is no maximum at K = 0: shared %w", err)
	}
	info, err := one.observe(s, rule, w.Component, w.Shared, false, nil, true)
	if err != nil {
		return nil, err
	}
	var ok bool
	if w.Root, ok = rootOf(info[0]); !ok {
		return nil, fmt.Errorf(
			"numeric: the table does not determine the parameters of a latent dimension of %s: their information "+
				"at K = 0 is %v; leave out parameters that LogJoint does not depend on", one.of,
			mat.Formatted(info[0], mat.Squeeze()),
		)
	}
	if c.shared.free > 0 {
		about := one.aboutShared(s, rule, w.Component, w.Shared)
		about.ScaleSym(1/s.N, about)
		w.Information = make([]float64, c.shared.free*c.shared.free)
		full(about, w.Information)
	}
	return w, nil
}

// isQuadratic reports whether ln p(x, z) is quadratic in z: a few rows along a few lines, at loadings of about the size
// of the noise.
func (c *compiledJoint) isQuadratic(all []blocks.Rows, w *pooledTable) (_ bool, err error) {
	if c.inferrer != nil {
		return true, nil
	}
	m := c.machine()
	defer m.recover(&err)
	rng := rand.New(rand.NewPCG(1, 2))
	z, values := make([]float64, 2), make([]float64, 5)
	for _, b := range all {
		for i := 0; i < b.N; i += max(1, b.N/8) {
			if b.Weight(i) == 0 {
				continue
			}
			var xi []float64
			for range z {
				loadings, err := w.draw(rng, 1)
				if err != nil {
					return false, err
				}
				xi = append(xi, loadings...)
			}
			from, along := [2]float64{rng.NormFloat64(), rng.NormFloat64()}, [2]float64{rng.NormFloat64(), rng.NormFloat64()}
			size := 1.0
			for t := range values {
				for a := range z {
					z[a] = from[a] + float64(t-2)*along[a]
				}
				values[t] = m.logJoint(b.Row(i), z, b.First+i, xi, w.Shared)
				size = max(size, math.Abs(values[t]))
			}
			third := values[4] - 2*values[3] + 2*values[1] - values[0]
			fourth := values[4] - 4*values[3] + 6*values[2] - 4*values[1] + values[0]
			if !(math.Abs(third) < 1e-11*size && math.Abs(fourth) < 1e-11*size) {
				return false, nil
			}
		}
	}
	return true, nil
}

// draw is a latent dimension from a normal distribution with so many times the covariance that a row's noise leaves.
func (w *pooledTable) draw(rng *rand.Rand, times float64) ([]float64, error) {
	xi := mat.NewVecDense(len(w.Component), nil)
	for i := range w.Component {
		xi.SetVec(i, rng.NormFloat64()*math.Sqrt(times))
	}
	if err := xi.SolveVec(w.root(), xi); err != nil {
		return nil, fmt.Errorf("numeric: %w", err)
	}
	return xi.RawVector().Data, nil
}

// ---- Local step

// NewStatistics makes statistics for p.K latent dimensions.
func (m Continuous) NewStatistics(p *ContinuousParameters) *Posteriors {
	return newPosteriors(m.must(p), p.K)
}

// Prepare makes a precision of the tilt: P·S₀⁻¹, with Axes P/S₀kk for dimension k.
func (m Continuous) Prepare(p *ContinuousParameters, tilt *laplace.Tilt, s *Posteriors) error {
	if s.one == nil { // from a checkpoint
		s.one = m.must(p).machine()
	}
	s.clear()
	if s.extra = nil; tilt == nil {
		return nil
	}
	s.extra = mat.NewSymDense(p.K, nil)
	if m.Axes {
		for k := range p.K {
			s.extra.SetSym(k, k, 2*tilt.Class(k)) // of an observation, which is z_k² = 1
		}
		return nil
	}
	if err := tilt.Precision(s.extra); err != nil {
		return fmt.Errorf("numeric: E[ZᵀZ] at K = %d: %w: allow pruning, or lower K", p.K, err)
	}
	if tilt.Prior() { // of E[ZᵀZ] in units of what the prior is worth
		s.extra.ScaleSym(1/m.worth(), s.extra)
	}
	return nil
}

// Infer adds the rows of a block.
func (m Continuous) Infer(b blocks.Rows, p *ContinuousParameters, s *Posteriors) (sum float64, err error) {
	defer s.one.recover(&err)
	if b.D != s.one.columns {
		return 0, fmt.Errorf("numeric: %w", blocks.FaultyRow(b.First, "has %d columns, the model %d", b.D, s.one.columns))
	}
	rule, err := s.one.rule(p.K)
	if err != nil {
		return 0, err
	}
	for i := range b.N {
		if b.Weight(i) == 0 { // left out, whatever it holds
			s.append(0, local{make([]float64, p.K), identity(p.K), rule.weight}, rule)
			continue
		}
		q, h, err := s.one.infer(b, i, p, s.extra, rule)
		if err != nil {
			return 0, err
		}
		s.append(b.Weight(i), q, rule)
		sum += b.Weight(i) * h
	}
	s.Blocks = append(s.Blocks, b.Kept(0, b.N))
	return sum, nil
}

func identity(k int) []float64 {
	root := make([]float64, k*k)
	for i := range k {
		root[i*k+i] = 1
	}
	return root
}

// ---- Global step

// A jointTask is the global step: to maximise Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)].
type jointTask struct {
	*jointMachine
	s          *Posteriors
	rule       *points
	components []float64
	shared     []float64
	pooled     *pooledTable // nil if it is not known yet
	axes       bool
	far        bool
	fewer      *points     // for what only guides the search
	prior      *jointPrior // nil for the likelihood alone
}

// objective is the search for Θ, with Ξ where both is true.
func (t *jointTask) objective(both bool) objective {
	n, shared := 0, t.jointMachine.shared
	if both {
		n = len(t.components)
	}
	dim := n + shared.free
	theta, xi := make([]float64, len(t.shared)), slices.Clone(t.components)
	at := func(step []float64) {
		for i, v := range step[:n] {
			xi[i] = t.components[i] + v
		}
		shared.move(t.shared, step[n:], theta)
	}
	g := objective{n: t.s.N}
	g.dim, g.flat = dim, 1e-6 // 5·10⁻¹³ nats are left
	if t.prior != nil {       // the evidence has one value wherever the search began
		g.flat = 1e-7
	}
	g.most = make([]float64, n)
	linalg.Fill(g.most, math.Inf(1))
	g.most = append(g.most, shared.reach()...)
	g.value = func(step []float64) float64 {
		at(step)
		return t.total(t.s, t.rule, xi, theta) - t.prior.distance(xi, theta)
	}
	g.move = func(step []float64) {
		at(step)
		copy(t.components, xi)
		copy(t.shared, theta)
	}
	g.boundarySteps = func(near float64) [][]float64 { return shared.boundarySteps(t.shared, near, n, dim) }
	g.snap = func(float64) {}
	if t.differentiable != nil {
		dxi, dtheta := make([]float64, len(xi)), make([]float64, len(theta))
		g.gradient = func(dst, step, widths []float64) {
			clear(dxi)
			clear(dtheta)
			at(step)
			t.gradient(t.s, t.rule, xi, theta, dxi, dtheta)
			copy(dst[:n], dxi)
			shared.chain(t.shared, step[n:], dtheta, dst[n:], widths[n:])
			t.prior.descend(t.shared, xi, step[n:], widths[n:], dst[:n], dst[n:])
		}
	}
	g.curvature = func(dst *mat.SymDense) { t.guide(dst, both) }
	return g
}

// guide puts an approximation of minus the second derivatives into dst, for the search alone: at few points of each
// row.
func (t *jointTask) guide(dst *mat.SymDense, both bool) {
	if t.fewer == nil {
		t.fewer = axial(t.s.K)
	}
	own := *t
	own.rule = t.fewer
	g := own.objective(both)
	if g.gradient != nil {
		gradientDifferences(dst, g.gradient, 1e-3/math.Sqrt(t.s.N))
		return
	}
	dst.Zero()
	shared := t.jointMachine.shared
	n := g.dim - shared.free
	if n > 0 {
		own.precision(dst)
		own.prior.curve(dst, n)
	}
	if shared.free == 0 {
		return
	}
	block, step := mat.NewSymDense(shared.free, nil), make([]float64, g.dim)
	curvatureOf(block, func(u []float64) float64 {
		copy(step[n:], u)
		return g.value(step)
	}, t.widths(), t.s.N, false)
	place(dst, block, n)
}

// widths are those of Θ, which has about unit information a row in its coordinates; unknown where there are Real ones.
func (t *jointTask) widths() *widths {
	shared := t.jointMachine.shared
	if t.far || len(shared.reals()) > 0 {
		return nil
	}
	return shared.widths(t.shared, &pooledTable{}, t.s.N)
}

// precision puts S ⊗ B into the first places of dst.
func (t *jointTask) precision(dst *mat.SymDense) {
	k := t.s.K
	b, err := t.observe(t.s, t.rule, t.components, t.shared, t.axes, t.pooled, false)
	if err != nil {
		return // no matter: only a guide of the search
	}
	n := t.component.free
	for i := range k {
		for j := range k {
			block := b[0]
			switch {
			case t.axes && i != j:
				continue
			case t.axes:
				block = b[i]
			}
			for p := range n {
				for q := range n {
					dst.SetSym(i*n+p, j*n+q, t.s.ZZ[i*k+j]*block.At(p, q))
				}
			}
		}
	}
}

// Maximize searches for the maximum of Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)] from p.
func (m Continuous) Maximize(s *Posteriors, p, dst *ContinuousParameters) (*ContinuousParameters, error) {
	return m.maximize(s, p, dst, nil)
}

// maximize has a prior, or nil.
func (m Continuous) maximize(
	s *Posteriors, p, dst *ContinuousParameters, of *jointPrior,
) (_ *ContinuousParameters, err error) {
	c := m.must(p)
	if dst == nil {
		dst = &ContinuousParameters{}
	}
	dst.K, dst.D, dst.Pooled, dst.compiled, dst.observed, dst.about = p.K, p.D, p.Pooled, c, nil, nil
	dst.Components = append(dst.Components[:0], p.Components...)
	dst.Shared = append(dst.Shared[:0], p.Shared...)
	one := c.machine()
	defer one.recover(&err)
	rule, err := one.rule(p.K)
	if err != nil {
		return dst, err
	}
	if c.estimator != nil && of == nil {
		one.enter("EstimateJoint", -1, -1)
		if err := c.estimator.EstimateJoint(Inferred{s.N, s.K, s, rule}, dst.Components, dst.Shared); err != nil {
			one.leave()
			return dst, err
		}
		if err := firstOf(realKind(0).check(dst.Components), c.shared.check(dst.Shared)); err != nil {
			return dst, one.violated("%w", err)
		}
		one.leave()
		return dst, nil
	}
	t := &jointTask{
		jointMachine: one, s: s, rule: rule, components: dst.Components, shared: dst.Shared, axes: m.Axes, pooled: p.Pooled,
		prior: of,
	}
	g := t.objective(true)
	g.search(false)
	err = firstOf(realKind(0).check(dst.Components), c.shared.check(dst.Shared),
		c.shared.bounded(dst.Shared, p.Pooled.Shared))
	if err != nil {
		return dst, fmt.Errorf("numeric: there is no maximum: %w; %w", err, framework.ErrDegenerate)
	}
	return dst, nil
}

func (p *ContinuousParameters) information() []*mat.SymDense {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.observed)
}

// LogJoint is E_q[ln p(X,Z|Π)].
func (m Continuous) LogJoint(s *Posteriors, p *ContinuousParameters) (value float64) {
	one := m.must(p).machine()
	var panicked error
	defer func() {
		if panicked != nil {
			value = math.NaN() // the engine reports it
		}
	}()
	defer one.recover(&panicked)
	rule, err := one.rule(p.K)
	if err != nil {
		return math.NaN()
	}
	return one.total(s, rule, p.Components, p.Shared)
}

// Shape counts K·P numbers of latent dimensions; BIC and AIC subtract the rotation if the dimensions mix.
func (m Continuous) Shape(p *ContinuousParameters) framework.Shape {
	c := m.must(p)
	s := framework.Shape{K: p.K, Component: p.K * c.component.free, Shared: c.shared.free}
	if !m.Axes {
		s.Free = s.Total() - p.K*(p.K-1)/2
	}
	return s
}

// ---- Judging rows

// LogProb is ln p(x_n|Π) of each row, in nats, by the rule.
func (m Continuous) LogProb(b blocks.Rows, p *ContinuousParameters, dst []float64) (_ []float64, err error) {
	c, err := m.compiled(p)
	if err != nil {
		return nil, err
	}
	if b.D != c.columns {
		return nil, fmt.Errorf("numeric: rows have %d columns, the model %d", b.D, c.columns)
	}
	one := c.machine()
	defer one.recover(&err)
	rule, err := one.rule(p.K)
	if err != nil {
		return nil, err
	}
	dst = resized(dst, b.N)
	for i := range b.N {
		q, h, err := one.infer(b, i, p, nil, rule)
		if err != nil {
			return nil, err
		}
		dst[i] = one.expected(rule, b.Row(i), b.First+i, q, p.Components, p.Shared) + h
	}
	return dst, nil
}

var (
	_ framework.Model[blocks.Rows, *ContinuousParameters, *Posteriors] = Continuous{}
	_ optional.Curved[*ContinuousParameters, *Posteriors]              = Continuous{}
	_ optional.Proper[*ContinuousParameters, *Posteriors]              = Continuous{}
	_ optional.Symmetric[*ContinuousParameters]                        = Continuous{}
	_ optional.Projector[*ContinuousParameters, *Posteriors]           = Continuous{}
	_ optional.Rotator[*ContinuousParameters, *Posteriors]             = Continuous{}
	_ optional.LogProber[blocks.Rows, *ContinuousParameters]           = Continuous{}
)
