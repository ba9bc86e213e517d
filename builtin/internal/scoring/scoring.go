// Package scoring scores and draws rows for the models of package builtin.
package scoring

import (
	"errors"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

// Rows describe the rows that a model accepts, and the numbers that it returns for each row.
type Rows struct {
	Takes fitted.Input  `json:"-"`
	Says  fitted.Layout `json:"-"`
}

func (r *Rows) Input() fitted.Input   { return r.Takes }
func (r *Rows) Layout() fitted.Layout { return r.Says }

// A Func is a function that implements [fitted.Scorer].
type Func func(b blocks.Rows, dst []float64) error

// Score calls f.
func (f Func) Score(b blocks.Rows, dst []float64) error { return f(b, dst) }

// Of computes the log density of each row of a block, and K numbers for each row, such as responsibilities. It reuses
// the two slices if they are large enough, and returns them.
type Of = func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error)

// A Matrix is symmetric; its rows and its columns have the same names.
type Matrix struct {
	Names  []string    `json:"names"`
	Values [][]float64 `json:"values"`
}

// Named returns a matrix with the names of its rows and columns.
func Named(m mat.Symmetric, names []string) Matrix {
	list := Matrix{Names: names, Values: [][]float64{}}
	for i := range names {
		list.Values = append(list.Values, mat.Row(nil, i, m))
	}
	return list
}

// Latent returns the layout of a model whose latent variables are numbers with the same covariance for all rows.
func Latent(names []string, cov mat.Symmetric) fitted.Layout {
	return fitted.Layout{List: "mean", Items: names, Last: []string{"log_likelihood"},
		Constants: map[string]any{"covariance": Named(cov, names)}}
}

// Continuous is a model whose latent variables are numbers, or of which a row may have several, such as features.
type Continuous struct {
	Rows
	Ready func() (Of, error)
	Draw  func(n int, rng *rand.Rand) (*mat.Dense, error)
}

// NewScorer returns a scorer of K numbers and the log-likelihood for each row.
func (c *Continuous) NewScorer() (fitted.Scorer, error) {
	score, err := c.Ready()
	var logProb, list []float64
	return Func(func(b blocks.Rows, dst []float64) (err error) {
		if logProb, list, err = score(b, logProb, list); err != nil {
			return err
		}
		k, width := len(c.Says.Items), c.Says.Width()
		for i, l := range logProb {
			copy(dst[i*width:], list[i*k:(i+1)*k])
			dst[(i+1)*width-1] = l
		}
		return nil
	}), err
}

// NewSampler draws rows without labels, because the latent variables are not classes.
func (c *Continuous) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	return func(n int) ([]float64, []int, error) {
		x, err := c.Draw(n, rng)
		if err != nil {
			return nil, nil, err
		}
		return x.RawMatrix().Data, nil, nil
	}
}

// Filling is a continuous model that fills gaps in.
type Filling struct {
	Continuous
	Gaps func(b blocks.Rows) (*mat.Dense, error)
	// Linear says that the means of missing entries are linear in the others, about which a draw lies as another row
	// about its own.
	Linear bool
}

var errDraws = errors.New("the model cannot draw missing values: it fills in their means")

// Fill has the rows of a block with their gaps filled in.
func (f *Filling) Fill(b blocks.Rows, rng *rand.Rand) ([]float64, error) {
	x, err := f.Gaps(b)
	switch {
	case err != nil:
		return nil, err
	case rng == nil:
		return x.RawMatrix().Data, nil
	case !f.Linear:
		return nil, errDraws
	}
	drawn, err := f.Draw(b.N, rng)
	if err != nil {
		return nil, err
	}
	seen := mat.DenseCopyOf(drawn)
	for i := range b.N {
		for j, v := range b.Row(i) {
			if v != v {
				seen.Set(i, j, v)
			}
		}
	}
	means, err := f.Gaps(blocks.Rows{N: b.N, D: b.D, Stride: b.D, X: seen.RawMatrix().Data})
	if err != nil {
		return nil, err
	}
	drawn.Sub(drawn, means) // 0 where entries are present, but for the sign
	x.Add(x, drawn)
	b.Overlay(x)
	return x.RawMatrix().Data, nil
}
