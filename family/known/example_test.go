package known_test

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// The class of two of five rows is known; the label comes last in a row, and NaN stands for any class.
func ExampleLabelled() {
	free := math.NaN()
	table, err := blocks.FromIncomplete([]float64{1, 0, 2, free, 3.5, free, 5, free, 6, 1}, 5, 2)
	if err != nil {
		panic(err)
	}
	m := mixture.Model{Family: known.Labelled(normal.Family{Covariance: normal.Tied}, 2)}
	res, err := framework.Fit(context.Background(), m, table,
		framework.Options{K: 2, FixedK: true, Method: framework.EM, Criterion: framework.BIC})
	if err != nil {
		panic(err)
	}
	for k := range 2 {
		fmt.Printf("class %d: mean %.1f\n", m.Label(res.Parameters, k), res.Parameters.Component(k)[0])
	}
	// Output:
	// class 0: mean 1.9
	// class 1: mean 5.1
}

// Classes of one column with mean, variance and label: a divided class keeps its label in its first half.
func ExampleOf() {
	plan, err := family.NewPlan(known.Labelled(normal.Family{}, 2), 2)
	if err != nil {
		panic(err)
	}
	labels := known.Of(plan)
	whole, first, second := []float64{5, 1, 1}, []float64{4, 1, 1}, []float64{6, 1, 1}
	labels.Divide(whole, first, second)
	fmt.Println(labels.Label(first), labels.Label(second) == family.Free)
	// Output: 1 true
}
