package ticks_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // the same cases in every run
	"github.com/latent-go/latent/internal/ticks"
)

// Ticks that a reader could take for each other are of no use.
func TestLabelsAreToldApart(t *testing.T) {
	assert.Equal(t, []string{"-37.68", "-37.66", "-37.64"}, ticks.Labels([]float64{-37.68, -37.66, -37.64}))
	assert.Equal(t, []string{"-1.50", "-1.25", "-1.00"}, ticks.Labels([]float64{-1.5, -1.25, -1}))
	assert.Equal(t, []string{"0.5", "1.0"}, ticks.Labels([]float64{0.5, 1}))
	assert.Equal(t, []string{"-20", "0", "20"}, ticks.Labels([]float64{-20, 1e-15, 20}))
	assert.Equal(t, []string{"1e+09", "2e+09"}, ticks.Labels([]float64{1e9, 2e9}))
	assert.Equal(t, []string{"3"}, ticks.Labels([]float64{3}))
	assert.Empty(t, ticks.Labels(nil))
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + math.Pow(10, rapid.Float64Range(-2, 7).Draw(t, "log range"))
		var values []float64
		for _, tick := range (plot.DefaultTicks{}).Ticks(lo, hi) {
			if !tick.IsMinor() {
				values = append(values, tick.Value)
			}
		}
		last := math.Inf(-1)
		for i, label := range ticks.Labels(values) {
			v, err := strconv.ParseFloat(label, 64)
			require.NoError(t, err)
			require.Greater(t, v, last)
			require.InDelta(t, values[i], v, (hi-lo)/100)
			last = v
		}
	})
}
