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
// each with its own defaults. A model whose global step has no maximum at a K loses a
// dimension in any case, unless K is fixed.
type Rules struct {
	Eigenvalue Eigenvalue
	Objective  Objective
}

// Eigenvalue is the rule of Algorithm 1 (paper G, 4.1.3), applied to the factor of F that q
// alone decides: a latent dimension with at most Observations observations is dropped. The information is left
// out because it depends on the coordinates of Ξ: where their choice lets it vanish, informative
// dimensions would be dropped.
type Eigenvalue struct {
	Off          bool
	Observations float64 // rows, or what else the model counts; 0 stands for 1, δ = 1/N in paper G
}

// Objective is the rule that a smaller model which scores higher is the better
// one. A trial drops dimensions and makes local and global steps in the
// smaller model until the criterion has risen above that of the larger one, until
// the steps' own progress shows that it will not, or until Steps are made.
//
// Before convergence, the weakest few dimensions are tried when the change of
// an iteration is below TrialTolerance, and again whenever it has halved and the criterion has
// moved by as much as the best of them fell short; those of negative relevance in every such
// iteration. At convergence every
// dimension is tried, weakest first, and then the weakest two, three, … together;
// the fit ends only when no trial succeeds.
type Objective struct {
	Off            bool
	TrialTolerance float64 // change per observation, in nats, below which trials begin; 0 stands for 1e-4
	Steps          int     // most steps of one trial; 0 stands for 100
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
	Dropped      []int     // latent dimensions that go, weakest first; empty where none does
	Observations []float64 // those behind each of them
	// Basis, where it is not nil, holds the directions that the latent space is to be rotated
	// to first, in columns, K×K and orthonormal: Dropped counts them.
	Basis *mat.Dense
}

// Apply tests the curvature f of a model with k latent dimensions. Where the dimensions mix,
// they are rotated to the eigenvectors of their counts if rotates is true; otherwise a dimension has
// what the others do not account for, 1/(S⁻¹)_kk, and one goes at a time. At least the
// strongest dimension stays.
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
