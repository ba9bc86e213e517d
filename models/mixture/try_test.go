package mixture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	. "github.com/latent-go/latent/models/mixture"
)

func load(t testing.TB, name string) *framework.Table {
	d, err := data.Load(name)
	require.NoError(t, err)
	set, _ := data.Lookup(name)
	if set.Label != "" {
		d, err = d.Drop(set.Label)
		require.NoError(t, err)
	}
	x, n, c, err := d.Matrix()
	require.NoError(t, err)
	tab, err := framework.FromSlice(x, n, c)
	require.NoError(t, err)
	return tab
}

func TestTry(t *testing.T) {
	for _, name := range []string{"iris", "faithful"} {
		tab := load(t, name)
		for seed := range uint64(10) {
			res, err := framework.Fit(context.Background(), Model{Family: Gaussian{}}, tab, framework.Options{K: 8, Seed: seed})
			if err != nil {
				fmt.Println(name, seed, err)
				continue
			}
			fmt.Println(name, seed, res.Shape.K, res.Value, res.Status, res.Iterations, res.Passes, res.Fall, res.KTrace[0])
		}
	}
}

func TestTry2(t *testing.T) {
	for draw := range uint64(3) {
		rng := rand.New(rand.NewPCG(draw, 7))
		n, d, k := 20000, 5, 6
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
		for seed := range uint64(3) {
			t0 := time.Now()
			res, err := framework.Fit(context.Background(), Model{Family: Gaussian{}}, tab, framework.Options{K: 20, Seed: seed})
			if err != nil {
				fmt.Println(draw, seed, err)
				continue
			}
			fmt.Println(draw, seed, res.Shape.K, res.Value, res.Status, res.Iterations, res.Passes, res.Fall, time.Since(t0))
		}
	}
}
