// Package features defines the model of package builtin in which each row has any subset of several binary features:
// its settings, the results of its fits, predictions for rows, and its model files.
package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/features"
	"github.com/latent-go/latent/report"
)

// Definition returns the definition of binary latent features (package models/features).
func Definition(families fitted.Families) fitted.Definition {
	return fitted.Definition{Name: "features", Title: "Binary features", Part: "feature", Several: true, Starts: 5,
		About:   "binary factors: a row has any of several features",
		Example: "iris", Families: families, New: func() fitted.Settings { return new(Settings) }, Load: load,
		Methods: fitted.ByEvidence(framework.ICL, framework.ELBO), UnitKeys: fitted.UnitKeys[:1]}
}

// Settings choose the noise of the columns.
type Settings struct{ fitted.NoiseSettings }

// Check returns nil, because all settings are valid.
func (*Settings) Check(fitted.Request) error { return nil }

// Bind prepares the model for the rows.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	const most = 8 // 2^8 states a row are cheap
	n, _ := t.Rows.Dims()
	e := problem{table: t, model: features.Model{Isotropic: m.Isotropic(), Prior: r.EvidencePrior()}}
	b := &fitted.Bound{Problem: e, What: "binary features, a variance of the noise for each column",
		KMax: max(1, min(most, n-1))}
	if e.model.Isotropic {
		b.What = "binary features, one variance of the noise"
	}
	b.CheckK = func(k int) error {
		switch {
		case n < 2:
			return errors.New("1 row: features are what tells rows apart, which takes at least two")
		case k >= n:
			return fmt.Errorf("%s of %s: choose K from 1 to %d", wording.Counted(k, "feature"), wording.Counted(n, "row"), n-1)
		}
		return nil
	}
	return b, nil
}

// A problem enumerates the states of a row if there are few enough features; otherwise it uses a mean-field q.
type problem struct {
	model features.Model
	table *fitted.Table
}

// Fit fits up to o.K features.
func (e problem) Fit(ctx context.Context, o framework.Options) (*framework.Result[fitted.Found, struct{}], error) {
	engine, err := e.of(ctx, o.K, o)
	if err != nil {
		return nil, err
	}
	res, err := engine.Fit(ctx, o)
	return doubted(res, o.Criterion), err
}

// Select fits every number of features.
func (e problem) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*fitted.Selection[fitted.Found], error) {
	engine, err := e.of(ctx, ks[len(ks)-1], o)
	if err != nil {
		return nil, err
	}
	s, err := engine.Select(ctx, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	open := s.Open
	s.Open = func(i int) (*framework.Result[fitted.Found, struct{}], error) {
		res, err := open(i)
		return doubted(res, criteria[0]), err
	}
	return s, nil
}

// of is the engine for up to k features.
func (e problem) of(ctx context.Context, k int, o framework.Options) (fitted.Problem[fitted.Found], error) {
	var m framework.Model[blocks.Rows, *features.Parameters, *features.Statistics] = e.model
	many := k > features.MaxExact
	switch {
	case many && o.Accelerate:
		return nil, &fitted.SettingError{Setting: "Accelerate",
			Reason: fmt.Sprintf("cannot be used with more than %d features, and K is %d", features.MaxExact, k)}
	case many:
		m = features.MeanField{Model: e.model}
	}
	find := func(p *features.Parameters, _ *features.Statistics) (fitted.Found, error) {
		p = p.Canonical()
		s, _, err := framework.LocalStep(ctx, m, framework.Source[blocks.Rows](e.table.Rows), p, o.Workers)
		if err != nil {
			return nil, err
		}
		f := newFound(p, e.table)
		for k := range p.K {
			f.Together = append(f.Together, mat.Row(nil, k, s.CoOccurrence()))
		}
		f.doubt(many)
		return f, nil
	}
	return &fitted.Engine[fitted.Found, blocks.Rows, *features.Parameters, *features.Statistics]{
		Model: m, Source: e.table.Rows, Found: find}, nil
}

// found gives for each row the probability of each feature, and the log-likelihood.
type found struct {
	scoring.Filling
	parameters
	names  []string
	doubts []error
}

// parameters are those of JSON and of a model file.
type parameters struct {
	*features.Parameters
	Together [][]float64 `json:"co_occurrence"` // shares of the rows that have two features, K×K
}

func newFound(p *features.Parameters, t *fitted.Table) *found {
	m := &found{parameters: parameters{Parameters: p}, names: t.Names()}
	m.Gaps, m.Draw, m.Takes.Gaps = p.Fill, p.Sample, true
	m.Says = fitted.Layout{List: "probabilities", Items: wording.Numbered("feature", p.K),
		Last: []string{"log_likelihood"}}
	if p.K > features.MaxExact {
		m.Says.Last[0] = "log_likelihood_bound"
	}
	m.Ready = func() (scoring.Of, error) { return p.Scorer(), nil }
	return m
}

func load(f *fitted.File) (fitted.Model, error) {
	var p parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := newFound(p.Parameters, &fitted.Table{Columns: f.Columns})
	if m.Together = p.Together; m.Together != nil && (len(p.Together) != p.K || slices.ContainsFunc(p.Together,
		func(row []float64) bool { return len(row) != p.K })) {
		return nil, fmt.Errorf("its co_occurrence is not a matrix of %d×%[1]d numbers", p.K)
	}
	return m, f.Matches(p.K, p.D)
}

func (m *found) Params() any { return m.parameters }

// Doubts report columns without noise, the approximation for many features, and a fit that is worse than no features.
func (m *found) Doubts() []error { return m.doubts }

func (m *found) doubt(many bool) {
	var bare []string
	for _, j := range m.AtFloor() {
		bare = append(bare, m.names[j])
	}
	if len(bare) > 0 {
		m.doubts = append(m.doubts, fmt.Errorf("the noise of %s is only the rounding of the values: "+
			"features may stand for single values", wording.Quoted(bare)))
	}
	if many {
		m.doubts = append(m.doubts, fmt.Errorf("with K above %d, the fit treats features as independent in "+
			"each row, and finds fewer of them than --kmax %d may", features.MaxExact, features.MaxExact))
	}
}

// doubted adds a doubt to a fit that scores lower than the fit without features, by its criterion, or else by BIC.
func doubted(
	res *framework.Result[fitted.Found, struct{}], by framework.Criterion,
) *framework.Result[fitted.Found, struct{}] {
	if res == nil {
		return nil
	}
	m, is := res.Parameters.(*found)
	if !is {
		return res
	}
	e := m.Featureless(res.N)
	for _, c := range []framework.Criterion{by, framework.BIC} {
		for _, score := range res.Scores {
			if none := c.Value(&e) - score.Value; score.Criterion == c.Name && score.Err == nil && none > 0 {
				m.doubts = append(m.doubts, fmt.Errorf("%s without features is %s nats higher: the rows may have none",
					strings.ToLower(c.Name), wording.Nats(none)))
				return res
			}
		}
	}
	return res
}

// correlation of features k and l over the rows; NaN if all rows or none have one of them.
func (m *found) correlation(k, l int) float64 {
	a, b := m.Together[k][k], m.Together[l][l]
	return (m.Together[k][l] - a*b) / math.Sqrt(a*(1-a)*b*(1-b))
}

// Describe shows what each feature adds, and which features rows have together.
func (m *found) Describe() (*fitted.Description, error) {
	a := m.axes()
	d := &fitted.Description{Omitted: a.Omitted(), Sections: m.additions(a)}
	if m.Together != nil {
		d.Sections = append(d.Sections, m.together(a)...)
	}
	if m.Isotropic {
		d.Facts = [][2]string{axes.NoiseFact(m.Noise[0])}
	}
	d.Finding.Text = fmt.Sprintf("%s: a row has any of them "+
		"and is the sum of what its features add to a row without any.", wording.Capital(wording.Counted(m.K, "feature")))
	for k := range min(m.K, wording.MostItems) {
		d.Finding.Items = append(d.Finding.Items, report.Item{Group: k, Name: fmt.Sprintf("Feature %d", k+1), Share: m.On[k],
			Size: report.Percentage(m.On[k]) + " of the rows", Text: a.About(k, "Rows that have it")})
	}
	return d, nil
}

// axes are the features, whose strength is what each adds in standard deviations of the column under the model, ±2
// at the ends.
func (m *found) axes() axes.Axes {
	a := axes.Axes{Noun: "feature", Names: m.names, K: m.K, Loadings: m.Loadings, Shares: m.On}
	for j := range m.D {
		for _, w := range m.Loadings[j*m.K : (j+1)*m.K] {
			a.Strength = append(a.Strength, max(-1, min(1, w/m.spread(j)/2)))
		}
	}
	return a
}

// signal is the variance that features give column j.
func (m *found) signal(j int) (sum float64) {
	for k, on := range m.On {
		w := m.Loadings[j*m.K+k]
		sum += on * (1 - on) * w * w
	}
	return sum
}

// spread is the standard deviation of column j under the model.
func (m *found) spread(j int) float64 { return math.Sqrt(m.signal(j) + m.NoiseOf(j)) }

// additions is W: a cell's colour is what a feature adds in standard deviations of the column under the model.
func (m *found) additions(a axes.Axes) []report.Section {
	explained := make([]float64, m.D)
	for j := range explained {
		explained[j] = m.signal(j) / (m.signal(j) + m.NoiseOf(j))
	}
	columns, k := a.Sorted(wording.Largest(explained, wording.MostProfiles)), min(m.K, wording.MostRows)
	about := "What a feature adds to each column, in units of the column; colours show it in standard deviations of " +
		"the column under the model. Columns are sorted by the feature that changes them most." +
		wording.LeftOut(m.D-len(columns), "column", "which the features explain least") +
		wording.LeftOut(m.K-k, "weaker feature", "")
	heat := a.Heat("What features add", about, columns, k, func(j, l int) string {
		w := m.Loadings[j*m.K+l]
		return fmt.Sprintf("%s (%+.2f sd)", wording.Signed(w), w/m.spread(j))
	})
	table := a.Cells("what each feature adds to each column", columns, k,
		func(j, l int) any { return m.Loadings[j*m.K+l] })
	table.Low, table.High = "−2 sd", "2 sd"
	axes.Beside(&table, columns, "without any",
		func(j int) (offset, variance float64) { return m.Offset[j], m.NoiseOf(j) }, "share of the rows", m.On[:k])
	return a.Section("What features add", about, heat, table)
}

// together shows which features rows have together more or less often than by chance.
func (m *found) together(a axes.Axes) []report.Section {
	k := min(m.K, wording.MostRows)
	about := "The share of rows that have both features, and on the diagonal one. Colours show the " +
		"correlation of the two over the rows: the model assumes that they are independent." +
		wording.LeftOut(m.K-k, "weaker feature", "")
	heat := report.Heat{Title: "Features together", Rows: wording.Numbered("", k), Columns: wording.Numbered("", k),
		ColumnsName: "feature", Low: "−1", High: "1", About: about}
	table := report.Table{Caption: "shares of rows that have two features",
		Columns: append(report.Columns("feature"), report.Classes(wording.Numbered("feature ", k)...)...),
		Open:    k <= wording.MostShaded, Long: true, Low: "−1", High: "1"}
	for i := range k {
		row, shades, texts := []any{i + 1}, []float64{}, []string{}
		for j := range k {
			part, shade := m.Together[i][j], 0.0
			text := report.Percentage(part) + " of the rows"
			if i != j {
				shade = m.correlation(i, j)
				text = fmt.Sprintf("%s, correlation %.3f", text, shade)
			}
			row, shades = append(row, report.Shaded(report.Share(part), shade)), append(shades, shade)
			texts = append(texts, text)
		}
		heat.Shade, heat.Texts = append(heat.Shade, shades), append(heat.Texts, texts)
		table.Add(row...)
	}
	if k > wording.MostShaded {
		return a.Section(heat.Title, about, heat, table)
	}
	return a.Section(heat.Title, about, nil, table)
}
