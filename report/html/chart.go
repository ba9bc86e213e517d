package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
	"slices"
	"strings"
)

// A chart is a report.Chart to be drawn.
type chart struct{ report.Chart }

// A panel is one of its panels.
type panel struct{ report.Panel }

// figure draws the panels on top of each other.
func (c chart) figure() *figure {
	if c.Names != nil {
		c.X = make([]float64, len(c.Names))
		for i := range c.X {
			c.X[i] = float64(i)
		}
	}
	x, ok := c.extent()
	if !ok {
		return empty(c.Title, c.About)
	}
	f := &figure{Title: c.Title, About: c.About, Width: width}
	var scales []scale
	for _, p := range c.Panels {
		if y, ok := (panel{p}).extent(); ok {
			scales = append(scales, y)
		}
	}
	x.a, x.b = margin(scales...), width-right
	bottom := -float64(panelGap)
	for _, p := range c.Panels {
		top := bottom + panelGap + panelTop
		if bottom = top + p.Height; p.Height == 0 {
			bottom = top + 190
		}
		c.draw(f, panel{p}, x, top, bottom)
	}
	if c.Names == nil {
		for _, t := range x.ticks(c.IntegerX) {
			f.text("m soft", x.at(t.Value), bottom+16, t.Label)
		}
	}
	for i := 0; i < len(c.Names); i += every(c.Names, x.at(1)-x.at(0)) {
		f.text("m soft", x.at(c.X[i]), bottom+16, shortened(c.Names[i], longestName))
	}
	f.text("m", (x.a+x.b)/2, bottom+34, fitting(c.XName, x.b-x.a))
	f.Height = bottom + axisRoom
	if !slices.ContainsFunc(c.Panels, func(p report.Panel) bool { return len(p.Bins) > 0 }) { // which have tooltips
		c.bands(f, x, bottom)
	}
	return f
}

// extent is the range of the x axis, yet without its place.
func (c chart) extent() (x scale, ok bool) {
	if c.Names != nil {
		return scale{lo: -0.5, hi: float64(len(c.Names)) - 0.5}, len(c.Names) > 0
	}
	lists := [][]float64{c.X}
	for _, p := range c.Panels {
		for _, b := range p.Bins {
			lists = append(lists, []float64{b.From, b.To})
		}
		for _, e := range p.Ellipses {
			lists = append(lists, around(e.X, e.XX))
		}
		for _, point := range p.Points {
			if finite(point.X, point.Y) {
				lists = append(lists, []float64{point.X})
			}
		}
	}
	return extent(lists...)
}

// extent is the range of the y axis. Bars and bins stand on it where no value is negative.
func (p panel) extent() (y scale, ok bool) {
	var lists [][]float64
	for _, s := range p.Series {
		lists = append(lists, s.Y)
	}
	late, cut := lateLow(lists)
	for _, l := range p.Levels {
		lists = append(lists, []float64{l.Value})
	}
	for _, b := range p.Bins {
		lists = append(lists, []float64{b.Height})
	}
	for _, e := range p.Ellipses {
		lists = append(lists, around(e.Y, e.YY))
	}
	for _, point := range p.Points {
		if finite(point.X, point.Y) {
			lists = append(lists, []float64{point.Y})
		}
	}
	if p.Log {
		values := slices.DeleteFunc(slices.Concat(lists...), func(v float64) bool { return !(v > 0) || !finite(v) })
		if len(values) == 0 {
			return y, false
		}
		y = scale{lo: slices.Min(values) / 2, hi: slices.Max(values) * 1.5, log: true}
		return y, y.lo > 0 && finite(y.hi/y.lo)
	}
	stands := p.Bars || len(p.Bins) > 0
	if stands {
		lists = append(lists, []float64{0})
	}
	y, ok = extent(lists...)
	if p.Late && cut {
		y, ok = extent([]float64{late, y.hi})
	}
	if stands && !slices.ContainsFunc(slices.Concat(lists...), func(v float64) bool { return v < 0 }) {
		y.lo = 0
	}
	return y, ok
}

// draw draws one panel.
func (c chart) draw(f *figure, p panel, x scale, top, bottom float64) {
	y, ok := p.extent()
	y.a, y.b = bottom, top
	name := p.Name
	if p.Late && ok && slices.ContainsFunc(p.Series, func(s report.Series) bool { return len(s.Y) > 0 && s.Y[0] < y.lo }) {
		name += " (its start lies below)"
	}
	f.text("", 8, top-9, fitting(name, width-right-8))
	if !ok {
		f.text("m soft", width/2, (top+bottom)/2, unreadable)
		return
	}
	c.legend(f, p)
	f.grid(x, y, p.Integer)
	for _, at := range c.Events {
		f.line("event", x.at(c.X[at]), top, x.at(c.X[at]), bottom)
	}
	for _, b := range p.Bins {
		drawBin(f, b, x, y)
	}
	drawPlane(f, p, x, y)
	if p.Bars {
		c.bars(f, p, x, y)
	} else {
		c.curves(f, p, x, y)
	}
	for i, l := range p.Levels {
		if at := y.at(l.Value); finite(l.Value, at) {
			f.line("line thin dash s"+tint(len(p.Series)+i), x.a, at, x.b, at)
		}
	}
}

// bars draws the series of a panel beside each other.
func (c chart) bars(f *figure, p panel, x, y scale) {
	slot, base := x.at(1)-x.at(0), max(y.lo, 0)
	thick := min(40, slot*0.8) / float64(len(p.Series))
	for j, s := range p.Series {
		for i, v := range s.Y {
			if !finite(v, y.at(v)) {
				continue
			}
			left := x.at(c.X[i]) + (float64(j)-float64(len(p.Series))/2)*thick
			from, to := y.at(max(base, v)), y.at(min(base, v))
			f.add(
				mark{Kind: "rect", Class: "bar f" + tint(j), X: left, Y: from, W: max(thick-1, 0.8*thick), H: max(to-from, 0.5)},
			)
		}
	}
}

// curves draws the series of a panel, the first on top.
func (c chart) curves(f *figure, p panel, x, y scale) {
	class := func(i int) string {
		if p.dashed(i) {
			return "line s" + tint(i) + " dash"
		}
		return "line s" + tint(i)
	}
	for i, s := range slices.Backward(p.Series) {
		f.add(mark{Kind: "path", Class: class(i), D: curve(c.X, s.Y, x, y, p.Steps), Tip: s.Tip})
		for j, v := range s.Y {
			if p.Dots && finite(v) && v >= y.lo {
				f.add(mark{Kind: "circle", Class: "f" + tint(i), X: x.at(c.X[j]), Y: y.at(v), W: 3})
			}
		}
	}
}

// dashed says whether a curve is drawn so: the second of two, and those whose colour another one has.
func (p panel) dashed(i int) bool {
	return i >= tints || i > 0 && len(p.Bins) == 0 && len(p.Series) == 2
}

// legend lists what a panel draws, where a reader could not know. What is alike in several panels is listed once.
func (c chart) legend(f *figure, p panel) {
	f.explain(key{"bin", tints - 1, p.BinsName})
	for k, name := range p.Groups {
		f.explain(key{"", k, name})
	}
	f.explain(key{"oval", -1, p.EllipsesName})
	for i, s := range p.Series {
		kind := "line"
		switch {
		case p.Bars:
			kind = "bar"
		case p.dashed(i):
			kind = "dashes"
		}
		if len(p.Series)+len(p.Bins)+len(p.Points) > 1 {
			f.explain(key{kind, i, s.Name})
		}
	}
	for i, l := range p.Levels {
		f.explain(key{"dashes", len(p.Series) + i, l.Name})
	}
	if len(c.Events) > 0 {
		f.explain(key{"event", -1, c.EventsName})
	}
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
func (c chart) bands(f *figure, x scale, bottom float64) {
	for i, v := range c.X {
		from, to := x.a, x.b
		if i > 0 {
			from = x.at((c.X[i-1] + v) / 2)
		}
		if i+1 < len(c.X) {
			to = x.at((v + c.X[i+1]) / 2)
		}
		f.add(mark{Kind: "rect", Class: "hit", X: from, Y: panelTop, W: to - from, H: bottom - panelTop, Tip: c.tip(i)})
	}
}

func (c chart) tip(i int) string {
	name := report.Digits(c.X[i])
	if c.Names != nil {
		name = c.Names[i]
	}
	lines := []string{c.XName + " " + name}
	for _, p := range c.Panels {
		for _, s := range p.Series {
			lines = append(lines, fmt.Sprintf("%s %s", s.Name, report.Digits(s.Y[i])))
		}
	}
	if c.Notes != nil && c.Notes[i] != "" {
		lines = append(lines, c.Notes[i])
	}
	return strings.Join(slices.Compact(lines), "\n")
}

const (
	longestName = 12 // letters of a name on an axis
)

// every leaves out names for which a place, of that width, has no room.
func every(names []string, place float64) int {
	longest := 0.0
	for _, name := range names {
		longest = max(longest, wide(shortened(name, longestName)))
	}
	return max(1, int(math.Ceil((longest+6)/place)))
}
