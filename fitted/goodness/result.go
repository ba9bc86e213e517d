package goodness

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/fitted"
)

// Verdicts. A misfit is slight where what differs is small, however clear: in a table of many rows, little is chance.
const (
	Fits   = "fits"
	Slight = "slight misfit"
	Misfit = "misfit"
)

// A Result says whether a model fits; encoding/json writes it as docs/schema/check.json describes.
type Result struct {
	Verdict  string   `json:"verdict"`
	About    string   `json:"about"`  // what differs, in sentences
	Advice   []string `json:"advice"` // what to do about it
	Rows     int      `json:"rows"`   // of weight 1
	Draws    int      `json:"draws"`  // compared
	Failed   int      `json:"failed"` // refits that failed, left out
	Seed     uint64   `json:"seed"`
	Refitted bool     `json:"refitted"` // the model was fitted to each draw
	Tests    []Test   `json:"tests"`    // one of each group

	Patterns   *Patterns   `json:"patterns"`   // of codes without gaps in every row; else nil
	Pairs      *Pairs      `json:"pairs"`      // nil: there are none
	Likelihood *Likelihood `json:"likelihood"` // of the rows
	Distances  *Distances  `json:"distances"`  // of normal columns; nil: there are none
	Residuals  []Residual  `json:"residuals"`  // of sequences, by column

	Notes []string `json:"notes"`
}

// A Test is the most striking statistic of a group.
type Test struct {
	Name       string        `json:"name"`       // patterns, pairs, likelihood, outlier or residuals
	Statistics int           `json:"statistics"` // in the group
	P          fitted.Number `json:"p_value"`    // adjusted for their number
	Adjusted   fitted.Number `json:"adjusted_p_value"`
	Clear      bool          `json:"clear"` // the adjusted p-value is at most 0.05
}

// A Statistic of the table beside the draws.
type Statistic struct {
	Value    fitted.Number `json:"value"`
	Expected fitted.Number `json:"expected"` // mean of the draws
	SD       fitted.Number `json:"sd"`       // of the draws
	P        fitted.Number `json:"p_value"`
	Adjusted fitted.Number `json:"adjusted_p_value"` // for the number of statistics in its group
}

func (c comparison) statistic() Statistic {
	of := func(v float64) fitted.Number { return fitted.Number(v) }
	return Statistic{of(c.value), of(c.mean), of(c.sd), of(c.p), of(c.adjusted)}
}

// Patterns compare how often there is each pattern of codes.
type Patterns struct {
	Rows   int           `json:"rows"`     // complete ones
	Seen   int           `json:"patterns"` // of them
	Cells  float64       `json:"cells"`    // possible patterns
	Free   fitted.Number `json:"free_parameters"`
	Df     fitted.Number `json:"df"`     // min(cells − 1, rows) − free parameters
	Sparse bool          `json:"sparse"` // fewer than five rows a cell: χ² does not hold
	G2     ChiSquared    `json:"g2"`
	X2     ChiSquared    `json:"x2"`
}

// ChiSquared is a statistic with its p-value by the χ² distribution.
type ChiSquared struct {
	Statistic
	ByChi2 fitted.Number `json:"chi2_p_value"` // null without degrees of freedom
}

// Pairs compare what is between two columns.
type Pairs struct {
	Columns int    `json:"columns"` // that were looked at
	All     int    `json:"all"`     // pairs of all columns
	Looked  int    `json:"looked"`  // pairs that were looked at
	Clear   int    `json:"clear"`   // of those, pairs with an adjusted p-value of at most 0.05
	List    []Pair `json:"list"`    // the most striking first, at most 1000
}

// A Pair is a statistic of two columns.
type Pair struct {
	A    string `json:"a"`
	B    string `json:"b"`
	What string `json:"what"` // bivariate residual, correlation, or correlation within classes
	Statistic
	Effect fitted.Number `json:"effect"` // what differs, as a correlation

	z float64
}

// Likelihood compares ln p of rows.
type Likelihood struct {
	Distance Statistic `json:"distance"` // Kolmogorov–Smirnov, from the distribution of ln p under the model
	Tail     Statistic `json:"tail"`     // share of the rows below its first percentile
	Smallest Statistic `json:"smallest"` // ln p of a row
	Row      string    `json:"row"`      // that row
	// quantiles of ln p of the rows, from the first percentile to the last, and those that the model expects
	Quantiles []fitted.Number `json:"quantiles"`
	Expected  []fitted.Number `json:"expected_quantiles"`
}

// A Residual compares a column of sequences.
type Residual struct {
	Column string `json:"column"`
	What   string `json:"what"`
	Statistic

	z float64
}

const (
	mostListed    = 1000 // pairs
	leastCell     = 5    // rows for each cell, for χ²
	small         = 0.1  // correlations and their differences
	smallDistance = 0.05 // differences of distribution functions
)

// result compares the figures of the table with those of the draws.
func (c *checker) result(of *scored, observed *figures, drawn []*figures) *Result {
	r := &Result{Rows: c.table.N, Draws: len(drawn), Failed: c.o.Draws - len(drawn), Seed: c.o.Seed,
		Refitted: c.o.Refit != nil, Advice: []string{}, Tests: []Test{}, Residuals: []Residual{}}
	steps := c.stepStatistics()
	var all [groups][]comparison
	var p []float64
	for g := range all {
		others := make([][]float64, len(drawn))
		for b, one := range drawn {
			others[b] = one.of[g]
		}
		two, shape := c.sides(g, steps)
		all[g] = compare(observed.of[g], others, two, shape)
		if at := least(all[g]); at >= 0 {
			looked := len(slices.DeleteFunc(slices.Clone(all[g]), func(one comparison) bool { return one.p != one.p }))
			r.Tests = append(r.Tests, Test{Name: groupNames[g], Statistics: looked, P: fitted.Number(all[g][at].adjusted)})
			p = append(p, all[g][at].adjusted)
		}
	}
	for i, v := range holm(p) {
		r.Tests[i].Adjusted, r.Tests[i].Clear = fitted.Number(v), v <= level
	}
	if float64(len(p)) > level*float64(len(drawn)+1) {
		c.note("%d draws cannot tell %d groups from chance: take %d or more", len(drawn), len(p),
			int(math.Ceil(float64(len(p))/level))-1)
	}
	r.Patterns = c.patternResult(all[patterns])
	r.Pairs = c.pairResult(all[associations])
	r.Likelihood = c.likelihoodResult(all, of, c.origin[observed.least])
	r.Distances = c.distanceResult(all, observed.far)
	for j, one := range all[residuals] {
		if one.p == one.p {
			r.Residuals = append(r.Residuals, Residual{c.columns[steps[j].column].Name, steps[j].what, one.statistic(), one.z})
		}
	}
	slices.SortStableFunc(r.Residuals, func(a, b Residual) int { return cmp.Compare(b.z, a.z) })
	c.judge(r)
	r.Notes = append([]string{}, c.notes...)
	return r
}

// sides says which statistics of a group differ on both sides, and what makes them alike.
func (c *checker) sides(g int, steps []stepStatistic) (two func(j int) bool, shape func(j int, v float64) float64) {
	two = func(j int) bool {
		switch g {
		case associations:
			return j >= c.pairs.coded
		case likelihood:
			return j == 1
		case residuals:
			return steps[j].what != distance
		}
		return false
	}
	return two, func(j int, v float64) float64 {
		if g == associations && j < c.pairs.coded || g == outlier && j == 1 { // near to normal (Wilson & Hilferty 1931)
			return math.Cbrt(v)
		}
		return v
	}
}

func (c *checker) patternResult(list []comparison) *Patterns {
	if len(list) == 0 {
		return nil
	}
	p := &Patterns{Cells: 1, Free: fitted.Number(c.o.Free)}
	for _, n := range c.levels[:c.described] {
		p.Cells *= float64(n)
	}
	seen := c.patterns(&scored{sample: c.table})
	p.Seen = len(seen)
	for _, one := range seen {
		p.Rows += int(one.count)
	}
	p.Sparse = float64(p.Rows) < leastCell*p.Cells
	df := min(p.Cells-1, float64(p.Rows)) - c.o.Free
	chi2 := func(one comparison) ChiSquared {
		s := ChiSquared{one.statistic(), fitted.Number(math.NaN())}
		if df >= 1 {
			s.ByChi2 = fitted.Number(distuv.ChiSquared{K: df}.Survival(one.value))
		}
		return s
	}
	p.Df, p.G2, p.X2 = fitted.Number(df), chi2(list[0]), chi2(list[1])
	return p
}

func (c *checker) pairResult(list []comparison) *Pairs {
	if len(list) == 0 {
		return nil
	}
	n := len(c.pairs.chosen)
	p := &Pairs{List: []Pair{}, Columns: n, All: c.pairs.all, Looked: n * (n - 1) / 2}
	for j, one := range list {
		if one.p != one.p {
			continue
		}
		of := c.pairs.list[j]
		if of.what != bivariate { // of artanh r beyond what is expected
			z := c.shared.z[j-c.pairs.coded]
			one.value, one.mean = math.Tanh(z+one.value), math.Tanh(z)
			one.sd *= 1 - one.mean*one.mean
		}
		effect := math.Abs(one.value - one.mean)
		if of.what == bivariate { // Cramér's V of what is beyond the draws
			a, b := float64(c.levels[of.a]-1), float64(c.levels[of.b]-1)
			effect = math.Sqrt(max(0, one.value-one.mean) * max(a, b) / float64(c.table.N))
		}
		p.List = append(p.List, Pair{c.columns[of.a].Name, c.columns[of.b].Name, of.what, one.statistic(),
			fitted.Number(effect), one.z})
	}
	slices.SortStableFunc(p.List, func(a, b Pair) int { return cmp.Compare(b.z, a.z) })
	clear := map[[2]string]bool{}
	for _, one := range p.List {
		if float64(one.Adjusted) <= level {
			clear[[2]string{one.A, one.B}] = true
		}
	}
	p.Clear = len(clear)
	p.List = p.List[:min(len(p.List), mostListed)]
	if p.Columns < c.described {
		c.note("%d of %d columns, drawn at random, were looked at in pairs", p.Columns, c.described)
	}
	return p
}

func (c *checker) likelihoodResult(all [groups][]comparison, of *scored, least int) *Likelihood {
	l := &Likelihood{Distance: all[likelihood][0].statistic(), Tail: all[likelihood][1].statistic(),
		Smallest: all[outlier][0].statistic(), Row: c.name(least)}
	l.Smallest.Value, l.Smallest.Expected = -l.Smallest.Value, -l.Smallest.Expected
	seen := slices.Sorted(slices.Values(of.log))
	for percent := range 99 {
		at := func(sorted []float64) fitted.Number {
			return fitted.Number(stat.Quantile(float64(percent+1)/100, stat.Empirical, sorted, nil))
		}
		l.Quantiles, l.Expected = append(l.Quantiles, at(seen)), append(l.Expected, at(c.shared.log))
	}
	return l
}
