package reproduce

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/regress"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// A linesCell is a setting that mixtures of regressions on one column are drawn from.
type linesCell struct {
	kind    string
	k, rows int
}

// The kinds of lines. Those of "ranges" have regressors about a place of their own.
const (
	linesCross    = "crossing"
	linesParallel = "parallel"
	linesRandom   = "random"
	linesRanges   = "ranges"
	lineCounts    = "counts"
	lineSuccesses = "successes"
)

// linesMost is the largest K that criteria compare, and from which gFAB prunes.
const (
	linesMost   = 6
	linesStarts = 5
	lineTrials  = 20
)

// linesCells are all settings; few ones for a quick run.
func linesCells(quick bool) (cells []linesCell) {
	for _, kind := range []string{linesCross, linesParallel, linesRandom, linesRanges, lineCounts, lineSuccesses} {
		for k := 1; k <= 4; k++ {
			for _, rows := range []int{50, 200, 1000} {
				normal := kind != lineCounts && kind != lineSuccesses
				few := k <= 2 && rows <= 50 && kind != lineSuccesses
				if (normal || k <= 3 && rows <= 200) && (few || !quick) { // those take Newton's method over the rows
					cells = append(cells, linesCell{kind, k, rows})
				}
			}
		}
	}
	return cells
}

// line is a and b of class c: at x, which has mean 0 and deviation 1, a response has the mean a + bx, in deviations of
// its noise, or that logarithm of it, or of its odds.
func (c linesCell) line(class int, rng *rand.Rand) (a, b float64) {
	turn := math.Pi * (float64(class) + 0.25) / float64(c.k)
	switch c.kind {
	case linesCross:
		return 0, 5 * math.Tan((turn-math.Pi/2)*0.8)
	case linesParallel:
		return 5 * float64(class), 2
	case lineCounts:
		return 1.5 + float64(class), 0.4 * math.Cos(turn)
	case lineSuccesses:
		return 2 * float64(class-1), math.Cos(turn)
	}
	return 5 * rng.NormFloat64(), 5 * rng.NormFloat64()
}

// draw makes a table of the response, the trials of successes, and the regressor.
func (c linesCell) draw(seed uint64) (regress.Family, *blocks.Table, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(c.rows*100+c.k*10)+uint64(len(c.kind))))
	lines := make([][2]float64, c.k)
	for i := range lines {
		lines[i][0], lines[i][1] = c.line(i, rng)
	}
	of, columns := regress.Family{}, 2
	switch c.kind {
	case lineCounts:
		of.Response = regress.Counts
	case lineSuccesses:
		of, columns = regress.Family{Response: regress.Successes, Exposure: true}, 3
	}
	var values []float64
	for i := range c.rows {
		class := i % c.k
		x := rng.NormFloat64()
		if c.kind == linesRanges {
			x += 2 * float64(class)
		}
		eta := lines[class][0] + lines[class][1]*x
		switch c.kind {
		case lineCounts:
			values = append(values, distuv.Poisson{Lambda: math.Exp(eta), Src: rng}.Rand(), x)
		case lineSuccesses:
			y := distuv.Binomial{N: lineTrials, P: 1 / (1 + math.Exp(-eta)), Src: rng}.Rand()
			values = append(values, y, lineTrials, x)
		default:
			values = append(values, eta+rng.NormFloat64(), x)
		}
	}
	table, err := blocks.FromSlice(values, c.rows, columns)
	return of, table, err
}

// lineWays are the ways that K is found by.
var lineWays = []string{"evidence, gFAB", "gFIC, gFAB", "BIC, EM"}

// A linesRun is what one table gives: K by each way, and how far the best of half as many starts ends below that of
// all, of the fit by the evidence.
type linesRun struct {
	K     []int
	Short float64
}

func chooseLines(
	ctx context.Context, of regress.Family, src *blocks.Table, seed uint64,
) (run linesRun, err error) {
	m := mixture.Model{Family: of}
	o := framework.Options{K: linesMost, Restarts: linesStarts, Seed: seed, Workers: 1, Tolerance: 1e-7}
	for _, by := range []framework.Criterion{framework.Evidence, framework.GFIC} {
		o.Criterion = by
		fit, err := framework.Fit(ctx, m, src, o)
		if err != nil {
			return run, err
		}
		if run.K = append(run.K, fit.Shape.K); by.Name == framework.Evidence.Name {
			fewer := math.Inf(-1)
			for _, one := range fit.Restarts[:(linesStarts+1)/2] {
				fewer = max(fewer, one.Value)
			}
			run.Short = fit.Value - fewer
		}
	}
	byCriteria, err := chooseByCriteria(ctx, m, src, linesMost, linesStarts, o)
	if err != nil {
		return run, err
	}
	run.K = append(run.K, byCriteria[slices.Index(howMany, "BIC")-len(papers)])
	return run, nil
}

// embeddedLines are the embedded tables of regressions, with the number of lines they are known for.
var embeddedLines = []struct {
	data, response, regressor string
	of                        regress.Family
	square                    bool
	known                     int
}{
	{"NPreg", "yn", "x", regress.Family{}, true, 2},
	{"NPreg", "yp", "x", regress.Family{Response: regress.Counts}, false, 2},
	{"NOdata", "NO", "Equivalence", regress.Family{}, false, 2},
	{"tonedata", "tuned", "stretchratio", regress.Family{}, false, 2},
}

func embeddedLine(i int) (*blocks.Table, error) {
	one := embeddedLines[i]
	t, err := data.Load(one.data)
	if err != nil {
		return nil, err
	}
	if t, err = t.Select(one.response, one.regressor); err != nil {
		return nil, err
	}
	var values []float64
	for row := range t.Rows() {
		x := t.Number(row, 1)
		if values = append(values, t.Number(row, 0), x); one.square {
			values = append(values, x*x)
		}
	}
	return blocks.FromSlice(values, t.Rows(), len(values)/t.Rows())
}

func regressions() *Experiment {
	const seeds = 4
	return Define(Info{
		Name:   "regressions",
		Title:  "How many lines: mixtures of regressions by the evidence, gFIC and BIC",
		Source: "Beyond the papers: after Grün & Leisch (2007), whose NPreg is among the tables",
		About: `Tables of one response and one regressor, with one to four lines in equal shares: lines that cross in one
point, parallel ones five deviations of the noise apart, lines with normal intercepts and slopes of deviation 5, and
the same with regressors two deviations further for each class (ranges), which a gate would describe better; 50, 200 and
1000 rows. Counts have logarithms of rates one apart, and successes of 20 trials log odds two apart, one to three
classes, 50 and 200 rows. Four tables a cell.

gFAB begins with six components and has five starts, by the evidence and by gFIC; BIC compares EM of one to six
components, five starts each. The embedded tables are NPreg (normal responses with x², counts), NOdata and tonedata,
with the number of lines that the literature gives.`,
		Revision: 1,
	}, func(s *Settings) (jobs []Job[linesRun], err error) {
		for i := range embeddedLines[:s.seeds(len(embeddedLines), 1)] {
			jobs = append(jobs, Job[linesRun]{
				Key: fmt.Sprintf("embedded-%d", i),
				Run: func(ctx context.Context) (linesRun, error) {
					src, err := embeddedLine(i)
					if err != nil {
						return linesRun{}, err
					}
					return chooseLines(ctx, embeddedLines[i].of, src, 1)
				},
			})
		}
		for _, c := range linesCells(s.Quick) {
			for seed := range s.seeds(seeds, 1) {
				jobs = append(jobs, Job[linesRun]{
					Key:  fmt.Sprintf("%s-%d-of-%d-seed-%d", c.kind, c.k, c.rows, seed),
					Cost: float64(c.rows) / 200,
					Run: func(ctx context.Context) (linesRun, error) {
						of, src, err := c.draw(uint64(seed))
						if err != nil {
							return linesRun{}, err
						}
						return chooseLines(ctx, of, src, uint64(seed))
					},
				})
			}
		}
		return jobs, nil
	}, func(s *Settings, results []linesRun) (*Outcome, error) {
		return linesConclude(s, results, s.seeds(seeds, 1))
	})
}

// linesConclude tells what each way found, by kind of lines and by rows.
func linesConclude(s *Settings, results []linesRun, seeds int) (*Outcome, error) {
	header := func(first ...string) []string { return append(first, lineWays...) }
	embedded := Table{Name: "embedded", About: "K of the embedded tables.",
		Header: header("table", "response", "known for"), Shown: true}
	for i, one := range embeddedLines[:s.seeds(len(embeddedLines), 1)] {
		row := []any{one.data, one.response, one.known}
		for _, k := range results[i].K {
			row = append(row, k)
		}
		embedded.Add(row...)
	}
	results = results[s.seeds(len(embeddedLines), 1):]
	type tally struct {
		tables int
		right  [3]int
		short  int // tables in which fewer starts end lower
	}
	kinds, sizes, all := map[string]*tally{}, map[int]*tally{}, &tally{}
	cells := linesCells(s.Quick)
	for i, run := range results {
		c := cells[i/seeds]
		if kinds[c.kind] == nil {
			kinds[c.kind] = &tally{}
		}
		if sizes[c.rows] == nil {
			sizes[c.rows] = &tally{}
		}
		for _, t := range []*tally{kinds[c.kind], sizes[c.rows], all} {
			t.tables++
			for way, k := range run.K {
				if k == c.k {
					t.right[way]++
				}
			}
			if run.Short > 0.01 {
				t.short++
			}
		}
	}
	table := Table{
		Name: "tables",
		About: "Tables in which K is right, and in which the first three of the five starts " +
			"end below the best of all by the evidence.",
		Header: append(header("lines, rows", "tables"), "three starts are lower"),
		Shown:  true,
	}
	add := func(name string, t *tally) {
		row := []any{name, t.tables}
		for _, n := range t.right {
			row = append(row, n)
		}
		table.Add(append(row, t.short)...)
	}
	for _, c := range cells {
		if t := kinds[c.kind]; t != nil {
			add(c.kind, t)
			delete(kinds, c.kind)
		}
	}
	for _, rows := range slices.Sorted(maps.Keys(sizes)) {
		add(fmt.Sprintf("%d rows", rows), sizes[rows])
	}
	add("all", all)
	measured := fmt.Sprintf("%d, %d and %d of %d", all.right[0], all.right[1], all.right[2], all.tables)
	return &Outcome{Tables: []Table{table, embedded}, Statements: []Statement{
		{Paper: "The evidence finds K at least as often as BIC.", Agrees: all.right[0] >= all.right[2], Measured: measured},
		{Paper: "The evidence finds K at least as often as gFIC.", Agrees: all.right[0] >= all.right[1], Measured: measured},
		{
			Paper:    "Three starts are enough in nine tables of ten.",
			Agrees:   10*all.short <= all.tables,
			Measured: fmt.Sprintf("lower than five in %d of %d", all.short, all.tables),
		},
	}}, nil
}
