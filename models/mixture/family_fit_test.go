package mixture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

type pair struct {
	family mixture.ExponentialFamily
	xi     [2][]float64
	copies int
	trials int
}

func pairs() []pair {
	return []pair{
		{mixture.Poisson{}, [2][]float64{{2}, {12}}, 3, 1},
		{mixture.Bernoulli{}, [2][]float64{{0.1}, {0.9}}, 8, 1},
		{mixture.Categorical{Levels: 3}, [2][]float64{{0.8, 0.1, 0.1}, {0.1, 0.1, 0.8}}, 6, 1},
		{mixture.Multinomial{Categories: 3}, [2][]float64{{0.8, 0.1, 0.1}, {0.1, 0.1, 0.8}}, 1, 12},
		{mixture.Exponential{}, [2][]float64{{0.1}, {5}}, 4, 1},
		{mixture.Gamma{}, [2][]float64{{2, 4}, {20, 2}}, 8, 1},
	}
}

func (p pair) rows(n int, rng *rand.Rand) []float64 {
	w := p.family.Columns()
	var x []float64
	one := make([]float64, w)
	for i := range n {
		xi := p.xi[0]
		if 5*i >= 2*n {
			xi = p.xi[1]
		}
		for range p.copies {
			row := make([]float64, w)
			for range p.trials {
				p.family.Sample(xi, rng, one)
				for j, v := range one {
					row[j] += v
				}
			}
			x = append(x, row...)
		}
	}
	return x
}

func TestX(t *testing.T) {
	for _, p := range pairs() {
		n, d := 300, p.copies*p.family.Columns()
		src, err := framework.FromSlice(p.rows(n, rand.New(rand.NewPCG(1, 2))), n, d)
		require.NoError(t, err)
		for seed := range uint64(5) {
			r, err := framework.Fit(context.Background(), mixture.Model{Family: p.family}, src, framework.Options{K: 6, Seed: seed})
			if err != nil {
				fmt.Println(p.family.Name(), seed, err)
				continue
			}
			fmt.Println(p.family.Name(), seed, r.Shape.K, r.Value, r.Status, r.Iterations, r.Parameters.Weights, r.Parameters.Components)
		}
	}
}
