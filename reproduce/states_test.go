package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStatesOfLongSequencesAreFound: 1000 steps of three clear states.
func TestStatesOfLongSequencesAreFound(t *testing.T) {
	chosen, err := stateCell{1000, 1}.choose(context.Background(), 1)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 3, 3, 3, 3}, chosen[:5])
}
