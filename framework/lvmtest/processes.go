package lvmtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/ranks"
)

// processes shares passes among goroutines that know of each other what processes do: bytes. In the second source some
// of them have no rows.
func (r *run[B, P, S]) processes() {
	many, few := r.Data.all(max(1, r.Data.Rows/(3*framework.DefaultShards))), r.Data.all((r.Data.Rows+4)/5)
	for _, o := range r.ways() {
		o.K, o.FixedK, o.MaxIterations, o.Tolerance = slices.Max(r.ks()), true, some, 1e-300
		for _, c := range []struct {
			n   int
			src *source[B]
		}{{2, many}, {3, few}} {
			where := fmt.Sprintf("%s, %d processes", wayOf(o), c.n)
			one := r.fit(where, c.src, o)
			fits := make([]*framework.Result[P, S], c.n)
			for rank, err := range ranks.Each(c.n, func(g ranks.Rank) (err error) {
				o := o
				o.Group, o.Seed, o.NoMoves, o.Workers = g, r.Seed, true, 1
				rank, _ := g.Rank()
				fits[rank], err = framework.Fit(context.Background(), r.Model, c.src, o)
				return err
			}) {
				if err != nil {
					r.fatalf("%s: process %d: Fit: %v", where, rank, err)
				}
			}
			for rank, res := range fits {
				r.bits(fmt.Sprintf("%s: process %d", where, rank), one, res)
			}
			if r.coupled() == nil {
				r.bits(where+" that make one step after the other", one, r.fit(where, elsewhere[B, P, S]{c.src, r, c.n}, o))
			}
		}
	}
}

// elsewhere is a source whose passes others make, one after the other.
type elsewhere[B, P any, S framework.Statistics[S]] struct {
	*source[B]
	r *run[B, P, S]
	n int
}

// Step passes the state on as bytes.
func (e elsewhere[B, P, S]) Step(ctx context.Context, at framework.State[P], shards int) ([][]byte, error) {
	return ranks.Shares(ctx, e.r.Model, e.source, at, shards, e.n, 1)
}
