package reproduce

import (
	"context"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/latent-go/latent/models/bernmix"
)

const (
	fig51K = 4
	fig51N = 1e6
	// fig51Margin is how much less, in units of ln N, the cheapest state of a redundant
	// component has to cost than the next for a point to count as off the borders.
	fig51Margin = 0.25
)

// fig51Point is what became of K components at one (a, b).
type fig51Point struct {
	A, B                      float64
	Stochastic, Deterministic int
}

// vbfeFig51 puts measured points on the phase diagram.
func vbfeFig51() *Experiment {
	return Define(Info{
		Name:   "vbfe-fig5.1",
		Title:  "Phase diagram of redundant components, with measured points",
		Source: kaji + "Theorem 5.1.2 and figure 5.1",
		About: fmt.Sprintf(`What becomes of the components that the truth does not need, by the hyperparameters a (of the mixing ratio) and b (of the Bernoulli probabilities). The figure of the thesis is drawn from the theorem. Here the regions are the theorem's, for
M = 4 columns, and the points are fits: a truth of one stochastic and one deterministic component, K = %d, data in their exact proportions with N = 10⁶, and the solution of least free energy over all ways to begin with the true components shared among those of the fit.
Components with less than a thousandth of the rows count as empty, and those in which less than a fiftieth of the rows disagree in any column as deterministic.`, fig51K),
		Revision: 1,
	}, func(s *Settings) ([]Job[fig51Point], error) {
		as, bs := fig51Grid(s)
		return overGrid(as, bs, fig51Fit), nil
	}, fig51Conclude)
}

func fig51Grid(s *Settings) (as, bs []float64) {
	step := 1
	if s.Quick {
		step = 3
	}
	for i := 0; i < 16; i += step {
		as = append(as, 0.25+0.5*float64(i))
	}
	for j := 0; j < 12; j += step {
		bs = append(bs, (5+10*float64(j))/100)
	}
	return as, bs
}

func fig51Fit(ctx context.Context, a, b float64) (fig51Point, error) {
	point := fig51Point{A: a, B: b}
	src, err := edgeLaw.proportions(fig51N)
	if err != nil {
		return point, err
	}
	res, err := edgeLaw.settle(ctx, a, b, fig51K, src)
	if err != nil {
		return point, err
	}
	for _, c := range vbComponents(res.Parameters, a, b) {
		switch c.kind(fig51N) {
		case stochastic:
			point.Stochastic++
		case deterministic:
			point.Deterministic++
		}
	}
	return point, nil
}

// phase is the one that the point was found in; Critical stands for anything else.
func (p fig51Point) phase() bernmix.Phase {
	truth := edgeLaw.truth()
	for _, phase := range []bernmix.Phase{
		bernmix.NoRedundant, bernmix.DeterministicRedundant, bernmix.StochasticRedundant,
	} {
		k, d, err := phase.Components(truth, fig51K)
		if err == nil && k == p.Stochastic && d == p.Deterministic {
			return phase
		}
	}
	return bernmix.Critical
}

// margin is by how much, in units of ln N, the cheapest state of a redundant component
// undercuts the next.
func (p fig51Point) margin() float64 {
	h := bernmix.Hyperparameters{A: p.A, B: p.B, M: edgeLaw.columns()}
	costs := []float64{0, h.DeterministicCost(), h.StochasticCost()}
	slices.Sort(costs)
	return costs[1] - costs[0]
}

func fig51Conclude(_ *Settings, points []fig51Point) (*Outcome, error) {
	m := edgeLaw.columns()
	table := Table{Name: "points", About: "components that hold rows, by kind, the phase that they amount to, that " +
		"of Theorem 5.1.2, and how far the point is from its border, in units of ln N",
		Header: []string{"a", "b", "stochastic", "deterministic", "measured", "theorem", "margin"}}
	phases := []bernmix.Phase{bernmix.NoRedundant, bernmix.DeterministicRedundant, bernmix.StochasticRedundant}
	hits, of := make([]int, len(phases)), make([]int, len(phases))
	nearHits, near := 0, 0
	printed, printedOf := 0, 0
	var wrong []string
	for _, p := range points {
		theorem, err := bernmix.Hyperparameters{A: p.A, B: p.B, M: m}.Phase()
		if err != nil {
			return nil, err
		}
		found := p.phase()
		measured := found.String()
		if found == bernmix.Critical {
			measured = "other"
		}
		table.Add(p.A, p.B, p.Stochastic, p.Deterministic, measured, theorem, p.margin())
		if p.A < (float64(m)+1)/2 && p.B > p.A/float64(m)-0.5 && p.B < (p.A-0.5)/float64(m) {
			printedOf++
			if found == bernmix.NoRedundant {
				printed++
			}
		}
		if theorem == bernmix.Critical {
			continue
		}
		if p.margin() < fig51Margin {
			near++
			if found == theorem {
				nearHits++
			}
			continue
		}
		of[theorem]++
		if found == theorem {
			hits[theorem]++
		} else {
			wrong = append(wrong,
				fmt.Sprintf("(%g, %g): %d stochastic, %d deterministic", p.A, p.B, p.Stochastic, p.Deterministic))
		}
	}
	out := &Outcome{Tables: []Table{table}}
	for i, text := range []string{
		"Redundant components empty where a < (M+1)/2 and a < ½ + Mb (case 1).",
		"All are kept and are deterministic where a > ½ + Mb and b < ½ (cases 2 and 4b).",
		"All are kept and are stochastic where a > (M+1)/2 and b > ½ (cases 3 and 4a).",
	} {
		out.Statements = append(out.Statements, Statement{
			Central:  true,
			Paper:    text,
			Agrees:   of[i] > 0 && float64(hits[i]) >= 0.95*float64(of[i]),
			Measured: fmt.Sprintf("%d of %d points that are off the borders by %g ln N", hits[i], of[i], fig51Margin),
		})
	}
	out.Statements = append(out.Statements, Statement{Paper: "Corollary 5.1.1 as printed puts the border of case 1 " +
		"at b = a/M − ½, lower than the theorem's b = a/M − 1/(2M).", Agrees: printedOf > 0 && 2*printed > printedOf,
		Measured: fmt.Sprintf("between the two lines redundant components are empty at %d of %d points", printed, printedOf)})
	out.Remarks = fmt.Sprintf("Nearer to a border the terms that do not grow with N decide: there %d of %d points "+
		"are in the theorem's phase.", nearHits, near)
	if len(wrong) > 0 {
		out.Remarks += " Other points that are not: " + strings.Join(wrong, "; ") + "."
	}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  17 * vg.Centimeter,
		Height: 12 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{fig51Plot(points)}},
		Caption: "Phases of the theorem (areas) and of fits (points: circles, no redundant components; squares, all " +
			"deterministic; triangles, all stochastic; crosses, anything else), M = 4.",
	}}
	return out, nil
}

// fig51Plot is the phase diagram.
func fig51Plot(points []fig51Point) *plot.Plot {
	m := float64(edgeLaw.columns())
	last := points[len(points)-1]
	right, top := last.A+0.25, last.B+0.1
	p := chart(fmt.Sprintf("Phases of redundant components, M = %g, K = %d", m, fig51K), "a", "b")
	corner := (m + 1) / 2
	for _, area := range []struct {
		phase  bernmix.Phase
		border plotter.XYs
	}{
		{bernmix.NoRedundant, plotter.XYs{
			{X: 0, Y: 0}, {X: 0.5, Y: 0}, {X: corner, Y: 0.5}, {X: corner, Y: top}, {X: 0, Y: top},
		}},
		{bernmix.DeterministicRedundant, plotter.XYs{
			{X: 0.5, Y: 0}, {X: right, Y: 0}, {X: right, Y: 0.5}, {X: corner, Y: 0.5},
		}},
		{bernmix.StochasticRedundant, plotter.XYs{
			{X: corner, Y: 0.5}, {X: right, Y: 0.5}, {X: right, Y: top}, {X: corner, Y: top},
		}},
	} {
		shade, err := plotter.NewPolygon(area.border)
		if err != nil {
			panic(err)
		}
		r, g, b, _ := palette[area.phase].RGBA()
		pale := func(v uint32) uint8 { return uint8(255 - (255-v>>8)/4) }
		shade.Color, shade.LineStyle = color.RGBA{pale(r), pale(g), pale(b), 255}, draw.LineStyle{
			Color: color.Gray{100}, Width: vg.Points(0.7),
		}
		p.Add(shade)
	}
	shapes := []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}}
	for phase := bernmix.NoRedundant; phase <= bernmix.Critical; phase++ {
		var xs, ys []float64
		for _, point := range points {
			if point.phase() == phase {
				xs, ys = append(xs, point.A), append(ys, point.B)
			}
		}
		tint := palette[phase]
		if phase == bernmix.Critical {
			tint = color.Black
		}
		if len(xs) > 0 {
			marks(p, xs, ys, shapes[phase], 3, func(int) color.Color { return tint })
		}
	}
	note(p, corner/2, top-0.05, "no redundant components", color.Black)
	note(p, (corner+right)/2, top-0.05, "redundant components are stochastic", color.Black)
	note(p, (corner+right)/2, 0.1, "redundant components are deterministic", color.Black)
	p.X.Tick.Marker, p.Y.Tick.Marker = every(1), every(0.25)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, right, 0, top
	return p
}
