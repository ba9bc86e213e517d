package factor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// Moments returns the moments, for [Solve], of n rows with means 0 and the given covariance matrix (D×D, with divisor
// n).
func Moments(covariance mat.Symmetric, n float64) *lineargaussian.Moments {
	d := covariance.SymmetricDim()
	m := &lineargaussian.Moments{Rows: int(n), N: n, D: d, Mean: make([]float64, d), Scatter: make([]float64, d*d)}
	mat.NewDense(d, d, m.Scatter).Scale(n, covariance)
	return m
}

// Solutions holds, for all K, the maximum likelihood estimates and the fixed points of gFAB, whose loadings differ
// from the estimates in length alone (docs/theory/factor.md, section 2). K runs from 0, no factors, to Max.
type Solutions struct {
	Structure
	Prior  prior.UnitInformation // of the evidence
	N      float64
	D      int
	mean   []float64
	unit   []float64
	points []estimate

	covariance []float64
	last       []float64 // of factor analysis: the noise of the last K, in units of the columns' variances
}

// estimate is that of one K.
type estimate struct {
	loadings, noise []float64
	values          []float64 // Λ: eigenvalues of I + Ψ^−½WWᵀΨ^−½, those of factors
	logLikelihood   float64
	converged       bool

	evidence float64 // given prior, once it is known
	prior    *prior.UnitInformation
}

// errBlocks reports that there is no closed form.
var errBlocks = errors.New("factor: more than two blocks have no closed form: fit them by gFAB or EM")

// ErrUnidentified reports more factors than the covariance matrix determines.
var ErrUnidentified = errors.New("the covariance matrix does not determine so many factors")

// Solve computes the estimates for K = 0…kmax. kmax = 0 selects the largest K that the columns identify (see
// Structure.Identified); a larger kmax is an error. The noise of a column is at least [Floor] of its variance. Max is
// below kmax if no further factor has a signal.
func Solve(m *lineargaussian.Moments, st Structure, kmax int) (*Solutions, error) {
	c, err := st.covariance(m)
	if err != nil {
		return nil, err
	}
	if len(st.Blocks) > 2 {
		return nil, errBlocks
	}
	s := &Solutions{Structure: st, N: m.N, D: m.D, mean: m.Mean, unit: st.gather(c, m.D), covariance: c}
	if err := s.Extend(kmax); err != nil {
		return nil, err
	}
	return s, nil
}

// Extend continues the solutions to kmax, with 0 as in [Solve]. In factor analysis, where each K is a search, it
// keeps those that it has.
func (s *Solutions) Extend(kmax int) error {
	most := s.Identified(s.D)
	if kmax == 0 {
		kmax = most
	}
	if kmax < 0 || kmax > most {
		return fmt.Errorf("factor: K = %d: %w: %d columns have at most %d", kmax, ErrUnidentified, s.D, most)
	}
	if !s.Isotropic && s.Blocks == nil {
		return s.diagonal(s.covariance, kmax)
	}
	s.points = nil
	if s.Isotropic {
		return s.isotropic(s.covariance, kmax)
	}
	return s.canonical(s.covariance, kmax)
}

// add adds an estimate of the next K, given ln|Ψ| and the trace of Ψ⁻¹C.
func (s *Solutions) add(e estimate, deviance float64) {
	e.logLikelihood = -s.N / 2 * (deviance + float64(s.D)*math.Log(2*math.Pi))
	s.points = append(s.points, e)
}

// isotropic is probabilistic PCA (Tipping & Bishop 1999).
func (s *Solutions) isotropic(c []float64, kmax int) error {
	eigen, ok := linalg.NewSymmetricEigen(s.D, slices.Clone(c))
	if !ok {
		return errEigen
	}
	rest := make([]float64, s.D+1) // sums from the smallest up
	for k := s.D - 1; k >= 0; k-- {
		rest[k] = rest[k+1] + max(0, eigen.Values[k])
	}
	for k := 0; k <= kmax; k++ {
		noise := rest[k] / float64(s.D-k)
		if !(noise > vanishing*rest[0]/float64(s.D)) {
			break
		}
		r, _ := s.root([]float64{noise}, s.D)
		p := &profile{values: slices.Clone(eigen.Values[:k]), trace: rest[0] / noise}
		if k > 0 {
			p.vectors = mat.DenseCopyOf(eigen.Vectors(k)).RawMatrix().Data
			linalg.Scale(1/noise, p.values)
		}
		s.add(estimate{loadings: p.loadings(r), noise: []float64{noise}, values: p.values, converged: true},
			p.deviance(float64(s.D)*math.Log(noise)))
	}
	if len(s.points) == 0 {
		return noNoise(0)
	}
	return nil
}

// canonical is CCA (Bach & Jordan 2005): with canonical correlations ρ the noise of each pair of canonical variates is
// 1 − ρ, no less than Floor, and what they have in common is shared out evenly, which is best for |Ψ|.
func (s *Solutions) canonical(c []float64, kmax int) error {
	r, ok := s.root(s.unit, s.D)
	if !ok {
		return errDependent
	}
	rho, variates, err := s.variates(c, r)
	if err != nil {
		return err
	}
	deviance := float64(s.D)
	for _, v := range r.logDet {
		deviance += v
	}
	psi, w := mat.NewDense(s.D, s.D, nil), mat.NewDense(s.D, max(1, kmax), nil) // of whitened blocks
	for j := range s.D {
		psi.Set(j, j, 1)
	}
	var values []float64
	for k := 0; ; k++ {
		own := mat.DenseCopyOf(psi) // LΨLᵀ, column by column and row by row
		columns(own.RawMatrix().Data, s.D, r.colour)
		for i := range s.D {
			r.colour(own.RawRowView(i))
		}
		e := estimate{noise: s.gather(own.RawMatrix().Data, s.D), values: slices.Clone(values), converged: true}
		if k > 0 {
			e.loadings = mat.DenseCopyOf(w.Slice(0, s.D, 0, k)).RawMatrix().Data
			columns(e.loadings, k, r.colour)
		}
		s.add(e, deviance)
		if k == kmax {
			return nil
		}
		noise := max(1-rho[k], Floor)
		common := max(0, (1+rho[k]-noise)/2)
		u := variates.ColView(k)
		psi.RankOne(psi, noise-1, u, u) // of which gather takes the blocks
		for j := range s.D {
			w.Set(j, k, math.Sqrt(common)*u.AtVec(j))
		}
		values = append(values, 1+2*common/noise)
		deviance += math.Log(1+rho[k]) + math.Log(noise) + (1-rho[k])/noise - 1
	}
}

// variates are the canonical correlations of two blocks, descending, and as columns the canonical variates of whitened
// blocks, LLᵀ their covariance, those of the two blocks one upon the other.
func (s *Solutions) variates(c []float64, r *root) (rho []float64, variates *mat.Dense, err error) {
	white := r.white(c, s.D)
	a, b := s.Blocks[0], s.Blocks[1]
	cross := mat.NewDense(len(a), len(b), nil)
	cross.Apply(func(i, j int, _ float64) float64 { return white.At(a[i], b[j]) }, cross)
	var svd mat.SVD
	if !svd.Factorize(cross, mat.SVDThin) {
		return nil, nil, errEigen
	}
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	rho = svd.Values(nil)
	variates = mat.NewDense(s.D, len(rho), nil)
	for k := range rho {
		for at, j := range a {
			variates.Set(j, k, left.At(at, k))
		}
		for at, j := range b {
			variates.Set(j, k, right.At(at, k))
		}
	}
	return rho, variates, nil
}

// Max returns the largest K with an estimate.
func (s *Solutions) Max() int { return len(s.points) - 1 }

// LogLikelihood returns the maximum of ln p(X|Π) with k factors, in nats.
func (s *Solutions) LogLikelihood(k int) float64 { return s.points[k].logLikelihood }

// Converged reports whether the search for the noise of k factors ended at a maximum. It is true if the noise needs
// no search.
func (s *Solutions) Converged(k int) bool { return s.points[k].converged }

// Evaluation returns the input of criteria with k factors: at the maximum of the likelihood for EM, otherwise at the
// fixed point of gFAB, which FAB shares. Its LogLikelihood is the maximum in either case. If N ≤ D, gFAB has no fixed
// point, and the error is [lineargaussian.ErrTooFewRows].
func (s *Solutions) Evaluation(k int, m framework.Method) (framework.Evaluation, error) {
	if k < 0 || k > s.Max() {
		return framework.Evaluation{}, fmt.Errorf("factor: no solution at K = %d: solutions run from K = 0 to %d", k, s.Max())
	}
	n, d, kk, at := s.N, float64(s.D), float64(k), s.points[k]
	e := framework.Evaluation{Shape: s.shape(k, s.D), N: n, LogLikelihood: at.logLikelihood}
	logDet, c := 0.0, 1.0 // Σ⁻¹ = Λ/c
	for _, v := range at.values {
		logDet -= math.Log(max(1, v))
	}
	bound := at.logLikelihood
	if m != framework.EM {
		if n <= d {
			return e, lineargaussian.TooFewRows(n, s.D)
		}
		c = 1 - d/n
		bound += kk / 2 * (d + n*math.Log(c))
		e.LogDetCounts = d * kk * math.Log(c)
		e.LogDet = e.LogDetCounts + d*kk*s.logInformation(at.noise, s.unit)
	}
	e.Entropy = n * lineargaussian.GaussianEntropy(k, logDet+kk*math.Log(c))
	e.LabelEntropy = e.Entropy
	e.LogJoint = bound - e.Entropy
	return e, nil
}

// Values returns criterion c for K = 0…Max: at gFAB's fixed points if c includes the curvature, otherwise at the
// maximum of the likelihood.
func (s *Solutions) Values(c framework.Criterion) ([]float64, error) {
	var fits []framework.Evaluation
	var values []float64
	for k := range s.points {
		e, err := s.evaluated(k, c)
		if err != nil {
			return nil, err
		}
		fits = append(fits, e)
		if c.Sweep == nil {
			values = append(values, c.Value(&e))
		}
	}
	if c.Sweep == nil {
		return values, nil
	}
	return c.Sweep(&framework.Sweep{Fits: fits, Learning: func(i, j int) float64 { return s.learning(i, j, s.D) }})
}

// Value returns Values' entry for k factors. It evaluates other K only if the criterion needs them.
func (s *Solutions) Value(k int, c framework.Criterion) (float64, error) {
	if c.Sweep != nil {
		values, err := s.Values(c)
		if err != nil {
			return 0, err
		}
		return values[k], nil
	}
	e, err := s.evaluated(k, c)
	if err != nil {
		return 0, err
	}
	return c.Value(&e), nil
}

// evaluated are k factors with what a criterion needs.
func (s *Solutions) evaluated(k int, c framework.Criterion) (e framework.Evaluation, err error) {
	if c.Needs.Assigner || c.Value == nil && c.Sweep == nil {
		return e, fmt.Errorf("factor: %s needs discrete latent variables", c.Name)
	}
	if e, err = s.Evaluation(k, bpca.MethodFor(c)); err == nil && c.Needs.Prior {
		e.Evidence, err = s.evidence(k)
	}
	return e, err
}

// Best returns the K with the largest value of c, and that value.
func (s *Solutions) Best(c framework.Criterion) (k int, value float64, err error) {
	values, err := s.Values(c)
	if err != nil {
		return 0, 0, err
	}
	for i, v := range values {
		if v > values[k] {
			k = i
		}
	}
	return k, values[k], nil
}

// evidence is that of k factors, with the volume of their rotations.
func (s *Solutions) evidence(k int) (float64, error) {
	at := &s.points[k]
	if at.prior != nil && *at.prior == s.Prior {
		return at.evidence, nil
	}
	p := &Parameters{K: k, D: s.D, Loadings: at.loadings, Noise: at.noise, Structure: s.Structure, Unit: s.unit}
	nats, err := p.occam(s.N, s.Prior)
	if err != nil {
		return 0, err
	}
	of := s.Prior
	at.evidence, at.prior = at.logLikelihood+nats, &of
	return at.evidence, nil
}

// Parameters returns the maximum likelihood estimates of k ≥ 1 factors, in canonical rotation. At gFAB's fixed point
// the loadings are longer by the factor (1 − D/N)^−½.
func (s *Solutions) Parameters(k int) (*Parameters, error) {
	if k < 1 || k > s.Max() {
		return nil, fmt.Errorf("factor: no parameters at K = %d: choose K from 1 to %d", k, s.Max())
	}
	at := s.points[k]
	p := &Parameters{
		K:         k,
		D:         s.D,
		Mean:      s.mean,
		Loadings:  slices.Clone(at.loadings),
		Noise:     slices.Clone(at.noise),
		Structure: s.Structure,
		Unit:      s.unit,
	}
	return p.Canonical(), nil
}

// LearningCoefficient returns λ of sBIC (see [optional.Singular]).
func (Model) LearningCoefficient(p *Parameters, truth int) float64 {
	return p.learning(p.K, truth, p.D)
}

// learning is the learning coefficient of k factors where the truth has fewer: for factor analysis the bound of Drton
// & Plummer 2017, section 5.2 and for two blocks that of reduced rank regression (Aoyagi & Watanabe 2005), with the
// mean's. Otherwise half the number of parameters, which sBIC takes for BIC.
func (st Structure) learning(k, truth, d int) float64 {
	m := float64(d)
	switch kk, l := float64(k), float64(truth); {
	case st.diagonal():
		return ((kk+2)*m+l*(m-kk+1))/4 + m/2
	case len(st.Blocks) == 2:
		return reducedRank(float64(len(st.Blocks[0])), float64(len(st.Blocks[1])), kk, l) + (float64(st.parameters(d))+m)/2
	}
	return float64(st.shape(k, d).Free) / 2
}

// reducedRank is the learning coefficient of an m×n matrix of rank at most h where the true rank is r (Aoyagi &
// Watanabe 2005).
func reducedRank(m, n, h, r float64) float64 {
	switch {
	case m+h < n+r:
		return (h*m - h*r + n*r) / 2
	case n+h < m+r:
		return (h*n - h*r + m*r) / 2
	case m+n < h+r:
		return m * n / 2
	}
	odd := math.Mod(m+n+h+r, 2)
	return (-(h+r)*(h+r) - m*m - n*n + 2*(h+r)*(m+n) + 2*m*n + odd) / 8
}
