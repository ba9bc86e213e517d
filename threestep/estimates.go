package threestep

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/linalg"
)

// Estimates are numbers with their covariance.
type Estimates struct {
	Values    []float64
	ThirdStep *mat.SymDense // covariance by the third step alone
	FirstStep *mat.SymDense // what the uncertainty of the first step adds to it; nil if that is not known
}

// AddFirstStep takes what the uncertainty of the first step adds from draws of the same numbers, a row each: the third
// step of these rows by the posteriors of models drawn around the fitted one.
func (e *Estimates) AddFirstStep(draws mat.Matrix) {
	e.FirstStep = new(mat.SymDense)
	stat.CovarianceMatrix(e.FirstStep, draws, nil)
}

// Covariance is that of the values, of both steps.
func (e *Estimates) Covariance() *mat.SymDense {
	if e.FirstStep == nil {
		return e.ThirdStep
	}
	sum := new(mat.SymDense)
	sum.AddSym(e.ThirdStep, e.FirstStep)
	return sum
}

// Errors are the standard errors of the values; NaN of a value at the end of its range, such as a share of 0.
func (e *Estimates) Errors() []float64 { return deviations(e.Covariance()) }

// deviations are the standard deviations of numbers; NaN of what does not vary.
func deviations(cov *mat.SymDense) []float64 {
	list := make([]float64, cov.SymmetricDim())
	for i := range list {
		if list[i] = math.Sqrt(cov.At(i, i)); !(list[i] > 1e-12) {
			list[i] = math.NaN()
		}
	}
	return list
}

// A Test is a Wald test: of estimates that are equal, or 0, in truth.
type Test struct {
	Statistic float64 // χ² with so many degrees of freedom if they are; NaN where an estimate has no standard error
	Df        int
	P         float64 // the probability of a χ² as large
}

// Wald tests that every row of a matrix of contrasts times the values is 0 (Wald 1943): with Cv of covariance CΣCᵀ,
// (Cv)ᵀ(CΣCᵀ)⁻¹Cv.
func (e *Estimates) Wald(contrasts *mat.Dense) Test {
	df, _ := contrasts.Dims()
	var v, solved mat.VecDense
	var half, cov mat.Dense
	v.MulVec(contrasts, mat.NewVecDense(len(e.Values), e.Values))
	half.Mul(contrasts, e.Covariance())
	cov.Mul(&half, contrasts.T())
	test := Test{math.NaN(), df, math.NaN()}
	var chol mat.Cholesky
	if chol.Factorize(linalg.SymmetricPart(&cov)) && chol.Cond() < 1e12 && chol.SolveVecTo(&solved, &v) == nil {
		test.Statistic = mat.Dot(&v, &solved)
		test.P = distuv.ChiSquared{K: float64(df)}.Survival(test.Statistic)
	}
	return test
}

// through is the covariance of linear functions of numbers, JΣJᵀ.
func through(j mat.Matrix, cov mat.Matrix) *mat.SymDense {
	var half, all mat.Dense
	half.Mul(j, cov)
	all.Mul(&half, j.T())
	return linalg.SymmetricPart(&all)
}

var errSingular = errors.New("threestep: the information of the rows is singular: there are too few rows for so many " +
	"classes")

// sandwich is A⁻¹BA⁻¹, in those directions in which A says anything.
func sandwich(information, scores *mat.SymDense) (*mat.SymDense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(information, true) {
		return nil, errSingular
	}
	const nothing = 1e-12 // of the largest
	values := eigen.Values(nil)
	n := len(values)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	inverse, most := mat.NewSymDense(n, nil), values[n-1]
	for i, v := range values {
		if v > nothing*most {
			inverse.SymRankOne(inverse, 1/v, vectors.ColView(i))
		} else if v < -nothing*most {
			return nil, errSingular
		}
	}
	return through(inverse, scores), nil
}
