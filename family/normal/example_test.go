package normal_test

import (
	"fmt"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
)

// A class of a Gaussian mixture has a mean and a covariance, and a density that package distmv knows.
func Example() {
	plan, err := family.NewPlan(normal.Family{}, 2)
	if err != nil {
		panic(err)
	}
	xi := []float64{1, -2, 4, 1, 1, 2} // mean, covariance
	mean, covariance, err := plan.Moments(xi)
	if err != nil {
		panic(err)
	}
	law, err := plan.Distribution(xi, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("mean %v, covariance %.0f, ln p(0) = %.3f\n", mean, covariance.At(0, 1), law.LogProb([]float64{0, 0}))
	// Output: mean [1 -2], covariance 1, ln p(0) = -4.382
}

// The covariance structures by the names of mclust, and what fits of each are called.
func ExampleStructures() {
	names, forms := normal.Structures()
	for i := range names[:4] {
		fmt.Println(names[i], normal.Family{Covariance: forms[i]}.Name())
	}
	// Output:
	// EII gaussian-eii
	// VII gaussian-spherical
	// EEI gaussian-eei
	// VEI gaussian-vei
}
