package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func normals(rng *rand.Rand, n int, scale, shift float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = shift + scale*rng.NormFloat64()
	}
	return v
}

// sizes of tables: every number of columns that a block can leave over, every number of rows.
func sizes(test func(d, n int)) {
	for d := 1; d <= 21; d++ {
		for n := 0; n <= 136; n += Lanes {
			if n < 72 || d < 7 {
				test(d, n)
			}
		}
	}
	test(51, 72)
}

// close compares up to rounding: tol times the sum of the terms' sizes.
func closeTo(t *testing.T, want, got, size float64, what ...any) {
	t.Helper()
	require.False(t, math.Abs(want-got) > size*4e-15 || got != got, "%v, not %v: %v", got, want, what)
}

// The scores written row by row, and what their terms sum to in size.
func TestGaussianScoresAreQuadraticForms(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		sizes(func(d, n int) {
			m := normals(rng, d, 3, 1e3)
			x, insideX := guarded(t, normals(rng, d*n, 1, 1e3), d%3)
			root, _ := guarded(t, normals(rng, d*d, 1, 0), n%3) // arbitrary below the diagonal
			start := normals(rng, n, 1, 0)
			dst, insideDst := guarded(t, start, 1)
			work, insideWork := guarded(t, make([]float64, ScoresWork(d)), 0)
			GaussianScores(dst, x, d, n, -1.5, m, root, work)
			insideX()
			insideDst()
			insideWork()
			for i := range n {
				quad, size := 0.0, 1.0
				for a := range d {
					sum, absolute := 0.0, 0.0
					for c := a; c < d; c++ {
						v := root[a*d+c] * (x[c*n+i] - m[c])
						sum += v
						absolute += math.Abs(v)
					}
					quad += sum * sum
					size += absolute * absolute
				}
				closeTo(t, start[i]-1.5-quad/2, dst[i], size, d, n, i)
			}
		})
	})
}

func TestDiagonalScoresAreWeightedSquares(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(2, 2))
		sizes(func(d, n int) {
			m, h := normals(rng, d, 3, 1e3), normals(rng, d, 1, 4)
			x, insideX := guarded(t, normals(rng, d*n, 1, 1e3), d%3)
			start := normals(rng, n, 1, 0)
			dst, insideDst := guarded(t, start, 1)
			DiagonalScores(dst, x, d, n, 2.5, m, h)
			insideX()
			insideDst()
			for i := range n {
				quad, size := 0.0, 1.0
				for a := range d {
					v := x[a*n+i] - m[a]
					quad += h[a] * v * v
					size += math.Abs(h[a]) * v * v
				}
				closeTo(t, start[i]+2.5-quad, dst[i], size, d, n, i)
			}
		})
	})
}

func TestMomentsAreWeightedSums(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 3))
		sizes(func(d, n int) {
			anchor := normals(rng, d, 1, 1e3)
			x, insideX := guarded(t, normals(rng, d*n, 1, 1e3), d%3)
			w, insideW := guarded(t, normals(rng, n, 1, 3), n%5)
			firsts, seconds, diagonals := normals(rng, d, 1, 0), normals(rng, d*d, 1, 0), normals(rng, d, 1, 0)
			first, insideFirst := guarded(t, firsts, 1)
			second, insideSecond := guarded(t, seconds, 2)
			work, insideWork := guarded(t, make([]float64, MomentsWork(d, n)), 1)
			total := GaussianMoments(first, second, x, d, n, anchor, w, work)
			firstAlone, insideFirstAlone := guarded(t, firsts, 0)
			diagonal, insideDiagonal := guarded(t, diagonals, 1)
			DiagonalMoments(firstAlone, diagonal, x, d, n, anchor, w)
			for _, inside := range []func(){insideX, insideW, insideFirst, insideSecond, insideWork, insideFirstAlone, insideDiagonal} {
				inside()
			}
			sum, size := 0.0, 0.0
			for _, v := range w {
				sum += v
				size += math.Abs(v)
			}
			closeTo(t, sum, total, size, d, n)
			for a := range d {
				sum, size := firsts[a], math.Abs(firsts[a])
				for i := range n {
					v := w[i] * (x[a*n+i] - anchor[a])
					sum += v
					size += math.Abs(v)
				}
				closeTo(t, sum, first[a], size, d, n, a)
				closeTo(t, sum, firstAlone[a], size, d, n, a)
				for c := range d {
					sum, size = seconds[a*d+c], math.Abs(seconds[a*d+c])
					if c < a {
						require.Equal(t, sum, second[a*d+c], "below the diagonal")
						continue
					}
					products, sizes := 0.0, 0.0
					for i := range n {
						v := w[i] * (x[a*n+i] - anchor[a]) * (x[c*n+i] - anchor[c])
						products += v
						sizes += math.Abs(v)
					}
					closeTo(t, sum+products, second[a*d+c], size+sizes, d, n, a, c)
					if a == c {
						closeTo(t, diagonals[a]+products, diagonal[a], math.Abs(diagonals[a])+sizes, d, n, a)
					}
				}
			}
		})
	})
}

// A number in one row leaves the others alone: filled up rows may hold anything.
func TestRowsStayInTheirLanes(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 4))
		const d, n = 7, 40
		x, m, root := normals(rng, d*n, 1, 0), normals(rng, d, 1, 0), normals(rng, d*d, 1, 0)
		for _, odd := range []float64{math.NaN(), math.Inf(1), math.MaxFloat64} {
			for i := range n {
				want, got := make([]float64, n), make([]float64, n)
				work := make([]float64, ScoresWork(d))
				GaussianScores(want, x, d, n, 0, m, root, work)
				DiagonalScores(want, x, d, n, 0, m, m)
				y := append([]float64(nil), x...)
				for a := range d {
					y[a*n+i] = odd
				}
				GaussianScores(got, y, d, n, 0, m, root, work)
				DiagonalScores(got, y, d, n, 0, m, m)
				require.False(t, got[i]-got[i] == 0)
				got[i] = want[i]
				require.Equal(t, want, got)
			}
		}
	})
}

func BenchmarkGaussian(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n = 256
	for _, d := range []int{2, 10, 50} {
		x, m, root, w := normals(rng, d*n, 1, 0), normals(rng, d, 1, 0), normals(rng, d*d, 1, 0), normals(rng, n, 1, 3)
		dst, second := make([]float64, n), make([]float64, d*d)
		work := make([]float64, max(ScoresWork(d), MomentsWork(d, n)))
		for name, f := range map[string]func(){
			"scores":          func() { GaussianScores(dst, x, d, n, 0, m, root, work) },
			"moments":         func() { GaussianMoments(dst[:d], second, x, d, n, m, w, work) },
			"diagonalScores":  func() { DiagonalScores(dst, x, d, n, 0, m, m) },
			"diagonalMoments": func() { DiagonalMoments(dst[:d], second, x, d, n, m, w) },
		} {
			b.Run(fmt.Sprintf("%s/D=%d", name, d), func(b *testing.B) { each(b, n, f) })
		}
	}
}
