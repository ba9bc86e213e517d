package mixture_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A hostileCase is a tiny table and a fit to it, both chosen to break something.
type hostileCase struct {
	family  mixture.Family
	model   string // model, map, variational
	options framework.Options
	start   mixture.Start
	prior   prior.Dirichlet

	x       []float64
	n, d    int
	weights []float64
}

func (c hostileCase) String() string {
	return fmt.Sprintf("%T%v %s %v K=%d %v restarts=%d seed=%d %v\n%dx%d %v\nweights %v", c.family, c.family, c.model, c.options.Method, c.options.K, c.start,
		c.options.Restarts, c.options.Seed, c.prior, c.n, c.d, c.x, c.weights)
}

// A chooser gives a number from 0 to n−1: rapid's, or the next byte of a fuzzed string.
type chooser func(n int) int

func (c chooser) chance(one int) bool { return c(one) == one-1 }

func choice[T any](c chooser, list ...T) T { return list[c(len(list))] }

// hostileColumns are a family on some columns, and values that it describes.
type hostileColumns struct {
	family mixture.Family
	width  int
	values []float64
	draw   func(*rand.Rand) float64
}

func hostileFamily(c chooser, width int) hostileColumns {
	reals := []float64{0, 1, -1, 1e-300, -1e-300, 1e300, -1e300, 1e8, 1e8 + 1e-7, 1e8 + 1e-6, 3, 1e-160, 1e160, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}
	counts := []float64{0, 1, 2, 3, 7, 1000, 1e8, 1e8 + 1, 1 << 53, 1e15}
	positive := []float64{1, 2, 1e-300, 1e300, 1e8, 1e8 + 1e-7, 0.3, math.SmallestNonzeroFloat64, math.MaxFloat64, 1e-8, 1 + 1e-15}
	normal := func(rng *rand.Rand) float64 { return rng.NormFloat64() }
	count := func(rng *rand.Rand) float64 { return math.Floor(5 * rng.ExpFloat64()) }
	bit := func(rng *rand.Rand) float64 { return float64(rng.IntN(2)) }
	switch c(9) {
	case 0:
		return hostileColumns{mixture.Gaussian{Covariance: mixture.Full}, width, reals, normal}
	case 1:
		return hostileColumns{mixture.Gaussian{Covariance: mixture.Tied}, width, reals, normal}
	case 2:
		return hostileColumns{mixture.Gaussian{Covariance: mixture.Diagonal}, width, reals, normal}
	case 3:
		return hostileColumns{mixture.Gaussian{Covariance: mixture.Spherical}, width, reals, normal}
	case 4:
		return hostileColumns{mixture.Poisson{}, width, counts, count}
	case 5:
		return hostileColumns{mixture.Exponential{}, width, append(positive, 0), func(rng *rand.Rand) float64 { return rng.ExpFloat64() }}
	case 6:
		return hostileColumns{mixture.Gamma{}, width, positive, func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }}
	case 7:
		return hostileColumns{mixture.Bernoulli{}, width, []float64{0, 1}, bit}
	}
	if levels := 2 + c(3); c(2) == 0 {
		codes := []float64{0, 1, 2, 3}[:levels]
		return hostileColumns{mixture.Categorical{Levels: levels}, width, codes, func(rng *rand.Rand) float64 { return float64(rng.IntN(levels)) }}
	}
	return hostileColumns{mixture.Multinomial{Categories: max(2, width)}, max(2, width), counts, count}
}

// newHostileCase draws a table column by column: a few values of the family's support,
// repeated, or random ones, sometimes missing, seldom outside the support.
func newHostileCase(c chooser) hostileCase {
	h := hostileCase{n: max(1+c(12), 1+c(12)), start: mixture.Start(c(3)), model: choice(c, "model", "model", "map", "variational")}
	h.options = framework.Options{K: min(1+c(6), 1+c(6)), FixedK: c.chance(4), Method: framework.Method(c(3)), MaxIterations: choice(c, 60, 60, 3), Restarts: 1 + c(2), Workers: 1, Seed: uint64(c(256))}
	h.prior = choice(c, prior.Dirichlet{}, prior.Dirichlet{Alpha: 1.5}, prior.Dirichlet{Alpha: 100}, prior.Dirichlet{Alpha: 1e-3})
	if h.model == "variational" {
		h.options.Method = framework.EM
	}
	groups := []hostileColumns{hostileFamily(c, 1+c(4))}
	if h.family = groups[0].family; c.chance(3) {
		groups = []hostileColumns{groups[0], hostileFamily(c, 1+c(2))}
		h.family = mixture.Product{mixture.Of{Family: groups[0].family, Width: groups[0].width}, mixture.Of{Family: groups[1].family, Width: groups[1].width}}
	}
	columns := make([]func() float64, 0, 6)
	rng := rand.New(rand.NewPCG(uint64(c(256)), 0))
	missing, outside := choice(c, 0, 0, 0, 0.1, 0.5), c.chance(8)
	tame := c(2) == 0 // no value that alone ends a fit
	for _, g := range groups {
		for range g.width {
			few, random, scale := make([]float64, 1+c(4)), c(2) == 0, choice(c, 1., 1., 1., 1e-160, 1e160)
			for i := range few {
				if few[i] = choice(c, g.values...); tame {
					few[i] = g.draw(rng)
				}
			}
			if _, ok := g.family.(mixture.Gaussian); !ok || tame {
				scale = 1
			}
			columns = append(columns, func() float64 {
				switch {
				case rng.Float64() < missing:
					return math.NaN()
				case outside && rng.Float64() < 0.1:
					return []float64{-1, 0.5, 1e300, -1e-300}[rng.IntN(4)]
				case random && rng.Float64() < 0.9:
					return scale * g.draw(rng)
				}
				return few[rng.IntN(len(few))]
			})
		}
	}
	h.d = len(columns)
	for i := range h.n {
		if i > 0 && rng.IntN(8) == 0 {
			h.x = append(h.x, h.x[(i-1)*h.d:]...) // the row before once more
			continue
		}
		for _, draw := range columns {
			h.x = append(h.x, draw())
		}
	}
	if kind := c(6); kind > 2 {
		h.weights = make([]float64, h.n)
		for i := range h.weights {
			switch kind {
			case 3:
				h.weights[i] = float64(1 + rng.IntN(4))
			case 4:
				h.weights[i] = float64(rng.IntN(3))
			case 5:
				h.weights[i] = math.Pow(10, 9*rng.Float64()-3)
			}
		}
	}
	return h
}

// requireUseful says that an error is one line for each restart that has one, and that a
// user can do something with it.
func requireUseful(t require.TestingT, err error, restarts int) {
	lines := strings.Split(err.Error(), "\n")
	require.LessOrEqual(t, len(lines), max(1, restarts))
	for _, line := range lines {
		require.NotEmpty(t, strings.TrimSpace(line))
		require.Less(t, len(line), 500, line)
		for _, useless := range []string{"NaN", "panic", "%!", "runtime"} {
			require.NotContains(t, line, useless)
		}
	}
}

// survives makes the fit: an error that says something, or a result without a NaN in it.
func (h hostileCase) survives(t require.TestingT) error {
	table, err := framework.FromIncomplete(h.x, h.n, h.d)
	require.NoError(t, err)
	if h.weights != nil {
		if table, err = table.WithWeights(h.weights); err != nil {
			requireUseful(t, err, 1)
			return err
		}
	}
	ctx, model := context.Background(), mixture.Model{Family: h.family, Start: h.start}
	o := h.options
	if h.model == "variational" {
		m := mixture.Variational{Family: h.family, Start: h.start, Weights: h.prior}
		res, err := framework.Fit(ctx, m, table, o)
		if err != nil {
			requireUseful(t, err, o.Restarts)
			return err
		}
		requireFinite(t, "posterior", res.Parameters.Components)
		requireFinite(t, "concentrations", res.Parameters.Weights)
		r, err := m.Responsibilities(counted(table), res.Parameters, nil)
		require.NoError(t, err)
		requireProbabilities(t, r, res.Shape.K)
		requireResult(t, res, o.K)
		point, err := m.Point(res.Parameters)
		require.NoError(t, err)
		requireParameters(t, model, point, table, res.Statistics)
		return nil
	}
	o.Also = []framework.Criterion{framework.BIC, framework.AIC, framework.ICL, framework.GFIC, framework.FIC}
	var m interface {
		framework.Model[framework.Rows, *mixture.Parameters, *mixture.Statistics]
		framework.Assigner[framework.Rows, *mixture.Parameters]
	} = model
	if h.model == "map" {
		m = mixture.MAP{Model: model, Weights: h.prior}
	}
	res, err := framework.Fit(ctx, m, table, o)
	if err != nil {
		requireUseful(t, err, o.Restarts)
		return err
	}
	requireResult(t, res, o.K)
	requireParameters(t, model, res.Parameters, table, res.Statistics)
	return nil
}

func requireResult[P any](t require.TestingT, res *framework.Result[P, *mixture.Statistics], k int) {
	requireFinite(t, "value", []float64{res.Value, res.N, res.Fall})
	requireFinite(t, "trace", res.Trace)
	requireFinite(t, "objective", res.Objective)
	require.LessOrEqual(t, res.Shape.K, k)
	require.GreaterOrEqual(t, res.Shape.K, 1)
	for _, s := range res.Scores {
		if s.Err != nil {
			requireUseful(t, s.Err, 1)
			continue
		}
		// −½ ln|F| is infinite where a prior keeps a component that has lost all its rows.
		requireNoNaN(t, s.Criterion, []float64{s.Value})
	}
}

// counted are the rows that have a weight: those left out may be too far away to be judged.
func counted(table *framework.Table) framework.Rows {
	all := table.All()
	kept := framework.Rows{D: all.D, Stride: all.D}
	for i := range all.N {
		if all.Weight(i) > 0 {
			kept.X, kept.N = append(kept.X, all.Row(i)...), kept.N+1
		}
	}
	return kept
}

// requireParameters puts parameters to every use.
func requireParameters(t require.TestingT, m mixture.Model, p *mixture.Parameters, table *framework.Table, s *mixture.Statistics) {
	require.NoError(t, m.Check(p))
	requireFinite(t, "components", p.Components)
	requireProbabilities(t, p.Weights, p.K)
	rows := counted(table)
	r, err := m.Responsibilities(rows, p, nil)
	require.NoError(t, err)
	requireProbabilities(t, r, p.K)
	logProb, err := m.LogProb(rows, p, nil)
	require.NoError(t, err)
	require.Len(t, logProb, rows.N)
	requireFinite(t, "log probabilities", logProb)
	x, labels, err := m.Sample(p, 3, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	require.Len(t, labels, 3)
	requireFinite(t, "sample", x)
	components, weights, err := m.StandardErrors(s, p)
	require.NoError(t, err)
	requireNoNaN(t, "standard errors", components)
	requireFinite(t, "standard errors of weights", weights)
	for k := range p.K {
		list, err := m.Characteristic(p, k)
		require.NoError(t, err)
		for _, c := range list {
			requireNoNaN(t, "divergences", []float64{c.Divergence})
		}
	}
}

func requireFinite(t require.TestingT, what string, v []float64) {
	for i, x := range v {
		require.False(t, x-x != 0, "%s: number %d of %v", what, i, v)
	}
}

func requireNoNaN(t require.TestingT, what string, v []float64) {
	for i, x := range v {
		require.False(t, math.IsNaN(x), "%s: number %d of %v", what, i, v)
	}
}

func requireProbabilities(t require.TestingT, p []float64, k int) {
	for ; len(p) > 0; p = p[k:] {
		require.GreaterOrEqual(t, floats.Min(p[:k]), 0.)
		require.InDelta(t, 1, floats.Sum(p[:k]), 1e-9)
	}
}

// TestHostileTablesGiveAnErrorOrAFiniteFit whatever family, model, method and start.
func TestHostileTablesGiveAnErrorOrAFiniteFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHostileCase(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		t.Log(h)
		h.survives(t)
	})
}

// FuzzFit reads the choices of the property above off a string of bytes.
func FuzzFit(f *testing.F) {
	f.Fuzz(func(t *testing.T, choices []byte) {
		h := newHostileCase(bytesChooser(choices))
		t.Log(h)
		h.survives(t)
	})
}

// bytesChooser takes a byte for each choice, and 0 after the last.
func bytesChooser(choices []byte) chooser {
	return func(n int) int {
		if len(choices) == 0 {
			return 0
		}
		v := int(choices[0]) % n
		choices = choices[1:]
		return v
	}
}

var _ = assert.Equal
