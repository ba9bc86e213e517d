// Package goodness says whether a fitted model fits its table: what the rows have that tables drawn from the model do
// not. It knows no model, and uses one through the interfaces of package fitted alone.
//
//	r, err := goodness.Check(ctx, model, table, goodness.Options{Free: 33})
//
// r.Verdict // "misfit"
//
// Draws are compared with the table by statistics of five groups:
//
//	patterns    codes: G² and X² of the patterns of complete rows (Agresti 2002, section 13.1; poLCA)
//	pairs       codes: X² of two columns over its degrees of freedom, the bivariate residual of Latent GOLD (Vermunt &
//	            Magidson 2016, section 7.4); other columns: correlations, pooled within classes and over all rows
//	likelihood  the distribution of ln p of the rows, and of normal columns that of their Mahalanobis distances
//	outlier     the smallest ln p of a row, and of normal columns the largest Mahalanobis distance
//	residuals   sequences: correlation of pseudo-residuals with the step before, and their distribution (Zucchini &
//	            MacDonald 2009, section 6.2), and the autocorrelation of columns
//
// A p-value is (1 + #{T* ≥ T})/(1 + B) over B draws. Each is also adjusted: for the statistics of its group by the
// distribution of the largest of them (Westfall & Young 1993), which allows for their dependence, and 10,000 pairs need
// no more draws than one; and for the number of groups (Holm 1979).
//
// A fit has adapted to its table, and a drawn table has not. Without [Options.Refit] p-values are conservative: too
// large for statistics that the fit adjusts, such as G². With it they are those of the parametric bootstrap
// (Langeheine, Pannekoek & van de Pol 1996).
package goodness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/parallel"
)

// Options say how many tables are drawn. The zero value of every field selects its default.
type Options struct {
	Draws   int     // B, at least 19, by default 99: enough for five groups
	Seed    uint64  // of draws; draw b takes the PCG stream (Seed, b), so that Workers do not matter
	Workers int     // concurrent draws; default one a processor
	Free    float64 // free parameters of the model, for the degrees of freedom of G² and X²; NaN: not known

	// Refit fits the model to a drawn table, which has the columns of the checked one, with as many latent dimensions.
	// It is called concurrently. nil: draws are compared with the model as it is.
	Refit func(ctx context.Context, drawn *fitted.Table) (fitted.Model, error)
	// Name has the name of a row of the table, from 0; nil: its number from 1.
	Name     func(row int) string
	Progress func(done int) // called after each draw, one call at a time; may be nil
}

const (
	leastDraws, usualDraws = 19, 99
	level                  = 0.05 // of the verdict
)

// ErrNoDraws is wrapped by the error of [Check] for a model that cannot draw rows like those of the table.
var ErrNoDraws = errors.New("the model cannot draw rows, with which the table would be compared")

// Check compares a table with tables drawn from the model. The rows are those of the fit, or others with the same
// columns. A row of weight w counts as w rows, and weights must be whole numbers. Draws have the gaps of the table, and
// its values of the columns that the model conditions on. It returns an error for fewer than two rows, for a model
// without a likelihood of rows, and one that wraps [ErrNoDraws].
func Check(ctx context.Context, m fitted.Model, t *fitted.Table, o Options) (*Result, error) {
	o.Draws = cmp.Or(o.Draws, usualDraws)
	if o.Draws < leastDraws {
		return nil, fmt.Errorf("goodness: Draws is %d; must be at least %d", o.Draws, leastDraws)
	}
	c, err := newChecker(m, t, o)
	if err != nil {
		return nil, fmt.Errorf("goodness: %w", err)
	}
	if c.shared, err = c.reference(ctx, m, 0); err != nil {
		return nil, fmt.Errorf("goodness: %w", err)
	}
	of, err := c.score(ctx, m, c.table)
	if err != nil {
		return nil, fmt.Errorf("goodness: %w", err)
	}
	observed, err := c.statistics(ctx, m, of, c.shared)
	if err != nil {
		return nil, fmt.Errorf("goodness: %w", err)
	}
	drawn, failed := make([]*figures, o.Draws), make([]error, o.Draws)
	progress := parallel.Counter(o.Progress)
	err = parallel.DoContext(ctx, o.Draws, o.Workers, func(ctx context.Context, b int) error {
		drawn[b], failed[b] = c.draw(ctx, m, uint64(b)+1)
		progress()
		if o.Refit == nil {
			return failed[b]
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("goodness: %w", err)
	}
	drawn = slices.DeleteFunc(drawn, func(f *figures) bool { return f == nil })
	if len(drawn) < leastDraws {
		first := slices.IndexFunc(failed, func(err error) bool { return err != nil })
		return nil, fmt.Errorf("goodness: %d of %d refits failed, the first: %w", o.Draws-len(drawn), o.Draws, failed[first])
	}
	return c.result(of, observed, drawn), nil
}

// A checker compares tables with the rows of one.
type checker struct {
	o         Options
	columns   []data.Column
	levels    []int // of each column; 0: numbers
	input     fitted.Input
	described int  // columns that the model describes: the first
	log       int  // of the log-likelihood among the numbers of a row
	first, k  int  // of the probabilities of the classes among them, and their number; k is 1 where there are none
	classes   bool // z is a class
	width     int
	table     *sample
	origin    []int  // of each row of the table, that of the table as it came
	gaps      bool   // cells are missing
	coded     bool   // patterns can be counted
	pairs     *pairs // nil: there are none to look at
	shared    *reference
	notes     []string
}

// A sample is a table whose rows weigh 1.
type sample struct {
	blocks.Rows
	ends []int // of sequences; nil where rows are independent
}

// scored is a sample with what a model says of its rows.
type scored struct {
	*sample
	log []float64 // ln p of each row
	r   []float64 // N×K probabilities of the classes; nil: there is one
}

func newChecker(m fitted.Model, t *fitted.Table, o Options) (*checker, error) {
	layout := m.Layout()
	c := &checker{o: o, columns: t.Columns, input: m.Input(), k: 1, width: layout.Width()}
	switch {
	case t.Rows == nil:
		return nil, fmt.Errorf("a list of pairs has no rows to look at: %w", ErrNoDraws)
	case slices.ContainsFunc(t.Columns, func(c data.Column) bool { return c.Family == families.Multinomial }):
		return nil, fmt.Errorf("multinomial rows take the number of their trials as given: %w", ErrNoDraws)
	case c.input.Sequence && t.Sequences == nil:
		return nil, errors.New("the model describes sequences, and the table has none")
	}
	if c.log = layout.LogLikelihood(); c.log < 0 {
		return nil, fitted.ErrNoLikelihood
	}
	if c.classes = layout.List == "responsibilities"; c.classes {
		c.first, c.k = len(layout.First), max(1, len(layout.Items))
	}
	if err := c.expand(t); err != nil {
		return nil, err
	}
	d := c.table.D
	switch {
	case d != len(t.Columns):
		return nil, fmt.Errorf("a table of %d columns, and names of %d", d, len(t.Columns))
	case c.table.N < 2:
		return nil, errors.New("a table of one row: whether a model fits takes more")
	}
	c.described = c.input.Described(d)
	for j, column := range t.Columns {
		n := len(column.Levels)
		switch {
		case n == 0 && column.Family == families.Bernoulli:
			n = 2
		case column.Family == families.Indicators: // whose values do not occur in all pairs, as those of levels do
			n = 0
		}
		c.levels = append(c.levels, n)
		for i := range c.table.N {
			v := c.table.Row(i)[j]
			if n > 0 && v == v && (v != math.Trunc(v) || v < 0 || v >= float64(n)) {
				return nil, &blocks.DataError{Row: c.origin[i], Column: j, Value: v,
					Reason: fmt.Errorf("codes of levels are whole numbers from 0 to %d", n-1)}
			}
			c.gaps = c.gaps || j < c.described && v != v
		}
	}
	c.coded = !c.input.Sequence && c.input.Given == 0 && !slices.Contains(c.levels[:c.described], 0)
	if c.coded {
		if c.coded = !c.gaps || len(c.patterns(&scored{sample: c.table})) > 0; !c.coded {
			c.note("G² and X² need complete rows, and every row has a gap")
		}
	}
	c.pairs = c.newPairs()
	return c, nil
}

func (c *checker) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// largest bounds the numbers of a table: 1 GiB.
const largest = 1 << 27

// expand has rows of weight w w times.
func (c *checker) expand(t *fitted.Table) error {
	all := t.Rows.All()
	one := blocks.Sequences{Steps: all, Weights: all.Weights}
	if c.input.Sequence {
		one = t.Sequences.All()
		one.Steps = all
	} else {
		for i := range all.N {
			one.Ends = append(one.Ends, i+1)
		}
	}
	c.table = &sample{Rows: blocks.Rows{D: all.D, Stride: all.D}}
	for i := range one.Ends {
		first, end := one.Bounds(i)
		w := 1.0
		if one.Weights != nil {
			w = one.Weights[i]
		}
		switch {
		case w != math.Trunc(w) || w < 0:
			return fmt.Errorf("the weight of row %d is %v; must be a whole number: tables are drawn of as many rows", first+1, w)
		case float64(c.table.N)+w*float64(end-first) > float64(largest/all.D):
			return fmt.Errorf("more than %d rows of %d columns, or weights that stand for as many: take fewer", largest/all.D,
				all.D)
		}
		for range int(w) {
			for row := first; row < end; row++ {
				c.table.X = append(c.table.X, all.Row(row)...)
				c.origin = append(c.origin, row)
			}
			c.table.N += end - first
			if c.input.Sequence {
				c.table.ends = append(c.table.ends, c.table.N)
			}
		}
	}
	return nil
}
