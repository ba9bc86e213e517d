package numeric

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// infer finds q(z) of a row, and its entropy: with g(z) = ln p(x, z|Π) − ½ zᵀ extra z,
//
//	q_i ∝ v_i exp g(z_i),   z_i = mean + root·at_i,   ln Σ_i v_i exp g(z_i) ≈ ln ∫ exp g,
//
// where v_i = exp(volume_i)·|root| is the volume that the rule gives to a point (adaptive Gauss–Hermite quadrature,
// Naylor & Smith 1982; Pinheiro & Bates 1995), mean is the mode of g and root·rootᵀ = (−∇²g)⁻¹ there. Where g is
// quadratic, q is Gaussian and the weights are those of the rule.
func (m *jointMachine) infer(
	b blocks.Rows, i int, p *ContinuousParameters, extra *mat.SymDense, rule *points,
) (q local, h float64, err error) {
	row, x := b.First+i, b.Row(i)
	if m.inferrer != nil {
		if q, err = m.posterior(x, row, p, extra); err != nil {
			return q, 0, err
		}
		q.weight = rule.weight
		return q, entropy(q.root, p.K), nil
	}
	g := func(z []float64) float64 {
		return m.logJoint(x, z, row, p.Components, p.Shared) - quadratic(extra, z)
	}
	q.mean = make([]float64, p.K)
	if q.root, err = m.laplace(g, q.mean, x, row); err != nil {
		return q, 0, err
	}
	logs := make([]float64, len(rule.weight))
	for a := range logs {
		z := m.point(rule, a, q)
		v := g(z)
		if v-v != 0 {
			m.enter("LogJoint", row, -1)
			return q, 0, m.violated("returned %v at z = %v for the row %v with components %v and shared %v; "+
				"must be a number for every z", v, z, x, p.Components, p.Shared)
		}
		logs[a] = rule.volume[a] + v
	}
	if !rule.weighted {
		q.weight = rule.weight
		return q, entropy(q.root, p.K), nil
	}
	floats.AddConst(-floats.LogSumExp(logs), logs)
	q.weight = make([]float64, len(logs))
	for a, v := range logs {
		q.weight[a] = math.Exp(v)
		h += q.weight[a] * (rule.volume[a] - v)
	}
	for a := range p.K {
		h += math.Log(q.root[a*p.K+a])
	}
	return q, h, nil
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
	if v := g(z); v-v != 0 {
		m.enter("LogJoint", row, -1)
		return nil, m.violated("returned %v at z = %v for the row %v; must be a number for every z", v, z, x)
	}
	k := len(z)
	s := &summit{g: g, z: z, stride: 1e-3, widths: make([]float64, k), slope: make([]float64, k),
		curvature: mat.NewSymDense(k, nil)}
	if m.quadratic {
		s.stride = 1 // differences are exact at any distance, and best at a large one
	}
	linalg.Fill(s.widths, 1)
	s.climb()
	s.steady()
	var inverse mat.SymDense
	var chol mat.Cholesky
	if !chol.Factorize(s.curvature) || chol.InverseTo(&inverse) != nil {
		m.enter("LogJoint", row, -1)
		return nil, m.refused("has no strict maximum in z for the row %v: minus the second derivatives at %v are %v; "+
			"a proper prior of z has one", x, z, mat.Formatted(s.curvature, mat.Squeeze()))
	}
	root, ok := lowerRoot(&inverse)
	if !ok {
		m.enter("LogJoint", row, -1)
		return nil, m.refused("the second derivatives by z at %v are nearly singular", z)
	}
	return root, nil
}

// A summit is the search for the mode of a function of few variables: Newton's method with a line search, in which what
// curves upwards, or not at all, is taken to curve downwards. Derivatives are central differences.
type summit struct {
	g         func(z []float64) float64
	z         []float64
	stride    float64   // of differences, in widths
	widths    []float64 // distances over which g changes by about one
	value     float64   // here
	slope     []float64
	curvature *mat.SymDense // −∇²g
}

// steady takes the curvature at shorter distances where it is not positive definite, as near a bend of steep items
// that is sharper than the rest of g, and then that of each axis alone over a long one, which a strictly concave
// function has.
func (s *summit) steady() {
	var chol mat.Cholesky
	for range 3 {
		if chol.Factorize(s.curvature) && chol.Cond() < 1e12 {
			return
		}
		s.stride /= 8
		s.differentiate()
	}
	at := append([]float64(nil), s.z...)
	const far = 1. / 8
	s.curvature.Zero()
	for i, z := range s.z {
		at[i] = z + far
		above := s.g(at)
		at[i] = z - far
		below := s.g(at)
		at[i] = z
		s.curvature.SetSym(i, i, (2*s.value-above-below)/(far*far))
	}
}

// climb moves z to a mode, where differentiate has been called last. Of a strictly concave function that is the
// maximum.
func (s *summit) climb() {
	from := make([]float64, len(s.z))
	for range rounds {
		s.differentiate()
		step := s.newton()
		gain := linalg.Dot(step, s.slope) / 2 // of a quadratic function
		if !(gain > 1e-13*max(1, math.Abs(s.value))) {
			return
		}
		copy(from, s.z)
		for length := 1.0; ; length /= 2 {
			floats.AddScaledTo(s.z, from, length, step)
			// a quarter of what the slope promises; NaN and −Inf turn the search back
			if s.g(s.z) >= s.value+length*gain/2 {
				break
			}
			if length < 1e-12 { // nothing higher to be seen
				copy(s.z, from)
				return
			}
		}
	}
	s.differentiate()
}

// differentiate puts value, slope and curvature at z in place, and takes the widths from the latter.
func (s *summit) differentiate() {
	s.value = s.g(s.z)
	at := append([]float64(nil), s.z...)
	k := len(at)
	steps, above, below := make([]float64, k), make([]float64, k), make([]float64, k)
	look := func(i int, times float64) { at[i] = s.z[i] + times*steps[i] }
	for i := range at {
		for range 30 {
			steps[i] = math.Exp2(math.Round(math.Log2(s.stride * s.widths[i])))
			look(i, 1)
			above[i] = s.g(at)
			look(i, -1)
			below[i] = s.g(at)
			look(i, 0)
			bend := (2*s.value - above[i] - below[i]) / (steps[i] * steps[i])
			s.curvature.SetSym(i, i, bend)
			wide := s.widths[i] * math.Sqrt(math.Abs(bend))
			if bend-bend != 0 { // beyond the range of g
				s.widths[i] /= 16
				continue
			}
			if wide <= 16 && (wide >= 1./16 || s.widths[i] > 1e6) {
				break
			}
			s.widths[i] /= min(max(wide, 1./16), 1e3)
		}
		s.slope[i] = (above[i] - below[i]) / (2 * steps[i])
	}
	for i := range at {
		for j := i + 1; j < k; j++ {
			look(i, 1)
			look(j, 1)
			both := s.g(at)
			look(i, -1)
			look(j, -1)
			both += s.g(at)
			look(i, 0)
			look(j, 0)
			s.curvature.SetSym(i, j, (above[i]+below[i]+above[j]+below[j]-2*s.value-both)/(2*steps[i]*steps[j]))
		}
	}
}

// newton is the step to the maximum of the quadratic function of that slope and curvature.
func (s *summit) newton() []float64 {
	k := len(s.z)
	step := make([]float64, k)
	v := mat.NewVecDense(k, step)
	var chol mat.Cholesky
	if chol.Factorize(s.curvature) && chol.SolveVecTo(v, mat.NewVecDense(k, s.slope)) == nil {
		return step
	}
	var eigen mat.EigenSym
	var vectors mat.Dense
	if !eigen.Factorize(s.curvature, true) {
		copy(step, s.slope)
		return step
	}
	eigen.VectorsTo(&vectors)
	var turned mat.VecDense
	turned.MulVec(vectors.T(), mat.NewVecDense(k, s.slope))
	for i, lambda := range eigen.Values(nil) {
		turned.SetVec(i, turned.AtVec(i)/max(math.Abs(lambda), 1e-3))
	}
	v.MulVec(&vectors, &turned)
	return step
}

// posterior asks the author.
func (m *jointMachine) posterior(
	x []float64, row int, p *ContinuousParameters, extra *mat.SymDense,
) (q local, err error) {
	q.mean = make([]float64, p.K)
	cov := mat.NewSymDense(p.K, nil)
	if extra == nil {
		extra = mat.NewSymDense(p.K, nil)
	}
	m.enter("Posterior", row, -1)
	m.inferrer.Posterior(x, p.Components, p.Shared, extra, q.mean, cov)
	for _, v := range q.mean {
		if v-v != 0 {
			return q, m.violated("returned the mean %v", q.mean)
		}
	}
	root, ok := lowerRoot(cov)
	if !ok {
		return q, m.violated("returned a covariance that is not positive definite: %v",
			mat.Formatted(cov, mat.Squeeze()))
	}
	m.leave()
	q.root = root
	return q, nil
}
