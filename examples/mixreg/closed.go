package mixreg

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/numeric"
)

// moments are Σ w (1, x, y)(1, x, y)ᵀ, in which everything below is written.
func moments(rows numeric.Weighted, columns int) *mat.SymDense {
	m := mat.NewSymDense(columns+1, nil)
	if rows.Sums != nil {
		copy(m.RawSymmetric().Data, rows.Sums)
		return m
	}
	v := mat.NewVecDense(columns+1, nil)
	for row, w := range rows.All() {
		v.SetVec(0, 1)
		for j, x := range row[1:] {
			v.SetVec(1+j, x)
		}
		v.SetVec(columns, row[0])
		m.SymRankOne(m, w, v)
	}
	return m
}

// squares is Σ w r², from moments.
func squares(m *mat.SymDense, xi []float64) float64 {
	d := len(xi) - 1
	v := mat.NewVecDense(d+1, nil)
	for j, b := range xi[:d] {
		v.SetVec(j, -b)
	}
	v.SetVec(d, 1)
	return max(0, mat.Inner(v, m, v))
}

// WithEstimate adds the global step.
type WithEstimate struct{ WithGradient }

// Estimate is weighted least squares. Rows that do not determine the line, or lie on it, have no estimate.
func (WithEstimate) Estimate(rows numeric.Weighted, xi, _ []float64) error {
	d := len(xi) - 1
	m := moments(rows, d)
	var chol mat.Cholesky
	if ok := chol.Factorize(m.SliceSym(0, d)); !ok || chol.Cond() > 1e14 {
		return fmt.Errorf("mixreg: the rows do not determine a line: %w", framework.ErrDegenerate)
	}
	b, right := mat.NewVecDense(d, xi[:d]), mat.NewVecDense(d, nil)
	for j := range d {
		right.SetVec(j, m.At(j, d))
	}
	if err := chol.SolveVecTo(b, right); err != nil {
		return err
	}
	if xi[d] = squares(m, xi) / rows.N; !(xi[d] > 1e-12*m.At(d, d)/rows.N) {
		return fmt.Errorf("mixreg: the rows lie on a line: %w", framework.ErrDegenerate)
	}
	return nil
}

// WithInformation adds the information at the estimate.
type WithInformation struct{ WithEstimate }

// Information is Σ w (1, x)(1, x)ᵀ/s and N/(2s²); at the estimate nothing connects them.
func (WithInformation) Information(rows numeric.Weighted, xi, _ []float64, dst *mat.SymDense) {
	d := len(xi) - 1
	m, s := moments(rows, d), xi[d]
	dst.Zero()
	for i := range d {
		for j := i; j < d; j++ {
			dst.SetSym(i, j, m.At(i, j)/s)
		}
	}
	dst.SetSym(d, d, rows.N/(2*s*s))
}

// WithSums adds the sums that the rows are known by.
type WithSums struct{ WithInformation }

// Statistics is the number of products of (1, x, y).
func (WithSums) Statistics(columns int) int { return (columns + 1) * (columns + 1) }

// Observe puts the products into t, whose first row is (1, x, y) itself.
func (WithSums) Observe(row, t []float64) {
	n := len(row) + 1
	t[0], t[n-1] = 1, row[0]
	copy(t[1:n-1], row[1:])
	for i := n; i < n*n; i++ {
		t[i] = t[i/n] * t[i%n]
	}
}

// LogTotal is −(N ln 2πs + Σ w r²/s)/2.
func (WithSums) LogTotal(rows numeric.Weighted, xi, _ []float64) float64 {
	s := xi[len(xi)-1]
	return -(rows.N*math.Log(2*math.Pi*s) + squares(moments(rows, len(xi)-1), xi)/s) / 2
}

// What is not here is not implemented: a method with a slip in its name or its arguments would go unnoticed.
var (
	_ numeric.Density        = Density{}
	_ numeric.Differentiable = WithGradient{}
	_ numeric.Estimator      = WithEstimate{}
	_ numeric.Informer       = WithInformation{}
	_ numeric.Additive       = WithSums{}
	_ numeric.Informer       = WithSums{}
)
