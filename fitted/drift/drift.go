// Package drift compares rows that come after a fit with those that the saved model expects: how likely they are, which
// columns have moved, and which rows are unlike all others. A model file keeps no rows, so that most is compared with
// rows drawn from the model. docs/decisions/command.md says why.
package drift

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
)

const (
	// mostDrawn bounds the rows that are drawn from a model, and the log-likelihoods of rows that are kept for their
	// quantiles.
	mostDrawn = 10_000
	// mostUnlike is how many of the least likely rows are kept.
	mostUnlike = 20
	// unlikely is the part of the rows drawn from the model that are less likely than a row which is called unlike them.
	unlikely = 0.001
	// mostTables bounds the tables of sequences that are drawn, each of so many rows as came, but of no more than
	// mostSteps.
	mostTables, mostSteps = 200, 1000
	// mostCellsDrawn bounds the cells of what is drawn, where rows are wide.
	mostCellsDrawn = 20_000_000
)

// Drift gathers how rows lie beside what a model expects, block by block: its size does not grow with them. One
// goroutine uses it at a time.
type Drift struct {
	model         *fitted.Fitted
	layout        fitted.Layout
	input         fitted.Input
	scorer        fitted.Scorer
	at            int // of the log-likelihood among the numbers of a row
	first         int // of the probabilities of the components among them; negative: there are none
	now, expected gathering
	unlike        []unlikeRow // the least likely first
	gaps          [][]int     // the missing columns of some rows, each of which is kept with the same probability
	rng           *rand.Rand
	fault         error       // why the model drew no rows
	lengths       []int       // of the sequences that came, as many as tables drawn have; nil where rows are independent
	drawn         []gathering // of tables of sequences that the model drew
}

// A gathering is what is kept of rows.
type gathering struct {
	rows    float64
	logs    reservoir
	sum     float64   // of the log-likelihoods
	shares  []float64 // sums of the probabilities of the components
	clear   float64   // rows whose component is clear
	columns []gatheredColumn
}

// A gatheredColumn has mean and squared deviations of a column of numbers, and how often there is each level of
// another.
type gatheredColumn struct {
	n, mean, squares, missing float64
	levels                    []float64
}

func (c *gatheredColumn) sd() float64 { return math.Sqrt(c.squares / c.n) }

// An unlikeRow is a row of low likelihood.
type unlikeRow struct {
	row   int // as the table was read, from 0
	log   float64
	label int // of the component, from 1; 0: there is none
	x     []float64
}

// A reservoir keeps each of some values with the same probability.
type reservoir struct {
	kept []float64
	seen int
}

func (r *reservoir) add(v float64, rng *rand.Rand) {
	r.seen++
	if len(r.kept) < mostDrawn {
		r.kept = append(r.kept, v)
	} else if i := rng.IntN(r.seen); i < mostDrawn {
		r.kept[i] = v
	}
}

// New prepares a comparison of rows with those of the fit that m was saved from. It returns [fitted.ErrNoLikelihood]
// for a model without a likelihood of rows.
func New(m *fitted.Fitted) (*Drift, error) {
	d := &Drift{model: m, layout: m.Model.Layout(), input: m.Model.Input(), first: -1, rng: rand.New(rand.NewPCG(1, 1))}
	if d.at = d.layout.LogLikelihood(); d.at < 0 {
		return nil, fitted.ErrNoLikelihood
	}
	if d.layout.List == "responsibilities" {
		d.first = len(d.layout.First)
	}
	d.now, d.expected = d.gathering(), d.gathering()
	var err error
	d.scorer, err = m.Model.NewScorer()
	return d, err
}

// draw gathers rows that the model draws, with the gaps of those that came. Where it takes columns as given, add has
// done it.
func (d *Drift) draw() {
	sampler, is := d.model.Model.(fitted.Sampler)
	switch {
	case !is || d.model.Model.Input().Given > 0:
		return
	case d.lengths != nil:
		d.drawTables()
		return
	}
	n, width := mostDrawn, len(d.model.File.Columns)
	const few = 200
	n = min(n, max(few, mostCellsDrawn/width))
	x, _, err := sampler.NewSampler(d.rng)(n)
	if err != nil {
		d.fault = err
		return
	}
	d.expect(d.withGaps(x))
}

// withGaps are rows that the model drew, with gaps as those that came have.
func (d *Drift) withGaps(x []float64) blocks.Rows {
	width := len(d.model.File.Columns)
	n := len(x) / width
	for i := range n {
		for _, j := range d.gaps[i%len(d.gaps)] {
			x[i*width+j] = math.NaN()
		}
	}
	return blocks.Rows{N: n, D: width, Stride: width, X: x}
}

// Follow notes the lengths of sequences that came, up to the size of a table that is drawn: ends has the step after the
// last one of each in the block of Add. Only a model of sequences needs it.
func (d *Drift) Follow(ends []int) {
	first, sum := 0, 0
	for _, n := range d.lengths {
		sum += n
	}
	for _, end := range ends {
		if n := min(end-first, mostSteps-sum); n > 0 {
			d.lengths, sum = append(d.lengths, n), sum+n
		}
		first = end
	}
}

// drawTables gathers tables of sequences as long as those that came: their steps are not independent, so that by how
// much one table differs from another says what chance does.
func (d *Drift) drawTables() {
	var ends []int
	sum := 0
	for _, n := range d.lengths {
		sum += n
		ends = append(ends, sum)
	}
	const few = 20
	for range min(mostTables, max(few, min(4*mostDrawn, mostCellsDrawn/len(d.model.File.Columns))/sum)) {
		x, err := d.model.Model.(fitted.SequenceSampler).SampleSequences(d.lengths, d.rng)
		var table []float64
		var b blocks.Rows
		if err == nil {
			b = d.withGaps(x)
			table = make([]float64, b.N*d.layout.Width())
			err = d.scorer.(fitted.SequenceScorer).ScoreSequences(blocks.Sequences{Steps: b, Ends: ends}, table)
		}
		if err != nil {
			d.fault = err
			return
		}
		one := d.gathering()
		d.gather(&one, b, table)
		d.gather(&d.expected, b, table)
		d.drawn = append(d.drawn, one)
	}
}

// chance is how far a number of the rows that came may be from what the model expects: two standard errors of a mean of
// standardised rows, or, of sequences, twice the deviation of the tables drawn, of which so is away from what is
// expected.
func (d *Drift) chance(away func(g *gathering) float64) float64 {
	if len(d.drawn) == 0 {
		return 2 / math.Sqrt(d.now.rows)
	}
	sum := 0.0
	for i := range d.drawn {
		v := away(&d.drawn[i])
		sum += v * v
	}
	return 2 * math.Sqrt(sum/float64(len(d.drawn))*d.drawn[0].rows/d.now.rows)
}

func (d *Drift) gathering() gathering {
	g := gathering{columns: make([]gatheredColumn, len(d.model.File.Columns))}
	if d.first >= 0 {
		g.shares = make([]float64, len(d.layout.Items))
	}
	for j, c := range d.model.File.Columns {
		if len(c.Levels) > 0 {
			g.columns[j].levels = make([]float64, len(c.Levels))
		}
	}
	return g
}

// expect gathers rows that the model drew.
func (d *Drift) expect(b blocks.Rows) {
	table := make([]float64, b.N*d.layout.Width())
	if err := d.scorer.Score(b, table); err != nil {
		d.fault = cmp.Or(d.fault, err)
		return
	}
	d.gather(&d.expected, b, table)
}

// Add gathers a block of rows, N×D, for which the model's scorer returned the numbers of the table, N×Width of its
// layout. origin is the number, from 0, that a row of the block has where people look for it.
func (d *Drift) Add(b blocks.Rows, table []float64, origin func(i int) int) {
	d.gather(&d.now, b, table)
	width := len(table) / b.N
	for i := range b.N {
		if log := table[i*width+d.at]; len(d.unlike) < mostUnlike || log < d.unlike[len(d.unlike)-1].log {
			one := unlikeRow{row: origin(i), log: log, x: slices.Clone(b.Row(i))}
			if d.first >= 0 {
				one.label = int(table[i*width])
			}
			at, _ := slices.BinarySearchFunc(d.unlike, log, func(r unlikeRow, v float64) int { return cmp.Compare(r.log, v) })
			d.unlike = slices.Insert(d.unlike, at, one)
			d.unlike = d.unlike[:min(len(d.unlike), mostUnlike)]
		}
		if seen := int(d.now.rows) - b.N + i; seen < mostDrawn {
			d.gaps = append(d.gaps, missingOf(b.Row(i)))
		} else if at := d.rng.IntN(seen + 1); at < mostDrawn {
			d.gaps[at] = missingOf(b.Row(i))
		}
	}
	given, is := d.model.Model.(fitted.ConditionalSampler)
	if !is || d.expected.rows >= mostDrawn || d.fault != nil {
		return
	}
	own := b
	own.X = slices.Clone(b.X)
	x, _, err := given.SampleGiven(own, d.rng)
	if err != nil {
		d.fault = err
		return
	}
	for i := range b.N {
		for _, j := range missingOf(b.Row(i)) {
			x[i*b.D+j] = math.NaN()
		}
	}
	b.X, b.Stride = x, b.D
	d.expect(b)
}

// missingOf are the columns that a row lacks.
func missingOf(row []float64) (columns []int) {
	for j, v := range row {
		if v != v {
			columns = append(columns, j)
		}
	}
	return columns
}

func (d *Drift) gather(g *gathering, b blocks.Rows, table []float64) {
	width := len(table) / b.N
	for i := range b.N {
		said := table[i*width : (i+1)*width]
		g.rows++
		g.sum += said[d.at]
		g.logs.add(said[d.at], d.rng)
		for k := range g.shares {
			g.shares[k] += said[d.first+k]
		}
		if d.first >= 0 && floats.Max(said[d.first:d.first+len(g.shares)]) >= classes.Clearly {
			g.clear++
		}
		for j, v := range b.Row(i) {
			g.columns[j].add(v)
		}
	}
}

func (c *gatheredColumn) add(v float64) {
	switch {
	case v != v:
		c.missing++
		return
	case c.levels != nil:
		c.levels[int(v)]++
	}
	c.n++
	step := v - c.mean
	c.mean += step / c.n
	c.squares += step * (v - c.mean)
}

// A moved is how far a column has moved from what the model expects.
type moved struct {
	column int
	by     float64 // standard deviations of the model; of levels the part of the rows that would have to change theirs
}

// movements are those of all columns that the model describes, the farthest first. A regression describes none: what it
// expects of a response is not the mean of all rows.
func (d *Drift) movements() (list []moved) {
	if d.input.Optional > 0 {
		return nil
	}
	for j := range d.input.Described(len(d.model.File.Columns)) {
		if by := d.moves(&d.now, j); by-by == 0 {
			list = append(list, moved{j, by})
		}
	}
	slices.SortStableFunc(list, func(a, b moved) int { return cmp.Compare(math.Abs(b.by), math.Abs(a.by)) })
	return list
}

// moves is how far column j of some rows is from what the model expects; NaN where there is no value.
func (d *Drift) moves(g *gathering, j int) (by float64) {
	now, then := &g.columns[j], &d.expected.columns[j]
	if now.levels == nil {
		return (now.mean - then.mean) / then.sd()
	}
	for l := range now.levels {
		by += math.Abs(now.levels[l]/now.n-then.levels[l]/then.n) / 2
	}
	return by
}

// farthest is the column of numbers in which a row is farthest from what the model expects, and how many of its
// standard deviations; negative where there is none.
func (d *Drift) farthest(x []float64) (column int, by float64) {
	column = -1
	for j, v := range x {
		then := d.expected.columns[j]
		if z := (v - then.mean) / then.sd(); then.levels == nil && math.Abs(z) > math.Abs(by) && z-z == 0 {
			column, by = j, z
		}
	}
	return column, by
}
