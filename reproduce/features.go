package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/features"
)

// A featureCell is a setting that tables of ten columns are drawn from.
type featureCell struct {
	scale float64 // standard deviation of the loadings; the noise has about 1
	k, n  int
	model features.Model
}

func featureCells() (cells []featureCell) {
	for _, scale := range []float64{1.5, 1, 0.7} {
		for _, k := range []int{3, 5} {
			for _, n := range []int{100, 300, 1000} {
				for _, m := range []features.Model{{Isotropic: true}, {}} {
					cells = append(cells, featureCell{scale, k, n, m})
				}
			}
		}
	}
	return cells
}

// featureTables is how many tables are drawn of a cell.
const featureTables = 10

// draw makes a table. Features are on in 30, 40 or 50 % of the rows.
func (c featureCell) draw(seed uint64) (*blocks.Table, error) {
	const d = 10
	rng := rand.New(rand.NewPCG(seed, uint64(c.k)))
	p := &features.Parameters{K: c.k, D: d, Isotropic: c.model.Isotropic, Offset: make([]float64, d), Noise: []float64{1}}
	for l := range c.k {
		p.On = append(p.On, 0.3+0.1*float64(l%3))
	}
	for range d * c.k {
		p.Loadings = append(p.Loadings, c.scale*rng.NormFloat64())
	}
	for j := 0; j < d && !p.Isotropic; j++ {
		p.Noise = append(p.Noise[:j], math.Exp(rng.NormFloat64()/2))
	}
	x, err := p.Sample(c.n, rng)
	if err != nil {
		return nil, err
	}
	return blocks.FromMatrix(x)
}

// choose is the K of each method.
func (c featureCell) choose(ctx context.Context, seed uint64) (chosen []int, err error) {
	src, err := c.draw(seed)
	if err != nil {
		return nil, err
	}
	o := framework.Options{K: c.k + 3, Seed: seed, Workers: 1, Tolerance: 1e-7}
	for _, of := range papers {
		o.Method, o.Criterion = of.Method, of.Criterion
		switch fit, err := framework.Fit(ctx, c.model, src, o); {
		case errors.Is(err, features.ErrNone):
			chosen = append(chosen, 0)
		case err != nil:
			return nil, err
		default:
			chosen = append(chosen, fit.Shape.K)
		}
	}
	byCriteria, err := chooseByCriteria(ctx, c.model, src, c.k+3, 3, o)
	return append(chosen, byCriteria...), err
}

func latentFeatures() *Experiment {
	return Define(Info{
		Name:   "features",
		Title:  "How many binary features: gFAB and FAB beside BIC, AIC and ICL",
		Source: "Beyond the papers: after Hayashi & Fujimaki (2013), who prune binary latent features by FAB",
		About: `Rows of ten columns, the sum of 3 or 5 features that 30, 40 or 50 % of the rows have, with loadings of a normal distribution, and noise: of variance 1, or of a variance exp(N(0,1)/2) for each column. Ten tables a cell. gFAB and FAB begin with three features more than there are and prune, from one
start, with split moves; the criteria choose among EM fits of every K up to there, three starts each.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[[]int], err error) {
		for i, c := range featureCells() {
			for seed := range s.seeds(featureTables, 1) {
				jobs = append(jobs, Job[[]int]{
					Key:  fmt.Sprintf("cell-%d-seed-%d", i+1, seed),
					Cost: float64(c.n<<c.k) / 1000,
					Run: func(ctx context.Context) ([]int, error) {
						return c.choose(ctx, uint64(seed))
					},
				})
			}
		}
		return jobs, nil
	}, featuresConclude)
}

func featuresConclude(s *Settings, results [][]int) (*Outcome, error) {
	n, all := s.seeds(featureTables, 1), featureCells()
	cells := Table{
		Name:   "cells",
		About:  "Of the tables, how many each finds the right number in, and the mean number that it finds.",
		Header: append([]string{"loadings", "noise", "features", "rows"}, howMany...),
		Shown:  true,
	}
	found, worst, excess := make([]float64, len(howMany)), 1.0, make([]float64, len(howMany))
	for _, c := range all {
		noise := "each its own"
		if c.model.Isotropic {
			noise = "one variance"
		}
		row := []any{c.scale, noise, c.k, c.n}
		for m := range howMany {
			right, mean := countRight(results[:n], m, c.k)
			share := float64(right) / float64(n)
			found[m] += share / float64(len(all))
			if c.scale == 1.5 { // a third of the cells
				excess[m] += 3 * (mean - float64(c.k)) / float64(len(all))
				if m == 0 {
					worst = min(worst, share)
				}
			}
			row = append(row, fmt.Sprintf("%d (%.1f)", right, mean))
		}
		results = results[n:]
		cells.Add(row...)
	}
	return &Outcome{Tables: []Table{cells}, Statements: []Statement{
		{
			Paper:    "gFAB finds the number of features in 8 of 10 tables, where loadings are 1.5 times the noise.",
			Agrees:   worst >= 0.8,
			Measured: fmt.Sprintf("%.0f of 10 in the worst cell", 10*worst),
		},
		{Paper: "There FAB, whose criterion has no term of the noise, keeps more features than there are, and gFAB does not.",
			Agrees:   excess[1] > 0.1 && excess[0] < 0.1,
			Measured: fmt.Sprintf("FAB %+.2f on average, gFAB %+.2f", excess[1], excess[0])},
		{
			Paper:    "One run of gFAB finds it as often as BIC does by comparing every K, to 5 points.",
			Agrees:   found[0] >= found[4]-0.05,
			Measured: foundBy(0, found) + ", " + foundBy(4, found),
		},
	}}, nil
}
