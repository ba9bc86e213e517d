package lineargaussian

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/special"
)

// Released returns the loadings of [Statistics.Rescaled] and the gain, in nats, of E_q[ln p(X,Z|Π)] + H(q) by the
// matching change of z, which is the best change without a penalty. The gain is 0 at a fixed point of EM, and if a
// direction of z has no variance.
func (s *Statistics) Released(w []float64) (gain float64, loadings []float64) {
	chol, err := s.factor()
	if err != nil {
		return 0, w
	}
	trace := 0.0
	for k := range s.K {
		trace += s.ZZ[k*(s.K+1)]
	}
	kk := float64(s.K)
	gain = (trace - s.N*kk - s.N*(chol.LogDet()-kk*math.Log(s.N))) / 2
	if loadings, err = s.Rescaled(w); err != nil {
		return 0, w
	}
	return gain, loadings
}

// Occam returns the log evidence of PCA with k axes minus the maximum log-likelihood, in nats, for n rows of d
// columns and a prior worth so many rows. values holds the k leading eigenvalues of the covariance, noise is the mean
// of the others, unit the mean of all.
//
// Under the prior the mean is N(x̄, Σ), and all directions of the k axes are equally likely. The log of each variance
// is centred at ln unit with the information of a row: ½, and (d−k)/2 for the noise. The constant is shared among the
// angles, and no angle adds more than 0, so that nearly equal eigenvalues do not raise the evidence. Minka (2000) has
// the same integral under an improper prior.
func Occam(n, worth, unit float64, d int, values []float64, noise float64) float64 {
	k, dd := len(values), float64(d)
	kk := float64(k)
	x := math.Log(noise / unit)
	square := (dd - kk) * x * x
	for _, v := range values {
		x := math.Log(v / unit)
		square += x * x
	}
	share := special.AngleShare(d, k)
	orders, _ := math.Lgamma(kk + 1)
	nats := orders - worth*square/4 - (dd+kk+1)/2*math.Log1p(n/worth)
	for i, v := range values {
		nats += (dd - kk) * angle(share, n, v/noise)
		for _, u := range values[:i] {
			nats += angle(share, n, u/v)
		}
	}
	return nats
}

// angle is the integral over an angle between two axes whose variances have this ratio.
func angle(share, n, ratio float64) float64 {
	return min(0, share-(math.Log(n)+2*math.Log(math.Abs(ratio-1))-math.Log(ratio))/2)
}

// Fill adds 1e-10·N to the diagonals of the K×K matrices, which makes singular ones invertible.
func (s *Statistics) Fill(matrices []float64) {
	for i := range matrices {
		if i%(s.K*s.K)%(s.K+1) == 0 {
			matrices[i] += 1e-10 * s.N
		}
	}
}

// Charge is what is lost in nats, ½(n ln|I + S| + tr θ(I + S⁻¹)⁻¹θᵀ), where the n rows of θ, which have the prior
// N(0, I), are integrated out: S, which is overwritten, is the precision of each row that the data give. It is +Inf
// where S is not finite.
func Charge(precision *mat.SymDense, theta mat.Matrix) float64 {
	rows, n := theta.Dims()
	for i := range n {
		precision.SetSym(i, i, 1+precision.At(i, i))
	}
	var chol mat.Cholesky
	var solved, rest mat.Dense
	if !chol.Factorize(precision) || chol.SolveTo(&solved, theta.T()) != nil {
		return math.Inf(1)
	}
	rest.Mul(theta, &solved)
	return (float64(rows)*chol.LogDet() + math.Pow(mat.Norm(theta, 2), 2) - mat.Trace(&rest)) / 2
}
