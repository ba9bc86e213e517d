package lds_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lds"
)

// Two numbers that turn by a fifth of a radian a step are observed in three columns. The fit begins with three latent
// dimensions.
func Example() {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 200
	x, z := make([]float64, 0, 3*n), [2]float64{5, 0}
	sin, cos := math.Sincos(0.2)
	for range n {
		z[0], z[1] = cos*z[0]-sin*z[1]+rng.NormFloat64(), sin*z[0]+cos*z[1]+rng.NormFloat64()
		for _, v := range []float64{z[0], z[1], z[0] - z[1]} {
			x = append(x, v+rng.NormFloat64())
		}
	}
	table, err := blocks.FromSlice(x, n, 3)
	if err != nil {
		log.Fatal(err)
	}
	src, err := blocks.NewSequences(table, nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := framework.Fit(context.Background(), lds.Model{}, src, framework.Options{K: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Shape.K, "dimensions")
	// Output: 2 dimensions
}
