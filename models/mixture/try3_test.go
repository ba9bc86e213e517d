package mixture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/latent-go/latent/framework"
	. "github.com/latent-go/latent/models/mixture"
)

func six(draw uint64, n int) *framework.Table {
	rng := rand.New(rand.NewPCG(draw, 7))
	d, k := 5, 6
	mean := make([]float64, k*d)
	for i := range mean {
		mean[i] = 2.5 * rng.NormFloat64()
	}
	w := make([]float64, k)
	sum := 0.0
	for i := range w {
		for range 5 {
			w[i] += rng.ExpFloat64()
		}
		sum += w[i]
	}
	x := make([]float64, 0, n*d)
	for range n {
		u := rng.Float64() * sum
		c := 0
		for c = range w {
			if u -= w[c]; u < 0 {
				break
			}
		}
		for j := range d {
			x = append(x, mean[c*d+j]+rng.NormFloat64())
		}
	}
	tab, _ := framework.FromSlice(x, n, d)
	return tab
}

func TestTry3(t *testing.T) {
	res, _ := framework.Fit(context.Background(), Model{Family: Gaussian{}}, six(0, 20000), framework.Options{K: 20, Seed: 0})
	for _, p := range res.Pruned {
		fmt.Println(p.Iteration, p.K, p.Rule, p.Relevance)
	}
	for i := 0; i < len(res.Trace); i += 20 {
		fmt.Println(i, res.KTrace[i], res.Trace[i], res.Objective[i])
	}
	fmt.Println(res.Passes, res.Iterations)
}
