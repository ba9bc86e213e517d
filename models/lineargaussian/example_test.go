package lineargaussian_test

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lineargaussian"
)

// The eigen-decomposition of the covariance is all that the closed forms need.
func ExampleDecompose() {
	table, err := blocks.FromSlice([]float64{2, 0, 1, -2, 0, 1, 0, 1, -2, 0, -1, -2, 1, 1, 1, -1, -1, 1}, 6, 3)
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

// One pass has the moments of complete rows; those of several sources are pooled.
func ExampleSummarize() {
	ctx := context.Background()
	table, err := blocks.FromSlice([]float64{1, 2, 3, 1, 2, 6}, 3, 2)
	if err != nil {
		panic(err)
	}
	m, err := lineargaussian.Summarize(ctx, table, 0)
	if err != nil {
		panic(err)
	}
	all, err := lineargaussian.Pool(ctx, m.Source())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v rows, means %.0f, variances %.2f\n", all.N, all.Mean, all.Variances())
	// Output: 3 rows, means [2 3], variances [0.67 4.67]
}

// Columns that miss entries have the means and variances of what they show.
func ExampleSummarizeColumns() {
	table, err := blocks.FromIncomplete([]float64{1, 2, 3, math.NaN(), 2, 6}, 3, 2)
	if err != nil {
		panic(err)
	}
	c, err := lineargaussian.SummarizeColumns(context.Background(), table)
	if err != nil {
		panic(err)
	}
	fmt.Printf("entries %v, means %v; the first gap is in row %d\n", c.Count, c.Mean, c.Gap)
	// Output: entries [3 2], means [2 4]; the first gap is in row 2
}
