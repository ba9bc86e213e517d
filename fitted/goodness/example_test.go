package goodness_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/latent-go/latent/builtin/mixture"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/goodness"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// One class is too few for four answers that depend on each other.
func ExampleCheck() {
	rng := rand.New(rand.NewPCG(4, 4))
	const n = 400
	var codes []float64
	for i := range n {
		for range 4 {
			code := 0.0
			if rng.Float64() < 0.15+0.7*float64(i%2) {
				code = 1
			}
			codes = append(codes, code)
		}
		if rng.Float64() < 0.8 {
			codes[len(codes)-1] = codes[len(codes)-2]
		}
	}
	rows, err := blocks.FromSlice(codes, n, 4)
	if err != nil {
		log.Fatal(err)
	}
	table := &fitted.Table{Rows: rows}
	for _, name := range []string{"q1", "q2", "q3", "q4"} {
		table.Columns = append(table.Columns, data.Column{Name: name, Family: "categorical", Levels: []string{"no", "yes"}})
	}
	method, _ := mixture.Definition(nil).MethodNamed("em")
	ctx := context.Background()
	fit := func(ctx context.Context, t *fitted.Table) (*framework.Result[fitted.Found, struct{}], error) {
		request := fitted.Request{Method: method, Family: "categorical"}
		bound, err := new(mixture.Settings).Bind(ctx, t, request)
		if err != nil {
			return nil, err
		}
		return bound.Fit(ctx, framework.Options{K: 1, FixedK: true, Method: method.Engine, Criterion: framework.BIC})
	}
	found, err := fit(ctx, table)
	if err != nil {
		log.Fatal(err)
	}
	r, err := goodness.Check(ctx, found.Parameters, table, goodness.Options{
		Free: float64(found.Shape.Identifiable()),
		Refit: func(ctx context.Context, drawn *fitted.Table) (fitted.Model, error) {
			again, err := fit(ctx, drawn)
			if err != nil {
				return nil, err
			}
			return again.Parameters, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict, r.Patterns.Df)
	fmt.Println(r.Pairs.List[0].A, r.Pairs.List[0].B, r.Pairs.List[0].What)
	fmt.Println(r.Advice)
	// Output:
	// misfit 11
	// q3 q4 bivariate residual
	// [try one more class; or leave out "q3" or "q4", which depend on each other within classes]
}
