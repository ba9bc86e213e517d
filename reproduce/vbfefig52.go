package reproduce

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/latent-go/latent/models/bernmix"
)

const (
	fig52K = 3
	// fig52Low and fig52High are the N between which the coefficient of ln N is measured.
	fig52Low, fig52High = 1e5, 1e7
	// fig52Near is how near to the theorem's coefficient a measured one counts as its own: what is
	// O(1) in the free energy still moves a little at these N.
	fig52Near = 0.25
)

// fig52Law has K₁* = 1, ΔK* = 1 and M = 3, as figure 5.2.
var fig52Law = bernoulliLaw{[]float64{0.6, 0.4}, []float64{0.7, 0.3, 0.6, 1, 1, 0}}

// fig52Point is the coefficient of ln N measured at one (a, b).
type fig52Point struct {
	A, B, Slope float64
}

// vbfeFig52 compares the coefficient of ln N with the theorem's.
func vbfeFig52() *Experiment {
	return Define(Info{
		Name:   "vbfe-fig5.2",
		Title:  "Coefficient of ln N in the variational free energy",
		Source: kaji + "Theorem 5.1.1, Corollary 5.1.1 and figure 5.2",
		About: `The coefficient of ln N in F̄ − N·S(X) over the hyperparameters a and b, for a truth of one stochastic and one deterministic component on M = 3 columns and K = 3. The figure of the thesis is drawn from the corollary. Here it is measured too: data are in their exact
proportions, the solution is that of least free energy over all ways to begin with the true components shared among those of the fit, and the coefficient is the slope between N = 10⁵ and N = 10⁷.`,
		Revision: 1,
	}, func(s *Settings) ([]Job[fig52Point], error) {
		as, bs := fig52Grid(s)
		return overGrid(as, bs, fig52Fit), nil
	}, fig52Conclude)
}

func fig52Grid(s *Settings) (as, bs []float64) {
	if s.Quick {
		return []float64{0.25, 1.25, 3.25}, []float64{0.05, 0.2, 0.8}
	}
	return []float64{0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75}, []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.2}
}

func fig52Fit(ctx context.Context, a, b float64) (fig52Point, error) {
	var free [2]float64
	for i, n := range []float64{fig52Low, fig52High} {
		src, err := fig52Law.proportions(n)
		if err != nil {
			return fig52Point{}, err
		}
		entropy, err := fig52Law.entropy(src)
		if err != nil {
			return fig52Point{}, err
		}
		res, err := fig52Law.settle(ctx, a, b, fig52K, src)
		if err != nil {
			return fig52Point{}, err
		}
		free[i] = -res.Value - entropy
	}
	return fig52Point{a, b, (free[1] - free[0]) / math.Log(fig52High/fig52Low)}, nil
}

// fig52Printed is the corollary's coefficient at (a, b) in the region that the thesis
// prints for its case 1, and NaN elsewhere.
func fig52Printed(h bernmix.Hyperparameters, truth bernmix.Truth) float64 {
	if m := float64(h.M); !(h.A < (m+1)/2 && h.B > h.A/m-0.5) {
		return math.NaN()
	}
	v, err := h.Coefficient(truth.Stochastic, truth.Deterministic, fig52K)
	if err != nil {
		return math.NaN()
	}
	return v
}

func fig52Conclude(_ *Settings, points []fig52Point) (*Outcome, error) {
	truth := fig52Law.truth()
	table := Table{Name: "coefficients", About: "coefficient of ln N: measured, and of Theorem 5.1.1 at the K₁ and " +
		"ΔK of Theorem 5.1.2; and what is known to keep the free energy from the theorem's",
		Header: []string{"a", "b", "measured", "theorem", "exception"}}
	inside, blurred, corner := spread{}, spread{}, 0
	asPrinted := 0
	edgeCost := spread{}
	for _, p := range points {
		h := bernmix.Hyperparameters{A: p.A, B: p.B, M: fig52Law.columns()}
		want, err := h.Lambda(truth, fig52K)
		if err != nil {
			return nil, err
		}
		exception := ""
		switch reason := h.Scope(truth, fig52K); {
		case reason == nil:
			inside.add(p.Slope - want)
		case errors.Is(reason, bernmix.ErrBlurredEdge):
			exception = "blurred edge"
			blurred.add(p.Slope - want)
			// A deterministic component costs M(b/2 + ¼) there and not Mb.
			edgeCost.add(p.Slope - want + float64(h.M)*(p.B/2-0.25)*float64(truth.Deterministic))
		default:
			return nil, reason
		}
		table.Add(p.A, p.B, p.Slope, want, exception)
		if printed := fig52Printed(h, truth); !math.IsNaN(printed) && math.Abs(printed-want) > 2*fig52Near {
			corner++
			if math.Abs(p.Slope-printed) < math.Abs(p.Slope-want) {
				asPrinted++
			}
		}
	}
	out := &Outcome{Tables: []Table{table}, Statements: []Statement{
		{
			Central: true,
			Paper:   "F̄ − N·S(X) grows as (g₁K₁ + g₂ΔK + Ka − ½) ln N, K₁ and ΔK being those of the phase; b < ½.",
			Agrees:  inside.n > 0 && inside.largest <= fig52Near,
			Measured: fmt.Sprintf("at %d points with b < ½ the measured coefficient differs by %.2g at most, %.2g on average",
				inside.n, inside.largest, inside.mean()),
		},
		{
			Paper:  "The same, b > ½.",
			Agrees: blurred.n > 0 && blurred.largest <= fig52Near,
			Measured: fmt.Sprintf(
				"at %d points with b > ½ the measured coefficient differs by up to %.3f, %.3f on average; from the "+
					"coefficient in which a deterministic entry costs b/2 + ¼ and not b, by %.3f at most", blurred.n,
				blurred.largest, blurred.mean(), edgeCost.largest,
			),
		},
		{
			Paper:  "Corollary 5.1.1 as printed has the coefficient of case 1 wherever a < (M+1)/2 and b > a/M − ½.",
			Agrees: corner > 0 && asPrinted == corner,
			Measured: fmt.Sprintf("where that differs from the theorem by more than %g, the printed one is the "+
				"nearer at %d of %d points", 2*fig52Near, asPrinted, corner),
		},
	},
		Remarks: "The corollary's border follows from the theorem as b > a/M − 1/(2M). Beside a stochastic " +
			"component, which makes every pattern, probabilities of a deterministic one may leave 0 or 1 by O(1/√N) " +
			"without loss of likelihood, and for b > ½ that is cheaper."}
	surface, err := fig52Surface(points)
	if err != nil {
		return nil, err
	}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  26 * vg.Centimeter,
		Height: 11 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{surface, fig52Profile(points)}},
		Caption: "Left: coefficient of ln N of the theorem (areas, lines of equal value) with measured ones (discs) " +
			"in the same colours; a disc that shows differs from the theorem. Right: measured (points) and the " +
			"theorem's (lines) against a, for some b. K₁* = 1, ΔK* = 1, K = 3, M = 3.",
	}}
	return out, nil
}

// spread keeps what is said of differences.
type spread struct {
	n       int
	sum     float64
	largest float64 // absolute
}

func (s *spread) add(v float64) {
	s.n++
	s.sum += v
	s.largest = max(s.largest, math.Abs(v))
}

func (s *spread) mean() float64 { return s.sum / float64(max(s.n, 1)) }

// fig52Surface is the surface, seen from above.
func fig52Surface(points []fig52Point) (*plot.Plot, error) {
	last := points[len(points)-1]
	var g grid
	const steps = 160
	for i := range steps {
		g.X = append(g.X, (float64(i)+0.5)/steps*(last.A+0.2))
		g.Y = append(g.Y, (float64(i)+0.5)/steps*(last.B+0.1))
	}
	for _, a := range g.X {
		var column []float64
		for _, b := range g.Y {
			v, err := bernmix.Hyperparameters{A: a, B: b, M: fig52Law.columns()}.Lambda(fig52Law.truth(), fig52K)
			if err != nil {
				return nil, err
			}
			column = append(column, v)
		}
		g.Values = append(g.Values, column)
	}
	p := chart("Coefficient of ln N", "a", "b")
	low, high := g.bounds()
	scale := colours(low, high)
	g.heat(p, scale, color.White)
	var levels []float64
	for v := math.Ceil(low); v < high; v++ {
		levels = append(levels, v)
	}
	g.contours(p, levels, color.White)
	m := float64(fig52Law.columns())
	border, err := plotter.NewLine(plotter.XYs{{
		X: 0.5, Y: 0,
	}, {X: (m + 1) / 2, Y: 0.5}, {X: (m + 1) / 2, Y: g.Y[steps-1]}, {X: (m + 1) / 2, Y: 0.5}, {X: g.X[steps-1], Y: 0.5}})
	if err != nil {
		return nil, err
	}
	border.LineStyle = draw.LineStyle{Color: color.Black, Width: vg.Points(1), Dashes: []vg.Length{4, 3}}
	p.Add(border, colourBar{scale, "coefficient of ln N"})
	var xs, ys []float64
	for _, point := range points {
		xs, ys = append(xs, point.A), append(ys, point.B)
	}
	marks(p, xs, ys, draw.CircleGlyph{}, 4.5, func(i int) color.Color { return tint(scale, points[i].Slope) })
	p.X.Tick.Marker, p.Y.Tick.Marker = every(1), every(0.25)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, last.A+0.2, 0, last.B+0.1
	return p, nil
}

// fig52Profile cuts the surface at some b.
func fig52Profile(points []fig52Point) *plot.Plot {
	p := chart("Cuts", "a", "coefficient of ln N")
	last := points[len(points)-1]
	place := 0
	for _, b := range []float64{0.05, 0.2, 0.4, 0.8, 1.2} {
		var xs, ys, as, lambdas []float64
		for _, point := range points {
			if point.B == b {
				xs, ys = append(xs, point.A), append(ys, point.Slope)
			}
		}
		if len(xs) == 0 {
			continue
		}
		for a := 0.05; a <= last.A+0.2; a += 0.05 {
			v, err := bernmix.Hyperparameters{A: a, B: b, M: fig52Law.columns()}.Lambda(fig52Law.truth(), fig52K)
			if err == nil {
				as, lambdas = append(as, a), append(lambdas, v)
			}
		}
		series{Name: fmt.Sprintf("b = %g", b), X: as, Y: lambdas}.draw(p, place)
		shade := palette[place]
		marks(p, xs, ys, draw.CircleGlyph{}, 2.5, func(int) color.Color { return shade })
		place++
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = every(1), every(1)
	p.Legend.Left, p.X.Min = true, 0
	return p
}
