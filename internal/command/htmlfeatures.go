package command

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// sections draw what each feature adds, and which features rows have together.
func (v featuresView) sections(*input) ([]report.Section, error) {
	return slices.Concat(v.additions(), v.together()), nil
}

// axes are the features, whose strength is what each adds in standard deviations of the column under the model, ±2 at the ends.
func (v featuresView) axes() axes.Axes {
	a := axes.Axes{Noun: "feature", Names: v.names, K: v.K, Loadings: v.Loadings, Shares: v.On}
	for j := range v.D {
		for _, w := range v.Loadings[j*v.K : (j+1)*v.K] {
			a.Strength = append(a.Strength, max(-1, min(1, w/v.spread(j)/2)))
		}
	}
	return a
}

// signal is the variance that features give column j.
func (v featuresView) signal(j int) (sum float64) {
	for k, on := range v.On {
		w := v.Loadings[j*v.K+k]
		sum += on * (1 - on) * w * w
	}
	return sum
}

// spread is the standard deviation of column j under the model.
func (v featuresView) spread(j int) float64 { return math.Sqrt(v.signal(j) + v.NoiseOf(j)) }

// finding says how many features there are, and of each how many rows have it and what it adds to them.
func (v featuresView) finding(in *input) (report.Section, error) {
	a := v.axes()
	list := report.Section{Text: fmt.Sprintf("%s: a row has any of them, and is the sum of what each that it has adds to a row without.", capital(counted(v.K, "feature"))) +
		leftOut(v.K-wording.MostItems, "feature", "of less variance")}
	for k := range min(v.K, wording.MostItems) {
		list.Items = append(list.Items, report.Item{Group: k, Name: fmt.Sprintf("Feature %d", k+1), Share: v.On[k],
			Size: report.Percentage(v.On[k]) + " of the rows", Text: a.About(k, "Rows that have it")})
	}
	return list, nil
}

// additions is W: a cell's colour is what a feature adds in standard deviations of the column under the model.
func (v featuresView) additions() []report.Section {
	a := v.axes()
	explained := make([]float64, v.D)
	for j := range explained {
		explained[j] = v.signal(j) / (v.signal(j) + v.NoiseOf(j))
	}
	columns, k := a.Sorted(chosen(explained, mostProfiles)), min(v.K, mostRows)
	about := "What a feature adds to each column, in its units; the colour is the same in standard deviations of the column under the model. Columns stand by the feature that changes them most." +
		leftOut(v.D-len(columns), "column", "which the features explain least") + leftOut(v.K-k, "weaker feature", "")
	heat := a.Heat("What features add", about, columns, k, func(j, l int) string {
		w := v.Loadings[j*v.K+l]
		return fmt.Sprintf("%s (%+.2f sd)", wording.Signed(w), w/v.spread(j))
	})
	table := a.Cells("what each feature adds to each column", columns, k, func(j, l int) any { return v.Loadings[j*v.K+l] })
	table.Low, table.High = "−2 sd", "2 sd"
	table.Columns = append(table.Columns, report.Columns("without any", "noise sd")...)
	for i, j := range columns {
		table.Rows[i] = append(table.Rows[i], report.Of(v.Offset[j]), report.Of(math.Sqrt(v.NoiseOf(j))))
	}
	rows := []any{"share of the rows"}
	for _, on := range v.On[:k] {
		rows = append(rows, report.Share(on))
	}
	table.Add(append(rows, "", "")...)
	list := section("What features add", heat, table)
	a.Place(&list[0], about)
	return list
}

// together shows which features rows have together more or less often than by chance.
func (v featuresView) together() []report.Section {
	k := min(v.K, mostRows)
	about := "The share of the rows that have two features, and on the diagonal each. The colour is the correlation of the two over the rows: the model takes them for independent." + leftOut(v.K-k, "weaker feature", "")
	heat := report.Heat{Title: "Features together", Rows: numbered("", k), Columns: numbered("", k), ColumnsName: "feature", Low: "−1", High: "1", About: about}
	table := report.Table{Caption: "shares of rows that have two features", Columns: append(report.Columns("feature"), report.Classes(numbered("feature ", k)...)...), Open: k <= mostShaded, Low: "−1", High: "1"}
	for i := range k {
		row, shades, texts := []any{i + 1}, []float64{}, []string{}
		for j := range k {
			part, shade := v.Together[i][j], 0.0
			text := report.Percentage(part) + " of the rows"
			if i != j {
				shade = v.correlation(i, j)
				text = fmt.Sprintf("%s, correlation %.3f", text, shade)
			}
			row, shades, texts = append(row, report.Shaded(report.Share(part), shade)), append(shades, shade), append(texts, text)
		}
		heat.Shade, heat.Texts = append(heat.Shade, shades), append(heat.Texts, texts)
		table.Add(row...)
	}
	if k > mostShaded {
		return section(heat.Title, heat, table)
	}
	list := section(heat.Title, nil, table)
	v.axes().Place(&list[0], about)
	return list
}
