package normal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/factoranalysis"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/variances"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// FactorAnalysers makes each class a factor analysis of all columns, x = μ + Wu + e, with factors u ~ N(0, I) and
// noise e ~ N(0, Ψ), Ψ diagonal (Ghahramani & Hinton 1996, The EM Algorithm for Mixtures of Factor Analyzers). Each
// class has its own number of factors: FAB and gFAB choose it in every global step, EM keeps it (docs/theory/mfa.md).
// Rows may have missing values.
//
// Noise has the floor of [Family], and at least 1e-4 of the column's variance in the table, or 0.005 of its variance
// in the class if that is less. So the likelihood has a maximum even if factors account for all of a column (a Heywood
// case).
type FactorAnalysers struct {
	// Factors is the initial and largest number of factors of a class. 0 stands for 5, or for as many as D columns
	// determine, if fewer; [NoFactors] makes a Gaussian with a diagonal covariance.
	Factors int
	// Fixed keeps all classes at Factors with any method.
	Fixed bool
	Floor float64 // as for [Family]
}

// NoFactors is the value of Factors for [FactorAnalysers] without factors.
const NoFactors = -1

const defaultFactors = 5

// Noise is at least leastNoise of a column's variance in the table, or leastUniqueness of that in the class where
// that is less.
const leastNoise, leastUniqueness = 1e-4, 5e-3

// Name is "factor-analysers", with the number of factors if it is not the default.
func (f FactorAnalysers) Name() string {
	if f.Factors == 0 {
		return "factor-analysers"
	}
	return fmt.Sprintf("factor-analysers-%d", max(0, f.Factors))
}

// Columns is 0: the family takes all columns.
func (FactorAnalysers) Columns() int { return 0 }

// WithFloor returns the family with another Floor.
func (f FactorAnalysers) WithFloor(floor float64) family.Family {
	f.Floor = floor
	return f
}

// On needs 1 column or more, and fewer factors than columns.
func (f FactorAnalysers) On(columns int) ([]family.Factor, error) {
	normal, err := Family{Floor: f.Floor}.On(columns)
	if err != nil {
		return nil, fmt.Errorf("family: %s: %w", f.Name(), err)
	}
	most := f.Factors
	switch {
	case most == 0:
		most = min(defaultFactors, determinedFactors(columns))
	case most == NoFactors:
		most = 0
	case most < 0:
		return nil, fmt.Errorf("family: %d factors: choose 1 or more, 0 for the default, or %d (NoFactors) for none",
			most, NoFactors)
	case most >= columns:
		return nil, fmt.Errorf("family: %d factors of %d columns: there must be fewer factors than columns", most, columns)
	}
	return []family.Factor{analyser{normal[0].(gaussian), f, most}}, nil
}

// determinedFactors is the number of factors that D columns determine at most, by Ledermann's bound (D−K)² ≥ D + K.
func determinedFactors(d int) int {
	k := 0
	for (d-k-1)*(d-k-1) >= d+k+1 && k+1 < d {
		k++
	}
	return k
}

// analyser takes the sums of a Gaussian: with the factors integrated out, all that the global step needs is the
// covariance of the class's rows. The numbers of one class are
//
//	sums, anchor, score   those of a Gaussian with the covariance Ψ + WWᵀ
//	params                μ, ψ, W (D×K row-major, unused columns 0), number of factors
type analyser struct {
	gaussian
	of   FactorAnalysers
	most int
}

var _ family.Latent = analyser{}

func (f analyser) Name() string { return f.of.Name() }

func (f analyser) Layout() family.Layout {
	l := f.gaussian.Layout()
	l.Free, l.Params, l.Hyper = 2*f.d, 2*f.d+f.d*f.most+1, 0
	return l
}

// parts of ξ.
func (f analyser) parts(xi []float64) (mean, noise, loadings []float64) {
	return xi[:f.d], xi[f.d : 2*f.d], xi[2*f.d : 2*f.d+f.d*f.most]
}

// normal is ξ of the Gaussian.
func (f analyser) normal(xi []float64) []float64 {
	d := f.d
	mean, noise, w := f.parts(xi)
	to := make([]float64, d+d*d)
	_, cov := f.split(to, 0)
	copy(to, mean)
	for a := range d {
		for c := a; c < d; c++ {
			cov[a*d+c] = linalg.Dot(linalg.Row(w, a, f.most), linalg.Row(w, c, f.most))
			cov[c*d+a] = cov[a*d+c]
		}
		cov[a*d+a] += noise[a]
	}
	return to
}

// variances are the diagonal of Ψ + WWᵀ.
func (f analyser) variances(xi []float64) []float64 {
	_, noise, w := f.parts(xi)
	to := make([]float64, f.d)
	for a := range to {
		row := linalg.Row(w, a, f.most)
		to[a] = noise[a] + linalg.Dot(row, row)
	}
	return to
}

// pooledNormal is the table as one class, of the Gaussian.
func (f analyser) pooledNormal(w *family.Pooled) *family.Pooled {
	normal := *w
	normal.Parameters = f.normal(w.Parameters)
	return &normal
}

func (f analyser) Score(xi, score []float64) error { return f.gaussian.Score(f.normal(xi), score) }

func (f analyser) AddPooled(weight float64, w *family.Pooled, anchor, sums []float64) {
	f.gaussian.AddPooled(weight, f.pooledNormal(w), anchor, sums)
}

func (f analyser) Whiten(o *family.Observed, w *family.Pooled, dst []float64, width, at int) {
	f.gaussian.Whiten(o, f.pooledNormal(w), dst, width, at)
}

// ---- Global step

// Estimate is the maximum of the likelihood at the given number of factors.
func (f analyser) Estimate(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	p, err := f.problem(sums, anchor, w, xi)
	if err != nil {
		return err
	}
	if w == nil {
		xi[len(xi)-1] = float64(f.most)
	}
	s, err := p.solve(f.Dimensions(xi), math.Inf(-1))
	if err != nil {
		return err
	}
	p.put(s, xi)
	return nil
}

// Choose climbs from the current number of factors to one more or one less while the likelihood gains more than the
// charge.
func (f analyser) Choose(sums, anchor []float64, w *family.Pooled, xi []float64) error {
	if f.of.Fixed {
		return f.Estimate(sums, anchor, w, xi)
	}
	p, err := f.problem(sums, anchor, w, xi)
	if err != nil {
		return err
	}
	best, err := p.choose(f.Dimensions(xi))
	if err != nil {
		return err
	}
	p.put(best, xi)
	return nil
}

// choose climbs from a number of factors.
func (p *problem) choose(from int) (*solution, error) {
	best, err := p.solve(from, math.Inf(-1))
	if err != nil {
		return nil, err
	}
	for _, step := range []int{-1, 1} {
		for k := best.factors + step; k >= 0 && k <= p.most; k += step {
			p.start = best.noise
			if step < 0 {
				p.start = best.withoutWeakest()
			}
			s, err := p.solve(k, best.value)
			if err != nil {
				return nil, err
			}
			if !(s.value > best.value) {
				break
			}
			best = s
		}
	}
	return best, nil
}

// problem is the estimation of one class.
type problem struct {
	analyser
	n          float64
	mean       []float64
	cov, lower []float64
	start      []float64             // noise to begin with
	prior      *factoranalysis.Prior // nil without
}

// A solution is the maximum likelihood of a number of factors.
type solution struct {
	factors         int
	noise, loadings []float64
	value           float64 // log-likelihood of the class's rows, less a constant and what FAB charges for the factors
}

func (f analyser) problem(sums, anchor []float64, w *family.Pooled, xi []float64) (*problem, error) {
	d := f.d
	normal := make([]float64, d+d*d)
	if err := f.unregularised().Estimate(sums, anchor, w, normal); err != nil {
		return nil, err
	}
	mean, cov := f.split(normal, 0)
	p := &problem{analyser: f, n: sums[0], mean: mean, cov: cov, lower: make([]float64, d), start: make([]float64, d)}
	_, noise, _ := f.parts(xi)
	copy(p.start, noise)
	for a := range d {
		v := cov[a*d+a]
		if w == nil {
			if variances.Constant(mean[a], v) && f.floor > 0 { // SetFloor puts it right
				cov[a*d+a], v = 1, 1
			} else if err := variances.Measurable(a, mean[a], v); err != nil {
				return nil, err
			}
			p.start[a], p.lower[a] = v/2, leastNoise*v
			continue
		}
		all, floor := f.variances(w.Parameters)[a], 0.0
		if len(w.Floor) > 0 {
			floor = w.Floor[a]
		}
		// The sums may be extrapolated, and belong to no rows.
		if !(v > -floor) || floor == 0 && !(v > variances.Vanishing*all) {
			return nil, variances.Collapsed(a)
		}
		// No floor excludes the noise that the class has, so that the likelihood does not fall.
		p.lower[a] = max(floor, min(leastNoise*all, leastUniqueness*v, noise[a]))
	}
	return p, nil
}

// unregularised is the Gaussian whose estimates are taken as they are.
func (f analyser) unregularised() gaussian { return gaussian{d: f.d, floor: 1, tied: true} }

// solve finds the maximum of k factors, or some value below the goal where it is lower.
func (p *problem) solve(k int, goal float64) (*solution, error) {
	s := &solution{factors: k, noise: slices.Clone(p.start), loadings: make([]float64, p.d*k)}
	charge, rows := p.charge(k), p.n
	if p.prior != nil {
		rows += p.prior.Worth
	}
	value, ok := factoranalysis.Maximize(p.cov, p.lower, s.noise, s.loadings, (goal+charge)/rows, p.prior)
	if !ok {
		return nil, variances.Singular()
	}
	s.value = rows*value - charge
	return s, nil
}

// charge is that of k factors.
func (p *problem) charge(k int) float64 {
	switch {
	case k == 0:
		return 0
	case p.prior != nil:
		_, free := p.Loadings(k)
		return float64(free) / 2 * math.Log1p(p.n/p.prior.Worth)
	}
	count, _ := p.Count(p.n)
	return float64(p.d*k) / 2 * math.Log(count)
}

// withoutWeakest is noise to begin with when the weakest factor goes.
func (s *solution) withoutWeakest() []float64 {
	noise := slices.Clone(s.noise)
	for a := range noise {
		v := s.loadings[a*s.factors+s.factors-1]
		noise[a] += v * v
	}
	return noise
}

// put makes ξ of a solution.
func (p *problem) put(s *solution, xi []float64) {
	mean, noise, w := p.parts(xi)
	copy(mean, p.mean)
	copy(noise, s.noise)
	clear(w)
	for a := range p.d {
		copy(linalg.Row(w, a, p.most), linalg.Row(s.loadings, a, s.factors))
	}
	xi[len(xi)-1] = float64(s.factors)
}

// ---- Factors

// Dimensions is the number of factors.
func (f analyser) Dimensions(xi []float64) int { return int(xi[len(xi)-1]) }

// Loadings are DK numbers, K(K−1)/2 of which are undetermined up to a rotation.
func (f analyser) Loadings(k int) (numbers, free int) { return f.d * k, f.d*k - k*(k-1)/2 }

// Count follows from the best q(u), under which a factor has Σ E[u²] = s = n − D (docs/theory/mfa.md, section 2):
// s·exp((s − n − n ln(s/n))/D), about n − D/2. For the few rows of a small class the objective would have no maximum
// over s, so that s is at least half of the rows.
func (f analyser) Count(n float64) (count, slope float64) {
	d := float64(f.d)
	if s := n - d; s > leastScatter*n {
		log := math.Log1p(-d / n)
		count = s * math.Exp(-1-n/d*log)
		return count, -count / d * log
	}
	rate := (leastScatter - 1 - math.Log(leastScatter)) / d
	each := leastScatter * math.Exp(rate*n)
	return n * each, each * (1 + rate*n)
}

// leastScatter is the least variance of a factor under q(u), where the likelihood alone has 1.
const leastScatter = 0.5

// ---- Coordinates, floors, results

// Information is that of means and noise given u, 1/ψ and 1/(2ψ²), in units of the table's variances. In units of the
// noise's standard deviation, a row's information about loadings is 1.
func (f analyser) Information(xi []float64, w *family.Pooled, dst []laplace.Block) []laplace.Block {
	_, noise, _ := f.parts(xi)
	all := f.variances(w.Parameters)
	dst, info := family.AppendDiagonal(dst, 2*f.d)
	for a, psi := range noise {
		v := psi / all[a]
		info[a], info[f.d+a] = 1/v, 1/(2*v*v)
	}
	return dst
}

// Spread is the diagonal of Ψ + WWᵀ.
func (f analyser) Spread(params []float64) []float64 {
	if f.floor == 0 {
		return nil
	}
	return f.variances(params)
}

// SetFloor sets the floor of each column separately.
func (f analyser) SetFloor(steps []float64, w *family.Pooled) error {
	if f.floor == 0 {
		return nil
	}
	mean, noise, loadings := f.parts(w.Parameters)
	n := w.Sums[0]
	first, second := f.split(w.Sums, 1)
	scale := f.variances(w.Center())
	for a, v := range f.variances(w.Parameters) {
		if shift := first[a] / n; variances.Constant(mean[a], second[a*f.d+a]/n-shift*shift) {
			v = 0
		}
		floor, all, err := variances.FloorOf(a, f.floor, steps[a], mean[a], v, scale[a])
		if err != nil {
			return err
		}
		if w.Floor[a] = floor; v != all { // a constant column
			noise[a] = all
			clear(linalg.Row(loadings, a, f.most))
		}
	}
	return f.Bound(w, family.Table{K: 1, Stride: 0, Data: w.Parameters})
}

// Bound raises the noise to the floor; estimates are there already.
func (f analyser) Bound(w *family.Pooled, params family.Table) error {
	for k := range params.K {
		_, noise, _ := f.parts(params.Row(k, 2*f.d+f.d*f.most))
		for a, floor := range w.Floor {
			noise[a] = max(noise[a], floor)
		}
	}
	return nil
}

// Doubts reports constant columns, and columns that vary less than their steps.
func (f analyser) Doubts(w *family.Pooled) (list []error) {
	one := isotropic{groups: f.d, width: 1, form: Diagonal}
	n := w.Sums[0]
	first, second := f.split(w.Sums, 1)
	sums := linalg.Resize(nil, 3*f.d)
	for a := range f.d {
		sums[a], sums[f.d+a], sums[2*f.d+a] = n, first[a], second[a*f.d+a]
	}
	mean, _, _ := f.parts(w.Parameters)
	params := slices.Concat(mean, f.variances(w.Parameters))
	return one.Doubts(&family.Pooled{Sums: sums, Parameters: params, Floor: w.Floor})
}

// Refine does not change scores: noise is never far below the variance.
func (f analyser) Refine(*family.Pooled, []float64, []float64) {}

func (f analyser) Numbers() []family.Number {
	var list []family.Number
	for a := range f.d {
		list = append(list, family.Number{Name: "mean", From: a, To: a})
	}
	for a := range f.d {
		list = append(list, family.Number{Name: "noise variance", From: a, To: a})
	}
	for a := range f.d {
		for k := range f.most {
			list = append(list, family.Number{Name: fmt.Sprintf("loading %d", k+1), From: a, To: a})
		}
	}
	return append(list, family.Number{Name: "factors", From: 0, To: f.d - 1})
}

// Deviations are those of the means, √(Σ_jj/n). The others depend on a rotation; the bootstrap estimates them.
func (f analyser) Deviations(xi, sums []float64, _ float64, dst []float64) {
	linalg.Fill(dst, math.NaN())
	for a, v := range f.variances(xi) {
		dst[a] = math.Sqrt(v / sums[0])
	}
}

func (f analyser) Contrast(xi, pooled, dst []float64) {
	f.gaussian.Contrast(f.normal(xi), f.normal(pooled), dst)
}

func (f analyser) Sample(xi []float64, rng *rand.Rand, x []float64) {
	mean, noise, w := f.parts(xi)
	for a := range x {
		x[a] = mean[a] + math.Sqrt(noise[a])*rng.NormFloat64()
	}
	for k := range f.Dimensions(xi) {
		u := rng.NormFloat64()
		for a := range x {
			x[a] += u * w[a*f.most+k]
		}
	}
}

// Valid reports whether noise is positive and the number of factors matches the loadings.
func (f analyser) Valid(xi []float64) bool {
	_, noise, w := f.parts(xi)
	k := xi[len(xi)-1]
	if !(floats.Min(noise) > 0) || k != math.Trunc(k) || k < 0 || k > float64(f.most) {
		return false
	}
	for a := range f.d {
		for _, v := range linalg.Row(w, a, f.most)[int(k):] {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

// Conjugate returns an error.
func (f analyser) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) {
	return nil, errors.New(
		"family: factor analysers have no conjugate prior, which MAP and variational Bayes need: take EM, FAB or gFAB",
	)
}
