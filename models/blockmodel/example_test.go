package blockmodel_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/models/blockmodel"
)

// Two groups of four friends, who know one another, and one friendship between the groups.
func Example() {
	list := blockmodel.EdgeList{Nodes: 8}
	for _, group := range []int{0, 4} {
		for i := range 4 {
			for j := range i {
				list.Edges = append(list.Edges, blockmodel.Edge{From: group + i, To: group + j, Weight: 1})
			}
		}
	}
	list.Edges = append(list.Edges, blockmodel.Edge{From: 0, To: 7, Weight: 1})
	g, err := list.Graph()
	if err != nil {
		panic(err)
	}
	found, err := blockmodel.Find(context.Background(), g, blockmodel.SearchOptions{Seed: 1})
	if err != nil {
		panic(err)
	}
	one, err := blockmodel.Label(g, make([]int, 8), blockmodel.Prior{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d blocks of %v nodes, %.1f nats above one block\n", found.K, found.Sizes, found.Value-one.Value)
	// Output:
	// 2 blocks of [4 4] nodes, 6.0 nats above one block
}
