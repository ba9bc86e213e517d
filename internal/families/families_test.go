package families

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
)

// Each family is found by the name that package family has for it, so that a model file leads to the family that wrote it.
func TestEachFamilyIsFoundByItsName(t *testing.T) {
	for _, f := range All {
		require.Equal(t, f.Name, Named(f.Name).Name)
		if f.Joint != nil {
			require.Equal(t, f.Name, f.Joint(3).Name())
		}
	}
	require.Equal(t, "factor-analysers-3", Named("factor-analysers-3").Name)
	require.Nil(t, Named("factor-analysers--1").Joint)
	require.Nil(t, Named("factor-analysers-03").Joint)
	require.Nil(t, Named("other").Joint)
	require.Equal(t, GroupOf(3), Named(GroupOf(3)).Name)
	require.Nil(t, Named("indicators-1").Joint)
}

// Indicators of categories side by side are apart by their number.
func TestIndicatorsOfTwoCategoriesAreTwoFamilies(t *testing.T) {
	one := data.Column{Family: Indicators, Block: GroupOf(3)}
	other := data.Column{Family: Indicators, Block: GroupOf(2), Levels: []string{"False", "True"}}
	columns := []data.Column{one, one, one, one, one, one, other, other}
	var widths []int
	for _, f := range OfRows(Auto, columns).(family.Product) {
		widths = append(widths, f.(family.Of).Width)
	}
	require.Equal(t, []int{3, 3, 2}, widths)
	for _, c := range columns {
		require.NoError(t, Check(c, Set{}.Names(true)))
	}
	one.Block = ""
	require.ErrorContains(t, Check(one, Set{}.Names(true)), "this model has")
	one.Block, one.Levels = GroupOf(3), []string{"a", "b", "c"}
	require.Error(t, Check(one, Set{}.Names(true)))
}

func TestColumnsAreCheckedByTheirLevels(t *testing.T) {
	of := func(family string, levels ...string) data.Column {
		return data.Column{Name: "a", Family: family, Levels: levels}
	}
	for _, c := range []data.Column{of(Gaussian), of(Bernoulli), of(Bernoulli, "n", "y"), of(Categorical, "x", "y", "z"), of(Gate), of(Gate, "x", "y")} {
		require.NoError(t, Check(c, append(Set{}.Names(true), Gate)), c)
	}
	for part, c := range map[string]data.Column{
		"has 1 level": of(Categorical, "x"), "has 2 levels": of(Ordinal, "1", "2"), "has 3 levels": of(Bernoulli, "1", "2", "3"),
		"a level twice": of(Categorical, "x", "x"), "this model has": of(Tied), "is gaussian and has 2": of(Gaussian, "1", "2")} {
		require.ErrorContains(t, Check(c, Set{}.Names(true)), part)
	}
}
