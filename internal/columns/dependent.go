package columns

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/internal/wording"
)

// Dependence is looked for among so many columns at most. A column that others determine up to rounding has less than
// this share of its variance left, and each of those others contributes more than this share of its standard deviation.
const (
	mostDependent  = 100
	leastExplained = 0.01
	leastShare     = 1e-3
)

// noteDependent notes columns of numbers that are, in every row, a constant plus multiples of columns before them, up
// to the rounding of both.
func (in Columns) noteDependent(s *tables.Session) {
	names, columns := in.complete()
	if len(columns) < 2 || len(columns) > mostDependent || len(columns[0]) < 3*len(columns) {
		return
	}
	var kept []int // columns that do not depend on those before
	var axes [][]float64
	var found, drop []string
	for j, x := range columns {
		if !(floats.Max(x) > floats.Min(x)) {
			continue
		}
		rest := slices.Clone(x)
		floats.AddConst(-stat.Mean(rest, nil), rest)
		all := floats.Norm(rest, 2)
		for range 2 { // the second time takes away what rounding left
			for _, a := range axes {
				floats.AddScaled(rest, -floats.Dot(a, rest), a)
			}
		}
		left := floats.Norm(rest, 2)
		if left < math.Sqrt(leastExplained)*all {
			if of := determined(columns, kept, j); len(of) > 0 {
				from := wording.Abridged(of, ", ", func(i int) string { return fmt.Sprintf("%.60q", names[i]) })
				found, drop = append(found, fmt.Sprintf("%.60q from %s", names[j], from)), append(drop, names[j])
				continue
			}
		}
		if left > 1e-12*all {
			floats.Scale(1/left, rest)
			kept, axes = append(kept, j), append(axes, rest)
		}
	}
	if len(found) > 0 {
		s.Note("%s: columns that follow from others, up to rounding, so that the same counts twice: %s: --drop %s leaves "+
			"them out", in.Name, wording.Abridged(found, "; ", func(text string) string { return text }),
			wording.Abridged(drop, ",", wording.Item))
	}
}

// complete are the columns of numbers and their names, in those of the first rows that have all of them.
func (in Columns) complete() (names []string, columns [][]float64) {
	var places []int
	for j, name := range in.Names {
		if in.Levels(name) == nil && !slices.Contains(in.asked.Aside(), name) && name != in.asked.Weighting {
			places, names = append(places, j), append(names, name)
		}
	}
	if len(places) > mostDependent {
		return nil, nil
	}
	columns = make([][]float64, len(places))
	row := make([]float64, len(places))
	for i := range min(in.Rows(), mostRemarked) {
		for c, j := range places {
			row[c] = in.Number(i, j)
		}
		if total := floats.Sum(row); total-total != 0 { // one is missing or infinite
			continue
		}
		for c, v := range row {
			columns[c] = append(columns[c], v)
		}
	}
	return names, columns
}

// determined are the columns of kept that determine column j, by least squares, with errors that rounding explains in
// every row; none if there are larger ones.
func determined(columns [][]float64, kept []int, j int) (of []int) {
	n := len(columns[j])
	design := mat.NewDense(n, len(kept)+1, nil)
	for c, i := range kept {
		design.SetCol(c, columns[i])
	}
	design.SetCol(len(kept), slices.Repeat([]float64{1}, n))
	var by, fit mat.VecDense
	if err := by.SolveVec(design, mat.NewVecDense(n, columns[j])); err != nil {
		return nil
	}
	fit.MulVec(design, &by)
	bound, size := step(columns[j])/2, 0.
	for c, i := range kept {
		bound += math.Abs(by.AtVec(c)) * step(columns[i]) / 2
		size = max(size, math.Abs(by.AtVec(c))*floats.Norm(columns[i], math.Inf(1)))
		if math.Abs(by.AtVec(c))*stat.StdDev(columns[i], nil) > leastShare*stat.StdDev(columns[j], nil) {
			of = append(of, i)
		}
	}
	if floats.Distance(fit.RawVector().Data, columns[j], math.Inf(1)) > bound+1e-9*size {
		return nil
	}
	return of
}

// step is the least gap between different values, by which a column may be rounded.
func step(x []float64) float64 {
	sorted, least := slices.Sorted(slices.Values(x)), math.Inf(1)
	for i := 1; i < len(sorted); i++ {
		if gap := sorted[i] - sorted[i-1]; gap > variances.Ulps*max(math.Abs(sorted[i]), math.Abs(sorted[i-1])) {
			least = min(least, gap)
		}
	}
	return least
}
