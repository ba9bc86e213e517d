// Package densities lets framework/lvmtest check the densities of framework/numeric, without a method in the API of
// either.
package densities

import "math/rand/v2"

// A Verify compares the optional methods of a density of continuous z with its LogJoint, at statistics s of a local
// step and parameters p.
type Verify func(s, p any, rng *rand.Rand) (methods []string, errs []error)

// VerifierOf is that of a model; nil where it has no such density. Package numeric sets it.
var VerifierOf = func(model any) Verify { return nil }
