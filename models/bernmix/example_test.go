package bernmix_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bernmix"
)

// Yes-or-no columns of the animals of a zoo, with the hyperparameters that the theory recommends for prediction.
func Example() {
	zoo, err := data.Load("zoo")
	if err != nil {
		panic(err)
	}
	if zoo, err = zoo.Select("hair", "feathers", "eggs", "milk", "airborne", "aquatic"); err != nil {
		panic(err)
	}
	x, rows, cols, err := zoo.Values()
	if err != nil {
		panic(err)
	}
	table, err := blocks.FromIncomplete(x, rows, cols)
	if err != nil {
		panic(err)
	}
	advice, err := bernmix.Recommend(bernmix.Prediction, cols)
	if err != nil {
		panic(err)
	}
	m := bernmix.VB(advice.A, advice.B)
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 8, Method: framework.EM, Restarts: 5})
	if err != nil {
		panic(err)
	}
	predictive, err := bernmix.Predict(m, res.Parameters)
	if err != nil {
		panic(err)
	}
	animal, err := blocks.FromSlice([]float64{0, 1, 1, 0, 1, 0}, 1, cols)
	if err != nil {
		panic(err)
	}
	logProb, err := predictive.LogProb(animal.All(), nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("a = %.1f, b = %.1f; a bird that flies: ln p = %.2f\n", advice.A, advice.B, logProb[0])
	// Output:
	// a = 0.0, b = 1.0; a bird that flies: ln p = -7.17
}
