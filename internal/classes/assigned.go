package classes

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
)

// rowsOfBlock bounds the rows that are scored at once.
const rowsOfBlock = 4096

// A Counter adds up the weights of rows by the class that latent predict gives them: one pass over the source of a fit,
// whose memory does not grow with the rows.
type Counter func(ctx context.Context, workers int) ([]float64, error)

// CountOver is a counter over k classes. ready makes for each goroutine what gives the class of every row of a block,
// and its weight, to add.
func CountOver[B any](
	src framework.Source[B], k int, ready func() (func(b B, add func(class int, weight float64)) error, error),
) Counter {
	type shard struct {
		counts []float64
		visit  func(b B, add func(class int, weight float64)) error
	}
	return func(ctx context.Context, workers int) ([]float64, error) {
		all, err := framework.Fold(ctx, src, workers,
			func() (*shard, error) {
				visit, err := ready()
				return &shard{make([]float64, k), visit}, err
			},
			func(s *shard, b B) error {
				return s.visit(b, func(class int, weight float64) { s.counts[class] += weight })
			},
			func(into, from *shard) error {
				floats.Add(into.counts, from.counts)
				return nil
			})
		if err != nil {
			return nil, err
		}
		return all.counts, nil
	}
}

// A Scorer has the log densities and the responsibilities of the rows of a block, in the two slices.
type Scorer = func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error)

// LikeliestOf counts rows by the most probable of k components.
func LikeliestOf(src framework.Source[blocks.Rows], k int, ready func() (Scorer, error)) Counter {
	return CountOver(src, k, func() (func(b blocks.Rows, add func(class int, weight float64)) error, error) {
		score, err := ready()
		var logProb, r []float64
		return func(b blocks.Rows, add func(class int, weight float64)) (err error) {
			b = b.Weighing()
			if logProb, r, err = score(b, logProb, r); err != nil {
				return err
			}
			for i := range b.N {
				add(floats.MaxIdx(r[i*k:(i+1)*k]), b.Weight(i))
			}
			return nil
		}, err
	})
}

// Classify finds the class of every row of the table, from 0.
func (f *Components) Classify() ([]int, error) { return f.Assign(wording.UpTo(0, f.Data.Rows()-1)) }

// likeliest are the most probable classes of rows.
func (f *Components) likeliest(rows []int) (list []int, err error) {
	for block := range slices.Chunk(rows, rowsOfBlock) {
		q, err := f.Probabilities(block)
		if err != nil {
			return nil, err
		}
		list = append(list, mixture.Labels(q, f.Mixture.K)...)
	}
	return list, nil
}

// Scorer is that of latent predict: of a posterior, the predictive distribution where there is one.
func (f *Components) Scorer() (Scorer, error) {
	if bayes := (mixture.Variational{Family: f.Model.Family}); f.posterior != nil && bayes.Collapses(f.posterior) == nil {
		return bayes.Predictor(f.posterior)
	}
	return f.Model.Scorer(f.Mixture)
}

// responsibilities are the probabilities of the components of rows that are like those of the table.
func (f *Components) responsibilities(rows []int) ([]float64, error) {
	score, err := f.Scorer()
	if err != nil {
		return nil, err
	}
	d := f.Data.Cols()
	x := make([]float64, 0, len(rows)*d)
	for _, row := range rows {
		for j := range d {
			x = append(x, f.Data.Number(row, j))
		}
	}
	_, r, err := score(blocks.Rows{First: rows[0], N: len(rows), D: d, Stride: d, X: x}, nil, nil)
	return r, err
}

// Some are the chosen ones of all rows.
func Some(all blocks.Rows, rows []int) blocks.Rows {
	list := blocks.Rows{First: rows[0], N: len(rows), D: all.D, Stride: all.D}
	for _, row := range rows {
		list.X = append(list.X, all.Row(row)...)
	}
	return list
}
