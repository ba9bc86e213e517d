package evidence_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/evidence"
)

// How many components have these 100 answers to two yes-or-no questions?
func ExampleMixture() {
	rows := []int{0, 0, 0, 1, 1, 0, 1, 1}
	counts := []float64{45, 6, 4, 45}
	for k := 1; k <= 2; k++ {
		m := evidence.Mixture{K: k, Levels: []int{2, 2}, Alpha: 1, Beta: 0.5}
		gfic, value, err := m.ExactGFIC(context.Background(), rows, counts)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("K = %d: ln p(X|K) = %.2f, gFIC = %.2f\n", k, value, gfic)
	}
	// Output:
	// K = 1: ln p(X|K) = -143.65, gFIC = -143.19
	// K = 2: ln p(X|K) = -109.55, gFIC = -108.47
}

// The evidence of 7 heads in 10 throws under a uniform prior is B(8, 4) = 1/1320.
func ExampleAIS() {
	coin := &evidence.Metropolis{
		DrawFunc: func(rng *rand.Rand) []float64 { return []float64{rng.Float64()} },
		LogPriorFunc: func(p []float64) float64 {
			if p[0] < 0 || p[0] > 1 {
				return math.Inf(-1)
			}
			return 0
		},
		LogLikelihoodFunc: func(p []float64) float64 { return 7*math.Log(p[0]) + 3*math.Log1p(-p[0]) },
	}
	e, err := evidence.AIS(context.Background(), coin, evidence.AISOptions{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f, exact %.1f, standard error below 0.05: %t\n", e.LogEvidence, -math.Log(1320), e.StandardError < 0.05)
	// Output:
	// -7.2, exact -7.2, standard error below 0.05: true
}
