package lvmtest_test

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// A model is checked on a matrix, and on the same rows in other units and in other axes.
func ExampleMatrix() {
	rng, x := rand.New(rand.NewPCG(1, 2)), mat.NewDense(100, 3, nil)
	for i := range 100 {
		group := float64(i % 2 * 10)
		x.SetRow(i, []float64{group + rng.NormFloat64(), group + rng.NormFloat64(), rng.NormFloat64()})
	}
	turned := mat.NewDense(3, 3, []float64{0, 1, 0, 1, 0, 0, 0, 0, -1})
	err := lvmtest.Check(lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model: mixture.Model{Family: normal.Family{}},
		Data:  lvmtest.Matrix(x),
		K:     []int{1, 2},
		Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("centimetres", x, []float64{100, 100, 100}), lvmtest.Affine("turned", x, turned)},
	})
	fmt.Println(err)
	// Output: <nil>
}

// A chain is checked on sequences: 20 of them, of five steps each.
func ExampleSequences() {
	rng, x, ends := rand.New(rand.NewPCG(1, 3)), mat.NewDense(100, 1, nil), []int(nil)
	for t := range 100 {
		x.Set(t, 0, float64(t/5%2*8)+rng.NormFloat64())
		if t%5 == 4 {
			ends = append(ends, t+1)
		}
	}
	err := lvmtest.Check(lvmtest.Case[blocks.Sequences, *hmm.Parameters, *hmm.Statistics]{
		Model: hmm.Model{Family: normal.Family{}},
		Data:  lvmtest.Sequences(x, ends),
		K:     []int{1, 2},
	})
	fmt.Println(err)
	// Output: <nil>
}
