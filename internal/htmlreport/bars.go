package htmlreport

import (
	"fmt"
	"slices"
	"strings"
)

// Bars are values side by side, in groups with one bar a series.
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
	lo, hi, ok := b.extent()
	if !ok || len(b.Names) == 0 {
		return empty(b.Title, b.About)
	}
	f := &Figure{Title: b.Title, About: b.About, Width: width}
	top := float64(panelTop)
	f.text("", 8, top-9, b.YName)
	if len(b.Series) > 1 {
		b.key(f, top)
	}
	y := scale{lo: lo, hi: hi, a: top + height, b: top, log: b.Log}
	left := margin(y)
	base := max(lo, 0)
	grid(f, scale{a: left, b: width - right}, y, false)
	slot := (width - right - left) / float64(len(b.Names))
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
			f.line(class, left, y.at(l.Value), width-right, y.at(l.Value))
			f.text("e halo", width-right, y.at(l.Value)-5, l.Name)
		}
	}
	bottom := top + height
	for i := 0; i < len(b.Names); i += b.every(slot) {
		f.text("m soft", left+slot*(float64(i)+0.5), bottom+16, shortened(b.Names[i], 12))
	}
	f.text("m", (left+width-right)/2, bottom+34, b.XName)
	f.Height = bottom + axisRoom
	return f
}

// extent is the range of the y axis. Bars stand on it where no value is negative.
func (b Bars) extent() (lo, hi float64, ok bool) {
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
			return 0, 0, false
		}
		lo, hi = slices.Min(values)/2, slices.Max(values)*1.5
		return lo, hi, lo > 0 && finite(hi/lo)
	}
	lo, hi, ok = extent([]float64{0}, values)
	if !slices.ContainsFunc(values, func(v float64) bool { return v < 0 }) {
		lo = 0
	}
	return lo, hi, ok
}

// key names the series above the bars.
func (b Bars) key(f *Figure, top float64) {
	at := float64(width - right)
	for j := len(b.Series) - 1; j >= 0; j-- {
		f.text("e", at, top-9, b.Series[j].Name)
		at -= letter*float64(len([]rune(b.Series[j].Name))) + 6
		f.add(mark{Kind: "rect", Class: "f" + tint(j), X: at - 10, Y: top - 18, W: 10, H: 10})
		at -= 22
	}
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
