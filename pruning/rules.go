package pruning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Rules says how the engine prunes. The zero value is the default: both rules,
// each with its own defaults. If the global step has no maximum at the current K, the model loses a dimension in any
// case, unless K is fixed.
type Rules struct {
	Eigenvalue Eigenvalue
	Objective  Objective
}

// Eigenvalue is the rule of Algorithm 1 (paper G, 4.1.3), applied to the factor of F that depends on q alone: a
// latent dimension with at most Observations observations is dropped. The information is ignored because it depends
// on the coordinates of Ξ. In coordinates in which it vanishes, the rule would drop informative dimensions.
type Eigenvalue struct {
	Off          bool
	Observations float64 // rows, or the model's other observations; 0 selects 1, which is δ = 1/N in paper G
}

// Objective is the rule that a smaller model with a higher score is better. A trial drops dimensions and makes local
// and global steps in the smaller model. It ends when the criterion has risen above the larger model's, when its
// progress shows that it will not, or after Steps steps.
//
// Before convergence, the few weakest dimensions are tried once the change of an iteration is below TrialTolerance.
// They are tried again when the change has halved and the criterion has moved by the amount that the best trial fell
// short. Dimensions of negative relevance are tried in every such iteration. At convergence every dimension is tried,
// the weakest first, and then the weakest two, three, … together. The fit ends only if no trial succeeds.
type Objective struct {
	Off            bool
	TrialTolerance float64 // change per observation, in nats, below which trials start; 0 selects 1e-4
	Steps          int     // largest number of steps in a trial; 0 selects 100
}

// TrialToleranceOr returns TrialTolerance or its default.
func (o Objective) TrialToleranceOr() float64 {
	if o.TrialTolerance > 0 {
		return o.TrialTolerance
	}
	return 1e-4
}

// StepsOr returns Steps or its default.
func (o Objective) StepsOr() int {
	if o.Steps > 0 {
		return o.Steps
	}
	return 100
}

// Verdict is the decision of the eigenvalue rule on a curvature.
type Verdict struct {
	Dropped      []int     // latent dimensions to drop, the weakest first; empty if none
	Observations []float64 // those behind each of them
	// Basis, if not nil, holds in its columns the directions to which the latent space must be rotated first, K×K and
	// orthonormal. The indices in Dropped refer to these columns.
	Basis *mat.Dense
}

// Apply tests the curvature f of a model with k latent dimensions. If the dimensions mix and rotates is true, they
// are rotated to the eigenvectors of their counts. If they mix and rotates is false, dimension k has the units that
// the others do not explain, 1/(S⁻¹)_kk, and at most one dimension is dropped at a time. The strongest dimension
// always stays.
func (e Eigenvalue) Apply(f *laplace.Curvature, k int, rotates bool) (Verdict, error) {
	threshold := e.Observations
	if threshold == 0 {
		threshold = 1
	}
	switch {
	case e.Off || k == 1:
		return Verdict{}, nil
	case !f.Mixes():
		return ofAxes(f, k, threshold), nil
	case f.MixedAbove(k, threshold):
		return Verdict{}, nil
	}
	s, err := f.MixedObservations(k)
	if err != nil {
		return Verdict{}, fmt.Errorf("pruning: the counts of parameters other than of latent dimensions: %w", err)
	}
	values, vectors, err := laplace.NewDense(s).Eigen()
	if err != nil {
		return Verdict{}, fmt.Errorf("pruning: the %d×%d counts hold a NaN or an infinity: %w", k, k, err)
	}
	if rotates {
		return ofDirections(values, vectors, threshold), nil
	}
	return ofMixedAxes(values, vectors, threshold), nil
}

// ofAxes tests dimensions that have blocks of their own.
func ofAxes(f *laplace.Curvature, k int, threshold float64) (v Verdict) {
	strongest := 0
	for j := range k {
		if f.Observations(j) > f.Observations(strongest) {
			strongest = j
		}
	}
	for j := range k {
		if u := f.Observations(j); j != strongest && !(u > threshold) {
			v.Dropped, v.Observations = append(v.Dropped, j), append(v.Observations, u)
		}
	}
	slices.SortStableFunc(v.Dropped, func(a, b int) int { return cmp.Compare(f.Observations(a), f.Observations(b)) })
	slices.Sort(v.Observations)
	return v
}

// ofDirections tests eigenvectors, whose values ascend.
func ofDirections(values []float64, vectors *mat.Dense, threshold float64) (v Verdict) {
	for j, u := range values[:len(values)-1] {
		if !(u > threshold) {
			v.Dropped, v.Observations = append(v.Dropped, j), append(v.Observations, max(0, u))
		}
	}
	if len(v.Dropped) > 0 {
		v.Basis = vectors
	}
	return v
}

// ofMixedAxes drops the dimension of which the others leave the least, 1/(S⁻¹)_kk. Where S is
// singular, that is the one that the null vector weighs most.
func ofMixedAxes(values []float64, vectors *mat.Dense, threshold float64) Verdict {
	k := len(values)
	if floor := 16 * float64(k) * 0x1p-52 * values[k-1]; !(values[0] > floor) {
		weights := make([]float64, k)
		for j := range weights {
			weights[j] = math.Abs(vectors.At(j, 0))
		}
		return Verdict{Dropped: []int{floats.MaxIdx(weights)}, Observations: []float64{0}}
	}
	counts := make([]float64, k)
	for j := range counts {
		inverse := 0.0
		for i, value := range values {
			inverse += vectors.At(j, i) * vectors.At(j, i) / value
		}
		counts[j] = 1 / inverse
	}
	if j := floats.MinIdx(counts); !(counts[j] > threshold) {
		return Verdict{Dropped: []int{j}, Observations: counts[j : j+1]}
	}
	return Verdict{}
}
