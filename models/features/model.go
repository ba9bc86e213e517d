package features

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Model is the model with an exact local step, over the 2^K states of a row, up to K = [MaxExact].
type Model struct {
	Isotropic bool // one variance of the noise for all columns
	// Prior is the prior under which the evidence is computed: a prior.UnitInformation, or nil for the default.
	Prior prior.Prior `json:",omitempty"`
}

// ---- Start: Init, in start.go

// ---- Local step

// NewStatistics allocates statistics for the K and D of p.
func (Model) NewStatistics(p *Parameters) *Statistics { return newStatistics(p.K, p.D) }

// Prepare computes the part of each state's score that does not depend on the row.
func (m Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	s.clear()
	return s.states.prepare(p, tilt, m.rows())
}

// Infer adds the rows of a block, chunk by chunk.
func (Model) Infer(b blocks.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	t := &s.states
	clear(t.counts)
	for first := 0; first < b.N; first += t.size {
		n := min(t.size, b.N-first)
		t.load(b, first, n, p, &t.field)
		t.enumerate(p)
		if !simd.Finite(t.logSum[:n]) {
			return 0, remote(b, first, t.logSum)
		}
		entropy += linalg.Dot(t.w[:n], t.logSum[t.padded:])
		t.tally()
		t.marginals(p.K)
		s.addRows(t.x[:t.padded*p.D], t.w[:t.padded], t.on[:p.K*t.padded])
	}
	t.addPairs(s.ZZ, p.K)
	linalg.Mirror(p.K+1, s.ZZ)
	s.Entropy += entropy
	return entropy, nil
}

// remote is the error of a row of a chunk whose log density is below the range of float64, or that has missing entries.
func remote(b blocks.Rows, first int, logSum []float64) error {
	for i, v := range logSum {
		if v-v == 0 {
			continue
		}
		for j, x := range b.Row(first + i) {
			if x-x != 0 {
				return fmt.Errorf("features: %w", blocks.NotFinite(b.First+first+i, j, x))
			}
		}
		return blocks.FaultyRow(b.First+first+i,
			"is so far from every state that its log density is below the range of float64: look for an outlier")
	}
	return nil
}

// addRows adds rows about the center, n×D, of weights w, whose features are on with the probabilities on, K×n, which it
// overwrites.
func (s *Statistics) addRows(x, w, on []float64) {
	n, d, k := len(w), len(s.X), s.K
	for i, v := range w {
		s.N += v
		s.ZZ[0] += v
		for j, u := range x[i*d : (i+1)*d] {
			s.X[j] += v * u
			s.XX[j] += v * u * u
		}
	}
	for l := range k {
		q := on[l*n : (l+1)*n]
		for i, v := range q {
			if v > 0 && v < 1 {
				s.Doubt[l] -= w[i] * (v*math.Log(v) + (1-v)*math.Log1p(-v))
			}
			q[i] *= w[i]
		}
	}
	for j := range d {
		s.XZ[j*(k+1)] = s.X[j]
	}
	if k > 0 {
		linalg.MulSerial(true, true, 1, linalg.General(n, d, x), linalg.General(k, n, on), 1,
			blas64.General{Rows: d, Cols: k, Stride: k + 1, Data: s.XZ[1:]})
	}
}

// ---- Global step

// Maximize sets (b, W) to the regression of x on E[z], π to the share of the rows with each feature, and Ψ to the
// residual variance, no less than the floor. If features depend linearly on others, so that many W are maxima, it
// takes the shortest W.
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{
			On:       make([]float64, p.K),
			Offset:   make([]float64, p.D),
			Loadings: make([]float64, p.D*p.K),
			Noise:    make([]float64, len(p.Noise)),
		}
	}
	dst.K, dst.D, dst.Isotropic, dst.Center, dst.Unit, dst.Floor = p.K, p.D, p.Isotropic, p.Center, p.Unit, p.Floor
	for k := range p.K {
		dst.On[k] = min(s.ZZ[k+1]/s.N, 1)
	}
	s.fit.solve(s, dst.Loadings)
	clear(dst.Noise)
	for j := range p.D {
		w := dst.Loadings[j*p.K : (j+1)*p.K]
		mean := s.X[j] / s.N
		dst.Offset[j] = p.Center[j] + mean - floats.Dot(w, dst.On)
		rest := s.XX[j]/s.N - mean*mean - floats.Dot(w, s.fit.cross[j*p.K:(j+1)*p.K])/s.N
		dst.Noise[min(j, len(dst.Noise)-1)] += rest
	}
	if p.Isotropic {
		dst.Noise[0] /= float64(p.D)
	}
	for j, floor := range p.Floor {
		dst.Noise[j] = max(dst.Noise[j], floor)
	}
	return dst, nil
}

// LogJoint returns E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	value, k := 0.0, p.K+1
	for j := range p.D {
		w, cross := p.Loadings[j*p.K:(j+1)*p.K], s.XZ[j*k:(j+1)*k]
		shift := p.Offset[j] - p.Center[j]
		rest := s.XX[j] + shift*(s.N*shift-2*s.X[j])
		for l, v := range w {
			row := s.ZZ[(l+1)*k:]
			rest += v * (floats.Dot(w, row[1:k]) + 2*shift*row[0] - 2*cross[l+1])
		}
		value -= (s.N*math.Log(2*math.Pi*p.NoiseOf(j)) + rest/p.NoiseOf(j)) / 2
	}
	for l, on := range p.On {
		n := s.ZZ[l+1]
		value += n*logOf(on) + (s.N-n)*logOf(1-on)
	}
	return value
}

// Shape counts b and W as Ξ, π and Ψ as Θ.
func (Model) Shape(p *Parameters) framework.Shape {
	return framework.Shape{K: p.K, Component: p.D * (p.K + 1), Shared: p.K + len(p.Noise)}
}

// ---- Curvature

// ErrNone reports that FAB or gFAB has emptied the last feature. There is no smaller model, and the objective would
// grow without bound.
var ErrNone = errors.New("features: the last feature holds at most one row's worth of data: the rows may have none")

// Curvature adds F = S/N ⊗ Ψ⁻¹ in units of the columns, where S = Σ E[z̃ z̃ᵀ] and z̃ = (1, z). It returns [ErrNone]
// for a single feature without data.
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		s.integrate(p, f, m.rows())
		return nil
	}
	if on := s.ZZ[1]; p.K == 1 && !(on-on*on/s.N > 1) {
		return ErrNone
	}
	n := p.K + 1
	s.count.SetRawSymmetric(blas64.Symmetric{N: n, Stride: n, Data: s.ZZ, Uplo: blas.Upper})
	f.Mixed(&s.count, p.ratios())
	return nil
}

// ratios are the columns' variances in units of the noise, in memory of p.
func (p *Parameters) ratios() laplace.Block {
	if p.information == nil {
		p.information = laplace.Diagonal(make([]float64, p.D))
	}
	information := p.information.(laplace.Diagonal)
	for j := range information {
		information[j] = p.UnitOf(j) / p.NoiseOf(j)
	}
	return p.information
}

// ---- Projection

// Relevance returns, for each feature, the least immediate loss of gFIC in nats if the other features took over as
// much of it as they can. A negative number means that removing the feature is a gain; −Inf, that the others account
// for all but one row's worth of it.
func (m Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	values, here := make([]float64, p.K), m.LogJoint(s, p)
	left := s.unaccounted()
	for k := range values {
		if !(left[k] > 1) {
			values[k] = math.Inf(-1)
			continue
		}
		t, q := s.without(p, k)
		q, err := m.Maximize(t, q, nil)
		if err != nil {
			return nil, err
		}
		charge := (float64(p.D)*math.Log(left[k]) + math.Log(s.N) - float64(p.K+1)*p.logNoise() + float64(p.K)*q.logNoise()) /
			2
		values[k] = here + s.Doubt[k] - m.LogJoint(t, q) - charge
	}
	return values, nil
}

// logNoise is ln|Ψ| in units of the columns.
func (p *Parameters) logNoise() (sum float64) {
	for j := range p.D {
		sum += math.Log(p.NoiseOf(j) / p.UnitOf(j))
	}
	return sum
}

// without leaves a feature out; the parameters are not maximised yet.
func (s *Statistics) without(p *Parameters, k int) (*Statistics, *Parameters) {
	var dims []int
	for l := range p.K {
		if l != k {
			dims = append(dims, l)
		}
	}
	return framework.KeepAxes(s, p.K, dims), framework.KeepAxes(p, p.K, dims)
}

// Keep restricts s and p to the features dims. Their regression takes over the part of the dropped features that it
// can explain: all of it, if these were constant or linear functions of dims.
func (m Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	s, p = framework.KeepAxes(s, p.K, dims), framework.KeepAxes(p, p.K, dims)
	q, err := m.Maximize(s, p, nil)
	return s, q, err
}

// LabelEntropy returns the entropy of the features, in nats, which ICL subtracts: features are the labels of a row.
func (Model) LabelEntropy(s *Statistics) float64 { return s.Entropy }
