package command

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/wording"
)

// TestBootstrapErrorsOfOneComponent are those of a sample mean and standard deviation. Of 200 draws they have an error
// of 5 % themselves.
func TestBootstrapErrorsOfOneComponent(t *testing.T) {
	r := fitJSON(t, "--k", "1", "--bootstrap", "200")
	require.NotNil(t, r.Bootstrap)
	assert.Equal(t, outcome.Refits{Draws: 200}, *r.Bootstrap)
	assert.EqualValues(t, 0, *r.Components[0].Drawn)
	for _, c := range r.Components[0].Columns {
		sd := float64(c.Values["sd"])
		assert.InEpsilon(t, sd/math.Sqrt(272), float64(c.Drawn["mean"]), 0.15, c.Name)
		assert.InEpsilon(t, sd/math.Sqrt(2*272), float64(c.Drawn["sd"]), 0.15, c.Name)
		assert.Len(t, c.Intervals, 2)
		assert.Less(t, c.Intervals["mean"][0], c.Values["mean"])
		assert.Greater(t, c.Intervals["mean"][1], c.Values["mean"])
	}
}

// TestBootstrapIsInTextAndModelFile, for every kind of column.
func TestBootstrapIsInTextAndModelFile(t *testing.T) {
	rows := "x,colour,seen,n,size\n"
	for i := range 60 {
		row := []string{"1.5,red,TRUE,3,1", "2.5,red,FALSE,5,1", "7.5,blue,TRUE,1,2", "9.5,blue,FALSE,0,3"}[i%4]
		rows += row + "\n"
	}
	model := filepath.Join(t.TempDir(), "m.json")
	stdout, stderr := done(t, "fit", "--data", file(t, "mixed.csv", rows), "--columns", "x=gaussian,colour=categorical,seen=categorical,n=poisson,size=ordinal", "--method", "em", "--k", "1", "--bootstrap", "20", "--out", model)
	assert.Contains(t, stdout, "Estimates ± standard errors by bootstrap (--format json has intervals):")
	assert.Regexp(t, `1 ± 0 `, stdout)
	assert.NotContains(t, stderr, "draws")
	var saved reported
	require.NoError(t, json.Unmarshal([]byte(contents(t, model)), &saved))
	require.NotNil(t, saved.Bootstrap)
	for _, c := range saved.Components[0].Columns {
		assert.Len(t, c.Drawn, len(c.Values), c.Name)
	}
	done(t, "sample", model, "-n", "1")
}

// TestBootstrapGoesWithEveryFamily of several columns: each reported value has a standard error.
func TestBootstrapGoesWithEveryFamily(t *testing.T) {
	for _, flags := range [][]string{{"--family", "student-t"}, {"--noise"}, {"--cov", "VVE"}, {"--family", "gaussian-spherical"}} {
		r := fitJSON(t, append(flags, "--k", "2", "--restarts", "1", "--tol", "1e-5", "--bootstrap", "3")...)
		for _, c := range r.Components {
			assert.NotNil(t, c.Drawn)
			for _, column := range c.Columns {
				for name := range column.Values {
					assert.Contains(t, column.Drawn, name, flags)
				}
			}
		}
	}
}

func TestBootstrapTestsEndWhereNothingIsRejected(t *testing.T) {
	rows := "a,b\n"
	for i := range 60 {
		z := float64(i%7) + float64(i%11)
		rows += wording.Nats(20*float64(i%2)+z) + "," + wording.Nats(z*z/9) + "\n"
	}
	name := file(t, "two.csv", rows)
	args := []string{"select", "--data", name, "--family", "gaussian-tied", "--kmax", "4", "--restarts", "2", "--bootstrap", "39"}
	stdout, _ := done(t, append(args, "--format", "json")...)
	var s outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	require.NotEmpty(t, s.Tests)
	assert.Equal(t, 1, s.Tests[0].K)
	assert.EqualValues(t, 1./40, s.Tests[0].PValue)
	for _, one := range s.Tests[:len(s.Tests)-1] {
		assert.LessOrEqual(t, float64(one.PValue), 0.05)
	}
	text, _ := done(t, args...)
	assert.Contains(t, text, "Likelihood ratio tests by bootstrap, up to the first p-value above 0.05:")
}

func TestBootstrapFlagsThatMakeNoSense(t *testing.T) {
	for want, args := range map[string][]string{
		"--bootstrap is 1; must be at least 2 and at most 1000000":                                                                          {"fit", "--bootstrap", "1"},
		"--bootstrap is 9; must be at least 19 and at most 1000000":                                                                         {"select", "--bootstrap", "9"},
		"--bootstrap is 2000000; must be at least 2 and at most 1000000":                                                                    {"fit", "--bootstrap", "2000000"},
		"--bootstrap requires a mixture: a bpca model has no components":                                                                    {"fit", "--model", "bpca", "--bootstrap", "9"},
		"--bootstrap cannot be used with --method vb, which has a posterior of the parameters: leave it out, or take --method gfab or em":   {"fit", "--method", "vb", "--bootstrap", "9"},
		"--bootstrap cannot be used with --method cvb0, which has a posterior of the parameters: leave it out, or take --method gfab or em": {"fit", "--method", "cvb0", "--bootstrap", "9"},
		"--bootstrap tests numbers of components of one family, and cannot be used with --family all or --cov all":                          {"select", "--family", "all", "--bootstrap", "19"},
		"--bootstrap requires --method em, whose fits have the largest likelihood, and the method is map":                                   {"select", "--method", "map", "--bootstrap", "19"},
	} {
		status, _, stderr := latent("", args...)
		assert.Equal(t, statusUsage, status, args)
		assert.Equal(t, "latent: "+want+"\n", stderr, args)
	}
	status, _, stderr := latent("", "fit", "--data", file(t, "w.csv", "x,w\n1,0.5\n2,1\n4,1.5\n9,1\n"), "--weights", "w", "--family", "gaussian-spherical", "--k", "1", "--bootstrap", "5")
	assert.Equal(t, statusFailed, status)
	assert.Contains(t, stderr, "the weight of row 1 is 0.5; must be a whole number, to draw rows")
}
