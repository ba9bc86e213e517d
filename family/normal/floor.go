package normal

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

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
		if !g.above(cov, 1, w.Floor) && (!g.above(cov, -1, w.Floor) || !g.raise(cov, w.Floor)) {
			return variances.Singular()
		}
	}
	return nil
}

// above says whether Σ − times·diag(floor) is positive definite, by a Cholesky factorisation in the strictly lower
// triangle of the covariance, which is scratch meanwhile.
func (g gaussian) above(cov []float64, times float64, floor []float64) bool {
	d := g.d
	defer linalg.Mirror(d, cov)
	for a := range d {
		row := cov[a*d : a*d+a]
		rest := cov[a*d+a] - times*floor[a] - linalg.Dot(row, row)
		if !(rest > 0) {
			return false
		}
		root := math.Sqrt(rest)
		for c := a + 1; c < d; c++ {
			cov[c*d+a] = (cov[a*d+c] - linalg.Dot(cov[c*d:c*d+a], row)) / root
		}
	}
	return true
}

// raise moves the covariance S, of which ln|Σ| + tr(Σ⁻¹S) has its minimum at Σ = S, to the minimum
// among Σ ⪰ F = diag(floor): of F^−½SF^−½ it raises the eigenvalues below 1 to 1. (Both terms are
// those of the eigenvalues, which for given ones are least when the vectors are those of S.)
func (g gaussian) raise(cov, floor []float64) (ok bool) {
	d := g.d
	values, vectors, ok := g.inMetric(cov, 1, floor)
	for i, v := range values {
		lift := 2 - v // v is 1 more than the eigenvalue
		if !(lift > 0) {
			continue
		}
		for a := range d {
			for c := a; c < d; c++ {
				cov[a*d+c] += lift * (math.Sqrt(floor[a]) * vectors.At(a, i)) * (math.Sqrt(floor[c]) * vectors.At(c, i))
			}
		}
	}
	linalg.Mirror(d, cov)
	return ok
}

// inMetric has the eigenvalues and vectors of F^−½ΣF^−½ + more·I, as the squared singular values of F^−½ times a
// Cholesky factor: so small ones beside large ones keep their digits.
func (g gaussian) inMetric(
	cov []float64, more float64, floor []float64,
) (values []float64, vectors *mat.Dense, ok bool) {
	d, root := g.d, slices.Clone(cov)
	for a := range d {
		root[a*d+a] += more * floor[a]
	}
	if _, ok := linalg.NewCholesky(d, root); !ok {
		return nil, nil, false
	}
	factor := mat.NewDense(d, d, nil)
	for a := range d {
		for c := range a + 1 {
			factor.Set(a, c, root[c*d+a]/math.Sqrt(floor[a]))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(factor, mat.SVDFullU) {
		return nil, nil, false
	}
	values, vectors = svd.Values(nil), new(mat.Dense)
	for i, v := range values {
		values[i] = v * v
	}
	svd.UTo(vectors)
	return values, vectors, true
}

// onFloor are the eigenvalues and vectors of F^−½ΣF^−½ of a covariance that lies on its floor, where
// some of the eigenvalues are 1 but for rounding: then they are 1, and ln|Σ| is exact. Rounding of Σ's
// entries is multiplied by its condition, which is up to 1e10 there: in ln|Σ| it would hide what
// iterations gain. ok is false where nothing is on the floor.
func (g gaussian) onFloor(cov, floor []float64) (values []float64, vectors *mat.Dense, logDet float64, ok bool) {
	d := g.d
	if g.above(slices.Clone(cov), 1.001, floor) {
		return nil, nil, 0, false
	}
	if values, vectors, ok = g.inMetric(cov, 0, floor); !ok {
		return nil, nil, 0, false
	}
	ok = false
	for i := range values {
		scale := 0.0 // of the terms that cancel in the eigenvalue
		for a := range d {
			scale += math.Abs(vectors.At(a, i)) * math.Sqrt(cov[a*d+a]/floor[a])
		}
		if math.Abs(values[i]-1) < variances.Ulps*scale*scale {
			values[i], ok = 1, true
		}
		logDet += math.Log(values[i]) + math.Log(floor[i])
	}
	return values, vectors, logDet, ok
}

// narrow is the ratio of a column's variance to what the columns before or after it leave of it, from which
// on it is worth while to look at the floor.
const narrow = 1e3

// Refine removes the rounding from the score of a class on its floor: R is the triangular factor of Λ^−½VᵀF^−½.
func (g gaussian) Refine(w *family.Pooled, xi, score []float64) {
	if len(w.Floor) == 0 {
		return
	}
	d := g.d
	_, cov := g.split(xi, 0)
	_, root := g.split(score, 1)
	most := 0.0
	for a := range d {
		most = max(most, root[a*d+a]*root[a*d+a]*cov[a*d+a])
	}
	if most < narrow {
		return
	}
	values, vectors, logDet, ok := g.onFloor(cov, w.Floor)
	if !ok {
		return
	}
	half := mat.NewDense(d, d, nil)
	for i, v := range values {
		for a := range d {
			half.Set(i, a, vectors.At(a, i)/math.Sqrt(v)/math.Sqrt(w.Floor[a]))
		}
	}
	var qr mat.QR
	var r mat.Dense
	qr.Factorize(half)
	qr.RTo(&r)
	for a := range d {
		for c := a; c < d; c++ {
			root[a*d+c] = math.Copysign(1, r.At(a, a)) * r.At(a, c)
		}
	}
	score[0] = -(logDet + float64(d)*math.Log(2*math.Pi)) / 2
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
