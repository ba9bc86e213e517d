// Command negbinomial is the own model of the README: how many kinds of years are there, by the number of large
// earthquakes, if counts may vary more than their mean?
package main

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

type negativeBinomial struct{} // counts that vary more than their mean

func (negativeBinomial) Layout(int) numeric.Layout {
	return numeric.Layout{Columns: 1,
		Component: []numeric.Parameter{numeric.Positive("mean", 1), numeric.Positive("shape", 1)}}
}

func (negativeBinomial) LogProb(x, component, _ []float64) float64 {
	mean, shape := component[0], component[1]
	together, _ := math.Lgamma(x[0] + shape)
	alone, _ := math.Lgamma(shape)
	factorial, _ := math.Lgamma(x[0] + 1)
	return together - alone - factorial + shape*math.Log(shape/(shape+mean)) + x[0]*math.Log(mean/(shape+mean))
}

func fit(counts []float64) error {
	src, err := blocks.FromSlice(counts, len(counts), 1)
	if err != nil {
		return err
	}
	m := mixture.Model{Family: numeric.Family{Density: negativeBinomial{}}}
	res, err := framework.Fit(context.Background(), m, src, framework.Options{K: 5})
	if err != nil {
		return err
	}
	fmt.Printf("K = %d, mean and shape %.1f, %s %.1f nats\n", res.Shape.K, res.Parameters.Component(0),
		res.Criterion, res.Value)
	return nil
}

func main() {
	earthquakes, err := data.Load("earthquakes") // of magnitude 7 and above, in each year
	if err != nil {
		log.Fatal(err)
	}
	counts, err := earthquakes.Column("count")
	if err != nil {
		log.Fatal(err)
	}
	if err := fit(counts); err != nil {
		log.Fatal(err)
	}
}
