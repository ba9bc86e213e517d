package reproduce

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // the same cases in every run
	"github.com/latent-go/latent/internal/ticks"
)

// TestTicksAreThoseOfGonum: pages of the command, which are drawn without gonum/plot, have the places that it labels on axes of
// positive numbers. Below 0 it takes any label for 0, as the remainder of a negative number is negative: −9, −3, 3 for −10, −5, 0.
func TestTicksAreThoseOfGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log size"))
		lo := size * rapid.Float64Range(0, 1).Draw(t, "lo")
		hi := lo + size*rapid.Float64Range(0.01, 2).Draw(t, "range")
		var values []float64
		for _, tick := range (plot.DefaultTicks{}).Ticks(lo, hi) {
			if !tick.IsMinor() {
				values = append(values, tick.Value)
			}
		}
		require.Equal(t, values, ticks.Between(lo, hi))
	})
}
