package features

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// The evidence (docs/theory/evidence.md, "Binary features"): x = b + W(z − ½) + ε, centred so that a feature and its
// opposite have the same prior. Of column j b and each w are normal about its mean and 0, with the variance of the
// column; ln of the noise is normal about that variance, with the information of a row; π_k is Beta(½, ½) and
// integrated out, as b and W are given the noise.

// jeffreys is the prior of π.
var jeffreys = prior.Beta{A: 0.5, B: 0.5}

// centered is S = Σ E[z̃ z̃ᵀ] with z̃ = (1, z − ½), in memory of s, and its eigenvalues and eigenvectors.
func (s *Statistics) centered() (*mat.SymDense, *mat.EigenSym) {
	n := s.K + 1
	if s.about.IsEmpty() {
		s.about = *mat.NewSymDense(n, nil)
	}
	s.about.SetSym(0, 0, s.N)
	for i := range s.K {
		one := s.ZZ[i+1]
		s.about.SetSym(0, i+1, one-s.N/2)
		for j := i; j < s.K; j++ {
			s.about.SetSym(i+1, j+1, s.ZZ[(i+1)*n+j+1]-(one+s.ZZ[j+1])/2+s.N/4)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(&s.about, true) {
		panic("features: the sums of features are not finite") // probabilities times weights always are
	}
	return &s.about, &eigen
}

// uncenter takes a quadratic form in (1, z − ½) to that in (1, z), but for a constant.
func uncenter(form *mat.SymDense) {
	n := form.SymmetricDim()
	for i := 1; i < n; i++ {
		linear := form.At(0, i)
		for j := 1; j < n; j++ {
			linear -= form.At(i, j) / 2
		}
		form.SetSym(0, i, linear)
	}
}

// effects are (b − center + ½Σw, w) of column j, which its prior is about.
func (p *Parameters) effects(j int) []float64 {
	w := p.Loadings[j*p.K : (j+1)*p.K]
	return append([]float64{p.Offset[j] - p.Center[j] + floats.Sum(w)/2}, w...)
}

// CheckPrior returns an error unless Prior is nil or a valid prior.UnitInformation.
func (m Model) CheckPrior() error {
	_, err := prior.AsUnitInformation(m.Prior)
	return err
}

// rows is what the prior is worth.
func (m Model) rows() float64 {
	unit, _ := m.Prior.(prior.UnitInformation)
	return unit.RowsOr()
}

// MaximizePosterior sets (b, W) to the ridge regression of x on z̃ given the noise, then the noise to its posterior
// mode, and π to its posterior mean.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = p.clone()
	}
	dst.K, dst.D, dst.Isotropic, dst.Center, dst.Unit, dst.Floor = p.K, p.D, p.Isotropic, p.Center, p.Unit, p.Floor
	for k := range p.K {
		dst.On[k] = (min(s.ZZ[k+1], s.N) + jeffreys.A) / (s.N + jeffreys.A + jeffreys.B)
	}
	_, eigen := s.centered()
	values, vectors := eigen.Values(nil), new(mat.Dense)
	eigen.VectorsTo(vectors)
	rest := make([]float64, len(dst.Noise))
	n := p.K + 1
	for j := range p.D {
		cross := slices.Clone(s.XZ[j*n : (j+1)*n])
		cross[0] = s.X[j]
		for k := range p.K {
			cross[k+1] -= s.X[j] / 2
		}
		along, theta := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		along.MulVec(vectors.T(), mat.NewVecDense(n, cross))
		left := s.XX[j]
		ratio := m.rows() * p.NoiseOf(j) / p.UnitOf(j)
		for i, e := range values {
			e = max(0, e)
			r := along.AtVec(i)
			t := r / (e + ratio)
			left += t * (e*t - 2*r)
			along.SetVec(i, t)
		}
		theta.MulVec(vectors, along)
		w := dst.Loadings[j*p.K : (j+1)*p.K]
		copy(w, theta.RawVector().Data[1:])
		dst.Offset[j] = p.Center[j] + theta.AtVec(0) - floats.Sum(w)/2
		rest[min(j, len(rest)-1)] += max(0, left)
	}
	if p.Isotropic {
		rest[0] /= float64(p.D)
	}
	for j, unit := range p.Unit {
		x := laplace.LogVarianceMode(s.N, rest[j]/(s.N*unit), m.rows())
		dst.Noise[j] = max(unit*math.Exp(x), p.Floor[j])
	}
	return dst, nil
}

// LogModes returns ln(K! 2^K): the K! orders of the features, and 2^K choices between features and their opposites.
func (Model) LogModes(p *Parameters) float64 {
	orders, _ := math.Lgamma(float64(p.K) + 1)
	return orders + float64(p.K)*math.Ln2
}

// integrate adds the integrals under the prior.
func (s *Statistics) integrate(p *Parameters, f *laplace.Curvature, worth float64) {
	count, eigen := s.centered()
	ratios := p.ratios()
	count.ScaleSym(1/worth, count)
	f.Mixed(count, ratios)
	counts := eigen.Values(nil)
	for i, e := range counts {
		counts[i] = max(0, e) / worth
	}
	distance := 0.0
	for j := range p.D {
		theta := p.effects(j)
		distance += worth * linalg.Dot(theta, theta) / (2 * p.UnitOf(j))
	}
	exact := laplace.CountGap(counts, ratios.(laplace.Diagonal)) + float64(s.K+1)*ratios.LogDet()/2 // which Mixed took off
	f.About(exact, distance)
	each := float64(p.D) / float64(len(p.Noise)) // columns of a variance
	for j, v := range p.Noise {
		x := math.Log(v / p.Unit[j])
		f.Shared(laplace.Term{Size: 1, Count: s.N, Worth: worth, Distance: worth * each * x * x / 4})
	}
	for k, on := range p.On {
		n := min(s.ZZ[k+1], s.N)
		beta := prior.Beta{A: jeffreys.A + n, B: jeffreys.B + s.N - n}
		f.Exact(beta.LogNorm() - jeffreys.LogNorm() - n*logOf(on) - (s.N-n)*logOf(1-on))
	}
}
