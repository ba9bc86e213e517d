package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithinListsWhatIsAboveTheGap(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 6))
		inf, nan, tiny := math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64
		special := []float64{0, math.Copysign(0, -1), tiny, -tiny, inf, -inf, nan, 1, -1, 746, -746, math.Nextafter(-746, 0), math.MaxFloat64, 1e300}
		for n := 0; n <= 72; n += Lanes {
			for _, gap := range []float64{0, -746, -tiny} {
				a, insideA := guarded(t, normals(rng, n, 1, gap), 1)
				b, insideB := guarded(t, normals(rng, n, 1, 0), 3)
				for i := range n {
					if rng.IntN(2) == 0 {
						a[i], b[i] = special[rng.IntN(len(special))], special[rng.IntN(len(special))]
					}
				}
				list := make([]int32, n+WithinSpace)
				var want []int32
				for i := range n {
					if !(a[i]-b[i] <= gap) {
						want = append(want, int32(i))
					}
				}
				got := list[:Within(list, a, b, gap)]
				insideA()
				insideB()
				require.Equal(t, len(want), len(got))
				for i, v := range got {
					require.Equal(t, want[i], v)
				}
			}
		}
	})
}

func TestRaiseTakesTheLarger(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		for n := 0; n <= 72; n += Lanes {
			start, v := normals(rng, n, 1, 0), normals(rng, n, 1, 0)
			if n > 3 {
				start[0], v[1], v[2] = math.Inf(-1), math.Inf(1), math.Inf(-1)
			}
			dst, inside := guarded(t, start, 2)
			Raise(dst, v)
			inside()
			for i := range n {
				require.Equal(t, max(start[i], v[i]), dst[i])
			}
		}
	})
}

func TestGatherMovesTheRowsOfAList(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 8))
		for d := range 8 {
			for count := range 30 {
				const n = 24
				x := normals(rng, d*n, 1, 0)
				list := make([]int32, count)
				for i := range list {
					list[i] = int32(rng.IntN(n))
				}
				padded := Padded(count)
				dst, inside := guarded(t, normals(rng, d*padded, 1, 0), count%3)
				Gather(dst, x, d, n, list)
				inside()
				for c := range d {
					for i := range padded {
						want := 0.0
						if i < count {
							want = x[c*n+int(list[i])]
						}
						require.Equal(t, want, dst[c*padded+i])
					}
				}
			}
		}
		require.Panics(t, func() { Gather(make([]float64, 8), make([]float64, 8), 1, 8, []int32{8}) })
		require.Panics(t, func() { Gather(make([]float64, 8), make([]float64, 8), 1, 8, []int32{-1}) })
	})
}

// A bound never lies below the score by a rounding, and does not exceed it where the rows of R left
// out see nothing of the row; a score does not depend on the rows beside it.
func TestBoundsAreNotBelowScores(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 9))
		for d := 1; d <= 41; d++ {
			const n = 56
			m, x := normals(rng, d, 3, 1e8), normals(rng, d*n, 30, 1e8)
			root, work := normals(rng, d*d, 1, 0), make([]float64, ScoresWork(d))
			start := normals(rng, n, 100, 0)
			score := append([]float64(nil), start...)
			GaussianScores(score, x, d, n, -1.5, m, root, work)
			for from := 0; from < d; from += 4 {
				bound := append([]float64(nil), start...)
				GaussianBounds(bound, x, d, n, from, -1.5, m, root, work)
				for i := range n {
					require.GreaterOrEqual(t, bound[i], score[i], "D = %d, from %d", d, from)
				}
				if from == 0 {
					require.Equal(t, score, bound)
				}
				// The columns before from are as good as left out: so are their rows of R.
				block := make([]float64, (d-from)*(d-from))
				for a := from; a < d; a++ {
					copy(block[(a-from)*(d-from):], root[a*d+from:(a+1)*d])
				}
				last := append([]float64(nil), start...)
				GaussianScores(last, x[from*n:], d-from, n, -1.5, m[from:], block, work)
				require.Equal(t, last, bound)
			}
			list := make([]int32, 1+rng.IntN(n))
			for i := range list {
				list[i] = int32(rng.IntN(n))
			}
			some, their := make([]float64, d*Padded(len(list))), make([]float64, Padded(len(list)))
			Gather(some, x, d, n, list)
			for i, row := range list {
				their[i] = start[row]
			}
			GaussianScores(their, some, d, len(their), -1.5, m, root, work)
			for i, row := range list {
				require.Equal(t, score[row], their[i])
			}
		}
	})
}

// Differences of log joints from −746 on down leave nothing of a probability: no bit of the
// others, the sum or the entropy depends on how far down they are.
func TestSoftmaxUnderflowsToNothing(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for _, top := range []float64{0, -1.5, 1e6, -1e10, 3e15} {
			var want []float64
			for _, gap := range []float64{-746, -747, -800, -1e10, -1e300, math.Inf(-1)} {
				v, logSum, entropy := make([]float64, 3*Lanes), make([]float64, Lanes), make([]float64, Lanes)
				for i := range Lanes {
					v[i], v[Lanes+i], v[2*Lanes+i] = top-3, top+gap, top
				}
				for v[Lanes]-top > -746 { // as far as rounding goes
					for i := range Lanes {
						v[Lanes+i] = math.Nextafter(v[Lanes+i], math.Inf(-1))
					}
				}
				Softmax(v, 3, Lanes, logSum, entropy)
				require.Equal(t, 0.0, v[Lanes])
				got := append(append(v, logSum...), entropy...)
				if want == nil {
					want = got
				}
				require.Equal(t, want, got)
			}
		}
	})
}

func TestRotateTurnsToTheLastBit(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 8))
		for n := range 40 {
			before, other := normals(rng, n, 1, 0), normals(rng, n, 1, 0)
			v, insideV := guarded(t, before, 3)
			w, insideW := guarded(t, other, 3)
			Rotate(v, w, 0.6, 0.8)
			insideV()
			insideW()
			for i, x := range before {
				require.Equal(t, float64(0.6*x)-float64(0.8*other[i]), v[i])
				require.Equal(t, float64(0.8*x)+float64(0.6*other[i]), w[i])
			}
		}
	})
}
