package factor

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

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Parameters are the parameters of x = mean + W z + ε, z ~ N(0, I_K), ε ~ N(0, Ψ), in the units of the data. Ξ = W
// and Θ = Ψ. The mean is the mean of the data; if entries are missing, it is estimated with W.
type Parameters struct {
	K         int       `json:"k" keep:"count"`
	D         int       `json:"d"`
	Mean      []float64 `json:"mean"`                    // length D
	Loadings  []float64 `json:"loadings" keep:"columns"` // W, D×K row-major
	Noise     []float64 `json:"noise"`                   // Ψ, see Structure
	Structure           // of Ψ
	// Unit holds those entries of the data's covariance matrix that Ψ has, in the layout of Ψ; D variances if Ψ is
	// isotropic. The floor of the noise is a share of it.
	Unit []float64 `json:"unit"`
	// Center is the mean of each column's present entries, at which Statistics centre x; nil if no entry is missing.
	Center []float64 `json:"center,omitempty"`
}

// Check returns an error for invalid parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	if p == nil {
		return errors.New("factor: no parameters")
	}
	if err := lineargaussian.CheckParameters(p.K, p.D, p.Mean, p.Loadings, p.Noise, p.Unit, p.Center); err != nil {
		return err
	}
	if err := p.Structure.Check(p.D); err != nil {
		return err
	}
	unit := p.numbers(p.D)
	if p.Isotropic {
		unit = p.D
	}
	if len(p.Noise) != p.numbers(p.D) || len(p.Unit) != unit || len(p.Center) != 0 && len(p.Center) != p.D {
		return fmt.Errorf("factor: %d numbers of noise, %d units and %d centers do not match D = %d", len(p.Noise),
			len(p.Unit), len(p.Center), p.D)
	}
	for j, v := range p.diagonalOf(p.Unit, p.D) {
		if !(v > 0) {
			return fmt.Errorf("factor: the variance of column %d is %v; must be positive", j+1, v)
		}
	}
	if _, ok := p.root(p.Noise, p.D); !ok {
		return errors.New("factor: the covariance of the noise is not positive definite")
	}
	return nil
}

// W returns the loadings as a D×K matrix, sharing their memory.
func (p *Parameters) W() *mat.Dense { return mat.NewDense(p.D, p.K, p.Loadings) }

// Uniquenesses returns, for each column, the noise's share of its variance in the data.
func (p *Parameters) Uniquenesses() []float64 {
	u := p.diagonalOf(p.Noise, p.D)
	floats.Div(u, p.diagonalOf(p.Unit, p.D))
	return u
}

// Communalities returns, for each column, the share of its variance that the factors explain: one minus the
// uniquenesses.
func (p *Parameters) Communalities() []float64 {
	c := p.Uniquenesses()
	floats.Scale(-1, c)
	floats.AddConst(1, c)
	return c
}

// Standardized returns the loadings divided by the columns' standard deviations in the data, D×K. If the factors are
// orthogonal, these are the correlations of columns and factors.
func (p *Parameters) Standardized() *mat.Dense {
	w, variance := mat.DenseCopyOf(p.W()), p.diagonalOf(p.Unit, p.D)
	w.Apply(func(j, _ int, v float64) float64 { return v / math.Sqrt(variance[j]) }, w)
	return w
}

// Heywood returns the columns, from 0, whose noise is at its floor, the boundary of the model. If any direction of a
// block is at the floor, all columns of the block are returned.
func (p *Parameters) Heywood() (columns []int) {
	const near = Floor * (1 + 1e-6)
	if p.Isotropic {
		return nil
	}
	at := 0
	for _, part := range p.parts(p.D) {
		m := len(part)
		if _, _, values, err := relative(p.Noise[at:], p.Unit[at:], m); err != nil || values[0] <= near {
			columns = append(columns, part...)
		}
		at += m * m
	}
	return columns
}

// whitened is Bayesian PCA of rows multiplied by L⁻¹, Ψ = LLᵀ, about their mean: its noise is 1.
func (p *Parameters) whitened() (*bpca.Parameters, *root, error) {
	r, ok := p.root(p.Noise, p.D)
	if !ok {
		return nil, nil, errors.New("factor: the covariance of the noise is not positive definite")
	}
	q := &bpca.Parameters{K: p.K, D: p.D, Mean: make([]float64, p.D), Loadings: slices.Clone(p.Loadings), Noise: 1}
	columns(q.Loadings, p.K, func(v []float64) { r.whiten(v, false) })
	return q, r, nil
}

// Canonical returns the same distribution of x with the rotation of maximum likelihood fixed: WᵀΨ⁻¹W diagonal, the
// largest entry first, and in each factor the loading of largest magnitude, in standard deviations of the column,
// positive.
func (p *Parameters) Canonical() *Parameters {
	q, r, err := p.whitened()
	if err != nil {
		return p
	}
	c := *p
	c.Loadings = q.Canonical().Loadings
	columns(c.Loadings, c.K, r.colour)
	c.orient()
	return &c
}

// orient turns factors so that the standardised loading of largest magnitude is positive.
func (p *Parameters) orient() {
	standard := p.Standardized()
	for k := range p.K {
		if v := standard.ColView(k).(*mat.VecDense); v.AtVec(blas64.Iamax(v.RawVector())) < 0 {
			for j := range p.D {
				p.Loadings[j*p.K+k] *= -1
			}
		}
	}
}

// Rescaled returns p with the loadings of [lineargaussian.Statistics.Rescaled]. After FAB and gFAB these are the
// maximum likelihood estimates.
func (p *Parameters) Rescaled(s *Statistics) (*Parameters, error) {
	w, err := s.Statistics.Rescaled(p.Loadings)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Loadings = w
	return &q, nil
}

// InverseTransform returns the mean of x given each row of z (n×K): mean + W z, n×D.
func (p *Parameters) InverseTransform(z mat.Matrix) (*mat.Dense, error) {
	return lineargaussian.InverseTransform(p.Mean, p.W(), z)
}

// Distribution returns the distribution of a row, N(mean, WWᵀ + Ψ), as a distmv.Normal that draws from src; nil
// selects the global generator. It returns an error if the noise is negligible relative to the loadings.
func (p *Parameters) Distribution(src rand.Source) (*distmv.Normal, error) {
	_, r, err := p.whitened()
	if err != nil {
		return nil, err
	}
	own := mat.NewDense(p.D, p.D, nil) // row i is L of the noise times unit vector i
	for i := range p.D {
		own.Set(i, i, 1)
		r.colour(own.RawRowView(i))
	}
	var noise mat.SymDense
	noise.SymOuterK(1, own.T())
	return lineargaussian.Distribution(p.Mean, p.W(), &noise, src)
}

// Sample draws n rows of x from the model.
func (p *Parameters) Sample(n int, rng *rand.Rand) (*mat.Dense, error) {
	q, r, err := p.whitened()
	if err != nil {
		return nil, err
	}
	x, err := q.Sample(n, rng)
	if err != nil {
		return nil, err
	}
	for i := range n {
		row := x.RawRowView(i)
		r.colour(row)
		linalg.Axpy(1, p.Mean, row)
	}
	return x, nil
}
