package bpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// A Spectrum is the eigendecomposition C = VΛVᵀ of a table's covariance matrix: all that the closed form needs.
type Spectrum struct {
	N      float64   // sum of the row weights
	D      int       // columns
	Mean   []float64 // length D
	Values []float64 // eigenvalues c_1 ≥ c_2 ≥ …; those beyond the last sum to Rest
	Rest   float64   // sum of the other eigenvalues; 0 in a full spectrum

	// Vectors are computed on demand.
	eigen *linalg.SymmetricEigen // of the scatter, or of the products of rows
	rows  *mat.Dense             // N×D, centred, when it is of these
	mu    sync.Mutex
	found *mat.Dense // leading vectors, as columns
}

// Spectrum decomposes the covariance of the moments.
func (m *Moments) Spectrum() (*Spectrum, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	s := &Spectrum{N: m.N, D: m.D, Mean: m.Mean}
	return s, s.decompose(m.D, slices.Clone(m.Scatter))
}

// LeadingSpectrum computes the k largest eigenvalues only, for [Solve] up to K = k. For k much less than D this is a
// small part of the work of Spectrum. Errors are below 1e-10·c_1, and much smaller for well separated eigenvalues. If
// the block Lanczos method does not converge, LeadingSpectrum computes the full spectrum.
func (m *Moments) LeadingSpectrum(k int) (*Spectrum, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if k < 1 || k > m.D {
		return nil, fmt.Errorf("bpca: %d leading eigenvalues of %d columns: choose 1 to %d", k, m.D, m.D)
	}
	scatter := mat.NewDense(m.D, m.D, m.Scatter)
	values, vectors, ok := linalg.Leading(m.D, k, m.D/2, func(dst, x *mat.Dense) {
		linalg.Mul(false, false, 1, scatter.RawMatrix(), x.RawMatrix(), 0, dst.RawMatrix())
	}, 1e-10)
	if !ok {
		return m.Spectrum()
	}
	s := &Spectrum{N: m.N, D: m.D, Mean: m.Mean, Values: values, Rest: mat.Trace(scatter) / m.N, found: vectors}
	for i, c := range values {
		values[i] = c / m.N
		s.Rest -= values[i]
	}
	s.Rest = max(0, s.Rest)
	return s, nil
}

// Decompose computes the spectrum of a table in memory: from its D×D moments, or from the N×N inner products of its
// rows if there are fewer rows than columns.
func Decompose(ctx context.Context, t *framework.Table, workers int) (*Spectrum, error) {
	n, d := t.Dims()
	if n >= d {
		m, err := Summarize(ctx, t, workers)
		if err != nil {
			return nil, err
		}
		return m.Spectrum()
	}
	var c columns
	all := t.All()
	if err := c.add(all); err != nil {
		return nil, err
	}
	if err := checkData(c.rows, c.n, c.variances()); err != nil {
		return nil, err
	}
	s := &Spectrum{N: c.n, D: d, Mean: c.mean, rows: mat.NewDense(n, d, nil)}
	for i := range n {
		centre(s.rows.RawRowView(i), all.Row(i), c.mean, math.Sqrt(all.Weight(i)))
	}
	gram := make([]float64, n*n)
	linalg.RowGram(s.rows.RawMatrix(), gram)
	return s, s.decompose(n, gram)
}

// decompose finds the values, from the scatter matrix or from the products of rows, of order n.
func (s *Spectrum) decompose(n int, a []float64) error {
	var ok bool
	if s.eigen, ok = linalg.NewSymmetricEigen(n, a); !ok {
		return errors.New("bpca: no eigenvalues of the covariance: the data overflow; divide them by a large number first")
	}
	s.Values = slices.Clone(s.eigen.Values)
	for i, c := range s.Values {
		s.Values[i] = max(0, c) / s.N
	}
	return nil
}

// Vectors returns the eigenvectors of the k largest eigenvalues, as the columns of a D×k matrix.
// A few cost a small part of the time that all cost. It returns an error unless 1 ≤ k ≤ len(Values), and for a
// spectrum that this package has not computed.
func (s *Spectrum) Vectors(k int) (mat.Matrix, error) {
	if k < 1 || k > len(s.Values) {
		return nil, fmt.Errorf("bpca: vectors of %d eigenvalues: choose 1 to %d", k, len(s.Values))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	has := 0
	if s.found != nil {
		_, has = s.found.Dims()
	}
	if k > has {
		if s.eigen == nil {
			return nil, errors.New("bpca: eigenvalues alone have no vectors: decompose moments or a table")
		}
		s.find(min(max(k, 2*has), len(s.Values)))
	}
	return s.found.Slice(0, s.D, 0, k), nil
}

// find finds the k leading vectors.
func (s *Spectrum) find(k int) {
	u := s.eigen.Vectors(k)
	if s.found = u; s.rows == nil {
		return
	}
	s.found = mat.NewDense(s.D, k, nil)
	linalg.Mul(true, false, 1, s.rows.RawMatrix(), u.RawMatrix(), 0, s.found.RawMatrix())
	for j := range k {
		if length := mat.Norm(s.found.ColView(j), 2); length > 0 {
			for i := range s.D {
				s.found.Set(i, j, s.found.At(i, j)/length)
			}
		}
	}
}

// Solutions holds the fixed points of EM and of gFAB for all K, in closed form (docs/theory/bpca.md; for EM: Tipping
// & Bishop 1999). K runs from 0, noise alone, to Max.
type Solutions struct {
	Prior prior.UnitInformation // of the evidence

	spectrum *Spectrum
	unit     float64   // mean column variance
	noise    []float64 // noise[k]: mean of c_{k+1..D}
	logs     []float64 // logs[k]: Σ_{i≤k} ln c_i
}

// Solve computes the fixed points for K = 1…kmax; kmax = 0 selects D − 1. It returns an error if kmax ≥ D, and if
// even K = 1 leaves no noise. Max may be below kmax: a spectrum of leading eigenvalues ends the solutions at its last
// eigenvalue, and data in a space of fewer than kmax dimensions end them below its dimension.
func Solve(s *Spectrum, kmax int) (*Solutions, error) {
	if kmax == 0 {
		kmax = s.D - 1
	}
	if err := checkK(kmax, s.D); err != nil {
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
		return 0, tooFewRows(n, s.spectrum.D)
	}
	return n / (n - d), nil
}

// Evaluation returns the input of criteria at a fixed point with k latent dimensions: that of EM, or that of gFAB,
// which FAB shares. Its LogLikelihood is the maximum in either case. If N ≤ D, gFAB has no fixed point, and the error
// is [ErrTooFewRows].
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
		Entropy:      n * GaussianEntropy(k, -kk*math.Log(g)-logRatio),
		LogJoint:     -0.5 * (n*d*(math.Log(2*math.Pi*sigma2)+1) + n*kk*math.Log(2*math.Pi) + kk*n/g),
		LogDet:       d * kk * math.Log(s.unit/(sigma2*g)),
		LogDetCounts: -d * kk * math.Log(g),
		Shape:        shape(k, s.spectrum.D),
		N:            n,
	}
	e.LogLikelihood = -n / 2 * (s.logs[k] + (d-kk)*math.Log(sigma2) + d + d*math.Log(2*math.Pi))
	e.Evidence = e.LogLikelihood + Occam(n, s.Prior.RowsOr(), s.unit, s.spectrum.D, s.spectrum.Values[:k], sigma2)
	return e, nil
}

// Value returns criterion c for k latent dimensions: gFIC and FIC at the fixed point of gFAB, other criteria at that
// of EM. It returns an error for ICL, which needs discrete latent variables.
func (s *Solutions) Value(k int, c framework.Criterion) (float64, error) {
	if c.Needs&framework.NeedsAssigner != 0 {
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
	if c.Needs&framework.NeedsCurvature != 0 {
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
