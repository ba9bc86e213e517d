package theorems

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// poisson is a table of one column of counts, rows[v] rows of the value v, under a mixture of
// two Poisson components that X distinguishes. p(X,Z) depends on Z only through how many rows
// the first component has and what they sum to, so that sums over all 2^N Z are sums over
// these two numbers, exact for hundreds of rows. The terms Σ ln x!, which Z does not touch,
// are left out throughout.
type poisson struct {
	rows           []float64
	n, sum         float64
	weights, means []float64 // at the maximum of p(X|Π), the smaller mean first
	q              []float64 // responsibility of the first component for each value
	maximum        float64   // ln p(X|Π̂)
	pooled         *family.Pooled
}

// The prior: β ~ Dir(1, 1), λ_k ~ Gamma(2, ½).
const (
	dirichlet = 1.0
	shape     = 2.0
	rate      = 0.5
)

// values are as many rows of each value, of Poisson(1) and Poisson(7) together.
var values = []float64{5, 5, 3, 1, 1, 1, 2, 2, 1, 1, 1}

var (
	poissonEM = mixture.Model{Family: family.Poisson{}}
	poissonVB = mixture.Variational{Family: family.Poisson{}, Prior: prior.Gamma{Shape: shape, Rate: rate}, Weights: prior.Dirichlet{Alpha: dirichlet}}
)

func (p *poisson) table(t testing.TB) *blocks.Table {
	t.Helper()
	x := make([]float64, len(p.rows))
	for v := range x {
		x[v] = float64(v)
	}
	src, err := blocks.FromSlice(x, len(x), 1)
	require.NoError(t, err)
	src, err = src.WithWeights(p.rows)
	require.NoError(t, err)
	return src
}

// settled are the options of a fit at K = 2 that ends at the best of its maxima.
var settled = framework.Options{K: 2, FixedK: true, Method: framework.EM, Restarts: 5, Tolerance: 1e-14}

// newPoisson repeats the rows and fits them.
func newPoisson(t testing.TB, rows []float64, copies float64) *poisson {
	t.Helper()
	p := &poisson{}
	for v, c := range rows {
		p.rows = append(p.rows, c*copies)
		p.n, p.sum = p.n+c*copies, p.sum+c*copies*float64(v)
	}
	src := p.table(t)
	res, err := framework.Fit(t.Context(), poissonEM, src, settled)
	require.NoError(t, err)
	p.weights, p.means, p.pooled = res.Parameters.Weights, res.Parameters.Components, res.Parameters.Pooled
	if p.means[0] > p.means[1] {
		p.weights[0], p.weights[1] = p.weights[1], p.weights[0]
		p.means[0], p.means[1] = p.means[1], p.means[0]
	}
	p.maximum = res.Evaluation.Bound() - p.base()
	r, err := poissonEM.Responsibilities(src.All(), res.Parameters, nil)
	require.NoError(t, err)
	for v := range p.rows {
		p.q = append(p.q, r[2*v])
	}
	return p
}

// base is −Σ ln x!.
func (p *poisson) base() float64 {
	sum := 0.0
	for v, c := range p.rows {
		sum -= c * lgamma(float64(v)+1)
	}
	return sum
}

// A split says what a Z gives the first component: how many rows, and what they sum to.
type split struct{ rows, sum float64 }

// of are rows and sum of component k.
func (s split) of(k int, p *poisson) (rows, sum float64) {
	if k == 0 {
		return s.rows, s.sum
	}
	return p.n - s.rows, p.sum - s.sum
}

// logJoint is ln p(X,Z).
func (p *poisson) logJoint(s split) float64 {
	l := lgamma(2*dirichlet) - lgamma(2*dirichlet+p.n)
	for k := range 2 {
		n, sum := s.of(k, p)
		l += lgamma(dirichlet+n) - lgamma(dirichlet)
		l += prior.Gamma{Shape: shape + sum, Rate: rate + n}.LogNorm() - prior.Gamma{Shape: shape, Rate: rate}.LogNorm()
	}
	return l
}

// logJointAt is ln p(X,Z|Π).
func (p *poisson) logJointAt(s split, weights, means []float64) float64 {
	l := 0.0
	for k := range 2 {
		n, sum := s.of(k, p)
		l += times(n, math.Log(weights[k])) + times(sum, math.Log(means[k])) - n*means[k]
	}
	return l
}

// times is n·log, 0 where n is.
func times(n, log float64) float64 {
	if n == 0 {
		return 0
	}
	return n * log
}

// estimate is Π̂(Z).
func (p *poisson) estimate(s split) (weights, means []float64) {
	for k := range 2 {
		n, sum := s.of(k, p)
		weights, means = append(weights, n/p.n), append(means, sum/max(n, 1))
	}
	return weights, means
}

// criterion is L(Z,Π̂(Z),κ(Z)): F is N_k/N in the coordinate 2√λ, and an empty component is left
// out (paper G, eqs. 2, 13 and 15).
func (p *poisson) criterion(s split) float64 {
	weights, means := p.estimate(s)
	l, kappa := p.logJointAt(s, weights, means), 0.0
	for _, w := range weights {
		if w > 0 {
			l -= math.Log(w) / 2
			kappa++
		}
	}
	return l - (2*kappa-1)/2*math.Log(p.n)
}

// law is the distribution of the split of some of the rows, visited entry by entry, where row
// n is the first component's with probability q(x_n), independently: how many Z there are
// for each split, weighted so that nothing overflows. What is below e⁻²⁵⁰ is left out.
func (p *poisson) law(rows []float64, visit func(s split, probability float64)) {
	height, width := int(floats.Sum(rows))+1, 1
	for v, c := range rows {
		width += v * int(c)
	}
	dist, next := make([]float64, height*width), make([]float64, height*width)
	dist[0] = 1
	topRows, topSum := 0, 0
	for v, c := range rows {
		q, lgN := p.q[v], lgamma(c+1)
		clear(next)
		for taken := range int(c) + 1 {
			i := float64(taken)
			w := math.Exp(lgN - lgamma(i+1) - lgamma(c-i+1) + times(i, math.Log(q)) + times(c-i, math.Log1p(-q)))
			if w < 1e-110 {
				continue
			}
			for r := range topRows + 1 {
				from := dist[r*width:][:topSum+1]
				to := next[(r+taken)*width+v*taken:][:topSum+1]
				for s, d := range from {
					to[s] += w * d
				}
			}
		}
		topRows, topSum = topRows+int(c), topSum+v*int(c)
		dist, next = next, dist
	}
	for r := range topRows + 1 {
		for s := range topSum + 1 {
			if d := dist[r*width+s]; d > 1e-108 {
				visit(split{float64(r), float64(s)}, d)
			}
		}
	}
}

// posterior is q*(Z) = p(Z|X) as far as the first component is the one of the smaller mean
// (with half of its mass where neither is): the expectations of dim functions, and ln p(X),
// in which both labellings count.
func (p *poisson) posterior(dim int, f func(s split, dst []float64)) (logEvidence float64, means []float64) {
	values := make([]float64, dim)
	means = make([]float64, dim)
	top, total := math.Inf(-1), 0.0
	p.law(p.rows, func(s split, probability float64) {
		order := float64(s.sum*(p.n-s.rows) - (p.sum-s.sum)*s.rows)
		if s.rows == 0 || s.rows == p.n {
			order = 0
		}
		if order > 0 {
			return
		}
		// The probability under q, times p(X,Z)/(q(Z) p(X|Π̂)).
		log := math.Log(probability) + p.logJoint(s) - p.logJointAt(s, p.weights, p.means)
		if order == 0 {
			log -= math.Ln2
		}
		if log > top {
			scale := math.Exp(top - log)
			floats.Scale(scale, means)
			total, top = total*scale, log
		}
		weight := math.Exp(log - top)
		if weight < 1e-20 {
			return
		}
		total += weight
		f(s, values)
		floats.AddScaled(means, weight, values)
	})
	floats.Scale(1/total, means)
	return p.maximum + top + math.Log(total) + math.Ln2, means
}

// score is the gradient of ln p(x,z=k|Π) in (β_1, λ_1, λ_2).
func (p *poisson) score(v, k int) *mat.VecDense {
	g := mat.NewVecDense(3, []float64{1 / p.weights[0], 0, 0})
	if k == 1 {
		g.SetVec(0, -1/p.weights[1])
	}
	g.SetVec(1+k, float64(v)/p.means[k]-1)
	return g
}

// gradient is ∂q(x)/∂Π.
func (p *poisson) gradient(v int) *mat.VecDense {
	g := p.score(v, 0)
	g.SubVec(g, p.score(v, 1))
	g.ScaleVec(p.q[v]*(1-p.q[v]), g)
	return g
}

// information is that of a row at Π̂: complete of (x,z), averaged under q, and observed of x
// alone. They differ by the variance of the score under q(z) (Louis 1982).
func (p *poisson) information() (complete, observed *mat.SymDense) {
	complete = mat.NewSymDense(3, nil)
	complete.SetSym(0, 0, 1/(p.weights[0]*p.weights[1]))
	for k := range 2 {
		complete.SetSym(1+k, 1+k, p.weights[k]/p.means[k])
	}
	observed = mat.NewSymDense(3, nil)
	observed.CopySym(complete)
	for v, c := range p.rows {
		if w := p.q[v] * (1 - p.q[v]); w > 0 {
			observed.SymRankOne(observed, -c/p.n/w, p.gradient(v))
		}
	}
	return complete, observed
}

// shares are the eigenvalues ρ of complete⁻¹·observed, in (0, 1] where X identifies Π: how
// much of what (x,z) would say of Π is said by x alone.
func (p *poisson) shares(t testing.TB) []float64 {
	t.Helper()
	complete, observed := p.information()
	for i := range 3 {
		for j := i; j < 3; j++ {
			observed.SetSym(i, j, observed.At(i, j)/math.Sqrt(complete.At(i, i)*complete.At(j, j))) // complete is diagonal
		}
	}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(observed, false))
	return eigen.Values(nil)
}

// over sums a function of the shares.
func over(shares []float64, f func(rho float64) float64) float64 {
	sum := 0.0
	for _, rho := range shares {
		sum += f(rho)
	}
	return sum
}

// TestSumsOverSplitsAreSumsOverZ holds the machinery to all 2^N assignments of ten rows, one
// by one, and the criterion of a Z to the library's.
func TestSumsOverSplitsAreSumsOverZ(t *testing.T) {
	rows := []float64{3, 2, 1, 0, 0, 1, 2, 1}
	p := newPoisson(t, rows, 1)
	var x []float64
	for v, c := range rows {
		for range int(c) {
			x = append(x, float64(v))
		}
	}
	var logs, criteria []float64
	for z := range 1 << len(x) {
		var s split
		for i, v := range x {
			if z>>i&1 == 1 {
				s = split{s.rows + 1, s.sum + v}
			}
		}
		logs, criteria = append(logs, p.logJoint(s)), append(criteria, p.criterion(s))
	}
	want := floats.LogSumExp(logs)
	mean := 0.0
	for i, l := range logs {
		mean += math.Exp(l-want) * criteria[i]
	}
	got, means := p.posterior(1, func(s split, dst []float64) { dst[0] = p.criterion(s) })
	require.InDelta(t, want, got, 1e-12)
	require.InDelta(t, mean, means[0], 1e-10)

	g := given{poissonEM, prior.Gamma{Shape: shape, Rate: rate}, 1, [][]float64{x[:6], x[6:]}}
	s, pooled := g.statistics(t)
	value, _ := g.criterion(t, s, pooled)
	require.InDelta(t, value, p.criterion(split{6, floats.Sum(x[:6])})+p.base(), 1e-9)
}

// TestTheInformationIsThatOfTheLikelihood holds Louis's formula to second differences of ln p(X|Π).
func TestTheInformationIsThatOfTheLikelihood(t *testing.T) {
	p := newPoisson(t, values, 1)
	_, observed := p.information()
	at := func(move []float64) float64 {
		q := &mixture.Parameters{K: 2, D: 1, Pooled: p.pooled, Weights: []float64{p.weights[0] + move[0], p.weights[1] - move[0]}, Components: []float64{p.means[0] + move[1], p.means[1] + move[2]}}
		rows, err := poissonEM.LogProb(p.table(t).All(), q, nil)
		require.NoError(t, err)
		return floats.Dot(rows, p.rows) / p.n
	}
	const h = 1e-3
	for i := range 3 {
		for j := range 3 {
			f := func(a, b float64) float64 {
				move := make([]float64, 3)
				move[i] += a
				move[j] += b
				return at(move)
			}
			require.InDelta(t, (f(h, -h)+f(-h, h)-f(h, h)-f(-h, -h))/(4*h*h), observed.At(i, j), 1e-4)
		}
	}
	t.Logf("β = %.4f, λ = %.4f, ρ = %s", p.weights, p.means, list("%.4f", p.shares(t)))
}
