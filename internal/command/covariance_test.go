package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/models/mixture"
)

func TestCovariancesAreMatricesWithNames(t *testing.T) {
	r := fitJSON(t, "--criterion", "gfic", "--k", "2")
	require.Len(t, r.Covariances, 2)
	var p *mixture.Parameters
	require.NoError(t, json.Unmarshal(r.Params, &p))
	for k, m := range r.Covariances { // a component is its mean and its covariance, row-major
		assert.Equal(t, k+1, m.Component)
		assert.Equal(t, []string{"eruptions", "waiting"}, m.Names)
		v := numbers(p.Component(k))
		assert.Equal(t, [][]number{v[2:4], v[4:6]}, m.Values)
	}
	stdout, _ := done(t, "fit", "--criterion", "gfic", "--k", "2")
	text := strings.Join(strings.Fields(stdout), " ")
	assert.Contains(t, text, "covariance 1 eruptions waiting ")
	assert.Contains(t, text, " eruptions 0.1700 0.9410 waiting 0.9410 36.05")

	r = fitJSON(t, "--criterion", "gfic", "--k", "2", "--family", "gaussian-tied")
	require.Len(t, r.Covariances, 1, "one for all")
	assert.Zero(t, r.Covariances[0].Component)
	stdout, _ = done(t, "fit", "--criterion", "gfic", "--k", "2", "--family", "gaussian-tied")
	assert.Contains(t, strings.Join(strings.Fields(stdout), " "), "covariance eruptions waiting ")

	for _, family := range []string{"gaussian-diagonal", "gaussian-spherical"} { // standard deviations say all
		assert.Empty(t, fitJSON(t, "--criterion", "gfic", "--k", "2", "--family", family).Covariances)
	}
	stdout, _ = done(t, "fit", "--criterion", "gfic", "--data", "satellite", "--k", "2", "--max-iter", "3")
	assert.Contains(t, stdout, "Covariances left out (--format json has all).")
}
