package studentt

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// The compiler checks what the package says.
var (
	_ family.Family    = StudentT{}
	_ family.SumFactor = StudentT{}
	_ family.Anchored  = StudentT{}
	_ family.Sampler   = StudentT{}
)

// clusters draws rows of a class each in turn, with t distributions of 3 degrees of freedom in two columns and a count in a third.
func clusters(n int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, 3, nil)
	for i := range n {
		k := i % 3
		for j, mu := range [][]float64{{0, 0}, {8, 0}, {0, 8}}[k] {
			x.Set(i, j, distuv.StudentsT{Mu: mu, Sigma: 1, Nu: 3, Src: rng}.Rand())
		}
		x.Set(i, 2, distuv.Poisson{Lambda: []float64{2, 6, 12}[k], Src: rng}.Rand())
	}
	return x
}

// missing leaves out a share of the numbers, but no whole row.
func missing(x *mat.Dense, share float64, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 2))
	y := mat.DenseCopyOf(x)
	y.Apply(func(i, j int, v float64) float64 {
		if j != i%3 && rng.Float64() < share {
			return math.NaN()
		}
		return v
	}, y)
	return y
}

func fit(t *testing.T, f family.Family, x *mat.Dense, o framework.Options) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
	n, d := x.Dims()
	src, err := blocks.FromIncomplete(x.RawMatrix().Data, n, d)
	require.NoError(t, err)
	res, err := framework.Fit(context.Background(), mixture.Model{Family: f}, src, o)
	require.NoError(t, err)
	return res
}

// Three classes are found, alone, beside counts, and with a fifth of the numbers missing, where normal distributions take
// 4 to 7, and have a gFIC at least 2 nats lower.
func TestHeavyTailsAreFound(t *testing.T) {
	beside := family.Product{StudentT{}, StudentT{}, family.Poisson{}}
	for seed := range tier.Of[uint64](1, 2, 8) {
		x := clusters(600, seed)
		two := mat.DenseCopyOf(x.Slice(0, 600, 0, 2))
		o := framework.Options{K: 8, Restarts: 2, Tolerance: 1e-7}
		alone := fit(t, StudentT{}, two, o)
		for what, res := range map[string]*framework.Result[*mixture.Parameters, *mixture.Statistics]{
			"alone":   alone,
			"product": fit(t, beside, x, o),
			"missing": fit(t, beside, missing(x, 0.2, seed), o),
		} {
			assert.Equal(t, 3, res.Shape.K, "seed %d, %s", seed, what)
			assert.Zero(t, res.Fall)
			for k := range res.Shape.K { // a standard error is about 0.11
				at := res.Parameters.Components[k*len(res.Parameters.Components)/3:]
				assert.InDelta(t, 0, min(math.Abs(at[0]), math.Abs(at[0]-8)), 0.5)
				assert.InDelta(t, 0, min(math.Abs(at[3]), math.Abs(at[3]-8)), 0.5)
			}
		}
		normal := fit(t, normal.Family{Covariance: normal.Diagonal}, two, o)
		t.Logf("seed %d: gFIC %.2f, of normal distributions %.2f at K = %d", seed, alone.Value, normal.Value, normal.Shape.K)
		assert.Greater(t, normal.Shape.K, 3)
		assert.Greater(t, alone.Value, normal.Value+2)
	}
}

// density is the log density alone.
type density struct{}

func (density) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("location", 1), numeric.Positive("scale", 1), numeric.Positive("tail", 1)}}
}

func (density) LogProb(x, xi, _ []float64) float64 {
	return distuv.StudentsT{Mu: xi[0], Sigma: math.Sqrt(xi[1]), Nu: xi[2]}.LogProb(x[0])
}

func TestTwinsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for k := 1; k <= 2; k++ {
		x := mat.NewDense(200, 1, nil)
		for i := range 200 {
			x.Set(i, 0, distuv.StudentsT{Mu: 40 * float64(i%k), Sigma: 1, Nu: 2, Src: rng}.Rand())
		}
		src, err := blocks.FromMatrix(x)
		require.NoError(t, err)
		o := framework.Options{K: k, Method: framework.EM, Tolerance: 1e-12, Restarts: 3}
		want, err := framework.Fit(context.Background(), mixture.Model{Family: numeric.Family{Density: density{}}}, src, o)
		require.NoError(t, err)
		got := fit(t, StudentT{}, x, o)
		t.Logf("K = %d: %.9f, apart %.1e, %.4f", k, want.Value, got.Value-want.Value, got.Parameters.Components)
		assert.InDelta(t, want.Value, got.Value, 1e-6)
	}
}

// The information is the integral of the product of two derivatives of ln p.
func TestInformation(t *testing.T) {
	table := &family.Pooled{Parameters: []float64{3, 2.5, 7}}
	for _, xi := range [][]float64{{1, 2, 0.6}, {-3, 0.1, 3}, {0, 5, 30}} {
		unit := math.Sqrt(table.Parameters[1])
		logProb := func(x float64, step []float64) float64 {
			phi := math.Log1p(1/xi[2]) + step[2]
			to := []float64{xi[0] + unit*step[0], xi[1] + unit*unit*step[1], 1 / math.Expm1(phi)}
			score := make([]float64, 5)
			require.NoError(t, StudentT{}.Score(to, score))
			r := make([]float64, family.Padded(1))
			StudentT{}.AddScores(&family.Observed{N: 1, X: append([]float64{x}, r[1:]...)}, family.Table{K: 1, Data: score}, r)
			return r[0]
		}
		got := StudentT{}.Information(xi, table, nil)[0]
		scale := math.Sqrt(xi[1])
		for a := range 3 {
			for b := a; b < 3; b++ {
				slope := func(x float64, a int) float64 {
					up, down, h := make([]float64, 3), make([]float64, 3), 1e-5
					up[a], down[a] = h, -h
					return (logProb(x, up) - logProb(x, down)) / (2 * h)
				}
				want := quad.Fixed(func(u float64) float64 { // x = μ + σ tan(u)³: the tails are long
					tan := math.Tan(u)
					x := xi[0] + scale*tan*tan*tan
					return slope(x, a) * slope(x, b) * math.Exp(logProb(x, make([]float64, 3))) * scale * 3 * tan * tan * (1 + tan*tan)
				}, -math.Pi/2, math.Pi/2, 400, nil, 0)
				assert.InDelta(t, want, got.At(a, b), 1e-5*math.Sqrt(got.At(a, a)*got.At(b, b)), "%v, (%d, %d)", xi, a, b)
			}
		}
	}
	for nu, want := range map[float64]float64{1e-6: 1, 1000: 3.5} { // of φ alone
		assert.InDelta(t, want, StudentT{}.Information([]float64{0, 2.5, nu}, table, nil)[0].At(2, 2), 0.01)
	}
	for _, nu := range []float64{fewest, 1, 10, most} { // neither end of the range is for nothing, or dear
		f := StudentT{}.Information([]float64{0, 2.5, nu}, table, nil)[0]
		assert.InDelta(t, 0, f.LogDet(), 4, "ν = %v", nu)
	}
}

// The curvature is that of the t distribution (see TestInformation), and not that of x and u together: there are no Latent
// coordinates.
func TestModel(t *testing.T) {
	x := clusters(120, 3)
	two := mat.DenseCopyOf(x.Slice(0, 120, 0, 2))
	beside := family.Product{StudentT{}, StudentT{}, family.Poisson{}}
	for what, c := range map[string]struct {
		f family.Family
		x *mat.Dense
	}{"alone": {StudentT{}, two}, "product": {beside, x}, "missing": {beside, missing(x, 0.2, 1)}} {
		t.Run(what, func(t *testing.T) {
			if what != "alone" {
				tier.Leave(t, "the family alone; beside counts and with gaps TestHeavyTailsAreFound")
			}
			units := []float64{1000, 0.1, 1}[:c.x.RawMatrix().Cols]
			rescaled := lvmtest.Rescaled("other units", c.x, units)
			for i, v := range c.x.RawMatrix().Data { // a number that is missing has no unit
				if math.IsNaN(v) {
					rescaled.LogDet -= math.Log(units[i%len(units)]) / 120
				}
			}
			lvmtest.Test(t, lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
				Model: mixture.Model{Family: c.f}, Data: lvmtest.Matrix(c.x), K: tier.Sizes(),
				Units: []lvmtest.Units[blocks.Rows]{rescaled}, Free: free,
				Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
					q, width := *p, len(p.Components)/p.K
					q.Weights, q.Components = nil, nil
					for _, k := range rng.Perm(p.K) {
						q.Weights, q.Components = append(q.Weights, p.Weights[k]), append(q.Components, p.Components[k*width:(k+1)*width]...)
					}
					return &q
				},
				Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
					x, _, err := mixture.Model{Family: c.f}.Sample(p, n, rng)
					return lvmtest.Matrix(mat.NewDense(n, len(units), x)), err
				},
				SampleK: 2,
			})
		})
	}
}

// free are K − 1 weights and the logarithms of the parameters that are positive.
func free(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
	width := len(p.Components) / p.K
	location := func(i int) bool { return i%width%3 == 0 && i%width < 6 }
	x := slices.Clone(p.Weights[1:])
	for i, v := range p.Components {
		if !location(i) {
			v = math.Log(v)
		}
		x = append(x, v)
	}
	return x, func(x []float64) *mixture.Parameters {
		q := *p
		rest := 1.
		for _, w := range x[:p.K-1] {
			rest -= w
		}
		q.Weights, q.Components = append([]float64{rest}, x[:p.K-1]...), slices.Clone(x[p.K-1:])
		for i, v := range q.Components {
			if !location(i) {
				q.Components[i] = math.Exp(v)
			}
		}
		return &q
	}
}
