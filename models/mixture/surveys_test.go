package mixture_test

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
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// apart fits with passes and surveys made elsewhere, and returns how often the driver has read all rows, and how many
// blocks, before the first pass.
func apart[B, P any, S framework.Statistics[S]](
	t *testing.T, src framework.Source[B], fit func(src framework.Source[B]), models ...framework.Model[B, P, S],
) (whole, blocks, surveys int) {
	elsewhere, d := ranks.Apart(src, models...)
	fit(elsewhere)
	require.Positive(t, d.Passes)
	return d.Whole, d.Blocks, d.Surveys
}

func rowsOfThree(t *testing.T, n, d int, weighted bool) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + 5*float64(i/d%3)
	}
	table, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	if weighted {
		w := make([]float64, n)
		for i := range w {
			w[i] = 0.1 + 3*rng.Float64()
		}
		table, err = table.WithWeights(w)
		require.NoError(t, err)
	}
	return table
}

// The driver of a cluster reads the first block before the first pass, and never all rows: what a start asks of them,
// the workers answer, to the bits of one process. Two passes have all of it, one what all starts share and the other
// what follows from that, and of these a further start makes its draw alone.
func TestStartsOfAFitElsewhereReadNoRows(t *testing.T) {
	for name, c := range map[string]struct {
		family   family.Family
		options  framework.Options
		weighted bool
		surveys  int // moments, resolution and the columns of the draw; the scatter and the draw
	}{
		"Gaussian": {normal.Family{}, framework.Options{K: 4}, false, 2},
		"weighted": {normal.Family{}, framework.Options{K: 4, Shards: 5}, true, 2},
		"sample":   {normal.Family{}, framework.Options{K: 4, Sample: 2000}, false, 2},
		"larger":   {normal.Family{}, framework.Options{K: 4, Sample: 10_000, Restarts: 2}, false, 3},
		"codes":    {normal.Family{}, framework.Options{K: 4, FixedK: true}, false, 2},
		"diagonal": {normal.Family{Covariance: normal.Diagonal}, framework.Options{K: 4, Restarts: 2, FixedK: true}, false, 3},
		"product":  {family.Product{normal.Family{}}, framework.Options{K: 4, Restarts: 3, FixedK: true}, false, 4},
		"sorted":   {normal.Family{}, framework.Options{K: 4, Restarts: 2, FixedK: true}, false, 4}, // moments once more
	} {
		t.Run(name, func(t *testing.T) {
			c.options.MaxIterations, c.options.NoMoves, c.options.Seed = 4, true, 3
			table := rowsOfThree(t, 33000, 3, c.weighted)
			x := table.All().X
			switch name {
			case "codes":
				for i := range x {
					x[i] = math.Round(x[i])
				}
			case "sorted": // by group
				for from := range x {
					x[from] += 5 * (float64(from/(len(x)/3)) - float64(from/3%3))
				}
			}
			src := framework.Source[blocks.Rows](table)
			m := mixture.Model{Family: c.family}
			want, err := framework.Fit(t.Context(), m, src, c.options)
			require.NoError(t, err)
			whole, blocks, surveys := apart(t, src, func(src framework.Source[blocks.Rows]) {
				got, err := framework.Fit(t.Context(), m, src, c.options)
				require.NoError(t, err)
				require.Equal(t, want.Parameters, got.Parameters)
				require.Equal(t, want.Trace, got.Trace)
			}, framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics](m))
			assert.Zero(t, whole)
			assert.LessOrEqual(t, blocks, 3*max(1, c.options.Restarts))
			assert.Equal(t, c.surveys, surveys)
		})
	}
}

func TestStartsOfSequencesElsewhereReadNoRows(t *testing.T) {
	table := rowsOfThree(t, 40000, 2, false)
	ends := make([]int, 400)
	for i := range ends {
		ends[i] = 100 * (i + 1)
	}
	sequences, err := blocks.NewSequences(table, ends)
	require.NoError(t, err)
	m, o := hmm.Model{Family: normal.Family{}}, framework.Options{K: 3, MaxIterations: 3, NoMoves: true}
	want, err := framework.Fit(t.Context(), m, sequences, o)
	require.NoError(t, err)
	whole, _, surveys := apart(t, framework.Source[blocks.Sequences](sequences), func(src framework.Source[blocks.Sequences]) {
		got, err := framework.Fit(t.Context(), m, src, o)
		require.NoError(t, err)
		require.Equal(t, want.Parameters, got.Parameters)
		require.Equal(t, want.Trace, got.Trace)
	}, framework.Model[blocks.Sequences, *hmm.Parameters, *hmm.Statistics](m))
	assert.Zero(t, whole)
	assert.Positive(t, surveys)
}

func TestStartsOfAComparisonElsewhereAreThoseOfTheirModels(t *testing.T) {
	src := framework.Source[blocks.Rows](rowsOfThree(t, 20000, 3, false))
	type model = framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
	models := []model{mixture.Model{Family: normal.Family{}}, mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}}
	o := framework.Options{K: 3, MaxIterations: 4, Seed: 1}
	want, err := framework.FitBest(t.Context(), models, src, framework.BIC, o)
	require.NoError(t, err)
	whole, _, surveys := apart(t, src, func(src framework.Source[blocks.Rows]) {
		got, err := framework.FitBest(t.Context(), models, src, framework.BIC, o)
		require.NoError(t, err)
		require.Equal(t, want.Model, got.Model)
		require.Equal(t, want.Parameters, got.Parameters)
	}, models...)
	assert.Zero(t, whole)
	assert.Equal(t, 4, surveys) // both models have moments and a scatter of their own, and the draw in common
}

// What processes know of the surveys of other starts and models is the same in all of them.
func TestProcessesShareTheSurveysOfAComparison(t *testing.T) {
	src := framework.Source[blocks.Rows](rowsOfThree(t, 20000, 3, true))
	type model = framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
	models := []model{mixture.Model{Family: normal.Family{}}, mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}}
	o := framework.Options{K: 3, MaxIterations: 4, Seed: 1, Restarts: 3, Sample: 5000}
	want, err := framework.FitBest(t.Context(), models, src, framework.BIC, o)
	require.NoError(t, err)
	for rank, err := range ranks.Each(3, func(r ranks.Rank) error {
		o := o
		o.Group = r
		got, err := framework.FitBest(t.Context(), models, src, framework.BIC, o)
		if err == nil {
			assert.Equal(t, want.Model, got.Model)
			assert.Equal(t, want.Parameters, got.Parameters)
		}
		return err
	}) {
		require.NoError(t, err, rank)
	}
}

// A start of one's own is not known to workers: the driver reads the rows for it.
func TestStartsOfOnesOwnAreTheDrivers(t *testing.T) {
	src := framework.Source[blocks.Rows](rowsOfThree(t, 20000, 2, false))
	m, o := mixture.Model{Family: normal.Family{}}, framework.Options{K: 3, MaxIterations: 3, NoMoves: true}
	begins := func(ctx context.Context, src framework.Source[blocks.Rows], k int, _ *rand.Rand) (*mixture.Parameters, error) {
		return m.Init(ctx, src, k, rand.New(rand.NewPCG(9, 9)))
	}
	want, err := framework.FitFrom(t.Context(), m, src, begins, o)
	require.NoError(t, err)
	whole, _, surveys := apart(t, src, func(src framework.Source[blocks.Rows]) {
		got, err := framework.FitFrom(t.Context(), m, src, begins, o)
		require.NoError(t, err)
		require.Equal(t, want.Trace, got.Trace)
	}, framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics](m))
	assert.Positive(t, whole)
	assert.Zero(t, surveys)
}

// A worker whose start asks for something else says so.
func TestWorkersWithAnotherStartAreRefused(t *testing.T) {
	src := framework.Source[blocks.Rows](rowsOfThree(t, 20000, 2, false))
	m, o := mixture.Model{Family: normal.Family{}}, framework.Options{K: 3}
	other := framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics](otherStart{m})
	apartErr := func(src framework.Source[blocks.Rows]) {
		_, err := framework.Fit(t.Context(), m, src, o)
		require.ErrorContains(t, err, "a start here does not ask for the sums that it asks for there")
	}
	elsewhere, _ := ranks.Apart(src, other)
	apartErr(elsewhere)
}

type otherStart struct{ mixture.Model }

func (otherStart) Init(context.Context, framework.Source[blocks.Rows], int, *rand.Rand) (*mixture.Parameters, error) {
	return nil, nil
}
