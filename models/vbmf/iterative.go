package vbmf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Iterative is the factorisation as a model for package framework. Its rows are the rows of Y, its latent variables
// the rows of B, and its parameters A and the estimated hyperparameters. The engine's EM is then the iterative
// algorithm of paper N (eqs. 6 to 9), and its criterion is −F. An iteration costs O(LMH). [Solve] finds the best of
// its fixed points directly.
//
//	res, err := framework.Fit(ctx, vbmf.Iterative{}, t, framework.Options{K: 30, Method: framework.EM})
type Iterative struct {
	// ColumnWise makes the columns of A and B independent too ("simpleVB", eqs. 11 and 12). An iteration is one sweep
	// over the columns of B, then one over those of A.
	ColumnWise bool
	Noise      float64 // σ²; 0: estimated (eq. 8)
	Priors     []Prior // for the H factors, in this order; nil: estimated (eq. 9)
	// Start, if not nil, holds the starting parameters; K must equal its H. By default Y is scaled to a mean square of
	// 1, the entries of E[A] are drawn from N(0, 1), all covariances are the identity, and σ² = 1 (paper N, section
	// 4.2).
	Start *Parameters
}

// Parameters hold q(A) and the hyperparameters.
type Parameters struct {
	M      int       `json:"m"`
	H      int       `json:"h"`
	A      []float64 `json:"a"`       // E[A], M×H row-major
	CovA   []float64 `json:"cov_a"`   // H×H, covariance of each row of A
	PriorA []float64 `json:"prior_a"` // c_a², length H
	PriorB []float64 `json:"prior_b"` // c_b², length H
	Noise  float64   `json:"noise"`   // σ²
	// Gain, H×M, gives the E[B] = Y·Gainᵀ of the local step that these parameters come from. The column-wise algorithm
	// starts from this E[B].
	Gain []float64 `json:"gain"`
}

// Statistics are those of package lineargaussian, with q(b) in place of q(z).
type Statistics struct {
	lineargaussian.Statistics
	Gain  []float64 // H×M, E[b_l] = Gain·y_l
	CovB  []float64 // H×H, covariance of each row of B
	zero  []float64 // M, the mean that is not taken off
	prior []float64 // H, precisions 1/c_b²
	hh    []float64 // H×H, scratch
}

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) {
	copy(s.Gain, o.Gain)
	copy(s.CovB, o.CovB)
	s.Statistics.Merge(&o.Statistics)
}

// BoundsEvidence marks the model as [optional.Variational].
func (Iterative) BoundsEvidence() {}

// Init returns v.Start, or draws a start if that is nil.
func (v Iterative) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	c, err := lineargaussian.SummarizeColumns(ctx, src)
	if err == nil {
		err = c.Complete()
	}
	if err != nil {
		return nil, err
	}
	l, m := c.Rows, len(c.Mean)
	if l < 1 || m < 1 {
		return nil, fmt.Errorf("vbmf: a %d×%d matrix has nothing to factorise", l, m)
	}
	if k > min(l, m) {
		return nil, fmt.Errorf("vbmf: %d factors of a %d×%d matrix: choose K from 1 to %d", k, l, m, min(l, m))
	}
	if err := (Options{Noise: v.Noise, Priors: v.Priors}).check(l, m); err != nil {
		return nil, err
	}
	if v.Priors != nil && len(v.Priors) != k {
		return nil, fmt.Errorf("vbmf: priors of %d factors for K = %d: give one for each factor", len(v.Priors), k)
	}
	square := (floats.Sum(c.Squares)/c.N + linalg.Dot(c.Mean, c.Mean)) / float64(m)
	if !(square > 1e-280) || math.IsInf(square, 0) {
		return nil, fmt.Errorf(
			"vbmf: the mean square of the entries is %.3g: rescale the matrix; a matrix of zeros needs no iteration", square,
		)
	}
	if v.Start != nil {
		if v.Start.H != k || v.Start.M != m {
			return nil, fmt.Errorf("vbmf: the start has %d factors and %d columns, the model K = %d and %d columns",
				v.Start.H, v.Start.M, k, m)
		}
		return v.Start.clone(), nil
	}
	p := newParameters(m, k)
	p.Noise = square
	unit := math.Sqrt(square)
	for i := range p.A {
		p.A[i] = math.Sqrt(unit) * rng.NormFloat64()
	}
	for h := range k {
		p.CovA[h*k+h], p.PriorA[h], p.PriorB[h] = unit, unit, unit
	}
	if v.Noise > 0 {
		p.Noise = v.Noise
	}
	for h, prior := range v.Priors {
		p.PriorA[h], p.PriorB[h] = prior.A, prior.B
	}
	return p, nil
}

func newParameters(m, h int) *Parameters {
	return &Parameters{M: m, H: h, A: make([]float64, m*h), CovA: make([]float64, h*h),
		PriorA: make([]float64, h), PriorB: make([]float64, h), Gain: make([]float64, h*m)}
}

func (p *Parameters) clone() *Parameters {
	c := *p
	c.A, c.CovA, c.PriorA, c.PriorB, c.Gain = slices.Clone(p.A), slices.Clone(p.CovA), slices.Clone(p.PriorA),
		slices.Clone(p.PriorB), slices.Clone(p.Gain)
	return &c
}

// NewStatistics allocates statistics for p.H factors.
func (Iterative) NewStatistics(p *Parameters) *Statistics {
	return &Statistics{
		Statistics: *lineargaussian.NewStatistics(p.H, p.M),
		Gain:       make([]float64, p.H*p.M),
		CovB:       make([]float64, p.H*p.H),
	}
}

// Prepare sets up q(B): all rows at once, Σ_B = σ²(E[AᵀA] + σ²C_B⁻¹)⁻¹ and
// E[B] = Y·E[A]·Σ_B/σ² (eq. 7), or column by column (eq. 12).
func (v Iterative) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	if tilt != nil {
		return errors.New("vbmf: a variational model has no curvature to tilt by")
	}
	h, m := p.H, p.M
	s.zero, s.prior = linalg.Resize(s.zero, m), linalg.Resize(s.prior, h)
	clear(s.zero)
	for i, v := range p.PriorB {
		s.prior[i] = 1 / v
	}
	if v.ColumnWise {
		s.columnWise(p)
	} else {
		information := s.Information(p.A, p.A, 1/p.Noise)
		linalg.Axpy(float64(m)/p.Noise, p.CovA, information)
		if err := s.Condition(s.zero, p.A, p.A, 1/p.Noise, information, s.prior, nil); err != nil {
			return err
		}
	}
	copy(s.Gain, s.Statistics.Gain())
	copy(s.CovB, s.Cov())
	return nil
}

// columnWise sets up b_h = (σ_b²/σ²)(Y·a_h − Σ_{j≠h} b_j·a_jᵀa_h), of which Y is a common factor.
func (s *Statistics) columnWise(p *Parameters) {
	h, m, information := p.H, p.M, s.Information(p.A, p.A, 1/p.Noise)
	gain, cov := s.Begin(s.zero, p.A)
	copy(gain, p.Gain)
	clear(cov)
	logDet := 0.0
	for i := range h {
		variance := 1 / (information[i*h+i] + float64(m)/p.Noise*p.CovA[i*h+i] + s.prior[i])
		cov[i*h+i] = variance
		logDet += math.Log(variance)
		row := gain[i*m : (i+1)*m]
		for j := range row {
			row[j] = p.A[j*h+i] / p.Noise
		}
		for j := range h {
			if j != i {
				linalg.Axpy(-information[j*h+i], gain[j*m:(j+1)*m], row)
			}
		}
		linalg.Scale(variance, row)
	}
	s.SetLogDet(logDet)
}

// Infer adds the rows of a block.
func (Iterative) Infer(b blocks.Rows, p *Parameters, s *Statistics) (float64, error) {
	return s.Add(b)
}

// Maximize updates q(A) (eq. 6, or eq. 11 column by column), then the prior variances
// (eq. 9), then σ² (eq. 8), each to its optimum given the others.
func (v Iterative) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = newParameters(p.M, p.H)
	}
	h, m := p.H, p.M
	copy(dst.Gain, s.Gain)
	dst.Noise = p.Noise
	if v.ColumnWise {
		copy(dst.A, p.A)
		clear(dst.CovA)
		for i := range h {
			variance := p.Noise / (s.ZZ[i*h+i] + p.Noise/p.PriorA[i])
			dst.CovA[i*h+i] = variance
			for j := range m {
				row := dst.A[j*h : (j+1)*h]
				row[i] = variance / p.Noise * (s.XZ[j*h+i] - linalg.Dot(row, s.ZZ[i*h:(i+1)*h]) + row[i]*s.ZZ[i*h+i])
			}
		}
	} else {
		for i, v := range p.PriorA {
			dst.PriorA[i] = 1 / v
		}
		if _, err := s.Posterior(1/p.Noise, dst.PriorA, dst.A, dst.CovA); err != nil {
			return dst, err
		}
	}
	copy(dst.PriorA, p.PriorA)
	copy(dst.PriorB, p.PriorB)
	if v.Priors == nil {
		for i := range h {
			dst.PriorA[i] = lineargaussian.ExpectedSquare(dst.A, dst.CovA, h, i) / float64(m)
			dst.PriorB[i] = s.ZZ[i*h+i] / s.N
		}
	}
	if v.Noise == 0 {
		size := s.N * float64(m)
		dst.Noise = s.ExpectedResidual(dst.A, dst.CovA) / size
		if !(dst.Noise > exact*exact*s.SumSq/size) {
			return dst, fmt.Errorf("vbmf: %w", ErrNoNoise)
		}
	}
	return dst, nil
}

// LogJoint returns E[ln p(Y,A,B)] + H(q(A)); adding the entropy of q(B) gives −F (eq. 13).
func (Iterative) LogJoint(s *Statistics, p *Parameters) float64 {
	h, m := p.H, float64(p.M)
	value := -s.N*m*math.Log(2*math.Pi*p.Noise) - s.ExpectedResidual(p.A, p.CovA)/p.Noise
	for i := range h {
		value -= s.N*math.Log(2*math.Pi*p.PriorB[i]) + s.ZZ[i*h+i]/p.PriorB[i]
		value -= m*(math.Log(p.PriorA[i])-1) + lineargaussian.ExpectedSquare(p.A, p.CovA, h, i)/p.PriorA[i]
	}
	s.hh = linalg.Resize(s.hh, h*h)
	copy(s.hh, p.CovA)
	chol, ok := linalg.NewCholesky(h, s.hh)
	if !ok {
		return math.NaN() // the engine reports it
	}
	return (value + m*chol.LogDet()) / 2
}

// Shape counts A and σ². A is integrated out, so that the bound already charges for it.
func (v Iterative) Shape(p *Parameters) framework.Shape {
	return framework.Shape{K: p.H, Component: p.M * p.H, Shared: 1}
}

// Singular returns the singular values of E[B]E[A]ᵀ in descending order; the number of those clearly above 0 is the
// rank of the fit. s must be the statistics from which p was computed.
func (p *Parameters) Singular(s *Statistics) []float64 {
	h := p.H
	bb := mat.NewDense(h, h, slices.Clone(s.ZZ))
	for i := range h * h {
		bb.RawMatrix().Data[i] -= s.N * s.CovB[i]
	}
	var aa, half, middle mat.Dense
	a := mat.NewDense(p.M, h, p.A)
	aa.Mul(a.T(), a)
	squares, eigen, err := decompose(&aa)
	if err != nil {
		panic(err) // E[A] is finite
	}
	half.Mul(eigen.Vectors(h), mat.NewDiagDense(h, roots(squares)))
	middle.Product(half.T(), bb, &half)
	if squares, _, err = decompose(&middle); err != nil {
		panic(err)
	}
	return roots(squares)
}

// Point returns the parameters of the probabilistic PCA of the rows of Y, with mean 0, as [Solution.Point] does: W =
// E[A]·C_B^½ in canonical rotation. It drops columns shorter than a thousandth of the noise's standard deviation, but
// keeps at least one.
func (p *Parameters) Point() *bpca.Parameters {
	q := &bpca.Parameters{K: p.H, D: p.M, Mean: make([]float64, p.M), Loadings: make([]float64, p.M*p.H), Noise: p.Noise}
	for i, v := range p.A {
		q.Loadings[i] = v * math.Sqrt(p.PriorB[i%p.H])
	}
	q = q.Canonical()
	k := 1
	for k < q.K {
		column := q.W().ColView(k)
		if !(mat.Norm(column, 2) > 1e-3*math.Sqrt(q.Noise)) {
			break
		}
		k++
	}
	short := &bpca.Parameters{K: k, D: p.M, Mean: q.Mean, Noise: p.Noise}
	short.Loadings = mat.DenseCopyOf(q.W().Slice(0, p.M, 0, k)).RawMatrix().Data
	return short
}

// Parameters returns the kept components as parameters of [Iterative], at a fixed point of its iteration; nil for
// rank 0.
func (s *Solution) Parameters() *Parameters {
	if s.Rank == 0 {
		return nil
	}
	p := newParameters(s.M, s.Rank)
	p.Noise = s.Noise
	for h, c := range s.Kept() {
		p.CovA[h*s.Rank+h], p.PriorA[h], p.PriorB[h] = c.VarA, c.PriorA, c.PriorB
		for j := range s.M {
			w := s.Right[j*s.Rank+h]
			p.A[j*s.Rank+h] = c.A * w
			p.Gain[h*s.M+j] = c.B / c.Singular * w
		}
	}
	return p
}
