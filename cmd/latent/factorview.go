package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/factor"
)

// factorView shows a fit of factor analysis in text and on the page.
type factorView struct {
	st        factor.Structure
	names     []string
	rotate    string
	table     *framework.Table  // the rows
	solutions *factor.Solutions // of the closed form; else nil
	criterion string            // what the sizes were compared by
	others    string            // the K of further criteria
	none      float64           // how much higher it is of no factors at all
}

// result is that of parameters in canonical rotation.
func (v factorView) result(p *factor.Parameters) (*result, error) {
	file, err := rotated(p, v.rotate)
	if err != nil {
		return nil, err
	}
	r := &result{k: p.K, params: file, explained: v.explained(file)}
	if v.solutions != nil {
		r.facts = [][2]string{{"estimates", "maximum likelihood; gFAB ends at the same ones, with longer loadings"}}
		if v.others != "" {
			r.facts = append(r.facts, [2]string{"other criteria", "choose K by " + v.others})
		}
		if v.none > 0 {
			r.doubts = append(r.doubts, fmt.Errorf("%s of no factors at all is %s nats higher: the columns may be independent", v.criterion, digits(v.none)))
		}
		if !v.solutions.Converged(p.K) {
			r.doubts = append(r.doubts, fmt.Errorf("the search for the noise at K = %d did not converge", p.K))
		}
	}
	if v.rotate != "" && v.rotate != "none" {
		r.facts = append(r.facts, [2]string{"rotation", v.rotate})
	}
	var heywood []string
	for _, j := range p.Heywood() {
		heywood = append(heywood, v.names[j])
	}
	if len(heywood) > 0 {
		columns := "column"
		if len(heywood) > 1 {
			columns = "columns"
		}
		//lint:ignore ST1005 Heywood is a name
		r.doubts = append(r.doubts, fmt.Errorf("Heywood: %s %s: no noise is left but the least that is allowed, %s of the variance; K = %d may be too many", columns, quoted(heywood), percent(factor.Floor), p.K))
	}
	r.bootstrap = func(ctx context.Context, o bootstrap.Options) (outcome bootstrap.Outcome, err error) {
		r.loadingErrors, outcome, err = v.standardErrors(ctx, p, file, o)
		return outcome, err
	}
	r.print = func(out *page) { v.print(out, file, r.loadingErrors) }
	r.sections = func(in *input) ([]htmlreport.Section, error) { return v.sections(file), nil }
	return r, nil
}

// explained is the share of the columns' variances, each of which counts as 1, along each factor. What correlated
// factors share is divided between them, Σ_j W_jk (WΦ)_jk as R's psych has it, so that the shares sum to the mean communality.
func (v factorView) explained(file factorFile) (shares []float64) {
	w := file.Standardized()
	structure := mat.DenseCopyOf(w) // correlations of columns and factors, WΦ
	if file.oblique() {
		structure.Mul(w, mat.NewDense(file.K, file.K, slices.Concat(file.Rotation.Correlations...)))
	}
	for k := range file.K {
		shares = append(shares, floats.Dot(mat.Col(nil, k, w), mat.Col(nil, k, structure))/float64(file.D))
	}
	return shares
}

// standardErrors are those of the loadings as they are printed, in axes held fixed: the loadings of each draw are
// rotated to where they are nearest to those of the fit.
func (v factorView) standardErrors(ctx context.Context, p *factor.Parameters, file factorFile, o bootstrap.Options) ([]float64, bootstrap.Outcome, error) {
	o.Fit.Method = framework.EM // at fixed K, the loadings of gFAB but for their length
	target := p.Standardized()
	basis := mat.NewDense(p.K, p.K, nil)
	basis.Copy(mat.NewDiagDense(p.K, slices.Repeat([]float64{1}, p.K)))
	if file.Rotation != nil {
		basis = mat.NewDense(p.K, p.K, file.Rotation.Basis)
	}
	numbers := func(q *factor.Parameters) []float64 {
		w, err := q.AlignedTo(target)
		if err != nil {
			return nil // which the bootstrap counts as a failure
		}
		w.Mul(mat.DenseCopyOf(w), basis)
		return w.RawMatrix().Data
	}
	e, err := bootstrap.StandardErrors(ctx, factor.Model{Structure: v.st}, v.table, p, numbers, o)
	if err != nil {
		return nil, bootstrap.Outcome{}, err
	}
	var errs []float64
	for _, n := range e.Numbers {
		errs = append(errs, n.Error)
	}
	return errs, e.Outcome, nil
}

func (v factorView) print(out *page, file factorFile, errs []float64) {
	w, explained := file.Standardized(), v.explained(file)
	out.line("")
	shown, g := out.widest(file.K, func(n int) *grid {
		g := newGrid(append(append([]string{"loadings"}, numbered("z", n)...), "uniqueness")...)
		for j := range file.D {
			if j >= mostRows {
				break
			}
			row := []string{short(v.names[j])}
			for k := range n {
				cell := fmt.Sprintf("%.3f", w.At(j, k))
				if errs != nil {
					cell += fmt.Sprintf(" ± %.3f", errs[j*file.K+k])
				}
				row = append(row, cell)
			}
			g.row(append(row, fmt.Sprintf("%.4f", file.Uniquenesses[j]))...)
		}
		row := []string{"variance explained"}
		for k := range n {
			row = append(row, percent(explained[k]))
		}
		g.row(append(row, percent(floats.Sum(file.Uniquenesses)/float64(file.D)))...)
		return g
	})
	out.grid(g)
	if left := file.K - shown; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "factor"))
	}
	if left := file.D - mostRows; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "column"))
	}
	text := "Loadings are of columns divided by their standard deviations; the uniqueness is the share of noise."
	if errs != nil {
		text += " Beside ± are standard errors by bootstrap."
	}
	out.prose(0, "%s", text)
	if !file.oblique() {
		return
	}
	g = newGrid(append([]string{"correlations"}, numbered("z", file.K)...)...)
	for k, row := range file.Rotation.Correlations {
		cells := []string{fmt.Sprint("z", k+1)}
		for _, c := range row {
			cells = append(cells, fmt.Sprintf("%.3f", c))
		}
		g.row(cells...)
	}
	out.line("")
	out.grid(g)
}

// sections draw the loadings, the communalities, and what each factor gains and costs.
func (v factorView) sections(file factorFile) []htmlreport.Section {
	return append(append(v.loadings(file), v.scree(file)...), v.communalities(file)...)
}

func (v factorView) loadings(file factorFile) []htmlreport.Section {
	w, communalities := file.Standardized(), file.Communalities()
	columns := chosen(communalities, mostProfiles)
	k := min(file.K, mostRows)
	heat := htmlreport.Heat{
		Title: "Loadings", Columns: numbered("", k), ColumnsName: "factor", Low: "−1", High: "1", Root: true,
		About: "Rows are columns of the data, divided by their standard deviations, and columns factors. The numbers are in the table below." +
			leftOut(file.D-len(columns), "column", "which the factors explain least") + leftOut(file.K-k, "factor", ""),
	}
	table := sheet{caption: "loadings, to four decimals", heads: append(append([]string{"column"}, heat.Columns...), "uniqueness"), open: true}
	for _, j := range columns {
		row, shades, texts := []any{v.names[j]}, []float64{}, []string{}
		for c := range k {
			text := fmt.Sprintf("%.4f", w.At(j, c))
			row, shades, texts = append(row, text), append(shades, max(-1, min(1, w.At(j, c)))), append(texts, text)
		}
		heat.Rows, heat.Shade, heat.Texts = append(heat.Rows, printable(v.names[j])), append(heat.Shade, shades), append(heat.Texts, texts)
		table.add(append(row, fmt.Sprintf("%.4f", file.Uniquenesses[j]))...)
	}
	row := []any{"variance explained"}
	for _, share := range v.explained(file)[:k] {
		row = append(row, percent(share))
	}
	table.add(append(row, percent(floats.Sum(file.Uniquenesses)/float64(file.D)))...)
	sheets := []*sheet{&table}
	if file.oblique() {
		sheets = append(sheets, file.correlations(k))
	}
	return section(heat.Title, heat.Figure(), sheets...)
}

// correlations is a table of those of the first k factors.
func (f factorFile) correlations(k int) *sheet {
	table := &sheet{caption: "correlations of the factors", heads: append([]string{"factor"}, numbered("", k)...), open: true}
	for i, list := range f.Rotation.Correlations[:k] {
		row := []any{strconv.Itoa(i + 1)}
		for _, c := range list[:k] {
			row = append(row, fmt.Sprintf("%.4f", c))
		}
		table.add(row...)
	}
	return table
}

// communalities are one minus the uniquenesses.
func (v factorView) communalities(file factorFile) []htmlreport.Section {
	all := file.Communalities()
	table := sheet{caption: "communalities", heads: []string{"column", "communality", "uniqueness"}}
	var names []string
	for _, j := range chosen(all, mostProfiles) {
		table.add(v.names[j], all[j], file.Uniquenesses[j])
		names = append(names, printable(v.names[j]))
	}
	chart := htmlreport.Chart{
		Title: "Communalities", XName: "column", Names: names,
		About: "The share of each column's variance that the factors explain; the rest is noise." + leftOut(file.D-len(names), "column", "which the factors explain least"),
		Panels: []htmlreport.Panel{{Name: "share of the variance", Height: 220, Bars: true, Series: table.series("communality", 1),
			Levels: []htmlreport.Level{{Name: "all", Value: 1}}}},
	}
	return section(chart.Title, chart.Figure(), &table)
}

// scree shows by how much each factor raises the log-likelihood, beside what gFIC charges for it.
func (v factorView) scree(file factorFile) []htmlreport.Section {
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
	table := sheet{caption: "gain and cost of a factor, in nats", heads: []string{"factor", "gain", "cost", "log-likelihood"}}
	for k := 1; k <= v.solutions.Max(); k++ {
		table.add(k, v.solutions.LogLikelihood(k)-v.solutions.LogLikelihood(k-1), cost, v.solutions.LogLikelihood(k))
	}
	chart := htmlreport.Chart{
		Title: "Scree", XName: "factor", Names: numbered("", len(table.rows)),
		About: fmt.Sprintf("By how many nats each further factor raises the highest log-likelihood, and what %s charges for it, %s nats: a factor is worth its cost while its bar is above the line.", charged, digits(cost)),
		Panels: []htmlreport.Panel{{Name: "nats, log scale", Height: 220, Bars: true, Log: true, Series: table.series("gain", 1),
			Levels: []htmlreport.Level{{Name: "cost", Value: cost}}}},
	}
	return section(chart.Title, chart.Figure(), &table)
}
