package theorems

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
)

// lengths are those of a test: some always, more without -short, and more at night.
func lengths(short, usual, long []float64) []float64 {
	return slices.Concat(short, tier.Of(nil, usual, slices.Concat(usual, long)))
}

// slopes are those of v in ln n between neighbours.
func slopes(n, v []float64) []float64 {
	list := make([]float64, len(n)-1)
	for i := range list {
		list[i] = (v[i+1] - v[i]) / math.Log(n[i+1]/n[i])
	}
	return list
}

// decay is the slope of ln|v| in ln n between the last two.
func decay(n, v []float64) float64 {
	i := len(n) - 1
	return math.Log(math.Abs(v[i]/v[i-1])) / math.Log(n[i]/n[i-1])
}

// limit is where v(n) = limit + c/n goes, from the last two.
func limit(n, v []float64) float64 {
	i := len(n) - 1
	return (n[i]*v[i] - n[i-1]*v[i-1]) / (n[i] - n[i-1])
}

func last(v []float64) float64 { return v[len(v)-1] }

// bits is a table of binary columns: how often each pattern occurs. Bit j of a pattern's
// index is column j.
type bits struct {
	columns int
	counts  []float64
}

func (b bits) times(f float64) bits {
	counts := make([]float64, len(b.counts))
	for i, c := range b.counts {
		counts[i] = f * c
	}
	return bits{b.columns, counts}
}

func (b bits) rows() float64 {
	n := 0.0
	for _, c := range b.counts {
		n += c
	}
	return n
}

func (b bits) at(pattern, column int) int { return pattern >> column & 1 }

// codes are the patterns as package evidence wants them.
func (b bits) codes() []int {
	var list []int
	for p := range b.counts {
		for j := range b.columns {
			list = append(list, b.at(p, j))
		}
	}
	return list
}

func (b bits) levels() []int {
	list := make([]int, b.columns)
	for i := range list {
		list[i] = 2
	}
	return list
}

// table has a weighted row for each pattern.
func (b bits) table(t testing.TB) *blocks.Table {
	t.Helper()
	codes := b.codes()
	x := make([]float64, len(codes))
	for i, c := range codes {
		x[i] = float64(c)
	}
	table, err := blocks.FromSlice(x, len(b.counts), b.columns)
	require.NoError(t, err)
	table, err = table.WithWeights(b.counts)
	require.NoError(t, err)
	return table
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
