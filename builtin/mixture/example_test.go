package mixture_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/latent-go/latent/builtin/mixture"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// Rows about two points have two components, and the fit says something of each.
func ExampleDefinition() {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 200
	numbers := make([]float64, 0, 2*n)
	for i := range n {
		at := float64(5 * (i % 2))
		numbers = append(numbers, at+rng.NormFloat64(), at+rng.NormFloat64())
	}
	rows, err := blocks.FromSlice(numbers, n, 2)
	if err != nil {
		log.Fatal(err)
	}
	table := &fitted.Table{Rows: rows, Columns: []data.Column{
		{Name: "length", Family: "gaussian"}, {Name: "width", Family: "gaussian"},
	}}
	method, ctx := mixture.Definition(nil).Methods[0], context.Background()
	bound, err := new(mixture.Settings).Bind(ctx, table, fitted.Request{Method: method, Family: "gaussian"})
	if err != nil {
		log.Fatal(err)
	}
	fit, err := bound.Fit(ctx, framework.Options{K: 4, Method: method.Engine, Criterion: method.Criteria[0]})
	if err != nil {
		log.Fatal(err)
	}
	said, err := fit.Parameters.(fitted.Describer).Describe()
	if err != nil {
		log.Fatal(err)
	}
	for _, one := range said.Finding.Items {
		fmt.Println(one.Name)
	}
	// Output:
	// Component 1
	// Component 2
}
