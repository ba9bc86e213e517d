package features_test

import (
	"context"
	"fmt"
	"log"

	"github.com/latent-go/latent/builtin/features"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// The four groups of ruspini are two features, and both of them, and none.
func ExampleDefinition() {
	t, err := data.Load("ruspini")
	if err != nil {
		log.Fatal(err)
	}
	x, n, d, err := t.Matrix()
	if err != nil {
		log.Fatal(err)
	}
	rows, err := blocks.FromSlice(x, n, d)
	if err != nil {
		log.Fatal(err)
	}
	table := &fitted.Table{Columns: []data.Column{{Name: "x"}, {Name: "y"}}, Rows: rows}
	model, ctx := features.Definition(nil), context.Background()
	method := model.Methods[0]
	bound, err := new(features.Settings).Bind(ctx, table, fitted.Request{Method: method})
	if err != nil {
		log.Fatal(err)
	}
	o := framework.Options{K: bound.KMax, Restarts: model.Starts, Method: method.Engine, Criterion: framework.GFIC}
	fit, err := bound.Fit(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d features, %s %.2f\n", fit.Shape.K, fit.Criterion, fit.Value)
	// Output: 2 features, gFIC -682.85
}
