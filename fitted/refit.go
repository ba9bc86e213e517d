package fitted

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// A Refitting says what the refits of a [Refitter] are for.
type Refitting struct {
	Rows blocks.Rows
	Ends []int // of sequences; nil where rows are independent
	// Numbers computes the numbers of interest from the responsibilities of Rows, N×K, by a refit: always the same count,
	// NaN for one that does not exist.
	Numbers func(responsibilities []float64) []float64
	bootstrap.Options
}

// RefitRows is Refit of a model of independent rows at parameters p, which must be an [optional.Assigner] and what
// [bootstrap.StandardErrors] asks for.
func RefitRows[P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[blocks.Rows, P, S], p P, r Refitting,
) (*bootstrap.Estimates, error) {
	src, err := blocks.FromIncomplete(r.Rows.X, r.Rows.N, r.Rows.D)
	if err == nil && r.Rows.Weights != nil {
		src, err = src.WithWeights(r.Rows.Weights)
	}
	if err != nil {
		return nil, err
	}
	return refit(ctx, m, src, src.All(), p, r)
}

// RefitSequences is Refit of a model of sequences.
func RefitSequences[P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[blocks.Sequences, P, S], p P, r Refitting,
) (*bootstrap.Estimates, error) {
	steps, err := blocks.FromIncomplete(r.Rows.X, r.Rows.N, r.Rows.D)
	if err != nil {
		return nil, err
	}
	src, err := blocks.NewSequences(steps, r.Ends)
	if err != nil {
		return nil, err
	}
	return refit(ctx, m, src, src.All(), p, r)
}

func refit[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], all B, p P, r Refitting,
) (*bootstrap.Estimates, error) {
	assigner, assigns := m.(optional.Assigner[B, P])
	if _, permutes := m.(bootstrap.Permuter[P]); !permutes || !assigns {
		return nil, fmt.Errorf("fitted: the classes of refits of %T cannot be matched to those of the fit: it does not "+
			"implement optional.Assigner and bootstrap.Permuter", m)
	}
	r.Fit.Method = framework.EM
	return bootstrap.StandardErrors(ctx, m, src, p, func(p P) []float64 {
		q, err := assigner.Responsibilities(all, p, nil)
		if err != nil {
			return nil // another count of numbers is an error of the draw
		}
		return r.Numbers(q)
	}, r.Options)
}
