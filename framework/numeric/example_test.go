package numeric_test

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// gumbel is the distribution of yearly maxima, such as those of a river: with a location and a scale.
type gumbel struct{}

func (gumbel) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("location", 1), numeric.Positive("scale", 1)}}
}

func (gumbel) LogProb(x, component, _ []float64) float64 {
	location, scale := component[0], component[1]
	z := (x[0] - location) / scale
	return -z - math.Exp(-z) - math.Log(scale)
}

// The log density of a row in a component is a model.
func Example() {
	var x []float64
	for _, location := range []float64{1, 9} {
		for i := range 25 { // quantiles of the distribution
			x = append(x, location-0.5*math.Log(-math.Log((float64(i)+0.5)/25)))
		}
	}
	table, err := blocks.FromSlice(x, 50, 1)
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: gumbel{}}}, table, framework.Options{K: 4})
	if err != nil {
		panic(err)
	}
	for k := range res.Shape.K {
		fmt.Printf("%.2f of the rows at %.1f\n", res.Parameters.Weights[k], res.Parameters.Component(k)[0])
	}
	// Output:
	// 0.50 of the rows at 9.0
	// 0.50 of the rows at 1.0
}

// What the numbers of a model may be.
func ExampleReal() {
	for _, p := range []numeric.Parameter{
		numeric.Real("location", 2),               // any number
		numeric.Positive("scale", 1),              // above 0
		numeric.Rate("rate", 1),                   // 0 or more
		numeric.Probability("share", 1),           // from 0 to 1
		numeric.Simplex("categories", 3),          // probabilities that sum to 1
		numeric.SPD("covariance", 2),              // a positive definite matrix
		numeric.Interval("correlation", 1, -1, 1), // from one number to another
		numeric.Ordered("thresholds", 3),          // ascending numbers
		numeric.Discrete("trials", 1),             // what Guess and Estimate say
	} {
		fmt.Print(p.Name, " ")
	}
	// Output: location scale rate share categories covariance correlation thresholds trials
}
