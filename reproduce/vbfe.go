package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

// What the experiments on variational Bayes of Bernoulli mixtures (paper K, Kaji 2011)
// have in common.

const kaji = "Kaji 2011, "

// A bernoulliLaw is a Bernoulli mixture that makes data. The figures of paper K that show
// its truths as shades of grey give no numbers: those here are of the same shapes.
type bernoulliLaw struct {
	weights, probabilities []float64 // K*, K*×M
}

// edgeLaw has one stochastic and one deterministic component on four bits.
var edgeLaw = bernoulliLaw{[]float64{0.6, 0.4}, []float64{0.7, 0.3, 0.6, 0.35, 1, 1, 0, 1}}

func (l bernoulliLaw) columns() int { return len(l.probabilities) / len(l.weights) }

// component is the probabilities of one.
func (l bernoulliLaw) component(k int) []float64 {
	m := l.columns()
	return l.probabilities[k*m : (k+1)*m]
}

func (l bernoulliLaw) parameters() *mixture.Parameters {
	return &mixture.Parameters{K: len(l.weights), D: l.columns(), Weights: l.weights, Components: l.probabilities}
}

// truth counts its components.
func (l bernoulliLaw) truth() (t bernmix.Truth) {
	for k := range l.weights {
		if atEdge(l.component(k), 0) {
			t.Deterministic++
		} else {
			t.Stochastic++
		}
	}
	return t
}

// sample draws n rows, and lays equal ones together.
func (l bernoulliLaw) sample(n int, seed uint64) (*blocks.Table, error) {
	x, _, err := bernmix.EM().Sample(l.parameters(), n, rand.New(rand.NewPCG(seed, uint64(n))))
	if err != nil {
		return nil, err
	}
	t, err := blocks.FromSlice(x, n, l.columns())
	if err != nil {
		return nil, err
	}
	return t.Distinct(), nil
}

// proportions has every pattern once, weighing N·p(x): data without sampling noise.
func (l bernoulliLaw) proportions(n float64) (*blocks.Table, error) {
	m := l.columns()
	var x []float64
	for code := range 1 << m {
		for j := range m {
			x = append(x, float64(code>>j&1))
		}
	}
	t, err := blocks.FromSlice(x, 1<<m, m)
	if err != nil {
		return nil, err
	}
	weights, err := bernmix.EM().LogProb(t.All(), l.parameters(), nil)
	if err != nil {
		return nil, err
	}
	for i, v := range weights {
		weights[i] = n * math.Exp(v)
	}
	return t.WithWeights(weights)
}

// entropy is −Σ w_n ln p(x_n): N·S(X) of paper K, Theorem 5.1.1.
func (l bernoulliLaw) entropy(t *blocks.Table) (float64, error) {
	rows := t.All()
	logProb, err := bernmix.EM().LogProb(rows, l.parameters(), nil)
	sum := 0.0
	for i, v := range logProb {
		if w := rows.Weight(i); w > 0 {
			sum -= w * v
		}
	}
	return sum, err
}

// atEdge reports whether all probabilities are within margin of 0 or 1.
func atEdge(probabilities []float64, margin float64) bool {
	for _, v := range probabilities {
		if min(v, 1-v) > margin {
			return false
		}
	}
	return true
}

// A vbComponent is a component of a variational posterior.
type vbComponent struct {
	Rows   float64   // N_k
	Shares []float64 // ν_km/N_k, of ones among its rows; ½ where it has none
	Means  []float64 // E[μ_km]
}

// vbComponents are those of a posterior under the hyperparameters a and b, those with
// most rows first.
func vbComponents(p *mixture.Posterior, a, b float64) []vbComponent {
	list := make([]vbComponent, p.K)
	for k := range list {
		c := vbComponent{Rows: max(0, p.Weights[k]-a)}
		for j := range p.D {
			h := p.Components[(k*p.D+j)*2:] // 2b + N_k and b + ν
			share := 0.5
			if h[0] > 2*b {
				share = min(max((h[1]-b)/(h[0]-2*b), 0), 1)
			}
			c.Shares, c.Means = append(c.Shares, share), append(c.Means, h[1]/h[0])
		}
		list[k] = c
	}
	slices.SortStableFunc(list, func(c, d vbComponent) int { return cmp.Compare(d.Rows, c.Rows) })
	return list
}

// What a component is, in the words of paper K.
type componentKind int

const (
	empty componentKind = iota
	deterministic
	stochastic
)

// kind is empty for a component with less than a thousandth of the rows, deterministic
// where less than a fiftieth of them disagree in every column.
func (c vbComponent) kind(n float64) componentKind {
	switch {
	case c.Rows < 1e-3*n:
		return empty
	case atEdge(c.Shares, 0.02):
		return deterministic
	}
	return stochastic
}

// A sharedStart begins a fit with the rows of the components of a law shared out evenly:
// those of the stochastic ones among the first components of the fit, of the deterministic ones among the
// next; the others are empty. Where N is large, redundant components gain or lose a few
// rows an iteration, too few for random starts to show where they end.
type sharedStart struct {
	mixture.Variational
	law                       bernoulliLaw // one stochastic component and then a deterministic one
	a, b                      float64
	stochastic, deterministic int
}

// Init is that start.
func (m sharedStart) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*mixture.Posterior, error) {
	p, err := m.Variational.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	for j := range k {
		from, count := 0, 0.0
		switch {
		case j < m.stochastic:
			count = m.law.weights[0] * p.Pooled.N / float64(m.stochastic)
		case j < m.stochastic+m.deterministic:
			from, count = 1, m.law.weights[1]*p.Pooled.N/float64(m.deterministic)
		}
		p.Weights[j] = m.a + count
		for i, v := range m.law.component(from) {
			h := p.Components[(j*p.D+i)*2:]
			h[0], h[1] = 2*m.b+count, m.b+count*v
		}
	}
	return p, nil
}

type vbResult = framework.Result[*mixture.Posterior, *mixture.Statistics]

// settle returns the posterior of least free energy over all ways to share the components
// of a law of one stochastic and one deterministic component.
func (l bernoulliLaw) settle(
	ctx context.Context, a, b float64, k int, src *blocks.Table,
) (best *vbResult, err error) {
	for s := 1; s < k; s++ {
		for d := 1; s+d <= k; d++ {
			m := sharedStart{bernmix.VB(a, b), l, a, b, s, d}
			res, err := framework.Fit(ctx, m, src, framework.Options{K: k, Method: framework.EM, Tolerance: 1e-13, Workers: 1})
			if err != nil {
				return nil, err
			}
			if best == nil || res.Value > best.Value {
				best = res
			}
		}
	}
	return best, nil
}

// overGrid makes a job of every pair of hyperparameters.
func overGrid[R any](as, bs []float64, run func(ctx context.Context, a, b float64) (R, error)) (jobs []Job[R]) {
	for _, a := range as {
		for _, b := range bs {
			jobs = append(jobs,
				Job[R]{Key: fmt.Sprintf("a-%g-b-%g", a, b), Run: func(ctx context.Context) (R, error) { return run(ctx, a, b) }})
		}
	}
	return jobs
}
