package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// components are a mixture.
type components struct {
	scoring.Rows
	model  mixture.Model
	params *mixture.Parameters
	groups [][]int // of several components, from 0; nil if each is its own
	ready  func() (scoring.Of, error)
}

// newComponents says the most probable component of each row and its probability, the probability of each, the
// log-likelihood, and the probability of noise where the model has it.
func newComponents(model mixture.Model, p *mixture.Parameters, needsAll bool) *components {
	c := &components{model: model, params: p, ready: func() (scoring.Of, error) { return model.Scorer(p) }}
	c.Takes.Gaps = !needsAll
	c.Says = fitted.Layout{
		First: []string{"label", "probability"},
		List:  "responsibilities",
		Items: wording.Numbered("p", p.K),
		Last:  []string{"log_likelihood"},
	}
	if _, noise := model.Family.(family.Noise); noise {
		c.Says.Last = append(c.Says.Last, "noise")
	}
	return c
}

// grouped adds the groups of a file, where any has several components.
func (c *components) grouped(list [][]int) error {
	sorted := slices.Sorted(slices.Values(slices.Concat(list...)))
	empty := slices.ContainsFunc(list, func(g []int) bool { return len(g) == 0 })
	switch {
	case len(list) == 0:
		return nil
	case empty || len(sorted) != c.params.K || sorted[0] != 1 || sorted[c.params.K-1] != c.params.K ||
		len(slices.Compact(sorted)) != c.params.K:
		return fmt.Errorf("its groups %v are no partition of %d components", list, c.params.K)
	case len(list) == c.params.K:
		return nil
	}
	for _, group := range list {
		var own []int
		for _, k := range group {
			own = append(own, k-1)
		}
		c.groups = append(c.groups, own)
	}
	c.Says.First = append(c.Says.First, "group")
	return nil
}

// mixture takes the parameters out of a model file, and the families of its columns.
func (l loader) mixture(f *fitted.File) (fitted.Model, error) {
	s, err := settingsOf(f)
	if err != nil {
		return nil, err
	}
	if err := l.check(f, len(s.Gate) > 0); err != nil {
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
	c := newComponents(model, p, families.NeedsComplete(f.Family))
	if err := c.grouped(f.Groups); err != nil {
		return nil, err
	}
	if f.Posterior == nil {
		return plain{c}, nil
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
		return plain{c}, nil
	}
	c.ready = func() (scoring.Of, error) { return variational.Predictor(q) }
	return plain{c}, nil
}

func (c *components) NewScorer() (fitted.Scorer, error) {
	score, err := c.ready()
	return &classes{c: c, score: score}, err
}

// A plain mixture has weights, by which components draw rows.
type plain struct{ *components }

// NewSampler draws rows, one independent of another.
func (c plain) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	return func(n int) (x []float64, labels []int, err error) { return c.model.Sample(c.params, n, rng) }
}

// classes score rows by their components.
type classes struct {
	c                 *components
	score             scoring.Of
	logProb, r, noise []float64
	pooled            []float64 // of a row's groups
}

func (s *classes) Score(b framework.Rows, dst []float64) (err error) {
	if s.logProb, s.r, err = s.score(b, s.logProb, s.r); err != nil {
		return err
	}
	s.noise = s.c.model.NoiseProbability(s.logProb, s.c.params, s.noise)
	k, width, head := s.c.params.K, s.c.Says.Width(), len(s.c.Says.First)
	for i, l := range s.logProb {
		own, row := s.r[i*k:(i+1)*k], dst[i*width:(i+1)*width]
		label := floats.MaxIdx(own)
		row[0], row[1], row[head+k] = float64(label+1), own[label], l
		if s.c.groups != nil {
			s.pooled = grouping.Pool(s.pooled, own, k, s.c.groups)
			row[2] = float64(floats.MaxIdx(s.pooled) + 1)
		}
		copy(row[head:], own)
		if s.noise != nil {
			row[head+k+1] = s.noise[i]
		}
	}
	return nil
}

// ---- Gates

// gated are components whose probabilities depend on the last columns.
type gated struct {
	*components
	gate   design.Gate
	model  experts.Model
	params *experts.Parameters
}

// gated takes the parameters of a mixture with a gate out of a model file.
func (l loader) gated(f *fitted.File, names []string) (fitted.Model, error) {
	if err := hasColumns(f.Columns, names); err != nil {
		return nil, err
	}
	g := &gated{gate: design.GateOf(f.Columns, names)}
	base := mixture.Model{Family: l.families.OfRows(f.Family, f.Columns[:g.gate.Own])}
	if err := g.read(f, base); err != nil {
		return nil, err
	}
	g.components = newComponents(mixture.Model{Family: g.model.Family}, g.params.Mixture, families.NeedsComplete(f.Family))
	g.Takes.Given = len(f.Columns) - g.gate.Own
	g.ready = g.scorer
	return g, nil
}

// read takes the parameters of classes, those of base, behind the gate.
func (g *gated) read(f *fitted.File, base mixture.Model) error {
	g.model = g.gate.Model(base)
	if err := json.Unmarshal(f.Params, &g.params); err != nil {
		return err
	}
	if err := g.model.Check(g.params); err != nil {
		return err
	}
	return f.Matches(g.params.K(), len(f.Columns))
}

// scorer takes rows with the model's columns.
func (g *gated) scorer() (scoring.Of, error) {
	score, err := g.model.Scorer(g.params)
	var x []float64
	return func(b framework.Rows, logProb, r []float64) ([]float64, []float64, error) {
		seen := g.gate.Rows(b, x)
		x = seen.X
		return score(seen, logProb, r)
	}, err
}

// NewPriorScorer says of rows that have the columns of the gate alone what it says.
func (g *gated) NewPriorScorer() (fitted.Scorer, error) {
	prior, err := g.model.PriorScorer(g.params)
	score := func(b framework.Rows, logProb, r []float64) ([]float64, []float64, error) {
		r, err := prior(g.gate.Alone(b), r)
		return make([]float64, b.N), r, err // of no column of the components, the probability is 1
	}
	return &classes{c: g.components, score: score}, err
}

// SampleGiven draws the columns of the components.
func (g *gated) SampleGiven(b framework.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
	drawn, labels, err := g.model.Sample(g.gate.Rows(b, nil), g.params, rng)
	d, own := g.params.D, g.gate.Own
	for i := range labels {
		x = append(append(x, drawn[i*d:i*d+own]...), b.Row(i)[own:]...)
	}
	return x, labels, err
}
