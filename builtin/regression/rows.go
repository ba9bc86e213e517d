package regression

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
)

// rows are those of a regression, which explains the first column by others, in each component in a way of its own.
type rows struct {
	scoring.Rows
	design *design.Regression
	plan   *family.Plan
	params *mixture.Parameters
	ready  func() (scoring.Of, error) // of rows with the model's columns
	prior  func() (priorScorer, error)
	refit  func(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error)
}

// A priorScorer has the probabilities of the components of the rows of a block, without their responses.
type priorScorer = func(b blocks.Rows, r []float64) ([]float64, error)

func load(f *fitted.File) (fitted.Model, error) {
	var file struct {
		*mixture.Parameters
		Regression *design.Regression `json:"regression"`
	}
	if err := json.Unmarshal(f.Params, &file); err != nil {
		return nil, err
	}
	var s struct {
		Gate  []string
		Floor *float64
	}
	if f.Settings != nil {
		if err := json.Unmarshal(f.Settings, &s); err != nil {
			return nil, err
		}
	}
	floor := 1.0
	if s.Floor != nil {
		floor = *s.Floor
	}
	p, g := file.Parameters, file.Regression
	if g != nil && len(s.Gate) > 0 {
		return loadGated(f, g, s.Gate, floor)
	}
	if p == nil || g == nil {
		return nil, errors.New("no parameters of a regression")
	}
	if err := f.Matches(p.K, len(f.Columns)); err != nil {
		return nil, err
	}
	if err := g.Check(f.Columns, p.D); err != nil {
		return nil, err
	}
	model := mixture.Model{Family: g.Family(floor)}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	return plainRows(g, f.Columns, model, p)
}

// plainRows are those of regressions without a gate.
func plainRows(g *design.Regression, columns []data.Column, model mixture.Model, p *mixture.Parameters) (*rows, error) {
	m, err := newRows(columns, g, model.Family, p)
	if err != nil {
		return nil, err
	}
	m.ready = func() (scoring.Of, error) {
		score, err := model.Scorer(p)
		var x []float64
		return func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
			seen := g.Expand(b, x)
			x = seen.X
			return score(seen, logProb, r)
		}, err
	}
	m.refit = func(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
		r.Rows = g.Expand(r.Rows, nil)
		return fitted.RefitRows(ctx, model, p, r)
	}
	m.prior = func() (priorScorer, error) {
		return func(b blocks.Rows, r []float64) ([]float64, error) {
			r = r[:0]
			for range b.N {
				r = append(r, p.Weights...)
			}
			return r, nil
		}, nil
	}
	return m, nil
}

// loadGated takes the parameters of regressions behind a gate out of a model file.
func loadGated(f *fitted.File, g *design.Regression, names []string, floor float64) (fitted.Model, error) {
	if err := scoring.CheckGate(f.Columns, names); err != nil {
		return nil, err
	}
	gate := g.Gated(f.Columns, names)
	if err := g.Check(f.Columns, gate.Width); err != nil {
		return nil, err
	}
	behind, err := scoring.ReadGated(f, gate, mixture.Model{Family: g.Family(floor)})
	if err != nil {
		return nil, err
	}
	return gatedRows(g, f.Columns, behind)
}

// gatedRows are those of regressions behind a gate.
func gatedRows(g *design.Regression, columns []data.Column, behind *scoring.Gated) (*rows, error) {
	m, err := newRows(columns, g, behind.Model.Family, behind.Params.Mixture)
	if err != nil {
		return nil, err
	}
	m.ready, m.refit = behind.Scorer, behind.Refit
	m.prior = func() (priorScorer, error) {
		prior, err := behind.Model.PriorScorer(behind.Params)
		var x []float64
		return func(b blocks.Rows, r []float64) ([]float64, error) {
			seen := behind.Gate.Rows(b, x)
			x = seen.X
			return prior(seen, r)
		}, err
	}
	return m, nil
}

// newRows say what a mixture does of each row, and the mean of the response: of the mixture, by the weights of
// the components, or the gate, and not by the response itself, and in each component.
func newRows(
	columns []data.Column, g *design.Regression, of family.Family, p *mixture.Parameters,
) (*rows, error) {
	m := &rows{design: g, params: p}
	model := mixture.Model{Family: of}
	m.Takes = fitted.Input{Gaps: true, Optional: g.First(), Given: len(columns) - g.First()}
	m.Says = fitted.Layout{
		First: []string{"label", "probability", "mean"},
		List:  "responsibilities",
		Items: wording.Numbered("p", p.K),
		Last:  append(wording.Numbered("mean", p.K), "log_likelihood"),
	}
	_, m.Says.Classes = scoring.NameClasses(m.Says.Items, g.Columns(), func(k int) int { return model.Label(p, k) })
	m.Takes.Known = g.Known()
	var err error
	m.plan, err = family.NewPlan(of, p.D)
	return m, err
}

func (m *rows) NewScorer() (fitted.Scorer, error) {
	score, err := m.ready()
	if err != nil {
		return nil, err
	}
	priors, err := m.prior()
	var logProb, r, prior, x []float64
	return scoring.Func(func(b blocks.Rows, dst []float64) (err error) {
		if err := m.design.Complete(b); err != nil {
			return err
		}
		if logProb, r, err = score(b, logProb, r); err != nil {
			return m.design.Sourced(err)
		}
		if prior, err = priors(b, prior); err != nil {
			return err
		}
		seen := m.design.Expand(b, x)
		x = seen.X
		k, width := m.params.K, m.Says.Width()
		for i, l := range logProb {
			q, row := r[i*k:(i+1)*k], dst[i*width:(i+1)*width]
			label := floats.MaxIdx(q)
			row[0], row[1], row[2] = float64(label+1), q[label], 0
			copy(row[3:], q)
			for j, w := range prior[i*k : (i+1)*k] {
				mean, err := m.plan.Mean(m.params.Component(j), seen.Row(i))
				if err != nil {
					return err
				}
				row[3+k+j] = mean
				row[2] += w * mean
			}
			// without a response the probabilities sum to 1, up to rounding
			if m.design.Free(b.Row(i)) {
				l = 0
			}
			row[width-1] = l
		}
		return nil
	}), err
}

// Refit implements [fitted.Refitter].
func (m *rows) Refit(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
	return m.refit(ctx, r)
}

// SampleGiven draws the response of rows, and keeps the rest of them.
func (m *rows) SampleGiven(b blocks.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
	if err := m.design.Complete(b); err != nil {
		return nil, nil, err
	}
	priors, err := m.prior()
	if err != nil {
		return nil, nil, err
	}
	prior, err := priors(b, nil)
	if err != nil {
		return nil, nil, err
	}
	k, first := m.params.K, m.design.First()
	seen := m.design.Expand(b, nil)
	for i := range b.N {
		label := categorical.Draw(prior[i*k:(i+1)*k], rng)
		row := seen.Row(i)
		if first > 1 && math.IsNaN(row[1]) {
			row[1] = 1
		}
		if math.IsNaN(row[0]) { // to be replaced
			row[0] = 0
		}
		if err := m.plan.Resample(m.params.Component(label), rng, row); err != nil {
			return nil, nil, err
		}
		x, labels = append(append(append(x, row[0]), row[1:first]...), b.Row(i)[first:]...), append(labels, label)
		if known := m.design.Known(); known > 0 {
			x[len(x)-b.D+known-1] = row[len(row)-1]
		}
	}
	return x, labels, nil
}
