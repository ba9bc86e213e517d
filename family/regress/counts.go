package regress

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// generalised has a response of counts, with the log density yη − eA(η) + ln h, where the exposure e is a column or 1.
// Its likelihood is no function of sums: the global step is Newton's method over the rows. With p regressors u, of
// columns x about the centre a, the numbers of one component are
//
//	sums    n; Σuuᵀ (upper triangle of p×p)
//	anchor  a
//	score   c; line; a; m and R with −½‖R(x−m)‖² the leverage
//	params  coefficients
//	units   η₀ of the intercept alone, 0 without; the information of one event, or of one trial, there, p×p
type generalised struct {
	design
	of Family
}

func (f generalised) Name() string { return f.of.Name() }

func (f generalised) Layout() family.Layout {
	p, x := f.size(), f.columns
	return family.Layout{
		Columns:    f.first + x,
		Features:   f.width(),
		Cells:      1,
		Design:     len(f.own),
		Shared:     len(f.fixed),
		Sums:       1 + p*p,
		Anchor:     x,
		Score:      1 + p + 2*x + x*x,
		Params:     p,
		Units:      1 + p*p,
		Regressors: x + x*x,
	}
}

// split gives the parts of a score.
func (f generalised) split(score []float64) (line, centre, m, root []float64) {
	p, x := f.size(), f.columns
	return score[1 : 1+p], score[1+p:][:x], score[1+p+x:][:x], score[1+p+2*x:]
}

// cumulant is A(η) with its first two derivatives, the mean and the variance of a unit of exposure.
func (f generalised) cumulant(eta float64) (a, mean, variance float64) {
	if f.of.Response == Counts {
		mean = math.Exp(eta)
		return mean, mean, mean
	}
	small := math.Exp(-math.Abs(eta))
	mean = 1 / (1 + small)
	if eta < 0 {
		mean = small / (1 + small)
	}
	return max(0, eta) + math.Log1p(small), mean, small / ((1 + small) * (1 + small))
}

// logBase is ln h.
func (f generalised) logBase(y, exposure float64) float64 {
	whole, _ := math.Lgamma(y + 1)
	if f.of.Response == Counts {
		if y == 0 {
			return 0
		}
		return y*math.Log(exposure) - whole
	}
	trials, _ := math.Lgamma(exposure + 1)
	rest, _ := math.Lgamma(exposure - y + 1)
	return trials - whole - rest
}

// exposureOf is that of a row.
func (f generalised) exposureOf(row []float64) float64 {
	if f.of.Exposure {
		return row[1]
	}
	return 1
}

var (
	errCount   = errors.New("a count is a whole number, 0 or above")
	errBinary  = errors.New("a response without trials is 0 or 1; give the column of trials for counts")
	errTrials  = errors.New("the number of trials is a whole number, 0 or above")
	errBeyond  = errors.New("there are more successes than trials")
	errExposed = errors.New("an exposure is a positive number")
)

// supported is the error of a response, or of its exposure, that cannot be.
func (f generalised) supported(row []float64, place, at int) error {
	whole := func(v float64) bool { return v >= 0 && v == math.Trunc(v) }
	y, exposure := row[0], f.exposureOf(row)
	fault := func(column int, reason error) error {
		return &blocks.DataError{Row: place, Column: at + column, Value: row[column], Reason: reason}
	}
	switch {
	case f.of.Response == Counts && !(exposure > 0):
		return fault(1, errExposed)
	case f.of.Response == Successes && f.of.Exposure && !whole(exposure):
		return fault(1, errTrials)
	case !whole(y):
		return fault(0, errCount)
	case f.of.Response == Successes && !f.of.Exposure && y > 1:
		return fault(0, errBinary)
	case f.of.Response == Successes && y > exposure:
		return fault(0, errBeyond)
	}
	return nil
}

func (f generalised) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	base := o.Base
	if err := f.observe(b, at, first, n, o); err != nil {
		return err
	}
	o.Base = linalg.Resize(base, n)
	for i := range n {
		o.Base[i] = 0
		row := o.Row(i, f.first+f.columns)
		if math.IsNaN(row[0]) || b.Weight(first+i) == 0 {
			continue
		}
		if err := f.supported(row, o.Place(i), at); err != nil {
			return err
		}
		o.Base[i] = f.logBase(row[0], f.exposureOf(row))
	}
	return nil
}

func (f generalised) AddScores(o *family.Observed, scores family.Table, r []float64) {
	p, n, l := f.size(), o.Padded(), f.Layout()
	o.Work = linalg.Resize(o.Work, (p+3)*n+simd.ScoresWork(max(1, f.columns)))
	u, eta, own, scratch := o.Work[:p*n], linalg.Row(o.Work, p, n), linalg.Row(o.Work, p+1, n), linalg.Row(o.Work, p+2, n)
	y := o.X[:n]
	for k := range scores.K {
		score, to := scores.Row(k, l.Score), linalg.Row(r, k, n)
		line, centre, m, root := f.split(score)
		if k == 0 {
			f.regressors(o, centre, u)
		}
		f.predict(u, line, eta)
		for i, v := range eta[:o.N] {
			a, _, _ := f.cumulant(v)
			if f.of.Exposure {
				a *= o.X[n+i]
			}
			own[i] = score[0] + y[i]*v - a
		}
		clear(own[o.N:])
		f.lowered(o, root, m, own)
		floats.Add(to, present(o, own, scratch))
	}
}

func (f generalised) AddSums(o *family.Observed, r []float64, _, anchors, sums family.Table) (entropy float64) {
	p, n, l := f.size(), o.Padded(), f.Layout()
	o.Work = linalg.Resize(o.Work, (p+2)*n)
	u, scratch, own := o.Work[:p*n], linalg.Row(o.Work, p, n), linalg.Row(o.Work, p+1, n)
	f.regressors(o, anchors.Row(0, f.columns), u)
	for k := range sums.K {
		to, w := sums.Row(k, l.Sums), present(o, linalg.Row(r, k, n), own)
		to[0] += floats.Sum(w)
		addProducts(u, p, w, scratch, to[1:])
	}
	return 0
}

func (f generalised) Score(xi, score []float64) error {
	clear(score)
	line, _, _, _ := f.split(score)
	copy(line, xi)
	return nil
}

// Refine centres x.
func (f generalised) Refine(w *family.Pooled, xi, score []float64) {
	line, centre, _, _ := f.split(score)
	copy(centre, w.Anchor)
	f.toLine(xi, centre, line)
}

// Center makes the means of the table the centre of x; without an intercept it stays 0.
func (f generalised) Center(sums, anchor []float64) {
	if f.centred() && sums[0] > 0 {
		for j := range anchor {
			anchor[j] += sums[2+j] / sums[0]
		}
	}
}

func (f generalised) Locate(score, anchor []float64) {
	_, centre, _, _ := f.split(score)
	copy(anchor, centre)
}

// AddAbout adds sums about the same centre.
func (f generalised) AddAbout(sums, _, others, _ []float64) { linalg.Axpy(1, others, sums) }

func (f generalised) AddPooled(weight float64, w *family.Pooled, _, sums []float64) {
	linalg.Axpy(weight/w.Sums[0], w.Sums, sums)
}

func (f generalised) Count(sums []float64, w *family.Pooled, dst *mat.SymDense) {
	f.count(sums[1:], f.size(), w, w.Sums[1:], dst)
}

// Unit is 1: in Jeffreys' coordinates the information of a row hardly depends on the coefficients
// (docs/theory/regression.md), as in those of [family.Poisson] and [family.Bernoulli].
func (f generalised) Unit([]float64, *family.Pooled) float64 { return 1 }

func (f generalised) Lower(precision mat.Symmetric, w *family.Pooled, score []float64) error {
	l, err := f.leverage(precision, f.unit(w, w.Sums[1:], f.size(), f.own))
	if err != nil {
		return err
	}
	_, centre, m, root := f.split(score)
	score[0] -= l.constant
	floats.AddTo(m, centre, l.shift)
	copy(root, l.root)
	return nil
}

// Features are the working response, with half an event added, and the own regressors' columns.
func (f generalised) Features(o *family.Observed, dst []float64, width, at int) {
	f.Whiten(o, nil, dst, width, at)
}

func (f generalised) RegressorScatter(w *family.Pooled) (first int, mean, cov []float64) {
	p := f.size()
	return f.scatterIn(w.Sums[1:], p, w.Sums[0], w.Anchor)
}

// Whiten is Features without the part that common coefficients explain in the table.
func (f generalised) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	f.features(o, w, func(row []float64) float64 {
		e := f.exposureOf(row)
		if f.of.Response == Successes {
			return math.Log((row[0] + 0.5) / (e - row[0] + 0.5))
		}
		return math.Log((row[0] + 0.5) / e)
	}, dst, width, at)
}

func (f generalised) Numbers() []family.Number { return f.numbers() }

// Mean is e A′(η): the number of successes, or of events; for 1 trial, or an exposure of 1, if these are missing.
func (f generalised) Mean(xi, x []float64) float64 {
	_, mean, _ := f.cumulant(f.predictor(xi, x))
	if e := f.exposureOf(x); !math.IsNaN(e) {
		mean *= e
	}
	return mean
}

// Sample draws the response of a row x, which holds its exposure and the regressors.
func (f generalised) Sample(xi []float64, rng *rand.Rand, x []float64) {
	_, mean, _ := f.cumulant(f.predictor(xi, x))
	e := f.exposureOf(x)
	switch {
	case !(e > 0) || mean == 0:
		x[0] = 0
	case f.of.Response == Counts:
		x[0] = distuv.Poisson{Lambda: e * mean, Src: rng}.Rand()
	case mean == 1:
		x[0] = e
	default:
		x[0] = distuv.Binomial{N: e, P: mean, Src: rng}.Rand()
	}
}

// SampleGiven is Sample.
func (f generalised) SampleGiven(xi []float64, rng *rand.Rand, x []float64) { f.Sample(xi, rng, x) }

var (
	_ family.RowFactor          = generalised{}
	_ family.Designed           = generalised{}
	_ family.Whitener           = generalised{}
	_ family.Anchored           = generalised{}
	_ family.Predictor          = generalised{}
	_ family.ConditionalSampler = generalised{}
	_ family.Numberer           = generalised{}
)
