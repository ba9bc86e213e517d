package family

import (
	"context"
	"iter"
	"math"
	"reflect"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/resolution"
	"github.com/latent-go/latent/internal/variances"
)

// A beginning is what the first block says of a table: what sums are to be about, so that no pass is for that alone,
// and the resolution of most columns.
type beginning struct {
	plan    *Plan
	family  any // what names sums of the family, nil for nothing
	anchor  []float64
	columns []column
	steps   []resolution.Column
}

// Names of sums, for the starts and families of a fit.
type (
	ofMoments struct {
		family any
		means  bool // about those of the table
	}
	ofScatter struct {
		family any
		round  int
	}
	ofSteps struct{ columns string }
)

// identityOf is what families with equal sums have in common; nil if that is not known.
func identityOf(f Family) any {
	if p, ok := f.(Product); ok && len(p) > 0 {
		return &p[0]
	}
	if !reflect.ValueOf(f).Comparable() {
		return nil
	}
	return f
}

// A first source has the first block of another.
type first struct{ framework.Source[blocks.Rows] }

func (f first) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range f.Source.Blocks(ctx) {
			yield(b, err)
			return
		}
	}
}

// beginningOf reads the first block.
func beginningOf(ctx context.Context, src framework.Source[blocks.Rows], f Family) (*beginning, error) {
	return framework.Fold(ctx, first{src}, 1,
		func() (*beginning, error) { return new(beginning), nil },
		func(b *beginning, rows blocks.Rows) error { return b.look(rows, f) }, nil)
}

func (b *beginning) look(rows blocks.Rows, f Family) (err error) {
	if b.plan, err = NewPlan(f, rows.D); err != nil {
		return err
	}
	if !b.plan.keepsRows { // else sums are as many as the rows
		b.family = identityOf(f)
	}
	m := &moments{Classes: b.plan.Classes(1), Columns: make([]column, rows.D)}
	if err := m.add(rows); err != nil {
		return err
	}
	b.anchor, b.columns = m.means(), make([]column, rows.D)
	for j := range b.columns {
		b.columns[j].Center = m.Columns[j].mean()
	}
	near, spread := &moments{Columns: slices.Clone(b.columns)}, b.plan.spread(make([]float64, b.plan.size.Params))
	near.addColumns(rows)
	for j, v := range spread {
		if v == v {
			spread[j] = near.Columns[j].variance() / 4 // that of the table is hardly less
		}
	}
	b.steps = resolutions(spread)
	addSteps(b.steps, rows)
	return nil
}

// moments asks for the sums of all rows in one class, about the mean of the first block if that is near enough to their
// own, and in the same pass for the resolution of columns and what the draw has to know of them.
func (b *beginning) moments(
	ctx context.Context, src framework.Source[blocks.Rows], draw *framework.Draw,
) (*moments, error) {
	p := b.plan
	about := func(of any, anchor []float64) *framework.Asked[blocks.Rows, *moments] {
		return framework.Ask(of, func() (*moments, error) {
			m := &moments{Classes: p.Classes(1)}
			copy(m.Anchor, anchor)
			if len(anchor) > 0 {
				m.Columns = slices.Clone(b.columns)
			}
			return m, nil
		}, (*moments).add, (*moments).merge)
	}
	asked := about(ofMoments{b.family, false}, b.anchor)
	all := append([]framework.Question[blocks.Rows]{asked}, draw.Next()...)
	steps := askSteps(b.steps, true)
	if steps != nil {
		all = append(all, steps)
	}
	if err := framework.SurveyAll(ctx, src, 0, all...); err != nil {
		return nil, err
	}
	if steps != nil {
		for j, c := range steps.Sum.Columns {
			if c.Asked() {
				b.steps[j] = c
			}
		}
	}
	if slices.ContainsFunc(asked.Sum.Columns, func(c column) bool { return !c.near() }) {
		asked = about(ofMoments{b.family, true}, asked.Sum.means())
		if err := framework.SurveyAll(ctx, src, 0, asked); err != nil {
			return nil, err
		}
	}
	return asked.Sum, nil
}

// moments are the sums of all rows in one class about an anchor, and those of the columns.
type moments struct {
	*Classes
	N       float64
	Columns []column // nil if there is no anchor
	r       []float64
}

func (m *moments) add(b blocks.Rows) error {
	err := m.Chunks(b, func(first, n int, w []float64) error {
		m.r = linalg.Resize(m.r, Padded(n))
		for i := range m.r {
			if m.r[i] = 0; i < n {
				m.r[i] = b.Weight(first + i)
				m.N += m.r[i]
			}
		}
		m.Add(n, w, m.r)
		return nil
	})
	if err == nil {
		m.addColumns(b)
	}
	return err
}

// addColumns adds the rows to the sums of the columns.
func (m *moments) addColumns(b blocks.Rows) {
	if b.Entries != nil {
		return // of families without anchors
	}
	for i := 0; i < b.N && len(m.Columns) > 0; i++ {
		w := b.Weight(i)
		for j, v := range b.Row(i) {
			m.Columns[j].add(v, w)
		}
	}
}

func (m *moments) merge(o *moments) error {
	m.Merge(o.Classes)
	m.N += o.N
	for j, c := range o.Columns {
		m.Columns[j].merge(c)
	}
	return nil
}

// means is the anchor at the mean of the rows.
func (m *moments) means() []float64 {
	anchor := slices.Clone(m.Anchor)
	for i := range m.plan.parts { // so that other sums are about the means
		f := &m.plan.parts[i]
		if a, ok := f.Factor.(Anchored); ok {
			a.Center(f.ofSums(m.Sums), f.ofAnchor(anchor))
		}
	}
	return anchor
}

// A column is the sums of its numbers about a centre.
type column struct{ Center, N, Sum, Squares float64 }

func (c *column) add(v, w float64) {
	if v -= c.Center; v == v {
		c.N += w
		c.Sum += w * v
		c.Squares += w * v * v
	}
}

func (c *column) merge(o column) {
	c.N += o.N
	c.Sum += o.Sum
	c.Squares += o.Squares
}

// mean is the centre where there are no numbers.
func (c *column) mean() float64 {
	if !(c.N > 0) {
		return c.Center
	}
	return c.Center + c.Sum/c.N
}

func (c *column) variance() float64 {
	if !(c.N > 0) {
		return 0
	}
	return max(0, c.Squares/c.N-c.Sum/c.N*(c.Sum/c.N))
}

// near reports whether the mean is as near to the centre as the standard deviation.
func (c *column) near() bool {
	return 2*c.Sum*c.Sum <= c.N*c.Squares || math.Abs(c.Sum) <= variances.Ulps*c.N*math.Abs(c.Center)
}
