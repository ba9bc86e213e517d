package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// A Distribution is a mixture with its parameters, as a distmv.RandLogProber. Its components and their columns are
// types of packages distmv and distuv, and its arguments are matrices. It is for one goroutine.
type Distribution struct {
	model Model
	p     *Parameters
	plan  *family.Plan
	s     *Statistics // prepared
	src   rand.Source
	rng   *rand.Rand // of src

	logProb, r []float64 // memory for a row
}

var _ distmv.RandLogProber = (*Distribution)(nil)

// Distribution returns p as a distribution of rows that draws from src; nil selects the global generator. It returns
// an error for families that do not describe whole rows: regressions, which describe a response given other columns,
// and multinomial counts, whose numbers of trials are given. Parameters written by hand need no Pooled.
func (m Model) Distribution(p *Parameters, src rand.Source) (*Distribution, error) {
	if err := p.checkWeights(); err != nil {
		return nil, err
	}
	plan, err := m.plan(p)
	if err != nil {
		return nil, err
	}
	if err := plan.CheckClasses(p.K, p.Components); err != nil {
		return nil, err
	}
	if err := plan.Whole(); err != nil {
		return nil, err
	}
	d := &Distribution{model: m, p: p, plan: plan, s: m.NewStatistics(p), src: src, rng: rand.New(source{src})}
	return d, m.Prepare(p, nil, d.s)
}

// source is a rand.Source, nil the global generator.
type source struct{ rand.Source }

func (s source) Uint64() uint64 {
	if s.Source == nil {
		return rand.Uint64()
	}
	return s.Source.Uint64()
}

// Dim returns the number of columns D.
func (d *Distribution) Dim() int { return d.p.D }

// Weights returns a copy of the K components' weights.
func (d *Distribution) Weights() []float64 { return append([]float64(nil), d.p.Weights...) }

// LogProb returns ln Σ_k β_k p(x|ξ_k) of a row of D numbers, in nats: −Inf outside the support. Missing entries (NaN)
// are integrated out; the result is NaN if the family needs complete rows. It panics unless x has length D.
func (d *Distribution) LogProb(x []float64) float64 {
	d.mustFit(x)
	var err error
	d.logProb, d.r, err = d.s.score(blocks.Rows{N: 1, D: d.p.D, Stride: d.p.D, X: x}, d.logProb, d.r)
	if err == nil {
		return d.logProb[0]
	}
	for _, v := range x {
		if math.IsNaN(v) {
			return v
		}
	}
	return math.Inf(-1)
}

// Prob returns exp LogProb.
func (d *Distribution) Prob(x []float64) float64 { return math.Exp(d.LogProb(x)) }

// Rand draws a row into dst, or into new memory if dst is nil. It panics unless dst is nil or has length D.
func (d *Distribution) Rand(dst []float64) []float64 {
	if dst == nil {
		dst = make([]float64, d.p.D)
	}
	d.mustFit(dst)
	k := categorical.Draw(d.p.Weights, d.rng)
	if err := d.plan.Sample(d.p.Component(k), d.rng, dst); err != nil {
		panic(err) // Whole has seen to it
	}
	return dst
}

func (d *Distribution) mustFit(x []float64) {
	if len(x) != d.p.D {
		panic(fmt.Sprintf("mixture: the row has %d numbers, and the distribution %d columns", len(x), d.p.D))
	}
}

// Component returns the distribution of the rows of component k, from 0: a *distmv.Normal for a Gaussian with any
// covariance and for factor analysers, a *distmv.StudentsT for a normal.StudentT, otherwise a *Distribution of one
// component. It returns an error if a covariance is singular to working precision.
func (d *Distribution) Component(k int) (distmv.RandLogProber, error) {
	if err := d.p.has(k); err != nil {
		return nil, err
	}
	law, err := d.plan.Distribution(d.p.Component(k), d.src)
	if law != nil || err != nil {
		return law, err
	}
	one := d.p.keep([]int{k}, d.plan)
	one.Weights[0] = 1
	return d.model.Distribution(one, d.src)
}

// Marginal returns the marginal distribution of a column in component k, both counted from 0 (see
// [family.Plan.Marginal]).
func (d *Distribution) Marginal(k, column int) (distuv.RandLogProber, error) {
	if err := d.p.has(k); err != nil {
		return nil, err
	}
	return d.plan.Marginal(d.p.Component(k), column, d.src)
}

// Moments returns the mean, D, and the covariance, D×D, of component k, from 0 (see [family.Plan.Moments]).
func (d *Distribution) Moments(k int) (mean []float64, covariance *mat.SymDense, err error) {
	if err := d.p.has(k); err != nil {
		return nil, nil, err
	}
	return d.plan.Moments(d.p.Component(k))
}

// Responsibilities returns p(z_n = k|x_n) of the rows of x, N×D: N×K. Missing entries are NaN. Its errors are those
// of [Model.Responsibilities].
func (d *Distribution) Responsibilities(x mat.Matrix) (*mat.Dense, error) {
	n, columns := x.Dims()
	if n == 0 || columns != d.p.D {
		return nil, fmt.Errorf("mixture: the matrix of rows is %d×%d, and the distribution has %d columns", n, columns, d.p.D)
	}
	_, q, err := d.s.score(blocks.Rows{N: n, D: columns, Stride: columns, X: mat.DenseCopyOf(x).RawMatrix().Data},
		nil, nil)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(n, d.p.K, q), nil
}
