package mixture_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

// A table of mixed types: a measurement, a count and a yes/no answer.
func ExampleProduct() {
	x := []float64{
		1.1, 2, 0, 0.7, 1, 0, 1.4, 3, 0, 0.9, 2, 1, 1.2, 1, 0, 0.8, 2, 0,
		5.2, 9, 1, 4.7, 12, 1, 5.5, 10, 1, 4.9, 8, 1, 5.1, 11, 0, 4.8, 9, 1,
	}
	table, err := framework.FromSlice(x, 12, 3)
	if err != nil {
		panic(err)
	}
	m := mixture.Model{Family: family.Product{family.Of{Family: family.Gaussian{Covariance: family.Diagonal}, Width: 1}, family.Poisson{}, family.Bernoulli{}}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 4})
	if err != nil {
		panic(err)
	}
	q, err := m.Responsibilities(table.All(), res.Parameters, nil)
	if err != nil {
		panic(err)
	}
	labels := mixture.Labels(q, res.Shape.K)
	fmt.Println(res.Shape.K, labels[0] == labels[5], labels[0] != labels[6])
	// Output: 2 true true
}
