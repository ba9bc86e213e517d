package columns

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
	"github.com/latent-go/latent/internal/tables"
)

// columnsOf are those of a table whose columns are a, b, ….
func columnsOf(t require.TestingT, columns ...[]float64) Columns {
	var text bytes.Buffer
	for j := range columns {
		fmt.Fprintf(&text, "%c,", 'a'+j)
	}
	text.WriteString("end\n")
	for i := range columns[0] {
		for _, c := range columns {
			if v := c[i]; v == v {
				text.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
			}
			text.WriteString(",")
		}
		fmt.Fprintf(&text, "%v\n", 0.5*float64(i%7)-1)
	}
	table, err := data.ReadCSV(&text, data.CSVOptions{})
	require.NoError(t, err)
	return Of(&tables.Input{Named: data.Named{Table: table}}, &Request{})
}

// Every reason of package data has one diagnostic, or choose would have no words for it.
func TestEveryCauseHasOneDiagnostic(t *testing.T) {
	count := map[data.Cause]int{}
	for _, d := range diagnostics {
		count[d.cause]++
		require.True(t, d.claim == "" || d.advice != nil, "%q advises nothing", d.claim)
	}
	for cause := data.SingleValue; cause <= data.TextsBesideUnits; cause++ {
		require.Equal(t, 1, count[cause], "cause %d", cause)
	}
	require.Len(t, count, int(data.TextsBesideUnits))
}

// The likelihoods of both distributions at their maxima, by package distuv and a search over the shape, have the order
// that gammaIsLikelier finds; missing values change nothing.
func TestGammaOrLognormalByTheirLikelihoods(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	gammas := 0
	for trial := range 60 {
		x := make([]float64, 40+rng.IntN(60))
		shape := 0.5 + 4*rng.Float64()
		for i := range x {
			if trial%2 == 0 {
				x[i] = distuv.Gamma{Alpha: shape, Beta: 0.3, Src: rng}.Rand()
			} else {
				x[i] = distuv.LogNormal{Mu: 2, Sigma: 1 / math.Sqrt(shape), Src: rng}.Rand()
			}
		}
		mean, logs := stat.Mean(x, nil), make([]float64, len(x))
		for i, v := range x {
			logs[i] = math.Log(v)
		}
		total := func(law distuv.LogProber) (sum float64) {
			for _, v := range x {
				sum += law.LogProb(v)
			}
			return sum
		}
		best, err := optimize.Minimize(optimize.Problem{Func: func(a []float64) float64 {
			alpha := math.Exp(a[0])
			return -total(distuv.Gamma{Alpha: alpha, Beta: alpha / mean})
		}}, []float64{0}, nil, &optimize.NelderMead{})
		require.NoError(t, err)
		mu, variance := stat.PopMeanVariance(logs, nil)
		gain := -best.F - total(distuv.LogNormal{Mu: mu, Sigma: math.Sqrt(variance)})
		require.Greater(t, math.Abs(gain), 1e-6, "too near to tell")
		require.Equal(t, gain > 0, gammaIsLikelier(append(x, math.NaN())), "gain of %v", gain)
		if gain > 0 {
			gammas++
		}
	}
	require.True(t, gammas > 10 && gammas < 50, "%d of 60", gammas)
}

// What a column holds is what the set of its numbers says, whatever is missing.
func TestColumnsOfFewNumbersByTheirSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SliceOfNDistinct(rapid.SampledFrom([]float64{0, 1, 2, 3.5, -4, math.NaN()}), 1, 4, rapid.ID).Draw(t, "from")
		values := rapid.SliceOfN(rapid.SampledFrom(from), 3, 12).Draw(t, "values")
		if !slices.ContainsFunc(values, func(v float64) bool { return v == v }) {
			return
		}
		in := columnsOf(t, values)
		set, whole := map[float64]bool{}, true
		for _, v := range values {
			if v == v {
				set[v] = true
				whole = whole && v == math.Trunc(v)
			}
		}
		require.Len(t, in.different(0, 100), len(set))
		require.Len(t, in.different(0, 2), min(2, len(set)))
		require.Equal(t, whole || len(set) == 2, in.wholeOrTwo(0))
		require.Equal(t, len(set) == 2 && !(set[0] && set[1]), in.hasTwoCodes(0))
	})
}

// What columns are no measurements does not depend on their order, though counts matter only without measurements.
func TestUnmeasuredColumnsInAnyOrder(t *testing.T) {
	const n = 120
	rng := rand.New(rand.NewPCG(7, 11))
	kinds := []func(i int) float64{
		func(int) float64 { return distuv.Poisson{Lambda: 20, Src: rng}.Rand() }, // counts
		func(int) float64 { return float64(rng.IntN(2)) },                        // two values
		func(int) float64 { return float64(1 + rng.IntN(4)) },                    // codes
		func(int) float64 { return rng.NormFloat64() },                           // measurements
	}
	drawn := make([][]float64, len(kinds))
	for k, draw := range kinds {
		for i := range n {
			drawn[k] = append(drawn[k], draw(i))
		}
	}
	// found has the kinds of the columns of numbers without decimals: the last column of columnsOf has some.
	found := func(order []int, out ...string) (list []int) {
		var columns [][]float64
		for _, k := range order {
			columns = append(columns, drawn[k])
		}
		for _, c := range columnsOf(t, columns...).unmeasured(out) {
			list = append(list, order[strings.Index("abcdefgh", c.name)])
		}
		slices.Sort(list)
		return list
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		require.Equal(t, []int{1, 2}, found(order), "%v", order)
	}
	require.Equal(t, []int{0, 1, 2}, found([]int{0, 1, 2}, "end"), "no measurements: counts matter")
	require.Equal(t, []int{0, 1, 2}, found([]int{2, 1, 0}, "end"))
	require.Equal(t, []int{0, 2}, found([]int{0, 1, 2}, "end", "b"), "left out by name")
}

// A table of nothing but a column in order keeps it; beside another, it does not.
func TestTheOnlyColumnIsKeptThoughItIsInOrder(t *testing.T) {
	order := suspect{"a", data.Suggestion{Kind: data.Identifier, Cause: data.InOrder}}
	alone := []suspect{order}
	keepOne(alone)
	require.NotEmpty(t, familyOf[alone[0].Kind])
	for _, other := range []suspect{{}, {"b", data.Suggestion{Kind: data.Count, Cause: data.VaryAsCounts}}} {
		two := []suspect{order, other}
		keepOne(two)
		require.Equal(t, order, two[0])
	}
}

// Columns of few values are counts where most columns of their name are; codes, gaps in the numbers and fractions not.
func TestColumnsOfOneNameAreCountedAlike(t *testing.T) {
	counts := []float64{0, 1, 3, 12, 2, 0, 1, 5}
	few := data.Suggestion{Kind: data.Categorical, Cause: data.FewValues}
	for _, c := range []struct {
		column  []float64
		counted int
		want    data.Kind
	}{
		{[]float64{0, 1, 2, 1, math.NaN(), 0, 1, 2}, 2, data.Count},
		{[]float64{0, 1, 2, 1, 0, 0, 1, 2}, 1, data.Categorical},
		{[]float64{1, 2, 3, 1, 2, 2, 1, 2}, 2, data.Categorical},
		{[]float64{-1, 0, 1, 1, 0, 0, 1, 0}, 2, data.Categorical},
		{[]float64{0, 0.5, 1, 1, 0, 0, 1, 0.5}, 2, data.Categorical},
	} {
		in := columnsOf(t, c.column, counts, counts)
		in.Names[0], in.Names[1], in.Names[2] = "n1", "n2", "n3"
		list := []suspect{{"n1", few}}
		for i := range c.counted {
			list = append(list, suspect{in.Names[1+i], data.Suggestion{Kind: data.Count, Cause: data.VaryAsCounts}})
		}
		in.countAlike(list)
		require.Equal(t, c.want, list[0].Kind, "%v", c)
	}
}

// A column is noted that is a sum of others, each rounded as tables have it; not where one row of it is wrong, and not
// a column that others explain well, but for noise.
func TestColumnsThatFollowFromOthers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))
		rounded := func(v, step float64) float64 { return math.Round(v/step) * step }
		step := rapid.SampledFrom([]float64{1, 0.1, 0.001, 1e-9}).Draw(r, "step")
		n := rapid.IntRange(30, 200).Draw(r, "rows")
		c := make([][]float64, 4)
		for j := range c {
			c[j] = make([]float64, n)
		}
		weight, noise := 1+3*rng.Float64(), rapid.SampledFrom([]float64{0, 0.1}).Draw(r, "noise")
		wrong := rapid.SampledFrom([]int{-1, n / 2}).Draw(r, "wrong")
		for i := range n {
			a, b := 40*rng.NormFloat64(), 30*rng.NormFloat64()
			total := 7 + a - weight*b + 50*noise*rng.NormFloat64()
			if i == wrong {
				total += 12
			}
			c[0][i], c[1][i], c[2][i], c[3][i] = rounded(a, step), rounded(b, step), rounded(total, step), 50*rng.NormFloat64()
		}
		var s tables.Session
		columnsOf(r, c...).noteDependent(&s)
		if noise == 0 && wrong < 0 {
			require.Len(r, s.Notes, 1)
			require.Contains(r, s.Notes[0], `"c" from "a", "b": --drop c leaves`)
		} else {
			require.Empty(r, s.Notes)
		}
	})
}

// Neighbours of which one is 1 in each row are taken together, as far as they go; other columns of 0 and 1 are not, nor
// those that somebody described.
func TestIndicatorsOfACategoryAreTakenTogether(t *testing.T) {
	nan := math.NaN()
	a, b, c := []float64{1, 0, 0, 1, 0, 0, 1, 0}, []float64{0, 1, 0, 0, 0, 1, 0, 1}, []float64{0, 0, 1, 0, 1, 0, 0, 0}
	both := []float64{1, 1, 0, 0, 1, 0, 1, 0}
	neither := []float64{0, 0, 1, 1, 0, 1, 0, 1}
	gap := func(x []float64) []float64 { return append(slices.Clone(x[:7]), nan) }
	for _, one := range []struct {
		columns [][]float64
		given   string
		want    []int // how many are together, by column
	}{
		{[][]float64{a, b, c}, "", []int{3, 3, 3}},
		{[][]float64{both, a, b, c, both, neither}, "", []int{0, 3, 3, 3, 2, 2}},
		{[][]float64{a, b, c, c, a, b}, "", []int{3, 3, 3, 3, 3, 3}},
		{[][]float64{gap(a), gap(b), gap(c)}, "", []int{3, 3, 3}},
		{[][]float64{gap(a), b, gap(c)}, "", []int{0, 0, 0}},
		{[][]float64{a, both, b, c}, "", []int{0, 0, 0, 0}},
		{[][]float64{a, b}, "", []int{0, 0}},
		{[][]float64{a, b, c}, "b", []int{0, 0, 0}},
		{[][]float64{a[:7], b[:7], c[:7]}, "", []int{0, 0, 0}}, // too few rows to know
	} {
		in := columnsOf(t, one.columns...)
		list := make([]data.Column, len(in.Names))
		for j, name := range in.Names {
			list[j] = data.Column{Name: name, Family: families.Bernoulli}
		}
		var s tables.Session
		in.takeIndicators(&s, list, &classes.ColumnFamilies{Family: map[string]string{one.given: families.Bernoulli}})
		for j, width := range one.want {
			want := data.Column{Name: list[j].Name, Family: families.Bernoulli}
			if width > 0 {
				want = data.Column{Name: list[j].Name, Family: families.Indicators, Block: families.GroupOf(width),
					Reason: "one of them is 1 in each row"}
			}
			require.Equal(t, want, list[j], "%v", one)
		}
		s = tables.Session{}
		if in.noteDependent(&s); slices.Equal(one.want, []int{3, 3, 3}) {
			require.Empty(t, s.Notes, "taken together, none counts twice")
		}
	}
}
