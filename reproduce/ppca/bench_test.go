package ppca

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDraw is the likelihood at one W and its gradient; ns/product is per
// multiplication in its three products of order D²K.
func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct{ d, k int }{{10, 3}, {50, 10}, {200, 20}} {
		b.Run(fmt.Sprintf("D=%d,K=%d", c.d, c.k), func(b *testing.B) {
			s, p := statistics(b, sample(2*c.d, c.d, []float64{2}, 0.5, 1), c.d), somewhere(c.d, c.k, true, 1)
			grad := make([]float64, c.d*c.k)
			at(s, p, p.Means, grad)
			b.ReportAllocs()
			for b.Loop() {
				s.logLikelihood(p, grad)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(3*c.d*c.d*c.k), "ns/product")
		})
	}
}

// BenchmarkIteration is an iteration of the engine's without the engine: the steps of Adam and
// the bound.
func BenchmarkIteration(b *testing.B) {
	for _, c := range []struct {
		d, k     int
		diagonal bool
	}{{10, 3, false}, {10, 3, true}, {50, 10, false}, {50, 10, true}} {
		b.Run(fmt.Sprintf("D=%d,K=%d,diagonal=%v", c.d, c.k, c.diagonal), func(b *testing.B) {
			s, p := statistics(b, sample(200, c.d, []float64{2}, 0.5, 1), c.d), somewhere(c.d, c.k, c.diagonal, 1)
			m := Model{Noise: 0.7, PriorVariance: 1.3}
			q := p.copyTo(nil)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				q, err = m.Maximize(s, p, q)
				require.NoError(b, err)
				m.LogJoint(s, q)
			}
		})
	}
}
