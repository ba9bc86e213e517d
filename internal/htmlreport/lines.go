package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Lines are curves over one x, in panels on top of each other.
type Lines struct {
	Title, About string
	XName        string
	X            []float64 // ascending
	IntegerX     bool      // ticks of x at integers alone
	Panels       []Panel
	Events       []int    // places in X to mark by a vertical line
	Notes        []string // for each x, what its tooltip adds; nil: nothing
}

// A Panel has a scale of its own.
type Panel struct {
	Name    string
	Series  []Series
	Integer bool // ticks of y at integers alone
	Steps   bool // y keeps its value until the next x
	Points  bool // a dot at each x
	Small   bool
	// Late lets the scale leave out low values of the first tenth of many x, which would compress the rest.
	Late bool
}

// A Series is a curve: a value for each x, NaN where there is none.
type Series struct {
	Name string
	Y    []float64
}

// Figure draws the curves.
func (l Lines) Figure() *Figure {
	x, ok := extent(l.X)
	if !ok {
		return empty(l.Title, l.About)
	}
	f := &Figure{Title: l.Title, About: l.About, Width: width}
	var scales []scale
	for _, p := range l.Panels {
		if y, ok := p.scale(); ok {
			scales = append(scales, y)
		}
	}
	x.a, x.b = margin(scales...), width-right
	y := 0.0
	for _, p := range l.Panels {
		y += panelTop
		height := 190.0
		if p.Small {
			height = 90
		}
		l.panel(f, p, x, y, height)
		y += height + panelGap
	}
	bottom := y - panelGap
	f.numbers(x, bottom, l.XName, l.IntegerX)
	l.bands(f, x, bottom)
	return f
}

// scale is the range of the panel's y, yet without its place.
func (p Panel) scale() (y scale, ok bool) {
	lists := make([][]float64, len(p.Series))
	for i, s := range p.Series {
		lists[i] = s.Y
	}
	y, ok = extent(lists...)
	if late, cut := lateLow(lists); p.Late && cut {
		y, ok = extent([]float64{late, y.hi})
	}
	return y, ok
}

// panel draws the curves of one panel from top on.
func (l Lines) panel(f *Figure, p Panel, x scale, top, height float64) {
	y, ok := p.scale()
	y.a, y.b = top+height, top
	name := p.Name
	for _, s := range p.Series {
		if ok && len(s.Y) > 0 && s.Y[0] < y.lo {
			name = p.Name + " (its start lies below)"
		}
	}
	f.text("", 8, top-9, name)
	if !ok {
		f.text("m soft", width/2, top+height/2, "These numbers are too large, or too few, to be drawn.")
		return
	}
	f.grid(x, y, p.Integer)
	for _, at := range l.Events {
		f.line("event", x.at(l.X[at]), top, x.at(l.X[at]), top+height)
	}
	class := func(i int) string {
		if i > 0 {
			return "line s" + tint(i) + " dash"
		}
		return "line s" + tint(i)
	}
	for i, s := range slices.Backward(p.Series) { // the first on top
		f.add(mark{Kind: "path", Class: class(i), D: curve(l.X, s.Y, x, y, p.Steps)})
		for j, v := range s.Y {
			if p.Points && finite(v) && v >= y.lo {
				f.add(mark{Kind: "circle", Class: "f" + tint(i), X: x.at(l.X[j]), Y: y.at(v), W: 3})
			}
		}
	}
	f.legend(top, p.Series, 18, func(i int, x float64) { f.line(class(i), x, top-13, x+18, top-13) })
}

// lateLow is the lowest value after the first tenth; cut reports whether there are many values
// and those before are so much lower that the rest could not be read on one scale.
func lateLow(lists [][]float64) (late float64, cut bool) {
	const many, readable = 20, 4
	late, first, high := math.Inf(1), math.Inf(1), math.Inf(-1)
	for _, list := range lists {
		if len(list) < many {
			return 0, false
		}
		skipped := len(list) / 10
		for i, v := range list {
			if !finite(v) {
				continue
			}
			if i >= skipped {
				late = min(late, v)
			}
			first, high = min(first, v), max(high, v)
		}
	}
	return late, late < high && high-first > readable*(high-late)
}

// curve joins the points. What lies below the scale is cut off at its edge.
func curve(xs, ys []float64, x, y scale, steps bool) string {
	var p path
	cross := func(i int) { // the edge, between points i and i+1
		share := (y.lo - ys[i]) / (ys[i+1] - ys[i])
		p.to(x.at(xs[i]+share*(xs[i+1]-xs[i])), y.a)
	}
	for i, v := range ys {
		switch {
		case !finite(v):
			p.lift()
		case v < y.lo:
			if p.drawing && !steps {
				cross(i - 1)
			}
			p.lift()
			if i+1 < len(ys) && ys[i+1] >= y.lo && !steps {
				cross(i)
			}
		default:
			if p.drawing && steps {
				p.to(x.at(xs[i]), y.at(ys[i-1]))
			}
			p.to(x.at(xs[i]), y.at(v))
		}
	}
	return p.String()
}

// bands put a tooltip over each x.
func (l Lines) bands(f *Figure, x scale, bottom float64) {
	for i, v := range l.X {
		from, to := x.a, x.b
		if i > 0 {
			from = x.at((l.X[i-1] + v) / 2)
		}
		if i+1 < len(l.X) {
			to = x.at((v + l.X[i+1]) / 2)
		}
		f.add(mark{Kind: "rect", Class: "hit", X: from, Y: panelTop, W: to - from, H: bottom - panelTop, Tip: l.tip(i)})
	}
}

func (l Lines) tip(i int) string {
	lines := []string{fmt.Sprintf("%s %s", l.XName, Number(l.X[i]))}
	for _, p := range l.Panels {
		for _, s := range p.Series {
			lines = append(lines, fmt.Sprintf("%s %s", s.Name, Number(s.Y[i])))
		}
	}
	if l.Notes != nil && l.Notes[i] != "" {
		lines = append(lines, l.Notes[i])
	}
	return strings.Join(slices.Compact(lines), "\n")
}
