package topics

import (
	"context"
	"testing"

	"github.com/latent-go/latent/framework"
)

// An iteration of CVB0 on 2000 documents of 100 tokens.
func BenchmarkIteration(b *testing.B) {
	x, _ := law{10, 2000, 2000, 100, 0.1, 0.05}.simulate(1)
	o := framework.Options{K: 10, Method: framework.EM, MaxIterations: b.N, Tolerance: 1e-300, NoMoves: true, Workers: 1}
	b.ResetTimer()
	res, err := framework.Fit(context.Background(), Model{}, x, o)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/res.N, "ns/token")
}
