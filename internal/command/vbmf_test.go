package command

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFactorisationOfSatellite: rank and bound of paper N's data, through the command.
func TestFactorisationOfSatellite(t *testing.T) {
	out, _ := done(t, "fit", "--model", "vbmf", "--format", "json")
	object := decode(t, out)
	assert.Equal(t, 29.0, object["k"])
	assert.InDelta(t, -694693.023, object["value"], 1e-3)
	params := object["params"].(map[string]any)
	assert.InDelta(t, 3.86717, params["noise"], 1e-5)
	singular, shrunk := params["singular"].([]any), params["shrunk"].([]any)
	require.Len(t, singular, 29)
	require.Len(t, shrunk, 29)
	for i := range singular {
		assert.Less(t, shrunk[i], singular[i])
	}

	centred, _ := done(t, "fit", "--model", "vbmf", "--format", "json", "--center")
	assert.Greater(t, decode(t, centred)["value"], object["value"])

	text, _ := done(t, "select", "--model", "vbmf", "--data", "iris")
	assert.Contains(t, text, "elbo   chooses K = 3")
	for _, line := range strings.Split(text, "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 80, line)
	}
}

// TestFactorisationIsApplied: a saved factorisation predicts and samples, in the original
// place of the columns.
func TestFactorisationIsApplied(t *testing.T) {
	for _, args := range [][]string{{}, {"--center"}, {"--method", "vb", "--k", "2", "--max-iter", "50"}, {"--prior", "noise=0.1,a=1,b=10"}} {
		path := filepath.Join(t.TempDir(), "model.json")
		done(t, append([]string{"fit", "--model", "vbmf", "--data", "iris", "--out", path}, args...)...)
		text, _ := done(t, "predict", path, "--data", "iris")
		assert.True(t, strings.HasPrefix(text, "z1,z2"), text[:20])
		assert.Equal(t, 151, strings.Count(text, "\n"))
		text, _ = done(t, "sample", path, "-n", "2000", "--seed", "3")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		require.Len(t, lines, 2001)
	}
}

func TestFactorisationOfNothing(t *testing.T) {
	zeros := file(t, "zeros.csv", "a,b\n0,0\n0,0\n0,0\n")
	path := filepath.Join(t.TempDir(), "model.json")
	out, _ := done(t, "fit", "--model", "vbmf", "--data", zeros, "--format", "json", "--out", path)
	text, _ := done(t, "fit", "--model", "vbmf", "--data", zeros)
	assert.NotContains(t, text, "Next", "nothing is predicted or sampled")
	object := decode(t, out)
	assert.Equal(t, 0.0, object["k"])
	assert.Nil(t, object["value"])
	assert.Equal(t, []any{}, object["params"].(map[string]any)["components"], "none, and yet a list")
	fails(t, 1, "rank 0", "", "predict", path, "--data", zeros)
	text, _ = done(t, "fit", "--model", "vbmf", "--data", zeros)
	assert.Contains(t, text, "Nothing stands out from the noise")
	assert.NotContains(t, text, "NaN")

	exact := file(t, "exact.csv", "a,b,c\n1,2,3\n2,4,6\n3,6,9\n")
	fails(t, 1, "give the noise variance", "", "fit", "--model", "vbmf", "--data", exact)
	fails(t, 1, "--prior noise=", "", "fit", "--model", "vbmf", "--data", exact)
	out, _ = done(t, "fit", "--model", "vbmf", "--data", exact, "--prior", "noise=0.01", "--format", "json")
	assert.Equal(t, 1.0, decode(t, out)["k"])
}

func TestMisuseOfFactorisation(t *testing.T) {
	for _, c := range []struct{ part, args string }{
		{"--weights cannot be used with --model vbmf", "--weights Species"},
		{"--start is a flag of --model bernmix, hmm, mixture, regression, and the model is vbmf", "--start rows"},
		{"--columns is a flag of --model hmm, mixture, regression, and the model is vbmf", "--columns a=poisson"},
		{"give both a and b", "--prior a=1"},
		{`no key "c"`, "--prior c=1"},
		{"--method gfab cannot be used with --model vbmf: choose one of closed-form, vb", "--method gfab"},
		{"--criterion gfic cannot be used with --model vbmf", "--criterion gfic"},
		{"--tol cannot be used with --method closed-form (the default of --model vbmf), which has no iterations", "--tol 1e-3"},
	} {
		fails(t, 2, c.part, "", append([]string{"fit", "--model", "vbmf", "--data", "iris"}, strings.Fields(c.args)...)...)
	}
	fails(t, 1, "5 factors of a 150×4 matrix: choose K up to 4", "", "fit", "--model", "vbmf", "--data", "iris", "--k", "5")
	fails(t, 2, "--center is a flag of --model vbmf, and the model is bpca", "", "fit", "--model", "bpca", "--center")
}

// TestFactorisationOfNumbersInRange: no NaN or half-written JSON for tables of one row, of
// one column, or of one number.
func TestFactorisationOfNumbersInRange(t *testing.T) {
	for _, text := range []string{"a,b,c\n1,2,3\n", "a\n1\n2\n3\n", "a\n5\n", "a,b\n1e150,1\n2,1e150\n", "a,b\n1e-150,1\n2,1\n"} {
		path := file(t, "d.csv", text)
		code, stdout, stderr := latent("", "fit", "--model", "vbmf", "--data", path, "--format", "json")
		if code == 0 {
			object := decode(t, stdout)
			value, _ := object["value"].(float64)
			assert.False(t, math.IsNaN(value))
			continue
		}
		assert.Equal(t, 1, code)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func decode(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &object))
	return object
}

// TestTemperingAndPriorsOfSizeThroughTheCommand: paper C's choice, the argmax of
// ELBO + ln π_K.
func TestTemperingAndPriorsOfSizeThroughTheCommand(t *testing.T) {
	args := []string{"select", "--method", "vb", "--data", "faithful", "--kmax", "4", "--restarts", "2", "--format", "json"}
	plain, _ := done(t, args...)
	cold, _ := done(t, append(args, "--temper", "0.5")...)
	assert.NotEqual(t, decode(t, plain)["table"], decode(t, cold)["table"])
	geometric, _ := done(t, append(args, "--size-prior", "geometric")...)
	object := decode(t, geometric)
	assert.Equal(t, "geometric", object["size_prior"])
	assert.Equal(t, decode(t, plain)["table"], object["table"])
	best, at := math.Inf(-1), 0.0
	for _, row := range object["table"].([]any) {
		k := row.(map[string]any)["k"].(float64)
		v := row.(map[string]any)["values"].(map[string]any)["elbo"].(float64) - k*math.Ln2
		if v > best {
			best, at = v, k
		}
	}
	assert.Equal(t, at, object["chosen"].(map[string]any)["elbo"])

	fails(t, 2, "--temper requires --method vb, and the method is left to the table", "", "fit", "--temper", "0.5")
	fails(t, 2, "--temper is 0; must be positive and at most 1", "", "fit", "--method", "vb", "--temper", "0")
	fails(t, 2, "--temper is 2;", "", "fit", "--method", "vb", "--temper", "2")
	fails(t, 2, "--size-prior requires a method that fits every K", "", "fit", "--size-prior", "geometric")
}
