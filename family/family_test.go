package family_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
)

// required is a family without any of the optional interfaces.
type required struct{ family.ExponentialFamily }

func TestFamiliesDoWithoutWhatIsOptional(t *testing.T) {
	table, err := blocks.FromSlice([]float64{0, 1, 2, 3, 4, 5}, 3, 2)
	require.NoError(t, err)
	pooled, plan, err := family.Pool(context.Background(), table, required{family.Poisson{}})
	require.NoError(t, err)
	require.Equal(t, []float64{2, 3}, pooled.Parameters)
	require.False(t, family.Repeats(required{family.Poisson{}}))

	x := []float64{7, 7}
	require.ErrorContains(t, plan.Sample(pooled.Parameters, nil, x), "poisson cannot be drawn from: it does not implement family.Sampler")
	require.NoError(t, plan.Classes(1).Deviations(0, pooled.Parameters, nil, 3, x))
	require.True(t, math.IsNaN(x[0]) && math.IsNaN(x[1]), "%v", x)
	divergence := []float64{0, 0}
	plan.Contrast([]float64{1, 9}, pooled, divergence)
	require.Equal(t, []float64{0, 0}, divergence)
	_, err = plan.Posterior(nil)
	require.ErrorContains(t, err, "poisson has no conjugate prior: it does not implement family.ConjugateFamily")
}

// pairs are counts of pairs: what it has from Poisson knows nothing of them.
type pairs struct{ family.Poisson }

func (f pairs) Observe(x, t []float64) (exposure, base float64, ok bool) {
	return f.Poisson.Observe([]float64{x[0] / 2}, t)
}

// BlockNatural and BlockObserver of a family are not those of one that embeds it, and neither is On.
func TestAFamilyThatEmbedsAnotherIsItself(t *testing.T) {
	table, err := blocks.FromSlice([]float64{0, 2, 4, 6, 8, 10}, 3, 2)
	require.NoError(t, err)
	for _, f := range []family.Family{pairs{}, family.Of{Family: pairs{}, Width: 2}, family.Product{pairs{}, pairs{}}, family.Product{family.Of{Family: pairs{}, Width: 1}, pairs{}}} {
		pooled, _, err := family.Pool(context.Background(), table, f)
		require.NoError(t, err, f.Name())
		require.Equal(t, []float64{2, 3}, pooled.Parameters, f.Name())
	}
	odd, err := blocks.FromSlice([]float64{0, 2, 4, 6, 8, 9}, 3, 2)
	require.NoError(t, err)
	_, _, err = family.Pool(context.Background(), odd, pairs{})
	require.ErrorContains(t, err, "row 3, column 2 is 9")
}

// kinds lays columns out in factors of its own.
type kinds struct {
	family.Product
	list []family.Factor
}

func (k kinds) On(int) ([]family.Factor, error) { return k.list, nil }

func TestAFactorHasSumsOrRows(t *testing.T) {
	_, err := family.NewPlan(kinds{list: []family.Factor{neither{}}}, 1)
	require.ErrorContains(t, err, "the factor neither (family_test.neither) must be either a family.SumFactor or a family.RowFactor")
}

type neither struct {
	family.Real
	family.Factor
}

func (neither) Name() string          { return "neither" }
func (neither) Layout() family.Layout { return family.Layout{Columns: 1} }
func (neither) Observe(blocks.Rows, int, int, int, *family.Observed) error {
	return nil
}

func TestEqualNeighboursOfAProductAreOneFactor(t *testing.T) {
	diagonal := normal.Family{Covariance: normal.Diagonal}
	for _, c := range []struct {
		family  family.Product
		factors int
	}{
		{family.Product{family.Poisson{}, family.Poisson{}, family.Of{Family: family.Poisson{}, Width: 2}}, 1},
		{family.Product{family.Poisson{}, pairs{}, family.Poisson{}}, 3},
		{family.Product{diagonal, family.Of{Family: diagonal, Width: 2}, family.Bernoulli{}, diagonal}, 3},
		{family.Product{family.Product{diagonal, family.Poisson{}}, family.Poisson{}}, 2},
		{family.Product{family.Categorical{Levels: 2}, family.Categorical{Levels: 3}, family.Categorical{Levels: 3}}, 2},
		{family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Of{Family: normal.Family{}, Width: 2}}, 2},
		{family.Product{family.Multinomial{Categories: 2}, family.Multinomial{Categories: 2}}, 2},
		{family.Product{normal.Lognormal{}, family.Of{Family: normal.Lognormal{}, Width: 2}}, 1},
		{family.Product{normal.Lognormal{}, diagonal}, 2},
		{family.Product{diagonal, normal.Lognormal{}}, 2},
		{family.Product{family.Of{Family: normal.Family{Covariance: normal.EEI}, Width: 2}, diagonal}, 2},
	} {
		list, err := c.family.On(c.family.Columns())
		require.NoError(t, err)
		require.Len(t, list, c.factors, c.family.Name())
	}
}

// One family that takes any number of columns has those that the others of a product leave; two do not know their share.
func TestOneFamilyOfAProductTakesWhatTheOthersLeave(t *testing.T) {
	full, two := normal.Family{}, family.Of{Family: family.Poisson{}, Width: 2}
	for _, p := range []family.Product{{full, two}, {two, full}, {family.Poisson{}, full, family.Poisson{}}} {
		require.Zero(t, p.Columns())
		factors, err := p.On(5)
		require.NoError(t, err)
		i := slices.IndexFunc(factors, func(f family.Factor) bool { return f.Name() == "gaussian" })
		require.Equal(t, 3, factors[i].Layout().Columns)
	}
	_, err := family.Product{full, two}.On(2)
	require.ErrorContains(t, err, "describes 2 columns, and the table of 2 leaves none for gaussian")
	_, err = family.Product{full, normal.StudentT{}}.On(4)
	require.ErrorContains(t, err, "both gaussian and")
	_, err = family.Product{two, family.Bernoulli{}}.On(4)
	require.ErrorContains(t, err, "describes 3 columns, and the table has 4")
}
