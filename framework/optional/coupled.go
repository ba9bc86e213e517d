package optional

import (
	"context"
	"math/rand/v2"

	"github.com/latent-go/latent/laplace"
)

// Local is q(Z) itself, which the engine keeps for a [Coupled] model from one iteration to the next: plain data with
// exported fields, or a pointer to it.
type Local interface {
	// Keep returns a copy with the latent dimensions dims, which are ascending. With all dimensions it is a plain copy.
	Keep(dims []int) Local
}

// Coupled is a framework.Model whose local step is not one formula per row: a mean-field q, updated from the previous
// q, or rows whose q depends on that of other rows. The engine keeps q, updates every block and then, in a second pass,
// sums the statistics of the new q, so that they belong to one q and the bound never falls. Infer serves rows that are
// not part of a fit.
type Coupled[B, Src, P, S any] interface {
	// NewLocal makes the first q, of the rows of src in their order.
	NewLocal(ctx context.Context, src Src, p P, rng *rand.Rand) (Local, error)
	// Update improves q of the rows of b at parameters p: it reads q from now and puts it into
	// next, which has the same shape. It must not lower the bound, less the tilt. Goroutines call
	// it at the same time for different blocks, unless the model is [InOrder].
	Update(b B, p P, tilt *laplace.Tilt, now, next Local) error
	// InferAt adds the expected statistics of the rows of b under q to s, which Prepare has
	// readied, and returns the entropy of their q, in nats, weighted like the rows.
	InferAt(b B, p P, q Local, s S) (entropy float64, err error)
}

// InOrder marks a [Coupled] model in which the q of a row depends on that of others: Update is
// called block by block, in order, in one goroutine, with now and next the same.
type InOrder interface{ UpdatesInOrder() }

// FixedPoint marks a model whose local step solves an equation for q, as collapsed variational Bayes does, and does not
// maximise LogJoint + H(q), which may fall: a fit continues until nothing changes.
type FixedPoint interface{ SolvesFixedPoint() }
