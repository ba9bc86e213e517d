package framework_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

func TestCriteriaOfASweepNeedASweep(t *testing.T) {
	src := table(mixed(400, 3))
	o := framework.Options{K: 2, Method: framework.EM, Criterion: framework.Slope}
	_, err := framework.Fit(context.Background(), poisson{}, src, o)
	require.ErrorContains(t, err, "call Select")
	_, err = framework.Select(context.Background(), poisson{}, src, []int{1, 2}, o, framework.SBIC)
	require.ErrorContains(t, err, "Singular")

	// Beside criteria of single fits, whatever the order, and of fits in any order.
	o.Criterion = framework.Criterion{}
	s, err := framework.Select(context.Background(), poisson{}, src, []int{3, 1, 6, 2, 4, 5}, o, framework.Slope, framework.BICEM, framework.AIC)
	require.NoError(t, err)
	plain, err := framework.Select(context.Background(), poisson{}, src, []int{3, 1, 6, 2, 4, 5}, o, framework.BICEM, framework.AIC)
	require.NoError(t, err)
	for i, v := range s.Values {
		require.Equal(t, plain.Values[i], v[1:], "K = %d", s.K[i])
	}
	_, err = framework.Select(context.Background(), poisson{}, src, []int{1, 2}, o, framework.Slope)
	require.NoError(t, err)
}
