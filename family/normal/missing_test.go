package normal

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
)

// oneFactor are columns x_a = f + s_a e_a with f and all e_a ~ N(0, 1). Given x_c of some columns and T = Σ 1/s_c²,
// f ~ N(Σ(x_c/s_c²)/(1+T), 1/(1+T)): nothing cancels, however small s is.
type oneFactor []float64

// given is the distribution of f where the columns are seen that x is not NaN in.
func (s oneFactor) given(x []float64) (mean, variance float64) {
	t := 1.0
	for c, v := range x {
		if v == v {
			mean += v / (s[c] * s[c])
			t += 1 / (s[c] * s[c])
		}
	}
	return mean / t, 1 / t
}

// score is that of [gaussian.Score]: row a of R is of x_a given the columns after it.
func (s oneFactor) score() []float64 {
	d := len(s)
	score := make([]float64, 1+d+d*d)
	score[0] = -float64(d) / 2 * math.Log(2*math.Pi)
	root := score[1+d:]
	for a := range s {
		t := 1.0
		for c := a + 1; c < d; c++ {
			t += 1 / (s[c] * s[c])
		}
		root[a*d+a] = 1 / math.Sqrt(s[a]*s[a]+1/t)
		for c := a + 1; c < d; c++ {
			root[a*d+c] = -root[a*d+a] / (s[c] * s[c] * t)
		}
		score[0] += math.Log(root[a*d+a])
	}
	return score
}

// logProb is the sum of the log densities of each column that is seen given those before it.
func (s oneFactor) logProb(x []float64) (sum float64) {
	before := make([]float64, 0, len(x))
	for a, v := range x {
		if v == v {
			mean, variance := s.given(before)
			variance += s[a] * s[a]
			sum -= (math.Log(2*math.Pi*variance) + (v-mean)*(v-mean)/variance) / 2
		}
		before = append(before, v)
	}
	return sum
}

// TestMissingValuesOfNearlyDependentColumns: every pattern of six columns, of which three are equal but for 1e-5 of their
// standard deviation, as a component's are that lies on its floor. The completed sums and the densities have closed forms.
func TestMissingValuesOfNearlyDependentColumns(t *testing.T) {
	s, d := oneFactor{1e-5, 1, 1e-5, 3, 1e-5, 0.5}, 6
	rng, x := seeded(7), make([]float64, 64*6)
	for i := range 64 {
		f := rng.NormFloat64()
		for j := range d {
			if x[i*d+j] = f + s[j]*rng.NormFloat64(); i>>j&1 == 1 {
				x[i*d+j] = math.NaN()
			}
		}
	}
	g, o := gaussian{d: d}, &family.Observed{}
	require.NoError(t, g.Observe(blocks.Rows{N: 64, D: d, Stride: d, X: x}, 0, 0, 64, o))
	scores, r := family.Table{K: 1, Stride: 0, Data: s.score()}, make([]float64, 64)
	g.AddScores(o, scores, r)
	for i, got := range r {
		require.InDelta(t, s.logProb(x[i*d:(i+1)*d]), got, 1e-9, "row %d", i)
	}
	for i := range 64 { // one row at a time
		weights, sums := make([]float64, 64), make([]float64, 1+2*d+d*d)
		weights[i] = 2
		entropy := g.AddSums(o, weights, scores, family.Table{K: 1, Stride: 0, Data: make([]float64, d)}, family.Table{K: 1, Stride: 0, Data: sums})
		row := x[i*d : (i+1)*d]
		mean, variance := s.given(row)
		first, second := g.split(sums, 1)
		logDet, missing := math.Log(variance), 0.0 // of C = diag(s²) + variance·11ᵀ
		for a, v := range row {
			if v != v {
				logDet += 2 * math.Log(s[a])
				missing++
			}
		}
		rest, of := 1/variance, append([]float64(nil), row...)
		for a := range d {
			if row[a] != row[a] {
				rest += 1 / (s[a] * s[a])
				of[a] = mean
			}
		}
		logDet += math.Log(rest)
		require.InDelta(t, missing*(1+math.Log(2*math.Pi))+logDet, entropy, 1e-9, "row %d", i)
		for a := range d {
			require.InDelta(t, 2*of[a], first[a], 1e-9, "row %d, column %d", i, a)
			for c := a; c < d; c++ {
				want := of[a] * of[c]
				if row[a] != row[a] && row[c] != row[c] {
					want += variance
				}
				if a == c && row[a] != row[a] {
					want += s[a] * s[a]
				}
				require.InDelta(t, 2*want, second[a*d+c], 1e-9, "row %d, columns %d and %d", i, a, c)
			}
		}
	}
}

// TestGroupsOfPatterns: patterns all different, of so many missing columns that the factors of one group are there at a
// time, and of few; some with several rows, far apart. Scores have a closed form, sums are those of the rows one by one,
// and nothing depends on whether scores came before or classes share a covariance.
func TestGroupsOfPatterns(t *testing.T) {
	for _, d := range []int{3, 7, 40} {
		s := make(oneFactor, d)
		for j := range s {
			s[j] = 1 + float64(j%3)
		}
		const n, k = 256, 2
		rng, x := seeded(8), make([]float64, n*d)
		for i := range n {
			f := rng.NormFloat64()
			for j := range d {
				if x[i*d+j] = f + s[j]*rng.NormFloat64(); rng.IntN(2) == 0 {
					x[i*d+j] = math.NaN()
				}
			}
		}
		rows := blocks.Rows{N: n, D: d, Stride: d, X: x}
		score := s.score()
		scores, anchors := family.Table{K: k, Stride: len(score), Data: append(score, score...)}, family.Table{K: k, Stride: d, Data: make([]float64, k*d)}
		scores.Data[len(score)+1] = 0.5 // one class's mean
		weights := make([]float64, k*n)
		for i := range weights {
			weights[i] = float64(rng.IntN(4))
		}
		size := 1 + 2*d + d*d
		sum := func(g gaussian, o *family.Observed, weights []float64) (entropy float64, sums []float64) {
			sums = make([]float64, k*size)
			return g.AddSums(o, weights, scores, anchors, family.Table{K: k, Stride: size, Data: sums}), sums
		}
		g, o, r := gaussian{d: d}, &family.Observed{}, make([]float64, k*n)
		require.NoError(t, g.Observe(rows, 0, 0, n, o))
		g.AddScores(o, scores, r)
		for i, got := range r[:n] {
			require.InDelta(t, s.logProb(x[i*d:(i+1)*d]), got, 1e-9, "row %d", i)
		}
		entropy, sums := sum(g, o, weights)
		for _, other := range []gaussian{{d: d}, {d: d, tied: true}} {
			require.NoError(t, other.Observe(rows, 0, 0, n, o))
			again, same := sum(other, o, weights)
			require.Equal(t, entropy, again)
			require.Equal(t, sums, same)
		}
		total, added := 0.0, make([]float64, k*size)
		for i := range n {
			own := make([]float64, k*n)
			own[i], own[n+i] = weights[i], weights[n+i]
			h, of := sum(g, o, own)
			total += h
			floats.Add(added, of)
		}
		require.InDelta(t, entropy, total, 1e-8)
		require.InDeltaSlice(t, sums, added, 1e-8)
	}
}
