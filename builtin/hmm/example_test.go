package hmm_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/latent-go/latent/builtin/hmm"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// A series that stays at one of two levels for 20 steps on average has two states.
func ExampleDefinition() {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 300
	x, level := make([]float64, 0, n), 0.0
	for range n {
		if rng.Float64() < 0.05 {
			level = 4 - level
		}
		x = append(x, level+rng.NormFloat64())
	}
	rows, err := blocks.FromSlice(x, n, 1)
	if err != nil {
		log.Fatal(err)
	}
	series, err := blocks.NewSequences(rows, nil)
	if err != nil {
		log.Fatal(err)
	}
	table := &fitted.Table{Rows: rows, Sequences: series, Columns: []data.Column{{Name: "level", Family: "gaussian"}}}
	method, ctx := hmm.Definition(nil).Methods[0], context.Background()
	bound, err := new(hmm.Settings).Bind(ctx, table, fitted.Request{Method: method, Family: "gaussian"})
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
	fmt.Println(fit.Shape.K, "states")
	fmt.Println(said.Sections[0].Title)
	// Output:
	// 2 states
	// Transitions
}
