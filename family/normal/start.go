package normal

import "github.com/latent-go/latent/family"

// ScatterForm is a matrix.
func (g gaussian) ScatterForm() (groups, width int, matrix bool) { return 1, g.d, true }

// ScatterForm is a variance for each group.
func (g isotropic) ScatterForm() (groups, width int, matrix bool) { return g.groups, g.width, false }

// ScatterForm is a variance for each column, or one of all where all are equal.
func (g axial) ScatterForm() (groups, width int, matrix bool) {
	if g.form == EII {
		return 1, g.columns(), false
	}
	return g.columns(), 1, false
}

// ScatterForm is none: the columns are Gaussian in something else than themselves.
func (lognormal) ScatterForm() (groups, width int, matrix bool) { return 0, 0, false }

// ScatterForm is a variance for each column.
func (f analyser) ScatterForm() (groups, width int, matrix bool) { return f.d, 1, false }

// ScatterForm is that of the family.
func (f noisy) ScatterForm() (groups, width int, matrix bool) {
	if of, ok := f.inner.(family.Scattered); ok {
		return of.ScatterForm()
	}
	return 0, 0, false
}

// ScatterOf is ξ.
func (g gaussian) ScatterOf(xi []float64) []float64 { return xi }

// ScatterOf is ξ.
func (g isotropic) ScatterOf(xi []float64) []float64 { return xi }

// ScatterOf is ξ without the degrees of freedom.
func (f studentT) ScatterOf(xi []float64) []float64 { return xi[:len(xi)-1] }

// ScatterOf is where Scatter puts mean and variances.
func (f analyser) ScatterOf(xi []float64) []float64 { return xi[:2*f.d] }

// ScatterOf is that of the family.
func (f noisy) ScatterOf(xi []float64) []float64 {
	return f.inner.(family.Scattered).ScatterOf(f.params(xi))
}

// Scatter gives analysers without factors their variances.
func (f analyser) Scatter(_, _, xi []float64) { copy(xi, f.withoutFactors(xi)) }

// A start is wide from wideColumns columns on, where a sample has fewer than wideRows rows for each column of a class.
const (
	wideColumns = 16
	wideRows    = 10
)

// Pools reports whether the table is wide, for covariances of the classes' own without a structure.
func (g gaussian) Pools(n, k int) bool {
	return !g.tied && g.d >= wideColumns && n < wideRows*k*g.d
}

// Pools is false.
func (studentT) Pools(int, int) bool { return false }

// Pools is false.
func (analyser) Pools(int, int) bool { return false }

// Pools is false.
func (ellipsoidal) Pools(int, int) bool { return false }

// PoolWithin gives all classes the covariance within them, at their own means.
func (g gaussian) PoolWithin(sums family.Table) {
	d, n := g.d, 0.0
	within := make([]float64, d*d)
	each := func(visit func(nk float64, first, second []float64)) {
		for k := range sums.K {
			row := sums.Row(k, 1+d+d*d)
			if first, second := g.split(row, 1); row[0] > 0 {
				visit(row[0], first, second)
			}
		}
	}
	each(func(nk float64, first, second []float64) {
		n += nk
		for a := range d {
			for c := a; c < d; c++ {
				within[a*d+c] += second[a*d+c] - first[a]*(first[c]/nk)
			}
		}
	})
	each(func(nk float64, first, second []float64) {
		for a := range d {
			for c := a; c < d; c++ {
				second[a*d+c] = nk/n*within[a*d+c] + first[a]*(first[c]/nk)
			}
		}
	})
}
