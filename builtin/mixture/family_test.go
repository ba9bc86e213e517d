package mixture_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin/mixture"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
)

// A table that comes without its family has that of the request: one of the program's own, with the floor of the
// settings, and with noise in the box of its rows.
func TestFamilyOfTheRequest(t *testing.T) {
	rows, err := blocks.FromSlice([]float64{1, 9, 2, 3, 4, 5, 3, 8, 2, 6, 0, 7}, 6, 2)
	require.NoError(t, err)
	table := &fitted.Table{Rows: rows, Columns: []data.Column{{Name: "a", Family: "own"}, {Name: "b", Family: "own"}}}
	own := families.Set{Own: []families.Distribution{families.Own("own", normal.Family{Covariance: normal.EII}, true)}}
	none := 0.0
	settings := new(mixture.Settings)
	settings.Floor = &none
	q := fitted.Request{Method: mixture.Definition(own).Methods[0], Family: "own", Families: own}
	assert.Equal(t, "own", q.FamilyOf(table, settings).Name())
	bound, err := settings.Bind(context.Background(), table, q)
	require.NoError(t, err)
	fit, err := bound.Fit(context.Background(), framework.Options{K: 1, FixedK: true, Method: q.Method.Engine,
		Criterion: q.Method.Criteria[0]})
	require.NoError(t, err)
	assert.Equal(t, 2+1, fit.Shape.Component+fit.Shape.Shared, "two means and the variance of all")
	q.Family = families.Gaussian + families.NoiseSuffix
	noise := q.FamilyOf(table, settings).(normal.Noise)
	assert.Equal(t, [][]float64{{0, 3}, {4, 9}}, [][]float64{noise.Low, noise.High})
	q.Family, q.Families = families.Gaussian, nil
	assert.Equal(t, family.WithFloor(normal.Family{}, family.NoFloor), q.FamilyOf(table, settings))
	table.Family = normal.StudentT{}
	assert.Equal(t, table.Family, q.FamilyOf(table, settings))
}
