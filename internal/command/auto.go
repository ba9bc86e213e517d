package command

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/parallel"
)

// familyOf says what --family auto takes columns for. Kinds without a family are left out. Of positive numbers with
// a long tail, the likelihood chooses.
var familyOf = map[data.Kind]string{data.Continuous: familyGaussian, data.Count: familyPoisson, data.Binary: familyBernoulli,
	data.Categorical: familyCategorical, data.Positive: familyLognormal}

// auto asks the values of all columns that are not given a family what they are, notes what is left out or in
// doubt, and leaves columns without a family out of the table. What it found is in the order of the columns that
// are left.
func (in *input) auto(s *session, given *columnFamilies) ([]suspect, error) {
	list := make([]suspect, in.Cols())
	if err := parallel.Do(in.Cols(), 0, func(j int) error {
		name := in.Names[j]
		switch {
		case given.family[name] != "":
		case slices.Contains(in.dates.names, name):
			list[j] = suspect{name, data.Suggestion{Kind: data.Continuous, Cause: data.Dates}}
		default:
			list[j] = suspect{name, in.Suggest(name, in.frequencies)}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	notes := notesOn(list, given)
	var out []string
	list = slices.DeleteFunc(list, func(c suspect) bool {
		useless := c.name != "" && familyOf[c.Kind] == ""
		if useless {
			out = append(out, c.name)
		}
		return useless
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("no column is left to fit: %s", strings.Join(notes, "; "))
	}
	for _, note := range notes {
		s.note("%s: %s", in.name, note)
	}
	if len(out) == 0 {
		return list, nil
	}
	var err error
	in.Table, err = in.Table.Drop(out...)
	return list, err
}

// choose returns the family of a column by what was found, and the reason.
func (in *input) choose(c suspect) (name, reason string) {
	i := slices.IndexFunc(diagnostics, func(d diagnostic) bool { return d.cause == c.Cause })
	reason = strings.TrimSpace(diagnostics[i].reason + " " + c.Detail)
	if name = familyOf[c.Kind]; c.Kind == data.Positive {
		if x, err := in.Column(c.name); err == nil && gammaIsLikelier(x) {
			name = familyGamma
		}
	}
	return name, reason
}

// gammaIsLikelier compares the likelihoods of one gamma and one lognormal distribution of positive numbers, both of two
// parameters.
func gammaIsLikelier(x []float64) bool {
	var logs []float64
	sums := make([]float64, 2) // of x and of ln x
	for _, v := range x {
		if v == v {
			logs = append(logs, math.Log(v))
			sums[0] += v
		}
	}
	n := float64(len(logs))
	sums[1] = floats.Sum(logs)
	xi, eta := make([]float64, 2), make([]float64, 2)
	if (family.Gamma{}).Estimate(n, sums, xi) != nil {
		return false
	}
	partition := family.Gamma{}.Natural(xi, eta)
	_, variance := stat.PopMeanVariance(logs, nil)
	return floats.Dot(eta, sums)-n*partition > -n/2*(math.Log(2*math.Pi*variance)+1) // both but for −Σ ln x
}

// suggestAuto notes the columns that a Gaussian is to describe though they have two values.
func (in *input) suggestAuto(s *session, given *columnFamilies) {
	var list []string
	for j, name := range in.Names {
		if given.family[name] == "" && in.Levels(name) == nil && len(in.different(j, 3)) == 2 {
			list = append(list, name)
		}
	}
	switch names := abridged(list, ", ", quotedCell); len(list) {
	case 0:
	case 1:
		s.note("%s: %s has 2 values: --family auto would treat it as Bernoulli", in.name, names)
	default:
		s.note("%s: %d columns have 2 values (%s): --family auto would treat them as Bernoulli", in.name, len(list), names)
	}
}

// different are the first so many different values of a column of numbers.
func (in *input) different(j, most int) (seen []float64) {
	for row := 0; row < in.Rows() && len(seen) < most; row++ {
		if v := in.Number(row, j); v == v && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return seen
}

// hasTwoCodes says whether a column has two different numbers, but not 0 and 1.
func (in *input) hasTwoCodes(j int) bool {
	seen := in.different(j, 3)
	return len(seen) == 2 && floats.Max(seen) <= math.MaxFloat64 && slices.ContainsFunc(seen, func(v float64) bool { return v != 0 && v != 1 })
}
