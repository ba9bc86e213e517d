package features_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/features"
)

// Three prices of a meal of which starter and main course are each there or not.
func Example() {
	rng, x := rand.New(rand.NewPCG(1, 2)), []float64(nil)
	for i := range 200 {
		starter, main := float64(i%2), float64(i/2%2)
		for _, price := range []float64{2 + 5*starter, 2 + 12*main, 2 + 3*starter + 7*main} {
			x = append(x, price+rng.NormFloat64()/2)
		}
	}
	table, err := blocks.FromSlice(x, 200, 3)
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), features.Model{}, table, framework.Options{K: 4, Restarts: 4})
	if err != nil {
		panic(err)
	}
	p := res.Parameters.Canonical()
	fmt.Printf("without %.1f\n", p.Offset)
	for k := range p.K {
		fmt.Printf("on in %.2f of the rows, adds %.1f %.1f %.1f\n", p.On[k], p.W().At(0, k), p.W().At(1, k), p.W().At(2, k))
	}
	// Output:
	// without [6.9 13.9 12.0]
	// on in 0.50 of the rows, adds 0.0 -12.0 -7.0
	// on in 0.50 of the rows, adds -4.9 0.1 -2.9
}
