package family_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
)

// A table of a measurement, a count and a yes/no answer, and a class of its rows: the mean and the covariance, the share of the
// rows that are below a value, and a draw.
func Example() {
	f := family.Product{family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1}, family.Poisson{}, family.Bernoulli{}}
	plan, err := family.NewPlan(f, 3)
	if err != nil {
		panic(err)
	}
	for _, n := range plan.Numbers() {
		fmt.Printf("%s of column %d\n", n.Name, n.From)
	}
	xi := []float64{10, 4, 2.5, 0.2}
	mean, covariance, err := plan.Moments(xi)
	if err != nil {
		panic(err)
	}
	fmt.Printf("mean %v, variances %.2f\n", mean, []float64{covariance.At(0, 0), covariance.At(1, 1), covariance.At(2, 2)})
	_, atMost, err := plan.Below(xi, 1, 2)
	if err != nil {
		panic(err)
	}
	fmt.Printf("P(count ≤ 2) = %.3f\n", atMost)
	// Output:
	// mean of column 0
	// variance of column 0
	// rate of column 1
	// probability of column 2
	// mean [10 2.5 0.2], variances [4.00 2.50 0.16]
	// P(count ≤ 2) = 0.544
}

// A class of a Gaussian mixture is a normal distribution of package distmv, and its columns are of package distuv.
func ExampleNewPlan() {
	plan, err := family.NewPlan(normal.Family{}, 2)
	if err != nil {
		panic(err)
	}
	xi := []float64{1, -2, 4, 1, 1, 2} // mean, covariance
	law, err := plan.Distribution(xi, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	column, err := plan.Marginal(xi, 1, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%T, ln p = %.3f; %T, ln p = %.3f\n", law, law.LogProb([]float64{0, 0}), column, column.LogProb(0))
	// Output:
	// *distmv.Normal, ln p = -4.382; distuv.Normal, ln p = -2.266
}

// What On of an exponential family returns: one factor of as many cells as columns.
func ExampleIndependent() {
	factors, err := family.Independent(family.Poisson{}, 3)
	if err != nil {
		panic(err)
	}
	size := factors[0].Layout()
	fmt.Println(size.Columns, "columns,", size.Params, "numbers a class")
	// Output: 3 columns, 3 numbers a class
}

// Without a floor, classes that collapse are errors.
func ExampleWithFloor() {
	f := family.WithFloor(normal.Family{}, family.NoFloor)
	fmt.Println(f.Name(), f.(normal.Family).Floor)
	// Output: gaussian -1
}
