package mixture_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// columnsOf is a data set without some columns.
func columnsOf(t *testing.T, name string, without ...string) *blocks.Table {
	d, err := data.Load(name)
	require.NoError(t, err)
	for _, column := range without {
		d, err = d.Drop(column)
		require.NoError(t, err)
	}
	x, rows, cols, err := d.Values()
	require.NoError(t, err)
	return source(t, x, rows, cols)
}

// TestLikelihoodsOfASelectionDoNotFall as K grows, though single starts of each K do.
func TestLikelihoodsOfASelectionDoNotFall(t *testing.T) {
	diagonal := normal.Family{Covariance: normal.Diagonal}
	for _, c := range []struct {
		name   string
		table  *blocks.Table
		family family.Family
		most   int
	}{
		{"faithful", columnsOf(t, "faithful"), normal.Family{}, 8},
		{"geyser", columnsOf(t, "geyser"), normal.Family{}, 8},
		{"iris", columnsOf(t, "iris", "Species"), normal.Family{}, 6},
		{"iris, diagonal", columnsOf(t, "iris", "Species"), diagonal, 8},
		{"crabs", columnsOf(t, "crabs", "class"), normal.Family{Covariance: normal.Tied}, 8},
		{"ruspini", columnsOf(t, "ruspini"), diagonal, 8},
		{"tonedata", columnsOf(t, "tonedata"), diagonal, 8},
		{"earthquakes", columnsOf(t, "earthquakes", "year"), family.Poisson{}, 6},
		{"housevotes84", columnsOf(t, "housevotes84", "Class"), family.Bernoulli{}, 10},
		{"satellite", columnsOf(t, "satellite", "classes"), diagonal, 4},
	} {
		if testing.Short() && c.table.Rows() > 1000 {
			continue
		}
		var ks []int
		for k := range c.most {
			ks = append(ks, k+1)
		}
		raised := 0
		seeds := tier.Of[uint64](1, 1, 3)
		for seed := range seeds {
			o := framework.Options{Method: framework.EM, Seed: seed, Tolerance: 1e-8}
			all, err := framework.Select(context.Background(), mixture.Model{Family: c.family}, c.table, ks, o, framework.BIC)
			require.NoError(t, err, c.name)
			for i, fit := range all.Fits[1:] {
				require.NoError(t, all.Errs[i+1], "%s, K = %d", c.name, i+2)
				raised += len(fit.Restarts) - 1
				assert.GreaterOrEqual(t, fit.Evaluation.LogLikelihood, all.Fits[i].Evaluation.LogLikelihood-1e-6*fit.N, "%s, seed %d, K = %d", c.name, seed, i+2)
			}
		}
		t.Logf("%s: %d runs were added to %d fits", c.name, raised, int(seeds)*(c.most-1))
	}
}

// TestSelectionsResumeWithinAddedRuns, to the same bits: those that divide where a likelihood falls, and those that the
// evidence has from the neighbours of each K.
func TestSelectionsResumeWithinAddedRuns(t *testing.T) {
	for _, c := range []struct {
		by     framework.Criterion
		method framework.Method
		ks     []int
	}{
		{framework.BIC, framework.EM, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		{framework.Evidence, framework.GFAB, []int{4, 3, 2, 1}},
	} {
		t.Run(c.by.Name, func(t *testing.T) { resumes(t, c.ks, c.by, c.method) })
	}
}

func resumes(t *testing.T, ks []int, by framework.Criterion, method framework.Method) {
	table, m := columnsOf(t, "geyser"), mixture.Model{Family: normal.Family{}, Start: family.Seeded}
	o := framework.Options{Method: method, Tolerance: 1e-7, Workers: 1}
	if method != framework.EM {
		o.Restarts = 1
	}
	events, added := 0, 0
	o.Recorder = func(e framework.Event) error {
		if events++; e.Restart > 0 && added == 0 {
			added = events
		}
		return nil
	}
	whole, err := framework.Select(context.Background(), m, table, ks, o, by)
	require.NoError(t, err)
	require.Positive(t, added, "a table where a start falls short")
	for _, end := range []int{added - 1, added, added + 3, (added + events) / 2} {
		seen, stop := 0, errors.New("enough")
		o.Resume, o.Recorder = nil, func(framework.Event) error {
			if seen++; seen > end {
				return stop
			}
			return nil
		}
		part, err := framework.Select(context.Background(), m, table, ks, o, by)
		require.ErrorIs(t, err, stop)
		o.Resume, err = part.Checkpoint()
		require.NoError(t, err)
		o.Recorder = nil
		again, err := framework.Select(context.Background(), m, table, ks, o, by)
		require.NoError(t, err)
		assert.Equal(t, whole.Values, again.Values, "ended after %d of %d iterations", end, events)
	}
}
