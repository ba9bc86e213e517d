package html

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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
	"github.com/latent-go/latent/report"
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

func written(t require.TestingT, d *report.Document) []byte {
	var b bytes.Buffer
	require.NoError(t, Write(&b, d))
	return b.Bytes()
}

// hostilePage has hostile texts wherever there is place for a text.
func hostilePage() *report.Document {
	values := make([]float64, len(hostile))
	cells := make([][]float64, len(hostile))
	texts := make([][]string, len(hostile))
	var rows [][]report.Cell
	var points []report.Point
	for i, name := range hostile {
		values[i] = float64(i)
		cells[i], texts[i] = values, hostile
		row := []report.Cell{{Text: name}}
		for _, text := range hostile[1:] {
			row = append(row, report.Cell{Text: text, Shade: float64(i) - 3})
		}
		rows = append(rows, row)
		points = append(points, report.Point{X: float64(i), Y: -float64(i), Group: i, Tip: name})
	}
	columns := report.Columns(hostile...)
	columns[0].Class, columns[2].Class = 1, 10
	all := strings.Join(hostile, " ")
	page := &report.Document{Title: all, Lead: all, Foot: all}
	var facts [][2]string
	var items []report.Item
	for i, name := range hostile {
		facts = append(facts, [2]string{name, name})
		items = append(items, report.Item{Group: i, Name: name, Size: name, Share: 0.5, Text: name})
	}
	for i := range items {
		items[i].Brief = hostile[i]
	}
	page.Sections = []report.Section{{Title: all, Text: all, Warnings: hostile, Items: items, Facts: facts},
		{Title: all, Items: items, Choose: all}}
	series := []report.Series{{Name: all, Y: values, Tip: all}, {Name: "b", Y: values, Tip: ""}}
	for _, f := range []report.Figure{
		report.Chart{Title: all, About: all, XName: all, X: values, Panels: []report.Panel{{Name: all, Series: series}}, Notes: hostile, Events: []int{2}, EventsName: all},
		report.Chart{Title: all, About: all, XName: all, Names: hostile, Panels: []report.Panel{{Name: all, Bars: true, Series: series, Levels: []report.Level{{Name: all, Value: 1}}}}},
		report.Heat{Title: all, About: all, Rows: hostile, Columns: hostile, ColumnsName: all, Shade: report.Relative(cells), Texts: texts, Low: all, High: all},
		report.Heat{Title: all, About: all, Rows: hostile, Heads: hostile, Columns: hostile, ColumnsName: all, Classes: true, Shade: report.Relative(cells), Texts: texts, Low: all, High: all},
		report.Chart{Title: all, About: all, XName: all, Panels: []report.Panel{{Name: all, Points: points, Groups: hostile, EllipsesName: all, Ellipses: []report.Ellipse{{X: 0, Y: 0, XX: 1, XY: 0, YY: 1, Group: 0, Name: all, Tip: all}}}}},
		report.Chart{Title: all, About: all, XName: all, X: values, Panels: []report.Panel{{Name: all, BinsName: all, Bins: []report.Bin{{From: 0, To: 1, Height: 1, Tip: all}}, Series: series}}},
	} {
		page.Sections = append(page.Sections, report.Section{Title: all, Text: all, Figure: f, Tables: []report.Table{{Caption: all, Columns: columns, Rows: rows, Low: all, High: all}}})
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
	assert.Equal(t, 6, figures)
	assert.Equal(t, 6+1, tables) // and the facts
	assert.Len(t, labels, 2*figures)
	for _, label := range labels {
		assert.NotEmpty(t, ids[label], label)
	}
}

// The hash is computed here from the bytes of the page, and there from what was embedded.
func TestThePolicyAllowsWhatThePageHolds(t *testing.T) {
	page := string(written(t, &report.Document{Title: "t"}))
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

// A table becomes paragraphs below the width that its class stands for, and cells have the names of their columns then.
func TestTablesAreAsWideAsTheirTexts(t *testing.T) {
	of := func(cells ...string) report.Table {
		t := report.Table{Columns: report.Columns("a", "b")}
		t.Add(cells[0], cells[1])
		return t
	}
	assert.Empty(t, widthOf(of("1", "2")), "it fits a phone")
	assert.Equal(t, "w38", widthOf(of("1", strings.Repeat("x", 60))))
	wide := of("1", strings.Repeat("x", 600))
	assert.Equal(t, "stack", widthOf(wide))
	assert.Equal(t, 8, broken("standard error"))
	assert.Empty(t, widthOf(of(strings.Repeat("word ", 100), "1")), "names are broken between words")
	assert.Equal(t, "w60", widthOf(of(strings.Repeat("x", 100), "1")))
	for w := narrowest; w <= widestTable; w += widthStep {
		assert.Contains(t, style, fmt.Sprintf("(max-width: %drem){.w%d{--block:block;", w, w))
	}
	page := written(t, &report.Document{Sections: []report.Section{{Tables: []report.Table{wide}}}})
	elements(t, page, func(path []string, attributes map[string]string, _ string) {
		if path[len(path)-1] == "td" {
			assert.Equal(t, "b", attributes["data-label"])
		}
	})
}

func TestShadesAreClassesOfTheStyle(t *testing.T) {
	for shade, want := range map[float64]string{0: "", 0.03: "", 0.04: "p1", -0.04: "n1", 0.99: "p6", 1: "p6", -7: "n6", math.NaN(): "", math.Inf(-1): ""} {
		assert.Equal(t, want, classOf(report.Cell{Shade: shade}))
	}
	for _, class := range shadesOf(report.Table{Low: "low", High: "high"}) {
		assert.Contains(t, style, "."+class+" {")
	}
	assert.Len(t, shadesOf(report.Table{High: "high"}), shadeSteps)
	assert.Empty(t, shadesOf(report.Table{}))
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
			integers[i], names[i] = float64(i+1), report.Digits(float64(i+1))
		}
		x, y, z := list("x"), list("y"), list("z")
		var points []report.Point
		for i := range x {
			points = append(points, report.Point{X: x[i], Y: y[i], Group: i, Tip: names[i]})
		}
		var bins []report.Bin
		for i, v := range absolute(y) {
			bins = append(bins, report.Bin{From: float64(i), To: float64(i + 1), Height: v, Tip: names[i]})
		}
		flags := rapid.Bool()
		for _, of := range []report.Figure{
			report.Chart{X: integers, IntegerX: true, Panels: []report.Panel{{Late: true, Dots: flags.Draw(t, "dots"), Steps: flags.Draw(t, "steps"), Series: []report.Series{{Name: "y", Y: y, Tip: ""}, {Name: "z", Y: z, Tip: ""}}}, {Height: 90, Integer: true, Series: []report.Series{{Name: "z", Y: z, Tip: ""}}}}, Events: []int{0, n - 1}},
			report.Chart{Names: names, Panels: []report.Panel{{Bars: true, Series: []report.Series{{Name: "y", Y: y, Tip: ""}, {Name: "z", Y: z, Tip: ""}}, Levels: []report.Level{{Name: "l", Value: x[0]}}, Log: flags.Draw(t, "log")}}},
			report.Heat{Rows: names[:1], Columns: names, Shade: report.Relative([][]float64{y}), Texts: [][]string{names}, Root: flags.Draw(t, "root")},
			report.Chart{Panels: []report.Panel{{Points: points, Ellipses: []report.Ellipse{{X: x[0], Y: y[0], XX: math.Abs(z[0]), XY: 0, YY: math.Abs(x[0]), Group: 0, Name: "1", Tip: "1"}}}}},
			report.Chart{X: integers, Panels: []report.Panel{{Bins: bins, Series: []report.Series{{Name: "z", Y: absolute(z), Tip: ""}}}}},
		} {
			f := drawn(of)
			require.NotEmpty(t, f.Marks)
			page := string(written(t, &report.Document{Sections: []report.Section{{Figure: of}}}))
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
	e := report.Ellipse{X: 3, Y: -2, XX: 4, XY: -1.5, YY: 2}
	f := &figure{}
	const size = 1e6 // so that two decimals are many digits
	x, y := scale{lo: -20, hi: 20, a: 0, b: size}, scale{lo: -20, hi: 20, a: size, b: 0}
	drawEllipse(f, e, x, y)
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
	page := &report.Document{Sections: []report.Section{{Tables: []report.Table{{Caption: "c", Columns: report.Columns("a", "b"), Rows: [][]report.Cell{{{Text: "1"}}}}}}}}
	assert.Panics(t, func() { _ = Write(io.Discard, page) })
}

// TestLevelsAreNamedInTheLegend: a name in the picture would lie over bars.
func TestLevelsAreNamedInTheLegend(t *testing.T) {
	f := drawn(report.Chart{Names: []string{"1", "2"}, Panels: []report.Panel{{Bars: true, Series: []report.Series{{Name: "y", Y: []float64{3, 2}, Tip: ""}}, Levels: []report.Level{{Name: "edge", Value: 1}}}}})
	assert.Equal(t, []key{{"dashes", 1, "edge"}}, f.Keys)
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
	f := drawn(report.Matrix{Cells: cells, Rows: []float64{0.5, 0.51}, RowNames: []string{"first", "thin", "last"}})
	var texts []string
	for _, m := range f.Marks {
		if m.Kind == "text" && m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	assert.Equal(t, []string{"first", "last"}, texts)
}

// TestItemsCanBeChosen: each has a button with what is said of it below, the first is chosen, and the figure of classes
// has a frame for each, by a rule of the style sheet.
func TestItemsCanBeChosen(t *testing.T) {
	const n = mostChosen
	heat := report.Heat{Title: "h", About: "h", Rows: []string{"no", "yes", "no"}, Heads: []string{"farming", "", "school"}, ColumnsName: "class", Classes: true}
	d := &report.Document{Title: "t", Sections: []report.Section{{Title: "found", Choose: "Choose a class"}}}
	for i := range n {
		d.Sections[0].Items = append(d.Sections[0].Items, report.Item{Group: i, Name: fmt.Sprint("class ", i+1), Share: 0.125, Brief: "farming = yes", Text: fmt.Sprint("said of ", i+1)})
		heat.Columns = append(heat.Columns, fmt.Sprint(i+1))
	}
	for range heat.Rows {
		heat.Shade, heat.Texts = append(heat.Shade, make([]float64, n)), append(heat.Texts, make([]string, n))
	}
	d.Sections = append(d.Sections, report.Section{Title: "heat", Figure: heat})
	page := string(written(t, d))
	assert.Equal(t, n, strings.Count(page, `type="radio" name="c1"`))
	assert.Equal(t, 1, strings.Count(page, "checked=\"checked\""))
	assert.Contains(t, page, `value="1" checked="checked"`)
	for i := 1; i <= n; i++ {
		assert.Regexp(t, fmt.Sprintf(`(?s)value="%d".{0,20} />.{0,200}</span> farming = yes</label>\s*<div class="told">.{0,600}<p>said of %[1]d</p></div>`, i), page)
		assert.Contains(t, style, fmt.Sprintf(`:has(.choose [value="%d"]:checked) .h%[1]d{`, i))
		assert.Equal(t, 2, strings.Count(page, fmt.Sprintf(`class="chosen h%d"`, i)), "beside each head")
	}
	assert.Contains(t, page, "<title>farming\nyes\nclass 2: </title>")
	assert.Contains(t, page, "<title>school\nno\nclass 2: </title>")
}
