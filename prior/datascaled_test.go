package prior_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/prior"
)

// The defaults are those of scikit-learn's BayesianGaussianMixture: mean precision 1,
// D degrees of freedom, the data's covariance for the inverse of the Wishart scale.
func TestDataScaledTakesTheUsualDefaults(t *testing.T) {
	mean, covariance := []float64{1, 2}, []float64{3, 1, 1, 4}
	p, err := prior.DataScaled{}.Wishart(mean, covariance)
	require.NoError(t, err)
	assert.Equal(t, prior.NormalInverseWishart{Mean: mean, Kappa: 1, Nu: 2, Scale: covariance}, p)
	assert.NotSame(t, &covariance[0], &p.Scale[0])

	p, err = prior.DataScaled{Kappa: 0.1, Nu: 7}.Wishart(mean, covariance)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.1, 7}, []float64{p.Kappa, p.Nu})
}

func TestDataScaledFormsAgreeOnOneColumn(t *testing.T) {
	for _, s := range []prior.DataScaled{{}, {Kappa: 0.1, Nu: 7}} {
		w, err := s.Wishart([]float64{5}, []float64{3})
		require.NoError(t, err)
		g := s.InverseGamma(5, 3)
		require.NoError(t, g.Check())
		assert.Equal(t, prior.NormalInverseGamma{Mean: w.Mean[0], Kappa: w.Kappa, Shape: w.Nu / 2, Rate: w.Scale[0] / 2}, g)
	}
}

func TestDataScaledRefusesDataThatGiveNoScale(t *testing.T) {
	_, err := prior.DataScaled{}.Wishart([]float64{0, 0}, []float64{1, 1, 1, 1})
	assert.ErrorContains(t, err, "not positive definite")
	_, err = prior.DataScaled{Nu: 1}.Wishart([]float64{0, 0}, []float64{1, 0, 0, 1})
	assert.ErrorContains(t, err, "Nu is 1")
	_, err = prior.DataScaled{Kappa: nan}.Wishart([]float64{0}, []float64{1})
	assert.ErrorContains(t, err, "Kappa is NaN")
	assert.ErrorContains(t, prior.DataScaled{}.InverseGamma(2, 0).Check(), "Rate is 0")
}
