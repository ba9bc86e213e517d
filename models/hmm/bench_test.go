package hmm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// spread are k states of three diagonal Gaussian columns.
func spread(k int) *hmm.Parameters {
	rng := rand.New(rand.NewPCG(1, 2))
	stay := make([]float64, k)
	p := &hmm.Parameters{K: k, D: 3}
	for i := range stay {
		stay[i] = 0.9
		p.Start = append(p.Start, 1/float64(k))
		for range 3 {
			p.Components = append(p.Components, 2*rng.NormFloat64())
		}
		p.Components = append(p.Components, 1, 1, 1)
	}
	p.Transitions = stays(stay...)
	return p
}

// An iteration of EM, start and end of the fit left out, by the length of the sequences.
func BenchmarkIteration(b *testing.B) {
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Workers: 1}
	for _, k := range []int{4, 10} {
		for _, length := range []int{100, 1_000_000} {
			b.Run(fmt.Sprintf("K=%d/length=%d", k, length), func(b *testing.B) {
				p := spread(k)
				lengths := make([]int, 1_000_000/length)
				for i := range lengths {
					lengths[i] = length
				}
				x, _, err := m.Sample(p, lengths, rand.New(rand.NewPCG(3, 4)))
				require.NoError(b, err)
				table, err := blocks.FromSlice(x, len(x)/3, 3)
				require.NoError(b, err)
				ends := make([]int, len(lengths))
				endsOf(lengths, ends)
				src, err := blocks.NewSequences(table, ends)
				require.NoError(b, err)
				s := m.NewStatistics(p)
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, m.Prepare(p, nil, s))
					for block, err := range src.Blocks(context.Background()) {
						require.NoError(b, err)
						_, err = m.Infer(block, p, s)
						require.NoError(b, err)
					}
					_, err = m.Maximize(s, p, nil)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/step")
			})
		}
	}
}
