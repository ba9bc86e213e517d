package htmlreport

import (
	"fmt"
	"math"
)

// A Scatter shows rows as points and normal distributions as ellipses, in a plane.
type Scatter struct {
	Title, About string
	XName, YName string
	Points       []Point
	Ellipses     []Ellipse
}

// A Point is one row. Points of one group, from 0, share a colour.
type Point struct {
	X, Y  float64
	Group int
	Tip   string
}

// An Ellipse is a normal distribution: its contours around half and around 95 % of its
// mass are drawn.
type Ellipse struct {
	X, Y       float64 // mean
	XX, XY, YY float64 // covariance
	Group      int
	Name, Tip  string
}

// The contours around a share s of a plane normal distribution have the radius √(−2 ln(1−s)).
var radii = []float64{math.Sqrt(2 * math.Ln2), math.Sqrt(-2 * math.Log(0.05))}

// Figure draws points and ellipses.
func (s Scatter) Figure() *Figure {
	var xs, ys []float64
	for _, p := range s.Points {
		if finite(p.X, p.Y) {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	for _, e := range s.Ellipses {
		a, b := radii[1]*math.Sqrt(e.XX), radii[1]*math.Sqrt(e.YY)
		xs, ys = append(xs, e.X-a, e.X+a), append(ys, e.Y-b, e.Y+b)
	}
	x, okX := extent(xs)
	y, okY := extent(ys)
	if !okX || !okY {
		return empty(s.Title, s.About)
	}
	f, x, y := plane(s.Title, s.About, x, y, s.XName, s.YName, 340)
	for _, t := range x.ticks(false) {
		f.line("rule", x.at(t.Value), y.a, x.at(t.Value), y.b)
	}
	for _, e := range s.Ellipses {
		e.draw(f, x, y)
	}
	const many = 500
	radius := 2.2
	if len(s.Points) > many {
		radius = 1.6
	}
	for _, p := range s.Points {
		if finite(p.X, p.Y) {
			f.add(mark{Kind: "circle", Class: "row f" + tint(p.Group), X: x.at(p.X), Y: y.at(p.Y), W: radius, Tip: p.Tip})
		}
	}
	for _, e := range s.Ellipses {
		if finite(e.X, e.Y) {
			f.text("tag", x.at(e.X), y.at(e.Y)+4, e.Name)
		}
	}
	return f
}

// draw goes around the contours: with LLᵀ the covariance, mean + r L (cos t, sin t)ᵀ.
func (e Ellipse) draw(f *Figure, x, y scale) {
	l11 := math.Sqrt(max(0, e.XX))
	l21 := 0.0
	if l11 > 0 {
		l21 = e.XY / l11
	}
	l22 := math.Sqrt(max(0, e.YY-l21*l21))
	if !finite(e.X, e.Y, l11, l21, l22) {
		return
	}
	const corners = 72
	for i := len(radii) - 1; i >= 0; i-- {
		var p path
		for t := range corners {
			sin, cos := math.Sincos(2 * math.Pi * float64(t) / corners)
			p.to(x.at(e.X+radii[i]*l11*cos), y.at(e.Y+radii[i]*(l21*cos+l22*sin)))
		}
		p.WriteString("Z")
		f.add(mark{Kind: "path", Class: fmt.Sprintf("oval s%s f%s", tint(e.Group), tint(e.Group)), D: p.String(), Tip: e.Tip})
	}
}

// A Histogram shows how often values fall into bins, with densities over it.
type Histogram struct {
	Title, About string
	XName, YName string
	Edges        []float64 // ascending, one more than bins
	Heights      []float64 // densities
	Tips         []string  // of the bins
	X            []float64 // of the curves, within the edges
	Curves       []Series
}

// Figure draws bins and curves.
func (h Histogram) Figure() *Figure {
	lists := [][]float64{{0}, h.Heights}
	for _, c := range h.Curves {
		lists = append(lists, c.Y)
	}
	x, okX := extent(h.Edges)
	y, okY := extent(lists...)
	if !okX || !okY {
		return empty(h.Title, h.About)
	}
	y.lo = 0
	f, x, y := plane(h.Title, h.About, x, y, h.XName, h.YName, 240)
	for i, v := range h.Heights {
		if finite(v) {
			a, b := x.at(h.Edges[i]), x.at(h.Edges[i+1])
			f.add(mark{Kind: "rect", Class: "bar f7", X: a, Y: y.at(v), W: max(0, b-a-0.5), H: y.a - y.at(v), Opacity: 0.45, Tip: h.Tips[i]})
		}
	}
	for i, c := range h.Curves {
		f.add(mark{Kind: "path", Class: "line s" + tint(i), D: curve(h.X, c.Y, x, y, false), Tip: c.Name})
	}
	return f
}
