package factor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lineargaussian"
)

// What package bootstrap asks of a model.

// Resample draws as many rows from p as src has, with the same entries missing. It returns an error unless every row
// of src has weight 1.
func (Model) Resample(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Rows], error) {
	x, err := p.Sample(src.Rows(), rng)
	if err != nil {
		return nil, err
	}
	return lineargaussian.Redrawn(ctx, src, x)
}

// StartAt returns p with the means and units of src.
func (m Model) StartAt(ctx context.Context, src framework.Source[blocks.Rows], p *Parameters) (*Parameters, error) {
	q, err := m.Init(ctx, src, p.K, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, err
	}
	q.Loadings, q.Noise = slices.Clone(p.Loadings), slices.Clone(p.Noise)
	return q, nil
}

// AlignedTo returns the standardised loadings in the rotation that brings them nearest to target, D×K (Schönemann
// 1966). Aligned loadings of resampled tables vary about the target, and no longer with the choice of axes.
func (p *Parameters) AlignedTo(target mat.Matrix) (*mat.Dense, error) {
	if d, k := target.Dims(); d != p.D || k != p.K {
		return nil, fmt.Errorf("factor: the target is %d×%d and the loadings %d×%d", d, k, p.D, p.K)
	}
	w := p.Standardized()
	var cross, u, v, aligned mat.Dense
	cross.Mul(w.T(), target)
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDFull) {
		return nil, errors.New("factor: the loadings are not finite")
	}
	svd.UTo(&u)
	svd.VTo(&v)
	aligned.Product(w, &u, v.T())
	return &aligned, nil
}
