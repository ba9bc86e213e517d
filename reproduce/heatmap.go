package reproduce

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	ramps "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colours runs from dark to light in even steps of luminance, through the hues of viridis
// (Smith & van der Walt 2015).
func colours(low, high float64) ramps.ColorMap {
	return ramp(low, high, color.RGBA{68, 1, 84, 255}, color.RGBA{59, 82, 139, 255}, color.RGBA{33, 145, 140, 255},
		color.RGBA{94, 201, 98, 255}, color.RGBA{253, 231, 37, 255})
}

// greys runs from black at low to white at high.
func greys(low, high float64) ramps.ColorMap { return ramp(low, high, color.Black, color.White) }

func ramp(low, high float64, list ...color.Color) ramps.ColorMap {
	m, err := moreland.NewLuminance(list)
	if err != nil {
		panic(err) // the luminance does not rise
	}
	if !(high > low) {
		high = low + 1
	}
	m.SetMin(low)
	m.SetMax(high)
	return m
}

// tint is the colour of a value, that of the nearer end outside the range.
func tint(m ramps.ColorMap, v float64) color.Color {
	c, err := m.At(min(max(v, m.Min()), m.Max()))
	if err != nil {
		panic(err) // NaN
	}
	return c
}

// A grid is a table of values over two axes: Values[i][j] at X[i], Y[j].
type grid struct {
	X, Y   []float64
	Values [][]float64
}

// bounds are the least and the largest value; NaN is ignored.
func (g grid) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range g.Values {
		for _, v := range row {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high
}

// least returns where the smallest value is.
func (g grid) least() (i, j int) {
	i, j = -1, -1
	for x, row := range g.Values {
		for y, v := range row {
			if !math.IsNaN(v) && (i < 0 || v < g.Values[i][j]) {
				i, j = x, y
			}
		}
	}
	return i, j
}

// peak returns the largest value that all eight neighbours are below; -1, -1 where there
// is none.
func (g grid) peak() (i, j int) {
	i, j = -1, -1
	for x := 1; x+1 < len(g.X); x++ {
		for y := 1; y+1 < len(g.Y); y++ {
			v, above := g.Values[x][y], true
			for _, step := range [][2]int{{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}} {
				above = above && v > g.Values[x+step[0]][y+step[1]]
			}
			if above && (i < 0 || v > g.Values[i][j]) {
				i, j = x, y
			}
		}
	}
	return i, j
}

// tabulated is a grid as plotter wants it.
type tabulated struct{ grid }

func (t tabulated) Dims() (c, r int)   { return len(t.grid.X), len(t.grid.Y) }
func (t tabulated) X(c int) float64    { return t.grid.X[c] }
func (t tabulated) Y(r int) float64    { return t.grid.Y[r] }
func (t tabulated) Z(c, r int) float64 { return t.Values[c][r] }

// heat draws the grid: each value as a cell whose borders are half-way to its neighbours,
// NaN in the colour none. Grids of many cells are drawn as a picture.
func (g grid) heat(p *plot.Plot, m ramps.ColorMap, none color.Color) {
	if len(g.X)*len(g.Y) <= 10000 {
		p.Add(cells{g, m, none})
		return
	}
	h := plotter.NewHeatMap(tabulated{g}, m.Palette(256))
	h.Min, h.Max, h.NaN, h.Rasterized = m.Min(), m.Max(), none, true
	h.Underflow, h.Overflow = tint(m, m.Min()), tint(m, m.Max())
	p.Add(h)
}

// cells draws a grid as rectangles, those of one colour in a row of the grid as one.
type cells struct {
	grid
	m    ramps.ColorMap
	none color.Color
}

// edges are the borders of cells around the values of an axis.
func edges(axis []float64) []float64 {
	last := len(axis) - 1
	if last == 0 {
		return []float64{axis[0] - 0.5, axis[0] + 0.5}
	}
	list := []float64{axis[0] - (axis[1]-axis[0])/2}
	for i := range last {
		list = append(list, (axis[i]+axis[i+1])/2)
	}
	return append(list, axis[last]+(axis[last]-axis[last-1])/2)
}

// colour is that of one of 256 steps.
func (c cells) colour(v float64) color.Color {
	if math.IsNaN(v) {
		return c.none
	}
	low, high := c.m.Min(), c.m.Max()
	return tint(c.m, low+(high-low)*math.Round((v-low)/(high-low)*255)/255)
}

// Plot draws the cells; each reaches a little under the next, so that there are no seams.
func (c cells) Plot(canvas draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&canvas)
	xs, ys := edges(c.X), edges(c.Y)
	const lap = vg.Length(0.4)
	for j := range c.Y {
		bottom, top := toY(ys[j]), toY(ys[j+1])
		if j+1 < len(c.Y) && bottom < top {
			top += lap
		} else if j+1 < len(c.Y) {
			top -= lap
		}
		for i := 0; i < len(c.X); {
			fill, end := c.colour(c.Values[i][j]), i+1
			for end < len(c.X) && c.colour(c.Values[end][j]) == fill {
				end++
			}
			left, right := toX(xs[i]), toX(xs[end])
			if end < len(c.X) {
				right += lap
			}
			i = end
			canvas.FillPolygon(fill,
				[]vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
		}
	}
}

// DataRange is that of the cells.
func (c cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	xs, ys := edges(c.X), edges(c.Y)
	return min(xs[0], xs[len(xs)-1]), max(xs[0], xs[len(xs)-1]), min(ys[0], ys[len(ys)-1]), max(ys[0], ys[len(ys)-1])
}

// rule draws a thin grey line through points.
func rule(p *plot.Plot, points ...plotter.XY) {
	l, err := plotter.NewLine(plotter.XYs(points))
	if err != nil {
		panic(err) // NaN
	}
	l.LineStyle = draw.LineStyle{Color: color.Gray{128}, Width: vg.Points(0.5)}
	p.Add(l)
}

// contours draws lines of equal value.
func (g grid) contours(p *plot.Plot, levels []float64, c color.Color) {
	lines := plotter.NewContour(tabulated{g}, levels, nil)
	lines.LineStyles = []draw.LineStyle{{Color: c, Width: vg.Points(0.6)}}
	p.Add(lines)
}

// A colourBar is the legend of colours, on the right of a plot.
type colourBar struct {
	Map   ramps.ColorMap
	Label string
}

const barGap, barWidth, barText, barEnd = vg.Length(8), vg.Length(10), vg.Length(38), vg.Length(16)

// GlyphBoxes reserves the space.
func (b colourBar) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: barGap + barWidth + barText + barEnd}}}}
}

// Plot draws into it.
func (b colourBar) Plot(c draw.Canvas, p *plot.Plot) {
	const steps = 64
	left := c.Max.X + barGap
	low, high := b.Map.Min(), b.Map.Max()
	at := func(v float64) vg.Length { return c.Min.Y + vg.Length((v-low)/(high-low))*(c.Max.Y-c.Min.Y) }
	for i := range steps {
		from, to := low+(high-low)*float64(i)/steps, low+(high-low)*float64(i+1)/steps
		// A little overlap: no seams.
		c.FillPolygon(tint(b.Map, (from+to)/2), []vg.Point{{X: left, Y: at(from)}, {
			X: left + barWidth, Y: at(from),
		}, {X: left + barWidth, Y: min(at(to)+0.5, c.Max.Y)}, {X: left, Y: min(at(to)+0.5, c.Max.Y)}})
	}
	style := p.Y.Tick.Label
	style.XAlign, style.YAlign, style.Rotation = draw.XLeft, draw.YCenter, 0
	for _, t := range (labelled{}).Ticks(low, high) {
		if !t.IsMinor() {
			c.StrokeLine2(draw.LineStyle{Color: color.Black, Width: 0.5}, left+barWidth, at(t.Value),
				left+barWidth+3, at(t.Value))
			c.FillText(style, vg.Point{X: left + barWidth + 5, Y: at(t.Value)}, t.Label)
		}
	}
	style = p.Y.Label.TextStyle
	style.XAlign, style.YAlign, style.Rotation = draw.XCenter, draw.YBottom, math.Pi/2
	c.FillText(style, vg.Point{X: left + barWidth + barText - 2, Y: (c.Min.Y + c.Max.Y) / 2}, b.Label)
}

// powers labels an axis of decimal logarithms with the numbers themselves.
type powers struct{}

// Ticks are at powers of ten and, unlabelled, at their multiples.
func (powers) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(low); e <= high; e++ {
		for m := 1.0; m < 10; m++ {
			t := plot.Tick{Value: e + math.Log10(m)}
			if m == 1 {
				t.Label = strconv.FormatFloat(math.Pow(10, e), 'g', 3, 64)
			}
			if t.Value >= low-1e-9 && t.Value <= high+1e-9 {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// every is an axis with labels at the multiples of step.
func every(step float64) plot.TickerFunc {
	return func(low, high float64) (ticks []plot.Tick) {
		for i := math.Ceil(low/step-1e-9) + 0; i*step <= high+1e-9*step; i++ {
			ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 4, 64)})
		}
		return ticks
	}
}

// applied is f of every number.
func applied(f func(float64) float64, list []float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// marks draws points without a line between them, each in its colour.
func marks(
	p *plot.Plot, xs, ys []float64, shape draw.GlyphDrawer, radius float64, fill func(i int) color.Color,
) *plotter.Scatter {
	xys := make(plotter.XYs, len(xs))
	for i := range xs {
		xys[i] = plotter.XY{X: xs[i], Y: ys[i]}
	}
	s, err := plotter.NewScatter(xys)
	if err != nil {
		panic(err) // NaN or nothing
	}
	s.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		return draw.GlyphStyle{Color: fill(i), Radius: vg.Points(radius), Shape: shape}
	}
	p.Add(s)
	return s
}

// note writes into a plot.
func note(p *plot.Plot, x, y float64, text string, c color.Color) {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{text}})
	if err != nil {
		panic(err)
	}
	l.TextStyle[0].Color, l.TextStyle[0].Font = c, font.From(plot.DefaultFont, 9)
	l.TextStyle[0].XAlign, l.TextStyle[0].YAlign = draw.XCenter, draw.YCenter
	p.Add(l)
}

// profiles draws components beside each other, each a column of its probabilities from the
// first, on top, to the last: white is 1, black is 0, as in paper K. Labels stand below.
func profiles(p *plot.Plot, means [][]float64, labels []string) {
	m := len(means[0])
	g := grid{Values: means}
	var ticks plot.ConstantTicks
	for k := range means {
		g.X = append(g.X, float64(k+1))
		ticks = append(ticks, plot.Tick{Value: float64(k + 1), Label: labels[k]})
	}
	for j := range m {
		g.Y = append(g.Y, float64(m-j))
	}
	g.heat(p, greys(0, 1), color.White)
	p.X.Tick.Marker, p.X.Tick.Length = ticks, 0
	if len(means) > 5 {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, draw.XRight, draw.YCenter
	}
	var rows plot.ConstantTicks
	for j := range m {
		rows = append(rows, plot.Tick{Value: float64(m - j), Label: fmt.Sprint(j + 1)})
	}
	p.Y.Tick.Marker, p.Y.Tick.Length = rows, 0
	right, top := float64(len(means))+0.5, float64(m)+0.5
	for k := range len(means) + 1 {
		rule(p, plotter.XY{X: float64(k) + 0.5, Y: 0.5}, plotter.XY{X: float64(k) + 0.5, Y: top})
	}
	for j := range m + 1 {
		rule(p, plotter.XY{X: 0.5, Y: float64(j) + 0.5}, plotter.XY{X: right, Y: float64(j) + 0.5})
	}
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
}
