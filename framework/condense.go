package framework

import (
	"context"

	"github.com/latent-go/latent/framework/blocks"
)

// A Condenser is a model to which a row of weight 3 is three equal rows, and whose rows are often equal. Condense
// returns a source with the statistics of src, to rounding, in fewer rows, or src itself if that does not pay (see
// [Condense]). [Fit] and [Select] call it once and iterate over the result; Init, and computations for single rows,
// such as responsibilities, see src.
type Condenser[B any] interface {
	Condense(ctx context.Context, src Source[B]) Source[B]
}

// Condense is [blocks.Table.Distinct] of a source if that pays (see [Condensed]). It returns any other source
// unchanged, also one that it cannot read: the next reader gets the error.
func Condense(ctx context.Context, src Source[blocks.Rows]) Source[blocks.Rows] {
	if t, pays := blocks.Condensed(ctx, src.Blocks(ctx), src.Rows()); pays {
		return t
	}
	return src
}
