package command

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	pretty "github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/report/text"
)

func TestTextIsNoWiderThanThePage(t *testing.T) {
	for _, args := range [][]string{
		{"fit", "--model", "bernmix", "--k", "5"},
		{"fit", "--data", "zoo", "--family", "auto", "--k", "7"},
		{"fit", "--data", "iris", "--restarts", "3"},
		{"fit", "--model", "bpca"},
		{"fit", "--data", "satellite", "--family", "gaussian-diagonal", "--method", "em", "--k", "2"},
		{"select", "--kmax", "3"},
		{"select", "--model", "bernmix", "--kmax", "2"},
		{"datasets"},
	} {
		stdout, _ := done(t, args...)
		assert.LessOrEqual(t, pretty.LongestLineLen(stdout), text.WidthOfFiles, "%v\n%s", args, stdout)
	}
	stdout, _ := done(t, "select", "--kmax", "2")
	for _, name := range []string{"bicem", "gfic", "fic", "bic", "aic", "icl"} {
		assert.Contains(t, stdout, name+"   ", "no criterion is lost where the table is broken")
	}
}

func init() { os.Unsetenv("COLUMNS") } // pages of tests are as wide as those of files

// TestNarrowTerminalsStayReadable: on 20 columns no line is cut but within a word, and nothing is lost that wider ones show.
func TestNarrowTerminalsStayReadable(t *testing.T) {
	for _, args := range [][]string{
		{"fit", "--model", "bernmix", "--kmax", "3"},
		{"fit", "--data", "iris", "--label", "Species", "--restarts", "3", "--kmax", "3"},
		{"fit", "--model", "bpca", "--data", "iris"},
		{"fit", "--model", "hmm", "--k", "2", "--restarts", "1"},
		{"fit", "--model", "factor", "--data", holzinger},
		{"fit", "--model", "blockmodel", "--restarts", "1"},
		{"fit", "--model", "features", "--data", "ruspini", "--restarts", "1"},
		{"fit", "--model", "regression", "--data", "NOdata", "--response", "NO", "--k", "2"},
		{"select", "--kmax", "3"},
		{"datasets"},
	} {
		t.Setenv("COLUMNS", "20")
		narrow, _ := done(t, args...)
		for line := range strings.Lines(narrow) {
			if words := strings.Fields(line); pretty.StringWidth(strings.TrimRight(line, "\n")) > 20 {
				assert.Len(t, words, 1, "%v: %s", args, line)
			}
		}
		t.Setenv("COLUMNS", "200")
		wide, _ := done(t, args...)
		number := regexp.MustCompile(`-?[0-9]+\.[0-9]{3}\b`)
		_, facts, _ := strings.Cut(wide, "chosen K") // behind a table, which has more columns where there is room
		for _, value := range number.FindAllString(strings.Split(facts, "time")[0], -1) {
			assert.Contains(t, narrow, value, args)
		}
	}
}

// TestNamesFromRightToLeft are isolated, so that columns keep their places, and their widths do not count what nobody sees.
func TestNamesFromRightToLeft(t *testing.T) {
	stdout, _ := done(t, "fit", "--data", file(t, "d.csv", "שם,גיל,x\n1,2,3\n2,5,1\n7,1,1\n8,3,4\n"), "--k", "1", "--family", "gaussian-diagonal")
	assert.Contains(t, stdout, "\u2068שם\u2069")
	assert.Contains(t, stdout, "\u2068גיל\u2069")
	plain := strings.NewReplacer("\u2068", "", "\u2069", "").Replace(stdout)
	lines := strings.Split(plain, "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "component  weight") })
	for _, line := range lines[at+1 : at+4] {
		assert.Equal(t, pretty.StringWidth(lines[at]), pretty.StringWidth(line), line)
	}
	assert.Equal(t, "x", isolated("x"))
}

func TestATableHasTheMostCharacteristicColumnsThatFit(t *testing.T) {
	f := &classes.Components{Noun: "component", List: []classes.Component{{Class: fitted.Class{Weight: 1, Rows: 10}}}}
	for j := range 5 {
		f.Columns = append(f.Columns, data.Column{Name: fmt.Sprintf("column%d", j), Family: families.Poisson})
		f.List[0].Columns = append(f.List[0].Columns, classes.ColumnSummary{Values: map[string]number{"rate": 1}, Keys: []string{"rate"}})
		f.Order = append(f.Order, 4-j)
	}
	for _, c := range []struct {
		width int
		heads string
	}{
		{0, "column0 column1 column2 column3 column4"},
		{80, "column0 column1 column2 column3 column4"},
		{50, "column4 column3"},
	} {
		p := &text.Page{Width: c.width}
		f.Print(p)
		_, table, _ := strings.Cut(p.String(), " component ")
		heads := strings.Fields(strings.Split(table, "\n")[0])[2:]
		assert.Equal(t, strings.Fields(c.heads), heads)
		left := 5 - len(heads)
		assert.Equal(t, left > 0, strings.Contains(strings.Join(strings.Fields(p.String()), " "), fmt.Sprintf("%d more columns are left out", left)))
	}
}

func TestNamesInTablesAreShortAndHarmless(t *testing.T) {
	long := strings.Repeat("very ", 20) + "long"
	stdout, _ := done(t, "fit", "--data", file(t, "d.csv", fmt.Sprintf("%[1]s,\"b\x1b[31m\",\"%[1]s\nc\"\n1,x,u\n2,%[1]s,v\n3,%[1]s,u\n5,y,u\n", long)), "--family", "auto", "--k", "1")
	assert.LessOrEqual(t, pretty.LongestLineLen(stdout), text.WidthOfFiles, stdout)
	assert.NotContains(t, stdout, "\x1b")
}

func TestDirectionsWithoutRelevanceHaveADash(t *testing.T) {
	stdout, _ := done(t, "fit", "--criterion", "gfic", "--data", "iris", "--floor", "0", "--start", "seeded")
	assert.Contains(t, stdout, "degenerate")
	assert.NotContains(t, stdout, "Inf")
	assert.NotContains(t, stdout, "reached this value") // all starts agree where components collapse
	stdout, _ = done(t, "fit", "--criterion", "gfic", "--data", "iris")
	assert.NotContains(t, stdout, "degenerate")
	assert.Contains(t, stdout, "reached this value")
}

// TestColumnsOnTheirFloorAreNamed in the text's notes and in JSON, and decide nothing: a column that is constant within
// two of three clusters does not make one of them.
func TestColumnsOnTheirFloorAreNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var table strings.Builder
	table.WriteString("a,b,promo,same,sum\n")
	for i := range 300 {
		k := i % 3
		a, b := 6*float64(k)+rng.NormFloat64(), []float64{0, 5, -3}[k]+rng.NormFloat64()
		fmt.Fprintf(&table, "%v,%v,%v,7,%v\n", a, b, k/2*rng.IntN(2), a+b)
	}
	path := file(t, "d.csv", table.String())
	stdout, stderr := done(t, "fit", "--data", path, "--restarts", "2", "--family", "gaussian")
	assert.Regexp(t, "chosen K +[34] of", stdout)
	assert.Contains(t, stderr, `column "same" is constant and tells no rows apart`)
	assert.Contains(t, stderr, `each of 2 columns ("promo", "sum") is a linear combination of other columns, up to the rounding of its values`)
	stdout, _ = done(t, "fit", "--data", path, "--restarts", "2", "--family", "gaussian", "--format", "json")
	assert.Contains(t, stdout, `column \"same\" is constant`)
	fails(t, 2, "--floor is -1; must be non-negative and finite", "", "fit", "--floor", "-1")
	fails(t, 2, "--floor is a flag of --model hmm, mixture, regression", "", "fit", "--model", "bpca", "--floor", "1")
	fails(t, 2, "cannot be used with --method vb", "", "fit", "--method", "vb", "--floor", "1")
}

// A terminal obeys nothing that is in the name of a file, a flag or a column.
func TestNothingInNamesIsObeyed(t *testing.T) {
	evil := "x\x1b[31m\u202e\u0085\"y"
	dir := filepath.Join(t.TempDir(), evil)
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(path, []byte("a,b\n1,2\n3,4\n2,7\n9,8\n5,5\n7,2\n"), 0o600))
	for _, args := range [][]string{
		{"fit", "--data", path, "--k", "1", "--method", "em"}, {"fit", "--data", path + "z"}, {"fit", "--" + evil}, {evil}, {"fit", "--data", path, "--drop", evil},
		{"fit", "--data", path, "--k", "1", "--out", filepath.Join(dir, "none", "m.json")}, {"predict", path, "--data", path}, {"fit", "--model", evil},
		{"fit", "--data", path, "--k", "1", "--out", filepath.Join(dir, "m.json")}, {"select", "--data", path, "--na", evil, "--kmax", "1"},
	} {
		var out, errs bytes.Buffer
		run(informed(context.Background()), args, strings.NewReader(""), &out, &errs)
		text := out.String() + errs.String()
		require.NotEmpty(t, text)
		require.NotContains(t, text, "\x1b", "%q", args)
		require.NotContains(t, text, "\u202e", "%q", args)
	}
}

func TestColumnsAreToldInTheTermsOfPeople(t *testing.T) {
	stdout, _ := done(t, "fit", "--family", "gamma", "--criterion", "gfic")
	assert.Contains(t, stdout, "mean ± sd")
	assert.Contains(t, stdout, "4.29 ± 0.42")
	stdout, _ = done(t, "fit", "--data", "zoo", "--family", "auto", "--drop", "legs", "--k", "2")
	assert.Contains(t, stdout, "P(TRUE)")
	assert.NotContains(t, stdout, "most likely")
}
