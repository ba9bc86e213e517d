package grouping_test

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
)

// Of three components the first two share a third of their rows, and the density between them falls to 0.9 of the lower
// peak; the third is apart.
func ExampleJoin() {
	var o grouping.Overlap
	for range 100 {
		o.Add([]float64{1, 0, 0}, 1)
		o.Add([]float64{0.5, 0.5, 0}, 1)
		o.Add([]float64{0, 1, 0}, 1)
		o.Add([]float64{0, 0, 1}, 1)
	}
	pass, none := math.Log(0.9), math.Inf(-1)
	tree, err := grouping.Join(&o, grouping.Terrain{0, pass, none, pass, 0, none, none, none, 0})
	if err != nil {
		panic(err)
	}
	groups, err := tree.Cut(tree.Proposed())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v: overlap %.2f, ridge %.2f\n", groups, tree.Joined[0].Overlap, tree.Joined[0].Ridge)
	// Output: [[0 1] [2]]: overlap 0.17, ridge 0.90
}

// Two rows, which are posteriors themselves.
func ExampleOver() {
	table, err := blocks.FromSlice([]float64{0.75, 0.25, 0.25, 0.75}, 2, 2)
	if err != nil {
		panic(err)
	}
	o, err := grouping.Over(context.Background(), table, 0, func() (grouping.Scorer, error) {
		return func(b blocks.Rows, _, _ []float64) ([]float64, []float64, error) { return nil, b.X, nil }, nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Rows, o.Assigned, o.Between(0, 1))
	// Output: [1 1] [1 1] 0.375
}
