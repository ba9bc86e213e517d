package logit

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
)

// A gate sees a row as t = L⁻¹a, a = (1, columns of the gate), LLᵀ = Σ aaᵀ/N over the table that a fit began with: then
// no column has a unit, no two are correlated, the first is still 1, and linear maps of the columns change nothing.
//
// −ln Σ_k exp(γ_kᵀt), which is no function of sums over rows, is bounded by its tangent at the gate of the local step
// less ¼ Σ_k (γ_kᵀt − η_k)², where η are the values of γᵀt there (Böhning 1992: ½ I is no less than the Hessian). With
// Σ_k η_k = 0 the bound on E_q[ln p(z|t)] is that of a regression, −¼ Σ_k (2y_k − γ_kᵀt)² and what does not depend on
// γ, of working responses y_k = ½ η_k + q_k − π_k. It is exact, and has the gradient, at the local step's gate: the
// fixed point is that of multinomial logistic regression (docs/theory/experts.md, section 2).

// A Root is L, P×P row-major, lower triangular, with the first row (1, 0, …).
type Root []float64

// Width is P.
func (r Root) Width() int { return int(math.Round(math.Sqrt(float64(len(r))))) }

// InUnits turns coefficients of t = L⁻¹a into those of a, L⁻ᵀg, in place.
func (r Root) InUnits(g []float64) {
	n := len(g)
	for j := n - 1; j >= 0; j-- {
		for l := j + 1; l < n; l++ {
			g[j] -= r[l*n+j] * g[l]
		}
		g[j] /= r[j*n+j]
	}
}

// Odds returns the coefficients of ln(π_k/π_r) of the classes but r, the reference, as linear functions of a: (K−1)×P
// row-major.
func (r Root) Odds(gate []float64, reference int) []float64 {
	n := r.Width()
	list := make([]float64, 0, len(gate)-n)
	for first := 0; first < len(gate); first += n {
		if first != reference*n {
			odds := floats.SubTo(make([]float64, n), gate[first:first+n], at(gate, reference, n))
			r.InUnits(odds)
			list = append(list, odds...)
		}
	}
	return list
}

// Errors returns the standard errors of Odds, given the covariances of the γ_k of the other classes, with γ = 0 of the
// reference, in coordinates t; first is the place of the first of them in cov.
func (r Root) Errors(cov mat.Symmetric, first, classes int) []float64 {
	n := r.Width()
	toUnits := mat.NewDense(n, n, nil) // L⁻ᵀ
	for l := range n {
		unit := make([]float64, n)
		unit[l] = 1
		r.InUnits(unit)
		toUnits.SetCol(l, unit)
	}
	var list []float64
	own := mat.NewSymDense(n, nil)
	for k := range classes - 1 {
		for j := range n {
			for l := j; l < n; l++ {
				own.SetSym(j, l, cov.At(first+k*n+j, first+k*n+l))
			}
		}
		for j := range n {
			of := toUnits.RowView(j)
			list = append(list, math.Sqrt(mat.Inner(of, own, of)))
		}
	}
	return list
}

// Widest is the column, from 0, that a step of γ, of rows of P numbers, moves the coefficients of most, in its standard
// deviations.
func (r Root) Widest(step []float64) (column int) {
	longest := -1.0
	for of := range slices.Chunk(slices.Clone(step), r.Width()) {
		r.InUnits(of)
		for j, v := range of[1:] {
			if v = math.Abs(v) * floats.Norm(at(r, j+1, r.Width())[1:], 2); v > longest {
				longest, column = v, j
			}
		}
	}
	return column
}

// Check returns an error if a root is not that of so many columns.
func (r Root) Check(columns int) error {
	n := 1 + columns
	if len(r) != n*n || !simd.Finite(r) {
		return errors.New("the root of the gate's columns does not match them")
	}
	for j := range n {
		if !(r[j*n+j] > 0) {
			return errors.New("the root of the gate's columns is not positive on its diagonal")
		}
	}
	return nil
}

// Center makes the sum of the γ_k of a gate, K×P, 0, which changes no probability.
func Center(gate []float64, width int) {
	k := float64(len(gate) / width)
	for j := range width {
		sum := 0.0
		for i := j; i < len(gate); i += width {
			sum += gate[i]
		}
		for i := j; i < len(gate); i += width {
			gate[i] -= sum / k
		}
	}
}

// A Design holds some rows as gates see them.
type Design struct {
	T []float64 // P×n, rows filled up to family.Padded(n)

	width, padded            int
	work, overlaps, products []float64 // of pairs of classes, and of pairs of numbers of t, rows filled up
	informed                 bool      // products are those of T
}

// Read reads n rows of a block. It returns a [blocks.DataError] with the reason missing about the first row without a
// value.
func (d *Design) Read(b blocks.Rows, first, n int, root Root, columns []int, missing error) error {
	d.width, d.padded, d.informed = root.Width(), family.Padded(n), false
	padded := d.padded
	d.T = linalg.Resize(d.T, d.width*padded)
	linalg.Fill(d.T[:n], 1)
	clear(d.T[n:])
	for i := range n {
		row := b.Row(first + i)
		for j, c := range columns {
			if math.IsNaN(row[c]) {
				return &blocks.DataError{Row: b.First + first + i, Column: c, Value: row[c], Reason: missing}
			}
			d.T[(j+1)*padded+i] = row[c]
		}
	}
	for j := range d.width {
		of, row := at(d.T, j, padded), at(root, j, d.width)
		for l, v := range row[:j] {
			linalg.Axpy(-v, at(d.T, l, padded), of)
		}
		linalg.Scale(1/row[j], of)
	}
	return nil
}

// Padded is the length of a row of T.
func (d *Design) Padded() int { return d.padded }

// Predict puts η = γᵀt and π of the rows read, K×Padded, into logits and prior, and ln Σ_k exp η_k into logSum, whose
// second half is memory: 2·Padded.
func (d *Design) Predict(gate, logits, prior, logSum []float64) {
	k := len(gate) / d.width
	linalg.MulSerial(false, false, 1, linalg.General(k, d.width, gate),
		linalg.General(d.width, d.padded, d.T), 0, linalg.General(k, d.padded, logits))
	copy(prior, logits)
	simd.Softmax(prior, k, d.padded, logSum, logSum[d.padded:])
}

// Sums are those of a local step about a gate: the coefficients of its bound, a quadratic function of γ, and what else
// rows say of it. All add over rows.
type Sums struct {
	Design []float64 // Σ_n w_n t_n t_nᵀ, P×P
	Level  []float64 // K: the constant of the bound
	Slope  []float64 // K×P: Σ_n w_n y_nk t_n, with working responses y
	// Σ_n w_n ln(1 − π_k(a_n)), K: what the other classes' probabilities gain without class k
	Vacated []float64
	// Σ_n w_n π_nk π_nl t_n t_nᵀ, K(K−1)/2×P(P+1)/2: the information of the rows about the gate; nil if nobody asks
	Overlap []float64

	root []float64 // of Design, P×P
}

// NewSums are those of no rows, for k classes and P numbers of a row.
func NewSums(k, width int) Sums {
	return Sums{Design: make([]float64, width*width), Level: make([]float64, k), Slope: make([]float64, k*width),
		Vacated: make([]float64, k), Overlap: make([]float64, triangle(width)*(triangle(k)-k))}
}

func (s *Sums) all() [5][]float64 {
	return [...][]float64{s.Design, s.Level, s.Slope, s.Vacated, s.Overlap}
}

// Clear empties the sums.
func (s *Sums) Clear() {
	for _, v := range s.all() {
		clear(v)
	}
}

// Merge adds the sums of other rows.
func (s *Sums) Merge(o *Sums) {
	others := o.all()
	for i, v := range s.all() {
		if v != nil {
			linalg.Axpy(1, others[i], v)
		}
	}
}

// Scale multiplies the weights of all rows by factor.
func (s *Sums) Scale(factor float64) {
	for _, v := range s.all() {
		linalg.Scale(factor, v)
	}
}

// Keep are the sums about some classes.
func (s *Sums) Keep(dims []int) Sums {
	width := len(s.Slope) / len(s.Level)
	kept := Sums{Design: append([]float64(nil), s.Design...)}
	for b, k := range dims {
		kept.Level, kept.Vacated = append(kept.Level, s.Level[k]), append(kept.Vacated, s.Vacated[k])
		kept.Slope = append(kept.Slope, at(s.Slope, k, width)...)
		for a := range b {
			low, high := min(dims[a], k), max(dims[a], k)
			kept.Overlap = append(kept.Overlap, s.overlap(triangle(high-1)+low, width)...)
		}
	}
	return kept
}

// Add adds the first n rows that a design has read, of weights w (nil: 1 each), whose parts q are in the classes,
// K×Padded; logits, prior and logSum are those of Predict.
func (s *Sums) Add(d *Design, n int, w, q, logits, prior, logSum []float64) {
	if s.Overlap != nil {
		s.inform(d, n, w, prior)
	}
	padded, width := d.padded, d.width
	d.work = linalg.Resize(d.work, 2*padded)
	weight := func(i int) float64 {
		if w == nil {
			return 1
		}
		return w[i]
	}
	response, rest := d.work[:padded], d.work[padded:]
	clear(response)
	for k := range s.Level {
		q, eta, prior := at(q, k, padded), at(logits, k, padded), at(prior, k, padded)
		level := 0.0
		for i, v := range prior {
			rest[i] = 1 - min(v, 1-0x1p-53)
		}
		simd.Log(rest, rest)
		for i := range n {
			w, v := weight(i), eta[i]
			pull := q[i] - w*prior[i]
			response[i] = pull + w*v/2
			level += q[i]*(v-logSum[i]) - pull*v - w*v*v/4
			rest[i] *= w
		}
		s.Level[k] += level
		s.Vacated[k] += floats.Sum(rest[:n])
		slope := at(s.Slope, k, width)
		for j := range slope {
			slope[j] += linalg.Dot(at(d.T, j, padded), response)
		}
	}
	for j := range width {
		of := response
		copy(of, at(d.T, j, padded))
		for i := range n {
			of[i] *= weight(i)
		}
		for l := range width {
			s.Design[j*width+l] += linalg.Dot(of, at(d.T, l, padded))
		}
	}
}

// inform adds rows to Overlap.
func (s *Sums) inform(d *Design, n int, w, prior []float64) {
	padded, width, k := d.padded, d.width, len(s.Level)
	pairs, products := triangle(k)-k, triangle(width)
	d.overlaps, d.products = linalg.Resize(d.overlaps, pairs*padded), linalg.Resize(d.products, products*padded)
	row := 0
	for b := range k {
		for a := range b {
			of := at(d.overlaps, row, padded)
			floats.MulTo(of, at(prior, a, padded), at(prior, b, padded))
			for i, v := range w[:min(n, len(w))] {
				of[i] *= v
			}
			clear(of[n:])
			row++
		}
	}
	for j, row := 0, 0; j < width && !d.informed; j++ {
		for l := range j + 1 {
			floats.MulTo(at(d.products, row, padded), at(d.T, j, padded), at(d.T, l, padded))
			row++
		}
	}
	d.informed = true
	linalg.MulSerial(false, true, 1, linalg.General(pairs, padded, d.overlaps),
		linalg.General(products, padded, d.products), 1, linalg.General(pairs, products, s.Overlap))
}

var errDesign = errors.New("sums over the columns of the gate are singular")

// Maximize puts the maximum of the bound into a gate, γ_k = 2(Σ w t tᵀ + 2·precision·I)⁻¹ Σ w y_k t, where γ has a
// normal prior about 0 of some precision.
func (s *Sums) Maximize(gate []float64, precision float64) error {
	k := len(s.Level)
	n := len(gate) / k
	s.root = append(s.root[:0], s.Design...)
	for j := range n {
		s.root[j*n+j] += 2 * precision
	}
	chol, ok := linalg.NewCholesky(n, s.root)
	if !ok {
		return errDesign
	}
	copy(gate, s.Slope)
	linalg.Scale(2, gate)
	chol.SolveRight(linalg.General(k, n, gate))
	Center(gate, n)
	return nil
}

// Value is the bound on E_q[ln p(Z|γ)] at a gate.
func (s *Sums) Value(gate []float64) float64 {
	sum := floats.Sum(s.Level)
	n := len(gate) / len(s.Level)
	for k := range s.Level {
		g := at(gate, k, n)
		sum += linalg.Dot(g, at(s.Slope, k, n))
		for i, v := range g {
			sum -= v * linalg.Dot(g, at(s.Design, i, n)) / 4
		}
	}
	return sum
}

// Score returns the derivative of E_q[ln p(Z|γ)] in γ, K×P, at the gate of the local step.
func (s *Sums) Score(gate []float64) []float64 {
	n := len(gate) / len(s.Level)
	score := append([]float64(nil), s.Slope...)
	for k := range s.Level {
		for j := range n {
			score[k*n+j] -= linalg.Dot(at(s.Design, j, n), at(gate, k, n)) / 2
		}
	}
	return score
}

// Newton returns Newton's step, K×P, from the gate of the local step, with the information of known classes. ok is
// false if that is singular.
func (s *Sums) Newton(gate []float64) (step []float64, ok bool) {
	k := len(s.Level)
	n := len(gate) / k
	free := (k - 1) * n
	var chol mat.Cholesky
	if free == 0 || !chol.Factorize(s.information(k, n, 0)) {
		return nil, false
	}
	to := mat.NewVecDense(free, nil)
	if chol.SolveVecTo(to, mat.NewVecDense(free, s.Score(gate)[:free])) != nil {
		return nil, false
	}
	return append(to.RawVector().Data, make([]float64, n)...), true
}

// Length is the root mean square over the rows of what a step moves the log odds of two classes by.
func (s *Sums) Length(step []float64, a, b int) float64 {
	n := len(step) / len(s.Level)
	of, square := floats.SubTo(make([]float64, n), at(step, a, n), at(step, b, n)), 0.0
	for i, v := range of {
		square += v * linalg.Dot(of, at(s.Design, i, n))
	}
	return math.Sqrt(square / s.Design[0])
}

// ARow is Böhning's bound on the information of a row: what a prior that is worth a row has as its precision.
const ARow = 0.5

// Integral is the term of a gate under a normal prior about 0 that is worth so many rows, beside count rows.
func (s *Sums) Integral(gate []float64, count, worth float64) laplace.Term {
	k := len(s.Level)
	n := len(gate) / k
	free := (k - 1) * n
	t := laplace.Term{Size: free, Count: count, Worth: worth}
	if free == 0 {
		return t
	}
	precision := worth * ARow
	t.Distance = precision / 2 * floats.Dot(gate, gate)
	var chol mat.Cholesky
	if !chol.Factorize(s.information(k, n, precision)) {
		t.Information = math.NaN() // the engine reports it
		return t
	}
	// Of the log odds against the last class the prior has the precision (I − 11ᵀ/K)·precision.
	about := float64(free)*math.Log(precision) - float64(n)*math.Log(float64(k))
	t.Information = (chol.LogDet() - about - float64(free)*math.Log1p(t.Count/t.Worth)) / 2
	return t
}

// information is that of the rows and the prior about the log odds against the last class, where classes are known.
func (s *Sums) information(k, width int, precision float64) *mat.SymDense {
	info := mat.NewSymDense((k-1)*width, nil)
	add := func(a, b, j, l int, v float64) {
		if r, c := a*width+j, b*width+l; r <= c {
			info.SetSym(r, c, info.At(r, c)+v)
		}
	}
	for b := range k {
		for a := range b {
			of := s.overlap(triangle(b-1)+a, width)
			for j := range width {
				for l := range width {
					v := of[triangle(max(j, l))+min(j, l)]
					add(a, a, j, l, v)
					if b < k-1 {
						add(b, b, j, l, v)
						add(a, b, j, l, -v)
					}
				}
			}
		}
	}
	for a := range k - 1 {
		for j := range width {
			add(a, a, j, j, precision)
			for b := range k - 1 {
				add(a, b, j, j, -precision/float64(k))
			}
		}
	}
	return info
}

// overlap is Σ_n w_n π_na π_nb t_n t_nᵀ of the pair a < b, number b(b−1)/2 + a, its lower triangle.
func (s *Sums) overlap(pair, width int) []float64 { return at(s.Overlap, pair, triangle(width)) }

// triangle is the number of entries of a symmetric matrix.
func triangle(n int) int { return n * (n + 1) / 2 }

// at cuts row k out of a matrix of n columns.
func at(v []float64, k, n int) []float64 { return v[k*n : (k+1)*n] }
