package numeric_test

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// asked is a density of counts with another layout, or another log density.
type asked struct {
	poisson
	layout numeric.Layout
	log    func(x []float64) float64
}

func (d asked) Layout(n int) numeric.Layout {
	if d.layout.Component != nil {
		return d.layout
	}
	return d.poisson.Layout(n)
}

func (d asked) LogProb(x, rate, _ []float64) float64 {
	if d.log != nil {
		return d.log(x)
	}
	return d.poisson.LogProb(x, rate, nil)
}

// unstrided rows lie over one another.
type unstrided struct{ *blocks.Table }

func (u unstrided) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range u.Table.Blocks(ctx) {
			if b.Stride = 0; !yield(b, err) {
				return
			}
		}
	}
}

// wide is a joint density of more numbers than there is memory.
type wide struct{ ppca }

func (wide) Layout(int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("loadings", 1<<40)}}
}

// TestBadInputIsOneClearError: one line that says what is wrong, and where, and no memory is taken.
func TestBadInputIsOneClearError(t *testing.T) {
	x := tableOf(t, []float64{3, 4, 5, 4, 9, 20, 22, 18, 25, 21}, 1)
	model := func(d numeric.Density) mixture.Model { return mixture.Model{Family: numeric.Family{Density: d}} }
	fit := func(m mixture.Model, src framework.Source[blocks.Rows], change func(*framework.Options)) func() error {
		return func() error {
			o := framework.Options{K: 2}
			if change != nil {
				change(&o)
			}
			_, err := framework.Fit(ctx, m, src, o)
			return err
		}
	}
	good := model(poisson{})
	laidOut := func(columns int, list ...numeric.Parameter) func() error {
		return fit(model(asked{layout: numeric.Layout{Columns: columns, Component: list}}), x, nil)
	}
	logs := func(f func(x []float64) float64) func() error { return fit(model(asked{log: f}), x, nil) }
	for name, c := range map[string]struct {
		try  func() error
		want string
	}{
		"−Inf everywhere": {logs(func([]float64) float64 { return math.Inf(-1) }), "LogProb of numeric_test.asked at row 1: returned −Inf"},
		"NaN for one row": {logs(func(x []float64) float64 {
			if x[0] == 9 {
				return math.NaN()
			}
			return -x[0]
		}), "LogProb of numeric_test.asked at row 5, component 1: contract violated: returned NaN"},
		"more columns than the table": {laidOut(3, numeric.Rate("rate", 1)), "describes 3 columns, and the table has 1"},
		"a column that is not there":  {logs(func(x []float64) float64 { return x[1] }), "LogProb of numeric_test.asked panicked at row 1, component 1"},
		"an Estimate outside its kind": {fit(model(badEstimate{rate: -2}), x, nil),
			`Estimate of numeric_test.badEstimate for component 1: contract violated: parameter "rate" is -2`},
		"2⁴⁰ numbers":          {laidOut(0, numeric.Rate("rate", 1<<40)), `"rate" has 1099511627776 numbers; must have at most 16777216`},
		"2²⁰ numbers":          {laidOut(0, numeric.Rate("rate", 1<<20)), "the information about 1048576 numbers"},
		"a matrix of 2³² rows": {laidOut(0, numeric.SPD("covariance", 1<<32)), `"covariance" has 4294967296 numbers`},
		"2⁴⁰ loadings": {func() error {
			_, err := framework.Fit(ctx, numeric.Continuous{Density: wide{}}, x, framework.Options{K: 2})
			return err
		}, `"loadings" has 1099511627776 numbers`},
		"nil source": {fit(good, nil, nil), "the source of rows is nil"},
		"nil table":  {fit(good, (*blocks.Table)(nil), nil), "the source of rows is nil"},
		"nil source, evaluated": {func() error {
			_, err := framework.Evaluate(ctx, good, nil, &mixture.Parameters{}, 1)
			return err
		}, "the source of rows is nil"},
		"nil context": {func() error {
			var none context.Context
			_, err := framework.Fit(none, good, x, framework.Options{K: 2})
			return err
		}, "the context is nil: pass context.Background()"},
		"nil model": {func() error {
			_, err := framework.Fit[blocks.Rows, *mixture.Parameters, *mixture.Statistics](ctx, nil, x, framework.Options{K: 2})
			return err
		}, "the model is nil"},
		"no criterion": {fit(good, x, func(o *framework.Options) { o.Criterion.Name = "mine" }), `the criterion "mine" has no Value and no Sweep`},
		"none besides": {fit(good, x, func(o *framework.Options) { o.Also = make([]framework.Criterion, 1) }), `the criterion "" has no Value and no Sweep`},
		"none to select": {func() error {
			_, err := framework.Select(ctx, good, x, []int{1, 2}, framework.Options{}, framework.BIC, framework.Criterion{})
			return err
		}, "criterion 2 of 2 is empty"},
		"2⁶³ − 1 shards":     {fit(good, x, func(o *framework.Options) { o.Shards = math.MaxInt }), "Shards is 9223372036854775807; must be at most 65536"},
		"2⁶³ − 1 workers":    {fit(good, x, func(o *framework.Options) { o.Workers = math.MaxInt }), "Workers is 9223372036854775807; must be at most 65536"},
		"endless tolerance":  {fit(good, x, func(o *framework.Options) { o.Tolerance = math.Inf(1) }), "Tolerance is +Inf; must be finite"},
		"2⁶³ − 1 restarts":   {fit(good, x, func(o *framework.Options) { o.Restarts = math.MaxInt }), "Restarts is 9223372036854775807; must be at most 1048576"},
		"2⁶³ − 1 components": {fit(good, x, func(o *framework.Options) { o.K = math.MaxInt }), "9223372036854775807 components for 10 distinct rows"},
		"no stride":          {fit(good, unstrided{x}, nil), "stride 0 cannot have 10 numbers: Stride must be at least D"},
		"no stride, scored": {func() error {
			res, err := framework.Fit(ctx, good, x, framework.Options{K: 2})
			require.NoError(t, err)
			_, err = good.Responsibilities(blocks.Rows{N: 2, D: 1, X: []float64{3, 20}}, res.Parameters, nil)
			return err
		}, "stride 0 cannot have 2 numbers"},
		"no start": {func() error {
			_, err := framework.FitFrom(ctx, good, x, nil, framework.Options{K: 2})
			return err
		}, "the start is nil"},
		"a start that panics": {func() error {
			_, err := framework.FitFrom(ctx, good, x, func(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*mixture.Parameters, error) {
				panic("oh")
			}, framework.Options{K: 2})
			return err
		}, "the start panicked: oh (bad_test.go:"},
		"a recorder that panics": {fit(good, x, func(o *framework.Options) {
			o.Recorder = func(framework.Event) error { panic("oh") }
		}), "the Recorder panicked: oh (bad_test.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := c.try()
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, 0, strings.Count(err.Error(), "\n"), err)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
		})
	}
}
