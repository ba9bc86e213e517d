package bpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// Model is Bayesian PCA as paper G treats it (section 2.1), fitted from blocks of
// rows. Its parameters are estimated; [Variational] gives them a posterior.
type Model struct{}

// Compressed is [Model] fitted from [Moments]: the same numbers, to rounding, at a
// cost per iteration that does not depend on the number of rows.
type Compressed struct{ Model }

// Statistics are the expected statistics of a local step, about the mean.
type Statistics struct {
	K, D  int
	N     float64   // sum of the row weights
	SumSq float64   // ‖X‖² = Σ w ‖x − mean‖²
	XZ    []float64 // XᵀM, D×K: Σ w (x − mean) E[z]ᵀ
	ZZ    []float64 // S, K×K: Σ w E[zzᵀ]

	local localStep
	chol  []float64 // K×K, scratch of the global step
	ww    []float64 // K×K, WᵀW
}

// localStep is q(z_n) = N(gain·(x_n − mean), cov), with the scratch to apply it.
type localStep struct {
	mean   []float64 // D
	gain   []float64 // K×D
	cov    []float64 // K×K
	logDet float64   // ln|cov|
	rows   []float64 // tileRows×D
	z      []float64 // tileRows×K
	wz     []float64 // tileRows×K, weighted
	shift  []float64 // D
	tilt   *mat.SymDense
}

// Merge adds the sums of other rows.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	s.SumSq += o.SumSq
	linalg.Axpy(1, o.XZ, s.XZ)
	linalg.Axpy(1, o.ZZ, s.ZZ)
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.N }

// ---- Start

// Init draws loadings from a normal distribution of the scale of the data, with half
// of the mean column variance as noise.
func (Model) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	c, err := framework.Fold(ctx, src, 0,
		func() (*columns, error) { return &columns{}, nil },
		(*columns).add,
		(*columns).merge)
	if err != nil {
		return nil, err
	}
	return start(c.rows, c.mean, c.variances(), k, rng)
}

// Init is that of [Model], from moments.
func (Compressed) Init(ctx context.Context, src framework.Source[*Moments], k int, rng *rand.Rand) (*Parameters, error) {
	m, err := pooled(ctx, src)
	if err != nil {
		return nil, err
	}
	return start(m.Rows, m.Mean, m.variances(), k, rng)
}

// pooled merges the blocks of a source of moments.
func pooled(ctx context.Context, src framework.Source[*Moments]) (*Moments, error) {
	return framework.Fold(ctx, src, 1,
		func() (*Moments, error) { return &Moments{}, nil },
		func(sum, m *Moments) error {
			if sum.Mean != nil && sum.D != m.D {
				return fmt.Errorf("bpca: moments of %d and of %d columns do not merge", sum.D, m.D)
			}
			sum.Merge(m)
			return nil
		},
		func(into, from *Moments) { into.Merge(from) })
}

func start(rows int, mean, variances []float64, k int, rng *rand.Rand) (*Parameters, error) {
	d := len(mean)
	if err := checkData(rows, d, variances); err != nil {
		return nil, err
	}
	if err := checkK(k, d); err != nil {
		return nil, err
	}
	unit := 0.0
	for _, v := range variances {
		unit += v / float64(d)
	}
	if math.IsInf(unit, 0) || math.IsNaN(unit) {
		return nil, errors.New("bpca: the variance of the data overflows: divide the data by a large number first")
	}
	p := &Parameters{K: k, D: d, Mean: append([]float64(nil), mean...), Loadings: make([]float64, d*k), Noise: unit / 2}
	scale := math.Sqrt(unit / float64(2*k))
	for i := range p.Loadings {
		p.Loadings[i] = scale * rng.NormFloat64()
	}
	return p, nil
}

// ---- Local step

// NewStatistics makes statistics for p.K latent dimensions.
func (Model) NewStatistics(p *Parameters) *Statistics { return newStatistics(p.K, p.D) }

func newStatistics(k, d int) *Statistics {
	return &Statistics{K: k, D: d, XZ: make([]float64, d*k), ZZ: make([]float64, k*k)}
}

// Prepare computes q's covariance and gain: Σ⁻¹ = λWᵀW + I + D·S₀⁻¹, the last term
// with a tilt only, and μ_n = λΣWᵀ(x_n − mean) (docs/theory/bpca.md, section 1).
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.ww = linalg.Resize(s.ww, p.K*p.K)
	w := linalg.General(p.D, p.K, p.Loadings)
	linalg.Mul(true, false, 1/p.Noise, w, w, 0, linalg.General(p.K, p.K, s.ww))
	return s.prepare(p.Mean, p.Loadings, 1/p.Noise, s.ww, tilt)
}

// prepare sets up q for loadings w with expected precision lambda and expected
// λWᵀW in precision, which it overwrites.
func (s *Statistics) prepare(mean, w []float64, lambda float64, precision []float64, tilt *laplace.Tilt) error {
	k, d, q := s.K, s.D, &s.local
	s.N, s.SumSq = 0, 0
	clear(s.XZ)
	clear(s.ZZ)
	for i := range k {
		precision[i*k+i]++
	}
	if tilt != nil {
		if err := q.addTilt(precision, k, d, tilt); err != nil {
			return err
		}
	}
	q.cov = linalg.Resize(q.cov, k*k)
	copy(q.cov, precision)
	chol, ok := linalg.NewCholesky(k, q.cov)
	if !ok {
		return fmt.Errorf("bpca: the precision of q(z) is not positive definite at K = %d: the noise vanishes beside the loadings", k)
	}
	q.logDet = -chol.LogDet()
	chol.Invert()
	q.mean = mean
	q.gain = linalg.Resize(q.gain, k*d)
	linalg.Mul(false, true, lambda, linalg.General(k, k, q.cov), linalg.General(d, k, w), 0, linalg.General(k, d, q.gain))
	return nil
}

// addTilt adds D·S₀⁻¹. The curvature is A ⊗ B with A = S₀/N; that of a row is
// zzᵀ ⊗ B, so tr(F₀⁻¹F_n)/(2N) = ½ (D/N) zᵀA⁻¹z whatever B is.
func (q *localStep) addTilt(precision []float64, k, d int, tilt *laplace.Tilt) error {
	block, ok := tilt.F[0].(laplace.Kronecker)
	if !ok || len(tilt.F) != 1 || block.A.SymmetricDim() != k {
		panic("bpca: tilt is not the curvature of this model")
	}
	if q.tilt == nil {
		q.tilt = mat.NewSymDense(k, nil)
	}
	if err := block.A.(*laplace.Dense).InverseTo(q.tilt); err != nil {
		return fmt.Errorf("bpca: E[ZᵀZ] is singular at K = %d: allow pruning, or lower K", k)
	}
	for i := range k {
		for j := range k {
			precision[i*k+j] += float64(d) / tilt.N * q.tilt.At(i, j)
		}
	}
	return nil
}

// Infer adds the rows of a block.
func (Model) Infer(b framework.Rows, p *Parameters, s *Statistics) (float64, error) {
	return s.addRows(b)
}

// Infer adds all rows that the moments stand for.
func (Compressed) Infer(m *Moments, p *Parameters, s *Statistics) (float64, error) {
	return s.addMoments(m)
}

func (s *Statistics) addRows(b framework.Rows) (entropy float64, err error) {
	k, d, q := s.K, s.D, &s.local
	if b.D != d {
		return 0, fmt.Errorf("bpca: row %d has %d columns, the model %d", b.First+1, b.D, d)
	}
	q.rows, q.z = linalg.Resize(q.rows, tileRows*d), linalg.Resize(q.z, tileRows*k)
	q.wz = linalg.Resize(q.wz, tileRows*k)
	var weight, sumSq float64
	for first := 0; first < b.N; first += tileRows {
		n := min(tileRows, b.N-first)
		for i := range n {
			row := q.rows[i*d : (i+1)*d]
			centre(row, b.Row(first+i), q.mean, 1)
			weight += b.Weight(first + i)
			sumSq += b.Weight(first+i) * linalg.Dot(row, row)
		}
		x, z := linalg.General(n, d, q.rows[:n*d]), linalg.General(n, k, q.z[:n*k])
		linalg.Mul(false, true, 1, x, linalg.General(k, d, q.gain), 0, z)
		wz := z
		if b.Weights != nil {
			wz.Data = q.wz[:n*k]
			for i := range z.Data {
				wz.Data[i] = b.Weight(first+i/k) * z.Data[i]
			}
		}
		linalg.Mul(true, false, 1, x, wz, 1, linalg.General(d, k, s.XZ))
		linalg.Mul(true, false, 1, z, wz, 1, linalg.General(k, k, s.ZZ))
	}
	if math.IsNaN(sumSq) || math.IsInf(sumSq, 0) {
		return 0, badEntry(b)
	}
	s.SumSq += sumSq
	return s.addWeight(weight), nil
}

func (s *Statistics) addMoments(m *Moments) (entropy float64, err error) {
	k, d, q := s.K, s.D, &s.local
	if m.D != d {
		return 0, fmt.Errorf("bpca: moments of %d columns, the model has %d", m.D, d)
	}
	// About a mean other than their own, the moments gain N·δδᵀ.
	q.shift, q.z = linalg.Resize(q.shift, d), linalg.Resize(q.z, max(k, tileRows*k))
	centre(q.shift, m.Mean, q.mean, 1)
	gain, xz := linalg.General(k, d, q.gain), linalg.General(d, k, q.rows)
	xz.Data = linalg.Resize(q.rows, d*k)[:d*k]
	q.rows = xz.Data
	linalg.Mul(false, true, 1, linalg.General(d, d, m.Scatter), gain, 0, xz)
	gs := linalg.General(k, 1, q.z[:k])
	linalg.Mul(false, false, 1, gain, linalg.General(d, 1, q.shift), 0, gs)
	linalg.Mul(false, true, m.N, linalg.General(d, 1, q.shift), gs, 1, xz)
	linalg.Axpy(1, xz.Data, s.XZ)
	linalg.Mul(false, false, 1, gain, xz, 1, linalg.General(k, k, s.ZZ))
	for j := range d {
		s.SumSq += m.Scatter[j*d+j]
	}
	s.SumSq += m.N * linalg.Dot(q.shift, q.shift)
	return s.addWeight(m.N), nil
}

// addWeight adds what rows of q(z) = N(·, cov) contribute whatever their mean is, and
// returns their entropy.
func (s *Statistics) addWeight(weight float64) (entropy float64) {
	s.N += weight
	linalg.Axpy(weight, s.local.cov, s.ZZ)
	return weight * gaussianEntropy(s.K, s.local.logDet)
}

// gaussianEntropy is that of a k-dimensional normal with ln|Σ| = logDet.
func gaussianEntropy(k int, logDet float64) float64 {
	return 0.5 * (float64(k)*(1+math.Log(2*math.Pi)) + logDet)
}

// ---- Global step

// Maximize is W = XᵀM S⁻¹, 1/λ = (‖X‖² − tr(WᵀXᵀM))/(ND).
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{Loadings: make([]float64, p.D*p.K)}
	}
	dst.K, dst.D, dst.Mean = p.K, p.D, p.Mean
	s.chol = linalg.Resize(s.chol, p.K*p.K)
	copy(s.chol, s.ZZ)
	chol, ok := linalg.NewCholesky(p.K, s.chol)
	if !ok {
		return dst, fmt.Errorf("bpca: E[ZᵀZ] is singular at K = %d: allow pruning, or lower K", p.K)
	}
	copy(dst.Loadings, s.XZ)
	chol.SolveRight(linalg.General(p.D, p.K, dst.Loadings))
	dst.Noise = (s.SumSq - linalg.Dot(dst.Loadings, s.XZ)) / (s.N * float64(p.D))
	if unit := s.SumSq / (s.N * float64(p.D)); !(dst.Noise > vanishing*unit) {
		return dst, noNoise(p.K)
	}
	return dst, nil
}

// vanishing is the share of the total variance below which noise is nothing but
// rounding.
const vanishing = 1e-13

func noNoise(k int) error {
	return fmt.Errorf("bpca: %d latent dimensions leave no noise: the rows lie in a space of that dimension, where the likelihood is unbounded; lower K, or drop columns that depend on others", k)
}

// LogJoint is E_q[ln p(X,Z|W,λ)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	s.ww = linalg.Resize(s.ww, p.K*p.K)
	w := linalg.General(p.D, p.K, p.Loadings)
	linalg.Mul(true, false, 1, w, w, 0, linalg.General(p.K, p.K, s.ww))
	return s.logJoint(p.Loadings, s.ww, 1/p.Noise, -math.Log(p.Noise))
}

// logJoint is E[ln p(X,Z|W,λ)] for expected W, WᵀW, λ and ln λ.
func (s *Statistics) logJoint(w, ww []float64, lambda, logLambda float64) float64 {
	residual := s.SumSq - 2*linalg.Dot(w, s.XZ) + linalg.Dot(ww, s.ZZ)
	trace := 0.0
	for k := range s.K {
		trace += s.ZZ[k*s.K+k]
	}
	nd, nk := s.N*float64(s.D), s.N*float64(s.K)
	return 0.5 * (nd*(logLambda-math.Log(2*math.Pi)) - lambda*residual - nk*math.Log(2*math.Pi) - trace)
}

// Shape counts W and λ. BIC and AIC take the rotation of W off and count the mean.
func (Model) Shape(p *Parameters) framework.Shape { return shape(p.K, p.D) }

func shape(k, d int) framework.Shape {
	return framework.Shape{K: k, Component: d * k, Shared: 1, Free: d*k - k*(k-1)/2 + 1 + d}
}

// ---- Curvature

// Curvature is F_W = (λ/N)·S ⊗ I_D (paper G, eq. 5; the left factor is that of the
// latent dimensions), for data scaled to a mean column variance of 1. It does not
// exist for N ≤ D, see [ErrTooFewRows].
func (Model) Curvature(s *Statistics, p *Parameters, dst laplace.Blocks) (laplace.Blocks, error) {
	return s.curvature(dst, s.SumSq/(s.N*float64(s.D))/p.Noise)
}

// Counts is S/N ⊗ I_D.
func (Model) Counts(s *Statistics, p *Parameters, dst laplace.Blocks) (laplace.Blocks, error) {
	return s.curvature(dst, 1)
}

func (s *Statistics) curvature(dst laplace.Blocks, factor float64) (laplace.Blocks, error) {
	if s.N <= float64(s.D) {
		return nil, tooFewRows(s.N, s.D)
	}
	if dst == nil {
		dst = laplace.Blocks{laplace.Kronecker{A: new(laplace.Dense), B: &laplace.Scaled{Of: laplace.Identity(s.D)}}}
	}
	block := dst[0].(laplace.Kronecker)
	block.B.(*laplace.Scaled).Factor = factor
	block.A.(*laplace.Dense).Set(average{s})
	return dst, nil
}

// average is S/N as a matrix.
type average struct{ s *Statistics }

func (a average) Dims() (r, c int)    { return a.s.K, a.s.K }
func (a average) SymmetricDim() int   { return a.s.K }
func (a average) At(i, j int) float64 { return a.s.ZZ[min(i, j)*a.s.K+max(i, j)] / a.s.N }
func (a average) T() mat.Matrix       { return a }

// ErrTooFewRows says that gFIC and FIC do not exist: with no more rows than columns
// the objective grows without bound as E[ZᵀZ] shrinks in any direction (docs/theory/bpca.md, section 2).
var ErrTooFewRows = errors.New("gFIC and FIC of BPCA do not exist with no more rows than columns")

func tooFewRows(n float64, d int) error {
	return fmt.Errorf("bpca: %w (N = %v, D = %d): use EM with BICEM, variational Bayes, or variational matrix factorisation, or drop columns", ErrTooFewRows, n, d)
}

// ---- Projection

// Relevance gives the orthogonal directions of the loadings, the longest first, each
// with its signal-to-noise ratio λ‖w‖².
func (Model) Relevance(s *Statistics, p *Parameters) (pruning.Directions, error) {
	d := p.directions()
	for j := range d.Values {
		d.Values[j] /= p.Noise
	}
	return d, nil
}

// directions are the right singular vectors of W with the squared singular values.
func (p *Parameters) directions() pruning.Directions {
	var ww mat.SymDense
	ww.SymOuterK(1, p.W().T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&ww, true) {
		panic("bpca: loadings are not finite") // the engine and Check let none through
	}
	values := eigen.Values(nil)
	for j := range values {
		values[j] = max(0, values[j])
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return pruning.FromEigen(values, &vectors)
}

// Project is Z̃ = ZV, W̃ = WV for the K×K' basis V (paper G, section 2.1).
func (Model) Project(s *Statistics, p *Parameters, onto pruning.Directions) (*Statistics, *Parameters, error) {
	k, v := onto.Len(), onto.Basis
	if v == nil {
		return nil, nil, errors.New("bpca: a projection needs a basis of the latent space")
	}
	q := &Parameters{K: k, D: p.D, Mean: p.Mean, Loadings: make([]float64, p.D*k), Noise: p.Noise}
	q.W().Mul(p.W(), v)
	t := newStatistics(k, s.D)
	t.N, t.SumSq = s.N, s.SumSq
	mat.NewDense(s.D, k, t.XZ).Mul(mat.NewDense(s.D, s.K, s.XZ), v)
	zz := mat.NewDense(k, k, t.ZZ)
	var zv mat.Dense
	zv.Mul(mat.NewDense(s.K, s.K, s.ZZ), v)
	zz.Mul(v.T(), &zv)
	return t, q, nil
}
