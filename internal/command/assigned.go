package command

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/hmm"
)

// A counter adds up the weights of rows by the class that latent predict gives them: one pass over the source of a fit,
// whose memory does not grow with the rows.
type counter func(ctx context.Context, workers int) ([]float64, error)

// countOver is a counter over k classes. ready makes for each goroutine what gives the class of every row of a block,
// and its weight, to add.
func countOver[B any](
	src framework.Source[B], k int, ready func() (func(b B, add func(class int, weight float64)) error, error),
) counter {
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

// A scorer has the log densities and the responsibilities of the rows of a block, in the two slices.
type scorer = func(b framework.Rows, logProb, r []float64) ([]float64, []float64, error)

// likeliestOf counts rows by the most probable of k components.
func likeliestOf(src framework.Source[framework.Rows], k int, ready func() (scorer, error)) counter {
	return countOver(src, k, func() (func(b framework.Rows, add func(class int, weight float64)) error, error) {
		score, err := ready()
		var logProb, r []float64
		return func(b framework.Rows, add func(class int, weight float64)) (err error) {
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

// onPaths counts steps by the states of the most probable paths.
func onPaths(src framework.Source[framework.Sequences], m hmm.Model, p *hmm.Parameters) counter {
	return countOver(src, p.K, func() (func(b framework.Sequences, add func(class int, weight float64)) error, error) {
		return func(b framework.Sequences, add func(class int, weight float64)) error {
			path, _, err := m.Viterbi(b, p)
			if err != nil {
				return err
			}
			for i := range b.Len() {
				first, end := b.Bounds(i)
				for _, state := range path[first:end] {
					add(state, b.Weight(i))
				}
			}
			return nil
		}, nil
	})
}
