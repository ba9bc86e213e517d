package pruning

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Directions are directions in the latent space of a model, the most relevant
// first. In a model whose latent dimensions stand for themselves, such as the
// components of a mixture, each is one of the axes; in a model whose latent
// dimensions mix linearly, each is a column of an orthonormal basis.
type Directions struct {
	Values []float64  // relevance of each direction, in decreasing order
	Axes   []int      // direction j is latent dimension Axes[j]; nil where Basis is set
	Basis  *mat.Dense // K×len(Values), direction j is column j; nil where Axes is set
}

// FromAxes returns the latent dimensions themselves as directions, ordered by
// their values, equal ones by their index.
func FromAxes(values []float64) Directions {
	d := Directions{Values: slices.Clone(values), Axes: make([]int, len(values))}
	for i := range d.Axes {
		d.Axes[i] = i
	}
	slices.SortStableFunc(d.Axes, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	for j, i := range d.Axes {
		d.Values[j] = values[i]
	}
	return d
}

// FromEigen returns the columns of vectors as directions, ordered by their values
// (such as the eigenvalues that belong to them), equal ones by their column.
func FromEigen(values []float64, vectors mat.Matrix) Directions {
	order := FromAxes(values)
	k, _ := vectors.Dims()
	basis := mat.NewDense(k, len(values), nil)
	for j, i := range order.Axes {
		for r := range k {
			basis.Set(r, j, vectors.At(r, i))
		}
	}
	return Directions{Values: order.Values, Basis: basis}
}

// Len is the number of directions.
func (d Directions) Len() int { return len(d.Values) }

// Keep returns the directions with the given indices, in the order given.
func (d Directions) Keep(indices ...int) Directions {
	kept := Directions{Values: make([]float64, len(indices))}
	if d.Axes != nil {
		kept.Axes = make([]int, len(indices))
	} else {
		k, _ := d.Basis.Dims()
		kept.Basis = mat.NewDense(k, len(indices), nil)
	}
	for j, i := range indices {
		kept.Values[j] = d.Values[i]
		if d.Axes != nil {
			kept.Axes[j] = d.Axes[i]
			continue
		}
		k, _ := d.Basis.Dims()
		for r := range k {
			kept.Basis.Set(r, j, d.Basis.At(r, i))
		}
	}
	return kept
}

// Without returns all directions but those with the given indices.
func (d Directions) Without(indices ...int) Directions {
	var kept []int
	for j := range d.Len() {
		if !slices.Contains(indices, j) {
			kept = append(kept, j)
		}
	}
	return d.Keep(kept...)
}
