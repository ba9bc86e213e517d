package reproduce

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/evidence"
)

// TestEvidenceSettings: tables have the rows that they need, and classes overlap as much as they are to.
func TestEvidenceSettings(t *testing.T) {
	reached := 0
	for i := range 30 {
		s := drawSetting(i)
		require.Equal(t, s, drawSetting(i))
		require.Contains(t, s.ks(), s.k)
		require.Subset(t, s.forms(), s.competing(formKnown))
		if s.d > 20 || s.k == 1 {
			continue
		}
		of := s.newTruth(rand.New(rand.NewPCG(uint64(i), 1)))
		if err := of.errs(rand.New(rand.NewPCG(9, uint64(i)))); err < 3*s.overlap+0.02 {
			reached++
		}
		src, labels, err := of.table(rand.New(rand.NewPCG(uint64(i), 2)))
		require.NoError(t, err)
		require.Equal(t, s.n, src.Rows())
		require.Equal(t, s.k, compact(labels))
	}
	assert.Greater(t, reached, 12) // where columns are few, codes cannot tell all classes apart
}

// TestLabellingsSumToTheEvidence: the sum over subsets of rows is the exact sum of package evidence.
func TestLabellingsSumToTheEvidence(t *testing.T) {
	const n, d = 8, 3
	rng := rand.New(rand.NewPCG(1, 2))
	codes := make([]int, n*d)
	for i := range codes {
		codes[i] = rng.IntN(2)
	}
	m := evidence.Mixture{K: 2, Levels: []int{2, 2, 2}, Alpha: 1, Beta: 0.5, Workers: 1}
	want, err := m.LogEvidence(context.Background(), codes, slices.Repeat([]float64{1}, n))
	require.NoError(t, err)
	beta := func(a, b float64) float64 {
		x, _ := math.Lgamma(a)
		y, _ := math.Lgamma(b)
		z, _ := math.Lgamma(a + b)
		return x + y - z
	}
	got := overLabellings(n, func(rows uint) (sum float64) {
		for j := range d {
			ones := 0.0
			each(rows, func(i int) { ones += float64(codes[i*d+j]) })
			sum += beta(0.5+ones, 0.5+float64(bits.OnesCount(rows))-ones) - beta(0.5, 0.5)
		}
		return sum
	})
	assert.InDelta(t, want, got, 1e-10)
}

// TestQuadratures: priors integrate to 1, and integrals are means over draws from them.
func TestQuadratures(t *testing.T) {
	assert.InDelta(t, 0, overVariances(axisSum{}), 1e-9)
	y := []float64{0.3, 0.1, 1.1, 0.9, 0.2, -0.4, -0.8, -0.3}
	assert.InDelta(t, 0, overDirections(y, math.Sqrt2, 0), 2e-3)
	rng, of := rand.New(rand.NewPCG(3, 1)), evidenceSetting{columns: "gaussian", form: "VVV", d: 2}
	diagonal := evidenceSetting{columns: "gaussian", form: "VVI", d: 2}
	const draws = 40_000
	full, single := make([]float64, draws), make([]float64, draws)
	for i := range draws {
		scales, axes := drawUnit(of, rng)
		for j, s := range scales {
			full[i] += along(y, 2, []float64{axes.At(0, j), axes.At(1, j)}, 0b1111).logProb(s * s)
		}
		scales, _ = drawUnit(diagonal, rng)
		single[i] = along(y, 2, []float64{1, 0}, 0b1111).logProb(scales[0] * scales[0])
	}
	assert.InDelta(t, floats.LogSumExp(full)-math.Log(draws), overDirections(y, math.Sqrt2, 0b1111), 0.02)
	assert.InDelta(t, floats.LogSumExp(single)-math.Log(draws), overVariances(along(y, 2, []float64{1, 0}, 0b1111)), 0.02)
}

// TestEvidenceIsBelowTinyTables: no value of the evidence is above the exact sum, of any family.
func TestEvidenceIsBelowTinyTables(t *testing.T) {
	if testing.Short() {
		t.Skip("quadratures of several seconds")
	}
	for _, s := range biasSettings() {
		values, err := s.bias(context.Background(), 3)
		require.NoError(t, err)
		assert.Less(t, values[0], 0.0, s.tiny())
		assert.Greater(t, values[0], -5.0, s.tiny())
	}
}

// TestRelabelled makes as many classes as it is asked for, and leaves those that are there.
func TestRelabelled(t *testing.T) {
	x := []float64{0, 0, 0, 1, 10, 10, 10, 11, 50, 50, 50, 51, 52, 53}
	labels := []int{0, 0, 1, 1, 2, 2, 2}
	assert.Equal(t, labels, relabelled(x, 2, labels, 3, 3))
	assert.Equal(t, []int{0, 0, 0, 0, 1, 1, 1}, relabelled(x, 2, labels, 3, 2), "the two that lie close are united")
	for k := 1; k <= 5; k++ {
		assert.Equal(t, k, compact(relabelled(x, 2, labels, 3, k)))
	}
}

// TestCalibrationOfPosteriors: frequencies are counted by tenths, and sets are the smallest of 90 %.
func TestCalibrationOfPosteriors(t *testing.T) {
	holds, mass := smallest([]float64{0.06, 0.85, 0.09}, 1)
	assert.False(t, holds)
	assert.InDelta(t, 0.94, mass, 1e-12)
	var c calibrated
	c.add(2, []float64{0.25, 0.75})
	c.add(1, []float64{0.25, 0.75})
	assert.InDelta(t, 0.5, c.frequency[2].mean(), 0)
	assert.InDelta(t, 0.75, c.predicted[7].mean(), 0)
	all, _ := c.all()
	assert.InDelta(t, 1, all.mean(), 0, "both K are needed for 90 %")
}

// TestEvidenceStudyRuns in the quick size, to the page.
func TestEvidenceStudyRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("an experiment of several seconds")
	}
	o := Options{Out: t.TempDir(), Quick: true, Tables: 2}
	reports, err := Run(context.Background(), []*Experiment{evidenceStudy()}, o)
	require.NoError(t, err)
	assert.NotEmpty(t, reports[0].Outcome.Tables)
}
