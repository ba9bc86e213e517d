package fill_test

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/fill"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// One class of two columns with the correlation 0.5: the second is expected half as far from its mean as the first.
func ExampleNew() {
	plan, err := family.NewPlan(normal.Family{}, 2)
	if err != nil {
		panic(err)
	}
	f, err := fill.New(plan, []float64{0, 10, 1, 0.5, 0.5, 1}) // means, covariance
	if err != nil {
		panic(err)
	}
	rows, err := f.Fill(blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{4, math.NaN()}}, []float64{1})
	if err != nil {
		panic(err)
	}
	fmt.Println(rows)
	// Output: [4 12]
}
