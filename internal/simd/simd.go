// Package simd has the inner loops of inference in float64: exponentials and logarithms of
// slices, the softmax of many rows, the scores and moments of Gaussian components,
// and products of matrices.
//
// Each exists three times: portable Go, which is the reference and runs everywhere, and
// assembly for AVX2 with FMA and for AVX-512F, which asm/ generates and the processor
// chooses between when the program starts. The build tag noasm leaves the assembly out.
// Results of the three differ in rounding; on one machine they are always the same bits.
//
// Matrices are column-major here: the matrix of D columns and n rows has column a in
// x[a*n : (a+1)*n], so that one instruction treats 4 or 8 rows. n is a multiple of [Lanes];
// padding rows may hold any numbers, which affect no other row.
//
// A slice that is too short is a programmer's mistake and panics; nothing outside the
// slices is read or written.
package simd

//go:generate sh -c "cd asm && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import "math"

// Lanes divides the number of rows of a column-major matrix.
const Lanes = 8

// Padded is the smallest multiple of [Lanes] that is at least n.
func Padded(n int) int { return (n + Lanes - 1) &^ (Lanes - 1) }

// Accelerated reports whether there is assembly for this processor.
func Accelerated() bool { return level != portable }

// Instructions names the set of instructions in use, or "portable".
func Instructions() string { return level.String() }

type instructions int

const (
	portable instructions = iota
	avx2
	avx512
)

func (i instructions) String() string { return [...]string{"portable", "AVX2", "AVX-512"}[i] }

// need panics unless a slice has n numbers.
func need(what string, s []float64, n int) {
	if n < 0 || len(s) < n {
		panic("simd: " + what + " is too short")
	}
}

// rows panics unless n can be the number of rows of a column-major matrix.
func rows(n int) {
	if n < 0 || n%Lanes != 0 {
		panic("simd: the number of rows is no multiple of Lanes")
	}
}

// Exp puts the exponentials of src into dst, of the same length; the two may be one slice.
// Errors are below 1 ulp in assembly and 1.5 ulp in portable Go, results below the normal
// range included; overflow gives +Inf, exp(−Inf) is 0 and a NaN stays one.
func Exp(dst, src []float64) {
	need("dst", dst, len(src))
	if len(src) > 0 {
		exp(dst, src)
	}
}

// Log puts the natural logarithms of src into dst, of the same length; the two may be one
// slice. Errors are below 1 ulp; log 0 is −Inf, log(+Inf) is +Inf, and that of a negative
// number or NaN is NaN.
func Log(dst, src []float64) {
	need("dst", dst, len(src))
	if len(src) > 0 {
		log(dst, src)
	}
}

// Negligible is the difference to the highest log joint of a row at which, and below which,
// [Softmax] makes a probability exactly 0. e⁻³⁵⁴ = 1.9e-154 is just above 2⁻⁵¹¹, the square
// root of the smallest normal number.
const Negligible = -354

// Softmax replaces the log joints of n rows and k components, n×k column-major, by
// probabilities, in place. For each row it gives ln Σ_k exp(v_k) in logSum and the
// entropy of the probabilities, which is not negative, in entropy. Both are NaN for a row
// with a NaN or +Inf in it, or with −Inf alone; k is at least 1.
//
// A probability of at most e⁻³⁵⁴ times the highest one becomes 0 (see [Negligible]). In a sum
// over rows it is lost in rounding against any row whose probability is above 1e-138. But many
// processors take a hundred times as long for an instruction on a subnormal number, and
// moments multiply a probability q by a row's weight w, by x and by x². The square root
// leaves half of the exponents to these: q·w·x² is a normal number where w·x² is above k·1e-154.
func Softmax(v []float64, k, n int, logSum, entropy []float64) {
	rows(n)
	need("v", v, k*n)
	need("logSum", logSum, n)
	need("entropy", entropy, n)
	if k < 1 {
		panic("simd: softmax of no components")
	}
	if n > 0 {
		softmax(v, k, n, logSum, entropy)
	}
}

// LogComplement is Σ ln(1 − q) over a multiple of [Lanes] of probabilities, with a
// probability of 1 taken for 1 − 2⁻⁵³. Products are taken first, and one logarithm in
// the end.
func LogComplement(q []float64) float64 {
	rows(len(q))
	if len(q) == 0 {
		return 0
	}
	return logComplement(q)
}

// Finite reports whether no number is NaN or infinite.
func Finite(x []float64) bool { return len(x) == 0 || finite(x) }

// Columns transposes n rows of d columns, of which row i begins at x[i*stride], into dst,
// Padded(n)×d column-major, padded with 0. It reports whether all numbers are finite.
func Columns(dst, x []float64, n, d, stride int) bool {
	padded := Padded(n)
	need("dst", dst, d*padded)
	if d == 0 || n == 0 {
		return true
	}
	need("x", x, (n-1)*stride+d)
	full := n &^ (Lanes - 1)
	good := true
	if full > 0 {
		good = columns(dst, x, full, d, padded, stride)
	}
	if full < n {
		good = lastColumns(dst, x, full, n, d, padded, stride) && good
	}
	return good
}

// lastColumns is [Columns] of the rows from full on, which are fewer than [Lanes].
func lastColumns(dst, x []float64, full, n, d, padded, stride int) bool {
	sum := 0.0
	for c := range d {
		to := (*[Lanes]float64)(dst[c*padded+full:])
		*to = [Lanes]float64{}
		for i := full; i < n; i++ {
			v := x[i*stride+c]
			to[i-full] = v
			sum += 0 * v
		}
	}
	return sum == 0
}

// ---- The reference

func expPortable(dst, src []float64) {
	for i, v := range src {
		dst[i] = expOf(v)
	}
}

// expOf is math.Exp, whose assembly on amd64 is +Inf from 709.74 on already and has lost
// the last bits of results below the normal range.
func expOf(x float64) float64 {
	if x > 709 || x < -708 {
		if x > 710 || x < -746 || x != x {
			return math.Exp(x)
		}
		half := math.Trunc(x / 2)
		return math.Exp(half) * math.Exp(x-half)
	}
	return math.Exp(x)
}

func logPortable(dst, src []float64) {
	for i, v := range src {
		dst[i] = logOf(v)
	}
}

// logOf is math.Log, whose assembly on amd64 takes numbers below the normal range for
// larger ones.
func logOf(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func softmaxPortable(v []float64, k, n int, logSum, entropy []float64) {
	for i := range n {
		top := math.Inf(-1)
		for j := range k {
			top = max(top, v[j*n+i])
		}
		sum, mean := 0.0, 0.0
		for j := range k {
			less := v[j*n+i] - top
			if less <= Negligible {
				v[j*n+i] = 0
				continue
			}
			e := math.Exp(less)
			sum += e
			mean += e * less
			v[j*n+i] = e
		}
		for j := range k {
			v[j*n+i] /= sum
		}
		log := math.Log(sum)
		logSum[i], entropy[i] = top+log, max(0, log-mean/sum)
	}
}

func logComplementPortable(q []float64) float64 {
	product, log := 1.0, 0.0
	for _, v := range q {
		if product *= 1 - min(v, 1-0x1p-53); product < 1e-280 {
			log += math.Log(product)
			product = 1
		}
	}
	return log + math.Log(product)
}

func finitePortable(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// columnsPortable writes full cache lines.
func columnsPortable(dst, x []float64, n, d, padded, stride int) bool {
	sum := 0.0
	for i := 0; i < n; i += Lanes {
		r0, r1, r2, r3 := x[i*stride:][:d], x[(i+1)*stride:][:d], x[(i+2)*stride:][:d], x[(i+3)*stride:][:d]
		r4, r5, r6, r7 := x[(i+4)*stride:][:d], x[(i+5)*stride:][:d], x[(i+6)*stride:][:d], x[(i+7)*stride:][:d]
		for c := range r0 {
			to := (*[Lanes]float64)(dst[c*padded+i:])
			to[0], to[1], to[2], to[3] = r0[c], r1[c], r2[c], r3[c]
			to[4], to[5], to[6], to[7] = r4[c], r5[c], r6[c], r7[c]
			sum += 0 * (math.Abs(r0[c]) + math.Abs(r1[c]) + math.Abs(r2[c]) + math.Abs(r3[c]))
			sum += 0 * (math.Abs(r4[c]) + math.Abs(r5[c]) + math.Abs(r6[c]) + math.Abs(r7[c]))
		}
	}
	return sum == 0
}
