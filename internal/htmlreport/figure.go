package htmlreport

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// A Figure is a drawing with its title and a description of what it shows.
type Figure struct {
	Title, About  string
	Width, Height float64 // of the viewBox; a phone shows its width on the whole screen
	Marks         []mark
}

// width is that of all figures, so that their texts have one size.
const width = 480

// letter is how wide a letter is at most, on a phone, where they are larger.
const letter = 7.5

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

func (f *Figure) add(m mark) { f.Marks = append(f.Marks, m) }

func (f *Figure) text(class string, x, y float64, text string) {
	f.add(mark{Kind: "text", Class: class, X: x, Y: y, Text: text})
}

func (f *Figure) line(class string, x0, y0, x1, y1 float64) {
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

// ticks are the labelled ones, whole numbers alone where only those mean something.
func (s scale) ticks(whole bool) []plot.Tick {
	var ticker plot.Ticker = plot.DefaultTicks{}
	if s.log && s.hi/s.lo > 100 {
		ticker = plot.LogTicks{Prec: -1}
	}
	var list []plot.Tick
	var values []float64
	for _, t := range ticker.Ticks(s.lo, s.hi) {
		if t.Label == "" || whole && t.Value != math.Trunc(t.Value) || t.Value < s.lo || t.Value > s.hi {
			continue
		}
		list, values = append(list, t), append(values, t.Value)
	}
	for i, label := range labels(values) {
		list[i].Label = label
	}
	return list
}

// labels write the numbers of an axis, ascending, in as few digits as tell them apart and in their place.
func labels(values []float64) []string {
	gap, largest := math.Inf(1), 0.0
	for i, v := range values {
		largest = max(largest, math.Abs(v))
		if i > 0 {
			gap = min(gap, v-values[i-1])
		}
	}
	if len(values) == 1 {
		gap = largest
	}
	form, most := byte('f'), 9
	if largest >= 1e7 || largest < 1e-4 {
		form, most = 'e', 16
	}
	list := make([]string, len(values))
	for digits := range most + 1 {
		told := true
		for i, v := range values {
			if math.Abs(v) < gap/1e6 {
				v = 0 // to rounding
			}
			list[i] = strings.Replace(strconv.FormatFloat(v, form, digits, 64), "-", "−", 1)
			back, _ := strconv.ParseFloat(strconv.FormatFloat(v, form, digits, 64), 64)
			const close = 0.01 // of the distance between two ticks
			told = told && math.Abs(back-v) <= close*gap
		}
		if told {
			break
		}
	}
	return list
}

// margin is the room that y labels take to the left of their axis.
func margin(scales ...scale) float64 {
	longest := 4
	for _, s := range scales {
		for _, t := range s.ticks(false) {
			longest = max(longest, len([]rune(t.Label)))
		}
	}
	return letter*float64(longest) + 14
}

// finite tells whether all values are numbers.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// extent is the range of the finite values among those listed, a little wider; ok is false where there
// is none, or where it is too large for a float64.
func extent(lists ...[]float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, list := range lists {
		for _, v := range list {
			if finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if !finite(lo, hi, 2*(hi-lo)) {
		return 0, 1, false
	}
	return widened(lo, hi)
}

// widened leaves a margin, so that no mark lies on the frame, and a range to what has none.
func widened(lo, hi float64) (float64, float64, bool) {
	const share, least = 0.04, 1e-6
	pad := max(share*(hi-lo), least*max(math.Abs(lo), math.Abs(hi)))
	if pad == 0 {
		pad = 1
	}
	return lo - pad, hi + pad, finite(lo-pad, hi+pad)
}

// empty is a figure of something that cannot be drawn.
func empty(title, about string) *Figure {
	f := &Figure{Title: title, About: about, Width: width, Height: 60}
	f.text("m soft", width/2, 34, "The numbers are too large, or too few, to be drawn.")
	return f
}

// shortened is a name in n letters at most.
func shortened(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return string(letters[:max(1, n-1)]) + "…"
}

// tint is the number of a series among the colours of the style.
func tint(i int) string { return string(rune('0' + i%8)) }
