package reproduce

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
)

// A factorCell is a setting that tables of factor analysis are drawn from.
type factorCell struct {
	d, k, n int
	missing bool // 20 % of the entries
}

// factorMost is the largest K that is compared: what 12 columns identify.
const factorMost = 7

// factorMethods choose K; the last is one run, and of tables with missing entries only.
var factorMethods = []string{"gFIC", "BIC", "sBIC", "AIC", "gFAB, one run"}

func factorCells() (cells []factorCell) {
	for _, missing := range []bool{false, true} {
		for _, d := range []int{12, 20} {
			for _, k := range []int{3, 5} {
				for _, n := range []int{100, 300, 1000, 2000} {
					cells = append(cells, factorCell{d, k, n, missing})
				}
			}
		}
	}
	return cells
}

// seeds is the number of tables: fewer where entries are missing, whose fits take iterations.
func (c factorCell) seeds(s *Settings) int {
	switch {
	case !c.missing:
		return s.seeds(50, 5)
	case s.Quick && (c.n > 100 || c.d > 12):
		return 0
	case c.n == 2000:
		return 0
	case c.n == 1000:
		return s.seeds(5, 0)
	}
	return s.seeds(10, 1)
}

// draw makes a table: loadings N(0, ½²), noise of variance ½ to 3/2, NaN where an entry is missing; no row is empty.
func (c factorCell) draw(rng *rand.Rand) (*blocks.Table, error) {
	p := &factor.Parameters{K: c.k, D: c.d, Mean: make([]float64, c.d), Loadings: make([]float64, c.d*c.k)}
	for i := range p.Loadings {
		p.Loadings[i] = rng.NormFloat64() / 2
	}
	for range c.d {
		p.Noise = append(p.Noise, 0.5+rng.Float64())
	}
	x, err := p.Sample(c.n, rng)
	if err != nil {
		return nil, err
	}
	if c.missing {
		for i := range c.n {
			kept := rng.IntN(c.d)
			for j := range c.d {
				if j != kept && rng.Float64() < 0.2 {
					x.Set(i, j, math.NaN())
				}
			}
		}
	}
	return blocks.FromIncomplete(mat.DenseCopyOf(x).RawMatrix().Data, c.n, c.d)
}

// choose is the K of each method, 0 where it takes no part.
func (c factorCell) choose(ctx context.Context, seed uint64) ([]int, error) {
	table, err := c.draw(rand.New(rand.NewPCG(seed, 14)))
	if err != nil {
		return nil, err
	}
	criteria := []framework.Criterion{framework.GFIC, framework.BIC, framework.SBIC, framework.AIC}
	chosen := make([]int, len(factorMethods))
	if c.missing {
		o := framework.Options{Method: framework.EM, Seed: seed, Workers: 1, Tolerance: 1e-6, Accelerate: true}
		var ks []int
		for k := 1; k <= factorMost; k++ {
			ks = append(ks, k)
		}
		sweep, err := framework.Select(ctx, factor.Model{}, table, ks, o, criteria...)
		if err != nil {
			return nil, err
		}
		for j := range criteria {
			chosen[j] = ks[sweep.Best(j)]
		}
		fit, err := framework.Fit(ctx, factor.Model{}, table,
			framework.Options{K: factorMost, Seed: seed, Workers: 1, Tolerance: 1e-6, Accelerate: true})
		if err != nil {
			return nil, err
		}
		chosen[len(criteria)] = fit.Shape.K
		return chosen, nil
	}
	m, err := lineargaussian.Summarize(ctx, table, 1)
	if err != nil {
		return nil, err
	}
	all, err := factor.Solve(m, factor.Structure{}, factorMost)
	if err != nil {
		return nil, err
	}
	for j, one := range criteria {
		if chosen[j], _, err = all.Best(one); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

func factors() *Experiment {
	return Define(Info{
		Name:   "factors",
		Title:  "How many factors: gFIC beside BIC, sBIC and AIC",
		Source: "Beyond the papers: factor analysis of simulated tables",
		About: `Tables of D = 12 and 20 columns from K = 3 and 5 factors, N = 100 to 2000, with loadings N(0, ½²) and noise of variance between ½ and 3/2: the weakest of five factors explains a few per cent of the variance. Fifty tables a cell. Each criterion chooses among K = 1 to 7, all in closed form
from one covariance matrix (docs/theory/factor.md). With 20 % of the entries missing, at random, there is no closed form: each K is fitted by EM, and gFAB prunes from 7 in one run; ten tables a cell, five of N = 1000, none of 2000.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[[]int], err error) {
		for _, c := range factorCells() {
			cost := 0.01
			if c.missing {
				cost = float64(c.n*c.d) / 4000
			}
			for seed := range c.seeds(s) {
				jobs = append(jobs, Job[[]int]{
					Key:  fmt.Sprintf("d-%d-k-%d-n-%d-missing-%v-seed-%d", c.d, c.k, c.n, c.missing, seed),
					Cost: cost,
					Run: func(ctx context.Context) ([]int, error) {
						return c.choose(ctx, uint64(seed))
					},
				})
			}
		}
		return jobs, nil
	}, factorsConclude)
}

func factorsConclude(s *Settings, results [][]int) (*Outcome, error) {
	header := append([]string{"missing", "D", "K", "N", "tables"}, factorMethods...)
	cells := Table{Name: "cells", About: "Per cent of the tables in which each finds K.", Header: header, Shown: true}
	found, tables := map[bool][]float64{
		false: make([]float64, len(factorMethods)), true: make([]float64, len(factorMethods)),
	}, map[bool]float64{}
	for _, c := range factorCells() {
		n := c.seeds(s)
		if n == 0 {
			continue
		}
		row := []any{map[bool]string{true: "20 %", false: "none"}[c.missing], c.d, c.k, c.n, n}
		for m := range factorMethods {
			right := 0
			for _, chosen := range results[:n] {
				if chosen[m] == c.k {
					right++
				}
			}
			found[c.missing][m] += float64(right)
			if m == len(factorMethods)-1 && !c.missing {
				row = append(row, "")
			} else {
				row = append(row, fmt.Sprintf("%.0f", 100*float64(right)/float64(n)))
			}
		}
		results = results[n:]
		tables[c.missing] += float64(n)
		cells.Add(row...)
	}
	out := &Outcome{Tables: []Table{cells}}
	for _, missing := range []bool{false, true} {
		what := map[bool]string{false: "No entry missing", true: "20 % of the entries missing"}[missing]
		rates := found[missing]
		best := 0
		for m := range rates[:4] {
			if rates[m] > rates[best] {
				best = m
			}
		}
		share := func(m int) float64 { return 100 * rates[m] / tables[missing] }
		out.Statements = append(out.Statements, Statement{
			Paper: what + ": gFIC finds K as often as any other criterion, to 5 points.", Agrees: share(0) >= share(best)-5,
			Measured: fmt.Sprintf("gFIC %.0f %%, BIC %.0f %%, sBIC %.0f %%, AIC %.0f %%", share(0),
				share(1), share(2), share(3)),
		})
		if missing {
			out.Statements = append(out.Statements, Statement{
				Paper:    what + ": one run of gFAB finds it as often as the sweep, to 5 points.",
				Agrees:   share(4) >= share(0)-5,
				Measured: fmt.Sprintf("gFAB %.0f %%, the sweep's gFIC %.0f %%", share(4), share(0)),
			})
		}
	}
	return out, nil
}
