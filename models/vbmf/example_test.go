package vbmf_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/vbmf"
)

// A matrix of rank 2 in noise: its rank by variational Bayes and by the criteria of probabilistic PCA, the factors, and how much of
// the matrix they are.
func Example() {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	normal := func(rows, columns int) *mat.Dense {
		m := mat.NewDense(rows, columns, nil)
		m.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, m)
		return m
	}
	y := normal(60, 8)
	var signal mat.Dense
	signal.Mul(normal(60, 2), normal(2, 8))
	y.Add(y, &signal)
	table, err := blocks.FromMatrix(y)
	if err != nil {
		panic(err)
	}

	spectrum, err := vbmf.Decompose(ctx, table, 0)
	if err != nil {
		panic(err)
	}
	solution, err := spectrum.Complete(vbmf.Options{})
	if err != nil {
		panic(err)
	}
	chosen, err := vbmf.Compare(ctx, table, 1)
	if err != nil {
		panic(err)
	}
	p, _, err := vbmf.PPCA(ctx, table, vbmf.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("rank %d, noise %.2f; by gFIC %d, by BIC %d\n", solution.Rank, solution.Noise, chosen.GFAB, chosen.BIC)
	fmt.Println("loadings of PCA:", p.D, "×", p.K)
	// Output:
	// rank 2, noise 0.90; by gFIC 2, by BIC 2
	// loadings of PCA: 8 × 2
}

// Priors that correlate across the factors have a solution in closed form as well.
func ExampleSolveCorrelated() {
	table, err := blocks.FromSlice([]float64{4, 2, 0, 8, 4, 0, 4, 2, 1, -4, -2, 0}, 4, 3)
	if err != nil {
		panic(err)
	}
	prior := mat.NewSymDense(2, []float64{1, 0.5, 0.5, 1})
	q, err := vbmf.SolveCorrelated(context.Background(), table, prior, prior, nil, 0.1)
	if err != nil {
		panic(err)
	}
	fmt.Printf("rank %d, first factor of the rows %.2f\n", q.Rank, mat.Col(nil, 0, q.B))
	// Output:
	// rank 2, first factor of the rows [-1.02 -2.03 -0.52 1.02]
}
