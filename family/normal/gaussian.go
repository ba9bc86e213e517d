// Package normal has the families of Gaussians and what is near them: a [Family] of any covariance, with its
// structures, floors, missing values and priors, [StudentT], [FactorAnalysers], [Lognormal], and [Noise] about any
// family (docs/theory/mixtures.md, docs/theory/mfa.md).
package normal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
)

// Covariance is the form of a Gaussian component's covariance.
type Covariance int

const (
	// Full gives every component its own covariance.
	Full Covariance = iota
	// Tied gives all components one covariance.
	Tied
	// Diagonal makes the columns independent within a component.
	Diagonal
	// Spherical gives a component one variance for all columns.
	Spherical
)

var covarianceNames = [...]string{"full", "tied", "diagonal", "spherical"}

func (c Covariance) String() string {
	if c.structured() {
		return c.letters()
	}
	if c < 0 || int(c) >= len(covarianceNames) {
		return fmt.Sprintf("Covariance(%d)", int(c))
	}
	return covarianceNames[c]
}

var gaussianNames = [...]string{"gaussian", "gaussian-tied", "gaussian-diagonal", "gaussian-spherical"}

// A Family is the normal distribution, in coordinates (μ, vech Σ) after a linear map that
// gives the table covariance I (Full, Tied), each column variance 1 (Diagonal), or the
// columns a mean variance of 1 (Spherical; docs/theory/mixtures.md, section 8, has the structures
// of [EII] to [EVV]). The parameters of a component are its mean and its covariance, D×D, or variances.
//
// A class's covariance has a floor, Σ_k ⪰ diag(Δ_j²/12), with Δ_j the resolution of column j: the least gap between its
// different values. No floor is below 1e-10 of the column's variance in the table. So the likelihood has a maximum, and
// classes do not collapse onto equal values or dependent columns; without such classes the floor changes nothing.
// Estimates and modes are exact maxima above the floor, except for structures with their own orientations, or common
// axes, in columns of different resolutions: their estimates lie slightly above the floor, and their objective never
// falls (docs/decisions/mixtures.md). A constant column c has the density N(c, c²) in every class, N(0, 1) for c = 0.
type Family struct {
	Covariance Covariance
	// Floor multiplies Δ_j²/12. 0 stands for 1, and a negative number, such as [family.NoFloor], for no floor: then tables
	// with constant or dependent columns are an error, and classes that collapse an [framework.ErrDegenerate].
	Floor float64
}

// WithFloor returns the family with another Floor.
func (g Family) WithFloor(floor float64) family.Family {
	g.Floor = floor
	return g
}

// Name is "gaussian", with the form of the covariance if it is not full.
func (g Family) Name() string {
	if g.Covariance < 0 || int(g.Covariance) >= len(gaussianNames) {
		return "gaussian-" + strings.ToLower(g.Covariance.String())
	}
	return gaussianNames[g.Covariance]
}

// Columns is 0: a Gaussian takes all columns. It is 1 if the columns are independent.
func (g Family) Columns() int {
	if g.Covariance == Diagonal {
		return 1
	}
	return 0
}

// On needs 1 column or more.
func (g Family) On(columns int) ([]family.Factor, error) {
	if columns < 1 {
		return nil, fmt.Errorf("family: %s needs 1 column or more, and the table has %d", g.Name(), columns)
	}
	floor, err := variances.FloorFactor(g.Name(), g.Floor)
	if err != nil {
		return nil, err
	}
	switch g.Covariance {
	case Full, Tied:
		return []family.Factor{gaussian{columns, g.Covariance == Tied, floor}}, nil
	case Diagonal:
		return []family.Factor{isotropic{columns, 1, Diagonal, floor}}, nil
	case Spherical:
		return []family.Factor{isotropic{1, columns, Spherical, floor}}, nil
	}
	if !g.Covariance.structured() {
		return nil, fmt.Errorf("family: %v: a covariance is Full, Tied, Diagonal, Spherical, or a structure from EII to EVV",
			g.Covariance)
	}
	return []family.Factor{structured(g.Covariance, columns, floor)}, nil
}

// gaussian has a D×D covariance. The numbers of one component are
//
//	sums    n, Σ(x−a), Σ(x−a)(x−a)ᵀ (upper triangle of D×D), values of each column that say of its mean
//	anchor  a
//	score   c, m, R with score(x) = c − ½‖R(x−m)‖², R upper triangular, RᵀR the precision
//	params  μ, Σ
//
// Of classes that share Σ only the sum of the second moments is their own: addTiedSums splits it between them.
type gaussian struct {
	d     int
	tied  bool
	floor float64 // factor of the squared resolutions; 0: there is none
}

func (g gaussian) form() Covariance {
	if g.tied {
		return Tied
	}
	return Full
}

func (g gaussian) Name() string { return Family{Covariance: g.form()}.Name() }

func (g gaussian) Layout() family.Layout {
	d, v := g.d, g.d*(g.d+1)/2
	l := family.Layout{
		Columns:  d,
		Cells:    1,
		Free:     d + v,
		Sums:     1 + 2*d + d*d,
		Anchor:   d,
		Score:    1 + d + d*d,
		Params:   d + d*d,
		Hyper:    3 + d + d*d,
		Features: d,
	}
	if g.tied {
		l.Free, l.Shared = d, v
	}
	return l
}

// split gives location and matrix of a part that begins with skip other numbers.
func (g gaussian) split(v []float64, skip int) (location, matrix []float64) {
	return v[skip : skip+g.d], v[skip+g.d : skip+g.d+g.d*g.d]
}

func (g gaussian) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	return observeGaps(o, b, at, first, n, g.d)
}

// own is what Gaussians keep of a chunk.
type own struct {
	underflow underflow
	gaps      gaps // of rows with missing values
}

// memory is what a family keeps of a chunk beside the rows, empty at first.
func memory[T any](o *family.Observed) *T {
	m, ok := o.Memory.(*T)
	if !ok {
		m = new(T)
		o.Memory = m
	}
	return m
}

// complete keeps rows column-major; they must be complete and finite.
func complete(b blocks.Rows, at, first, n, d int, form Covariance, o *family.Observed) error {
	if ok, err := o.Transpose(b, at, first, n, d); ok || err != nil {
		return err
	}
	for i := range n {
		for j, v := range o.Row(i, d) {
			if v-v != 0 {
				reason := blocks.ErrNotFinite
				if math.IsNaN(v) {
					reason = fmt.Errorf("%s needs complete rows; take a full, tied or diagonal covariance, or leave the row out",
						Family{Covariance: form}.Name())
				}
				return &blocks.DataError{Row: b.First + first + i, Column: at + j, Value: v, Reason: reason}
			}
		}
	}
	return nil
}

func (g gaussian) AddScores(o *family.Observed, scores family.Table, r []float64) {
	switch {
	case !o.Complete:
		g.addIncompleteScores(o, scores, r)
		return
	case g.tied && scores.K > 1 && g.d >= minColumns:
		g.addTied(o, scores, r)
		return
	}
	d, n := g.d, o.Padded()
	o.Work = linalg.Resize(o.Work, simd.ScoresWork(d))
	for j := range scores.K {
		g.scoreAll(o, scores, j, linalg.Row(r, j, n))
	}
}

func (g gaussian) AddSums(o *family.Observed, r []float64, scores, anchors, sums family.Table) (entropy float64) {
	if !o.Complete {
		return g.addIncompleteSums(o, r, scores, anchors, sums)
	}
	if g.tied && sums.K > 1 && g.d >= minColumns {
		g.addTiedSums(o, r, anchors, sums)
		return 0
	}
	d, n := g.d, o.Padded()
	o.Work = linalg.Resize(o.Work, simd.MomentsWork(d, n))
	for j := range sums.K {
		to := sums.Row(j, 1+2*d+d*d)
		first, second := g.split(to, 1)
		x, w := g.weighed(o, linalg.Row(r, j, n))
		total := simd.GaussianMoments(first, second, x, d, len(w), anchors.Row(j, d), w, o.Work)
		to[0] += total
		floats.AddConst(total, to[1+d+d*d:])
	}
	return 0
}

func (g gaussian) Features(o *family.Observed, dst []float64, width, at int) {
	o.CopyTo(dst, width, at, g.d)
}

// Whiten whitens by the covariance of the table, with the mean for missing values. It leaves out a direction in which
// the covariance is only its floor: there the columns differ only by rounding.
func (g gaussian) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	score := make([]float64, 1+g.d+g.d*g.d)
	if g.Score(w.Parameters, score) != nil {
		clear(score)
	}
	m, root := g.split(score, 1)
	if len(w.Floor) > 0 {
		g.dropFloor(root, w)
	}
	off := make([]float64, g.d)
	for i := range o.N {
		for c, v := range o.Row(i, g.d) {
			if off[c] = v - m[c]; v != v {
				off[c] = 0
			}
		}
		to := dst[i*width+at:][:g.d]
		for a := range to {
			to[a] = linalg.Dot(root[a*g.d+a:(a+1)*g.d], off[a:])
		}
	}
}

func (g gaussian) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	n, d := sums[0], g.d
	if !(n > 0) {
		return variances.ErrNoRows
	}
	first, second := g.split(sums, 1)
	values := g.values(sums)
	mean, cov := g.split(xi, 0)
	for a := range d {
		if !(values[a] > 0) && w == nil {
			return blocks.FaultyColumn(a, blocks.ErrNoValue)
		}
		mean[a] = anchor[a] + first[a]/values[a]
		for c := a; c < d; c++ {
			cov[a*d+c] = second[a*d+c]/n - first[a]/n*(first[c]/n)
		}
	}
	for a, seen := range values { // of a table with missing values, whose squares are sums over those that are there
		if seen != n {
			cov[a*d+a] = max(cov[a*d+a], second[a*d+a]/seen-first[a]/seen*(first[a]/seen)) // less would be no covariance
		}
	}
	linalg.Mirror(d, cov)
	switch {
	case w == nil && g.floor > 0:
		return nil // SetFloor judges
	case w == nil:
		return g.varied(mean, cov)
	case g.tied, len(w.Floor) > 0:
		return nil // Share checks, or Bound follows
	}
	return g.regular(cov, w)
}

// regular is an error where a covariance is singular to working precision, by a column whose
// variance vanishes relative to the table's, or that is a linear combination of others.
func (g gaussian) regular(cov []float64, w *family.Pooled) error {
	_, all := g.split(w.Parameters, 0)
	for a := range g.d {
		if !(cov[a*g.d+a] > variances.Vanishing*all[a*g.d+a]) {
			return variances.Collapsed(a)
		}
	}
	if _, ok := g.independent(cov); !ok {
		return variances.Singular()
	}
	return nil
}

// varied is an error that names the column that leaves the table without a regular covariance.
func (g gaussian) varied(mean, cov []float64) error {
	for a := range g.d {
		if err := variances.Measurable(a, mean[a], cov[a*g.d+a]); err != nil {
			return err
		}
	}
	if a, ok := g.independent(cov); !ok {
		return blocks.FaultyColumn(a, ErrDependent)
	}
	return nil
}

// independent reports whether the covariance can be factorised beginning with the first column,
// as the curvature does it, and with the last, as Score does. Else it returns a column that
// the others determine.
func (g gaussian) independent(cov []float64) (column int, ok bool) {
	if column, ok = linalg.Undetermined(g.d, cov); !ok {
		return column, false
	}
	slices.Reverse(cov) // of rows and of columns
	column, ok = linalg.Undetermined(g.d, cov)
	slices.Reverse(cov)
	return g.d - 1 - column, ok
}

// ErrDependent is the reason of a [blocks.DataError] about a column that makes a full covariance singular.
var ErrDependent = errors.New("is a linear combination of other columns: drop it, or take a diagonal covariance")

func (g gaussian) Score(xi, score []float64) error {
	mean, cov := g.split(xi, 0)
	m, root := g.split(score, 1)
	copy(m, mean)
	logDet, err := precisionRoot(g.d, cov, root)
	score[0] = -(logDet + float64(g.d)*math.Log(2*math.Pi)) / 2
	return err
}

// precisionRoot is [linalg.PrecisionRoot], and an error where the covariance is singular.
func precisionRoot(d int, cov, root []float64) (logDet float64, err error) {
	logDet, ok := linalg.PrecisionRoot(d, cov, root)
	if !ok {
		return 0, fmt.Errorf("family: a covariance is not positive definite: %w", framework.ErrDegenerate)
	}
	return logDet, nil
}

// values are the numbers of rows that say of the mean of a column: n, but for a table with missing values that is
// summed up before there is a density to complete it by.
func (g gaussian) values(sums []float64) []float64 { return sums[1+g.d+g.d*g.d:][:g.d] }

func (g gaussian) Center(sums, anchor []float64) {
	for a, n := range g.values(sums) {
		center(n, sums[1+a:2+a], anchor[a:a+1])
	}
}

// center adds the mean deviation from an anchor to it.
func center(n float64, first, anchor []float64) {
	if n > 0 {
		linalg.Axpy(1/n, first, anchor)
	}
}

func (g gaussian) Locate(score, anchor []float64) {
	m, _ := g.split(score, 1)
	copy(anchor, m)
}

// AddAbout adds statistics of another local step: the anchors of a step are its components'
// locations. With δ the one anchor less the other,
//
//	Σ(x−a) = Σ(x−b) + nδ,  Σ(x−a)(x−a)ᵀ = Σ(x−b)(x−b)ᵀ + Σ(x−b)δᵀ + δΣ(x−b)ᵀ + nδδᵀ.
func (g gaussian) AddAbout(sums, anchor, others, another []float64) {
	d, n := g.d, others[0]
	first, second := g.split(sums, 1)
	itsFirst, itsSecond := g.split(others, 1)
	sums[0] += n
	linalg.Axpy(1, g.values(others), g.values(sums))
	for a := range d {
		da := another[a] - anchor[a]
		first[a] += itsFirst[a] + n*da
		for c := a; c < d; c++ {
			dc := another[c] - anchor[c]
			second[a*d+c] += itsSecond[a*d+c] + itsFirst[a]*dc + da*(itsFirst[c]+n*dc)
		}
	}
}

// wide is the number of columns from which Total is worth vector instructions, which add up in another order.
const wide = 64

// Total is n·c − ½ Σ‖R(x−m)‖². If the class has no extent beyond its floor in the direction of a row of R, only the
// rounding of its terms remains, which counts as 0.
func (g gaussian) Total(score, sums, anchor []float64) float64 {
	d, n := g.d, sums[0]
	m, root := g.split(score, 1)
	first, second := g.split(sums, 1)
	quad := 0.0
	for a := range d { // row a of R: Σ (R_a·(x−m))²
		row, before, terms := root[a*d:(a+1)*d], quad, 0.0
		shift := 0.0
		linearPart := 0.0
		for c := a; c < d; c++ {
			shift += row[c] * (m[c] - anchor[c])
			linearPart += row[c] * first[c]
			square := row[c] * row[c] * second[c*d+c]
			terms += square
			quad += square
			rest := second[c*d+c+1 : (c+1)*d]
			if d >= wide {
				quad += 2 * row[c] * linalg.Dot(row[c+1:], rest)
				continue
			}
			for e, v := range rest {
				quad += 2 * row[c] * row[c+1+e] * v
			}
		}
		quad += shift * (n*shift - 2*linearPart)
		if math.Abs(quad-before) < float64(d)*variances.Ulps*terms {
			quad = before
		}
	}
	return n*score[0] - quad/2
}

func (g gaussian) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	d := g.d
	mean, cov := g.split(w.Parameters, 0)
	first, second := g.split(sums, 1)
	sums[0] += weight
	floats.AddConst(weight, g.values(sums))
	for a := range d {
		da := mean[a] - anchor[a]
		first[a] += weight * da
		for c := a; c < d; c++ {
			second[a*d+c] += weight * (cov[a*d+c] + da*(mean[c]-anchor[c]))
		}
	}
}

func (g gaussian) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	var info *normalInformation
	if n := len(dst); n < cap(dst) {
		info, _ = dst[:n+1][n].(*normalInformation)
	}
	if info == nil {
		info = &normalInformation{}
	}
	_, cov := g.split(xi, 0)
	_, all := g.split(w.Parameters, 0)
	info.set(g, cov, all, w.Floor)
	return append(dst, info)
}

func (g gaussian) Numbers() []family.Number {
	var list []family.Number
	for a := range g.d {
		list = append(list, family.Number{Name: "mean", From: a, To: a})
	}
	for a := range g.d {
		for c := range g.d {
			name := "covariance"
			if a == c {
				name = "variance"
			}
			list = append(list, family.Number{Name: name, From: a, To: c})
		}
	}
	return list
}

// Deviations are those of the mean, √(Σ_jj/n), and of the covariance, √((Σ_iiΣ_jj + Σ_ij²)/n),
// with all rows instead of n for a tied covariance.
func (g gaussian) Deviations(xi, sums []float64, total float64, dst []float64) {
	d, n := g.d, sums[0]
	_, cov := g.split(xi, 0)
	mean, second := g.split(dst, 0)
	for a := range d {
		mean[a] = math.Sqrt(cov[a*d+a] / n)
	}
	if g.tied {
		n = total
	}
	for a := range d {
		for c := range d {
			// Without squares of variances, which may be above 1e154.
			second[a*d+c] = math.Hypot(math.Sqrt(cov[a*d+a])*math.Sqrt(cov[c*d+c]), cov[a*d+c]) / math.Sqrt(n)
		}
	}
}

func (g gaussian) Contrast(xi, pooled, dst []float64) {
	mean, cov := g.split(xi, 0)
	mean0, cov0 := g.split(pooled, 0)
	for a := range dst {
		dst[a] = normalDivergence(mean[a], cov[a*g.d+a], mean0[a], cov0[a*g.d+a])
	}
}

// normalDivergence is KL(N(m,v)‖N(m0,v0)).
func normalDivergence(m, v, m0, v0 float64) float64 {
	r, z := v/v0, m-m0
	return max(0, (r-1-math.Log(r)+z*z/v0)/2)
}

func (g gaussian) Sample(xi []float64, rng *rand.Rand, x []float64) {
	mean, cov := g.split(xi, 0)
	u := append([]float64(nil), cov...)
	if _, ok := linalg.NewCholesky(g.d, u); !ok {
		panic("family: a covariance is not positive definite") // Check lets none through
	}
	copy(x, mean)
	for a := range g.d {
		z := rng.NormFloat64()
		for c := a; c < g.d; c++ {
			x[c] += z * u[a*g.d+c]
		}
	}
}

// Valid reports whether the covariance is symmetric.
func (g gaussian) Valid(xi []float64) bool {
	_, cov := g.split(xi, 0)
	for a := range g.d {
		for c := range a {
			if math.Abs(cov[a*g.d+c]-cov[c*g.d+a]) > 1e-9*math.Sqrt(cov[a*g.d+a]*cov[c*g.d+c]) {
				return false
			}
		}
	}
	return true
}
