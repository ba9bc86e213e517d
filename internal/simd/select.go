package simd

// WithinSpace is the additional length, beyond n, of a list that [Within] writes.
const WithinSpace = 16

// Within lists the indices, ascending, at which a − b is above gap, or NaN, and returns their
// number. a and b have n numbers, a multiple of [Lanes]; the list has [WithinSpace] more, and is
// arbitrary beyond the indices.
func Within(list []int32, a, b []float64, gap float64) int {
	rows(len(a))
	need("b", b, len(a))
	if len(list) < len(a)+WithinSpace {
		panic("simd: list is too short")
	}
	if len(a) == 0 {
		return 0
	}
	return within(list, a, b, gap)
}

// Raise puts the larger of dst and v into dst, of the same length, a multiple of [Lanes];
// where one of the two is NaN, either.
func Raise(dst, v []float64) {
	rows(len(v))
	need("dst", dst, len(v))
	if len(v) > 0 {
		raise(dst, v)
	}
}

// Gather copies the rows in list of an n×d column-major matrix into dst,
// Padded(len(list))×d column-major, padded with 0.
func Gather(dst, x []float64, d, n int, list []int32) {
	padded := Padded(len(list))
	need("dst", dst, d*padded)
	need("x", x, d*n)
	for _, i := range list {
		if uint(i) >= uint(n) {
			panic("simd: there is no such row to gather")
		}
	}
	first := 0
	if d > 0 {
		first = gather(dst, x, d, n, padded, list)
	}
	for c := range d {
		from, to := x[c*n:(c+1)*n], dst[c*padded:(c+1)*padded]
		for j, i := range list[first:] {
			to[first+j] = from[i]
		}
		clear(to[len(list):])
	}
}

// Rotate turns two vectors of one length in their plane: v becomes c·v − s·w, and w s·v + c·w.
func Rotate(v, w []float64, c, s float64) {
	need("w", w, len(v))
	if len(v) > 0 {
		rotate(v, w[:len(v)], c, s)
	}
}

// ---- The reference

func withinPortable(list []int32, a, b []float64, gap float64) int {
	count := 0
	for i, v := range a {
		list[count] = int32(i)
		if !(v-b[i] <= gap) {
			count++
		}
	}
	return count
}

func raisePortable(dst, v []float64) {
	for i, x := range v {
		dst[i] = max(dst[i], x)
	}
}

func rotatePortable(v, w []float64, c, s float64) {
	for i, x := range v {
		y := w[i]
		v[i], w[i] = c*x-s*y, s*x+c*y
	}
}
