package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFactorsOfManyRowsAreFound: a table of 2000 rows from three clear factors.
func TestFactorsOfManyRowsAreFound(t *testing.T) {
	chosen, err := factorCell{d: 20, k: 3, n: 2000}.choose(context.Background(), 1)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 3, 3}, chosen[:3])
	chosen, err = factorCell{d: 12, k: 3, n: 100, missing: true}.choose(context.Background(), 1)
	require.NoError(t, err)
	for _, k := range chosen {
		assert.Positive(t, k)
	}
}
