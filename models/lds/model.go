package lds

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// Model is x_t = d + Cz_t + v_t, z_t = Az_t−1 + w_t: v ~ N(0, R) with a diagonal R, w ~ N(0, I), z_1 ~ N(m, sI) with s
// at least 1. Cov w = I fixes z up to rotations; A need not be stable. Known inputs u_t of a step add Du_t to its
// columns and, from the second step of a sequence on, Bu_t to z_t (Shumway & Stoffer, Time Series Analysis and Its
// Applications, chapter 6).
type Model struct {
	Isotropic bool // one noise variance for all columns
	Inputs    int  // number of last columns that are inputs, none of whose values may be missing
}

// Creeps returns true: EM takes thousands of iterations if the columns say little about z.
func (Model) Creeps() bool { return true }

// Init starts with noise of half of each column's variance, random loadings, and pairs of dimensions that rotate at
// frequencies spread over the whole range.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Sequences], k int, rng *rand.Rand,
) (*Parameters, error) {
	steps, err := framework.StepsOf(ctx, src)
	if err != nil {
		return nil, err
	}
	if steps.Rows() <= src.Rows() {
		return nil, errors.New("lds: no sequence has two steps")
	}
	table, _, err := family.Pool(ctx, steps, normal.Family{Covariance: normal.Diagonal, Floor: family.NoFloor})
	if err != nil {
		return nil, err
	}
	all := len(table.Parameters) / 2
	d := all - m.Inputs
	if d < 1 || m.Inputs < 0 {
		return nil, fmt.Errorf("lds: %d inputs of %d columns: at least one column must be none", m.Inputs, all)
	}
	if m.Inputs > 0 {
		if err := complete(ctx, steps, d); err != nil {
			return nil, err
		}
	}
	mean, unit := table.Parameters[:d], table.Parameters[all:all+d]
	p := (&Parameters{D: d, Mean: mean, Noise: slices.Clone(unit), Inputs: m.Inputs,
		Effects: make([]float64, d*m.Inputs), Spread: 1, Center: mean, Unit: unit}).like(k)
	floats.Scale(0.5, p.Noise)
	if m.Isotropic {
		p.Noise = []float64{floats.Sum(p.Noise) / float64(d)}
	}
	for i := range p.Loadings {
		p.Loadings[i] = rng.NormFloat64() * math.Sqrt(p.Unit[i/k]/float64(k)) * 0.3
	}
	for i := 0; i < k; i += 2 {
		sin, cos := math.Sincos(math.Pi * (float64(i) + rng.Float64()) / float64(k))
		for _, at := range []struct {
			row, column int
			v           float64
		}{{i, i, cos}, {i + 1, i + 1, cos}, {i, i + 1, -sin}, {i + 1, i, sin}} {
			if max(at.row, at.column) < k {
				p.Dynamics[at.row*k+at.column] = 0.9 * at.v
			}
		}
	}
	return p, nil
}

// complete refuses inputs, the columns from d on, that miss a value.
func complete(ctx context.Context, steps framework.Source[blocks.Rows], d int) error {
	return framework.SurveyAll(ctx, steps, 0, framework.Ask(ofInputs{d}, func() (*int, error) { return new(int), nil },
		func(_ *int, b blocks.Rows) error {
			for i := range b.N {
				for j, v := range b.Row(i)[d:] {
					if v != v {
						return fmt.Errorf("lds: %w", blocks.FaultyColumn(d+j, errors.New("is an input, and misses a value")))
					}
				}
			}
			return nil
		}, func(_, _ *int) error { return nil }))
}

// ofInputs names what complete has looked at.
type ofInputs struct{ first int }

// ---- Local step

// Prepare computes the information of columns and dynamics about z. A tilt adds D blocks of loadings, each for the
// steps that show its column, and one block of A, for the steps that another follows.
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	k, l := p.K, &s.local
	s.N = 0
	clear(s.Columns)
	clear(s.Moves)
	clear(s.Start)
	if len(l.weighted) == 0 {
		matrix := func(r, c int) blas64.General { return linalg.General(r, c, make([]float64, r*c)) }
		l.weighted, l.told = make([]float64, p.D*k), make([]float64, p.D*k*k)
		for _, m := range []*blas64.General{&l.whole, &l.moving, &l.dynamics, &l.ahead, &l.precision, &l.factor, &l.inner,
			&l.product, &l.cov} {
			*m = matrix(k, k)
		}
		l.stack, l.half, l.both = matrix(2*k, k), matrix(2*k, k), matrix(2*k, 2*k)
		for i := range k {
			l.stack.Data[i*(k+1)] = 1
		}
		for i := range l.vectors {
			l.vectors[i] = make([]float64, k)
		}
	}
	copy(l.dynamics.Data, p.Dynamics)
	copy(l.weighted, p.Loadings)
	clear(l.whole.Data)
	clear(l.told)
	clear(l.moving.Data)
	for j := range p.D {
		w, told := l.weighted[j*k:(j+1)*k], l.told[j*k*k:(j+1)*k*k]
		linalg.Scale(1/p.NoiseOf(j), w)
		for i, v := range p.Loadings[j*k : (j+1)*k] {
			linalg.Axpy(v, w, told[i*k:(i+1)*k])
		}
		if err := tilt.Precision(mat.NewSymDense(k, told), j); err != nil {
			return err
		}
		linalg.Mirror(k, told)
		linalg.Axpy(1, told, l.whole.Data)
	}
	err := tilt.Precision(mat.NewSymDense(k, l.moving.Data), p.D)
	linalg.Mirror(k, l.moving.Data)
	return err
}

// Infer adds the sequences of a block.
func (Model) Infer(b blocks.Sequences, p *Parameters, s *Statistics) (entropy float64, err error) {
	for i := range b.Len() {
		first, end := b.Bounds(i)
		h := s.filter(b.Steps, first, end, p, nil, nil) + float64((end-first)*p.K)/2*math.Log(2*math.Pi*math.E)
		s.smooth(b.Steps, first, end, p, b.Weight(i))
		entropy += b.Weight(i) * h
	}
	return entropy, nil
}

// ---- Global step

// Floor is the least noise variance of a column as a share of the column's variance, as in package factor.
const Floor = 0.005

// Maximize regresses columns on (1, u, z), and z on u and the z before it.
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	return m.estimate(s, p, dst, 0)
}

// estimate adds a ridge to squares of z.
func (Model) estimate(s *Statistics, p, dst *Parameters, ridge float64) (*Parameters, error) {
	if dst == nil {
		dst = p.like(p.K)
	}
	k, u, n := p.K, p.Inputs, s.width()
	squares, seen, unit := 0.0, 0.0, 0.0 // of all columns
	for j := range p.D {
		of := s.column(j)
		b := slices.Clone(of[1:n])
		if err := regress(block(of, n, 1), b, 1+u, ridge); err != nil {
			return dst, err
		}
		dst.Mean[j] = p.Center[j] + b[0]
		copy(dst.Effects[j*u:(j+1)*u], b[1:])
		copy(dst.Loadings[j*k:(j+1)*k], b[1+u:])
		r := s.residual(dst, j)
		squares, seen, unit = squares+r, seen+s.seen(j), unit+p.Unit[j]/float64(p.D)
		if len(p.Noise) == p.D {
			dst.Noise[j] = max(r/s.seen(j), Floor*p.Unit[j])
		}
	}
	if len(p.Noise) < p.D {
		dst.Noise[0] = max(squares/seen, Floor*unit)
	}
	before, b := s.before()
	err := regress(before, b, u, ridge)
	for i := range k {
		copy(dst.Drive[i*u:(i+1)*u], b[i*(u+k):])
		copy(dst.Dynamics[i*k:(i+1)*k], b[i*(u+k)+u:])
	}
	copy(dst.Start, s.Start[1:])
	floats.Scale(1/s.sequences(), dst.Start)
	dst.Spread = max(1, mat.Trace(s.starts(dst.Start))/(s.sequences()*float64(k)))
	return dst, err
}

// regress overwrites the rows of b with b·a⁻¹; ridge is added to the diagonal from first on.
func regress(a *mat.SymDense, b []float64, first int, ridge float64) error {
	n := a.SymmetricDim()
	for i := first; i < n; i++ {
		a.SetSym(i, i, a.At(i, i)+ridge)
	}
	chol, ok := linalg.NewCholesky(n, a.RawSymmetric().Data)
	if !ok {
		return fmt.Errorf("lds: the squares of the latent dimensions are singular: %w", framework.ErrDegenerate)
	}
	chol.SolveRight(linalg.General(len(b)/n, n, b))
	return nil
}

// LogJoint returns E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	sum := s.N*float64(p.K)*math.Log(2*math.Pi) + mat.Trace(s.innovations(p)) +
		s.sequences()*float64(p.K)*math.Log(p.Spread) + mat.Trace(s.starts(p.Start))/p.Spread
	for j := range p.D {
		r := p.NoiseOf(j)
		sum += s.seen(j)*math.Log(2*math.Pi*r) + s.residual(p, j)/r
	}
	return -sum / 2
}

// Shape counts C and A as Ξ, and means, noise, start and the effects of inputs as Θ. The count for BIC and AIC
// subtracts the rotation of z.
func (Model) Shape(p *Parameters) framework.Shape {
	k := p.K
	shape := framework.Shape{K: k, Component: p.D*k + k*k, Shared: p.D + len(p.Noise) + p.starting() + (p.D+k)*p.Inputs}
	shape.Free = shape.Total() - k*(k-1)/2
	return shape
}

// starting is the number of parameters of the start: a variance that is the least takes none.
func (p *Parameters) starting() int {
	if p.Spread > 1 {
		return p.K + 1
	}
	return p.K
}

// Charges lists what BIC charges: ½ ln N for each parameter, where N is the number of steps that show a column for
// the column's parameters, the number of steps that follow another for A, and the number of sequences for the start.
func (Model) Charges(s *Statistics, p *Parameters) []optional.Charge {
	k := p.K
	of := func(numbers int, n float64) optional.Charge {
		return optional.Charge{Parameters: numbers, Free: numbers, N: n}
	}
	list := []optional.Charge{{Parameters: k * k, Free: k * (k + 1) / 2, Latent: true, N: max(1, s.N-s.sequences())},
		of(p.starting(), s.sequences())}
	for j := range p.D {
		loadings := of(k, s.seen(j))
		loadings.Latent = true
		list = append(list, loadings, of(1+p.Inputs+len(p.Noise)/p.D, s.seen(j))) // mean, inputs, noise
	}
	if len(p.Noise) < p.D {
		list = append(list, of(1, s.N))
	}
	if p.Inputs > 0 {
		list = append(list, of(k*p.Inputs, max(1, s.N-s.sequences())))
	}
	return list
}

// ---- Curvature and projection

// ErrTooFewSteps reports that gFIC and FIC do not exist: as in package factor, the objective would grow without
// bound.
var ErrTooFewSteps = errors.New("has no more entries than there are columns and latent dimensions: gFIC and FIC do " +
	"not exist")

// Curvature adds, for the loadings of each column in units of its noise, a block Σ E[zzᵀ] ⊗ 1 over the steps that
// show the column, and for A a block Σ E[z_t zᵀ_t] ⊗ I over the steps that another follows. The information of a step
// is constant, so that gFIC equals FIC. The start has no block. In the evidence, each count is increased by I for the
// prior.
func (Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	for j := range p.D {
		if n := s.seen(j); n <= float64(p.D+p.K) && !f.Prior() {
			return fmt.Errorf("lds: %w (N = %v, D = %d, K = %d)", blocks.FaultyColumn(j, ErrTooFewSteps), n, p.D, p.K)
		}
		f.Mixed(block(s.column(j), s.width(), 2+p.Inputs), laplace.Identity(1))
	}
	f.Mixed(s.from(), laplace.Identity(p.K))
	if !f.Prior() {
		return nil
	}
	followed, _ := f.Integral()
	nats, err := s.occam(p)
	f.About(nats-followed, 0)
	return err
}

// Signal returns the information about z_t in the K steps from t on, in units of the noise (K×K).
func (Model) Signal(_ *Statistics, p *Parameters) (*mat.SymDense, error) { return p.signal(), nil }

// Relevance returns the signal of each dimension.
func (Model) Relevance(_ *Statistics, p *Parameters) (values []float64, err error) {
	signal := p.signal()
	for k := range p.K {
		values = append(values, signal.At(k, k))
	}
	return values, nil
}

// Rotate replaces z by Vᵀz for the orthonormal basis V (K×K).
func (Model) Rotate(s *Statistics, p *Parameters, basis *mat.Dense) (*Statistics, *Parameters, error) {
	return s.mapped(basis.T()), p.mapped(basis.T()), nil
}

// Keep restricts z to the dimensions dims.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	to := linalg.Selection(dims, p.K)
	return s.mapped(to), p.mapped(to), nil
}

// ---- Scores of sequences

// A Course holds what the observations say about each step of sequences. Smooth reuses its memory.
type Course struct {
	Mean, Variance []float64 // of z_t given its whole sequence, steps×K
	LogDensity     []float64 // ln p(x_t|x_1 … x_t−1) of each step, in nats; a sequence's steps sum to its LogProb
	End            []float64 // Cov(z_T|x_1 … x_T) of the last step of each sequence, K×K for each

	s *Statistics
}

// PseudoResiduals returns (x_tj − E x_tj)/√Var x_tj given x_1 … x_t−1 for each step and column, steps×D. If the model
// is right, each column of them is standard normal and independent from step to step. They are NaN for missing values.
func (m Model) PseudoResiduals(b blocks.Sequences, p *Parameters) ([]float64, error) {
	s := m.NewStatistics(p)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	residuals := make([]float64, b.Steps.N*p.D)
	for i := range b.Len() {
		first, end := b.Bounds(i)
		s.filter(b.Steps, first, end, p, nil, residuals[first*p.D:end*p.D])
	}
	return residuals, nil
}

// Smooth computes the course of the sequences of b and writes it to c.
func (m Model) Smooth(b blocks.Sequences, p *Parameters, c *Course) error {
	if c.s == nil {
		c.s = m.NewStatistics(p)
	}
	if err := m.Prepare(p, nil, c.s); err != nil {
		return err
	}
	c.LogDensity, c.Mean, c.Variance, c.End = linalg.Resize(c.LogDensity, b.Steps.N), c.Mean[:0], c.Variance[:0], c.End[:0]
	for i := range b.Len() {
		first, end := b.Bounds(i)
		c.s.filter(b.Steps, first, end, p, c.LogDensity[first:end], nil)
		c.s.smooth(b.Steps, first, end, p, 1)
		l := &c.s.local
		c.Mean, c.Variance = append(c.Mean, l.mean...), append(c.Variance, l.variance...)
		c.End = append(c.End, l.back[len(l.back)-p.K*p.K:]...)
	}
	return nil
}

// LogProb returns ln p(x_n1, …, x_nT|Π) of each sequence, in nats.
func (m Model) LogProb(b blocks.Sequences, p *Parameters, dst []float64) ([]float64, error) {
	s, density := m.NewStatistics(p), make([]float64, b.Steps.N)
	if err := m.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	dst = linalg.Resize(dst, b.Len())
	for i := range dst {
		first, end := b.Bounds(i)
		s.filter(b.Steps, first, end, p, density[first:end], nil)
		dst[i] = floats.Sum(density[first:end])
	}
	return dst, nil
}
