package command

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// A readPage is the page of --report as a strict XML reader finds it, beside the JSON of the same fit.
type readPage struct {
	text   string
	report map[string]any            // numbers as they are written
	tables map[string][][]string     // by caption, without what follows in brackets, numbers in all digits; heads first
	shown  map[string][][]string     // likewise, as a person reads them
	titles []string                  // of figures
	marks  map[string]map[string]int // by title of the figure, by element
}

// pageOf fits once, with --report and --format json.
func pageOf(t *testing.T, args ...string) readPage {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "er")
	stdout, _ := done(t, append([]string{"fit", "--format", "json", "--report", dir}, args...)...)
	p := readPage{text: strings.ReplaceAll(contents(t, filepath.Join(dir, pageName)), report.NoBreak, " ")}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	d := json.NewDecoder(strings.NewReader(stdout))
	d.UseNumber()
	require.NoError(t, d.Decode(&p.report))
	p.read(t)
	return p
}

func (p *readPage) read(t *testing.T) {
	t.Helper()
	p.tables, p.shown, p.marks = map[string][][]string{}, map[string][][]string{}, map[string]map[string]int{}
	var text strings.Builder
	var caption, value string
	var rows, shown [][]string
	var figure map[string]int
	inFigure := false
	d := xml.NewDecoder(strings.NewReader(p.text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			switch token.Name.Local {
			case "table":
				rows, shown = nil, nil
			case "tr":
				rows, shown = append(rows, nil), append(shown, nil)
			case "data":
				value = token.Attr[0].Value
			case "svg":
				inFigure, figure = token.Attr[len(token.Attr)-1].Name.Local != "aria-hidden", map[string]int{}
			}
			if inFigure {
				figure[token.Name.Local]++
			}
			if token.Name.Local != "p" && token.Name.Local != "data" {
				text.Reset()
			}
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			switch token.Name.Local {
			case "caption":
				caption, _, _ = strings.Cut(text.String(), " (")
			case "th", "td":
				last := len(rows) - 1
				shown[last] = append(shown[last], text.String())
				rows[last] = append(rows[last], cmp.Or(value, text.String()))
				value = ""
			case "table":
				require.NotContains(t, p.tables, caption)
				p.tables[caption], p.shown[caption] = rows, shown
			case "title":
				if inFigure && figure["title"] == 1 {
					p.titles = append(p.titles, text.String())
					p.marks[text.String()] = figure
				}
			case "svg":
				inFigure = false
			}
		}
	}
}

// at finds a value of the JSON object as text: path names keys, and numbers places in lists.
func (p *readPage) at(t *testing.T, path ...any) string {
	t.Helper()
	var value any = p.report
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	switch value := value.(type) {
	case nil:
		return "–"
	case []any:
		return strconv.Itoa(len(value))
	case bool:
		return strconv.FormatBool(value)
	case string:
		return value
	}
	return value.(json.Number).String()
}

func (p *readPage) length(t *testing.T, path ...any) int {
	t.Helper()
	n, err := strconv.Atoi(p.at(t, path...))
	require.NoError(t, err)
	return n
}

// common checks what the pages of all models have.
func (p *readPage) common(t *testing.T) {
	t.Helper()
	_, body, _ := strings.Cut(p.text, "<body>")
	assert.NotContains(t, body, "NaN")
	assert.NotContains(t, body, "Inf")
	assert.NotEmpty(t, p.titles)
	for _, title := range p.titles {
		shapes := p.marks[title]["path"] + p.marks[title]["rect"] + p.marks[title]["circle"]
		assert.Greater(t, shapes, 3, title)
	}
	scalars := p.tables["Results and settings"]
	seen := map[string]string{}
	for _, row := range scalars[1:] {
		seen[row[0]] = row[1]
		var path []any
		for _, key := range strings.Split(row[0], ".") {
			path = append(path, key)
		}
		assert.Equal(t, p.at(t, path...), row[1], row[0])
	}
	for _, key := range []string{"model", "family", "method", "criterion", "value", "k", "kmax", "n", "d", "rows", "iterations", "converged", "status", "seed", "seconds", "shape.component", "shape.shared"} {
		assert.Contains(t, seen, key)
	}
	if n := p.length(t, "trace"); n > 0 {
		table := p.tables["iterations"]
		require.Len(t, table, min(n, wording.MostIterations)+1)
		for _, row := range table[1:] {
			i, err := strconv.Atoi(row[0])
			require.NoError(t, err)
			assert.Equal(t, []string{row[0], p.at(t, "trace", i-1), p.at(t, "objective_trace", i-1), p.at(t, "k_trace", i-1)}, row)
		}
		assert.Contains(t, p.titles, p.at(t, "criterion")+" and K over the iterations")
	}
	if n := p.length(t, "pruned"); n > 0 {
		table := p.tables["pruned from K = "+p.at(t, "kmax")]
		require.Len(t, table, n+1)
		for i, row := range table[1:] {
			var relevance []number
			for j := range p.length(t, "pruned", i, "relevance") {
				if v, err := strconv.ParseFloat(p.at(t, "pruned", i, "relevance", j), 64); err == nil { // else there is none
					relevance = append(relevance, number(v))
				}
			}
			assert.Equal(t, []string{p.at(t, "pruned", i, "iteration"), p.at(t, "pruned", i, "k"), p.at(t, "pruned", i, "rule"), outcome.AbridgedNumbers(relevance), p.at(t, "pruned", i, "before"), p.at(t, "pruned", i, "after")}, row)
		}
	}
	if p.report["by_k"] != nil {
		table := p.tables[p.at(t, "criterion")+" over K"]
		require.Len(t, table, p.length(t, "by_k")+1)
		for i, row := range table[1:] {
			assert.Equal(t, []string{p.at(t, "by_k", i, "k"), p.at(t, "by_k", i, "value"), p.at(t, "by_k", i, "converged")}, []string{row[0], row[1], row[3]})
		}
	}
	if n := p.length(t, "restarts"); n > 1 {
		for i, row := range p.tables["starts"][1:] {
			assert.Equal(t, []string{strconv.Itoa(i + 1), p.at(t, "restarts", i, "k"), p.at(t, "restarts", i, "value"), p.at(t, "restarts", i, "iterations")}, row[:4])
		}
	}
}

// loadings compares the table of W.
func (p *readPage) loadings(t *testing.T) {
	t.Helper()
	table, k := p.tables["loadings"], p.length(t, "explained")
	require.Len(t, table, p.length(t, "columns")+1)
	for _, row := range table[1:] {
		require.Len(t, row, k+1)
		j := slices.IndexFunc(p.report["columns"].([]any), func(c any) bool { return c.(map[string]any)["name"] == row[0] })
		require.GreaterOrEqual(t, j, 0, row[0])
		for i, cell := range row[1:] {
			assert.Equal(t, p.at(t, "params", "loadings", j*k+i), cell)
		}
	}
}

// weights compares the table of components.
func (p *readPage) weights(t *testing.T) {
	t.Helper()
	for i, row := range p.tables["weights"][1:] {
		assert.Equal(t, []string{strconv.Itoa(i + 1), p.at(t, "components", i, "weight"), p.at(t, "components", i, "weight_complete_data_standard_error"), p.at(t, "components", i, "rows"), p.at(t, "components", i, "assigned")}, row)
	}
}

// columns compares the tables about columns with the components of the JSON, and wants so many rows.
func (p *readPage) columns(t *testing.T, caption string, rows int, key func(row []string) (column int, key string, cells []string)) {
	t.Helper()
	table := p.tables[caption]
	require.Len(t, table, rows+1, caption)
	for _, row := range table[1:] {
		j, name, cells := key(row)
		for k, cell := range cells {
			assert.Equal(t, p.at(t, "components", k, "columns", j, "values", name), cell, "%v", row)
		}
	}
}

func TestReportOfBPCAHasTheNumbersOfItsJSON(t *testing.T) {
	for _, args := range [][]string{{"--data", "iris"}, {"--data", "iris", "--method", "vb"}, {"--data", "iris", "--method", "closed-form"}, {"--k", "5", "--max-iter", "700", "--tol", "1e-300"}} {
		p := pageOf(t, append([]string{"--model", "bpca"}, args...)...)
		p.common(t)
		p.loadings(t)
		for k, row := range p.tables["variance explained"][1:] {
			assert.Equal(t, []string{strconv.Itoa(k + 1), p.at(t, "explained", k)}, row[:2])
		}
		assert.Contains(t, p.titles, "Spectrum")
		if k := p.length(t, "explained"); k > wording.MostShaded {
			assert.Equal(t, p.length(t, "columns")*k+13, p.marks["Loadings"]["rect"], "a cell a loading, the key and two frames")
		}
	}
}

func TestReportOfVBMFHasTheNumbersOfItsJSON(t *testing.T) {
	for _, args := range [][]string{nil, {"--method", "vb", "--data", "iris"}, {"--center"}} {
		p := pageOf(t, append([]string{"--model", "vbmf"}, args...)...)
		p.common(t)
		p.loadings(t)
		assert.Equal(t, [][]string{{"number", "value"}, {"rank", p.at(t, "k")}, {"noise variance", p.at(t, "params", "noise")}}, p.tables["rank and noise"])
		require.Len(t, p.tables["singular values"], p.length(t, "params", "shrunk")+1)
		for k, row := range p.tables["singular values"][1:] {
			before := "–"
			if p.report["params"].(map[string]any)["singular"] != nil {
				before = p.at(t, "params", "singular", k)
			}
			assert.Equal(t, []string{strconv.Itoa(k + 1), before, p.at(t, "params", "shrunk", k)}, row)
		}
	}
	noise := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("a,b,c,d\n")
	for range 200 {
		fmt.Fprintf(&text, "%v,%v,%v,%v\n", noise.NormFloat64(), noise.NormFloat64(), noise.NormFloat64(), noise.NormFloat64())
	}
	dir := t.TempDir()
	done(t, "fit", "--model", "vbmf", "--data", file(t, "noise.csv", text.String()), "--report", dir)
	assert.Contains(t, contents(t, filepath.Join(dir, pageName)), "Nothing stands out from the noise.")
}

func TestReportOfGaussianMixturesDrawsRowsAndComponents(t *testing.T) {
	for _, c := range []struct {
		args  []string
		title string
		plane bool
	}{
		{nil, "Components over two columns", true},
		{[]string{"--data", "iris", "--criterion", "gfic"}, "Components over the two directions that separate them most", true},
		{[]string{"--data", "iris", "--family", "gaussian-tied", "--k", "3", "--criterion", "gfic"}, "Components over the two directions that separate them most", true},
		{[]string{"--data", "iris", "--family", "gaussian-spherical", "--k", "3", "--criterion", "gfic"}, "Components over the two directions that separate them most", true},
		{[]string{"--data", "iris", "--family", "gaussian-diagonal", "--method", "vb", "--k", "6"}, "Components over the two directions that separate them most", true},
		{[]string{"--select", "waiting", "--method", "em", "--kmax", "3"}, "Components over waiting", false},
	} {
		p := pageOf(t, append(c.args, "--restarts", "2")...)
		p.common(t)
		p.weights(t)
		require.Contains(t, p.titles, c.title, c.args)
		d := p.length(t, "columns")
		p.columns(t, "parameters of the columns", 2*d, func(row []string) (int, string, []string) {
			j := slices.IndexFunc(p.report["columns"].([]any), func(c any) bool { return c.(map[string]any)["name"] == row[0] })
			return j, row[1], row[2:]
		})
		if !c.plane {
			for k, row := range p.tables["components"][1:] {
				assert.Equal(t, []string{strconv.Itoa(k + 1), p.at(t, "components", k, "weight"), p.at(t, "components", k, "columns", 0, "values", "mean"), p.at(t, "components", k, "columns", 0, "values", "sd")}, row)
			}
			rows := 0.0
			for _, row := range p.tables["rows in bins"][1:] {
				rows += number64(t, row[2])
			}
			assert.Equal(t, number64(t, p.at(t, "rows")), rows)
			continue
		}
		rows := p.length(t, "rows")
		assert.Len(t, p.tables["rows shown"], rows+1)
		assert.Equal(t, rows, p.marks[c.title]["circle"])
		for k, row := range p.tables["components in the plane"][1:] {
			assert.Equal(t, []string{p.at(t, "components", k, "weight"), p.at(t, "components", k, "rows")}, row[1:3])
			if d == 2 {
				for a := range 2 {
					assert.Equal(t, p.at(t, "components", k, "columns", a, "values", "mean"), row[3+a])
					assert.InEpsilon(t, number64(t, p.at(t, "components", k, "columns", a, "values", "sd")), number64(t, row[5+a]), 1e-14)
				}
			}
		}
	}
}

func number64(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

// The rows have moments in the plane, and the components have theirs: EM keeps the mean and the total
// covariance of the rows, so they are the same.
func TestThePlaneOfRowsIsThatOfComponents(t *testing.T) {
	p := pageOf(t, "--data", "iris", "--method", "em", "--k", "3")
	var n, x, y, xx, xy, yy float64
	for _, row := range p.tables["rows in the plane of directions"][1:] {
		u, v := number64(t, row[1]), number64(t, row[2])
		n, x, y, xx, xy, yy = n+1, x+u, y+v, xx+u*u, xy+u*v, yy+v*v
	}
	var cx, cy, cxx, cxy, cyy float64
	for _, row := range p.tables["components in the plane of directions"][1:] {
		var v [8]float64
		for i := range v {
			v[i] = number64(t, row[i])
		}
		w, a, b, sa, sb, r := v[1], v[3], v[4], v[5], v[6], v[7]
		cx, cy = cx+w*a, cy+w*b
		cxx, cxy, cyy = cxx+w*(sa*sa+a*a), cxy+w*(r*sa*sb+a*b), cyy+w*(sb*sb+b*b)
	}
	const slack = 1e-6 // EM stops short of its limit
	assert.InDelta(t, x/n, cx, slack)
	assert.InDelta(t, y/n, cy, slack)
	assert.InDelta(t, xx/n, cxx, slack)
	assert.InDelta(t, xy/n, cxy, slack)
	assert.InDelta(t, yy/n, cyy, slack)
	// Directions are uncorrelated over the whole mixture, and of variance 1.
	assert.InDelta(t, 0, cxy-cx*cy, 1e-9)
	assert.InDelta(t, 1, cxx-cx*cx, 1e-9)
	assert.InDelta(t, 1, cyy-cy*cy, 1e-9)
}

func TestReportOfProfilesHasTheNumbersOfItsJSON(t *testing.T) {
	p := pageOf(t, "--model", "bernmix", "--method", "vb", "--k", "6", "--restarts", "2")
	p.common(t)
	p.weights(t)
	names := p.report["columns"].([]any)
	p.columns(t, "probabilities", len(names), func(row []string) (int, string, []string) {
		j := slices.IndexFunc(names, func(c any) bool { return c.(map[string]any)["name"].(string)+" = y" == row[0] })
		return j, "probability", row[3:]
	})

	p = pageOf(t, "--data", file(t, "mixed.csv", mixedTable(240, 0.1)), "--family", "auto", "--columns", "answer=bernoulli")
	p.common(t)
	p.weights(t)
	assert.Subset(t, p.titles, []string{"Components over two columns", "How certain the assignment is"})
	p.columns(t, "probabilities", 1+3+1, func(row []string) (int, string, []string) {
		name, level, _ := strings.Cut(row[0], " = ")
		if name == "colour" {
			return 3, level, row[3:]
		}
		return map[string]int{"smokes": 2, "answer": 4}[name], "probability", row[3:]
	})
	p.columns(t, "parameters of the columns", 2+1, func(row []string) (int, string, []string) {
		return map[string]int{"age": 0, "visits": 1}[row[0]], row[1], row[2:]
	})

	rng := rand.New(rand.NewPCG(4, 4))
	text := "u,v,w\n"
	for i := range 120 {
		text += fmt.Sprintf("%d,%d,%d\n", 1+rng.IntN(9)*(i%2), 1+rng.IntN(9), 1+rng.IntN(20)*(1-i%2))
	}
	counts := file(t, "counts.csv", text)
	for family, caption := range map[string]string{"multinomial": "probabilities", "gamma": "parameters of the columns", "exponential": "parameters of the columns", "poisson": "parameters of the columns", "categorical": "probabilities"} {
		p := pageOf(t, "--data", counts, "--family", family, "--kmax", "2", "--restarts", "1", "--max-iter", "50")
		p.common(t)
		p.weights(t)
		assert.NotEmpty(t, p.tables[caption], family)
	}
}

func TestReportIsSafeFromNames(t *testing.T) {
	names := []string{`<script>alert(1)</script>`, `"&'`, `</title></svg>`, "a\u202eb", `{{.}}`, `" onload="x`}
	rng := rand.New(rand.NewPCG(9, 9))
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	require.NoError(t, w.Write(names))
	for i := range 80 {
		row := []string{strconv.FormatFloat(rng.NormFloat64()+float64(5*(i%2)), 'g', -1, 64), strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64)}
		for range len(names) - 2 {
			row = append(row, names[(i%2+rng.IntN(2))%3])
		}
		require.NoError(t, w.Write(row))
	}
	w.Flush()
	hostile := file(t, "<b>&.csv", text.String())
	p := pageOf(t, "--data", hostile, "--family", "auto", "--restarts", "2")
	p.common(t)
	assert.Equal(t, 1, strings.Count(p.text, "<script>"))
	assert.NotContains(t, p.text, "\u202e")
	assert.Contains(t, p.text, "<title>"+strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(filepath.Base(hostile)))
	assert.NotContains(t, p.text, filepath.Dir(hostile))
	var seen []string
	for _, row := range append(p.tables["probabilities"], p.tables["parameters of the columns"]...) {
		seen = append(seen, row[0])
	}
	assert.Contains(t, seen, names[0])
	assert.Contains(t, seen, names[1])
	assert.Contains(t, seen, names[2]+" = "+names[1])
	assert.Contains(t, seen, `a\u202eb = `+names[0])

	_, numeric, _ := strings.Cut(text.String(), "\n")
	p = pageOf(t, "--data", file(t, "n.csv", `"`+strings.ReplaceAll(names[1], `"`, `""`)+`",<i>,c,d,e,f`+"\n"+numeric), "--select", names[1], "--select", "<i>", "--model", "bpca")
	p.common(t)
	assert.ElementsMatch(t, []string{names[1], "<i>"}, []string{p.tables["loadings"][1][0], p.tables["loadings"][2][0]})
}

// Row numbers are those of the data as they were read; rows of weight 0 and those with gaps are no points.
func TestReportNamesTheRowsOfTheData(t *testing.T) {
	p := pageOf(t, "--data", file(t, "w.csv", "a,b,w\n1,2,1\n2,,1\n3,1,1\n2,5,0\n5,6,2\n6,5,1\n9,9,1\n8,7,1\n"), "--weights", "w", "--missing", "drop", "--k", "1")
	p.common(t)
	var rows []string
	for _, row := range p.tables["rows shown"][1:] {
		rows = append(rows, row[0])
	}
	assert.Equal(t, []string{"1", "3", "5", "6", "7", "8"}, rows)
	p = pageOf(t, "--data", file(t, "g.csv", "a,b\n1,2\n2,\n3,1\n2,5\n5,6\n"), "--family", "gaussian-diagonal", "--k", "1")
	assert.Len(t, p.tables["rows shown"], 4+1)
	assert.Contains(t, p.text, "Points are 4 of the 5 rows")
}

// A page holds no more rows than it draws, and no more cells of large models than a person reads.
func TestReportOfLargeDataIsSmall(t *testing.T) {
	const bound = 2 << 20
	rng := rand.New(rand.NewPCG(7, 7))
	wide := make([]float64, 400*300)
	for i := range wide {
		wide[i] = rng.NormFloat64()
	}
	p := pageOf(t, "--data", npy(t, wide, 400, 300), "--model", "bpca", "--method", "closed-form", "--k", "200")
	assert.Less(t, len(p.text), bound)
	assert.Len(t, p.tables["loadings"], wording.MostProfiles+1)
	assert.Contains(t, p.text, "220 columns, which the dimensions explain least, are not listed (--format json has all).")
	assert.Contains(t, p.text, "160 weaker dimensions are not listed (--format json has all).")

	rows := tier.Of(20_000, 200_000, 1_000_000)
	tall := make([]float64, 2*rows)
	for i := range tall {
		tall[i] = rng.NormFloat64() + float64(i/2%2*8)
	}
	p = pageOf(t, "--data", npy(t, tall, rows, 2), "--k", "2", "--max-iter", "3")
	p.common(t)
	assert.Less(t, len(p.text), bound)
	table := p.tables["rows shown"]
	require.Len(t, table, classes.MostPoints+1)
	assert.Equal(t, "1", table[1][0])
	assert.Equal(t, strconv.Itoa(rows), table[classes.MostPoints][0])
	for _, row := range table[1:] {
		i := int(number64(t, row[0])) - 1
		assert.Equal(t, []float64{tall[2*i], tall[2*i+1]}, []float64{number64(t, row[1]), number64(t, row[2])})
	}
	t.Logf("%d rows: %d bytes", rows, len(p.text))
}

func npy(t *testing.T, x []float64, rows, cols int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, data.WriteNPY(&b, x, rows, cols))
	return file(t, "x.npy", b.String())
}

func TestThinnedKeepsTheEndsAndWhatIsWanted(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2}, wording.Thinned(3, 5, []int{1}))
	list := wording.Thinned(100_000, 600, []int{77, 99_998})
	assert.True(t, slices.IsSorted(list))
	assert.Subset(t, list, []int{0, 77, 99_998, 99_999})
	assert.LessOrEqual(t, len(list), 600)
	assert.Equal(t, list, slices.Compact(slices.Clone(list)))
	assert.LessOrEqual(t, len(wording.Thinned(1000, 10, upTo(0, 900))), 10)
}

func TestReportErrsBeforeTheFitAndLeavesNothing(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("old"), 0o600))
	require.NoError(t, os.MkdirAll(at("taken/index.html"), 0o700))
	require.NoError(t, os.Symlink(at("nowhere"), at("link")))
	require.NoError(t, os.Mkdir(at("data"), 0o700))
	require.NoError(t, os.WriteFile(at("data/index.html"), []byte(smallTable), 0o600))
	for _, c := range []struct {
		status int
		dir    string
		part   string
		more   []string
	}{
		{1, at("file"), "is a file: name a folder", nil},
		{1, at("file/deeper/still"), "file is a file: name a folder", nil},
		{1, at("taken"), "is a directory", nil},
		{1, at("link"), "is a link that leads nowhere", nil},
		{2, "-", "--report is -: name a folder", nil},
		{2, "", "--report is empty", nil},
		{2, at("data"), "--report is the input", []string{"--data", at("data/index.html")}},
		{2, base, "--out and --report both name", []string{"--out", at("index.html")}},
		{2, base, "--out and --report both name", []string{"--out", at("data/../index.html")}},
	} {
		fails(t, c.status, c.part, "", append([]string{"fit", "--report", c.dir, "--model", "bpca"}, c.more...)...)
	}
	fails(t, 1, "no such file", "", "fit", "--report", at("new/folder"), "--data", at("missing.csv"))
	assert.NoDirExists(t, at("new"))
	assert.Equal(t, "old", contents(t, at("file")))
	assert.Equal(t, smallTable, contents(t, at("data/index.html")))
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Len(t, left, 4)

	if os.Getuid() == 0 {
		return // who may write anywhere
	}
	require.NoError(t, os.Mkdir(at("locked"), 0o500))
	fails(t, 1, "permission denied", "", "fit", "--report", at("locked"))
	fails(t, 1, "permission denied", "", "fit", "--report", at("locked/new"))
}

func TestReportReplacesTheOldPage(t *testing.T) {
	table := file(t, "own.csv", smallTable)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, pageName), []byte("old"), 0o600))
	stdout, stderr := done(t, "fit", "--model", "bpca", "--data", table, "--k", "1", "--report", dir)
	assert.Contains(t, stdout, "chosen K")
	assert.Empty(t, stderr)
	page := contents(t, filepath.Join(dir, pageName))
	assert.True(t, strings.HasPrefix(page, "<!DOCTYPE html>\n<html lang=\"en\">"))
	assert.True(t, strings.HasSuffix(page, "</html>\n"))
	facts, _, _ := strings.Cut(stdout[strings.Index(stdout, "chosen K"):], "\n\n")
	assert.Contains(t, facts, "noise variance")
	for line := range strings.Lines(facts) {
		if !strings.HasPrefix(line, "time") {
			assert.Contains(t, page, "<td>"+strings.TrimSpace(line[16:])+"</td>", line)
		}
	}
}

func TestMissingValuesAreCounted(t *testing.T) {
	p := pageOf(t, "--data", file(t, "g.csv", "a,b,c,w\n1,2,3,1\n2,,4,1\n3,1,5,2\n2,,5,1\n5,6,,1\n6,7,8,1\n"), "--family", "gaussian-diagonal", "--k", "1", "--weights", "w")
	assert.Equal(t, [][]string{{"column", "missing", "share of the rows"}, {"b", "2", "29 %"}, {"c", "1", "14 %"}}, p.shown["missing values by column"])
	assert.Contains(t, p.text, "14 % of the cells are missing, in 43 % of the rows.")
	assert.Contains(t, p.text, "1 column is complete.")
	p = pageOf(t)
	assert.NotContains(t, p.text, "Missing values")
}

func TestNamesFromRightToLeftAreIsolated(t *testing.T) {
	const name = "\u0645\u062f\u064a\u0646\u0629"
	assert.Equal(t, "\u2068"+name+"\u2069", isolated(name))
	assert.Equal(t, "plain", isolated("plain"))
	assert.True(t, strings.HasPrefix(wording.Capital("mixture"), "M"))
}
