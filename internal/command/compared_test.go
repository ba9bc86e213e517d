package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A comparison in one fit has, to the bit, what a fit of the best structure alone finds.
func TestOneFitComparesStructures(t *testing.T) {
	schema := schemas(t)["fit"]
	for _, line := range []string{
		"--data faithful", "--data iris", "--data iris --k 3", "--data faithful --select waiting",
	} {
		args := append(strings.Fields(line), "--cov", "EII,VVI,EEE,VVV", "--criterion", "evidence")
		text, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
		conforms(t, schema, text, line)
		r := reportOf(t, text, args...)
		best := r.Compared[0]
		require.Equal(t, []any{r.Family, r.K, r.Value, number(0), "whole search"},
			[]any{best.Family, best.K, best.Value, best.Behind, best.Stage})
		alone := fitJSON(t, append(strings.Fields(line), "--cov", best.Covariance, "--criterion", "evidence")...)
		require.Empty(t, alone.Compared)
		require.Equal(t, alone.Family, r.Family)
		require.Equal(t, alone.K, r.K)
		require.InDelta(t, float64(alone.Value), float64(r.Value), 1e-6)
		require.Equal(t, alone.Columns, r.Columns)
		for i, one := range r.Compared[1:] {
			require.InDelta(t, float64(r.Value-one.Value), float64(one.Behind), 1e-9)
			require.NotEqual(t, "whole search", one.Stage)
			require.LessOrEqual(t, one.Value, r.Compared[max(1, i)].Value)
		}
	}
}

func TestTheBestStructureIsTheModel(t *testing.T) {
	folder := t.TempDir()
	model := filepath.Join(folder, "m.json")
	stdout, _ := done(t, "fit", "--data", "faithful", "--cov", "all",
		"--out", model, "--report", folder, "--assignments", filepath.Join(folder, "a.csv"))
	require.Contains(t, stdout, "gaussian-vve components")
	require.Contains(t, strings.Join(strings.Fields(stdout), " "),
		"VVE (equal orientation, varying volume and shape), the best of 14 structures compared by the evidence less the entropy of the labels:")
	page, err := os.ReadFile(filepath.Join(folder, "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "Covariance structures")
	predicted, _ := done(t, "predict", model, "--data", "faithful")
	assigned, err := os.ReadFile(filepath.Join(folder, "a.csv"))
	require.NoError(t, err)
	require.Equal(t, strings.Count(predicted, "\n"), strings.Count(string(assigned), "\n"))
	stdout, _ = done(t, "fit", "--data", "iris", "--cov", "eei,full",
		"--label", "Species", "--bootstrap", "2", "--criterion", "bic")
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "the best of 2 structures compared by bic:")
}

// Structures that a table cannot have are left out by name.
func TestStructuresThatATableCannotHave(t *testing.T) {
	gaps := file(t, "g.csv", "a,b\n1,4\n2,\n3,1\n4,7\n5,2\n6,6\n2,3\n7,1\n")
	stdout, stderr := done(t, "fit", "--data", gaps, "--cov", "EII,VVI,EEE,VVV")
	require.Contains(t, stderr, "EII not compared: these covariances need complete rows")
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "the best of 3 structures")
	few := file(t, "f.csv", "a,b,c\n1,4,2\n2,3,5\n3,1,1\n")
	stdout, stderr = done(t, "fit", "--data", few, "--cov", "all")
	require.Contains(t, stderr, "EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV not compared: "+
		"a covariance matrix needs more rows than columns, and there are 3 and 3")
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "the best of 6 structures")
	fails(t, 1, "none of these covariances can describe the table", "", "fit", "--data", few, "--cov", "EEE,VVV")
	fails(t, 1, "3 rows and 3 columns: a covariance matrix needs more rows than columns", "", "fit", "--data", few,
		"--family", "student-t")
	r := fitJSON(t, "--data", "faithful", "--select", "waiting", "--cov", "all")
	require.Len(t, r.Compared, 2) // the volume is equal, or not
	r = fitJSON(t, "--data", few, "--cov", "EII,VVV")
	require.Equal(t, "gaussian-eii", r.Family)
}

// Measurements beside codes have covariances, if that is better than to take each column by itself.
func TestMeasurementsBesideCodesAreCompared(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	var correlated, apart strings.Builder
	for i := range 200 {
		u, v, w, class := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), i%2
		sex := "fm"[rng.IntN(2)]
		fmt.Fprintf(&correlated, "%.3f,%c,%.3f,%.3f\n", 2*u+float64(3*class), sex, 2*u+v/2-float64(2*class), u+w)
		fmt.Fprintf(&apart, "%.3f,%c,%.3f,%.3f\n", u*float64(1+class)+float64(9*class), sex, v-float64(6*class), w*float64(3-2*class))
	}
	schema, head := schemas(t)["fit"], "length,sex,width,weight\n"
	path := file(t, "correlated.csv", head+correlated.String())
	model, page := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
	args := []string{"--data", path, "--out", model, "--report", page}
	text, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
	conforms(t, schema, text, "measurements beside codes")
	r := reportOf(t, text, args...)
	require.Equal(t, 2, r.K)
	require.Equal(t, "auto", r.Family)
	require.Equal(t, "gaussian-tied", r.Compared[0].Family)
	names := []string{"length", "width", "weight"}
	for j, name := range names {
		require.Equal(t, []string{name, "gaussian", "gaussian-tied"}, []string{r.Columns[j].Name, r.Columns[j].Family, r.Columns[j].Block})
	}
	require.Empty(t, r.Columns[3].Block)
	require.Equal(t, names, r.Covariances[0].Names)
	diagonal := fitJSON(t, "--data", path, "--criterion", "evidence")
	require.Greater(t, r.Value, diagonal.Value+50)
	require.Empty(t, diagonal.Columns[1].Block)
	predicted, _ := done(t, "predict", model, "--data", path)
	require.Equal(t, 201, strings.Count(predicted, "\n"))
	_, _ = done(t, "sample", model, "-n", "5")
	written, err := os.ReadFile(filepath.Join(page, "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(written), "Correlations within the components")

	r = fitJSON(t, "--data", file(t, "apart.csv", head+apart.String()))
	require.Equal(t, 2, r.K)
	require.NotEmpty(t, r.Compared)
	require.Empty(t, r.Covariances)
}

// Structures for which the rows are too few take part with fewer components, and do not bound the others.
func TestWideTablesHaveSimpleStructures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var text strings.Builder
	const rows, columns = 60, 40
	for i := range rows + 1 {
		for j := range columns {
			comma := ","
			if j == columns-1 {
				comma = "\n"
			}
			if i == 0 {
				fmt.Fprintf(&text, "c%d%s", j, comma)
			} else {
				fmt.Fprintf(&text, "%.3f%s", float64(i%3*3)+rng.NormFloat64(), comma)
			}
		}
	}
	r := fitJSON(t, "--data", file(t, "wide.csv", text.String()))
	require.Equal(t, []any{3, 10}, []any{r.K, r.KMax})
	for _, one := range r.Compared {
		if one.Covariance == "VVV" {
			require.Equal(t, 1, one.K) // 60 rows are not two covariance matrices of 40 columns
		}
	}
}

// --cov names covariances of the measurements in tables of other columns, too: one, or several to compare.
func TestCovariancesBesideCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var text strings.Builder
	text.WriteString("place,x,y,z\n")
	for i := range 200 {
		c := i % 2
		place := []string{"north", "south", "east"}[min(2, c+rng.IntN(2))]
		u := rng.NormFloat64()
		fmt.Fprintf(&text, "%s,%.3f,%.3f,%.3f\n", place, u+4*float64(c), 3*u+rng.NormFloat64(), rng.NormFloat64()-u)
	}
	table := file(t, "mixed.csv", text.String())
	model := filepath.Join(t.TempDir(), "m.json")
	one := fitJSON(t, "--data", table, "--cov", "VVE", "--out", model)
	require.Equal(t, []any{"auto", 2}, []any{one.Family, one.K})
	require.Equal(t, []string{"", "gaussian-vve", "gaussian-vve", "gaussian-vve"},
		[]string{one.Columns[0].Block, one.Columns[1].Block, one.Columns[2].Block, one.Columns[3].Block})
	done(t, "predict", model, "--data", table)
	several := fitJSON(t, "--data", table, "--cov", "VVE,VVI", "--criterion", "evidence")
	require.Len(t, several.Compared, 2)
	for _, of := range several.Compared {
		if of.Covariance == "VVE" {
			require.InDelta(t, float64(one.Value), float64(of.Value), 0.01)
		}
	}
	diagonal := fitJSON(t, "--data", table, "--cov", "diag")
	require.Empty(t, diagonal.Columns[1].Block)
	require.Less(t, diagonal.Value, one.Value)
	stdout, _ := done(t, "select", "--data", table, "--cov", "VVE", "--kmax", "2", "--criteria", "evidence")
	require.Contains(t, stdout, fmt.Sprintf("%.3f", one.Value))
	stdout, _ = done(t, "select", "--data", table, "--cov", "all", "--kmax", "2")
	require.Contains(t, stdout, "gaussian-vve")
	auto := fitJSON(t, "--data", table, "--family", "auto", "--cov", "VVE")
	require.Equal(t, one.Value, auto.Value)
	require.Empty(t, auto.Compared)
}
