package laplace_test

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/laplace"
	"gonum.org/v1/gonum/mat"
)

// The curvature of BPCA with K = 2 and D = 100 is λS/N ⊗ I_D (eq. 5): a 200×200
// matrix, held as four numbers.
func Example() {
	s := mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1}) // λS/N
	f := laplace.Blocks{laplace.Kronecker{A: laplace.NewDense(s), B: laplace.Identity(100)}}
	fmt.Printf("%d parameters, −½ ln|F| = %.3f nats\n", f.Dim(), -f.LogDet()/2)

	row := laplace.Kronecker{A: laplace.Diagonal{1, 4}, B: laplace.Identity(100)}
	tilt := &laplace.Tilt{F: f, N: 1000}
	fmt.Printf("the row is lowered by %.4f nats\n", tilt.Penalty(0, row))
	// Output:
	// 200 parameters, −½ ln|F| = -27.981 nats
	// the row is lowered by 0.2571 nats
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
