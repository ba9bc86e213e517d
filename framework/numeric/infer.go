package numeric

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
)

// infer finds q(z) = N(mean, root·rootᵀ) of a row: the maximum, over mean and root, of
//
//	J = Σ_i weight_i g(mean + root·at_i) + ln|root|,   g(z) = ln p(x, z|Π) − ½ zᵀ extra z,
//
// which is the bound of ln p(x) with the expectation taken by the rule. Newton's step from z = 0 ends there at once
// where g is quadratic; elsewhere it is where two searches begin, for the mode of g and then for the maximum of J.
func (m *jointMachine) infer(
	b framework.Rows, i int, p *ContinuousParameters, extra *mat.SymDense,
) (mean, root []float64, err error) {
	k, row, x := p.K, b.First+i, b.Row(i)
	if m.inferrer != nil {
		return m.posterior(x, row, p, extra)
	}
	rule, err := m.rule(k)
	if err != nil {
		return nil, nil, err
	}
	g := func(z []float64) float64 {
		return m.logJoint(x, z, row, p.Components, p.Shared) - quadratic(extra, z)
	}
	mean = make([]float64, k)
	root, err = m.laplace(g, mean, x, row)
	if err != nil {
		return nil, nil, err
	}
	j := &gaussians{k: k, g: g, rule: rule, mean: mean, root: root, m: m}
	objective := objective{hill: hill{dim: k + k*(k+1)/2, value: j.value, curvature: j.curvature}, move: j.move}
	for range rounds {
		step, gain, level := objective.climb()
		if gain > 0 {
			j.move(step)
		}
		if level || gain <= 1e-12 {
			break
		}
	}
	for a := range rule.weight {
		z := m.point(rule, a, j.mean, j.root)
		if v := m.logJoint(x, z, row, p.Components, p.Shared); v-v != 0 {
			m.enter("LogJoint", row, -1)
			return nil, nil, m.violated("it returned %v at z = %v for the row %v with components %v and shared %v; "+
				"must be a number for every z", v, z, x, p.Components, p.Shared)
		}
	}
	return j.mean, j.root, nil
}

// quadratic is ½ zᵀaz; 0 for nil.
func quadratic(a *mat.SymDense, z []float64) float64 {
	if a == nil {
		return 0
	}
	v := mat.NewVecDense(len(z), z)
	return mat.Inner(v, a, v) / 2
}

// laplace moves z to the mode of g and returns the root of (−∇²g)⁻¹ there.
func (m *jointMachine) laplace(g func(z []float64) float64, z []float64, x []float64, row int) ([]float64, error) {
	k := len(z)
	at := make([]float64, k)
	value := func(t []float64) float64 {
		for i := range at {
			at[i] = z[i] + t[i]
		}
		return g(at)
	}
	if v := g(z); v-v != 0 {
		m.enter("LogJoint", row, -1)
		return nil, m.violated("it returned %v at z = %v for the row %v; must be a number for every z", v, z, x)
	}
	unit := &widths{make([]float64, k), make([]float64, k)}
	fill(unit.guess, 1)
	fill(unit.most, math.Inf(1))
	curvature := mat.NewSymDense(k, nil)
	bend := func(dst *mat.SymDense) { curvatureOf(dst, value, unit, 1, true) }
	h := &hill{dim: k, value: value, curvature: bend}
	for range rounds {
		step, gain, _ := h.climb()
		for i, t := range step {
			z[i] += t
		}
		if gain <= 1e-6 {
			break
		}
	}
	bend(curvature)
	var chol mat.Cholesky
	if !chol.Factorize(curvature) {
		m.enter("LogJoint", row, -1)
		return nil, m.refused("it has no strict maximum in z for the row %v: the second derivatives at %v are %v; a "+
			"proper prior of z has one", x, z, mat.Formatted(curvature, mat.Squeeze()))
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		m.enter("LogJoint", row, -1)
		return nil, m.refused("the second derivatives by z at %v are nearly singular: %w", z, err)
	}
	root, ok := lowerRoot(&inverse)
	if !ok {
		m.enter("LogJoint", row, -1)
		return nil, m.refused("the second derivatives by z at %v are nearly singular", z)
	}
	return root, nil
}

// gaussians are q(z) in coordinates about N(mean, root·rootᵀ): the step (a, c) leads to the mean m + root·a and the
// root root·C, with C lower triangular and its diagonal in logarithms.
type gaussians struct {
	k          int
	g          func(z []float64) float64
	rule       *points
	mean, root []float64
	m          *jointMachine

	newMean, newRoot []float64
}

func (j *gaussians) at(t []float64) (mean, root []float64) {
	k := j.k
	j.newMean, j.newRoot = resized(j.newMean, k), resized(j.newRoot, k*k)
	c := func(a, b int) float64 {
		v := t[k+a*(a+1)/2+b]
		if a == b {
			return math.Exp(v)
		}
		return v
	}
	for a := range k {
		j.newMean[a] = j.mean[a]
		for b := range a + 1 {
			j.newMean[a] += j.root[a*k+b] * t[b]
			v := 0.0
			for l := b; l <= a; l++ {
				v += j.root[a*k+l] * c(l, b)
			}
			j.newRoot[a*k+b] = v
		}
		for b := a + 1; b < k; b++ {
			j.newRoot[a*k+b] = 0
		}
	}
	return j.newMean, j.newRoot
}

func (j *gaussians) value(t []float64) float64 {
	mean, root := j.at(t)
	sum := 0.0
	for i, w := range j.rule.weight {
		sum += w * j.g(j.m.point(j.rule, i, mean, root))
	}
	for a := range j.k {
		sum += math.Log(root[a*j.k+a])
	}
	return sum
}

// curvature is that of J where g is quadratic: 1 for the mean and below the diagonal, 2 on it.
func (j *gaussians) curvature(dst *mat.SymDense) {
	dst.Zero()
	for i := range j.k {
		dst.SetSym(i, i, 1)
		for l := range i + 1 {
			at := j.k + i*(i+1)/2 + l
			dst.SetSym(at, at, 1)
			if i == l {
				dst.SetSym(at, at, 2)
			}
		}
	}
}

func (j *gaussians) move(t []float64) {
	mean, root := j.at(t)
	copy(j.mean, mean)
	copy(j.root, root)
}

// posterior asks the author.
func (m *jointMachine) posterior(
	x []float64, row int, p *ContinuousParameters, extra *mat.SymDense,
) (mean, root []float64, err error) {
	mean = make([]float64, p.K)
	cov := mat.NewSymDense(p.K, nil)
	if extra == nil {
		extra = mat.NewSymDense(p.K, nil)
	}
	m.enter("Posterior", row, -1)
	m.inferrer.Posterior(x, p.Components, p.Shared, extra, mean, cov)
	for _, v := range mean {
		if v-v != 0 {
			return nil, nil, m.violated("it returned the mean %v", mean)
		}
	}
	root, ok := lowerRoot(cov)
	if !ok {
		return nil, nil, m.violated("it returned a covariance that is not positive definite: %v",
			mat.Formatted(cov, mat.Squeeze()))
	}
	m.leave()
	return mean, root, nil
}
