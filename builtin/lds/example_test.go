package lds_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/builtin/lds"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// A wave in two columns that lag one another has two latent numbers.
func ExampleDefinition() {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 150
	x, z := make([]float64, 0, 2*n), [2]float64{5, 0}
	sin, cos := math.Sincos(0.2)
	for range n {
		z[0], z[1] = cos*z[0]-sin*z[1]+rng.NormFloat64(), sin*z[0]+cos*z[1]+rng.NormFloat64()
		x = append(x, z[0]+rng.NormFloat64()/2, z[1]+rng.NormFloat64()/2)
	}
	rows, err := blocks.FromSlice(x, n, 2)
	if err != nil {
		log.Fatal(err)
	}
	series, err := blocks.NewSequences(rows, nil)
	if err != nil {
		log.Fatal(err)
	}
	model, ctx := lds.Definition(nil), context.Background()
	table := &fitted.Table{Rows: rows, Sequences: series, Columns: []data.Column{{Name: "north"}, {Name: "east"}}}
	method := model.Methods[0]
	bound, err := new(lds.Settings).Bind(ctx, table, fitted.Request{Method: method})
	if err != nil {
		log.Fatal(err)
	}
	o := framework.Options{K: 2, Method: method.Engine, Criterion: method.Criteria[0]}
	fit, err := bound.Fit(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Shape.K, "dimensions")
	// Output: 2 dimensions
}
