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
	switch {
	case st.Isotropic:
		return 1
	case st.Blocks == nil:
		return d
	}
	for _, b := range st.Blocks {
		n += len(b) * len(b)
	}
	return n
}

func (st Structure) parameters(d int) (n int) {
	if st.Blocks == nil {
		return st.numbers(d)
	}
	for _, b := range st.Blocks {
		n += len(b) * (len(b) + 1) / 2
	}
	return n
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
	if st.Blocks == nil {
		for j := range d {
			list = append(list, c[j*(d+1)])
		}
		return list
	}
	for _, b := range st.Blocks {
		for _, i := range b {
			for _, j := range b {
				list = append(list, c[i*d+j])
			}
		}
	}
	return list
}

// diagonalOf is the diagonal of the matrix that the list, of Ψ or made by gather, stands for.
func (st Structure) diagonalOf(list []float64, d int) []float64 {
	diagonal := make([]float64, d)
	if st.Blocks == nil {
		for j := range diagonal {
			diagonal[j] = list[min(j, len(list)-1)]
		}
		return diagonal
	}
	for _, b := range st.Blocks {
		for i, j := range b {
			diagonal[j] = list[i*(len(b)+1)]
		}
		list = list[len(b)*len(b):]
	}
	return diagonal
}

// noise is the Ψ with the highest likelihood given the sums of squares and products of the residuals, with the layout
// of gather, and the observations of each part: their mean, but no less than Floor of the unit, the covariance of
// the data. dst gets the list.
func (st Structure) noise(dst, squares, count, unit []float64) error {
	switch {
	case st.Isotropic:
		sum, n := 0.0, 0.0
		for j, v := range squares {
			sum += v
			n += count[min(j, len(count)-1)]
		}
		dst[0] = sum / n
	case st.Blocks == nil:
		for j, v := range squares {
			dst[j] = max(v/count[min(j, len(count)-1)], Floor*unit[j])
		}
	default:
		at := 0
		for i, b := range st.Blocks {
			end := at + len(b)*len(b)
			if err := floored(dst[at:end], squares[at:end], count[min(i, len(count)-1)], unit[at:end], len(b)); err != nil {
				return err
			}
			at = end
		}
	}
	return nil
}

// floored is noise of a block of m columns: in coordinates in which the unit is I, eigenvalues below Floor rise to it.
func floored(dst, squares []float64, n float64, unit []float64, m int) error {
	r := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			r.SetSym(i, j, (squares[i*m+j]+squares[j*m+i])/(2*n))
		}
	}
	var chol mat.Cholesky
	var eigen mat.EigenSym
	var lower mat.TriDense
	var white, half mat.Dense
	if !chol.Factorize(mat.NewSymDense(m, unit)) {
		return errDependent
	}
	chol.LTo(&lower)
	if lower.SolveTo(&half, false, r) != nil || lower.SolveTo(&white, false, half.T()) != nil {
		return errDependent
	}
	if !eigen.Factorize(linalg.SymmetricPart(&white), true) {
		return errDependent
	}
	out := mat.NewDense(m, m, dst)
	out.Copy(r)
	if values := eigen.Values(nil); values[0] < Floor { // ascending
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		vectors.Mul(&lower, &vectors)
		for i, v := range values {
			values[i] = max(v, Floor)
		}
		out.Product(&vectors, mat.NewDiagDense(m, values), vectors.T())
	}
	return nil
}

var errDependent = errors.New("factor: the columns of a block depend on one another linearly: drop some")

// A root is L with Ψ = LLᵀ.
type root struct {
	sd     []float64 // of each column; nil if there are blocks
	blocks [][]int
	lower  []mat.TriDense
	logDet []float64 // ln|Ψ| of each part
}

// root factorises Ψ; false where it is not positive definite.
func (st Structure) root(noise []float64, d int) (*root, bool) {
	r := &root{blocks: st.Blocks}
	if st.Blocks == nil {
		r.sd, r.logDet = st.diagonalOf(noise, d), make([]float64, d)
		for j, v := range r.sd {
			if !(v > 0) || math.IsInf(v, 0) {
				return nil, false
			}
			r.sd[j], r.logDet[j] = math.Sqrt(v), math.Log(v)
		}
		return r, true
	}
	r.lower = make([]mat.TriDense, len(st.Blocks))
	for i, b := range st.Blocks {
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(len(b), noise[:len(b)*len(b)])) {
			return nil, false
		}
		chol.LTo(&r.lower[i])
		r.logDet = append(r.logDet, chol.LogDet())
		noise = noise[len(b)*len(b):]
	}
	return r, true
}

// whiten is v → L⁻¹v in place, or, transposed, L⁻ᵀv. colour is v → Lv.
func (r *root) whiten(v []float64, transposed bool) {
	if r.sd != nil {
		for j, sd := range r.sd {
			v[j] /= sd
		}
		return
	}
	r.each(v, func(x *mat.Dense, lower *mat.TriDense) {
		_ = lower.SolveTo(x, transposed, x) // Cholesky factors of what is not singular
	})
}

func (r *root) colour(v []float64) {
	if r.sd != nil {
		for j, sd := range r.sd {
			v[j] *= sd
		}
		return
	}
	r.each(v, func(x *mat.Dense, lower *mat.TriDense) { x.Mul(lower, mat.DenseCopyOf(x)) })
}

// each calls f with the entries of v in each block, and puts them back.
func (r *root) each(v []float64, f func(x *mat.Dense, lower *mat.TriDense)) {
	for i, b := range r.blocks {
		x := mat.NewDense(len(b), 1, nil)
		for at, j := range b {
			x.Set(at, 0, v[j])
		}
		f(x, &r.lower[i])
		for at, j := range b {
			v[j] = x.At(at, 0)
		}
	}
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
