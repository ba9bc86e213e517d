package reproduce

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// A stateCell is a setting that sequences are drawn from.
type stateCell struct{ steps, sequences int }

var stateCells = []stateCell{{100, 1}, {150, 1}, {400, 1}, {1000, 1}, {40, 25}}

// stateMost is the largest K that is compared, statesTrue the right one.
const (
	stateMost  = 7
	statesTrue = 3
)

// draw makes sequences of three Gaussian states with means −2, 0 and 2 and standard deviation 0.7, of which two stay
// for 10 steps and one for 5, on average.
func (c stateCell) draw(seed uint64) (*blocks.SequenceTable, error) {
	p := &hmm.Parameters{
		K:           statesTrue,
		D:           1,
		Start:       []float64{1. / 3, 1. / 3, 1. / 3},
		Transitions: []float64{0.9, 0.05, 0.05, 0.05, 0.9, 0.05, 0.1, 0.1, 0.8},
		Components:  []float64{-2, 0.49, 0, 0.49, 2, 0.49},
	}
	lengths, ends := make([]int, c.sequences), make([]int, c.sequences)
	for i := range lengths {
		lengths[i], ends[i] = c.steps, (i+1)*c.steps
	}
	x, _, err := hmm.Model{Family: normal.Family{}}.Sample(p, lengths, rand.New(rand.NewPCG(seed, 15)))
	if err != nil {
		return nil, err
	}
	table, err := blocks.FromSlice(x, len(x), 1)
	if err != nil {
		return nil, err
	}
	return blocks.NewSequences(table, ends)
}

// choose is the K of each method.
func (c stateCell) choose(ctx context.Context, seed uint64) (chosen []int, err error) {
	src, err := c.draw(seed)
	if err != nil {
		return nil, err
	}
	m := hmm.Model{Family: normal.Family{}, Workers: 1}
	o := framework.Options{K: stateMost, Seed: seed, Restarts: 2, Workers: 1, Tolerance: 1e-7}
	for _, of := range papers {
		o.Method, o.Criterion = of.Method, of.Criterion
		fit, err := framework.Fit(ctx, m, src, o)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, fit.Shape.K)
	}
	byCriteria, err := chooseByCriteria(ctx, m, src, stateMost, 5, o)
	return append(chosen, byCriteria...), err
}

func states() *Experiment {
	return Define(Info{
		Name:  "states",
		Title: "How many hidden states: gFAB and FAB beside BIC, AIC and ICL",
		Source: "Beyond the papers: after Fujimaki & Hayashi (2012), who compare FAB with other criteria on " +
			"simulated hidden Markov models",
		About: `Sequences of three Gaussian states with means −2, 0 and 2 and standard deviation 0.7, two of which last ten steps on average and one five: one sequence of 100 to 1000 steps, and 25 of 40. Twenty tables a cell. gFAB and FAB begin with seven states and prune, two starts each; the criteria choose
among EM fits of K = 1 to 7, five starts each. The tables of Fujimaki & Hayashi are others: theirs are not stated in what this project has at hand.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[[]int], err error) {
		for _, c := range stateCells {
			for seed := range s.seeds(20, 1) {
				jobs = append(jobs, Job[[]int]{
					Key:  fmt.Sprintf("steps-%d-sequences-%d-seed-%d", c.steps, c.sequences, seed),
					Cost: float64(c.steps*c.sequences) / 1000,
					Run: func(ctx context.Context) ([]int, error) {
						return c.choose(ctx, uint64(seed))
					},
				})
			}
		}
		return jobs, nil
	}, statesConclude)
}

func statesConclude(s *Settings, results [][]int) (*Outcome, error) {
	n := s.seeds(20, 1)
	cells := Table{
		Name:   "cells",
		About:  "Per cent of the tables in which each finds the three states, and the mean K that it finds.",
		Header: append([]string{"sequences", "steps each"}, howMany...),
		Shown:  true,
	}
	found := make([]float64, len(howMany))
	for _, c := range stateCells {
		row := []any{c.sequences, c.steps}
		for m := range howMany {
			right, mean := countRight(results[:n], m, statesTrue)
			found[m] += float64(right) / float64(len(stateCells)*n)
			row = append(row, fmt.Sprintf("%.0f (%.2f)", 100*float64(right)/float64(n), mean))
		}
		results = results[n:]
		cells.Add(row...)
	}
	return &Outcome{Tables: []Table{cells}, Statements: []Statement{
		{
			Paper:    "FAB finds the number of states in one run as well as BIC does by comparing every K, to 5 points.",
			Agrees:   found[1] >= found[4]-0.05,
			Measured: foundBy(1, found) + ", " + foundBy(4, found),
		},
		{Paper: "gFAB does too.", Agrees: found[0] >= found[4]-0.05, Measured: foundBy(0, found) + ", " + foundBy(4, found)},
		{Paper: "AIC finds too many.", Agrees: found[5] < found[4], Measured: foundBy(5, found) + ", " + foundBy(4, found)},
	}}, nil
}
