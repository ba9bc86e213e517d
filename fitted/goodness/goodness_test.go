package goodness_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/goodness"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
)

// fit is the fit of a built-in model by EM at K, and its number of free parameters.
func fit(t testing.TB, model, family string, table *fitted.Table, k, starts int) (fitted.Found, float64) {
	t.Helper()
	for _, d := range builtin.Models() {
		if d.Name != model {
			continue
		}
		method, is := d.MethodNamed("em")
		require.True(t, is)
		request := fitted.Request{Method: method, Family: family, FixedK: true, Families: d.Families}
		bound, err := d.New().Bind(context.Background(), table, request)
		require.NoError(t, err)
		res, err := bound.Fit(context.Background(), framework.Options{K: k, FixedK: true, Method: method.Engine,
			Criterion: framework.BIC, Restarts: starts, Seed: 1, Tolerance: 1e-9})
		require.NoError(t, err)
		return res.Parameters, float64(res.Shape.Identifiable())
	}
	t.Fatal("no model " + model)
	return nil, 0
}

// tableOf has rows in columns of a family, of so many levels where there are any.
func tableOf(t testing.TB, x []float64, d int, family string, levels int) *fitted.Table {
	t.Helper()
	table := new(fitted.Table)
	for j := range d {
		c := data.Column{Name: string(rune('A' + j)), Family: family}
		for l := range levels {
			c.Levels = append(c.Levels, strconv.Itoa(l))
		}
		table.Columns = append(table.Columns, c)
	}
	var err error
	table.Rows, err = blocks.FromIncomplete(x, len(x)/d, d)
	require.NoError(t, err)
	return table
}

// carcinoma are seven pathologists' judgements of 118 slides (Landis & Koch 1977; Agresti 2002, table 13.1).
func carcinoma(t testing.TB) *fitted.Table {
	var x []float64
	for _, one := range []struct {
		codes string
		count int
	}{
		{"0000000", 34}, {"0000100", 2}, {"0100000", 6}, {"0100001", 1}, {"0100100", 4}, {"0100101", 5}, {"1000000", 2},
		{"1010101", 1}, {"1100000", 2}, {"1100001", 1}, {"1100100", 2}, {"1100101", 7}, {"1100111", 1}, {"1101001", 1},
		{"1101101", 2}, {"1101111", 3}, {"1110101", 13}, {"1110111", 5}, {"1111101", 10}, {"1111111", 16},
	} {
		for range one.count {
			for _, code := range one.codes {
				x = append(x, float64(code-'0'))
			}
		}
	}
	return tableOf(t, x, 7, "categorical", 2)
}

// poLCA 1.6.0 (R) has these numbers of its table carcinoma: Linzer & Lewis 2011, J. Stat. Software 42(10), and its manual.
func TestG2AndX2AreThoseOfPoLCA(t *testing.T) {
	table := carcinoma(t)
	for _, c := range []struct {
		k        int
		free, df float64
		g2, x2   float64
	}{
		{2, 15, 103, 62.36543, 92.64814},
		{3, 23, 95, 15.26171, 20.50336},
	} {
		m, free := fit(t, "mixture", "categorical", table, c.k, 10)
		r, err := goodness.Check(context.Background(), m, table, goodness.Options{Free: free})
		require.NoError(t, err)
		assert.Equal(t, c.free, free)
		assert.Equal(t, c.df, float64(r.Patterns.Df))
		assert.InDelta(t, c.g2, float64(r.Patterns.G2.Value), 1e-3)
		assert.InDelta(t, c.x2, float64(r.Patterns.X2.Value), 1e-3)
	}
}

// The expected counts of two columns are Σ_k π_k p_ka p_kb, here by the parameters; poLCA's table of a pair is the same.
func TestBivariateResidualsAreThoseOfTheParameters(t *testing.T) {
	table := carcinoma(t)
	m, free := fit(t, "mixture", "categorical", table, 2, 10)
	r, err := goodness.Check(context.Background(), m, table, goodness.Options{Free: free})
	require.NoError(t, err)
	text, err := json.Marshal(m.Params())
	require.NoError(t, err)
	var p struct{ Weights, Components []float64 }
	require.NoError(t, json.Unmarshal(text, &p))
	rows := table.Rows.All()
	require.Len(t, r.Pairs.List, 21)
	for _, one := range r.Pairs.List {
		a, b := int(one.A[0]-'A'), int(one.B[0]-'A')
		sum := 0.0
		for cell := range 4 {
			la, lb := cell/2, cell%2
			seen, expected := 0.0, 0.0
			for i := range rows.N {
				if int(rows.Row(i)[a]) == la && int(rows.Row(i)[b]) == lb {
					seen++
				}
			}
			for k, w := range p.Weights {
				expected += 118 * w * p.Components[k*14+2*a+la] * p.Components[k*14+2*b+lb]
			}
			sum += (seen - expected) * (seen - expected) / expected
		}
		assert.InDelta(t, sum, float64(one.Value), 1e-9)
	}
}

// refit fits the model at K by EM again.
func refit(t testing.TB, model, family string, k int) func(context.Context, *fitted.Table) (fitted.Model, error) {
	return func(_ context.Context, drawn *fitted.Table) (fitted.Model, error) {
		m, _ := fit(t, model, family, drawn, k, 2)
		return m, nil
	}
}

// Two classes do not fit the pathologists and three do (Agresti 2002, section 13.1.3), but this shows only with draws that
// are fitted, as the table was.
func TestRefitsSeeWhatTheFitHasAdaptedTo(t *testing.T) {
	table := carcinoma(t)
	p := func(k int, refits bool) (g2 float64) {
		m, free := fit(t, "mixture", "categorical", table, k, 10)
		o := goodness.Options{Free: free, Draws: 39}
		if refits {
			o.Refit = refit(t, "mixture", "categorical", k)
		}
		r, err := goodness.Check(context.Background(), m, table, o)
		require.NoError(t, err)
		assert.Equal(t, refits, r.Refitted)
		return float64(r.Patterns.G2.P)
	}
	assert.Less(t, p(2, true), 0.03)
	assert.Greater(t, p(3, true), 0.2)
	assert.Greater(t, p(3, false), 0.9)
}

// truths are models fitted to some rows: those that they draw are from a model that is right.
func truths(t testing.TB) map[string]struct {
	fitted.Model
	table *fitted.Table
} {
	rng := rand.New(rand.NewPCG(7, 7))
	codes, numbers, counts := []float64(nil), []float64(nil), []float64(nil)
	for i := range 200 {
		class := i % 2
		for range 6 {
			code := 0.0
			if rng.Float64() < 0.2+0.6*float64(class) {
				code = 1
			}
			codes = append(codes, code)
		}
		v := rng.NormFloat64()
		numbers = append(numbers, 3*float64(class)+v, v+rng.NormFloat64(), 2*float64(class)+rng.NormFloat64())
		counts = append(counts, distuv.Poisson{Lambda: 3 + 8*float64(i/10%2), Src: rng}.Rand())
	}
	gaps := slices.Clone(numbers)
	for i := range gaps {
		if rng.Float64() < 0.1 {
			gaps[i] = math.NaN()
		}
	}
	all := map[string]struct {
		fitted.Model
		table *fitted.Table
	}{}
	add := func(name, model, family string, table *fitted.Table, k int) {
		if model == "hmm" || model == "lds" {
			var err error
			table.Sequences, err = blocks.NewSequences(table.Rows, []int{120, 200})
			require.NoError(t, err)
		}
		m, _ := fit(t, model, family, table, k, 2)
		all[name] = struct {
			fitted.Model
			table *fitted.Table
		}{m, table}
	}
	add("codes", "mixture", "categorical", tableOf(t, codes, 6, "categorical", 2), 2)
	add("numbers", "mixture", "gaussian", tableOf(t, numbers, 3, "gaussian", 0), 2)
	add("gaps", "mixture", "gaussian-diagonal", tableOf(t, gaps, 3, "gaussian", 0), 2)
	add("factor", "factor", "", tableOf(t, numbers, 3, "", 0), 1)
	add("counts", "hmm", "poisson", tableOf(t, counts, 1, "poisson", 0), 2)
	add("chain", "hmm", "gaussian", tableOf(t, numbers, 3, "gaussian", 0), 2)
	add("system", "lds", "", tableOf(t, numbers, 3, "", 0), 1)
	return all
}

// drawn is a table that the model draws, with the gaps of the one it was fitted to.
func drawn(t testing.TB, m fitted.Model, like *fitted.Table, seed uint64) *fitted.Table {
	rng := rand.New(rand.NewPCG(seed, 1<<40))
	rows := like.Rows.All()
	var x []float64
	var err error
	if like.Sequences != nil {
		x, err = m.(fitted.SequenceSampler).SampleSequences([]int{120, 80}, rng)
	} else {
		x, _, err = m.(fitted.Sampler).NewSampler(rng)(rows.N)
	}
	require.NoError(t, err)
	for i, v := range rows.X {
		if math.IsNaN(v) {
			x[i] = v
		}
	}
	table := &fitted.Table{Columns: like.Columns}
	table.Rows, err = blocks.FromIncomplete(x, rows.N, rows.D)
	require.NoError(t, err)
	if like.Sequences != nil {
		table.Sequences, err = blocks.NewSequences(table.Rows, []int{120, 200})
		require.NoError(t, err)
	}
	return table
}

// Of a model that is right, p-values are uniform: of 20 tables few are below .05, and their mean is about ½ (0.065 is its
// standard error).
func TestPValuesOfTheTrueModelAreUniform(t *testing.T) {
	for name, one := range truths(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := map[string][]float64{}
			for seed := range uint64(20) {
				r, err := goodness.Check(context.Background(), one.Model, drawn(t, one.Model, one.table, seed),
					goodness.Options{Seed: seed, Draws: 39})
				require.NoError(t, err)
				for _, test := range r.Tests {
					p[test.Name] = append(p[test.Name], float64(test.P))
				}
			}
			assert.GreaterOrEqual(t, len(p), 3)
			for group, list := range p {
				low := 0
				for _, v := range list {
					if v <= 0.05 {
						low++
					}
				}
				assert.LessOrEqual(t, low, 4, group)
				assert.InDelta(t, 0.5, stat.Mean(list, nil), 0.2, group)
			}
		})
	}
}

// wrong are tables that a model does not fit: of 10 of each, all are found out, by the group that is to do it.
func TestMisfitsAreFoundOut(t *testing.T) {
	for _, c := range []struct {
		name, model, family string
		k, d, levels        int
		group, about        string
		draw                func(rng *rand.Rand, i int, x, last []float64)
	}{
		{"codes that depend within classes", "mixture", "categorical", 2, 6, 2, "pairs", `"A" and "B"`,
			func(rng *rand.Rand, i int, x, _ []float64) {
				for j := range x {
					if x[j] = 0; rng.Float64() < 0.2+0.6*float64(i%2) {
						x[j] = 1
					}
				}
				if rng.Float64() < 0.5 {
					x[1] = x[0]
				}
			}},
		{"measurements that depend within classes", "mixture", "gaussian-diagonal", 2, 4, 0, "pairs", `"A" and "B" (correlation within classes`,
			func(rng *rand.Rand, i int, x, _ []float64) {
				for j := range x {
					x[j] = 6*float64(i%2) + rng.NormFloat64()
				}
				x[1] += 0.7 * (x[0] - 6*float64(i%2))
			}},
		{"heavy tails", "mixture", "gaussian", 1, 2, 0, "likelihood", "--family student-t",
			func(rng *rand.Rand, _ int, x, _ []float64) {
				scale := math.Sqrt(3 / distuv.ChiSquared{K: 3, Src: rng}.Rand())
				x[0], x[1] = scale*rng.NormFloat64(), scale*rng.NormFloat64()
			}},
		{"a row that is wrong", "mixture", "gaussian", 1, 3, 0, "outlier", "look at row 6:",
			func(rng *rand.Rand, i int, x, _ []float64) {
				for j := range x {
					if x[j] = rng.NormFloat64(); i == 5 {
						x[j] += 9
					}
				}
			}},
		{"noise of a chain that depends on the step before", "hmm", "gaussian", 2, 1, 0, "residuals", "pseudo-residuals with the step before",
			func(rng *rand.Rand, i int, x, last []float64) {
				before := last[0] - 6*float64((i-1)/20%2)
				x[0] = 6*float64(i/20%2) + 0.7*before + rng.NormFloat64()
			}},
		{"a system that jumps", "lds", "", 1, 1, 0, "residuals", "",
			func(rng *rand.Rand, i int, x, _ []float64) { x[0] = 20*float64(i/50%2) + rng.NormFloat64() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range tier.Of[uint64](2, 4, 10) {
				rng := rand.New(rand.NewPCG(seed, 3))
				x, last := []float64(nil), make([]float64, c.d)
				for i := range 300 {
					row := make([]float64, c.d)
					c.draw(rng, i, row, last)
					x, last = append(x, row...), row
				}
				family := c.family
				if family == "gaussian-diagonal" {
					family = "gaussian"
				}
				table := tableOf(t, x, c.d, family, c.levels)
				if c.model != "mixture" {
					var err error
					table.Sequences, err = blocks.NewSequences(table.Rows, []int{300})
					require.NoError(t, err)
				}
				m, free := fit(t, c.model, c.family, table, c.k, 2)
				o := goodness.Options{Free: free, Seed: seed}
				if c.levels > 0 {
					o.Refit = refit(t, c.model, c.family, c.k)
				}
				r, err := goodness.Check(context.Background(), m, table, o)
				require.NoError(t, err)
				assert.NotEqual(t, goodness.Fits, r.Verdict)
				at := slices.IndexFunc(r.Tests, func(one goodness.Test) bool { return one.Name == c.group })
				assert.True(t, r.Tests[at].Clear, "%v", r.Tests)
				assert.Contains(t, r.About+strings.Join(r.Advice, " "), c.about)
			}
		})
	}
}

// A weight stands for so many rows, and any number of workers makes the same result.
func TestWeightsAreRowsAndWorkersMakeNoDifference(t *testing.T) {
	whole := carcinoma(t)
	m, free := fit(t, "mixture", "categorical", whole, 2, 2)
	one, err := goodness.Check(context.Background(), m, whole, goodness.Options{Free: free, Draws: 19, Workers: 1})
	require.NoError(t, err)
	rows := whole.Rows.All()
	var x, weights []float64
	for i := range rows.N {
		if i > 0 && slices.Equal(rows.Row(i), rows.Row(i-1)) {
			weights[len(weights)-1]++
			continue
		}
		x, weights = append(x, rows.Row(i)...), append(weights, 1)
	}
	short := tableOf(t, x, 7, "categorical", 2)
	short.Rows, err = short.Rows.WithWeights(weights)
	require.NoError(t, err)
	other, err := goodness.Check(context.Background(), m, short, goodness.Options{Free: free, Draws: 19, Workers: 3,
		Name: func(row int) string { return "pattern " + strconv.Itoa(row) }})
	require.NoError(t, err)
	assert.Equal(t, []string{"69", "pattern 13"}, []string{one.Likelihood.Row, other.Likelihood.Row}) // 1101001
	other.Likelihood.Row = one.Likelihood.Row
	assert.Equal(t, one, other)
}

// Of many columns some are looked at, of many levels the association is the multiple correlation, and a page has a figure.
func TestColumnsOfAllKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, d = 60, 240
	x := make([]float64, 0, n*d)
	for range n {
		x = append(x, float64(rng.IntN(3)))
		for range d - 1 {
			x = append(x, rng.NormFloat64())
		}
		x[len(x)-1] += 3 * x[len(x)-d]
		x[len(x)-2] = 1 // constant
	}
	table := tableOf(t, x, d, "gaussian", 0)
	table.Columns[0] = data.Column{Name: "A", Family: "categorical", Levels: []string{"x", "y", "z"}}
	for j := range table.Columns[1:] {
		table.Columns[j+1].Name = strconv.Itoa(j + 1)
	}
	o := goodness.Options{Draws: 19, Free: math.NaN()}
	r, err := goodness.Check(context.Background(), drawing{d}, table, o)
	require.NoError(t, err)
	assert.Equal(t, []int{200, d * (d - 1) / 2, 200 * 199 / 2}, []int{r.Pairs.Columns, r.Pairs.All, r.Pairs.Looked})
	assert.Equal(t, []string{"19 draws cannot tell 3 groups from chance: take 59 or more",
		"200 of 240 columns, drawn at random, were looked at in pairs"}, r.Notes)
	assert.Len(t, r.Pairs.List, 1000)
	assert.Len(t, r.Document("A table", "").Sections, 4)

	// A is among few columns, and depends on the last one
	few := &fitted.Table{Columns: []data.Column{table.Columns[0], table.Columns[d-1], table.Columns[d-2]}}
	var y []float64
	for i := range n {
		y = append(y, x[i*d], x[i*d+d-1], x[i*d+d-2])
	}
	few.Rows, err = blocks.FromSlice(y, n, 3)
	require.NoError(t, err)
	r, err = goodness.Check(context.Background(), drawing{3}, few, o)
	require.NoError(t, err)
	require.Len(t, r.Pairs.List, 1) // a constant column has no correlation
	assert.Equal(t, []string{"A", "239"}, []string{r.Pairs.List[0].A, r.Pairs.List[0].B})
	levels := mat.NewDense(n, 3, nil)
	response := mat.NewVecDense(n, nil)
	for i := range n {
		levels.Set(i, int(y[3*i]), 1)
		response.SetVec(i, y[3*i+1])
	}
	var means, fitted mat.VecDense
	require.NoError(t, means.SolveVec(levels, response))
	fitted.MulVec(levels, &means)
	explained := stat.Variance(fitted.RawVector().Data, nil) / stat.Variance(response.RawVector().Data, nil)
	assert.InDelta(t, math.Sqrt(explained), float64(r.Pairs.List[0].Value), 1e-9)
}

// drawing is a model of one's own: a column of three levels and standard normal ones, and so many of them.
type drawing struct{ d int }

func (m drawing) Input() fitted.Input               { return fitted.Input{} }
func (m drawing) Layout() fitted.Layout             { return fitted.Layout{Last: []string{"log_likelihood"}} }
func (m drawing) NewScorer() (fitted.Scorer, error) { return m, nil }
func (m drawing) Score(b blocks.Rows, dst []float64) error {
	for i := range b.N {
		dst[i] = -math.Log(3)
		for _, v := range b.Row(i)[1:] {
			dst[i] += distuv.UnitNormal.LogProb(v)
		}
	}
	return nil
}
func (m drawing) NewSampler(rng *rand.Rand) func(n int) ([]float64, []int, error) {
	return func(n int) (x []float64, _ []int, _ error) {
		for range n {
			x = append(x, float64(rng.IntN(3)))
			for range m.d - 1 {
				x = append(x, rng.NormFloat64())
			}
		}
		return x, nil, nil
	}
}

// silent is a model that draws nothing.
type silent struct{ fitted.Model }

func TestWhatCannotBeChecked(t *testing.T) {
	table := carcinoma(t)
	m, _ := fit(t, "mixture", "categorical", table, 2, 2)
	gaps := slices.Clone(table.Rows.All().X)
	for i := range table.Rows.Rows() {
		gaps[i*7+i%7] = math.NaN()
	}
	half, err := table.Rows.WithWeights(slices.Repeat([]float64{0.5}, 118))
	require.NoError(t, err)
	for want, c := range map[string]struct {
		m fitted.Model
		t *fitted.Table
		o goodness.Options
	}{
		"cannot draw rows":          {silent{m}, table, goodness.Options{}},
		"a table of one row":        {m, tableOf(t, gaps[:7], 7, "categorical", 2), goodness.Options{}},
		"weight of row 1 is 0.5":    {m, &fitted.Table{Columns: table.Columns, Rows: half}, goodness.Options{}},
		"7 columns, and names of 1": {m, &fitted.Table{Columns: table.Columns[:1], Rows: table.Rows}, goodness.Options{}},
		"a list of pairs":           {m, &fitted.Table{}, goodness.Options{}},
		"Draws is 3":                {m, table, goodness.Options{Draws: 3}},
		"19 of 19 refits failed, the first: no": {m, table, goodness.Options{Draws: 19,
			Refit: func(context.Context, *fitted.Table) (fitted.Model, error) { return nil, errors.New("no") }}},
	} {
		_, err := goodness.Check(context.Background(), c.m, c.t, c.o)
		assert.ErrorContains(t, err, want)
	}
	r, err := goodness.Check(context.Background(), m, tableOf(t, gaps, 7, "categorical", 2), goodness.Options{Draws: 19})
	require.NoError(t, err)
	assert.Nil(t, r.Patterns)
	assert.Contains(t, r.Notes, "G² and X² need complete rows, and every row has a gap")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = goodness.Check(ctx, m, table, goodness.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}
