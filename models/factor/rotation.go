package factor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Rotated is a solution of factor analysis in rotated axes: with f = Basis⁻¹z, x = μ + (A·Basis)f + e has the same
// distribution as x = μ + Az + e. Factors are in descending order of their sums of squares, each with the sign that
// makes the sum of its loadings positive.
type Rotated struct {
	Loadings *mat.Dense // D×K, A·Basis, the pattern: the change of a column for each standard deviation of a factor
	Basis    *mat.Dense // K×K, orthogonal if the factors stay uncorrelated
	// Correlations of the factors, K×K: (BasisᵀBasis)⁻¹, which is I if they stay uncorrelated.
	Correlations *mat.SymDense
}

// Starts of a rotation: the loadings as they are, and random rotations of them. Criteria have local maxima.
const (
	rotationStarts = 10
	rotationSeed   = 1
)

// better is how much a start must gain, relative to the best before, to be preferred.
const better = 1e-9

// Varimax returns the orthogonal rotation of loadings A, D×K, that maximises the variance of the squared loadings of
// each factor, after each row has been scaled to length 1 (Kaiser 1958, Psychometrika 23). It keeps the best of
// several starts. Rows of zeros are not scaled.
func Varimax(loadings mat.Matrix) (*Rotated, error) {
	a, err := checkLoadings(loadings)
	if err != nil {
		return nil, err
	}
	basis := varimax(a)
	var rotated mat.Dense
	rotated.Mul(a, basis)
	return arrange(&rotated, basis)
}

// Promax returns the oblique rotation towards the varimax loadings raised to a power (Hendrickson & White 1964,
// British Journal of Statistical Psychology 17). Small loadings become smaller, and the factors correlate. The power
// must be at least 1; 0 selects 4.
func Promax(loadings mat.Matrix, power float64) (*Rotated, error) {
	if power == 0 {
		power = 4
	}
	if !(power >= 1) || math.IsInf(power, 0) {
		return nil, fmt.Errorf("factor: the power of promax is %v; must be 1 or more, 0 for 4", power)
	}
	a, err := checkLoadings(loadings)
	if err != nil {
		return nil, err
	}
	if err := determined(a, "promax"); err != nil {
		return nil, err
	}
	basis := varimax(a)
	var rotated, target, u mat.Dense
	rotated.Mul(a, basis)
	scale := mat.Norm(&rotated, 2) // a power of it would overflow
	target.Apply(func(_, _ int, v float64) float64 {
		return math.Copysign(math.Pow(math.Abs(v)/scale, power), v)
	}, &rotated)
	unitColumns(&target)
	if err := u.Solve(&rotated, &target); err != nil && !isCondition(err) {
		return nil, fmt.Errorf("factor: promax: %w", err)
	}
	unitColumns(&u)
	correlations, err := correlationsOf(&u)
	if err != nil {
		return nil, err
	}
	_, k := u.Dims()
	for j := range k { // factors of variance 1
		column := u.ColView(j).(*mat.VecDense)
		column.ScaleVec(math.Sqrt(correlations.At(j, j)), column)
	}
	basis.Mul(basis, &u)
	rotated.Mul(a, basis)
	return arrange(&rotated, basis)
}

// Oblimin returns the oblique rotation that minimises ¼ Σ_{j≠l} (Σ_i λ²_ij λ²_il − γ/D Σ_i λ²_ij Σ_i λ²_il), direct
// oblimin (Jennrich & Sampson 1966, Psychometrika 31), by gradient projection (Jennrich 2002, Psychometrika 67;
// Bernaards & Jennrich 2005) from several starts, of which the best is kept. γ = 0 is quartimin; the more negative γ
// is, the less the factors correlate. It returns an error for γ > 0, for which the criterion has no minimum.
func Oblimin(loadings mat.Matrix, gamma float64) (*Rotated, error) {
	if !(gamma <= 0) || math.IsInf(gamma, 0) {
		return nil, fmt.Errorf("factor: γ of oblimin is %v; must be 0 (quartimin) or negative", gamma)
	}
	a, err := checkLoadings(loadings)
	if err != nil {
		return nil, err
	}
	if err := determined(a, "oblimin"); err != nil {
		return nil, err
	}
	_, k := a.Dims()
	scale := mat.Norm(a, 2) // a power of it would overflow
	a.Scale(1/scale, a)
	var best *oblique
	for t := range initialRotations(k) {
		o := newOblique(a, gamma, t)
		o.minimise()
		if o.converged && (best == nil || o.value < best.value-better*math.Abs(best.value)) {
			best = o
		}
	}
	if best == nil {
		return nil, errors.New("factor: oblimin has not converged from any start: take varimax or promax")
	}
	var basis, rotated mat.Dense
	basis.CloneFrom(best.inverse.T())
	rotated.Scale(scale, &best.loadings)
	return arrange(&rotated, &basis)
}

// checkLoadings returns a copy of finite loadings of one factor or more.
func checkLoadings(loadings mat.Matrix) (*mat.Dense, error) {
	if loadings == nil {
		return nil, errors.New("factor: no loadings to rotate")
	}
	d, k := loadings.Dims()
	if d == 0 || k == 0 {
		return nil, fmt.Errorf("factor: %d×%d loadings cannot be rotated: there must be one factor or more", d, k)
	}
	for i := range d {
		for j := range k {
			if v := loadings.At(i, j); v-v != 0 {
				return nil, fmt.Errorf("factor: the loading of column %d on factor %d is %v; must be finite", i+1, j+1, v)
			}
		}
	}
	return mat.DenseCopyOf(loadings), nil
}

// leastSingular is the smallest singular value, relative to the largest, of loadings that count as independent.
const leastSingular = 1e-10

// determined is an error where columns of loadings depend on one another: oblique axes are not determined then.
func determined(a *mat.Dense, name string) error {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		return errors.New("factor: the loadings have no singular values")
	}
	_, k := a.Dims()
	values := svd.Values(nil)
	rank := 0
	for _, v := range values {
		if v > leastSingular*values[0] {
			rank++
		}
	}
	if rank < k {
		return fmt.Errorf(
			"factor: %s needs independent factors, and the loadings of %d have rank %d: lower K, or take varimax", name, k, rank,
		)
	}
	return nil
}

func isCondition(err error) bool {
	var c mat.Condition
	return errors.As(err, &c)
}

// initialRotations yields rotations of K axes.
func initialRotations(k int) func(yield func(*mat.Dense) bool) {
	return func(yield func(*mat.Dense) bool) {
		rng := rand.New(rand.NewPCG(rotationSeed, uint64(k)))
		for s := range rotationStarts {
			t := mat.NewDense(k, k, nil)
			for i := range k {
				for j := range k {
					t.Set(i, j, rng.NormFloat64())
				}
			}
			var qr mat.QR
			qr.Factorize(t)
			qr.QTo(t)
			if s == 0 {
				t.Zero()
				for i := range k {
					t.Set(i, i, 1)
				}
			}
			if !yield(t) || k == 1 {
				return
			}
		}
	}
}

// arrange orders the factors and their signs.
func arrange(loadings, basis *mat.Dense) (*Rotated, error) {
	d, k := loadings.Dims()
	order, squares := make([]int, k), make([]float64, k)
	column := make([]float64, d)
	sign := make([]float64, k)
	for j := range k {
		mat.Col(column, j, loadings)
		order[j], squares[j] = j, floats.Dot(column, column)
		sign[j] = 1
		if sum := floats.Sum(column); sum < 0 || sum == 0 && column[0] < 0 {
			sign[j] = -1
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(squares[j], squares[i]) })
	r := &Rotated{Loadings: mat.NewDense(d, k, nil), Basis: mat.NewDense(k, k, nil)}
	for to, from := range order {
		for i := range d {
			r.Loadings.Set(i, to, sign[from]*loadings.At(i, from))
		}
		for i := range k {
			r.Basis.Set(i, to, sign[from]*basis.At(i, from))
		}
	}
	var err error
	r.Correlations, err = correlationsOf(r.Basis)
	return r, err
}

// correlationsOf is (UᵀU)⁻¹, the covariance of the factors U⁻¹z.
func correlationsOf(u *mat.Dense) (*mat.SymDense, error) {
	_, k := u.Dims()
	var product mat.SymDense
	product.SymOuterK(1, u.T())
	var chol mat.Cholesky
	if !chol.Factorize(&product) {
		return nil, errors.New("factor: the rotation is singular: lower K, or take varimax")
	}
	phi := mat.NewSymDense(k, nil)
	if err := chol.InverseTo(phi); err != nil && !isCondition(err) {
		return nil, err
	}
	return phi, nil
}

// ---- Varimax

// varimax returns the best orthogonal basis.
func varimax(a *mat.Dense) *mat.Dense {
	d, k := a.Dims()
	rows := mat.DenseCopyOf(a)
	for i := range d {
		if norm := floats.Norm(rows.RawRowView(i), 2); norm > 0 {
			floats.Scale(1/norm, rows.RawRowView(i))
		}
	}
	var best *mat.Dense
	most := math.Inf(-1)
	for t := range initialRotations(k) {
		var z mat.Dense
		z.Mul(rows, t)
		if v := turn(&z, t); best == nil || v > most+better*math.Abs(most) {
			best, most = t, v
		}
	}
	return best
}

// turn maximises the criterion Σ_j [Σ_i z⁴ − (Σ_i z²)²/D] by Kaiser's rotations in planes, each of which is the
// maximum in its plane, until none is left to make. It returns the criterion; t is turned along.
func turn(z, t *mat.Dense) float64 {
	const (
		least  = 1e-13 // radians
		sweeps = 1000
	)
	d, k := z.Dims()
	for range sweeps {
		largest := 0.0
		for p := range k {
			for q := p + 1; q < k; q++ {
				angle := planeAngle(z, p, q)
				largest = max(largest, math.Abs(angle))
				rotatePlane(z, p, q, angle)
				rotatePlane(t, p, q, angle)
			}
		}
		if largest <= least {
			break
		}
	}
	value := 0.0
	for j := range k {
		fourth, square := 0.0, 0.0
		for i := range d {
			s := z.At(i, j) * z.At(i, j)
			fourth, square = fourth+s*s, square+s
		}
		value += fourth - square*square/float64(d)
	}
	return value
}

// planeAngle is the angle by which axes p and q turn to the maximum in their plane: with u = x² − y² and v = 2xy,
// tan 4φ = [2Σuv − 2ΣuΣv/D] / [Σ(u² − v²) − ((Σu)² − (Σv)²)/D].
func planeAngle(z *mat.Dense, p, q int) float64 {
	d, _ := z.Dims()
	var sumU, sumV, squares, product, size float64
	for i := range d {
		x, y := z.At(i, p), z.At(i, q)
		u, v := x*x-y*y, 2*x*y
		sumU, sumV = sumU+u, sumV+v
		squares += u*u - v*v
		product += 2 * u * v
		size += u*u + v*v
	}
	n := float64(d)
	above, below := product-2*sumU*sumV/n, squares-(sumU*sumU-sumV*sumV)/n
	if math.Hypot(above, below) <= 1e-14*size { // no direction is better than another
		return 0
	}
	return math.Atan2(above, below) / 4
}

func rotatePlane(z *mat.Dense, p, q int, angle float64) {
	sin, cos := math.Sincos(angle)
	d, _ := z.Dims()
	for i := range d {
		x, y := z.At(i, p), z.At(i, q)
		z.Set(i, p, cos*x+sin*y)
		z.Set(i, q, cos*y-sin*x)
	}
}

// ---- Oblimin

// oblique is a search for T, K×K with columns of length 1, the factors in terms of z: loadings are A(Tᵀ)⁻¹.
type oblique struct {
	a     *mat.Dense
	gamma float64

	t, inverse         mat.Dense // T and T⁻¹
	loadings, gradient mat.Dense // Λ = A T⁻ᵀ, and that of the criterion in T
	value              float64
	converged          bool
}

func newOblique(a *mat.Dense, gamma float64, t *mat.Dense) *oblique {
	o := &oblique{a: a, gamma: gamma}
	o.move(t)
	return o
}

// move goes to T, and reports whether that is regular.
func (o *oblique) move(t *mat.Dense) bool {
	var inverse mat.Dense
	if err := inverse.Inverse(t); err != nil {
		return false
	}
	o.t.CloneFrom(t)
	o.inverse.CloneFrom(&inverse)
	o.loadings.Mul(o.a, inverse.T())
	d, k := o.loadings.Dims()
	var squares, slope mat.Dense
	squares.MulElem(&o.loadings, &o.loadings)
	slope.CloneFrom(&squares)
	for i := range d { // Σ of the other factors' squares
		row := slope.RawRowView(i)
		sum := floats.Sum(row)
		for j, v := range row {
			row[j] = sum - v
		}
	}
	for j := range k {
		mean := mat.Sum(slope.ColView(j)) / float64(d)
		for i := range d {
			slope.Set(i, j, slope.At(i, j)-o.gamma*mean)
		}
	}
	var terms, product mat.Dense
	terms.MulElem(&squares, &slope)
	o.value = mat.Sum(&terms) / 4
	slope.MulElem(&o.loadings, &slope) // ∂/∂Λ
	product.Mul(o.loadings.T(), &slope)
	o.gradient.Mul(&product, &inverse)
	o.gradient.CloneFrom(o.gradient.T())
	o.gradient.Scale(-1, &o.gradient)
	return true
}

// projected is the gradient along the columns of length 1, and its norm.
func (o *oblique) projected() (*mat.Dense, float64) {
	g := mat.DenseCopyOf(&o.gradient)
	k, _ := g.Dims()
	for j := range k {
		t, column := o.t.ColView(j), g.ColView(j).(*mat.VecDense)
		column.AddScaledVec(column, -mat.Dot(t, column), t)
	}
	return g, mat.Norm(g, 2)
}

// minimise makes steps along the projected gradient until that is 0 to rounding.
func (o *oblique) minimise() {
	const (
		still      = 1e-11 // of the gradient, where the loadings have norm 1
		enough     = 1e-7  // where rounding hides what a step gains
		iterations = 20000
		halvings   = 40
	)
	step := 1.0
	for range iterations {
		g, norm := o.projected()
		if norm < still {
			o.converged = true
			return
		}
		from, value := mat.DenseCopyOf(&o.t), o.value
		step *= 2
		reached := false
		for range halvings {
			reached = o.move(shifted(from, g, step)) && value-o.value > norm*norm*step/2
			if reached {
				break
			}
			step /= 2
		}
		if !reached {
			o.move(from)
			o.converged = norm < enough
			return
		}
	}
	_, norm := o.projected()
	o.converged = norm < enough
}

// shifted is T − step·G with columns of length 1.
func shifted(t, g *mat.Dense, step float64) *mat.Dense {
	var to mat.Dense
	to.Scale(-step, g)
	to.Add(t, &to)
	unitColumns(&to)
	return &to
}

// unitColumns gives columns length 1.
func unitColumns(a *mat.Dense) {
	_, k := a.Dims()
	for j := range k {
		column := a.ColView(j).(*mat.VecDense)
		column.ScaleVec(1/mat.Norm(column, 2), column)
	}
}
