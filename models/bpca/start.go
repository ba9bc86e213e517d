package bpca

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Init starts near the leading eigenvectors, or at random.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	p, _, err := m.begin(ctx, src, k, rng)
	return p, err
}

// begin is Init, with the mean column variance.
func (m Model) begin(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	c, err := lineargaussian.SummarizeColumns(ctx, src)
	if err == nil {
		err = c.Complete()
	}
	if err != nil {
		return nil, 0, err
	}
	p, unit, err := newStart(c.Rows, c.N, c.Mean, c.Variances(), k, rng)
	if err != nil || m.RandomStart {
		return p, unit, err
	}
	return p, unit, p.rayleighRitz(func(q []float64) ([]float64, error) {
		return lineargaussian.TimesScatter(ctx, src, c.Mean, q, k)
	}, c.N, rng)
}

// Init starts as [Model] does, from moments.
func (c Compressed) Init(
	ctx context.Context, src framework.Source[*lineargaussian.Moments], k int, rng *rand.Rand,
) (*Parameters, error) {
	p, _, err := c.begin(ctx, src, k, rng)
	return p, err
}

// begin is Init, with the mean column variance.
func (c Compressed) begin(
	ctx context.Context, src framework.Source[*lineargaussian.Moments], k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	m, err := lineargaussian.Pool(ctx, src)
	if err != nil {
		return nil, 0, err
	}
	p, unit, err := newStart(m.Rows, m.N, m.Mean, m.Variances(), k, rng)
	if err != nil || c.RandomStart {
		return p, unit, err
	}
	return p, unit, p.rayleighRitz(func(q []float64) ([]float64, error) {
		y := make([]float64, m.D*k)
		linalg.Mul(false, false, 1, linalg.General(m.D, m.D, m.Scatter), linalg.General(m.D, k, q), 0,
			linalg.General(m.D, k, y))
		return y, nil
	}, m.N, rng)
}

// newStart checks the data and draws loadings from a normal distribution of their scale,
// with half of the mean column variance, which it returns as the unit, as noise.
func newStart(
	rows int, n float64, mean, variances []float64, k int, rng *rand.Rand,
) (p *Parameters, unit float64, err error) {
	d := len(mean)
	if err := lineargaussian.CheckData(rows, n, variances); err != nil {
		return nil, 0, err
	}
	if err := lineargaussian.CheckK(k, d); err != nil {
		return nil, 0, err
	}
	for _, v := range variances {
		unit += v / float64(d)
	}
	p = &Parameters{K: k, D: d, Mean: append([]float64(nil), mean...), Loadings: make([]float64, d*k), Noise: unit / 2}
	scale := math.Sqrt(unit / float64(2*k))
	for i := range p.Loadings {
		p.Loadings[i] = scale * rng.NormFloat64()
	}
	return p, unit, nil
}

// rayleighRitz replaces the loadings of a start by those of PPCA in the subspace that one
// iteration of C on them leads to; times multiplies the scatter NC by a D×K matrix.
// A direction at the noise level keeps a positive loading, from which it can grow.
func (p *Parameters) rayleighRitz(times func(q []float64) ([]float64, error), n float64, rng *rand.Rand) error {
	d, k := p.D, p.K
	directions := slices.Clone(p.Loadings)
	_, exponent := math.Frexp(math.Sqrt(p.Noise))
	linalg.Scale(math.Ldexp(1, -exponent), directions) // the cube of the data's scale may leave the range
	y, err := times(directions)
	if err != nil {
		return err
	}
	basis := mat.NewDense(d, k, y)
	linalg.Orthonormalize(basis)
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
