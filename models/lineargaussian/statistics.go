package lineargaussian

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// Statistics are the expected statistics of a local step, with x centred at the mean.
type Statistics struct {
	K     int `keep:"count"`
	D     int
	N     float64   // sum of the row weights
	SumSq float64   // ‖X‖² = Σ w ‖x − mean‖²
	XZ    []float64 `keep:"columns"` // XᵀM, D×K: Σ w (x − mean) E[z]ᵀ
	ZZ    []float64 `keep:"both"`    // S, K×K: Σ w E[zzᵀ]

	// The residual Σ w E‖x − mean − Wz‖² is summed directly at the loadings of the local
	// step. The residual at other loadings adds a small correction, so that no digits cancel if the noise is small.
	Anchor   []float64 `keep:"columns"` // loadings of the local step, D×K
	Residual float64

	local       localStep
	kk          []float64       // K×K, scratch
	dk          []float64       // 3·D×K, scratch
	count       mat.SymDense    // ZZ as a matrix
	information laplace.Scaled  // of a row, about a column of loadings
	expanded    linalg.Cholesky // of S before Expand, in kk
	root        float64         // √ of S after it
}

// localStep is q(z_n) = N(gain·(x_n − mean), cov), with the scratch to apply it.
type localStep struct {
	mean   []float64 // D
	gain   []float64 // K×D
	cov    []float64 // K×K
	logDet float64   // ln|cov|
	x      []float64 // up to tileRows×D, centred rows
	z      []float64 // tileRows×K, their means
	wz     []float64 // tileRows×K, weighted
	w      []float64 // tileRows, weights
	shift  []float64 // D
}

// NewStatistics allocates statistics for k latent dimensions and d columns.
func NewStatistics(k, d int) *Statistics {
	return &Statistics{K: k, D: d, XZ: make([]float64, d*k), ZZ: make([]float64, k*k), Anchor: make([]float64, d*k)}
}

// Merge adds the sums of o, whose loadings may differ. It may overwrite scratch memory of o.
func (s *Statistics) Merge(o *Statistics) {
	switch {
	case slices.Equal(s.Anchor, o.Anchor):
		s.Residual += o.Residual
	case s.N == 0:
		copy(s.Anchor, o.Anchor)
		s.Residual = o.Residual
	default:
		s.Residual += o.ResidualAt(s.Anchor)
	}
	s.N += o.N
	s.SumSq += o.SumSq
	linalg.Axpy(1, o.XZ, s.XZ)
	linalg.Axpy(1, o.ZZ, s.ZZ)
}

// Observations returns N, the sum of the row weights.
func (s *Statistics) Observations() float64 { return s.N }

// Begin clears the statistics for a local step q(z_n) = N(gain·(x_n − mean), cov). It returns the memory of gain
// (K×D) and cov (K×K); the caller fills both and calls [Statistics.SetLogDet], unless it calls [Statistics.Condition].
// anchor is the expected W (D×K).
func (s *Statistics) Begin(mean, anchor []float64) (gain, cov []float64) {
	q := &s.local
	s.N, s.SumSq, s.Residual = 0, 0, 0
	copy(s.Anchor, anchor)
	clear(s.XZ)
	clear(s.ZZ)
	q.mean = mean
	q.gain, q.cov = linalg.Resize(q.gain, s.K*s.D), linalg.Resize(q.cov, s.K*s.K)
	return q.gain, q.cov
}

// Gain returns the local step's gain, K×D.
func (s *Statistics) Gain() []float64 { return s.local.gain }

// Cov returns the local step's covariance of z, K×K.
func (s *Statistics) Cov() []float64 { return s.local.cov }

// SetLogDet sets ln|cov|.
func (s *Statistics) SetLogDet(logDet float64) { s.local.logDet = logDet }

// Scale multiplies the weight of all rows by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	s.SumSq *= factor
	s.Residual *= factor
	linalg.Scale(factor, s.XZ)
	linalg.Scale(factor, s.ZZ)
}

// Information returns what a row tells of z, scale·wᵀ·weighted (K×K), in memory that [Statistics.Condition] may
// overwrite. w and weighted are D×K, and scale·weighted is Ψ⁻¹w.
func (s *Statistics) Information(w, weighted []float64, scale float64) []float64 {
	k, d := s.K, s.D
	s.kk = linalg.Resize(s.kk, k*k)
	linalg.Mul(true, false, scale, linalg.General(d, k, w), linalg.General(d, k, weighted), 0,
		linalg.General(k, k, s.kk))
	return s.kk
}

// Condition starts a local step for x = mean + Wz + ε, ε ~ N(0, Ψ), with loadings w (D×K): q(z_n) = N(gain·(x_n −
// mean), Σ) with gain = scale·Σ·weightedᵀ, where scale·weighted is Ψ⁻¹W (D×K). Σ⁻¹ is information, such as that of
// [Statistics.Information], which Condition overwrites, plus the precision of the prior of z: I, or diag(prior) if that
// is not nil. The tilt adds its matrix to Σ⁻¹; this is D·S₀⁻¹ if no entry is missing.
func (s *Statistics) Condition(
	mean, w, weighted []float64, scale float64, information, prior []float64, tilt *laplace.Tilt,
) error {
	k, d := s.K, s.D
	gain, cov := s.Begin(mean, w)
	for i := range k {
		if prior == nil {
			information[i*k+i]++
		} else {
			information[i*k+i] += prior[i]
		}
	}
	var tilted mat.SymDense
	tilted.SetRawSymmetric(blas64.Symmetric{N: k, Stride: k, Data: information, Uplo: blas.Upper})
	if err := tilt.Precision(&tilted); err != nil {
		return s.singular(err)
	}
	copy(cov, information)
	chol, ok := linalg.NewCholesky(k, cov)
	if !ok {
		return fmt.Errorf("lineargaussian: the precision of q(z) is not positive definite at K = %d: the noise is "+
			"negligible relative to the loadings", k)
	}
	s.SetLogDet(-chol.LogDet())
	chol.Invert()
	linalg.Mul(false, true, scale, linalg.General(k, k, cov), linalg.General(d, k, weighted), 0,
		linalg.General(k, d, gain))
	return nil
}

func (s *Statistics) singular(err error) error {
	return fmt.Errorf("lineargaussian: E[ZᵀZ] is singular at K = %d: %w; allow pruning, or lower K", s.K, err)
}

// Add adds the rows of a block and returns the entropy of their q.
func (s *Statistics) Add(b blocks.Rows) (entropy float64, err error) {
	if b.D != s.D {
		return 0, fmt.Errorf("lineargaussian: %w", blocks.FaultyRow(b.First, "has %d columns, the model %d", b.D, s.D))
	}
	weight := 0.0
	s.local.eachTile(b, func(n int) {
		s.addTile(n)
		for _, w := range s.local.w[:n] {
			weight += w
		}
	})
	if math.IsNaN(s.SumSq) || math.IsInf(s.SumSq, 0) {
		return 0, badEntry(b)
	}
	return s.addWeight(weight), nil
}

// AddMoments adds the rows that m summarises and returns the entropy of their q. It adds the D rows of a square root
// of the scatter in place of the N rows: their products are the same, and the residual is summed without
// cancellation.
func (s *Statistics) AddMoments(m *Moments) (entropy float64, err error) {
	q := &s.local
	if m.D != s.D {
		return 0, fmt.Errorf("lineargaussian: moments of %d columns, the model has %d", m.D, s.D)
	}
	q.shift = linalg.Resize(q.shift, m.D)
	clear(q.shift)
	mean := q.mean
	q.mean = q.shift
	root := m.root()
	q.eachTile(blocks.Rows{N: root.Rows, D: m.D, Stride: m.D, X: root.Data}, s.addTile)
	q.mean = mean
	// About a mean other than their own, the moments have one row more, √N·δ.
	q.x = linalg.Resize(q.x, m.D)
	centre(q.x[:m.D], m.Mean, mean, math.Sqrt(m.N))
	if shift := q.x[:m.D]; linalg.Dot(shift, shift) > 0 {
		q.w = append(q.w[:0], 1)
		s.addTile(1)
	}
	return s.addWeight(m.N), nil
}

// eachTile centres the rows of a block, tile by tile, in q.x, puts their weights in q.w
// and calls use with their number. Rows of weight 0 are left out.
func (q *localStep) eachTile(b blocks.Rows, use func(n int)) {
	d := b.D
	q.x, q.w = linalg.Resize(q.x, min(tileRows, b.N)*d), linalg.Resize(q.w, tileRows)
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
			linalg.Scale(w, z.Data[i*z.Stride:][:z.Cols])
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
	linalg.Mul(false, true, -1, z, linalg.General(d, k, s.Anchor), 1, x) // the residual of x
	for i, w := range q.w[:n] {
		row := x.Data[i*d : (i+1)*d]
		s.Residual += w * linalg.Dot(row, row)
	}
}

// addWeight adds the part of rows of q(z) = N(·, cov) that does not depend on their mean, and
// returns their entropy.
func (s *Statistics) addWeight(weight float64) (entropy float64) {
	s.N += weight
	linalg.Axpy(weight, s.local.cov, s.ZZ)
	s.Residual += weight * s.spread(s.Anchor, s.local.cov)
	return weight * GaussianEntropy(s.K, s.local.logDet)
}

// spread is tr(W C Wᵀ) for a D×K matrix W and a K×K matrix C.
func (s *Statistics) spread(w, c []float64) float64 {
	s.dk = linalg.Resize(s.dk, 3*s.D*s.K)
	wc := s.dk[:s.D*s.K]
	linalg.Mul(false, false, 1, linalg.General(s.D, s.K, w), linalg.General(s.K, s.K, c), 0, linalg.General(s.D, s.K, wc))
	return linalg.Dot(w, wc)
}

// GaussianEntropy returns the entropy of a k-dimensional normal distribution with ln|Σ| = logDet, in nats.
func GaussianEntropy(k int, logDet float64) float64 {
	return 0.5 * (float64(k)*(1+math.Log(2*math.Pi)) + logDet)
}

// factor is the Cholesky factor of S, in scratch memory.
func (s *Statistics) factor() (linalg.Cholesky, error) {
	s.kk = linalg.Resize(s.kk, s.K*s.K)
	copy(s.kk, s.ZZ)
	chol, ok := linalg.NewCholesky(s.K, s.kk)
	if !ok {
		return chol, s.singular(framework.ErrDegenerate)
	}
	return chol, nil
}

// Regress writes W = XᵀM S⁻¹ to w (D×K): the loadings that maximise E[ln p(X|Z,W)] for any noise.
func (s *Statistics) Regress(w []float64) error {
	chol, err := s.factor()
	if err != nil {
		return err
	}
	copy(w, s.XZ)
	chol.SolveRight(linalg.General(s.D, s.K, w))
	return nil
}

// Posterior writes the posterior of W to mean (D×K) and cov (K×K), the covariance of each of its rows, for noise of
// precision lambda and the prior N(0, diag(prior)⁻¹) of each row. It returns ln|cov|.
func (s *Statistics) Posterior(lambda float64, prior, mean, cov []float64) (logDet float64, err error) {
	k := s.K
	for i, zz := range s.ZZ {
		cov[i] = lambda * zz
	}
	for i, v := range prior {
		cov[i*k+i] += v
	}
	chol, ok := linalg.NewCholesky(k, cov)
	if !ok {
		return 0, fmt.Errorf("lineargaussian: the precision of the loadings is not positive definite at K = %d: the "+
			"noise is negligible relative to them; rescale the data", k)
	}
	logDet = -chol.LogDet()
	chol.Invert()
	s.kk = linalg.Resize(s.kk, k*k)
	for i, c := range cov {
		s.kk[i] = lambda * c // a number near 1, where the product of covariances and data may underflow
	}
	linalg.Mul(false, false, 1, linalg.General(s.D, k, s.XZ), linalg.General(k, k, s.kk), 0,
		linalg.General(s.D, k, mean))
	return logDet, nil
}

// ExpectedResidual is [Statistics.ResidualAt] expected under a posterior of W.
func (s *Statistics) ExpectedResidual(mean, cov []float64) float64 {
	return s.ResidualAt(mean) + float64(s.D)*linalg.Dot(cov, s.ZZ)
}

// ExpectedSquare is E‖w_i‖² of column i of W, for a posterior of its D rows.
func ExpectedSquare(mean, cov []float64, k, i int) float64 {
	d := len(mean) / k
	sum := float64(d) * cov[i*k+i]
	for j := range d {
		sum += mean[j*k+i] * mean[j*k+i]
	}
	return sum
}

// Expand replaces z by L⁻¹z and the loadings w (D×K) by wL, which leaves Wz unchanged (PX-EM; Liu, Rubin & Wu 1998).
// Its L makes S = N·I, where the prior of z and the entropy are best. If charged, with the penalty −(D/2) ln|S| of
// gFAB and FAB, it makes S = (N − D)·I. It returns the change of the entropy in nats.
func (s *Statistics) Expand(w []float64, charged bool) (entropy float64, err error) {
	m := s.N
	if charged {
		if m -= float64(s.D); m <= 0 {
			return 0, TooFewRows(s.N, s.D)
		}
	}
	chol, err := s.factor()
	if err != nil {
		return 0, err
	}
	// S = UᵀU and L = Uᵀ/√m.
	k := s.K
	s.expanded, s.root = chol, math.Sqrt(m)
	for _, w := range [][]float64{w, s.Anchor} {
		chol.MulTransRight(1/s.root, linalg.General(s.D, k, w))
	}
	s.Expanded(s.XZ)
	clear(s.ZZ)
	for i := range k {
		s.ZZ[i*k+i] = m
	}
	return -s.N / 2 * (chol.LogDet() - float64(k)*math.Log(m)), nil
}

// Expanded multiplies rows of K numbers, sums with z, by the L⁻ᵀ of Expand, of which it comes at once.
func (s *Statistics) Expanded(rows []float64) {
	s.expanded.HalfSolveRight(linalg.General(len(rows)/s.K, s.K, rows))
	linalg.Scale(s.root, rows)
}

// Rescaled returns the loadings WL of w (D×K), in new memory, where LLᵀ = S/N is the average of E[zzᵀ]. At the fixed
// points of gFAB, whose loadings are too long by (1 − D/N)^−½, these are the maximum likelihood estimates
// (docs/theory/factor.md, section 2); those of EM do not change.
func (s *Statistics) Rescaled(w []float64) ([]float64, error) {
	chol, err := s.factor()
	if err != nil {
		return nil, err
	}
	w = slices.Clone(w)
	chol.MulTransRight(1/math.Sqrt(s.N), linalg.General(s.D, s.K, w))
	return w, nil
}

// Mapped returns the statistics of z' = to·z for a matrix of orthonormal rows, k×K: a rotation, or some of the
// dimensions ([linalg.Selection]).
func (s *Statistics) Mapped(to mat.Matrix) *Statistics {
	k, _ := to.Dims()
	t := NewStatistics(k, s.D)
	t.N, t.SumSq = s.N, s.SumSq
	anchor, left := t.matrix(t.Anchor), make([]float64, len(s.Anchor)) // what t's anchor is in the dimensions of s
	t.matrix(t.XZ).Mul(s.matrix(s.XZ), to.T())
	anchor.Mul(s.matrix(s.Anchor), to.T())
	mat.NewDense(k, k, t.ZZ).Product(to, mat.NewDense(s.K, s.K, s.ZZ), to.T())
	s.matrix(left).Mul(anchor, to)
	t.Residual = s.ResidualAt(left)
	return t
}

// matrix is a list as D×K.
func (s *Statistics) matrix(list []float64) *mat.Dense { return mat.NewDense(s.D, s.K, list) }

// ResidualAt returns Σ_n w_n E‖x_n − mean − Wz_n‖² for the loadings W = w, D×K. With Δ = w − anchor it is Residual
// plus tr(Δᵀ((w + anchor)S − 2XᵀM)); Δ tends to 0 in a fit.
func (s *Statistics) ResidualAt(w []float64) float64 {
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

// LogJoint returns E[ln p(X,Z|W,λ)] of noise λ⁻¹I for an expected residual and expected λ and ln λ.
func (s *Statistics) LogJoint(residual, lambda, logLambda float64) float64 {
	trace := 0.0
	for k := range s.K {
		trace += s.ZZ[k*s.K+k]
	}
	nd, nk := s.N*float64(s.D), s.N*float64(s.K)
	return 0.5 * (nd*(logLambda-math.Log(2*math.Pi)) - lambda*residual - nk*math.Log(2*math.Pi) - trace)
}

// Curvature adds S ⊗ I_D, information times: what the rows tell of loadings in units in which a row has the information
// information·I. It does not exist for N ≤ D (see [ErrTooFewRows]); the evidence does.
func (s *Statistics) Curvature(information float64, f *laplace.Curvature) error {
	if s.N <= float64(s.D) {
		return TooFewRows(s.N, s.D)
	}
	s.count.SetRawSymmetric(blas64.Symmetric{N: s.K, Stride: s.K, Data: s.ZZ, Uplo: blas.Upper})
	if s.information.Of == nil {
		s.information.Of = laplace.Identity(s.D) // which allocates where D is large
	}
	s.information.Factor = information
	f.Mixed(&s.count, &s.information)
	return nil
}

// ErrTooFewRows reports that gFIC and FIC do not exist, or may not exist if entries are missing. With no more rows than
// columns, the objective grows without bound as E[ZᵀZ] shrinks in any direction (docs/theory/bpca.md, section 2, and
// docs/theory/factor.md, sections 2 and 4).
var ErrTooFewRows = errors.New("gFIC and FIC need more rows than columns")

// TooFewRows is ErrTooFewRows with the numbers of a table, and what to do.
func TooFewRows(n float64, d int) error {
	return fmt.Errorf("lineargaussian: %w (N = %v, D = %d): use EM with BICEM or BIC, variational Bayes, or "+
		"variational matrix factorisation, or drop columns", ErrTooFewRows, n, d)
}
