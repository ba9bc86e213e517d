package bpca_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// The flowers of iris, all sizes at once and by gFAB in one pass.
func Example() {
	iris, err := data.Load("iris")
	if err != nil {
		fmt.Println(err)
		return
	}
	iris, _ = iris.Drop("Species")
	x, rows, cols, _ := iris.Matrix()
	src, _ := framework.FromSlice(x, rows, cols)

	ctx := context.Background()
	moments, _ := bpca.Summarize(ctx, src, 0)
	res, err := framework.Fit(ctx, bpca.Compressed{}, moments.Source(), framework.Options{K: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	spectrum, _ := moments.Spectrum()
	solutions, _ := bpca.Solve(spectrum, 0)
	k, value, _ := solutions.Best(framework.GFIC)
	fmt.Printf("gFAB: K = %d, gFIC %.3f\n", res.Shape.K, res.Value)
	fmt.Printf("closed form: K = %d, gFIC %.3f\n", k, value)
	// Output:
	// gFAB: K = 3, gFIC -435.626
	// closed form: K = 3, gFIC -435.626
}

// The eigen-decomposition of the covariance is all that the closed forms need.
func ExampleDecompose() {
	table, err := framework.FromSlice([]float64{2, 0, 1, -2, 0, 1, 0, 1, -2, 0, -1, -2, 1, 1, 1, -1, -1, 1}, 6, 3)
	if err != nil {
		panic(err)
	}
	spectrum, err := bpca.Decompose(context.Background(), table, 1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("eigenvalues %.2f of %v rows\n", spectrum.Values, spectrum.N)
	// Output:
	// eigenvalues [2.00 1.77 0.57] of 6 rows
}

// The statistics of a local step, filled in row by row: what a model that shares them with PCA, such as factor analysis, is
// made of.
func ExampleNewStatistics() {
	s := bpca.NewStatistics(2, 4)
	fmt.Println(s.K, "×", s.D, "with", len(s.XZ), "cross products")
	// Output: 2 × 4 with 8 cross products
}
