package reproduce

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// vbfeFig62 maps the generalisation error and the free energy over (a, b).
func vbfeFig62() *Experiment {
	return Define(Info{
		Name:   "vbfe-fig6.2",
		Title:  "Variational generalisation error over the hyperparameters",
		Source: kaji + "section 6.2.1, figure 6.2",
		About: fig61About +
			" The generalisation error is the exact divergence KL(p*‖p) of the predictive distribution from the truth.",
		Revision: 1,
	}, fig61Jobs, fig62Conclude)
}

func fig62Conclude(s *Settings, trials []fig61Trial) (*Outcome, error) {
	loss, deviation := fig61Mean(s, trials, func(t fig61Trial) [][]float64 { return t.Error })
	free, _ := fig61Mean(s, trials, func(t fig61Trial) [][]float64 { return t.Free })
	table := Table{
		Name:   "generalisation",
		About:  "KL(p*‖p) in nats a row, mean and standard deviation over the trials, and the mean of F̄ − N·S(X) in nats",
		Header: []string{"a", "b", "error", "sd", "free_energy"},
	}
	var losses, frees []float64
	for i, a := range loss.X {
		for j, b := range loss.Y {
			table.Add(a, b, loss.Values[i][j], deviation[i][j], free.Values[i][j])
			losses, frees = append(losses, loss.Values[i][j]), append(frees, free.Values[i][j])
		}
	}
	correlation := stat.Correlation(ranks(losses), ranks(frees), nil)
	bi, bj := loss.least()
	fi, fj := free.least()
	best, chosen := loss.Values[bi][bj], loss.Values[fi][fj]
	one := slices.Index(loss.Y, 1)
	low, high := loss.bounds()
	advised := loss.Values[0][one]
	var column []float64 // at small a, b from a third to three
	for i, a := range loss.X {
		for j, b := range loss.Y {
			if a <= 1 && b >= 0.5 && b <= 2 {
				column = append(column, loss.Values[i][j])
			}
		}
	}
	out := &Outcome{Tables: []Table{table}, Statements: []Statement{
		{Paper: "The free energy behaves almost as the generalisation error does.", Agrees: correlation >= 0.7,
			Measured: fmt.Sprintf("rank correlation of the two over the grid: %.2f", correlation)},
		{
			Central: true,
			Paper:   "Minimum free energy is an appropriate criterion for the hyperparameters.",
			Agrees:  chosen <= best+0.25*(high-low),
			Measured: fmt.Sprintf(
				"the least free energy is at (%.3g, %.3g), with an error of %.4f nats a row; the least error is "+
					"%.4f, at (%.3g, %.3g), the largest %.4f", loss.X[fi], loss.Y[fj], chosen, best, loss.X[bi], loss.Y[bj], high,
			),
		},
		{Paper: "(a, b) = (small, 1) makes the error small.", Agrees: advised <= best+0.25*(high-low),
			Measured: fmt.Sprintf("%.4f nats a row at (%.3g, %.3g)", advised, loss.X[0], loss.Y[one])},
		{
			Paper:  "The error is stable in the region of small a around b = 1.",
			Agrees: slices.Max(column)-slices.Min(column) <= 0.5*(high-low),
			Measured: fmt.Sprintf("for a ≤ 1 and b from 0.5 to 2 it goes from %.4f to %.4f, over the whole grid from "+
				"%.4f to %.4f", slices.Min(column), slices.Max(column), low, high),
		},
	}}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  30 * vg.Centimeter,
		Height: 9 * vg.Centimeter,
		Plots: [][]*plot.Plot{{fig61Map("generalisation error", "nats a row",
			loss), fig61Map("free energy", "F − N·S(X), nats", free), fig62Scatter(losses, frees)}},
		Caption: "Left: mean generalisation error over (a, b). Middle: mean free energy. Right: one against the " +
			"other, a point a pair (a, b). Dashed: the borders of the phases.",
	}}
	return out, nil
}

func fig62Scatter(losses, frees []float64) *plot.Plot {
	p := chart("one against the other", "F − N·S(X), nats", "generalisation error, nats a row")
	p.X.Tick.Marker = every(25)
	marks(p, frees, losses, draw.CircleGlyph{}, 2, func(int) color.Color { return palette[0] })
	return p
}

// ranks numbers values from the least to the largest; equal ones share their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}
