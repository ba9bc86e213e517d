package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/models/features"
)

// TestFeaturesOfManyRowsAreFound: 300 rows of three clear features.
func TestFeaturesOfManyRowsAreFound(t *testing.T) {
	chosen, err := featureCell{1.5, 3, 300, features.Model{}}.choose(context.Background(), 1)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 3}, []int{chosen[0], chosen[2]}, "gFAB and gFIC")
}
