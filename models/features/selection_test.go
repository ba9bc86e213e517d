package features

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/tier"
)

// The right number of features in 8 of 10 tables at least, of 3 and of 5, from one start, where each feature changes a
// column by 1.5 times the noise. What comes out of weaker ones is in docs/theory/features.md, section 5.
func TestNumberOfFeatures(t *testing.T) {
	few := []int{100, 300}
	seeds, ns := tier.Of[uint64](3, 3, 10), tier.Of(few, few, []int{100, 300, 1000})
	for _, isotropic := range []bool{true, false} {
		for _, k := range []int{3, 5} {
			for _, n := range ns {
				found := map[int]int{}
				for seed := range seeds {
					_, x := simulated(t, seed, k, n, 1.5, isotropic)
					res := fit(t, Model{Isotropic: isotropic}, table(t, x), framework.Options{K: k + 3, Seed: seed, Tolerance: 1e-7})
					found[res.Shape.K]++
				}
				setting := fmt.Sprintf("isotropic %v, %d features, N = %d: found %v", isotropic, k, n, found)
				t.Log(setting)
				assert.GreaterOrEqual(t, float64(found[k]), 0.8*float64(seeds)-0.5, setting)
			}
		}
	}
}
