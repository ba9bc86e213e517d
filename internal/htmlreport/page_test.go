package htmlreport

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
)

// hostile are texts that would do harm where they are not escaped.
var hostile = []string{`<script>alert(1)</script>`, `"&'`, `</title><script>`, `</svg>`, `" onload="alert(1)`, `]]>`, `<!--`, `{{.}}`, `javascript:alert(1)`, "a\x00b\x1b[31m", "\xff\xfe", "\ufffe", `&lt;`}

// elements reads a page strictly, as XML, and calls visit with each element's name, attributes and text.
func elements(t require.TestingT, page []byte, visit func(path []string, attributes map[string]string, text string)) {
	type open struct {
		name       string
		attributes map[string]string
		text       *strings.Builder
	}
	var stack []open
	d := xml.NewDecoder(bytes.NewReader(page))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, stack)
			return
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			attributes := map[string]string{}
			for _, a := range token.Attr {
				attributes[a.Name.Local] = a.Value
			}
			stack = append(stack, open{token.Name.Local, attributes, new(strings.Builder)})
		case xml.CharData:
			for _, e := range stack {
				e.text.Write(token)
			}
		case xml.EndElement:
			var path []string
			for _, e := range stack {
				path = append(path, e.name)
			}
			last := stack[len(stack)-1]
			visit(path, last.attributes, last.text.String())
			stack = stack[:len(stack)-1]
		}
	}
}

func written(t require.TestingT, p *Page) []byte {
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

// hostilePage has hostile texts wherever there is place for a text.
func hostilePage() *Page {
	values := make([]float64, len(hostile))
	cells := make([][]float64, len(hostile))
	texts := make([][]string, len(hostile))
	var rows [][]Cell
	var points []Point
	for i, name := range hostile {
		values[i] = float64(i)
		cells[i], texts[i] = values, hostile
		row := []Cell{{Text: name}}
		for _, text := range hostile[1:] {
			row = append(row, Cell{Text: text, Value: text, Shade: float64(i) - 3})
		}
		rows = append(rows, row)
		points = append(points, Point{float64(i), -float64(i), i, name})
	}
	all := strings.Join(hostile, " ")
	page := &Page{Title: all, Lead: all, Foot: all}
	var facts [][2]string
	var items []Item
	for i, name := range hostile {
		facts = append(facts, [2]string{name, name})
		items = append(items, Item{i, name, name, 0.5, name})
	}
	page.Sections = []Section{{Title: all, Text: all, Warnings: hostile, Items: items, Facts: facts}}
	series := []Series{{all, values, all}, {"b", values, ""}}
	for _, f := range []*Figure{
		Chart{Title: all, About: all, XName: all, X: values, Panels: []Panel{{Name: all, Series: series}}, Notes: hostile, Events: []int{2}, EventsName: all}.Figure(),
		Chart{Title: all, About: all, XName: all, Names: hostile, Panels: []Panel{{Name: all, Bars: true, Series: series, Levels: []Level{{all, 1}}}}}.Figure(),
		Heat{Title: all, About: all, Rows: hostile, Columns: hostile, ColumnsName: all, Shade: Relative(cells), Texts: texts, Low: all, High: all}.Figure(),
		Chart{Title: all, About: all, XName: all, Panels: []Panel{{Name: all, Points: points, Groups: hostile, EllipsesName: all, Ellipses: []Ellipse{{0, 0, 1, 0, 1, 0, all, all}}}}}.Figure(),
		Chart{Title: all, About: all, XName: all, X: values, Panels: []Panel{{Name: all, BinsName: all, Bins: []Bin{{0, 1, 1, all}}, Series: series}}}.Figure(),
	} {
		page.Sections = append(page.Sections, Section{Title: all, Text: all, Figure: f, Tables: []Table{{Caption: all, Head: hostile, Groups: []int{0, -1, 9}, Rows: rows, Low: all, High: all}}})
	}
	return page
}

func TestNoTextBreaksOutOfItsPlace(t *testing.T) {
	page := written(t, hostilePage())
	scripts, cells := 0, map[string]bool{}
	ids := map[string]bool{}
	elements(t, page, func(path []string, attributes map[string]string, text string) {
		name := path[len(path)-1]
		switch name {
		case "script":
			scripts++
			assert.Equal(t, script, text)
		case "th", "td":
			cells[text] = true
		}
		for a, v := range attributes {
			assert.False(t, strings.HasPrefix(a, "on") || a == "href" || a == "src" || a == "style", "<%s %s=%q>", name, a, v)
		}
		if id, ok := attributes["id"]; ok {
			assert.False(t, ids[id], "id %q twice", id)
			ids[id] = true
		}
	})
	assert.Equal(t, 1, scripts)
	for _, want := range hostile {
		want = strings.Map(allowed, want)
		assert.True(t, cells[want], "%q among the cells", want)
	}
}

func TestEveryFigureIsNamedAndHasItsTable(t *testing.T) {
	figures, tables := 0, 0
	ids := map[string]string{}
	var labels []string
	elements(t, written(t, hostilePage()), func(path []string, attributes map[string]string, text string) {
		switch path[len(path)-1] {
		case "title", "desc":
			if id := attributes["id"]; id != "" {
				ids[id] = text
			}
		case "svg":
			if attributes["aria-hidden"] == "true" { // the bar of a share
				return
			}
			figures++
			assert.Equal(t, "img", attributes["role"])
			assert.NotEmpty(t, attributes["viewBox"])
			labels = append(labels, strings.Fields(attributes["aria-labelledby"])...)
		case "caption":
			tables++
			assert.NotEmpty(t, text)
		case "th":
			assert.Contains(t, []string{"row", "col"}, attributes["scope"])
		}
	})
	assert.Equal(t, 5, figures)
	assert.Equal(t, 5+1, tables) // and the facts
	assert.Len(t, labels, 2*figures)
	for _, label := range labels {
		assert.NotEmpty(t, ids[label], label)
	}
}

// The hash is computed here from the bytes of the page, and there from what was embedded.
func TestThePolicyAllowsWhatThePageHolds(t *testing.T) {
	page := string(written(t, &Page{Title: "t"}))
	_, policy, _ := strings.Cut(page, `content="default-src &#39;none&#39;`)
	policy, _, _ = strings.Cut(policy, `" />`)
	policy = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy)
	for _, name := range []string{"style", "script"} {
		_, text, found := strings.Cut(page, "<"+name+">")
		require.True(t, found)
		text, _, found = strings.Cut(text, "</"+name+">")
		require.True(t, found)
		sum := sha256.Sum256([]byte(text))
		assert.Contains(t, policy, name+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	assert.NotContains(t, policy, "unsafe")
	assert.NotContains(t, page, "http:")
	assert.NotContains(t, page, "https:")
}

func TestNumbersHaveTheDigitsOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		want, err := json.Marshal(v)
		if err != nil {
			require.Equal(t, Missing, Number(v))
			return
		}
		require.Equal(t, string(want), Number(v))
	})
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.Equal(t, Missing, Number(v))
	}
}

// Four digits lie within half a unit of the fourth, and whole numbers are all there.
func TestReadableNumbersAreCloseToTheirs(t *testing.T) {
	plain := strings.NewReplacer("−", "-", "×10", "e", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2000, 2000), rapid.Float64Range(-1, 1)).Draw(t, "v")
		read, err := strconv.ParseFloat(plain.Replace(Readable(v)), 64)
		require.NoError(t, err, Readable(v))
		require.InDelta(t, v, read, 0.005*math.Abs(v)+1e-322)
		require.Less(t, len([]rune(Readable(v))), 13)
	})
	for v, want := range map[float64]string{0: "0", 3: "3", -9_999_999: "−9999999", 1e7: "1.00×10⁷", 0.1: "0.1", 0.12344: "0.1234", -1234.5: "−1234", 79.967: "79.97", 0.00001234: "1.23×10⁻⁵", math.Inf(1): Missing} {
		assert.Equal(t, want, Readable(v))
	}
	assert.Equal(t, "0.00", Fixed(-0.001, 2))
	assert.Equal(t, "−0.01", Fixed(-0.01, 2))
	assert.Equal(t, "15800", Fixed(15784, -2))
	assert.Equal(t, Missing, Fixed(math.NaN(), 2))
}

// A table becomes paragraphs below the width that its class stands for, and cells have the names of their columns then.
func TestTablesAreAsWideAsTheirTexts(t *testing.T) {
	narrow := Table{Head: []string{"a", "b"}, Rows: [][]Cell{{{Text: "1"}, {Text: "2"}}}}
	assert.Empty(t, narrow.Width(), "it fits a phone")
	wide := narrow
	wide.Rows = [][]Cell{{{Text: "1"}, {Text: strings.Repeat("x", 60)}}}
	assert.Equal(t, "w38", wide.Width())
	wide.Rows = [][]Cell{{{Text: "1"}, {Text: strings.Repeat("x", 600)}}}
	assert.Equal(t, "stack", wide.Width())
	assert.Equal(t, 8, broken("standard error"))
	long := Table{Head: []string{"a", "b"}, Rows: [][]Cell{{{Text: strings.Repeat("word ", 100)}, {Text: "1"}}}}
	assert.Empty(t, long.Width(), "names are broken between words")
	long.Rows[0][0].Text = strings.Repeat("x", 100)
	assert.Equal(t, "w60", long.Width())
	for w := narrowest; w <= widestTable; w += widthStep {
		assert.Contains(t, style, fmt.Sprintf("(max-width: %drem){.w%d{--block:block;", w, w))
	}
	elements(t, written(t, &Page{Sections: []Section{{Tables: []Table{wide}}}}), func(path []string, attributes map[string]string, _ string) {
		if path[len(path)-1] == "td" {
			assert.Equal(t, "b", attributes["data-label"])
		}
	})
}

func TestShadesAreClassesOfTheStyle(t *testing.T) {
	for shade, want := range map[float64]string{0: "", 0.03: "", 0.04: "p1", -0.04: "n1", 0.99: "p6", 1: "p6", -7: "n6", math.NaN(): "", math.Inf(-1): ""} {
		assert.Equal(t, want, Cell{Shade: shade}.Class())
	}
	for _, class := range (Table{Low: "low", High: "high"}).Key() {
		assert.Contains(t, style, "."+class+" {")
	}
	assert.Len(t, Table{High: "high"}.Key(), shadeSteps)
	assert.Empty(t, Table{}.Key())
}

// wild draws numbers of all sizes, not all of them finite.
func wild() *rapid.Generator[float64] {
	return rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e16, 1e16 + 2}))
}

// Whatever the numbers are: every mark lies within its figure, and nothing is NaN.
func TestFiguresLeaveOutWhatCannotBeDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		list := func(name string) []float64 { return rapid.SliceOfN(wild(), n, n).Draw(t, name) }
		integers := make([]float64, n)
		names := make([]string, n)
		for i := range integers {
			integers[i], names[i] = float64(i+1), Number(float64(i+1))
		}
		x, y, z := list("x"), list("y"), list("z")
		var points []Point
		for i := range x {
			points = append(points, Point{x[i], y[i], i, names[i]})
		}
		var bins []Bin
		for i, v := range absolute(y) {
			bins = append(bins, Bin{float64(i), float64(i + 1), v, names[i]})
		}
		flags := rapid.Bool()
		for _, f := range []*Figure{
			Chart{X: integers, IntegerX: true, Panels: []Panel{{Late: true, Dots: flags.Draw(t, "dots"), Steps: flags.Draw(t, "steps"), Series: []Series{{"y", y, ""}, {"z", z, ""}}}, {Height: 90, Integer: true, Series: []Series{{"z", z, ""}}}}, Events: []int{0, n - 1}}.Figure(),
			Chart{Names: names, Panels: []Panel{{Bars: true, Series: []Series{{"y", y, ""}, {"z", z, ""}}, Levels: []Level{{"l", x[0]}}, Log: flags.Draw(t, "log")}}}.Figure(),
			Heat{Rows: names[:1], Columns: names, Shade: Relative([][]float64{y}), Texts: [][]string{names}, Root: flags.Draw(t, "root")}.Figure(),
			Chart{Panels: []Panel{{Points: points, Ellipses: []Ellipse{{x[0], y[0], math.Abs(z[0]), 0, math.Abs(x[0]), 0, "1", "1"}}}}}.Figure(),
			Chart{X: integers, Panels: []Panel{{Bins: bins, Series: []Series{{"z", absolute(z), ""}}}}}.Figure(),
		} {
			require.NotEmpty(t, f.Marks)
			page := string(written(t, &Page{Sections: []Section{{Figure: f}}}))
			_, page, _ = strings.Cut(page, "<body>")
			page, _, _ = strings.Cut(page, "<script>")
			require.NotContains(t, page, "NaN")
			require.NotContains(t, page, "Inf")
			for _, m := range f.Marks {
				require.True(t, finite(m.X, m.Y, m.W, m.H, m.Opacity), "%+v", m)
				const slack = 0.01
				inside := m.X >= -slack && m.X <= f.Width+slack && m.Y >= -slack && m.Y <= f.Height+slack
				require.True(t, inside && m.W >= 0 && m.H >= 0, "%+v", m)
				if m.Kind == "rect" {
					require.True(t, m.X+m.W <= f.Width+slack && m.Y+m.H <= f.Height+slack, "%+v", m)
				}
				for _, corner := range strings.FieldsFunc(m.D, func(r rune) bool { return strings.ContainsRune("MLZ", r) }) {
					var u, v float64
					require.NoError(t, json.Unmarshal([]byte("["+strings.Replace(corner, " ", ",", 1)+"]"), &[]any{&u, &v}))
					require.True(t, u >= -slack && u <= f.Width+slack && v >= -slack && v <= f.Height+slack, "%s of %+v", corner, m)
				}
			}
		}
	})
}

func absolute(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Abs(v)
	}
	return list
}

// An ellipse's corners are at the radius that holds the share: for each, (p−m)ᵀ S⁻¹ (p−m) = −2 ln(1−s).
func TestEllipsesAreContours(t *testing.T) {
	for i, share := range []float64{0.5, 0.95} {
		assert.InEpsilon(t, -2*math.Log(1-share), radii[i]*radii[i], 1e-14)
	}
	e := Ellipse{X: 3, Y: -2, XX: 4, XY: -1.5, YY: 2}
	f := &Figure{}
	const size = 1e6 // so that two decimals are many digits
	x, y := scale{lo: -20, hi: 20, a: 0, b: size}, scale{lo: -20, hi: 20, a: size, b: 0}
	e.draw(f, x, y)
	require.Len(t, f.Marks, 2)
	for i, m := range f.Marks {
		corners := 0
		for _, corner := range strings.FieldsFunc(m.D, func(r rune) bool { return strings.ContainsRune("MLZ", r) }) {
			var u, v float64
			require.NoError(t, json.Unmarshal([]byte("["+strings.Replace(corner, " ", ",", 1)+"]"), &[]any{&u, &v}))
			a, b := u/size*40-20-e.X, 20-v/size*40-e.Y
			det := e.XX*e.YY - e.XY*e.XY
			assert.InEpsilon(t, radii[1-i]*radii[1-i], (e.YY*a*a-2*e.XY*a*b+e.XX*b*b)/det, 1e-5)
			corners++
		}
		assert.Equal(t, 72, corners)
	}
}

func TestCurvesAreCutAtTheEdge(t *testing.T) {
	x, y := scale{lo: 0, hi: 10, a: 0, b: 10}, scale{lo: 0, hi: 10, a: 10, b: 0}
	xs := []float64{0, 2, 4, 6, 8, 10}
	assert.Equal(t, "M1 10L2 8L4 6M8 4L9 10", curve(xs, []float64{-2, 2, 4, math.NaN(), 6, -6}, x, y, false))
	assert.Equal(t, "M2 8L4 8L4 6", curve(xs, []float64{-2, 2, 4, math.NaN(), -6, -6}, x, y, true))
}

func TestTheStartIsCutOffWhereItHidesTheRest(t *testing.T) {
	rising := make([]float64, 100)
	for i := range rising {
		rising[i] = -math.Exp(-float64(i) / 2)
	}
	late, cut := lateLow([][]float64{rising})
	assert.True(t, cut)
	assert.Equal(t, rising[10], late)
	_, cut = lateLow([][]float64{rising[:19]})
	assert.False(t, cut, "few values are all shown")
	for i := range rising {
		rising[i] = float64(i)
	}
	_, cut = lateLow([][]float64{rising})
	assert.False(t, cut)
}

func TestTicksHaveAMinusSign(t *testing.T) {
	list := scale{lo: -1.3, hi: 0.1}.ticks(false)
	require.NotEmpty(t, list)
	assert.Equal(t, "−1.2", list[0].Label)
}

func TestWholeTicksAreWhole(t *testing.T) {
	for _, c := range [][2]float64{{0.5, 13.5}, {1, 2}, {-3, 40}, {0.6, 1234567}, {1, 1.5}, {0.96, 1.04}} {
		list := scale{lo: c[0], hi: c[1]}.ticks(true)
		require.NotEmpty(t, list)
		require.LessOrEqual(t, len(list), 7)
		for _, tick := range list {
			assert.Equal(t, math.Trunc(tick.Value), tick.Value)
			assert.True(t, tick.Value >= c[0] && tick.Value <= c[1])
		}
	}
}

func TestRowsMustFitTheirHeads(t *testing.T) {
	page := &Page{Sections: []Section{{Tables: []Table{{Caption: "c", Head: []string{"a", "b"}, Rows: [][]Cell{{{Text: "1"}}}}}}}}
	assert.Panics(t, func() { _ = page.Write(io.Discard) })
}

// TestLevelsAreNamedInTheLegend: a name in the picture would lie over bars.
func TestLevelsAreNamedInTheLegend(t *testing.T) {
	f := Chart{Names: []string{"1", "2"}, Panels: []Panel{{Bars: true, Series: []Series{{"y", []float64{3, 2}, ""}}, Levels: []Level{{"edge", 1}}}}}.Figure()
	assert.Equal(t, []Key{{"dashes", 1, "edge"}}, f.Keys)
	for _, m := range f.Marks {
		assert.NotEqual(t, "edge", m.Text)
	}
}

// TestPartsOfAMatrixHaveNames where there is room for them.
func TestPartsOfAMatrixHaveNames(t *testing.T) {
	cells := make([][]float64, 100)
	for i := range cells {
		cells[i] = make([]float64, 100)
	}
	f := Matrix{Cells: cells, Rows: []float64{0.5, 0.51}, RowNames: []string{"first", "thin", "last"}}.Figure()
	var texts []string
	for _, m := range f.Marks {
		if m.Kind == "text" && m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	assert.Equal(t, []string{"first", "last"}, texts)
}
