package html

import (
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/internal/ticks"
	"github.com/latent-go/latent/report"
)

// A figure is a drawing with its title and a description of what it shows.
type figure struct {
	Title, About  string
	Width, Height float64 // of the viewBox; on a phone the width is that of the screen
	Marks         []mark
	Keys          []key
}

// A key is an entry of a figure's legend.
type key struct {
	Kind  string // line, dashes, bar, bin, event, oval; empty: the point of a group
	Group int    // of its colour; negative: none
	Text  string
}

// drawn is a figure of a report; nil of nil.
func drawn(of report.Figure) *figure {
	switch of := of.(type) {
	case report.Chart:
		return chart{of}.figure()
	case report.Heat:
		return heat{of}.figure()
	case report.Matrix:
		return matrixFigure(of)
	}
	return nil
}

// tall says whether a figure is so high that two sections have room beside it.
func tall(of report.Figure) bool {
	f := drawn(of)
	return f != nil && f.Height > 1.5*width
}

// explain adds an entry to the legend, once.
func (f *figure) explain(k key) {
	if k.Text != "" && !slices.Contains(f.Keys, k) {
		f.Keys = append(f.Keys, k)
	}
}

// width is that of all figures, so that their texts have one size.
const width = 480

// A mark is one shape or text of a figure.
type mark struct {
	Kind    string // path, rect, circle or text
	Class   string // of the style sheet
	D       string // of a path
	X, Y    float64
	W, H    float64 // W is the radius of a circle
	Opacity float64 // of the fill; 0: what the class says
	Text    string
	Tip     string // on hover
}

func (f *figure) add(m mark) { f.Marks = append(f.Marks, m) }

func (f *figure) text(class string, x, y float64, text string) {
	f.add(mark{Kind: "text", Class: class, X: x, Y: y, Text: text})
}

func (f *figure) line(class string, x0, y0, x1, y1 float64) {
	var p path
	p.to(x0, y0)
	p.to(x1, y1)
	f.add(mark{Kind: "path", Class: class, D: p.String()})
}

// A path is what the attribute d of SVG holds.
type path struct {
	strings.Builder
	drawing bool
}

// to draws on to a point, or begins there.
func (p *path) to(x, y float64) {
	if p.drawing {
		p.WriteString("L")
	} else {
		p.WriteString("M")
	}
	p.drawing = true
	p.WriteString(px(x) + " " + px(y))
}

// lift ends the line: the next point begins another.
func (p *path) lift() { p.drawing = false }

// A scale takes values from lo to hi to coordinates from a to b.
type scale struct {
	lo, hi, a, b float64
	log          bool
}

func (s scale) at(v float64) float64 {
	if s.log {
		return s.a + math.Log(v/s.lo)/math.Log(s.hi/s.lo)*(s.b-s.a)
	}
	return s.a + (v-s.lo)/(s.hi-s.lo)*(s.b-s.a)
}

// A tick is a labelled place on an axis.
type tick struct {
	Value float64
	Label string
}

// ticks label an axis, at integers alone where only those mean something.
func (s scale) ticks(integers bool) []tick {
	var values []float64
	switch {
	case s.log && s.hi/s.lo > 100:
		values = ticks.Decades(s.lo, s.hi)
	case integers && !s.log:
		values = ticks.Whole(s.lo, s.hi)
	default:
		values = ticks.Between(s.lo, s.hi)
	}
	list := make([]tick, len(values))
	for i, label := range ticks.Labels(values) {
		list[i] = tick{values[i], strings.Replace(label, "-", "−", 1)}
	}
	return list
}

const (
	right    = 14 // margin of figures with axes
	panelTop = 26 // for the name of a panel
	panelGap = 8
	axisRoom = 40 // for the labels and the name of x
)

// grid draws the axes of a panel and its y labels.
func (f *figure) grid(x, y scale, integers bool) {
	for _, t := range y.ticks(integers) {
		f.line("rule", x.a, y.at(t.Value), x.b, y.at(t.Value))
		f.text("e soft", x.a-6, y.at(t.Value)+4, t.Label)
	}
	f.line("axis", x.a, y.a, x.b, y.a)
}

// margin is the room that y labels take to the left of their axis.
func margin(scales ...scale) float64 {
	longest := wide("0000")
	for _, s := range scales {
		for _, t := range s.ticks(false) {
			longest = max(longest, wide(t.Label))
		}
	}
	return longest + 10
}

// finite reports whether all values are finite.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// extent is the range of the finite values among those listed, a little wider, so that no mark lies on the frame; ok is
// false where there is none, or where it is too large for a float64.
func extent(lists ...[]float64) (s scale, ok bool) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range slices.Concat(lists...) {
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	const share, least = 0.04, 1e-6
	pad := max(share*(hi-lo), least*max(math.Abs(lo), math.Abs(hi)))
	if pad == 0 {
		pad = 1
	}
	return scale{lo: lo - pad, hi: hi + pad}, finite(lo-pad, hi+pad, 2*(hi-lo))
}

// empty is a figure of something that cannot be drawn.
func empty(title, about string) *figure {
	f := &figure{Title: title, About: about, Width: width, Height: 60}
	f.text("m soft", width/2, 34, unreadable)
	return f
}

const unreadable = "The numbers are too large, or too few, to be drawn."

// shortened is a name in n letters at most.
func shortened(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return string(letters[:max(1, n-1)]) + "…"
}

// tint is the number of a series among the colours of the style.
func tint(i int) string { return string(rune('0' + i%tints)) }

// tints is how many colours there are. Points of further groups have another shape.
const tints = 8

// shape is the class of a group's points in a legend.
func shape(group int) string {
	return []string{"dot", "square", "diamond", "triangle"}[group/tints%4]
}
