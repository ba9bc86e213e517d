package mixture

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// linear is an exponential family on a number of independent column groups, its cells.
// With the exposures as further statistics, the score of a row is linear in what was
// observed, Σ_c (η_c·T_c − e_c ψ_c): one product of matrices serves EM, MAP, FAB, gFAB and
// variational Bayes, which differ in the numbers only, and a missing cell, all of whose
// statistics are 0, drops out of the score and of the sums.
//
// One component's numbers lie in the order: those of exposures, one a cell; then those of
// T, S a cell.
type linear struct {
	ExponentialFamily
	cells, s, p, width int
}

func newLinear(f ExponentialFamily, cells int) linear {
	return linear{f, cells, f.Statistics(), len(f.Parameters()), f.Columns()}
}

func (l linear) name() string { return l.Name() }

func (l linear) layout() layout {
	n := l.cells * (1 + l.s)
	return layout{columns: l.cells * l.width, cells: l.cells, free: l.Free(), sums: n, score: n, params: l.cells * l.p, hyper: n, features: l.cells * l.s}
}

// split gives the parts of exposures and of T.
func (l linear) split(v []float64) (e, t []float64) { return v[:l.cells], v[l.cells:] }

func (l linear) cell(t []float64, c int) []float64    { return t[c*l.s : (c+1)*l.s] }
func (l linear) params(xi []float64, c int) []float64 { return xi[c*l.p : (c+1)*l.p] }

func (l linear) observe(b framework.Rows, at, first, n int, o *observed) error {
	width := l.cells * l.s
	o.n, o.complete, o.base = n, true, linalg.Resize(o.base, n)
	if l.observeBits(b, at, first, n, o) {
		return nil
	}
	o.own, o.e = linalg.Resize(o.own, n*width), linalg.Resize(o.e, n*l.cells)
	o.t, o.stride = o.own, width
	if l.observeCounts(b, at, first, n, o) {
		return nil
	}
	for i := range n {
		row, base := b.Row(first + i)[at:], 0.0
		for c := range l.cells {
			x, t := row[c*l.width:(c+1)*l.width], o.t[i*width+c*l.s:i*width+(c+1)*l.s]
			e, h, ok := l.Observe(x, t)
			if !ok {
				if !missing(x) {
					return l.outside(b.First+first+i, at+c*l.width, x)
				}
				clear(t)
				e, h = 0, 0
			}
			o.e[i*l.cells+c] = e
			o.complete = o.complete && e == 1
			base += h
		}
		o.base[i] = base
	}
	return nil
}

// What embeds one of the families below may observe otherwise: it is exactly these that are
// read without a call for each observation. false leaves the rows, and what may be wrong, to
// observe.

// observeBits takes complete rows of zeros and ones for their statistics as they lie.
func (l linear) observeBits(b framework.Rows, at, first, n int, o *observed) bool {
	if _, ok := l.ExponentialFamily.(Bernoulli); !ok {
		return false
	}
	x := b.X[first*b.Stride+at:]
	if !simd.Bits(x, n, l.cells, b.Stride) {
		return false
	}
	o.t, o.stride = x, b.Stride
	clear(o.base)
	return true
}

// observeCounts copies complete rows of counts.
func (l linear) observeCounts(b framework.Rows, at, first, n int, o *observed) bool {
	if _, ok := l.ExponentialFamily.(Poisson); !ok {
		return false
	}
	for i := range n {
		var ok bool
		if o.base[i], ok = observeCounts(b.Row(first + i)[at:at+l.cells], o.t[i*l.cells:(i+1)*l.cells]); !ok {
			return false
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

// ErrSupport is what a [framework.DataError] says of a value to which a family gives no density.
var ErrSupport = errors.New("outside the support")

func (l linear) outside(row, column int, x []float64) error {
	reason := fmt.Errorf("%w of %s: %s", ErrSupport, l.Name(), l.Support())
	switch {
	case len(x) > 1 && slices.ContainsFunc(x, math.IsNaN):
		reason = fmt.Errorf("it begins a group that is missing in part, %w, or groups that are missing as a whole", reason)
	case len(x) > 1:
		reason = fmt.Errorf("the group %v is %w", x, reason)
	}
	return &framework.DataError{Row: row, Column: column, Value: x[0], Reason: reason}
}

func (l linear) addScores(o *observed, scores table, r []float64) {
	k, width := scores.k, l.cells*l.s
	if o.complete {
		for j := range k {
			floats.AddConst(floats.Sum(scores.row(j, l.cells)), at(r, j, o.padded()))
		}
	}
	if o.sparse {
		o.addSparseScores(scores, l.cells, r)
		return
	}
	simd.RowScores(r, o.t, o.n, width, o.stride, scores.data[l.cells:], k, scores.stride)
	if !o.complete {
		simd.RowScores(r, o.e, o.n, l.cells, l.cells, scores.data, k, scores.stride)
	}
}

func (l linear) addSums(o *observed, r []float64, _, sums table) {
	k, width := sums.k, l.cells*l.s
	weights := blas64.General{Rows: k, Cols: o.n, Stride: o.padded(), Data: r}
	if o.complete {
		for j := range k {
			floats.AddConst(floats.Sum(at(r, j, o.padded())), sums.row(j, l.cells))
		}
	} else {
		exposures := blas64.General{Rows: k, Cols: l.cells, Stride: sums.stride, Data: sums.data}
		linalg.MulSerial(false, false, 1, weights, linalg.General(o.n, l.cells, o.e), 1, exposures)
	}
	if o.sparse {
		o.addSparseSums(sums, l.cells, r)
		return
	}
	t := blas64.General{Rows: k, Cols: width, Stride: sums.stride, Data: sums.data[l.cells:]}
	linalg.MulSerial(false, false, 1, weights, blas64.General{Rows: o.n, Cols: width, Stride: o.stride, Data: o.t}, 1, t)
}

func (l linear) features(o *observed, _ *whole, dst []float64, width, at int) {
	for i := range o.n {
		to := dst[i*width+at:][:l.cells*l.s]
		copy(to, o.t[i*o.stride:])
		if o.complete {
			continue
		}
		for c, e := range o.e[i*l.cells : (i+1)*l.cells] {
			for s := range l.s {
				to[c*l.s+s] /= e // NaN where missing
			}
		}
	}
}

func (l linear) estimate(sums, _ []float64, w *whole, xi []float64) error {
	e, t := l.split(sums)
	for c, n := range e {
		if !(n > 0) { // no row of the component has this cell: the table's estimate is as good as any
			if w == nil {
				return framework.FaultyColumn(c*l.width, framework.ErrNoValue)
			}
			copy(l.params(xi, c), l.params(w.xi, c))
			continue
		}
		if err := l.Estimate(n, l.cell(t, c), l.params(xi, c)); err != nil {
			if w == nil && errors.Is(err, framework.ErrDegenerate) {
				return framework.FaultyColumn(c*l.width, framework.ErrConstant)
			}
			return l.unestimated(c, err)
		}
	}
	return nil
}

// unestimated puts the column in front of a family's error.
func (l linear) unestimated(c int, err error) error {
	return framework.FaultyColumn(c*l.width, fmt.Errorf("has no estimate: %w", err))
}

func (l linear) natural(xi, score []float64) error {
	e, t := l.split(score)
	if _, ok := l.ExponentialFamily.(Bernoulli); ok {
		naturalOfChances(xi, e, t)
		return nil
	}
	for c := range l.cells {
		e[c] = -l.Natural(l.params(xi, c), l.cell(t, c))
	}
	return nil
}

func (l linear) center(_, _ []float64) {}

func (l linear) locate(_, _ []float64) {}

func (l linear) total(score, sums, _ []float64) float64 { return linalg.Dot(score, sums) }

func (l linear) addWhole(weight float64, w *whole, _, sums []float64) {
	e, t := l.split(w.sums)
	for c, n := range e {
		sums[c] += weight
		linalg.Axpy(weight/n, l.cell(t, c), l.cell(sums[l.cells:], c))
	}
}

func (l linear) information(xi []float64, _ *whole, dst []laplace.Block) []laplace.Block {
	for c := range l.cells {
		var d laplace.Diagonal
		dst, d = appendDiagonal(dst, l.Free())
		l.Information(l.params(xi, c), d)
	}
	return dst
}

func (l linear) numbers() []Number {
	var list []Number
	for c := range l.cells {
		for i, name := range l.Parameters() {
			column := c * l.width
			if len(l.Parameters()) == l.width {
				column += i // such as one probability a column
			}
			list = append(list, Number{name, column, column})
		}
	}
	return list
}

func (l linear) deviations(xi, sums []float64, _ float64, dst []float64) {
	for c := range l.cells {
		to := l.params(dst, c)
		if l.Deviations(l.params(xi, c), sums[c], to); !(sums[c] > 0) {
			for i := range to { // nothing is known of a cell without a value
				to[i] = math.Inf(1)
			}
		}
	}
}

func (l linear) sample(xi []float64, rng *rand.Rand, x []float64) {
	for c := range l.cells {
		l.Sample(l.params(xi, c), rng, x[c*l.width:(c+1)*l.width])
	}
}

// linearPrior is a conjugate prior of each cell. Hyperparameters are the pseudo-counts
// (ν, τ) of one cell after the other.
type linearPrior struct {
	linear
	of     []Conjugate // one a cell
	pseudo []float64   // the prior's
	norms  []float64   // LogNorm of the prior, one a cell
}

func (l linear) conjugate(p prior.Prior, w *whole) (conjugate, error) {
	q := &linearPrior{linear: l, of: make([]Conjugate, l.cells), pseudo: make([]float64, l.cells*(1+l.s)), norms: make([]float64, l.cells)}
	for c := range q.of {
		var err error
		if q.of[c], err = l.Conjugate(p, l.params(w.xi, c)); err != nil {
			return nil, err
		}
		h := q.pseudoCounts(q.pseudo, c)
		q.of[c].Prior(h)
		q.norms[c] = q.of[c].LogNorm(h)
	}
	return q, nil
}

func (q *linearPrior) pseudoCounts(h []float64, c int) []float64 {
	return h[c*(1+q.s) : (c+1)*(1+q.s)]
}

func (q *linearPrior) prior(h []float64) { copy(h, q.pseudo) }

func (q *linearPrior) update(sums, _, h []float64) {
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

func (q *linearPrior) expected(h, score []float64) error {
	e, t := q.split(score)
	for c, of := range q.of {
		e[c] = -of.Expected(q.pseudoCounts(h, c), q.cell(t, c))
	}
	return nil
}

func (q *linearPrior) divergence(h, score []float64) float64 {
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

func (q *linearPrior) mode(h, xi []float64) error {
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

func (q *linearPrior) mean(h, xi []float64) {
	for c, of := range q.of {
		of.Mean(q.pseudoCounts(h, c), q.params(xi, c))
	}
}

func (q *linearPrior) logProb(xi []float64) float64 {
	sum := 0.0
	for c, of := range q.of {
		sum += of.LogProb(q.pseudoCounts(q.pseudo, c), q.params(xi, c))
	}
	return sum
}

// rated families have a rate, in the units of 1/x, among their parameters.
type rated interface{ rate(xi []float64) float64 }

func (l linear) units(w *whole) (u units) {
	if f, ok := l.ExponentialFamily.(rated); ok {
		for c := range l.cells {
			u.component += logOf(f.rate(l.params(w.xi, c)))
		}
	}
	return u
}

func (q *linearPrior) rand(h []float64, rng *rand.Rand, xi []float64) {
	for c, of := range q.of {
		of.Rand(q.pseudoCounts(h, c), rng, q.params(xi, c))
	}
}
