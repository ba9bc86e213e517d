package family

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/laplace"
)

// A RowFactor is a [Factor] whose estimates come from an iterative search, such as a search with a log density alone.
// It receives the rows themselves if sums are not sufficient, all classes at once, and the current estimates. It has
// one cell, whose exposure is the first of its sums. Densities seed its classes, unless it is [Designed].
type RowFactor interface {
	Factor
	// KeepsRows reports that the sums are not sufficient: classes then hold every row, and a weight for each row and
	// class.
	KeepsRows() bool
	// PoolRows fits the table as one class, and puts the estimate into pooled.Parameters and the further units of
	// coordinates without units into pooled.Units.
	PoolRows(rows Weighted, pooled *Pooled) error
	// EstimateRows moves the parameters of all classes, shared ones included, to the maximum of their
	// likelihood. They start from the last iteration, at first from the pooled ones.
	EstimateRows(rows []Weighted, pooled *Pooled, params Table) error
	// TotalRows is Σ_n w_n ln p(x_n|ξ).
	TotalRows(rows Weighted, score []float64) float64
	// InformationRows is the observed information of a row, averaged over the rows of the estimate ξ, in coordinates
	// without units.
	InformationRows(rows Weighted, xi []float64, pooled *Pooled) (laplace.Block, error)
	// DeviationsRows puts the standard errors of ξ into dst, given the information of a row.
	DeviationsRows(rows Weighted, information laplace.Block, xi []float64, pooled *Pooled, dst []float64)
	// Explain returns the error of observed row i with a score of NaN or +Inf, or all scores −Inf; nil if the factor is
	// not the cause.
	Explain(o *Observed, i int, scores Table) error
}

// Weighted are the rows of one class as a [RowFactor] sees them, each with its frequency weight times its
// responsibility.
type Weighted struct {
	Class int       // from 0
	N     float64   // Σ_n w_n, of the rows that are not missing
	Sums  []float64 // the factor's sums except the exposure; nil if there are none

	rows    *KeptRows
	at, len int // the factor's columns
	k       int // classes
}

// All yields the factor's columns of every row of positive weight, and the weight, in a fixed order. It yields nothing
// if the factor does not keep rows.
func (w Weighted) All() iter.Seq2[[]float64, float64] {
	return func(yield func([]float64, float64) bool) {
		w.Each(func(_ int, x []float64, weight float64) bool { return weight <= 0 || yield(x, weight) })
	}
}

// Each calls visit for every row of nonzero weight, as All does, with the row's number in the source, from 0, until
// visit returns false. The columns are there until then.
func (w Weighted) Each(visit func(row int, x []float64, weight float64) bool) {
	if w.rows == nil {
		return
	}
	place := w.Class
	var room []float64
	for _, b := range w.rows.Blocks {
		for i := range b.N {
			q := w.rows.Q[place]
			place += w.k
			if q == 0 {
				continue
			}
			var x []float64
			if b.X != nil { // most tables, whose blocks need not be passed by value
				x = b.X[i*b.Stride+w.at:][:w.len]
			} else {
				x = b.RowIn(i, &room)[w.at:][:w.len]
			}
			if missing(x) {
				continue
			}
			if !visit(b.First+i, x, q) {
				return
			}
		}
	}
}

// KeptRows are the rows of all classes, of a family that needs them.
type KeptRows struct {
	Blocks []blocks.Rows // sharing the memory of the source
	Q      []float64     // w_n q_nk, rows×K

	block blocks.Rows // under way
}

// Weighted are the rows of the only class, on the columns from at to at + columns.
func (r *KeptRows) Weighted(at, columns int) Weighted {
	w := Weighted{rows: r, at: at, len: columns, k: 1}
	w.Each(func(_ int, _ []float64, weight float64) bool {
		w.N += weight
		return true
	})
	return w
}

// observe notes rows that are going to be added.
func (r *KeptRows) observe(b blocks.Rows, first, n int) {
	r.block = b.Kept(first, n)
	r.block.Weights = nil // Q has them
}

// add adds the rows observed, with weights q, laid out as for AddScores.
func (r *KeptRows) add(n, k int, q []float64) {
	r.Blocks = append(r.Blocks, r.block)
	padded := Padded(n)
	for i := range n {
		for j := range k {
			r.Q = append(r.Q, q[j*padded+i])
		}
	}
}

// keep keeps some of k classes.
func (r *KeptRows) keep(k int, dims []int) KeptRows {
	t := KeptRows{Blocks: slices.Clone(r.Blocks), Q: make([]float64, 0, len(r.Q)/k*len(dims))}
	for row := 0; row < len(r.Q); row += k {
		for _, j := range dims {
			t.Q = append(t.Q, r.Q[row+j])
		}
	}
	return t
}

// weighted are the rows of class k as a factor sees them.
func (c *Classes) weighted(f *part, k int) Weighted {
	sums := f.ofSums(c.sums(k))
	w := Weighted{Class: k, N: sums[0], at: f.at.Columns, len: f.size.Columns, k: c.K}
	if len(sums) > 1 {
		w.Sums = sums[1:]
	}
	if f.rows.KeepsRows() {
		w.rows = &c.Rows
	}
	return w
}

// errSigned is [errors.ErrUnsupported].
var errSigned error = signedError{}

type signedError struct{}

func (signedError) Error() string {
	return "family: rows have negative weights: a family without closed-form estimates needs non-negative weights"
}

// Is reports a match.
func (signedError) Is(target error) bool { return target == errors.ErrUnsupported }

// allWeighted are the rows of every class.
func (c *Classes) allWeighted(f *part) []Weighted {
	rows := make([]Weighted, c.K)
	for k := range rows {
		rows[k] = c.weighted(f, k)
	}
	return rows
}

// search moves the parameters that are searched for, params, K×P.
func (c *Classes) search(params []float64) error {
	if slices.ContainsFunc(c.Rows.Q, func(q float64) bool { return q < 0 }) {
		return errSigned
	}
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		if f.rows == nil {
			continue
		}
		if err := f.rows.EstimateRows(c.allWeighted(f), f.pooled,
			Table{c.K, c.plan.size.Params, params[f.at.Params:]}); err != nil {
			return shift(err, f.at.Columns)
		}
	}
	return nil
}

// Information is the observed information of each class at its estimate. A [RowFactor] computes it from the rows of the
// estimate when it is first needed. Because the information does not change with q, it is stored with the estimate.
type Information struct {
	mu     sync.Mutex
	blocks [][]laplace.Block // of each factor, one a class; nil for factors by sums
}

// Information is empty, and nil for a family that has it in closed form.
func (p *Plan) Information() *Information {
	if !p.searches {
		return nil
	}
	return new(Information)
}

// of returns the blocks, and computes them the first time.
func (m *Information) of(c *Classes, params []float64) ([][]laplace.Block, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks != nil {
		return m.blocks, nil
	}
	blocks := make([][]laplace.Block, len(c.plan.parts))
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		if f.rows == nil {
			continue
		}
		blocks[i] = make([]laplace.Block, c.K)
		if err := parallel.Do(c.K, 0, func(k int) (err error) {
			xi := f.ofParams(linalg.Row(params, k, c.plan.size.Params))
			blocks[i][k], err = f.rows.InformationRows(c.weighted(f, k), xi, f.pooled)
			return err
		}); err != nil {
			return nil, shift(err, f.at.Columns)
		}
	}
	m.blocks = blocks
	return blocks, nil
}

// Keep keeps the blocks of some classes.
func (m *Information) Keep(dims []int) *Information {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := new(Information)
	for _, list := range m.blocks {
		var some []laplace.Block
		for _, k := range dims {
			if list != nil {
				some = append(some, list[k])
			}
		}
		t.blocks = append(t.blocks, some)
	}
	return t
}
