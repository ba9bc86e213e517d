package mixture_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// A chart is the documented coordinates of a family's part of a component: move steps from xi,
// and whole is the family's part of the table as one component. hyper gives the logarithms
// of its hyperparameters' positive combinations, or is nil.
type chart struct {
	params, steps int
	move          func(whole, xi, step []float64) []float64
	hyper         func(h []float64) (x []float64, at func(x []float64) []float64)
	hypers        int
}

// chartOf is that of a family on d columns.
func chartOf(f family.Family, d int) []chart {
	switch f := f.(type) {
	case family.Product:
		var list []chart
		for _, part := range f {
			list = append(list, chartOf(part, part.Columns())...)
		}
		return list
	case family.Of:
		return chartOf(f.Family, f.Width)
	case normal.Family:
		return []chart{gaussianChart(f.Covariance, d)}
	case normal.Lognormal:
		return []chart{gaussianChart(normal.Diagonal, d)}
	}
	return []chart{exponentialChart(f.(family.ExponentialFamily), d)}
}

func exponentialChart(f family.ExponentialFamily, d int) chart {
	cells, p, h := d/f.Columns(), len(f.Parameters()), 1+f.Statistics()
	return chart{
		params: cells * p, steps: cells * f.Free(), hypers: cells * h,
		move: func(_, xi, step []float64) []float64 {
			to := make([]float64, len(xi))
			for c := range cells {
				f.(family.Mover).Move(xi[c*p:(c+1)*p], step[c*f.Free():(c+1)*f.Free()], to[c*p:(c+1)*p])
			}
			return to
		},
		hyper: func(all []float64) (x []float64, at func([]float64) []float64) {
			width := 0
			for c := range cells {
				one := logsOf(f, all[c*h:(c+1)*h])
				x, width = append(x, one...), len(one)
			}
			return x, func(x []float64) []float64 {
				var to []float64
				for c := range cells {
					to = append(to, pseudoCountsOf(f, all[c*h:(c+1)*h], x[c*width:(c+1)*width])...)
				}
				return to
			}
		},
	}
}

// logsOf are coordinates of the pseudo-counts (ν, τ) of a conjugate prior.
func logsOf(f family.ExponentialFamily, h []float64) []float64 {
	switch f.(type) {
	case family.Bernoulli:
		return []float64{math.Log(h[1]), math.Log(h[0] - h[1])}
	case family.Categorical, family.Multinomial: // ν does not matter
		return mapped(math.Log, h[1:])
	case family.Gamma:
		mean := h[1] / h[0]
		return []float64{math.Log(h[0]), math.Log(mean), math.Log(math.Log(mean) - h[2]/h[0])}
	}
	return mapped(math.Log, h)
}

func pseudoCountsOf(f family.ExponentialFamily, h, x []float64) []float64 {
	v := mapped(math.Exp, x)
	switch f.(type) {
	case family.Bernoulli:
		return []float64{v[0] + v[1], v[0]}
	case family.Categorical, family.Multinomial:
		return append([]float64{h[0]}, v...)
	case family.Gamma:
		return []float64{v[0], v[0] * v[1], v[0] * (x[1] - v[2])}
	}
	return v
}

func mapped(f func(float64) float64, v []float64) []float64 {
	to := make([]float64, len(v))
	for i, x := range v {
		to[i] = f(x)
	}
	return to
}

// gaussianChart: (μ, vech Σ) after the linear map that gives the table covariance I, that of
// a tied covariance being fixed; (μ_j, σ_j²) column by column, and (μ, σ²), in units of the
// table's variances.
func gaussianChart(form normal.Covariance, d int) chart {
	switch form {
	case normal.Diagonal:
		return chart{params: 2 * d, steps: 2 * d, hypers: 4 * d, hyper: normalGammas(4),
			move: func(whole, xi, step []float64) []float64 {
				to := slices.Clone(xi)
				for j := range d {
					v := whole[d+j]
					to[j] += step[2*j] * math.Sqrt(v)
					to[d+j] += step[2*j+1] * v
				}
				return to
			}}
	case normal.Spherical:
		return chart{params: d + 1, steps: d + 1, hypers: d + 3, hyper: normalGammas(d + 3),
			move: func(whole, xi, step []float64) []float64 {
				to := slices.Clone(xi)
				for j := range d {
					to[j] += step[j] * math.Sqrt(whole[d])
				}
				to[d] += step[d] * whole[d]
				return to
			}}
	}
	steps := d
	if form == normal.Full {
		steps += d * (d + 1) / 2
	}
	return chart{params: d + d*d, steps: steps,
		move: func(whole, xi, step []float64) []float64 {
			u := rootOf(whole[d:], d)
			to := slices.Clone(xi)
			shift := mat.NewVecDense(d, nil)
			shift.MulVec(u.T(), mat.NewVecDense(d, step[:d]))
			for j := range d {
				to[j] += shift.AtVec(j)
			}
			if form == normal.Full {
				addSymmetric(to[d:], u, step[d:], d)
			}
			return to
		}}
}

// rootOf is U with UᵀU the matrix.
func rootOf(cov []float64, d int) *mat.TriDense {
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(d, cov)) {
		panic("not positive definite")
	}
	var u mat.TriDense
	chol.UTo(&u)
	return &u
}

// addSymmetric adds UᵀΔU to a covariance, Δ given by its upper triangle, row by row.
func addSymmetric(cov []float64, u mat.Matrix, vech []float64, d int) {
	delta := mat.NewSymDense(d, nil)
	i := 0
	for a := range d {
		for b := a; b < d; b++ {
			delta.SetSym(a, b, vech[i])
			i++
		}
	}
	var product mat.Dense
	product.Product(u.T(), delta, u)
	for a := range d {
		for b := range d {
			cov[a*d+b] += (product.At(a, b) + product.At(b, a)) / 2
		}
	}
}

// normalGammas are groups of numbers, of which the last three, κ, shape and rate, are positive.
func normalGammas(size int) func([]float64) ([]float64, func([]float64) []float64) {
	return func(h []float64) ([]float64, func([]float64) []float64) {
		turn := func(v []float64, f func(float64) float64) []float64 {
			to := slices.Clone(v)
			for g := 0; g < len(v); g += size {
				for i := g + size - 3; i < g+size; i++ {
					to[i] = f(v[i])
				}
			}
			return to
		}
		return turn(h, math.Log), func(x []float64) []float64 { return turn(x, math.Exp) }
	}
}

// logits are coordinates of weights.
func logits(w []float64) []float64 {
	var x []float64
	for _, v := range w[1:] {
		x = append(x, math.Log(v/w[0]))
	}
	return x
}

func simplex(x []float64) []float64 {
	w, sum := []float64{1}, 1.0
	for _, v := range x {
		w = append(w, math.Exp(v))
		sum += math.Exp(v)
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// latent are the documented coordinates of the components, from p on.
func latent(charts []chart) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	n := 0
	for _, c := range charts {
		n += c.steps
	}
	return func(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		return make([]float64, p.K*n), func(x []float64) *mixture.Parameters {
			q, width := *p, len(p.Components)/p.K
			q.Components, q.Weights = nil, slices.Clone(p.Weights)
			for k := range p.K {
				xi, whole := p.Components[k*width:(k+1)*width], p.Pooled.Parameters
				for _, c := range charts {
					q.Components = append(q.Components, c.move(whole[:c.params], xi[:c.params], x[:c.steps])...)
					xi, whole, x = xi[c.params:], whole[c.params:], x[c.steps:]
				}
			}
			return &q
		}
	}
}

// free are those and the weights' logits; and of a tied covariance of d columns, what is
// added to it.
func free(charts []chart, tied int) lvmtest.Coordinates[*mixture.Parameters, *mixture.Statistics] {
	return func(s *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
		x, move := latent(charts)(s, p)
		shared := make([]float64, tied*(tied+1)/2)
		n := len(x)
		x = append(append(x, logits(p.Weights)...), shared...)
		return x, func(x []float64) *mixture.Parameters {
			q := move(x[:n])
			q.Weights = simplex(x[n : n+p.K-1])
			if tied > 0 {
				width := len(p.Components) / p.K
				u := rootOf(p.Pooled.Parameters[tied:], tied)
				for k := range p.K {
					addSymmetric(q.Components[k*width+tied:(k+1)*width], u, x[n+p.K-1:], tied)
				}
			}
			return q
		}
	}
}

// posterior are coordinates of hyperparameters; nil where a family has none here.
func posterior(charts []chart) lvmtest.Coordinates[*mixture.Posterior, *mixture.Statistics] {
	for _, c := range charts {
		if c.hyper == nil {
			return nil
		}
	}
	return func(_ *mixture.Statistics, p *mixture.Posterior) ([]float64, func([]float64) *mixture.Posterior) {
		x := mapped(math.Log, p.Weights)
		type piece struct {
			n  int
			at func([]float64) []float64
		}
		var pieces []piece
		width := len(p.Components) / p.K
		for k := range p.K {
			h := p.Components[k*width : (k+1)*width]
			for _, c := range charts {
				v, at := c.hyper(h[:c.hypers])
				x, pieces, h = append(x, v...), append(pieces, piece{len(v), at}), h[c.hypers:]
			}
		}
		return x, func(x []float64) *mixture.Posterior {
			q := *p
			q.Weights, q.Components = mapped(math.Exp, x[:p.K]), nil
			x = x[p.K:]
			for _, piece := range pieces {
				q.Components, x = append(q.Components, piece.at(x[:piece.n])...), x[piece.n:]
			}
			return &q
		}
	}
}

// permuted are rows of a K×n matrix in another order.
func permuted(order []int, v []float64) []float64 {
	n := len(v) / len(order)
	var to []float64
	for _, k := range order {
		to = append(to, v[k*n:(k+1)*n]...)
	}
	return to
}

// A model is a family with rows to test it on.
type conforming struct {
	name       string
	family     family.Family
	x          *mat.Dense
	ks         []int
	trials     int                          // of a row of counts
	units      []lvmtest.Units[blocks.Rows] // changes of units that the family allows
	sparse     bool                         // also as sparse rows
	incomplete bool                         // rows
	covariance bool                         // a factor has one
}

func conformingModels(t *testing.T) []conforming {
	var list []conforming
	for _, p := range twoOfEach() {
		rng := rand.New(rand.NewPCG(5, 6))
		n := 60
		if p.family.Name() == "categorical" {
			n = 160 // no level near a chance of 0, where numeric differences are none
		}
		x := mat.NewDense(n, p.width(), nil)
		for i := range n {
			x.SetRow(i, p.row(component(i), rng))
		}
		c := conforming{name: p.family.Name(), family: p.family, x: x, ks: []int{1, 2}, trials: p.trials}
		switch p.family.(type) {
		case family.Exponential, family.Gamma:
			scale := []float64{1000, 0.01, 7, 1}[:p.width()]
			c.units = []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("columns rescaled", x, scale)}
		case family.Bernoulli, family.Poisson:
			c.sparse = true
		}
		list = append(list, c)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	const n, d = 90, 3
	x := mat.NewDense(n, d, nil)
	for i := range n {
		k := i % 3
		e := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		x.SetRow(i, []float64{4*float64(k) + e[0], 3*float64(k*k) + 0.5*e[0] + float64(1+k)*e[1], e[2] - 0.3*e[1]})
	}
	scaled := lvmtest.Rescaled("columns rescaled", x, []float64{10, 0.01, 1000})
	affine := lvmtest.Affine("an affine map", x, mat.NewDense(d, d, []float64{10, 3, 0, 0, 0.1, 0.02, -2, 0, 7}))
	same := lvmtest.Rescaled("times 1000", x, []float64{1000, 1000, 1000})
	for _, g := range []struct {
		form  normal.Covariance
		units []lvmtest.Units[blocks.Rows]
	}{
		{normal.Full, []lvmtest.Units[blocks.Rows]{scaled, affine}},
		{normal.Tied, []lvmtest.Units[blocks.Rows]{scaled, affine}},
		{normal.Diagonal, []lvmtest.Units[blocks.Rows]{scaled}},
		{normal.Spherical, []lvmtest.Units[blocks.Rows]{same}},
	} {
		f := normal.Family{Covariance: g.form}
		list = append(list, conforming{name: f.Name(), family: f, x: x, ks: tier.Sizes(), units: g.units, covariance: g.form <= normal.Tied})
	}
	var powers mat.Dense
	powers.Apply(func(_, _ int, v float64) float64 { return math.Exp(v / 4) }, x)
	rescaled := lvmtest.Rescaled("columns rescaled", &powers, []float64{10, 0.01, 1000})
	list = append(list, conforming{name: "lognormal", family: normal.Lognormal{}, x: &powers, ks: tier.Sizes(), units: []lvmtest.Units[blocks.Rows]{rescaled}})
	return append(list, mixedColumns(0), mixedColumns(0.1))
}

// mixedColumns are a product of families, a share of whose values is missing. Where some are,
// the curvature charges for a value more than there are (docs/theory/mixtures.md, section 2),
// and is not the Hessian.
func mixedColumns(share float64) conforming {
	rng := rand.New(rand.NewPCG(9, 1))
	const n = 80
	x := mat.NewDense(n, 6, nil)
	for i := range n {
		k := float64(component(i))
		e := rng.NormFloat64()
		row := []float64{5*k + e, 2*k + 0.5*e + rng.NormFloat64(), 4*k + rng.NormFloat64(),
			math.Floor(3 + 8*k + 2*rng.Float64()), 0, math.Floor(3 * rng.Float64())}
		if rng.Float64() < 0.2+0.6*k {
			row[4] = 1
		}
		for j := 2; j < 6; j++ {
			if rng.Float64() < share {
				row[j] = math.NaN()
			}
		}
		x.SetRow(i, row)
	}
	f := family.Product{family.Of{Family: normal.Family{}, Width: 2}, family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1},
		family.Poisson{}, family.Bernoulli{}, family.Categorical{Levels: 3}}
	c := conforming{name: "product", family: f, x: x, ks: []int{1, 2}, covariance: true}
	if share > 0 {
		c.name, c.incomplete = "incomplete product", true
	}
	return c
}

type mixtureCase = lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]

func (c conforming) estimates(m framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]) mixtureCase {
	_, d := c.x.Dims()
	charts, tied := chartOf(c.family, d), 0
	if c.family == (normal.Family{Covariance: normal.Tied}) {
		tied = d
	}
	model, ok := m.(mixture.Model)
	if !ok {
		model = mixture.Model{Family: c.family}
	}
	documented := latent(charts)
	if _, curved := c.family.(family.Ordinal); curved || c.incomplete { // F is the expected information, the Hessian the observed one
		documented = nil
	}
	return mixtureCase{
		Model: m, Data: lvmtest.Matrix(c.x), K: c.ks, Units: c.units, NoAllocations: true,
		Latent: documented, Free: free(charts, tied),
		Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
			q, order := *p, rng.Perm(p.K)
			q.Weights, q.Components = permuted(order, p.Weights), permuted(order, p.Components)
			return &q
		},
		// No row belongs to the first component.
		Degenerate: func(s *mixture.Statistics, p *mixture.Parameters) (*mixture.Statistics, *mixture.Parameters, float64) {
			s.Nk[0] = 0
			clear(s.Classes.Sums[:len(s.Classes.Sums)/s.K])
			rest := 1 - p.Weights[0]
			p.Weights[0] = 0
			for k := range p.Weights {
				p.Weights[k] /= rest
			}
			return s, p, 0
		},
		Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			if c.trials > 1 {
				return lvmtest.Matrix(drawCounts(p, c.family.(family.Sampler), n, c.trials, rng)), nil
			}
			x, _, err := model.Sample(p, n, rng)
			return lvmtest.Matrix(mat.NewDense(n, d, x)), err
		},
		SampleRows: 1000,
	}
}

// drawCounts draws rows of a number of trials.
func drawCounts(p *mixture.Parameters, f family.Sampler, n, trials int, rng *rand.Rand) *mat.Dense {
	x, one := mat.NewDense(n, p.D, nil), make([]float64, p.D)
	for i := range n {
		k := categorical.Draw(p.Weights, rng)
		for range trials {
			f.Sample(p.Components[k*p.D:(k+1)*p.D], rng, one)
			for j, v := range one {
				x.Set(i, j, x.At(i, j)+v)
			}
		}
	}
	return x
}

// bayesian is the case of a posterior; rows is what the estimates' case is about.
func bayesian(m mixture.Variational, c conforming, data lvmtest.Data[blocks.Rows], units []lvmtest.Units[blocks.Rows]) lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics] {
	_, d := c.x.Dims()
	return lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics]{
		Model: m, Data: data, K: c.ks, Units: units, NoAllocations: true,
		Free: posterior(chartOf(c.family, d)),
		Symmetry: func(p *mixture.Posterior, rng *rand.Rand) *mixture.Posterior {
			q, order := *p, rng.Perm(p.K)
			q.Weights, q.Components = permuted(order, p.Weights), permuted(order, p.Components)
			return &q
		},
	}
}

// collapsed is the case of the same rows with the parameters integrated out. LogJoint does not depend on them, so
// that it has no gradient, and the predictive densities take some memory.
func collapsed(c lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics]) lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics] {
	c.Model = mixture.CVB0{Variational: c.Model.(mixture.Variational)}
	c.Free, c.NoAllocations = nil, false
	return c
}

// compressed are the rows without their zeros.
func compressed(x *mat.Dense) lvmtest.Data[blocks.Rows] {
	n, d := x.Dims()
	return lvmtest.Data[blocks.Rows]{Rows: n, Block: func(rows []int, weights []float64, first int) blocks.Rows {
		e := &blocks.Entries{Start: []int{0}, Values: []float64{}}
		for _, i := range rows {
			for j, v := range x.RawRowView(i) {
				if v != 0 {
					e.Columns, e.Values = append(e.Columns, j), append(e.Values, v)
				}
			}
			e.Start = append(e.Start, len(e.Columns))
		}
		return blocks.Rows{First: first, N: len(rows), D: d, Entries: e, Weights: weights}
	}}
}

// sparsely is a case of dense rows as one of sparse ones.
func sparsely(c mixtureCase, x *mat.Dense) mixtureCase {
	return mixtureCase{
		Model: c.Model, Data: compressed(x), K: c.K, NoAllocations: true,
		Latent: c.Latent, Free: c.Free, Symmetry: c.Symmetry, Degenerate: c.Degenerate, SampleRows: c.SampleRows,
		Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			dense, err := c.Sample(p, n, rng)
			if err != nil {
				return lvmtest.Data[blocks.Rows]{}, err
			}
			_, d := x.Dims()
			return compressed(mat.NewDense(n, d, dense.Block(slices.Collect(upTo(n)), nil, 0).X)), nil
		},
	}
}

func upTo(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// daily are the cases of TestConformance that the gate has: every family by EM, and one for each kind of factor by what has a prior. The
// rest differ from these by code that package family's own tests go through: a prior, a predictive density.
var daily = regexp.MustCompile(`^[a-z-]+$|^(poisson sparse|incomplete product)|^(gaussian|gaussian-tied|categorical|gamma) MAP$|^(gaussian|bernoulli|categorical) CVB0$| VB$`)

func TestConformance(t *testing.T) {
	for _, c := range conformingModels(t) {
		// Seeded, because k-means itself begins with classes so clear that 1 − q, and with it Relevance, is rounding.
		model := mixture.Model{Family: c.family, Start: family.Seeded}
		mode := mixture.MAP{Model: model, Weights: prior.Dirichlet{Alpha: 2}}
		v := mixture.Variational{Family: c.family, Start: family.Seeded}
		run := func(name string, test func(t *testing.T)) {
			t.Run(c.name+name, func(t *testing.T) {
				if !daily.MatchString(c.name + name) {
					tier.Leave(t, "another case of TestConformance for the same kind of factor")
				}
				test(t)
			})
		}
		run("", func(t *testing.T) { lvmtest.Test(t, c.estimates(model)) })
		if _, ok := c.family.(family.Ordinal); ok { // without a conjugate prior
			continue
		}
		run(" MAP", func(t *testing.T) {
			mode := c.estimates(mode)
			mode.NoAllocations = !c.covariance // whose log prior takes some memory
			lvmtest.Test(t, mode)
		})
		run(" VB", func(t *testing.T) { lvmtest.Test(t, bayesian(v, c, lvmtest.Matrix(c.x), c.units)) })
		if c.family != (normal.Family{Covariance: normal.Tied}) { // whose covariance is not integrated out class by class
			run(" CVB0", func(t *testing.T) { lvmtest.Test(t, collapsed(bayesian(v, c, lvmtest.Matrix(c.x), c.units))) })
		}
		if !c.sparse {
			continue
		}
		run(" sparse CVB0", func(t *testing.T) { lvmtest.Test(t, collapsed(bayesian(v, c, compressed(c.x), nil))) })
		run(" sparse", func(t *testing.T) { lvmtest.Test(t, sparsely(c.estimates(model), c.x)) })
		run(" sparse MAP", func(t *testing.T) { lvmtest.Test(t, sparsely(c.estimates(mode), c.x)) })
		run(" sparse VB", func(t *testing.T) { lvmtest.Test(t, bayesian(v, c, compressed(c.x), nil)) })
	}
}
