package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// loadGated takes the parameters of a mixture with a gate out of a model file.
func loadGated(file *modelFile) (*savedModel, error) {
	gate, err := file.gate()
	if err != nil {
		return nil, err
	}
	m, p, err := file.gated(gate, mixture.Model{Family: families.OfRows(file.Family, file.Columns[:gate.own])})
	if err != nil {
		return nil, err
	}
	saved := savedMixture(mixture.Model{Family: m.Family}, p.Mixture, families.NeedsComplete(file.Family))
	saved.score = scoreTable(p.K(), func(b framework.Rows) (logProb, r []float64, err error) { return m.Score(gate.rows(b), p, nil, nil) })
	saved.gate = gate.columns()
	saved.prior = scoreTable(p.K(), func(b framework.Rows) (logProb, r []float64, err error) {
		r, err = m.Prior(gate.alone(b), p, nil)
		return make([]float64, b.N), r, err // of no column of the components, the probability is 1
	})
	saved.given = func(b framework.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
		drawn, labels, err := m.Sample(gate.rows(b), p, rng)
		for i := range labels {
			x = append(append(x, drawn[i*p.D:i*p.D+gate.own]...), b.Row(i)[gate.own:]...)
		}
		return x, labels, err
	}
	return saved, nil
}

// gate is that of the settings.
func (m *modelFile) gate() (gateDesign, error) {
	for _, name := range m.Settings.gate() {
		if !slices.Contains(namesOf(m.Columns), name) {
			return gateDesign{}, fmt.Errorf("no column %q, which its gate has", name)
		}
	}
	return gateOf(m.Columns, m.Settings.gate()), nil
}

// gated are the parameters of classes, those of base, behind a gate.
func (m *modelFile) gated(gate gateDesign, base mixture.Model) (experts.Model, *experts.Parameters, error) {
	model := gate.model(base)
	var p *experts.Parameters
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return model, nil, err
	}
	if err := model.Check(p); err != nil {
		return model, nil, err
	}
	return model, p, m.matches(p.K(), len(m.Columns))
}

// ---- Regressions

// gated is the design of a gate before regressions, which has the named columns.
func (g *regression) gated(columns []data.Column, names []string) gateDesign {
	d := gateOf(columns, names)
	d.width, d.expand = g.width(), g.expand
	return d
}

// gatedRegressionFile is what JSON and a model file have of the parameters.
type gatedRegressionFile struct {
	gatedEstimates
	Regression *regression `json:"regression"`
}

// regressions are the result of regressions behind a gate; table is the regressions' design.
func (g *gatedClasses) regressions(design *regression, table *framework.Table) *result {
	c := curves{g.components, design, table}
	r := g.result()
	whole := r.facts[len(r.facts)-1] // of the gate
	r.params, r.facts = gatedRegressionFile{gatedEstimates{g.params, g.errors}, design}, append(c.facts(), whole)
	r.print = func(p *page) {
		c.print(p)
		g.printGate(p)
	}
	r.finding = c.finding
	r.sections = func(in *input) ([]report.Section, error) {
		first, err := c.sections(in)
		if err != nil {
			return nil, err
		}
		gate, err := g.gateSections(in)
		return append(first, gate...), err
	}
	return r
}

// loadGatedRegression takes the parameters of regressions behind a gate out of a model file.
func loadGatedRegression(file *modelFile, g *regression) (*savedModel, error) {
	if _, err := file.gate(); err != nil {
		return nil, err
	}
	d := g.gated(file.Columns, file.Settings.gate())
	if err := g.check(file.Columns, d.width); err != nil {
		return nil, err
	}
	m, p, err := file.gated(d, mixture.Model{Family: g.family(file.Settings.floor())})
	if err != nil {
		return nil, err
	}
	return savedRegression(g, mixture.Model{Family: m.Family}, p.Mixture, namesOf(file.Columns), gatedRows{&d, m, p}), nil
}

// gatedRows are components whose probabilities a gate says.
type gatedRows struct {
	*gateDesign
	model  experts.Model
	params *experts.Parameters
}

func (g gatedRows) score(b framework.Rows) (logProb, r []float64, err error) {
	return g.model.Score(g.rows(b), g.params, nil, nil)
}

func (g gatedRows) prior(b framework.Rows) ([]float64, error) {
	return g.model.Prior(g.rows(b), g.params, nil)
}
