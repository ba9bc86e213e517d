package numeric

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// A hill is a function of unconstrained coordinates t that is to be maximised from t = 0.
type hill struct {
	dim   int
	value func(t []float64) float64
	// gradient puts ∇value at t into dst; nil: by central differences. widths are steps for them: the distances
	// over which the value changes by about a nat.
	gradient func(dst, t, widths []float64)
	// most bounds, for each coordinate, how far it may be taken to go with a nat; nil if nothing is known.
	most []float64
	// curvature puts an approximation of −∇²value at 0 into dst, positive definite or not.
	curvature func(dst *mat.SymDense)
	// flat is a length of the gradient that counts as none, above that of rounding; 0: that of rounding.
	flat float64
}

// climb returns where the value is largest, as far as can be seen, its gain over the value at 0, and whether the
// gradient vanishes there. It never returns a lower value. It is the BFGS method of gonum in coordinates in which the
// curvature at the start is the identity and the first step is Newton's; to be called again from where it ends, until
// it gains nothing.
func (h *hill) climb() (t []float64, gain float64, level bool) {
	start := h.value(make([]float64, h.dim))
	flat, noise := flatness(start)
	flat = max(flat, h.flat)
	root, widths := h.precondition()
	t, g := make([]float64, h.dim), make([]float64, h.dim)
	slope := func(dst, s []float64) {
		multiply(false, root, s, t)
		h.slope(g, t, widths)
		multiply(true, root, g, dst)
	}
	first := make([]float64, h.dim)
	slope(first, make([]float64, h.dim))
	length := norm(first) // of Newton's step
	clear(t)
	if !(length > flat) || math.IsInf(length, 0) {
		return t, 0, true
	}
	at := make([]float64, h.dim)
	slope(at, first) // at Newton's step, which is the top of a quadratic
	multiply(false, root, first, t)
	if norm(at) <= flat && !h.beyond(t) {
		if gain := h.value(t) - start; gain > 0 {
			return t, gain, true
		}
	}
	result, err := optimize.Minimize(optimize.Problem{
		Func: func(r []float64) float64 {
			copy(at, r)
			linalg.Scale(length, at)
			multiply(false, root, at, t)
			if h.beyond(t) {
				return math.Inf(1)
			}
			v := (start - h.value(t)) / (length * length)
			if math.IsNaN(v) {
				return math.Inf(1) // outside the density's range: the search steps back
			}
			return v
		},
		Grad: func(dst, r []float64) {
			copy(at, r)
			linalg.Scale(length, at)
			slope(dst, at)
			for i, v := range dst {
				dst[i] = -v / length
				if v-v != 0 {
					dst[i] = 0
				}
			}
		},
	}, make([]float64, h.dim), &optimize.Settings{
		GradientThreshold: flat / length,
		MajorIterations:   20 * (h.dim + 10),
		FuncEvaluations:   100 * (h.dim + 10),
		Converger:         &optimize.FunctionConverge{Absolute: noise / (length * length), Iterations: 3},
	}, &optimize.BFGS{})
	clear(t)
	if result == nil || result.X == nil || !(result.F < 0) {
		_ = err // the line search found nothing higher
		return h.backtrack(root, first, start, noise)
	}
	copy(at, result.X)
	linalg.Scale(length, at)
	multiply(false, root, at, t)
	return t, -result.F * length * length, result.Status == optimize.GradientThreshold
}

// backtrack halves Newton's step until it gains.
func (h *hill) backtrack(
	root *mat.Dense, first []float64, start, noise float64,
) (t []float64, gain float64, level bool) {
	t, s := make([]float64, h.dim), append([]float64(nil), first...)
	for range 60 {
		multiply(false, root, s, t)
		if !h.beyond(t) {
			if gain := h.value(t) - start; gain > noise {
				return t, gain, false
			}
		}
		linalg.Scale(0.5, s)
	}
	clear(t)
	return t, 0, false
}

// beyond says that t is too far away for one search: a scale by a factor of 1000.
func (h *hill) beyond(t []float64) bool {
	for i, m := range h.most {
		if math.Abs(t[i]) > 3.5*m {
			return true
		}
	}
	return false
}

// flatness returns the length of a gradient, in coordinates of unit curvature, below which a point counts as the
// maximum: half its square is what is left to gain, in nats. It is above what rounding makes of differences of a sum of
// that value; and noise is a gain that rounding alone can show.
func flatness(value float64) (flat, noise float64) {
	size := math.Abs(value)
	return max(1e-7, 1e-11*size), max(1e-12, 1e-15*size)
}

// precondition returns the matrix R, dim×dim, with t = R s and curvature I in s, and how far each t_j goes with
// a nat.
func (h *hill) precondition() (root *mat.Dense, widths []float64) {
	c := mat.NewSymDense(h.dim, nil)
	h.curvature(c)
	root, widths = mat.NewDense(h.dim, h.dim, nil), make([]float64, h.dim)
	// Scaled to a unit diagonal first: units must not decide which eigenvalue is small.
	scale := make([]float64, h.dim)
	for i := range scale {
		scale[i] = 1 / math.Sqrt(math.Abs(c.At(i, i)))
		if scale[i]-scale[i] != 0 || scale[i] == 0 {
			scale[i] = 1
		}
		if h.most != nil && scale[i] > h.most[i] { // flat: as if it were curved enough
			scale[i] = h.most[i]
			c.SetSym(i, i, 1/(scale[i]*scale[i]))
		}
		widths[i] = scale[i]
	}
	for i := range scale {
		for j := i; j < h.dim; j++ {
			v := c.At(i, j) * scale[i] * scale[j]
			if v-v != 0 {
				v = 0
			}
			c.SetSym(i, j, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(c, true) {
		for i, v := range scale {
			root.Set(i, i, v)
		}
		return root, widths
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for j, lambda := range eigen.Values(nil) {
		lambda = max(math.Abs(lambda), 1e-6)
		for i := range scale {
			root.Set(i, j, scale[i]*vectors.At(i, j)/math.Sqrt(lambda))
		}
	}
	return root, widths
}

// slope is the gradient, by central differences where it is not given. Their steps weigh the rounding of the
// value against the third derivative.
func (h *hill) slope(dst, t, widths []float64) {
	if h.gradient != nil {
		h.gradient(dst, t, widths)
		return
	}
	x := append([]float64(nil), t...)
	for j := range dst {
		dst[j] = difference(h.value, x, j, widths[j])
	}
}

// difference is ∂f/∂t_j by central differences over about stride·width; t is as before afterwards.
func difference(f func(t []float64) float64, t []float64, j int, width float64) float64 {
	old := t[j]
	step := math.Exp2(math.Round(math.Log2(stride * width)))
	t[j] = old + step
	above, up := f(t), t[j]-old
	t[j] = old - step
	below, down := f(t), old-t[j]
	t[j] = old
	return (above - below) / (up + down)
}

// stride is the step of central differences in units of unit curvature: with it, sums of
// 10² to 10⁶ nats have gradients good to 10⁻⁸ or better.
const stride = 1e-4

func multiply(transpose bool, a *mat.Dense, x, dst []float64) {
	v := mat.NewVecDense(len(dst), dst)
	if transpose {
		v.MulVec(a.T(), mat.NewVecDense(len(x), x))
		return
	}
	v.MulVec(a, mat.NewVecDense(len(x), x))
}

func norm(v []float64) float64 { return mat.Norm(mat.NewVecDense(len(v), v), 2) }

// curvatureOf puts −∇²f at 0 into dst, by second differences. Where f is a sum over n rows, its fourth derivative
// falls like 1/n in units in which it curves by one; that is weighed against rounding. The error is about 10⁻⁶ relative
// to the diagonal, or where fine is true, extrapolated from two steps, 10⁻⁸. w says over which distances f
// curves by about one; without it it is [laplace.Hessian], at four or two times the cost.
func curvatureOf(dst *mat.SymDense, f func(t []float64) float64, w *widths, n float64, fine bool) {
	d := dst.SymmetricDim()
	if w == nil {
		laplace.Hessian(dst, f, make([]float64, d), nil)
		dst.ScaleSym(-1, dst)
		return
	}
	middle := f(make([]float64, d))
	size := max(1, math.Abs(middle))
	if !fine {
		secondDifferences(dst, f, middle, w, math.Pow(1e-14*size*max(1, n), 1./4))
		return
	}
	stride := min(math.Pow(1e-15*size*max(1, n*n), 1./6), 1./8)
	secondDifferences(dst, f, middle, w, stride)
	far := mat.NewSymDense(d, nil)
	secondDifferences(far, f, middle, w, 2*stride)
	for i := range d {
		for j := i; j < d; j++ {
			dst.SetSym(i, j, (4*dst.At(i, j)-far.At(i, j))/3)
		}
	}
}

// gradientDifferences puts −∇²f at 0 into dst, by central differences of its gradient over about 10⁻³ of the distance
// over which f curves by one: a sum over n rows to about 10⁻⁶/n. step is a first guess of them.
func gradientDifferences(dst *mat.SymDense, gradient func(dst, t, widths []float64), step float64) {
	d := dst.SymmetricDim()
	t, unit := make([]float64, d), make([]float64, d)
	below, above := make([]float64, d), make([]float64, d)
	linalg.Fill(unit, 1)
	for i := range d {
		length := step
		for range 8 {
			t[i] = -length
			gradient(below, t, unit)
			t[i] = length
			gradient(above, t, unit)
			width := 1 / math.Sqrt(math.Abs(below[i]-above[i])/(2*length))
			if width-width != 0 { // beyond the range of f, or flat
				break
			}
			if length < width/100 && length > 1e-5*width {
				break
			}
			length = 1e-3 * width
		}
		for j := range d {
			v := (below[j] - above[j]) / (2 * t[i])
			if j < i {
				v = (v + dst.At(i, j)) / 2
			}
			dst.SetSym(i, j, v)
		}
		t[i] = 0
	}
}

// widths are, for each coordinate, a distance over which a function curves by about one, to be corrected, and
// one beyond which it must not be looked at.
type widths struct{ guess, most []float64 }

// secondDifferences are, with steps of about stride·width that are corrected where the widths turn out wrong,
//
//	f_ij ≈ [f(+i+j) + f(−i−j) − f(+i) − f(−i) − f(+j) − f(−j) + 2f(0)]/2,
//
// d² + d values of f.
func secondDifferences(dst *mat.SymDense, f func(t []float64) float64, middle float64, w *widths, stride float64) {
	d := dst.SymmetricDim()
	t := make([]float64, d)
	steps, above, below := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range t {
		width := min(w.guess[i], w.most[i])
		for range 12 {
			steps[i] = math.Exp2(math.Round(math.Log2(stride * width)))
			t[i] = steps[i]
			above[i] = f(t)
			t[i] = -steps[i]
			below[i] = f(t)
			t[i] = 0
			bend := math.Abs(above[i]-2*middle+below[i]) / (stride * stride)
			switch {
			case bend-bend != 0:
				width /= 16 // beyond the range of f
				continue
			case bend > 64 || bend < 1./64 && width < w.most[i]:
				width = min(width*min(max(1/math.Sqrt(bend), 1./16), 16), w.most[i])
				continue
			}
			break
		}
		dst.SetSym(i, i, -(above[i]-2*middle+below[i])/(steps[i]*steps[i]))
	}
	for i := range t {
		for j := i + 1; j < d; j++ {
			t[i], t[j] = steps[i], steps[j]
			both := f(t)
			t[i], t[j] = -steps[i], -steps[j]
			both += f(t)
			t[i], t[j] = 0, 0
			dst.SetSym(i, j, -(both-above[i]-below[i]-above[j]-below[j]+2*middle)/(2*steps[i]*steps[j]))
		}
	}
}
