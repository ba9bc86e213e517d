package laplace_test

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/laplace"
	"gonum.org/v1/gonum/mat"
)

// The curvature of BPCA with K = 2 and D = 100 is S/N ⊗ λI_D (eq. 5): a 200×200
// matrix, held as its two factors.
func ExampleCurvature() {
	const n, lambda = 1000, 2
	s := mat.NewSymDense(2, []float64{1000, 250, 250, 500}) // Σ E[zzᵀ]
	var f laplace.Curvature
	f.Reset(n, false)
	f.Mixed(s, laplace.Scaled{Factor: lambda, Of: laplace.Identity(100)})
	fmt.Printf("%d parameters, gFIC charges %.3f nats, FIC %.3f\n", f.Dim(), f.LogDet()/2, f.LogDetCounts()/2)

	var tilt laplace.Tilt
	tilt.Set(&f)
	precision := mat.NewSymDense(2, nil)
	if err := tilt.Precision(precision); err != nil {
		fmt.Println(err)
		return
	}
	z := mat.NewVecDense(2, []float64{1, 2})
	fmt.Printf("a row with z = (1, 2) loses %.4f nats\n", mat.Inner(z, precision, z)/2)
	// Output:
	// 200 parameters, gFIC charges 27.981 nats, FIC -41.334
	// a row with z = (1, 2) loses 0.4000 nats
}

// The evidence of 7 heads in 10 throws under a uniform prior is B(8, 4). In the
// logit θ of the chance of heads, the Jacobian adds one to both counts.
func ExampleLogEvidence() {
	h := func(t []float64) float64 {
		return -8*math.Log1p(math.Exp(-t[0])) - 4*math.Log1p(math.Exp(t[0]))
	}
	value, err := laplace.LogEvidence(h, []float64{math.Log(8. / 4)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("Laplace %.3f, exact %.3f\n", value, math.Log(1./1320))
	// Output:
	// Laplace -7.210, exact -7.185
}

// A block without structure, with its determinant and a trace of its inverse.
func ExampleNewDense() {
	block := laplace.NewDense(mat.NewSymDense(2, []float64{2, 1, 1, 2}))
	fmt.Printf("ln|F| = %.4f, tr F⁻¹ = %.4f\n", block.LogDet(), block.InverseTrace(mat.NewDiagDense(2, []float64{1, 1})))
	// Output: ln|F| = 1.0986, tr F⁻¹ = 1.3333
}

// The sum of two numbers is hardly known beside their difference. Put together again, the matrix would lose it.
func ExampleNewSpectral() {
	f := laplace.NewSpectral(mat.NewSymDense(2, []float64{1e17, -1e17, -1e17, 1e17})).AtLeast(0.5)
	fmt.Printf("%.3g, ln|F| = %.2f\n", f.Eigenvalues(nil), f.LogDet())
	// Output: [0.5 2e+17], ln|F| = 39.14
}
