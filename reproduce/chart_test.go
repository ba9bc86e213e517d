package reproduce

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTicksTellTheirValues: a label reads back as its tick's value, also where gonum's would
// be rounded.
func TestTicksTellTheirValues(t *testing.T) {
	for _, of := range [][2]float64{{-1.507, -0.8}, {0, 1}, {-12.5, 2.5}, {17, 40}, {0.001, 0.0017}, {0, 2e5}} {
		majors := 0
		for _, tick := range (labelled{}).Ticks(of[0], of[1]) {
			if tick.IsMinor() {
				continue
			}
			majors++
			v, err := strconv.ParseFloat(tick.Label, 64)
			require.NoError(t, err)
			assert.InDelta(t, tick.Value, v, 1e-9*(of[1]-of[0]), "%v", of)
		}
		assert.GreaterOrEqual(t, majors, 2, "%v", of)
	}
}
