package lds

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
)

// CheckPrior returns nil: the prior is fixed, and worth one step.
func (Model) CheckPrior() error { return nil }

// LogModes returns 0: the evidence already includes the volume of the rotations.
func (Model) LogModes(*Parameters) float64 { return 0 }

// MaximizePosterior is Maximize. If a direction of z has no variance, its loadings and dynamics become 0.
func (m Model) MaximizePosterior(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	q, err := m.estimate(s, p, dst, 0)
	if errors.Is(err, framework.ErrDegenerate) {
		return m.estimate(s, p, dst, 1e-8*s.N)
	}
	return q, err
}

// occam is by how much the bound that q gives of the evidence is above E_q[ln p(X,Z|Π)] + H(q), in nats
// (docs/theory/lds.md, section 3). Where z has the second moments I, mean, loadings and effects of inputs of a column
// are normal about its mean in the table and 0, with its variance there, and the mean of z_1 is N(0, I); each number of
// A and B is N(0, 1). These are integrated out, exactly given the noise, whose logarithm is normal about that of the
// variance with the information of a step.
func (s *Statistics) occam(p *Parameters) (nats float64, err error) {
	var unit mat.Cholesky
	var lower, inverse mat.TriDense
	second := s.second()
	for i := range p.K { // so that a dimension may be empty
		second.SetSym(i, i, 1+second.At(i, i))
	}
	if !unit.Factorize(second) {
		return 0, errors.New("lds: the squares of the latent dimensions are not finite")
	}
	unit.Scale(1/s.N, &unit)
	unit.LTo(&lower)
	if err := inverse.InverseTri(&lower); err != nil {
		return 0, err
	}
	standard := s.mapped(&inverse)
	for j := range p.D {
		noise, theta, n := p.NoiseOf(j)/p.Unit[j], p.coefficients(j), s.width()
		own := mat.NewDense(1, n-1, theta)
		own.Slice(0, 1, n-1-p.K, n-1).(*mat.Dense).Mul(mat.NewDense(1, p.K, p.Loadings[j*p.K:(j+1)*p.K]), &lower)
		own.Scale(1/math.Sqrt(p.Unit[j]), own)
		count := block(standard.column(j), n, 1)
		standardise(count, own, 1, p.Inputs, s.seen(j))
		count.ScaleSym(1/noise, count)
		x := math.Log(noise)
		nats -= lineargaussian.Charge(count, own) + x*x/4 + math.Log1p(s.seen(j))/2*float64(len(p.Noise))/float64(p.D)
	}
	var start mat.Dense
	var count mat.SymDense
	start.Mul(mat.NewDense(1, p.K, p.Start), inverse.T())
	count.SymOuterK(s.sequences()/p.Spread, lower.T())
	moves, _ := s.before()
	own := mat.NewDense(p.K, p.Inputs+p.K, nil)
	for i := range p.K {
		copy(own.RawRowView(i), p.Drive[i*p.Inputs:(i+1)*p.Inputs])
		copy(own.RawRowView(i)[p.Inputs:], p.Dynamics[i*p.K:])
	}
	standardise(moves, own, 0, p.Inputs, s.N-s.sequences())
	nats -= lineargaussian.Charge(&count, &start) + lineargaussian.Charge(moves, own)
	nats -= float64(p.starting()-p.K) * math.Log1p(s.sequences()) / 2
	return nats + p.rotations(s.second()), nil
}

// standardise has inputs, on the rows from first on, in units in which their mean square over n steps is 1: their
// coefficients are standard normal, then.
func standardise(count *mat.SymDense, own *mat.Dense, first, inputs int, n float64) {
	rows, _ := own.Dims()
	for i := first; i < first+inputs; i++ {
		root := math.Sqrt(count.At(i, i) / n)
		if !(root > 0) { // no step that counts has an input
			continue
		}
		for j := range count.SymmetricDim() {
			count.SetSym(i, j, count.At(i, j)/root)
		}
		count.SetSym(i, i, count.At(i, i)/root)
		for r := range rows {
			own.Set(r, i, own.At(r, i)*root)
		}
	}
}

// rotations is ln of the volume of rotations, in units of how well the loadings fix one, as of package factor.
func (p *Parameters) rotations(second *mat.SymDense) float64 {
	var eigen mat.EigenSym
	var signal mat.Dense
	signal.Product(p.weighted(), second, p.weighted().T())
	if !eigen.Factorize(linalg.SymmetricPart(&signal), false) {
		return laplace.LogVolume(p.K)
	}
	values := append(make([]float64, p.K), eigen.Values(nil)...) // of which the last K count
	values = values[p.D:]
	for i, v := range values {
		values[i] = max(0, v)
	}
	return laplace.LogRotations(1, values)
}
