// Package factor is factor analysis: continuous latent variables z ~ N(0, I_K) and noise of its own in every column,
//
//	x = Wᵀz + ε,    ε_j ~ N(0, ψ_j)
//
// (Lawley & Maxwell 1971, Factor Analysis as a Statistical Method), where Bayesian PCA has one noise for all. [Density]
// is the joint log density alone, [Closed] adds the closed forms of EM (Rubin & Thayer 1982, Psychometrika 47, 69–76).
// Columns are centred beforehand.
package factor

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
)

// Density is factor analysis: ξ_k are the loadings of factor k on the D columns, and Θ are the D variances ψ of the
// noise.
type Density struct{}

// Layout has a loading of each factor and a noise for every column.
func (Density) Layout(columns int) numeric.Layout {
	return numeric.Layout{
		Component: []numeric.Parameter{numeric.Real("loadings", columns)},
		Shared:    []numeric.Parameter{numeric.Positive("noise", columns)},
	}
}

// LogJoint is ln N(z|0, I) + Σ_j ln N(x_j | Σ_k z_k w_kj, ψ_j).
func (Density) LogJoint(x, z, w, noise []float64) float64 {
	sum := 0.0
	for _, v := range z {
		sum -= (v*v + math.Log(2*math.Pi)) / 2
	}
	for j, r := range x {
		for k, v := range z {
			r -= v * w[k*len(x)+j]
		}
		sum -= (math.Log(2*math.Pi*noise[j]) + r*r/noise[j]) / 2
	}
	return sum
}

// Closed is Density with closed forms.
type Closed struct{ Density }

// Posterior is N(ΣWΨ⁻¹x, Σ) with Σ⁻¹ = WΨ⁻¹Wᵀ + I + extra.
func (Closed) Posterior(x, w, noise []float64, extra mat.Symmetric, mean []float64, cov *mat.SymDense) {
	k, d := len(mean), len(x)
	loadings, scaled := mat.NewDense(k, d, w), mat.NewDense(k, d, nil)
	scaled.Apply(func(_, j int, v float64) float64 { return v / noise[j] }, loadings)
	var inner mat.Dense
	inner.Mul(scaled, loadings.T())
	precision := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			precision.SetSym(i, j, inner.At(i, j)+extra.At(i, j))
		}
		precision.SetSym(i, i, precision.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(precision) || chol.InverseTo(cov) != nil {
		cov.Zero() // the framework says whose promise that breaks
		return
	}
	m := mat.NewVecDense(k, mean)
	m.MulVec(scaled, mat.NewVecDense(d, x))
	m.MulVec(cov, mat.VecDenseCopyOf(m))
}

// EstimateJoint is W = S⁻¹ Σ E[z]xᵀ and ψ_j = (Σ x_j² − w_jᵀ Σ E[z]x_j)/N.
func (Closed) EstimateJoint(rows numeric.Inferred, w, noise []float64) error {
	k, d := rows.K, len(noise)
	cross, square := mat.NewDense(k, d, nil), make([]float64, d)
	for row := range rows.All() {
		cross.RankOne(cross, row.Weight, mat.NewVecDense(k, row.Mean), mat.NewVecDense(d, row.X))
		for j, v := range row.X {
			square[j] += row.Weight * v * v
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(rows.SecondMoment()) {
		return errors.Join(errors.New("factor: E[ZᵀZ] is singular"), framework.ErrDegenerate)
	}
	loadings := mat.NewDense(k, d, w)
	if err := chol.SolveTo(loadings, cross); err != nil {
		return err
	}
	for j := range d {
		noise[j] = (square[j] - mat.Dot(loadings.ColView(j), cross.ColView(j))) / rows.N
		if !(noise[j] > 1e-9*square[j]/rows.N) {
			return errors.Join(errors.New("factor: a factor explains a column without noise (a Heywood case)"),
				framework.ErrDegenerate)
		}
	}
	return nil
}

// InformationJoint is Ψ⁻¹.
func (Closed) InformationJoint(_ numeric.Inferred, _, noise []float64, dst *mat.SymDense) {
	dst.Zero()
	for j, v := range noise {
		dst.SetSym(j, j, 1/v)
	}
}

var (
	_ numeric.JointDensity   = Density{}
	_ numeric.Inferrer       = Closed{}
	_ numeric.JointEstimator = Closed{}
	_ numeric.JointInformer  = Closed{}
)
