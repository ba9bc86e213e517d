package mixture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// BenchmarkIteration is a local and a global step: ns a row and component, no allocation.
func BenchmarkIteration(b *testing.B) {
	const n = 20000
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		family family.Family
		d, k   int
		draw   func(component int) float64
	}{
		{normal.Family{}, 2, 10, nil},
		{normal.Family{}, 5, 20, nil},
		{normal.Family{}, 10, 10, nil},
		{normal.Family{}, 50, 10, nil},
		{normal.Family{Covariance: normal.Diagonal}, 10, 10, nil},
		{normal.Family{Covariance: normal.Diagonal}, 50, 10, nil},
		{family.Bernoulli{}, 200, 10, func(k int) float64 { return float64(min(1, rng.IntN(k+2))) }},
		{family.Poisson{}, 10, 10, func(k int) float64 { return float64(rng.IntN(5 + k)) }},
	} {
		b.Run(fmt.Sprintf("%s/D=%d/K=%d", c.family.Name(), c.d, c.k), func(b *testing.B) {
			x := make([]float64, 0, n*c.d)
			for range n {
				k := rng.IntN(c.k)
				for range c.d {
					if c.draw == nil {
						x = append(x, rng.NormFloat64()+float64(k))
					} else {
						x = append(x, c.draw(k))
					}
				}
			}
			src, err := blocks.FromSlice(x, n, c.d)
			require.NoError(b, err)
			m := mixture.Model{Family: c.family}
			p, err := m.Init(context.Background(), src, c.k, rng)
			require.NoError(b, err)
			s := m.NewStatistics(p)
			q, err := m.Maximize(mustStep(b, m, src, p, s), p, nil)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				q, err = m.Maximize(mustStep(b, m, src, p, s), p, q)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/float64(c.k), "ns/(row·component)")
		})
	}
}

func mustStep(b *testing.B, m mixture.Model, src *blocks.Table, p *mixture.Parameters, s *mixture.Statistics) *mixture.Statistics {
	if err := m.Prepare(p, nil, s); err != nil {
		b.Fatal(err)
	}
	for block := range src.Blocks(context.Background()) {
		if _, err := m.Infer(block, p, s); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkSeparated is a local and a global step on components of unit covariance with means
// N(0, s²I), after 20 iterations.
func BenchmarkSeparated(b *testing.B) {
	const n, k = 20000, 10
	for _, d := range []int{10, 20, 50} {
		for _, s := range []float64{1, 3, 6, 10} {
			b.Run(fmt.Sprintf("D=%d/s=%v", d, s), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				means := make([]float64, k*d)
				for i := range means {
					means[i] = s * rng.NormFloat64()
				}
				x := make([]float64, 0, n*d)
				for range n {
					for _, m := range means[rng.IntN(k)*d:][:d] {
						x = append(x, m+rng.NormFloat64())
					}
				}
				src, err := blocks.FromSlice(x, n, d)
				require.NoError(b, err)
				m := mixture.Model{Family: normal.Family{}}
				p, err := m.Init(context.Background(), src, k, rng)
				require.NoError(b, err)
				st := m.NewStatistics(p)
				for range 20 {
					p, err = m.Maximize(mustStep(b, m, src, p, st), p, nil)
					require.NoError(b, err)
				}
				q, err := m.Maximize(mustStep(b, m, src, p, st), p, nil)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					q, err = m.Maximize(mustStep(b, m, src, p, st), p, q)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/k, "ns/(row·component)")
			})
		}
	}
}
