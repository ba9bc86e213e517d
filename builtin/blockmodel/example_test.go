package blockmodel_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/latent-go/latent/builtin/blockmodel"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

// Two circles of friends, each of whom knows all others of the own.
func ExampleDefinition() {
	names := []string{"Ann", "Ben", "Cat", "Dan", "Eve", "Fay", "Gus", "Hal"}
	friends := &fitted.Pairs{Names: [2][]string{names, names}}
	for i := range names {
		for j := i + 2; j < len(names); j += 2 {
			friends.Index[0], friends.Index[1] = append(friends.Index[0], i), append(friends.Index[1], j)
		}
	}
	model, ctx := blockmodel.Definition(nil), context.Background()
	method := model.Methods[0]
	bound, err := new(blockmodel.Settings).Bind(ctx, &fitted.Table{Pairs: friends}, fitted.Request{Method: method})
	if err != nil {
		log.Fatal(err)
	}
	o := framework.Options{K: bound.KMax, Restarts: bound.Starts, Criterion: method.Criteria[0]}
	fit, err := bound.Fit(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	said, err := fit.Parameters.(fitted.Describer).Describe()
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range said.Finding.Items {
		nodes, _, _ := strings.Cut(block.Text, ".")
		fmt.Println(block.Name, nodes)
	}
	// Output:
	// Block 1 Nodes Ann, Cat, Eve and 1 more
	// Block 2 Nodes Ben, Dan, Fay and 1 more
}
