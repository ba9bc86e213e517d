// Package membership is partial membership (Heller, Williamson & Ghahramani 2008): a row does not belong to one class,
// but to each by a share, and its natural parameters are mixed by these shares. Of Gaussians with one noise, that is a
// point between corners:
//
//	x = Σ_k π_k μ_k + ε,    π ~ Dirichlet(α, …, α) on K + 1 corners,    ε ~ N(0, ψI)
//
// There is no closed form, and [Density] is all that package numeric asks for; [WithGradient] takes a fraction of the
// time. As the corners act through π and not
// through z, the blocks of F between two of them are left out, and the tilt is that of z² in place of π²: what is
// compared are fits of every K by EM, and not one run of gFAB.
package membership

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework/numeric"
)

// Density has K latent dimensions z = ln(π_k/π_0) for K + 1 corners. Corner 0 is shared, ξ_k is corner k as seen from
// there.
type Density struct {
	Concentration float64 // α, of the shares: above 1 rows are in between, below 1 near a corner
}

// Layout has a corner of each latent dimension; the origin, corner 0, and the noise are shared.
func (Density) Layout(columns int) numeric.Layout {
	return numeric.Layout{
		Component: []numeric.Parameter{numeric.Real("corner", columns)},
		Shared:    []numeric.Parameter{numeric.Real("origin", columns), numeric.Positive("noise", 1)},
	}
}

// LogJoint is ln Dirichlet(π(z)), as a density of z, + ln N(x | origin + Σ_k π_k ξ_k, ψI). Going from π to z multiplies
// the density by Π_k π_k.
func (d Density) LogJoint(x, z, corners, shared []float64) float64 {
	logs := logShares(z)
	one, _ := math.Lgamma(d.Concentration)
	all, _ := math.Lgamma(d.Concentration * float64(len(logs)))
	value := all - one*float64(len(logs)) + d.Concentration*floats.Sum(logs)
	noise := shared[len(x)]
	for j, v := range x {
		v -= shared[j]
		for k, share := range logs[1:] {
			v -= math.Exp(share) * corners[k*len(x)+j]
		}
		value -= (math.Log(2*math.Pi*noise) + v*v/noise) / 2
	}
	return value
}

// logShares is ln π.
func logShares(z []float64) []float64 {
	logs := append([]float64{0}, z...)
	floats.AddConst(-floats.LogSumExp(logs), logs)
	return logs
}

// WithGradient is a [Density] that knows the gradient of LogJoint.
type WithGradient struct{ Density }

// JointGradient is that of the residuals' squares.
func (WithGradient) JointGradient(x, z, corners, shared, dCorners, dShared []float64) {
	shares, d := logShares(z)[1:], len(x)
	for k, v := range shares {
		shares[k] = math.Exp(v)
	}
	noise := shared[d]
	dShared[d] = -float64(d) / (2 * noise)
	for j, v := range x {
		v -= shared[j]
		for k, share := range shares {
			v -= share * corners[k*d+j]
		}
		dShared[j] = v / noise
		dShared[d] += v * v / (2 * noise * noise)
		for k, share := range shares {
			dCorners[k*d+j] = share * v / noise
		}
	}
}

var (
	_ numeric.JointDensity        = Density{}
	_ numeric.JointDifferentiable = WithGradient{}
)
