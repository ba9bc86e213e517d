package optional

import (
	"context"
	"iter"
)

// A Condenser is a model to which a row of weight 3 is three equal rows, and whose rows are often equal. Condense
// returns a source with the statistics of src, to rounding, in fewer rows, or src itself if that does not pay (see
// framework.Condense). framework.Fit and framework.Select call it once and iterate over the result; Init, and
// computations for single rows, such as responsibilities, see src.
type Condenser[Src any] interface {
	Condense(ctx context.Context, src Src) Src
}

// Divided is a framework.Source that reads some of its blocks without the others, so that several processes share a
// pass (see framework.Options.Group, framework.Executor). Any source can be shared, but every process reads all blocks
// of a source that is not Divided.
type Divided[B any] interface {
	// Part yields, in order, the blocks of shards first to last−1: block i, counted from 0, belongs to shard i mod shards.
	Part(ctx context.Context, first, last, shards int) iter.Seq2[B, error]
}

// Measured is a framework.Source whose rows hold several observations each, such as the steps of sequences: the number
// of observations replaces the number of rows as the amount of data.
type Measured interface {
	// Observations is the number of them, whatever the weights.
	Observations() int
}

// Scaler is implemented by statistics that can be tempered (see framework.Options.Temper),
// extrapolated (see framework.Options.Accelerate) and averaged (see framework.Options.Online).
type Scaler interface {
	// Scale multiplies every sum over rows by factor, which is not 0, the weight among them:
	// afterwards the statistics are those of rows of factor times the weight. Everything else, such as the origin of the
	// sums, stays. With Merge and negative factors it makes sums that no rows have: for such sums Maximize may fail or
	// return parameters without a LogJoint, but must not panic.
	Scale(factor float64)
}

// Follower is implemented by statistics that can take over what framework.Model.Prepare has computed, so that it is
// computed once a pass, and not once for each of the framework.DefaultShards partial sums.
type Follower[S any] interface {
	// Follow empties the statistics and readies them for the local step that Prepare has readied lead for, which has the
	// same K. They may share with lead what no local step changes, and must not write to it later.
	Follow(lead S)
}
