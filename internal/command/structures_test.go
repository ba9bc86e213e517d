package command

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

func compared(t *testing.T, args ...string) (c outcome.Comparison) {
	t.Helper()
	stdout, _ := done(t, append([]string{"select", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	for i, row := range c.Table {
		require.InDelta(t, float64(c.Table[0].Value-row.Value), float64(row.Behind), 1e-9)
		require.True(t, i == 0 || row.Value <= c.Table[i-1].Value)
	}
	require.Equal(t, c.Table[1].Behind, c.Margin)
	require.Equal(t, []string{c.Table[0].Family, c.Table[1].Family}, []string{c.Best, c.Second})
	return c
}

// mclust 6.0.0 chooses EII with 5 components for ruspini, BIC −1344.212 (2ℓ − df ln N), 2.929 ahead of EEI.
func TestSelectComparesStructuresOnRuspini(t *testing.T) {
	c := compared(t, "--data", "ruspini", "--family", "all", "--kmax", "6")
	require.Equal(t, "gaussian-eii", c.Best)
	require.Equal(t, 5, c.K)
	require.Equal(t, "gaussian-eei", c.Second)
	require.InDelta(t, -1344.212, 2*float64(c.Table[0].Value), 0.01)
	require.InDelta(t, 2.929, 2*float64(c.Margin), 0.01)
	require.Len(t, c.Table, 19) // ruspini are counts, and positive
}

// mclust 6.0.0 has BIC −2842.298 at EEV with 4 components for the crabs, its best of all.
func TestSelectComparesStructuresOnCrabs(t *testing.T) {
	c := compared(t, "--data", "crabs", "--cov", "all", "--kmin", "3", "--kmax", "4")
	require.Equal(t, "gaussian-eev", c.Best)
	require.Equal(t, 4, c.K)
	require.Equal(t, 68, c.Table[0].Free)
	require.GreaterOrEqual(t, 2*float64(c.Table[0].Value), -2842.298)
	require.Len(t, c.Table, 14)
	stdout, _ := done(t, "select", "--data", "crabs", "--cov", "all", "--kmin", "4", "--kmax", "4", "--restarts", "3", "--criteria", "icl")
	require.Contains(t, stdout, "icl chooses gaussian-eev with K = 4, ")
}

func TestCovarianceFlags(t *testing.T) {
	for cov, family := range map[string]string{"eev": "gaussian-eev", "VVV": "gaussian", "tied": "gaussian-tied", "diag": "gaussian-diagonal", "VII": "gaussian-spherical"} {
		require.Equal(t, family, fitJSON(t, "--cov", cov, "--k", "2", "--restarts", "1").Family)
	}
	for want, args := range map[string][]string{
		"requires latent select":                        {"fit", "--family", "all"},
		"--cov with several covariances requires --mod": {"fit", "--cov", "all", "--model", "hmm"},
		"--cov with several covariances requires --met": {"fit", "--cov", "EII,VVV", "--method", "em"},
		"--cov with several covariances requires lat":   {"select", "--cov", "EII,VVV"},
		"unknown covariance \"VVX\"":                    {"fit", "--cov", "EII,VVX"},
		"--criterion gfic does not compare between cov": {"fit", "--cov", "EII,VVV", "--criterion", "gfic"},
		"--noise and --gate cannot be used with sever":  {"fit", "--cov", "EII,VVV", "--noise"},
		"--columns cannot be used with several covari":  {"fit", "--cov", "EII,VVV", "--columns", "waiting=poisson"},
		"unknown covariance":                            {"fit", "--cov", "full-tied"},
		"the family is poisson":                         {"fit", "--cov", "eev", "--family", "poisson"},
		"--cov is a flag of --model hmm, mixture, and":  {"fit", "--cov", "eev", "--model", "bpca"},
		"require --model mixture":                       {"select", "--family", "all", "--model", "bernmix"},
		"--columns cannot be used with --family all":    {"select", "--family", "all", "--columns", "waiting=poisson"},
		"--cov eev is one covariance":                   {"select", "--family", "all", "--cov", "eev"},
		"--cov all compares covariances of --family":    {"select", "--family", "poisson", "--cov", "all"},
		"--family all and --cov all require --model m":  {"select", "--cov", "all", "--model", "hmm"},
	} {
		fails(t, 2, want, "", args...)
	}
	fails(t, 1, `column "Species" is categorical`, "", "select", "--data", "iris", "--family", "all", "--select", "Sepal.Length,Species")
	fails(t, 1, "has no conjugate prior", "", "fit", "--cov", "eev", "--method", "vb")
}

// Rows anywhere, such as these two, are noise to a model that was fitted with it.
func TestNoise(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	stdout, _ := done(t, "fit", "--data", "ruspini", "--cov", "EII", "--k", "4", "--noise", "--out", model)
	require.Contains(t, stdout, "gaussian-eii+noise components")
	rows := file(t, "d.csv", "x,y\n4,53\n118,156\n")
	stdout, _ = done(t, "predict", model, "--data", rows)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, "label,probability,p1,p2,p3,p4,log_likelihood,noise", lines[0])
	for i, want := range []bool{false, true} { // the first row is ruspini's own, the second far from all
		noise, err := strconv.ParseFloat(lines[1+i][strings.LastIndex(lines[1+i], ",")+1:], 64)
		require.NoError(t, err)
		require.Equal(t, want, noise > 0.5, "%v", noise)
	}
	stdout, _ = done(t, "sample", model, "--rows", "3")
	require.Equal(t, 4, strings.Count(stdout, "\n"))
	r := fitJSON(t, "--data", "ruspini", "--k", "4", "--noise", "--family", "student-t", "--restarts", "2")
	require.Equal(t, "student-t+noise", r.Family)
	done(t, "fit", "--data", "ruspini", "--noise", "--report", t.TempDir())
	for want, args := range map[string][]string{
		"--noise cannot be used with --family poisson": {"fit", "--noise", "--family", "poisson"},
		"--noise requires --method gfab or fab or em":  {"fit", "--noise", "--method", "vb"},
		"--noise is a flag of --model factor, feat":    {"fit", "--noise", "--model", "bpca"},
		"--noise cannot be used with --family all":     {"select", "--noise", "--family", "all"},
		"gaussian with any --cov but diag, and stud":   {"fit", "--noise", "--cov", "diag"},
	} {
		fails(t, 2, want, "", args...)
	}
	fails(t, 1, "needs complete rows", "", "fit", "--noise", "--data", file(t, "g.csv", "a,b\n1,4\n2,\n3,1\n4,7\n5,2\n6,6\n"))
}
