package normal

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
)

// dependentFloor is the share of its variance that the floor of a column is at least which others determine: it
// says nothing that they do not, and beyond 1e6 the condition of all covariances would cost the digits that
// convergence is judged by.
const dependentFloor = 1e-6

// errRecordedDependent is what [family.Plan.Doubts] says of such columns.
var errRecordedDependent = errors.New(
	"is a linear combination of other columns, up to the rounding of its values: drop it, or take a diagonal covariance",
)

// ---- Full and tied

// Spread is the diagonal.
func (g gaussian) Spread(params []float64) []float64 {
	if g.floor == 0 {
		return nil
	}
	_, cov := g.split(params, 0)
	variances := make([]float64, g.d)
	for a := range variances {
		variances[a] = cov[a*g.d+a]
	}
	return variances
}

func (g gaussian) SetFloor(steps []float64, w *family.Pooled) error {
	if g.floor == 0 {
		return nil
	}
	mean, cov := g.split(w.Parameters, 0)
	_, scale := g.split(w.Center(), 0)
	for a := range g.d {
		floor, v, err := variances.FloorOf(a, g.floor, steps[a], mean[a], cov[a*g.d+a], scale[a*g.d+a])
		if err != nil {
			return err
		}
		if w.Floor[a] = floor; v != cov[a*g.d+a] { // a constant column
			for c := range g.d {
				cov[a*g.d+c], cov[c*g.d+a] = 0, 0
			}
			cov[a*g.d+a] = v
		}
	}
	for _, err := range g.Doubts(w) {
		var fault *blocks.DataError
		if errors.As(err, &fault) && errors.Is(err, errRecordedDependent) {
			w.Floor[fault.Column] = max(w.Floor[fault.Column], dependentFloor*scale[fault.Column*(g.d+1)])
		}
	}
	return g.Bound(w, family.Table{K: 1, Stride: 0, Data: w.Parameters})
}

func (g gaussian) Bound(w *family.Pooled, params family.Table) error {
	if g.floor == 0 {
		return nil
	}
	size := g.d + g.d*g.d
	_, first := g.split(params.Row(0, size), 0)
	for k := range params.K {
		_, cov := g.split(params.Row(k, size), 0)
		if g.tied && k > 0 {
			copy(cov, first)
			continue
		}
		// Rounding does not reach below −F: what does comes from extrapolated sums, which belong to no rows.
		if !linalg.Above(g.d, cov, w.Floor, 1) && (!linalg.Above(g.d, cov, w.Floor, -1) || !g.raise(cov, w.Floor)) {
			return variances.Singular()
		}
	}
	return nil
}

// raise moves the covariance S, of which ln|Σ| + tr(Σ⁻¹S) has its minimum at Σ = S, to the minimum
// among Σ ⪰ F = diag(floor): of F^−½SF^−½ it raises the eigenvalues below 1 to 1. (Both terms are
// those of the eigenvalues, which for given ones are least when the vectors are those of S.)
func (g gaussian) raise(cov, floor []float64) (ok bool) {
	d, root := g.d, slices.Clone(cov)
	for a := range d {
		root[a*d+a] += floor[a]
	}
	if _, ok = linalg.PrecisionRoot(d, root, root); !ok {
		return false
	}
	near, ok := g.inMetric(root, floor)
	if !ok {
		return false
	}
	vectors := near.vectors[:0]
	for i, v := range near.values { // 1/v is 1 more than the eigenvalue
		lift := 2 - 1/v
		if !(lift > 0) {
			break
		}
		vectors = near.vectors[:(i+1)*d]
		for a, u := range linalg.Row(vectors, i, d) {
			vectors[i*d+a] = math.Sqrt(lift) * math.Sqrt(floor[a]) * u
		}
	}
	addGram(d, 1, vectors, cov)
	return true
}

// addGram adds αXᵀX of rows of d columns to dst, of order d.
func addGram(d int, alpha float64, rows, dst []float64) {
	x := linalg.General(len(rows)/d, d, rows)
	if x.Rows > 0 {
		linalg.MulSerial(true, false, alpha, x, x, 1, linalg.General(d, d, dst))
	}
	linalg.Mirror(d, dst)
}

// metric is a covariance beside its floor F, by the inverse of F^−½ΣF^−½: of the eigenvalues of this those near 1 keep
// their digits beside ones of 1e10.
type metric struct {
	root            []float64 // upper triangular B, BᵀB = F^½Σ⁻¹F^½
	values, vectors []float64 // of BᵀB: descending, and in rows
}

// inMetric takes R, RᵀR = Σ⁻¹, which becomes B.
func (g gaussian) inMetric(root, floor []float64) (near metric, ok bool) {
	d := g.d
	for a := range d {
		for c := a; c < d; c++ {
			root[a*d+c] *= math.Sqrt(floor[c])
		}
	}
	var axes linalg.Axes
	near = metric{root: root, vectors: make([]float64, d*d)}
	product(d, true, false, root, root, near.vectors)
	ok = axes.Find(d, near.vectors, true)
	near.values = axes.Values
	return near, ok
}

// onFloor keeps of the eigenvalues and vectors of a covariance, given by its R, those that are 1 but for rounding:
// there it lies on its floor, and ln|Σ| is exact with a 1 in their place. Rounding of Σ's entries is multiplied by its
// condition, which is up to 1e10 there: in ln|Σ| it would hide what iterations gain. ok is false where nothing is on
// the floor.
func (g gaussian) onFloor(cov, root, floor []float64) (near metric, ok bool) {
	d := g.d
	if linalg.Above(d, slices.Clone(cov), floor, 1.001) {
		return near, false
	}
	if near, ok = g.inMetric(slices.Clone(root), floor); !ok {
		return near, false
	}
	kept := 0
	for i, v := range near.values {
		vector, scale := linalg.Row(near.vectors, i, d), 0.0 // of the terms that cancel in the eigenvalue
		for a, u := range vector {
			scale += math.Abs(u) * math.Sqrt(cov[a*d+a]/floor[a])
		}
		if math.Abs(1/v-1) < variances.Ulps*scale*scale {
			near.values[kept] = v
			copy(linalg.Row(near.vectors, kept, d), vector)
			kept++
		}
	}
	near.values, near.vectors = near.values[:kept], near.vectors[:kept*d]
	return near, kept > 0
}

// excess is what rounding has added to ln|Σ|.
func (near metric) excess() (sum float64) {
	for _, v := range near.values {
		sum -= math.Log(v)
	}
	return sum
}

// narrow is the ratio of a column's variance to what the columns after it leave of it, from which on it is worth
// while to look at the floor.
const narrow = 1e3

// narrowest is the highest such ratio of a covariance, given by its R too.
func (g gaussian) narrowest(cov, root []float64) (most float64) {
	for i := 0; i < g.d*g.d; i += g.d + 1 {
		most = max(most, root[i]*root[i]*cov[i])
	}
	return most
}

// Refine removes the rounding from the score of a class on its floor. With w = Bu of its eigenvalues v, R becomes UR,
// UᵀU = I + Σ(1/v − 1)wwᵀ/v.
func (g gaussian) Refine(w *family.Pooled, xi, score []float64) {
	if len(w.Floor) == 0 {
		return
	}
	d := g.d
	_, cov := g.split(xi, 0)
	_, root := g.split(score, 1)
	if g.narrowest(cov, root) < narrow {
		return
	}
	near, ok := g.onFloor(cov, root, w.Floor)
	if !ok {
		return
	}
	rows := linalg.General(len(near.values), d, make([]float64, len(near.vectors)))
	linalg.MulSerial(false, true, 1, linalg.General(rows.Rows, d, near.vectors), linalg.General(d, d, near.root), 0, rows)
	scaled := slices.Clone(rows.Data)
	for i, v := range near.values {
		linalg.Scale((1/v-1)/v, linalg.Row(scaled, i, d))
	}
	upper := near.root
	linalg.MulSerial(true, false, 1, linalg.General(rows.Rows, d, scaled), rows, 0, linalg.General(d, d, upper))
	for a := range d {
		upper[a*d+a]++
	}
	if _, ok := linalg.NewCholesky(d, upper); !ok {
		return
	}
	for a := range d {
		clear(upper[a*d : a*d+a])
	}
	product(d, false, false, upper, slices.Clone(root), root)
	score[0] += near.excess() / 2
}

// observed is the covariance of the table without a floor.
func (g gaussian) observed(w *family.Pooled) []float64 {
	d, n := g.d, w.Sums[0]
	first, second := g.split(w.Sums, 1)
	cov := make([]float64, d*d)
	for a := range d {
		for c := a; c < d; c++ {
			cov[a*d+c] = second[a*d+c]/n - first[a]/n*(first[c]/n)
		}
	}
	linalg.Mirror(d, cov)
	return cov
}

// dropFloor clears the rows of R, of the table, in whose direction the table has less than a thousandth of its
// floor.
func (g gaussian) dropFloor(root []float64, w *family.Pooled) {
	d, cov := g.d, g.observed(w)
	if _, all := g.split(w.Parameters, 0); slices.Equal(cov, all) {
		return
	}
	for a := range d {
		row, variance := root[a*d:(a+1)*d], 0.0
		for c := a; c < d; c++ {
			variance += row[c] * linalg.Dot(row[a:], cov[c*d+a:(c+1)*d])
		}
		if variance < 1e-3 {
			clear(row)
		}
	}
}

// Doubts eliminates one column after the other from the covariance of the table.
func (g gaussian) Doubts(w *family.Pooled) (list []error) {
	d, cov := g.d, g.observed(w)
	mean, _ := g.split(w.Parameters, 0)
	var before []int // columns that those before them do not determine
	for a := range d {
		v, rest := cov[a*d+a], cov[a*d+a]
		for _, b := range before {
			rest -= cov[a*d+b] * cov[a*d+b]
		}
		switch {
		case variances.Constant(mean[a], v):
			list = append(list, blocks.FaultyColumn(a, variances.ErrNoSpread))
		case !(v > w.Floor[a]):
			list = append(list, blocks.FaultyColumn(a, variances.ErrWithinStep))
		case !(rest > w.Floor[a]):
			list = append(list, blocks.FaultyColumn(a, errRecordedDependent))
		default:
			for c := a + 1; c < d; c++ {
				for _, b := range before {
					cov[a*d+c] -= cov[a*d+b] * cov[c*d+b]
				}
				cov[c*d+a] = cov[a*d+c] / math.Sqrt(rest)
			}
			before = append(before, a)
		}
	}
	return list
}

// ---- Diagonal and spherical

// Spread is the variance of each column's group.
func (g isotropic) Spread(params []float64) []float64 {
	if g.floor == 0 {
		return nil
	}
	_, variance := g.moments(params)
	return slices.Clone(g.spread(variance, make([]float64, g.columns())))
}

// SetFloor ignores constant columns if others share their variance.
func (g isotropic) SetFloor(steps []float64, w *family.Pooled) error {
	if g.floor == 0 {
		return nil
	}
	mean, variance := g.moments(w.Parameters)
	_, scale := g.moments(w.Center())
	for i := range variance {
		steps, shared := g.of(steps, i), g.width > 1
		if shared && !slices.ContainsFunc(steps, func(step float64) bool { return !math.IsInf(step, 1) }) {
			return blocks.FaultyColumn(i*g.width, variances.ErrAllConstant)
		}
		for j, step := range steps {
			column := i*g.width + j
			if shared && math.IsInf(step, 1) {
				continue
			}
			floor, v, err := variances.FloorOf(column, g.floor, step, mean[column], variance[i], scale[i])
			if err != nil {
				return err
			}
			w.Floor[column], variance[i] = floor, v
		}
	}
	return g.Bound(w, family.Table{K: 1, Stride: 0, Data: w.Parameters})
}

// Bound raises a variance to the highest floor of its columns: σ²I ⪰ diag(floor).
func (g isotropic) Bound(w *family.Pooled, params family.Table) error {
	if g.floor == 0 {
		return nil
	}
	for k := range params.K {
		_, variance := g.moments(params.Row(k, g.columns()+g.groups))
		for i, v := range variance {
			floor := floats.Max(g.of(w.Floor, i))
			if !(v > -floor) { // of extrapolated sums, which belong to no rows
				return variances.Collapsed(i * g.width)
			}
			variance[i] = max(v, floor)
		}
	}
	return nil
}

func (g isotropic) Doubts(w *family.Pooled) (list []error) {
	n, first, second := g.split(w.Sums)
	mean, _ := g.moments(w.Parameters)
	for a, floor := range w.Floor {
		if g.width > 1 {
			if floor == 0 {
				list = append(list, blocks.FaultyColumn(a, variances.ErrNoSpread))
			}
			continue
		}
		shift := first[a] / n[a]
		switch v := second[a]/n[a] - shift*shift; {
		case variances.Constant(mean[a], v):
			list = append(list, blocks.FaultyColumn(a, variances.ErrNoSpread))
		case !(v > floor):
			list = append(list, blocks.FaultyColumn(a, variances.ErrWithinStep))
		}
	}
	return list
}
