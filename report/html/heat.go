package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
)

// A heat is a report.Heat to be drawn.
type heat struct{ report.Heat }

// figure draws the cells.
func (h heat) figure() *figure {
	const most, top = 21, 46
	longest := 0.0
	for _, name := range h.Rows {
		longest = max(longest, wide(shortened(name, most)))
	}
	from := 10 + longest
	w := min(46, (width-6-from)/float64(len(h.Columns)))
	tall := 17.0
	f := &figure{Title: h.Title, About: h.About, Width: width, Height: top + tall*float64(len(h.Rows)) + 8}
	h.scale(f)
	every := 1
	for float64(every)*w < 24 {
		every++
	}
	for j := 0; j < len(h.Columns); j += every {
		f.text("m soft", from+w*(float64(j)+0.5), top-6, shortened(h.Columns[j], 5))
	}
	f.text("", 2, 15, h.ColumnsName)
	for i, name := range h.Rows {
		y := top + tall*float64(i)
		label := mark{Kind: "text", Class: "e", X: from - 5, Y: y + tall - 4.5, Text: shortened(name, most)}
		if label.Text != name {
			label.Tip = name
		}
		f.add(label)
		for j, column := range h.Columns {
			v := h.Shade[i][j]
			cell := mark{
				Kind: "rect",
				X:    from + w*float64(j),
				Y:    y,
				W:    w,
				H:    tall,
				Tip:  fmt.Sprintf("%s\n%s %s: %s", name, h.ColumnsName, column, h.Texts[i][j]),
			}
			cell.Class, cell.Opacity = h.colour(v)
			f.add(cell)
		}
	}
	f.add(
		mark{Kind: "rect", Class: "frame", X: from, Y: top, W: w * float64(len(h.Columns)), H: tall * float64(len(h.Rows))},
	)
	return f
}

// colour is the class and the opacity of a cell.
func (h heat) colour(v float64) (class string, opacity float64) {
	if !finite(v) {
		return "cell none", 0
	}
	class, opacity = "cell f0", min(1, math.Abs(v))
	if v < 0 {
		class = "cell f1"
	}
	if h.Root {
		opacity = math.Sqrt(opacity)
	}
	const faintest = 0.01 // 0 would stand for no opacity given
	return class, max(faintest, opacity)
}

// scale shows what the colours mean, above the cells, to the right.
func (h heat) scale(f *figure) {
	const step, tall, y, cells = 10.0, 10.0, 6.0, 5
	x := width - 6 - wide(h.High) - 6
	f.text("e", width-6, y+tall, h.High)
	lowest := 0
	if h.Low != "" {
		lowest = -cells
	}
	for i := cells; i >= lowest; i-- {
		x -= step
		m := mark{Kind: "rect", X: x, Y: y, W: step, H: tall}
		m.Class, m.Opacity = h.colour(float64(i) / cells)
		f.add(m)
	}
	f.add(mark{Kind: "rect", Class: "frame", X: x, Y: y, W: step * float64(cells-lowest+1), H: tall})
	low := h.Low
	if low == "" {
		low = "0"
	}
	f.text("e", x-6, y+tall, low)
}
