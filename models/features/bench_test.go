package features

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/latent-go/latent/framework/blocks"
)

// The local step of a block of 1000 rows and 10 columns, exact and by mean field.
func BenchmarkLocalStep(b *testing.B) {
	for _, k := range []int{4, 8, 12} {
		rng := rand.New(rand.NewPCG(1, 1))
		p := example(k, 10, false, rng)
		x, err := p.Sample(1000, rng)
		if err != nil {
			b.Fatal(err)
		}
		p.Center, p.Unit, p.Floor = p.Offset, p.Noise, make([]float64, 10)
		rows := blocks.Rows{N: 1000, D: 10, Stride: 10, X: x.RawMatrix().Data}
		b.Run(fmt.Sprintf("exact/K=%d", k), func(b *testing.B) {
			s := newStatistics(k, 10)
			b.ReportAllocs()
			for b.Loop() {
				if err := (Model{}).Prepare(p, nil, s); err != nil {
					b.Fatal(err)
				}
				if _, err := (Model{}).Infer(rows, p, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(int(1000)<<k), "ns/row·state")
		})
		b.Run(fmt.Sprintf("mean field/K=%d", k), func(b *testing.B) {
			q := &Posterior{k, make([]float64, 1000*k)}
			for b.Loop() {
				if err := (MeanField{}).Update(rows, p, nil, q, q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(1000*k), "ns/row·feature")
		})
	}
}
