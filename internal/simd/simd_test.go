package simd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onEach runs a test with every set of instructions that the processor has.
func onEach(t *testing.T, test func(t *testing.T)) {
	best := level
	defer func() { level = best }()
	for l := portable; l <= best; l++ {
		level = l
		t.Run(l.String(), test)
	}
}

// canary stands before and behind a guarded slice.
const canary = -0x1.badcafep300

// guarded returns a copy of v between canaries, shift numbers off the alignment of the
// memory, and a check that the canaries are still there.
func guarded(t *testing.T, v []float64, shift int) (s []float64, check func()) {
	const margin = 24
	whole := make([]float64, shift+len(v)+2*margin)
	for i := range whole {
		whole[i] = canary
	}
	s = whole[shift+margin:][:len(v):len(v)]
	copy(s, v)
	return s, func() {
		t.Helper()
		for i, w := range whole {
			if i < shift+margin || i >= shift+margin+len(v) {
				require.Equal(t, canary, w, "written outside, at %d of %d", i-shift-margin, len(v))
			}
		}
	}
}

// ulps is the distance of got from an exact value, in units of the last place that float64
// has there.
func ulps(got float64, exact *big.Float) float64 {
	near, _ := exact.Float64()
	unit := math.Abs(near)
	_, e := math.Frexp(unit)
	ulp := math.Ldexp(1, max(e-53, -1074))
	d := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).SetFloat64(got), exact)
	d.Quo(d, new(big.Float).SetFloat64(ulp))
	f, _ := d.Float64()
	return math.Abs(f)
}

// bigExp is exp(x) to 150 bits: the series of exp(x/2ⁿ), squared n times.
func bigExp(x float64) *big.Float {
	const prec, halvings = 200, 16
	r := new(big.Float).SetPrec(prec).SetFloat64(x)
	r.SetMantExp(r, -halvings)
	sum, term := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	for i := 1; i < 40; i++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(int64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// exactLogUlps is the error of y as ln x: exp(y) leaves x·(1+δ), and ln x = y − ln(1+δ).
func exactLogUlps(y, x float64) float64 {
	e := bigExp(y)
	e.Quo(e, new(big.Float).SetPrec(200).SetFloat64(x))
	e.Sub(e, big.NewFloat(1))
	d, _ := e.Float64()
	_, ex := math.Frexp(y)
	return math.Abs(math.Log1p(d)) / math.Ldexp(1, max(ex-53, -1074))
}

func TestExpIsExactToAnUlp(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		var x []float64
		n := 5000
		if testing.Short() {
			n = 500
		}
		for range n {
			x = append(x,
				-745.2+rng.Float64()*(709.7+745.2), // the whole range
				-745.2+rng.Float64()*38,            // results below the normal range
				rng.NormFloat64(),
				rng.NormFloat64()*math.Exp(-40*rng.Float64()))
		}
		for k := -1074; k <= 1023; k++ { // ends of the reduced range
			x = append(x, (float64(k)-0.5)*math.Ln2, math.Nextafter((float64(k)+0.5)*math.Ln2, 0), float64(k)*math.Ln2)
		}
		y := make([]float64, len(x))
		Exp(y, x)
		worst := 0.0
		for i, v := range x {
			if d := ulps(y[i], bigExp(v)); d > worst {
				worst = d
			}
		}
		t.Logf("worst error %.3f ulp", worst)
		bound := 1.0
		if level == portable {
			bound = 1.5
		}
		require.Less(t, worst, bound)
	})
}

func TestExpAtTheEnds(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for _, c := range []struct{ x, y float64 }{
			{0, 1}, {math.Copysign(0, -1), 1}, {math.Inf(1), math.Inf(1)}, {math.Inf(-1), 0},
			{709.782712893384, 0x1.fffffffffff2ap+1023}, {709.7827128933841, math.Inf(1)}, {710, math.Inf(1)}, {1e300, math.Inf(1)}, {math.MaxFloat64, math.Inf(1)},
			{-745.1332191019411, 0x1p-1074}, {-745.1332191019412, 0}, {-746, 0}, {-1e300, 0}, {-math.MaxFloat64, 0},
			{5e-324, 1}, {-5e-324, 1}, {1e-17, 1},
		} {
			for n := 1; n <= 9; n++ { // in full registers and in the tail
				x, y := make([]float64, n), make([]float64, n)
				for i := range x {
					x[i] = c.x
				}
				Exp(y, x)
				for _, v := range y {
					require.True(t, v == c.y || math.Abs(v-c.y) <= 0x1p-52*c.y, "exp(%v) = %v", c.x, v)
				}
			}
		}
		y := []float64{math.NaN(), 1, -math.NaN()}
		Exp(y, y)
		require.True(t, math.IsNaN(y[0]) && math.IsNaN(y[2]) && !math.IsNaN(y[1]))
	})
}

func TestLogIsExactToAnUlp(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		var x []float64
		n := 5000
		if testing.Short() {
			n = 500
		}
		for range n {
			x = append(x,
				math.Float64frombits(rng.Uint64N(0x7ff0_0000_0000_0000-1)+1), // the whole range
				math.Float64frombits(rng.Uint64N(0x0010_0000_0000_0000-1)+1), // below the normal range
				1+rng.NormFloat64()*1e-3,
				math.Exp(rng.NormFloat64()),
				1+30*rng.Float64())
		}
		for k := -1074; k <= 1023; k++ {
			p := math.Ldexp(1, k)
			x = append(x, p, math.Nextafter(p, 0), math.Nextafter(p, math.Inf(1)), p*math.Sqrt2, p*math.Nextafter(math.Sqrt2, 2))
		}
		y := make([]float64, len(x))
		Log(y, x)
		worst := 0.0
		for i, v := range x {
			switch {
			case v == 0:
			case math.IsInf(v, 0):
			case y[i] == 0:
				require.Equal(t, 1.0, v)
			default:
				worst = max(worst, exactLogUlps(y[i], v))
			}
		}
		t.Logf("worst error %.3f ulp", worst)
		require.Less(t, worst, 1.0)
	})
}

func TestLogAtTheEnds(t *testing.T) {
	onEach(t, func(t *testing.T) {
		nan := math.NaN()
		for _, c := range []struct{ x, y float64 }{
			{0, math.Inf(-1)}, {math.Copysign(0, -1), math.Inf(-1)}, {math.Inf(1), math.Inf(1)}, {math.Inf(-1), nan}, {-1, nan}, {-5e-324, nan}, {nan, nan}, {1, 0},
			{5e-324, -744.4400719213812}, {math.MaxFloat64, 709.782712893384}, {math.E, 1},
		} {
			for n := 1; n <= 9; n++ {
				x, y := make([]float64, n), make([]float64, n)
				for i := range x {
					x[i] = c.x
				}
				Log(y, x)
				for _, v := range y {
					require.True(t, v == c.y || v != v && c.y != c.y, "log(%v) = %v", c.x, v)
				}
			}
		}
	})
}

// Every length and alignment gives what single numbers give, and touches nothing else.
func TestExpAndLogOfAnyLength(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for n := range 131 {
			for shift := range 3 {
				v := make([]float64, n)
				for i := range v {
					v[i] = rng.NormFloat64() * 20
				}
				for _, f := range []func(dst, src []float64){Exp, Log} {
					src, untouched := guarded(t, v, shift)
					dst, inside := guarded(t, v, (shift*3+1)%8)
					f(dst, src)
					inside()
					untouched()
					require.Equal(t, v, src)
					for i := range v {
						var one [1]float64
						f(one[:], v[i:i+1])
						require.Equal(t, math.Float64bits(one[0]), math.Float64bits(dst[i]))
					}
					f(src, src) // in place
					untouched()
					for i := range v {
						require.Equal(t, math.Float64bits(dst[i]), math.Float64bits(src[i]))
					}
				}
			}
		}
	})
}

// The instruction sets agree with the reference to 2 ulp, and with each other to the bit.
func TestExpAndLogOfTheInstructionSetsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float64, 100000)
	for i := range x {
		x[i] = -746 + 1457*rng.Float64()
	}
	best := level
	defer func() { level = best }()
	for _, f := range []func(dst, src []float64){Exp, Log} {
		level = portable
		want := make([]float64, len(x))
		f(want, x)
		var first []float64
		for l := avx2; l <= best; l++ {
			level = l
			got := make([]float64, len(x))
			f(got, x)
			for i := range got {
				require.True(t, math.IsNaN(want[i]) && math.IsNaN(got[i]) || want[i] == got[i] ||
					math.Abs(want[i]-got[i]) <= 2*(math.Nextafter(math.Abs(want[i]), math.Inf(1))-math.Abs(want[i])), "%v: %v, %v", x[i], want[i], got[i])
				if first != nil {
					require.Equal(t, math.Float64bits(first[i]), math.Float64bits(got[i]), "%v", x[i])
				}
			}
			first = got
		}
		for i := range x {
			x[i] = math.Abs(x[i])
		}
	}
}

func TestSoftmaxIsThatOfTheReference(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for n := 0; n <= 72; n += Lanes {
			for _, k := range []int{1, 2, 3, 7, 10, 33} {
				v := make([]float64, k*n)
				for i := range v {
					v[i] = rng.NormFloat64()*math.Exp(4*rng.NormFloat64()) - 1000
					if rng.IntN(20) == 0 {
						v[i] = math.Inf(-1)
					}
				}
				want, wantSum, wantEntropy := append([]float64(nil), v...), make([]float64, n), make([]float64, n)
				softmaxPortable(want, k, n, wantSum, wantEntropy)
				got, inside := guarded(t, v, k%3)
				sum, insideSum := guarded(t, make([]float64, n), 1)
				entropy, insideEntropy := guarded(t, make([]float64, n), 2)
				Softmax(got, k, n, sum, entropy)
				inside()
				insideSum()
				insideEntropy()
				for i := range n {
					require.True(t, math.IsNaN(wantSum[i]) && math.IsNaN(sum[i]) || math.Abs(wantSum[i]-sum[i]) <= 4e-16*math.Abs(wantSum[i]), "%v %v", wantSum[i], sum[i])
					if math.IsNaN(wantSum[i]) {
						require.True(t, math.IsNaN(entropy[i]))
						continue
					}
					require.InDelta(t, wantEntropy[i], entropy[i], 2e-15*(1+math.Log(float64(k))))
					require.GreaterOrEqual(t, entropy[i], 0.0)
					total := 0.0
					for j := range k {
						require.InDelta(t, want[j*n+i], got[j*n+i], 6e-16*want[j*n+i]*float64(2+k)/2+1e-323)
						total += got[j*n+i]
					}
					require.InDelta(t, 1, total, 3e-16*float64(2+k))
				}
			}
		}
	})
}

// Below a highest log joint of 0, a probability is what exp gives down to Negligible, and there
// and below exactly 0: none is subnormal, nor is its product with another number that is not
// below it.
func TestSoftmaxLeavesOutWhatIsNegligible(t *testing.T) {
	least := math.Exp(Negligible)
	require.GreaterOrEqual(t, least*least, 0x1p-1022)
	onEach(t, func(t *testing.T) {
		for _, low := range []float64{0, -1, -36, -300, math.Nextafter(Negligible, 0), Negligible, math.Nextafter(Negligible, -400), -355, -708.5, -745.2, -746, -1e5, -1e300, math.Inf(-1)} {
			for lane := range Lanes {
				var v [2 * Lanes]float64 // the other lanes have 0 twice
				var sum, entropy [Lanes]float64
				v[lane] = low
				Softmax(v[:], 2, Lanes, sum[:], entropy[:])
				e, h := 0.0, 0.0
				if low > Negligible {
					e, _ = bigExp(low).Float64()
					h = -e * low
				} else {
					require.Zero(t, v[lane], "%v below the highest", low)
				}
				require.InDelta(t, e/(1+e), v[lane], 1e-15*e, "%v below the highest", low)
				require.InDelta(t, math.Log1p(e), sum[lane], 1e-15)
				require.InDelta(t, math.Log1p(e)+h/(1+e), entropy[lane], 1e-15)
				for i := range Lanes {
					require.True(t, i == lane || v[i] == 0.5 && v[Lanes+i] == 0.5)
				}
			}
		}
	})
}

func TestSoftmaxOfRowsWithoutProbabilities(t *testing.T) {
	onEach(t, func(t *testing.T) {
		const k = 3
		for _, row := range [][k]float64{
			{math.Inf(-1), math.Inf(-1), math.Inf(-1)}, {math.NaN(), 0, 0}, {0, math.NaN(), 0}, {0, 0, math.NaN()}, {0, math.Inf(1), 0}, {math.Inf(1), math.NaN(), 0},
		} {
			var v [k * Lanes]float64
			for j, x := range row {
				v[j*Lanes+3] = x // its neighbours are 0
			}
			var sum, entropy [Lanes]float64
			Softmax(v[:], k, Lanes, sum[:], entropy[:])
			for i := range Lanes {
				if i == 3 {
					require.True(t, math.IsNaN(sum[i]) && math.IsNaN(entropy[i]), "%v: %v", row, sum[i])
				} else {
					require.InDelta(t, math.Log(k), sum[i], 1e-15)
					require.InDelta(t, math.Log(k), entropy[i], 1e-15)
				}
			}
		}
	})
}

func TestLogComplementIsTheSumOfLogarithms(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for n := 0; n <= 640; n += Lanes {
			v := make([]float64, n)
			want := 0.0
			for i := range v {
				switch rng.IntN(4) {
				case 0:
					v[i] = 1
				case 1:
					v[i] = math.Exp(-700 * rng.Float64())
				case 2:
					v[i] = 1 - math.Exp(-36*rng.Float64())
				case 3:
					v[i] = rng.Float64()
				}
				want += math.Log(1 - min(v[i], 1-0x1p-53))
			}
			q, inside := guarded(t, v, n%3)
			got := LogComplement(q)
			inside()
			require.InDelta(t, want, got, 1e-14*(1-want))
		}
	})
}

func TestFiniteFindsEveryPlace(t *testing.T) {
	onEach(t, func(t *testing.T) {
		for n := range 131 {
			x, inside := guarded(t, make([]float64, n), n%3)
			for i := range x {
				x[i] = math.MaxFloat64 * float64(1-i%3)
			}
			require.True(t, Finite(x))
			for i, v := range x {
				for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					x[i] = odd
					require.False(t, Finite(x))
				}
				x[i] = v
			}
			inside()
		}
	})
}

func TestColumnsAreTheRowsTurned(t *testing.T) {
	onEach(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 10))
		for n := range 27 {
			for d := 1; d < 12; d++ {
				stride := d + n%3
				x := normals(rng, max(0, n-1)*stride+d, 1, 0)
				for i := range max(0, n-1) { // what lies between the rows is none of them
					for c := d; c < stride; c++ {
						x[i*stride+c] = math.NaN()
					}
				}
				dst, inside := guarded(t, normals(rng, d*Padded(n), 1, 0), n%3)
				require.True(t, Columns(dst, x, n, d, stride))
				inside()
				for c := range d {
					for i := range Padded(n) {
						want := 0.0
						if i < n {
							want = x[i*stride+c]
						}
						require.Equal(t, want, dst[c*Padded(n)+i])
					}
				}
			}
		}
	})
}

func TestColumnsFindWhatIsNotFinite(t *testing.T) {
	onEach(t, func(t *testing.T) {
		const n = 19
		for d := 1; d < 12; d++ {
			for i := range n * d {
				for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
					x := make([]float64, n*d)
					x[i] = odd
					dst := make([]float64, d*Padded(n))
					require.Equal(t, odd == math.MaxFloat64, Columns(dst, x, n, d, d), "%v in row %d of %d columns", odd, i/d, d)
				}
			}
		}
	})
}

func TestShortSlicesPanic(t *testing.T) {
	s := make([]float64, 16)
	require.Panics(t, func() { Exp(s[:3], s[:4]) })
	require.Panics(t, func() { Log(s[:3], s[:4]) })
	require.Panics(t, func() { Softmax(s, 3, 8, s, s) })
	require.Panics(t, func() { Softmax(s, 0, 8, s, s) })
	require.Panics(t, func() { Softmax(s, 2, 4, s, s) })
	require.Panics(t, func() { LogComplement(s[:7]) })
	require.Panics(t, func() { RowScores(s[:15], s, 2, 2, 2, s, 2, 2) })
	require.Panics(t, func() { RowScores(s, s, 2, 2, 2, s[:4], 2, 3) })
	require.Panics(t, func() { Bits(s[:4], 2, 2, 3) })
	require.Panics(t, func() { Bits(s, 2, 2, 1) })
	require.Panics(t, func() { Nearer(s, s, s, 1, 4, s, s) })
	require.Panics(t, func() { Nearer(s, s, s, 3, 8, s, s) })
}

func BenchmarkExp(b *testing.B) {
	x, y := make([]float64, 1024), make([]float64, 1024)
	for i := range x {
		x[i] = -float64(i) / 40
	}
	each(b, 1024, func() { Exp(y, x) })
}

func BenchmarkLog(b *testing.B) {
	x, y := make([]float64, 1024), make([]float64, 1024)
	for i := range x {
		x[i] = 1 + float64(i)/40
	}
	each(b, 1024, func() { Log(y, x) })
}

func BenchmarkSoftmax(b *testing.B) {
	for _, k := range []int{2, 10} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) {
			const n = 256
			start, v := make([]float64, k*n), make([]float64, k*n)
			for i := range start {
				start[i] = -float64(i * 37 % 101)
			}
			sum, entropy := make([]float64, n), make([]float64, n)
			each(b, k*n, func() {
				copy(v, start)
				Softmax(v, k, n, sum, entropy)
			})
		})
	}
}

func BenchmarkLogComplement(b *testing.B) {
	q := make([]float64, 256)
	for i := range q {
		q[i] = float64(i) / 256
	}
	each(b, 256, func() { LogComplement(q) })
}

// each runs a benchmark with every set of instructions, and reports ns per element.
func each(b *testing.B, elements int, f func()) {
	best := level
	defer func() { level = best }()
	for l := portable; l <= best; l++ {
		level = l
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/element")
		})
	}
}

// The assembly needs nothing that detect does not look for: its generator notes what each
// function requires, and registers from the 16th on, where they are not 512 bits wide, would require
// AVX512VL.
func TestTheAssemblyNeedsOnlyWhatIsDetected(t *testing.T) {
	text, err := os.ReadFile("kernels_amd64.s")
	require.NoError(t, err)
	required := regexp.MustCompile(`(?m)^// Requires: (.*)$`).FindAllSubmatch(text, -1)
	require.NotEmpty(t, required)
	for _, list := range required {
		for _, feature := range strings.Split(string(list[1]), ", ") {
			require.Contains(t, []string{"AVX", "AVX2", "FMA3", "AVX512F", "BMI2", "POPCNT", "MMX+" /* prefetching: every amd64 */}, feature)
		}
	}
	require.False(t, regexp.MustCompile(`\b[XY](1[6-9]|2\d|3[01])\b`).Match(text))
}
