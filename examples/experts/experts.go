// Package experts is a mixture of experts (Jacobs et al. 1991): K linear regressions of y, the last column of a table, on x, and
// a gate that says which one is likely where,
//
//	z | x ~ softmax(g_kᵀa),  y | x, z=k ~ N(b_kᵀa, s_k),  a = (1, x).
//
// Rows are turned to t = L⁻¹(1, x, y), LLᵀ = Σ(1, x, y)(1, x, y)ᵀ/N: then a is white, y what a regression of the whole table
// leaves over, nothing has a unit, and the first number is still 1. In place of ln Σ_k exp(g_kᵀa), which is no function of sums,
// stands its quadratic bound about the gate of the local step (Böhning & Lindsay 1988): E_q[ln p] is exact there, else a bound.
package experts

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// Parameters are Π, of rows t: lines and noise are Ξ.
type Parameters struct {
	D     int       // columns, y included
	Gate  []float64 `keep:"rows"` // g, K×D
	Lines []float64 `keep:"rows"` // (−b, 1), K×(D+1)
	Noise []float64 `keep:"rows"` // s, K
	Root  []float64 // L, (D+1)×(D+1)
}

func (p *Parameters) line(k int) *mat.VecDense {
	return mat.NewVecDense(p.D+1, p.Lines[k*(p.D+1):(k+1)*(p.D+1)])
}

// Line is expert k in the units of the table: the intercept and the slopes, and the standard deviation of y.
func (p *Parameters) Line(k int) (coefficients []float64, deviation float64) {
	var v mat.VecDense
	_ = v.SolveVec(mat.NewDense(p.D+1, p.D+1, p.Root).T(), p.line(k)) // L is not singular
	y := v.AtVec(p.D)
	return floats.ScaleTo(make([]float64, p.D), -1/y, v.RawVector().Data[:p.D]), math.Sqrt(p.Noise[k]) / y
}

// posterior returns t of a row, q(z) under a tilt, ln p(z|x) and ln p(y|x).
func (p *Parameters) posterior(row []float64, tilt *laplace.Tilt) (t, q, logPrior []float64, logProb float64) {
	t = append([]float64{1}, row...)
	for i := range t {
		t[i] = (t[i] - floats.Dot(p.Root[i*(p.D+1):][:i], t[:i])) / p.Root[i*(p.D+2)]
	}
	for k, s := range p.Noise {
		e := floats.Dot(p.line(k).RawVector().Data, t)
		logPrior = append(logPrior, floats.Dot(p.Gate[k*p.D:(k+1)*p.D], t[:p.D]))
		q = append(q, logPrior[k]-(math.Log(2*math.Pi*s)+e*e/s)/2-tilt.Quadratic(2*k, t[:p.D])-tilt.Class(k))
	}
	partition, total := floats.LogSumExp(logPrior), floats.LogSumExp(q)
	for k, v := range q {
		q[k], logPrior[k] = math.Exp(v-total), logPrior[k]-partition
	}
	return t, q, logPrior, total - partition - math.Log(p.Root[len(p.Root)-1])
}

// Statistics are sums over rows. Of symmetric matrices they hold the upper triangle.
type Statistics struct {
	Whole   []float64 // Σ ttᵀ, (D+1)×(D+1)
	Moments []float64 `keep:"rows"` // Σ q_k ttᵀ, K×(D+1)×(D+1)
	Gate    []float64 `keep:"rows"` // h, g of the local step
	Prior   []float64 `keep:"rows"` // Σ q_k ln p(z=k|x) at h, K
	Pull    []float64 `keep:"rows"` // Σ (q_k − p(z=k|x)) a at h, K×D

	tilt *laplace.Tilt
}

// Weight is N.
func (s *Statistics) Weight() float64 { return s.Whole[0] }

// Merge adds sums of the same local step.
func (s *Statistics) Merge(o *Statistics) {
	floats.Add(s.Whole, o.Whole)
	floats.Add(s.Moments, o.Moments)
	floats.Add(s.Prior, o.Prior)
	floats.Add(s.Pull, o.Pull)
}

// matrix is matrix k of a list of them.
func (p *Parameters) matrix(list []float64, k int) *mat.SymDense {
	return mat.NewSymDense(p.D+1, list[k*len(p.Root):(k+1)*len(p.Root)])
}

// Model is the model as the engine sees it.
type Model struct{}

// Init draws gates at random. The experts are still one line.
func (Model) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*Parameters, error) {
	pooled, _, err := family.Pool(ctx, src, family.Gaussian{Floor: family.NoFloor})
	if err != nil {
		return nil, err
	}
	d := int(math.Sqrt(float64(len(pooled.Parameters)))) // a mean and a covariance, D + D² numbers
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(d, pooled.Parameters[d:])) {
		return nil, errors.New("experts: a column is determined by the others: drop it")
	}
	root := mat.NewDense(d+1, d+1, nil)
	root.SetCol(0, append([]float64{1}, pooled.Parameters[:d]...))
	root.Slice(1, d+1, 1, d+1).(*mat.Dense).Copy(chol.RawU().T())
	lines, noise := slices.Repeat(append(make([]float64, d), 1), k), slices.Repeat([]float64{1}, k)
	p := &Parameters{D: d, Lines: lines, Noise: noise, Root: root.RawMatrix().Data}
	for range k * d {
		p.Gate = append(p.Gate, rng.NormFloat64())
	}
	return p, nil
}

// NewStatistics makes room for K experts and D columns.
func (Model) NewStatistics(p *Parameters) *Statistics {
	k, n := len(p.Noise), len(p.Root)
	list := func(n int) []float64 { return make([]float64, n) }
	return &Statistics{Whole: list(n), Moments: list(k * n), Gate: slices.Clone(p.Gate), Prior: list(k), Pull: list(k * p.D)}
}

// Prepare empties the sums.
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	*s = *m.NewStatistics(p)
	s.tilt = tilt
	return nil
}

// Infer adds rows under q(z), and returns the entropy.
func (Model) Infer(b framework.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	whole := p.matrix(s.Whole, 0)
	for i := range b.N {
		w := b.Weight(i)
		t, q, logPrior, _ := p.posterior(b.Row(i), s.tilt)
		whole.SymRankOne(whole, w, mat.NewVecDense(p.D+1, t))
		for k, v := range q {
			own := p.matrix(s.Moments, k)
			own.SymRankOne(own, w*v, mat.NewVecDense(p.D+1, t))
			s.Prior[k] += w * v * logPrior[k]
			floats.AddScaled(s.Pull[k*p.D:(k+1)*p.D], w*(v-math.Exp(logPrior[k])), t[:p.D])
		}
		entropy += w * stat.Entropy(q)
	}
	return entropy, nil
}

// Maximize is a regression for each expert, whose residual is the last row of (Σ q_k ttᵀ)⁻¹, and for the gate the maximum of the
// bound, a Newton step of constant Hessian: h + 2(Σ aaᵀ)⁻¹ Σ(q_k − p(z=k|x)) a.
func (Model) Maximize(s *Statistics, p, _ *Parameters) (*Parameters, error) {
	to := &Parameters{p.D, slices.Clone(s.Gate), make([]float64, len(p.Lines)), make([]float64, len(p.Noise)), p.Root}
	var whole, own mat.Cholesky
	whole.Factorize(p.matrix(s.Whole, 0).SliceSym(0, p.D)) // positive definite where those of an expert are
	for k := range to.Noise {
		moments, line := p.matrix(s.Moments, k), to.line(k)
		line.SetVec(p.D, 1)
		if !own.Factorize(moments) || own.SolveVecTo(line, line) != nil {
			return to, &framework.DegenerateError{Dimension: k, Reason: errors.New("experts: the rows of an expert lie on a plane")}
		}
		to.Noise[k] = 1 / (line.AtVec(p.D) * moments.At(0, 0))
		line.ScaleVec(1/line.AtVec(p.D), line)
		var step mat.VecDense
		_ = whole.SolveVecTo(&step, mat.NewVecDense(p.D, s.Pull[k*p.D:(k+1)*p.D]))
		floats.AddScaled(to.Gate[k*p.D:(k+1)*p.D], 2, step.RawVector().Data)
	}
	return to, nil
}

// LogJoint is E_q[ln p(y, z|x)], with −ln Σ exp(g_kᵀa) ≥ −ln Σ exp(h_kᵀa) − Σ m_kᵀa p(z=k|x) − ¼ Σ (m_kᵀa)² where m = g − h.
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	value := floats.Sum(s.Prior) - s.Weight()*math.Log(p.Root[len(p.Root)-1])
	for k, noise := range p.Noise {
		moments, line := p.matrix(s.Moments, k), p.line(k)
		value -= (moments.At(0, 0)*math.Log(2*math.Pi*noise) + mat.Inner(line, moments, line)/noise) / 2
		m := mat.NewVecDense(p.D, floats.SubTo(make([]float64, p.D), p.Gate[k*p.D:(k+1)*p.D], s.Gate[k*p.D:(k+1)*p.D]))
		value += floats.Dot(m.RawVector().Data, s.Pull[k*p.D:(k+1)*p.D]) - mat.Inner(m, p.matrix(s.Whole, 0).SliceSym(0, p.D), m)/4
	}
	return value
}

// Shape counts lines and noise as Ξ, and K − 1 gates as Θ.
func (Model) Shape(p *Parameters) framework.Shape {
	return framework.Shape{K: len(p.Noise), Component: len(p.Lines), Shared: len(p.Gate) - p.D}
}

// Curvature adds Σ q_k aaᵀ ⊗ 1/s_k for a line, and N_k rows of 1/(2s_k²) for its noise.
func (Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	for k, noise := range p.Noise {
		f.Matrix(k, p.matrix(s.Moments, k).SliceSym(0, p.D), laplace.Diagonal{1 / noise})
		f.Class(k, s.Moments[k*len(s.Whole)], laplace.Diagonal{1 / (2 * noise * noise)})
	}
	return nil
}

// LogProb is ln p(y|x).
func (Model) LogProb(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst = slices.Grow(dst[:0], b.N)[:b.N]
	for i := range dst {
		_, _, _, dst[i] = p.posterior(b.Row(i), nil)
	}
	return dst, nil
}

// Relevance is the number of rows.
func (Model) Relevance(s *Statistics, p *Parameters) (values []float64, err error) {
	for k := range p.Noise {
		values = append(values, s.Moments[k*len(s.Whole)])
	}
	return values, nil
}

// Keep keeps some experts. The bound remains one: without the others ln Σ exp(g_kᵀa) is less.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	return framework.KeepAxes(s, len(p.Noise), dims), framework.KeepAxes(p, len(p.Noise), dims), nil
}
