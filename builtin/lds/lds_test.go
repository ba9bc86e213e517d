package lds_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin/lds"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

func TestCovariatesAreTheLastColumns(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 7, 6, 1, 2}
	bind := func(covariates ...string) error {
		rows, err := blocks.FromIncomplete(x, 3, 3)
		require.NoError(t, err)
		series, err := blocks.NewSequences(rows, nil)
		require.NoError(t, err)
		table := &fitted.Table{Rows: rows, Sequences: series, Columns: []data.Column{{Name: "x"}, {Name: "y"}, {Name: "u"}}}
		_, err = (&lds.Settings{Covariates: covariates}).Bind(t.Context(), table, fitted.Request{})
		return err
	}
	require.NoError(t, bind("u"))
	require.NoError(t, bind("y", "u"))
	for _, wrong := range [][]string{{"y"}, {"u", "y"}, {"x", "y", "u"}, {"none"}} {
		var fault *fitted.SettingError
		require.ErrorAs(t, bind(wrong...), &fault)
		require.Equal(t, "Covariates", fault.Setting)
	}
	x[4] = math.NaN()
	require.NoError(t, bind("u"))
	require.ErrorContains(t, bind("y", "u"), "row 2, column 2 is missing: a covariate needs a value in every step")
}
