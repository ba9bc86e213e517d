package pruning_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// Two dimensions that mix, with 1000 rows behind one direction and half a row behind the other.
func Example() {
	var f laplace.Curvature
	f.Reset(1000, false)
	f.Mixed(mat.NewSymDense(2, []float64{500.25, 499.75, 499.75, 500.25}), laplace.Identity(3))
	verdict, err := pruning.Eigenvalue{}.Apply(&f, 2, true)
	if err != nil {
		panic(err)
	}
	fmt.Println("dropped:", verdict.Dropped)
	// Output: dropped: [0]
}
