//go:build !noasm && !gccgo

package simd

// forward has kernels for rows of up to 16 numbers.
func forward(alpha, e, scale, entry, move []float64, k, n int, least float64) (done int) {
	pairs := (k + 1) / 2
	switch side := Padded(k); {
	case level == portable || side > 16:
		return forwardPortable(alpha, e, scale, entry, move, k, n, least)
	case level == avx512 && side == 8:
		forward8AVX512(&alpha[0], &e[0], &scale[0], &entry[0], &move[0], pairs, n, least, &done)
	case level == avx512:
		forward16AVX512(&alpha[0], &e[0], &scale[0], &entry[0], &move[0], pairs, n, least, &done)
	case side == 8:
		forward8AVX2(&alpha[0], &e[0], &scale[0], &entry[0], &move[0], pairs, n, least, &done)
	default:
		forward16AVX2(&alpha[0], &e[0], &scale[0], &entry[0], &move[0], pairs, n, least, &done)
	}
	return done
}

func backward(e, alpha, gamma, scale, beta, back []float64, k, n int) {
	pairs := (k + 1) / 2
	switch side := Padded(k); {
	case level == portable || side > 16:
		backwardPortable(e, alpha, gamma, scale, beta, back, k, n)
	case level == avx512 && side == 8:
		backward8AVX512(&e[0], &alpha[0], &gamma[0], &scale[0], &beta[0], &back[0], pairs, n)
	case level == avx512:
		backward16AVX512(&e[0], &alpha[0], &gamma[0], &scale[0], &beta[0], &back[0], pairs, n)
	case side == 8:
		backward8AVX2(&e[0], &alpha[0], &gamma[0], &scale[0], &beta[0], &back[0], pairs, n)
	default:
		backward16AVX2(&e[0], &alpha[0], &gamma[0], &scale[0], &beta[0], &back[0], pairs, n)
	}
}
