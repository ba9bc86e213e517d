package ppca_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/reproduce/ppca"
)

// The distribution of a row, given the loadings and the variance of the noise, is one of package distmv.
func ExampleLaw() {
	law, err := ppca.Law(mat.NewDense(2, 1, []float64{2, 1}), 0.5)
	if err != nil {
		panic(err)
	}
	var covariance mat.SymDense
	law.CovarianceMatrix(&covariance)
	fmt.Printf("%v\n", mat.Formatted(&covariance))
	// Output:
	// ⎡4.5    2⎤
	// ⎣  2  1.5⎦
}
