package bpca_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// million is the number of rows of the large benchmarks; -short makes it 20,000.
func million() int {
	if testing.Short() {
		return 20000
	}
	return 1000000
}

// BenchmarkMoments is the one pass over the rows.
func BenchmarkMoments(b *testing.B) {
	for _, size := range [][2]int{{million(), 30}, {million() / 200, 1000}} {
		n, d := size[0], size[1]
		src := table(b, factors(n, d, 10, 1), d)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("D=%d/workers=%d", d, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := lineargaussian.Summarize(background, src, workers)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkSolve is every K at once from the moments: the eigen-decomposition, and all
// criteria of gFAB and EM.
func BenchmarkSolve(b *testing.B) {
	for _, d := range []int{30, 300, 1000} {
		b.Run(fmt.Sprintf("D=%d", d), func(b *testing.B) {
			m := moments(b, table(b, factors(5*d, d, 10, 1), d))
			b.ReportAllocs()
			for b.Loop() {
				s, err := m.Spectrum()
				require.NoError(b, err)
				sol, err := bpca.Solve(s, 0)
				require.NoError(b, err)
				for _, c := range []framework.Criterion{framework.GFIC, framework.BICEM} {
					_, _, err := sol.Best(c)
					require.NoError(b, err)
				}
			}
		})
	}
}

// BenchmarkIteration is one iteration of gFAB: an op is an iteration, and allocs/op
// tends to 0 because nothing but the traces grows.
func BenchmarkIteration(b *testing.B) {
	const d, k = 30, 15
	src := table(b, factors(million()/250, d, 10, 1), d)
	options := framework.Options{K: k, FixedK: true, Workers: 1, Tolerance: 1e-300}
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		o := options
		o.MaxIterations = b.N
		_, err := framework.Fit(background, bpca.Model{}, src, o)
		require.NoError(b, err)
		b.ReportMetric(float64(src.Rows())*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(src.Rows())/k, "ns/(row·dimension)")
	})
	b.Run("moments", func(b *testing.B) {
		m := moments(b, src)
		b.ReportAllocs()
		b.ResetTimer()
		for done, seed := 0, uint64(0); done < b.N; seed++ { // a fit that has converged is begun anew
			o := options
			o.MaxIterations, o.Seed = min(1000, b.N-done), seed
			res, err := framework.Fit(background, bpca.Compressed{}, m.Source(), o)
			require.NoError(b, err)
			done += res.Iterations
		}
	})
}
