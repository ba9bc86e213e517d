package lineargaussian_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/lineargaussian"
)

// The eigen-decomposition of the covariance is all that the closed forms need.
func ExampleDecompose() {
	table, err := framework.FromSlice([]float64{2, 0, 1, -2, 0, 1, 0, 1, -2, 0, -1, -2, 1, 1, 1, -1, -1, 1}, 6, 3)
	if err != nil {
		panic(err)
	}
	spectrum, err := lineargaussian.Decompose(context.Background(), table, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("eigenvalues %.2f of %v rows\n", spectrum.Values, spectrum.N)
	// Output:
	// eigenvalues [2.00 1.77 0.57] of 6 rows
}

// The statistics of a local step, filled in row by row: what models such as PCA and factor analysis share.
func ExampleNewStatistics() {
	s := lineargaussian.NewStatistics(2, 4)
	fmt.Println(s.K, "×", s.D, "with", len(s.XZ), "cross products")
	// Output: 2 × 4 with 8 cross products
}
