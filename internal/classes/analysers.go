package classes

import (
	"math"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/models/mixture"
)

// Names of the numbers of a component.
const (
	numberOfFactors = "factors"
	loadingPrefix   = "loading "
	noiseSD         = "noise sd"
)

// factorsOf are the number of factors of a component, nil of other families, and the numbers of a column without it.
func factorsOf(values []mixture.Value) (factors *int, others []mixture.Value) {
	last := len(values) - 1
	if last < 0 || values[last].Name != numberOfFactors {
		return nil, values
	}
	k := int(values[last].Value)
	return &k, values[:last]
}

// addDeviation adds the standard deviation of a column, which noise and loadings make up, to its numbers.
func (s *ColumnSummary) addDeviation() {
	variance := float64(s.Values[noiseSD] * s.Values[noiseSD])
	for _, name := range s.Keys { // in order: another one rounds otherwise
		if w := s.Values[name]; strings.HasPrefix(name, loadingPrefix) {
			variance += float64(w * w)
		}
	}
	s.Keys = append(s.Keys, "sd")
	s.Values["sd"], s.Errors["sd"] = fitted.Number(math.Sqrt(variance)), fitted.Number(math.NaN())
}
