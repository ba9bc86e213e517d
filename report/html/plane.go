package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
)

// drawBin draws a bar of a histogram.
func drawBin(f *figure, b report.Bin, x, y scale) {
	if finite(b.Height) {
		from, to := x.at(b.From), x.at(b.To)
		f.add(mark{
			Kind:    "rect",
			Class:   "bar f7",
			X:       from,
			Y:       y.at(b.Height),
			W:       max(0, to-from-0.5),
			H:       y.a - y.at(b.Height),
			Opacity: 0.45,
			Tip:     b.Tip,
		})
	}
}

// The contours around a share s of a plane normal distribution have the radius √(−2 ln(1−s)).
var radii = []float64{math.Sqrt(2 * math.Ln2), math.Sqrt(-2 * math.Log(0.05))}

// around is where the outer contour ends on an axis with that mean and variance.
func around(mean, variance float64) []float64 {
	r := radii[1] * math.Sqrt(variance)
	return []float64{mean - r, mean + r}
}

// drawPlane draws ellipses, points on top of them, and names on top of those.
func drawPlane(f *figure, p panel, x, y scale) {
	if len(p.Ellipses)+len(p.Points) == 0 {
		return
	}
	for _, t := range x.ticks(false) {
		f.line("rule", x.at(t.Value), y.a, x.at(t.Value), y.b)
	}
	for _, e := range p.Ellipses {
		drawEllipse(f, e, x, y)
	}
	const many = 500
	radius := 2.2
	if len(p.Points) > many {
		radius = 1.6
	}
	for _, one := range p.Points {
		if finite(one.X, one.Y) {
			f.point(one, x.at(one.X), y.at(one.Y), radius)
		}
	}
	for _, e := range p.Ellipses {
		if finite(e.X, e.Y) {
			f.text("tag", x.at(e.X), y.at(e.Y)+4, e.Name)
		}
	}
}

// drawEllipse goes around the contours: with LLᵀ the covariance, mean + r L (cos t, sin t)ᵀ.
func drawEllipse(f *figure, e report.Ellipse, x, y scale) {
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

// point draws a row in the colour and the shape of its group.
func (f *figure) point(one report.Point, x, y, radius float64) {
	m := mark{Kind: "circle", Class: "row f" + tint(one.Group), X: x, Y: y, W: radius, Tip: one.Tip}
	var corners path
	switch shape(one.Group) {
	case "dot":
		f.add(m)
		return
	case "square":
		corners.polygon(x, y, [2]float64{-radius, -radius}, [2]float64{radius, -radius}, [2]float64{radius, radius},
			[2]float64{-radius, radius})
	case "diamond":
		corners.polygon(x, y, [2]float64{0, -1.4 * radius}, [2]float64{1.4 * radius, 0}, [2]float64{0, 1.4 * radius},
			[2]float64{-1.4 * radius, 0})
	default:
		corners.polygon(x, y, [2]float64{0, -1.3 * radius}, [2]float64{1.3 * radius, radius},
			[2]float64{-1.3 * radius, radius})
	}
	f.add(mark{Kind: "path", Class: m.Class, D: corners.String(), Tip: m.Tip})
}

// polygon goes around the corners, which are offsets from a point.
func (p *path) polygon(x, y float64, corners ...[2]float64) {
	for _, c := range corners {
		p.to(x+c[0], y+c[1])
	}
	p.WriteString("Z")
}
