package framework

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// A Sweep is the input of criteria that compare fits of several K: the successful fits, in ascending order of K.
type Sweep struct {
	Fits []Evaluation // Shape.K ascending, without repetition
	// Learning is the learning coefficient of fit i if the truth is a model of the size of fit j ≤ i (see [Singular]).
	Learning func(i, j int) float64
}

// Singular adds [SBIC], for models with parameters that X does not identify if K is larger than necessary.
type Singular[P any] interface {
	// LearningCoefficient is λ of ln p(X|K) = ln p(X|truth) − λ ln N + …, or a bound of it, for a model of the size of p
	// if the truth is a model of truth ≤ K latent dimensions. For a regular model it is half the number of parameters.
	LearningCoefficient(p P, truth int) float64
}

// Criteria of a sweep, for [Select]; a single fit has no value of them.
var (
	// SBIC is the singular Bayesian information criterion (see [SingularBIC]).
	SBIC = Criterion{Name: "sBIC", Source: "Drton & Plummer 2017, eqs. 2.9 and 2.10",
		Needs: NeedsEstimates | NeedsLikelihood | NeedsLearning, Sweep: func(s *Sweep) ([]float64, error) {
			l := make([]float64, len(s.Fits))
			for i, e := range s.Fits {
				l[i] = e.LogLikelihood
			}
			return SingularBIC(l, s.Fits[0].N, s.Learning), nil
		}}
	// Slope is ln p(X|Π) − 2 s d with d identifiable parameters, and s the slope of ln p(X|Π) in d among the larger
	// half of the fits (see [SlopeHeuristic]).
	Slope = Criterion{Name: "Slope", Source: "Birgé & Massart 2007; Baudry, Maugis & Michel 2012",
		Needs: NeedsEstimates | NeedsLikelihood, Sweep: func(s *Sweep) ([]float64, error) {
			l, d := make([]float64, len(s.Fits)), make([]float64, len(s.Fits))
			for i, e := range s.Fits {
				l[i], d[i] = e.LogLikelihood, float64(e.Shape.Identifiable())
			}
			values, _, err := SlopeHeuristic(l, d)
			return values, err
		}}
)

// SingularBIC is sBIC of nested models, each of which contains the models before it, given their maximal
// log-likelihoods in nats, N and learning coefficients learning(i, j) of model i at a truth in model j ≤ i. With L_ij =
// exp(l_i) N^−λ_ij it solves
//
//	L_i = Σ_{j≤i} L_ij L_j ÷ Σ_{j≤i} L_j
//
// from the smallest on, each a quadratic equation, and returns ln L_i. For regular models, whose λ_ij do not depend on
// j, it is BIC (Drton & Plummer 2017, "A Bayesian information criterion for singular models", eqs. 2.9 and 2.10).
func SingularBIC(logLikelihood []float64, n float64, learning func(i, j int) float64) []float64 {
	values := make([]float64, len(logLikelihood))
	for i, l := range logLikelihood {
		at := func(j int) float64 { return l - learning(i, j)*math.Log(n) }
		scale := at(i) // the equation is homogeneous: nothing underflows that matters
		for j, v := range values[:i] {
			scale = max(scale, v, (at(j)+v)/2)
		}
		b, c := -math.Exp(at(i)-scale), []float64{math.Inf(-1)} // of L²/scale² + bL/scale − Σ exp c
		for j, v := range values[:i] {
			b += math.Exp(v - scale)
			c = append(c, at(j)+v-2*scale)
		}
		product := floats.LogSumExp(c)
		root := math.Sqrt(b*b + 4*math.Exp(product))
		if b > 0 { // without cancellation
			values[i] = scale + math.Ln2 + product - math.Log(b+root)
		} else {
			values[i] = scale + math.Log((root-b)/2)
		}
	}
	return values
}

// SlopeHeuristic is l − 2sd of models with log-likelihoods l, in nats, and d parameters, where s, also returned, is the
// slope of l in d by least squares among the larger half of the models: beyond the truth, models gain by overfitting
// alone. The data calibrate the penalty, and a wrong family hardly matters. It returns an error for fewer than 3 sizes
// in that half, or if l does not rise there.
func SlopeHeuristic(logLikelihood, d []float64) (values []float64, slope float64, err error) {
	order := make([]int, len(d))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(d[i] - d[j]) })
	var x, y []float64
	for _, i := range order[len(order)/2:] {
		x, y = append(x, d[i]), append(y, logLikelihood[i])
	}
	if len(x) < 3 || x[0] == x[len(x)-1] {
		return nil, 0, errors.New(
			"framework: the slope heuristic fits a line to the larger half of the fits: compare 5 sizes or more",
		)
	}
	_, slope = stat.LinearRegression(x, y, nil, false)
	if !(slope > 0) {
		return nil, slope, fmt.Errorf("framework: the log-likelihood does not rise with K among the larger half of "+
			"the fits (slope %.3g): raise Restarts, or compare larger K", slope)
	}
	values = slices.Clone(logLikelihood)
	floats.AddScaled(values, -2*slope, d)
	return values, slope, nil
}

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
