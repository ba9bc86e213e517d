package numeric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
)

// Init fits the whole table as one component and builds each starting component half on that, half on one row. The
// first row is drawn at random, each further one in proportion to how much less likely it is under the components so
// far than the likeliest row: k-means++ (Arthur & Vassilvitskii 2007) with nothing but the density for a distance.
func (m Discrete) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (_ *Parameters, err error) {
	blocks, err := read(ctx, src)
	if err != nil {
		return nil, err
	}
	if n := src.Rows(); k > n {
		return nil, fmt.Errorf("numeric: %d components for %d rows: choose K up to %d", k, n, n)
	}
	c, err := compile(m.Density, blocks[0].D)
	if err != nil {
		return nil, err
	}
	one := c.machine()
	defer one.recover(&err)
	table, err := gather(one, blocks)
	if err != nil {
		return nil, err
	}
	w, err := table.whole(one)
	if err != nil {
		return nil, err
	}
	p := &Parameters{K: k, D: c.columns, Shared: append([]float64(nil), w.Shared...), Whole: w, compiled: c}
	for range k {
		p.Weights = append(p.Weights, 1/float64(k))
	}
	return p, table.seed(one, p, rng)
}

// read collects the blocks of a source.
func read(ctx context.Context, src framework.Source[framework.Rows]) ([]framework.Rows, error) {
	var blocks []framework.Rows
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		if len(blocks) > 0 && b.D != blocks[0].D {
			return nil, fmt.Errorf("numeric: %w", framework.FaultyRow(b.First, "has %d columns, earlier rows %d", b.D, blocks[0].D))
		}
		blocks = append(blocks, b)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, errors.New("numeric: the source has no rows")
	}
	return blocks, nil
}

// A table is all rows as those of one component.
type table struct {
	Weighted
	index []framework.Rows // one a row, where to find row n
	row   []int
}

func gather(one *machine, blocks []framework.Rows) (*table, error) {
	a := &table{Weighted: Weighted{k: 1, blocks: blocks}}
	for _, b := range blocks {
		for i := range b.N {
			a.N += b.Weight(i)
			a.q = append(a.q, b.Weight(i))
			a.index, a.row = append(a.index, b), append(a.row, i)
		}
	}
	if !(a.N > 0) {
		return nil, errors.New("numeric: the rows have no weight")
	}
	a.sum(one)
	return a, nil
}

// sum makes the sums of an Additive density.
func (a *table) sum(one *machine) {
	if one.additive == nil {
		return
	}
	a.Sums = make([]float64, one.statistics)
	t := make([]float64, one.statistics)
	for n, q := range a.q {
		if q == 0 {
			continue
		}
		one.enter("Observe", n, -1)
		one.additive.Observe(a.at(n), t)
		one.leave()
		for j, v := range t {
			a.Sums[j] += q * v
		}
	}
}

func (a *table) at(n int) []float64 { return a.index[n].Row(a.row[n]) }

// whole fits all rows as one component.
func (a *table) whole(one *machine) (*Whole, error) {
	w := &Whole{N: a.N, Component: make([]float64, one.component.numbers), Shared: make([]float64, one.shared.numbers)}
	one.component.neutral(w.Component)
	one.shared.neutral(w.Shared)
	if g, ok := one.density.(Guesser); ok {
		one.enter("Guess", -1, -1)
		g.Guess(a.Weighted, w.Component, w.Shared)
		if err := firstOf(one.component.check(w.Component), one.shared.check(w.Shared)); err != nil {
			return nil, one.violated("%w", err)
		}
		one.leave()
	}
	for n, q := range a.q {
		if q == 0 {
			continue
		}
		v, err := one.checked(a.at(n), a.index[n].First+a.row[n], 0, w.Component, w.Shared)
		if err != nil {
			return nil, err
		}
		if math.IsInf(v, -1) {
			one.enter("LogProb", a.index[n].First+a.row[n], -1)
			return nil, one.refused("it returned −Inf for the row %v at component %v, shared %v, where the fit begins: check the row, or implement Guess to begin where every row has a density", a.at(n), w.Component, w.Shared)
		}
	}
	t := &task{machine: one, rows: []Weighted{a.Weighted}, components: w.Component, shared: w.Shared, far: true}
	if err := t.do(); err != nil {
		return nil, fmt.Errorf("the whole table as one component: %w", err)
	}
	return w, a.units(one, w)
}

// units takes the scale of the Real numbers from the information that the whole table has about them.
func (a *table) units(one *machine, w *Whole) error {
	places := one.component.reals()
	if len(places) == 0 {
		return nil
	}
	info := mat.NewSymDense(one.component.free, nil)
	one.observe(a.Weighted, w.Component, w.Shared, nil, true, info)
	part := mat.NewSymDense(len(places), nil)
	for i, p := range places {
		for j := i; j < len(places); j++ {
			part.SetSym(i, j, info.At(p, places[j]))
		}
	}
	root, ok := rootOf(part)
	if !ok {
		return fmt.Errorf("numeric: the table does not determine the Real parameters of %T: their information at the maximum is %v; drop columns that depend on others, or parameters that LogProb does not depend on", one.density, mat.Formatted(part, mat.Squeeze()))
	}
	w.Root = root
	return nil
}

// rootOf is the upper triangular R with RᵀR = a, row-major; not ok where a is singular but for rounding, in whatever
// units.
func rootOf(a *mat.SymDense) (root []float64, ok bool) {
	n := a.SymmetricDim()
	unit, scaled := make([]float64, n), mat.NewSymDense(n, nil)
	for i := range n {
		unit[i] = math.Sqrt(a.At(i, i))
		for j := range i + 1 {
			scaled.SetSym(i, j, a.At(i, j)/unit[i]/unit[j])
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(scaled) || !(chol.Cond() < 1e12) {
		return nil, false
	}
	var upper mat.TriDense
	chol.UTo(&upper)
	root = make([]float64, n*n)
	for i := range n {
		for j := i; j < n; j++ {
			root[i*n+j] = upper.At(i, j) * unit[j]
		}
	}
	return root, true
}

// seed makes the components of a start.
func (a *table) seed(one *machine, p *Parameters, rng *rand.Rand) error {
	best := make([]float64, len(a.q)) // log density under the likeliest component so far
	n := categorical.Draw(a.q, rng)
	for k := range p.K {
		xi, err := a.around(one, n, p)
		if err != nil {
			return err
		}
		p.Components = append(p.Components, xi...)
		top := math.Inf(-1)
		for i := range best {
			v := one.logProb(a.at(i), i, k, xi, p.Shared)
			if k == 0 || v > best[i] {
				best[i] = v
			}
			if best[i] > top {
				top = best[i]
			}
		}
		surprise := make([]float64, len(best))
		for i, v := range best {
			if surprise[i] = a.q[i] * (top - v); surprise[i]-surprise[i] != 0 {
				surprise[i] = 0
			}
		}
		if n = categorical.Draw(surprise, rng); n < 0 {
			n = categorical.Draw(a.q, rng)
		}
	}
	return nil
}

// around estimates a component from a few rows' worth of the whole table and as many copies of row n; it is the
// whole table's where that has no maximum.
func (a *table) around(one *machine, n int, p *Parameters) ([]float64, error) {
	weight := min(float64(one.component.free+1), a.N)
	b := &table{Weighted: Weighted{N: 2 * weight, k: 1, blocks: a.blocks}, index: a.index, row: a.row}
	for _, q := range a.q {
		b.q = append(b.q, q*weight/a.N)
	}
	b.q[n] += weight
	b.sum(one)
	xi := append([]float64(nil), p.Whole.Component...)
	t := &task{machine: one, rows: []Weighted{b.Weighted}, components: xi, shared: p.Shared, whole: p.Whole, far: true}
	if err := t.one(0); err != nil || t.component.check(xi) != nil {
		if one.method != "" || !errors.Is(err, framework.ErrDegenerate) && err != nil {
			return nil, err
		}
		copy(xi, p.Whole.Component)
	}
	return xi, nil
}
