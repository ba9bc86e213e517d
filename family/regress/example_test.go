package regress_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// Rows on two lines, y = 1 + 2x and y = 9 − 2x, are two components.
func Example() {
	const n = 60
	x := make([]float64, 0, 2*n)
	for i := range n {
		at, noise := float64(i)/10, 0.1*float64(i%7-3)
		y := 1 + 2*at + noise
		if i%2 == 1 {
			y = 9 - 2*at + noise
		}
		x = append(x, y, at)
	}
	table, err := blocks.FromSlice(x, n, 2)
	if err != nil {
		panic(err)
	}
	model := mixture.Model{Family: regress.Family{}}
	fit, err := framework.Fit(context.Background(), model, table, framework.Options{K: 4, Seed: 1})
	if err != nil {
		panic(err)
	}
	for k := range fit.Parameters.K {
		b := fit.Parameters.Component(k)
		fmt.Printf("y = %.1f %+.1fx\n", b[0], b[1])
	}
	// Unordered output:
	// y = 1.0 +2.0x
	// y = 9.0 -2.0x
}
