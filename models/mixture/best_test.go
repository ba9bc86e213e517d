package mixture_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/models/mixture"
)

type rivalling = framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]

// rivals are mixtures of Gaussians of some structures.
func rivals(forms ...normal.Covariance) (list []rivalling) {
	for _, form := range forms {
		list = append(list, mixture.Model{Family: normal.Family{Covariance: form}})
	}
	return list
}

// elongated are three classes along one direction each, of the same shape, in two columns.
func elongated(t *testing.T) *blocks.Table {
	rng := rand.New(rand.NewPCG(7, 1))
	var x []float64
	for i := range 240 {
		u, v := 3*rng.NormFloat64(), rng.NormFloat64()/2
		x = append(x, u+v+float64(4*(i%3)), u-v-float64(4*(i%3)))
	}
	src, err := blocks.FromSlice(x, 240, 2)
	require.NoError(t, err)
	return src
}

func TestTheBestOfSeveralStructures(t *testing.T) {
	ctx, src := context.Background(), elongated(t)
	forms := []normal.Covariance{normal.EII, normal.VVI, normal.EEE, normal.VVE, normal.VVV}
	for _, o := range []framework.Options{
		{K: 8, Restarts: 4, Criterion: framework.Evidence, Workers: 1},
		{K: 3, Restarts: 3, Criterion: framework.BIC, FixedK: true, Workers: 1},
		{K: 2, DoubleTo: 80, Restarts: 1, Criterion: framework.Evidence, Workers: 1},
	} {
		c, err := framework.FitBest(ctx, rivals(forms...), src, o.Criterion, o)
		require.NoError(t, err)
		require.Equal(t, normal.EEE, forms[c.Model])
		require.Equal(t, 3, c.Shape.K)
		for i, m := range rivals(forms...) {
			alone, err := framework.Fit(ctx, m, src, o)
			require.NoError(t, err)
			one := c.Compared[i]
			require.NoError(t, one.Err)
			require.True(t, one.Converged || one.Behind > 10)
			require.Equal(t, c.Value-one.Value, one.Behind)
			if i == c.Model {
				require.True(t, one.Whole)
				require.InDelta(t, alone.Value, c.Value, 1e-6)
				whole := !slices.ContainsFunc(c.Restarts, func(r framework.Restart) bool { return r.Status == framework.Joined })
				if whole { // else of equal maxima another may be the best
					require.Equal(t, alone.Parameters, c.Parameters)
					require.Equal(t, alone.Trace, c.Trace)
				}
				for i, r := range c.Restarts { // what the others have shown may end one earlier
					one := alone.Restarts[i]
					if r.Status == framework.Joined {
						require.Equal(t, c.Shape.K, r.K)
						require.InDelta(t, c.Value, r.Value, 1e-6)
						require.InDelta(t, one.Value, r.Value, 0.01)
						continue
					}
					require.True(t, r.Status == framework.GivenUp || one == r)
				}
				continue
			}
			require.False(t, one.Whole)
			require.Greater(t, one.Behind, 0.01)
			if one.Converged { // what is not polished is lower, but for other maxima of few starts
				require.LessOrEqual(t, one.Value, alone.Value+0.05)
			}
			require.Less(t, alone.Value, c.Value)
		}
		o.Workers = 3
		again, err := framework.FitBest(ctx, rivals(forms...), src, o.Criterion, o)
		require.NoError(t, err)
		require.Equal(t, c.Parameters, again.Parameters)
		require.Equal(t, c.Compared, again.Compared)
	}
}

func TestModelsThatAreTheSameAndThatCannotBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := make([]float64, 100)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	src, err := blocks.FromSlice(x, 50, 2)
	require.NoError(t, err)
	o := framework.Options{K: 4, Restarts: 3, Criterion: framework.Evidence}
	none := mixture.Model{Family: family.Product{family.Poisson{}, family.Poisson{}}} // of negative numbers
	c, err := framework.FitBest(context.Background(), append(rivals(normal.EEE, normal.VVE, normal.VVV), none), src, o.Criterion, o)
	require.NoError(t, err)
	require.Equal(t, 1, c.Shape.K)
	require.Equal(t, 0, c.Model) // of one class all three are the same
	for _, one := range c.Compared[1:3] {
		require.InDelta(t, c.Value, one.Value, 1e-6)
	}
	require.ErrorContains(t, c.Compared[3].Err, "outside the support of poisson")
	require.True(t, math.IsNaN(c.Compared[3].Value))

	_, err = framework.FitBest(context.Background(), []rivalling{none, none}, src, o.Criterion, o)
	require.ErrorContains(t, err, c.Compared[3].Err.Error())
	_, err = framework.FitBest(context.Background(), rivals(), src, o.Criterion, o)
	require.ErrorContains(t, err, "no models")
	o.K = 0
	_, err = framework.FitBest(context.Background(), rivals(normal.EEE), src, o.Criterion, o)
	require.ErrorContains(t, err, "K is 0")
}

// A comparison that is interrupted after any iteration goes on to the same bits.
func TestComparisonsGoOn(t *testing.T) {
	src, forms := elongated(t), []normal.Covariance{normal.EII, normal.EEE, normal.VVE}
	o := framework.Options{K: 6, Restarts: 3, Criterion: framework.Evidence, Workers: 2}
	seen := 0
	var models []int
	o.Recorder = func(e framework.Event) error {
		if seen++; !slices.Contains(models, e.Model) {
			models = append(models, e.Model)
		}
		return nil
	}
	whole, err := framework.FitBest(context.Background(), rivals(forms...), src, o.Criterion, o)
	require.NoError(t, err)
	require.ElementsMatch(t, []int{0, 1, 2}, models)
	last := seen
	stop := errors.New("enough")
	for at := 1; at < last; at += 1 + last/12 {
		seen = 0
		o.Resume, o.Recorder = nil, func(framework.Event) error {
			if seen++; seen >= at {
				return stop
			}
			return nil
		}
		c, err := framework.FitBest(context.Background(), rivals(forms...), src, o.Criterion, o)
		require.ErrorIs(t, err, stop)
		require.Equal(t, framework.Cancelled, c.Status)
		o.Resume, err = c.Checkpoint()
		require.NoError(t, err)
		o.Recorder = nil
		c, err = framework.FitBest(context.Background(), rivals(forms...), src, o.Criterion, o)
		require.NoError(t, err)
		require.Equal(t, whole.Parameters.Weights, c.Parameters.Weights)
		require.Equal(t, whole.Parameters.Components, c.Parameters.Components)
		require.Equal(t, whole.Compared, c.Compared)
		require.Equal(t, whole.Trace, c.Trace)

		_, err = framework.FitBest(context.Background(), rivals(forms[1:]...), src, o.Criterion, o)
		require.ErrorContains(t, err, "holds 3 models; this comparison has 2")
		_, err = framework.FitBest(context.Background(), rivals(normal.EII, normal.VVI, normal.VVE), src, o.Criterion, o)
		require.ErrorContains(t, err, "belongs to another fit")
		_, err = framework.Fit(context.Background(), rivals(forms[0])[0], src, o)
		require.ErrorContains(t, err, "belongs to a comparison and cannot resume a fit")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o.Resume = nil
	_, err = framework.FitBest(ctx, rivals(forms...), src, o.Criterion, o)
	require.ErrorIs(t, err, context.Canceled)
}

// Several processes compare together, to the bits of one.
func TestProcessesCompareTogether(t *testing.T) {
	src, forms := elongated(t), []normal.Covariance{normal.EII, normal.EEE, normal.VVE}
	o := framework.Options{K: 6, Restarts: 3, Criterion: framework.Evidence}
	one, err := framework.FitBest(context.Background(), rivals(forms...), src, o.Criterion, o)
	require.NoError(t, err)
	for rank, err := range ranks.Each(2, func(r ranks.Rank) error {
		o := o
		o.Group = r
		c, err := framework.FitBest(context.Background(), rivals(forms...), src, o.Criterion, o)
		if err != nil {
			return err
		}
		same := slices.Equal(one.Parameters.Components, c.Parameters.Components)
		if !same || !slices.Equal(one.Compared, c.Compared) {
			return errors.New("other bits")
		}
		return nil
	}) {
		require.NoError(t, err, rank)
	}
}

// Models are compared by what their states have: a criterion that takes passes, or that needs what the fits do not evaluate, is refused.
// By the evidence less the entropy of the labels, three long classes are three ellipses, and what is behind is so by that.
func TestModelsAreComparedByAnotherCriterion(t *testing.T) {
	ctx, src, forms := context.Background(), elongated(t), []normal.Covariance{normal.EII, normal.EEE, normal.VVV}
	o := framework.Options{K: 8, Restarts: 2, Criterion: framework.Evidence, Workers: 1}
	c, err := framework.FitBest(ctx, rivals(forms...), src, framework.Completed, o)
	require.NoError(t, err)
	require.Equal(t, normal.EEE, forms[c.Model])
	require.Equal(t, 3, c.Shape.K)
	require.Equal(t, c.Evaluation.Evidence, c.Value)
	require.Equal(t, c.Value-c.Evaluation.LabelEntropy, c.Compared[c.Model].Value)
	require.Positive(t, c.Evaluation.LabelEntropy)
	for _, one := range c.Compared {
		require.Equal(t, c.Compared[c.Model].Value-one.Value, one.Behind)
	}
	_, err = framework.FitBest(ctx, rivals(forms...), src, framework.Collapsed, o)
	require.ErrorContains(t, err, `models cannot be compared by "Collapsed", which needs additional passes`)
	o.Criterion = framework.BIC
	_, err = framework.FitBest(ctx, rivals(forms...), src, framework.Completed, o)
	require.ErrorContains(t, err, "a comparison by Completed needs values that a fit by BIC does not evaluate")
}

// Whether there are several components the evidence says: the entropy of labels that overlap would always say one.
func TestComponentsThatOverlapAreSeveral(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	const n, d = 1500, 6
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + 2.2/math.Sqrt(d)*float64(i/d%2)
	}
	src, err := blocks.FromSlice(x, n, d)
	require.NoError(t, err)
	o := framework.Options{K: 3, Restarts: 2, Criterion: framework.Evidence}
	c, err := framework.FitBest(context.Background(), rivals(normal.EII, normal.VVV), src, framework.Completed, o)
	require.NoError(t, err)
	require.Equal(t, 0, c.Model)
	require.Equal(t, 2, c.Shape.K)
	require.ErrorIs(t, c.Compared[1].Err, framework.ErrSingle)
	one, err := framework.Fit(context.Background(), rivals(normal.VVV)[0], src, o)
	require.NoError(t, err)
	require.Equal(t, 1, one.Shape.K)
	require.Greater(t, one.Value, c.Value-c.Evaluation.LabelEntropy) // the entropy alone would take it
	require.Less(t, one.Value, c.Value)
}

// A comparison makes no more starts from a K where four have come to the same maximum, and only one of them goes on to
// the strict tolerance; further starts and polishing find nothing else.
func TestStartsThatAgreeAreEnough(t *testing.T) {
	ctx, src := context.Background(), elongated(t)
	o := framework.Options{K: 8, Restarts: 10, Criterion: framework.Evidence}
	c, err := framework.FitBest(ctx, rivals(normal.EEE, normal.EII), src, o.Criterion, o)
	require.NoError(t, err)
	require.Len(t, c.Restarts, 4)
	for i, r := range c.Restarts {
		require.Equal(t, i != c.Best, r.Status == framework.Joined)
		require.InDelta(t, c.Value, r.Value, 1e-6)
	}
	alone, err := framework.Fit(ctx, rivals(normal.EEE)[0], src, o)
	require.NoError(t, err)
	require.Len(t, alone.Restarts, 10)
	require.InDelta(t, alone.Value, c.Value, 0.01)
	// of two that differ, or that all keep the K that they began with, there are all
	o.K = 3
	c, err = framework.FitBest(ctx, rivals(normal.EEE, normal.EII), src, o.Criterion, o)
	require.NoError(t, err)
	require.Len(t, c.Restarts, 10)
}

// Where K has doubled, and starts from the larger one come as far, a comparison makes no others from the smaller one.
func TestStartsFromTheSmallerKEndWhereTheLargerComesAsFar(t *testing.T) {
	o := framework.Options{K: 3, DoubleTo: 6, Restarts: 10, Criterion: framework.Evidence}
	c, err := framework.FitBest(context.Background(), rivals(normal.EEE), elongated(t), o.Criterion, o)
	require.NoError(t, err)
	require.Equal(t, 3, c.Shape.K)
	from := map[int]int{}
	for _, r := range c.Restarts {
		from[r.From]++
	}
	require.Equal(t, map[int]int{3: 2, 6: 4}, from)
}

// At a given K a component without rows has no entropy of labels, and would win by it.
func TestComponentsWithoutRowsDoNotWin(t *testing.T) {
	src := embedded(t, "iris", 4)
	o := framework.Options{K: 3, FixedK: true, Restarts: 10, Criterion: framework.Evidence}
	models := append([]rivalling{mixture.Model{Family: normal.StudentT{}}}, rivals(normal.VVV)...)
	c, err := framework.FitBest(context.Background(), models, src, framework.Completed, o)
	require.NoError(t, err)
	require.Equal(t, 1, c.Model)
	require.ErrorIs(t, c.Compared[0].Err, framework.ErrSpare)
	require.Equal(t, 3, c.Compared[0].K)
	require.Greater(t, floats.Min(c.Statistics.Nk), 40.0)
	alone, err := framework.FitBest(context.Background(), models[:1], src, framework.Completed, o)
	require.NoError(t, err) // there is no other
	require.Greater(t, alone.Compared[0].Value, c.Compared[1].Value)
	require.Less(t, floats.Min(alone.Statistics.Nk), 0.5)
}
