package laplace

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Curvature is F = E_q[F_Ξ], the average Hessian of −ln p(X,Z|Π)/N in the parameters Ξ of
// the latent dimensions, as the product common to all models: block i is
//
//	F_i = Count_i/N ⊗ Information_i,
//
// where the count depends on q(Z) and the information of an observation on Π. N_k/N·I(ξ_k) belongs to class k of a
// mixture (paper G, eq. 1), S/N ⊗ B to latent dimensions that mix linearly (eq. 5), with S = Σ E[zzᵀ]. A model adds
// its blocks in one method, and all else follows: gFIC charges both factors, FIC and the eigenvalue rule use the
// first, and the [Tilt] needs the first and the sizes.
//
// The zero value is the curvature of no parameters. Adding a block allocates only to grow.
type Curvature struct {
	n          float64
	countOnly  bool
	blocks     []factored
	tallies    []tally // of each latent dimension with a block of its own
	logDet     float64
	logCounts  float64
	unfactored bool // some block does not factor
	mixed      int  // blocks in which the dimensions mix
	dim        int
	integral   *integral // nil without a prior
}

// factored is one block.
type factored struct {
	k           int // latent dimension; −1 where all mix
	class       bool
	count       float64 // of a class
	matrix      *Dense  // count of the others; the block itself where unfactored is set
	information Block
	unfactored  bool
	tilt        float64 // of a class with a prior: what an observation loses
}

// tally sums up ln|Count| of a dimension's blocks and the number of its eigenvalues.
type tally struct{ log, size float64 }

// Reset clears the curvature, for n observations (rows, time steps, pairs). countOnly says that nothing will read the
// information.
func (f *Curvature) Reset(n float64, countOnly bool) {
	f.n, f.countOnly = n, countOnly
	f.blocks, f.tallies = f.blocks[:0], f.tallies[:0]
	f.logDet, f.logCounts, f.dim, f.mixed, f.unfactored = 0, 0, 0, 0, false
	f.integral = nil
}

// CountOnly reports that the information will not be read. A model may then give an [Identity] of the right size in
// place of an expensive information.
func (f *Curvature) CountOnly() bool { return f.countOnly }

// Class adds a block of latent dimension k: count observations, each with the information
// about some of its parameters. A dimension may have several blocks. The information is kept
// by reference.
func (f *Curvature) Class(k int, count float64, information Block) {
	b := f.add(k, information)
	b.class, b.count = true, max(0, count)
	if f.integral != nil {
		t := Term{Size: information.SymmetricDim(), Count: b.count}
		if t.Size > 0 {
			t.Information = information.LogDet() / 2
		}
		f.integrate(b, t)
	}
	f.record(k, 1, math.Log(b.count), information)
}

// Matrix adds a block of latent dimension k whose count is a matrix, Σ_n q_nk a_n a_nᵀ, such as the design of a
// regression: p×p. It copies count.
func (f *Curvature) Matrix(k int, count mat.Symmetric, information Block) {
	b := f.add(k, information)
	f.fill(b, count, 1, 0)
	f.record(k, float64(b.matrix.n), b.matrix.LogDet(), information)
}

// Mixed adds a block in which the latent dimensions mix: count is Σ_n E[zzᵀ], which it copies. The last K rows of
// count are the latent dimensions. Rows before them belong to shared regressors, such as the constant 1 of an
// intercept.
func (f *Curvature) Mixed(count mat.Symmetric, information Block) {
	b := f.add(-1, information)
	f.fill(b, count, 1, 0)
	f.mixed++
	f.record(-1, float64(b.matrix.n), b.matrix.LogDet(), information)
}

// Unfactored adds a block F_k of latent dimension k that is not a product: the average over the observations. FIC
// does not exist then, and the tilt of a row is [Tilt.Row].
func (f *Curvature) Unfactored(k int, block mat.Symmetric) {
	b := f.add(k, Identity(1))
	f.fill(b, block, 1/f.n, float64(block.SymmetricDim())/2*math.Log(f.n))
	b.unfactored, f.unfactored = true, true
	n := float64(b.matrix.n)
	f.record(k, n, b.matrix.LogDet()+n*math.Log(f.n), b.information)
}

// add makes room for a block.
func (f *Curvature) add(k int, information Block) *factored {
	n := len(f.blocks)
	if n < cap(f.blocks) {
		f.blocks = f.blocks[:n+1]
	} else {
		f.blocks = append(f.blocks, factored{})
	}
	b := &f.blocks[n]
	*b = factored{k: k, matrix: b.matrix, information: information}
	return b
}

// record adds up what a block with a p×p count of log-determinant logCount adds.
func (f *Curvature) record(k int, p, logCount float64, information Block) {
	m := float64(information.SymmetricDim())
	f.dim += int(p * m)
	counts := times(m, logCount-p*math.Log(f.n))
	f.logCounts += counts
	f.logDet += counts
	if !f.countOnly {
		f.logDet += times(p, information.LogDet())
	}
	if k < 0 {
		return
	}
	for len(f.tallies) <= k {
		f.tallies = append(f.tallies, tally{})
	}
	f.tallies[k].log += times(m, logCount)
	f.tallies[k].size += p * m
}

// N returns the number of observations.
func (f *Curvature) N() float64 { return f.n }

// Dim returns D_Ξ, the number of parameters.
func (f *Curvature) Dim() int { return f.dim }

// Len returns the number of blocks.
func (f *Curvature) Len() int { return len(f.blocks) }

// LogDet returns ln|F| in nats; −Inf if a block is singular.
func (f *Curvature) LogDet() float64 {
	if f.countOnly {
		return math.NaN()
	}
	return f.logDet
}

// Singular returns the latent dimension of the first block whose information is singular; −1 if the dimensions mix in
// that block. If found is false, there is no such block, and LogDet is finite unless a count is 0.
func (f *Curvature) Singular() (k int, found bool) {
	if !math.IsInf(f.LogDet(), -1) {
		return 0, false
	}
	for i := range f.blocks {
		if b := &f.blocks[i]; math.IsInf(b.information.LogDet(), -1) {
			return b.k, true
		}
	}
	return 0, false
}

// LogDetCounts returns Σ_i ln|Count_i/N ⊗ I|, which FIC charges. A block that is not a product counts in full.
func (f *Curvature) LogDetCounts() float64 { return f.logCounts }

// Factors reports whether every block is a product of a count and an information.
func (f *Curvature) Factors() bool { return !f.unfactored }

// Mixes reports whether the latent dimensions mix in some block.
func (f *Curvature) Mixes() bool { return f.mixed > 0 }

// Observations returns the number of observations behind latent dimension k: the geometric mean of the eigenvalues of
// its counts. At 1 its penalty ½ ln|Count_k| changes sign. It is +Inf if dimension k has no block of its own.
func (f *Curvature) Observations(k int) float64 {
	if k >= len(f.tallies) || f.tallies[k].size == 0 {
		return math.Inf(1)
	}
	return math.Exp(f.tallies[k].log / f.tallies[k].size)
}

// MixedObservations returns the K×K count of latent dimensions that mix: Σ E[zzᵀ] after the rows that are not latent
// dimensions have been swept out, averaged over the blocks with the sizes of their information as weights. It returns
// an error if the swept rows are singular, and panics if a block is smaller than K.
func (f *Curvature) MixedObservations(k int) (*mat.SymDense, error) {
	sum, size := mat.NewSymDense(k, nil), 0.0
	for i := range f.blocks {
		b := &f.blocks[i]
		if b.k >= 0 {
			continue
		}
		if b.matrix.n < k {
			panic(badDim)
		}
		rest, err := b.matrix.swept(b.matrix.n - k)
		if err != nil {
			return nil, err
		}
		m := float64(b.information.SymmetricDim())
		rest.ScaleSym(m, rest)
		sum.AddSym(sum, rest)
		size += m
	}
	sum.ScaleSym(1/size, sum)
	return sum, nil
}

// MixedAbove reports, without allocating, whether every direction of the latent space clearly has more than least
// observations. It uses the lower bound 1/tr(S⁻¹) of the least eigenvalue of S; if shared rows are swept out, the
// trace is over the latent dimensions' part of the inverse.
func (f *Curvature) MixedAbove(k int, least float64) bool {
	for i := range f.blocks {
		b := &f.blocks[i]
		if b.k >= 0 {
			continue
		}
		d := b.matrix
		if !d.definite() || d.n < k {
			return false
		}
		trace := 0.0
		for j := d.n - k; j < d.n; j++ {
			trace += d.inverse[j*d.n+j]
		}
		if !(1/trace > least) {
			return false
		}
	}
	return true
}

// swept is the Schur complement of the first rows.
func (d *Dense) swept(first int) (*mat.SymDense, error) {
	k := d.n - first
	s := mat.NewSymDense(k, nil)
	for i := range k {
		for j := i; j < k; j++ {
			s.SetSym(i, j, d.At(first+i, first+j))
		}
	}
	if first == 0 {
		return s, nil
	}
	head := mat.NewSymDense(first, nil)
	cross := mat.NewDense(first, k, nil)
	for i := range first {
		for j := i; j < first; j++ {
			head.SetSym(i, j, d.At(i, j))
		}
		for j := range k {
			cross.Set(i, j, d.At(i, first+j))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(head) {
		return nil, ErrSingular
	}
	var solved, product mat.Dense
	if err := chol.SolveTo(&solved, cross); err != nil {
		return nil, ErrSingular
	}
	product.Mul(cross.T(), &solved)
	for i := range k {
		for j := i; j < k; j++ {
			s.SetSym(i, j, s.At(i, j)-product.At(i, j))
		}
	}
	return s, nil
}

// Blocks returns the blocks of F in the order in which they were added.
func (f *Curvature) Blocks() Blocks {
	list := make(Blocks, len(f.blocks))
	for i := range f.blocks {
		switch b := &f.blocks[i]; {
		case b.unfactored:
			list[i] = NewDense(b.matrix)
		case b.class:
			list[i] = Scaled{b.count / f.n, b.information}
		default:
			var average mat.SymDense
			average.ScaleSym(1/f.n, b.matrix)
			list[i] = Kronecker{NewDense(&average), b.information}
		}
	}
	return list
}

// Tilt is the penalty of gFAB's local step. The tangent of −½ ln|F| at F₀ is a sum over rows: it lowers the log joint
// of row n by tr(F₀⁻¹F_n)/(2N), where F_n is the row's contribution to N·F. F₀ and F_n share their second factor, so
// that only the counts of F₀ and the sizes of its blocks matter, and the penalty is the same for FAB
// (docs/theory/gfab.md, section 3).
//
// Prepare receives it, as nil for plain EM: the methods of a nil *Tilt return no penalty. It does not change until
// the local step ends.
type Tilt struct {
	f     *Curvature
	class []float64
}

// Set sets the tilt at F₀ = f, which must not change while the tilt is used.
func (t *Tilt) Set(f *Curvature) {
	t.f, t.class = f, t.class[:0]
	for i := range f.blocks {
		b := &f.blocks[i]
		if !b.class {
			continue
		}
		for len(t.class) <= b.k {
			t.class = append(t.class, 0)
		}
		t.class[b.k] += t.Block(i)
	}
}

// Class returns the penalty for a row of class k, in nats: Σ size/(2·Count) over the blocks of latent dimension k
// whose count is a number. With one block this is D_ξ/(2N_k).
func (t *Tilt) Class(k int) float64 {
	if t == nil || k >= len(t.class) {
		return 0
	}
	return t.class[k]
}

// Block returns the penalty by block i alone, in nats, for an observation that counts in it.
func (t *Tilt) Block(i int) float64 {
	if t == nil {
		return 0
	}
	b := &t.f.blocks[i]
	m := b.information.SymmetricDim()
	switch {
	case t.f.integral != nil:
		return b.tilt
	case m == 0:
		return 0
	}
	return float64(m) / (2 * b.count)
}

// Count returns the count of block i of F₀, in observations, which must be a number. It is for models whose counts
// are functions of several sums, and which differentiate with respect to each sum.
func (t *Tilt) Count(i int) float64 { return t.f.blocks[i].count }

// Precision adds the tilt of latent dimensions that mix, size·Count⁻¹, to dst, which has the size of the counts. It
// sums over the given blocks, or over all blocks that mix if none is given. A row's penalty is half of this quadratic
// form at z. It returns [ErrSingular] if a count is singular.
func (t *Tilt) Precision(dst *mat.SymDense, blocks ...int) error {
	if t == nil {
		return nil
	}
	if len(blocks) > 0 {
		for _, i := range blocks {
			if err := t.f.blocks[i].addInverse(dst); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range t.f.blocks {
		if b := &t.f.blocks[i]; b.k < 0 {
			if err := b.addInverse(dst); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *factored) addInverse(dst *mat.SymDense) error {
	d, m := b.matrix, float64(b.information.SymmetricDim())
	if dst.SymmetricDim() != d.n {
		panic(badDst)
	}
	if !d.definite() {
		return ErrSingular
	}
	for i := range d.n {
		for j := i; j < d.n; j++ {
			dst.SetSym(i, j, dst.At(i, j)+m*d.inverse[i*d.n+j])
		}
	}
	return nil
}

// Quadratic returns the penalty by block i, in nats, for a row with the vector a, if the block's count is the matrix
// Σ q aaᵀ: (size/2)·aᵀCount⁻¹a, which is half the leverage of a times the size of the information. It is +Inf if the
// count is singular and a is not 0.
func (t *Tilt) Quadratic(i int, a []float64) float64 {
	if t == nil {
		return 0
	}
	b := &t.f.blocks[i]
	d := b.matrix
	if len(a) != d.n {
		panic(badDim)
	}
	sum := 0.0
	for r, v := range a {
		if !d.definite() && v != 0 {
			return math.Inf(1)
		}
		row := d.inverse[r*d.n : (r+1)*d.n]
		off := 0.0
		for c := r + 1; c < d.n; c++ {
			off += row[c] * a[c]
		}
		sum += v * (v*row[r] + 2*off)
	}
	return float64(b.information.SymmetricDim()) / 2 * sum
}

// Row returns tr(F_i⁻¹ row)/(2N) for a block that is not a product, where the argument is the row's contribution to
// N·F_i. It is +Inf if the contribution has a direction in which F_i is singular.
func (t *Tilt) Row(i int, row mat.Symmetric) float64 {
	if t == nil {
		return 0
	}
	return t.f.blocks[i].matrix.InverseTrace(row) / (2 * t.f.n)
}
