package factor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// Floor is the least share of a column's variance that the noise keeps, as in R's factanal. Without this bound the
// maximum of the likelihood may leave a column no noise at all (a Heywood case). In a block of columns the bound
// holds for the variance in every direction. Isotropic noise has no bound.
const Floor = 0.005

// Structure is the structure of the noise's covariance Ψ. The zero value means one variance for each column: factor
// analysis.
//
// Ψ is stored as a list of numbers: one if it is isotropic, D for factor analysis, and for blocks their covariance
// matrices, row-major, one after another.
type Structure struct {
	Isotropic bool    `json:"isotropic,omitempty"` // one variance for all columns
	Blocks    [][]int `json:"blocks,omitempty"`    // the columns, from 0, of each block with a covariance matrix
}

// Check returns an error unless the structure fits d columns: every column must be in exactly one of two or more
// blocks.
func (st Structure) Check(d int) error {
	if st.Isotropic && st.Blocks != nil {
		return errors.New("factor: isotropic noise has no blocks: choose one of the two")
	}
	if st.Blocks == nil {
		return nil
	}
	in := make([]int, d) // block of each column, from 1
	for b, block := range st.Blocks {
		if len(block) == 0 {
			return fmt.Errorf("factor: block %d has no columns", b+1)
		}
		for _, j := range block {
			switch {
			case j < 0 || j >= d:
				return fmt.Errorf("factor: block %d names column %d of %d", b+1, j+1, d)
			case in[j] == b+1:
				return fmt.Errorf("factor: block %d names column %d twice", b+1, j+1)
			case in[j] > 0:
				return fmt.Errorf("factor: column %d is in blocks %d and %d: each column belongs to one", j+1, in[j], b+1)
			}
			in[j] = b + 1
		}
	}
	if j := slices.Index(in, 0); j >= 0 {
		return fmt.Errorf("factor: column %d is in no block: name every column once, or leave columns out of the data", j+1)
	}
	if len(st.Blocks) < 2 {
		return errors.New("factor: one block has all columns and leaves nothing to the factors: name two blocks or more")
	}
	return nil
}

// diagonal reports whether there is one variance for each column.
func (st Structure) diagonal() bool { return !st.Isotropic && st.Blocks == nil }

// numbers is how many there are in the list of Ψ, parameters how many of them are free.
func (st Structure) numbers(d int) (n int) {
	if st.Isotropic {
		return 1
	}
	for _, part := range st.parts(d) {
		n += len(part) * len(part)
	}
	return n
}

func (st Structure) parameters(d int) (n int) {
	if st.Isotropic {
		return 1
	}
	return (st.numbers(d) + d) / 2
}

// Identified returns the largest K whose parameters d columns identify. For factor analysis this is Ledermann's
// bound, up to which the model has no more parameters than the covariance matrix; it is 0 for 2 columns. For
// isotropic noise it is d − 1, and for blocks the number of columns outside the largest block.
func (st Structure) Identified(d int) int {
	switch {
	case st.Isotropic:
		return d - 1
	case st.Blocks == nil:
		k := 0
		for (d-k-1)*(d-k-1) >= d+k+1 {
			k++
		}
		return k
	}
	widest := 0
	for _, b := range st.Blocks {
		widest = max(widest, len(b))
	}
	return d - widest
}

// parts are the sets of columns between which the noise is independent: a row has all entries of a part or none.
func (st Structure) parts(d int) [][]int {
	if st.Blocks != nil {
		return st.Blocks
	}
	parts := make([][]int, d)
	for j := range parts {
		parts[j] = []int{j}
	}
	return parts
}

// gather takes from the symmetric matrix c, D×D, the numbers that the list of Ψ has, before any floor; where Ψ is
// isotropic the whole diagonal.
func (st Structure) gather(c []float64, d int) (list []float64) {
	for _, part := range st.parts(d) {
		for _, i := range part {
			for _, j := range part {
				list = append(list, c[i*d+j])
			}
		}
	}
	return list
}

// diagonalOf is the diagonal of the matrix that the list, of Ψ or made by gather, stands for.
func (st Structure) diagonalOf(list []float64, d int) []float64 {
	diagonal := make([]float64, d)
	if len(list) == 1 {
		linalg.Fill(diagonal, list[0])
		return diagonal
	}
	for _, part := range st.parts(d) {
		for i, j := range part {
			diagonal[j] = list[i*(len(part)+1)]
		}
		list = list[len(part)*len(part):]
	}
	return diagonal
}

// noise is the Ψ with the highest likelihood given the sums of squares and products of the residuals, with the layout
// of gather, and the observations of each part: their mean, but no less than Floor of the unit, the covariance of
// the data. dst gets the list.
func (st Structure) noise(dst, squares, count, unit []float64, d int) error {
	if st.Isotropic {
		sum, n := 0.0, 0.0
		for j, v := range squares {
			sum += v
			n += count[min(j, len(count)-1)]
		}
		dst[0] = sum / n
		return nil
	}
	at := 0
	for i, part := range st.parts(d) {
		m := len(part)
		end := at + m*m
		if err := floored(dst[at:end], squares[at:end], count[min(i, len(count)-1)], unit[at:end], m); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// floored is noise of m columns: in coordinates in which the unit is I, eigenvalues below Floor rise to it.
func floored(dst, squares []float64, n float64, unit []float64, m int) error {
	if m == 1 {
		dst[0] = max(squares[0]/n, Floor*unit[0])
		return nil
	}
	for i := range m {
		for j := range m {
			dst[i*m+j] = (squares[i*m+j] + squares[j*m+i]) / (2 * n)
		}
	}
	lower, vectors, values, err := relative(dst, unit, m)
	if err != nil || values[0] >= Floor { // ascending
		return err
	}
	for i, v := range values {
		values[i] = max(v, Floor)
	}
	vectors.Mul(lower, vectors)
	mat.NewDense(m, m, dst).Product(vectors, mat.NewDiagDense(m, values), vectors.T())
	return nil
}

// relative are L of a unit LLᵀ, m×m, and eigenvectors and eigenvalues, ascending, of L⁻¹ΨL⁻ᵀ.
func relative(noise, unit []float64, m int) (root *mat.TriDense, vectors *mat.Dense, values []float64, err error) {
	var chol mat.Cholesky
	var half, white mat.Dense
	var eigen mat.EigenSym
	root, vectors = new(mat.TriDense), new(mat.Dense)
	if !chol.Factorize(mat.NewSymDense(m, unit[:m*m])) {
		return nil, nil, nil, errDependent
	}
	chol.LTo(root)
	if half.Solve(root, mat.NewSymDense(m, noise[:m*m])) != nil || white.Solve(root, half.T()) != nil ||
		!eigen.Factorize(linalg.SymmetricPart(&white), true) {
		return nil, nil, nil, errDependent
	}
	eigen.VectorsTo(vectors)
	return root, vectors, eigen.Values(nil), nil
}

var errDependent = errors.New("factor: the columns of a block depend on one another linearly: drop some")

// A root is U of each part's Ψ = UᵀU, m×m row-major, one after another.
type root struct {
	parts  [][]int
	upper  []float64
	chol   []linalg.Cholesky // likewise, of each part
	logDet []float64         // ln|Ψ| of each part
}

// root factorises Ψ; false where it is not positive definite.
func (st Structure) root(noise []float64, d int) (*root, bool) {
	r := &root{parts: st.parts(d), upper: slices.Clone(noise)}
	if st.Isotropic {
		r.upper = st.diagonalOf(noise, d)
	}
	upper := r.upper
	for _, part := range r.parts {
		m := len(part)
		chol, ok := linalg.NewCholesky(m, upper[:m*m])
		if !ok || math.IsInf(chol.LogDet(), 0) {
			return nil, false
		}
		r.chol, r.logDet = append(r.chol, chol), append(r.logDet, chol.LogDet())
		upper = upper[m*m:]
	}
	return r, true
}

// whiten is v → U⁻ᵀv in place, or, transposed, U⁻¹v. colour is v → Uᵀv.
func (r *root) whiten(v []float64, transposed bool) {
	upper := r.upper
	for _, part := range r.parts {
		m := len(part)
		for i := range m {
			if transposed {
				i = m - 1 - i
			}
			row, x := upper[i*m:(i+1)*m], v[part[i]]
			for l := i + 1; l < m && transposed; l++ {
				x -= row[l] * v[part[l]]
			}
			x /= row[i]
			for l := i + 1; l < m && !transposed; l++ {
				v[part[l]] -= row[l] * x
			}
			v[part[i]] = x
		}
		upper = upper[m*m:]
	}
}

func (r *root) colour(v []float64) {
	upper := r.upper
	for _, part := range r.parts {
		m := len(part)
		for i := m - 1; i >= 0; i-- {
			row, x := upper[i*m:(i+1)*m], v[part[i]]
			v[part[i]] = row[i] * x
			for l := i + 1; l < m; l++ {
				v[part[l]] += row[l] * x
			}
		}
		upper = upper[m*m:]
	}
}

// white is U⁻ᵀCU⁻¹ of a symmetric matrix c, D×D.
func (r *root) white(c []float64, d int) *mat.Dense {
	m := mat.NewDense(d, d, slices.Clone(c))
	if len(r.parts) == d { // a column each
		for i, u := range r.upper {
			row := m.RawRowView(i)
			for j, v := range r.upper {
				row[j] = row[j] / v / u
			}
		}
		return m
	}
	for range 2 {
		for i := range d {
			r.whiten(m.RawRowView(i), false)
		}
		m.Copy(mat.DenseCopyOf(m.T()))
	}
	return m
}

// columns applies f, such as colour, to every column of w, D×K row-major.
func columns(w []float64, k int, f func(v []float64)) {
	v := make([]float64, len(w)/max(1, k))
	for c := range k {
		for j := range v {
			v[j] = w[j*k+c]
		}
		f(v)
		for j := range v {
			w[j*k+c] = v[j]
		}
	}
}
