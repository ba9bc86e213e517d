package simd

import (
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A fence is memory between two pages that fault when they are touched.
type fence struct{ memory []float64 }

func newFence(t *testing.T, numbers int) fence {
	page := syscall.Getpagesize()
	size := (numbers*8 + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(all) })
	require.NoError(t, syscall.Mprotect(all[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(all[page+size:], syscall.PROT_NONE))
	return fence{unsafe.Slice((*float64)(unsafe.Pointer(&all[page])), size/8)}
}

// take gives n numbers at the end of the memory, or at its beginning.
func (f fence) take(n int, end bool) []float64 {
	s := f.memory[:n:n]
	if end {
		s = f.memory[len(f.memory)-n:]
	}
	for i := range s {
		s[i] = 0.5 + float64(i%7)/8
	}
	return s
}

// Nothing beyond either end of a slice is read, let alone written: the program would end.
func TestNothingOutsideIsTouched(t *testing.T) {
	var fences [7]fence
	for i := range fences {
		fences[i] = newFence(t, 20000)
	}
	onEach(t, func(t *testing.T) {
		for _, end := range []bool{false, true} {
			next := 0
			take := func(n int) []float64 {
				next++
				return fences[(next-1)%len(fences)].take(n, end)
			}
			for n := range 40 {
				next = 0
				Exp(take(n), take(n))
				Log(take(n), take(n))
				LogComplement(take(Padded(n)))
				Rotate(take(n), take(n), 0.6, 0.8)
				Finite(take(n))
				Widen(take(n), halves(take, n))
			}
			places := func(n int) []int32 {
				s := take((n + 1) / 2)
				clear(s)
				return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(s))), n)
			}
			for n := 0; n <= 72; n += Lanes {
				next = 0
				Within(places(n+WithinSpace), take(n), take(n), 0) // all places
				Within(places(n+WithinSpace), take(n), take(n), -1)
				Raise(take(n), take(n))
				for m := range 5 {
					next = 0
					u, inverse := take(m*m*n), take(m*n)
					Factorise(u, inverse, take(n), m, n, 0)
					Solve(take(m*n), u, inverse, m, n, n)
					Invert(u, inverse, m, n)
				}
			}
			for count := range 20 {
				next = 0
				Gather(take(7*Padded(count)), take(7*40), 7, 40, places(count + count%2)[:count])
			}
			for n := 0; n <= 72; n += Lanes {
				for k := 1; k < 6; k++ {
					next = 0
					Softmax(take(k*n), k, n, take(n), take(n))
					Columns(take(k*n), take(k*max(0, n-3)), max(0, n-3), k, k)
				}
				for d := 1; d <= 18; d++ {
					next = 0
					GaussianScores(take(n), take(d*n), d, n, 1, take(d), take(d*d), take(ScoresWork(d)))
					next = 0
					GaussianBounds(take(n), take(d*n), d, n, (d-1)&^3, 1, take(d), take(d*d), take(ScoresWork(d)))
					next = 0
					GaussianMoments(take(d), take(d*d), take(d*n), d, n, take(d), take(n), take(MomentsWork(d, n)))
					next = 0
					DiagonalScores(take(n), take(d*n), d, n, 1, take(d), take(d))
					next = 0
					DiagonalMoments(take(d), take(d), take(d*n), d, n, take(d), take(n))
					next = 0
					Nearer(take(n), take(n), take(d*n), d, n, take(d), take(n))
				}
			}
			for k := 1; k <= 17; k++ {
				next = 0
				q, old := halves(take, k), halves(take, k)
				word := []int{0}
				Reassign(q, old, word, take(1), 1, 1, 1, take(k), take(k), take(k), take(k))
				Tally(q, word, take(1), 1, take(k), take(k), take(k), take(k))
				Rising(take(k), take(k), 1)
				side := Padded(k)
				for _, n := range []int{0, 1, 2, 7} {
					next = 0
					Forward(take(n*side), take(n*side), take(n), take(side), take(side*side), k, n, 0)
					Backward(take(n*side), take(n*side), take(n*side), take(n), take(side), take(side*side), k, n)
				}
			}
			for n := 1; n < 20; n++ {
				for d := 1; d <= 18; d++ {
					next = 0
					RowScores(take(5*Padded(n)), take(n*d), n, d, d, take(5*d), 5, d)
					next = 0
					require.True(t, Bits(ones(take(n*(d+1)-1)), n, d, d+1))
				}
			}
			rng := rand.New(rand.NewPCG(1, 9))
			for range 2000 {
				m, n, k := 1+rng.IntN(20), 1+rng.IntN(60), 1+rng.IntN(20)
				next = 0
				a, b := take(m*k), take(k*n)
				lda, ldb := k, n
				transA, transB := rng.IntN(2) == 0, rng.IntN(2) == 0
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				c := take(m * n)
				Product(transA, transB, m, n, k, 1, a, lda, b, ldb, 0, c, n)
				require.False(t, math.IsNaN(c[0]))
				Symmetric(m, k, 1, fences[0].take(k*m, end), m, fences[1].take(m*m, end), m)
			}
			Product(false, false, 70, 60, 40, 1, take(2800), 40, take(2400), 60, 1, take(4200), 60) // packed
		}
	})
}

// halves are n numbers of 32 bits before or after a fence.
func halves(take func(n int) []float64, n int) []float32 {
	s := take((n + 1) / 2)
	clear(s)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), n+n%2)[n%2:]
}
