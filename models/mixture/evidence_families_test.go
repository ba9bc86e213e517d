package mixture_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/special"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// quadrature are points of a grid over the two numbers of a class, in coordinates about the middle of the prior.
type quadrature struct {
	prior  func(u, v float64) float64    // log density, up to a constant
	rowLog func(x, u, v float64) float64 // ln p(x|u, v)
	u, v   [2]float64                    // from, to
	side   int                           // points along each; 0 for 96
}

// exactly is ln p(X|K) under Dir(1), the sum over all labels of the rows; each class is integrated on the grid.
func (q quadrature) exactly(x []float64, k int) float64 {
	side := cmp.Or(q.side, 96)
	n, points := len(x), side*side
	weights, rows := make([]float64, points), make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, points)
	}
	for at := range points {
		u := q.u[0] + (q.u[1]-q.u[0])*(float64(at/side)+0.5)/float64(side)
		v := q.v[0] + (q.v[1]-q.v[0])*(float64(at%side)+0.5)/float64(side)
		weights[at] = q.prior(u, v)
		for i, value := range x {
			rows[i][at] = q.rowLog(value, u, v)
		}
	}
	norm, sum := floats.LogSumExp(weights), make([]float64, points)
	class := func(s int) float64 {
		copy(sum, weights)
		for i := range n {
			if s>>i&1 == 1 {
				floats.Add(sum, rows[i])
			}
		}
		return floats.LogSumExp(sum) - norm
	}
	subsets := make([]float64, 1<<n)
	if k == 1 {
		return class(len(subsets) - 1)
	}
	for s := range subsets {
		subsets[s] = class(s)
	}
	var total []float64
	for s, value := range subsets { // of one class; the rest are the other's
		in := 0
		for i := range n {
			in += s >> i & 1
		}
		total = append(total, value+subsets[len(subsets)-1-s]-combin.LogGeneralizedBinomial(float64(n), float64(in))-math.Log(float64(n+1)))
	}
	return floats.LogSumExp(total)
}

// pooledOf are the numbers of the table as one class.
func pooledOf(t *testing.T, of family.Family, src *blocks.Table) []float64 {
	w, _, err := family.Pool(t.Context(), src, of)
	require.NoError(t, err)
	return w.Parameters
}

// Tiny tables: E + ln K! is below the sum over all labels with each class integrated by quadrature, and not far below.
func TestEvidenceOfFamiliesIsBelowTheExactOne(t *testing.T) {
	positive := [][]float64{
		{1, 1.3, 0.8, 2, 1.6, 0.5, 1.1, 0.9},
		{1, 1.3, 0.8, 1.1, 9, 12, 10.5, 8},
		{1, 1.01, 0.99, 1.02, 5, 30, 2, 80},
		{3, 0.001, 1.2, 0.4, 100, 2, 7, 0.2},
	}
	codes := [][]float64{{0, 1, 1, 2, 1, 0, 3, 2}, {0, 0, 0, 0, 3, 3, 3, 3}, {0, 0, 1, 0, 3, 2, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 2}}
	for _, c := range []struct {
		of     family.Family
		tables [][]float64
		grid   func(table []float64, xi []float64) quadrature
		above  float64 // what Laplace's method may err upwards
	}{
		{normal.Lognormal{Floor: family.NoFloor}, positive, lognormalGrid, 0.02},
		{family.Gamma{Floor: family.NoFloor}, positive, gammaGrid, 0.05},
		{family.Ordinal{Levels: 4}, codes, ordinalGrid, 0.1},
		{normal.StudentT{Nu: 4, Floor: family.NoFloor}, positive, studentGrid(4), 0.05},
	} {
		for i, x := range c.tables {
			for k := 1; k <= 2; k++ {
				t.Run(fmt.Sprint(c.of.Name(), i, k), func(t *testing.T) {
					src := source(t, x, len(x), 1)
					exact := c.grid(x, pooledOf(t, c.of, src)).exactly(x, k)
					value := evident(t, mixture.Model{Family: c.of}, src, k).Value + math.Log(float64(k))
					t.Logf("E + ln K! − ln p(X) = %.3f", value-exact)
					assert.LessOrEqual(t, value, exact+c.above)
					assert.GreaterOrEqual(t, value, exact-3)
				})
			}
		}
	}
}

func lognormalGrid(_ []float64, xi []float64) quadrature {
	mean, sd := xi[0], math.Sqrt(xi[1])
	return quadrature{
		prior: func(u, v float64) float64 { return -u*u/2 - v*v/4 },
		rowLog: func(x, u, v float64) float64 {
			return distuv.LogNormal{Mu: mean + sd*u, Sigma: sd * math.Exp(v/2)}.LogProb(x)
		},
		u: [2]float64{-5, 5}, v: [2]float64{-12, 8},
	}
}

func gammaGrid(_ []float64, xi []float64) quadrature {
	middle, centre := math.Log(xi[0]/xi[1]), -math.Log(xi[0])
	information := special.TrigammaGap(xi[0])
	return quadrature{
		prior: func(u, v float64) float64 { return -u*u/2 - information*v*v/2 },
		rowLog: func(x, u, v float64) float64 {
			shape := math.Exp(-centre - v)
			return distuv.Gamma{Alpha: shape, Beta: shape / math.Exp(middle+u/math.Sqrt(xi[0]))}.LogProb(x)
		},
		u: [2]float64{-5, 5}, v: [2]float64{-12, 8},
	}
}

func studentGrid(nu float64) func(_ []float64, xi []float64) quadrature {
	return func(_ []float64, xi []float64) quadrature {
		sd := math.Sqrt(xi[1])
		return quadrature{
			prior: func(u, v float64) float64 { return -u*u/2 - v*v/4 },
			rowLog: func(x, u, v float64) float64 {
				return distuv.StudentsT{Mu: xi[0] + sd*u, Sigma: sd * math.Exp(v/2), Nu: nu}.LogProb(x)
			},
			u: [2]float64{-5, 5}, v: [2]float64{-12, 8},
		}
	}
}

// over is the mean of exactly over a third parameter with the log density prior.
func over(from, to float64, prior func(w float64) float64, exactly func(w float64) float64) float64 {
	const points = 24
	var sum, norm []float64
	for i := range points {
		w := from + (to-from)*(float64(i)+0.5)/points
		norm = append(norm, prior(w))
		sum = append(sum, norm[i]+exactly(w))
	}
	return floats.LogSumExp(sum) - floats.LogSumExp(norm)
}

// With the degrees of freedom, or a share of noise, for a third parameter.
func TestEvidenceOfStudentTAndNoiseIsBelowTheExactOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range 3 {
		x := make([]float64, 12)
		for n := range x {
			x[n] = rng.NormFloat64()
		}
		x[0] *= math.Pow(2, float64(i))
		src := source(t, x, len(x), 1)
		student := normal.StudentT{Floor: family.NoFloor}
		xi := pooledOf(t, student, src)
		nu := xi[len(xi)-1]
		exact := over(math.Log1p(1./200), math.Log(3), func(phi float64) float64 {
			shift := phi - math.Log1p(1/nu)
			return -degreesInformation(nu) / 2 * shift * shift
		}, func(phi float64) float64 {
			grid := studentGrid(1/math.Expm1(phi))(nil, xi)
			grid.side = 48
			return grid.exactly(x, 1)
		})
		value := evident(t, mixture.Model{Family: student}, src, 1).Value
		t.Logf("student-t: E − ln p(X) = %.3f, ν = %.3g", value-exact, nu)
		assert.LessOrEqual(t, value, exact+0.1)
		assert.GreaterOrEqual(t, value, exact-2)

		low, high := normal.Ranges(x, 1)
		noise := normal.Noise{Family: normal.Family{Floor: family.NoFloor}, Low: low, High: high}
		xi = pooledOf(t, noise, src)
		exact = over(0, math.Pi, func(w float64) float64 {
			sin := math.Sin(w / 2)
			return 0.05*math.Log(sin*sin) + 0.95*math.Log(1-sin*sin)
		}, func(w float64) float64 {
			grid, share := lognormalGrid(nil, xi), math.Pow(math.Sin(w/2), 2)
			grid.side = 48
			grid.rowLog = func(x, u, v float64) float64 {
				density := distuv.Normal{Mu: xi[0] + math.Sqrt(xi[1])*u, Sigma: math.Sqrt(xi[1] * math.Exp(v))}.Prob(x)
				return math.Log((1-share)*density + share/(high[0]-low[0]))
			}
			return grid.exactly(x, 1)
		})
		value = evident(t, mixture.Model{Family: noise}, src, 1).Value
		t.Logf("noise: E − ln p(X) = %.3f", value-exact)
		assert.LessOrEqual(t, value, exact+0.1)
		assert.GreaterOrEqual(t, value, exact-3.5, "noise and the family overlap")
	}
}

// degreesInformation is the information of a row about φ = ln(1 + 1/ν) at scale 1 where the scale is not known, by quadrature over x of the
// products of scores.
func degreesInformation(nu float64) float64 {
	const step = 1e-4
	log := func(x, phi, scale float64) float64 {
		return distuv.StudentsT{Sigma: math.Exp(scale), Nu: 1 / math.Expm1(phi)}.LogProb(x)
	}
	phi, own, cross, other := math.Log1p(1/nu), 0.0, 0.0, 0.0
	const points = 4000
	for i := range points {
		at := math.Tan(math.Pi * ((float64(i)+0.5)/points - 0.5))
		weight := math.Exp(log(at, phi, 0)) * math.Pi * (1 + at*at) / points
		a := (log(at, phi+step, 0) - log(at, phi-step, 0)) / (2 * step)
		b := (log(at, phi, step) - log(at, phi, -step)) / (2 * step)
		own, cross, other = own+weight*a*a, cross+weight*a*b, other+weight*b*b
	}
	return own - cross*cross/other
}

// ordinalGrid has the location and the logarithm of the slope; the volume is that of the surface on the sphere.
func ordinalGrid(table []float64, _ []float64) quadrature {
	probability := func(l int, u, v float64) float64 {
		upper, lower := 1.0, 0.0
		if l < 3 {
			upper = 1 / (1 + math.Exp(-math.Exp(v)*(float64(l)+0.5-u)))
		}
		if l > 0 {
			lower = 1 / (1 + math.Exp(-math.Exp(v)*(float64(l)-0.5-u)))
		}
		return upper - lower
	}
	rowLog := func(x, u, v float64) float64 { return math.Log(max(probability(int(x), u, v), 1e-300)) }
	return quadrature{
		prior: func(u, v float64) float64 {
			sum, uu, uv, vv := 0.0, 0.0, 0.0, 0.0
			for _, x := range table {
				sum += rowLog(x, u, v) / float64(len(table))
			}
			const h = 1e-5
			for l := range 4 {
				root := func(u, v float64) float64 { return 2 * math.Sqrt(max(0, probability(l, u, v))) }
				du, dv := (root(u+h, v)-root(u-h, v))/(2*h), (root(u, v+h)-root(u, v-h))/(2*h)
				uu, uv, vv = uu+du*du, uv+du*dv, vv+dv*dv
			}
			return sum + math.Log(max(uu*vv-uv*uv, 1e-300))/2
		},
		rowLog: rowLog,
		u:      [2]float64{-12, 15}, v: [2]float64{-4, 4},
	}
}

// properCase is a family whose evidence is held to what holds for all of them.
type properCase struct {
	name    string
	of      family.Family
	columns int
	draw    func(rng *rand.Rand, class int, row []float64)
	gaps    bool // rows may miss cells
	scaled  bool // columns may be multiplied
}

func properCases() []properCase {
	positive := func(rng *rand.Rand, class int, row []float64) {
		for j := range row {
			row[j] = math.Exp(0.3*rng.NormFloat64() + 2*float64(class))
		}
	}
	far := func(apart float64) func(rng *rand.Rand, class int, row []float64) { // a row in 20 lies far out
		return func(rng *rand.Rand, class int, row []float64) {
			width := 1.0
			if rng.IntN(20) == 0 {
				width = 8
			}
			for j := range row {
				row[j] = width*rng.NormFloat64() + apart*float64(class)
			}
		}
	}
	return []properCase{
		{"lognormal", normal.Lognormal{}, 3, positive, true, true},
		{"gamma", family.Gamma{}, 3, positive, true, true},
		{"gamma on its floor", family.Gamma{}, 2, func(rng *rand.Rand, class int, row []float64) {
			for j := range row {
				row[j] = float64(1 + 5*class + rng.IntN(8)/7)
			}
		}, true, true},
		{"lognormal on its floor", normal.Lognormal{}, 2, func(rng *rand.Rand, class int, row []float64) {
			for j := range row {
				row[j] = float64(1 + 5*class + rng.IntN(8)/7)
			}
		}, true, true},
		{"ordinal", family.Ordinal{Levels: 5}, 4, func(rng *rand.Rand, class int, row []float64) {
			for j := range row {
				row[j] = float64(min(4, 3*class+rng.IntN(3)))
			}
		}, true, false},
		{"student-t", normal.StudentT{}, 2, far(6), false, true},
		{"student-t of 5 degrees", normal.StudentT{Nu: 5}, 1, far(12), false, true},
		{"noise", normal.Noise{Family: normal.Family{}, Low: []float64{-60, -60}, High: []float64{60, 60}}, 2,
			func(rng *rand.Rand, class int, row []float64) {
				outlier := rng.IntN(40) == 0
				for j := range row {
					if row[j] = rng.NormFloat64() + 8*float64(class); outlier {
						row[j] = 120*rng.Float64() - 60
					}
				}
			}, false, false},
		{"noise beside gamma", normal.Noise{Family: family.Gamma{}, Low: []float64{0, 0, 0}, High: []float64{60, 60, 60}}, 3, positive, false, false},
		{"noise beside counts", normal.Noise{Family: family.Poisson{}, Low: []float64{0, 0}, High: []float64{30, 30}}, 2,
			func(rng *rand.Rand, class int, row []float64) {
				for j := range row {
					row[j] = float64(rng.IntN(4) + 12*class)
				}
			}, false, false},
		{"mixed columns", family.Product{family.Of{Family: normal.Family{}, Width: 1}, family.Poisson{}, family.Gamma{}, family.Ordinal{Levels: 3}, normal.Lognormal{}}, 5,
			func(rng *rand.Rand, class int, row []float64) {
				c := float64(class)
				copy(row, []float64{4*c + rng.NormFloat64(), float64(rng.IntN(3) + 8*class), (1 + 5*c) * (0.5 + rng.Float64()),
					float64(2*class*(rng.IntN(5)+3)/4) / 2, math.Exp(c + 0.5*rng.NormFloat64())})
				row[3] = math.Min(2, math.Floor(row[3]))
			}, true, false},
	}
}

func (c properCase) table(t *testing.T, n int, seed uint64) []float64 {
	rng, x := rand.New(rand.NewPCG(seed, 1)), make([]float64, n*c.columns)
	for i := range n {
		c.draw(rng, i%2, x[i*c.columns:][:c.columns])
		if c.gaps && i%5 == 2 {
			x[i*c.columns+i/5%c.columns] = math.NaN()
		}
	}
	return x
}

// briefly is evident with fewer starts.
func briefly(t *testing.T, m mixture.Model, src *blocks.Table, k int) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
	o := framework.Options{K: 5, Criterion: framework.Evidence, Restarts: 2, Seed: 1}
	if k > 0 {
		o.K, o.FixedK = k, true
	}
	res := fit(t, m, src, o)
	require.Zero(t, res.Fall, "the objective fell")
	return res
}

// The objective never falls, whatever K; two groups are two; the order of the rows, and units, change nothing but the Jacobian.
func TestEvidenceOfFamilies(t *testing.T) {
	for _, c := range properCases() {
		t.Run(c.name, func(t *testing.T) {
			const n = 60
			m, x := mixture.Model{Family: c.of}, c.table(t, n, 11)
			src := source(t, x, n, c.columns)
			res := briefly(t, m, src, 0)
			assert.Equal(t, 2, res.Shape.K)
			assert.Less(t, res.Value, res.Evaluation.Bound())
			for k := 1; k <= 3; k++ {
				assert.LessOrEqual(t, briefly(t, m, src, k).Value, res.Value+1e-6, "K = %d", k)
			}
			moved, jacobian := make([]float64, len(x)), 0.0
			for i := range n {
				for j := range c.columns {
					to := &moved[(n-1-i)*c.columns+j]
					if *to = x[i*c.columns+j]; c.scaled {
						scale := math.Exp2(float64(12 * (j - 1)))
						if *to *= scale; !math.IsNaN(*to) {
							jacobian += math.Log(scale)
						}
					}
				}
			}
			there := briefly(t, m, source(t, moved, n, c.columns), 2)
			assert.InDelta(t, res.Value, there.Value+jacobian, 1e-5)
		})
	}
}

// A component without rows is at the table's fit, or the mode of its prior, and has no term but that of its weight; one of one row, and a
// table of one row or of equal ones, have a value or one line that says what is wrong.
func TestEvidenceOfFamiliesWithoutData(t *testing.T) {
	for _, c := range properCases() {
		t.Run(c.name, func(t *testing.T) {
			const n = 20
			m, x := mixture.Model{Family: c.of}, c.table(t, n, 5)
			src := source(t, x, n, c.columns)
			one := briefly(t, m, src, 1)
			w := one.Parameters.Pooled
			p := &mixture.Parameters{K: 2, D: c.columns, Weights: []float64{1, 0}, Components: slices.Repeat(w.Parameters, 2), Pooled: w}
			s := m.NewStatistics(p)
			require.NoError(t, m.Prepare(p, nil, s))
			_, err := m.Infer(src.All(), p, s)
			require.NoError(t, err)
			for range 100 {
				p, err = m.MaximizePosterior(s, p, nil)
				require.NoError(t, err)
			}
			costs, err := s.Classes.Costs(s.Nk, p.Components, p.Hyper)
			require.NoError(t, err)
			assert.InDelta(t, 0, costs[1], 1e-9)
			assert.Positive(t, costs[0])

			for i := range n {
				copy(x[i*c.columns:(i+1)*c.columns], x[:c.columns])
			}
			for _, rows := range []int{1, n} {
				res, err := framework.Fit(t.Context(), m, source(t, x[:rows*c.columns], rows, c.columns),
					framework.Options{K: 3, Criterion: framework.Evidence, Restarts: 2, Seed: 1})
				if err != nil {
					assert.NotContains(t, err.Error(), "NaN")
					continue
				}
				assert.False(t, math.IsNaN(res.Value) || math.IsInf(res.Value, 0))
				assert.Equal(t, 1, res.Shape.K)
			}
		})
	}
}

// Conjugate priors are worth as many observations as are asked for: of one class the evidence is a closed form.
func TestEvidenceOfConjugateFamiliesUnderAnotherPrior(t *testing.T) {
	const worth = 3
	lgamma := func(x float64) float64 {
		v, _ := math.Lgamma(x)
		return v
	}
	for _, c := range []struct {
		of    family.Family
		x     []float64
		exact func(n, sum float64) float64
	}{
		{family.Poisson{}, []float64{2, 0, 5, 3, 3, 1, 8}, func(n, sum float64) float64 {
			a, b := float64(worth), worth*n/sum
			return a*math.Log(b) - lgamma(a) + lgamma(a+sum) - (a+sum)*math.Log(b+n)
		}},
		{family.Bernoulli{}, []float64{1, 0, 1, 1, 0, 1, 1}, func(n, sum float64) float64 {
			const a = worth / 2.
			return lgamma(a+sum) + lgamma(a+n-sum) - lgamma(2*a+n) - 2*lgamma(a) + lgamma(2*a)
		}},
		{family.Exponential{}, []float64{0.3, 2, 5, 0.7, 1.1}, func(n, sum float64) float64 {
			a, b := float64(worth), worth*sum/n
			return a*math.Log(b) - lgamma(a) + lgamma(a+n) - (a+n)*math.Log(b+sum)
		}},
	} {
		m := mixture.Model{Family: c.of, Prior: prior.UnitInformation{Rows: worth}}
		src, err := blocks.FromIncomplete(c.x, len(c.x), 1)
		require.NoError(t, err)
		want := c.exact(float64(len(c.x)), floats.Sum(c.x))
		if _, counts := c.of.(family.Poisson); counts {
			for _, x := range c.x {
				want -= lgamma(x + 1)
			}
		}
		assert.InDelta(t, want, evident(t, m, src, 1).Value, 1e-9, c.of.Name())
	}
}
