package columns

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/internal/resolution"
	"github.com/latent-go/latent/internal/tables"
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
	var kept []independent
	var found, drop []string
	for j, x := range columns {
		if !(floats.Max(x) > floats.Min(x)) {
			continue
		}
		one := independent{column: j, x: x, along: make([]float64, len(kept)), step: math.NaN()}
		rest := slices.Clone(x)
		floats.AddConst(-stat.Mean(rest, nil), rest)
		all := floats.Norm(rest, 2)
		for range 2 { // the second time takes away what rounding left
			for a, k := range kept {
				share := floats.Dot(k.axis, rest)
				floats.AddScaled(rest, -share, k.axis)
				one.along[a] += share
			}
		}
		one.left = floats.Norm(rest, 2)
		if one.left < math.Sqrt(leastExplained)*all {
			if of := determining(kept, one, rest); len(of) > 0 {
				if in.indicate(names, append(of, j)) {
					continue
				}
				from := wording.Abridged(of, ", ", func(i int) string { return fmt.Sprintf("%.60q", names[i]) })
				found, drop = append(found, fmt.Sprintf("%.60q from %s", names[j], from)), append(drop, names[j])
				continue
			}
		}
		if one.left > 1e-12*all {
			floats.Scale(1/one.left, rest)
			one.axis = rest
			kept = append(kept, one)
		}
	}
	if len(found) > 0 {
		s.Note("%s: columns that follow from others, up to rounding, so that the same counts twice: %s: --drop %s leaves "+
			"them out", in.Name, wording.Abridged(found, "; ", func(text string) string { return text }),
			wording.Abridged(drop, ",", wording.Item))
	}
}

// An independent column does not follow from those before: about its mean it is the sum of along times their axes, and
// left times an axis of its own, of length 1.
type independent struct {
	column int
	x      []float64
	along  []float64
	left   float64
	axis   []float64
	step   float64 // by which it may be rounded; NaN until it is asked for
}

// rounding is half the step.
func (c *independent) rounding() float64 {
	if math.IsNaN(c.step) {
		values := resolution.New(len(c.x), 0)
		for _, v := range c.x {
			values.Add(v)
		}
		c.step = values.Step()
	}
	return c.step / 2
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

// determining are the columns of kept that determine one, if rounding explains what is left of it in every row: errors
// within the bound of the roundings, and what least squares make of them in a row of that leverage, whose standard
// deviation is at most √leverage·bound/√3.
func determining(kept []independent, one independent, rest []float64) (of []int) {
	by := slices.Clone(one.along) // of the axes, and then of the columns
	bound, size := one.rounding(), 0.
	for a := len(kept) - 1; a >= 0; a-- {
		k := &kept[a]
		by[a] /= k.left
		floats.AddScaled(by[:a], -by[a], k.along)
		bound += math.Abs(by[a]) * k.rounding()
		size = max(size, math.Abs(by[a])*floats.Norm(k.x, math.Inf(1)))
		if math.Abs(by[a])*stat.StdDev(k.x, nil) > leastShare*stat.StdDev(one.x, nil) {
			of = append(of, k.column)
		}
	}
	for i, r := range rest {
		leverage := 1 / float64(len(rest))
		for a := range kept {
			leverage += kept[a].axis[i] * kept[a].axis[i]
		}
		if math.Abs(r) > bound*(1+2*math.Sqrt(leverage))+1e-9*size {
			return nil
		}
	}
	slices.Reverse(of)
	return of
}
