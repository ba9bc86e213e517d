package bpca_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
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
	src, _ := blocks.FromSlice(x, rows, cols)

	ctx := context.Background()
	moments, _ := lineargaussian.Summarize(ctx, src, 0)
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
