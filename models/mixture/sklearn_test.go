package mixture_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/models/mixture"
)

// TestDensitiesAgreeWithScikitLearn at given parameters: score_samples and predict_proba of
// GaussianMixture, scikit-learn 1.2.1 (Debian's python3-sklearn), run by hand and checked
// against scipy's multivariate_normal to 1e-11.
func TestDensitiesAgreeWithScikitLearn(t *testing.T) {
	faithful := []float64{4.3, 80, 2, 54.5}
	faithfulWeights := []float64{0.65, 0.35}
	iris := []float64{5.0, 3.4, 1.5, 0.2, 5.9, 2.8, 4.3, 1.3, 6.6, 3.0, 5.5, 2.0}
	irisWeights := []float64{0.3, 0.4, 0.3}
	b := []float64{0.3, 0.1, 0.2, 0.05, 0.1, 0.12, 0.05, 0.03, 0.2, 0.05, 0.3, 0.06, 0.05, 0.03, 0.06, 0.08}
	for _, c := range []struct {
		data       string
		columns    int
		covariance normal.Covariance
		weights    []float64
		means      []float64
		spread     [][]float64 // of each component: covariance, variances or variance
		total      float64
		rows       [2]float64 // log densities of rows 0 and 99
		sums       []float64  // of the responsibilities
		row        int        // one row's responsibilities
		labels     []float64
	}{
		{"faithful", 2, normal.Full, faithfulWeights, faithful, [][]float64{{0.17, 0.9, 0.9, 36}, {0.07, 0.4, 0.4, 34}},
			-1131.4149328182, [2]float64{-4.661836313342, -4.184435184498}, []float64{175.262525594, 96.7374744057}, 0, []float64{1 - 1.09933771367e-09, 1.09933771367e-09}},
		{"faithful", 2, normal.Tied, faithfulWeights, faithful, [][]float64{{0.13, 0.75, 0.75, 35}, {0.13, 0.75, 0.75, 35}},
			-1141.1162478577, [2]float64{-4.995347055768, -4.379677953234}, []float64{174.425919106, 97.5740808943}, 0, []float64{1 - 4.87864601204e-06, 4.87864601204e-06}},
		{"faithful", 2, normal.Diagonal, faithfulWeights, faithful, [][]float64{{0.17, 36}, {0.07, 34}},
			-1148.8707774760, [2]float64{-4.629506390235, -4.288820115731}, []float64{175.055411591, 96.9445884095}, 0, []float64{1 - 6.21122353648e-12, 6.21122353648e-12}},
		{"faithful", 2, normal.Spherical, faithfulWeights, faithful, [][]float64{{16}, {17}},
			-1710.1616870972, [2]float64{-5.087811194146, -5.177498704642}, []float64{172.676446478, 99.3235535216}, 0, []float64{1 - 1.05958097226e-08, 1.05958097226e-08}},
		{"iris", 4, normal.Full, irisWeights, iris, [][]float64{times(0.5, b), b, times(1.5, b)},
			-288.5364377500, [2]float64{0.378980605487, -0.583409093531}, []float64{49.9976727522, 51.2961061016, 48.7062211462}, 70, []float64{1.93232156283e-27, 0.419586586002, 0.580413413998}},
		{"iris", 4, normal.Tied, irisWeights, iris, [][]float64{b, b, b},
			-299.7251175251, [2]float64{-0.892605186279, -0.591963219729}, []float64{49.9999894863, 51.2651020759, 48.7349084378}, 70, []float64{4.70173854992e-14, 0.391775973088, 0.608224026911}},
		{"iris", 4, normal.Diagonal, irisWeights, iris, [][]float64{{0.12, 0.14, 0.03, 0.01}, {0.25, 0.1, 0.2, 0.04}, {0.32, 0.08, 0.33, 0.09}},
			-318.7602404868, [2]float64{0.975277681748, -0.513107091548}, []float64{49.9999999996, 49.1610287588, 50.8389712416}, 70, []float64{8.48297801166e-135, 0.16598756346, 0.83401243654}},
		{"iris", 4, normal.Spherical, irisWeights, iris, [][]float64{{0.08}, {0.16}, {0.2}},
			-394.6100078528, [2]float64{-0.015769648528, -1.176720928097}, []float64{50.0000001925, 52.4292185929, 47.5707812146}, 70, []float64{2.85164690003e-38, 0.789426035121, 0.210573964879}},
	} {
		src := embedded(t, c.data, c.columns)
		p := &mixture.Parameters{K: len(c.weights), D: c.columns, Weights: c.weights}
		for k, s := range c.spread {
			p.Components = append(append(p.Components, c.means[k*c.columns:(k+1)*c.columns]...), s...)
		}
		m := mixture.Model{Family: normal.Family{Covariance: c.covariance}}
		score, err := m.Scorer(p)
		require.NoError(t, err)
		logProb, q, err := score(src.All(), nil, nil)
		require.NoError(t, err)
		total, sums := 0.0, make([]float64, p.K)
		for i, l := range logProb {
			total += l
			for k := range sums {
				sums[k] += q[i*p.K+k]
			}
		}
		name := c.data + " " + c.covariance.String()
		assert.InEpsilon(t, c.total, total, 1e-12, name)
		assert.InDelta(t, c.rows[0], logProb[0], 2e-12, name)
		assert.InDelta(t, c.rows[1], logProb[99], 2e-12, name)
		for k := range sums {
			assert.InEpsilon(t, c.sums[k], sums[k], 1e-10, name)
			assert.InEpsilon(t, c.labels[k], q[c.row*p.K+k], 1e-9, name)
		}
	}
}

func times(by float64, v []float64) []float64 {
	list := make([]float64, len(v))
	for i, x := range v {
		list[i] = by * x
	}
	return list
}
