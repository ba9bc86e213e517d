package simd

// strip is how many rows [GaussianScores] works on at a time at most.
const strip = 32

// ScoresWork is the work space of [GaussianScores] for d columns.
func ScoresWork(d int) int { return strip * d }

// GaussianScores adds c − ½‖R(x−m)‖² to dst for each row of an n×d column-major matrix. R
// is upper triangular, d×d row-major; what is below its diagonal is not read.
// Columns are centred before they are multiplied, so that a large mean costs no
// digits. A row's score has the same bits whatever the other rows are. work has
// [ScoresWork] numbers.
func GaussianScores(dst, x []float64, d, n int, c float64, m, root, work []float64) {
	GaussianBounds(dst, x, d, n, 0, c, m, root, work)
}

// GaussianBounds is [GaussianScores] with the squares that the rows of R from a multiple of
// 4 on make alone. These are the cheapest, because only the last columns are in them. It
// is never below the score, even by rounding: the same squares are added in the
// same order, beginning from 0 instead of a positive sum, and rounding is monotone.
func GaussianBounds(dst, x []float64, d, n, from int, c float64, m, root, work []float64) {
	rows(n)
	need("dst", dst, n)
	need("x", x, d*n)
	need("m", m, d)
	need("root", root, d*d)
	need("work", work, ScoresWork(d))
	if d == 0 {
		panic("simd: no columns")
	}
	if from < 0 || from >= d || from%4 != 0 {
		panic("simd: bounds begin with a row that is a multiple of 4")
	}
	if n > 0 {
		gaussianScores(dst[:n], x[from*n:], d-from, n, c, m[from:], root[from*d+from:], d, work)
	}
}

// DiagonalScores adds c − Σ_a h_a(x_a−m_a)² to dst for each row of an n×d column-major
// matrix.
func DiagonalScores(dst, x []float64, d, n int, c float64, m, h []float64) {
	rows(n)
	need("dst", dst, n)
	need("x", x, d*n)
	need("m", m, d)
	need("h", h, d)
	if d == 0 {
		panic("simd: no columns")
	}
	if n > 0 {
		diagonalScores(dst[:n], x, d, n, c, m, h)
	}
}

// DiagonalMoments adds Σ w(x_a−anchor_a) to first and Σ w(x_a−anchor_a)² to second, for the
// rows of an n×d column-major matrix with weights w.
func DiagonalMoments(first, second, x []float64, d, n int, anchor, w []float64) {
	rows(n)
	need("first", first, d)
	need("second", second, d)
	need("x", x, d*n)
	need("anchor", anchor, d)
	need("w", w, n)
	if d == 0 {
		panic("simd: no columns")
	}
	if n > 0 {
		diagonalMoments(first, second, x, d, n, anchor, w)
	}
}

// MomentsWork is the work space of [GaussianMoments] for n rows of d columns.
func MomentsWork(d, n int) int { return (d+5)*n + 4*(d+4) }

// GaussianMoments adds Σ w(x−anchor) to first and Σ w(x−anchor)(x−anchor)ᵀ to the upper
// triangle of second, d×d row-major, for the rows of an n×d column-major matrix with weights w;
// it returns Σ w. work has [MomentsWork] numbers.
func GaussianMoments(first, second, x []float64, d, n int, anchor, w, work []float64) (total float64) {
	rows(n)
	need("first", first, d)
	need("second", second, d*d)
	need("x", x, d*n)
	need("anchor", anchor, d)
	need("w", w, n)
	need("work", work, MomentsWork(d, n))
	if d == 0 {
		panic("simd: no columns")
	}
	if n == 0 {
		return 0
	}
	return gaussianMoments(first, second, x, d, n, anchor, w, work)
}

// momentsInBlocks multiplies columns of the rows less the anchor, and one of ones, with the
// same times the weights: a block on the diagonal, which weighs its columns, then those to
// its right. A block's sums are added while they are in the first cache.
func momentsInBlocks(block int, deviations func(y, x *float64, d, n int, anchor *float64),
	products func(dst, wy, y, w *float64, n, stride, columns int),
	first, second, x []float64, d, n int, anchor, w, work []float64) (total float64) {
	y, wy, sums := work[:(d+1)*n], work[(d+1)*n:(d+5)*n], work[(d+5)*n:]
	stride := d + 4
	deviations(&y[0], &x[0], d, n, &anchor[0])
	for a := 0; a <= d; a += block {
		products(&sums[a], &wy[0], &y[a*n], &w[0], n, stride, min(block, d+1-a))
		for c := a + block; c <= d; c += 4 {
			products(&sums[c], &wy[0], &y[c*n], nil, n, stride, min(4, d+1-c))
		}
		for i := range min(block, d-a) {
			row, at := sums[i*stride:], a+i
			first[at] += row[d]
			AddTimes(1, row[at:d], second[at*d+at:(at+1)*d])
		}
	}
	return sums[d%block*stride+d]
}

// ---- The reference

func gaussianScoresPortable(dst, x []float64, d, n int, c float64, m, root []float64, width int, work []float64) {
	for from := 0; from < n; from += strip {
		part := dst[from:min(from+strip, n)]
		rows := len(part)
		for a := range d {
			y := work[a*rows : (a+1)*rows]
			for i, v := range x[a*n+from:][:rows] {
				y[i] = v - m[a]
			}
		}
		for a := range d {
			z := work[a*rows : (a+1)*rows] // column a is not needed afterwards
			for i := range z {
				z[i] *= root[a*width+a]
			}
			b := a + 1
			for ; b+4 <= d; b += 4 { // four at a time: z is loaded and stored less often
				r0, r1, r2, r3 := root[a*width+b], root[a*width+b+1], root[a*width+b+2], root[a*width+b+3]
				y0, y1, y2, y3 := work[b*rows:][:len(z)], work[(b+1)*rows:][:len(z)], work[(b+2)*rows:][:len(z)],
					work[(b+3)*rows:][:len(z)]
				for i := range z {
					z[i] += r0*y0[i] + r1*y1[i] + (r2*y2[i] + r3*y3[i])
				}
			}
			for ; b < d; b++ {
				r := root[a*width+b]
				for i, v := range work[b*rows:][:len(z)] {
					z[i] += r * v
				}
			}
			if a > 0 {
				for i, v := range z {
					work[i] += v * v
				}
				continue
			}
			for i, v := range z {
				z[i] = v * v // the sum of squares is in the memory of column 0
			}
		}
		for i, v := range work[:rows] {
			part[i] = part[i] + c - v/2
		}
	}
}

func diagonalScoresPortable(dst, x []float64, d, n int, c float64, m, h []float64) {
	for from := 0; from < n; from += strip {
		part := dst[from:min(from+strip, n)]
		var quad [strip]float64
		for a := range d {
			center, weight := m[a], h[a]
			for i, v := range x[a*n+from:][:len(part)] {
				v -= center
				quad[i] += weight * v * v
			}
		}
		for i := range part {
			part[i] = part[i] + c - quad[i]
		}
	}
}

func diagonalMomentsPortable(first, second, x []float64, d, n int, anchor, w []float64) {
	w = w[:n]
	for a := range d {
		one, two, center := 0.0, 0.0, anchor[a]
		for i, v := range x[a*n:][:len(w)] {
			v -= center
			wv := w[i] * v
			one += wv
			two += wv * v
		}
		first[a] += one
		second[a] += two
	}
}

func gaussianMomentsPortable(first, second, x []float64, d, n int, anchor, w, work []float64) (total float64) {
	y, wy := work[:d*n], work[d*n:(d+1)*n]
	w = w[:n]
	for a := range d {
		for i, v := range x[a*n : (a+1)*n] {
			y[a*n+i] = v - anchor[a]
		}
	}
	for a := range d {
		sum := 0.0
		for i, v := range y[a*n : (a+1)*n] {
			wy[i] = w[i] * v
			sum += wy[i]
		}
		first[a] += sum
		c := a
		for ; c+4 <= d; c += 4 { // four sums at a time, which need not wait for each other
			y0, y1, y2, y3 := y[c*n:][:len(wy)], y[(c+1)*n:][:len(wy)], y[(c+2)*n:][:len(wy)], y[(c+3)*n:][:len(wy)]
			var s0, s1, s2, s3 float64
			for i, v := range wy {
				s0 += v * y0[i]
				s1 += v * y1[i]
				s2 += v * y2[i]
				s3 += v * y3[i]
			}
			to := second[a*d+c:][:4]
			to[0], to[1], to[2], to[3] = to[0]+s0, to[1]+s1, to[2]+s2, to[3]+s3
		}
		for ; c < d; c++ {
			sum := 0.0
			for i, v := range y[c*n:][:len(wy)] {
				sum += wy[i] * v
			}
			second[a*d+c] += sum
		}
	}
	for _, v := range w {
		total += v
	}
	return total
}
