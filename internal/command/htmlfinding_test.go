package command

import (
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// said are the sentences about the classes, without tags.
func (p *readPage) said(t *testing.T) (sizes, sentences []string) {
	t.Helper()
	for _, one := range regexp.MustCompile(`(?s)<span class="size">(.*?)</span>.*?<p>(.*?)</p></li>`).FindAllStringSubmatch(p.text, -1) {
		sizes, sentences = append(sizes, html.UnescapeString(one[1])), append(sentences, html.UnescapeString(one[2]))
	}
	return sizes, sentences
}

var (
	saidOfNumbers = regexp.MustCompile(`(higher|lower|less varied|more varied) (\S+) \((\S+) ± (\S+), in all rows (\S+) ± (\S+)\)`)
	saidOfLevels  = regexp.MustCompile(`(\S+) = (\S+) \((\S+) %, in all rows (\S+) %\)`)
)

// What is said to set a component apart does: its numbers are those of the JSON, in the direction that the sentence has.
func TestSentencesSayWhatSetsComponentsApart(t *testing.T) {
	for _, args := range [][]string{nil, {"--data", "iris"}, {"--data", "iris", "--family", "student-t", "--k", "3"}, {"--data", "iris", "--family", "gaussian-spherical", "--k", "3"}, {"--noise", "--k", "2"},
		{"--data", "zoo", "--family", "auto"}, {"--model", "bernmix", "--k", "3"}, {"--data", file(t, "mixed.csv", mixedTable(240, 0.1)), "--family", "auto", "--columns", "answer=bernoulli"}} {
		p := pageOf(t, append(args, "--restarts", "2")...)
		sizes, sentences := p.said(t)
		require.Len(t, sentences, p.length(t, "components"))
		plain := func(text string) float64 { return number64(t, strings.ReplaceAll(text, "−", "-")) }
		place := map[string]int{}
		for j := range p.length(t, "columns") {
			place[p.at(t, "columns", j, "name")] = j
		}
		found := 0
		for k, sentence := range sentences {
			share := strings.ReplaceAll(report.Percentage(number64(t, p.at(t, "components", k, "weight"))), report.NoBreak, " ")
			assert.True(t, strings.HasPrefix(sizes[k], share+" of the rows"), sizes[k])
			for _, m := range saidOfNumbers.FindAllStringSubmatch(sentence, -1) {
				found++
				j, ok := place[m[2]]
				require.True(t, ok, m[2])
				values := p.report["components"].([]any)[k].(map[string]any)["columns"].([]any)[j].(map[string]any)["values"].(map[string]any)
				if _, normal := values["mean"]; normal {
					mean := number64(t, p.at(t, "components", k, "columns", j, "values", "mean"))
					assert.InDelta(t, mean, plain(m[3]), 0.06*plain(m[4]), sentence)
				}
				switch m[1] {
				case "higher":
					assert.Greater(t, plain(m[3]), plain(m[5]), sentence)
				case "lower":
					assert.Less(t, plain(m[3]), plain(m[5]), sentence)
				case "less varied":
					assert.Less(t, plain(m[4]), plain(m[6]), sentence)
				case "more varied":
					assert.Greater(t, plain(m[4]), plain(m[6]), sentence)
				}
			}
			for _, m := range saidOfLevels.FindAllStringSubmatch(sentence, -1) {
				found++
				assert.Greater(t, plain(m[3]), plain(m[4]), sentence)
				j, ok := place[m[1]]
				require.True(t, ok, m[1])
				values := p.report["components"].([]any)[k].(map[string]any)["columns"].([]any)[j].(map[string]any)["values"].(map[string]any)
				if _, levels := values[m[2]]; levels {
					assert.InDelta(t, 100*number64(t, p.at(t, "components", k, "columns", j, "values", m[2])), plain(m[3]), 0.5001, sentence)
				}
			}
		}
		assert.Positive(t, found, "%v: %v", args, sentences)
	}
}

// Columns are in the order of their separation, and those that the text names are the first of them.
func TestProfilesAreSortedByWhatSeparates(t *testing.T) {
	for _, args := range [][]string{{"--data", "iris", "--k", "3"}, {"--data", "zoo", "--family", "auto"}} {
		p := pageOf(t, args...)
		for _, caption := range []string{"means ± standard deviations", "probabilities"} {
			table := p.tables[caption]
			if table == nil {
				continue
			}
			var names []string
			last := 1e300
			for _, row := range table[1:] {
				separation := number64(t, row[1])
				assert.LessOrEqual(t, separation, last)
				last = separation
				name, _, _ := strings.Cut(row[0], " = ")
				if len(names) == 0 || names[len(names)-1] != name {
					names = append(names, name)
				}
			}
			assert.Contains(t, p.text, "apart most: "+strings.Join(names[:3], ", ")+".")
		}
	}
}

// The numbers of the certainty are sums over the rows: every row is in a bin and in a component, and probabilities add up to 1.
func TestCertaintyAddsUp(t *testing.T) {
	p := pageOf(t, "--data", "iris", "--k", "3", "--method", "em")
	rows := 0.0
	for _, row := range p.tables["rows by their largest probability"][1:] {
		rows += number64(t, row[2])
	}
	assert.Equal(t, 150.0, rows)
	table := p.tables["mean probabilities, in percent, of the rows that are assigned to a component"]
	require.Len(t, table, 3+1)
	rows = 0
	for k, row := range table[1:] {
		rows += number64(t, row[1])
		sum := 0.0
		for _, cell := range row[2:] {
			sum += number64(t, cell)
		}
		assert.InDelta(t, 1, sum, 1e-12)
		assert.Greater(t, number64(t, row[2+k]), 0.5)
	}
	assert.Equal(t, 150.0, rows)
}

// Correlations are those of the covariances in JSON, the strongest first.
func TestCorrelationsAreThoseOfTheCovariances(t *testing.T) {
	p := pageOf(t, "--data", "iris", "--k", "2")
	table := p.tables["correlations within a component"]
	require.Len(t, table, 6+1)
	names := p.report["covariances"].([]any)[0].(map[string]any)["names"].([]any)
	strongest := 1.0
	for _, row := range table[1:] {
		largest := 0.0
		for k, cell := range row[1:] {
			cov := func(i, j int) float64 { return number64(t, p.at(t, "covariances", k, "values", i, j)) }
			r, ok := number64(t, cell), false
			for i := range names {
				for j := range i {
					if row[0] == fmt.Sprint(names[j], ", ", names[i]) {
						assert.InDelta(t, cov(i, j), r*math.Sqrt(cov(i, i)*cov(j, j)), 1e-12)
						ok = true
					}
				}
			}
			assert.True(t, ok, row[0])
			largest = max(largest, math.Abs(r))
		}
		assert.LessOrEqual(t, largest, strongest)
		strongest = largest
	}
	p = pageOf(t, "--data", "iris", "--k", "2", "--family", "gaussian-tied")
	assert.Equal(t, []string{"columns", "all components"}, p.tables["correlations within the components, all of which share one covariance"][0])
}

// Whatever a table has too few of, and whatever its names are, the page is whole.
func TestPagesOfSmallAndHostileTables(t *testing.T) {
	long := strings.Repeat("a very long name of a column ", 10)
	hostile := []string{long, "\u0645\u062f\u064a\u0646\u0629", "<b>&amp;</b>", "a = b", "x (1, in all rows 2)", "\u202e"}
	rng := rand.New(rand.NewPCG(8, 8))
	var text strings.Builder
	w := csv.NewWriter(&text)
	require.NoError(t, w.Write(hostile))
	for i := range 90 {
		row := []string{}
		for j := range hostile {
			if j%2 == 0 {
				row = append(row, strconv.FormatFloat(rng.NormFloat64()+float64(6*(i%2)), 'f', 3, 64))
			} else {
				row = append(row, hostile[(i%2+rng.IntN(2))%3])
			}
		}
		require.NoError(t, w.Write(row))
	}
	w.Flush()
	for name, args := range map[string][]string{
		"names":       {"--data", file(t, long[:60]+".csv", text.String()), "--family", "auto"},
		"one":         {"--k", "1"},
		"one column":  {"--select", "waiting", "--k", "2"},
		"one row":     {"--data", file(t, "r.csv", "a,b\n1,2\n"), "--family", "poisson", "--k", "1"},
		"one level":   {"--data", file(t, "l.csv", "a,b\nx,y\nx,z\nw,z\n"), "--family", "categorical", "--k", "1"},
		"equal rows":  {"--data", file(t, "e.csv", "a,b\n1,2\n1,2\n1,3\n"), "--family", "poisson", "--k", "2"},
		"gaps":        {"--data", file(t, "m.csv", "a,b\n1,\n2,\n,3\n4,5\n2,2\n9,\n"), "--family", "gaussian-diagonal", "--k", "2", "--max-iter", "5"},
		"multinomial": {"--data", file(t, "c.csv", "u,v,w\n9,1,0\n8,2,1\n0,1,9\n1,2,8\n"), "--family", "multinomial", "--k", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pageOf(t, append(args, "--restarts", "2")...)
			_, body, _ := strings.Cut(p.text, "<body>")
			for _, bad := range []string{"NaN", "Inf", "undefined", "%!", "<nil>", `\u2068`} {
				assert.NotContains(t, body, bad)
			}
			assert.Contains(t, body, "What was found")
			if p.length(t, "components") == 1 {
				assert.Contains(t, body, "One component: it describes the table as a whole")
				assert.NotContains(t, body, "How certain")
			} else {
				_, sentences := p.said(t)
				for _, sentence := range sentences {
					assert.Less(t, len([]rune(sentence)), 400)
				}
			}
		})
	}
}

// Two columns with the groups in them are found among others that vary more, and so is a sum of columns that separates where none does alone.
func TestThePlaneIsThatOfWhatSeparates(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var corners, sums strings.Builder
	corners.WriteString("a,b,c,d\n")
	sums.WriteString("a,b,c\n")
	for i := range 400 {
		u, v := float64(i%2), float64(i/2%2)
		fmt.Fprintf(&corners, "%.3f,%.3f,%.3f,%.3f\n", 20*rng.NormFloat64(), 6*u+rng.NormFloat64(), 20*rng.NormFloat64(), 6*v+rng.NormFloat64())
		size := 10 * rng.NormFloat64()
		fmt.Fprintf(&sums, "%.3f,%.3f,%.3f\n", size+4*u+rng.NormFloat64()/2, size-4*u+rng.NormFloat64()/2, rng.NormFloat64())
	}
	p := pageOf(t, "--data", file(t, "corners.csv", corners.String()), "--k", "4", "--restarts", "5")
	_, figure, _ := strings.Cut(p.text, ">Components over the two columns that separate them most</title>")
	figure, _, _ = strings.Cut(figure, "</svg>")
	assert.Contains(t, figure, ">b</text>")
	assert.Contains(t, figure, ">d</text>")
	assert.NotContains(t, figure, ">a</text>")

	p = pageOf(t, "--data", file(t, "sums.csv", sums.String()), "--k", "2")
	assert.Contains(t, p.text, "No column separates the components by itself: together they do")
	assert.Regexp(t, `direction 1 \(9\d(\.\d)? % between components\)`, p.text)
	axes := p.tables["directions, per standard deviation of a column"]
	require.Len(t, axes, 3+1)
	a, b, c := number64(t, axes[1][1]), number64(t, axes[2][1]), number64(t, axes[3][1])
	assert.Negative(t, a*b, "the difference of a and b")
	assert.InDelta(t, -1, a/b, 0.1)
	assert.Less(t, math.Abs(c), 0.1*math.Abs(a))
}

// TestFindingsOfStates: a state that lasts one row is said in the singular, and of a narrow one the density does not hide the others.
func TestFindingsOfStates(t *testing.T) {
	dir := t.TempDir()
	done(t, "fit", "--criterion", "gfic", "--model", "hmm", "--data", "geyser", "--report", dir)
	page := contents(t, filepath.Join(dir, pageName))
	for _, said := range []string{"It lasts 1 row on average", " of the rows, 78 assigned", " are cut off."} {
		assert.True(t, strings.Contains(page, said), said)
	}
	assert.False(t, strings.Contains(page, " 1 rows"))
}

// Of many classes one is chosen from a list, and their probabilities are a heat map: columns by their separation, the numbers on hover
// those of the JSON, and all of them in a folded table. Of few classes the table is all.
func TestManyClassesAreChosenAndMapped(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	text.WriteString("a,b,c,age\n")
	for i := range 600 {
		k := i % 12
		fmt.Fprintf(&text, "%s,%s,%s,%.2f\n", []string{"no", "perhaps", "yes"}[(k+max(0, r.IntN(9)-7))%3], []string{"east", "south", "west", "north"}[(k/3+max(0, r.IntN(6)-4))%4],
			[]string{"x", "y", "z"}[r.IntN(3)], 40+10*r.NormFloat64())
	}
	args := []string{"--data", file(t, "many.csv", text.String()), "--family", "auto", "--method", "em", "--restarts", "1", "--max-iter", "40"}
	few := pageOf(t, append(args, "--k", "4")...)
	assert.NotContains(t, few.text, `type="radio"`)
	assert.NotContains(t, few.text, `class="chosen`)
	assert.NotContains(t, few.text, "Numbers: probabilities")

	p := pageOf(t, append(args, "--k", "12")...)
	n := p.length(t, "components")
	require.Greater(t, n, wording.MostShaded)
	assert.Equal(t, n, strings.Count(p.text, `type="radio"`))
	assert.Contains(t, p.text, "<legend>Choose a component:</legend>")
	assert.Contains(t, p.text, "Numbers: probabilities")
	assert.Less(t, strings.Index(p.text, "Probabilities by component"), strings.Index(p.text, "Means by component"), "what separates most comes first")

	heads := regexp.MustCompile(`<text class="bold"[^>]*>(\w+) \(separation ([\d.]+)\)`).FindAllStringSubmatch(p.text, -1)
	require.Len(t, heads, 3)
	for i := range heads[1:] {
		assert.GreaterOrEqual(t, number64(t, heads[i][2]), number64(t, heads[i+1][2]))
	}
	tips := regexp.MustCompile(`<title>(\w+) \(separation [\d.]+\)\n(\w+)\ncomponent (\d+): (.*?) \(all rows .*?\)</title>`).FindAllStringSubmatch(p.text, -1)
	assert.Len(t, tips, n*(3+4+3))
	for _, tip := range tips {
		k, err := strconv.Atoi(tip[3])
		require.NoError(t, err)
		j := strings.Index("abc", tip[1])
		said := report.Percentage(number64(t, p.at(t, "components", k-1, "columns", j, "values", tip[2])))
		assert.Equal(t, strings.ReplaceAll(said, report.NoBreak, " "), html.UnescapeString(tip[4]))
	}
}
