package vbmf

import (
	"fmt"
	"testing"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// BenchmarkSolve: everything estimated, rank 20. ns/L²M shows whether the time grows as
// the smaller side squared times the larger.
func BenchmarkSolve(b *testing.B) {
	for _, size := range [][2]int{{100, 300}, {200, 600}, {500, 1500}, {1000, 3000}, {100, 3000}, {100, 30000}} {
		l, m := size[0], size[1]
		b.Run(fmt.Sprintf("%dx%d", l, m), func(b *testing.B) {
			t, err := blocks.FromMatrix(artificial(l, m, 20, 1))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Solve(background, t, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l*l*m), "ns/L²M")
		})
	}
}

// BenchmarkIteration is one iteration of the algorithms that Solve replaces, at full rank.
func BenchmarkIteration(b *testing.B) {
	for _, columnWise := range []bool{false, true} {
		b.Run(fmt.Sprintf("column-wise=%v", columnWise), func(b *testing.B) {
			b.ReportAllocs()
			t, err := blocks.FromMatrix(artificial(100, 300, 20, 1))
			if err != nil {
				b.Fatal(err)
			}
			_, err = framework.Fit(background, Iterative{ColumnWise: columnWise}, t, framework.Options{K: 100, Method: framework.EM, MaxIterations: b.N, Tolerance: 1e-300, Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
