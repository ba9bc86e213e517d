package classes

import (
	"math"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
)

// Expectation returns what the columns are if the classes have these probabilities: mean and standard deviation of
// numbers, and the probabilities of levels. class returns the numbers of a class.
func Expectation(
	columns []data.Column, numbers []family.Number, weights []float64, class func(k int) []float64,
) fitted.Forecast {
	d := len(columns)
	f := fitted.Forecast{Classes: weights, Mean: make([]float64, d), SD: make([]float64, d), Levels: make([][]float64, d)}
	squares := make([]float64, d)
	for k, weight := range weights {
		for j, s := range summaries(columns, numbers, class(k)) {
			if len(columns[j].Levels) > 0 {
				if f.Levels[j] == nil {
					f.Levels[j] = make([]float64, len(columns[j].Levels))
				}
				for l, p := range s.Probabilities(columns[j]) {
					f.Levels[j][l] += weight * p
				}
				f.Mean[j] = math.NaN()
			} else if mean, sd, ok := s.Moments(columns[j].Family); ok {
				f.Mean[j] += weight * float64(mean)
				squares[j] += weight * float64(sd*sd+mean*mean)
			} else {
				f.Mean[j] = math.NaN()
			}
		}
	}
	for j, mean := range f.Mean {
		f.SD[j] = math.Sqrt(max(0, squares[j]-mean*mean))
	}
	return f
}
