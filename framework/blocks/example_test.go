package blocks_test

import (
	"context"
	"fmt"
	"iter"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// A matrix of gonum is a table; its rows are not copied.
func ExampleFromMatrix() {
	x := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	table := must(blocks.FromMatrix(x))
	fmt.Println(table.Dims())
	// Output: 3 2
}

func ExampleFromSlice() {
	table := must(blocks.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)) // float32 is converted once
	fmt.Println(table.Dims())
	_, err := blocks.FromSlice([]float64{1, 2, math.NaN(), 4}, 2, 2)
	fmt.Println(err)
	// Output:
	// 3 2
	// framework: row 2, column 1 is NaN: remove the row or the column, or fill the entry in
}

// NaN is a missing entry, which models integrate out where they can.
func ExampleFromIncomplete() {
	table := must(blocks.FromIncomplete([]float64{1, 2, 1, 3, math.NaN(), 2, 11, 9, 12, math.NaN(), 10, 9}, 6, 2))
	m := mixture.Model{Family: family.Poisson{}}
	res := must(framework.Fit(context.Background(), m, table, framework.Options{K: 3}))
	q := must(m.Responsibilities(table.All(), res.Parameters, nil))
	fmt.Println(mixture.Labels(q, res.Shape.K))
	// Output: [0 0 0 1 1 1]
}

// Three documents over a vocabulary of 1000 words: what is 0 takes no memory.
func ExampleFromFloat32() {
	table := must(blocks.FromFloat32([]float32{0.5, 2, 0.25, 1}, 2, 2))
	for b := range table.Lent() {
		fmt.Println(b.Row(1))
	}
	// Output: [0.25 1]
}

func ExampleFromSparse() {
	table := must(blocks.FromSparse([]int{0, 2, 3, 5}, []int{7, 999, 3, 7, 8}, []float64{2, 1, 4, 1, 1}, 1000))
	fmt.Println(table.Rows(), "rows")
	// Output: 3 rows
}

// Baskets of goods are lists of what is in them.
func ExampleFromOnes() {
	table := must(blocks.FromOnes([][]int{{0, 3}, {1}, {0, 3}, {}}, 4))
	fmt.Println(table.Rows(), "rows, of which", table.Distinct().Rows(), "differ")
	// Output: 4 rows, of which 3 differ
}

func ExampleNewSequences() {
	table := must(blocks.FromSlice([]float64{1, 2, 9, 8, 1}, 5, 1))
	src := must(blocks.NewSequences(table, []int{3, 5}))
	fmt.Println(src.Dims())
	// Output: 2 5 1
}

// Of eight answers three differ: a fit reads three rows, with the weights 4, 2 and 2.
// squares are the rows 0, 1, 4, … of a reader.
type squares int

func (n squares) Rows() int { return int(n) }

func (n squares) All(context.Context) (x, weights []float64, err error) {
	for i := range n {
		x = append(x, float64(i*i))
	}
	return x, nil, nil
}

func (n squares) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		if x, _, err := n.All(ctx); first == 0 { // one block is all there is
			yield(blocks.Rows{N: n.Rows(), D: 1, Stride: 1, X: x}, err)
		}
	}
}

func ExampleRead() {
	for b, err := range blocks.Read(squares(4), 1).Blocks(context.Background()) {
		fmt.Println(b.N, b.Row(3), err)
	}
	// Output: 4 [9] <nil>
}

func ExampleCondensed() {
	table := must(blocks.FromSlice([]float64{0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0}, 8, 2))
	ctx := context.Background()
	few, pays := blocks.Condensed(ctx, table.Blocks(ctx), table.Rows())
	fmt.Println(pays, few.Rows(), few.All().Weights)
	// Output: true 3 [4 2 2]
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
