package main

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/internal/htmlreport"
)

// sections draw what each feature adds, and which features rows have together.
func (v featuresView) sections(*input) ([]htmlreport.Section, error) {
	return append(v.additions(), v.together()...), nil
}

// additions is W: a cell's colour is what a feature adds in standard deviations of the column under the model.
func (v featuresView) additions() []htmlreport.Section {
	spread, explained := make([]float64, v.D), make([]float64, v.D)
	for j := range v.D {
		signal := 0.0
		for k, on := range v.On {
			w := v.Loadings[j*v.K+k]
			signal += on * (1 - on) * w * w
		}
		spread[j] = math.Sqrt(signal + v.NoiseOf(j))
		explained[j] = signal / (signal + v.NoiseOf(j))
	}
	columns, k := chosen(explained, mostProfiles), min(v.K, mostRows)
	heat := htmlreport.Heat{
		Title: "What features add", Columns: numbered("", k), ColumnsName: "feature", Low: "−2 sd", High: "2 sd",
		About: "Rows are columns of the data, columns features. The colour is what a feature adds to the column, in standard deviations of it under the model; the numbers are in the units of the data." +
			leftOut(v.D-len(columns), "column", "which the features explain least") + leftOut(v.K-k, "weaker feature", ""),
	}
	table := sheet{caption: "what each feature adds to each column, to four digits", heads: []string{"feature", "share of rows"}, open: true}
	for _, j := range columns {
		table.heads = append(table.heads, printable(v.names[j]))
		var shades []float64
		var texts []string
		for l := range k {
			w := v.Loadings[j*v.K+l]
			shades, texts = append(shades, max(-1, min(1, w/spread[j]/2))), append(texts, fmt.Sprintf("%+.4g (%+.2f sd)", w, w/spread[j]))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, printable(v.names[j])), append(heat.Shade, shades), append(heat.Texts, texts)
	}
	line := func(name, share string, of func(j int) float64) {
		row := []any{name, share}
		for _, j := range columns {
			row = append(row, fmt.Sprintf("%.4g", of(j)))
		}
		table.add(row...)
	}
	line("none", "", func(j int) float64 { return v.Offset[j] })
	for l := range k {
		line(fmt.Sprint(l+1), percent(v.On[l]), func(j int) float64 { return v.Loadings[j*v.K+l] })
	}
	line("noise sd", "", func(j int) float64 { return math.Sqrt(v.NoiseOf(j)) })
	list := section(heat.Title, heat.Figure(), &table)
	list[0].Text = "A row is the sum of what it has with none of the features and what those that it has add to it, and noise."
	return list
}

// together shows which features rows have together more or less often than by chance.
func (v featuresView) together() []htmlreport.Section {
	k := min(v.K, mostRows)
	heat := htmlreport.Heat{
		Title: "Features together", Rows: numbered("", k), Columns: numbered("", k), ColumnsName: "feature", Low: "−1", High: "1",
		About: "The colour is the correlation of two features over the rows; the model takes them for independent. The numbers are the shares of rows that have both, and on the diagonal each." + leftOut(v.K-k, "weaker feature", ""),
	}
	table := sheet{caption: "shares of rows that have two features", heads: append([]string{"feature"}, heat.Columns...)}
	for i := range k {
		row, shades, texts := []any{i + 1}, []float64{}, []string{}
		for j := range k {
			share := v.Together[i][j]
			text, shade := percent(share)+" of the rows", math.NaN()
			if i != j {
				shade = v.correlation(i, j)
				text = fmt.Sprintf("%s, correlation %.3f", text, shade)
			}
			row, shades, texts = append(row, share), append(shades, shade), append(texts, text)
		}
		heat.Shade, heat.Texts = append(heat.Shade, shades), append(heat.Texts, texts)
		table.add(row...)
	}
	return section(heat.Title, heat.Figure(), &table)
}
