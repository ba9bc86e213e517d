package family

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// exponentialKernel is an exponential family on a number of independent column groups, its cells.
// With the exposures as further statistics, the score of a row is linear in what was
// observed, Σ_c (η_c·T_c − e_c ψ_c): one product of matrices serves EM, MAP, FAB, gFAB and
// variational Bayes, which differ in the numbers only, and a missing cell, all of whose
// statistics are 0, drops out of the score and of the sums.
//
// One component's numbers lie in the order: those of exposures, one a cell; then those of
// T, S a cell.
type exponentialKernel struct {
	law                ExponentialFamily
	cells, s, p, width int
}

func newExponentialKernel(f ExponentialFamily, cells int) Factor {
	l := exponentialKernel{f, cells, f.Statistics(), len(f.Parameters()), f.Columns()}
	if s, ok := f.(Sampler); ok {
		return sampledKernel{l, s}
	}
	return l
}

// exponential is the kernel that a sampledKernel embeds, too.
func (l exponentialKernel) exponential() exponentialKernel { return l }

func (l exponentialKernel) Join(next Factor) (Factor, bool) {
	other, ok := next.(interface{ exponential() exponentialKernel })
	if !ok || l.width > 1 || !same(l.law, other.exponential().law) {
		return nil, false
	}
	return newExponentialKernel(l.law, l.cells+other.exponential().cells), true
}

func (l exponentialKernel) Name() string { return l.law.Name() }

func (l exponentialKernel) Layout() Layout {
	n, features := l.cells*(1+l.s), l.cells*l.s
	if l.manyLabels() {
		features = l.cells * labelBits
	}
	return Layout{
		Columns:  l.cells * l.width,
		Cells:    l.cells,
		Free:     l.law.Free(),
		Sums:     n,
		Score:    n,
		Params:   l.cells * l.p,
		Hyper:    n,
		Features: features,
	}
}

// labelBits is the number of labels from which on rows are observed by them, and no zeros are multiplied or kept.
const labelBits = 64

// manyLabels says whether rows are observed by their labels.
func (l exponentialKernel) manyLabels() bool {
	law, ok := l.law.(LabelObserver)
	return ok && l.s >= labelBits && law.ObserveLabels(l.law, nil, 0, l.cells, 0, nil)
}

// split gives the parts of exposures and of T.
func (l exponentialKernel) split(v []float64) (e, t []float64) { return v[:l.cells], v[l.cells:] }

func (l exponentialKernel) cell(t []float64, c int) []float64    { return t[c*l.s : (c+1)*l.s] }
func (l exponentialKernel) params(xi []float64, c int) []float64 { return xi[c*l.p : (c+1)*l.p] }

func (l exponentialKernel) Observe(b blocks.Rows, at, first, n int, o *Observed) error {
	if b.Entries != nil {
		return l.observeEntries(b, at, first, n, o)
	}
	width := l.cells * l.s
	o.N, o.Complete, o.Base, o.sparse, o.labelling = n, true, linalg.Resize(o.Base, n), false, labelsUnknown
	if o.coded = l.manyLabels() && l.observeLabels(b.X[first*b.Stride+at:], n, b.Stride, o); o.coded {
		return nil
	}
	if all, ok := l.law.(BlockObserver); ok {
		clear(o.Base)
		o.Exposures = o.Exposures[:0]
		x := b.X[first*b.Stride+at:]
		if o.t, o.stride, ok = all.ObserveBlock(l.law, x, n, l.cells, b.Stride, &o.own, &o.Exposures, o.Base); ok {
			o.Complete = len(o.Exposures) == 0
			return nil
		}
	}
	o.own, o.Exposures = linalg.Resize(o.own, n*width), linalg.Resize(o.Exposures, n*l.cells)
	o.t, o.stride = o.own, width
	for i := range n {
		row, base := b.Row(first + i)[at:], 0.0
		for c := range l.cells {
			x, t := row[c*l.width:(c+1)*l.width], o.t[i*width+c*l.s:i*width+(c+1)*l.s]
			e, h, ok := l.law.Observe(x, t)
			if !ok {
				if !missing(x) {
					return l.outside(b.First+first+i, at+c*l.width, x)
				}
				clear(t)
				e, h = 0, 0
			}
			o.Exposures[i*l.cells+c] = e
			o.Complete = o.Complete && e == 1
			base += h
		}
		o.Base[i] = base
	}
	return nil
}

// observeLabels reports whether all cells have labels, or are missing.
func (l exponentialKernel) observeLabels(x []float64, n, stride int, o *Observed) bool {
	o.labels = linalg.Resize(o.labels, n*l.cells)
	if !l.law.(LabelObserver).ObserveLabels(l.law, x, n, l.cells, stride, o.labels) {
		return false
	}
	clear(o.Base)
	o.labelling, o.Exposures = labelled, linalg.Resize(o.Exposures, n*l.cells)
	for c := range l.cells {
		for i, v := range linalg.Row(o.labels, c, n) {
			if o.Exposures[i*l.cells+c] = 1; v != v {
				o.Exposures[i*l.cells+c], o.Complete = 0, false
			}
		}
	}
	return true
}

// missing says that nothing of an observation is there.
func missing(x []float64) bool {
	for _, v := range x {
		if !math.IsNaN(v) {
			return false
		}
	}
	return true
}

// ErrSupport is the reason of a [blocks.DataError] about a value without density in a family.
var ErrSupport = errors.New("outside the support")

func (l exponentialKernel) outside(row, column int, x []float64) error {
	reason := fmt.Errorf("%w of %s: %s", ErrSupport, l.law.Name(), l.law.Support())
	switch {
	case len(x) > 1 && slices.ContainsFunc(x, math.IsNaN):
		reason = fmt.Errorf("the group must be complete or missing as a whole; here it is missing in part, %w", reason)
	case len(x) > 1:
		reason = fmt.Errorf("the group %v is %w", x, reason)
	}
	return &blocks.DataError{Row: row, Column: column, Value: x[0], Reason: reason}
}

func (l exponentialKernel) AddScores(o *Observed, scores Table, r []float64) {
	k, width := scores.K, l.cells*l.s
	if o.Complete {
		for j := range k {
			floats.AddConst(floats.Sum(scores.Row(j, l.cells)), linalg.Row(r, j, o.Padded()))
		}
	}
	if o.sparse {
		o.addSparseScores(scores, l.cells, r)
		return
	}
	if o.coded {
		l.eachLabel(o, scores, r, func(eta, of, labels []float64) {
			for i, v := range labels {
				if v == v {
					of[i] += eta[int(v)]
				}
			}
		})
	} else {
		simd.RowScores(r, o.t, o.N, width, o.stride, scores.Data[l.cells:], k, scores.Stride)
	}
	if !o.Complete {
		simd.RowScores(r, o.Exposures, o.N, l.cells, l.cells, scores.Data, k, scores.Stride)
	}
}

func (l exponentialKernel) AddSums(o *Observed, r []float64, _, _, sums Table) (entropy float64) {
	k, width := sums.K, l.cells*l.s
	weights := blas64.General{Rows: k, Cols: o.N, Stride: o.Padded(), Data: r}
	if o.Complete {
		for j := range k {
			floats.AddConst(floats.Sum(linalg.Row(r, j, o.Padded())), sums.Row(j, l.cells))
		}
	} else {
		exposures := blas64.General{Rows: k, Cols: l.cells, Stride: sums.Stride, Data: sums.Data}
		linalg.MulSerial(false, false, 1, weights, linalg.General(o.N, l.cells, o.Exposures), 1, exposures)
	}
	if o.sparse {
		o.addSparseSums(sums, l.cells, r)
		return 0
	}
	if o.coded {
		l.eachLabel(o, sums, r, func(t, of, labels []float64) {
			for i, v := range labels {
				if v == v {
					t[int(v)] += of[i]
				}
			}
		})
		return 0
	}
	t := blas64.General{Rows: k, Cols: width, Stride: sums.Stride, Data: sums.Data[l.cells:]}
	linalg.MulSerial(false, false, 1, weights, blas64.General{Rows: o.N, Cols: width, Stride: o.stride, Data: o.t}, 1, t)
	return 0
}

// eachLabel visits the cells of each class: its numbers for the labels, those of the rows in r, and the rows' labels.
func (l exponentialKernel) eachLabel(o *Observed, table Table, r []float64, visit func(cell, of, labels []float64)) {
	for k := range table.K {
		_, t := l.split(table.Row(k, l.cells*(1+l.s)))
		for c := range l.cells {
			visit(l.cell(t, c), linalg.Row(r, k, o.Padded()), linalg.Row(o.labels, c, o.N))
		}
	}
}

// Features are the statistics of one observation. Those of many labels are the signs of 64 bits that a label is
// scattered to: two labels are as far apart as any others but for an eighth (Achlioptas 2003, Journal of Computer and
// System Sciences 66).
func (l exponentialKernel) Features(o *Observed, dst []float64, width, at int) {
	for i := range o.N {
		if o.coded {
			for c := range l.cells {
				scatter(o.labels[c*o.N+i], dst[i*width+at+c*labelBits:][:labelBits])
			}
			continue
		}
		to := dst[i*width+at:][:l.cells*l.s]
		copy(to, o.t[i*o.stride:])
		if o.Complete {
			continue
		}
		for c, e := range o.Exposures[i*l.cells : (i+1)*l.cells] {
			for s := range l.s {
				to[c*l.s+s] /= e // NaN if missing
			}
		}
	}
}

// scatter puts the signs of a label's bits into dst, NaN if it is missing.
func scatter(label float64, dst []float64) {
	bits := rand.NewPCG(uint64(label), 0).Uint64()
	for b := range dst {
		dst[b] = label - label + 1 - 2*float64(bits>>b&1)
	}
}

func (l exponentialKernel) Estimate(sums, _ []float64, w *Pooled, xi []float64) error {
	e, t := l.split(sums)
	for c, n := range e {
		if !(n > 0) { // no row of the component has this cell: the pooled estimate is as good as any
			if w == nil {
				return blocks.FaultyColumn(c*l.width, blocks.ErrNoValue)
			}
			copy(l.params(xi, c), l.params(w.Parameters, c))
			continue
		}
		if err := l.estimate(n, l.cell(t, c), w, l.params(xi, c)); err != nil {
			if w == nil && errors.Is(err, framework.ErrDegenerate) {
				return blocks.FaultyColumn(c*l.width, blocks.ErrConstant)
			}
			return l.unestimated(c, err)
		}
	}
	return nil
}

// unestimated puts the column in front of a family's error.
func (l exponentialKernel) unestimated(c int, err error) error {
	return blocks.FaultyColumn(c*l.width, fmt.Errorf("has no estimate: %w", err))
}

func (l exponentialKernel) Score(xi, score []float64) error {
	e, t := l.split(score)
	if all, ok := l.law.(BlockNatural); ok && all.Naturals(l.law, xi, e, t) {
		return nil
	}
	for c := range l.cells {
		e[c] = -l.law.Natural(l.params(xi, c), l.cell(t, c))
	}
	return nil
}

func (l exponentialKernel) Total(score, sums, _ []float64) float64 { return linalg.Dot(score, sums) }

func (l exponentialKernel) AddPooled(weight float64, w *Pooled, _, sums []float64) {
	e, t := l.split(w.Sums)
	for c, n := range e {
		sums[c] += weight
		linalg.Axpy(weight/n, l.cell(t, c), l.cell(sums[l.cells:], c))
	}
}

func (l exponentialKernel) Information(xi []float64, _ *Pooled, dst []laplace.Block) []laplace.Block {
	for c := range l.cells {
		var d laplace.Diagonal
		dst, d = AppendDiagonal(dst, l.law.Free())
		l.law.Information(l.params(xi, c), d)
	}
	return dst
}

func (l exponentialKernel) Numbers() []Number {
	var list []Number
	names := l.law.Parameters()
	for c := range l.cells {
		for i, name := range names {
			column := c * l.width
			if len(names) == l.width {
				column += i // such as one probability a column
			}
			list = append(list, Number{name, column, column})
		}
	}
	return list
}

func (l exponentialKernel) Deviations(xi, sums []float64, _ float64, dst []float64) {
	law, ok := l.law.(Deviator)
	for c := range l.cells {
		switch to := l.params(dst, c); {
		case !ok:
			linalg.Fill(to, nan)
		case sums[c] > 0:
			law.Deviations(l.params(xi, c), sums[c], to)
		default: // nothing is known of a cell without a value
			linalg.Fill(to, math.Inf(1))
		}
	}
}

// Contrast is (η−η₀)·E[T] − (ψ−ψ₀).
func (l exponentialKernel) Contrast(xi, pooled, dst []float64) {
	law, ok := l.law.(Expecter)
	if !ok {
		return
	}
	eta, eta0, mean := make([]float64, l.s), make([]float64, l.s), make([]float64, l.s)
	for c := range l.cells {
		psi := l.law.Natural(l.params(xi, c), eta)
		psi0 := l.law.Natural(l.params(pooled, c), eta0)
		law.Expect(l.params(xi, c), mean)
		d := psi0 - psi
		for s, t := range mean {
			if t != 0 {
				d += t * (eta[s] - eta0[s])
			}
		}
		for j := range l.width {
			dst[c*l.width+j] = max(0, d)
		}
	}
}

// sampledKernel is an exponentialKernel whose family can be drawn from.
type sampledKernel struct {
	exponentialKernel
	Sampler
}

// Sample draws each cell.
func (l sampledKernel) Sample(xi []float64, rng *rand.Rand, x []float64) {
	for c := range l.cells {
		l.Sampler.Sample(l.params(xi, c), rng, x[c*l.width:(c+1)*l.width])
	}
}

// exponentialPrior is a conjugate prior of each cell. Hyperparameters are the pseudo-counts
// (ν, τ) of one cell after the other.
type exponentialPrior struct {
	exponentialKernel
	of     []CellPrior // one a cell
	pseudo []float64   // the prior's
	norms  []float64   // LogNorm of the prior, one a cell
}

func (l exponentialKernel) Conjugate(p prior.Prior, w *Pooled) (FactorPrior, error) {
	law, ok := l.law.(ConjugateFamily)
	if !ok {
		return nil, fmt.Errorf(
			"family: %s has no conjugate prior: it does not implement family.ConjugateFamily (a Conjugate method)", l.Name(),
		)
	}
	q := &exponentialPrior{
		exponentialKernel: l,
		of:                make([]CellPrior, l.cells),
		pseudo:            make([]float64, l.cells*(1+l.s)),
		norms:             make([]float64, l.cells),
	}
	for c := range q.of {
		var err error
		if q.of[c], err = law.Conjugate(p, l.params(w.Parameters, c)); err != nil {
			return nil, err
		}
		h := q.pseudoCounts(q.pseudo, c)
		q.of[c].Prior(h)
		q.norms[c] = q.of[c].LogNorm(h)
	}
	return q, nil
}

func (q *exponentialPrior) pseudoCounts(h []float64, c int) []float64 {
	return h[c*(1+q.s) : (c+1)*(1+q.s)]
}

func (q *exponentialPrior) Prior(h []float64) { copy(h, q.pseudo) }

func (q *exponentialPrior) Update(sums, _, h []float64) {
	copy(h, q.pseudo)
	e, t := q.split(sums)
	for c, n := range e {
		hc := q.pseudoCounts(h, c)
		hc[0] += n
		for s, v := range q.cell(t, c) {
			hc[1+s] += v
		}
	}
}

func (q *exponentialPrior) Expected(h, score []float64) error {
	e, t := q.split(score)
	for c, of := range q.of {
		e[c] = -of.Expected(q.pseudoCounts(h, c), q.cell(t, c))
	}
	return nil
}

func (q *exponentialPrior) Divergence(h, score []float64) float64 {
	e, t := q.split(score)
	sum := 0.0
	for c, of := range q.of {
		hc, pc := q.pseudoCounts(h, c), q.pseudoCounts(q.pseudo, c)
		sum += (hc[0]-pc[0])*e[c] - (of.LogNorm(hc) - q.norms[c])
		for s, eta := range q.cell(t, c) {
			sum += (hc[1+s] - pc[1+s]) * eta
		}
	}
	return sum
}

func (q *exponentialPrior) Mode(h, xi []float64) error {
	for c, of := range q.of {
		hc := q.pseudoCounts(h, c)
		if err := of.Mode(hc, q.params(xi, c)); err != nil {
			if !slices.Equal(hc, q.pseudoCounts(q.pseudo, c)) {
				return q.unestimated(c, err)
			}
			of.Mean(hc, q.params(xi, c)) // no row has this cell, and the prior is flat
		}
	}
	return nil
}

func (q *exponentialPrior) Mean(h, xi []float64) {
	for c, of := range q.of {
		of.Mean(q.pseudoCounts(h, c), q.params(xi, c))
	}
}

func (q *exponentialPrior) LogProb(xi []float64) float64 {
	sum := 0.0
	for c, of := range q.of {
		sum += of.LogProb(q.pseudoCounts(q.pseudo, c), q.params(xi, c))
	}
	return sum
}

func (l exponentialKernel) Units(w *Pooled) (u Units) {
	if f, ok := l.law.(Rated); ok {
		for c := range l.cells {
			u.Class += logOf(f.Rate(l.params(w.Parameters, c)))
		}
	}
	return u
}

func (q *exponentialPrior) Rand(h []float64, rng *rand.Rand, xi []float64) {
	for c, of := range q.of {
		of.Rand(q.pseudoCounts(h, c), rng, q.params(xi, c))
	}
}

// AppendDiagonal appends a diagonal block of a size to dst, for [Factor].Information: the previous one in the memory of
// dst, if it has that size. It returns the block's entries, for the caller to set.
func AppendDiagonal(dst []laplace.Block, size int) ([]laplace.Block, laplace.Diagonal) {
	n := len(dst)
	if n < cap(dst) {
		if d, ok := dst[:n+1][n].(laplace.Diagonal); ok && len(d) == size {
			return dst[:n+1], d // the same interface value: wrapping d again would allocate
		}
	}
	d := make(laplace.Diagonal, size)
	return append(dst, d), d
}
