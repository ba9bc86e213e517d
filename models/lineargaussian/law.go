package lineargaussian

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// CheckParameters returns an error unless k dimensions and d columns match means (D), loadings (D×K row-major), and all
// these and further numbers are finite.
func CheckParameters(k, d int, mean, loadings []float64, further ...[]float64) error {
	if k < 1 || d < 1 || len(mean) != d || d > math.MaxInt/k || len(loadings) != d*k {
		return fmt.Errorf("lineargaussian: K = %d and D = %d do not match %d means and %d loadings", k, d, len(mean),
			len(loadings))
	}
	for _, list := range append(further, mean, loadings) {
		for _, v := range list {
			if v-v != 0 {
				return fmt.Errorf("lineargaussian: a parameter is %v", v)
			}
		}
	}
	return nil
}

// InverseTransform returns the mean of x given each row of z (n×K): mean + W z, n×D.
func InverseTransform(mean []float64, w *mat.Dense, z mat.Matrix) (*mat.Dense, error) {
	n, k := z.Dims()
	d, own := w.Dims()
	if k != own || n == 0 {
		return nil, fmt.Errorf("lineargaussian: z is %d×%d: the model has %d latent dimensions", n, k, own)
	}
	x := mat.NewDense(n, d, nil)
	x.Mul(z, w.T())
	for i := range n {
		linalg.Axpy(1, mean, x.RawRowView(i))
	}
	return x, nil
}

// Distribution returns N(mean, WWᵀ + Ψ), which draws from src; nil selects the global generator. It returns an error
// if the noise Ψ is negligible relative to the loadings.
func Distribution(mean []float64, w *mat.Dense, noise mat.Symmetric, src rand.Source) (*distmv.Normal, error) {
	var covariance mat.SymDense
	covariance.SymOuterK(1, w)
	covariance.AddSym(&covariance, noise)
	law, ok := distmv.NewNormal(mean, &covariance, src)
	if !ok {
		return nil, errors.New("lineargaussian: WWᵀ + Ψ is singular to working precision: the noise is negligible " +
			"relative to the loadings")
	}
	return law, nil
}

// Redrawn returns a table of the rows of x, with the entries missing that src misses. It returns an error unless every
// row of src has weight 1.
func Redrawn(
	ctx context.Context, src framework.Source[blocks.Rows], x *mat.Dense,
) (framework.Source[blocks.Rows], error) {
	at := 0
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			if w := b.Weight(i); w != 1 {
				return nil, fmt.Errorf("lineargaussian: the weight of %w",
					blocks.FaultyRow(b.First+i, "is %v; must be 1, to draw rows", w))
			}
			for j, v := range b.Row(i) {
				if math.IsNaN(v) {
					x.Set(at, j, v)
				}
			}
			at++
		}
	}
	_, d := x.Dims()
	return blocks.FromIncomplete(x.RawMatrix().Data, at, d)
}
