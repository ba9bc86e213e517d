package hmm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// Years with few, some and many earthquakes follow one another.
func Example() {
	ctx := context.Background()
	table, err := blocks.FromSlice(earthquakes, len(earthquakes), 1)
	if err != nil {
		log.Fatal(err)
	}
	src, err := blocks.NewSequences(table, nil)
	if err != nil {
		log.Fatal(err)
	}
	m := hmm.Model{Family: family.Poisson{}}
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 8, Restarts: 4})
	if err != nil {
		log.Fatal(err)
	}
	p, err := m.Canonical(res.Parameters)
	if err != nil {
		log.Fatal(err)
	}
	durations := m.Durations(p)
	for k := range p.K {
		fmt.Printf("%.1f a year, for %.0f years\n", p.Component(k)[0], durations[k])
	}
	next, err := m.Forecast(src.All(), p, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("2007: %.2f\n", next)
	// Output:
	// 19.8 a year, for 7 years
	// 13.1 a year, for 8 years
	// 30.0 a year, for 3 years
	// 2007: [0.08 0.87 0.05]
}
