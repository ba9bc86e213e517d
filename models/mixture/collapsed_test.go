package mixture

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
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/prior"
)

// A tiny table can be summed up over all labellings.
type tiny struct {
	name  string
	model Variational
	table *blocks.Table
	k     int
	// overlaps says that rows of different classes share values, so that p(Z|X) has labellings of more than one sense,
	// which no q that is a product over rows has.
	overlaps bool
}

func tinyTables(t *testing.T) (list []tiny) {
	rng := rand.New(rand.NewPCG(11, 5))
	const n = 10
	add := func(f family.Family, p prior.Prior, a float64, d int, draw func(class, column int) float64) {
		x := make([]float64, 0, n*d)
		for i := range n {
			for j := range d {
				x = append(x, draw(i%2, j))
			}
		}
		table, err := blocks.FromIncomplete(x, n, d)
		require.NoError(t, err)
		list = append(list, tiny{f.Name(), Variational{Family: f, Prior: p, Weights: prior.Dirichlet{Alpha: a}}, table, 2, false})
	}
	bit := func(class, _ int) float64 {
		if rng.Float64() < 0.15+0.7*float64(class) {
			return 1
		}
		return 0
	}
	bell := func(class, _ int) float64 { return 4*float64(class) + rng.NormFloat64() }
	gap := func(draw func(class, column int) float64) func(int, int) float64 {
		return func(class, column int) float64 {
			if v := draw(class, column); column == 0 || rng.Float64() > 0.2 {
				return v
			}
			return math.NaN()
		}
	}
	overlapping := func(class, _ int) float64 { return float64((rng.IntN(2) + 2*class) % 3) }
	code := func(class, _ int) float64 { return float64((rng.IntN(8)/6 + 2*class) % 3) }
	count := func(class, _ int) float64 {
		return distuv.Poisson{Lambda: 1 + 7*float64(class), Src: rng}.Rand()
	}
	add(family.Bernoulli{}, prior.Jeffreys{}, 1, 6, bit)
	add(family.Bernoulli{}, nil, 1, 6, gap(bit))
	add(family.Categorical{Levels: 3}, nil, 0.5, 5, overlapping)
	list[len(list)-1].overlaps = true
	add(family.Categorical{Levels: 3}, nil, 1, 6, code)
	add(family.Multinomial{Categories: 3}, prior.Dirichlet{Alpha: 0.5}, 1, 3, func(class, j int) float64 {
		if j == class {
			return 2 + float64(rng.IntN(4))
		}
		return float64(rng.IntN(2))
	})
	add(family.Poisson{}, prior.Gamma{Shape: 1, Rate: 0.3}, 1, 3, gap(count))
	add(family.Exponential{}, nil, 1, 4, gap(func(class, _ int) float64 { return rng.ExpFloat64() * math.Pow(20, float64(class)) }))
	add(family.Gamma{}, nil, 1, 2, func(class, _ int) float64 {
		return distuv.Gamma{Alpha: 4, Beta: math.Pow(8, float64(-class)), Src: rng}.Rand()
	})
	add(normal.Family{Covariance: normal.Diagonal}, nil, 1, 3, gap(bell))
	add(normal.Family{Covariance: normal.Spherical}, nil, 1, 3, bell)
	// Five rows a class hardly tell a covariance: near one another, they have several readings.
	add(normal.Family{}, nil, 1, 2, bell)
	list[len(list)-1].overlaps = true
	distant := func(class, _ int) float64 { return 8*float64(class) + rng.NormFloat64() }
	known := prior.NormalInverseWishart{Mean: []float64{4, 4}, Kappa: 0.1, Nu: 6, Scale: []float64{5, 0, 0, 5}}
	add(normal.Family{}, known, 1, 2, distant)
	add(family.Product{family.Bernoulli{}, family.Poisson{}, family.Of{Family: normal.Family{}, Width: 2}}, family.Priors{"gaussian": known}, 1, 4, func(class, j int) float64 {
		return []func(int, int) float64{bit, count, distant, distant}[j](class, j)
	})
	return list
}

// statistics are those of rows with labels; one with a label below 0 is left out.
func (c *tiny) statistics(t require.TestingT, b *bayes, labels []int) *Statistics {
	rows := c.table.All()
	s := newStatistics(b.Plan, c.k)
	s.clear()
	s.Classes.Clear()
	require.NoError(t, s.Classes.Observe(rows, 0, rows.N))
	padded := family.Padded(rows.N)
	s.r = make([]float64, c.k*padded)
	w := make([]float64, rows.N)
	for i, k := range labels {
		if k >= 0 {
			s.r[k*padded+i], w[i] = 1, 1
		}
	}
	s.add(rows.N, w)
	return s
}

// labelled is ln p(X,Z).
func (c *tiny) labelled(t require.TestingT, b *bayes, labels []int) float64 {
	v, err := b.logEvidence(c.statistics(t, b, labels))
	require.NoError(t, err)
	return v
}

// exact is ln p(X) = ln Σ_Z p(X,Z), without row leave where that is not negative.
func (c *tiny) exact(t require.TestingT, b *bayes, leave int) float64 {
	n := c.table.Rows()
	terms := make([]float64, 1<<n)
	labels := make([]int, n)
	for z := range terms {
		for i := range labels {
			labels[i] = z >> i & 1
		}
		if leave >= 0 {
			labels[leave] = -1
		}
		terms[z] = c.labelled(t, b, labels)
	}
	v := floats.LogSumExp(terms)
	if leave >= 0 {
		v -= math.Ln2 // every other labelling has been met twice
	}
	return v
}

// bound is E_q[ln p(X,Z)] + H(q), with no approximation.
func (c *tiny) bound(t require.TestingT, b *bayes, r []float64) (sum float64) {
	n := c.table.Rows()
	labels := make([]int, n)
	for z := range 1 << n {
		logQ := 0.
		for i := range labels {
			labels[i] = z >> i & 1
			logQ += math.Log(r[2*i+labels[i]])
		}
		if q := math.Exp(logQ); q > 0 {
			sum += q * (c.labelled(t, b, labels) - logQ)
		}
	}
	return sum
}

func (c *tiny) bayes(t require.TestingT) *bayes {
	_, pl, err := family.Pool(context.Background(), c.table, c.model.Family)
	require.NoError(t, err)
	b, err := newBayes(pl, c.model.Prior, c.model.Weights)
	require.NoError(t, err)
	return b
}

// The estimate at a fitted q misses the exact sum over all labellings by about ln 2, as q has one of two labellings of the
// same sense, and by less than a nat; at the q of
// variational Bayes, whose own bound is lower, and of MAP it is a little worse.
func TestCollapsedEvidenceIsNearTheExactSum(t *testing.T) {
	for _, c := range tinyTables(t) {
		b := c.bayes(t)
		exact := c.exact(t, b, -1)
		o := framework.Options{K: c.k, Restarts: 5, FixedK: true, Method: framework.EM, Also: []framework.Criterion{framework.Collapsed, framework.ExactICL}}
		cvb, err := framework.Fit(context.Background(), CVB0{c.model}, c.table, o)
		require.NoError(t, err, c.name)
		require.Equal(t, framework.Converged, cvb.Status, c.name)
		vb, err := framework.Fit(context.Background(), c.model, c.table, o)
		require.NoError(t, err, c.name)
		t.Logf("%-40s ln p(X) %9.4f; less it: CVB0 %7.4f, at VB's q %7.4f, its ELBO %7.4f, exact ICL %7.4f", c.name, exact, cvb.Value-exact, vb.Scores[1].Value-exact, vb.Value-exact, cvb.Scores[2].Value-exact)
		within, order := 1., 0.6
		if c.overlaps {
			within, order = 3, 1
		}
		require.InDelta(t, exact, cvb.Value, within, c.name)
		require.InDelta(t, exact, vb.Scores[1].Value, within+0.25, c.name)
		require.Less(t, cvb.Scores[2].Value, exact, c.name)
		r, err := CVB0{c.model}.Responsibilities(c.table.All(), cvb.Parameters, nil)
		require.NoError(t, err)
		bound := c.bound(t, b, r)
		t.Logf("%40s of which the second order misses E_q[ln p(X,Z)] + H(q) by %7.4f, and q the sum by %7.4f", "", cvb.Value-bound, bound-exact)
		require.LessOrEqual(t, bound, exact, c.name)
		require.InDelta(t, bound, cvb.Value, order, "%s: the second order", c.name)
		require.InDelta(t, cvb.Trace[len(cvb.Trace)-1], cvb.Value, 1e-6, "%s: the final passes against the last iteration", c.name)

		weights := c.model.Weights
		mode := MAP{Model: Model{Family: c.model.Family}, Prior: c.model.Prior, Weights: prior.Dirichlet{Alpha: max(1, weights.Alpha)}}
		if fit, err := framework.Fit(context.Background(), mode, c.table, o); err == nil && weights.Alpha >= 1 {
			require.InDelta(t, exact, fit.Scores[1].Value, within+1, "%s: at the q of MAP", c.name)
		}
	}
}

// The sum over labellings is that of package evidence, which knows nothing of this one.
func TestExactSumIsThatOfPackageEvidence(t *testing.T) {
	for _, c := range tinyTables(t) {
		levels, beta := 0, 1.
		switch f := c.model.Family.(type) {
		case family.Bernoulli:
			levels = 2
			if c.model.Prior != nil {
				beta = 0.5
			}
		case family.Categorical:
			levels = f.Levels
		}
		rows := c.table.All()
		if levels == 0 || slices.ContainsFunc(rows.X, math.IsNaN) {
			continue
		}
		m := evidence.Mixture{K: c.k, Levels: slices.Repeat([]int{levels}, rows.D), Alpha: c.model.Weights.Alpha, Beta: beta}
		codes := make([]int, len(rows.X))
		for i, v := range rows.X {
			codes[i] = int(v)
		}
		want, err := m.LogEvidence(context.Background(), codes, nil)
		require.NoError(t, err)
		require.InDelta(t, want, c.exact(t, c.bayes(t), -1), 1e-9, c.name)
	}
}

// integral is the logarithm of ∫ exp f(u) du by the trapezoidal rule, exact to rounding for smooth f that falls off.
func integral(from, to float64, f func(u float64) float64) float64 {
	const n = 4000
	list := make([]float64, n+1)
	step := (to - from) / n
	for i := range list {
		list[i] = f(from + float64(i)*step)
	}
	return floats.LogSumExp(list) + math.Log(step)
}

// Exact ICL is ln p(X,Ẑ) as integrals over β and every ξ by quadrature, likelihood and prior written out here.
func TestExactICLIsAnIntegralOverParameters(t *testing.T) {
	x := []float64{0, 1, 3, 2, 9, 7, 12, 8, 1}
	labels := []int{0, 0, 0, 0, 1, 1, 1, 1, 0}
	lnBeta := func(a, b float64) float64 {
		v, _ := math.Lgamma(a)
		w, _ := math.Lgamma(b)
		s, _ := math.Lgamma(a + b)
		return v + w - s
	}
	const a = 1.5
	weights := integral(-40, 40, func(u float64) float64 { // β = 1/(1+e^−u), its Jacobian β(1−β)
		p, q := -math.Log1p(math.Exp(-u)), -math.Log1p(math.Exp(u))
		return (5+a)*p + (4+a)*q - lnBeta(a, a)
	})
	lnFactorial := func(v float64) float64 { w, _ := math.Lgamma(v + 1); return w }
	cases := []struct {
		family family.Family
		prior  prior.Prior
		of     func(v float64) float64 // what makes a value of the family
		class  func(x []float64) float64
	}{
		{family.Bernoulli{}, prior.Beta{A: 0.5, B: 2}, func(v float64) float64 { return math.Mod(v, 2) }, func(x []float64) float64 {
			return integral(-80, 80, func(u float64) float64 {
				p, q := -math.Log1p(math.Exp(-u)), -math.Log1p(math.Exp(u))
				ones, n := floats.Sum(x), float64(len(x))
				return (0.5+ones)*p + (2+n-ones)*q - lnBeta(0.5, 2)
			})
		}},
		{family.Poisson{}, prior.Gamma{Shape: 2, Rate: 0.5}, func(v float64) float64 { return v }, func(x []float64) float64 {
			return integral(-30, 8, func(u float64) float64 {
				rate, sum := math.Exp(u), 2*math.Log(0.5)-lnFactorial(1)+2*u-0.5*math.Exp(u)
				for _, v := range x {
					sum += v*u - rate - lnFactorial(v)
				}
				return sum
			})
		}},
		{family.Exponential{}, prior.Gamma{Shape: 2, Rate: 0.5}, func(v float64) float64 { return v + 0.1 }, func(x []float64) float64 {
			return integral(-30, 8, func(u float64) float64 {
				return 2*math.Log(0.5) - lnFactorial(1) + 2*u - 0.5*math.Exp(u) + float64(len(x))*u - math.Exp(u)*floats.Sum(x)
			})
		}},
		{normal.Family{Covariance: normal.Diagonal}, prior.NormalInverseGamma{Mean: 1, Kappa: 0.5, Shape: 2, Rate: 3}, func(v float64) float64 { return v }, func(x []float64) float64 {
			return integral(-8, 12, func(u float64) float64 { // u = ln σ², and the mean in standard deviations
				v, scale := math.Exp(u), math.Exp(u/2)
				front := 2*math.Log(3) - lnFactorial(1) - 2*u - 3/v
				const steps = 400
				list := make([]float64, steps+1)
				for i := range list {
					mean := 5 + scale*12*(float64(i)/steps*2-1)
					sum := math.Log(0.5/(2*math.Pi*v))/2 - 0.5*(mean-1)*(mean-1)/(2*v)
					for _, y := range x {
						sum -= (math.Log(2*math.Pi*v) + (y-mean)*(y-mean)/v) / 2
					}
					list[i] = sum
				}
				return front + floats.LogSumExp(list) + math.Log(scale*24/steps)
			})
		}},
	}
	for _, c := range cases {
		values, classes := make([]float64, len(x)), make([][]float64, 2)
		for i, v := range x {
			values[i] = c.of(v)
			classes[labels[i]] = append(classes[labels[i]], values[i])
		}
		table, err := blocks.FromSlice(values, len(values), 1)
		require.NoError(t, err)
		one := tiny{c.family.Name(), Variational{Family: c.family, Prior: c.prior, Weights: prior.Dirichlet{Alpha: a}}, table, 2, false}
		got := one.labelled(t, one.bayes(t), labels)
		require.InDelta(t, weights+c.class(classes[0])+c.class(classes[1]), got, 1e-6, one.name)
	}
}

// The first order of the evidence at q is the bound of variational Bayes at the best q(Π) for that q (Jensen's inequality).
func TestFirstOrderIsTheVariationalBound(t *testing.T) {
	for _, c := range tinyTables(t) {
		res, err := framework.Fit(context.Background(), c.model, c.table, framework.Options{K: 2, Method: framework.EM, MaxIterations: 7})
		require.NoError(t, err)
		first, err := c.model.LogEvidence(res.Statistics, res.Parameters)
		require.NoError(t, err)
		require.InDelta(t, res.Value, first+res.Evaluation.Entropy, 1e-9*math.Abs(res.Value), c.name)
	}
}

// Rows of a tiny table, left out of an exact sum.
func TestLeaveOneOutIsNearTheExactOne(t *testing.T) {
	for _, c := range tinyTables(t) {
		b := c.bayes(t)
		m := CVB0{c.model}
		fit, err := framework.Fit(context.Background(), m, c.table, framework.Options{K: 2, Restarts: 5, FixedK: true, Method: framework.EM})
		require.NoError(t, err)
		got, err := m.LeaveOneOut(c.table.All(), fit.Parameters, nil)
		require.NoError(t, err)
		all, sum, worst := c.exact(t, b, -1), 0., 0.
		for i := 0; i < len(got); i += 3 {
			gap := got[i] - (all - c.exact(t, b, i))
			sum += gap
			worst = max(worst, math.Abs(gap))
		}
		t.Logf("%-40s Σ_n ln p(x_n|X_−n) %8.3f, every third %6.3f above the exact one, the worst row %.3f", c.name, floats.Sum(got), sum, worst)
		assert.Less(t, worst, 1., c.name)
	}
}

// The predictive distribution is one: it sums to 1.
func TestPredictiveDistributionsSumToOne(t *testing.T) {
	x := []float64{0, 1, 3, 2, 9, 7, 12, 8, 1, 10, 2}
	table, err := blocks.FromSlice(x, len(x), 1)
	require.NoError(t, err)
	for _, c := range []struct {
		family         family.Family
		from, to, step float64
	}{
		{family.Poisson{}, 0, 3000, 1},
		{normal.Family{Covariance: normal.Diagonal}, -4000, 4000, 0.05},
		{normal.Family{}, -4000, 4000, 0.05},
		{family.Exponential{}, 0.005, 4000, 0.01},
	} {
		m := Variational{Family: c.family, Weights: prior.Dirichlet{Alpha: 0.1}}
		fit, err := framework.Fit(context.Background(), m, table, framework.Options{K: 2, Method: framework.EM})
		require.NoError(t, err)
		var grid []float64
		for v := c.from; v <= c.to; v += c.step {
			grid = append(grid, v)
		}
		points, err := blocks.FromSlice(grid, len(grid), 1)
		require.NoError(t, err)
		logs, r, err := m.Predictive(points.All(), fit.Parameters, nil, nil)
		require.NoError(t, err)
		require.InDelta(t, 0, floats.LogSumExp(logs)+math.Log(c.step), 1e-3, c.family.Name())
		require.InDelta(t, 1, r[0]+r[1], 1e-12)
		p := *fit.Parameters
		p.bayes = nil // as it comes from a file
		other := Variational{Family: c.family}
		require.NoError(t, other.Check(&p))
		again, _, err := other.Predictive(points.All(), &p, nil, nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, logs, again, 1e-12, "the prior has a part in the predictive distribution")
	}
}

// TestPredictiveDistributionsOfRowsWithGaps: a row has the integral of the density over what it misses, and none without
// any value, in a block of rows of all patterns.
func TestPredictiveDistributionsOfRowsWithGaps(t *testing.T) {
	nan := math.NaN()
	x := []float64{0, 1, 3, 2, nan, 7, nan, 8, 1, 10, 2, 4, 9, nan, nan, 8, 7, nan, 1, 0, 2, nan, nan, nan}
	table, err := blocks.FromIncomplete(x, len(x)/3, 3)
	require.NoError(t, err)
	for _, m := range []interface {
		framework.Model[blocks.Rows, *Posterior, *Statistics]
		Predictive(b blocks.Rows, p *Posterior, logProb, r []float64) ([]float64, []float64, error)
	}{Variational{Family: normal.Family{}}, CVB0{Variational{Family: normal.Family{}}}} {
		fit, err := framework.Fit(t.Context(), m, table, framework.Options{K: 2, FixedK: true, Method: framework.EM})
		require.NoError(t, err)
		rows := []float64{1, nan, 3, 1, nan, nan, nan, nan, nan}
		const step, half = 0.001, 8000 // of asinh of what is integrated over
		var weights []float64
		for i := -half; i <= half; i++ {
			at := step * float64(i)
			weights = append(weights, math.Log(step*math.Cosh(at)))
			rows = append(rows, 1, math.Sinh(at), 3, 1, nan, math.Sinh(at))
		}
		points, err := blocks.FromIncomplete(rows, len(rows)/3, 3)
		require.NoError(t, err)
		logs, _, err := m.Predictive(points.All(), fit.Parameters, nil, nil)
		require.NoError(t, err)
		require.InDelta(t, 0, logs[2], 1e-12)
		for place := range 2 {
			var whole []float64
			for i, w := range weights {
				whole = append(whole, w+logs[3+2*i+place])
			}
			require.InDelta(t, logs[place], floats.LogSumExp(whole), 1e-3)
		}
	}
}

func houseVotes(t *testing.T) *blocks.Table {
	votes, err := data.Load("housevotes84")
	require.NoError(t, err)
	votes, err = votes.Drop("Class")
	require.NoError(t, err)
	x, n, d, err := votes.Values()
	require.NoError(t, err)
	table, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	return table
}

// House Votes: one K and one value from every start, and none of them at an end of its steps.
func TestHouseVotesHaveOneAnswer(t *testing.T) {
	table := houseVotes(t)
	m := CVB0{Variational{Family: family.Bernoulli{}, Prior: prior.Jeffreys{}, Weights: prior.Dirichlet{Alpha: 0.5}}}
	starts, from := tier.Of(1, 2, 5), tier.Of(8, 8, 12)
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: from, Method: framework.PrunedEM, Restarts: starts, Tolerance: 1e-7, NoMoves: true})
	require.NoError(t, err)
	require.Equal(t, "Collapsed", res.Criterion)
	for _, r := range res.Restarts {
		t.Logf("K = %d, %.5f", r.K, r.Value)
		require.Equal(t, 6, r.K)
		require.Equal(t, framework.Converged, r.Status)
		require.InDelta(t, -3023.115, r.Value, 2e-3)
	}
}

// TestThinnedStartsEndWhereOthersDo, from fewer components and in fewer passes, and take what gFAB cannot fit.
func TestThinnedStartsEndWhereOthersDo(t *testing.T) {
	votes, ctx := houseVotes(t), context.Background()
	m := CVB0{Variational{Family: family.Bernoulli{}}}
	own, err := m.Init(ctx, votes, 10, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	small, err := m.Thinned(ctx, votes, 10, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	assert.Equal(t, own.Components, small.Components, "tables of few cells")
	rng, x := rand.New(rand.NewPCG(3, 3)), []float64(nil)
	for i := range 1000 { // of four classes, which show their own 12 bits with probability 0.85
		for j := range 12 {
			bit := float64(i % 4 * (j + 1) / 3 % 2)
			if rng.Float64() > 0.85 {
				bit = 1 - bit
			}
			x = append(x, bit)
		}
	}
	table, err := blocks.FromSlice(x, 1000, 12)
	require.NoError(t, err)
	o := framework.Options{K: 10, Method: framework.PrunedEM, Tolerance: 1e-7, NoMoves: true}
	whole, err := framework.Fit(ctx, m, table, o)
	require.NoError(t, err)
	thinned, err := framework.FitFrom(ctx, m, table, m.Thinned, o)
	require.NoError(t, err)
	assert.Equal(t, whole.Shape.K, thinned.Shape.K)
	assert.InDelta(t, whole.Value, thinned.Value, 0.01)
	t.Logf("K = %d: %d passes from %v, %d from %v components", whole.Shape.K, whole.Passes, whole.KTrace[0], thinned.Passes, thinned.KTrace[0])
	assert.Less(t, thinned.Passes, whole.Passes)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = m.Thinned(cancelled, table, 10, rand.New(rand.NewPCG(1, 1)))
	require.ErrorIs(t, err, context.Canceled)
	tied := CVB0{Variational{Family: normal.Family{Covariance: normal.Tied}}}
	complete, err := blocks.FromSlice([]float64{1, 2, 4, 7, 11, 16}, 6, 1)
	require.NoError(t, err)
	_, err = tied.Thinned(ctx, complete, 2, rand.New(rand.NewPCG(1, 1)))
	require.ErrorContains(t, err, "parameters that the classes share")
}

// Rows that repeat are counted once, and nothing else changes.
func TestRepeatedRowsAreCountedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	x := make([]float64, 400*4)
	for i := range x {
		if rng.Float64() < 0.2+0.6*float64(i/4%2) {
			x[i] = 1
		}
	}
	table, err := blocks.FromSlice(x, 400, 4)
	require.NoError(t, err)
	m := CVB0{Variational{Family: family.Bernoulli{}}}
	o := framework.Options{K: 3, Method: framework.EM, MaxIterations: 30}
	condensed, err := framework.Fit(context.Background(), m, table, o)
	require.NoError(t, err)
	plain, err := framework.Fit(context.Background(), uncondensed{m}, table, o)
	require.NoError(t, err)
	require.InDelta(t, plain.Value, condensed.Value, 1e-8)
}

// uncondensed reads every row.
type uncondensed struct{ CVB0 }

func (uncondensed) Condense(_ context.Context, src framework.Source[blocks.Rows]) framework.Source[blocks.Rows] {
	return src
}

func TestWhatCollapsingRefuses(t *testing.T) {
	x := make([]float64, 60)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	table, err := blocks.FromSlice(x, 30, 2)
	require.NoError(t, err)
	fit := func(m framework.Model[blocks.Rows, *Posterior, *Statistics], o framework.Options) error {
		o.K = 2
		_, err := framework.Fit(context.Background(), m, table, o)
		return err
	}
	tied := Variational{Family: normal.Family{Covariance: normal.Tied}}
	require.ErrorContains(t, fit(CVB0{tied}, framework.Options{Method: framework.PrunedEM}), "parameters that the classes share")
	require.ErrorContains(t, fit(tied, framework.Options{Method: framework.EM, Criterion: framework.Collapsed}), "parameters that the classes share")
	full := Variational{Family: normal.Family{}}
	require.ErrorContains(t, fit(CVB0{full}, framework.Options{Method: framework.PrunedEM, Temper: 0.5}), "Temper")
	require.ErrorContains(t, fit(full, framework.Options{Method: framework.EM, Temper: 0.5, Also: []framework.Criterion{framework.Collapsed}}), "tempered")
	require.ErrorContains(t, fit(CVB0{full}, framework.Options{Method: framework.PrunedEM, Accelerate: true}), "Accelerate")
	require.ErrorContains(t, fit(CVB0{full}, framework.Options{Method: framework.PrunedEM, Criterion: framework.BIC}), "integrates them out")
	require.ErrorContains(t, fit(CVB0{full}, framework.Options{}), "Curved")
}

// The code of a labelling is the best likelihood of labels and rows, each divided by what it sums to over all of the same
// size: by enumeration of two bits in four rows.
func TestCodeLengthIsTheNormalisedMaximumLikelihood(t *testing.T) {
	x := []float64{1, 0, 1, 1, 0, 0, 0, 1}
	labels := []int{0, 0, 0, 1}
	table, err := blocks.FromSlice(x, 4, 2)
	require.NoError(t, err)
	c := tiny{"bernoulli", Variational{Family: family.Bernoulli{}}, table, 2, false}
	s := c.statistics(t, c.bayes(t), labels)
	got, err := s.codeLength()
	require.NoError(t, err)

	best := func(ones, n int) float64 { // the greatest likelihood of so many ones in a sequence
		p := float64(ones) / float64(n)
		return math.Pow(p, float64(ones)) * math.Pow(1-p, float64(n-ones))
	}
	normalised := func(ones, n int) float64 {
		total := 0.
		for z := range 1 << n {
			total += best(bits.OnesCount(uint(z)), n)
		}
		return math.Log(best(ones, n) / total)
	}
	want := normalised(1, 4) + normalised(2, 3) + normalised(1, 3) + normalised(0, 1) + normalised(1, 1)
	require.InDelta(t, want, got, 1e-12)

	c = tiny{"gaussian", Variational{Family: normal.Family{Covariance: normal.Diagonal}}, table, 2, false}
	_, err = c.statistics(t, c.bayes(t), labels).codeLength()
	require.ErrorContains(t, err, "gaussian-diagonal has infinitely many values, and so no normalised maximum likelihood")
}

// Code lengths of columns with different numbers of levels add up: none is taken for that of another column with as many rows.
func TestCodeLengthsOfColumnsAddUp(t *testing.T) {
	x := []float64{0, 0, 1, 2, 1, 1, 0, 2, 1, 0, 0, 1}
	length := func(f family.Family, first, width int) float64 {
		var columns []float64
		for i := 0; i < len(x); i += 2 {
			columns = append(columns, x[i+first:i+first+width]...)
		}
		table, err := blocks.FromSlice(columns, len(x)/2, width)
		require.NoError(t, err)
		o := framework.Options{K: 1, Method: framework.EM, Criterion: framework.ELBO, Also: []framework.Criterion{framework.DNML}}
		res, err := framework.Fit(context.Background(), Model{Family: f}, table, o)
		require.NoError(t, err)
		return res.Scores[1].Value
	}
	two, three := family.Categorical{Levels: 2}, family.Categorical{Levels: 3}
	require.InDelta(t, length(two, 0, 1)+length(three, 1, 1), length(family.Product{two, three}, 0, 2), 1e-12)
}
