package reproduce

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// The calibration of the evidence on its own prior: K, then Π, then the table are drawn, with what the prior is about
// fixed; p(K|X) ∝ exp E is to be the frequency with which K is the truth.

// A priorSetting is a family with its prior: means about 0 and covariances about the unit matrix, or rates about 5.
type priorSetting struct {
	name   string
	of     evidenceSetting
	hyper  prior.Prior // of the model; nil for unit information
	mostly float64     // rate of counts
}

// priorSettings are families at three sizes; table i of the calibration has setting i, and again from the first.
var priorSettings = sync.OnceValue(func() (list []priorSetting) {
	for _, n := range []int{30, 100, 300} {
		list = append(list,
			priorSetting{"Bernoulli, 8 columns", evidenceSetting{columns: "bernoulli", levels: 2, d: 8, n: n}, nil, 0},
			priorSetting{
				"Poisson, 4 columns", evidenceSetting{columns: "poisson", d: 4, n: n}, prior.Gamma{Shape: 1, Rate: 0.2}, 5,
			},
			priorSetting{"Gaussian VVI, 3 columns", evidenceSetting{columns: "gaussian", form: "VVI", d: 3, n: n}, nil, 0},
			priorSetting{"Gaussian EEE, 3 columns", evidenceSetting{columns: "gaussian", form: "EEE", d: 3, n: n}, nil, 0},
			priorSetting{"Gaussian VVV, 2 columns", evidenceSetting{columns: "gaussian", form: "VVV", d: 2, n: n}, nil, 0},
		)
	}
	return list
})

// priorMost is the largest K; a draw of more, of which there is one in a million, is repeated.
const priorMost = 8

// draw draws K with p(K) ∝ 1/K!, the parameters, and a table with its labels.
func (s priorSetting) draw(rng *rand.Rand) (k int, x []float64, labels []int) {
	for k = 0; k < 1 || k > priorMost; {
		k = int(poisson(1, rng))
	}
	weights := make([]float64, k)
	for i := range weights {
		weights[i] = rng.ExpFloat64()
	}
	of := s.of
	t := &evidenceTruth{evidenceSetting: of, separation: 1, base: make([]float64, of.d*max(1, of.levels))}
	t.k = k
	for i := range k {
		for range of.d {
			switch of.columns {
			case "gaussian":
				t.apart = append(t.apart, rng.NormFloat64())
			case "poisson":
				t.apart = append(t.apart, math.Log(s.mostly*rng.ExpFloat64()))
			default: // Beta(½, ½)
				p := math.Pow(math.Sin(math.Pi/2*rng.Float64()), 2)
				t.apart = append(t.apart, math.Log(p), math.Log1p(-p))
			}
		}
		if of.columns == "gaussian" && (i == 0 || of.form[0] == 'V') {
			scales, axes := drawUnit(of, rng)
			t.scales, t.axes = append(t.scales, scales), append(t.axes, axes)
		} else if of.columns == "gaussian" {
			t.scales, t.axes = append(t.scales, t.scales[0]), append(t.axes, t.axes[0])
		}
	}
	x, labels = make([]float64, of.n*of.d), make([]int, of.n)
	for i := range labels {
		labels[i] = categorical.Draw(weights, rng)
		t.draw(labels[i], "base", rng, x[i*of.d:(i+1)*of.d])
	}
	return k, x, labels
}

// drawUnit draws a covariance about I: standard deviations and axes.
func drawUnit(of evidenceSetting, rng *rand.Rand) (scales []float64, axes *mat.Dense) {
	scales = make([]float64, of.d)
	if of.form[2] == 'I' {
		for j := range scales {
			scales[j] = math.Exp(rng.NormFloat64() * math.Sqrt2 / 2)
		}
		return scales, nil
	}
	worth := prior.UnitInformation{}.CovarianceOr(of.d)
	x := mat.NewSymDense(of.d, nil)
	for i := range of.d {
		x.SetSym(i, i, rng.NormFloat64()*math.Sqrt(2/worth))
		for j := range i {
			x.SetSym(i, j, rng.NormFloat64()/math.Sqrt(worth))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(x, true) {
		panic("reproduce: no eigenvalues of a finite matrix")
	}
	axes = new(mat.Dense)
	e.VectorsTo(axes)
	for j, v := range e.Values(nil) {
		scales[j] = math.Exp(v / 2)
	}
	return scales, axes
}

// posterior draws a table and gives its K and p(K|X), K = 1 to priorMost; what is e⁻¹⁵ of the largest and falls on
// counts as 0.
func (s priorSetting) posterior(ctx context.Context, seed uint64) (k int, p []float64, err error) {
	rng := rand.New(rand.NewPCG(seed, 0xca11))
	k, x, labels := s.draw(rng)
	src, err := blocks.FromSlice(x, s.of.n, s.of.d)
	if err != nil {
		return 0, nil, err
	}
	classes := compact(labels)
	values := slices.Repeat([]float64{math.Inf(-1)}, priorMost)
	for i := range values {
		m := mixture.Model{Family: s.of.family(s.of.form), Prior: s.hyper}
		begin := labelStart{m, relabelled(x, s.of.d, labels, classes, i+1), s.of.fixed()}
		o := framework.Options{K: i + 1, FixedK: true, Criterion: framework.Evidence, NoMoves: true, Seed: seed, Workers: 1,
			Tolerance: evidenceTolerance, MaxIterations: 300, Restarts: min(3, 1+2*i)}
		fit, err := framework.FitFrom(ctx, m, src, begin.andOthers(), o)
		if err != nil {
			return 0, nil, err
		}
		values[i] = fit.Value
		if fit.Value < floats.Max(values)-15 {
			break
		}
	}
	p, err = sizes.Posterior(values, nil)
	return k, p, err
}

// compact numbers the labels that there are from 0 on, and returns how many there are.
func compact(labels []int) int {
	seen := map[int]int{}
	for i, l := range labels {
		if _, ok := seen[l]; !ok {
			seen[l] = len(seen)
		}
		labels[i] = seen[l]
	}
	return len(seen)
}

// fixed is what the prior of Gaussian classes is about, in the structure's parameters: 0 and the unit matrix.
func (s evidenceSetting) fixed() []float64 {
	if s.columns != "gaussian" {
		return nil
	}
	variances := slices.Repeat([]float64{1}, s.d)
	if s.form[2] != 'I' {
		variances = make([]float64, s.d*s.d)
		for j := range s.d {
			variances[j*s.d+j] = 1
		}
	}
	return append(make([]float64, s.d), variances...)
}

// smallest is the smallest set of K with 90 % of the probability: whether it holds the truth, and its mass.
func smallest(p []float64, truth int) (holds bool, mass float64) {
	order := make([]int, len(p))
	floats.ArgsortStable(slices.Clone(p), order)
	slices.Reverse(order)
	for _, i := range order {
		mass += p[i]
		holds = holds || i+1 == truth
		if mass >= 0.9 {
			break
		}
	}
	return holds, mass
}

// andOthers is the start of the labels in the first of several starts, and the model's own in the others.
func (l labelStart) andOthers() mixtureStart {
	return func(ctx context.Context, src mixtureRows, k int, rng *rand.Rand) (*mixture.Parameters, error) {
		if framework.StartOf(ctx) == 0 {
			return l.start(ctx, src, k, rng)
		}
		p, err := l.model.Init(ctx, src, k, rng)
		if err != nil {
			return nil, err
		}
		return l.about(p), nil
	}
}
