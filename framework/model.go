package framework

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/laplace"
)

// Statistics are sums over rows, from which the global step needs no more of the data and q(Z). Merging is addition, so
// any grouping of the rows into blocks and shards gives the same statistics, to rounding.
//
// Exported fields travel in checkpoints (encoding/gob); scratch memory belongs in
// unexported ones.
type Statistics[S any] interface {
	// Merge adds the other's sums to the receiver's. The other sums belong to other rows of the same local step or, under
	// [Options].Accelerate, to another step.
	Merge(other S)
	// Observations is N in every formula: the sum of the weights of the rows seen, each as often as it has observations.
	Observations() float64
}

// A Model is a latent variable model ln p(X,Z|Π) as the engine sees it: a local
// step (Prepare, then Infer block by block), a global step (Maximize) and the
// value of the joint log-likelihood. These are enough for EM; the interfaces of
// package optional add the rest.
//
// B is a block of rows, P the parameters Π, S the statistics. P and S are plain
// data or pointers to plain data; a nil or zero P stands for "none".
type Model[B, P any, S Statistics[S]] interface {
	// Init draws starting parameters with k latent dimensions. It may read the source, and should reject data that the
	// model cannot describe. [FitFrom] starts elsewhere.
	Init(ctx context.Context, src Source[B], k int, rng *rand.Rand) (P, error)
	// NewStatistics makes statistics of the size that p needs, not yet prepared.
	NewStatistics(p P) S
	// Prepare empties s and prepares it for a local step at p: it computes, once per shard, or once a pass if S is an
	// [optional.Follower], whatever does not depend on the rows. The tilt, nil for EM, lowers the log joint of each row
	// (docs/theory/gfab.md, section 3: gFAB is one E-step away from EM).
	Prepare(p P, tilt *laplace.Tilt, s S) error
	// Infer finds q(z_n) for each row of b, adds the rows' expected statistics to
	// s and returns the entropy of their q, in nats, weighted like the rows.
	// Goroutines call it at the same time with different s.
	Infer(b B, p P, s S) (entropy float64, err error)
	// Maximize returns argmax_Π E_q[ln p(X,Z|Π)]. p is the current value, for models whose global step starts from it, and
	// must not be changed. dst, if not the zero P, has the shape of p; Maximize may overwrite and return it.
	Maximize(s S, p, dst P) (P, error)
	// LogJoint is E_q[ln p(X,Z|p)] in nats, in the units of the user's data.
	LogJoint(s S, p P) float64
	// Shape counts the parameters of p.
	Shape(p P) Shape
}

// Shape counts latent dimensions and parameters.
type Shape struct {
	K         int // latent dimensions
	Component int // D_Ξ, numbers that belong to latent dimensions
	Shared    int // D_Θ, numbers that all share
	Free      int // identifiable parameters, which BIC and AIC count: symmetries excluded, centring included; 0: D_Ξ + D_Θ
}

// Total is D_Π = D_Ξ + D_Θ.
func (s Shape) Total() int { return s.Component + s.Shared }

// Identifiable returns the number of free parameters, for which BIC and AIC charge.
func (s Shape) Identifiable() int {
	if s.Free == 0 {
		return s.Total()
	}
	return s.Free
}

// ErrDegenerate is wrapped by errors about a step that does not exist at this number of latent dimensions, but may
// exist with fewer. If it may prune, the engine then drops a dimension: the one that a [DegenerateError] names,
// otherwise the weakest.
var ErrDegenerate = errors.New("too many latent dimensions")

// A DegenerateError is an [ErrDegenerate] that names the latent dimension.
type DegenerateError struct {
	Dimension int // from 0
	Reason    error
}

func (e *DegenerateError) Error() string {
	if errors.Is(e.Reason, ErrDegenerate) {
		return fmt.Sprintf("latent dimension %d: %v", e.Dimension+1, e.Reason)
	}
	return fmt.Sprintf("latent dimension %d: %v: %v", e.Dimension+1, e.Reason, ErrDegenerate)
}

// Unwrap returns the reason and [ErrDegenerate].
func (e *DegenerateError) Unwrap() []error { return []error{e.Reason, ErrDegenerate} }

// ErrContract is wrapped by errors about a method of a model that violated its contract, such as
// a log density that is NaN. They always end a fit; any other error of a model in a trial of the objective rule only
// rejects the trial.
var ErrContract = errors.New("contract violated")
