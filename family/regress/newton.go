package regress

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/parallel"
	"github.com/latent-go/latent/laplace"
)

// KeepsRows is true.
func (generalised) KeepsRows() bool { return true }

// PoolRows is the generalised linear model of the table.
func (f generalised) PoolRows(rows family.Weighted, w *family.Pooled) error {
	gram := f.gram(w.Sums[1:], f.size())
	if err := f.identified(gram, w.Sums[0]); err != nil {
		return err
	}
	low, high, total, exposure := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for row, weight := range rows.All() {
		if math.IsNaN(row[0]) {
			continue
		}
		e := f.exposureOf(row)
		total, exposure = total+weight*row[0], exposure+weight*e
		if e > 0 {
			low, high = min(low, row[0]/e), max(high, row[0]/e)
		}
	}
	if !(low < high) {
		return blocks.FaultyColumn(0, errResponse)
	}
	line := make([]float64, f.size())
	if f.intercept {
		line[0] = math.Log(total / exposure)
		if f.of.Response == Successes {
			line[0] -= math.Log1p(-total / exposure)
		}
	}
	unit := f.unit(w, w.Sums[1:], f.size(), f.every())
	_, _, before := f.derivatives(rows, w.Anchor, line)
	w.Units[0] = line[0]
	events := exposure
	if f.of.Response == Counts {
		events *= math.Exp(line[0])
	}
	for i := range f.size() {
		for j := range f.size() {
			w.Units[1+i*f.size()+j] = before.At(i, j) / events
		}
	}
	after := f.climb(rows, w, unit, line, slices.Clone(line), 100*farthest)
	if !(extreme(unit, after, 0) > separation*extreme(unit, before, f.size()-1)) {
		return blocks.FaultyColumn(0, errSeparated)
	}
	f.fromLine(line, w.Anchor, w.Parameters)
	return nil
}

// extreme is an eigenvalue of the information where the regressors are uncorrelated and have the variance 1.
func extreme(unit *mat.TriDense, information mat.Symmetric, i int) float64 {
	var eigen mat.EigenSym
	if !eigen.Factorize(sandwich(unit, blas.Trans, information), false) {
		return math.NaN()
	}
	return eigen.Values(nil)[i]
}

// separation is the share of the information about the table's mean below which that about a coefficient shows that it
// is on its way to infinity.
const separation = 1e-8

var errSeparated = errors.New("is separated by the regressors: some of their values occur with one " +
	"response alone, and coefficients have no finite estimate; leave such a regressor out")

// farthest is the root of the mean square over the table by which η of a class may differ from that of the table, but
// for what coefficients in common could make up for.
const farthest = 10

// EstimateRows is Newton's method in each class.
func (f generalised) EstimateRows(rows []family.Weighted, w *family.Pooled, params family.Table) error {
	p := f.size()
	unit, middle := f.unit(w, w.Sums[1:], p, f.every()), make([]float64, p)
	f.toLine(w.Parameters, w.Anchor, middle)
	lines := make([][]float64, len(rows))
	for k := range rows {
		if _, ok := f.undetermined(f.gram(rows[k].Sums, p)); !ok {
			return &framework.DegenerateError{Dimension: k, Reason: dependent()}
		}
		lines[k] = make([]float64, p)
		f.toLine(params.Row(k, p), w.Anchor, lines[k])
	}
	if len(f.fixed) > 0 {
		f.climbTogether(rows, w, lines, middle)
	} else if err := parallel.Do(len(rows), 0, func(k int) error {
		f.climb(rows[k], w, unit, lines[k], middle, farthest)
		return nil
	}); err != nil {
		return err
	}
	for k, line := range lines {
		f.fromLine(line, w.Anchor, params.Row(k, p))
	}
	return nil
}

// mostSteps bounds the steps of Newton's method, and mostHalvings those of a step's length.
const mostSteps, mostHalvings = 100, 50

// climb moves a line to the maximum of the likelihood of rows among those whose η differs from the middle's by no more
// than radius in the root of the mean square over the table. It returns the information there. The likelihood never
// falls.
func (f generalised) climb(
	rows family.Weighted, w *family.Pooled, unit *mat.TriDense, line, middle []float64, radius float64,
) *mat.SymDense {
	p := f.size()
	value, gradient, information := f.derivatives(rows, w.Anchor, line)
	from, next := make([]float64, p), make([]float64, p)
	for range mostSteps {
		floats.SubTo(from, line, middle)
		step := newton(unit, gradient, from, information, radius)
		gain := linalg.Dot(step, gradient)
		if !(gain > 1e-16*max(1, rows.N)) {
			break
		}
		better := false
		for length, i := 1.0, 0; i < mostHalvings && !better; length, i = length/2, i+1 {
			floats.AddScaledTo(next, line, length, step)
			v, g, h := f.derivatives(rows, w.Anchor, next)
			if better = v >= value || gain < 1e-9*(1+math.Abs(value)); better { // there rounding hides what is gained
				value, gradient, information = v, g, h
			}
		}
		if !better { // but for rounding, this is the maximum
			break
		}
		copy(line, next)
	}
	return information
}

// newton is the step s to the maximum of gᵀs − ½sᵀHs within ‖U(from + s)‖ ≤ radius.
func newton(unit *mat.TriDense, gradient, from []float64, information mat.Symmetric, radius float64) []float64 {
	b, ok := ballOf(unit, from, information, radius)
	if !ok {
		return make([]float64, len(from)) // an entry is not finite: there is no way on
	}
	return b.maximum(mat.NewVecDense(len(gradient), gradient)).step.RawVector().Data
}

// derivatives are Σ w(yη − eA(η)), its gradient and the negative of its second derivatives in the line.
func (f generalised) derivatives(
	rows family.Weighted, centre, line []float64,
) (value float64, gradient []float64, information *mat.SymDense) {
	p := f.size()
	gradient, information = make([]float64, p), mat.NewSymDense(p, nil)
	products := information.RawSymmetric().Data
	f.each(rows, centre, line, func(y, eta, e, weight float64, u []float64) {
		a, mean, variance := f.cumulant(eta)
		value += weight * (y*eta - e*a)
		pull, curve := weight*(y-e*mean), weight*e*variance
		for i, v := range u { // few numbers: calls would cost more than they do
			gradient[i] += pull * v
			for j, w := range u[i:] {
				products[i*p+i+j] += curve * v * w
			}
		}
	})
	return value, gradient, information
}

// each visits the rows that have a response: y, η, the exposure, the weight, and u, which the next call overwrites.
func (f generalised) each(
	rows family.Weighted, centre, line []float64, visit func(y, eta, e, weight float64, u []float64),
) {
	u := make([]float64, f.size())
	rows.Each(func(_ int, row []float64, weight float64) bool {
		if y := row[0]; y == y {
			f.regressorsOf(row, centre, u)
			eta := 0.0
			for i, v := range u {
				eta += v * line[i]
			}
			visit(y, eta, f.exposureOf(row), weight, u)
		}
		return true
	})
}

// regressorsOf puts u of a row into dst.
func (d design) regressorsOf(row, centre, dst []float64) {
	if d.intercept {
		dst[0], dst = 1, dst[1:]
	}
	for j, x := range row[d.first:][:d.columns] {
		dst[j] = x - centre[j]
	}
}

// TotalRows is Σ w(yη − eA(η)).
func (f generalised) TotalRows(rows family.Weighted, score []float64) float64 {
	line, centre, _, _ := f.split(score)
	value := 0.0
	f.each(rows, centre, line, func(y, eta, e, weight float64, _ []float64) {
		a, _, _ := f.cumulant(eta)
		value += weight * (y*eta - e*a)
	})
	return value
}

// InformationRows is empty: Count gives the information of coefficients.
func (generalised) InformationRows(family.Weighted, []float64, *family.Pooled) (laplace.Block, error) {
	return laplace.Identity(0), nil
}

// DeviationsRows are √((Σ w e A″(η) uuᵀ)⁻¹_jj).
func (f generalised) DeviationsRows(
	rows family.Weighted, _ laplace.Block, xi []float64, w *family.Pooled, dst []float64,
) {
	line := make([]float64, f.size())
	f.toLine(xi, w.Anchor, line)
	_, _, information := f.derivatives(rows, w.Anchor, line)
	f.deviations(information, w.Anchor, dst)
}

// Explain returns the error that no class has a density for a row.
func (f generalised) Explain(o *family.Observed, i int, _ family.Table) error {
	return fmt.Errorf("family: %w",
		blocks.FaultyRow(o.Place(i), "has no density: its response is too far from what the regressors predict"))
}
