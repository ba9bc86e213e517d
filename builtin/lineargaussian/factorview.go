package lineargaussian

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/report"
)

// Fields adds the shares of the variance, and standard errors by bootstrap.
func (m *factored) Fields() any {
	return struct {
		explained
		Errors []fitted.Number `json:"loading_standard_errors,omitempty"`
	}{explained{fitted.Numbers(m.explained())}, fitted.Numbers(m.errs)}
}

// explained is the share of the columns' variances, each of which counts as 1, along each factor. What correlated
// factors share is divided between them, Σ_j W_jk (WΦ)_jk as R's psych has it, so that the shares sum to the mean
// communality.
func (m *factored) explained() (shares []float64) {
	w := m.Standardized()
	structure := mat.DenseCopyOf(w) // correlations of columns and factors, WΦ
	if m.oblique() {
		structure.Mul(w, mat.NewDense(m.K, m.K, slices.Concat(m.Rotation.Correlations...)))
	}
	for k := range m.K {
		shares = append(shares, floats.Dot(mat.Col(nil, k, w), mat.Col(nil, k, structure))/float64(m.D))
	}
	return shares
}

// Doubts report problems of the size, of the search for the noise, and columns without noise.
func (m *factored) Doubts() (doubts []error) {
	if m.none > 0 {
		doubts = append(doubts, fmt.Errorf("%s without factors is %s nats higher: the columns may be independent",
			m.criterion, wording.Nats(m.none)))
	}
	if m.solutions != nil && !m.solutions.Converged(m.K) {
		doubts = append(doubts, fmt.Errorf("the search for the noise at K = %d did not converge", m.K))
	}
	var heywood []string
	for _, j := range m.unrotated.Heywood() {
		heywood = append(heywood, m.Columns[j].Name)
	}
	if n := len(heywood); n > 0 {
		//lint:ignore ST1005 Heywood is a name
		doubts = append(doubts, fmt.Errorf("Heywood: %s %s: the noise is at its minimum, "+
			"%s of the variance; K = %d may be too many",
			wording.Plural(n, "column", "columns"), wording.Quoted(heywood), wording.Percent(factor.Floor), m.K))
	}
	return doubts
}

// Bootstrap computes standard errors of the loadings as they are shown, in fixed axes: it rotates the loadings of each
// draw as near as possible to those of the fit.
func (m *factored) Bootstrap(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
	p := m.unrotated
	o.Fit.Method = framework.EM // at fixed K, the loadings of gFAB but for their length
	target, basis := p.Standardized(), m.basis()
	numbers := func(q *factor.Parameters) []float64 {
		w, err := q.AlignedTo(target)
		if err != nil {
			return nil // which the bootstrap counts as a failure
		}
		w.Mul(mat.DenseCopyOf(w), basis)
		return w.RawMatrix().Data
	}
	e, err := bootstrap.StandardErrors(ctx, factor.Model{Structure: m.st}, m.Table.Rows, p, numbers, o)
	if err != nil {
		return bootstrap.Outcome{}, err
	}
	m.errs = nil
	for _, n := range e.Numbers {
		m.errs = append(m.errs, n.Error)
	}
	return e.Outcome, nil
}

// axes are the factors, whose strength is that of standardised loadings.
func (m *factored) axes() axes.Axes {
	return axes.Axes{Noun: "factor", Names: m.Names(), K: m.K, Loadings: m.Loadings,
		Strength: m.Standardized().RawMatrix().Data, Shares: m.explained()}
}

// Describe shows how much of the variance the factors explain, which columns each of them moves, and the gain by each
// factor.
func (m *factored) Describe() (*fitted.Description, error) {
	a := m.axes()
	text := fmt.Sprintf("%s: %s of the variance of %s, each counted alike, is along %s; "+
		"the rest is noise of each column.", wording.Capital(wording.Counted(m.K, "factor")),
		report.Percentage(floats.Sum(a.Shares)), wording.Counted(m.D, "column"), wording.Plural(m.K, "it", "them"))
	d := &fitted.Description{Finding: report.Section{Text: text, Items: a.Items()}, Omitted: a.Omitted()}
	if m.solutions != nil {
		d.Facts = [][2]string{{"estimates", "maximum likelihood; gFAB ends at the same ones, with longer loadings"}}
		if m.others != "" {
			d.Facts = append(d.Facts, [2]string{"other criteria", "choose K by " + m.others})
		}
	}
	if m.rotate != "" && m.rotate != "none" {
		d.Facts = append(d.Facts, [2]string{"rotation", m.rotate})
	}
	d.Sections = append(m.loadings(a), m.scree()...)
	return d, nil
}

// loadings shows the standardised loadings, with their standard errors where there are some, the columns that belong
// to one factor together.
func (m *factored) loadings(a axes.Axes) []report.Section {
	communalities := m.Communalities()
	columns := a.Sorted(wording.Largest(communalities, wording.MostProfiles))
	k := min(m.K, wording.MostRows)
	about := "Loadings of columns divided by their standard deviations; stronger colours are larger loadings. " +
		"Columns are sorted by their main factor. The communality is the share of a column's variance " +
		"that the factors explain; the rest is noise."
	if m.errs != nil {
		about += " ± gives standard errors by bootstrap."
	}
	about += wording.LeftOut(m.D-len(columns), "column", "which the factors explain least") +
		wording.LeftOut(m.K-k, "factor", "")
	table := a.Cells("standardised loadings", columns, k, func(j, l int) any {
		if m.errs != nil {
			return report.Spread(a.Strength[j*a.K+l], m.errs[j*a.K+l])
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
	heat := a.Heat("Loadings", about, columns, k, func(j, l int) string {
		return fmt.Sprintf("%.4f", a.Strength[j*a.K+l])
	})
	if m.oblique() {
		return a.Section("Loadings", about, heat, table, m.correlations(k))
	}
	return a.Section("Loadings", about, heat, table)
}

// correlations is a table of those of the first k factors.
func (m *factored) correlations(k int) report.Table {
	table := report.Table{Caption: "correlations of the factors",
		Columns: append(report.Columns("factor"), report.Columns(wording.Numbered("factor ", k)...)...),
		Open:    true, Low: "−1", High: "1"}
	for i, list := range m.Rotation.Correlations[:k] {
		row := []any{i + 1}
		for _, c := range list[:k] {
			row = append(row, report.Shaded(c, c))
		}
		table.Add(row...)
	}
	return table
}

// scree shows by how much each factor raises the log-likelihood, beside what gFIC charges for it.
func (m *factored) scree() []report.Section {
	if m.solutions == nil {
		return nil
	}
	n, d := m.solutions.N, float64(m.D)
	cost := d / 2 * math.Log(n)
	charged := "FIC, without the terms that need more rows than columns,"
	if n > d {
		cost -= (d + (n-d)*math.Log1p(-d/n)) / 2
		if charged = "gFIC"; m.st.Isotropic {
			charged = "FIC"
		}
	}
	table := report.Table{Caption: "gain and cost of a factor, in nats",
		Columns: report.Columns("factor", "gain", "cost", "log-likelihood"), Long: true}
	for k := 1; k <= m.solutions.Max(); k++ {
		table.Add(k, m.solutions.LogLikelihood(k)-m.solutions.LogLikelihood(k-1), cost, m.solutions.LogLikelihood(k))
	}
	chart := report.Chart{
		Title: "Scree", XName: "factor", Names: wording.Numbered("", len(table.Rows)),
		About: fmt.Sprintf("By how many nats each further factor raises the highest log-likelihood, and what %s "+
			"charges for it, %s nats: a factor is worth its cost while its bar is above the line.", charged, wording.Nats(cost)),
		Panels: []report.Panel{{Name: "nats, log scale", Height: 220, Bars: true, Log: true, Series: table.Series("gain", 1),
			Levels: []report.Level{{Name: "cost", Value: cost}}}},
	}
	return []report.Section{{Title: chart.Title, Figure: chart, Tables: []report.Table{table}}}
}
