package numeric

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/memory"
)

// A plan is a list of parameters with the places of their numbers and coordinates.
type plan struct {
	list    []placed
	numbers int
	free    int
}

type placed struct {
	Parameter
	first, at int // its numbers and coordinates begin here
}

func newPlan(of string, list []Parameter) (*plan, error) {
	p := &plan{}
	for i, q := range list {
		least := 1
		if _, ok := q.kind.(simplexKind); ok {
			least = 2
		}
		switch {
		case q.kind == nil:
			return nil, fmt.Errorf("numeric: Layout: %s parameter %d %q has no kind: make it with Real, Positive, "+
				"Rate, Probability, Interval, Ordered, Simplex, SPD or Discrete", of, i+1, q.Name)
		case q.kind.numbers() < least:
			return nil, fmt.Errorf("numeric: Layout: %s parameter %q has %d numbers; must have at least %d", of, q.Name,
				q.kind.numbers(), least)
		case q.kind.numbers() > mostNumbers:
			return nil, fmt.Errorf("numeric: Layout: %s parameter %q has %d numbers; must have at most %d", of, q.Name,
				q.kind.numbers(), mostNumbers)
		case outOfOrder(q.kind):
			return nil, fmt.Errorf("numeric: Layout: %s parameter %q has an invalid interval: %v", of, q.Name, q.kind)
		case q.coordinate != nil && !scalar(q.kind):
			return nil, fmt.Errorf("numeric: Layout: %s parameter %q: In chooses the coordinate of a Positive, Rate, "+
				"Probability or Interval parameter only", of, q.Name)
		}
		p.list = append(p.list, placed{q, p.numbers, p.free})
		p.numbers += q.kind.numbers()
		p.free += q.kind.free()
		// Second derivatives of all of them stand in a few matrices at the same time.
		what := fmt.Sprintf("numeric: Layout: the information about %d numbers of the %s parameters", p.free, of)
		if err := memory.Need(what, 4*8*float64(p.free)*float64(p.free)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// mostNumbers bounds the numbers of a parameter, whose products then are no overflow.
const mostNumbers = 1 << 24

// plans are those of a density's layout for rows of so many columns.
func plans(of string, l Layout, columns int) (component, shared *plan, err error) {
	if l.Columns < 0 {
		return nil, nil, fmt.Errorf("numeric: Layout of %s: Columns is %d; must not be negative", of, l.Columns)
	}
	if l.Columns > 0 && l.Columns != columns {
		return nil, nil, fmt.Errorf("numeric: %s describes %d columns, and the table has %d: leave out columns, or put "+
			"the density beside a family of the others (family.Product, family.Of)", of, l.Columns, columns)
	}
	if component, err = newPlan("component", l.Component); err != nil {
		return nil, nil, err
	}
	shared, err = newPlan("shared", l.Shared)
	return component, shared, err
}

// outOfOrder reports whether the ends of an interval are no two numbers, the lower one first.
func outOfOrder(k kind) bool {
	i, ok := k.(intervalKind)
	return ok && !(i.low < i.high && i.high-i.low <= math.MaxFloat64)
}

func scalar(k kind) bool {
	switch k.(type) {
	case positiveKind, rateKind, intervalKind:
		return true
	}
	return false
}

func (p placed) of(v []float64) []float64 {
	return v[p.first : p.first+p.kind.numbers()]
}

func (p placed) step(t []float64) []float64 {
	return t[p.at : p.at+p.kind.free()]
}

// neutral puts the point that a search begins at where nothing better is known into v.
func (p *plan) neutral(v []float64) {
	for _, q := range p.list {
		q.kind.neutral(q.of(v))
	}
}

// check is an error that names the parameter that is out of its range.
func (p *plan) check(v []float64) error {
	for _, q := range p.list {
		if err := q.kind.check(q.of(v)); err != nil {
			return fmt.Errorf("parameter %q %w", q.Name, err)
		}
	}
	return nil
}

// bounded is an error that names the parameter that diverges to an end of its range that is excluded, relative to the
// values unit of the whole table: a variance to 0, because the rows lie on a line.
func (p *plan) bounded(v, unit []float64) error {
	for _, q := range p.list {
		if err := q.kind.bounded(q.of(v), q.of(unit)); err != nil {
			return fmt.Errorf("parameter %q %w", q.Name, err)
		}
	}
	return nil
}

// move puts the values that the step t leads to from v into dst, which is not v.
func (p *plan) move(v, t, dst []float64) {
	for _, q := range p.list {
		q.kind.move(q.of(v), q.step(t), q.of(dst))
	}
}

// boundarySteps lists the steps away from boundaries that v is near, in coordinates of which the first is number at of
// dim.
func (p *plan) boundarySteps(v []float64, near float64, at, dim int) (list [][]float64) {
	for _, q := range p.list {
		for _, t := range q.kind.boundarySteps(q.of(v), near) {
			step := make([]float64, dim)
			copy(step[at+q.at:], t)
			list = append(list, step)
		}
	}
	return list
}

// snap puts numbers that are nearer to a boundary than near, in steps, onto it.
func (p *plan) snap(v []float64, near float64) (snapped bool) {
	square := near * near / 4
	for _, q := range p.list {
		own := q.of(v)
		for i, x := range own {
			switch k := q.kind.(type) {
			case rateKind, simplexKind:
				if x > 0 && x < square {
					own[i], snapped = 0, true
				}
			case intervalKind:
				switch u := k.share(x); {
				case u > 0 && u < square:
					own[i], snapped = k.low, true
				case u < 1 && 1-u < square:
					own[i], snapped = k.high, true
				}
			}
		}
	}
	return snapped
}

// reach bounds how far coordinates go with a nat: all but those of Real numbers have about unit information in a row,
// so that one row goes this far.
func (p *plan) reach() []float64 {
	list := make([]float64, p.free)
	linalg.Fill(list, 2)
	for _, j := range p.reals() {
		list[j] = math.Inf(1)
	}
	return list
}

// jacobian is dφ/dt at v: from the coordinates of the search to those of the curvature, for the values unit of
// the whole table. root is the factor that Real parameters, all together, are multiplied by, as in
// [plan.reals]; nil for the identity.
func (p *plan) jacobian(v, unit []float64, root *mat.TriDense) *mat.Dense {
	j := mat.NewDense(p.free, p.free, nil)
	for _, q := range p.list {
		if q.coordinate == nil {
			q.kind.slope(q.of(v), q.of(unit), &window{j, q.at})
			continue
		}
		for i, x := range q.of(v) {
			j.Set(q.at+i, q.at+i, q.coordinate(x, q.of(unit)[i])*rise(q.kind, x))
		}
	}
	if root != nil {
		places := p.reals()
		for a, i := range places {
			for b, k := range places {
				j.Set(i, k, root.At(a, b))
			}
		}
	}
	return j
}

// discrete reports whether there are numbers that no search moves.
func (p *plan) discrete() bool {
	return slices.ContainsFunc(p.list, func(q placed) bool { return q.kind.free() == 0 })
}

// reals lists the coordinates of Real parameters, and those of the first of Ordered ones.
func (p *plan) reals() []int {
	var list []int
	for _, q := range p.list {
		switch q.kind.(type) {
		case realKind:
			for i := range q.kind.free() {
				list = append(list, q.at+i)
			}
		case orderedKind:
			list = append(list, q.at)
		}
	}
	return list
}
