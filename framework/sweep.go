package framework

import (
	"math"
	"slices"

	"github.com/latent-go/latent/framework/sizes"
)

// A Sweep is the input of criteria that compare fits of several K: the successful fits, in ascending order of K.
type Sweep struct {
	Fits []Evaluation // Shape.K ascending, without repetition
	// Learning is the learning coefficient of fit i if the truth is a model of the size of fit j ≤ i (see
	// [optional.Singular]).
	Learning func(i, j int) float64
}

// Criteria of a sweep, for [Select]; a single fit has no value of them.
var (
	// SBIC is the singular Bayesian information criterion (see [sizes.SingularBIC]).
	SBIC = Criterion{Name: "sBIC", Source: "Drton & Plummer 2017, eqs. 2.9 and 2.10",
		Needs: Needs{Estimates: true, Likelihood: true, Learning: true}, Sweep: func(s *Sweep) ([]float64, error) {
			l := make([]float64, len(s.Fits))
			for i, e := range s.Fits {
				l[i] = e.LogLikelihood
			}
			return sizes.SingularBIC(l, s.Fits[0].N, s.Learning), nil
		}}
	// Slope is ln p(X|Π) − 2 s d with d identifiable parameters, and s the slope of ln p(X|Π) in d among the larger
	// half of the fits (see [sizes.SlopeHeuristic]).
	Slope = Criterion{Name: "Slope", Source: "Birgé & Massart 2007; Baudry, Maugis & Michel 2012",
		Needs: Needs{Estimates: true, Likelihood: true}, Sweep: func(s *Sweep) ([]float64, error) {
			l, d := make([]float64, len(s.Fits)), make([]float64, len(s.Fits))
			for i, e := range s.Fits {
				l[i], d[i] = e.LogLikelihood, float64(e.Shape.Identifiable())
			}
			values, _, err := sizes.SlopeHeuristic(l, d)
			return values, err
		}}
)

// sweep puts criterion j of a sweep into the table; NaN, and its error in the fits, where there is none.
func (s *Selection[P, S]) sweep(j int, learning func(p P, truth int) float64) {
	var of Sweep
	var index []int
	for i, fit := range s.Fits {
		if fit != nil {
			index = append(index, i)
		}
	}
	slices.SortStableFunc(index, func(a, b int) int { return s.K[a] - s.K[b] })
	index = slices.CompactFunc(index, func(a, b int) bool { return s.K[a] == s.K[b] })
	for _, i := range index {
		of.Fits = append(of.Fits, s.Fits[i].Evaluation)
	}
	of.Learning = func(a, b int) float64 { return learning(s.Fits[index[a]].Parameters, s.K[index[b]]) }
	values, err := s.Criteria[j].Sweep(&of)
	for at, i := range index {
		score := Score{Criterion: s.Criteria[j].Name, Value: math.NaN(), Err: err}
		if err == nil {
			score.Value = values[at]
			s.Values[i][j] = values[at]
		}
		s.Fits[i].Scores = append(s.Fits[i].Scores, score)
	}
}
