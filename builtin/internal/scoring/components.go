package scoring

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
)

// Components score rows by a mixture.
type Components struct {
	Rows
	model  mixture.Model
	params *mixture.Parameters
	groups [][]int // of several components, from 0; nil if each is its own
	Ready  func() (Of, error)
}

// NewComponents returns the scoring of a mixture: for each row the most probable component and its probability, the
// probability of every component, the log-likelihood and, if the model has noise, the probability of noise.
func NewComponents(model mixture.Model, p *mixture.Parameters, needsAll bool) *Components {
	c := &Components{model: model, params: p, Ready: func() (Of, error) { return model.Scorer(p) }}
	c.Takes.Gaps = !needsAll
	c.Says = fitted.Layout{
		First: []string{"label", "probability"},
		List:  "responsibilities",
		Items: wording.Numbered("p", p.K),
		Last:  []string{"log_likelihood"},
	}
	if _, noise := known.Inner(model.Family).(normal.Noise); noise {
		c.Says.Last = append(c.Says.Last, "noise")
	}
	return c
}

// Grouped adds the groups of a file if any group has several components. It returns an error if the groups are not a
// partition of the components.
func (c *Components) Grouped(list [][]int) error {
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

// Name names the classes by the labels of the last of the columns that they describe, if it has known classes.
func (c *Components) Name(columns []data.Column) {
	labels := func(k int) int { return c.model.Label(c.params, k) }
	c.Takes.Known, c.Says.Classes = NameClasses(c.Says.Items, columns, labels)
}

// NameClasses returns 1 + the place of the column of known classes, and the labels of all classes; the names of their
// probabilities become those of the labels.
func NameClasses(items []string, columns []data.Column, of func(k int) int) (known int, names []string) {
	labels := classes.Labels(columns)
	if labels == nil {
		return 0, nil
	}
	names = make([]string, len(items))
	for k := range items {
		if label := of(k); label != family.Free {
			names[k] = labels[label]
			items[k] = "p_" + names[k]
		}
	}
	return len(columns), names
}

func (c *Components) NewScorer() (fitted.Scorer, error) {
	score, err := c.Ready()
	return &byClass{c: c, score: score}, err
}

// Refit implements [fitted.Refitter].
func (c *Components) Refit(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
	return fitted.RefitRows(ctx, c.model, c.params, r)
}

// Distances are those of rows from the components.
func (c *Components) Distances(b blocks.Rows) (squared []float64, columns []int) {
	return c.model.Distances(b, c.params)
}

// Fill fills the gaps of rows in.
func (c Plain) Fill(b blocks.Rows, rng *rand.Rand) ([]float64, error) {
	return c.model.Fill(b, c.params, rng)
}

// A Plain mixture has weights, so that it can draw rows.
type Plain struct{ *Components }

// NewSampler draws independent rows, with the component of each.
func (c Plain) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	return func(n int) (x []float64, labels []int, err error) { return c.model.Sample(c.params, n, rng) }
}

// byClass scores rows by their components.
type byClass struct {
	c                 *Components
	score             Of
	logProb, r, noise []float64
	pooled            []float64 // of a row's groups
}

func (s *byClass) Score(b blocks.Rows, dst []float64) (err error) {
	if s.logProb, s.r, err = s.score(b, s.logProb, s.r); err != nil {
		return err
	}
	s.noise = s.c.model.NoiseProbability(b, s.logProb, s.c.params, s.noise)
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

// Gated components have probabilities that depend on the last columns.
type Gated struct {
	*Components
	Gate   design.Gate
	Model  experts.Model
	Params *experts.Parameters
}

// ReadGated reads from a file the parameters of the classes of base, and of their gate.
func ReadGated(f *fitted.File, gate design.Gate, base mixture.Model) (*Gated, error) {
	g := &Gated{Gate: gate, Model: gate.Model(base)}
	if err := json.Unmarshal(f.Params, &g.Params); err != nil {
		return nil, err
	}
	if err := g.Model.Check(g.Params); err != nil {
		return nil, err
	}
	return g, f.Matches(g.Params.K(), len(f.Columns))
}

// Scorer returns a function that scores rows with all columns of the model.
func (g *Gated) Scorer() (Of, error) {
	score, err := g.Model.Scorer(g.Params)
	var x []float64
	return func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
		seen := g.Gate.Rows(b, x)
		x = seen.X
		return score(seen, logProb, r)
	}, err
}

// NewPriorScorer returns a scorer of rows with the columns of the gate alone, by the probabilities of the gate.
func (g *Gated) NewPriorScorer() (fitted.Scorer, error) {
	prior, err := g.Model.PriorScorer(g.Params)
	score := func(b blocks.Rows, logProb, r []float64) ([]float64, []float64, error) {
		r, err := prior(g.Gate.Alone(b), r)
		return make([]float64, b.N), r, err // of no column of the components, the probability is 1
	}
	return &byClass{c: g.Components, score: score}, err
}

// Refit implements [fitted.Refitter].
func (g *Gated) Refit(ctx context.Context, r fitted.Refitting) (*bootstrap.Estimates, error) {
	r.Rows, r.Fit.Accelerate = g.Gate.Rows(r.Rows, nil), true // a steep gate makes EM slow
	return fitted.RefitRows(ctx, g.Model, g.Params, r)
}

// SampleGiven draws the columns of the components for rows with given columns of the gate.
func (g *Gated) SampleGiven(b blocks.Rows, rng *rand.Rand) (x []float64, labels []int, err error) {
	drawn, labels, err := g.Model.Sample(g.Gate.Rows(b, nil), g.Params, rng)
	if err != nil {
		return nil, nil, err
	}
	return g.Gate.Behind(b, drawn), labels, nil
}

// Fill fills the gaps of the columns of the components in.
func (g *Gated) Fill(b blocks.Rows, rng *rand.Rand) ([]float64, error) {
	filled, err := g.Model.Fill(g.Gate.Rows(b, nil), g.Params, rng)
	if err != nil {
		return nil, err
	}
	return g.Gate.Behind(b, filled), nil
}

// CheckGate returns an error if a name of the gate is not the name of a column.
func CheckGate(columns []data.Column, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(columns, func(c data.Column) bool { return c.Name == name }) {
			return fmt.Errorf("no column %q, which its gate has", name)
		}
	}
	return nil
}
