package factor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
)

// BenchmarkSweep is everything about K = 0…10, from rows in memory: the moments, every estimate and gFIC, BIC, AIC
// and sBIC. A tenth of the rows, and of many columns, with -short.
func BenchmarkSweep(b *testing.B) {
	for _, size := range [][2]int{{100000, 30}, {5000, 1000}} {
		n, d := size[0], size[1]
		if testing.Short() {
			n /= 10
			d = max(30, d/10)
		}
		b.Run(fmt.Sprintf("N=%d,D=%d", n, d), func(b *testing.B) {
			src := table(b, draw(n, d, 5, 1))
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				m, err := lineargaussian.Summarize(background, src, 0)
				require.NoError(b, err)
				s, err := factor.Solve(m, factor.Structure{}, min(10, d/4))
				require.NoError(b, err)
				for _, c := range []framework.Criterion{framework.GFIC, framework.BIC, framework.AIC, framework.SBIC} {
					_, _, err := s.Best(c)
					require.NoError(b, err)
				}
				k, _, _ := s.Best(framework.GFIC)
				require.Equal(b, 5, k)
			}
		})
	}
}

// BenchmarkMissing is an iteration of EM on rows that miss a fifth of their entries, hardly any two of which miss the
// same.
func BenchmarkMissing(b *testing.B) {
	const n, d, k = 1000, 20, 5
	src := table(b, pierced(draw(n, d, k, 1), 0.2, nil, 1))
	b.ReportAllocs()
	o := framework.Options{K: k, Method: framework.EM, FixedK: true, Workers: 1, Tolerance: 1e-300, MaxIterations: b.N}
	_, err := framework.Fit(background, factor.Model{}, src, o)
	require.NoError(b, err)
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/n, "ns/row")
}
