package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A posteriorCell is a prior that parameters are drawn from, and from them a table: the first column of component k has
// its mean, or probability, at Components[k·P].
type posteriorCell struct {
	name    string
	family  family.Family
	prior   prior.Prior
	columns int
	n, k    int
}

func posteriorCells() (cells []posteriorCell) {
	spread := prior.NormalInverseGamma{Kappa: 0.1, Shape: 3, Rate: 2}
	for _, n := range []int{50, 500} {
		for k := 1; k <= 3; k++ {
			cells = append(cells,
				posteriorCell{"Bernoulli", family.Bernoulli{}, prior.Beta{A: 1, B: 1}, 6, n, k},
				posteriorCell{"Gaussian", normal.Family{Covariance: normal.Diagonal}, spread, 2, n, k})
		}
	}
	return cells
}

// posteriorNumbers are functions of parameters that the order of components does not change.
var posteriorNumbers = []string{"mean of the mixture", "least mean", "largest mean", "weight of the largest"}

// numbers are those, of the first column.
func (c posteriorCell) numbers(weights, components []float64) []float64 {
	p, least, largest, mean := len(components)/c.k, 0, 0, 0.0
	for k, w := range weights {
		v := components[k*p]
		mean += w * v
		if v < components[least*p] {
			least = k
		}
		if v > components[largest*p] {
			largest = k
		}
	}
	if c.k == 1 { // the others are the same, or 1
		return []float64{mean}
	}
	return []float64{mean, components[least*p], components[largest*p], weights[largest]}
}

// draw draws weights and components from the prior, and rows from them.
func (c posteriorCell) draw(rng *rand.Rand) (p *mixture.Parameters, table *blocks.Table, err error) {
	p = &mixture.Parameters{K: c.k, D: c.columns, Weights: prior.Dirichlet{Alpha: 1}.Concentrations(c.k).Rand(rng, nil)}
	for range c.k {
		var means, variances []float64
		for range c.columns {
			switch of := c.prior.(type) {
			case prior.Beta:
				means = append(means, of.Rand(rng))
			case prior.NormalInverseGamma:
				mean, variance := of.Rand(rng)
				means, variances = append(means, mean), append(variances, variance)
			}
		}
		p.Components = append(append(p.Components, means...), variances...)
	}
	x, _, err := mixture.Model{Family: c.family}.Sample(p, c.n, rng)
	if err != nil {
		return nil, nil, err
	}
	table, err = blocks.FromSlice(x, c.n, c.columns)
	return p, table, err
}

// posteriorDraws is one less than a multiple of 40, so that 95 in 100 ranks lie between the same number on either side.
const posteriorDraws = 199

// An intervalRun is what one table says of the numbers of a cell: their ranks among draws of the posterior and (truth −
// mean)/sd of those, or errors and intervals of complete data and of the bootstrap, with the estimates.
type intervalRun struct {
	Ranks                          []int
	Scores                         []float64
	Estimates, Complete, Resampled []float64 // estimates, and standard errors
	CompleteHolds, ResampledHolds  []bool
}

func (c posteriorCell) run(ctx context.Context, seed uint64) (run intervalRun, err error) {
	rng := rand.New(rand.NewPCG(seed, uint64(10*c.n+c.k)))
	truth, table, err := c.draw(rng)
	if err != nil {
		return run, err
	}
	m := mixture.Variational{Family: c.family, Prior: c.prior, Weights: prior.Dirichlet{Alpha: 1}}
	o := framework.Options{
		K: c.k, FixedK: true, Method: framework.EM, Restarts: 3, Tolerance: 1e-8, Seed: seed, Workers: 1,
	}
	fit, err := framework.Fit(ctx, m, table, o)
	if err != nil {
		return run, err
	}
	plan, err := family.NewPlan(c.family, c.columns)
	if err != nil {
		return run, err
	}
	posterior, err := plan.Attach(fit.Parameters.Pooled).Posterior(c.prior)
	if err != nil {
		return run, err
	}
	var draws [][]float64
	components := make([]float64, len(truth.Components))
	for range posteriorDraws {
		posterior.Draw(fit.Parameters.Components, rng, components)
		draws = append(draws, c.numbers(prior.Concentrations(fit.Parameters.Weights).Rand(rng, nil), components))
	}
	for i, v := range c.numbers(truth.Weights, truth.Components) {
		rank, of := 0, make([]float64, len(draws))
		for j, draw := range draws {
			of[j] = draw[i]
			if draw[i] < v {
				rank++
			}
		}
		mean, sd := stat.MeanStdDev(of, nil)
		run.Ranks, run.Scores = append(run.Ranks, rank), append(run.Scores, (v-mean)/sd)
	}
	return run, nil
}

// An errorCell is two normal components of variance 1 and weights 0.4 and 0.6, whose means are some way apart.
type errorCell struct {
	apart float64
	n     int
}

var errorCells = []errorCell{{5, 100}, {5, 500}, {3, 100}, {3, 500}, {2, 500}}

var errorNumbers = []string{"first mean", "second mean", "first variance", "second variance", "first weight"}

// errorDraws is the number of draws of the bootstrap: its 2.5 % quantile lies at the fifth of them.
const errorDraws = 199

func (c errorCell) run(ctx context.Context, seed uint64) (run intervalRun, err error) {
	truth := []float64{0, c.apart, 1, 1, 0.4}
	rng := rand.New(rand.NewPCG(seed, uint64(c.n)))
	m := mixture.Model{Family: normal.Family{}}
	from := &mixture.Parameters{K: 2, D: 1, Weights: []float64{0.4, 0.6}, Components: []float64{0, 1, c.apart, 1}}
	x, _, err := m.Sample(from, c.n, rng)
	if err != nil {
		return run, err
	}
	table, err := blocks.FromSlice(x, c.n, 1)
	if err != nil {
		return run, err
	}
	o := framework.Options{K: 2, FixedK: true, Method: framework.EM, Restarts: 5, Seed: seed, Workers: 1}
	fit, err := framework.Fit(ctx, m, table, o)
	if err != nil {
		return run, err
	}
	p := fit.Parameters
	first := 0
	if p.Component(1)[0] < p.Component(0)[0] {
		first = 1
	}
	of := func(components, weights []float64) []float64 {
		a, b := components[2*first:2*first+2], components[2-2*first:4-2*first]
		return []float64{a[0], b[0], a[1], b[1], weights[first]}
	}
	components, weights, err := m.StandardErrors(fit.Statistics, p)
	if err != nil {
		return run, err
	}
	run.Estimates, run.Complete = of(p.Components, p.Weights), of(components, weights)
	numbers := func(q *mixture.Parameters) []float64 { return of(q.Components, q.Weights) }
	drawn, err := bootstrap.StandardErrors(ctx, m, table, p, numbers,
		bootstrap.Options{Draws: errorDraws, Seed: seed, Workers: 1, Fit: o})
	if err != nil {
		return run, err
	}
	for i, v := range truth {
		run.CompleteHolds = append(run.CompleteHolds, math.Abs(run.Estimates[i]-v) <= 1.959964*run.Complete[i])
		number := drawn.Numbers[i]
		run.ResampledHolds = append(run.ResampledHolds, number.Low <= v && v <= number.High)
		run.Resampled = append(run.Resampled, number.Error)
	}
	return run, nil
}

// uniformity tests ranks from 0 to posteriorDraws: the least two-sided tail of the empirical distribution function at
// 19 points, among those of sets of uniform ranks (Säilynoja, Bürkner & Vehtari 2022), is its p value.
type uniformity struct{ tails, simulated []float64 }

const (
	uniformPoints = 20
	uniformSets   = 4000
)

func newUniformity(n int) *uniformity {
	u := &uniformity{tails: make([]float64, (uniformPoints-1)*(n+1))}
	for i := 1; i < uniformPoints; i++ {
		row, below, share := u.tails[(i-1)*(n+1):][:n+1], 0.0, float64(i)/uniformPoints
		for c := range row {
			a, _ := math.Lgamma(float64(n + 1))
			b, _ := math.Lgamma(float64(c + 1))
			d, _ := math.Lgamma(float64(n - c + 1))
			here := math.Exp(a - b - d + float64(c)*math.Log(share) + float64(n-c)*math.Log1p(-share))
			row[c] = 2 * min(below+here, 1-below)
			below += here
		}
	}
	rng, ranks := rand.New(rand.NewPCG(2022, 1)), make([]int, n)
	for range uniformSets {
		for i := range ranks {
			ranks[i] = rng.IntN(posteriorDraws + 1)
		}
		u.simulated = append(u.simulated, u.least(ranks))
	}
	slices.Sort(u.simulated)
	return u
}

func (u *uniformity) least(ranks []int) float64 {
	var counts [uniformPoints]int
	for _, r := range ranks {
		counts[r*uniformPoints/(posteriorDraws+1)]++
	}
	least, below := 1.0, 0
	for i, c := range counts[:uniformPoints-1] {
		below += c
		least = min(least, u.tails[i*(len(ranks)+1)+below])
	}
	return least
}

// p is the share of sets of uniform ranks that are no nearer to uniform, at least 1/uniformSets.
func (u *uniformity) p(ranks []int) float64 {
	at, _ := slices.BinarySearchFunc(u.simulated, u.least(ranks), func(a, b float64) int {
		if a <= b {
			return -1
		}
		return cmp.Compare(a, b)
	})
	return float64(at+1) / (uniformSets + 1)
}

func intervals() *Experiment {
	return Define(Info{
		Name:   "intervals",
		Title:  "Posteriors and intervals: whether 95 in 100 hold the truth",
		Source: "Beyond the papers: simulation-based calibration (Talts et al. 2018; Säilynoja, Bürkner & Vehtari 2022)",
		About: `*Posteriors.* Weights and components are drawn from the prior, Dirichlet(1) and Beta(1, 1) in six columns or the
normal-inverse-gamma distribution with κ = 0.1, shape 3 and rate 2 in two, a table from them, and 199 parameters from
the posterior that variational Bayes has of it (the best of three starts, at the right K). Of a right posterior, the
rank of the truth among the draws is uniform for any function of the parameters. Those here do not change with the
order of components, and are of the first column. With one component q is the posterior. "p" is that of the ranks'
distribution function within bands for all points at once (4,000 sets of uniform ranks); "covered" is how often the
middle 95 % of the posterior hold the truth, and "z" the root mean square of (truth − mean)/sd, 1 for a right
posterior and more for one too narrow. A thousand tables a cell: a share of 95 % has a standard error of 0.7 points.

*Standard errors.* Two normal components with variance 1, weights 0.4 and 0.6 and means 0 and 2, 3 or 5, EM from five
starts. "Complete data" are estimates ± 1.96 standard errors as ` + "`latent fit`" + ` prints them, which take the
classes of rows for known (paper G, Proposition 9); the bootstrap's are percentile intervals of 199 parametric draws.
"se/sd" is the mean standard error over the standard deviation of the estimates. Two hundred tables a cell: a share of
95 % has a standard error of 1.5 points.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[intervalRun], err error) {
		for _, c := range posteriorCells() {
			for seed := range s.tables(1000, 20) {
				key := fmt.Sprintf("%s-n-%d-k-%d-seed-%d", c.name, c.n, c.k, seed)
				jobs = append(jobs, Job[intervalRun]{key, float64(c.n*c.k) / 10000, func(ctx context.Context) (intervalRun, error) {
					return c.run(ctx, uint64(seed))
				}})
			}
		}
		for _, c := range errorCells {
			for seed := range s.seeds(200, 2) {
				key := fmt.Sprintf("apart-%v-n-%d-seed-%d", c.apart, c.n, seed)
				jobs = append(jobs,
					Job[intervalRun]{key, float64(c.n) / 50 / c.apart, func(ctx context.Context) (intervalRun, error) {
						return c.run(ctx, uint64(seed))
					}})
			}
		}
		return jobs, nil
	}, intervalsConclude)
}

// calibratedAs are shares of tables: p, the share covered, and z of one number of a cell.
func calibratedAs(runs []intervalRun, i int, u *uniformity) (p, covered, z float64) {
	ranks := make([]int, len(runs))
	for j, run := range runs {
		ranks[j] = run.Ranks[i]
		if edge := (posteriorDraws + 1) / 40; ranks[j] >= edge && ranks[j] <= posteriorDraws-edge {
			covered += 1 / float64(len(runs))
		}
		z += run.Scores[i] * run.Scores[i] / float64(len(runs))
	}
	return u.p(ranks), covered, math.Sqrt(z)
}

func intervalsConclude(s *Settings, results []intervalRun) (*Outcome, error) {
	n := s.tables(1000, 20)
	u := newUniformity(n)
	posteriors := Table{Name: "posteriors", Shown: true,
		Header: []string{"family", "N", "K", "number", "p", "covered, per cent", "z"},
		About:  "Posteriors of variational Bayes, by number of components."}
	least, several, uniform := 1.0, 0, 0
	worst, widest := 1.0, 0.0
	for _, c := range posteriorCells() {
		runs := results[:n]
		results = results[n:]
		for i := range runs[0].Ranks {
			p, covered, z := calibratedAs(runs, i, u)
			posteriors.Add(c.name, c.n, c.k, posteriorNumbers[i],
				fmt.Sprintf("%.4f", p), fmt.Sprintf("%.1f", 100*covered), fmt.Sprintf("%.2f", z))
			if c.k == 1 {
				least = min(least, p)
				continue
			}
			several++
			if p >= 0.001 {
				uniform++
			}
			worst, widest = min(worst, covered), max(widest, z)
		}
	}
	errors, statements := errorsConclude(s, results)
	one := Statement{Paper: "One component: ranks are uniform, for q is the posterior.", Central: true}
	one.Agrees, one.Measured = least >= 0.001, fmt.Sprintf("p = %.4f at least", least)
	more := Statement{Paper: "Several components: ranks are uniform.", Agrees: uniform == several}
	more.Measured = fmt.Sprintf("%d of %d numbers have p ≥ 0.001; ", uniform, several) +
		fmt.Sprintf("intervals of 95 %% hold %.0f %% at least, and z is %.1f at most", 100*worst, widest)
	return &Outcome{Tables: []Table{posteriors, errors}, Statements: append([]Statement{one, more}, statements...)}, nil
}

// errorsConclude are the table and the statements of standard errors.
func errorsConclude(s *Settings, results []intervalRun) (Table, []Statement) {
	table := Table{Name: "errors", Shown: true,
		Header: []string{
			"means apart", "N", "number", "complete data: covered, per cent", "se/sd", "bootstrap: covered, per cent", "se/sd",
		},
		About: "Standard errors and intervals of 95 % of EM's estimates, of both means, both variances and a weight."}
	n, clear, close, bootstrapped := s.seeds(200, 2), 1.0, 1.0, 1.0
	for _, c := range errorCells {
		runs := results[:n]
		results = results[n:]
		for i, name := range errorNumbers {
			var complete, resampled, completeError, resampledError float64
			estimates := make([]float64, n)
			for j, run := range runs {
				estimates[j] = run.Estimates[i]
				completeError += run.Complete[i] / float64(n)
				resampledError += run.Resampled[i] / float64(n)
				if run.CompleteHolds[i] {
					complete += 1 / float64(n)
				}
				if run.ResampledHolds[i] {
					resampled += 1 / float64(n)
				}
			}
			sd := stat.StdDev(estimates, nil)
			table.Add(c.apart, c.n, name, fmt.Sprintf("%.1f", 100*complete), fmt.Sprintf("%.2f", completeError/sd),
				fmt.Sprintf("%.1f", 100*resampled), fmt.Sprintf("%.2f", resampledError/sd))
			if bootstrapped = min(bootstrapped, resampled); c.apart == 5 {
				clear = min(clear, complete)
			} else {
				close = min(close, complete)
			}
		}
	}
	covers := func(share float64) string { return fmt.Sprintf("%.1f %% at least", 100*share) }
	return table, []Statement{
		{Paper: "Intervals of complete data hold 90 % where components are five standard deviations apart.",
			Agrees: clear >= 0.9, Measured: covers(clear)},
		{Paper: "They do where components are three or two apart.", Agrees: close >= 0.9, Measured: covers(close)},
		{
			Paper:    "Intervals of the bootstrap hold 90 % in every case.",
			Agrees:   bootstrapped >= 0.9,
			Measured: covers(bootstrapped),
		},
	}
}
