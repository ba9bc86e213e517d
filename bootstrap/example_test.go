package bootstrap_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// Is one component enough for Old Faithful, and how sure are the weights of two?
func Example() {
	ctx := context.Background()
	geyser, err := data.Load("faithful")
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := geyser.Matrix()
	if err != nil {
		panic(err)
	}
	table, err := blocks.FromSlice(x, rows, cols)
	if err != nil {
		panic(err)
	}
	m, o := mixture.Model{Family: normal.Family{}}, bootstrap.Options{Draws: 19, Fit: framework.Options{Method: framework.EM}}
	test, err := bootstrap.LikelihoodRatio(ctx, m, table, 1, o)
	if err != nil {
		panic(err)
	}
	fmt.Printf("one component: p = %.2f\n", test.PValue)

	res, err := framework.Fit(ctx, m, table, framework.Options{K: 2, FixedK: true, Method: framework.EM})
	if err != nil {
		panic(err)
	}
	e, err := bootstrap.StandardErrors(ctx, m, table, res.Parameters, (*mixture.Parameters).Vector, o)
	if err != nil {
		panic(err)
	}
	fmt.Printf("weights %.2f with a standard error of about %.2f\n", res.Parameters.Weights, e.Numbers[0].Error)
	// Output:
	// one component: p = 0.05
	// weights [0.36 0.64] with a standard error of about 0.02
}
