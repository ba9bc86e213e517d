package family

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Collapsible is a [FactorPrior] whose parameters can be integrated out. With Z(h) the integral of the density of
// hyperparameters h, without its constant, and T(x) the contribution of a row to h,
//
//	ln p(rows) = ln Z(h) − ln Z(h₀) + Σ ln h(x),   ln p(x|rows) = ln Z(h + T(x)) − ln Z(h) + ln h(x).
//
// hyper holds the hyperparameters of K classes, scores the results of Expected (docs/theory/mixtures.md, section 9).
type Collapsible interface {
	// LogEvidence is ln Z(h) − ln Z(h₀), with the powers of 2π of the rows' density.
	LogEvidence(h []float64) float64
	// AddPredictive adds ln p(x | h_k − out_k T(x)) − ln h(x) of each row and class to r, laid out as for
	// AddScores. out, with the same layout, nil for 0, is the share of the row that h_k contains and that AddPredictive
	// removes; the rest is at least the prior, because away from a fixed point h_k may hold less than the row.
	AddPredictive(o *Observed, hyper, scores Table, out, r []float64)
	// AddSpread adds Σ_n w_kn ½ d²/dt² ln Z(h_k + tT(x_n)) at t = 0, to each class's place in dst (K), for weights
	// laid out as r. With weights q(1−q) it is E_q[ln Z] − ln Z at the expected statistics, to second order.
	AddSpread(o *Observed, hyper, scores Table, weights, dst []float64)
}

// Collapses returns an error that names a factor whose prior is not [Collapsible], or nil.
func (b *Posterior) Collapses() error {
	for i, p := range b.priors {
		if _, shared := p.(SharedPrior); shared {
			return fmt.Errorf("family: %s has parameters that the classes share, which cannot be integrated out "+
				"class by class: give each class its own", b.parts[i].Name())
		}
		if _, ok := p.(Collapsible); !ok {
			return fmt.Errorf("family: %s has no closed form of its evidence: its prior does not implement family.Collapsible",
				b.parts[i].Name())
		}
	}
	return nil
}

// LogEvidence is ln p of the rows behind the sums given their classes, with the parameters integrated out; h, K×H,
// comes from these sums by Update. All priors must be [Collapsible].
func (b *Posterior) LogEvidence(c *Classes, h []float64) float64 {
	sum := c.Base
	for k := range c.K {
		for i := range b.parts {
			sum += b.priors[i].(Collapsible).LogEvidence(b.parts[i].ofHyper(linalg.Row(h, k, b.size.Hyper)))
		}
	}
	return sum
}

// AddPredictive adds ln p(x|h_k), less ln h(x), of the n observed rows to r (see [Collapsible]), after Prepare at h.
func (b *Posterior) AddPredictive(c *Classes, h, out, r []float64) {
	for i := range b.parts {
		f := &b.parts[i]
		scores, _, _ := c.tables(f)
		b.priors[i].(Collapsible).AddPredictive(&c.seen[i], Table{c.K, b.size.Hyper, h[f.at.Hyper:]}, scores, out, r)
	}
}

// AddSpread adds the second order of the n observed rows to dst (see [Collapsible]), after Prepare at h.
func (b *Posterior) AddSpread(c *Classes, h, weights, dst []float64) {
	for i := range b.parts {
		f := &b.parts[i]
		scores, _, _ := c.tables(f)
		b.priors[i].(Collapsible).AddSpread(&c.seen[i], Table{c.K, b.size.Hyper, h[f.at.Hyper:]}, scores, weights, dst)
	}
}

// ---- Exponential families

// Predictive is a [CellPrior] that has the posterior predictive distribution, and the curvature of LogNorm, in closed
// form, as in package prior. For other priors they are differences of LogNorm.
type Predictive interface {
	// Predictive is ln factor + log = LogNorm(h + (1−out)(e, t)) − LogNorm(h − out·(e, t)), with no pseudo-count below the
	// prior's. factor is between 1e-30 and 1e30.
	Predictive(h, t []float64, e, out float64) (factor, log float64)
	// Curvature is the second derivative of LogNorm(h + s·(e, t)) at s = 0.
	Curvature(h, t []float64, e float64) float64
}

// byNorm is a Predictive of any conjugate prior.
type byNorm struct{ CellPrior }

func closed(of CellPrior) Predictive {
	if p, ok := of.(Predictive); ok {
		return p
	}
	return byNorm{of}
}

// normAt is LogNorm at so many times the row beyond h.
func (p byNorm) normAt(h, t []float64, e, times float64) float64 {
	moved := make([]float64, len(h))
	moved[0] = h[0] + times*e
	for s, v := range t {
		moved[1+s] = h[1+s] + times*v
	}
	return p.LogNorm(moved)
}

// Predictive does not remove a row from pseudo-counts that hold less than it.
func (p byNorm) Predictive(h, t []float64, e, out float64) (factor, log float64) {
	if out > 0 {
		log = p.normAt(h, t, e, 1-out) - p.normAt(h, t, e, -out)
		if h[0]-out*e > 0 && log-log == 0 {
			return 1, log
		}
	}
	return 1, p.normAt(h, t, e, 1) - p.normAt(h, t, e, 0)
}

// Curvature is a difference between points a thousandth of a row apart: LogNorm must have at least 12 digits.
func (p byNorm) Curvature(h, t []float64, e float64) float64 {
	const step = 1e-3
	return (p.normAt(h, t, e, step) - 2*p.normAt(h, t, e, 0) + p.normAt(h, t, e, -step)) / (step * step)
}

// LogEvidence is Σ_c ln Z(h_c) − ln Z(h₀), with ln Z of a cell the conjugate prior's LogNorm.
func (q *exponentialPrior) LogEvidence(h []float64) float64 {
	sum := 0.0
	for c, of := range q.of {
		sum += of.LogNorm(q.pseudoCounts(h, c)) - q.norms[c]
	}
	return sum
}

// manyFactors is how many factors of at most 1e30 are multiplied before a logarithm is taken.
const manyFactors = 8

// ByLabels is a [Predictive] whose rows may be labels, from 0, with exposure 1, which are then processed together.
type ByLabels interface {
	// Factors multiplies the factor of each row by that of Predictive, whose log is 0, and leaves the factor of a missing
	// label, NaN. out is nil if nothing is removed. It returns false if the prior is not one of labels.
	Factors(h, labels, out, factors []float64) bool
}

func (q *exponentialPrior) AddPredictive(o *Observed, hyper, _ Table, out, r []float64) {
	padded, width := o.Padded(), q.cells*(1+q.s)
	products := make([]float64, o.N)
	labels, t, stride := q.labels(o)
	for k := range hyper.K {
		h, to := hyper.Row(k, width), linalg.Row(r, k, padded)
		var share []float64
		if out != nil {
			share = linalg.Row(out, k, padded)
		}
		linalg.Fill(products, 1)
		for c, of := range q.of {
			law, hc := closed(of), q.pseudoCounts(h, c)
			all, ok := law.(ByLabels)
			if !ok || labels == nil || !all.Factors(hc, linalg.Row(labels, c, o.N), share, products) {
				if t == nil {
					t, stride = q.statistics(o)
				}
				q.factors(o, t, stride, c, law, hc, share, products, to)
			}
			if c%manyFactors == manyFactors-1 || c == q.cells-1 {
				simd.Log(products, products)
				floats.Add(to[:o.N], products)
				linalg.Fill(products, 1)
			}
		}
	}
}

// factors multiplies products by the factors of a cell of each row, and adds the logs to r. Rows of nothing left out
// that count the same have the same.
func (q *exponentialPrior) factors(
	o *Observed, t []float64, stride, c int, law Predictive, hc, share, products, r []float64,
) {
	var known [64]struct {
		factor, log float64
		is          bool
	}
	for i := range products {
		e := q.exposure(o, i, c)
		if e == 0 {
			continue
		}
		cell, out, count := q.cell(t[i*stride:], c), linalg.Entry(share, i), -1
		if q.s == 1 && e == 1 && out == 0 && cell[0] >= 0 && cell[0] < float64(len(known)) && cell[0] == math.Trunc(cell[0]) {
			count = int(cell[0])
		}
		if count >= 0 && known[count].is {
			products[i] *= known[count].factor
			r[i] += known[count].log
			continue
		}
		factor, log := law.Predictive(hc, cell, e, out)
		products[i] *= factor
		r[i] += log
		if count >= 0 {
			known[count].factor, known[count].log, known[count].is = factor, log, true
		}
	}
}

// labels are the cells as labels, one column after the other: a statistic that is 0 or 1, or the one of several that is
// 1. NaN is missing. They are nil if any cell is something else. A chunk is asked once. The statistics, so far apart,
// are nil where labels stand for them.
func (q *exponentialPrior) labels(o *Observed) (labels, t []float64, stride int) {
	if o.coded {
		return o.labels, nil, 0
	}
	t, stride = q.statistics(o)
	if o.labelling == labelsUnknown {
		o.labelling = q.label(o, t, stride)
	}
	if o.labelling == notLabelled {
		return nil, t, stride
	}
	return o.labels, t, stride
}

func (q *exponentialPrior) label(o *Observed, t []float64, stride int) labelling {
	o.labels = linalg.Resize(o.labels, o.N*q.cells)
	for i := range o.N {
		for c := range q.cells {
			l, e := nan, q.exposure(o, i, c)
			if e != 0 {
				if l = labelOf(q.cell(t[i*stride:], c)); e != 1 || l != l {
					return notLabelled
				}
			}
			o.labels[c*o.N+i] = l
		}
	}
	return labelled
}

// labelOf is NaN if the statistics are not those of a label.
func labelOf(t []float64) float64 {
	if len(t) == 1 && (t[0] == 0 || t[0] == 1) {
		return t[0]
	}
	label := nan
	for l, v := range t {
		switch {
		case v == 1 && len(t) > 1 && label != label:
			label = float64(l)
		case v != 0:
			return nan
		}
	}
	return label
}

// AddSpread uses the rows of positive weight in each class, few of them if classes are clear.
func (q *exponentialPrior) AddSpread(o *Observed, hyper, _ Table, weights, dst []float64) {
	padded, width := o.Padded(), q.cells*(1+q.s)
	labels, t, stride := q.labels(o)
	some := make([]int, 0, o.N)
	for k := range hyper.K {
		h, own := hyper.Row(k, width), linalg.Row(weights, k, padded)
		some = some[:0]
		for i, w := range own[:o.N] {
			if w != 0 {
				some = append(some, i)
			}
		}
		for c, of := range q.of {
			law, hc := closed(of), q.pseudoCounts(h, c)
			switch {
			case q.s == 1:
				dst[k] += q.quadratic(o, t, stride, c, some, own, law, hc) / 2
			case labels != nil:
				dst[k] += q.byLabel(linalg.Row(labels, c, o.N), some, own, law, hc) / 2
			default:
				for _, i := range some {
					if e := q.exposure(o, i, c); e != 0 {
						dst[k] += own[i] / 2 * law.Curvature(hc, q.cell(t[i*stride:], c), e)
					}
				}
			}
		}
	}
}

// quadratic is Σ_i w_i times the second derivative along (e_i, t_i) of a cell of one statistic, which is a quadratic
// form in them: its three coefficients come from three directions.
func (q *exponentialPrior) quadratic(
	o *Observed, t []float64, stride, c int, some []int, w []float64, law Predictive, hc []float64,
) float64 {
	var ee, et, tt float64
	for _, i := range some {
		e, x := q.exposure(o, i, c), t[i*stride+c]
		if e != 0 {
			ee, et, tt = ee+w[i]*e*e, et+w[i]*e*x, tt+w[i]*x*x
		}
	}
	if ee == 0 {
		return 0
	}
	of := [3]float64{
		law.Curvature(hc, []float64{0}, 1), law.Curvature(hc, []float64{1}, 0), law.Curvature(hc, []float64{1}, 1),
	}
	return ee*of[0] + tt*of[1] + et*(of[2]-of[0]-of[1])
}

// byLabel is Σ_i w_i times the second derivative along the label of row i.
func (q *exponentialPrior) byLabel(
	labels []float64, some []int, w []float64, law Predictive, hc []float64,
) (sum float64) {
	total := make([]float64, q.s)
	for _, i := range some {
		if l := labels[i]; l == l {
			total[int(l)] += w[i]
		}
	}
	if all, ok := law.(interface {
		LabelCurvature(h, weights []float64) float64
	}); ok {
		return all.LabelCurvature(hc, total)
	}
	label := make([]float64, q.s)
	for l, weight := range total {
		if weight != 0 {
			label[l] = 1
			sum += weight * law.Curvature(hc, label, 1)
			label[l] = 0
		}
	}
	return sum
}

// exposure is that of a cell of a row, 0 where it is missing.
func (l exponentialKernel) exposure(o *Observed, i, c int) float64 {
	if o.Complete {
		return 1
	}
	return o.Exposures[i*l.cells+c]
}

// statistics are those of rows, so far apart; of rows as entries, and of labels, they are written out.
func (l exponentialKernel) statistics(o *Observed) (t []float64, stride int) {
	if o.coded {
		stride = l.cells * l.s
		o.own = linalg.Resize(o.own, o.N*stride)
		clear(o.own)
		for c := range l.cells {
			for i, v := range linalg.Row(o.labels, c, o.N) {
				if v == v {
					o.own[i*stride+c*l.s+int(v)] = 1
				}
			}
		}
		return o.own, stride
	}
	if !o.sparse {
		return o.t, o.stride
	}
	o.Work = linalg.Resize(o.Work, o.N*l.cells)
	clear(o.Work)
	entry := 0
	for i := range o.N {
		columns, _ := o.rows.Entries.Row(o.first + i)
		for _, c := range columns {
			o.Work[i*l.cells+c] = o.t[entry]
			entry++
		}
	}
	return o.Work, l.cells
}
