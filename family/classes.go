package family

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// Classes are the sums of K classes in a local step, with the operations of their family for local and global steps:
// log densities of rows, weighted sums of their statistics, estimates from the sums and their curvature. They are
// independent of the assignment of rows to classes: a mixture, a Markov chain and a gate use them alike. Sums of
// Gaussian columns are about an anchor, the class's location in that step, so that nothing cancels.
type Classes struct {
	K      int
	Base   float64   // Σ_n w_n ln h(x_n)
	Sums   []float64 // K×S
	Anchor []float64 // K×A, the same in every shard
	Rows   KeptRows  // if the family keeps them (see [RowFactor])
	// Charged says that the local step had a tilt, so that the global step charges for dimensions of [Latent] factors.
	Charged bool
	// Proper says that the tilt belonged to the evidence.
	Proper bool

	plan  *Plan
	score []float64 // K×C; own, or those of the classes that it follows
	own   []float64
	seen  []Observed
	units [][]laplace.Block // unit information of each class's cells
	about []Reference       // of the priors of the evidence
	spare []float64         // scores of one class
}

// Classes makes sums of k classes.
func (p *Plan) Classes(k int) *Classes {
	c := &Classes{K: k, Sums: make([]float64, k*p.size.Sums), Anchor: make([]float64, k*p.size.Anchor)}
	c.Restore(p)
	return c
}

// Restore completes sums that come from a checkpoint.
func (c *Classes) Restore(p *Plan) {
	if c.plan == nil {
		c.plan, c.seen = p, make([]Observed, len(p.parts))
		c.units = make([][]laplace.Block, c.K)
	}
}

// The numbers of class k.
func (c *Classes) sums(k int) []float64   { return linalg.Row(c.Sums, k, c.plan.size.Sums) }
func (c *Classes) anchor(k int) []float64 { return linalg.Row(c.Anchor, k, c.plan.size.Anchor) }
func (c *Classes) scoreOf(k int) []float64 {
	return linalg.Row(c.scores(), k, c.plan.size.Score)
}

// Follow empties the sums and readies c for the local step that lead is ready for, with the scores of lead.
func (c *Classes) Follow(lead *Classes) {
	c.Restore(lead.plan)
	c.Clear()
	c.score, c.Charged, c.Proper = lead.scores(), lead.Charged, lead.Proper
	copy(c.Anchor, lead.Anchor)
}

// write makes the scores its own, for others to replace them.
func (c *Classes) write() {
	if c.own == nil {
		c.own = make([]float64, c.K*c.plan.size.Score)
	}
	c.score = c.own
}

// scores are those of the classes, 0 where none are computed, as at a start.
func (c *Classes) scores() []float64 {
	if c.score == nil {
		c.write()
	}
	return c.score
}

// scoreAll computes the scores of the classes with parameters params, K×P.
func (c *Classes) scoreAll(params []float64) error {
	c.write()
	return c.plan.scoreAll(Table{c.K, c.plan.size.Params, params}, Table{c.K, c.plan.size.Score, c.score})
}

// tables are the numbers of all classes that belong to a factor.
func (c *Classes) tables(f *part) (scores, anchors, sums Table) {
	size := &c.plan.size
	return Table{
		c.K, size.Score, c.scores()[f.at.Score:],
	}, Table{c.K, size.Anchor, c.Anchor[f.at.Anchor:]}, Table{c.K, size.Sums, c.Sums[f.at.Sums:]}
}

// Clear empties the sums.
func (c *Classes) Clear() {
	c.Base = 0
	clear(c.Sums)
	c.Rows.Blocks, c.Rows.Q = c.Rows.Blocks[:0], c.Rows.Q[:0]
}

// Merge adds the sums of another shard, or of another local step with the same number of classes.
func (c *Classes) Merge(o *Classes) {
	c.Base += o.Base
	c.Rows.Blocks, c.Rows.Q = append(c.Rows.Blocks, o.Rows.Blocks...), append(c.Rows.Q, o.Rows.Q...)
	if slices.Equal(c.Anchor, o.Anchor) {
		linalg.Axpy(1, o.Sums, c.Sums)
		return
	}
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		for k := range c.K {
			sums, others := f.ofSums(c.sums(k)), f.ofSums(linalg.Row(o.Sums, k, c.plan.size.Sums))
			if a, ok := f.Factor.(Anchored); ok {
				a.AddAbout(sums, f.ofAnchor(c.anchor(k)), others, f.ofAnchor(linalg.Row(o.Anchor, k, c.plan.size.Anchor)))
			} else {
				linalg.Axpy(1, others, sums)
			}
		}
	}
}

// Scale makes the rows weigh factor times as much (see [optional.Scaler]).
func (c *Classes) Scale(factor float64) {
	c.Base *= factor
	linalg.Scale(factor, c.Sums)
	linalg.Scale(factor, c.Rows.Q)
}

// Keep keeps some classes.
func (c *Classes) Keep(dims []int) *Classes {
	t := c.plan.Classes(len(dims))
	t.Base, t.Charged, t.Proper, t.Rows = c.Base, c.Charged, c.Proper, c.Rows.keep(c.K, dims)
	for j, k := range dims {
		copy(t.sums(j), c.sums(k))
		copy(t.anchor(j), c.anchor(k))
	}
	return t
}

// ---- Local step

// Prepare empties the sums and computes the scores of the classes with parameters params, K×P. It subtracts a tilt, nil
// for none, from them, except for constant (K), which the caller subtracts from every row's score: it is not 0 if
// values are missing. hyper are the hyperparameters of conjugate posteriors, K×H, for a tilt of the evidence; otherwise
// nil.
func (c *Classes) Prepare(params, hyper []float64, tilt *laplace.Tilt, constant []float64) error {
	c.Clear()
	if err := c.scoreAll(params); err != nil {
		return err
	}
	if tilt.Prior() {
		if err := c.expect(hyper); err != nil {
			return err
		}
	}
	return c.settle(tilt, constant)
}

// settle sets the anchors of the scores and subtracts the tilt.
func (c *Classes) settle(tilt *laplace.Tilt, constant []float64) error {
	c.Charged, c.Proper = tilt != nil, tilt.Prior()
	empty := c.Charged
	for k := range c.K {
		empty = empty && !(tilt.Count(k*c.plan.Blocks()) > 0)
		score := c.scoreOf(k)
		c.plan.locate(score, c.anchor(k))
		switch constant[k] = 0; {
		case tilt.Prior():
			if err := c.plan.lower(tilt, k, score); err != nil {
				return ofTilt(k, err)
			}
		case tilt != nil:
			var err error
			if constant[k], err = c.plan.tilt(tilt, k, score); err != nil {
				return ofTilt(k, err)
			}
		}
	}
	if empty {
		return errors.New("family: no component has rows; lower K")
	}
	return nil
}

// ChunkRows is the number of rows of a block to process together: few enough that their intermediate results stay in
// the processor's cache.
func ChunkRows(b blocks.Rows) int {
	if b.Entries != nil {
		return 1024 // the columns of the scores are transposed once for them
	}
	return 256
}

// Observe reads rows first to first+n of a block.
func (c *Classes) Observe(b blocks.Rows, first, n int) error {
	if b.D != c.plan.size.Columns {
		return fmt.Errorf("family: a row of %d columns does not match a model of %d", b.D, c.plan.size.Columns)
	}
	switch {
	case b.Entries != nil && len(c.plan.parts) > 1:
		return errSparse
	case b.Entries == nil && b.Stride < b.D:
		return b.Check()
	}
	for i := range c.plan.parts {
		p := &c.plan.parts[i]
		if err := p.Observe(b, p.at.Columns, first, n, &c.seen[i]); err != nil {
			return err
		}
	}
	if c.plan.keepsRows {
		c.Rows.observe(b, first, n)
	}
	return nil
}

// Chunks observes the rows of a block, some at a time, and calls visit with the first row, the number of rows and their
// weights, nil for 1, until visit returns an error.
func (c *Classes) Chunks(b blocks.Rows, visit func(first, n int, w []float64) error) error {
	size := ChunkRows(b)
	for first := 0; first < b.N; first += size {
		n := min(size, b.N-first)
		if err := c.Observe(b, first, n); err != nil {
			return err
		}
		var w []float64
		if b.Weights != nil {
			w = b.Weights[first : first+n]
		}
		if err := visit(first, n, w); err != nil {
			return err
		}
	}
	return nil
}

// AddScores adds the log densities of the n observed rows, less ln h(x), to r: K×n, the rows of a
// class next to one another, filled up to a multiple of [simd.Lanes].
func (c *Classes) AddScores(r []float64) {
	for i := range c.plan.parts {
		p := &c.plan.parts[i]
		scores, _, _ := c.tables(p)
		p.AddScores(&c.seen[i], scores, r)
	}
}

// AddJoints is AddScores to log joints that are the same for all rows, with the accuracy that responsibilities, their
// entropy and ln p(x) need: a single factor may leave out scores of distant rows.
func (c *Classes) AddJoints(r []float64) {
	if len(c.plan.parts) == 1 {
		if f, ok := c.plan.parts[0].Factor.(Selective); ok {
			scores, _, _ := c.tables(&c.plan.parts[0])
			f.AddJoints(&c.seen[0], scores, r)
			return
		}
	}
	c.AddScores(r)
}

// Explain returns the error of observed row i if it has no density; nil if no factor has an explanation.
func (c *Classes) Explain(i int) error {
	for j := range c.plan.parts {
		p := &c.plan.parts[j]
		explains, ok := p.Factor.(interface {
			Explain(o *Observed, i int, scores Table) error
		})
		if !ok {
			continue
		}
		scores, _, _ := c.tables(p)
		if err := explains.Explain(&c.seen[j], i, scores); err != nil {
			return err
		}
	}
	return nil
}

// BaseOf is ln h(x) of observed row i.
func (c *Classes) BaseOf(i int) float64 {
	sum := 0.0
	for j := range c.seen {
		if c.seen[j].Base != nil {
			sum += c.seen[j].Base[i]
		}
	}
	return sum
}

// Add adds the n observed rows of weights w, nil for 1, to the classes in the shares r of their weights, laid out as
// for AddScores with padding of 0. It returns the entropy of the families' latent variables.
func (c *Classes) Add(n int, w, r []float64) (entropy float64) {
	for i := range c.seen {
		switch base := c.seen[i].Base; {
		case base == nil:
		case w == nil:
			c.Base += floats.Sum(base[:n])
		default:
			c.Base += linalg.Dot(w, base[:n])
		}
		p := &c.plan.parts[i]
		scores, anchors, sums := c.tables(p)
		entropy += p.AddSums(&c.seen[i], r, scores, anchors, sums)
	}
	if c.plan.keepsRows {
		c.Rows.add(n, c.K, r)
	}
	return entropy
}

// ---- Global step

// Estimate puts the maximum likelihood parameters of every class into params, K×P, which hold the starting values.
func (c *Classes) Estimate(params []float64) error {
	size := &c.plan.size
	for k := range c.K {
		if err := c.plan.estimate(c.Charged, c.sums(k), c.anchor(k), linalg.Row(params, k, size.Params)); err != nil {
			return ClassError(k, err)
		}
	}
	if err := c.search(params); err != nil {
		return err
	}
	return c.plan.share(Table{c.K, size.Sums, c.Sums}, Table{c.K, size.Anchor, c.Anchor}, Table{c.K, size.Params, params})
}

// LogJoint is Σ_n Σ_k r_nk E[ln p(x_n|ξ_k)], with the families' latent variables, for the
// parameters params, K×P; NaN if they have no density.
func (c *Classes) LogJoint(params []float64) float64 {
	if c.scoreAll(params) != nil {
		return nan // the engine reports it
	}
	sum := c.Base
	for k := range c.K {
		sum += c.total(k)
	}
	return sum
}

// ClassError adds the class to a step's error; one that wraps [framework.ErrDegenerate] lets the engine remove that
// class.
func ClassError(k int, err error) error {
	if errors.Is(err, framework.ErrDegenerate) {
		return &framework.DegenerateError{Dimension: k, Reason: err}
	}
	return fmt.Errorf("component %d: %w", k+1, err)
}

// ofTilt is the error of a class whose count of regressors is singular.
func ofTilt(k int, err error) error { return &framework.DegenerateError{Dimension: k, Reason: err} }

func (c *Classes) total(k int) float64 {
	sum := 0.0
	for i := range c.plan.parts {
		f := &c.plan.parts[i]
		if score := f.ofScore(c.scoreOf(k)); f.rows != nil {
			sum += f.rows.TotalRows(c.weighted(f, k), score)
		} else {
			sum += f.sums.Total(score, f.ofSums(c.sums(k)), f.ofAnchor(c.anchor(k)))
		}
	}
	return sum
}

// Curvature adds every class, of counts nk, to f: 1 + Cells blocks each, the first without parameters, and one of each
// [Latent] factor. known is the observed information at params.
func (c *Classes) Curvature(f *laplace.Curvature, nk, params []float64, known *Information) error {
	observed, err := c.observed(f.CountOnly(), params, known)
	if err != nil {
		return err
	}
	for k, n := range nk {
		c.units[k] = c.plan.curvature(f, k, k, c.sums(k), n, linalg.Row(params, k, c.plan.size.Params), observed, c.units[k])
	}
	return nil
}

// observed is the observed information that belongs to params, nil if it is not needed.
func (c *Classes) observed(countOnly bool, params []float64, known *Information) ([][]laplace.Block, error) {
	if countOnly || !c.plan.searches {
		return nil, nil
	}
	if known == nil { // parameters from elsewhere
		known = new(Information)
	}
	return known.of(c, params)
}

// Deviations puts the standard errors of class k into dst, P numbers, for total rows and the parameters params, K×P.
func (c *Classes) Deviations(k int, params []float64, known *Information, total float64, dst []float64) error {
	observed, err := c.observed(false, params, known)
	if err != nil {
		return err
	}
	xi := linalg.Row(params, k, c.plan.size.Params)
	c.plan.deviations(xi, c.sums(k), total, dst)
	for i := range c.plan.parts {
		if f := &c.plan.parts[i]; f.rows != nil {
			f.rows.DeviationsRows(c.weighted(f, k), observed[i][k], f.ofParams(xi), f.pooled, f.ofParams(dst))
		}
	}
	return nil
}

// Charge is ½ ln|N F_ξk| of class k alone with nk rows, at parameters estimated from its sums: the charge of gFIC for
// the class. It returns an error if there is no estimate. Parameters of a [RowFactor], and shared ones, come from
// params, K×P, with the observed information known.
func (c *Classes) Charge(k int, nk float64, params []float64, known *Information) (float64, error) {
	if !(nk > 0) {
		return math.NaN(), variances.ErrNoRows
	}
	observed, err := c.observed(false, params, known)
	if err != nil {
		return math.NaN(), err
	}
	xi := linalg.Row(params, k, c.plan.size.Params)
	if c.plan.size.Shared == 0 { // what classes share, no class can estimate
		xi = slices.Clone(xi)
		if err := c.plan.estimate(c.Charged, c.sums(k), c.anchor(k), xi); err != nil {
			return math.NaN(), err
		}
	}
	var f laplace.Curvature
	f.Reset(1, false)
	c.plan.curvature(&f, 0, k, c.sums(k), nk, xi, observed, nil)
	return f.LogDet() / 2, nil
}

// Padded is the length of a class's part of r for n rows.
func Padded(n int) int { return simd.Padded(n) }
