package prior

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/special"
)

// NormalInverseWishart is the distribution of the mean μ and the covariance Σ of D
// columns,
//
//	μ | Σ ~ N(Mean, Σ/Kappa),   Σ ~ InverseWishart(Ψ, Nu),
//
// without its constant
//
//	|Σ|^−(Nu+D+2)/2 exp(−½tr(ΨΣ⁻¹) − ½Kappa(μ−Mean)ᵀΣ⁻¹(μ−Mean)),   Σ positive definite,
//
// with respect to μ and the D(D+1)/2 distinct entries of Σ. (The inverse Wishart part
// alone is |Σ|^−(Nu+D+1)/2 exp(−½tr(ΨΣ⁻¹)); the normal one adds |Σ|^−½.) It is the
// prior of a Gaussian with full covariance. Those with Kappa = Nu − D − 2 have the form of [Conjugate];
// [NormalInverseGamma] is the case D = 1.
//
// Under it E[Σ⁻¹] = NuΨ⁻¹, and the expected squared distance of a row x,
// E[(x−μ)ᵀΣ⁻¹(x−μ)], is D/Kappa + Nu(x−Mean)ᵀΨ⁻¹(x−Mean).
type NormalInverseWishart struct {
	Mean  []float64 `json:"mean"`  // length D
	Kappa float64   `json:"kappa"` // number of rows from which the mean is known
	Nu    float64   `json:"nu"`    // degrees of freedom of Σ, more than D − 1
	Scale []float64 `json:"scale"` // Ψ, D×D row-major, symmetric positive definite
}

// Check returns an error unless there are D ≥ 1 finite means, Kappa is positive, Nu is more than
// D − 1, all is finite, and Ψ is D×D, symmetric and positive definite.
func (p NormalInverseWishart) Check() error {
	d := len(p.Mean)
	if d == 0 || len(p.Scale) != d*d {
		return fmt.Errorf("prior: NormalInverseWishart.Scale has %d entries and Mean %d: give D means, D ≥ 1, and "+
			"D·D entries", len(p.Scale), d)
	}
	if err := first(positive("NormalInverseWishart.Kappa", p.Kappa), finite("NormalInverseWishart.Nu", p.Nu)); err != nil {
		return err
	}
	if p.Nu <= float64(d-1) {
		return &ParameterError{
			"NormalInverseWishart.Nu", p.Nu, fmt.Sprintf("%d columns need more than %d degrees of freedom", d, d-1),
		}
	}
	for i, v := range p.Mean {
		if err := finite("NormalInverseWishart.Mean", v); err != nil {
			return fmt.Errorf("%w at column %d", err, i)
		}
	}
	for i := range d {
		for j := range d {
			v, mirrored := p.Scale[i*d+j], p.Scale[j*d+i]
			if err := finite("NormalInverseWishart.Scale", v); err != nil {
				return fmt.Errorf("%w at row %d, column %d", err, i, j)
			}
			// Rounding may leave so much; a bound relative to the diagonal knows the units.
			if bound := 1e-8 * math.Sqrt(math.Abs(p.Scale[i*d+i])) *
				math.Sqrt(math.Abs(p.Scale[j*d+j])); math.Abs(v-mirrored) > bound {
				return fmt.Errorf("prior: NormalInverseWishart.Scale is not symmetric: %v at row %d, column %d, but %v across", v,
					i, j, mirrored)
			}
		}
	}
	_, err := p.LogDetScale()
	return err
}

// LogDetScale returns ln|Ψ|, for callers without a factor of Ψ. It allocates, and returns an error if Ψ is not
// positive definite.
func (p NormalInverseWishart) LogDetScale() (float64, error) {
	factor, _, err := p.factor()
	if err != nil {
		return 0, err
	}
	return factor.LogDet(), nil
}

var errIndefinite = errors.New("prior: NormalInverseWishart.Scale is not positive definite: add to its diagonal, or " +
	"drop columns that are constant or depend on others")

// factor returns the Cholesky factorisation of Ψ, and the D×D memory whose upper
// triangle holds U, Ψ = UᵀU.
func (p NormalInverseWishart) factor() (linalg.Cholesky, []float64, error) {
	u := slices.Clone(p.Scale)
	factor, ok := linalg.NewCholesky(len(p.Mean), u)
	if !ok {
		return factor, nil, errIndefinite
	}
	return factor, u, nil
}

// LogNorm is
//
//	(D/2) ln(2π/Kappa) + (Nu·D/2) ln 2 + ln Γ_D(Nu/2) − (Nu/2) ln|Ψ|
//
// in nats, given ln|Ψ|: the log of the integral over μ and Σ of the expression in the
// type's comment. It includes all factors of 2π, 2 and π of this integral, but not the 2π of the rows' density: the
// log evidence of n rows is LogNorm of the posterior − LogNorm of the prior − (nD/2) ln 2π.
func (p NormalInverseWishart) LogNorm(logDetScale float64) float64 {
	d := float64(len(p.Mean))
	return d*(special.HalfLogTwoPi-math.Log(p.Kappa)/2) + p.Nu/2*(d*math.Ln2-logDetScale) +
		mathext.MvLgamma(p.Nu/2, len(p.Mean))
}

// ExpectedLogDet returns E[ln|Σ|] = ln|Ψ| − D ln 2 − Σ_i ψ((Nu−i)/2), i = 0,…,D−1, given
// ln|Ψ|.
func (p NormalInverseWishart) ExpectedLogDet(logDetScale float64) float64 {
	for i := range p.Mean {
		logDetScale -= math.Ln2 + digamma((p.Nu-float64(i))/2)
	}
	return logDetScale
}

// ModeDivisor returns Nu + D + 2: the joint density of μ and Σ is greatest at μ = Mean and
// Σ = Ψ/ModeDivisor().
func (p NormalInverseWishart) ModeDivisor() float64 { return p.Nu + float64(len(p.Mean)) + 2 }

// Update returns the posterior after n ≥ 0 rows (n may be a sum of responsibilities), given their mean (D) and their
// scatter about it, Σ(x−mean)(x−mean)ᵀ (D×D). Slices of dst are reused if their capacity suffices; dst and scatter
// may share memory with p. If n = 0, the statistics are not used and may be NaN.
func (p NormalInverseWishart) Update(
	n float64, mean, scatter []float64, dst NormalInverseWishart,
) NormalInverseWishart {
	d := len(p.Mean)
	if len(mean) != d || len(scatter) != d*d {
		panic("prior: the statistics and the prior have different numbers of columns")
	}
	kappa := p.Kappa + n
	dst.Kappa, dst.Nu = kappa, p.Nu+n
	dst.Mean, dst.Scale = linalg.Resize(dst.Mean, d), linalg.Resize(dst.Scale, d*d)
	if n == 0 {
		copy(dst.Mean, p.Mean)
		copy(dst.Scale, p.Scale)
		return dst
	}
	weight := p.Kappa * (n / kappa)
	for i := range d {
		shift := mean[i] - p.Mean[i]
		for j := range d {
			dst.Scale[i*d+j] = p.Scale[i*d+j] + scatter[i*d+j] + weight*(shift*(mean[j]-p.Mean[j]))
		}
	}
	for i, m := range p.Mean {
		dst.Mean[i] = m + n/kappa*(mean[i]-m)
	}
	return dst
}

// Pool returns p with the rows of other added to its Nu and Scale. p and other must be posteriors of the same prior,
// for means that share Σ. It overwrites Scale.
func (p NormalInverseWishart) Pool(other, prior NormalInverseWishart) NormalInverseWishart {
	p.Nu += other.Nu - prior.Nu
	for i, v := range other.Scale {
		p.Scale[i] += v - prior.Scale[i]
	}
	return p
}

// Expected returns E[ln N(x|μ,Σ)] = constant − ½‖R(x−Mean)‖², in nats. It puts R into root (D×D), upper triangular
// with RᵀR = E[Σ⁻¹] = NuΨ⁻¹. It returns an error if Ψ is not positive definite, and allocates nothing.
func (p NormalInverseWishart) Expected(root []float64) (constant float64, err error) {
	d := len(p.Mean)
	logDet, ok := linalg.PrecisionRoot(d, p.Scale, root)
	if !ok {
		return 0, errIndefinite
	}
	linalg.Scale(math.Sqrt(p.Nu), root)
	return -(p.ExpectedLogDet(logDet) + float64(d)*(2*special.HalfLogTwoPi+1/p.Kappa)) / 2, nil
}

// MeanDivergence returns KL(p‖from) between the distributions of μ given Σ, in nats, averaged over the distribution
// of Σ under p. root comes from [NormalInverseWishart.Expected].
func (p NormalInverseWishart) MeanDivergence(root []float64, from NormalInverseWishart) float64 {
	return meanDivergence(p.Kappa, from.Kappa, len(p.Mean), linalg.Mahalanobis(len(p.Mean), root, p.Mean, from.Mean))
}

// meanDivergence is KL between normal distributions of d means whose precisions are kappa and kappa0 times that of
// a row, where distance is the expected squared Mahalanobis distance of one's centre from the other's.
func meanDivergence(kappa, kappa0 float64, d int, distance float64) float64 {
	ratio := kappa0 / kappa
	return (float64(d)*(ratio-1-math.Log(ratio)) + kappa0*distance) / 2
}

// CovarianceDivergence returns KL(p‖from) between the distributions of Σ, in nats, given root as in MeanDivergence,
// and logNorm, the LogNorm of from. The sum with MeanDivergence is the divergence between the joint distributions.
func (p NormalInverseWishart) CovarianceDivergence(root []float64, from NormalInverseWishart, logNorm float64) float64 {
	d := len(p.Mean)
	logDet, trace := float64(d)*math.Log(p.Nu), 0.0 // ln|Ψ|, tr(Ψ₀E[Σ⁻¹])
	for a := range d {
		logDet -= 2 * math.Log(root[a*d+a])
		row := root[a*d : (a+1)*d]
		for c := a; c < d; c++ {
			trace += row[c] * linalg.Dot(row[a:], from.Scale[c*d+a:(c+1)*d])
		}
	}
	excess := p.Nu - from.Nu
	p.Kappa = from.Kappa // so that LogNorm differs by the constants of Σ alone
	return (logNorm - p.LogNorm(logDet)) + (trace-p.Nu*float64(d)-excess*p.ExpectedLogDet(logDet))/2
}

// Mode puts Mean and Ψ/(Nu + D + 1 + means) into mean (D) and covariance (D×D). There the joint density of Σ and of
// so many means that share Σ is greatest; each mean contributes a factor |Σ|^−½.
func (p NormalInverseWishart) Mode(means float64, mean, covariance []float64) {
	p.point(p.ModeDivisor()-1+means, mean, covariance)
}

// Expectation puts E[μ] and E[Σ] = Ψ/(Nu−D−1) into mean (D) and covariance (D×D). If E[Σ] does not exist (Nu ≤ D +
// 1), it uses Ψ/Nu, the inverse of the expected precision.
func (p NormalInverseWishart) Expectation(mean, covariance []float64) {
	divisor := p.Nu - float64(len(p.Mean)+1)
	if !(divisor > 0) {
		divisor = p.Nu
	}
	p.point(divisor, mean, covariance)
}

// point puts Mean and Ψ/divisor into mean and covariance.
func (p NormalInverseWishart) point(divisor float64, mean, covariance []float64) {
	copy(mean, p.Mean)
	for i, v := range p.Scale {
		covariance[i] = v / divisor
	}
}

// LogProbMean returns the log density ln N(μ|Mean, Σ/Kappa) of a mean (D) given Σ by ln|Σ| and R (D×D), upper
// triangular with RᵀR = Σ⁻¹, in nats.
func (p NormalInverseWishart) LogProbMean(mean, root []float64, logDetCovariance float64) float64 {
	d := len(p.Mean)
	return float64(d)*(math.Log(p.Kappa)/2-special.HalfLogTwoPi) -
		(logDetCovariance+p.Kappa*linalg.Mahalanobis(d, root, mean, p.Mean))/2
}

// LogKernel returns the log of the expression in the type's comment, in nats, at a mean μ
// (D), a precision matrix Σ⁻¹ (D×D, symmetric) and ln|Σ|. LogKernel − LogNorm is the
// joint log density. It allocates nothing.
//
// LogKernel is linear in Σ⁻¹ and ln|Σ|. So its expectation under another distribution of this type with mean m and
// Kappa κ is LogKernel at m, E[Σ⁻¹] and E[ln|Σ|], less ½D·Kappa/κ.
func (p NormalInverseWishart) LogKernel(mean, precision []float64, logDetCovariance float64) float64 {
	d := len(p.Mean)
	if len(mean) != d || len(precision) != d*d {
		panic("prior: the parameters and the prior have different numbers of columns")
	}
	distance := 0.0
	for i := range d {
		for j := range d {
			distance += (mean[i] - p.Mean[i]) * precision[i*d+j] * (mean[j] - p.Mean[j])
		}
	}
	return -p.ModeDivisor()/2*logDetCovariance - (linalg.Dot(p.Scale, precision)+p.Kappa*distance)/2
}

// LogProb returns the joint log density, in nats, at a mean (D) and a covariance (D×D, of
// which the upper triangle counts): −Inf if the covariance is not positive definite. It returns an error if Ψ is not
// positive definite. It factorises both; callers who have the factors use LogKernel.
func (p NormalInverseWishart) LogProb(mean, covariance []float64) (float64, error) {
	logDetScale, err := p.LogDetScale()
	if err != nil {
		return 0, err
	}
	factor, ok := linalg.NewCholesky(len(p.Mean), slices.Clone(covariance))
	if !ok {
		return math.Inf(-1), nil
	}
	logDet := factor.LogDet()
	return p.LogKernel(mean, factor.Invert(), logDet) - p.LogNorm(logDetScale), nil
}

// Rand draws a mean (D) and a covariance (D×D) into the given slices and returns them.
// It returns an error if Ψ is not positive definite, and if the draw is beyond the range of float64, which is likely
// for Nu close to D − 1.
//
// Bartlett's decomposition TᵀT of a Wishart matrix of unit scale, T upper triangular
// with chi variables on the diagonal and normal ones above it, and Ψ = UᵀU give
// Σ = WWᵀ with W = UᵀT⁻¹.
func (p NormalInverseWishart) Rand(rng *rand.Rand, mean, covariance []float64) (m, c []float64, err error) {
	d := len(p.Mean)
	_, u, err := p.factor()
	if err != nil {
		return nil, nil, err
	}
	t, w := make([]float64, d*d), make([]float64, d*d)
	for i := range d {
		t[i*d+i] = math.Sqrt2 * math.Exp(randLogGamma(rng, (p.Nu-float64(i))/2)/2)
		for j := i + 1; j < d; j++ {
			t[i*d+j] = rng.NormFloat64()
		}
		for j := range i + 1 {
			w[i*d+j] = u[j*d+i]
		}
	}
	upper := blas64.Triangular{N: d, Stride: d, Data: t, Uplo: blas.Upper, Diag: blas.NonUnit}
	half := linalg.General(d, d, w)
	blas64.Trsm(blas.Right, blas.NoTrans, 1, upper, half)

	mean, covariance = linalg.Resize(mean, d), linalg.Resize(covariance, d*d)
	copy(mean, p.Mean)
	for j := range d {
		z := rng.NormFloat64() / math.Sqrt(p.Kappa)
		for i := range d {
			mean[i] += z * w[i*d+j]
		}
	}
	linalg.Mul(false, true, 1, half, half, 0, linalg.General(d, d, covariance))
	linalg.Mirror(d, covariance)
	for _, v := range [2]float64{floats.Sum(mean), floats.Norm(covariance, 1)} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nil, fmt.Errorf(
				"prior: a draw from NormalInverseWishart is beyond the range of float64: raise Nu, which is %v, from %d", p.Nu, d-1,
			)
		}
	}
	return mean, covariance, nil
}
