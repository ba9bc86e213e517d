//go:build !noasm && !gccgo

package simd

import (
	"math"

	"golang.org/x/sys/cpu"
)

// level is what the processor and the operating system offer; tests lower it.
var level = detect()

func detect() instructions {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2:
		return avx512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return avx2
	}
	return portable
}

func exp(dst, src []float64) {
	switch level {
	case avx512:
		expAVX512(&dst[0], &src[0], len(src))
	case avx2:
		expAVX2(&dst[0], &src[0], len(src))
	default:
		expPortable(dst, src)
	}
}

func log(dst, src []float64) {
	switch level {
	case avx512:
		logAVX512(&dst[0], &src[0], len(src))
	case avx2:
		logAVX2(&dst[0], &src[0], len(src))
	default:
		logPortable(dst, src)
	}
}

func softmax(v []float64, k, n int, logSum, entropy []float64) {
	switch level {
	case avx512:
		softmaxAVX512(&v[0], k, n, &logSum[0], &entropy[0])
	case avx2:
		softmaxAVX2(&v[0], k, n, &logSum[0], &entropy[0])
	default:
		softmaxPortable(v, k, n, logSum, entropy)
	}
}

func logComplement(q []float64) float64 {
	var mantissas [Lanes]float64
	var exponents [Lanes]int
	lanes := Lanes
	switch level {
	case avx512:
		complementAVX512(&q[0], len(q), &mantissas, &exponents)
	case avx2:
		lanes = 4
		complementAVX2(&q[0], len(q), &mantissas, &exponents)
	default:
		return logComplementPortable(q)
	}
	product, exponent := 1.0, -1023*len(q)
	for i := range lanes {
		product *= mantissas[i] // below 2⁸ in the end
		exponent += exponents[i]
	}
	return math.Log(product) + float64(exponent)*math.Ln2
}
