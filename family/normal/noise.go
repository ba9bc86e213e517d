package normal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Noise is a family with outliers: a share ε of the rows, the same in every component, has the constant density 1/V,
// with V the volume of the box that holds the table (Banfield & Raftery 1993, Biometrics 49). As ε is shared,
//
//	Σ_k β_k ((1−ε) p(x|ξ_k) + ε/V) = (1−ε) Σ_k β_k p(x|ξ_k) + ε/V
//
// is a mixture with one component of noise, which no criterion counts as a latent dimension: criteria charge only for
// ε. Whether a row is noise is the family's own latent variable. Rows must be complete.
type Noise struct {
	Family    family.Family // of one factor on all columns, such as Gaussian{}
	Low, High []float64     // the box: [Ranges] of the table; known parameters include it
}

// Ranges are the least and the largest value of each of d columns of a row-major table.
func Ranges(x []float64, d int) (low, high []float64) {
	low, high = make([]float64, d), make([]float64, d)
	linalg.Fill(low, math.Inf(1))
	linalg.Fill(high, math.Inf(-1))
	for i, v := range x {
		low[i%d], high[i%d] = min(low[i%d], v), max(high[i%d], v)
	}
	return low, high
}

// Name is the name of the family with "+noise".
func (f Noise) Name() string { return f.Family.Name() + "+noise" }

// Creeps reports whether the family creeps.
func (f Noise) Creeps() bool { return family.Creeps(f.Family) }

// Columns is 0: the family takes all columns.
func (Noise) Columns() int { return 0 }

// WithFloor changes the floor of the family.
func (f Noise) WithFloor(floor float64) family.Family {
	f.Family = family.WithFloor(f.Family, floor)
	return f
}

// On takes as many columns as the family.
func (f Noise) On(columns int) ([]family.Factor, error) {
	list, err := f.Family.On(columns)
	if err != nil {
		return nil, err
	}
	inner, ok := list[0].(family.SumFactor)
	if len(list) != 1 || !ok || inner.Layout().Columns != columns {
		return nil, fmt.Errorf("family: noise needs a family of one factor on all columns, which %s is not",
			f.Family.Name())
	}
	if _, ok := list[0].(family.Latent); ok {
		return nil, fmt.Errorf("family: noise cannot be used with %s, whose components have latent variables of their own",
			f.Family.Name())
	}
	if _, ok := list[0].(family.Designed); ok {
		return nil, fmt.Errorf("family: noise cannot be used with %s: its box would hold the regressors, which have no "+
			"density",
			f.Family.Name())
	}
	if f.Low != nil && (len(f.Low) != columns || len(f.High) != columns) {
		return nil, fmt.Errorf("family: the box of noise has %d numbers of Low and %d of High for %d columns",
			len(f.Low), len(f.High), columns)
	}
	return []family.Factor{noisy{inner, f, inner.Layout()}}, nil
}

// firstNoise is the share of noise that a fit begins with.
const firstNoise = 0.05

// noisy has, of one component, l being the layout of the family without noise,
//
//	sums    n of all rows; of noise; those of the family
//	anchor  that of the family
//	score   0 less the tilt; ln(1−ε); ln ε − ln V; that of the family
//	params  those of the family; ε; the box's lower bounds; its upper bounds
type noisy struct {
	inner family.SumFactor
	of    Noise
	l     family.Layout
}

func (f noisy) Name() string { return f.of.Name() }

func (f noisy) Layout() family.Layout {
	l := f.l
	l.Free, l.Cells = l.Cells*l.Free, 1
	l.Shared, l.Sums, l.Score = l.Shared+1, l.Sums+2, l.Score+3
	l.Params += 1 + 2*l.Columns
	return l
}

// params is the family's part of ξ.
func (f noisy) params(xi []float64) []float64 { return xi[:f.l.Params] }

// pooled is the table as one class of the family.
func (f noisy) pooled(w *family.Pooled) *family.Pooled {
	if w == nil {
		return nil
	}
	inner := &family.Pooled{
		N: w.N, Parameters: f.params(w.Parameters), Sums: w.Sums[2:], Anchor: w.Anchor, Units: w.Units, Floor: w.Floor,
	}
	if len(w.Reference) > 0 {
		inner.Reference = f.params(w.Reference)
	}
	return inner
}

// Spread is that of the family, nil if it has no floor.
func (f noisy) Spread(params []float64) []float64 {
	if b, ok := f.inner.(family.Bounder); ok {
		return b.Spread(f.params(params))
	}
	return nil
}

// SetFloor returns an error for constant columns, whose box has no volume.
func (f noisy) SetFloor(steps []float64, w *family.Pooled) error {
	b, ok := f.inner.(family.Bounder)
	if !ok {
		return nil
	}
	for j, step := range steps {
		if math.IsInf(step, 1) {
			return blocks.FaultyColumn(j, blocks.ErrConstant)
		}
	}
	return b.SetFloor(steps, f.pooled(w))
}

// Bound is that of the family, whose estimates use its share of the rows.
func (f noisy) Bound(w *family.Pooled, params family.Table) error {
	return f.inner.(family.Bounder).Bound(f.pooled(w), params)
}

// Doubts are those of the family.
func (f noisy) Doubts(w *family.Pooled) []error { return f.inner.(family.Bounder).Doubts(f.pooled(w)) }

// Refine is that of the family.
func (f noisy) Refine(w *family.Pooled, xi, score []float64) {
	if r, ok := f.inner.(family.Refiner); ok {
		r.Refine(f.pooled(w), f.params(xi), score[3:])
	}
}

// noiseRows are the rows as the family observes them, and its log densities, K×n.
type noiseRows struct {
	inner     family.Observed
	densities []float64
}

func (f noisy) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	in := &memory[noiseRows](o).inner
	err := f.inner.Observe(b, at, first, n, in)
	*o = family.Observed{N: in.N, Complete: in.Complete, X: in.X, Base: in.Base, Memory: o.Memory}
	if err != nil || o.Complete {
		return err
	}
	for i := range n {
		for j, v := range in.Row(i, f.l.Columns) {
			if math.IsNaN(v) {
				return &blocks.DataError{
					Row:    b.First + first + i,
					Column: at + j,
					Value:  v,
					Reason: errors.New("a family with noise needs complete rows; leave the row out"),
				}
			}
		}
	}
	return nil
}

// densities are the log densities of the family, K×n.
func (f noisy) densities(o *family.Observed, scores family.Table) (rows *noiseRows) {
	rows = memory[noiseRows](o)
	rows.densities = linalg.Resize(rows.densities, scores.K*o.Padded())
	clear(rows.densities)
	f.inner.AddScores(&rows.inner, scores.From(3), rows.densities)
	return rows
}

// AddScores adds ln((1−ε)p(x) + ε/V).
func (f noisy) AddScores(o *family.Observed, scores family.Table, r []float64) {
	n := o.Padded()
	densities := f.densities(o, scores).densities
	for k := range scores.K {
		score, to := scores.Row(k, 3), linalg.Row(r, k, n)
		for i, v := range linalg.Row(densities, k, n) {
			v, noise := v+score[1], score[2]
			if v < noise {
				v, noise = noise, v
			}
			to[i] += score[0] + v + math.Log1p(math.Exp(noise-v))
		}
	}
}

// AddSums divides every row between the family and noise, and returns the entropy of this division. Before there are
// scores, the noise of every row is firstNoise.
func (f noisy) AddSums(o *family.Observed, r []float64, scores, anchors, sums family.Table) (entropy float64) {
	n := o.Padded()
	rows := f.densities(o, scores)
	shares := rows.densities
	for k := range sums.K {
		score, to, q, share := scores.Row(k, 3), sums.Row(k, 2), linalg.Row(r, k, n), linalg.Row(shares, k, n)
		for i, w := range q {
			noise := firstNoise
			if score[2] != 0 {
				odds := score[2] - score[1] - share[i] // of noise, their logarithm
				noise = 1 / (1 + math.Exp(-odds))
				if noise > 0 && noise < 1 {
					entropy += w * (math.Log1p(math.Exp(-math.Abs(odds))) + math.Abs(odds)*min(noise, 1/(1+math.Exp(odds))))
				}
			}
			share[i] = w * (1 - noise)
			to[0] += w
			to[1] += w * noise
		}
	}
	return entropy + f.inner.AddSums(&rows.inner, shares, scores.From(3), anchors, sums.From(2))
}

// Estimate is that of the family, and ε, which Share merges.
func (f noisy) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	if err := f.inner.Estimate(sums[2:], anchor, f.pooled(w), f.params(xi)); err != nil {
		return err
	}
	rest := xi[f.l.Params:]
	rest[0] = sums[1] / sums[0]
	if w != nil {
		copy(rest[1:], w.Parameters[f.l.Params+1:])
		return nil
	}
	if f.of.Low == nil {
		return errors.New("family: noise needs Low and High, the box of the table: call normal.Ranges")
	}
	copy(rest[1:], f.of.Low)
	copy(rest[1+f.l.Columns:], f.of.High)
	return nil
}

// Share merges ε and the family's shared parameters.
func (f noisy) Share(sums, anchors, params family.Table, w *family.Pooled) error {
	noise, n := 0.0, 0.0
	for k := range params.K {
		row := sums.Row(k, 2)
		noise, n = noise+row[1], n+row[0]
	}
	for k := range params.K {
		params.Row(k, f.l.Params+1)[f.l.Params] = noise / n
	}
	if s, ok := f.inner.(family.Sharer); ok {
		return s.Share(sums.From(2), anchors, params, f.pooled(w))
	}
	return nil
}

func (f noisy) Score(xi, score []float64) error {
	rest, d, volume := xi[f.l.Params:], f.l.Columns, 0.0
	if !(rest[0] >= 0 && rest[0] < 1) {
		return fmt.Errorf("family: the share of noise is %v: %w", rest[0], framework.ErrDegenerate)
	}
	for j := range d {
		volume += math.Log(rest[1+d+j] - rest[1+j])
	}
	score[0], score[1], score[2] = 0, math.Log1p(-rest[0]), math.Log(max(rest[0], 1e-300))-volume
	return f.inner.Score(f.params(xi), score[3:])
}

func (f noisy) Center(sums, anchor []float64) {
	if a, ok := f.inner.(family.Anchored); ok {
		a.Center(sums[2:], anchor)
	}
}

func (f noisy) Locate(score, anchor []float64) {
	if a, ok := f.inner.(family.Anchored); ok {
		a.Locate(score[3:], anchor)
	}
}

func (f noisy) AddAbout(sums, anchor, others, another []float64) {
	linalg.Axpy(1, others[:2], sums[:2])
	if a, ok := f.inner.(family.Anchored); ok {
		a.AddAbout(sums[2:], anchor, others[2:], another)
		return
	}
	linalg.Axpy(1, others[2:], sums[2:])
}

// Total is Σ E[ln p(x, noise or not)].
func (f noisy) Total(score, sums, anchor []float64) float64 {
	return (sums[0]-sums[1])*score[1] + sums[1]*score[2] + f.inner.Total(score[3:], sums[2:], anchor)
}

func (f noisy) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	noise := weight * firstNoise
	sums[0] += weight
	sums[1] += noise
	f.inner.AddPooled(weight-noise, f.pooled(w), anchor, sums[2:])
}

func (f noisy) Features(o *family.Observed, dst []float64, width, at int) {
	f.inner.Features(&memory[noiseRows](o).inner, dst, width, at)
}

func (f noisy) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	if inner, ok := f.inner.(family.Whitener); ok {
		inner.Whiten(&memory[noiseRows](o).inner, f.pooled(w), dst, width, at)
		return
	}
	f.Features(o, dst, width, at)
}

// Information is that of a row that is not noise, while the count is that of all rows: the charge of a component is
// ½D_ξ ln(1/(1−ε)) nats too high, and no component can hide in the noise without a charge.
func (f noisy) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	return append(dst, laplace.DirectSum(f.inner.Information(f.params(xi), f.pooled(w), nil)))
}

func (f noisy) Numbers() (list []family.Number) {
	if d, ok := f.inner.(family.Numberer); ok {
		list = d.Numbers()
	}
	list = append(list, family.Number{Name: "noise", From: 0, To: f.l.Columns - 1})
	for _, name := range []string{"noise from", "noise to"} {
		for j := range f.l.Columns {
			list = append(list, family.Number{Name: name, From: j, To: j})
		}
	}
	return list
}

// Deviations are those of the family, for rows that are not noise, and √(ε(1−ε)/N).
func (f noisy) Deviations(xi, sums []float64, total float64, dst []float64) {
	linalg.Fill(dst, math.NaN())
	if d, ok := f.inner.(family.Describer); ok {
		d.Deviations(f.params(xi), sums[2:], total, f.params(dst))
	}
	dst[f.l.Params] = math.Sqrt(xi[f.l.Params] * (1 - xi[f.l.Params]) / total)
	linalg.Fill(dst[f.l.Params+1:], 0)
}

func (f noisy) Contrast(xi, pooled, dst []float64) {
	if d, ok := f.inner.(family.Describer); ok {
		d.Contrast(f.params(xi), f.params(pooled), dst)
	}
}

// Sample draws noise from the box.
func (f noisy) Sample(xi []float64, rng *rand.Rand, x []float64) {
	rest := xi[f.l.Params:]
	if rng.Float64() >= rest[0] {
		f.inner.(family.Sampler).Sample(f.params(xi), rng, x)
		return
	}
	for j := range x {
		low, high := rest[1+j], rest[1+len(x)+j]
		x[j] = low + (high-low)*rng.Float64()
	}
}

// LogJoint is ln ε − ln V, the joint log density of a row and noise, at a component's parameters on the given number of
// columns.
func (Noise) LogJoint(xi []float64, columns int) float64 {
	rest := xi[len(xi)-1-2*columns:]
	sum := math.Log(rest[0])
	for j := range columns {
		sum -= math.Log(rest[1+columns+j] - rest[1+j])
	}
	return sum
}

// Conjugate returns an error.
func (f noisy) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) {
	return nil, fmt.Errorf("family: %s has no conjugate prior, which MAP and variational Bayes need: take EM, FAB or gFAB",
		f.Name())
}

// Units is empty: there is no prior.
func (noisy) Units(*family.Pooled) family.Units { return family.Units{} }

func (f noisy) Valid(xi []float64) bool {
	v, ok := f.inner.(family.Validator)
	return (!ok || v.Valid(f.params(xi))) && xi[f.l.Params] < 1
}
