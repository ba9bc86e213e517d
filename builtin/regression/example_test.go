package regression_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/latent-go/latent/builtin/regression"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// Rows about two lines through the same range of x have two components.
func ExampleDefinition() {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 200
	numbers := make([]float64, 0, 2*n)
	for i := range n {
		x := 10 * rng.Float64()
		y := 3 + x
		if i%2 == 0 {
			y = 12 - x
		}
		numbers = append(numbers, y+rng.NormFloat64()/4, x)
	}
	rows, err := blocks.FromSlice(numbers, n, 2)
	if err != nil {
		log.Fatal(err)
	}
	method, ctx := regression.Definition().Methods[0], context.Background()
	request := fitted.Request{Method: method, Family: "gaussian"}
	table := &fitted.Table{Rows: rows, Columns: []data.Column{
		{Name: "y", Family: "gaussian"}, {Name: "x", Family: "regressor"},
	}}
	settings := new(regression.Settings)
	settings.Response = "y"
	bound, err := settings.Bind(ctx, table, request)
	if err != nil {
		log.Fatal(err)
	}
	fit, err := bound.Fit(ctx, framework.Options{K: 4, Method: method.Engine, Criterion: method.Criteria[0]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Shape.K, "regressions")
	// Output: 2 regressions
}
