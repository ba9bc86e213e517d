package numeric_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

var ctx = context.Background()

// poisson is the twin of family.Poisson on any number of columns.
type poisson struct{}

func (poisson) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Rate("rate", d)}}
}

func (poisson) LogProb(x, rate, _ []float64) float64 {
	sum := 0.0
	for j, v := range x {
		lg, _ := math.Lgamma(v + 1)
		sum += -rate[j] - lg
		if v > 0 {
			sum += v * math.Log(rate[j])
		}
	}
	return sum
}

// bernoulli is the twin of family.Bernoulli.
type bernoulli struct{}

func (bernoulli) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Probability("p", d)}}
}

func (bernoulli) LogProb(x, p, _ []float64) float64 {
	sum := 0.0
	for j, v := range x {
		if v == 1 {
			sum += math.Log(p[j])
		} else {
			sum += math.Log1p(-p[j])
		}
	}
	return sum
}

// categorical is the twin of family.Categorical with 3 levels, 0, 1 and 2.
type categorical struct{}

func (categorical) Layout(d int) numeric.Layout {
	var list []numeric.Parameter
	for range d {
		list = append(list, numeric.Simplex("levels", 3))
	}
	return numeric.Layout{Component: list}
}

func (categorical) LogProb(x, p, _ []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += math.Log(p[3*j+int(v)])
	}
	return sum
}

// diagonal is the twin of normal.Family with a diagonal covariance.
type diagonal struct{}

func (diagonal) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("mean", d), numeric.Positive("variance", d)}}
}

func (diagonal) LogProb(x, xi, _ []float64) float64 {
	sum := 0.0
	for j, v := range x {
		variance := xi[len(x)+j]
		sum -= (math.Log(2*math.Pi*variance) + (v-xi[j])*(v-xi[j])/variance) / 2
	}
	return sum
}

// full is the twin of normal.Family with a covariance of each component.
type full struct{}

func (full) Layout(d int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("mean", d), numeric.SPD("covariance", d)}}
}

func (full) LogProb(x, xi, _ []float64) float64 {
	if len(x) != 2 {
		panic("two columns")
	}
	a, b, c := xi[2], xi[3], xi[5]
	det := a*c - b*b
	u, v := x[0]-xi[0], x[1]-xi[1]
	return -math.Log(2*math.Pi) - math.Log(det)/2 - (c*u*u-2*b*u*v+a*v*v)/(2*det)
}

func counts(n, d int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	x := make([]float64, n*d)
	for i := range n {
		rate := []float64{2, 12, 40}[rng.IntN(3)]
		for j := range d {
			for t := rng.ExpFloat64(); t < rate*(1+0.5*float64(j)); t += rng.ExpFloat64() {
				x[i*d+j]++
			}
		}
	}
	return x
}

func answers(n int, levels float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 6))
	p := [][]float64{{.1, .9, .2, .9, .1, .8}, {.9, .1, .8, .2, .9, .1}}
	x := make([]float64, n*6)
	for i := range n {
		row := p[rng.IntN(2)]
		for j := range 6 {
			for range int(levels) - 1 {
				if rng.Float64() < 0.05+0.9*row[j] {
					x[i*6+j]++
				}
			}
		}
	}
	return x
}

func clouds(n int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n*2)
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		switch rng.IntN(2) {
		case 0:
			x[2*i], x[2*i+1] = 100+a, 5+0.1*(b+0.5*a)
		case 1:
			x[2*i], x[2*i+1] = 106+2*a, 5.8+0.1*(b-0.7*a)
		}
	}
	return x
}

func tableOf(t testing.TB, x []float64, d int) *blocks.Table {
	table, err := blocks.FromSlice(x, len(x)/d, d)
	require.NoError(t, err)
	return table
}

// The same mixture, once from its log density alone and once from package mixture, gives the same answers.
func TestTwinsOfMixtureFamilies(t *testing.T) {
	for _, c := range []struct {
		name    string
		density numeric.Density
		family  family.Family
		x       []float64
		d, k    int
	}{
		{"poisson", poisson{}, family.Poisson{}, counts(150, 2, 1), 2, 5},
		{"bernoulli", bernoulli{}, family.Bernoulli{}, answers(150, 2, 2), 6, 3},
		{"categorical", categorical{}, family.Categorical{Levels: 3}, answers(200, 3, 3), 6, 2},
		{"diagonal", diagonal{}, normal.Family{Covariance: normal.Diagonal}, clouds(200, 4), 2, 4},
		{"full", full{}, normal.Family{}, clouds(200, 5), 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "poisson" && c.name != "bernoulli" {
				tier.Leave(t, "rates and chances; of simplices TestSimplexHasUnitInformation, of scales TestWholeTableFromFarAway")
			}
			src := tableOf(t, c.x, c.d)
			for _, method := range []framework.Method{framework.EM, framework.GFAB, framework.FAB} {
				o := framework.Options{K: c.k, Method: method, Tolerance: 1e-11, Also: []framework.Criterion{framework.GFIC, framework.BIC, framework.ICL}}
				switch method {
				case framework.EM:
					o.K = 2
				case framework.GFAB:
					o.Criterion = framework.GFIC
				}
				want, err := framework.Fit(ctx, mixture.Model{Family: c.family}, src, o)
				require.NoError(t, err)
				got, err := framework.Fit(ctx, mixture.Model{Family: numeric.Family{Density: c.density}}, src, o)
				require.NoError(t, err)
				t.Logf("%v: K = %d, %s = %.9f, apart %.1e; %d and %d iterations; fall %.1e", method, got.Shape.K, got.Criterion, got.Value, got.Value-want.Value, got.Iterations, want.Iterations, got.Fall)
				assert.Equal(t, want.Shape, got.Shape)
				for i := range want.Scores {
					margin := 1e-4 // depends on where the iteration stops
					if i == 0 {
						margin = 1e-6
					}
					assert.InDelta(t, want.Scores[i].Value, got.Scores[i].Value, margin, want.Scores[i].Criterion)
				}
				assert.Less(t, got.Fall, 1e-7)
			}
		})
	}
}
