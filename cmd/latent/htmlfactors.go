package main

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/bpca"
)

// mostProfiles bounds the rows of heat maps.
const mostProfiles = 80

// explainedSection shows the share of the variance along each latent dimension, beside that
// of the noise along any direction.
func explainedSection(p *bpca.Parameters) []htmlreport.Section {
	shares := p.Explained()
	all := floats.Sum(shares)
	noise := (1 - all) / float64(p.D)
	table := sheet{caption: "variance explained", heads: []string{"dimension", "share", "cumulative"}}
	for k, sum := range floats.CumSum(make([]float64, p.K), shares)[:min(p.K, mostIterations)] {
		table.add(k+1, shares[k], sum)
	}
	chart := htmlreport.Chart{
		Title: "Spectrum", XName: "dimension", Names: numbered("", len(table.rows)),
		About: fmt.Sprintf("%s of the variance is along %s; the rest is noise, %s along each of the %s.", percent(all), counted(p.K, "dimension"), percent(noise), counted(p.D, "direction")),
		Panels: []htmlreport.Panel{{Name: "share of the variance, log scale", Height: 220, Bars: true, Log: true, Series: table.series("share", 1),
			Levels: []htmlreport.Level{{Name: "noise along a direction", Value: noise}}}},
	}
	return section(chart.Title, chart.Figure(), &table)
}

// loadingsSection shows W. A cell's colour is the correlation of column and dimension under the
// model, w_jk/√(Σ_k w_jk² + σ²), which does not depend on the units of the columns.
func loadingsSection(p *bpca.Parameters, names []string) []htmlreport.Section {
	explained, spread := make([]float64, p.D), make([]float64, p.D)
	for j := range p.D {
		w := p.Loadings[j*p.K : (j+1)*p.K]
		sum := floats.Dot(w, w)
		explained[j], spread[j] = sum/(sum+p.Noise), math.Sqrt(sum+p.Noise)
	}
	columns := chosen(explained, mostProfiles)
	k := min(p.K, mostRows)
	heat := htmlreport.Heat{
		Title: "Loadings", Columns: numbered("", k), ColumnsName: "dimension", Low: "−1", High: "1", Root: true,
		About: "Rows are columns of the data, columns latent dimensions, the strongest first. The colour is the correlation of the two under the model; the numbers are loadings, in the units of the data." +
			leftOut(p.D-len(columns), "column", "which the dimensions explain least") + leftOut(p.K-k, "weaker dimension", ""),
	}
	table := sheet{caption: "loadings", heads: append([]string{"column"}, heat.Columns...)}
	for _, j := range columns {
		row, shades, texts := []any{names[j]}, []float64{}, []string{}
		for _, w := range p.Loadings[j*p.K:][:k] {
			row, shades, texts = append(row, w), append(shades, w/spread[j]), append(texts, fmt.Sprintf("%s (correlation %.3f)", htmlreport.Number(w), w/spread[j]))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, printable(names[j])), append(heat.Shade, shades), append(heat.Texts, texts)
		table.add(row...)
	}
	return section(heat.Title, heat.Figure(), &table)
}

// leftOut is a sentence about what a figure has no room for, or nothing.
func leftOut(n int, thing, which string) string {
	switch {
	case n <= 0:
		return ""
	case which == "":
		return fmt.Sprintf(" %s left out (--format json has all).", are(n, thing))
	case n == 1:
		return fmt.Sprintf(" %s, %s, is left out (--format json has all).", counted(n, thing), which)
	}
	return fmt.Sprintf(" %s, %s, are left out (--format json has all).", counted(n, thing), which)
}

// sections draw the singular values before and after shrinkage, and the loadings.
func (file factorsFile) sections(in *input, p *bpca.Parameters) []htmlreport.Section {
	edge := math.Sqrt(file.Noise) * (math.Sqrt(float64(in.Rows())) + math.Sqrt(float64(in.Cols())))
	text := fmt.Sprintf("Rank %d. Noise variance %.6g, standard deviation %.6g: the largest singular value of a matrix of such noise alone is about %.6g.", file.K, file.Noise, math.Sqrt(file.Noise), edge)
	rank := sheet{caption: "rank and noise", heads: []string{"number", "value"}, rows: [][]any{{"rank", file.K}, {"noise variance", file.Noise}}}
	if file.K == 0 {
		list := section("Rank and noise", nil, &rank)
		list[0].Text = "Nothing stands out from the noise. " + text
		return list
	}
	about := fmt.Sprintf("Singular values of the matrix and what shrinkage leaves of them, for the %s kept; beside them the edge of the noise, about σ(√rows + √columns).", counted(file.K, "factor"))
	table := sheet{caption: "singular values", heads: []string{"factor", "before", "after shrinkage"}}
	for k, shrunk := range file.Shrunk[:min(len(file.Shrunk), mostIterations)] {
		before := math.NaN()
		if k < len(file.Singular) {
			before = file.Singular[k]
		}
		table.add(k+1, before, shrunk)
	}
	series := slices.Concat(table.series("before", 1), table.series("after", 2))
	if len(file.Singular) == 0 {
		about = fmt.Sprintf("Singular values of E[BAᵀ], after shrinkage, for the %s kept; iterations do not know those of the matrix.", counted(file.K, "factor"))
		series = series[1:]
	}
	chart := htmlreport.Chart{
		Title: "Singular values", About: about, XName: "factor", Names: numbered("", len(table.rows)),
		Panels: []htmlreport.Panel{{Name: "singular value, log scale", Height: 220, Bars: true, Log: true, Series: series,
			Levels: []htmlreport.Level{{Name: "edge of the noise", Value: edge}}}},
	}
	list := section("Rank and noise", chart.Figure(), &rank, &table)
	list[0].Text = text
	return append(list, loadingsSection(p, in.Names)...)
}
