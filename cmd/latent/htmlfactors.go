package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/bpca"
)

// mostProfiles bounds the rows of heat maps.
const mostProfiles = 80

// explainedSection shows the share of the variance along each latent dimension, beside that
// of the noise along any direction.
func explainedSection(p *bpca.Parameters) htmlreport.Section {
	shares := p.Explained()
	all, sum := 0.0, 0.0
	for _, share := range shares {
		all += share
	}
	noise := (1 - all) / float64(p.D)
	bars := htmlreport.Bars{
		Title: "Spectrum", XName: "dimension", YName: "share of the variance, log scale", Log: true,
		Levels: []htmlreport.Level{{Name: "noise along a direction", Value: noise}},
	}
	bars.About = fmt.Sprintf("%s of the variance is along %s; the rest is noise, %s along each of the %s.", percent(all), counted(p.K, "dimension"), percent(noise), counted(p.D, "direction"))
	table := htmlreport.Table{Caption: "variance explained", Head: []string{"dimension", "share", "cumulative"}}
	var heights []float64
	for k, share := range shares[:min(len(shares), mostIterations)] {
		sum += share
		bars.Names, heights = append(bars.Names, strconv.Itoa(k+1)), append(heights, share)
		table.Rows = append(table.Rows, []string{strconv.Itoa(k + 1), htmlreport.Number(share), htmlreport.Number(sum)})
	}
	bars.Series = []htmlreport.Series{{Name: "share", Y: heights}}
	return htmlreport.Section{Title: bars.Title, Figure: bars.Figure(), Tables: []htmlreport.Table{table}}
}

// loadingsSection shows W. A cell's colour is the correlation of column and dimension under the
// model, w_jk/√(Σ_k w_jk² + σ²), which does not depend on the units of the columns.
func loadingsSection(p *bpca.Parameters, names []string) htmlreport.Section {
	explained := make([]float64, p.D)
	spread := make([]float64, p.D)
	for j := range p.D {
		sum := 0.0
		for _, w := range p.Loadings[j*p.K : (j+1)*p.K] {
			sum += w * w
		}
		explained[j], spread[j] = sum/(sum+p.Noise), math.Sqrt(sum+p.Noise)
	}
	columns := chosen(explained, mostProfiles)
	k := min(p.K, mostRows)
	heat := htmlreport.Heat{
		Title: "Loadings", ColumnsName: "dimension", Low: "−1", High: "1", Root: true,
		About: "Rows are columns of the data, columns latent dimensions, the strongest first. The colour is the correlation of the two under the model; the numbers are loadings, in the units of the data.",
	}
	heat.About += leftOut(p.D-len(columns), "column", "which the dimensions explain least") + leftOut(p.K-k, "weaker dimension", "")
	table := htmlreport.Table{Caption: "loadings", Head: append([]string{"column"}, numbered("", k)...)}
	for i := range k {
		heat.Columns = append(heat.Columns, strconv.Itoa(i+1))
	}
	for _, j := range columns {
		row := []string{printable(names[j])}
		var shades []float64
		var texts []string
		for i := range k {
			w := p.Loadings[j*p.K+i]
			row = append(row, htmlreport.Number(w))
			shades = append(shades, w/spread[j])
			texts = append(texts, fmt.Sprintf("%s (correlation %.3f)", htmlreport.Number(w), w/spread[j]))
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, row[0]), append(heat.Shade, shades), append(heat.Texts, texts)
		table.Rows = append(table.Rows, row)
	}
	return htmlreport.Section{Title: heat.Title, Figure: heat.Figure(), Tables: []htmlreport.Table{table}}
}

// leftOut is a sentence about what a figure has no room for, or nothing.
func leftOut(n int, thing, which string) string {
	if n <= 0 {
		return ""
	}
	if which != "" {
		which = ", " + which + ","
	}
	return fmt.Sprintf(" %s%s left out (--format json has all).", counted(n, thing), which+map[bool]string{true: " is", false: " are"}[n == 1])
}

// sections draw the singular values before and after shrinkage, and the loadings.
func (file factorsFile) sections(in *input, p *bpca.Parameters) []htmlreport.Section {
	first := htmlreport.Section{Title: "Rank and noise"}
	edge := math.Sqrt(file.Noise) * (math.Sqrt(float64(in.Rows())) + math.Sqrt(float64(in.Cols())))
	first.Text = fmt.Sprintf("Rank %d. Noise variance %.6g, standard deviation %.6g: the largest singular value of a matrix of such noise alone is about %.6g.", file.K, file.Noise, math.Sqrt(file.Noise), edge)
	first.Tables = []htmlreport.Table{{Caption: "rank and noise", Head: []string{"number", "value"}, Rows: [][]string{{"rank", strconv.Itoa(file.K)}, {"noise variance", htmlreport.Number(file.Noise)}}}}
	if file.K == 0 {
		first.Text = "Nothing stands out from the noise. " + first.Text
		return []htmlreport.Section{first}
	}
	bars := htmlreport.Bars{
		Title: "Singular values", XName: "factor", YName: "singular value, log scale", Log: true,
		About:  fmt.Sprintf("Singular values of the matrix and what shrinkage leaves of them, for the %s kept; beside them the edge of the noise, about σ(√rows + √columns).", counted(file.K, "factor")),
		Levels: []htmlreport.Level{{Name: "edge of the noise", Value: edge}},
	}
	table := htmlreport.Table{Caption: "singular values", Head: []string{"factor", "before", "after shrinkage"}}
	var before, after []float64
	for k, shrunk := range file.Shrunk[:min(len(file.Shrunk), mostIterations)] {
		one := math.NaN()
		if k < len(file.Singular) {
			one = file.Singular[k]
		}
		bars.Names = append(bars.Names, strconv.Itoa(k+1))
		before, after = append(before, one), append(after, shrunk)
		table.Rows = append(table.Rows, []string{strconv.Itoa(k + 1), htmlreport.Number(one), htmlreport.Number(shrunk)})
	}
	bars.Series = []htmlreport.Series{{Name: "before", Y: before}, {Name: "after", Y: after}}
	if len(file.Singular) == 0 {
		bars.About = fmt.Sprintf("Singular values of E[BAᵀ], after shrinkage, for the %s kept; iterations do not know those of the matrix.", counted(file.K, "factor"))
		bars.Series = bars.Series[1:]
	}
	first.Figure = bars.Figure()
	first.Tables = append(first.Tables, table)
	return []htmlreport.Section{first, loadingsSection(p, in.Names)}
}
