package builtin

import (
	"encoding/json"
	"errors"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
)

// mixture takes the parameters out of a model file, and the families of its columns.
func (l loader) mixture(f *fitted.File) (fitted.Model, error) {
	s, err := settingsOf(f)
	if err != nil {
		return nil, err
	}
	var further []string
	if len(s.Gate) > 0 {
		further = []string{families.Gate}
	}
	of := fitted.Families(l.families)
	if f.Model == "bernmix" {
		of = families.Only{families.Bernoulli}
	}
	if err := classes.CheckColumns(of, f.Family, f.Columns, further...); err != nil {
		return nil, err
	}
	if len(s.Gate) > 0 {
		return l.gated(f, s.Gate)
	}
	var p *mixture.Parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("no parameters")
	}
	if err := f.Matches(p.K, p.D); err != nil {
		return nil, err
	}
	model := mixture.Model{Family: l.families.OfRows(f.Family, f.Columns)}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	c := scoring.NewComponents(model, p, families.NeedsComplete(f.Family))
	if err := c.Grouped(f.Groups); err != nil {
		return nil, err
	}
	if f.Posterior == nil {
		return scoring.Plain{Components: c}, nil
	}
	var q *mixture.Posterior
	if err := json.Unmarshal(f.Posterior, &q); err != nil {
		return nil, err
	}
	variational := mixture.Variational{Family: model.Family}
	if err := variational.Check(q); err != nil {
		return nil, err
	}
	if err := f.Matches(q.K, q.D); err != nil {
		return nil, err
	}
	if err := variational.Collapses(q); err != nil {
		c.Says.Note = "predictions use the posterior means: " + err.Error()
		return scoring.Plain{Components: c}, nil
	}
	c.Ready = func() (scoring.Of, error) { return variational.Predictor(q) }
	return scoring.Plain{Components: c}, nil
}

// gated takes the parameters of a mixture with a gate out of a model file.
func (l loader) gated(f *fitted.File, names []string) (fitted.Model, error) {
	if err := scoring.CheckGate(f.Columns, names); err != nil {
		return nil, err
	}
	gate := design.GateOf(f.Columns, names)
	base := mixture.Model{Family: l.families.OfRows(f.Family, f.Columns[:gate.Own])}
	g, err := scoring.ReadGated(f, gate, base)
	if err != nil {
		return nil, err
	}
	g.Components = scoring.NewComponents(mixture.Model{Family: g.Model.Family}, g.Params.Mixture,
		families.NeedsComplete(f.Family))
	g.Takes.Given = len(f.Columns) - gate.Own
	g.Ready = g.Scorer
	return g, nil
}
