package experts_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/experts"
)

// Two classes of a measurement, the second more frequent the older somebody is.
func Example() {
	rng, x := rand.New(rand.NewPCG(1, 2)), []float64(nil)
	for range 300 {
		age, level := 20+60*rng.Float64(), 5.0
		if rng.Float64() < (age-20)/60 {
			level = 9
		}
		x = append(x, age, level+rng.NormFloat64()/2)
	}
	table, err := blocks.FromSlice(x, 300, 2)
	if err != nil {
		panic(err)
	}
	m := experts.Model{Family: normal.Family{}, Gate: []int{0}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 5})
	if err != nil {
		panic(err)
	}
	two, err := blocks.FromSlice([]float64{25, 0, 75, 0}, 2, 2)
	if err != nil {
		panic(err)
	}
	prior, err := m.Prior(two.All(), res.Parameters, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d classes; at 25 years %.2f, at 75 years %.2f\n", res.Shape.K, prior[:2], prior[2:])
	// Output:
	// 2 classes; at 25 years [0.91 0.09], at 75 years [0.08 0.92]
}
