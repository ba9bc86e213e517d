package reproduce

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/latent-go/latent/internal/ticks"
)

// palette is that of Okabe & Ito, which people with any colour vision can distinguish.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{128, 128, 128, 255},
}

// chart is an empty plot in the common style.
func chart(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size, p.Title.Padding = 11, 4
	p.X.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size = 10, 10
	p.Legend.TextStyle.Font.Size = 9
	p.Legend.Top, p.Legend.ThumbnailWidth, p.Legend.Padding = true, 18, 2
	p.BackgroundColor = color.White
	p.X.Tick.Marker, p.Y.Tick.Marker = labelled{}, labelled{}
	return p
}

// labelled are gonum's ticks, with labels that give their values.
type labelled struct{}

// Ticks places them.
func (labelled) Ticks(low, high float64) []plot.Tick {
	list := plot.DefaultTicks{}.Ticks(low, high)
	var majors []int
	var values []float64
	for i, t := range list {
		if !t.IsMinor() {
			majors, values = append(majors, i), append(values, t.Value)
		}
	}
	for i, label := range ticks.Labels(values) {
		list[majors[i]].Label = label
	}
	return list
}

// A series is a curve over x; where Spread is given, with error bars of that half length.
// NaN leaves a point out.
type series struct {
	Name   string
	X, Y   []float64
	Spread []float64
	Points bool // glyphs too
	Dashed bool
}

// draw adds curves to a plot, each with its colour, its glyph and its entry in the legend.
func (s series) draw(p *plot.Plot, place int) {
	var xys plotter.XYs
	var spread plotter.YErrors
	for i := range s.X {
		if math.IsNaN(s.Y[i]) || math.IsInf(s.Y[i], 0) {
			continue
		}
		xys = append(xys, plotter.XY{X: s.X[i], Y: s.Y[i]})
		if s.Spread != nil {
			spread = append(spread, struct{ Low, High float64 }{s.Spread[i], s.Spread[i]})
		}
	}
	if len(xys) == 0 {
		return
	}
	tint := palette[place%len(palette)]
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		panic(err) // NaN was left out
	}
	line.Color, line.Width = tint, vg.Points(1.2)
	if s.Dashed {
		line.Dashes = []vg.Length{4, 3}
	}
	glyphs := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{},
	}
	points.Color, points.Radius, points.Shape = tint, vg.Points(2), glyphs[place%len(glyphs)]
	p.Add(line)
	entry := []plot.Thumbnailer{line}
	if s.Points {
		p.Add(points)
		entry = append(entry, points)
	}
	if spread != nil {
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{xys, spread})
		if err != nil {
			panic(err)
		}
		bars.Color, bars.CapWidth = tint, 3
		p.Add(bars)
	}
	if s.Name != "" {
		p.Legend.Add(s.Name, entry...)
	}
}
