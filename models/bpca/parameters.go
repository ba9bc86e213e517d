package bpca

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Parameters are the parameters of x = mean + W z + ε, z ~ N(0, I_K), ε ~ N(0, Noise·I_D), in the units of the data.
// Ξ = W and Θ = λ = 1/Noise; the mean is the mean of the data.
type Parameters struct {
	K        int       `json:"k" keep:"count"`
	D        int       `json:"d"`
	Mean     []float64 `json:"mean"`                    // length D
	Loadings []float64 `json:"loadings" keep:"columns"` // W, D×K row-major
	Noise    float64   `json:"noise"`                   // variance σ² = 1/λ
}

// Check returns an error for invalid parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	if p == nil {
		return errors.New("bpca: no parameters")
	}
	if !(p.Noise > 0) || math.IsInf(p.Noise, 0) {
		return fmt.Errorf("bpca: noise variance %v is not positive and finite", p.Noise)
	}
	return lineargaussian.CheckParameters(p.K, p.D, p.Mean, p.Loadings)
}

// W returns the loadings as a D×K matrix, sharing their memory.
func (p *Parameters) W() *mat.Dense { return mat.NewDense(p.D, p.K, p.Loadings) }

// gram is (W/unit)ᵀ(W/unit), K×K.
func (p *Parameters) gram(unit float64) *mat.SymDense {
	var w mat.Dense
	w.Scale(1/unit, p.W())
	var ww mat.SymDense
	ww.SymOuterK(1, w.T())
	return &ww
}

// Canonical returns the same distribution of x with its rotation fixed: columns of W
// orthogonal, the longest first, and the entry of largest magnitude in each positive.
func (p *Parameters) Canonical() *Parameters {
	scale := 1e-300
	for _, w := range p.Loadings {
		scale = max(scale, math.Abs(w))
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(p.gram(scale), true) { // in this unit no square overflows
		panic("bpca: loadings are not finite") // the engine and Check let none through
	}
	var directions mat.Dense
	eigen.VectorsTo(&directions) // the shortest first
	c := *p
	c.Loadings = make([]float64, p.D*p.K)
	for k := range p.K {
		w := c.W().ColView(k).(*mat.VecDense)
		w.MulVec(p.W(), directions.ColView(p.K-1-k))
		if w.AtVec(blas64.Iamax(w.RawVector())) < 0 {
			w.ScaleVec(-1, w)
		}
	}
	return &c
}

// signalToNoise is ‖w_k‖²/Noise for each latent dimension.
func (p *Parameters) signalToNoise() []float64 {
	ratios, sd := make([]float64, p.K), math.Sqrt(p.Noise)
	for i, w := range p.Loadings {
		ratios[i%p.K] += (w / sd) * (w / sd)
	}
	return ratios
}

// Explained returns the share of the model's total variance that lies along each latent
// dimension, ‖w_k‖²/(‖W‖² + D·Noise); the rest is noise.
func (p *Parameters) Explained() []float64 {
	share := p.signalToNoise()
	floats.Scale(1/(floats.Sum(share)+float64(p.D)), share)
	return share
}

// Transform returns the posterior p(z|x) of each row of x (n×D): the means, n×K, and
// the covariance, K×K, which all rows share.
func (p *Parameters) Transform(x mat.Matrix) (mean *mat.Dense, cov *mat.SymDense, err error) {
	_, z, s, err := p.scored(x)
	if err != nil {
		return nil, nil, err
	}
	inverse := s.chol.Invert()
	for i := range inverse {
		inverse[i] *= p.Noise
	}
	return mat.NewDense(len(z)/p.K, p.K, z), mat.NewSymDense(p.K, inverse), nil
}

// InverseTransform returns the mean of x given each row of z (n×K): mean + W z, n×D.
func (p *Parameters) InverseTransform(z mat.Matrix) (*mat.Dense, error) {
	return lineargaussian.InverseTransform(p.Mean, p.W(), z)
}

// LogProb returns the marginal log-likelihood ln N(x_n | mean, WWᵀ + σ²I) of each row of
// x (n×D), in nats.
func (p *Parameters) LogProb(x mat.Matrix) ([]float64, error) {
	logProb, _, _, err := p.scored(x)
	return logProb, err
}

// scored is what the scorer says of the rows of x.
func (p *Parameters) scored(x mat.Matrix) (logProb, mean []float64, s *scorer, err error) {
	n, d := x.Dims()
	if d != p.D || n == 0 {
		return nil, nil, nil, fmt.Errorf("bpca: the data are %d×%d: the model has %d columns", n, d, p.D)
	}
	rows := blocks.Rows{N: n, D: d, Stride: d, X: mat.DenseCopyOf(x).RawMatrix().Data}
	for i, v := range rows.X {
		if v-v != 0 {
			return nil, nil, nil, fmt.Errorf("bpca: %w", blocks.NotFinite(i/d, i%d, v))
		}
	}
	if s, err = p.scorer(); err == nil {
		logProb, mean, err = s.block(rows, nil, nil)
	}
	return logProb, mean, s, err
}

// A scorer has what scoring shares between rows. M = WᵀW + σ²I, with which p(z|x) = N(M⁻¹Wᵀ(x − mean), σ²M⁻¹), is
// UᵀU. Woodbury gives (WWᵀ + σ²I)⁻¹ = (I − W M⁻¹Wᵀ)/σ² and |WWᵀ + σ²I| = σ^{2(D−K)} |M|.
type scorer struct {
	*Parameters
	chol     linalg.Cholesky // of M
	constant float64         // D ln 2π + ln |WWᵀ + σ²I|
	y        []float64       // centred rows
}

func (p *Parameters) scorer() (*scorer, error) {
	m := make([]float64, p.K*p.K)
	w := linalg.General(p.D, p.K, p.Loadings)
	linalg.Mul(true, false, 1, w, w, 0, linalg.General(p.K, p.K, m))
	for k := range p.K {
		m[k*p.K+k] += p.Noise
	}
	chol, ok := linalg.NewCholesky(p.K, m)
	if !ok {
		return nil, errors.New(
			"bpca: WᵀW + σ²I is not positive definite: the loadings are not finite, or the noise is negligible relative to them",
		)
	}
	constant := float64(p.D)*math.Log(2*math.Pi) + float64(p.D-p.K)*math.Log(p.Noise) + chol.LogDet()
	return &scorer{Parameters: p, chol: chol, constant: constant}, nil
}

// block is the function of Parameters.Scorer.
func (s *scorer) block(b blocks.Rows, logProb, mean []float64) ([]float64, []float64, error) {
	if b.D != s.D {
		return nil, nil, fmt.Errorf("bpca: rows have %d columns, the model %d", b.D, s.D)
	}
	s.y, logProb, mean = linalg.Resize(s.y, b.N*s.D), linalg.Resize(logProb, b.N), linalg.Resize(mean, b.N*s.K)
	for i := range b.N {
		floats.SubTo(s.y[i*s.D:(i+1)*s.D], b.Row(i), s.Mean)
	}
	s.score(linalg.General(b.N, s.D, s.y), logProb, linalg.General(b.N, s.K, mean))
	return logProb, mean, nil
}

// score puts ln p(x) and the mean of p(z|x) of centred rows y (n×D) into logProb (n) and mean (n×K).
func (s *scorer) score(y blas64.General, logProb []float64, mean blas64.General) {
	linalg.Mul(false, false, 1, y, linalg.General(s.D, s.K, s.Loadings), 0, mean)
	s.chol.HalfSolveRight(mean)
	for i := range logProb {
		row, along := y.Data[i*y.Stride:][:s.D], mean.Data[i*s.K:(i+1)*s.K]
		logProb[i] = -0.5 * (s.constant + (linalg.Dot(row, row)-linalg.Dot(along, along))/s.Noise)
	}
	s.chol.HalfSolveTransRight(mean)
}

// Scorer returns a function that computes LogProb and the means of Transform for one block after another. What blocks
// share is computed once, and nothing is allocated if the slices are large enough. The function is for one goroutine.
func (p *Parameters) Scorer() (func(b blocks.Rows, logProb, mean []float64) ([]float64, []float64, error), error) {
	s, err := p.scorer()
	if err != nil {
		return nil, err
	}
	return s.block, nil
}

// LogProb returns the marginal log-likelihood of each row of a block, in nats.
func (Model) LogProb(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	score, err := p.Scorer()
	if err != nil {
		return nil, err
	}
	dst, _, err = score(b, dst, nil)
	return dst, err
}

// Distribution returns the distribution of a row, N(mean, WWᵀ + Noise·I), as a distmv.Normal that draws from src; nil
// selects the global generator. It returns an error if the noise is negligible relative to the loadings.
func (p *Parameters) Distribution(src rand.Source) (*distmv.Normal, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	noise := mat.NewDiagDense(p.D, slices.Repeat([]float64{p.Noise}, p.D))
	return lineargaussian.Distribution(p.Mean, p.W(), noise, src)
}

// Sample draws n rows of x from the model.
func (p *Parameters) Sample(n int, rng *rand.Rand) (*mat.Dense, error) {
	if n < 1 {
		return nil, fmt.Errorf("bpca: cannot draw %d rows", n)
	}
	z := mat.NewDense(n, p.K, nil)
	for i := range z.RawMatrix().Data {
		z.RawMatrix().Data[i] = rng.NormFloat64()
	}
	x, err := p.InverseTransform(z)
	if err != nil {
		return nil, err
	}
	sd := math.Sqrt(p.Noise)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] += sd * rng.NormFloat64()
	}
	return x, nil
}
