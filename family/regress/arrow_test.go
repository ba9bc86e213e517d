package regress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
)

// regressionRows are n rows of a response and three regressors, of which the first has a mean far from 0.
func regressionRows(f Family, rng *rand.Rand, n int) blocks.Rows {
	x := make([]float64, 0, 4*n)
	for range n {
		a, b, c := 5+rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		eta := 0.5*(a-5) - b + rng.NormFloat64()
		y := math.Floor(math.Exp(min(eta, 4)) * 2 * rng.Float64())
		if f.Response == Successes {
			y = min(y, 1)
		}
		x = append(x, y, a, b, c)
	}
	return blocks.Rows{X: x, N: n, D: 4, Stride: 4}
}

// weightedRows are the rows with a weight for each class, K a row, and what the table says of them.
func (f generalised) weightedRows(t *testing.T, b blocks.Rows, q []float64, k int) ([]family.Weighted, *family.Pooled) {
	p := f.size()
	anchor := make([]float64, f.columns)
	if f.centred() {
		for i := range b.N {
			floats.AddScaled(anchor, 1/float64(b.N), b.X[i*b.Stride+f.first:][:f.columns])
		}
	}
	every := make([]float64, b.N)
	for i := range every {
		every[i] = 1
	}
	of := func(class, k int, q []float64) family.Weighted {
		own := make([]float64, b.N)
		for i := range own {
			own[i] = q[i*k+class]
		}
		w := (&family.KeptRows{Blocks: []blocks.Rows{b}, Q: own}).Weighted(0, b.D)
		w.Sums = make([]float64, p*p)
		u := make([]float64, p)
		w.Each(func(_ int, row []float64, weight float64) bool {
			f.regressorsOf(row, anchor, u)
			for i, v := range u {
				floats.AddScaled(w.Sums[i*p:(i+1)*p], weight*v, u)
			}
			return true
		})
		return w
	}
	all := of(0, 1, every)
	pooled := &family.Pooled{N: all.N, Parameters: make([]float64, p), Sums: append([]float64{all.N}, all.Sums...), Anchor: anchor, Units: make([]float64, 1+p*p)}
	require.NoError(t, f.PoolRows(all, pooled))
	rows := make([]family.Weighted, k)
	for class := range rows {
		rows[class] = of(class, k, q)
	}
	return rows, pooled
}

// Of classes that the response separates, and of such that it does not, the M step from any start ends at the one maximum
// within the balls: there the gradient of c is 0, as is that of a class inside its ball, and on the sphere it points outwards.
func TestCoefficientsInCommonAreAtTheirMaximum(t *testing.T) {
	const n, k = 200, 3
	for _, f := range []Family{
		{Response: Counts, Fixed: []int{1}}, {Response: Successes, Fixed: []int{0}}, {Response: Successes, Fixed: []int{2, 3}},
		{Response: Counts, NoIntercept: true, Fixed: []int{0}}, {Response: Successes, NoIntercept: true, Fixed: []int{1}},
	} {
		for _, purity := range []float64{0, 0.9, 1 - 1e-14, 1} { // share of a row's weight in the class that its response names
			t.Run(fmt.Sprintf("%s %v %v %g", f.Name(), f.NoIntercept, f.Fixed, purity), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				factors, err := f.On(4)
				require.NoError(t, err)
				g := factors[0].(generalised)
				b, q := regressionRows(f, rng, n), make([]float64, n*k)
				for i := range n {
					row := q[i*k : (i+1)*k]
					for j := range row {
						row[j] = (1 - purity) * (0.1 + rng.Float64())
					}
					named := rng.IntN(2) // half of the zeros, and all else
					if b.X[i*b.Stride] > 0 {
						named = 1 + rng.IntN(2)
					}
					row[named] += purity
					floats.Scale(1/floats.Sum(row), row)
				}
				rows, w := g.weightedRows(t, b, q, k)
				values, onSphere := []float64{}, 0
				for start := range 4 {
					value, sphere := g.atMaximum(t, rng, rows, w, float64(start))
					values, onSphere = append(values, value), onSphere+sphere
				}
				assert.InDelta(t, floats.Max(values), floats.Min(values), 1e-9*math.Abs(values[0]))
				separable := f.Response == Successes || !f.NoIntercept // slopes alone make no counts of 0
				assert.Equal(t, separable && purity > 0.99, onSphere > 0)
			})
		}
	}
}

// atMaximum makes an M step from coefficients that differ from the table's, and returns its value and how many classes are
// on their spheres.
func (f generalised) atMaximum(t *testing.T, rng *rand.Rand, rows []family.Weighted, w *family.Pooled, spread float64) (value float64, onSphere int) {
	p, k := f.size(), len(rows)
	unit := f.unitBesides(w)
	params := family.Table{K: k, Stride: p, Data: make([]float64, k*p)}
	line, middle := make([]float64, p), make([]float64, p)
	f.toLine(w.Parameters, w.Anchor, middle)
	before := 0.0
	shift := spread * rng.NormFloat64()
	for class := range k {
		copy(line, middle)
		for _, j := range f.own {
			line[j] += spread * rng.NormFloat64()
		}
		for _, j := range f.fixed {
			line[j] += shift
		}
		v, _, _ := f.derivatives(rows[class], w.Anchor, line)
		before += v
		f.fromLine(line, w.Anchor, params.Row(class, p))
	}
	require.NoError(t, f.EstimateRows(rows, w, params))
	common, scale := make([]float64, len(f.fixed)), w.N
	for class := range k {
		f.toLine(params.Row(class, p), w.Anchor, line)
		v, g, _ := f.derivatives(rows[class], w.Anchor, line)
		value += v
		for i, j := range f.fixed {
			common[i] += g[j]
		}
		var pull, at mat.VecDense
		own := mat.NewVecDense(len(f.own), nil)
		for i, j := range f.own {
			own.SetVec(i, line[j]-middle[j])
		}
		at.MulVec(unit, own)
		for i, j := range f.own {
			own.SetVec(i, g[j])
		}
		require.NoError(t, pull.SolveVec(unit.T(), own))
		radius := mat.Norm(&at, 2)
		assert.LessOrEqual(t, radius, farthest*(1+1e-9))
		if radius > farthest*(1-1e-9) {
			onSphere++
			mu := mat.Dot(&pull, &at) / (radius * radius)
			assert.GreaterOrEqual(t, mu, -1e-7*scale)
			pull.AddScaledVec(&pull, -mu, &at)
		}
		assert.InDelta(t, 0, mat.Norm(&pull, 2), 1e-6*scale, "class %d", class)
	}
	assert.InDelta(t, 0, floats.Norm(common, 2), 1e-6*scale)
	assert.GreaterOrEqual(t, value, before-1e-12*math.Abs(before))
	return value, onSphere
}
