package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// matrixOf is a guarded rows×columns matrix with gap unused numbers after each row.
func matrixOf(t *testing.T, rng *rand.Rand, rows, columns, gap int) (data []float64, stride int, inside func()) {
	stride = max(1, columns+gap)
	n := 0
	if rows > 0 && columns > 0 {
		n = (rows-1)*stride + columns
	}
	data, inside = guarded(t, normals(rng, n, 1, 0), rng.IntN(8))
	for i := 0; i+1 < rows; i++ {
		for j := columns; j < stride && columns > 0; j++ {
			data[i*stride+j] = canary
		}
	}
	whole := inside
	return data, stride, func() {
		t.Helper()
		whole()
		for i := 0; i+1 < rows; i++ {
			for j := columns; j < stride && columns > 0; j++ {
				require.Equal(t, canary, data[i*stride+j], "between the rows")
			}
		}
	}
}

// The product entry by entry, with the sum of its terms' sizes: rounding is at most k+2
// units of that.
func checkProduct(t *testing.T, rng *rand.Rand, transA, transB bool, m, n, k int) {
	alpha, beta := []float64{1, -1, 0.7}[rng.IntN(3)], []float64{0, 1, -0.3}[rng.IntN(3)]
	ra, ca, rb, cb := m, k, k, n
	if transA {
		ra, ca = k, m
	}
	if transB {
		rb, cb = n, k
	}
	a, lda, insideA := matrixOf(t, rng, ra, ca, rng.IntN(3))
	b, ldb, insideB := matrixOf(t, rng, rb, cb, rng.IntN(3))
	c, ldc, insideC := matrixOf(t, rng, m, n, rng.IntN(3))
	if beta == 0 {
		for i := range c {
			if c[i] != canary {
				c[i] = math.NaN() // does not count
			}
		}
	}
	old := append([]float64(nil), c...)
	Product(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	insideA()
	insideB()
	insideC()
	for i := range m {
		for j := range n {
			sum, size := 0.0, 0.0
			for p := range k {
				x, y := i*lda+p, p*ldb+j
				if transA {
					x = p*lda + i
				}
				if transB {
					y = j*ldb + p
				}
				sum += a[x] * b[y]
				size += math.Abs(a[x] * b[y])
			}
			sum, size = alpha*sum, math.Abs(alpha)*size
			if beta != 0 {
				sum += beta * old[i*ldc+j]
				size += math.Abs(beta * old[i*ldc+j])
			}
			if d := math.Abs(sum - c[i*ldc+j]); !(d <= float64(k+4)*0x1p-53*size) {
				require.Failf(t, "product", "%d×%d×%d %v %v: %v, not %v", m, k, n, transA, transB, c[i*ldc+j], sum)
			}
		}
	}
}

func TestProductOfEveryShape(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 6))
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for m := 0; m <= 17; m++ { // tiles of every height
				for n := 0; n <= 50; n++ { // and every width
					checkProduct(t, rng, trans[0], trans[1], m, n, 1+rng.IntN(9))
				}
			}
			for k := range 131 {
				checkProduct(t, rng, trans[0], trans[1], 5, 13, k)
			}
			checkProduct(t, rng, trans[0], trans[1], 70, 250, 260) // packed, more than one block each way
			checkProduct(t, rng, trans[0], trans[1], 131, 20, 520)
			checkProduct(t, rng, trans[0], trans[1], 3, 500, 300)
		}
	})
}

func TestSymmetricIsTheUpperTriangleOfTheProduct(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(2, 6))
		for _, size := range [][2]int{{1, 1}, {2, 5}, {7, 3}, {8, 8}, {9, 100}, {23, 40}, {24, 40}, {25, 40}, {50, 64}, {61, 300}, {260, 70}} {
			n, k := size[0], size[1]
			a, lda, insideA := matrixOf(t, rng, k, n, rng.IntN(3))
			c, ldc, insideC := matrixOf(t, rng, n, n, rng.IntN(3))
			want := append([]float64(nil), c...)
			Symmetric(n, k, -0.5, a, lda, c, ldc)
			Product(true, false, n, n, k, -0.5, a, lda, a, lda, 1, want, ldc)
			insideA()
			insideC()
			for i := range n {
				for j := i; j < n; j++ {
					require.InDelta(t, want[i*ldc+j], c[i*ldc+j], 1e-14*float64(k+10))
				}
			}
		}
	})
}

// An entry of a product does not depend on how many rows are asked for with it.
func TestRowsOfAProductMayBeSharedOut(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 6))
		const m, n, k = 100, 61, 300
		a, b := normals(rng, m*k, 1, 0), normals(rng, k*n, 1, 0)
		whole := make([]float64, m*n)
		Product(false, false, m, n, k, 1, a, k, b, n, 0, whole, n)
		for _, step := range []int{1, 7, 40} {
			parts := make([]float64, m*n)
			for i := 0; i < m; i += step {
				Product(false, false, min(step, m-i), n, k, 1, a[i*k:], k, b, n, 0, parts[i*n:], n)
			}
			require.Equal(t, whole, parts)
		}
	})
}

func TestProductOfShortSlicesPanics(t *testing.T) {
	s := make([]float64, 12)
	require.Panics(t, func() { Product(false, false, 4, 4, 4, 1, s, 4, s, 4, 0, s, 4) })
	require.Panics(t, func() { Product(false, false, 3, 4, 3, 1, s, 3, s, 4, 0, s[:11], 4) })
	require.Panics(t, func() { Symmetric(4, 3, 1, s, 4, s, 4) })
	require.Panics(t, func() { Product(false, false, 3, 4, 3, 1, s, 3, s, 4, 0, s, 3) })
}

func BenchmarkProduct(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 6))
	for _, c := range []struct {
		m, n, k        int
		transA, transB bool
	}{{1000, 1000, 1000, false, false}, {100000, 20, 50, false, true}, {256, 10, 200, false, true}, {10, 200, 256, false, false}, {256, 10, 10, false, true}} {
		x, y, z := normals(rng, c.m*c.k, 1, 0), normals(rng, c.k*c.n, 1, 0), make([]float64, c.m*c.n)
		lda, ldb := c.k, c.n
		if c.transA {
			lda = c.m
		}
		if c.transB {
			ldb = c.k
		}
		b.Run(fmt.Sprintf("%dx%dx%d", c.m, c.k, c.n), func(b *testing.B) {
			flops(b, 2*c.m*c.n*c.k, func() { Product(c.transA, c.transB, c.m, c.n, c.k, 1, x, lda, y, ldb, 0, z, c.n) })
		})
	}
	b.Run("symmetric/1000x1000", func(b *testing.B) {
		const n, k = 1000, 1000
		x, z := normals(rng, n*k, 1, 0), make([]float64, n*n)
		flops(b, n*n*k, func() { Symmetric(n, k, 1, x, n, z, n) })
	})
}

// flops runs a benchmark with every set of instructions, and reports GFLOP/s.
func flops(b *testing.B, count int, f func()) {
	best := level
	defer func() { level = best }()
	for l := portable; l <= best; l++ {
		level = l
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(count)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}
