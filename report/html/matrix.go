package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
)

// shades is the number of different colours of a matrix: cells of one colour are one path, so that a picture of 10,000
// cells stays light.
const shades = 12

// matrixFigure draws the cells. Those that are not blank have some colour, however small they are.
func matrixFigure(m report.Matrix) *figure {
	const left = 24.0
	top := 24.0
	if m.ColumnsName != "" {
		top += 14
	}
	rows := len(m.Cells)
	if rows == 0 || len(m.Cells[0]) == 0 {
		return empty(m.Title, m.About)
	}
	columns := len(m.Cells[0])
	w := (width - left - 6) / float64(columns)
	// no narrower than it is, no taller than two widths
	h := min(w*float64(columns)/float64(rows), max(w, 2*width/float64(rows)))
	f := &figure{Title: m.Title, About: m.About, Width: width, Height: top + h*float64(rows) + 8}
	f.text("", left, 14, m.ColumnsName)
	paths := make([]path, shades+1)
	for i, row := range m.Cells {
		for j := 0; j < columns; {
			shade := int(math.Ceil(shades * min(1, row[j])))
			end := j + 1
			for end < columns && int(math.Ceil(shades*min(1, row[end]))) == shade {
				end++
			}
			if shade > 0 {
				fmt.Fprintf(&paths[shade], "M%s %sh%sv%sh-%sz", px(left+w*float64(j)), px(top+h*float64(i)),
					px(w*float64(end-j)), px(h), px(w*float64(end-j)))
			}
			j = end
		}
	}
	for shade, p := range paths {
		if p.Len() > 0 {
			f.add(mark{Kind: "path", Class: "f0", D: p.String(), Opacity: math.Sqrt(float64(shade) / shades)})
		}
	}
	tall, wide := h*float64(rows), w*float64(columns)
	for _, at := range m.Rows {
		f.line("rule", left, top+at*tall, left+wide, top+at*tall)
	}
	for _, at := range m.Columns {
		f.line("rule", left+at*wide, top, left+at*wide, top+tall)
	}
	eachPart(m.Rows, m.RowNames, tall, func(at float64, name string) { f.text("e soft", left-5, top+at+4, name) })
	eachPart(m.Columns, m.ColumnNames, wide, func(at float64, name string) { f.text("m soft", left+at, top-6, name) })
	f.add(mark{Kind: "rect", Class: "frame", X: left, Y: top, W: wide, H: tall})
	return f
}

// eachPart visits the middle of each part that is long enough for its name, of a side of some length.
func eachPart(borders []float64, names []string, length float64, visit func(at float64, name string)) {
	const room = 14
	from := 0.0
	for i, name := range names {
		to := 1.0
		if i < len(borders) {
			to = borders[i]
		}
		if length*(to-from) >= room {
			visit(length*(from+to)/2, name)
		}
		from = to
	}
}
