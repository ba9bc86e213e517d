package framework

import (
	"context"

	"github.com/latent-go/latent/framework/blocks"
)

// Condense is [blocks.Table.Distinct] of a source if that pays (see [Condensed]). It returns any other source
// unchanged, also one that it cannot read: the next reader gets the error.
func Condense(ctx context.Context, src Source[blocks.Rows]) Source[blocks.Rows] {
	if t, pays := blocks.Condensed(ctx, src.Blocks(ctx), src.Rows()); pays {
		return t
	}
	return src
}
