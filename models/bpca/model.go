package bpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// Model is Bayesian PCA as paper G treats it (section 2.1), fitted from blocks of
// rows. Its parameters are estimated; [Variational] gives them a posterior.
type Model struct {
	// RandomStart starts from random loadings. By default a fit starts near the
	// leading eigenvectors, found by one random subspace iteration: from afar, directions
	// that are weak beside the strongest look like noise for long, and gFAB may prune
	// them before they have shown.
	RandomStart bool
}

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

	// The residual Σ w E‖x − mean − Wz‖² is summed directly at the loadings of the local
	// step. Others differ from it by a small correction, so that nothing cancels when
	// the noise is small.
	Anchor   []float64 // loadings of the local step, D×K
	Residual float64

	local localStep
	kk    []float64 // K×K, scratch
	dk    []float64 // 3·D×K, scratch
}

// localStep is q(z_n) = N(gain·(x_n − mean), cov), with the scratch to apply it.
type localStep struct {
	mean   []float64 // D
	gain   []float64 // K×D
	cov    []float64 // K×K
	logDet float64   // ln|cov|
	x      []float64 // tileRows×D, centred rows
	z      []float64 // tileRows×K, their means
	wz     []float64 // tileRows×K, weighted
	w      []float64 // tileRows, weights
	shift  []float64 // D
	tilt   *mat.SymDense
}

// Merge adds the sums of other rows.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	s.SumSq += o.SumSq
	s.Residual += o.Residual
	linalg.Axpy(1, o.XZ, s.XZ)
	linalg.Axpy(1, o.ZZ, s.ZZ)
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.N }

// ---- Start

// Init starts near the leading eigenvectors, or at random.
func (m Model) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	c, err := framework.Fold(ctx, src, 0,
		func() (*columns, error) { return &columns{}, nil },
		(*columns).add,
		(*columns).merge)
	if err != nil {
		return nil, err
	}
	p, err := newStart(c.rows, c.n, c.mean, c.variances(), k, rng)
	if err != nil || m.RandomStart {
		return p, err
	}
	return p, p.rayleighRitz(func(q []float64) ([]float64, error) { return timesScatter(ctx, src, c.mean, q, k) }, c.n, rng)
}

// Init is that of [Model], from moments.
func (c Compressed) Init(ctx context.Context, src framework.Source[*Moments], k int, rng *rand.Rand) (*Parameters, error) {
	m, err := pooled(ctx, src)
	if err != nil {
		return nil, err
	}
	p, err := newStart(m.Rows, m.N, m.Mean, m.variances(), k, rng)
	if err != nil || c.RandomStart {
		return p, err
	}
	return p, p.rayleighRitz(func(q []float64) ([]float64, error) {
		y := make([]float64, m.D*k)
		linalg.Mul(false, false, 1, linalg.General(m.D, m.D, m.Scatter), linalg.General(m.D, k, q), 0, linalg.General(m.D, k, y))
		return y, nil
	}, m.N, rng)
}

// newStart checks the data and draws loadings from a normal distribution of their scale,
// with half of the mean column variance as noise.
func newStart(rows int, n float64, mean, variances []float64, k int, rng *rand.Rand) (*Parameters, error) {
	d := len(mean)
	if err := checkData(rows, n, variances); err != nil {
		return nil, err
	}
	if err := checkK(k, d); err != nil {
		return nil, err
	}
	unit := 0.0
	for _, v := range variances {
		unit += v / float64(d)
	}
	p := &Parameters{K: k, D: d, Mean: append([]float64(nil), mean...), Loadings: make([]float64, d*k), Noise: unit / 2}
	scale := math.Sqrt(unit / float64(2*k))
	for i := range p.Loadings {
		p.Loadings[i] = scale * rng.NormFloat64()
	}
	return p, nil
}

// rayleighRitz replaces the loadings of a start by those of PPCA in the subspace that one
// iteration of C on them leads to; times multiplies the scatter NC by a D×K matrix.
// A direction that looks like noise keeps a loading long enough to grow from.
func (p *Parameters) rayleighRitz(times func(q []float64) ([]float64, error), n float64, rng *rand.Rand) error {
	d, k := p.D, p.K
	y, err := times(p.Loadings)
	if err != nil {
		return err
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(d, k, y))
	var q mat.Dense
	qr.QTo(&q)
	basis := mat.DenseCopyOf(q.Slice(0, d, 0, k))
	cq, err := times(basis.RawMatrix().Data)
	if err != nil {
		return err
	}
	var b mat.Dense
	b.Mul(basis.T(), mat.NewDense(d, k, cq))
	inner := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			inner.SetSym(i, j, (b.At(i, j)+b.At(j, i))/(2*n))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(inner, true) {
		return nil // entries near the end of the range: the random start is as good
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	unit := 2 * p.Noise
	left := unit * float64(d)
	for _, c := range values {
		left -= c
	}
	p.Noise = max(left/float64(d-k), 1e-12*unit)
	p.W().Mul(basis, &vectors)
	for j, c := range values {
		length := math.Sqrt(max(c-p.Noise, 0.1*p.Noise))
		for i := range d {
			p.Loadings[i*k+j] *= length
		}
	}
	return nil
}

// timesScatter is NC·q for a D×k matrix q, in one pass over the rows.
func timesScatter(ctx context.Context, src framework.Source[framework.Rows], mean, q []float64, k int) ([]float64, error) {
	d := len(mean)
	type product struct {
		y    []float64
		tile localStep
	}
	sum, err := framework.Fold(ctx, src, 0,
		func() (*product, error) { return &product{y: make([]float64, d*k)}, nil },
		func(a *product, b framework.Rows) error {
			a.tile.mean = mean
			return a.tile.eachTile(b, func(n int) {
				x, z := linalg.General(n, d, a.tile.x), linalg.General(n, k, a.tile.scratch(&a.tile.z, k))
				linalg.Mul(false, false, 1, x, linalg.General(d, k, q), 0, z)
				a.tile.weigh(z)
				linalg.Mul(true, false, 1, x, z, 1, linalg.General(d, k, a.y))
			})
		},
		func(into, from *product) { linalg.Axpy(1, from.y, into.y) })
	if err != nil {
		return nil, err
	}
	return sum.y, nil
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

// ---- Local step

// NewStatistics makes statistics for p.K latent dimensions.
func (Model) NewStatistics(p *Parameters) *Statistics { return newStatistics(p.K, p.D) }

func newStatistics(k, d int) *Statistics {
	return &Statistics{K: k, D: d, XZ: make([]float64, d*k), ZZ: make([]float64, k*k), Anchor: make([]float64, d*k)}
}

// Prepare computes q's covariance and gain: Σ⁻¹ = λWᵀW + I + D·S₀⁻¹, the last term
// with a tilt only, and μ_n = λΣWᵀ(x_n − mean) (docs/theory/bpca.md, section 1).
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.kk = linalg.Resize(s.kk, p.K*p.K)
	w := linalg.General(p.D, p.K, p.Loadings)
	linalg.Mul(true, false, 1/p.Noise, w, w, 0, linalg.General(p.K, p.K, s.kk))
	return s.prepare(p.Mean, p.Loadings, 1/p.Noise, s.kk, tilt)
}

// prepare sets up q for loadings w with expected precision lambda and expected
// λWᵀW in precision, which it overwrites.
func (s *Statistics) prepare(mean, w []float64, lambda float64, precision []float64, tilt *laplace.Tilt) error {
	k, d, q := s.K, s.D, &s.local
	s.N, s.SumSq, s.Residual = 0, 0, 0
	copy(s.Anchor, w)
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
	block, ok := laplace.AsKronecker(tilt.F[0])
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
	if b.D != s.D {
		return 0, fmt.Errorf("bpca: row %d has %d columns, the model %d", b.First+1, b.D, s.D)
	}
	weight := 0.0
	err = s.local.eachTile(b, func(n int) {
		s.addTile(n)
		for _, w := range s.local.w[:n] {
			weight += w
		}
	})
	if math.IsNaN(s.SumSq) || math.IsInf(s.SumSq, 0) {
		return 0, badEntry(b)
	}
	return s.addWeight(weight), err
}

// addMoments adds D rows in place of the N that the moments stand for: a root of the
// scatter has the same products, and the residual is summed without cancellation as it
// is for rows.
func (s *Statistics) addMoments(m *Moments) (entropy float64, err error) {
	q := &s.local
	if m.D != s.D {
		return 0, fmt.Errorf("bpca: moments of %d columns, the model has %d", m.D, s.D)
	}
	q.shift = linalg.Resize(q.shift, m.D)
	clear(q.shift)
	mean := q.mean
	q.mean = q.shift
	root := m.root()
	err = q.eachTile(framework.Rows{N: len(root) / m.D, D: m.D, Stride: m.D, X: root}, s.addTile)
	q.mean = mean
	// About a mean other than their own, the moments have one row more, √N·δ.
	q.x = linalg.Resize(q.x, tileRows*m.D)
	centre(q.x[:m.D], m.Mean, mean, math.Sqrt(m.N))
	if shift := q.x[:m.D]; linalg.Dot(shift, shift) > 0 {
		q.w = append(q.w[:0], 1)
		s.addTile(1)
	}
	return s.addWeight(m.N), err
}

// eachTile centres the rows of a block, tile by tile, in q.x, puts their weights in q.w
// and calls use with their number. Rows of weight 0 are left out.
func (q *localStep) eachTile(b framework.Rows, use func(n int)) error {
	d := b.D
	q.x, q.w = linalg.Resize(q.x, tileRows*d), linalg.Resize(q.w, tileRows)
	n := 0
	for i := range b.N {
		w := b.Weight(i)
		if w == 0 {
			continue
		}
		centre(q.x[n*d:(n+1)*d], b.Row(i), q.mean, 1)
		q.w[n] = w
		if n++; n == tileRows {
			use(n)
			n = 0
		}
	}
	if n > 0 {
		use(n)
	}
	return nil
}

// scratch returns memory for tileRows rows of k numbers.
func (q *localStep) scratch(s *[]float64, k int) []float64 {
	*s = linalg.Resize(*s, tileRows*k)
	return *s
}

// weigh multiplies the rows of z by the weights of the tile.
func (q *localStep) weigh(z blas64.General) {
	for i, w := range q.w[:z.Rows] {
		if w != 1 {
			blas64.Scal(w, blas64.Vector{N: z.Cols, Inc: 1, Data: z.Data[i*z.Stride:]})
		}
	}
}

// addTile adds the first n rows of the tile, centred, with q(z)'s means.
func (s *Statistics) addTile(n int) {
	k, d, q := s.K, s.D, &s.local
	x, z := linalg.General(n, d, q.x), linalg.General(n, k, q.scratch(&q.z, k))
	for i, w := range q.w[:n] {
		row := x.Data[i*d : (i+1)*d]
		s.SumSq += w * linalg.Dot(row, row)
	}
	linalg.Mul(false, true, 1, x, linalg.General(k, d, q.gain), 0, z)
	wz := linalg.General(n, k, q.scratch(&q.wz, k))
	copy(wz.Data, z.Data[:n*k])
	q.weigh(wz)
	linalg.Mul(true, false, 1, x, wz, 1, linalg.General(d, k, s.XZ))
	linalg.Mul(true, false, 1, z, wz, 1, linalg.General(k, k, s.ZZ))
	linalg.Mul(false, true, -1, z, linalg.General(d, k, s.Anchor), 1, x) // what is left of x
	for i, w := range q.w[:n] {
		row := x.Data[i*d : (i+1)*d]
		s.Residual += w * linalg.Dot(row, row)
	}
}

// addWeight adds what rows of q(z) = N(·, cov) contribute whatever their mean is, and
// returns their entropy.
func (s *Statistics) addWeight(weight float64) (entropy float64) {
	s.N += weight
	linalg.Axpy(weight, s.local.cov, s.ZZ)
	s.Residual += weight * s.spread(s.Anchor, s.local.cov)
	return weight * gaussianEntropy(s.K, s.local.logDet)
}

// spread is tr(W C Wᵀ) for a D×K matrix W and a K×K matrix C.
func (s *Statistics) spread(w, c []float64) float64 {
	s.dk = linalg.Resize(s.dk, 3*s.D*s.K)
	wc := s.dk[:s.D*s.K]
	linalg.Mul(false, false, 1, linalg.General(s.D, s.K, w), linalg.General(s.K, s.K, c), 0, linalg.General(s.D, s.K, wc))
	return linalg.Dot(w, wc)
}

// gaussianEntropy is that of a k-dimensional normal with ln|Σ| = logDet.
func gaussianEntropy(k int, logDet float64) float64 {
	return 0.5 * (float64(k)*(1+math.Log(2*math.Pi)) + logDet)
}

// ---- Global step

// Maximize is W = XᵀM S⁻¹, 1/λ = Σ E‖x − mean − Wz‖²/(ND).
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{Loadings: make([]float64, p.D*p.K)}
	}
	dst.K, dst.D, dst.Mean = p.K, p.D, p.Mean
	chol, err := s.factor()
	if err != nil {
		return dst, err
	}
	copy(dst.Loadings, s.XZ)
	chol.SolveRight(linalg.General(p.D, p.K, dst.Loadings))
	dst.Noise = s.residual(dst.Loadings) / (s.N * float64(p.D))
	if unit := s.SumSq / (s.N * float64(p.D)); !(dst.Noise > vanishing*unit) {
		return dst, noNoise(p.K)
	}
	return dst, nil
}

// factor is the Cholesky factor of S, in scratch memory.
func (s *Statistics) factor() (linalg.Cholesky, error) {
	s.kk = linalg.Resize(s.kk, s.K*s.K)
	copy(s.kk, s.ZZ)
	chol, ok := linalg.NewCholesky(s.K, s.kk)
	if !ok {
		return chol, fmt.Errorf("bpca: E[ZᵀZ] is singular at K = %d: %w; allow pruning, or lower K", s.K, framework.ErrDegenerate)
	}
	return chol, nil
}

// residual is Σ w E‖x − mean − Wz‖². With Δ = W − anchor it is the one summed at the
// anchor plus tr(Δᵀ((W + anchor)S − 2XᵀM)), and Δ tends to 0.
func (s *Statistics) residual(w []float64) float64 {
	d, k := s.D, s.K
	s.dk = linalg.Resize(s.dk, 3*d*k)
	delta, sum, slope := s.dk[:d*k], s.dk[d*k:2*d*k], s.dk[2*d*k:3*d*k]
	for i, v := range w {
		delta[i] = v - s.Anchor[i]
		sum[i] = v + s.Anchor[i]
	}
	copy(slope, s.XZ)
	linalg.Mul(false, false, 1, linalg.General(d, k, sum), linalg.General(k, k, s.ZZ), -2, linalg.General(d, k, slope))
	return s.Residual + linalg.Dot(delta, slope)
}

// vanishing is the share of the total variance below which noise is nothing but
// rounding.
const vanishing = 1e-13

func noNoise(k int) error {
	return fmt.Errorf("bpca: %d latent dimensions leave no noise above rounding: %w; the rows lie in a space of that dimension, or a few entries dwarf all others; lower K, or drop columns that depend on others", k, framework.ErrDegenerate)
}

// Expand is z → L⁻¹z, W → WL, which leaves Wz as it is (PX-EM; Liu, Rubin & Wu 1998). The
// prior of z and the entropy are best where S = N·I; with the penalty −(D/2) ln|S| of gFAB
// and FAB, where S = (N − D)·I.
func (Model) Expand(s *Statistics, p *Parameters, charged bool) (*Parameters, float64, error) {
	m := s.N
	if charged {
		if m -= float64(s.D); m <= 0 {
			return p, 0, tooFewRows(s.N, s.D)
		}
	}
	chol, err := s.factor()
	if err != nil {
		return p, 0, err
	}
	// S = UᵀU and L = Uᵀ/√m.
	k, root := s.K, math.Sqrt(m)
	for _, w := range [][]float64{p.Loadings, s.Anchor} {
		chol.MulTransRight(1/root, linalg.General(s.D, k, w))
	}
	xz := linalg.General(s.D, k, s.XZ)
	chol.HalfSolveRight(xz)
	blas64.Scal(root, blas64.Vector{N: s.D * k, Inc: 1, Data: s.XZ})
	clear(s.ZZ)
	for i := range k {
		s.ZZ[i*k+i] = m
	}
	return p, -s.N / 2 * (chol.LogDet() - float64(k)*math.Log(m)), nil
}

// LogJoint is E_q[ln p(X,Z|W,λ)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	return s.logJoint(s.residual(p.Loadings), 1/p.Noise, -math.Log(p.Noise))
}

// logJoint is E[ln p(X,Z|W,λ)] for an expected residual and expected λ and ln λ.
func (s *Statistics) logJoint(residual, lambda, logLambda float64) float64 {
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
	var zv, back mat.Dense
	zv.Mul(mat.NewDense(s.K, s.K, s.ZZ), v)
	mat.NewDense(k, k, t.ZZ).Mul(v.T(), &zv)
	anchor := mat.NewDense(s.D, k, t.Anchor)
	anchor.Mul(mat.NewDense(s.D, s.K, s.Anchor), v)
	back.Mul(anchor, v.T())
	t.Residual = s.residual(back.RawMatrix().Data)
	return t, q, nil
}
