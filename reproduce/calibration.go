package reproduce

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A calibrationTruth draws tables of a family. Every component has a profile, a level of each column; profiles differ
// in at least apart columns.
type calibrationTruth struct {
	name                   string
	family                 family.Family
	columns, levels, apart int
	discrete               bool
	clear, overlapping     float64 // the distance of levels, or the probability of a column to show its level
	correlated             bool    // noise
}

var calibrationTruths = []calibrationTruth{
	{
		name:        "gaussian-2",
		family:      normal.Family{},
		columns:     2,
		levels:      3,
		apart:       1,
		clear:       5,
		overlapping: 2.5,
		correlated:  true,
	},
	{
		name:        "gaussian-4",
		family:      normal.Family{},
		columns:     4,
		levels:      3,
		apart:       2,
		clear:       3.5,
		overlapping: 1.8,
		correlated:  true,
	},
	{
		name:        "diagonal-4",
		family:      normal.Family{Covariance: normal.Diagonal},
		columns:     4,
		levels:      3,
		apart:       2,
		clear:       3.5,
		overlapping: 1.8,
	},
	{name: "poisson-4", family: family.Poisson{}, columns: 4, levels: 2, apart: 2, clear: 9, overlapping: 4},
	{
		name:        "bernoulli-10",
		family:      family.Bernoulli{},
		columns:     10,
		levels:      2,
		apart:       4,
		discrete:    true,
		clear:       0.9,
		overlapping: 0.75,
	},
	{
		name:        "bernoulli-20",
		family:      family.Bernoulli{},
		columns:     20,
		levels:      2,
		apart:       7,
		discrete:    true,
		clear:       0.9,
		overlapping: 0.75,
	},
	{
		name:        "latent-class-6",
		family:      family.Categorical{Levels: 3},
		columns:     6,
		levels:      3,
		apart:       3,
		discrete:    true,
		clear:       0.8,
		overlapping: 0.65,
	},
}

// A calibrationCell is a setting that tables are drawn from.
type calibrationCell struct {
	truth calibrationTruth
	n, k  int
	clear bool
}

func (c calibrationCell) separation() string {
	if c.clear {
		return "clear"
	}
	return "overlapping"
}

// cells are all settings; one component has no separation, and counts as clear.
func calibrationCells() (cells []calibrationCell) {
	for _, truth := range calibrationTruths {
		for _, n := range []int{100, 400, 1600} {
			for _, k := range []int{1, 3, 5} {
				cells = append(cells, calibrationCell{truth, n, k, true})
				if k > 1 {
					cells = append(cells, calibrationCell{truth, n, k, false})
				}
			}
		}
	}
	return cells
}

// profiles draws levels of the components, k×columns. It begins anew where those drawn leave no room for another.
func (t calibrationTruth) profiles(k int, rng *rand.Rand) (list [][]int) {
	for refused := 0; len(list) < k; {
		p := make([]int, t.columns)
		for m := range p {
			p[m] = rng.IntN(t.levels)
		}
		near := func(other []int) bool {
			differ := 0
			for m := range p {
				if p[m] != other[m] {
					differ++
				}
			}
			return differ < t.apart
		}
		switch {
		case !slices.ContainsFunc(list, near):
			list, refused = append(list, p), 0
		case refused == 1000:
			list, refused = nil, 0
		default:
			refused++
		}
	}
	return list
}

// draw makes a table. The weights are within a factor of two of each other; Gaussian noise has a scale and, where
// it is correlated, an autocorrelation from column to column for each component.
func (c calibrationCell) draw(rng *rand.Rand) (*blocks.Table, error) {
	t, strength := c.truth, c.truth.overlapping
	if c.clear {
		strength = t.clear
	}
	profiles := t.profiles(c.k, rng)
	weights, scale, rho := make([]float64, c.k), make([]float64, c.k), make([]float64, c.k)
	for k := range c.k {
		weights[k], scale[k] = float64(c.k+k), math.Exp(0.6*rng.Float64()-0.3)
		if t.correlated {
			rho[k] = 1.4*rng.Float64() - 0.7
		}
	}
	x := make([]float64, 0, c.n*t.columns)
	for range c.n {
		k := categorical.Draw(weights, rng)
		noise := rng.NormFloat64()
		for _, level := range profiles[k] {
			switch t.family.(type) {
			case normal.Family:
				x = append(x, strength*float64(level)+scale[k]*noise)
				noise = rho[k]*noise + math.Sqrt(1-rho[k]*rho[k])*rng.NormFloat64()
			case family.Poisson:
				x = append(x, poisson(3+strength*float64(level), rng))
			default:
				if rng.Float64() > strength {
					level = (level + 1 + rng.IntN(t.levels-1)) % t.levels
				}
				x = append(x, float64(level))
			}
		}
	}
	table, err := blocks.FromSlice(x, c.n, t.columns)
	if err == nil && t.discrete {
		table = table.Distinct()
	}
	return table, err
}

// poisson draws from a Poisson distribution.
func poisson(rate float64, rng *rand.Rand) float64 {
	x := [1]float64{}
	family.Poisson{}.Sample([]float64{rate}, rng, x[:])
	return x[0]
}

// Methods, in the order of what cells choose: those before calibrationVB score one sweep of EM.
const (
	calibrationGFIC = iota
	calibrationFIC
	calibrationBIC
	calibrationICL
	calibrationSBIC
	calibrationCollapsed
	calibrationExactICL
	calibrationDNML
	calibrationVB
	calibrationCVB0
	calibrationGFAB
	calibrationMethods
)

var calibrationNames = [calibrationMethods]string{
	"gFIC", "FIC", "BIC", "ICL", "sBIC", "Collapsed", "ExactICL", "DNML", "ELBO of VB", "CVB0", "gFAB, one run",
}

// calibrationMost is the largest K of sweeps and of CVB0; gFAB begins with 10.
const calibrationMost = 8

// cvb0 has a = b = ½ of weights, Bernoulli and categorical columns; other families keep their own priors.
func (t calibrationTruth) cvb0() mixture.CVB0 {
	v := mixture.Variational{Family: t.family, Weights: prior.Dirichlet{Alpha: 0.5}}
	if t.discrete {
		v.Prior = prior.Jeffreys{}
	}
	return mixture.CVB0{Variational: v}
}

// choose is K by every method; 0 where one is left out.
func (c calibrationCell) choose(ctx context.Context, seed uint64) ([]int, error) {
	table, err := c.draw(rand.New(rand.NewPCG(seed, uint64(100*c.n+c.k))))
	if err != nil {
		return nil, err
	}
	chosen := make([]int, calibrationMethods)
	criteria := []framework.Criterion{framework.ELBO, framework.GFIC, framework.FIC, framework.BIC, framework.ICL,
		framework.SBIC, framework.Collapsed, framework.ExactICL}
	if c.truth.discrete {
		criteria = append(criteria, framework.DNML)
	}
	m, o := mixture.Model{Family: c.truth.family}, framework.Options{
		Method: framework.EM, Restarts: 2, Tolerance: 1e-5, Seed: seed, Workers: 1,
	}
	em, err := bestSizes(ctx, m, table, o, criteria...)
	if err != nil {
		return nil, err
	}
	copy(chosen, em[1:])
	vb, err := bestSizes(ctx, mixture.Variational{Family: c.truth.family}, table, o, framework.ELBO)
	if err != nil {
		return nil, err
	}
	chosen[calibrationVB] = vb[0]
	if c.n <= 400 {
		o.Method, o.K, o.Restarts = framework.PrunedEM, calibrationMost, 1
		if chosen[calibrationCVB0], _, err = sizeAndValues(ctx, c.truth.cvb0(), table, o); err != nil {
			return nil, err
		}
	}
	chosen[calibrationGFAB], _, err = sizeAndValues(ctx, m, table,
		framework.Options{K: 10, Criterion: framework.GFIC, Seed: seed, Workers: 1})
	return chosen, err
}

// bestSizes are the K that criteria choose from a sweep.
func bestSizes[P any, S framework.Statistics[S]](ctx context.Context, m framework.Model[blocks.Rows, P, S],
	t *blocks.Table, o framework.Options, criteria ...framework.Criterion) (ks []int, err error) {
	for k := 1; k <= calibrationMost; k++ {
		ks = append(ks, k)
	}
	sweep, err := framework.Select(ctx, m, t, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	best := make([]int, len(criteria))
	for j := range best {
		best[j] = ks[sweep.Best(j)]
	}
	return best, nil
}

// sizeAndValues are K of a fit, the value of its criterion, and those of o.Also.
func sizeAndValues[P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[blocks.Rows, P, S], t *blocks.Table, o framework.Options,
) (k int, values []float64, err error) {
	fit, err := framework.Fit(ctx, m, t, o)
	if err != nil {
		return 0, nil, err
	}
	values = []float64{fit.Value}
	for _, score := range fit.Scores[1:] {
		values = append(values, score.Value)
	}
	return fit.Shape.K, values, nil
}

// Values whose bias is measured, at K = 2, the truth's.
var biasNames = []string{"gFIC", "BIC", "ELBO of VB", "Collapsed", "CVB0"}

// bias is each value less ln p(X|K) under the default priors, exact for discrete columns, else annealed.
func (c calibrationCell) bias(ctx context.Context, seed uint64) ([]float64, error) {
	table, err := c.draw(rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		return nil, err
	}
	m, vb := mixture.Model{Family: c.truth.family}, mixture.Variational{Family: c.truth.family}
	exact, err := c.evidence(ctx, vb, table, seed)
	if err != nil {
		return nil, err
	}
	o := framework.Options{K: c.k, Method: framework.EM, Restarts: 5, Seed: seed, Workers: 1}
	alone := o
	o.Criterion, o.Also = framework.ELBO, []framework.Criterion{framework.GFIC, framework.BIC, framework.Collapsed}
	_, values, err := sizeAndValues(ctx, m, table, o)
	if err != nil {
		return nil, err
	}
	_, ofVB, err := sizeAndValues(ctx, vb, table, alone)
	if err != nil {
		return nil, err
	}
	_, ofCVB0, err := sizeAndValues(ctx, mixture.CVB0{Variational: vb}, table, alone)
	if err != nil {
		return nil, err
	}
	values = []float64{values[1], values[2], ofVB[0], values[3], ofCVB0[0]}
	floats.AddConst(-exact, values)
	return values, nil
}

func (c calibrationCell) evidence(
	ctx context.Context, m mixture.Variational, table *blocks.Table, seed uint64,
) (float64, error) {
	if !c.truth.discrete {
		target, err := mixture.NewAnnealer(ctx, m, table, c.k)
		if err != nil {
			return 0, err
		}
		estimate, err := evidence.AIS(ctx, target, evidence.AISOptions{Temperatures: 500, Seed: seed, Workers: 1})
		return estimate.LogEvidence, err
	}
	rows := table.All()
	var codes []int
	var counts []float64
	for i := range rows.N {
		counts = append(counts, rows.Weight(i))
		for _, v := range rows.Row(i) {
			codes = append(codes, int(v))
		}
	}
	levels := slices.Repeat([]int{c.truth.levels}, c.truth.columns)
	return evidence.Mixture{K: c.k, Levels: levels, Alpha: 1, Beta: 1, Workers: 1}.LogEvidence(ctx, codes, counts)
}

// biasCells are small tables of two components.
func biasCells() (cells []calibrationCell) {
	for _, t := range calibrationTruths {
		n := 40
		switch t.name {
		case "bernoulli-10":
			t.columns, t.apart, n = 5, 3, 12
		case "latent-class-6":
			t.columns, n = 4, 12
		case "gaussian-2", "poisson-4":
		default:
			continue
		}
		cells = append(cells, calibrationCell{t, n, 2, true}, calibrationCell{t, n, 2, false})
	}
	return cells
}

// votes fits House Votes from k components: gFAB from ten starts, as the command does, or CVB0 from one.
func votes(ctx context.Context, collapsed bool, k int, seed uint64) (run calibrationRun, err error) {
	t, err := beyondCase{set: "housevotes84"}.table()
	if err != nil {
		return run, err
	}
	x, n, d, err := t.Values()
	if err != nil {
		return run, err
	}
	table, err := blocks.FromIncomplete(x, n, d)
	if err != nil {
		return run, err
	}
	o := framework.Options{K: k, Restarts: 10, Seed: seed, Workers: 1}
	if collapsed {
		o.Method, o.Restarts, o.Tolerance = framework.PrunedEM, 1, 1e-6
		k, run.Value, err = sizeAndValues(ctx,
			calibrationTruth{family: family.Bernoulli{}, discrete: true}.cvb0(), table.Distinct(), o)
	} else {
		o.Criterion = framework.GFIC
		k, run.Value, err = sizeAndValues(ctx, bernmix.EM(), table.Distinct(), o)
	}
	run.K = []int{k}
	return run, err
}
