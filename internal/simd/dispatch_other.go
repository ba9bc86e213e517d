//go:build !amd64 || noasm || gccgo

package simd

var level = portable

func exp(dst, src []float64) { expPortable(dst, src) }

func log(dst, src []float64) { logPortable(dst, src) }

func softmax(v []float64, k, n int, logSum, entropy []float64) {
	softmaxPortable(v, k, n, logSum, entropy)
}

func logComplement(q []float64) float64 { return logComplementPortable(q) }
