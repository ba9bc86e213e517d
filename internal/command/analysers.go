package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/models/mixture"
)

// familyAnalysers is a factor analysis of each component. Where --factors gives the most factors, the name ends with
// it.
const familyAnalysers = "factor-analysers"

// Names of the numbers of a component.
const (
	numberOfFactors = "factors"
	loadingPrefix   = "loading "
	noiseSD         = "noise sd"
)

// analysers are the distribution of at most so many factors: 0 stands for the default of the library.
func analysers(factors int) distribution {
	f := family.FactorAnalysers{Factors: factors}
	return distribution{name: f.Name(), joint: func(int) family.Family { return f }, normal: true, varies: true,
		moments: func(v map[string]number) (mean, sd number) { return v["mean"], v["sd"] }}
}

// analysersNamed is that of a name with a number.
func analysersNamed(name string) (d distribution, ok bool) {
	digits, ok := strings.CutPrefix(name, familyAnalysers+"-")
	if !ok {
		return d, false
	}
	factors, err := strconv.Atoi(digits)
	if err != nil || factors < 0 {
		return d, false
	}
	if factors == 0 {
		factors = family.NoFactors
	}
	d = analysers(factors)
	return d, d.name == name
}

// addFactors makes --factors a family.
func (c *covarianceSettings) addFactors(f *modelFlags) error {
	switch {
	case c.Factors == nil:
		return nil
	case f.Family != familyAnalysers:
		return misused("--factors requires --family %s, and the family is %s", familyAnalysers, f.Family)
	}
	f.Family = fmt.Sprintf("%s-%d", familyAnalysers, *c.Factors)
	return nil
}

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
func (s *columnSummary) addDeviation() {
	variance := float64(s.Values[noiseSD] * s.Values[noiseSD])
	for _, name := range s.keys { // in order: another one rounds otherwise
		if w := s.Values[name]; strings.HasPrefix(name, loadingPrefix) {
			variance += float64(w * w)
		}
	}
	s.keys = append(s.keys, "sd")
	s.Values["sd"], s.Errors["sd"] = number(math.Sqrt(variance)), number(math.NaN())
}
