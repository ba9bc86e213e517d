//go:build !race

package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// BenchmarkLogProb is a row of three full Gaussians in four columns, in one goroutine and in as many as there are
// processors, and the kernel alone.
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
	b.Run("kernel", func(b *testing.B) {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		var file struct{ Params *mixture.Parameters }
		if err := json.Unmarshal(text, &file); err != nil {
			b.Fatal(err)
		}
		score, err := mixture.Model{Family: normal.Family{}}.Scorer(file.Params)
		if err != nil {
			b.Fatal(err)
		}
		var logProb, r []float64
		for b.Loop() {
			if logProb, r, err = score(blocks.Rows{N: 1, D: 4, Stride: 4, X: row}, logProb, r); err != nil {
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
