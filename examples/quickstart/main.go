// Command quickstart is the program of the README: a fit to a table in memory, and what can be asked of it.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

func describe(ctx context.Context, x mat.Matrix) error {
	table, err := blocks.FromMatrix(x) // or FromSlice, FromIncomplete (NaN is missing), FromSparse
	if err != nil {
		return err
	}
	m := mixture.Model{Family: normal.Family{}}
	res, err := framework.Fit(ctx, m, table, framework.Options{K: 10}) // at most ten components
	if err != nil {
		return err
	}
	law, err := m.Distribution(res.Parameters, rand.NewPCG(1, 2)) // a distmv.RandLogProber
	if err != nil {
		return err
	}
	mean, covariance, err := law.Moments(0)
	if err != nil {
		return err
	}
	q, err := law.Responsibilities(mat.NewDense(1, 2, []float64{3.2, 70})) // a *mat.Dense, p(component|row)
	if err != nil {
		return err
	}
	fmt.Printf("%d components, %s %.1f nats; the first has mean %.2f and variances %.2f, %.2f\n",
		res.Shape.K, res.Criterion, res.Value, mean, covariance.At(0, 0), covariance.At(1, 1))
	fmt.Printf("a new row: ln p = %.2f, components %.3f\n", law.LogProb([]float64{3.2, 70}), q.RawRowView(0))
	return nil
}

func main() {
	geyser, err := data.Load("faithful")
	if err != nil {
		log.Fatal(err)
	}
	x, rows, cols, err := geyser.Matrix()
	if err != nil {
		log.Fatal(err)
	}
	if err := describe(context.Background(), mat.NewDense(rows, cols, x)); err != nil {
		log.Fatal(err)
	}
}
