package command

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// axes are the factors, whose strength is that of standardised loadings.
func (v factorView) axes(file factorFile) axes.Axes {
	return axes.Axes{Noun: "factor", Names: v.names, K: file.K, Loadings: file.Loadings, Strength: file.Standardized().RawMatrix().Data, Shares: v.explained(file)}
}

// finding says how much of the variance the factors explain, and what each of them moves.
func (v factorView) finding(file factorFile) report.Section {
	a := v.axes(file)
	text := fmt.Sprintf("%s: %s of the variance of %s, each counted alike, is along %s; the rest is noise of each column.", capital(counted(file.K, "factor")),
		report.Percentage(floats.Sum(a.Shares)), counted(file.D, "column"), plural(file.K, "it", "them"))
	return report.Section{Text: text + leftOut(a.K-wording.MostItems, "factor", "of less variance"), Items: a.Items()}
}

// loadingsSection shows the standardised loadings, with their standard errors where there are some, the columns that belong to one factor
// together.
func (v factorView) loadingsSection(file factorFile, errs []float64) []report.Section {
	a, communalities := v.axes(file), file.Communalities()
	columns := a.Sorted(chosen(communalities, mostProfiles))
	k := min(file.K, mostRows)
	about := "Loadings of columns divided by their standard deviations; their colours grow with their size. Columns stand by the factor that they are most about. The communality is the share of a column's variance that the factors explain; the rest is noise."
	if errs != nil {
		about += " Beside ± are standard errors by bootstrap."
	}
	about += leftOut(file.D-len(columns), "column", "which the factors explain least") + leftOut(file.K-k, "factor", "")
	table := a.Cells("loadings", columns, k, func(j, l int) any {
		if errs != nil {
			return report.Spread(number(a.Strength[j*a.K+l]), number(errs[j*a.K+l]))
		}
		return a.Strength[j*a.K+l]
	})
	table.Columns = append(table.Columns, report.Columns("communality")...)
	for i, j := range columns {
		table.Rows[i] = append(table.Rows[i], report.Share(communalities[j]))
	}
	sum := []any{"variance explained"}
	for _, part := range a.Shares[:k] {
		sum = append(sum, report.Share(part))
	}
	table.Add(append(sum, report.Share(floats.Sum(a.Shares)))...)
	heat := a.Heat("Loadings", about, columns, k, func(j, l int) string { return fmt.Sprintf("%.4f", a.Strength[j*a.K+l]) })
	tables := []report.Table{table}
	if file.oblique() {
		tables = append(tables, file.correlations(k))
	}
	list := section("Loadings", heat, tables...)
	a.Place(&list[0], about)
	return list
}

// correlations is a table of those of the first k factors.
func (f factorFile) correlations(k int) report.Table {
	table := report.Table{Caption: "correlations of the factors", Columns: report.Columns(append([]string{"factor"}, numbered("factor ", k)...)...), Open: true, Low: "−1", High: "1"}
	for i, list := range f.Rotation.Correlations[:k] {
		row := []any{i + 1}
		for _, c := range list[:k] {
			row = append(row, report.Shaded(c, c))
		}
		table.Add(row...)
	}
	return table
}

// screeSection shows by how much each factor raises the log-likelihood, beside what gFIC charges for it.
func (v factorView) screeSection(file factorFile) []report.Section {
	if v.solutions == nil {
		return nil
	}
	n, d := v.solutions.N, float64(file.D)
	cost := d / 2 * math.Log(n)
	charged := "FIC, without the terms that need more rows than columns,"
	if n > d {
		cost -= (d + (n-d)*math.Log1p(-d/n)) / 2
		charged = "gFIC"
	}
	table := report.Table{Caption: "gain and cost of a factor, in nats", Columns: report.Columns("factor", "gain", "cost", "log-likelihood")}
	for k := 1; k <= v.solutions.Max(); k++ {
		table.Add(k, v.solutions.LogLikelihood(k)-v.solutions.LogLikelihood(k-1), cost, v.solutions.LogLikelihood(k))
	}
	chart := report.Chart{
		Title: "Scree", XName: "factor", Names: numbered("", len(table.Rows)),
		About: fmt.Sprintf("By how many nats each further factor raises the highest log-likelihood, and what %s charges for it, %s nats: a factor is worth its cost while its bar is above the line.", charged, digits(cost)),
		Panels: []report.Panel{{Name: "nats, log scale", Height: 220, Bars: true, Log: true, Series: table.Series("gain", 1),
			Levels: []report.Level{{Name: "cost", Value: cost}}}},
	}
	return section(chart.Title, chart, table)
}
