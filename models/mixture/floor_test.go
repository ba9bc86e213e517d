package mixture_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// promotions are three clusters in a and b; promo is 1 in half of the third and 0 elsewhere.
func promotions(seed uint64, n int) (x []float64, labels []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		k := i % 3
		x = append(x, 6*float64(k)+rng.NormFloat64(), []float64{0, 5, -3}[k]+rng.NormFloat64(), float64(k/2*rng.IntN(2)))
		labels = append(labels, k)
	}
	return x, labels
}

// purity is the share of rows whose component has their label for its most frequent one.
func purity(assigned, labels []int) float64 {
	counts := map[[2]int]int{}
	most := map[int]int{}
	for i, k := range assigned {
		pair := [2]int{k, labels[i]}
		counts[pair]++
		most[k] = max(most[k], counts[pair])
	}
	right := 0
	for _, n := range most {
		right += n
	}
	return float64(right) / float64(len(labels))
}

// TestNearlyConstantColumnsDoNotDecide how many components there are: a column that is constant in two of
// three clusters. (Without a floor one component is left.)
func TestNearlyConstantColumnsDoNotDecide(t *testing.T) {
	const n = 900
	for seed := range uint64(3) {
		x, labels := promotions(seed, n)
		src := source(t, x, n, 3)
		m := mixture.Model{}
		for c := range normal.Covariance(2) {
			m.Family = normal.Family{Covariance: c}
			res, err := framework.Fit(t.Context(), m, src, framework.Options{K: 10})
			require.NoError(t, err)
			assert.GreaterOrEqual(t, res.Shape.K, 3)
			assert.LessOrEqual(t, res.Shape.K, 5-int(c))
			q, err := m.Responsibilities(src.All(), res.Parameters, nil)
			require.NoError(t, err)
			assert.Greater(t, purity(mixture.Labels(q, res.Shape.K), labels), 0.98)
		}
		bernoulli := family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Bernoulli{}}
		res, err := framework.Fit(t.Context(), mixture.Model{Family: bernoulli}, src, framework.Options{K: 10})
		require.NoError(t, err)
		assert.Equal(t, 3, res.Shape.K)
	}
}

// collapsing is a table on which components of all forms collapse: values in steps, equal rows, and a constant and a
// dependent column.
func collapsing(seed uint64) (x []float64, n, d int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	n, d = 90, 4
	for i := range n {
		a, b := math.Round(2*rng.NormFloat64())/2+4*float64(i%2), rng.NormFloat64()
		if i >= n/3 && i%5 == 0 {
			x = append(x, x[:d]...)
			continue
		}
		x = append(x, a, b, 2*a-b, 8)
	}
	return x, n, d
}

// TestStepsOntoTheFloorNeverLowerTheObjective, but by rounding.
func TestStepsOntoTheFloorNeverLowerTheObjective(t *testing.T) {
	for seed := range uint64(4) {
		x, n, d := collapsing(seed)
		_, forms := normal.Structures()
		for _, c := range forms {
			base := mixture.Model{Family: normal.Family{Covariance: c}}
			models := []framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{base}
			if c <= normal.Spherical { // others have no prior
				models = append(models, mixture.MAP{Model: base})
			}
			for _, model := range models {
				for _, method := range []framework.Method{framework.EM, framework.GFAB} {
					res, err := framework.Fit(t.Context(), model, source(t, x, n, d), framework.Options{K: 5, Method: method, Seed: seed})
					require.NoError(t, err)
					what := fmt.Sprintf("%v %T %v, seed %d", c, model, method, seed)
					assert.Less(t, res.Fall, 1e-7, what)
					assert.Empty(t, slices.DeleteFunc(slices.Clone(res.Pruned), func(p framework.Pruned) bool { return p.Rule != "degenerate" }), what)
				}
			}
		}
	}
}

// TestConstantComponentsAreKnown: columns on their floor are those whose rows vary less, and no others.
func TestConstantComponentsAreKnown(t *testing.T) {
	const n, d = 900, 3
	x, _ := promotions(5, n)
	src := source(t, x, n, d)
	constant := 0
	for _, c := range []normal.Covariance{normal.Full, normal.Diagonal} {
		for k := range 5 {
			m := mixture.Model{Family: normal.Family{Covariance: c}}
			res, err := framework.Fit(t.Context(), m, src, framework.Options{K: k + 1, Method: framework.EM})
			require.NoError(t, err)
			p := res.Parameters
			onFloor, err := m.OnFloor(p)
			require.NoError(t, err)
			q, err := m.Responsibilities(src.All(), p, nil)
			require.NoError(t, err)
			for a := range p.K {
				for j := range d {
					values, weights := make([]float64, n), make([]float64, n)
					for i := range n {
						values[i], weights[i] = x[i*d+j], q[i*p.K+a]
					}
					mean := stat.Mean(values, weights)
					switch v := stat.MomentAbout(2, values, mean, weights); {
					case v < p.Pooled.Floor[j]/2:
						assert.Contains(t, onFloor[a], j)
						constant++
					case v > 2*p.Pooled.Floor[j]:
						assert.NotContains(t, onFloor[a], j)
					}
				}
			}
		}
	}
	assert.Positive(t, constant)
}

// TestFloorHasNoUnits: columns in other units end at the same K and differ by the Jacobian.
func TestFloorHasNoUnits(t *testing.T) {
	x, _ := promotions(5, 300)
	n, d, units := 300, 3, []float64{1000, 7e-7, 1}
	scaled := slices.Clone(x)
	shift := 0.0
	for j, u := range units {
		shift += float64(n) * math.Log(u)
		for i := range n {
			scaled[i*d+j] *= u
		}
	}
	for _, c := range []normal.Covariance{normal.Full, normal.Tied, normal.Diagonal, normal.EEI, normal.VEI, normal.EVI, normal.VEE} {
		m := mixture.Model{Family: normal.Family{Covariance: c}}
		fit := func(x []float64) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
			res, err := framework.Fit(t.Context(), m, source(t, x, n, d), framework.Options{K: 6, Seed: 3})
			require.NoError(t, err)
			return res
		}
		one, other := fit(x), fit(scaled)
		require.Equal(t, one.Shape, other.Shape)
		assert.InDelta(t, one.Value-shift, other.Value, 1e-5, c)
	}
}

// TestFloorChangesNothingWhereNothingCollapses to the bit.
func TestFloorChangesNothingWhereNothingCollapses(t *testing.T) {
	src := embedded(t, "faithful", 2)
	_, forms := normal.Structures()
	for _, c := range forms {
		fit := func(floor float64) *mixture.Parameters {
			res, err := framework.Fit(t.Context(), mixture.Model{Family: normal.Family{Covariance: c, Floor: floor}}, src, framework.Options{K: 2, Method: framework.EM})
			require.NoError(t, err)
			return res.Parameters
		}
		with, without := fit(0), fit(family.NoFloor)
		assert.NotEmpty(t, with.Pooled.Floor)
		assert.Empty(t, without.Pooled.Floor)
		assert.Equal(t, without.Components, with.Components)
		assert.Equal(t, without.Weights, with.Weights)
	}
}

// TestFloorIsSavedWithTheModel, and a fit that is resumed has it.
func TestFloorIsSavedWithTheModel(t *testing.T) {
	x, _ := promotions(6, 150)
	m := mixture.Model{Family: family.Product{family.Bernoulli{}, family.Of{Family: normal.Family{}, Width: 2}}}
	for i := range 150 { // promo first
		copy(x[3*i:], []float64{x[3*i+2], x[3*i], x[3*i+1]})
	}
	src := source(t, x, 150, 3)
	o := framework.Options{K: 5, MaxIterations: 7, Seed: 1}
	short, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	require.Len(t, short.Parameters.Pooled.Floor, 3)
	assert.Zero(t, short.Parameters.Pooled.Floor[0])
	text, err := json.Marshal(short.Parameters)
	require.NoError(t, err)
	var read *mixture.Parameters
	require.NoError(t, json.Unmarshal(text, &read))
	require.NoError(t, m.Check(read))
	assert.Equal(t, short.Parameters.Pooled.Floor, read.Pooled.Floor)

	o.MaxIterations = 0
	whole, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	o.Resume, err = short.Checkpoint()
	require.NoError(t, err)
	resumed, err := framework.Fit(t.Context(), m, src, o)
	require.NoError(t, err)
	assert.Equal(t, whole.Parameters.Components, resumed.Parameters.Components)
	assert.Equal(t, whole.Parameters.Pooled.Floor, resumed.Parameters.Pooled.Floor)
}

// TestNoFamilyGainsFromTies: half the rows have one value of three, recorded in steps of 1, in a column that a family describes.
// No class is narrower than the step, and steps onto the floor never lower the objective.
func TestNoFamilyGainsFromTies(t *testing.T) {
	const n, d = 200, 2
	rng := rand.New(rand.NewPCG(9, 9))
	var x []float64
	for i := range n {
		a := math.Round(20 * math.Exp(0.5*rng.NormFloat64()))
		if i%2 == 0 {
			a = float64(1 + i%3*20)
		}
		x = append(x, max(1, a), 5*math.Exp(0.5*rng.NormFloat64())+float64(i%4))
	}
	low, high := normal.Ranges(x, d)
	for name, f := range map[string]family.Family{
		"student-t": normal.StudentT{}, "lognormal": normal.Lognormal{}, "gamma": family.Gamma{},
		"noise": normal.Noise{Family: normal.Family{}, Low: low, High: high}, "noise eev": normal.Noise{Family: normal.Family{Covariance: normal.EEV}, Low: low, High: high},
		"noise t": normal.Noise{Family: normal.StudentT{}, Low: low, High: high},
	} {
		for _, method := range []framework.Method{framework.EM, framework.GFAB} {
			m := mixture.Model{Family: f}
			res, err := framework.Fit(t.Context(), m, source(t, x, n, d), framework.Options{K: 6, Method: method, Seed: 4})
			require.NoError(t, err, name)
			assert.Less(t, res.Fall, 1e-7, "%s %v", name, method)
			p := res.Parameters
			size := len(p.Components) / p.K
			for k := range p.K {
				xi := p.Components[k*size:]
				var variance float64
				switch f.(type) {
				case normal.Lognormal:
					variance = xi[d] * math.Exp(2*xi[0])
				case family.Gamma:
					variance = xi[0] / (xi[1] * xi[1])
				default:
					variance = xi[d]
				}
				assert.Greater(t, variance, 1./12*(1-1e-9), "%s %v", name, method)
			}
			t.Logf("%s %v: K = %d, %.3f, fall %.2g", name, method, p.K, res.Value, res.Fall)
		}
	}
}
