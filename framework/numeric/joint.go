package numeric

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"reflect"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/signatures"
)

// A JointDensity is the joint distribution of a row and its continuous latent variables: all that [Continuous] needs.
// Several goroutines call its methods at once; the methods must not retain their slices.
type JointDensity interface {
	// Layout describes the parameters for rows of the given number of columns: P numbers ξ_k of each latent dimension,
	// which must be Real, and the shared Θ.
	Layout(columns int) Layout
	// LogJoint is ln p(x, z|Ξ, Θ) in nats, prior of z included, finite for every z. There are len(z) latent dimensions;
	// components is K×P row-major, row k being ξ_k.
	LogJoint(x, z, components, shared []float64) float64
}

// A density that also implements one of the following interfaces is fitted faster, and to the same answer.

// An Inferrer has the local step of a row in closed form: the posterior of z is Gaussian.
type Inferrer interface {
	// Posterior puts the mean and the covariance of the density ∝ p(x, z|Ξ, Θ) exp(−½ zᵀ extra z) of z into mean
	// and cov.
	Posterior(x, components, shared []float64, extra mat.Symmetric, mean []float64, cov *mat.SymDense)
}

// JointDifferentiable gives the gradient of LogJoint by the parameters.
type JointDifferentiable interface {
	// JointGradient puts the partial derivatives of LogJoint into dComponents, K×P, and dShared.
	JointGradient(x, z, components, shared, dComponents, dShared []float64)
}

// A JointEstimator has the global step in closed form.
type JointEstimator interface {
	// EstimateJoint puts argmax Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)] into components, K×P, and shared, which hold the
	// values so far.
	EstimateJoint(rows Inferred, components, shared []float64) error
}

// A JointInformer has the information in closed form.
type JointInformer interface {
	// InformationJoint puts B, P×P, into dst, where −∇²_Ξ Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)] is
	// (Σ_n w_n E_q[z_n z_nᵀ]) ⊗ B.
	InformationJoint(rows Inferred, components, shared []float64, dst *mat.SymDense)
}

// Inferred are rows with the posteriors of their latent variables.
type Inferred struct {
	N float64 // Σ_n w_n
	K int

	s    *Posteriors
	rule *points
}

// A Posterior is a row with the mean and the covariance Root·Rootᵀ of q(z).
type Posterior struct {
	X      []float64
	Weight float64
	Mean   []float64 // K
	Root   []float64 // K×K lower triangular, row-major
}

// All yields every row of positive weight, in a fixed order.
func (w Inferred) All() iter.Seq[Posterior] {
	return func(yield func(Posterior) bool) {
		w.s.each(func(b blocks.Rows, i, n int) bool {
			weight := b.Weight(i)
			if weight == 0 {
				return true
			}
			mean, root, _ := w.s.local(n, w.rule).gaussian(w.rule)
			return yield(Posterior{b.Row(i), weight, mean, root})
		})
	}
}

// SecondMoment is Σ_n w_n E_q[z_n z_nᵀ], K×K.
func (w Inferred) SecondMoment() *mat.SymDense {
	return mat.NewSymDense(w.K, append([]float64(nil), w.s.ZZ...))
}

// compiledJoint is a joint density with its layout and the points that expectations over z are taken at.
type compiledJoint struct {
	density           JointDensity
	columns           int
	component, shared *plan
	nodes             int
	quadratic         bool // ln p(x, z) is, in z

	inferrer       Inferrer
	differentiable JointDifferentiable
	estimator      JointEstimator
	informer       JointInformer
}

// jointOptionals are what a joint density may implement besides.
var jointOptionals = []reflect.Type{
	reflect.TypeFor[Inferrer](), reflect.TypeFor[JointDifferentiable](), reflect.TypeFor[JointEstimator](),
	reflect.TypeFor[JointInformer](),
}

func compileJoint(density JointDensity, columns, nodes int, quadratic bool) (c *compiledJoint, err error) {
	if density == nil {
		return nil, fmt.Errorf("numeric: the model has no Density")
	}
	c = &compiledJoint{density: density, columns: columns, nodes: nodes, quadratic: quadratic}
	m := c.machine()
	defer m.recover(&err)
	m.enter("Layout", -1, -1)
	layout := density.Layout(columns)
	m.leave()
	if c.component, c.shared, err = plans(m.of, layout, columns); err != nil {
		return nil, err
	}
	for _, q := range c.component.list {
		if _, ok := q.kind.(realKind); !ok {
			return nil, fmt.Errorf("numeric: Layout of %T: the parameter %q of a latent dimension is not Real; "+
				"must be Real", density, q.Name)
		}
	}
	if c.component.free == 0 {
		return nil, fmt.Errorf("numeric: Layout of %T gives a latent dimension no parameters", density)
	}
	if err := signatures.Misfit(density, jointOptionals...); err != nil {
		return nil, fmt.Errorf("numeric: %w", err)
	}
	c.inferrer, _ = density.(Inferrer)
	c.differentiable, _ = density.(JointDifferentiable)
	c.estimator, _ = density.(JointEstimator)
	c.informer, _ = density.(JointInformer)
	return c, nil
}

// A jointMachine is a joint density at work in one goroutine.
type jointMachine struct {
	*compiledJoint
	caller
	points map[int]*points // by K

	z    []float64
	dxi  []float64
	dthe []float64
}

func (c *compiledJoint) machine() *jointMachine {
	return &jointMachine{compiledJoint: c, caller: caller{of: fmt.Sprintf("%T", c.density)}, points: map[int]*points{}}
}

// points are those of a rule for expectations under N(0, I_K): Σ_i weight_i f(at_i).
type points struct {
	at       []float64 // rows of K
	weight   []float64
	volume   []float64 // ln of weight_i over the density of N(0, I_K) at at_i: Σ_i exp(volume_i) f(at_i) is ∫ f
	weighted bool      // q has weights of its own at the points
}

// maxPoints bounds the points of a rule.
const maxPoints = 1 << 14

// axial is 2K points at ±√K along the axes, exact for polynomials of degree 3 (the spherical-radial rule of McNamee &
// Stenger 1967).
func axial(k int) *points {
	p := &points{at: make([]float64, 2*k*k), weight: make([]float64, 2*k)}
	for i := range k {
		p.at[2*i*k+i], p.at[(2*i+1)*k+i] = math.Sqrt(float64(k)), -math.Sqrt(float64(k))
		p.weight[2*i], p.weight[2*i+1] = 1/float64(2*k), 1/float64(2*k)
	}
	return p.measured(k)
}

// defaultNodes are those of a Gauss–Hermite rule in each of K latent dimensions: 15, 7, 5 and from four dimensions on
// 3.
func defaultNodes(k int) int {
	if list := [...]int{15, 7, 5}; k <= len(list) {
		return list[k-1]
	}
	return 3
}

// hermite is the product of Gauss–Hermite rules, exact for degree 2·nodes − 1 in each variable.
func hermite(k, nodes int) (*points, error) {
	if n := math.Pow(float64(nodes), float64(k)); n > maxPoints {
		return nil, fmt.Errorf("numeric: %d nodes in each of %d latent dimensions are too many points: lower K", nodes, k)
	}
	x, w := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	p := &points{at: make([]float64, k), weight: []float64{1}}
	for j := range k {
		next := &points{}
		for i, weight := range p.weight {
			for a := range nodes {
				row := append([]float64(nil), p.at[i*k:(i+1)*k]...)
				row[j] = math.Sqrt2 * x[a]
				next.at = append(next.at, row...)
				next.weight = append(next.weight, weight*w[a]/math.Sqrt(math.Pi))
			}
		}
		p = next
	}
	p.weighted = true
	return p.measured(k), nil
}

// measured has the volumes.
func (p *points) measured(k int) *points {
	p.volume = make([]float64, len(p.weight))
	for i, w := range p.weight {
		at := p.at[i*k : (i+1)*k]
		p.volume[i] = math.Log(w) + (float64(k)*math.Log(2*math.Pi)+linalg.Dot(at, at))/2
	}
	return p
}

// rule is the one by which q(z) of K latent dimensions is known.
func (m *jointMachine) rule(k int) (p *points, err error) {
	if p := m.points[k]; p != nil {
		return p, nil
	}
	if m.nodes == 0 && m.quadratic {
		p = axial(k)
	} else if p, err = hermite(k, cmp.Or(m.nodes, defaultNodes(k))); err != nil {
		return nil, err
	}
	m.points[k] = p
	return p, err
}

// A local is q(z) of a row: weights at the points mean + root·at_i of a rule; those of the rule where q is Gaussian.
type local struct{ mean, root, weight []float64 }

// logJoint is LogJoint at a row.
func (m *jointMachine) logJoint(x, z []float64, row int, xi, theta []float64) float64 {
	m.enter("LogJoint", row, -1)
	v := m.density.LogJoint(x, z, xi, theta)
	m.leave()
	return v
}

// expected is E_q[ln p(x, z|Ξ, Θ)].
func (m *jointMachine) expected(p *points, x []float64, row int, q local, xi, theta []float64) float64 {
	sum := 0.0
	for i, w := range q.weight {
		sum += w * m.logJoint(x, m.point(p, i, q), row, xi, theta)
	}
	return sum
}

// point is a point of q.
func (m *jointMachine) point(p *points, i int, q local) []float64 {
	m.z = resized(m.z, len(q.mean))
	p.place(i, q, m.z)
	return m.z
}

// place puts mean + root·at_i into z.
func (p *points) place(i int, q local, z []float64) {
	k := len(z)
	at := p.at[i*k : (i+1)*k]
	for a, v := range q.mean {
		for b, r := range q.root[a*k : (a+1)*k] {
			v += r * at[b]
		}
		z[a] = v
	}
}

// total is Σ_n w_n E_q[ln p(x_n, z_n|Ξ, Θ)].
func (m *jointMachine) total(s *Posteriors, p *points, xi, theta []float64) float64 {
	sum := 0.0
	s.each(func(b blocks.Rows, i, n int) bool {
		if w := b.Weight(i); w > 0 {
			sum += w * m.expected(p, b.Row(i), b.First+i, s.local(n, p), xi, theta)
		}
		return true
	})
	return sum
}

// gradient adds that of total to dxi and dtheta.
func (m *jointMachine) gradient(s *Posteriors, p *points, xi, theta, dxi, dtheta []float64) {
	m.dxi, m.dthe = resized(m.dxi, len(xi)), resized(m.dthe, len(theta))
	s.each(func(b blocks.Rows, i, n int) bool {
		if b.Weight(i) == 0 {
			return true
		}
		q := s.local(n, p)
		for j, v := range q.weight {
			w := b.Weight(i) * v
			z := m.point(p, j, q)
			m.enter("JointGradient", b.First+i, -1)
			m.differentiable.JointGradient(b.Row(i), z, xi, theta, m.dxi, m.dthe)
			m.leave()
			linalg.Axpy(w, m.dxi, dxi)
			linalg.Axpy(w, m.dthe, dtheta)
		}
		return true
	})
}
