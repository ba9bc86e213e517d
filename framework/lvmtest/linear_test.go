package lvmtest_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/laplace"
)

// linear is the right model whose latent dimensions mix: x = Wz + noise of variance σ², z normal. The
// coordinates are those of W, one latent dimension after the other, in units of the table.
type linear struct{}

type loadings struct {
	K     int       `keep:"count"`
	W     []float64 `keep:"columns"` // D×K
	Noise float64   // σ²
	Unit  float64   // root of the mean square of the table
}

func (p *loadings) w() *mat.Dense { return mat.NewDense(len(p.W)/p.K, p.K, p.W) }

type moments struct {
	K     int       `keep:"count"`
	N, XX float64   // rows, Σ xᵀx
	XZ    []float64 `keep:"columns"` // Σ x E[z]ᵀ, D×K
	ZZ    []float64 `keep:"both"`    // Σ E[zzᵀ], K×K

	cov     mat.SymDense // of z
	gain    mat.Dense    // E[z] = gain·x, K×D
	entropy float64      // of a row
}

func (s *moments) Observations() float64 { return s.N }

func (s *moments) Merge(o *moments) {
	s.N += o.N
	s.XX += o.XX
	floats.Add(s.XZ, o.XZ)
	floats.Add(s.ZZ, o.ZZ)
}

func (s *moments) zz() *mat.SymDense { return mat.NewSymDense(s.K, slices.Clone(s.ZZ)) }
func (s *moments) xz() *mat.Dense    { return mat.NewDense(len(s.XZ)/s.K, s.K, s.XZ) }

func (linear) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*loadings, error) {
	p := &loadings{K: k}
	n := 0.0
	for b, err := range src.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			n += b.Weight(i) * float64(b.D)
			p.Noise += b.Weight(i) * floats.Dot(b.Row(i), b.Row(i))
		}
		p.W = make([]float64, b.D*k)
	}
	p.Noise /= n
	p.Unit = math.Sqrt(p.Noise)
	for i := range p.W {
		p.W[i] = p.Unit * rng.NormFloat64()
	}
	return p, nil
}

func (linear) NewStatistics(p *loadings) *moments {
	return &moments{K: p.K, XZ: make([]float64, len(p.W)), ZZ: make([]float64, p.K*p.K)}
}

func (linear) Prepare(p *loadings, tilt *laplace.Tilt, s *moments) error {
	s.N, s.XX = 0, 0
	clear(s.XZ)
	clear(s.ZZ)
	precision := mat.NewSymDense(p.K, nil)
	precision.SymOuterK(1/p.Noise, p.w().T())
	for k := range p.K {
		precision.SetSym(k, k, 1+precision.At(k, k))
	}
	if err := tilt.Precision(precision); err != nil {
		return err
	}
	var chol mat.Cholesky
	chol.Factorize(precision)
	if err := chol.InverseTo(&s.cov); err != nil {
		return err
	}
	s.gain.Reset()
	s.gain.Mul(&s.cov, p.w().T())
	s.gain.Scale(1/p.Noise, &s.gain)
	s.entropy = (float64(p.K)*math.Log(2*math.Pi*math.E) - chol.LogDet()) / 2
	return nil
}

func (linear) Infer(b blocks.Rows, p *loadings, s *moments) (entropy float64, err error) {
	z := mat.NewVecDense(p.K, nil)
	for i := range b.N {
		x, w := b.Row(i), b.Weight(i)
		z.MulVec(&s.gain, mat.NewVecDense(b.D, x))
		s.N += w
		s.XX += w * floats.Dot(x, x)
		for k := range p.K {
			for d, v := range x {
				s.XZ[d*p.K+k] += w * v * z.AtVec(k)
			}
			for j := range p.K {
				s.ZZ[k*p.K+j] += w * (s.cov.At(k, j) + z.AtVec(k)*z.AtVec(j))
			}
		}
		entropy += w * s.entropy
	}
	return entropy, nil
}

func (linear) Maximize(s *moments, p, _ *loadings) (*loadings, error) {
	q := &loadings{K: p.K, W: make([]float64, len(p.W)), Unit: p.Unit}
	var wt mat.Dense
	if err := wt.Solve(s.zz(), s.xz().T()); err != nil {
		return nil, err
	}
	q.w().Copy(wt.T())
	q.Noise = residual(s, q) / (s.N * float64(len(p.W)/p.K))
	return q, nil
}

// residual is Σ E|x − Wz|².
func residual(s *moments, p *loadings) float64 {
	var cross, square mat.Dense
	cross.Mul(p.w().T(), s.xz())
	square.Product(p.w(), s.zz(), p.w().T())
	return s.XX - 2*mat.Trace(&cross) + mat.Trace(&square)
}

func (linear) LogJoint(s *moments, p *loadings) float64 {
	n, d := s.N, float64(len(p.W)/p.K)
	return -n*d/2*math.Log(2*math.Pi*p.Noise) - residual(s, p)/(2*p.Noise) - n*float64(p.K)/2*math.Log(2*math.Pi) - mat.Trace(s.zz())/2
}

// LogProb is that of N(0, WWᵀ + σ²I).
func (linear) LogProb(b blocks.Rows, p *loadings, dst []float64) ([]float64, error) {
	cov := mat.NewSymDense(b.D, nil)
	cov.SymOuterK(1, p.w())
	for d := range b.D {
		cov.SetSym(d, d, cov.At(d, d)+p.Noise)
	}
	normal, _ := distmv.NewNormal(make([]float64, b.D), cov, nil)
	dst = dst[:0]
	for i := range b.N {
		dst = append(dst, normal.LogProb(b.Row(i)))
	}
	return dst, nil
}

func (linear) Shape(p *loadings) framework.Shape {
	return framework.Shape{K: p.K, Component: len(p.W), Shared: 1, Free: len(p.W) + 1 - p.K*(p.K-1)/2}
}

func (linear) Curvature(s *moments, p *loadings, f *laplace.Curvature) error {
	information := make(laplace.Diagonal, len(p.W)/p.K)
	for d := range information {
		information[d] = p.Unit * p.Unit / p.Noise
	}
	f.Mixed(s.zz(), information)
	return nil
}

func (linear) Signal(_ *moments, p *loadings) (*mat.SymDense, error) {
	signal := mat.NewSymDense(p.K, nil)
	signal.SymOuterK(1/p.Noise, p.w().T())
	return signal, nil
}

func (m linear) Relevance(s *moments, p *loadings) ([]float64, error) {
	signal, err := m.Signal(s, p)
	values := make([]float64, p.K)
	for k := range values {
		values[k] = signal.At(k, k)
	}
	return values, err
}

func (linear) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	t, q := framework.KeepAxes(s, s.K, upTo(s.K)), framework.KeepAxes(p, p.K, upTo(p.K))
	q.w().Mul(p.w(), basis)
	t.xz().Mul(s.xz(), basis)
	mat.NewDense(s.K, s.K, t.ZZ).Product(basis.T(), s.zz(), basis)
	return t, q, nil
}

func (linear) Keep(s *moments, p *loadings, dims []int) (*moments, *loadings, error) {
	return framework.KeepAxes(s, s.K, dims), framework.KeepAxes(p, p.K, dims), nil
}

func upTo(k int) []int {
	list := make([]int, k)
	for i := range list {
		list[i] = i
	}
	return list
}

// fixedAxes counts loadings as if no rotation left x as it is.
type fixedAxes struct{ linear }

func (m fixedAxes) Shape(p *loadings) framework.Shape {
	s := m.linear.Shape(p)
	s.Free = s.Total()
	return s
}

// unmixed takes what z contributes to x for that of each dimension by itself.
type unmixed struct{ linear }

func (m unmixed) Signal(s *moments, p *loadings) (*mat.SymDense, error) {
	signal, err := m.linear.Signal(s, p)
	for i := range p.K {
		for j := range i {
			signal.SetSym(i, j, 0)
		}
	}
	return signal, err
}

// halfRotated rotates Z and leaves Π as it was.
type halfRotated struct{ linear }

func (m halfRotated) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	t, _, err := m.linear.Rotate(s, p, basis)
	return t, framework.KeepAxes(p, p.K, upTo(p.K)), err
}

// backwards rotates by the transpose.
type backwards struct{ linear }

func (m backwards) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	return m.linear.Rotate(s, p, mat.DenseCopyOf(basis.T()))
}

// firstMoments keeps the right parameters, with the sums of the first dimensions.
type firstMoments struct{ linear }

func (m firstMoments) Keep(s *moments, p *loadings, dims []int) (*moments, *loadings, error) {
	return framework.KeepAxes(s, s.K, upTo(len(dims))), framework.KeepAxes(p, p.K, dims), nil
}

// transposed rotates Π by the transpose.
type transposed struct{ linear }

func (m transposed) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	t, _, err := m.linear.Rotate(s, p, basis)
	_, q, _ := m.linear.Rotate(s, p, mat.DenseCopyOf(basis.T()))
	return t, q, err
}

// inPlace rotates what it is given.
type inPlace struct{ linear }

func (m inPlace) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	t, q, err := m.linear.Rotate(s, p, basis)
	copy(p.W, q.W)
	return t, p, err
}

type linearCase = lvmtest.Case[blocks.Rows, *loadings, *moments]

// rotating leaves the degenerate direction out: what is wrong with Rotate would show in the
// projection too.
func rotating(m framework.Model[blocks.Rows, *loadings, *moments]) linearCase {
	c := mixing(m)
	c.Degenerate = nil
	return c
}

// inTwo has no third dimension.
func inTwo(m framework.Model[blocks.Rows, *loadings, *moments]) linearCase {
	c := rotating(m)
	c.K = []int{1, 2}
	return c
}

// mixing is the case of a model whose latent dimensions mix.
func mixing(m framework.Model[blocks.Rows, *loadings, *moments]) linearCase {
	rng := rand.New(rand.NewPCG(2, 2))
	const n, d = 60, 5
	x := mat.NewDense(n, d, nil)
	for i := range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for j := range d {
			x.Set(i, j, 2*a*float64(j)+b*float64(j*j%3)+rng.NormFloat64())
		}
	}
	return linearCase{
		Model: m, Data: lvmtest.Matrix(x),
		Units: []lvmtest.Units[blocks.Rows]{lvmtest.Rescaled("times 1000", x, []float64{1000, 1000, 1000, 1000, 1000})},
		Latent: func(_ *moments, p *loadings) ([]float64, func([]float64) *loadings) {
			v := make([]float64, len(p.W))
			mat.NewDense(p.K, d, v).Scale(1/p.Unit, p.w().T())
			return v, func(v []float64) *loadings {
				q := framework.KeepAxes(p, p.K, upTo(p.K))
				q.w().Scale(p.Unit, mat.NewDense(p.K, d, v).T())
				return q
			}
		},
		Degenerate: flattened,
	}
}

// flattened is Z(I − vvᵀ) for a direction v that no axis shows: N rows are 0 along it, and lose the
// density of N(0, 1) there.
func flattened(s *moments, p *loadings) (*moments, *loadings, float64) {
	remove := mat.NewDense(s.K, s.K, nil)
	for i := range s.K {
		for j := range s.K {
			remove.Set(i, j, -1/float64(s.K))
		}
		remove.Set(i, i, 1+remove.At(i, i))
	}
	t := framework.KeepAxes(s, s.K, upTo(s.K))
	t.xz().Mul(s.xz(), remove)
	mat.NewDense(s.K, s.K, t.ZZ).Product(remove, s.zz(), remove)
	return t, p, -s.N / 2 * math.Log(2*math.Pi)
}
