package linalg

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A SymmetricEigen is the eigen-decomposition of a symmetric matrix A of order n. All
// eigenvalues are found at once, by Householder reflections A = QTQᵀ to a tridiagonal T
// (Golub & Van Loan, Matrix Computations, section 8.3) and the QL method without vectors, and
// vectors on demand: a few of them by inverse iteration on T, which is a small part of the work of
// accumulating all of them in the QL method.
type SymmetricEigen struct {
	// Values are the eigenvalues, descending, within about n·ε·‖A‖.
	Values []float64

	n           int
	scale       float64   // the rest is about A/scale
	diagonal    []float64 // of T, n
	offDiagonal []float64 // its neighbours, n − 1
	reflectors  []float64 // row j has the vector of reflection j from column j + 1 on, where it is 1
	tau         []float64 // n − 2: reflection j is I − tau·vvᵀ
	vectors     *mat.Dense
}

// small is the order below which all vectors are found with the values.
const small = 128

// NewSymmetricEigen decomposes the n×n matrix in a, whose upper triangle counts. It keeps a as
// work space. ok is false when a has entries that are not finite, or, which is not known to
// happen, when the QL method does not converge.
func NewSymmetricEigen(n int, a []float64) (e *SymmetricEigen, ok bool) {
	e = &SymmetricEigen{n: n, scale: 1}
	if !e.normalize(a) {
		return nil, false
	}
	if n < small {
		return e, e.full(a)
	}
	e.reflectors = a
	e.tridiagonalize()
	underflow(e.diagonal)
	underflow(e.offDiagonal)
	e.Values = slices.Clone(e.diagonal)
	if !(gonum.Implementation{}).Dsterf(n, e.Values, slices.Clone(e.offDiagonal)) {
		return nil, false
	}
	slices.Reverse(e.Values)
	Scale(e.scale, e.Values)
	return e, true
}

// normalize divides the upper triangle by about its largest entry.
func (e *SymmetricEigen) normalize(a []float64) bool {
	n, largest := e.n, 0.0
	for i := range n {
		for _, v := range a[i*n+i : (i+1)*n] {
			largest = max(largest, math.Abs(v)) // NaN stays
		}
	}
	if math.IsNaN(largest) || math.IsInf(largest, 0) {
		return false
	}
	if largest == 0 {
		return true
	}
	_, exponent := math.Frexp(largest)
	e.scale = math.Ldexp(1, min(max(exponent, -1021), 1023)) // and its inverse are finite
	for i := range n {
		Scale(1/e.scale, a[i*n+i:(i+1)*n])
	}
	return true
}

// full finds values and all vectors of the normalized matrix, as LAPACK's dsyev does, but for tiny numbers of T: of
// blocks below 1e-123 gonum's Dsteqr has vectors as long as 1e123. The vectors take the place of the matrix.
func (e *SymmetricEigen) full(a []float64) bool {
	n, routines := e.n, gonum.Implementation{}
	e.Values, e.offDiagonal, e.tau = make([]float64, n), make([]float64, max(0, n-1)), make([]float64, max(0, n-1))
	work := make([]float64, max(1, 2*n-2, n*small/2))
	routines.Dsytrd(blas.Upper, n, a, n, e.Values, e.offDiagonal, e.tau, work, len(work))
	routines.Dorgtr(blas.Upper, n, a, n, e.tau, work, len(work))
	underflow(e.offDiagonal)
	if !routines.Dsteqr(lapack.EVOrig, n, e.Values, e.offDiagonal, a, n, work) {
		return false
	}
	slices.Reverse(e.Values)
	Scale(e.scale, e.Values)
	e.vectors = mat.NewDense(n, n, a)
	for i := range n {
		slices.Reverse(e.vectors.RawRowView(i))
	}
	return true
}

// underflow takes tiny numbers of T for 0, where its largest is about 1: gonum's Dsterf and Dsteqr fail on blocks of a
// tiny norm.
func underflow(part []float64) {
	for i, v := range part {
		if math.Abs(v) < 0x1p-400 {
			part[i] = 0
		}
	}
}

// tridiagonalize reduces the upper triangle in reflectors, row after row, in panels whose
// reflections reach the rows below them in one product of matrices (LAPACK's dsytrd, with
// rows for its columns, so that every vector is contiguous).
func (e *SymmetricEigen) tridiagonalize() {
	const panel, stripe = 32, 64
	n, a := e.n, e.reflectors
	e.diagonal, e.offDiagonal, e.tau = make([]float64, n), make([]float64, n-1), make([]float64, n-2)
	// The update of what is below a panel is A − VᵀW − WᵀV, from V above W and W above V.
	vw, wv := General(2*panel, n, make([]float64, 2*panel*n)), General(2*panel, n, make([]float64, 2*panel*n))
	for first := 0; first < n-2; first += panel {
		last := min(first+panel, n-2)
		w := func(p, from int) []float64 { return wv.Data[(p-first)*n+from : (p-first+1)*n] }
		v := func(p, from int) []float64 { return a[p*n+from : (p+1)*n] }
		for i := first; i < last; i++ {
			row := v(i, i)
			for p := first; p < i; p++ {
				Axpy(-v(p, i)[0], w(p, i), row)
				Axpy(-w(p, i)[0], v(p, i), row)
			}
			e.diagonal[i] = row[0]
			e.offDiagonal[i], e.tau[i] = gonum.Implementation{}.Dlarfg(n-i-1, row[1], row[2:], 1)
			x, y := row[1:], w(i, i+1)
			x[0] = 1
			multiplySymmetric(a[(i+1)*n+i+1:], n, x, y)
			for p := first; p < i; p++ {
				vp, wp := v(p, i+1), w(p, i+1)
				alpha, beta := Dot(wp, x), Dot(vp, x)
				Axpy(-alpha, vp, y)
				Axpy(-beta, wp, y)
			}
			Scale(e.tau[i], y)
			Axpy(-e.tau[i]/2*Dot(x, y), x, y)
		}
		k := last - first
		for p := range k {
			copy(wv.Data[(k+p)*n+last:(k+p+1)*n], v(first+p, last))
			copy(vw.Data[p*n+last:(p+1)*n], v(first+p, last))
			copy(vw.Data[(k+p)*n+last:(k+p+1)*n], w(first+p, last))
		}
		for i := last; i < n; i += stripe {
			rows := min(stripe, n-i)
			Mul(true, false, -1, blas64.General{Rows: 2 * k, Cols: rows, Stride: n, Data: vw.Data[i:]},
				blas64.General{Rows: 2 * k, Cols: n - i, Stride: n, Data: wv.Data[i:]}, 1,
				blas64.General{Rows: rows, Cols: n - i, Stride: n, Data: a[i*n+i:]})
		}
	}
	e.diagonal[n-2], e.diagonal[n-1], e.offDiagonal[n-2] = a[(n-2)*n+n-2], a[n*n-1], a[(n-2)*n+n-1]
}

// multiplySymmetric writes A·x to y, from the upper triangle of A.
func multiplySymmetric(a []float64, stride int, x, y []float64) {
	clear(y)
	for i, v := range x {
		row := a[i*stride+i : i*stride+len(x)]
		y[i] += row[0]*v + Dot(row[1:], x[i+1:])
		Axpy(v, row[1:], y[i+1:])
	}
}

// Vectors are the vectors of the k largest eigenvalues, as the columns of an n×k matrix. They
// are orthonormal, and ‖Av − λv‖/‖A‖ is at most 1e-12 or 8·n·ε, whichever is more.
func (e *SymmetricEigen) Vectors(k int) *mat.Dense {
	if e.vectors == nil {
		y := e.inverseIteration(k)
		if y == nil {
			y = e.implicitQL(k)
		}
		return e.transformed(y)
	}
	return mat.DenseCopyOf(e.vectors.Slice(0, e.n, 0, k))
}

// inverseIteration finds the k leading vectors of T as the rows of a k×n matrix (LAPACK's
// dstein). It returns nil when they are many, or not as good as they should be.
func (e *SymmetricEigen) inverseIteration(k int) *mat.Dense {
	n := e.n
	if 2*k > n {
		return nil
	}
	const near = 1e-3 // of the norm: vectors of nearer values are kept orthogonal
	norm := 0x1p-20   // is 1 at least but for a matrix of zeros
	for i, v := range e.diagonal {
		norm = max(norm, math.Abs(v)+math.Abs(at(e.offDiagonal, i-1))+math.Abs(at(e.offDiagonal, i)))
	}
	epsilon := 0x1p-52 * norm
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	y := mat.NewDense(k, n, nil)
	t := lapack64.Tridiagonal{N: n, DL: make([]float64, n-1), D: make([]float64, n), DU: make([]float64, n-1)}
	cluster, shift := 0, math.Inf(1)
	for j := range k {
		value := e.Values[j] / e.scale
		if j > 0 && e.Values[j-1]/e.scale-value > near*norm {
			cluster = j
		}
		shift = min(value, shift-4*epsilon) // no two the same
		x := y.RawRowView(j)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for range 3 {
			solved := false
			for off := 0.0; !solved; off += epsilon {
				copy(t.DL, e.offDiagonal)
				copy(t.DU, e.offDiagonal)
				for i, v := range e.diagonal {
					t.D[i] = v - shift - off
				}
				Scale(1/floats.Norm(x, 2), x)
				solved = lapack64.Gtsv(blas.NoTrans, t, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: x})
			}
			Scale(1/floats.Norm(x, math.Inf(1)), x)
			for p := cluster; p < j; p++ {
				Axpy(-Dot(y.RawRowView(p), x), y.RawRowView(p), x)
			}
			Scale(1/floats.Norm(x, 2), x)
		}
	}
	if !e.good(y, norm) {
		return nil
	}
	return y
}

// good reports whether the rows of y are vectors of T.
func (e *SymmetricEigen) good(y *mat.Dense, norm float64) bool {
	k, n := y.Dims()
	tolerance := max(1e-12, 8*0x1p-52*float64(n))
	for j := range k {
		x := y.RawRowView(j)
		sum := 0.0
		for i, v := range x {
			r := (e.diagonal[i]-e.Values[j]/e.scale)*v + at(e.offDiagonal, i)*at(x, i+1) + at(e.offDiagonal, i-1)*at(x, i-1)
			sum += r * r
		}
		if !(math.Sqrt(sum) <= tolerance*norm) {
			return false
		}
	}
	products := mat.NewDense(k, k, nil)
	Mul(false, true, 1, y.RawMatrix(), y.RawMatrix(), 0, products.RawMatrix())
	for i := range k {
		for j, v := range products.RawRowView(i) {
			if i == j {
				v--
			}
			if !(math.Abs(v) <= tolerance) {
				return false
			}
		}
	}
	return true
}

// at is s[i], 0 beyond its ends.
func at(s []float64, i int) float64 {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// implicitQL finds all vectors of T and returns the k leading ones as the rows of a matrix.
func (e *SymmetricEigen) implicitQL(k int) *mat.Dense {
	n := e.n
	z := mat.NewDense(n, n, nil)
	if !(gonum.Implementation{}).Dsteqr(lapack.EVTridiag, n, slices.Clone(e.diagonal), slices.Clone(e.offDiagonal),
		z.RawMatrix().Data, n, make([]float64, 2*n)) {
		panic("linalg: the QL method finds values, but no vectors") // the same iteration
	}
	y := mat.NewDense(k, n, nil)
	for j := range k {
		y.SetRow(j, mat.Col(nil, n-1-j, z))
	}
	return y
}

// transformed is Q·Y, from the rows of Yᵀ.
func (e *SymmetricEigen) transformed(y *mat.Dense) *mat.Dense {
	k, n := y.Dims()
	v := mat.DenseCopyOf(y.T()).RawMatrix()
	// The first reflection does not change row 0.
	reflectors := blas64.General{Rows: n - 2, Cols: n - 1, Stride: n, Data: e.reflectors[1:]}
	rest := blas64.General{Rows: n - 1, Cols: k, Stride: k, Data: v.Data[k:]}
	query := make([]float64, 1)
	lapack64.Ormlq(blas.Left, blas.Trans, reflectors, e.tau, rest, query, -1)
	work := make([]float64, int(query[0]))
	lapack64.Ormlq(blas.Left, blas.Trans, reflectors, e.tau, rest, work, len(work))
	q := &mat.Dense{}
	q.SetRawMatrix(v)
	return q
}
