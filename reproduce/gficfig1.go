package reproduce

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/plot"
	ramps "gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/vg"
)

// A posteriorRun describes a posterior of Z without the penalty, with it, and exactly.
type posteriorRun struct {
	Smaller  [3][]float64 // distribution of the rows in the smaller component
	Distance [3]float64   // total variation distance from the exact posterior
	Regular  [3]float64   // the same, given that both components have rows
	Moved    float64      // between without and with
	Penalty  []float64    // largest ln |F|^−½, by the rows in the smaller component
	// Of two patterns, by the copies in component 1: probabilities, and ln |F|^−½.
	Cells   [3][]float64
	Factors []float64
}

const (
	zPlain     = iota // ∝ p(X,Z|Π̂(Z))
	zPenalised        // ∝ p(X,Z|Π̂(Z)) |F|^−½, with κ(Z) components
	zExact            // p(Z|X,K)
)

// A fig1Case is rows of zeros and ones: how often each pattern occurs.
type fig1Case struct {
	name     string
	columns  int
	counts   []int // of pattern 0 … 2^columns − 1
	profiles bool  // two profiles that X distinguishes
}

// The rows of one profile are those of fair coins; with two profiles, they agree in all
// columns but for a few errors.
func fig1Cases() []fig1Case {
	cases := []fig1Case{{name: "one-bit", columns: 1, counts: []int{16, 24}}}
	for _, n := range []int{20, 40, 80} {
		cases = append(cases,
			fig1Case{name: fmt.Sprintf("one-profile-n-%d", n), columns: 2, counts: []int{n / 4, n / 4, n / 4, n / 4}},
			fig1Case{
				name:     fmt.Sprintf("two-profiles-n-%d", n),
				columns:  3,
				profiles: true,
				counts:   []int{n / 2, 0, 0, n / 20, n / 20, 0, 0, n - n/2 - 2*(n/20)},
			})
	}
	return cases
}

func (c fig1Case) rows() int {
	sum := 0
	for _, n := range c.counts {
		sum += n
	}
	return sum
}

func gficFig1() *Experiment {
	return Define(Info{
		Name:   "gfic-fig1",
		Title:  "How |F|^−½ changes the posterior of Z",
		Source: "Hayashi, Maeda & Fujimaki 2015, section 4.3, figure 1 and proposition 4",
		About: `All Z of a Bernoulli mixture with K = 2, exactly. Rows that are equal are exchangeable, so that the posterior of Z is a function of how many copies of each pattern component 1 has; it is a
picture where there are two patterns. "Without" is p(Z|X,Π̂) ∝ p(X,Z|Π̂(Z)), "with" has the factor |F|^−½ (paper G, eq. 13), and "exact" is p(Z|X,K) with the parameters integrated out under Jeffreys' priors, which
are flat in the coordinates of F. Where a component has no rows, Z is degenerate, κ(Z) = 1, and the factor is that of one component: |F|^−½ N^(−D_Π/2) with the smaller D_Π, as in eq. 10. Probabilities are those of all Z
together that share the numbers of copies.

The data: one bit, 24 ones and 16 zeros; two bits, all four patterns equally often, so that there is one profile and a component is redundant; and three bits with two profiles, half of the rows 000, most others 111, with a few errors.`,
		Revision: 1,
	}, func(*Settings) ([]Job[posteriorRun], error) {
		var jobs []Job[posteriorRun]
		for _, c := range fig1Cases() {
			jobs = append(jobs,
				Job[posteriorRun]{Key: c.name, Run: func(context.Context) (posteriorRun, error) { return c.posterior(), nil }})
		}
		return jobs, nil
	}, fig1Conclude)
}

// posterior goes through all Z.
func (c fig1Case) posterior() posteriorRun {
	var lengths, patterns []int
	for p, n := range c.counts {
		if n > 0 {
			lengths, patterns = append(lengths, n+1), append(patterns, p)
		}
	}
	n := c.rows()
	a := assignment{
		columns: c.columns, alpha: 0.5, beta: 0.5, rows: make([]float64, 2), ones: make([]float64, 2*c.columns),
	}
	var p [3][]float64 // of all Z that hand the same copies to component 1
	var penalties []float64
	var smaller []int
	copies := make([]int, len(lengths))
	for g := combin.NewCartesianGenerator(lengths); g.Next(); {
		g.Product(copies)
		clear(a.rows)
		clear(a.ones)
		ways := 0.0
		for i, first := range copies {
			all := lengths[i] - 1
			ways += combin.LogGeneralizedBinomial(float64(all), float64(first))
			for k, v := range []int{first, all - first} {
				a.rows[k] += float64(v)
				for m := range c.columns {
					if patterns[i]>>m&1 == 1 {
						a.ones[k*c.columns+m] += float64(v)
					}
				}
			}
		}
		value, kappa := a.plugIn()
		penalty := a.penalty() + float64((2-kappa)*(c.columns+1))/2*math.Log(float64(n))
		p[zPlain], p[zPenalised], p[zExact] = append(p[zPlain], ways+value), append(p[zPenalised], ways+value+penalty),
			append(p[zExact], ways+a.logJoint())
		penalties, smaller = append(penalties, penalty), append(smaller, int(min(a.rows[0], a.rows[1])))
	}

	run := posteriorRun{Penalty: make([]float64, n/2+1)}
	for i := range run.Penalty {
		run.Penalty[i] = math.Inf(-1)
	}
	for i, size := range smaller {
		run.Penalty[size] = max(run.Penalty[size], penalties[i])
	}
	for which, list := range p {
		all := floats.LogSumExp(list)
		run.Smaller[which] = make([]float64, n/2+1)
		for i := range list {
			list[i] = math.Exp(list[i] - all)
			run.Smaller[which][smaller[i]] += list[i]
		}
	}
	for which := range p {
		run.Distance[which] = variation(p[which], p[zExact])
	}
	run.Moved = variation(p[zPlain], p[zPenalised])
	var regular [3][]float64
	for which, list := range p {
		for i, v := range list {
			if smaller[i] > 0 {
				regular[which] = append(regular[which], v/(1-run.Smaller[which][0]))
			}
		}
	}
	for which := range p {
		run.Regular[which] = variation(regular[which], regular[zExact])
	}
	if len(lengths) == 2 {
		run.Cells, run.Factors = p, penalties
	}
	return run
}

// degenerate is the probability that a component has no rows, or at most a twentieth.
func (r posteriorRun) degenerate(which int) (empty, small float64) {
	list := r.Smaller[which]
	return list[0], floats.Sum(list[:(len(list)-1)/10+1])
}

// variation is the total variation distance of two distributions of Z.
func variation(p, q []float64) float64 { return floats.Distance(p, q, 1) / 2 }

// heat draws values over the zeros and ones in component 1.
func (c fig1Case) heat(title string, z []float64, scale ramps.ColorMap) *plot.Plot {
	p := chart(title, "zeros in component 1", "ones in component 1")
	var g grid
	for i := range c.counts[0] + 1 {
		g.X = append(g.X, float64(i))
		rows := c.counts[1] + 1
		g.Values = append(g.Values, z[i*rows:(i+1)*rows])
	}
	for i := range c.counts[1] + 1 {
		g.Y = append(g.Y, float64(i))
	}
	g.heat(p, scale, color.White)
	return p
}

func fig1Conclude(_ *Settings, runs []posteriorRun) (*Outcome, error) {
	cases, out := fig1Cases(), &Outcome{}
	mass := Table{
		Name:  "degenerate",
		Shown: true,
		About: "probability that a component has no rows (empty), or at most a twentieth of them (small), without " +
			"the penalty, with it, and of the exact posterior; total variation distances from the exact posterior, " +
			"of all Z and of those that are not degenerate",
		Header: []string{"data", "n", "empty_without", "small_without", "empty_with", "small_with", "empty_exact",
			"small_exact", "distance_without", "distance_with", "regular_without", "regular_with"},
	}
	first := runs[0]
	places := Table{
		Name:   "one-bit",
		About:  "the first figure: probabilities and ln |F|^−½ by the copies in component 1",
		Header: []string{"zeros", "ones", "without", "with", "exact", "log_penalty"},
	}
	for i, v := range first.Factors {
		ones := cases[0].counts[1] + 1
		places.Add(i/ones, i%ones, first.Cells[zPlain][i], first.Cells[zPenalised][i], first.Cells[zExact][i], v)
	}

	peaks, raised, unmoved := true, true, true
	var peakText, raisedText, distinctText, allText, unmovedText []string
	var sizes, distinct, redundant []float64 // ln N, and ln of distances
	for i, c := range cases {
		r := runs[i]
		row := []any{c.name, c.rows()}
		var empty, small [3]float64
		for which := range empty {
			empty[which], small[which] = r.degenerate(which)
			row = append(row, empty[which], small[which])
		}
		mass.Add(append(row, r.Distance[zPlain], r.Distance[zPenalised], r.Regular[zPlain], r.Regular[zPenalised])...)

		peaks = peaks && floats.MaxIdx(r.Penalty) == 0 && 1+floats.MaxIdx(r.Penalty[1:]) == 1
		if i == 0 {
			peakText = append(peakText, fmt.Sprintf("%s: %.1f where a component has no row, %.1f where it has one, "+
				"%.1f at halves; in all data it is largest at none, and then at one", c.name,
				math.Exp(r.Penalty[0]), math.Exp(r.Penalty[1]), math.Exp(r.Penalty[len(r.Penalty)-1])))
		}
		if c.profiles {
			distinct = append(distinct, math.Log(r.Distance[zPenalised]))
			distinctText = append(distinctText, fmt.Sprintf("%.4f at N = %d", r.Distance[zPenalised], c.rows()))
			unmoved = unmoved && small[zPenalised] < 1e-3
			unmovedText = append(unmovedText, fmt.Sprintf("N = %d: at most a twentieth %.2g → %.2g, moved in all %.3f",
				c.rows(), small[zPlain], small[zPenalised], r.Moved))
		} else {
			raised = raised && empty[zPenalised] > empty[zPlain] && small[zPenalised] > small[zPlain]
			raisedText = append(raisedText, fmt.Sprintf("%s: no rows %.3f → %.3f, at most a twentieth %.3f → %.3f",
				c.name, empty[zPlain], empty[zPenalised], small[zPlain], small[zPenalised]))
			allText = append(allText,
				fmt.Sprintf("%s: %.3f (without it %.3f)", c.name, r.Distance[zPenalised], r.Distance[zPlain]))
			if i > 0 {
				redundant, sizes = append(redundant, math.Log(r.Distance[zPenalised])), append(sizes, math.Log(float64(c.rows())))
			}
		}
	}
	unmoved = unmoved && runs[len(runs)-1].Moved < runs[2].Moved
	rate := func(logDistance []float64) float64 {
		_, slope := stat.LinearRegression(sizes, logDistance, nil, false)
		return slope
	}
	out.Statements = []Statement{
		{
			Central:  true,
			Paper:    "|F|^−½ has a peak where Z is degenerating.",
			Agrees:   peaks,
			Measured: strings.Join(peakText, "; "),
		},
		{
			Central:  true,
			Paper:    "It increases the probability that Z is degenerated.",
			Agrees:   raised,
			Measured: strings.Join(raisedText, "; "),
		},
		{
			Paper:  "Proposition 4: with the factor it is p(Z|X,K) up to a relative error of O(1/N).",
			Agrees: rate(distinct) < -0.75,
			Measured: fmt.Sprintf("two profiles, total variation distance: %s; slope %.2f in ln N",
				strings.Join(distinctText, ", "), rate(distinct)),
		},
		{
			Paper:  "And so it is where K is overcomplete, with degenerate Z taken as Z of the smaller model.",
			Agrees: rate(redundant) < -0.75,
			Measured: fmt.Sprintf("total variation distance, %s; slope %.2f in ln N",
				strings.Join(allText, "; "), rate(redundant)),
		},
		{
			Paper:    "Proposition 6: where p(Z|X) is not degenerate, the factor makes no difference as N grows.",
			Agrees:   unmoved,
			Measured: "two profiles, " + strings.Join(unmovedText, "; "),
		},
	}

	last := runs[len(runs)-2]
	empty, _ := last.degenerate(zPenalised)
	exact, _ := last.degenerate(zExact)
	out.Remarks = fmt.Sprintf(`Where a component is redundant, the factor gives degenerate Z too much: a component has no rows with probability %.3f, and exactly with %.3f (%s). Equation 13 gives the posterior among the Z of one κ;
between them it rests on eq. 10, which leaves a factor of O(1) open. And the exact posterior charges ½ ln N for an empty component, by the prior of the weights, which Laplace's method does not see at the edge of the simplex
(gfic-table1 measures what that does to ln p(X|K)). Among Z that are not degenerate the factor is an improvement: distance %.3f without it, %.3f with it; what is left comes from probabilities of 0 and 1, another edge.`,
		empty, exact, cases[len(cases)-2].name, last.Regular[zPlain], last.Regular[zPenalised])
	var row []*plot.Plot
	low, high := math.Inf(1), math.Inf(-1)
	for _, z := range first.Cells {
		low, high = min(low, floats.Min(z)), max(high, floats.Max(z))
	}
	probability := colours(math.Log10(low), math.Log10(high))
	for i, title := range []string{"without the penalty", "with the penalty", "exact"} {
		row = append(row, cases[0].heat(title, applied(math.Log10, first.Cells[i]), probability))
	}
	row[len(row)-1].Add(colourBar{probability, "decimal log of probability"})
	penalty := colours(0, floats.Max(first.Factors))
	row = append(row, cases[0].heat("the penalty", first.Factors, penalty))
	row[len(row)-1].Add(colourBar{penalty, "ln |F|^−½"})
	var below []*plot.Plot
	for _, i := range []int{0, len(cases) - 2, len(cases) - 1} {
		c, r := cases[i], runs[i]
		p := chart(fmt.Sprintf("%s (N = %d)", strings.ReplaceAll(strings.Split(c.name, "-n-")[0], "-", " "), c.rows()),
			"rows in the smaller component", "probability")
		for which, name := range []string{"without", "with", "exact"} {
			var xs []float64
			for j := range r.Smaller[which] {
				xs = append(xs, float64(j))
			}
			series{Name: name, X: xs, Y: r.Smaller[which], Dashed: which == zExact}.draw(p, []int{0, 1, 6}[which])
		}
		p.Legend.Left = c.profiles
		below = append(below, p)
	}
	out.Figures = []Figure{
		{
			Name:   "figure",
			Width:  32 * vg.Centimeter,
			Height: 10 * vg.Centimeter,
			Plots:  [][]*plot.Plot{row},
			Caption: "Posterior of all Z of 40 rows of one bit, by the zeros and ones that component 1 has, without " +
				"the penalty, with it, and the exact one; and the penalty. Degenerate Z are the corner below left, " +
				"where component 1 has no row, and the one above right, where component 2 has none.",
		},
		{Name: "sizes", Width: 28 * vg.Centimeter, Height: 9 * vg.Centimeter, Plots: [][]*plot.Plot{below},
			Caption: "Distribution of the number of rows in the smaller component, without and with the penalty, and " +
				"exact, for data of one profile, where the second component is redundant, and of two."},
	}
	out.Tables = []Table{mass, places}
	return out, nil
}
