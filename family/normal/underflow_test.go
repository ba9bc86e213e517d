package normal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	_ "github.com/latent-go/latent/internal/fixedseed"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// separated draws rows of k normal components of equal weights whose means have the standard
// deviation spread in each column about an offset, and the parameters they come from, K×P:
// correlated covariances of very different size if uneven.
func separated(rng *rand.Rand, n, d, k int, spread, offset float64, uneven bool) (rows blocks.Rows, components []float64) {
	components = make([]float64, k*(d+d*d))
	g := gaussian{d: d}
	for j := range k {
		mean, cov := g.split(linalg.Row(components, j, d+d*d), 0)
		size, mixed := 1.0, make([]float64, d*d)
		if uneven {
			size = math.Exp(3 * rng.NormFloat64())
			for i := range mixed {
				mixed[i] = rng.NormFloat64() / math.Sqrt(float64(d))
			}
		}
		for a := range d {
			mean[a] = offset + spread*rng.NormFloat64()
			for c := range d {
				for e := range d {
					cov[a*d+c] += size * mixed[a*d+e] * mixed[c*d+e]
				}
			}
			cov[a*d+a] += size
		}
	}
	x := make([]float64, n*d)
	for i := range n {
		g.Sample(components[rng.IntN(k)*(d+d*d):][:d+d*d], rng, x[i*d:(i+1)*d])
	}
	return blocks.Rows{X: x, N: n, D: d, Stride: d}, components
}

// watched is a Gaussian whose rows under way are known.
type watched struct{ rows *[]*family.Observed }

// watching is its factor.
type watching struct {
	gaussian
	watched
}

func (watched) Name() string { return "watched" }

func (watched) Columns() int { return 0 }

func (f watched) On(columns int) ([]family.Factor, error) {
	return []family.Factor{watching{gaussian{columns, false, 1}, f}}, nil
}

func (watching) Name() string { return "watching" }

func (f watching) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	*f.rows = append((*f.rows)[:0], o)
	return f.gaussian.Observe(b, at, first, n, o)
}

// mixing is the local step of a mixture.
type mixing struct {
	*family.Classes
	rows []*family.Observed // the chunk under way
	log  []float64          // K, logarithms of the weights
	r    []float64          // log joints or responsibilities of a chunk of rows
}

// seen is what the Gaussian keeps of the chunk.
func (s *mixing) seen() *underflow { return &memory[own](s.rows[0]).underflow }

// prepared are k classes of equal weights, of a family that takes the Gaussian.
func prepared(t require.TestingT, of func(family.Family) family.Family, d, k int, components []float64) *mixing {
	s := &mixing{log: make([]float64, k)}
	p, err := family.NewPlan(of(watched{&s.rows}), d)
	require.NoError(t, err)
	s.Classes = p.Classes(k)
	linalg.Fill(s.log, math.Log(1/float64(k)))
	require.NoError(t, s.Prepare(components, nil, nil, make([]float64, k)))
	return s
}

// start puts the logarithms of the weights into s.r.
func (s *mixing) start(n int) {
	s.r = make([]float64, s.K*family.Padded(n))
	for k, v := range s.log {
		linalg.Fill(linalg.Row(s.r, k, family.Padded(n)), v)
	}
}

func (s *mixing) scores(n int) {
	s.start(n)
	s.AddScores(s.r)
}

func (s *mixing) joints(n int) {
	s.start(n)
	s.AddJoints(s.r)
}

// softmaxed are responsibilities, ln Σ and entropy of a chunk of n rows.
func (s *mixing) softmaxed(n int) []float64 {
	padded := family.Padded(n)
	rows := make([]float64, 2*padded)
	simd.Softmax(s.r, s.K, padded, rows[:padded], rows[padded:])
	for _, all := range [][]float64{s.r, rows} { // nothing beyond the rows
		for i := range all {
			if i%padded >= n {
				all[i] = 0
			}
		}
	}
	return append(rows, s.r...)
}

func alone(f family.Family) family.Family { return f }

// sameBits compares NaN with NaN, too.
func sameBits(t require.TestingT, want, got []float64) {
	require.Len(t, got, len(want))
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) && want[i] == want[i] {
			require.Equal(t, want[i], got[i], "number %d", i)
		}
	}
}

// Scores that are left out change no bit of a responsibility, a row's ln p or its entropy, and
// rows left out of the moments change them by rounding only.
func TestFarRowsAreLeftOutWithoutATrace(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, d, k := rapid.IntRange(1, 256).Draw(t, "n"), rapid.IntRange(1, 60).Draw(t, "d"), rapid.IntRange(1, 20).Draw(t, "k")
		spread := rapid.SampledFrom([]float64{0, 0.3, 1, 3, 6, 10, 30, 1e3, 1e5}).Draw(t, "spread")
		offset := rapid.SampledFrom([]float64{0, 0, 1e4, 1e8}).Draw(t, "offset")
		rows, components := separated(rng, n, d, k, spread, offset, rapid.Bool().Draw(t, "uneven"))
		for range rapid.IntRange(0, 5).Draw(t, "outliers") {
			rows.X[rng.IntN(len(rows.X))] *= rapid.SampledFrom([]float64{10, 1e4, 1e8, 1e100, 1e153, 1e200, 1e307}).Draw(t, "factor")
			if i := rng.IntN(len(rows.X)); math.IsInf(rows.X[i], 0) {
				rows.X[i] = 0
			}
		}
		for i, v := range rows.X {
			if math.IsInf(v, 0) {
				rows.X[i] = math.MaxFloat64
			}
		}
		s := prepared(t, alone, d, k, components)
		if rapid.Bool().Draw(t, "lost component") {
			s.log[rng.IntN(k)] = math.Log(1e-300)
		}
		require.NoError(t, s.Chunks(rows, func(_, n int, _ []float64) error {
			s.scores(n)
			want := s.softmaxed(n)
			s.joints(n)
			sameBits(t, want, s.softmaxed(n))

			g, o, padded := gaussian{d: d}, s.rows[0], family.Padded(n)
			for j := range k {
				q := linalg.Row(s.r, j, padded)
				for i, v := range q {
					if v != v {
						q[i] = 0
					}
				}
				anchor := linalg.Row(s.Anchor, j, d)
				work := make([]float64, simd.MomentsWork(d, padded))
				first, second, total := make([]float64, d), make([]float64, d*d), 0.0
				total = simd.GaussianMoments(first, second, o.X, d, padded, anchor, q, work)
				x, w := g.weighed(o, q)
				some, products := make([]float64, d), make([]float64, d*d)
				require.InDelta(t, total, simd.GaussianMoments(some, products, x, d, len(w), anchor, w, work), 1e-13*total)
				for a := range d {
					size := 1e-14 * math.Sqrt(total) * math.Sqrt(second[a*d+a])
					require.False(t, math.Abs(first[a]-some[a]) > size, "first moment %d: %v, not %v", a, some[a], first[a])
					for c := a; c < d; c++ {
						size := 1e-14 * math.Sqrt(second[a*d+a]) * math.Sqrt(second[c*d+c])
						require.False(t, math.Abs(second[a*d+c]-products[a*d+c]) > size, "second moment %d, %d: %v, not %v", a, c, products[a*d+c], second[a*d+c])
					}
				}
			}
			return nil
		}))
		left += s.seen().left
	})
	require.Greater(t, left, 1000, "there are scores that are left out")
}

// Components at such distances that the responsibilities of the farther ones are around the
// smallest that is not negligible: leaving out one that is not would be seen.
func TestNothingIsLeftOutThatIsNotNegligible(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, d := range []int{16, 20, 33, 50} {
		smallest, left := 0, 0
		for trial := range 40 {
			const n, k = 256, 10
			rows, components := separated(rng, n, d, k, 0, 0, false)
			for j := range k - 1 { // all of the distance in one column of those in the bound
				mean, _ := gaussian{d: d}.split(linalg.Row(components, j+1, d+d*d), 0)
				mean[d-1-(trial+j)%10] = math.Sqrt(2 * 356)
			}
			for i := range n {
				for a := range d {
					rows.X[i*d+a] = 0.1 * rng.NormFloat64()
				}
			}
			s := prepared(t, alone, d, k, components)
			require.NoError(t, s.Chunks(rows, func(_, n int, _ []float64) error {
				s.scores(n)
				want := s.softmaxed(n)
				s.seen().patience, s.seen().pause = 0, 0
				s.joints(n)
				sameBits(t, want, s.softmaxed(n))
				for _, q := range s.r {
					if q > 0 && q < 1e-152 {
						smallest++
					}
				}
				return nil
			}))
			left += s.seen().left
		}
		require.Greater(t, smallest, 10000, "there are responsibilities just above the threshold")
		require.Greater(t, left, 10000, "and those below it are left out")
	}
}

// On well separated components most scores are left out, and the moments are those of the
// component's own rows.
func TestFarRowsAreLeftOut(t *testing.T) {
	for _, d := range []int{20, 50} {
		rng := rand.New(rand.NewPCG(2, uint64(d)))
		const n, k = 1024, 10
		rows, components := separated(rng, n, d, k, 30, 1e3, false)
		s := prepared(t, alone, d, k, components)
		moved := 0
		require.NoError(t, s.Chunks(rows, func(_, n int, _ []float64) error {
			s.joints(n)
			s.softmaxed(n)
			for j := range k {
				_, w := gaussian{d: d}.weighed(s.rows[0], linalg.Row(s.r, j, family.Padded(n)))
				moved += len(w)
			}
			return nil
		}))
		require.Greater(t, s.seen().left, n*(k-1)*9/10, "scores left out, D = %d", d)
		require.Less(t, moved, n*2, "rows in all moments, D = %d", d)
	}
}

// A factor beside a Gaussian may add anything to a score: nothing is left out.
func TestAProductLeavesNothingOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d, k, numbers = 512, 20, 3, 20 + 20*20
	rows, components := separated(rng, n, d, k, 30, 0, false)
	mixed := blocks.Rows{N: n, D: d + 1, Stride: d + 1}
	for i := range n {
		mixed.X = append(append(mixed.X, rows.Row(i)...), float64(i%5))
	}
	var others []float64
	for j := range k {
		others = append(append(others, linalg.Row(components, j, numbers)...), 2)
	}
	for _, c := range []struct {
		family     func(family.Family) family.Family
		rows       blocks.Rows
		components []float64
		left       bool
	}{
		{func(f family.Family) family.Family {
			return family.Product{family.Of{Family: f, Width: d}, family.Poisson{}}
		}, mixed, others, false},
		{func(f family.Family) family.Family { return family.Product{family.Of{Family: f, Width: d}} }, rows, components, true},
	} {
		s := prepared(t, c.family, c.rows.D, k, c.components)
		require.NoError(t, s.Chunks(c.rows, func(_, n int, _ []float64) error {
			s.joints(n)
			s.softmaxed(n)
			s.Add(n, nil, s.r)
			return nil
		}))
		require.Equal(t, c.left, s.seen().left > 0)
	}
}
