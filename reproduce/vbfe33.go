package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

const (
	nonidentifiableN = 1000
	// nonidentifiableNear is how near to the largest objective, in nats, a start counts as having reached it.
	nonidentifiableNear = 1e-3
)

// The data of section 3.3: patterns and their shares of the rows.
var (
	twoPatterns   = bernoulliLaw{[]float64{0.5, 0.5}, []float64{1, 1, 0, 0, 1, 1}}
	threePatterns = bernoulliLaw{[]float64{0.4, 0.4, 0.2}, []float64{1, 1, 0, 0, 1, 1, 0, 1, 0}}
)

// nonidentifiableFits are the methods that are compared.
var nonidentifiableFits = []struct {
	name string
	fit  nonidentifiableFit
}{
	{"maximum likelihood, K = 2", likelihoodFit(2, twoPatterns)},
	{"maximum likelihood, K = 3", likelihoodFit(3, threePatterns)},
	{"MAP, a = 2, b = 1", mapFit(2, 1)},
	{"MAP, a = 1, b = 1.01", mapFit(1, 1.01)},
	{"VB, a = 0.01, b = 0.01", vbFit(0.01, 0.01)},
	{"VB, a = 0.01, b = 1", vbFit(0.01, 1)},
	{"VB, a = 5, b = 0.1", vbFit(5, 0.1)},
}

// A nonidentifiableFit gives the objective and the parameters from one start.
type nonidentifiableFit func(ctx context.Context, seed uint64) (float64, *mixture.Parameters, error)

func nonidentifiableOptions(k int, seed uint64) framework.Options {
	return framework.Options{
		K:             k,
		Method:        framework.EM,
		Criterion:     framework.ELBO,
		Seed:          seed,
		Tolerance:     1e-13,
		MaxIterations: 100000,
		Workers:       1,
	}
}

func likelihoodFit(k int, law bernoulliLaw) nonidentifiableFit {
	return func(ctx context.Context, seed uint64) (float64, *mixture.Parameters, error) {
		src, err := law.proportions(nonidentifiableN)
		if err != nil {
			return 0, nil, err
		}
		m := bernmix.EM()
		m.Start = family.RandomResponsibilities
		res, err := framework.Fit(ctx, m, src, nonidentifiableOptions(k, seed))
		if err != nil {
			return 0, nil, err
		}
		return res.Value, res.Parameters, nil
	}
}

func mapFit(a, b float64) nonidentifiableFit {
	return func(ctx context.Context, seed uint64) (float64, *mixture.Parameters, error) {
		src, err := threePatterns.proportions(nonidentifiableN)
		if err != nil {
			return 0, nil, err
		}
		m := bernmix.MAP(a, b)
		m.Start = family.RandomResponsibilities
		res, err := framework.Fit(ctx, m, src, nonidentifiableOptions(3, seed))
		if err != nil {
			return 0, nil, err
		}
		return res.Value, res.Parameters, nil
	}
}

func vbFit(a, b float64) nonidentifiableFit {
	return func(ctx context.Context, seed uint64) (float64, *mixture.Parameters, error) {
		src, err := threePatterns.proportions(nonidentifiableN)
		if err != nil {
			return 0, nil, err
		}
		m := bernmix.VB(a, b)
		m.Start = family.RandomResponsibilities
		res, err := framework.Fit(ctx, m, src, nonidentifiableOptions(3, seed))
		if err != nil {
			return 0, nil, err
		}
		p, err := m.Point(res.Parameters)
		return res.Value, p, err
	}
}

// nonidentifiableRun is where the starts of one method ended, components with the largest
// mixing ratio first.
type nonidentifiableRun struct {
	Objectives []float64
	Weights    [][]float64 // K
	Components [][]float64 // K×M
}

// vbfe33 shows that maximum likelihood does not decide what the clusters are.
func vbfe33() *Experiment {
	return Define(Info{
		Name:   "vbfe-3.3",
		Title:  "Maximum likelihood does not decide the clusters",
		Source: kaji + "section 3.3, figures 3.2 and 3.3",
		About: fmt.Sprintf(`Rows (1,1,0), (0,1,1) and (0,1,0) in shares of 0.4, 0.4 and 0.2, N = %d, three components; and rows (1,1,0) and (0,1,1) in equal shares with two. EM is run from 100 random starts, as are EM for the posterior mode (MAP) and variational Bayes (VB) under several priors; of VB the posterior means are shown.
A start counts as having reached the maximum of its objective within %g nats.`, nonidentifiableN, nonidentifiableNear),
		Revision: 1,
	}, func(s *Settings) ([]Job[nonidentifiableRun], error) {
		var jobs []Job[nonidentifiableRun]
		for i, c := range nonidentifiableFits {
			jobs = append(jobs, Job[nonidentifiableRun]{
				Key: fmt.Sprintf("fit-%d", i),
				Run: func(ctx context.Context) (run nonidentifiableRun, err error) {
					for seed := range s.seeds(100, 10) {
						value, p, err := c.fit(ctx, uint64(seed))
						if err != nil {
							return run, err
						}
						run.add(value, p)
					}
					return run, nil
				},
			})
		}
		return jobs, nil
	}, nonidentifiableConclude)
}

// add keeps a result with its components sorted.
func (r *nonidentifiableRun) add(value float64, p *mixture.Parameters) {
	order := make([]int, p.K)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Weights[j], p.Weights[i]) })
	var weights, components []float64
	for _, k := range order {
		weights = append(weights, p.Weights[k])
		components = append(components, p.Components[k*p.D:(k+1)*p.D]...)
	}
	r.Objectives, r.Weights, r.Components = append(r.Objectives, value), append(r.Weights, weights),
		append(r.Components, components)
}

// reached lists the starts at the maximum.
func (r *nonidentifiableRun) reached() (list []int) {
	top := slices.Max(r.Objectives)
	for i, v := range r.Objectives {
		if top-v <= nonidentifiableNear {
			list = append(list, i)
		}
	}
	return list
}

// apart is the largest difference of a sorted mixing ratio among the starts at the maximum.
func (r *nonidentifiableRun) apart() (d float64) {
	list := r.reached()
	for k := range r.Weights[0] {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range list {
			low, high = min(low, r.Weights[i][k]), max(high, r.Weights[i][k])
		}
		d = max(d, high-low)
	}
	return d
}

// clusters counts mixing ratios above a hundredth at the best start.
func (r *nonidentifiableRun) clusters() (count int) {
	for _, w := range r.Weights[r.reached()[0]] {
		if w > 0.01 {
			count++
		}
	}
	return count
}

// threeLikelihood is the log-likelihood of a mixture on the three patterns; NaN where it is
// no mixture.
func threeLikelihood(weights, probabilities []float64) (float64, error) {
	for _, v := range slices.Concat(weights, probabilities) {
		if !(v >= 0 && v <= 1) {
			return math.NaN(), nil
		}
	}
	src, err := threePatterns.proportions(nonidentifiableN)
	if err != nil {
		return 0, err
	}
	law := bernoulliLaw{weights, probabilities}
	negative, err := law.entropy(src)
	return -negative, err
}

func nonidentifiableConclude(_ *Settings, runs []nonidentifiableRun) (*Outcome, error) {
	table := Table{
		Name:  "methods",
		Shown: true,
		About: "starts that reach the maximum of their objective, and how far apart their mixing ratios are there, " +
			"sorted by size; mixing ratios and probabilities, component by component, of the best start",
		Header: []string{"method", "starts", "reached", "apart", "mixing_ratios", "probabilities"},
	}
	starts := Table{
		Name:   "starts",
		About:  "every start: objective in nats, mixing ratios sorted by size, probabilities",
		Header: []string{"method", "start", "objective", "mixing_ratios", "probabilities"},
	}
	format := func(list []float64) string {
		text := ""
		for _, v := range list {
			text += fmt.Sprintf("%.3f ", math.Abs(v))
		}
		return text[:len(text)-1]
	}
	for i, r := range runs {
		name, best := nonidentifiableFits[i].name, r.reached()[0]
		table.Add(name, len(r.Objectives), len(r.reached()), r.apart(), format(r.Weights[best]), format(r.Components[best]))
		for j, v := range r.Objectives {
			starts.Add(name, j, v, format(r.Weights[j]), format(r.Components[j]))
		}
	}
	two, three, maps, vbs := &runs[0], &runs[1], runs[2:4], runs[4:]

	top := 0.0
	for _, share := range threePatterns.weights {
		top += nonidentifiableN * share * math.Log(share)
	}
	first, err := threeLikelihood(threePatterns.weights, threePatterns.probabilities)
	if err != nil {
		return nil, err
	}
	second, err := threeLikelihood([]float64{0.6, 0.4, 0}, []float64{2. / 3, 1, 0, 0, 1, 1, 0, 0, 0})
	if err != nil {
		return nil, err
	}
	family := Table{
		Name:   "family",
		About:  "log-likelihood of the thesis's family of solutions, in nats; NaN where a probability is above 1",
		Header: []string{"t", "log_likelihood"},
	}
	maxima, last := 0, 0.0
	const steps = 20
	for i := range steps + 1 {
		t := float64(i) / steps
		mu := 0.4 / (0.5 * (1 - t))
		if math.Abs(mu-1) < 1e-12 {
			mu = 1
		}
		value, err := threeLikelihood([]float64{0.5 * (1 - t), 0.5 * (1 - t), t}, []float64{mu, 1, 0, 0, 1, mu, 0, 1, 0})
		if err != nil {
			return nil, err
		}
		family.Add(t, value)
		if math.Abs(value-top) < 1e-6 {
			maxima++
			last = t
		}
	}
	decided := func(list []nonidentifiableRun) bool {
		for i := range list {
			if list[i].apart() > 0.01 {
				return false
			}
		}
		return true
	}
	differ := false
	for k, w := range maps[0].Weights[maps[0].reached()[0]] {
		differ = differ || math.Abs(w-maps[1].Weights[maps[1].reached()[0]][k]) > 0.05
	}
	counts := make([]int, len(vbs))
	for i := range vbs {
		counts[i] = vbs[i].clusters()
	}
	out := &Outcome{Tables: []Table{table, starts, family}, Statements: []Statement{
		{
			Central: true,
			Paper: "Of three patterns and three components, parameters with ratios (0.4, 0.4, 0.2) and with (0.6, " +
				"0.4, 0) both have the largest likelihood: maximum likelihood does not determine the model.",
			Agrees: math.Abs(first-top) < 1e-6 && math.Abs(second-top) < 1e-6 && three.apart() > 0.05,
			Measured: fmt.Sprintf(
				"both have %.6f and %.6f nats, the largest possible is %.6f; of %d starts of EM %d come to it, with "+
					"mixing ratios that differ by up to %.3f", first, second, top, len(three.Objectives),
				len(three.reached()), three.apart(),
			),
		},
		{
			Paper:  "Of two patterns and two components the maximum is unique but for the order of the components.",
			Agrees: two.apart() < 1e-3 && len(two.reached()) > 1,
			Measured: fmt.Sprintf("%d of %d starts come to the maximum; there mixing ratios differ by %.1g",
				len(two.reached()), len(two.Objectives), two.apart()),
		},
		{
			Paper:  "The family with ratios ((1−t)/2, (1−t)/2, t) has the largest likelihood for all t from 0 to 1.",
			Agrees: maxima == steps+1,
			Measured: fmt.Sprintf("at %d of %d values of t, up to t = %g; beyond it the probability 0.8/(1−t) is above 1",
				maxima, steps+1, last),
		},
		{
			Paper:  "With a prior (MAP), it is the prior that determines the structure.",
			Agrees: decided(maps) && differ,
			Measured: fmt.Sprintf(
				"mixing ratios of the starts at the maximum differ by %.2g under %s and by %.2g under %s; those of "+
					"the two priors %s", maps[0].apart(), nonidentifiableFits[2].name, maps[1].apart(),
				nonidentifiableFits[3].name, map[bool]string{
					true: "differ from each other", false: "do not differ from each other",
				}[differ],
			),
		},
		{
			Paper:  "With variational Bayes, too, the hyperparameters decide what the clusters are.",
			Agrees: decided(vbs) && slices.Max(counts) > slices.Min(counts),
			Measured: fmt.Sprintf(
				"%d clusters under %s, %d under %s, %d under %s; the starts at the maximum differ by at most %.2g",
				counts[0], nonidentifiableFits[4].name, counts[1], nonidentifiableFits[5].name, counts[2],
				nonidentifiableFits[6].name, max(vbs[0].apart(), vbs[1].apart(), vbs[2].apart()),
			),
		},
	}}
	var plots [][]*plot.Plot
	for row := range 2 {
		var line []*plot.Plot
		for column := range 3 {
			i := 1 + 3*row + column
			line = append(line, nonidentifiablePlot(nonidentifiableFits[i].name, &runs[i], row == 0 && column == 0))
		}
		plots = append(plots, line)
	}
	out.Figures = []Figure{{Name: "figure", Width: 27 * vg.Centimeter, Height: 15 * vg.Centimeter, Plots: plots,
		Caption: "Mixing ratios, sorted by size, of the starts that reach the maximum of their objective; starts are " +
			"sorted by the largest ratio. Where lines are level, all have found the same mixture."}}
	return out, nil
}

func nonidentifiablePlot(title string, r *nonidentifiableRun, legend bool) *plot.Plot {
	list := r.reached()
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(r.Weights[i][0], r.Weights[j][0]) })
	p := chart(title, "start", "mixing ratio")
	for k := range r.Weights[0] {
		var xs, ys []float64
		for at, i := range list {
			xs, ys = append(xs, float64(at+1)), append(ys, r.Weights[i][k])
		}
		name := ""
		if legend {
			name = []string{"largest", "second", "smallest"}[k]
		}
		series{Name: name, X: xs, Y: ys, Points: true}.draw(p, k)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(len(list)+1), 0, 0.85
	p.Y.Tick.Marker = every(0.2)
	return p
}
