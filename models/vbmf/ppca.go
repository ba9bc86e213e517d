package vbmf

import (
	"context"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// PPCA fits probabilistic principal component analysis by the empirical solution (paper N, section 4.1). Rows of the
// table are observations; PPCA centres them first. The latent variables, the rows of B, have the prior N(0, I).
// o.Priors must be nil. It returns E[W] and σ² as parameters of package bpca, with as many columns of [W] as the
// rank; nil for rank 0.
func PPCA(ctx context.Context, t *blocks.Table, o Options) (*bpca.Parameters, *Solution, error) {
	centred, mean, err := Centre(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	s, err := Solve(ctx, centred, o)
	if err != nil {
		return nil, nil, err
	}
	p := s.Point()
	if p != nil {
		p.Mean = mean
	}
	return p, s, nil
}

// Point returns the parameters of the probabilistic PCA of the rows of Y, with mean 0: y = Wz + ε with z ~ N(0, I)
// and W = E[A]·C_B^½. It returns nil for rank 0.
func (s *Solution) Point() *bpca.Parameters {
	if s.Rank == 0 {
		return nil
	}
	p := &bpca.Parameters{
		K: s.Rank, D: s.M, Mean: make([]float64, s.M), Loadings: make([]float64, s.M*s.Rank), Noise: s.Noise,
	}
	for i := range p.Loadings {
		c := s.Components[i%s.Rank]
		p.Loadings[i] = s.Right[i] * c.A * math.Sqrt(c.PriorB)
	}
	return p
}

// Centre returns a copy of the table with the mean of each column subtracted, and the means. It returns an error for
// the tables for which [Decompose] does.
func Centre(ctx context.Context, t *blocks.Table) (centred *blocks.Table, mean []float64, err error) {
	all, err := matrixOf(t)
	if err != nil {
		return nil, nil, err
	}
	c, err := lineargaussian.SummarizeColumns(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	n, d := t.Dims()
	x := make([]float64, n*d)
	for i := range n {
		for j, v := range all.Row(i) {
			x[i*d+j] = v - c.Mean[j]
		}
	}
	centred, err = blocks.FromSlice(x, n, d)
	return centred, c.Mean, err
}

// A Comparison holds the numbers of principal components that several rules choose for a
// table of observations.
type Comparison struct {
	GFAB  int // argmax of gFIC, at which gFAB ends (see package bpca)
	BICEM int // argmax of BICEM
	BIC   int // argmax of BIC
	VBMF  int // rank of the empirical variational solution
	// GFIC is the value of gFIC at GFAB. Solution is the variational solution; its −F bounds the same evidence, except
	// that its hyperparameters are estimated.
	GFIC     float64
	Solution *Solution
	// NoGFAB, if not nil, says why gFIC does not exist (no more rows than columns); GFAB is then 0.
	NoGFAB error
}

// Compare finds the rank of probabilistic PCA for a table with observations in rows: by gFIC, BICEM and BIC from the
// closed forms of package bpca, and by variational matrix factorisation.
func Compare(ctx context.Context, t *blocks.Table, workers int) (*Comparison, error) {
	_, s, err := PPCA(ctx, t, Options{})
	if err != nil {
		return nil, err
	}
	c := &Comparison{VBMF: s.Rank, Solution: s}
	spectrum, err := lineargaussian.Decompose(ctx, t, workers)
	if err != nil {
		return nil, err
	}
	solutions, err := bpca.Solve(spectrum, min(spectrum.D-1, len(spectrum.Values)))
	if err != nil {
		return nil, err
	}
	c.GFAB, c.GFIC, c.NoGFAB = solutions.Best(framework.GFIC)
	for _, choice := range []struct {
		k  *int
		by framework.Criterion
	}{{&c.BICEM, framework.BICEM}, {&c.BIC, framework.BIC}} {
		if *choice.k, _, err = solutions.Best(choice.by); err != nil {
			return nil, err
		}
	}
	return c, nil
}
