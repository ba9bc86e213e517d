package mixture_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

// linearly are rows of four columns in reverse order, each A x + b.
func linearly(x []float64, a [4][4]float64) []float64 {
	var out []float64
	for i := len(x) - 4; i >= 0; i -= 4 {
		for _, row := range a {
			v := 3.0
			for j, w := range row {
				v += w * x[i+j]
			}
			out = append(out, v)
		}
	}
	return out
}

// The evidence of each structure changes by the Jacobian alone under the maps that the structure keeps: all linear ones, those of
// each column, or rotations and one unit; with a wild cell, so that location and scatter are the robust ones, too. Rows given
// twice are rows of weight 2.
func TestEvidenceKeepsToTheGroupOfItsStructure(t *testing.T) {
	const s = math.Sqrt2 / 2
	linear := [4][4]float64{{2, 1, 0, 0}, {0, 1, 0, 3}, {0, 0, 0.5, 0}, {1, 0, 0, 1}} // determinant 2.5
	columns := [4][4]float64{{0, 0.01}, {100}, {0, 0, 1}, {0, 0, 0, 7}}               // 7, two of them exchanged
	turn := [4][4]float64{{10 * s, -10 * s}, {10 * s, 10 * s}, {2: 10}, {3: 10}}      // 1e4
	plain := embedded(t, "iris", 4).All()
	wild := slices.Clone(plain.X)
	wild[4*10+1] = 1e4
	value := func(form normal.Covariance, x, weights []float64) float64 {
		src := source(t, x, len(x)/4, 4)
		if weights != nil {
			var err error
			src, err = src.WithWeights(weights)
			require.NoError(t, err)
		}
		m := mixture.Model{Family: normal.Family{Covariance: form, Floor: family.NoFloor}, Start: family.KMeans}
		return fit(t, m, src, framework.Options{K: 2, FixedK: true, Criterion: framework.Evidence, Tolerance: 1e-13, Restarts: 3}).Value
	}
	for _, group := range []struct {
		a     [4][4]float64
		det   float64
		forms []normal.Covariance
	}{
		{linear, 2.5, []normal.Covariance{normal.VVV, normal.EEE, normal.VEE, normal.EVV}},
		{columns, 7, []normal.Covariance{normal.VVI, normal.EEI, normal.VEI, normal.EVI}},
		{turn, 1e4, []normal.Covariance{normal.VII, normal.EII}},
	} {
		for i, form := range group.forms {
			tables, most := [][]float64{plain.X}, 1e-9
			if i == 0 { // the others share a volume, and have many maxima where one row is far from all
				tables = append(tables, wild)
			}
			for _, x := range tables {
				n := len(x) / 4
				want := value(form, x, nil)
				got := value(form, linearly(x, group.a), nil) + float64(n)*math.Log(group.det)
				assert.InEpsilon(t, want, got, most, "%v", form)
				assert.InEpsilon(t, value(form, slices.Concat(x, x), nil), value(form, x, slices.Repeat([]float64{2}, n)), most,
					"%v, weights", form)
			}
		}
	}
}
