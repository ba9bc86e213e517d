package ticks_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		values := ticks.Between(lo, hi)
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

// Labels lie within the axis, are equally far apart, and no axis is without them.
func TestPlacesLieOnTheAxis(t *testing.T) {
	assert.Equal(t, []float64{0, 0.5, 1}, ticks.Between(0, 1))
	assert.Equal(t, []float64{-20, 0, 20}, ticks.Between(-22, 31))
	assert.Equal(t, []float64{3e300, 4e300, 5e300}, ticks.Between(2.9e300, 5.1e300))
	near := math.Nextafter(1e9, 2e9)
	assert.Equal(t, []float64{1e9, 1e9, near}, ticks.Between(1e9, near), "nothing lies between them")
	assert.Equal(t, []float64{0.01, 0.1, 1, 10}, ticks.Decades(0.003, 10))
	assert.Equal(t, []float64{-5, 0, 5, 10}, ticks.Whole(-8.5, 14))
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")
		hi := lo + math.Pow(10, rapid.Float64Range(-6, 300).Draw(t, "log range"))
		values := ticks.Between(lo, hi)
		require.GreaterOrEqual(t, len(values), 2)
		require.LessOrEqual(t, len(values), 6)
		require.GreaterOrEqual(t, values[0], lo)
		require.LessOrEqual(t, values[len(values)-1], hi)
		for i := range len(values) - 2 {
			require.InDelta(t, 1, (values[i+2]-values[i+1])/(values[i+1]-values[i]), 1e-3)
		}
	})
}
