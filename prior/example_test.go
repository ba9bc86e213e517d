package prior_test

import (
	"fmt"

	"github.com/latent-go/latent/prior"
)

// The chance of a one after 7 ones in 10 rows, under Jeffreys' prior: variational
// Bayes takes the expected logarithms, a MAP estimate the mode.
func Example() {
	before := prior.Jeffreys{}.Beta()
	after := prior.Beta{A: before.A + 7, B: before.B + 3}
	lnP, lnQ := after.ExpectedLog()
	mode, err := after.Mode()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("E[ln μ] = %.3f, E[ln(1−μ)] = %.3f nats\n", lnP, lnQ)
	fmt.Printf("mode %.3f, mean %.3f\n", mode, after.Mean())
	fmt.Printf("ln p(X) = %.3f nats\n", after.LogNorm()-before.LogNorm())
	// Output:
	// E[ln μ] = -0.405, E[ln(1−μ)] = -1.249 nats
	// mode 0.722, mean 0.682
	// ln p(X) = -7.514 nats
}

// A posterior of the mean and the covariance from the statistics of four rows, and the
// MAP covariance, which exists though four rows are few.
func ExampleNormalInverseWishart() {
	before, err := prior.DataScaled{}.Wishart([]float64{0, 0}, []float64{1, 0.5, 0.5, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, scatter := []float64{1, 0}, []float64{2, 2, 2, 2} // of four rows on a line
	after := before.Update(4, mean, scatter, prior.NormalInverseWishart{})
	fmt.Printf("Kappa %v, Nu %v, mean %v\n", after.Kappa, after.Nu, after.Mean)
	fmt.Printf("Ψ %.2f, divided by %v\n", after.Scale, after.ModeDivisor())
	// Output:
	// Kappa 5, Nu 6, mean [0.8 0]
	// Ψ [3.80 2.50 2.50 3.00], divided by 10
}

// A model whose evidence has one kind of prior takes that kind, and refuses what is none.
func ExampleAsUnitInformation() {
	u, err := prior.AsUnitInformation(prior.UnitInformation{Rows: 2})
	fmt.Println(u.RowsOr(), err)
	u, err = prior.AsUnitInformation(nil)
	fmt.Println(u.RowsOr(), u.CovarianceOr(9), err)
	_, err = prior.AsUnitInformation(prior.UnitInformation{Rows: -1})
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// 1 3 <nil>
	// prior: UnitInformation.Rows is -1: give a positive finite number, or 0 for the default
}
