package blocks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func TestColumnsOfRows(t *testing.T) {
	table, err := blocks.FromSlice([]float64{0, 1, 2, 3, 10, 11, 12, 13}, 2, 4)
	require.NoError(t, err)
	for _, columns := range [][]int{{1, 2}, {3, 0}, {2, 2}, {3}} {
		src := framework.ColumnsOf(table, columns)
		assert.Equal(t, 2, src.Rows())
		for b, err := range src.Blocks(context.Background()) {
			require.NoError(t, err)
			require.NoError(t, b.Check())
			for i := range b.N {
				for j, c := range columns {
					assert.Equal(t, float64(10*i+c), b.Row(i)[j])
				}
			}
		}
	}
	shared := table.All().Columns([]int{1, 2})
	assert.Equal(t, 4, shared.Stride, "neighbours share the memory")
}
