package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// labelledRows is the table of irises with the species of every eighth row, the truth, and a weight.
func labelledRows(t *testing.T) string {
	lines := records(t, irisText(t))
	var b strings.Builder
	b.WriteString("a,b,c,d,species,truth,w\n")
	for i, line := range lines[1:] {
		species := ""
		switch {
		case i%8 == 0:
			species = line[4]
		case i%16 == 3 && line[4] != "setosa":
			species = "versicolor|virginica"
		}
		b.WriteString(strings.Join(append(line[:4:4], species, line[4], strconv.Itoa(1+i%2)), ",") + "\n")
	}
	return file(t, "labelled.csv", b.String())
}

// irisText is the embedded table as CSV.
func irisText(t *testing.T) string {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", "iris", "--k", "1", "--cov", "diag", "--out", model)
	text, _ := done(t, "predict", model, "--data", "iris", "--fill", "--id", "Species")
	var b strings.Builder
	for _, line := range records(t, text) {
		b.WriteString(strings.Join(append(line[1:], line[0]), ",") + "\n")
	}
	return b.String()
}

// TestKnownClassesName the classes in text, JSON, assignments, the page, files and predictions of mixtures, gates and
// chains.
func TestKnownClassesName(t *testing.T) {
	table, dir := labelledRows(t), t.TempDir()
	for name, args := range map[string][]string{
		"mixture": {"--weights", "w", "--kmax", "5", "--restarts", "2"}, "em": {"--method", "em", "--k", "3", "--cov", "full", "--drop", "w"},
		"vb": {"--method", "vb", "--k", "3", "--drop", "w"}, "hmm": {"--model", "hmm", "--drop", "w", "--kmax", "5", "--restarts", "2"},
		"gate": {"--gate", "d", "--drop", "w", "--kmax", "5", "--restarts", "2"}, "noise": {"--noise", "--k", "3", "--cov", "full", "--drop", "w"}, "bootstrap": {"--cov", "diag", "--bootstrap", "20", "--drop", "w"},
	} {
		model := filepath.Join(dir, name+".json")
		args = append([]string{"fit", "--data", table, "--known", "species", "--label", "truth", "--out", model}, args...)
		text, _ := done(t, append(args, "--report", filepath.Join(dir, name))...)
		assert.Contains(t, text, ", virginica", name)
		assert.Contains(t, contents(t, filepath.Join(dir, name, pageName)), ", setosa", name)
		var saved struct {
			Components []struct{ Label string }
			Settings   struct{ Known string }
		}
		require.NoError(t, json.Unmarshal([]byte(contents(t, model)), &saved), name)
		assert.Equal(t, "species", saved.Settings.Known)
		labels := map[string]bool{}
		for _, c := range saved.Components {
			labels[c.Label] = true
		}
		assert.Subset(t, labels, map[string]bool{"setosa": true, "versicolor": true, "virginica": true}, name)
		drop := "w,truth"
		if name == "mixture" {
			drop = "truth"
		}
		seen, _ := done(t, "predict", model, "--data", table, "--id", drop)
		free, _ := done(t, "predict", model, "--data", table, "--id", "truth", "--drop", "species")
		want, rows, agree := records(t, contents(t, table))[1:], records(t, seen), 0
		at := len(strings.Split(drop, ","))
		assert.Equal(t, "class", rows[0][at], name)
		assert.Contains(t, rows[0], "p_setosa", name)
		for i, row := range rows[1:] {
			if label := want[i][4]; label != "" {
				assert.Contains(t, label, row[at], "%s, row %d", name, i)
			}
			if row[at] == want[i][5] {
				agree++
			}
		}
		assert.Greater(t, agree, 120, name)
		assert.Len(t, records(t, free), len(rows), name)
		if name == "gate" {
			continue
		}
		drawn, _ := done(t, "sample", model, "-n", "5")
		assert.Contains(t, records(t, drawn)[0], "species", name)
	}
	done(t, "fit", "--data", table, "--known", "species", "--drop", "w,truth", "--assignments", filepath.Join(dir, "a.csv"))
	assert.True(t, strings.HasPrefix(contents(t, filepath.Join(dir, "a.csv")), "class,label,"))
	ahead, _ := done(t, "predict", filepath.Join(dir, "hmm.json"), "--data", table, "--forecast", "1")
	assert.Contains(t, ahead, "p_species=setosa")
	kept, _ := done(t, "predict", filepath.Join(dir, "hmm.json"), "--data", table, "--fill", "--drop", "species")
	assert.True(t, strings.HasPrefix(kept, "a,b,c,d\n"))
	chosen, _ := done(t, "select", "--data", table, "--known", "species", "--drop", "w,truth", "--kmax", "4", "--format", "json")
	assert.Contains(t, chosen, `"kmin":3`)
}

func TestKnownClassesAreRefused(t *testing.T) {
	table := labelledRows(t)
	fit := func(says string, status int, args ...string) {
		t.Helper()
		fails(t, status, says, "", append([]string{"fit", "--data", table}, args...)...)
	}
	fit("3 components are known, and K = 2: must be at least 3", 1, "--known", "species", "--k", "2")
	fit(`--known: no column "none"`, 1, "--known", "none")
	fit("is named by --known: it cannot be selected or dropped", statusUsage, "--known", "species", "--select", "a,species")
	fit("is named by --weights and by --known", statusUsage, "--known", "w", "--weights", "w")
	fit("the column is named by --known", statusUsage, "--known", "species", "--columns", "species=categorical")
	fit("--known is a flag of --model blockmodel, hmm, mixture, regression", statusUsage, "--model", "factor", "--known", "species")
	empty := file(t, "empty.csv", "a,b,c\n1,2,\n2,3,\n4,1,\n5,2,\n")
	fails(t, 1, `column "c" has no value at all`, "", "fit", "--data", empty, "--known", "c")
	sets := file(t, "sets.csv", "a,b,c\n1,2,x|y\n2,3,x\n4,1,\n5,2,\n")
	fails(t, 1, `names the class "y", which no row is known to have alone`, "", "fit", "--data", sets, "--known", "c")
	_, stderr := done(t, "fit", "--data", file(t, "one.csv", "a,c\n1,x\n2,y\n4,y\n5,\n1.5,\n2.5,\n4.1,\n3,\n"), "--known", "c",
		"--cov", "diag")
	assert.Contains(t, stderr, `only 1 row is known to be in class "x"`)
}

// TestKnownStages of a chain from left to right have the order of the steps, and cannot have two.
func TestKnownStages(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var b strings.Builder
	b.WriteString("id,x,stage\n")
	for id := range 10 {
		for step := range 20 {
			z, name := min(2, step/6), ""
			if (step+id)%7 == 0 {
				name = []string{"new", "mature", "final"}[z]
			}
			fmt.Fprintf(&b, "%d,%.3f,%s\n", id, 2*float64(z%2)+rng.NormFloat64(), name)
		}
	}
	table, model := file(t, "stages.csv", b.String()), filepath.Join(t.TempDir(), "m.json")
	fit := []string{"fit", "--model", "hmm", "--sequence", "id", "--known", "stage", "--left-right", "1", "--kmax", "4", "--data"}
	text, _ := done(t, append(fit, table, "--start", "first", "--out", model)...)
	for state, name := range []string{"1, new", "2, mature", "3, final"} {
		assert.Contains(t, text, name, state)
	}
	seen, _ := done(t, "predict", model, "--data", table)
	for i, row := range records(t, seen)[1:] {
		if name := records(t, b.String())[1+i][2]; name != "" {
			assert.Equal(t, name, row[0])
		}
	}
	back := file(t, "back.csv", b.String()+"10,1,mature\n10,2,\n10,2,new\n")
	fails(t, 1, `row 203 is in "new" after "mature", and row `, "", append(fit, back)...)
	fails(t, 1, `row 201 is in "mature" after the first state of the chain, farther on than the moves`, "",
		append(fit, file(t, "far.csv", b.String()+"10,1,mature\n"), "--start", "first")...)
}

// TestKnownRegressions has labels of a sixth of the rows, with and without a gate; a regressor is no label.
func TestKnownRegressions(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var b strings.Builder
	b.WriteString("y,x,kind,g\n")
	for i := range 300 {
		x, kind := 2*rng.NormFloat64(), ""
		switch {
		case i%6 == 0:
			kind = []string{"up", "down"}[i/6%2]
		case i%25 == 1:
			kind = "up | down"
		}
		fmt.Fprintf(&b, "%.4f,%.4f,%s,%.4f\n", []float64{0.5, -0.5}[i/6%2]*x+rng.NormFloat64(), x, kind, rng.NormFloat64())
	}
	table, model := file(t, "lines.csv", b.String()), filepath.Join(t.TempDir(), "m.json")
	for _, gate := range [][]string{{"--drop", "g"}, {"--gate", "g"}} {
		fit := append([]string{"fit", "--model", "regression", "--response", "y", "--known", "kind", "--restarts", "2", "--data",
			table}, gate...)
		text, _ := done(t, append(fit, "--out", model, "--report", filepath.Join(filepath.Dir(model), "page"))...)
		assert.Contains(t, text, "gaussian regressions of y on x,")
		assert.Contains(t, text, ", down")
		fails(t, 1, "2 components are known, and K = 1: must be at least 2", "", append(fit, "--k", "1")...)
		seen, _ := done(t, "predict", model, "--data", table)
		rows := records(t, seen)
		assert.Equal(t, []string{"class", "label"}, rows[0][:2])
		assert.Subset(t, rows[0], []string{"p_up", "p_down"})
		for i, row := range rows[1:] {
			if i%6 == 0 {
				assert.Equal(t, []string{"up", "down"}[i/6%2], row[0])
				assert.Equal(t, "1", row[2])
			}
		}
		drawn, _ := done(t, "sample", model, "--given", table, "-n", "300")
		assert.Contains(t, records(t, drawn)[0], "kind")
		checked, _ := done(t, "check", model, "--data", table, "--draws", "19", "--no-refit", "--format", "json")
		assert.Contains(t, checked, `"verdict"`)
	}
	fails(t, statusUsage, "is named by --known and by --regress", "", "fit", "--model", "regression", "--response", "y",
		"--regress", "kind", "--known", "kind", "--data", table)
}

// TestKnownBlocks of the karate club: two members of each faction are known, see TestKnownFactionsOfKarate.
func TestKnownBlocks(t *testing.T) {
	nodes, dir := file(t, "nodes.csv", "node,faction\n1,Hi\n12,Hi\n34,Officer\n10,Officer\n2,\n99,Hi\n"), t.TempDir()
	model := filepath.Join(dir, "m.json")
	for _, method := range []string{"greedy", "gfab"} {
		text, stderr := done(t, "fit", "--model", "blockmodel", "--method", method, "--data", "karate", "--known", nodes,
			"--k", "2", "--out", model, "--report", filepath.Join(dir, method))
		assert.Contains(t, text, ", Officer     18", method)
		assert.Contains(t, text, ", Hi     16", method)
		assert.Contains(t, stderr, "nodes.csv: left out 1 row, whose names karate does not have")
		assert.Contains(t, contents(t, filepath.Join(dir, method, pageName)), ", Officer</th>", method)
		seen, _ := done(t, "predict", model, "--data", file(t, "pairs.csv", "from,to\n12,10\n1,2\n"))
		rows := records(t, seen)
		assert.NotEqual(t, rows[1][2], rows[1][3], method)
		assert.Equal(t, rows[2][2], rows[2][3], method)
		assert.Equal(t, rows[1][2], rows[2][2], method)
	}
	counts := market()
	buyers := file(t, "buyers.csv", "who,kind\nb0,A\nb2,A\nb1,B\nb3,B\nb5,A|B\ng0,cheap\n")
	r := graphJSON(t, "--bipartite", "--family", "poisson", "--data", file(t, "market.csv", counts), "--known", buyers)
	assert.Equal(t, 5, r.K)
	assert.Contains(t, r.Graph.Blocks, struct {
		Size  int
		Label string
	}{20, "A"})
	chosen, _ := done(t, "select", "--model", "blockmodel", "--data", "karate", "--known", nodes, "--kmax", "3", "--format", "json")
	assert.Contains(t, chosen, `"kmin":2`)

	for text, says := range map[string]string{
		"a,b\n1,x\n34,x|y\n":      `"x|y" names the class "y", which no row is known to have alone`,
		"a,b\n1,x\n2,y\n1,y\n":    `row 3 says that "1" is in class "y", and a row before it "x"`,
		"a,b\nx,y\n":              "none of its names with a class is one of karate",
		"a,b\n1,\n":               `column "b" has no value at all`,
		"a,b,c\n1,2,3\n":          "must have two columns, the names and their classes",
		"a,b\n1,x\n2,y\n3,z\n4,z": "3 blocks are known, and K = 2: must be at least 3",
	} {
		fails(t, 1, says, "", "fit", "--model", "blockmodel", "--data", "karate", "--k", "2", "--known", file(t, "bad.csv", text))
	}
	fails(t, 1, "is of another set than a node before it", "", "fit", "--model", "blockmodel", "--bipartite", "--data", "karate",
		"--known", file(t, "bad.csv", "a,b\n1,x\n34,x\n"))
	fails(t, 1, "none.csv: no such file", "", "fit", "--model", "blockmodel", "--data", "karate", "--known", "none.csv")
	_, stderr := done(t, "fit", "--model", "blockmodel", "--data", "karate", "--known", file(t, "one.csv", "1,x\n2,x\n34,y\n"))
	assert.Contains(t, stderr, `only 1 row is known to be in class "y"`)
}

// TestKnownClassesAreNotChecked: a column of known classes is none of those that a model should fit, or that move.
func TestKnownClassesAreNotChecked(t *testing.T) {
	table, dir := labelledRows(t), t.TempDir()
	model := filepath.Join(dir, "m.json")
	done(t, "fit", "--data", table, "--known", "species", "--drop", "truth,w", "--cov", "full", "--out", model)
	checked, _ := done(t, "check", model, "--data", table, "--draws", "19", "--no-refit", "--format", "json")
	// Where no class is known, an empty column is as good as none.
	rows := records(t, contents(t, table))
	at := slices.Index(rows[0], "species")
	var said [2][3]string
	for i := range said {
		var text strings.Builder
		for n, row := range rows {
			row = slices.Clone(row)
			if i == 0 && n > 0 {
				row[at] = ""
			} else if i == 1 {
				row = slices.Delete(row, at, at+1)
			}
			text.WriteString(strings.Join(row, ",") + "\n")
		}
		without := file(t, "rows.csv", text.String())
		said[i][0], _ = done(t, "check", model, "--data", without, "--draws", "19", "--refit", "--format", "json")
		after, _ := done(t, "after", model, "--data", without, "--outcome", "truth", "--draws", "3", "--format", "json")
		said[i][1] = after[:strings.Index(after, `"warnings"`)]
		done(t, "predict", model, "--data", without, "--report", dir, "--fail-on-drift")
		said[i][2] = contents(t, filepath.Join(dir, "drift.json"))
		said[i][2] = said[i][2][:strings.Index(said[i][2], `"warnings"`)]
	}
	assert.Equal(t, said[0], said[1])
	done(t, "predict", model, "--data", table, "--report", dir)
	for _, text := range []string{checked, contents(t, filepath.Join(dir, "drift.json"))} {
		assert.Contains(t, text, `"a"`)
		assert.NotContains(t, text, `"species"`)
	}
}
