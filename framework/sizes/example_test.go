package sizes_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// Values of the evidence compare between structures, families and models of the same rows: here two groups, as rows in no
// order and as states of a chain, which these rows follow one after the other.
func ExamplePosterior() {
	x := []float64{1.2, 3.1, 0.8, 2.7, 1.0, 3.3, 1.5, 2.9, 0.9, 3.0, 6.1, 7.9, 5.8, 8.4, 6.3, 8.0, 5.9, 8.2, 6.2, 7.7}
	table := must(blocks.FromSlice(x, 10, 2))
	chain := must(blocks.NewSequences(table, []int{10}))
	var values []float64
	for _, f := range []family.Family{normal.Family{}, normal.Family{Covariance: normal.EII}, normal.StudentT{}} {
		m := mixture.Model{Family: f}
		values = append(values, must(framework.Fit(context.Background(), m, table, framework.Options{K: 4})).Value)
	}
	m := hmm.Model{Family: normal.Family{Covariance: normal.EII}}
	values = append(values, must(framework.Fit(context.Background(), m, chain, framework.Options{K: 4})).Value)
	for i, p := range must(sizes.Posterior(values, nil)) {
		fmt.Printf("%s: %.1f nats, %.3f\n", []string{"full", "spherical", "Student-t", "spherical, in a chain"}[i], values[i], p)
	}
	// Output:
	// full: -32.8 nats, 0.030
	// spherical: -31.7 nats, 0.094
	// Student-t: -34.1 nats, 0.008
	// spherical, in a chain: -29.4 nats, 0.868
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
