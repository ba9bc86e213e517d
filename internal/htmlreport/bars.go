package htmlreport

import (
	"fmt"
	"slices"
	"strings"
)

// Bars are grouped bars, one of each series in a group.
type Bars struct {
	Title, About string
	XName, YName string
	Names        []string // of the groups
	Series       []Series // Y has one value a group
	Levels       []Level
	Log          bool // where all values are positive: those that are not have no bar
}

// A Level is a horizontal line across the bars.
type Level struct {
	Name  string
	Value float64
}

// Figure draws the bars.
func (b Bars) Figure() *Figure {
	const height = 220
	y, ok := b.extent()
	if !ok || len(b.Names) == 0 {
		return empty(b.Title, b.About)
	}
	f := &Figure{Title: b.Title, About: b.About, Width: width}
	top := float64(panelTop)
	f.text("", 8, top-9, b.YName)
	f.legend(top, b.Series, 10, func(j int, x float64) {
		f.add(mark{Kind: "rect", Class: "f" + tint(j), X: x, Y: top - 18, W: 10, H: 10})
	})
	y.a, y.b, y.log = top+height, top, b.Log
	x := scale{a: margin(y), b: width - right}
	left, base := x.a, max(y.lo, 0)
	f.grid(x, y, false)
	slot := (x.b - left) / float64(len(b.Names))
	thick := min(40, slot*0.8) / float64(len(b.Series))
	for i, name := range b.Names {
		middle := left + slot*(float64(i)+0.5)
		tip := []string{fmt.Sprintf("%s %s", b.XName, name)}
		for j, s := range b.Series {
			tip = append(tip, fmt.Sprintf("%s %s", s.Name, Number(s.Y[i])))
			if !finite(s.Y[i], y.at(s.Y[i])) {
				continue
			}
			from, to := y.at(max(base, s.Y[i])), y.at(min(base, s.Y[i]))
			x := middle + (float64(j)-float64(len(b.Series))/2)*thick
			f.add(mark{Kind: "rect", Class: "bar f" + tint(j), X: x, Y: from, W: max(thick-1, 0.8*thick), H: max(to-from, 0.5)})
		}
		f.add(mark{Kind: "rect", Class: "hit", X: middle - slot/2, Y: top, W: slot, H: height, Tip: strings.Join(tip, "\n")})
	}
	for i, l := range b.Levels {
		if finite(l.Value, y.at(l.Value)) {
			class := "line thin dash s" + tint(len(b.Series)+i)
			f.line(class, left, y.at(l.Value), x.b, y.at(l.Value))
			f.text("e halo", x.b, y.at(l.Value)-5, l.Name)
		}
	}
	bottom := top + height
	for i := 0; i < len(b.Names); i += b.every(slot) {
		f.text("m soft", left+slot*(float64(i)+0.5), bottom+16, shortened(b.Names[i], 12))
	}
	f.foot(x, bottom, b.XName)
	return f
}

// extent is the range of the y axis. Bars stand on it where no value is negative.
func (b Bars) extent() (y scale, ok bool) {
	var values []float64
	for _, s := range b.Series {
		values = append(values, s.Y...)
	}
	for _, l := range b.Levels {
		values = append(values, l.Value)
	}
	if b.Log {
		values = slices.DeleteFunc(values, func(v float64) bool { return !(v > 0) || !finite(v) })
		if len(values) == 0 {
			return y, false
		}
		y.lo, y.hi = slices.Min(values)/2, slices.Max(values)*1.5
		return y, y.lo > 0 && finite(y.hi/y.lo)
	}
	y, ok = extent([]float64{0}, values)
	if !slices.ContainsFunc(values, func(v float64) bool { return v < 0 }) {
		y.lo = 0
	}
	return y, ok
}

// every leaves out names for which there is no room.
func (b Bars) every(slot float64) int {
	longest := 0
	for _, name := range b.Names {
		longest = max(longest, len([]rune(shortened(name, 12))))
	}
	step := 1
	for slot*float64(step) < letter*float64(longest)+6 {
		step++
	}
	return step
}
