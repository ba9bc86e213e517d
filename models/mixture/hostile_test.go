package mixture_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A hostileCase is a tiny table and a fit to it, both chosen to break something.
type hostileCase struct {
	family  family.Family
	model   string // model, map, variational
	options framework.Options
	start   family.Start
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
	family family.Family
	width  int
	values []float64
	draw   func(*rand.Rand) float64
}

func hostileFamily(c chooser, width int) hostileColumns {
	reals := []float64{0, 1, -1, 1e-300, -1e-300, 1e300, -1e300, 1e8, 1e8 + 1e-7, 1e8 + 1e-6, 3, 1e-160, 1e160, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)}
	counts := []float64{0, 1, 2, 3, 7, 1000, 1e8, 1e8 + 1, 1 << 53, 1e15}
	positive := []float64{1, 2, 1e-300, 1e300, 1e8, 1e8 + 1e-7, 0.3, math.SmallestNonzeroFloat64, math.MaxFloat64, 1e-8, 1 + 1e-15}
	bell := func(rng *rand.Rand) float64 { return rng.NormFloat64() }
	count := func(rng *rand.Rand) float64 { return math.Floor(5 * rng.ExpFloat64()) }
	bit := func(rng *rand.Rand) float64 { return float64(rng.IntN(2)) }
	switch c(11) {
	case 0:
		return hostileColumns{normal.Family{Covariance: normal.Full}, width, reals, bell}
	case 1:
		return hostileColumns{normal.Family{Covariance: normal.Tied}, width, reals, bell}
	case 2:
		return hostileColumns{normal.Family{Covariance: normal.Diagonal}, width, reals, bell}
	case 3:
		return hostileColumns{normal.Family{Covariance: normal.Spherical}, width, reals, bell}
	case 4:
		return hostileColumns{family.Poisson{}, width, counts, count}
	case 5:
		return hostileColumns{family.Exponential{}, width, append(positive, 0), func(rng *rand.Rand) float64 { return rng.ExpFloat64() }}
	case 6:
		return hostileColumns{family.Gamma{}, width, positive, func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }}
	case 7:
		return hostileColumns{family.Bernoulli{}, width, []float64{0, 1}, bit}
	case 8:
		return hostileColumns{normal.Lognormal{}, width, positive, func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) }}
	case 9:
		levels := 3 + c(3)
		return hostileColumns{family.Ordinal{Levels: levels}, width, []float64{0, 1, 2, 3, 4}[:levels], func(rng *rand.Rand) float64 { return float64(rng.IntN(levels)) }}
	}
	if levels := 2 + c(3); c(2) == 0 {
		codes := []float64{0, 1, 2, 3}[:levels]
		return hostileColumns{family.Categorical{Levels: levels}, width, codes, func(rng *rand.Rand) float64 { return float64(rng.IntN(levels)) }}
	}
	return hostileColumns{family.Multinomial{Categories: max(2, width)}, max(2, width), counts, count}
}

// newHostileCase draws a table column by column: a few values of the family's support,
// repeated, or random ones, sometimes missing, seldom outside the support.
func newHostileCase(c chooser) hostileCase {
	h := hostileCase{n: max(1+c(12), 1+c(12)), start: family.Start(c(3)), model: choice(c, "model", "model", "map", "variational")}
	h.options = framework.Options{K: min(1+c(6), 1+c(6)), FixedK: c.chance(4), Method: framework.Method(c(3)), MaxIterations: choice(c, 60, 60, 3), Restarts: 1 + c(2), Workers: 1, Seed: uint64(c(256))}
	h.prior = choice(c, prior.Dirichlet{}, prior.Dirichlet{Alpha: 1.5}, prior.Dirichlet{Alpha: 100}, prior.Dirichlet{Alpha: 1e-3})
	if h.model == "variational" {
		h.options.Method = framework.EM
	}
	groups := []hostileColumns{hostileFamily(c, 1+c(4))}
	if h.family = groups[0].family; c.chance(3) {
		groups = []hostileColumns{groups[0], hostileFamily(c, 1+c(2))}
		h.family = family.Product{family.Of{Family: groups[0].family, Width: groups[0].width}, family.Of{Family: groups[1].family, Width: groups[1].width}}
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
			if _, ok := g.family.(normal.Family); !ok || tame {
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
	table, err := blocks.FromIncomplete(h.x, h.n, h.d)
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
		framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
		optional.Assigner[blocks.Rows, *mixture.Parameters]
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
		requireFinite(t, s.Criterion, []float64{s.Value})
	}
}

// counted are the rows that have a weight: those left out may be too far away to be judged.
func counted(table *blocks.Table) blocks.Rows {
	all := table.All()
	kept := blocks.Rows{D: all.D, Stride: all.D}
	for i := range all.N {
		if all.Weight(i) > 0 {
			kept.X, kept.N = append(kept.X, all.Row(i)...), kept.N+1
		}
	}
	return kept
}

// requireParameters puts parameters to every use.
func requireParameters(t require.TestingT, m mixture.Model, p *mixture.Parameters, table *blocks.Table, s *mixture.Statistics) {
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
	if _, unknown := m.Family.(normal.FactorAnalysers); !unknown { // those of loadings depend on a rotation
		requireNoNaN(t, "standard errors", components)
	}
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
		for range 20 {
			h := newHostileCase(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
			t.Log(h)
			h.survives(t)
		}
	})
}

// TestHostileTablesOfFactorAnalysersGiveAnErrorOrAFiniteFit: as others do.
func TestHostileTablesOfFactorAnalysersGiveAnErrorOrAFiniteFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		for range 10 {
			h := newHostileCase(choose)
			h.model, h.family = "model", normal.FactorAnalysers{Factors: choose(5) - 1, Fixed: choose(4) == 0, Floor: choice(choose, 0., 0, 1e3, family.NoFloor)}
			t.Log(h)
			h.survives(t)
		}
	})
}

// FuzzFit reads the choices of the property above off a string of bytes.
func FuzzFit(f *testing.F) {
	f.Add([]byte("0A20220100Y02Z0\x99201202000202000210007X")) // a covariance that is regular from one end alone
	for seed := range uint64(50) {
		rng, choices := rand.New(rand.NewPCG(seed, 0)), make([]byte, 80)
		for i := range choices {
			choices[i] = byte(rng.Uint32())
		}
		f.Add(choices)
	}
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

// fitting makes a fit to complete or incomplete rows and returns its error.
func fitting[P any](t testing.TB, m framework.Model[blocks.Rows, P, *mixture.Statistics], x []float64, d int, o framework.Options) (*framework.Result[P, *mixture.Statistics], error) {
	t.Helper()
	res, err := framework.Fit(context.Background(), m, source(t, x, len(x)/d, d), o)
	if err != nil {
		requireUseful(t, err, o.Restarts)
	}
	return res, err
}

// TestWhatFuzzingFound: tables that once gave a NaN, or an error that said nothing.
func TestWhatFuzzingFound(t *testing.T) {
	em := func(k int) framework.Options {
		return framework.Options{K: k, Method: framework.EM, MaxIterations: 60, Restarts: 1}
	}
	narrow := []float64{-1e-160, 2e-160, 0.5e-160, 1.5e-160, -0.4e-160}
	nearlyPlane := []float64{-1.0329531432649939, 0.7049312709073917, -0.9774401766070275, 0.36384980514453047, 0.3953392435361699, 0.3279018198182092, -0.841210845253674, 0.3953392435361699,
		-0.22007325947220657, -2.0481545518464683, 0.7049312709073917, -0.22007325947220657, -0.6856922654893136, -0.10352725592337153, -0.9774401766070275}
	for _, c := range []struct {
		name    string
		h       hostileCase
		mention string // nothing where it is to be fitted
	}{
		{"a variance that is denormal", hostileCase{family: normal.Family{}, x: narrow, d: 1, options: em(1)}, "column 1 has the variance 1.26e-320"},
		{"the same, of independent columns", hostileCase{family: normal.Family{Covariance: normal.Diagonal}, x: narrow, d: 1, options: em(1)}, "rescale it"},
		{"the same, of one variance", hostileCase{family: normal.Family{Covariance: normal.Spherical}, x: narrow, d: 1, options: em(1)}, "rescale it"},
		{"the largest number", hostileCase{family: family.Gamma{}, model: "variational", x: []float64{0.5, 0.3, math.MaxFloat64, 1, 2}, d: 1, options: em(1)}, "sums over the rows overflow"},
		{"a row of weight 0 beyond all", hostileCase{family: normal.Family{}, x: []float64{1, 2, 3, 5, 1e300}, d: 1, weights: []float64{1, 1, 1, 1, 0}, options: em(1)}, ""},
		{"a tied covariance that is regular from its first column and not from its last", hostileCase{family: normal.Family{Covariance: normal.Tied}, x: nearlyPlane, d: 3, weights: []float64{1, 2, 1, 4, 3},
			options: framework.Options{K: 4, MaxIterations: 60, Restarts: 2, Seed: 199}}, ""},
		{"half a group", hostileCase{family: family.Multinomial{Categories: 2}, x: []float64{1, 2, 3, math.NaN()}, d: 2, options: em(1)}, "row 2, column 1 is 3: the group must be complete or missing as a whole"},
		{"an empty component under a prior", hostileCase{family: family.Exponential{}, model: "map", start: family.RandomResponsibilities, x: []float64{1.4, 0.9, 0.7, 1.4, 0.3, 0.5, 0.9, 0.9, 1, 1.4, 0.8, 0.5, 0.9, 0.8, 0.5, 0.9, 0.3, 0.5, 1.4, 0.8, 1}, d: 3, options: em(6)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.h.n = len(c.h.x) / c.h.d
			if err := c.h.survives(t); c.mention == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.mention)
			}
		})
	}
}

// everyFamily with a value that it does not describe.
var outsideSupport = []struct {
	family family.ExponentialFamily
	value  float64
	says   string
}{
	{family.Poisson{}, -1, "column 3 is -1: outside the support of poisson: the counts 0, 1, 2, …"},
	{family.Poisson{}, 0.5, "column 3 is 0.5"},
	{family.Poisson{}, 1e300, "column 3 is 1e+300"},
	{family.Exponential{}, -1e-300, "column 3 is -1e-300: outside the support of exponential: non-negative finite numbers"},
	{family.Gamma{}, 0, "column 3 is 0: outside the support of gamma: finite positive numbers"},
	{family.Bernoulli{}, 2, "column 3 is 2: outside the support of bernoulli: the numbers 0 and 1"},
	{family.Ordinal{Levels: 3}, 0.5, "column 3 is 0.5: outside the support of ordinal: the codes 0 to 2"},
	{family.Categorical{Levels: 3}, 3, "column 3 is 3: outside the support of categorical: the codes 0 to 2"},
	{family.Multinomial{Categories: 2}, 1.5, "column 3 is 1.5: the group [1.5 2] is outside the support of multinomial: groups of 2 columns"},
}

// TestValuesOutsideTheSupportNameRowColumnValueAndSupport, in a fit and when rows are
// judged, whether the columns before belong to another family or not.
func TestValuesOutsideTheSupportNameRowColumnValueAndSupport(t *testing.T) {
	for _, c := range outsideSupport {
		width := c.family.Columns()
		row := append([]float64{0, 1}, []float64{1, 2}[:width]...)
		d := len(row)
		product := family.Product{family.Of{Family: family.Bernoulli{}, Width: 2}, c.family}
		m := mixture.Model{Family: product}
		x := append(append([]float64(nil), row...), row...)
		x[0], x[d+2] = 1, c.value
		_, err := fitting(t, m, x, d, framework.Options{K: 1})
		require.ErrorContains(t, err, "row 2, "+c.says)

		if x[d+2] = 1; c.family == (family.Gamma{}) {
			x[d+2] = 2 // which has to differ from row to row
		}
		res, err := fitting(t, m, x, d, framework.Options{K: 1})
		require.NoError(t, err)
		row[2] = c.value
		_, err = m.LogProb(blocks.Rows{First: 6, N: 1, D: d, Stride: d, X: row}, res.Parameters, nil)
		require.ErrorContains(t, err, "row 7, "+c.says)
		requireUseful(t, err, 1)
	}
}

func TestColumnsOfOneValueAreFittedOrNamed(t *testing.T) {
	x := []float64{0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1}
	for _, c := range []struct {
		family family.Family
		shift  float64
		says   string
	}{
		{normal.Family{Floor: family.NoFloor}, 0, "column 2 is constant, to working precision: drop it"},
		{normal.Family{Covariance: normal.Tied, Floor: family.NoFloor}, 1e8, "column 2 is constant, to working precision: drop it"},
		{normal.Family{Covariance: normal.Diagonal, Floor: family.NoFloor}, 0.1, "column 2 is constant, to working precision: drop it"},
		{normal.Family{}, 0, ""},
		{normal.Family{Covariance: normal.Tied}, 1e8, ""},
		{normal.Family{Covariance: normal.Diagonal}, 0.1, ""},
		{normal.Family{Covariance: normal.Spherical}, 0, ""},
		{family.Gamma{}, 1, ""},
		{normal.Lognormal{}, 1, ""},
		{normal.StudentT{Floor: family.NoFloor}, 0, "column 2 is constant"},
		{family.Gamma{Floor: family.NoFloor}, 1, "column 2 is constant"},
		{normal.Lognormal{Floor: family.NoFloor}, 1, "column 2 is constant"},
		{family.Ordinal{Levels: 3}, 0, ""},
		{family.Exponential{}, 0, ""},
		{family.Poisson{}, 0, ""},
		{family.Bernoulli{}, 0, ""},
		{family.Categorical{Levels: 2}, 0, ""},
		{family.Multinomial{Categories: 2}, 0, ""},
	} {
		table := make([]float64, len(x))
		for i, v := range x {
			table[i] = v + c.shift
		}
		h := hostileCase{family: c.family, model: "model", x: table, n: 6, d: 2, options: framework.Options{K: 1, Restarts: 1}}
		if err := h.survives(t); c.says == "" {
			require.NoError(t, err, h)
		} else {
			require.ErrorContains(t, err, c.says, h)
		}
	}
}

func TestRowsThatAreAllEqualAndTooManyComponents(t *testing.T) {
	equal := []float64{1, 0, 1, 0, 1, 0, 1, 0}
	two := []float64{1, 0, 1, 0, 0, 1, 1, 0}
	for start := range family.Start(3) {
		for _, f := range []family.Family{family.Bernoulli{}, family.Poisson{}, family.Categorical{Levels: 2}, normal.Family{Covariance: normal.Diagonal}, normal.Family{Covariance: normal.Spherical}} {
			m := mixture.Model{Family: f, Start: start}
			_, gaussian := f.(normal.Family)
			says := "2 components for 1 distinct rows: choose K up to 1"
			if gaussian {
				says = "is constant"
			}
			_, err := fitting(t, m, equal, 2, framework.Options{K: 2})
			require.ErrorContains(t, err, says)
			_, err = fitting(t, m, two, 2, framework.Options{K: 3})
			require.ErrorContains(t, err, "3 components for 2 distinct rows: choose K up to 2")
			_, err = fitting(t, mixture.Variational{Family: f, Start: start}, two, 2, framework.Options{K: 3, Method: framework.EM})
			require.ErrorContains(t, err, "3 components for 2 distinct rows: choose K up to 2")
			if !gaussian {
				res, err := fitting(t, m, equal, 2, framework.Options{K: 1})
				require.NoError(t, err)
				requireParameters(t, m, res.Parameters, source(t, equal, 4, 2), res.Statistics)
			}
		}
	}
}

// TestImpossibleHyperparametersAreNamed before anything is computed with them.
func TestImpossibleHyperparametersAreNamed(t *testing.T) {
	x := []float64{0, 1, 1, 0, 1, 1}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for _, c := range []struct {
			family family.Family
			prior  prior.Prior
			says   string
		}{
			{family.Bernoulli{}, prior.Beta{A: bad, B: 1}, "Beta.A"},
			{family.Bernoulli{}, prior.Conjugate{Chi: []float64{0.5}, Nu: bad}, "Conjugate.Nu"},
			{family.Poisson{}, prior.Gamma{Shape: 1, Rate: bad}, "Gamma.Rate"},
			{family.Exponential{}, prior.Gamma{Shape: bad, Rate: 1}, "Gamma.Shape"},
			{family.Categorical{Levels: 2}, prior.Dirichlet{Alpha: bad}, "Dirichlet.Alpha"},
			{family.Categorical{Levels: 2}, prior.Concentrations{1, bad}, "oncentration"},
			{normal.Family{Covariance: normal.Diagonal}, prior.NormalInverseGamma{Kappa: bad, Shape: 1, Rate: 1}, "NormalInverseGamma.Kappa"},
			{normal.Family{Covariance: normal.Spherical}, prior.NormalInverseGamma{Kappa: 1, Shape: 1, Rate: bad}, "NormalInverseGamma.Rate"},
			{normal.Family{}, prior.NormalInverseWishart{Mean: []float64{0, 0}, Kappa: 1, Nu: bad, Scale: []float64{1, 0, 0, 1}}, "NormalInverseWishart.Nu"},
			{normal.Family{Covariance: normal.Tied}, prior.NormalInverseWishart{Mean: []float64{0, 0}, Kappa: bad, Nu: 3, Scale: []float64{1, 0, 0, 1}}, "NormalInverseWishart.Kappa"},
		} {
			for _, err := range []error{
				errorOf(framework.Fit(context.Background(), mixture.MAP{Model: mixture.Model{Family: c.family}, Prior: c.prior}, source(t, x, 3, 2), framework.Options{K: 1, Method: framework.EM})),
				errorOf(framework.Fit(context.Background(), mixture.Variational{Family: c.family, Prior: c.prior}, source(t, x, 3, 2), framework.Options{K: 1, Method: framework.EM})),
			} {
				require.ErrorContains(t, err, c.says)
				require.NotContains(t, err.Error(), "\n")
			}
		}
		if bad != 0 { // the zero value is the default
			_, err := framework.Fit(context.Background(), mixture.Variational{Family: family.Bernoulli{}, Weights: prior.Dirichlet{Alpha: bad}}, source(t, x, 3, 2), framework.Options{K: 1, Method: framework.EM})
			require.ErrorContains(t, err, "Dirichlet.Alpha")
		}
	}
}

func errorOf[R any](_ R, err error) error { return err }

// TestSingularTablesAndStartsAreErrorsOrFits: fewer rows than columns, columns that others
// determine, and starts of as many components as rows.
func TestSingularTablesAndStartsAreErrorsOrFits(t *testing.T) {
	few := []float64{1, 2, 3, 4, 5, 7, 0, 1, -1} // 3 rows span a plane
	for _, c := range []normal.Covariance{normal.Full, normal.Tied} {
		m := mixture.Model{Family: normal.Family{Covariance: c, Floor: family.NoFloor}}
		_, err := fitting(t, m, few, 3, framework.Options{K: 1})
		require.ErrorContains(t, err, "is a linear combination of other columns: drop it, or take a diagonal covariance")
		m.Family = normal.Family{Covariance: c}
		res, err := fitting(t, m, few, 3, framework.Options{K: 1})
		require.NoError(t, err)
		requireParameters(t, m, res.Parameters, source(t, few, 3, 3), res.Statistics)
	}
	x := []float64{1, 2, 4, 5, 7, 0, 1, -1, 3, 3}
	for _, start := range []family.Start{family.KMeans, family.RandomResponsibilities, family.RandomRows} {
		for c := range normal.Covariance(4) {
			m := mixture.Model{Family: normal.Family{Covariance: c}, Start: start}
			p, err := m.Init(context.Background(), source(t, x, 5, 2), 5, rand.New(rand.NewPCG(1, 0)))
			require.NoError(t, err)
			require.NoError(t, m.Check(p))
			for _, method := range []framework.Method{framework.GFAB, framework.FAB, framework.EM} {
				h := hostileCase{family: m.Family, start: start, x: x, n: 5, d: 2, options: framework.Options{K: 5, Method: method, MaxIterations: 60, Restarts: 1}}
				if err := h.survives(t); method != framework.EM {
					require.NoError(t, err, h) // pruned
				} else if err != nil {
					require.ErrorIs(t, err, framework.ErrDegenerate, h)
				}
			}
		}
	}
}

func TestComponentsThatLoseAllTheirRowsArePrunedOrNamed(t *testing.T) {
	x := []float64{3, 1000, 0, 1, 1000, 2, 4, 1000, 1, 0, 1000, 11, 0, 1000, 11, 1, 1000, 9, 6, 1000, 1e8, 3, 1000, 1, 3, 1000, 1, 1, 1000, 3}
	m := mixture.Model{Family: family.Poisson{}, Start: family.RandomResponsibilities}
	_, err := fitting(t, m, x, 3, framework.Options{K: 3, Method: framework.EM, Seed: 229})
	require.ErrorContains(t, err, "latent dimension 3: the component has lost all its rows")
	require.ErrorIs(t, err, framework.ErrDegenerate)
	for seed := range uint64(20) {
		res, err := fitting(t, m, x, 3, framework.Options{K: 5, Seed: seed})
		require.NoError(t, err)
		require.Less(t, res.Shape.K, 5)
	}
}

// TestRowsToBeJudgedMayBeAnything: errors that name the row, or numbers.
func TestRowsToBeJudgedMayBeAnything(t *testing.T) {
	nan, x := math.NaN(), []float64{1, 2, 4, 5, 7, 0, 1, -1, 3, 3, 2, 8}
	for c := range normal.Covariance(4) {
		m := mixture.Model{Family: normal.Family{Covariance: c}}
		res, err := fitting(t, m, x, 2, framework.Options{K: 2, FixedK: true, MaxIterations: 3})
		require.NoError(t, err)
		p := res.Parameters
		judge := func(d int, row ...float64) error {
			rows := blocks.Rows{First: 4, N: len(row) / d, D: d, Stride: d, X: row}
			logProb, err := m.LogProb(rows, p, nil)
			r, second := m.Responsibilities(rows, p, nil)
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(second))
			if err == nil {
				requireFinite(t, "log probabilities", logProb)
				requireProbabilities(t, r, p.K)
			} else {
				requireUseful(t, err, 1)
			}
			return err
		}
		require.NoError(t, judge(2, 1e8, -1e8, 1e100, 1))
		require.ErrorContains(t, judge(2, 1, 1, 1e200, 0), "row 6 is so far from every component")
		require.ErrorContains(t, judge(2, 1, math.Inf(-1)), "row 5, column 2 is")
		require.ErrorContains(t, judge(3, 1, 2, 3), "a row of 3 columns does not match a model of 2")
		require.ErrorContains(t, judge(1, 1), "a row of 1 columns does not match a model of 2")
		require.NoError(t, judge(2))
		if c == normal.Spherical {
			require.ErrorContains(t, judge(2, nan, 1), "row 5, column 1 is missing: gaussian")
			continue
		}
		logProb, err := m.LogProb(blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{nan, nan}}, p, nil)
		require.NoError(t, err)
		require.InDelta(t, 0, logProb[0], 1e-15)
		r, err := m.Responsibilities(blocks.Rows{N: 1, D: 2, Stride: 2, X: []float64{nan, nan}}, p, nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, p.Weights, r, 1e-15)
	}
}

func TestSamplesOfOneComponentAndOfNone(t *testing.T) {
	m := mixture.Model{Family: normal.Family{}}
	res, err := fitting(t, m, []float64{1, 2, 4, 5, 7, 0}, 2, framework.Options{K: 1})
	require.NoError(t, err)
	x, labels, err := m.Sample(res.Parameters, 5, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	require.Equal(t, make([]int, 5), labels)
	requireFinite(t, "sample", x)
	x, labels, err = m.Sample(res.Parameters, 0, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	require.Empty(t, x)
	require.Empty(t, labels)
	_, err = m.Characteristic(res.Parameters, 1)
	require.ErrorContains(t, err, "there is no component 1")
}

// TestCheckRefusesDamagedParameters, as a file that somebody has edited holds them.
func TestCheckRefusesDamagedParameters(t *testing.T) {
	for _, c := range []struct {
		family family.Family
		bad    float64 // in place of the last number of the second component
	}{
		{normal.Family{}, -1}, {normal.Family{Covariance: normal.Tied}, 0}, {normal.Family{Covariance: normal.Diagonal}, 0}, {normal.Family{Covariance: normal.Spherical}, -1},
		{family.Poisson{}, -1}, {family.Exponential{}, -1}, {family.Gamma{}, -1}, {family.Bernoulli{}, 1.1}, {family.Categorical{Levels: 8}, 0.9}, {family.Multinomial{Categories: 2}, -0.1},
	} {
		m := mixture.Model{Family: c.family}
		x := []float64{1, 2, 4, 5, 7, 3, 1, 1, 3, 3, 2, 7}
		if c.family == (family.Bernoulli{}) {
			x = []float64{0, 1, 1, 1, 0, 0, 1, 0}
		}
		damaged := func(damage func(p *mixture.Parameters)) error {
			res, err := fitting(t, m, x, 2, framework.Options{K: 2, FixedK: true, MaxIterations: 1})
			require.NoError(t, err)
			// Without what the package remembers, as read from a file.
			q, w := res.Parameters, *res.Parameters.Pooled
			p := &mixture.Parameters{K: q.K, D: q.D, Weights: q.Weights, Components: q.Components, Pooled: &w}
			damage(p)
			return m.Check(p)
		}
		require.NoError(t, damaged(func(*mixture.Parameters) {}))
		for name, damage := range map[string]func(p *mixture.Parameters){
			"no components":         func(p *mixture.Parameters) { p.K = 0 },
			"no columns":            func(p *mixture.Parameters) { p.D = -1 },
			"other columns":         func(p *mixture.Parameters) { p.D = 4 },
			"more components":       func(p *mixture.Parameters) { p.K = 3 },
			"a weight too few":      func(p *mixture.Parameters) { p.Weights = p.Weights[:1] },
			"a number too few":      func(p *mixture.Parameters) { p.Components = p.Components[1:] },
			"a weight that is NaN":  func(p *mixture.Parameters) { p.Weights[0] = math.NaN() },
			"a negative weight":     func(p *mixture.Parameters) { p.Weights[0], p.Weights[1] = -1, 2 },
			"weights of sum 2":      func(p *mixture.Parameters) { p.Weights[0]++ },
			"a number that is NaN":  func(p *mixture.Parameters) { p.Components[0] = math.NaN() },
			"a number out of range": func(p *mixture.Parameters) { p.Components[len(p.Components)-1] = c.bad },
			"no table":              func(p *mixture.Parameters) { p.Pooled = nil },
			"half a table":          func(p *mixture.Parameters) { p.Pooled.Sums = nil },
		} {
			err := damaged(damage)
			require.Error(t, err, "%s %s", m.Family.Name(), name)
			requireUseful(t, err, 1)
		}
	}
	require.Error(t, mixture.Model{Family: family.Poisson{}}.Check(nil))
	require.Error(t, mixture.Model{}.Check(&mixture.Parameters{K: 1, D: 1}))
}

func TestSparseRowsWithImpossibleColumnsAreErrors(t *testing.T) {
	table, err := blocks.FromOnes([][]int{{0, 2}, {1}, {}, {0, 1, 2}}, 3)
	require.NoError(t, err)
	m := mixture.Model{Family: family.Bernoulli{}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 1})
	require.NoError(t, err)
	for _, columns := range [][]int{{0, 3}, {-1, 1}, {2, 1}, {1, 1}} {
		_, err := m.LogProb(blocks.Rows{First: 8, N: 1, D: 3, Entries: &blocks.Entries{Start: []int{0, 2}, Columns: columns}}, res.Parameters, nil)
		require.ErrorContains(t, err, "row 9 has an entry in column")
		requireUseful(t, err, 1)
	}
	_, err = m.LogProb(blocks.Rows{N: 1, D: 4, Entries: &blocks.Entries{Start: []int{0, 1}, Columns: []int{3}}}, res.Parameters, nil)
	require.ErrorContains(t, err, "a row of 4 columns does not match a model of 3")
	_, err = m.LogProb(blocks.Rows{N: 1, D: 3, Entries: &blocks.Entries{Start: []int{0, 1}, Columns: []int{1}, Values: []float64{2}}}, res.Parameters, nil)
	require.ErrorContains(t, err, "row 1, column 2 is 2: outside the support of bernoulli: ")
	for _, f := range []family.Family{normal.Family{}, family.Gamma{}, family.Categorical{Levels: 2}, family.Product{family.Bernoulli{}, family.Poisson{}, family.Poisson{}}} {
		_, err := framework.Fit(context.Background(), mixture.Model{Family: f}, table, framework.Options{K: 1})
		require.ErrorContains(t, err, "sparse rows need")
		requireUseful(t, err, 1)
	}
	for _, c := range []struct {
		start, columns []int
		values         []float64
	}{{nil, nil, nil}, {[]int{0}, nil, nil}, {[]int{0, 2}, []int{0}, nil}, {[]int{0, 1}, []int{3}, nil}, {[]int{0, 1}, []int{-1}, nil}, {[]int{0, 2}, []int{1, 0}, nil},
		{[]int{0, 2}, []int{1, 1}, nil}, {[]int{0, 2, 1, 2}, []int{0, 1}, nil}, {[]int{0, -1, 1}, []int{0}, nil}, {[]int{0, 5, 1}, []int{0}, nil}, {[]int{1, 1}, []int{0}, nil}, {[]int{0, 1}, []int{0}, []float64{}}, {[]int{0, 1}, []int{0}, []float64{math.Inf(1)}}} {
		_, err := blocks.FromSparse(c.start, c.columns, c.values, 3)
		require.Error(t, err, c)
		requireUseful(t, err, 1)
	}
}

// TestDistinctRowsAreEqualInEveryNotation of zero and of a missing value.
func TestDistinctRowsAreEqualInEveryNotation(t *testing.T) {
	negative, odd := math.Copysign(0, -1), math.Float64frombits(0x7ff8000000000123)
	x := []float64{0, math.NaN(), negative, odd, 1, math.NaN(), odd, 0, math.NaN(), negative}
	table := source(t, x, 5, 2).Distinct()
	require.Equal(t, 3, table.Rows())
	require.Equal(t, []float64{2, 1, 2}, table.All().Weights)
	weighted, err := source(t, x, 5, 2).WithWeights([]float64{0, 3, 0, 1e-3, 1e6})
	require.NoError(t, err)
	require.Equal(t, []float64{3, 0, 1e-3 + 1e6}, weighted.Distinct().All().Weights)
	sparse, err := blocks.FromSparse([]int{0, 2, 3, 4, 4, 5}, []int{0, 1, 0, 1, 2}, []float64{1, negative, 1, 0, 0}, 3)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 3}, sparse.Distinct().All().Weights) // 1,0,0 twice and 0,0,0 three times
}

// TestFaultsOfAProductNameTheColumnOfTheTable, in words and as a number, whichever family finds them.
func TestFaultsOfAProductNameTheColumnOfTheTable(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, n*3)
	for i := range n {
		copy(x[i*3:], []float64{rng.NormFloat64(), rng.NormFloat64(), float64(i % 2)})
	}
	src := source(t, x, n, 3)
	for form := range normal.Covariance(4) {
		second := normal.Family{Covariance: form, Floor: family.NoFloor}
		m := mixture.Model{Family: family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Of{Family: second, Width: 1}}}
		_, err := framework.Fit(context.Background(), m, src, framework.Options{K: 2, Method: framework.EM})
		var fault *blocks.DataError
		require.ErrorAs(t, err, &fault, second.Name())
		require.Equal(t, 2, fault.Column)
		require.ErrorContains(t, err, "column 3 has collapsed onto one value: ")
		require.ErrorIs(t, err, framework.ErrDegenerate)
	}
}
