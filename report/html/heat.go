package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
	"strconv"
)

// A heat is a report.Heat to be drawn.
type heat struct{ report.Heat }

// figure draws the cells.
func (h heat) figure() *figure {
	const most = 21
	top := 46.0
	left := h.leftOfScale()
	if wide(h.ColumnsName)+10 > left { // a line of its own
		top += 18
	}
	longest := 0.0
	for _, name := range h.Rows {
		longest = max(longest, wide(shortened(name, most)))
	}
	from := 10 + longest
	w := min(46, (width-6-from)/float64(len(h.Columns)))
	tall, heads := 17.0, 0
	for _, head := range h.Heads {
		if head != "" {
			heads++
		}
	}
	bottom := top + tall*float64(len(h.Rows)+heads)
	f := &figure{Title: h.Title, About: h.About, Width: width, Height: bottom + 8}
	h.scale(f, top-40)
	every, room := 1, 0.0
	for _, name := range h.Columns {
		room = max(room, wide(shortened(name, 5))+2)
	}
	for float64(every)*w < min(24, room) {
		every++
	}
	for j := 0; j < len(h.Columns); j += every {
		f.text("m soft", from+w*(float64(j)+0.5), top-6, shortened(h.Columns[j], 5))
	}
	f.text("", 2, 15, h.ColumnsName)
	y, topOfCells := top-tall, top
	for i, name := range h.Rows {
		y += tall
		if i < len(h.Heads) && h.Heads[i] != "" {
			f.text("bold", 2, y+tall-4.5, fitting(h.Heads[i], width-8))
			if i > 0 {
				h.frame(f, from, topOfCells, w, y)
			}
			y += tall
			topOfCells = y
		}
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
				Tip:  fmt.Sprintf("%s\n%s %s: %s", h.called(i), h.ColumnsName, column, h.Texts[i][j]),
			}
			cell.Class, cell.Opacity = h.colour(v)
			f.add(cell)
		}
	}
	h.frame(f, from, topOfCells, w, bottom)
	return f
}

// frame surrounds the cells from one y to another, and those of the class that is chosen.
func (h heat) frame(f *figure, from, top, w, bottom float64) {
	f.add(mark{Kind: "rect", Class: "frame", X: from, Y: top, W: w * float64(len(h.Columns)), H: bottom - top})
	for j := range h.Columns {
		if h.Classes {
			f.add(mark{Kind: "rect", Class: "chosen h" + strconv.Itoa(j+1), X: from + w*float64(j), Y: top, W: w,
				H: bottom - top})
		}
	}
}

// called is the name of a row with its head.
func (h heat) called(i int) string {
	for l := min(i, len(h.Heads)-1); l >= 0; l-- {
		if h.Heads[l] != "" {
			return h.Heads[l] + "\n" + h.Rows[i]
		}
	}
	return h.Rows[i]
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

// The scale has squares of this side, and so many on each side of 0.
const step, cells = 10.0, 5

// lowest is the place of the scale's first square, and what it means.
func (h heat) lowest() (place int, name string) {
	if h.Low == "" {
		return 0, "0"
	}
	return -cells, h.Low
}

// leftOfScale is where the scale begins.
func (h heat) leftOfScale() float64 {
	lowest, low := h.lowest()
	return width - 18 - wide(h.High) - step*float64(cells-lowest+1) - wide(low)
}

// scale shows what the colours mean, above the cells, to the right.
func (h heat) scale(f *figure, y float64) {
	const tall = 10.0
	x := width - 6 - wide(h.High) - 6
	f.text("e", width-6, y+tall, h.High)
	lowest, low := h.lowest()
	for i := cells; i >= lowest; i-- {
		x -= step
		m := mark{Kind: "rect", X: x, Y: y, W: step, H: tall}
		m.Class, m.Opacity = h.colour(float64(i) / cells)
		f.add(m)
	}
	f.add(mark{Kind: "rect", Class: "frame", X: x, Y: y, W: step * float64(cells-lowest+1), H: tall})
	f.text("e", x-6, y+tall, low)
}
