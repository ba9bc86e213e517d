package reproduce

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/reproduce/ppca"
)

// The setting of both experiments: posterior and divergence of order ½.
const (
	elboD     = 10
	elboAlpha = 0.5
)

// A rankTruth is P⁰: rows W₀z + e with z standard normal and e of variance 1, normal or
// Student's t₃/√3.
type rankTruth struct {
	w0    *mat.Dense // D×K₀
	heavy bool
}

func newRankTruth(k0 int, heavy bool) rankTruth {
	rng := rand.New(rand.NewPCG(5, 0))
	w0 := mat.NewDense(elboD, k0, nil)
	w0.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, w0)
	return rankTruth{w0, heavy}
}

// sample draws n rows, n×D.
func (p0 rankTruth) sample(n int, rng *rand.Rand) []float64 {
	d, k0 := p0.w0.Dims()
	x, z := make([]float64, n*d), make([]float64, k0)
	for i := range n {
		for j := range z {
			z[j] = rng.NormFloat64()
		}
		for l := range d {
			e := rng.NormFloat64()
			if p0.heavy {
				a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
				e /= math.Sqrt(a*a + b*b + c*c)
			}
			x[i*d+l] = e + floats.Dot(p0.w0.RawRowView(l), z)
		}
	}
	return x
}

// logProb is ln p⁰(x) of heavy tails and K₀ = 2, by the trapezoidal rule over z, which converges
// exponentially.
func (p0 rankTruth) logProb(x []float64) float64 {
	const step, end = 0.15, 6
	sum := 0.0
	for z1 := -float64(end); z1 <= end; z1 += step {
		for z2 := -float64(end); z2 <= end; z2 += step {
			product := 1.0
			for l, v := range x {
				w := p0.w0.RawRowView(l)
				e := v - w[0]*z1 - w[1]*z2
				product *= 1 + e*e // t₃/√3 has the density 2/(π(1 + e²)²)
			}
			sum += math.Exp(-(z1*z1+z2*z2)/2) / (product * product)
		}
	}
	return math.Log(sum*step*step/(2*math.Pi)) + float64(len(x))*math.Log(2/math.Pi)
}

// choose fits the ranks to n rows of P⁰.
func (p0 rankTruth) choose(
	ctx context.Context, n int, ranks []int, rng *rand.Rand,
) (*framework.Selection[*ppca.Posterior, *ppca.Statistics], error) {
	t, err := blocks.FromSlice(p0.sample(n, rng), n, elboD)
	if err != nil {
		return nil, err
	}
	moments, err := lineargaussian.Summarize(ctx, t, 1)
	if err != nil {
		return nil, err
	}
	m := ppca.Compressed{Model: ppca.Model{Noise: 1, PriorVariance: 1, Pairs: 64}}
	return framework.Select(ctx, m, moments.Source(), ranks,
		framework.Options{Method: framework.EM, Temper: elboAlpha, Tolerance: 1e-5, Workers: 1})
}

// A rateRun is one data set: the rank chosen with equal weights and with 2^−K, and
// ∫ D_½(P_W, P⁰) ρ(dW) of the chosen rank and of the true one.
type rateRun struct {
	Rank, Weighted int
	Chosen, True   float64
}

const rateRank = 3

var rateRanks = []int{1, 2, 3, 4, 5, 6}

func elboRate() *Experiment {
	return Define(Info{
		Name:   "elbo-rate",
		Title:  "The rate at which probabilistic PCA with a rank chosen by the ELBO converges",
		Source: "Chérif-Abdellatif 2018, theorem 1 and section 4",
		About: `Rows x = W₀z + e in D = 10 columns with K₀ = 3, W₀ standard normal, noise of variance 1; prior variance 1; α = ½ for the tempered posterior and for the Rényi divergence. Ranks from 1 to 6 are fitted, and
the rank with the largest bound is taken. What theorem 1 bounds is the expectation, over data sets, of ∫ D_½(P_W, P⁰) ρ(dW); here it is an average over data sets, the integral from 300 draws.
docs/theory/elbo-ppca.md has the model, and section 5 what the constant should be.`,
		Revision: 1,
	}, func(s *Settings) ([]Job[rateRun], error) {
		p0 := newRankTruth(rateRank, false)
		var jobs []Job[rateRun]
		for _, n := range rateSizes() {
			for set := range s.seeds(20, 3) {
				jobs = append(jobs, Job[rateRun]{
					Key: fmt.Sprintf("n-%d-set-%d", n, set),
					Run: func(ctx context.Context) (rateRun, error) {
						return p0.rate(ctx, n, rand.New(rand.NewPCG(uint64(n), uint64(set))))
					},
				})
			}
		}
		return jobs, nil
	}, rateConclude)
}

func rateSizes() []int { return []int{100, 316, 1000, 3162, 10000} }

func (p0 rankTruth) rate(ctx context.Context, n int, rng *rand.Rand) (run rateRun, err error) {
	law, err := ppca.Law(p0.w0, 1)
	if err != nil {
		return run, err
	}
	sel, err := p0.choose(ctx, n, rateRanks, rng)
	if err != nil {
		return run, err
	}
	best := sel.Best(0)
	run.Rank, run.Weighted = sel.K[best], sel.K[sel.BestUnder(0, sizes.Geometric)]
	if run.Chosen, _, err = sel.Fits[best].Parameters.ExpectedRenyi(elboAlpha, law, 300,
		rng); err != nil || run.Rank == rateRank {
		run.True = run.Chosen
		return run, err
	}
	run.True, _, err = sel.Fits[slices.Index(rateRanks, rateRank)].Parameters.ExpectedRenyi(elboAlpha, law, 300, rng)
	return run, err
}

func rateConclude(s *Settings, runs []rateRun) (*Outcome, error) {
	sizes, sets := rateSizes(), s.seeds(20, 3)
	out := &Outcome{}
	table := Table{
		Name:  "divergences",
		Shown: true,
		About: "mean over data sets of ∫ D_½(P_W, P⁰) ρ(dW), its standard deviation, the mean times n, the bound's " +
			"dK₀ ln(dn)/n, and in how many data sets K₀ = 3 is chosen with equal weights and with weights 2^−K",
		Header: []string{"n", "divergence", "sd", "times_n", "bound_order", "rank_3", "rank_3_weighted"},
	}
	var xs, means, spread, order, logN, logD []float64
	hits, chosen, known := 0, 0.0, 0.0
	for i, n := range sizes {
		var d []float64
		equal, weighted := 0, 0
		for _, r := range runs[i*sets : (i+1)*sets] {
			d, logN, logD = append(d, r.Chosen), append(logN, math.Log(float64(n))), append(logD, math.Log(r.Chosen))
			chosen, known = chosen+r.Chosen*float64(n), known+r.True*float64(n)
			if r.Rank == rateRank {
				equal++
			}
			if r.Weighted == rateRank {
				weighted++
			}
		}
		hits += equal
		mean, sd := stat.MeanStdDev(d, nil)
		bound := elboD * rateRank * math.Log(elboD*float64(n)) / float64(n)
		table.Add(n, mean, sd, mean*float64(n), bound, equal, weighted)
		xs, means, spread, order = append(xs, float64(n)), append(means, mean), append(spread, sd), append(order, bound)
	}
	intercept, slope := stat.LinearRegression(logN, logD, nil, false)
	stdErr := slopeError(logN, logD, intercept, slope)
	_, boundSlope := stat.LinearRegression(applied(math.Log, xs), applied(math.Log, order), nil, false)
	limit := (elboAlpha*(elboD*rateRank-rateRank*(rateRank-1)/2) + elboD*rateRank) / 2
	last := means[len(means)-1] * xs[len(xs)-1]

	below := true
	for i := range means {
		below = below && means[i] <= order[i]
	}
	out.Statements = []Statement{
		{
			Central: true,
			Paper:   "Section 4: E ∫ D_α(P_W, P⁰) dρ = O(dK₀ ln(dn)/n).",
			Agrees:  below && slope <= boundSlope+2*stdErr && math.Abs(slope+1) < 0.15,
			Measured: fmt.Sprintf("ln D falls with ln n at %.3f ± %.3f, that bound at %.3f; D is at most %.2f of dK₀ ln(dn)/n",
				slope, stdErr, boundSlope, largestRatio(means, order)),
		},
		{Paper: "Section 3: the selected posterior converges as fast as if the true model were known, even where K̂ " +
			"is another.", Agrees: chosen <= 1.05*known,
			Measured: fmt.Sprintf("divergence %.3f times that of the true rank, on average; K̂ = 3 in %d of %d data sets",
				chosen/known, hits, len(runs))},
	}
	out.Remarks = fmt.Sprintf(
		"The logarithm is the price of the bound: n times the divergence settles. To second order it tends to (αq + "+
			"dK₀)/2 = %.2f with q = dK₀ − K₀(K₀ − 1)/2 (docs/theory/elbo-ppca.md, section 5); measured at n = %.0f: %.2f.",
		limit, xs[len(xs)-1], last,
	)

	p := chart("Divergence of the chosen rank", "n", "E ∫ D½ dρ (nats)")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, sizeTicks(sizes)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	fitted := make([]float64, len(xs))
	for i, x := range xs {
		fitted[i] = math.Exp(intercept) * math.Pow(x, slope)
	}
	series{Name: "measured", X: xs, Y: means, Spread: spread, Points: true}.draw(p, 0)
	series{Name: fmt.Sprintf("slope %.3f", slope), X: xs, Y: fitted, Dashed: true}.draw(p, 6)
	series{Name: "dK₀ ln(dn)/n", X: xs, Y: order}.draw(p, 1)
	wholeDecades(p)
	q := chart("times n", "n", "n E ∫ D½ dρ")
	q.X.Scale, q.X.Tick.Marker = plot.LogScale{}, sizeTicks(sizes)
	scaled, scaledSpread := make([]float64, len(xs)), make([]float64, len(xs))
	for i, x := range xs {
		scaled[i], scaledSpread[i] = means[i]*x, spread[i]*x
	}
	series{Name: "measured", X: xs, Y: scaled, Spread: scaledSpread, Points: true}.draw(q, 0)
	series{Name: "(αq + dK₀)/2", X: []float64{xs[0], xs[len(xs)-1]}, Y: []float64{limit, limit}, Dashed: true}.draw(q, 6)
	q.Y.Max++
	out.Tables = []Table{table}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  24 * vg.Centimeter,
		Height: 10 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{p, q}},
		Caption: fmt.Sprintf(
			"Expected Rényi divergence of the chosen rank's posterior from the truth against n: means and standard "+
				"deviations over %d data sets, the fitted power of n (dashed), the order of the paper's bound; and "+
				"the same times n, with its limit (dashed).", sets,
		),
	}}
	return out, nil
}

// ratioOfMeans is the ratio of two means over the same data sets, with its standard error to first order.
func ratioOfMeans(a, b []float64) (ratio, stdErr float64) {
	ratio = stat.Mean(a, nil) / stat.Mean(b, nil)
	residual := make([]float64, len(a))
	for i := range a {
		residual[i] = a[i] - ratio*b[i]
	}
	return ratio, stat.StdDev(residual, nil) / math.Sqrt(float64(len(a))) / stat.Mean(b, nil)
}

// wholeDecades widens a logarithmic Y axis to powers of ten, where its ticks end.
func wholeDecades(p *plot.Plot) {
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))
}

// slopeError is the standard error of the slope of a linear regression.
func slopeError(x, y []float64, intercept, slope float64) float64 {
	residual := 0.0
	for i := range x {
		e := y[i] - intercept - slope*x[i]
		residual += e * e
	}
	n := float64(len(x))
	return math.Sqrt(residual / (n - 2) / ((n - 1) * stat.Variance(x, nil)))
}

func largestRatio(a, b []float64) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, a[i]/b[i])
	}
	return largest
}

// A tailsRun is one data set: the rank chosen, and for each rank ∫ D_½(P_W, P⁰) ρ(dW),
// ∫ KL(G, P_W) ρ(dW) and KL(ρ ‖ prior). Floor is KL(P⁰, G).
type tailsRun struct {
	Chosen            int // index of the rank
	Half, ToG, Priors []float64
	Floor             float64
}

const (
	tailsRank = 2
	tailsRows = 1000 // of P⁰, for Monte Carlo
)

var tailsRanks = []int{1, 2, 3, 4, 5}

func elboMisspecified() *Experiment {
	return Define(Info{
		Name:   "elbo-misspecified",
		Title:  "The rank chosen by the ELBO under noise with heavy tails",
		Source: "Chérif-Abdellatif 2018, theorem 1",
		About: `As elbo-rate, with K₀ = 2 and noise of Student's t₃, scaled to variance 1: P⁰ is in none of the models, which have normal noise. Ranks from 1 to 5. Its density is a double integral, so that D_½(P_W, P⁰) can be
had by Monte Carlo over 1000 rows of P⁰, the same for all ranks, and KL(P⁰, P_W) = KL(P⁰, G) + KL(G, P_W) with G normal with the covariance of P⁰. "Best" is the rank that is best for each data set, known only to those who know P⁰.`,
		Revision: 1,
	}, func(s *Settings) ([]Job[tailsRun], error) {
		p0 := newRankTruth(tailsRank, true)
		rows := sync.OnceValue(func() *tailsSample { return p0.tails() })
		var jobs []Job[tailsRun]
		for _, n := range tailsSizes {
			for set := range s.seeds(20, 8) {
				jobs = append(jobs, Job[tailsRun]{
					Key: fmt.Sprintf("n-%d-set-%d", n, set),
					Run: func(ctx context.Context) (tailsRun, error) {
						return p0.misspecified(ctx, rows(), n, rand.New(rand.NewPCG(uint64(n), uint64(set))))
					},
				})
			}
		}
		return jobs, nil
	}, tailsConclude)
}

var tailsSizes = []int{100, 1000, 10000}

// A tailsSample is rows of P⁰ and ln p⁰ of each.
type tailsSample struct {
	x, logP []float64
}

func (p0 rankTruth) tails() *tailsSample {
	s := &tailsSample{x: p0.sample(tailsRows, rand.New(rand.NewPCG(8, 8)))}
	for i := range tailsRows {
		s.logP = append(s.logP, p0.logProb(s.x[i*elboD:(i+1)*elboD]))
	}
	return s
}

func (p0 rankTruth) misspecified(
	ctx context.Context, rows *tailsSample, n int, rng *rand.Rand,
) (run tailsRun, err error) {
	g, err := ppca.Law(p0.w0, 1)
	if err != nil {
		return run, err
	}
	for i, v := range rows.logP {
		run.Floor += (v - g.LogProb(rows.x[i*elboD:(i+1)*elboD])) / tailsRows
	}
	sel, err := p0.choose(ctx, n, tailsRanks, rng)
	if err != nil {
		return run, err
	}
	run.Chosen = sel.Best(0)
	for _, fit := range sel.Fits {
		half, _, err := fit.Parameters.Expect(func(law *distmv.Normal) float64 {
			sum := 0.0
			for i, v := range rows.logP {
				sum += math.Exp((law.LogProb(rows.x[i*elboD:(i+1)*elboD]) - v) / 2)
			}
			return -2 * math.Log(sum/tailsRows)
		}, 10, rng)
		if err != nil {
			return run, err
		}
		toG, _, err := fit.Parameters.Expect(func(law *distmv.Normal) float64 {
			return distmv.KullbackLeibler{}.DistNormal(g, law)
		}, 100, rng)
		if err != nil {
			return run, err
		}
		run.Half, run.ToG, run.Priors = append(run.Half, half), append(run.ToG, toG),
			append(run.Priors, fit.Parameters.Divergence())
	}
	return run, nil
}

func tailsConclude(s *Settings, runs []tailsRun) (*Outcome, error) {
	sets, out := s.seeds(20, 8), &Outcome{}
	table := Table{
		Name:  "divergences",
		Shown: true,
		About: "means over data sets: D_½(P_W, P⁰) of the chosen and of the best rank, their ratio and its standard " +
			"error, that of the worst data set; the ratio for KL(P⁰, P_W) and its standard error, and KL(G, P_W); " +
			"the right side of theorem 1 at the fitted posteriors; mean rank chosen",
		Header: []string{"n", "half_chosen", "half_best", "ratio", "ratio_se", "worst", "kl_ratio", "kl_ratio_se",
			"g_chosen", "g_best", "bound", "rank"},
	}
	ranks := Table{
		Name: "ranks", About: "in how many data sets each rank is chosen", Header: []string{"n", "rank", "sets"},
	}
	under := true
	var halves, kls, bounds, gs []string
	var xs, chosenMean, chosenSD, bestMean, bestSD, gChosen, gBest []float64
	for i, n := range tailsSizes {
		mine := runs[i*sets : (i+1)*sets]
		var chosen, best, toG, toGBest, rank, bound []float64
		worst := 0.0
		for _, r := range mine {
			chosen, best = append(chosen, r.Half[r.Chosen]), append(best, floats.Min(r.Half))
			toG, toGBest = append(toG, r.ToG[r.Chosen]), append(toGBest, floats.Min(r.ToG))
			rank = append(rank, float64(tailsRanks[r.Chosen]))
			worst = max(worst, r.Half[r.Chosen]/floats.Min(r.Half))
			least := math.Inf(1)
			for k := range tailsRanks {
				least = min(least,
					(elboAlpha*(r.Floor+r.ToG[k])+(r.Priors[k]+math.Log(float64(len(tailsRanks))))/float64(n))/(1-elboAlpha))
			}
			bound = append(bound, least)
		}
		floor := mine[0].Floor
		c, cs := stat.MeanStdDev(chosen, nil)
		b, bs := stat.MeanStdDev(best, nil)
		g, gb := stat.Mean(toG, nil), stat.Mean(toGBest, nil)
		floats.AddConst(floor, toG)
		floats.AddConst(floor, toGBest)
		ratio, ratioErr := ratioOfMeans(chosen, best)
		klRatio, klErr := ratioOfMeans(toG, toGBest)
		table.Add(n, c, b, ratio, ratioErr, worst, klRatio, klErr, g, gb, stat.Mean(bound, nil), stat.Mean(rank, nil))
		for _, k := range tailsRanks {
			count := 0
			for _, v := range rank {
				if int(v) == k {
					count++
				}
			}
			ranks.Add(n, k, count)
		}
		under = under && c <= stat.Mean(bound, nil)
		halves = append(halves, fmt.Sprintf("%.3f ± %.3f", ratio, ratioErr))
		kls = append(kls, fmt.Sprintf("%.3f ± %.3f", klRatio, klErr))
		bounds = append(bounds, fmt.Sprintf("%.3f ≤ %.3f", c, stat.Mean(bound, nil)))
		gs = append(gs, fmt.Sprintf("%.4f against %.4f at n = %d", g, gb, n))
		xs, chosenMean, chosenSD = append(xs, float64(n)), append(chosenMean, c), append(chosenSD, cs)
		bestMean, bestSD, gChosen, gBest = append(bestMean, b), append(bestSD, bs), append(gChosen, g), append(gBest, gb)
	}
	out.Statements = []Statement{
		{
			Central:  true,
			Paper:    "Theorem 1: the expected divergence is below the best model's bound, whatever P⁰ is.",
			Agrees:   under,
			Measured: "D_½ against the bound, at the best rank's fitted posterior: " + strings.Join(bounds, ", "),
		},
	}
	out.Remarks = fmt.Sprintf(`**The chosen rank against the best one.** The theorem compares with a bound, and no statement of the paper says how near the chosen rank comes to the best. Measured, as the ratio of the means over data sets with its standard
error: %s for D_½(P_W, P⁰) at n = 100, 1000, 10000, and %s for KL(P⁰, P_W), with which the right side of the theorem measures. The best rank of every data set is chosen by what is measured, so that no ratio can be below 1.

The part of the divergence that depends on the rank, KL(G, P_W), is further apart: %s. Single rows far out make a direction of their own, and a normal law with one more direction does fit such
rows better. What no normal law can remove, KL(P⁰, G) = %.2f, hides it in the sum. K̂ is the rank of the law that predicts, and no estimate of K₀, as the paper says after its theorem.`, strings.Join(halves, ", "), strings.Join(kls, ", "), strings.Join(gs, ", "), runs[0].Floor)

	p, q := chart("Divergence from the truth", "n", "∫ D½ dρ (nats)"),
		chart("Its part that depends on the rank", "n", "∫ KL(G, P_W) dρ (nats)")
	for _, c := range []*plot.Plot{p, q} {
		c.X.Scale, c.X.Tick.Marker = plot.LogScale{}, sizeTicks(tailsSizes)
	}
	q.Y.Scale, q.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	shifted := make([]float64, len(xs))
	for i, x := range xs {
		shifted[i] = 1.08 * x
	}
	series{Name: "chosen rank", X: xs, Y: chosenMean, Spread: chosenSD, Points: true}.draw(p, 1)
	series{Name: "best rank", X: shifted, Y: bestMean, Spread: bestSD, Points: true}.draw(p, 0)
	p.Y.Min = 0
	series{Name: "chosen rank", X: xs, Y: gChosen, Points: true}.draw(q, 1)
	series{Name: "best rank", X: xs, Y: gBest, Points: true}.draw(q, 0)
	wholeDecades(q)
	out.Tables = []Table{table, ranks}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  24 * vg.Centimeter,
		Height: 10 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{p, q}},
		Caption: fmt.Sprintf("Divergence of the chosen and of the best rank against n: D½ from the truth, means and "+
			"standard deviations over %d data sets, and the part of KL that depends on the rank.", sets),
	}}
	return out, nil
}
