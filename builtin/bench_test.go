package builtin_test

import (
	"path/filepath"
	"testing"

	"github.com/latent-go/latent/builtin"
)

// BenchmarkLogProb is a row of three full Gaussians in four columns, in one goroutine and in as many as there are processors.
func BenchmarkLogProb(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.json")
	latent(b, "fit --data iris --k 3 --method em --restarts 1 --out "+path)
	m, err := builtin.Load(path)
	if err != nil {
		b.Fatal(err)
	}
	row := []float64{5.1, 3.5, 1.4, 0.2}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.LogProb(row); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := m.LogProb(row); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
