package bpca

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// Solutions holds the fixed points of EM and of gFAB for all K, in closed form (docs/theory/bpca.md; for EM: Tipping
// & Bishop 1999). K runs from 0, noise alone, to Max.
type Solutions struct {
	Prior prior.UnitInformation // of the evidence

	spectrum *lineargaussian.Spectrum
	unit     float64   // mean column variance
	noise    []float64 // noise[k]: mean of c_{k+1..D}
	logs     []float64 // logs[k]: Σ_{i≤k} ln c_i
}

// Solve computes the fixed points for K = 1…kmax; kmax = 0 selects D − 1. It returns an error if kmax ≥ D, and if
// even K = 1 leaves no noise. Max may be below kmax: a spectrum of leading eigenvalues ends the solutions at its last
// eigenvalue, and data in a space of fewer than kmax dimensions end them below its dimension.
func Solve(s *lineargaussian.Spectrum, kmax int) (*Solutions, error) {
	if kmax == 0 {
		kmax = s.D - 1
	}
	if err := lineargaussian.CheckK(kmax, s.D); err != nil {
		return nil, err
	}
	sol := &Solutions{spectrum: s}
	if s.Rest > 0 {
		kmax = min(kmax, len(s.Values))
	}
	tail := make([]float64, s.D+1) // tail[k] = c_{k+1} + … + c_D, from the smallest up
	tail[len(s.Values)] = s.Rest
	for k := len(s.Values) - 1; k >= 0; k-- {
		tail[k] = tail[k+1] + s.Values[k]
	}
	sol.unit = tail[0] / float64(s.D)
	logs := 0.0
	for k := 0; k <= kmax; k++ {
		noise := tail[k] / float64(s.D-k)
		if !(noise > vanishing*sol.unit) {
			break
		}
		if k > 0 {
			logs += math.Log(s.Values[k-1])
		}
		sol.noise = append(sol.noise, noise)
		sol.logs = append(sol.logs, logs)
	}
	if sol.Max() < 1 {
		return nil, noNoise(1)
	}
	return sol, nil
}

// Max returns the largest K with a solution.
func (s *Solutions) Max() int { return len(s.noise) - 1 }

// Noise returns the noise variance 1/λ at k, the same for EM and gFAB.
func (s *Solutions) Noise(k int) float64 { return s.noise[k] }

// inflation is ‖w‖² of gFAB over that of EM, 1/(1 − D/N); 1 for EM.
func (s *Solutions) inflation(m framework.Method) (float64, error) {
	n, d := s.spectrum.N, float64(s.spectrum.D)
	if m == framework.EM {
		return 1, nil
	}
	if n <= d {
		return 0, lineargaussian.TooFewRows(n, s.spectrum.D)
	}
	return n / (n - d), nil
}

// Evaluation returns the input of criteria at a fixed point with k latent dimensions: that of EM, or that of gFAB,
// which FAB shares. Its LogLikelihood is the maximum in either case. If N ≤ D, gFAB has no fixed point, and the error
// is [lineargaussian.ErrTooFewRows].
func (s *Solutions) Evaluation(k int, m framework.Method) (framework.Evaluation, error) {
	if k < 0 || k > s.Max() {
		return framework.Evaluation{}, fmt.Errorf("bpca: no solution at K = %d: solutions run from K = 0 to %d", k, s.Max())
	}
	g, err := s.inflation(m)
	if err != nil {
		return framework.Evaluation{}, err
	}
	n, d, kk, sigma2 := s.spectrum.N, float64(s.spectrum.D), float64(k), s.noise[k]
	// Σ⁻¹ = g·λ·diag(c), every S_kk = N/g, and 1/λ = RSS/(ND).
	logRatio := s.logs[k] - kk*math.Log(sigma2)
	e := framework.Evaluation{
		Entropy:      n * lineargaussian.GaussianEntropy(k, -kk*math.Log(g)-logRatio),
		LogJoint:     -0.5 * (n*d*(math.Log(2*math.Pi*sigma2)+1) + n*kk*math.Log(2*math.Pi) + kk*n/g),
		LogDet:       d * kk * math.Log(s.unit/(sigma2*g)),
		LogDetCounts: -d * kk * math.Log(g),
		Shape:        shape(k, s.spectrum.D),
		N:            n,
	}
	e.LogLikelihood = -n / 2 * (s.logs[k] + (d-kk)*math.Log(sigma2) + d + d*math.Log(2*math.Pi))
	values := s.spectrum.Values[:k]
	e.Evidence = e.LogLikelihood + lineargaussian.Occam(n, s.Prior.RowsOr(), s.unit, s.spectrum.D, values, sigma2)
	return e, nil
}

// Value returns criterion c for k latent dimensions: gFIC and FIC at the fixed point of gFAB, other criteria at that
// of EM. It returns an error for ICL, which needs discrete latent variables.
func (s *Solutions) Value(k int, c framework.Criterion) (float64, error) {
	if c.Needs.Assigner {
		return 0, fmt.Errorf("bpca: %s needs discrete latent variables", c.Name)
	}
	e, err := s.Evaluation(k, MethodFor(c))
	if err != nil {
		return 0, err
	}
	return c.Value(&e), nil
}

// MethodFor returns the method whose fixed point maximises c: gFAB if c includes the curvature F, otherwise EM.
func MethodFor(c framework.Criterion) framework.Method {
	if c.Needs.Curvature {
		return framework.GFAB
	}
	return framework.EM
}

// Best returns the K ≥ 1 with the largest value of c, and that value.
func (s *Solutions) Best(c framework.Criterion) (k int, value float64, err error) {
	value = math.Inf(-1)
	for i := 1; i <= s.Max(); i++ {
		v, err := s.Value(i, c)
		if err != nil {
			return 0, 0, err
		}
		if v > value {
			k, value = i, v
		}
	}
	return k, value, nil
}

// Parameters returns W = V_K (g(Λ_K − σ²I))^½ and σ² for k ≥ 1 latent dimensions, in canonical rotation, with g = 1
// for EM and g = 1/(1 − D/N) for gFAB.
func (s *Solutions) Parameters(k int, m framework.Method) (*Parameters, error) {
	if k < 1 || k > s.Max() {
		return nil, fmt.Errorf("bpca: no parameters at K = %d: choose K from 1 to %d", k, s.Max())
	}
	g, err := s.inflation(m)
	if err != nil {
		return nil, err
	}
	vectors, err := s.spectrum.Vectors(k)
	if err != nil {
		return nil, err
	}
	d := s.spectrum.D
	p := &Parameters{K: k, D: d, Mean: s.spectrum.Mean, Loadings: make([]float64, d*k), Noise: s.noise[k]}
	for j := range k {
		length := math.Sqrt(g * max(0, s.spectrum.Values[j]-p.Noise))
		for i := range d {
			p.Loadings[i*k+j] = length * vectors.At(i, j)
		}
	}
	return p.Canonical(), nil
}
