package family

import "math"

// isCount says whether a number is 0, 1, 2, …; from 2⁵³ on float64 cannot represent every one.
func isCount(v float64) bool { return v >= 0 && v == math.Trunc(v) && v <= 1<<53 }

// factorials holds ln n! for the counts that are frequent.
var factorials = func() (table [256]float64) {
	for n := range table {
		table[n], _ = math.Lgamma(float64(n) + 1)
	}
	return table
}()

// logFactorial is ln n! for a count n.
func logFactorial(n float64) float64 {
	if n < float64(len(factorials)) {
		return factorials[int(n)]
	}
	v, _ := math.Lgamma(n + 1)
	return v
}

// countsOf copies n rows of counts, stride apart in x, into t, and takes ln x! of each off base. It
// is false where one is no count.
func countsOf(x []float64, n, cells, stride int, t, base []float64) bool {
	for i := range n {
		for c, v := range x[i*stride : i*stride+cells] {
			if !isCount(v) {
				return false
			}
			t[i*cells+c] = v
			base[i] -= logFactorial(v)
		}
	}
	return true
}
