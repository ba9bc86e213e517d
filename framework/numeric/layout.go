package numeric

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// A Parameter is one named group of numbers of a model, with their range. The constructors below make parameters.
//
// Every kind has two sets of coordinates. The framework searches in coordinates that cover exactly the range of the
// parameter. The other coordinates, without units, are those of the curvature F: they decide the charge of gFIC, like a
// prior density that is flat in them (docs/decisions/numeric.md).
type Parameter struct {
	Name string

	kind       kind
	coordinate Coordinate
}

// Real is n numbers of any size, such as means or regression coefficients. Their curvature is in units in which the
// whole table, fitted as one component, has the information I per row.
func Real(name string, n int) Parameter { return Parameter{Name: name, kind: realKind(n)} }

// Positive is n numbers above 0, such as variances. The search is in ln v; the curvature is in v, in units of the value
// for the whole table.
func Positive(name string, n int) Parameter { return Parameter{Name: name, kind: positiveKind(n)} }

// Rate is n non-negative numbers, such as the means of counts, whose estimate may be 0 (a density must handle 0·ln 0,
// which is NaN). Both coordinates are 2√v.
func Rate(name string, n int) Parameter { return Parameter{Name: name, kind: rateKind(n)} }

// Probability is n numbers from 0 to 1, ends included. Both coordinates are 2 arcsin √v.
func Probability(name string, n int) Parameter { return Interval(name, n, 0, 1) }

// Interval is n numbers from low to high, ends included, such as correlations. Both coordinates are 2 arcsin √u, where
// u is how far v is on the way from low to high.
func Interval(name string, n int, low, high float64) Parameter {
	return Parameter{Name: name, kind: intervalKind{n, low, high}}
}

// Ordered is n ascending numbers, such as the thresholds between grades. They are searched in the first of them and the
// logarithms of the gaps; their curvature is taken in the first, which is in the units of Real numbers, and in the gaps
// in units of those of the whole table.
func Ordered(name string, n int) Parameter { return Parameter{Name: name, kind: orderedKind(n)} }

// Discrete is n finite numbers that no search moves and no criterion charges for, such as a central ranking or a number
// of trials: [Guesser] gives those of the whole table, otherwise they are 0, and each component has these, or those
// that its [Estimator] puts. Under the prior of the evidence they are taken over where the posterior is higher with
// them.
func Discrete(name string, n int) Parameter { return Parameter{Name: name, kind: discreteKind(n)} }

// Simplex is n non-negative numbers that sum to 1. Both coordinates are those of the sphere 2√v about the current
// value.
func Simplex(name string, n int) Parameter { return Parameter{Name: name, kind: simplexKind(n)} }

// SPD is a symmetric positive definite n×n matrix, row-major, such as a covariance. The search is in its Cholesky
// factor, with logarithms along the diagonal; the curvature is in the n(n+1)/2 entries of U⁻ᵀVU⁻¹, where UᵀU is the
// matrix for the whole table.
func SPD(name string, n int) Parameter { return Parameter{Name: name, kind: spdKind(n)} }

// A Coordinate of a number v: the derivative dφ/dv of the coordinate φ of the curvature. unit is the value for the
// whole table.
type Coordinate func(v, unit float64) float64

// Coordinates for parameters of independent numbers.
var (
	Linear Coordinate = func(_, unit float64) float64 { return 1 / unit }
	Log    Coordinate = func(v, _ float64) float64 { return 1 / v }
	Root   Coordinate = func(v, _ float64) float64 { return 1 / math.Sqrt(v) }
	Arcsin Coordinate = func(v, _ float64) float64 { return 1 / math.Sqrt(v*(1-v)) }
)

// In chooses another coordinate for the curvature. Real, Simplex and SPD parameters have no other.
func (p Parameter) In(c Coordinate) Parameter {
	p.coordinate = c
	return p
}

// A Layout lists the parameters of a model, and its number of columns.
type Layout struct {
	Columns   int         // of a row that the density describes; 0 for any number, such as all columns of a table
	Component []Parameter // Ξ: of each latent dimension
	Shared    []Parameter // Θ: of all together; nil for none
}

// A kind is what the numbers of a parameter may be.
type kind interface {
	numbers() int // as the density sees them
	free() int    // coordinates
	neutral(v []float64)
	// check says what is wrong with values, in the form "is −1; must be positive and finite".
	check(v []float64) error
	// bounded is an error where values have diverged from those of the whole table.
	bounded(v, unit []float64) error
	// move puts the values that a step t leads to from v into dst.
	move(v, t, dst []float64)
	// boundarySteps lists steps of length 1 that lead away from the boundaries that v is nearer to than near, in steps.
	boundarySteps(v []float64, near float64) [][]float64
	// distance is how far in steps coordinate i is from the nearest boundary; +Inf where there is none.
	distance(v []float64, i int) float64
	// slope puts dφ/dt at v into j, free×free and zero, for the values unit of the whole table.
	slope(v, unit []float64, j *window)
	// about puts the coordinates of v about unit into dst (see [plan.coordinates]).
	about(v, unit, dst []float64)
}

// window is a square diagonal part of a matrix.
type window struct {
	m  *mat.Dense
	at int
}

func (w *window) set(i, j int, v float64) { w.m.Set(w.at+i, w.at+j, v) }

type (
	realKind     int
	positiveKind int
	rateKind     int
	simplexKind  int
	spdKind      int
	orderedKind  int
	discreteKind int
	intervalKind struct {
		n         int
		low, high float64
	}
)

// ---- Numbers that stand for themselves

func (n realKind) numbers() int     { return int(n) }
func (n positiveKind) numbers() int { return int(n) }
func (n rateKind) numbers() int     { return int(n) }
func (k intervalKind) numbers() int { return k.n }

func (n realKind) free() int     { return int(n) }
func (n positiveKind) free() int { return int(n) }
func (n rateKind) free() int     { return int(n) }
func (k intervalKind) free() int { return k.n }

func (realKind) neutral(v []float64)       { linalg.Fill(v, 0) }
func (positiveKind) neutral(v []float64)   { linalg.Fill(v, 1) }
func (rateKind) neutral(v []float64)       { linalg.Fill(v, 1) }
func (k intervalKind) neutral(v []float64) { linalg.Fill(v, k.low+(k.high-k.low)/2) }

func (realKind) check(v []float64) error {
	return each(v, func(x float64) bool { return true }, "finite")
}

func (positiveKind) check(v []float64) error {
	return each(v, func(x float64) bool { return x > 0 }, "positive and finite")
}

func (rateKind) check(v []float64) error {
	return each(v, func(x float64) bool { return x >= 0 }, "non-negative and finite")
}

func (k intervalKind) check(v []float64) error {
	inside := func(x float64) bool { return x >= k.low && x <= k.high }
	return each(v, inside, fmt.Sprintf("between %v and %v", k.low, k.high))
}

// share is how far x is on the way from the lower end to the upper one.
func (k intervalKind) share(x float64) float64 { return (x - k.low) / (k.high - k.low) }

func (realKind) bounded(_, _ []float64) error     { return nil }
func (rateKind) bounded(_, _ []float64) error     { return nil }
func (intervalKind) bounded(_, _ []float64) error { return nil }
func (simplexKind) bounded(_, _ []float64) error  { return nil }

func (positiveKind) bounded(v, unit []float64) error {
	for i, x := range v {
		if ratio := x / unit[i]; ratio < vanishing || ratio > 1/vanishing {
			return fmt.Errorf("%sis %v, against %v for the whole table", ordinal(i, len(v)), x, unit[i])
		}
	}
	return nil
}

func (n spdKind) bounded(v, unit []float64) error {
	l, ok := n.factor(v)
	base, okBase := n.factor(unit)
	var m mat.Dense
	if !ok || !okBase || m.Solve(base, l) != nil {
		return errors.New("is singular")
	}
	var svd mat.SVD
	if !svd.Factorize(&m, mat.SVDNone) {
		return errors.New("is not finite")
	}
	values := svd.Values(nil)
	if least := values[len(values)-1]; least*least < vanishing {
		return fmt.Errorf("is singular: %v of the whole table's in one direction", least*least)
	}
	return nil
}

// vanishing is the share of the whole table's value below which a scale is nothing but rounding.
const vanishing = 1e-12

func each(v []float64, ok func(x float64) bool, must string) error {
	for i, x := range v {
		if !ok(x) || x-x != 0 {
			return fmt.Errorf("%sis %v; must be %s", ordinal(i, len(v)), x, must)
		}
	}
	return nil
}

func ordinal(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("number %d of %d ", i+1, n)
}

func (realKind) move(v, t, dst []float64) {
	for i, x := range v {
		dst[i] = x + t[i]
	}
}

func (positiveKind) move(v, t, dst []float64) {
	for i, x := range v {
		dst[i] = x * math.Exp(t[i])
	}
}

func (rateKind) move(v, t, dst []float64) {
	for i, x := range v {
		root := math.Sqrt(x) + t[i]/2
		dst[i] = root * root
	}
}

func (k intervalKind) move(v, t, dst []float64) {
	for i, x := range v {
		u := k.share(x)
		sin := math.Sin(math.Atan2(math.Sqrt(u), math.Sqrt(1-u)) + t[i]/2)
		dst[i] = min(k.low+(k.high-k.low)*(sin*sin), k.high)
	}
}

func (realKind) boundarySteps([]float64, float64) [][]float64     { return nil }
func (positiveKind) boundarySteps([]float64, float64) [][]float64 { return nil }

func (rateKind) boundarySteps(v []float64, near float64) (list [][]float64) {
	for i, x := range v {
		if 2*math.Sqrt(x) < near {
			list = append(list, axis(i, len(v), 1))
		}
	}
	return list
}

func (k intervalKind) boundarySteps(v []float64, near float64) (list [][]float64) {
	for i, x := range v {
		u := k.share(x)
		if 2*math.Sqrt(u) < near {
			list = append(list, axis(i, len(v), 1))
		}
		if 2*math.Sqrt(1-u) < near {
			list = append(list, axis(i, len(v), -1))
		}
	}
	return list
}

func (realKind) distance([]float64, int) float64     { return math.Inf(1) }
func (positiveKind) distance([]float64, int) float64 { return math.Inf(1) }
func (rateKind) distance(v []float64, i int) float64 { return 2 * math.Sqrt(v[i]) }
func (k intervalKind) distance(v []float64, i int) float64 {
	u := k.share(v[i])
	return 2 * math.Sqrt(min(u, 1-u))
}

func axis(i, n int, length float64) []float64 {
	t := make([]float64, n)
	t[i] = length
	return t
}

// slope of Real is replaced by that of the whole table, see plan.jacobian.
func (realKind) slope(v, _ []float64, j *window)     { ones(len(v), j) }
func (rateKind) slope(v, _ []float64, j *window)     { ones(len(v), j) }
func (intervalKind) slope(v, _ []float64, j *window) { ones(len(v), j) }

func (positiveKind) slope(v, unit []float64, j *window) {
	for i, x := range v {
		j.set(i, i, x/unit[i])
	}
}

func ones(n int, j *window) {
	for i := range n {
		j.set(i, i, 1)
	}
}

// rise is dv/dt where numbers stand for themselves.
func rise(k kind, v float64) float64 {
	switch k := k.(type) {
	case positiveKind:
		return v
	case rateKind:
		return math.Sqrt(v)
	case intervalKind:
		u := k.share(v)
		return (k.high - k.low) * math.Sqrt(u*(1-u))
	}
	return 1
}

// ---- The simplex: the positive part of a sphere of radius 2

func (n simplexKind) numbers() int { return int(n) }
func (n simplexKind) free() int    { return int(n) - 1 }

func (n simplexKind) neutral(v []float64) { linalg.Fill(v, 1/float64(n)) }

func (simplexKind) check(v []float64) error {
	sum := 0.0
	for i, x := range v {
		if !(x >= 0) {
			return fmt.Errorf("%sis %v; must be non-negative and finite", ordinal(i, len(v)), x)
		}
		sum += x
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		return fmt.Errorf("sums to %v; must sum to 1", sum)
	}
	return nil
}

// move goes along a great circle from u = √v. The tangent vector is the step's reflection by the Householder
// matrix that takes the last axis to u, so that it is orthogonal to u and as long as the step.
func (n simplexKind) move(v, t, dst []float64) {
	last := int(n) - 1
	length := 0.0
	for _, x := range t {
		length = math.Hypot(length, x)
	}
	// H = I − wwᵀ/(1 + |u_last|) with w = u + e_last, which takes e_last to −u.
	u := math.Sqrt(v[last])
	along := 0.0
	for i, x := range t {
		along += x * math.Sqrt(v[i])
	}
	sin, cos := math.Sincos(length / 2)
	if length > 0 {
		sin /= length
	}
	sum := 0.0
	for i, x := range v {
		var tangent float64
		if i < last {
			tangent = t[i] - along*math.Sqrt(x)/(1+u)
		} else {
			tangent = -along
		}
		root := math.Sqrt(x)*cos + tangent*sin
		dst[i] = root * root
		sum += dst[i]
	}
	for i := range dst {
		dst[i] /= sum
	}
}

// boundarySteps lead towards the entries that are nearly 0: along the reflections of their axes, see move.
func (n simplexKind) boundarySteps(v []float64, near float64) (list [][]float64) {
	last := int(n) - 1
	for i, x := range v {
		if 2*math.Sqrt(x) >= near {
			continue
		}
		t := make([]float64, last)
		for j := range t {
			t[j] = -math.Sqrt(v[j])
			if i < last {
				t[j] *= math.Sqrt(x) / (1 + math.Sqrt(v[last]))
			}
		}
		if i < last {
			t[i]++
		}
		list = append(list, t)
	}
	return list
}

// distance is that of the smallest entry that is not on its boundary, whatever the coordinate.
func (n simplexKind) distance(v []float64, _ int) float64 {
	least := 1.0
	for _, x := range v {
		if 2*math.Sqrt(x) > nearBoundary {
			least = min(least, x)
		}
	}
	return 2 * math.Sqrt(least)
}

// nearBoundary is the distance from a boundary, in steps, below which second derivatives are those of the mirrored
// function: nearer by, a number is less than 10⁻⁸, and what it has to do with the rows is lost in rounding.
const nearBoundary = 1e-4

func (n simplexKind) slope(_, _ []float64, j *window) { ones(int(n)-1, j) }

// ---- Symmetric positive definite matrices

// numbers of more rows than anything could hold are as many as these rows, so that no product overflows.
func (n spdKind) numbers() int {
	if n > mostNumbers {
		return int(n)
	}
	return int(n) * int(n)
}

func (n spdKind) free() int { return int(n) * (int(n) + 1) / 2 }

func (n spdKind) neutral(v []float64) {
	clear(v)
	for i := range int(n) {
		v[i*int(n)+i] = 1
	}
}

func (n spdKind) check(v []float64) error {
	d := int(n)
	for i := range d {
		for j := range d {
			x, y := v[i*d+j], v[j*d+i]
			if x-x != 0 {
				return fmt.Errorf("entry %d, %d is %v; must be finite", i+1, j+1, x)
			}
			if math.Abs(x-y) > 1e-9*math.Sqrt(math.Abs(v[i*d+i]*v[j*d+j])) {
				return fmt.Errorf("is not symmetric: entry %d, %d is %v, entry %d, %d is %v", i+1, j+1, x, j+1, i+1, y)
			}
		}
	}
	if _, ok := n.factor(v); !ok {
		return errors.New("is not positive definite")
	}
	return nil
}

func (n spdKind) factor(v []float64) (*mat.TriDense, bool) {
	var chol mat.Cholesky
	sym := mat.NewSymDense(int(n), append([]float64(nil), v...))
	if !chol.Factorize(sym) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	return &l, true
}

func (spdKind) distance([]float64, int) float64 { return math.Inf(1) }

func (spdKind) boundarySteps([]float64, float64) [][]float64 { return nil }

// move is V → L C Cᵀ Lᵀ with V = LLᵀ and C the lower triangular matrix of the step, whose diagonal is in
// logarithms.
func (n spdKind) move(v, t, dst []float64) {
	d := int(n)
	l, ok := n.factor(v)
	if !ok { // far away in a search: nothing to be found there
		linalg.Fill(dst, math.NaN())
		return
	}
	c := mat.NewDense(d, d, nil)
	at := 0
	for i := range d {
		for j := range i + 1 {
			if i == j {
				c.Set(i, i, math.Exp(t[at]))
			} else {
				c.Set(i, j, t[at])
			}
			at++
		}
	}
	var lc mat.Dense
	lc.Mul(l, c)
	mat.NewDense(d, d, dst).Mul(&lc, lc.T())
}

// slope is the derivative of the entries of U⁻ᵀVU⁻¹: with M = U⁻ᵀL, dV = M(E + Eᵀ)Mᵀ for a step E.
func (n spdKind) slope(v, unit []float64, j *window) {
	d := int(n)
	l, ok := n.factor(v)
	base, okBase := n.factor(unit)
	if !ok || !okBase {
		return
	}
	var m mat.Dense
	if err := m.Solve(base, l); err != nil {
		return
	}
	col := 0
	for a := range d {
		for b := range a + 1 {
			row := 0
			for r := range d {
				for s := range r + 1 {
					j.set(row, col, m.At(r, a)*m.At(s, b)+m.At(r, b)*m.At(s, a))
					row++
				}
			}
			col++
		}
	}
}

// ---- Ascending numbers: the first, and gaps

func (n orderedKind) numbers() int { return int(n) }
func (n orderedKind) free() int    { return int(n) }

func (n orderedKind) neutral(v []float64) {
	for i := range v {
		v[i] = float64(i) - float64(n-1)/2
	}
}

func (orderedKind) check(v []float64) error {
	for i, x := range v {
		if x-x != 0 || i > 0 && x <= v[i-1] {
			return fmt.Errorf("is %v; must be finite and ascending", v)
		}
	}
	return nil
}

func (orderedKind) bounded(v, unit []float64) error {
	for i := 1; i < len(v); i++ {
		gap, table := v[i]-v[i-1], unit[i]-unit[i-1]
		if ratio := gap / table; ratio < vanishing || ratio > 1/vanishing {
			return fmt.Errorf("has numbers %d and %d that are %v apart, and %v for the whole table", i, i+1, gap, table)
		}
	}
	return nil
}

func (orderedKind) move(v, t, dst []float64) {
	dst[0] = v[0] + t[0]
	for i := 1; i < len(v); i++ {
		dst[i] = dst[i-1] + (v[i]-v[i-1])*math.Exp(t[i])
	}
}

func (orderedKind) boundarySteps([]float64, float64) [][]float64 { return nil }
func (orderedKind) distance([]float64, int) float64              { return math.Inf(1) }

// slope of the first number is replaced by that of the whole table, as that of Real ones is.
func (orderedKind) slope(v, unit []float64, j *window) {
	j.set(0, 0, 1)
	for i := 1; i < len(v); i++ {
		j.set(i, i, (v[i]-v[i-1])/(unit[i]-unit[i-1]))
	}
}

// ---- Numbers that no search moves

func (n discreteKind) numbers() int { return int(n) }
func (discreteKind) free() int      { return 0 }

func (discreteKind) neutral(v []float64) { linalg.Fill(v, 0) }

func (discreteKind) check(v []float64) error {
	return each(v, func(float64) bool { return true }, "finite")
}

func (discreteKind) bounded(_, _ []float64) error                 { return nil }
func (discreteKind) move(v, _, dst []float64)                     { copy(dst, v) }
func (discreteKind) boundarySteps([]float64, float64) [][]float64 { return nil }
func (discreteKind) distance([]float64, int) float64              { return math.Inf(1) }
func (discreteKind) slope(_, _ []float64, _ *window)              {}
