package blocks_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
)

// TestFaultsOfDataSayWhere, counting from 1 in words and from 0 in numbers, through wrapping and joining.
func TestFaultsOfDataSayWhere(t *testing.T) {
	for want, err := range map[string]error{
		"row 3, column 2 is NaN: remove the row or the column, or fill the entry in":  blocks.NotFinite(2, 1, math.NaN()),
		"row 3, column 2 is -Inf: remove the row or the column, or fill the entry in": blocks.NotFinite(2, 1, math.Inf(-1)),
		"row 3, column 2 is missing: complete rows are needed":                        &blocks.DataError{Row: 2, Column: 1, Value: math.NaN(), Reason: errors.New("complete rows are needed")},
		"row 3, column 2 is 0.5: a count is needed":                                   &blocks.DataError{Row: 2, Column: 1, Value: 0.5, Reason: errors.New("a count is needed")},
		"row 3 has 4 columns": blocks.FaultyRow(2, "has %d columns", 4),
		"column 2 is constant, to working precision: drop it, or rescale it": blocks.FaultyColumn(1, blocks.ErrConstant),
	} {
		require.EqualError(t, err, want)
		var fault *blocks.DataError
		require.ErrorAs(t, errors.Join(errors.New("another"), fmt.Errorf("restart 1: %w", err)), &fault)
		assert.ErrorIs(t, err, fault.Reason)
		assert.Contains(t, []int{2, -1}, fault.Row)
		assert.Contains(t, []int{1, -1}, fault.Column)
	}
	require.ErrorIs(t, blocks.FaultyColumn(1, blocks.ErrConstant), blocks.ErrConstant)
}
