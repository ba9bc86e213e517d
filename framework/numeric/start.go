package numeric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
)

// PoolRows fits the whole table as one component.
func (f factor) PoolRows(rows Weighted, pooled *family.Pooled) (err error) {
	if !(rows.N > 0) {
		return blocks.FaultyColumn(0, blocks.ErrNoValue)
	}
	m := f.machine()
	defer m.recover(&err)
	xi, theta := f.split(pooled.Parameters)
	f.component.neutral(xi)
	f.shared.neutral(theta)
	if g, ok := f.density.(Guesser); ok {
		m.enter("Guess", -1, -1)
		g.Guess(rows, xi, theta)
		if err := firstOf(f.component.check(xi), f.shared.check(theta)); err != nil {
			return m.violated("%w", err)
		}
		m.leave()
	}
	if err := m.begins(rows, xi, theta); err != nil {
		return err
	}
	t := &task{machine: m, rows: []Weighted{rows}, params: family.Table{K: 1, Data: pooled.Parameters}, shared: theta}
	if err := t.do(); err != nil {
		return fmt.Errorf("the whole table as one component: %w", err)
	}
	reals := len(f.component.reals())
	if err := m.units(rows, xi, theta, pooled.Units[:reals*reals]); err != nil {
		return err
	}
	m.unitInformation(rows, xi, theta, f.pooled(pooled), pooled.Units[reals*reals:])
	return nil
}

// begins holds every row to have a density where the fit begins.
func (m *machine) begins(rows Weighted, xi, theta []float64) (err error) {
	rows.Each(func(row int, x []float64, _ float64) bool {
		var v float64
		if v, err = m.checked(x, row, 0, xi, theta); err == nil && math.IsInf(v, -1) {
			m.enter("LogProb", row, -1)
			err = m.refused("returned −Inf for the row %v at component %v, shared %v, where the fit begins: check "+
				"the row, or implement Guess to begin where every row has a density", x, xi, theta)
		}
		return err == nil
	})
	return err
}

// units takes the scale of the Real numbers from the information that the whole table has about them.
func (m *machine) units(rows Weighted, xi, theta, units []float64) error {
	places := m.component.reals()
	if len(places) == 0 {
		return nil
	}
	info := mat.NewSymDense(m.component.free, nil)
	m.information(rows, xi, theta, nil, true, info)
	part := mat.NewSymDense(len(places), nil)
	for i, p := range places {
		for j := i; j < len(places); j++ {
			part.SetSym(i, j, info.At(p, places[j]))
		}
	}
	root, ok := rootOf(part)
	if !ok {
		return fmt.Errorf(
			"numeric: the table does not determine the Real parameters of %s: their information at the maximum is "+
				"%v; drop columns that depend on others, or parameters that LogProb does not depend on", m.name,
			mat.Formatted(part, mat.Squeeze()),
		)
	}
	copy(units, root)
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
