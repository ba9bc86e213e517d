package simd

// The functions of this file work on as many symmetric positive definite matrices at once as there are lanes: number
// (a,b) of the m×m matrix of lane l lies at (a·m+b)·side+l. side is a multiple of [Lanes]. The results of a lane have
// the same bits whatever the others are.

// Factorise puts the factors of A = UᵀDU, U upper triangular with the diagonal 1, in the place of the upper triangle
// of A: the rest of U, and D on the diagonal. inverse, m×side, is 1/D. margin, of a lane, is the least of
// D_a − share·A_aa, but 1 at most; it is not above 0, and may be NaN, where one pivot is not above its share.
func Factorise(u, inverse, margin []float64, m, side int, share float64) {
	matrices(u, inverse, m, side)
	need("margin", margin, side)
	if m > 0 && side > 0 {
		factorise(u, inverse, margin, m, side, share)
	}
}

// Solve solves Av = b by the factors of A, for n lanes, a multiple of [Lanes]. v, m×side, is b before.
func Solve(v, u, inverse []float64, m, side, n int) {
	matrices(u, inverse, m, side)
	need("v", v, m*side)
	rows(n)
	if n > side {
		panic("simd: more lanes than matrices")
	}
	if m > 0 && n > 0 {
		solve(v, u, inverse, m, side, n)
	}
}

// Invert puts the lower triangle of A⁻¹, with the diagonal, beside U.
func Invert(u, inverse []float64, m, side int) {
	matrices(u, inverse, m, side)
	if m > 0 && side > 0 {
		invert(u, inverse, m, side)
	}
}

func matrices(u, inverse []float64, m, side int) {
	rows(side)
	need("u", u, m*m*side)
	need("inverse", inverse, m*side)
}

// ---- The reference

func factorisePortable(u, inverse, margin []float64, m, side int, share float64) {
	for l := range side {
		margin[l] = 1
		for a := range m {
			inverse[a*side+l] = share * u[(a*m+a)*side+l]
		}
	}
	for a := range m {
		for l, pivot := range u[(a*m+a)*side:][:side] {
			margin[l] = min(margin[l], pivot-inverse[a*side+l])
			inverse[a*side+l] = 1 / pivot
		}
		for b := a + 1; b < m; b++ {
			for l, by := range inverse[a*side:][:side] {
				factor := u[(a*m+b)*side+l] * by
				for c := b; c < m; c++ {
					u[(b*m+c)*side+l] -= factor * u[(a*m+c)*side+l]
				}
				u[(a*m+b)*side+l] = factor
			}
		}
	}
}

func solvePortable(v, u, inverse []float64, m, side, n int) {
	for a := range m {
		for b := a + 1; b < m; b++ {
			to, from := v[b*side:][:n], u[(a*m+b)*side:]
			for l, x := range v[a*side:][:n] {
				to[l] -= from[l] * x
			}
		}
	}
	for a := m - 1; a >= 0; a-- {
		to := v[a*side:][:n]
		for l, by := range inverse[a*side:][:n] {
			to[l] *= by
		}
		for b := a + 1; b < m; b++ {
			from := u[(a*m+b)*side:]
			for l, x := range v[b*side:][:n] {
				to[l] -= from[l] * x
			}
		}
	}
}

func invertPortable(u, inverse []float64, m, side int) {
	for a := m - 1; a >= 0; a-- {
		for b := a + 1; b < m; b++ {
			to := u[(b*m+a)*side:][:side]
			clear(to)
			for c := a + 1; c < m; c++ {
				from := u[(max(b, c)*m+min(b, c))*side:]
				for l, v := range u[(a*m+c)*side:][:side] {
					to[l] -= v * from[l]
				}
			}
		}
		to := u[(a*m+a)*side:][:side]
		copy(to, inverse[a*side:])
		for c := a + 1; c < m; c++ {
			from := u[(c*m+a)*side:]
			for l, v := range u[(a*m+c)*side:][:side] {
				to[l] -= v * from[l]
			}
		}
	}
}
