package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
)

// A calibrationRun is what one table gives: K by method, or biases in nats, or K and the value of House Votes.
type calibrationRun struct {
	K     []int
	Value []float64
}

// votesCases are CVB0 or not, and the K to begin with.
var votesCases = []struct {
	name      string
	collapsed bool
	k         int
}{{"gFAB, ten starts, from 10", false, 10}, {
	"gFAB, ten starts, from 20", false, 20,
}, {"CVB0, one start, from 10", true, 10}, {"CVB0, one start, from 20", true, 20}}

// votesSeeds is the number of fits of House Votes from k components.
func votesSeeds(s *Settings, k int) int {
	if s.Quick && k > 10 {
		return 0
	}
	return s.seeds(10, 2)
}

// seeds is the number of tables of a cell: fewer where rows are many.
func (c calibrationCell) seeds(s *Settings) int {
	switch {
	case s.Quick && (c.n > 100 || c.k == 3):
		return 0
	case c.n == 100:
		return s.seeds(10, 1)
	case c.n == 400:
		return 4
	}
	return 3
}

func calibration() *Experiment {
	return Define(Info{
		Name:   "calibration",
		Title:  "Which criterion finds K: a calibration of the defaults",
		Source: "Beyond the papers: truths over families, N, K and separation",
		About: `Tables are drawn from seven families, N = 100, 400 and 1600, K = 1, 3 and 5, components that overlap or are clear, weights within a factor of two; profiles of levels differ in some columns at least, and levels by 2.5 or 5 standard
deviations in two Gaussian columns (1.8 or 3.5 in four), by rates 3 and 7 or 3 and 12 in Poisson columns, and by probabilities 0.75 or 0.9 (0.65 or 0.8 of three levels) of codes. Ten tables a cell at N = 100, four at 400, three at 1600: a rate over 15 cells × 3 tables has a standard error of 7 points.

gFIC to DNML choose from one sweep, EM at K = 1 to 8, the better of two starts; the ELBO from a sweep of variational Bayes. These end when an iteration changes nothing by more than 1e-5 nats a row. CVB0, with
a = ½ for the weights and b = ½ for codes, prunes from 8 in one run, and is left out at N = 1600 for its time. The last column is one run of gFAB by default options from K = 10. Priors are the defaults but for CVB0. Biases are those of the best of five starts at K = 2, CVB0 here with default priors too,
against an exact sum over labellings, or annealed importance sampling for Gaussian and Poisson columns. The labels of two components can be swapped, and a q that is a product sees one of the two: −0.69 nats are unavoidable where components are clear.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[calibrationRun], err error) {
		for i, c := range votesCases {
			for seed := range votesSeeds(s, c.k) {
				jobs = append(jobs, Job[calibrationRun]{
					Key:  fmt.Sprintf("votes-%d-seed-%d", i, seed),
					Cost: 3,
					Run: func(ctx context.Context) (calibrationRun, error) {
						return votes(ctx, c.collapsed, c.k, uint64(seed))
					},
				})
			}
		}
		for _, c := range biasCells() {
			for seed := range s.seeds(20, 3) {
				jobs = append(jobs, Job[calibrationRun]{
					Key:  fmt.Sprintf("bias-%s-%s-seed-%d", c.truth.name, c.separation(), seed),
					Cost: 0.1,
					Run: func(ctx context.Context) (calibrationRun, error) {
						values, err := c.bias(ctx, uint64(seed))
						return calibrationRun{nil, values}, err
					},
				})
			}
		}
		for _, c := range calibrationCells() {
			for seed := range c.seeds(s) {
				jobs = append(jobs, Job[calibrationRun]{
					Key: fmt.Sprintf("%s-n-%d-k-%d-%s-seed-%d", c.truth.name, c.n, c.k, c.separation(), seed),
					Run: func(ctx context.Context) (calibrationRun, error) {
						k, err := c.choose(ctx, uint64(seed))
						return calibrationRun{k, nil}, err
					},
				})
			}
		}
		return jobs, nil
	}, calibrationConclude)
}

// kind is what the columns are.
func (t calibrationTruth) kind() string {
	switch t.family.(type) {
	case normal.Family:
		return "Gaussian"
	case family.Poisson:
		return "Poisson"
	}
	return "codes"
}

// tally counts the tables of some cells, how many K̂ = K there are, and |K̂ − K|, by method.
type tally struct{ tables, found, off [calibrationMethods]float64 }

func (t *tally) add(truth int, chosen []int) {
	for m, k := range chosen {
		if k > 0 {
			t.tables[m]++
			t.off[m] += math.Abs(float64(k - truth))
			if k == truth {
				t.found[m]++
			}
		}
	}
}

// rate is the fraction of tables whose K method m finds; NaN where it was left out.
func (t *tally) rate(m int) float64 { return t.found[m] / t.tables[m] }

// best is the method with the highest rate.
func (t *tally) best() (best int) {
	for m := range calibrationMethods {
		if t.rate(m) > t.rate(best) {
			best = m
		}
	}
	return best
}

// cells are the rate in per cent and, in brackets, the mean of |K̂ − K|, of every method.
func (t *tally) cells() (list []any) {
	for m := range calibrationMethods {
		if t.tables[m] == 0 {
			list = append(list, "–")
		} else {
			list = append(list, fmt.Sprintf("%.0f (%.1f)", 100*t.rate(m), t.off[m]/t.tables[m]))
		}
	}
	return list
}

// percent lists rates of methods.
func (t *tally) percent(methods ...int) string {
	var parts []string
	for _, m := range methods {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", calibrationNames[m], 100*t.rate(m)))
	}
	return strings.Join(parts, ", ")
}

func calibrationConclude(s *Settings, runs []calibrationRun) (*Outcome, error) {
	next := func(n int) (list []calibrationRun) {
		list, runs = runs[:n], runs[n:]
		return list
	}
	out, house := &Outcome{}, Table{
		Name:  "housevotes84",
		Shown: true,
		About: "K of House Votes without Class, of all seeds in order of size, and the least and largest value of " +
			"the method's criterion, nats",
		Header: []string{"fit", "k", "least", "largest"},
	}
	var voted []Statement
	for _, c := range votesCases {
		var ks []int
		var values []float64
		for _, r := range next(votesSeeds(s, c.k)) {
			ks, values = append(ks, r.K[0]), append(values, r.Value[0])
		}
		if values == nil {
			continue
		}
		slices.Sort(ks)
		voted = append(voted, Statement{
			Paper:    "House Votes has the same K for every seed: " + c.name + ".",
			Agrees:   ks[0] == ks[len(ks)-1],
			Measured: fmt.Sprint("K in ", slices.Compact(slices.Clone(ks))),
		})
		house.Add(c.name, strings.Trim(fmt.Sprint(ks), "[]"), floats.Min(values), floats.Max(values))
	}
	bias, worst := Table{
		Name:  "bias",
		Shown: true,
		About: "value less ln p(X|K) at K = 2, nats: mean and standard deviation over tables of 40 rows, of 12 " +
			"where columns are codes",
		Header: append([]string{"family", "separation"}, biasNames...),
	}, 0.0
	for _, c := range biasCells() {
		list, row := next(s.seeds(20, 3)), []any{c.truth.name, c.separation()}
		for m := range biasNames {
			var values []float64
			for _, r := range list {
				values = append(values, r.Value[m])
			}
			mean, sd := stat.MeanStdDev(values, nil)
			row = append(row, fmt.Sprintf("%+.1f ± %.1f", mean, sd))
			if m == len(biasNames)-1 {
				worst = max(worst, math.Abs(mean))
			}
		}
		bias.Add(row...)
	}
	var groups []string
	tallies := map[string]*tally{}
	at := func(group string) *tally {
		if tallies[group] == nil {
			tallies[group], groups = &tally{}, append(groups, group)
		}
		return tallies[group]
	}
	for _, c := range calibrationCells() {
		for _, r := range next(c.seeds(s)) {
			names := []string{"kind/" + c.truth.kind(), fmt.Sprintf("family/%s, N = %d", c.truth.name,
				c.n), fmt.Sprintf("size/%s, K = %d, %s", c.truth.kind(), c.k, c.separation())}
			if c.n <= 400 {
				names = append(names, "kind/"+c.truth.kind()+calibrationSmall)
			}
			if c.k == 1 {
				names = append(names, "one/"+c.truth.kind())
			}
			for _, name := range names {
				at(name).add(c.k, r.K)
			}
		}
	}
	out.Statements = append(calibrationStatements(at, worst), voted...)
	for _, of := range [][2]string{
		{"kind", "kind of columns"}, {"family", "family and N"}, {"size", "kind of columns, K and separation"},
	} {
		t := Table{
			Name:   of[0],
			Shown:  true,
			About:  "per cent of the tables in which each finds K, and in brackets the mean of |K̂ − K|, by " + of[1],
			Header: append([]string{"tables of"}, calibrationNames[:]...),
		}
		for _, name := range groups {
			if group, rest, _ := strings.Cut(name, "/"); group == of[0] {
				t.Add(append([]any{rest}, at(name).cells()...)...)
			}
		}
		out.Tables = append(out.Tables, t)
	}
	out.Tables = append(out.Tables, bias, house)
	return out, nil
}

// calibrationSmall marks the tables that CVB0 has seen.
const calibrationSmall = ", N ≤ 400"

// calibrationStatements are what the defaults rest on. A method counts as good as the best where it finds K in at most
// 5 % of the tables less.
func calibrationStatements(at func(string) *tally, worst float64) []Statement {
	const margin = 0.05
	asGood := func(group string, m int) (bool, string) {
		t := at(group)
		best := t.best()
		return t.rate(m) >= t.rate(best)-margin, t.percent(m) + "; the best is " + t.percent(best)
	}
	gfab, gfabText := asGood("kind/Gaussian", calibrationGFAB)
	codes, codesText := asGood("kind/codes", calibrationGFAB)
	counts, countsText := asGood("kind/Poisson", calibrationGFAB)
	cvb0, cvb0Text := asGood("kind/codes"+calibrationSmall, calibrationCVB0)
	gaussian := at("kind/Gaussian")
	list := []Statement{
		{Paper: "Gaussian columns: one run of gFAB finds K as often as any sweep.", Agrees: gfab, Measured: gfabText},
		{Paper: "Codes: one run of gFAB does.", Agrees: codes, Measured: codesText},
		{Paper: "Poisson columns: one run of gFAB does.", Agrees: counts, Measured: countsText},
		{Paper: "Codes, N ≤ 400: CVB0 with a = b = ½ does.", Agrees: cvb0, Measured: cvb0Text},
		{
			Paper:    "Gaussian columns: BIC finds K as often as gFIC in the same sweep.",
			Agrees:   gaussian.rate(calibrationBIC) >= gaussian.rate(calibrationGFIC)-margin,
			Measured: gaussian.percent(calibrationBIC, calibrationGFIC),
		},
	}
	for _, kind := range []string{"Gaussian", "Poisson", "codes"} {
		t, all := at("one/"+kind), []int{calibrationGFIC, calibrationBIC, calibrationICL, calibrationCollapsed,
			calibrationVB, calibrationCVB0, calibrationGFAB}
		good := true
		for _, m := range all {
			good = good && t.rate(m) >= 1-margin
		}
		list = append(list,
			Statement{Paper: "One component: none is divided. " + kind + ".", Agrees: good, Measured: t.percent(all...)})
	}
	return append(list,
		Statement{Paper: "The value of CVB0 lies within 2 nats of ln p(X|K), on average over small " +
			"tables.", Agrees: worst <= 2, Measured: fmt.Sprintf("%.2f nats at most", worst)})
}
