package numeric

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// Family is a [Density] as a family of package family: for the components of a mixture.Model or, on some columns,
// beside other families in a family.Product. The numbers of a component are ξ_k and then Θ, the same in each. A row
// without any value in the columns of the density (NaN) is integrated out.
//
// The global step is a closed form if the density is an [Estimator], otherwise a search that ends within about 1e-13
// nats of the maximum if sums over rows are below 10⁴ nats. The information of a row is the observed information at the
// estimate, averaged over the component's rows, in the coordinates of [Parameter].
//
// For any K a fit begins with the whole table as one component: there the numbers need a maximum, and positive definite
// information about the Real ones.
type Family struct{ Density Density }

// Name is the density's type.
func (f Family) Name() string { return fmt.Sprintf("%T", f.Density) }

// Columns is 0: a density takes all columns. In a family.Product, family.Of gives the number.
func (Family) Columns() int { return 0 }

// On returns the factor for the layout of the density.
func (f Family) On(columns int) ([]family.Factor, error) {
	c, err := compile(f.Density, columns)
	if err != nil {
		return nil, err
	}
	if s, ok := f.Density.(Sampler); ok {
		return []family.Factor{sampled{factor{compiled: c}, s}}, nil
	}
	return []family.Factor{factor{compiled: c}}, nil
}

// A sampled factor can be drawn from.
type sampled struct {
	factor
	density Sampler
}

// Sample draws a row.
func (f sampled) Sample(params []float64, rng *rand.Rand, x []float64) {
	xi, theta := f.split(params)
	f.density.Sample(xi, theta, rng, x)
}

// MarshalJSON names the density's type, by which a checkpoint identifies it.
func (f Family) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type    string
		Density Density
	}{f.Name(), f.Density})
}

// A factor is a density on its columns. Scores are what a tilt takes off each row, and then the numbers of the
// component; sums are the exposure and then T(x), which Observed.Work holds after the exposures of all rows.
type factor struct{ *compiled }

func (f factor) Name() string { return f.name }

func (f factor) Layout() family.Layout {
	numbers, reals := f.component.numbers+f.shared.numbers, len(f.component.reals())
	return family.Layout{
		Columns: f.columns,
		Cells:   1,
		Free:    f.component.free,
		Shared:  f.shared.free,
		Sums:    1 + f.statistics,
		Score:   1 + numbers,
		Params:  numbers,
		Units:   reals*reals + f.component.free*f.component.free + f.shared.free*f.shared.free,
	}
}

// split gives ξ and Θ.
func (c *compiled) split(params []float64) (xi, theta []float64) {
	return params[:c.component.numbers], params[c.component.numbers:]
}

// pooled is the table as one component, with what belongs to the factor of it.
func (c *compiled) pooled(pooled *family.Pooled) *pooledTable {
	xi, theta := c.split(pooled.Parameters)
	reals := len(c.component.reals())
	return &pooledTable{N: pooled.N, Component: xi, Shared: theta, Root: pooled.Units[:reals*reals]}
}

// ---- Local step

func (f factor) Observe(b blocks.Rows, at, first, n int, o *family.Observed) (err error) {
	finite, err := o.Transpose(b, at, first, n, f.columns)
	if err != nil {
		return err
	}
	o.Work = linalg.Resize(o.Work, n*(1+f.statistics))[:n*(1+f.statistics)]
	clear(o.Work)
	m := f.machine()
	defer m.recover(&err)
	for i := range n {
		row := o.Row(i, f.columns)
		if !finite {
			if missing, err := missing(row, o.Place(i), at); err != nil {
				return err
			} else if missing {
				o.Complete = false
				continue
			}
		}
		o.Work[i] = 1
		if f.additive != nil && b.Weight(first+i) > 0 { // else it is left out, whatever it holds
			m.observe(row, o.Place(i), o.Work[n+i*f.statistics:][:f.statistics])
		}
	}
	if f.batcher != nil && o.Complete {
		o.Work = slices.Grow(o.Work, n*(f.columns+f.derived))
		for i := range n { // behind the statistics
			o.Work = m.derive(o.Row(i, f.columns), o.Place(i), o.Work)
		}
	}
	return nil
}

// missing says that all numbers of a row are; some of them are an error.
func missing(row []float64, place, first int) (bool, error) {
	some := -1
	known := 0
	for j, v := range row {
		if math.IsNaN(v) {
			some = j
		} else {
			known++
		}
	}
	if some >= 0 && known > 0 {
		return false, &blocks.DataError{Row: place, Column: first + some, Value: math.NaN(),
			Reason: errors.New("a density takes all of its columns of a row, or none; fill the entry in, or leave the row out")}
	}
	return some >= 0, nil
}

func (f factor) AddScores(o *family.Observed, scores family.Table, r []float64) {
	m := f.machine()
	if f.batcher != nil && o.Complete && m.addBatch(o, scores, r) {
		return
	}
	for i := 0; i < o.N; {
		i = m.addScores(o, i, scores, r)
	}
}

// addBatch adds the scores of all rows; not ok where LogProbs panics, of which addScores then says which row it is.
func (m *machine) addBatch(o *family.Observed, scores family.Table, r []float64) (ok bool) {
	var panicked error
	defer func() {
		if m.recover(&panicked); panicked != nil {
			r[0], ok = math.NaN(), false
		}
	}()
	rows := o.Work[o.N*(1+m.statistics):]
	logs := make([]float64, o.N*scores.K)
	for k := range scores.K {
		score := scores.Row(k, 1+m.component.numbers+m.shared.numbers)
		xi, theta := m.split(score[1:])
		m.logProbs(rows, k, xi, theta, logs[k*o.N:][:o.N])
	}
	padded := o.Padded()
	for k := range scores.K {
		score := scores.Row(k, 1)
		for i, v := range logs[k*o.N:][:o.N] {
			r[k*padded+i] += score[0] + v
		}
	}
	return true
}

// addScores adds the scores of row i and those after it, up to one at which LogProb panics, which gets NaN for an
// explanation (see Explain). It returns the row to go on with.
func (m *machine) addScores(o *family.Observed, i int, scores family.Table, r []float64) (next int) {
	padded := o.Padded()
	defer func() {
		var panicked error
		if m.recover(&panicked); panicked != nil {
			r[i] = math.NaN()
			next = i + 1
		}
	}()
	for ; i < o.N; i++ {
		if o.Work[i] == 0 {
			continue
		}
		row := o.Row(i, m.columns)
		for k := range scores.K {
			score := scores.Row(k, 1+m.component.numbers+m.shared.numbers)
			xi, theta := m.split(score[1:])
			r[k*padded+i] += score[0] + m.logProb(row, o.Place(i), k, xi, theta)
		}
	}
	return i
}

// Explain finds an invalid log density, or a row that has density 0 in every component.
func (f factor) Explain(o *family.Observed, i int, scores family.Table) (err error) {
	if o.Work[i] == 0 {
		return nil
	}
	m, row := f.machine(), o.Row(i, f.columns)
	defer m.recover(&err)
	best := math.Inf(-1)
	for k := range scores.K {
		score := scores.Row(k, 1+f.component.numbers+f.shared.numbers)
		xi, theta := f.split(score[1:])
		v, err := m.checked(row, o.Place(i), k, xi, theta)
		if err != nil {
			return err
		}
		if m.batcher != nil {
			one := []float64{0}
			if m.logProbs(m.derive(row, o.Place(i), nil), k, xi, theta, one); !(one[0] < math.Inf(1)) {
				m.enter("LogProbs", o.Place(i), k)
				return m.violated("it returned %v for the row %v, and LogProb %v", one[0], row, v)
			}
		}
		best = max(best, v)
	}
	if math.IsInf(best, -1) {
		m.enter("LogProb", o.Place(i), -1)
		return m.refused("returned −Inf for every component: the row %v cannot come from the model; check the "+
			"row, or the support of the density", row)
	}
	return nil
}

func (f factor) AddSums(o *family.Observed, r []float64, _, _, sums family.Table) (entropy float64) {
	padded, n := o.Padded(), f.statistics
	for k := range sums.K {
		sum, q := sums.Row(k, 1+n), r[k*padded:][:padded]
		if o.Complete {
			sum[0] += floats.Sum(q[:o.N])
		} else {
			sum[0] += linalg.Dot(q[:o.N], o.Work[:o.N])
		}
		for i, v := range q[:o.N] {
			if v != 0 && n > 0 {
				linalg.Axpy(v, o.Work[o.N+i*n:][:n], sum[1:])
			}
		}
	}
	return 0
}

func (factor) Score(params, score []float64) error {
	score[0] = 0
	copy(score[1:], params)
	return nil
}

// Valid checks that parameters from elsewhere are within their ranges.
func (f factor) Valid(params []float64) bool {
	xi, theta := f.split(params)
	return f.component.check(xi) == nil && f.shared.check(theta) == nil
}

func (f factor) AddPooled(weight float64, pooled *family.Pooled, _, sums []float64) {
	linalg.Axpy(weight/pooled.N, pooled.Sums, sums)
}

// ---- Global step

func (f factor) KeepsRows() bool { return f.additive == nil }

func (f factor) EstimateRows(rows []Weighted, pooled *family.Pooled, params family.Table) error {
	return f.estimateRows(rows, pooled, params, nil, nil)
}

// estimateRows maximises the likelihood, or where there are priors the posterior.
func (f factor) estimateRows(
	rows []Weighted, pooled *family.Pooled, params family.Table, prior, sharedPrior *unitPrior,
) (err error) {
	t := &task{machine: f.machine(), params: params, pooled: f.pooled(pooled), prior: prior, sharedPrior: sharedPrior}
	defer t.recover(&err)
	numbers := f.component.numbers + f.shared.numbers
	_, theta := f.split(params.Row(0, numbers))
	t.shared = append([]float64(nil), theta...)
	for k, w := range rows {
		switch xi := t.of(k); {
		case w.N < 0:
			return errors.New("numeric: rows of negative weight have no estimate")
		case w.N > 0 && (prior == nil || w.N > fewest):
			t.rows = append(t.rows, w)
		default: // nothing is known of the component: the table's estimate is as good as any
			copy(xi, t.pooled.Component)
		}
	}
	err = t.do()
	for k := range rows {
		copy(params.Row(k, numbers)[f.component.numbers:], t.shared)
	}
	return err
}

func (f factor) TotalRows(rows Weighted, score []float64) (value float64) {
	m := f.machine()
	var panicked error
	defer func() {
		if m.recover(&panicked); panicked != nil {
			value = math.NaN() // the engine reports it
		}
	}()
	xi, theta := f.split(score[1:])
	return m.total(rows, xi, theta)
}

// ---- Curvature

func (f factor) InformationRows(rows Weighted, params []float64, pooled *family.Pooled) (_ laplace.Block, err error) {
	free := f.component.free
	if free == 0 || !(rows.N > 0) {
		return laplace.Identity(free), nil
	}
	m, w := f.machine(), f.pooled(pooled)
	defer m.recover(&err)
	xi, theta := f.split(params)
	info := mat.NewSymDense(free, nil)
	m.information(rows, xi, theta, w, true, info)
	inverse, err := f.fromCoordinates(xi, w)
	if err == nil {
		info = congruent(inverse, info)
		err = m.twiceDifferentiable(info, rows.Class, xi, theta)
	}
	if err != nil {
		return nil, &framework.DegenerateError{Dimension: rows.Class, Reason: err}
	}
	// All rows of a component together hold at least as much information as one row of the whole table: parameters of
	// which they hold less cost nothing, and do not lower the component's charge by being unknown.
	return laplace.NewSpectral(info).AtLeast(1 / rows.N), nil
}

// twiceDifferentiable is an error where second derivatives of a component are not finite.
func (m *machine) twiceDifferentiable(info *mat.SymDense, k int, xi, theta []float64) error {
	v, bad := notFinite(info)
	if !bad {
		return nil
	}
	m.enter(m.curvatureMethod(), -1, k)
	return m.refused("the second derivatives at component %v, shared %v hold %v; the density must have two finite "+
		"derivatives inside its range", xi, theta, v)
}

func (c *compiled) curvatureMethod() string {
	if c.informer != nil {
		return "Information"
	}
	return c.sumMethod()
}

// sumMethod names the method that sums over rows come from.
func (c *compiled) sumMethod() string {
	switch {
	case c.additive != nil:
		return "LogTotal"
	case c.batcher != nil:
		return "LogProbs"
	}
	return "LogProb"
}

// fromCoordinates is J⁻¹, which leads from the coordinates of the curvature to those of the search.
func (c *compiled) fromCoordinates(xi []float64, w *pooledTable) (*mat.Dense, error) {
	jacobian := c.component.jacobian(xi, w.Component, w.root())
	if v := mat.Sum(jacobian); v-v != 0 {
		return nil, fmt.Errorf("numeric: the coordinates of the curvature have no slope at %v: choose others with In", xi)
	}
	inverse := new(mat.Dense)
	if err := inverse.Inverse(jacobian); err != nil {
		var condition mat.Condition
		if !errors.As(err, &condition) || math.IsInf(float64(condition), 0) {
			return nil, fmt.Errorf("numeric: the coordinates of the curvature have no slope at %v: %w; choose others with In",
				xi, err)
		}
	}
	return inverse, nil
}

// DeviationsRows are the square roots of the diagonal of (N_k I_k)⁻¹, carried to the numbers of ξ by the delta method;
// +Inf if the rows do not determine them, and NaN for Θ.
func (f factor) DeviationsRows(
	rows Weighted, information laplace.Block, params []float64, pooled *family.Pooled, dst []float64,
) {
	linalg.Fill(dst, math.NaN())
	xi, _ := f.split(params)
	free := f.component.free
	if free == 0 {
		return
	}
	errs, _ := f.split(dst)
	linalg.Fill(errs, math.Inf(1))
	back, err := f.fromCoordinates(xi, f.pooled(pooled))
	var inverse mat.Dense
	if err != nil || !(rows.N > 0) || inverse.Inverse(information) != nil {
		return
	}
	zero, widths := make([]float64, free), make([]float64, free)
	unit, row := make([]float64, len(xi)), mat.NewVecDense(free, nil)
	linalg.Fill(widths, 1)
	for _, q := range f.component.list {
		if q.kind.free() == 0 {
			linalg.Fill(q.of(errs), math.NaN())
		}
	}
	for i := range xi {
		if math.IsNaN(errs[i]) {
			continue // discrete
		}
		clear(unit)
		unit[i] = 1
		f.component.chain(xi, zero, unit, row.RawVector().Data, widths)
		var v mat.VecDense
		v.MulVec(back.T(), row)
		errs[i] = math.Sqrt(max(0, mat.Inner(&v, &inverse, &v)/rows.N))
	}
}

// Numbers are those of the layout, each about all columns.
func (f factor) Numbers() []family.Number {
	var list []family.Number
	for _, p := range []*plan{f.component, f.shared} {
		for _, q := range p.list {
			for i := range q.kind.numbers() {
				name := q.Name
				if q.kind.numbers() > 1 {
					name = fmt.Sprintf("%s %d", q.Name, i+1)
				}
				list = append(list, family.Number{Name: name, From: 0, To: f.columns - 1})
			}
		}
	}
	return list
}

var (
	_ family.RowFactor = factor{}
	_ family.Validator = factor{}
	_ family.Numberer  = factor{}
)
